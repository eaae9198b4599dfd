/* forks.h: for tests of forks: stops a thread before its n-th atomic operation on a shared pool while another thread
 * forks. A test that includes it has `// define: KOLK_CHAOS=1`. Include test.h or debug_test.h first. */
#ifndef TESTS_FORKS_H
#define TESTS_FORKS_H

#include "../help/child.h"
#include "../help/stopped.h"
#include "shared_test.h"

typedef struct deed {
    const char *name;
    void (*prepare)(void);
    void (*act)(void);
    bool takes;   /* the forking thread allocates and frees an object first */
    bool a_third; /* a third thread works too, and is not stopped */
} deed;

static kolk_shared pool;
static kolk_shared_local mine, others; /* of the forking thread, and of the stopped one */
static uint32_t held;
static const deed *current;
static unsigned step;
static const char *setting = ""; /* printed with failures */

/* As in require.h, but also prints what is being tried. */
#undef REQUIRE
#define REQUIRE(what)                                                                                                  \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s (%s, %s, cache %u, step %u)\n", __FILE__, __LINE__, #what, setting,     \
                    current->name, pool.inside->store.depot.cache, step);                                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline void prepare_and_act(void) {
    REQUIRE(kolk_shared_local_init(&others, &pool) == KOLK_OK);
    if (current->prepare) current->prepare();
    can_be_stopped = true;
    current->act();
}

/* Calls fork_now while the other thread is stopped before step `step`. Returns false if that thread has fewer steps. */
static inline bool fork_at_step(void (*fork_now)(void)) {
    held = 0;
    return stop_at_step(step, prepare_and_act, fork_now);
}

/* Runs live_on in a child and returns the child's exit status. */
static inline int fork_and_live(void (*live_on)(uint32_t), uint32_t argument) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) live_on(argument);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("%s, %s, cache %u, step %u: the child died", setting, current->name, pool.inside->store.depot.cache,
                 step);
    return WEXITSTATUS(status);
}

#endif
