/* wraps: kolk_memory_commit_ kolk_memory_decommit_ kolk_memory_discard_ kolk_memory_release_ kolk_memory_reserve_ */
/* wraps: kolk_memory_trim_ */
/* arena.h: an arena for scheduled tests. They make a million queues or pools in a row, and with the arena need not ask
 * the system for memory.
 *
 * It holds one block at a time. With ARENA_KEEPS it hands out blocks one after another until arena_begin, ARENA_PAGES
 * pages in all. A commit writes to the first bytes of each page. So if a thread uses a page without knowing of its
 * commit, that is reported as a data race, because the thread might not see the page yet. */
#ifndef TESTS_ARENA_H
#define TESTS_ARENA_H

#include "base/atomics.h"

#include <stdbool.h>
#include <string.h>

#ifndef ARENA_PAGES
#define ARENA_PAGES 64
#endif

enum { ARENA_PAGE = 4096 };

static _Alignas(ARENA_PAGE) unsigned char arena[ARENA_PAGES][ARENA_PAGE];
static bool arena_has[ARENA_PAGES]; /* which pages are committed */
static size_t arena_used;           /* how many pages */

void *__real_kolk_memory_reserve_(size_t bytes);
void *__wrap_kolk_memory_reserve_(size_t bytes);
bool __wrap_kolk_memory_commit_(void *start, size_t bytes);
void __wrap_kolk_memory_release_(void *start, size_t bytes);
bool __wrap_kolk_memory_trim_(void *start, size_t bytes);
void __wrap_kolk_memory_decommit_(void *start, size_t bytes);
size_t __wrap_kolk_memory_discard_(void *start, size_t bytes, bool counts);

static void arena_begin(void) {
    arena_used = 0;
    memset(arena_has, 0, sizeof arena_has);
}

/* The call of __real, which is never made, keeps a program that does not name this file after `wraps:` from linking. */
void *__wrap_kolk_memory_reserve_(size_t bytes) {
    if (bytes == 0) return __real_kolk_memory_reserve_(bytes);
    size_t first = arena_used;
#ifndef ARENA_KEEPS
    first = 0;
#endif
    if (bytes > sizeof arena - first * ARENA_PAGE) return NULL;
    if (first == 0) arena_begin();
    arena_used += (bytes + ARENA_PAGE - 1) / ARENA_PAGE;
    return memset(arena[first], 0, bytes);
}

bool __wrap_kolk_memory_commit_(void *start, size_t bytes) {
    size_t from = (size_t)((unsigned char *)start - arena[0]);
    KOLK_UNSEEN_();
    for (size_t page = from / ARENA_PAGE; page * ARENA_PAGE < from + bytes; page++) {
        if (!arena_has[page]) KOLK_PLAIN_WRITE_(arena[page], 8);
        arena_has[page] = true;
    }
    return true;
}

void __wrap_kolk_memory_release_(void *start, size_t bytes) {
    (void)start, (void)bytes;
}

/* The arena cannot release a part of its block. */
bool __wrap_kolk_memory_trim_(void *start, size_t bytes) {
    (void)start, (void)bytes;
    return false;
}

void __wrap_kolk_memory_decommit_(void *start, size_t bytes) {
    (void)start, (void)bytes;
}

size_t __wrap_kolk_memory_discard_(void *start, size_t bytes, bool counts) {
    (void)start, (void)bytes, (void)counts;
    return 0;
}

#endif
