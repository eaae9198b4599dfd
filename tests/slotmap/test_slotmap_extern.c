/* wraps: help/system_calls.h */
/* test_slotmap.c compiled with KOLK_EXTERN: every call goes to the library. */
#define KOLK_EXTERN
#include "test_slotmap.c" /* NOLINT(bugprone-suspicious-include): the same program using different calls */
