/* wraps: kolk_memory_commit_ kolk_memory_discard_ kolk_memory_map_ kolk_memory_release_ kolk_memory_reserve_ */
/* wraps: kolk_memory_resize_ kolk_memory_trim_ */
/* counted_memory.h: counts the bytes that large blocks reserve through os/memory.h, and refuses calls on demand.
 * Include test.h first. */
#ifndef TESTS_COUNTED_MEMORY_H
#define TESTS_COUNTED_MEMORY_H

#include "os/memory.h"

#include <errno.h>

static struct {
    size_t held; /* bytes reserved now */
    unsigned calls, resized;
    unsigned refused; /* refuse the n-th call from now on; 0: none */
    bool no_trim, no_resize;
    bool none; /* refuse all calls */
} memory;

void *__real_kolk_memory_reserve_(size_t size);
bool __real_kolk_memory_commit_(void *start, size_t size);
void __real_kolk_memory_release_(void *start, size_t size);
bool __real_kolk_memory_trim_(void *start, size_t size);
void *__real_kolk_memory_resize_(void *start, size_t size, size_t new_size);
void *__wrap_kolk_memory_reserve_(size_t size);
size_t __real_kolk_memory_discard_(void *start, size_t size, bool counts);
size_t __wrap_kolk_memory_discard_(void *start, size_t size, bool counts);
void *__real_kolk_memory_map_(size_t size);
void *__wrap_kolk_memory_map_(size_t size);
bool __wrap_kolk_memory_commit_(void *start, size_t size);
void __wrap_kolk_memory_release_(void *start, size_t size);
bool __wrap_kolk_memory_trim_(void *start, size_t size);
void *__wrap_kolk_memory_resize_(void *start, size_t size, size_t new_size);

static inline bool is_refused(void) {
    return __atomic_add_fetch(&memory.calls, 1, __ATOMIC_RELAXED) == memory.refused || memory.none;
}

static inline void hold_bytes(size_t more) {
    __atomic_add_fetch(&memory.held, more, __ATOMIC_RELAXED);
}

void *__wrap_kolk_memory_map_(size_t size) {
    void *start = is_refused() ? NULL : __real_kolk_memory_map_(size);
    if (start) hold_bytes(size);
    return start;
}

void *__wrap_kolk_memory_reserve_(size_t size) {
    void *start = is_refused() ? NULL : __real_kolk_memory_reserve_(size);
    if (start) hold_bytes(size);
    return start;
}

bool __wrap_kolk_memory_commit_(void *start, size_t size) {
    return !is_refused() && __real_kolk_memory_commit_(start, size);
}

void __wrap_kolk_memory_release_(void *start, size_t size) {
    hold_bytes(0 - size);
    __real_kolk_memory_release_(start, size);
    errno = ENOMEM; /* as after a refused system call */
}

size_t __wrap_kolk_memory_discard_(void *start, size_t size, bool counts) {
    size_t bytes = __real_kolk_memory_discard_(start, size, counts);
    errno = ENOMEM; /* as after a refused system call */
    return bytes;
}

bool __wrap_kolk_memory_trim_(void *start, size_t size) {
    if (memory.no_trim || !__real_kolk_memory_trim_(start, size)) return false;
    hold_bytes(0 - size);
    return true;
}

void *__wrap_kolk_memory_resize_(void *start, size_t size, size_t new_size) {
    void *moved = memory.no_resize ? NULL : __real_kolk_memory_resize_(start, size, new_size);
    if (!moved) return NULL;
    hold_bytes(new_size - size);
    __atomic_add_fetch(&memory.resized, 1, __ATOMIC_RELAXED);
    return moved;
}

static inline void refuse_call(unsigned nth) {
    memory.calls = 0;
    memory.refused = nth;
}

#endif
