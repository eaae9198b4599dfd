/* with: src wraps: help/system_calls.h */
/* test_shared.c compiled with KOLK_EXTERN: every call goes to the library. */
#define KOLK_EXTERN
#define KOLK_BASE_INLINE static inline /* for the private headers, which need the bodies of base.inl */
#include "test_shared.c"               /* NOLINT(bugprone-suspicious-include): the same program using different calls */
