// define: KOLK_GENERATION_MAX=3
/* test_pool_ages.c with slots that are worn out by three lives: those too leave the order of births, and come back to
 * it. */
#define OPERATIONS 100000
#include "test_pool_ages.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
