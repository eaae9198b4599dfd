// define: KOLK_GENERATION_MAX=3
/* test_pool_model.c with slots that are worn out by three lives. */
#define OPERATIONS 6000000
#include "test_pool_model.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
