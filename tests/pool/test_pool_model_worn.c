/* Runs test_pool_model.c with slots that three lives wear out. */
#define OPERATIONS 6000000
#include "test_pool_model.c" /* NOLINT(bugprone-suspicious-include): the same program over another library */
