/* wraps: calloc malloc */
/* failing_malloc.h: malloc and calloc that fail on demand. The linker redirects the program's allocations to these. */
#ifndef TESTS_FAILING_MALLOC_H
#define TESTS_FAILING_MALLOC_H

#include <stdbool.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *object, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *object, size_t size); /* the test's own */

static unsigned long allocations, failing; /* allocation number `failing` fails; 0: none does */
static bool all_after;                     /* and all after it */

static inline bool refused(void) {
    allocations++;
    return failing && (all_after ? allocations >= failing : allocations == failing);
}

void *__wrap_malloc(size_t size) {
    return refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return refused() ? NULL : __real_calloc(count, size);
}

#endif
