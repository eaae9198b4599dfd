/* kolk_arena.h: memory for scheduled tests, which make a million queues or pools in a row: from here, not from the system.
 *
 *     // link: -Wl,--wrap=kolk_memory_reserve,--wrap=kolk_memory_commit,--wrap=kolk_memory_release
 *
 * One block at a time. */
#ifndef KOLK_TESTS_KOLK_ARENA_H
#define KOLK_TESTS_KOLK_ARENA_H

#include <stdbool.h>
#include <string.h>

static _Alignas(4096) unsigned char arena[256 << 10];

void *__wrap_kolk_memory_reserve(size_t bytes);
bool __wrap_kolk_memory_commit(void *start, size_t bytes);
void __wrap_kolk_memory_release(void *start, size_t bytes);

void *__wrap_kolk_memory_reserve(size_t bytes) {
    return bytes <= sizeof arena ? memset(arena, 0, bytes) : NULL;
}

bool __wrap_kolk_memory_commit(void *start, size_t bytes) {
    (void)start, (void)bytes;
    return true;
}

void __wrap_kolk_memory_release(void *start, size_t bytes) {
    (void)start, (void)bytes;
}

#endif
