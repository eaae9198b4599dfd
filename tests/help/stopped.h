/* stopped.h: stops a thread before its n-th atomic operation while another thread does something, for example forks. A
 * test that includes it has `// define: KOLK_CHAOS=1`. */
#ifndef TESTS_STOPPED_H
#define TESTS_STOPPED_H

#include "run_threads.h"
#include "test.h"

#include <semaphore.h>
#include <stdbool.h>

static _Thread_local bool can_be_stopped;
static unsigned steps_left; /* how many steps until the thread stops */
static bool has_stopped;
static sem_t stopped, go_on;

static bool (*has_changed)(void); /* a step is an operation for which this is true; NULL: each operation */
void kolk_chaos_(void);

static inline void await(sem_t *what) {
    while (sem_wait(what) != 0) {}
}

void kolk_chaos_(void) {
    if (!can_be_stopped || steps_left == 0 || (has_changed && !has_changed()) || --steps_left) return;
    has_stopped = true;
    sem_post(&stopped);
    await(&go_on);
}

static inline void *act_and_tell(void *act) {
    (*(void (**)(void))act)();
    can_be_stopped = false;
    steps_left = 0;
    sem_post(&stopped);
    return NULL;
}

/* Runs `act` in another thread; `act` sets can_be_stopped when its steps begin to count. Before the n-th step that
 * thread stops while `meanwhile` runs. Returns false if there are fewer steps. */
static inline bool stop_at_step(unsigned n, void (*act)(void), void (*meanwhile)(void)) {
    pthread_t thread;
    has_stopped = false;
    steps_left = n;
    REQUIRE(pthread_create(&thread, NULL, act_and_tell, (void *)&act) == 0);
    await(&stopped);
    bool was_stopped = has_stopped;
    if (was_stopped) {
        meanwhile();
        sem_post(&go_on);
        await(&stopped);
    }
    pthread_join(thread, NULL);
    return was_stopped;
}

/* The setup of a group of tests. */
static inline int make_semaphores(void **state) {
    (void)state;
    return sem_init(&stopped, 0, 0) + sem_init(&go_on, 0, 0);
}

#endif
