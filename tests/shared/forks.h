// link: -pthread
/* forks.h: what the tests of forks share: a thread that is stopped before its n-th atomic operation with a shared pool,
 * while another forks. A test that includes it has `// define: KOLK_CHAOS=1`, and says in has_changed which operations
 * count. Include test.h or debug_test.h first. */
#ifndef TESTS_FORKS_H
#define TESTS_FORKS_H

#include "shared_test.h"

#include <pthread.h>
#include <semaphore.h>
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

static _Thread_local bool can_be_stopped;
static unsigned steps_left; /* until it stops */
static bool has_stopped;
static sem_t stopped, go_on;

static bool has_changed(void);
void kolk_chaos(void);

void kolk_chaos(void) {
    if (!can_be_stopped || steps_left == 0 || !has_changed() || --steps_left) return;
    has_stopped = true;
    sem_post(&stopped);
    while (sem_wait(&go_on) != 0) {}
}

/* In any thread and in children, where cmocka's asserts can't be used. */
#define REQUIRE(what)                                                                                                  \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: not so: %s (%s, %s, cache %u, step %u)\n", __FILE__, __LINE__, #what, setting,     \
                    current->name, pool.depot.cache, step);                                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline void *stop_within(void *unused) {
    (void)unused;
    REQUIRE(kolk_local_init(&others, &pool) == KOLK_OK);
    if (current->prepare) current->prepare();
    can_be_stopped = true;
    current->act();
    can_be_stopped = false;
    steps_left = 0;
    sem_post(&stopped);
    return NULL;
}

/* With the other thread stopped before its n-th step; false if it has fewer. */
static inline bool fork_at_step(void (*fork_now)(void)) {
    pthread_t thread;
    has_stopped = false;
    steps_left = step;
    held = 0;
    assert_int_equal(pthread_create(&thread, NULL, stop_within, NULL), 0);
    while (sem_wait(&stopped) != 0) {}
    bool was_stopped = has_stopped;
    if (was_stopped) {
        fork_now();
        sem_post(&go_on);
        while (sem_wait(&stopped) != 0) {}
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    return was_stopped;
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

static inline int make_semaphores(void **state) {
    (void)state;
    return sem_init(&stopped, 0, 0) + sem_init(&go_on, 0, 0);
}

#endif
