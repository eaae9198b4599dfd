/* runs: long not:asan with: KOLK_GENERATION_MAX=1 */
/* Runs test_slotmap_exhaustive.c with slots that one life wears out. */
#include "test_slotmap_exhaustive.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
