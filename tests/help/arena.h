// link: -Wl,--wrap=kolk_memory_reserve,--wrap=kolk_memory_commit,--wrap=kolk_memory_release
// link: -Wl,--wrap=kolk_memory_trim,--wrap=kolk_memory_decommit,--wrap=kolk_memory_discard
/* arena.h: memory for scheduled tests, which make a million queues or pools in a row: from here, not from the system.
 *
 * One block at a time. A commit writes to the first bytes of each page: so a thread that uses them and does not know of
 * the commit is a race, as it may not see the page yet. */
#ifndef TESTS_ARENA_H
#define TESTS_ARENA_H

#include "core/atomics.h"

#include <stdbool.h>
#include <string.h>

enum { ARENA_PAGE = 4096, ARENA_PAGES = 64 };

static _Alignas(ARENA_PAGE) unsigned char arena[ARENA_PAGES][ARENA_PAGE];
static bool arena_has[ARENA_PAGES]; /* committed */

void *__wrap_kolk_memory_reserve(size_t bytes);
bool __wrap_kolk_memory_commit(void *start, size_t bytes);
void __wrap_kolk_memory_release(void *start, size_t bytes);
bool __wrap_kolk_memory_trim(void *start, size_t bytes);
void __wrap_kolk_memory_decommit(void *start, size_t bytes);
size_t __wrap_kolk_memory_discard(void *start, size_t bytes);

void *__wrap_kolk_memory_reserve(size_t bytes) {
    if (bytes > sizeof arena) return NULL;
    memset(arena_has, 0, sizeof arena_has);
    return memset(arena, 0, bytes);
}

bool __wrap_kolk_memory_commit(void *start, size_t bytes) {
    size_t from = (size_t)((unsigned char *)start - arena[0]);
    KOLK_UNSEEN();
    for (size_t page = from / ARENA_PAGE; page * ARENA_PAGE < from + bytes; page++) {
        if (!arena_has[page]) KOLK_PLAIN_WRITE(arena[page], 8);
        arena_has[page] = true;
    }
    return true;
}

void __wrap_kolk_memory_release(void *start, size_t bytes) {
    (void)start, (void)bytes;
}

/* Of a block that is at its end, nothing is given back in parts. */
bool __wrap_kolk_memory_trim(void *start, size_t bytes) {
    (void)start, (void)bytes;
    return false;
}

void __wrap_kolk_memory_decommit(void *start, size_t bytes) {
    (void)start, (void)bytes;
}

size_t __wrap_kolk_memory_discard(void *start, size_t bytes) {
    (void)start, (void)bytes;
    return 0;
}

#endif
