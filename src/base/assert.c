/* assert.c: see assert.h. It is a separate file because all others need it, and it needs none of them. */
#include "assert.h"

#if KOLK_HOSTED
#include <stdio.h>
#include <stdlib.h>

void kolk_assertion_failed_(const char *condition, const char *file, int line) { /* GCOVR_EXCL_START: off in coverage */
    fprintf(stderr, "kolk: %s:%d: assertion failed: %s\n", file, line, condition);
    abort();
} /* GCOVR_EXCL_STOP */
#else
void kolk_assertion_failed_(const char *condition, const char *file, int line) {
    (void)condition, (void)file, (void)line;
    __builtin_trap();
}
#endif
