/* heap_forks.h: for tests that fork before every atomic operation of another thread's work on a heap, its deed. A test
 * that includes it says `with: KOLK_CHAOS=1`. Include test.h first. */
#ifndef TESTS_HEAP_FORKS_H
#define TESTS_HEAP_FORKS_H

#include "../help/child.h"
#include "../help/stopped.h"
#include "heap_test.h"

static unsigned step; /* the operation before which the process forks */
static const char *deed_name = "";

/* As in require.h, but also prints what is being tried. */
#undef REQUIRE
#define REQUIRE(what)                                                                                                  \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s (%s, step %u)\n", __FILE__, __LINE__, #what, deed_name, step);          \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Runs `body` in a child of this process, and returns its exit status. */
static inline unsigned fork_to(void (*body)(void *)) {
    char text[1000];
    int status = run_child(body, NULL, text, sizeof text);
    if (!WIFEXITED(status)) fail_msg("%s, step %u: the child died: %s", deed_name, step, text);
    return (unsigned)WEXITSTATUS(status);
}

#endif
