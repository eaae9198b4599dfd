/* schedule.h: every order in which a few threads can take their steps, or a random choice of them, one after
 * another.
 *
 *     // define: KOLK_SCHEDULED=1
 *     #include "test.h"
 *     #include "schedule.h"
 *
 *     typedef struct state { kolk_queue queue; uint32_t got; } state;
 *
 *     static void begin(void *context) {        // before each schedule: all is as it was the last time
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
 * The definition compiles the library once more, so that each operation of src/core/atomics.h is a step that the
 * scheduler grants, and kolk_now_ns, kolk_wait and kolk_wake are its own. Threads are coroutines of one thread of the
 * system: what happens is what the choices say, and nothing else. So
 *
 * - nothing depends on addresses, time, or random numbers of the test's own; _Thread_local variables are shared by all;
 * - bodies use schedule_assert, never cmocka's asserts, which would jump to another stack; a failure that is told to
 *   kolk's handler is a failed assertion;
 * - bodies of the test share data through atomics.h too, or name it by KOLK_PLAIN_READ and KOLK_PLAIN_WRITE: else its
 *   races go unseen; what the order of steps alone decides, such as who counts first, follows a KOLK_UNSEEN;
 * - a loop that waits for another thread pauses or sleeps; no step is taken while kolk_lock is held; an atomic in a
 *   place where the same schedule has had another one begins with a kolk_store, so that the former's values are not
 *   read;
 * - bodies make a call or two: the number of schedules grows with the power of the bound (some 200,000 short ones take
 *   a second). Spins before a sleep take no round at all (#ifdef KOLK_SCHEDULED): since a pause lets the others do all
 *   that they can, whatever comes after the spin is hardly ever reached; the same is true of rare steps that wait for
 *   milliseconds.
 *
 * It finds: a failed assertion, a data race, a deadlock (all sleep, for ever: so a lost wake-up), a livelock (more than
 * max_steps). The choices, and what each costs:
 *
 *   free         who goes on when the running thread sleeps, pauses or ends
 *   preemption   who goes on instead of the running thread, before any of its steps
 *   surprise     a load that gives an older store (weak.h); a weak compare-exchange that fails for no reason;
 *                a wait that returns for no reason; a deadline that passes before anything else happens
 *
 * First come all schedules without a preemption, then all with up to 1, then up to 2 ...: most errors need few
 * (Musuvathi and Qadeer, "Iterative Context Bounding", 2007). Of those that differ only in the order of steps that have
 * nothing to do with each other one is taken: steps.h. Then come random ones: each thread has a random priority,
 * the highest goes on, and at two random steps the running one becomes the lowest (PCT: Burckhardt, Kothari, Musuvathi,
 * Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees", 2010), with surprises at random.
 *
 * A thread that pauses lets the others go on, and goes on when one of them has written, or by a preemption; if all
 * pause, each has its turn. The clock stands still but for 1 us a pause, and leaps to the next deadline when all sleep.
 *
 * A failed schedule is told with the last steps of each thread and with all its choices that were not the first option,
 * as `number:option`. To take that one again: KOLK_TEST_SCHEDULE='name/12:1,40:2'; KOLK_TEST_SEED does so for random
 * ones. */
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
    void *context; /* what all these are called with; end may be NULL */
    void (*begin)(void *context);
    struct {
        const char *name;
        void (*body)(void *context);
    } threads[SCHEDULE_THREADS];
    void (*end)(void *context);
    unsigned preemptions, surprises; /* bounds of the exhaustive part */
    bool all_alike;                  /* it takes also those that are like others */
    unsigned random;                 /* schedules after that */
    uint64_t seed;                   /* of the first of them, each next has the next; 0: KOLK_TEST_SEED, or the time */
    unsigned max_steps;              /* 0: 2000 */
    const char *replay;              /* only this one, in a report's words: "12:1,40:2", "" */
} schedule;

typedef enum schedule_end {
    SCHEDULE_PASSED,
    SCHEDULE_ASSERTION,
    SCHEDULE_RACE,
    SCHEDULE_DEADLOCK,
    SCHEDULE_LIVELOCK
} schedule_end;

/* Of all schedules, or up to the first that failed. */
typedef struct schedule_report {
    schedule_end end;
    uint64_t exhaustive, random; /* schedules with all preemptions and surprises that are allowed; random ones */
    bool cut;                    /* there are more of the former, but sched_enough_steps were taken */
    unsigned steps;              /* of the longest */
    uint64_t seed;               /* of the one that failed, if that was random, else 0; of the first if none failed */
    char sentence[512];          /* these three are of the one that failed; the story is also of a replay that passed */
    char choices[16384];
    char story[32768];
} schedule_report;

/* Up to the first failure. The report is good until the next call. */
static inline const schedule_report *schedule_explore(const schedule *what);

/* Fails the test with the story of the first schedule that fails. With KOLK_TEST_SCHEDULE only that one is taken. */
static inline void schedule_must_pass(const schedule *what);

/* In a body: ends the schedule, and the exploration, if the condition is false. */
#define schedule_assert(condition)                                                                                     \
    ((condition) ? (void)0                                                                                             \
                 : sched_stop("%s:%d: %s says: %s is false", __func__, __LINE__, sched_me()->name, #condition))

/* In a body: which of .threads is running, from 0; for several threads with one body. */
static inline unsigned schedule_thread(void);

#include "steps.h"

#include "explore.h"

#endif
