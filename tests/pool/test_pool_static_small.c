/* with: KOLK_NO_DIAGNOSTICS=1 KOLK_GENERATION_MAX=7 */
/* Runs test_pool_static.c over a library without diagnostics. */
#include "test_pool_static.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
