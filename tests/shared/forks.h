// link: -pthread
/* forks.h: what the tests of forks share: a thread that is stopped before its n-th atomic operation with a shared pool,
 * while another forks. A test that includes it has `// define: KOLK_CHAOS=1`, and says in has_changed which operations
 * count. Include test.h or debug_test.h first. */
#ifndef TESTS_FORKS_H
#define TESTS_FORKS_H

#include "../help/stopped.h"
#include "shared_test.h"

#include <sys/wait.h>
#include <unistd.h>

typedef struct deed {
    const char *name;
    void (*prepare)(void);
    void (*act)(void);
    bool takes;   /* the thread that forks takes and gives back an object before */
    bool a_third; /* a third thread is at work too, and is not stopped */
} deed;

static kolk_shared pool;
static kolk_local mine, others; /* of the thread that forks, and of the one that is stopped */
static uint32_t held;
static const deed *current;
static unsigned step;
static const char *setting = ""; /* for people */

/* As in require.h, with what is tried now. */
#undef REQUIRE
#define REQUIRE(what)                                                                                                  \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s (%s, %s, cache %u, step %u)\n", __FILE__, __LINE__, #what, setting,     \
                    current->name, pool.depot.cache, step);                                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline void prepare_and_act(void) {
    REQUIRE(kolk_local_init(&others, &pool) == KOLK_OK);
    if (current->prepare) current->prepare();
    can_be_stopped = true;
    current->act();
}

/* With the other thread stopped before its n-th step; false if it has fewer. */
static inline bool fork_at_step(void (*fork_now)(void)) {
    held = 0;
    return stop_at_step(step, prepare_and_act, fork_now);
}

/* The status with which a child of its own ends in _exit. */
static inline int fork_child(void (*live_on)(uint32_t), uint32_t argument) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) live_on(argument);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("%s, %s, cache %u, step %u: the child died", setting, current->name, pool.depot.cache, step);
    return WEXITSTATUS(status);
}

#endif
