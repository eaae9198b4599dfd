/* test_bytemap_model.c compiled with KOLK_EXTERN: every call goes to the library. */
#define KOLK_EXTERN
#include "test_bytemap_model.c" /* NOLINT(bugprone-suspicious-include): the same program using different calls */
