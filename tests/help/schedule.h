/* schedule.h: runs every order in which a few threads can take their steps, or a random choice of these orders, one
 * order after another.
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
 * The program says `with: KOLK_SCHEDULED=1` (docs/tests.md), which compiles another copy of the library for it. In
 * this copy each operation of src/base/atomics.h is a step that the scheduler must grant, and the scheduler implements
 * kolk_now_ns_, kolk_wait_ and kolk_wake_. Threads are coroutines of one system thread, so what happens depends only on
 * the scheduler's choices. Rules for such a test:
 *
 * - Nothing may depend on addresses, on time, or on random numbers of the test's own. All threads share the
 *   _Thread_local variables.
 * - Bodies use schedule_assert, never cmocka's asserts, which would jump to another stack. A failure that reaches
 *   kolk's handler is a failed assertion.
 * - Bodies also use atomics.h for data that they share, or declare their accesses by KOLK_PLAIN_READ_ and
 *   KOLK_PLAIN_WRITE_. Otherwise a race on such data is not detected. KOLK_UNSEEN_ comes before code whose result
 *   depends only on the order of steps, such as a record of which thread came first.
 * - A loop that waits for another thread must pause or sleep. No step is taken while kolk_lock_ is held. If an address
 *   was used for another atomic earlier in the same schedule, a kolk_store_ must come first, so that old values are not
 *   read.
 * - Bodies make only a call or two, because the number of schedules grows like the number of steps to the power of the
 *   bound (some 200,000 short schedules take a second). With KOLK_SCHEDULED, a thread does not spin before it sleeps: a
 *   pause would let the others do all that they can, so the code after the spin would hardly ever be reached. The same
 *   holds for rare steps that wait for milliseconds.
 *
 * The scheduler finds failed assertions, data races, deadlocks (all threads sleep for ever, for example after a lost
 * wake-up) and livelocks (more than max_steps steps). Its choices, by cost:
 *
 *   free         which thread runs next when the running one sleeps, pauses or ends
 *   preemption   which thread replaces the running one before one of its steps
 *   surprise     a load that returns an older store (weak.h); a weak compare-exchange that fails for no reason;
 *                a wait that returns for no reason; a deadline that passes before anything else happens
 *   death        a thread that never takes its next step, as if its process had been killed there
 *
 * First come all schedules without preemptions, then all with up to 1, then all with up to 2, and so on, because most
 * errors need few (Musuvathi and Qadeer, "Iterative Context Bounding", 2007). Of schedules that differ only in the
 * order of independent steps, just one is run: see steps.h. Then come random schedules. Each thread has a random
 * priority, and the thread with the highest runs. At two random steps the running thread's priority becomes the lowest
 * (PCT: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees", 2010).
 * Surprises come at random.
 *
 * A thread that pauses lets the others run until one of them has written, or until a preemption. If all pause, each has
 * its turn. The clock advances by 1 us per pause, and jumps to the next deadline when all threads sleep.
 *
 * The report of a failed schedule has the last steps of each thread, and lists as `number:option` each choice that was
 * not the first option. KOLK_TEST_SCHEDULE='name/12:1,40:2' replays that schedule; KOLK_TEST_SEED replays random
 * schedules. */
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
    void *context; /* passed to `begin`, `end` and the bodies; `end` may be NULL */
    void (*begin)(void *context);
    struct {
        const char *name;
        void (*body)(void *context);
    } threads[SCHEDULE_THREADS];
    void (*end)(void *context);
    unsigned preemptions, surprises; /* the bounds of the exhaustive part */
    unsigned deaths;                 /* the same; if it is not 0, random schedules have up to two */
    void (*on_death)(void *context); /* the thread that dies calls it, for what the system does then; may be NULL */
    bool all_alike;                  /* runs even schedules that are equivalent to others */
    unsigned random;                 /* how many random schedules follow */
    uint64_t seed;      /* of the first random schedule; each later one adds 1; 0: KOLK_TEST_SEED, or time */
    unsigned max_steps; /* 0 means 2000 */
    const char *replay; /* runs only this schedule, as a report writes it: "12:1,40:2", "" */
} schedule;

typedef enum schedule_end {
    SCHEDULE_PASSED,
    SCHEDULE_ASSERTION,
    SCHEDULE_RACE,
    SCHEDULE_DEADLOCK,
    SCHEDULE_LIVELOCK
} schedule_end;

/* The result of an exploration, up to the first schedule that failed. */
typedef struct schedule_report {
    schedule_end end;
    uint64_t exhaustive, random; /* how many schedules of each sort were run */
    bool cut;                    /* the limit of sched_enough_steps() ended the exhaustive part early */
    unsigned steps;              /* the steps of the longest schedule */
    uint64_t seed;               /* of the failed schedule (0 if it was not random); if none failed, of the first */
    char sentence[512];          /* the last three describe the failed schedule; `story` also a replay that passed */
    char choices[16384];
    char story[32768];
} schedule_report;

/* Runs schedules until the first failure. The report is valid until the next call. */
static inline const schedule_report *schedule_explore(const schedule *what);

/* Fails the test with the story of the first schedule that fails. KOLK_TEST_SCHEDULE restricts it to one schedule. */
static inline void schedule_must_pass(const schedule *what);

/* In a body: ends the schedule, and the exploration, if the condition is false. */
#define schedule_assert(condition)                                                                                     \
    ((condition) ? (void)0                                                                                             \
                 : sched_stop("%s:%d: %s says: %s is false", __func__, __LINE__, sched_me()->name, #condition))

/* In a body: returns the index of the running thread in .threads, for several threads that have the same body. */
static inline unsigned schedule_thread(void);

/* Has the thread with this index died in this schedule? */
static inline bool schedule_is_dead(unsigned thread);

#include "steps.h"

#include "explore.h"

#endif
