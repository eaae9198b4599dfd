/* schedule.h: runs every order in which a few threads can take their steps, or a random choice of these orders, one
 * after another.
 *
 *     #include "test.h"
 *     #include "schedule.h"
 *
 *     typedef struct state { kolk_queue queue; uint32_t got; } state;
 *
 *     static void begin(void *context) {        // before each schedule: sets up the same state again
 *         state *s = (state *)context;
 *         schedule_assert(kolk_queue_init(&s->queue, &(kolk_queue_desc){.item_size = 4, .capacity = 1}) == KOLK_OK);
 *     }
 *     static void push(void *context) {
 *         schedule_assert(kolk_queue_push(&((state *)context)->queue, &(uint32_t){7}, KOLK_FOREVER) == KOLK_OK);
 *     }
 *     static void pop(void *context) {
 *         state *s = (state *)context;
 *         schedule_assert(kolk_queue_pop(&s->queue, &s->got, KOLK_FOREVER) == KOLK_OK);
 *     }
 *     static void end(void *context) {          // when all threads have returned
 *         schedule_assert(((state *)context)->got == 7);
 *         kolk_queue_deinit(&((state *)context)->queue);
 *     }
 *     static void test_hand_over(void **unused) {
 *         state s;
 *         (void)unused;
 *         schedule_must_pass(&(schedule){.name = "hand_over", .context = &s, .begin = begin, .end = end,
 *                                        .threads = {{"producer", push}, {"consumer", pop}},
 *                                        .preemptions = 2, .surprises = 1, .random = 10000});
 *     }
 *
 * The program has a row in tests/programs.cmake that compiles another copy of the library, with KOLK_SCHEDULED=1. In it
 * each operation of src/base/atomics.h is a step that the scheduler grants, and the scheduler implements kolk_now_ns_,
 * kolk_wait_ and kolk_wake_. Threads are coroutines of one system thread, so the choices alone determine what happens.
 * Rules for such a test:
 *
 * - Nothing may depend on addresses, time, or the test's own random numbers. All threads share the _Thread_local
 *   variables.
 * - Bodies use schedule_assert, never cmocka's asserts, which would jump to another stack. A failure that reaches
 *   kolk's handler is a failed assertion.
 * - Bodies share their own data through atomics.h too, or declare accesses by KOLK_PLAIN_READ_ and KOLK_PLAIN_WRITE_;
 *   otherwise a race on it goes unseen. KOLK_UNSEEN_ comes before code whose result depends on the order of steps
 *   alone, such as a count of who came first.
 * - A loop that waits for another thread pauses or sleeps. No step is taken while kolk_lock_ is held. If the same
 *   schedule used an address for another atomic before, a kolk_store_ comes first, so that old values are not read.
 * - Bodies make a call or two, as the number of schedules grows with the power of the bound (some 200,000 short ones
 *   take a second). With KOLK_SCHEDULED, spins before a sleep take no round at all: a pause lets the others do all that
 *   they can, so the code after the spin would hardly ever be reached. The same holds for rare steps that wait for
 *   milliseconds.
 *
 * It finds failed assertions, data races, deadlocks (all threads sleep for ever, for example after a lost wake-up) and
 * livelocks (more than max_steps steps). The choices, by cost:
 *
 *   free         which thread runs next when the running one sleeps, pauses or ends
 *   preemption   which thread replaces the running one before one of its steps
 *   surprise     a load that returns an older store (weak.h); a weak compare-exchange that fails for no reason;
 *                a wait that returns for no reason; a deadline that passes before anything else happens
 *
 * First come all schedules without a preemption, then all with up to 1, then up to 2 ...: most errors need few
 * (Musuvathi and Qadeer, "Iterative Context Bounding", 2007). If schedules differ only in the order of independent
 * steps, one of them is taken: steps.h. Then come random schedules: each thread has a random priority, the highest
 * runs, and at two random steps the running thread becomes the lowest (PCT: Burckhardt, Kothari, Musuvathi,
 * Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees", 2010), with surprises at random.
 *
 * A thread that pauses lets the others run until one of them has written, or until a preemption; if all pause, each has
 * its turn. The clock advances by 1 us per pause, and jumps to the next deadline when all sleep.
 *
 * The report of a failed schedule has the last steps of each thread, and each choice that was not the first option as
 * `number:option`. KOLK_TEST_SCHEDULE='name/12:1,40:2' replays that schedule; KOLK_TEST_SEED replays random ones. */
#ifndef TESTS_SCHEDULE_H
#define TESTS_SCHEDULE_H

#ifndef KOLK_SCHEDULED
#error "a scheduled test begins with: // define: KOLK_SCHEDULED=1"
#endif

#include "test.h"

#include <time.h>
#include <ucontext.h>

#include "weak.h"

#define SCHEDULE_THREADS (WEAK_THREADS - 1)

typedef struct schedule {
    const char *name;
    void *context; /* passed to begin, end and the bodies; end may be NULL */
    void (*begin)(void *context);
    struct {
        const char *name;
        void (*body)(void *context);
    } threads[SCHEDULE_THREADS];
    void (*end)(void *context);
    unsigned preemptions, surprises; /* bounds of the exhaustive part */
    bool all_alike;                  /* do not leave out schedules that are equivalent to others */
    unsigned random;                 /* schedules after that */
    uint64_t seed;                   /* of the first random one; each next one adds 1; 0: KOLK_TEST_SEED, or the time */
    unsigned max_steps;              /* 0: 2000 */
    const char *replay;              /* run only this schedule, as written in a report: "12:1,40:2", "" */
} schedule;

typedef enum schedule_end {
    SCHEDULE_PASSED,
    SCHEDULE_ASSERTION,
    SCHEDULE_RACE,
    SCHEDULE_DEADLOCK,
    SCHEDULE_LIVELOCK
} schedule_end;

/* What an exploration found, up to the first schedule that failed. */
typedef struct schedule_report {
    schedule_end end;
    uint64_t exhaustive, random; /* how many of each were run */
    bool cut;                    /* the limit sched_enough_steps() ended the exhaustive part early */
    unsigned steps;              /* of the longest schedule */
    uint64_t seed;               /* of the failed one if random (0: it was not); of the first one if none failed */
    char sentence[512];          /* these three: of the failed schedule; the story also of a replay that passed */
    char choices[16384];
    char story[32768];
} schedule_report;

/* Explores up to the first failure. The report is valid until the next call. */
static inline const schedule_report *schedule_explore(const schedule *what);

/* Fails the test with the story of the first schedule that fails. KOLK_TEST_SCHEDULE restricts it to one schedule. */
static inline void schedule_must_pass(const schedule *what);

/* In a body: ends the schedule, and the exploration, if the condition is false. */
#define schedule_assert(condition)                                                                                     \
    ((condition) ? (void)0                                                                                             \
                 : sched_stop("%s:%d: %s says: %s is false", __func__, __LINE__, sched_me()->name, #condition))

/* In a body: the index in .threads of the running thread, for several threads with one body. */
static inline unsigned schedule_thread(void);

#include "steps.h"

#include "explore.h"

#endif
