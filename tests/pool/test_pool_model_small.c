/* runs: slow with: KOLK_NO_DIAGNOSTICS=1 KOLK_GENERATION_MAX=7 wraps: help/no_sites.h */
/* Runs test_pool_model.c over a library without diagnostics. */
#define OPERATIONS 300000
#include "test_pool_model.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
