/* threads.h: for tests with threads: a seed, jobs that several threads do one after another, and tests on a single
 * core. */
#ifndef TESTS_THREADS_H
#define TESTS_THREADS_H

#include "test.h"

#include "chaos.h"
#include "os/thread.h"
#include "run_threads.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

static inline void nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* Waits until the condition is true, however long that takes, because the machine may be busy. */
#define EVENTUALLY(what)                                                                                               \
    do {                                                                                                               \
        uint64_t naps_ = 0;                                                                                            \
        while (!(what)) {                                                                                              \
            REQUIRE(naps_++ < 600000 && #what);                                                                        \
            nap();                                                                                                     \
        }                                                                                                              \
    } while (0)

/* ---- Random work ------------------------------------------------------------------------------------------------- */

static uint64_t seed, operations; /* KOLK_TEST_SEED, KOLK_TEST_OPS */

/* Call this at the start of main. */
static inline void begin_random_work(uint64_t usual_operations) {
    END_IF_IT_HANGS();
    seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    operations = number_from_environment("KOLK_TEST_OPS", SLOW_CALLS ? usual_operations / 4 : usual_operations);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* A worker is the first member of each job. */
typedef struct worker {
    void *(*work)(void *job); /* runs in a thread until the job is done or this thread's life is over */
    bool done;
    uint32_t lives; /* how many threads have worked on the job, one after another */
    pthread_t thread;
} worker;

/* Waits until the system no longer lists that thread and its name: it may do so for a moment after the join. */
static inline void await_thread_end(uint32_t thread) {
    while (!kolk_thread_is_gone_(thread)) nap();
}

static inline void *relay(void *job) {
    worker *w = (worker *)job;
    for (; !w->done; w->lives++) run_thread(w->work, job);
    return NULL;
}

/* Starts a job in one thread, or in several that follow one another. */
static inline void start_job(void *job, void *(*work)(void *), bool by_turns) {
    worker *w = (worker *)job;
    w->work = work;
    REQUIRE(pthread_create(&w->thread, NULL, by_turns ? relay : work, job) == 0);
}

static inline void join_job(const void *job) {
    REQUIRE(pthread_join(((const worker *)job)->thread, NULL) == 0);
}

/* Runs a test whose threads must all be in place before a deadline in milliseconds, and which returns whether they
 * were. If they were not, as on a busy machine, runs it again with a longer deadline. */
static inline void try_until_in_time(bool (*in_time)(int which, int64_t milliseconds), int which) {
    for (int64_t milliseconds = 30; !in_time(which, milliseconds);) milliseconds *= 2;
}

/* Runs tests on one core, so that all threads but the running one are either interrupted or asleep. */
#ifdef _WIN32
static inline void run_on_one_core(void (*const *tests)(void **state), size_t n, void **state) {
    assert_true(use_one_core(true));
    for (size_t i = 0; i < n; i++) tests[i](state);
    assert_true(use_one_core(false));
}
#else
static inline void run_on_one_core(void (*const *tests)(void **state), size_t n, void **state) {
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (size_t i = 0; i < n; i++) tests[i](state);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}
#endif

#endif
