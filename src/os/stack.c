/* stack.c: the calls that a thread is in, from glibc's backtrace, which reads the unwind tables of the program. So it
 * needs no frame pointers. The unwinder is a library that glibc loads when it is first asked; a program that never is
 * in need of it does not load it. Other C libraries have no such function, or want one more library to be linked. */
#include "system.h"

#include "kolk/base.h"

#include "stack.h"

#include "../core/assert.h"
#include "../core/atomics.h"

#include <stdbool.h>

#if KOLK_HOSTED

#if defined(__GLIBC__) && defined(__has_include)
#if __has_include(<execinfo.h>)
#define HAS_BACKTRACE 1
#include <execinfo.h>
#endif
#endif

#define WALK_FEW  12 /* calls of kolk's, from here on to the site: most often */
#define WALK_MANY 64 /* ... and at most */

#ifdef HAS_BACKTRACE
static uint8_t is_held;

/* glibc allocates when it loads the unwinder: by a malloc that may be kolk's, and ask for the stack in its turn. */
static int backtrace_once(void **calls, int most) {
    static _Thread_local bool walks;
    if (walks || kolk_load(&is_held, KOLK_RELAXED)) return 0;
    walks = true;
    int count = backtrace(calls, most);
    walks = false;
    return count;
}

/* Looks for the site among the innermost `walked` calls; their number, and where it is. */
static int find_on_stack(const void *site, void **calls, int walked, int *at) {
    int count = backtrace_once(calls, walked);
    *at = 0;
    while (*at < count && calls[*at] != site) ++*at;
    return count;
}
#endif

void kolk_stack_walk(const void *site, const void **frames, size_t most) {
    KOLK_ASSERT(site);
    KOLK_ASSERT(most >= 2);
    size_t length = 0;
#ifdef HAS_BACKTRACE
    void *calls[WALK_MANY];
    int few = most < WALK_MANY - WALK_FEW ? (int)most + WALK_FEW : WALK_MANY, at; /* each one takes time */
    int count = find_on_stack(site, calls, few, &at);
    if (at == count && count == few) count = find_on_stack(site, calls, WALK_MANY, &at);
    while (at < count && length + 1 < most && calls[at]) frames[length++] = calls[at++];
#endif
    if (length == 0) frames[length++] = site;
    frames[length] = NULL;
}

void kolk_stack_hold(bool hold) {
#ifdef HAS_BACKTRACE
    kolk_store(&is_held, hold, KOLK_RELAXED);
#else
    (void)hold;
#endif
}

#endif
