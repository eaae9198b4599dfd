/* runs: long not:asan with: KOLK_GENERATION_MAX=1 */
/* Runs test_pool_exhaustive.c with slots that one life wears out: tries every way into and out of the list of worn-out
 * slots. */
#define LENGTH            7u
#define LENGTH_WITH_HOOKS 6u
#include "test_pool_exhaustive.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
