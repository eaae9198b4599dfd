/* explore.h: runs many schedules one after another, and prints the first that fails. Included by schedule.h. */
#ifndef TESTS_EXPLORE_H
#define TESTS_EXPLORE_H

#include "steps.h"

/* ---- The story of a schedule ------------------------------------------------------------------------------------- */

static inline void sched_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

static inline void sched_tell(const char *format, ...) {
    size_t length = strlen(sched.report.story);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sched.report.story + length, sizeof sched.report.story - length, format, arguments);
    va_end(arguments);
}

static inline void sched_tell_step(const sched_thread *t, const sched_step *step) {
    static const char *const verbs[] = {"load",
                                        "store",
                                        "exchange",
                                        "fetch_add",
                                        "fetch_sub",
                                        "fetch_or",
                                        "fetch_and",
                                        "compare_exchange",
                                        "compare_exchange_weak",
                                        "pause",
                                        "reads",
                                        "writes",
                                        "wait",
                                        "wake"};
    static const char *const order_names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    const kolk_place_ *place = &step->place;
    bool atomic = place->verb < KOLK_PAUSE_;
    sched_tell("%5u  %-10s %s %s", step->number, t->name, verbs[place->verb], place->what);
    if (atomic) sched_tell(" %s", order_names[place->order]);
    if (atomic || place->verb >= KOLK_WAIT_) sched_tell(": %" PRIu64, step->before);
    if (step->after != step->before) sched_tell(" -> %" PRIu64, step->after);
    if (*step->note) sched_tell(", %s", step->note);
    if (place->line) sched_tell("  [%s:%d]", place->function, place->line);
    sched_tell("\n");
}

/* Prints the recorded steps in their order. */
static inline void sched_tell_steps(void) {
    unsigned next[WEAK_THREADS] = {0};
    for (unsigned i = 0; i < sched.count; i++) {
        unsigned steps = sched.threads[i].steps;
        next[i] = steps > SCHED_LAST ? steps - SCHED_LAST : 0;
    }
    for (;;) {
        const sched_thread *first = NULL;
        const sched_step *step = NULL;
        for (unsigned i = 0; i < sched.count; i++) {
            const sched_thread *t = &sched.threads[i];
            const sched_step *own = &t->last[next[i] % SCHED_LAST];
            if (next[i] == t->steps || (step && step->number <= own->number)) continue;
            first = t;
            step = own;
        }
        if (!step) return;
        sched_tell_step(first, step);
        next[first - sched.threads]++;
    }
}

static inline void sched_tell_story(void) {
    static const char *const conditions[] = {"has ended", "can go on", "pauses", "sleeps",
                                             "waits for the others to end"};
    schedule_report *report = &sched.report;
    sched_tell("%s: %s\n", sched.what->name, report->end == SCHEDULE_PASSED ? "passed" : report->sentence);
    for (unsigned i = 0; i < sched.count; i++)
        sched_tell("       %-10s %s\n", sched.threads[i].name,
                   sched.threads[i].is_dead ? "has died" : conditions[sched.threads[i].condition]);
    sched_tell_steps();
    sched_tell("again: KOLK_TEST_SCHEDULE='%s/%s'", sched.what->name, report->choices);
    if (report->seed) sched_tell(" or KOLK_TEST_SEED=%" PRIu64, report->seed);
    sched_tell("\n");
}

/* ---- Exploring --------------------------------------------------------------------------------------------------- */

/* Runs the test's own code, begin before the threads and end after them. The threads see all that begin did; end sees
 * all that they did. */
static inline void sched_run_test(void) {
    const schedule *what = sched.what;
    what->begin(what->context);
    for (unsigned i = 1; i < sched.count; i++) {
        weak_join(&weak.clocks[i], &weak.clocks[SCHED_TEST]);
        sched.threads[i].condition = SCHED_READY;
    }
    sched.threads[SCHED_TEST].condition = SCHED_JOINING;
    sched_switch();
    for (unsigned i = 1; i < sched.count; i++) weak_join(&weak.clocks[SCHED_TEST], &weak.clocks[i]);
    if (what->end) what->end(what->context);
}

static void sched_run_thread(void) {
    if (sched.current == SCHED_TEST) {
        sched_run_test();
        setcontext(&sched.outside);
    }
    sched.what->threads[sched.current - 1].body(sched.what->context);
    sched_me()->condition = SCHED_UNBORN;
    sched_switch();
    abort(); /* nothing switches to a thread that has ended */
}

static inline void sched_set_up(unsigned i) {
    sched_thread *t = &sched.threads[i];
    t->name = i ? sched.what->threads[i - 1].name : "test";
    t->condition = i ? SCHED_UNBORN : SCHED_READY;
    t->granted = t->is_dead = t->is_left = t->needs_news = false;
    t->choice = SCHED_NO_CHOICE;
    t->steps = 0;
    t->priority = sched.mode == SCHED_RANDOM ? SCHED_PCT_CHANGES + next_random(&sched.random) / 2 : 0;
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = t->stack;
    t->context.uc_stack.ss_size = SCHED_STACK;
    makecontext(&t->context, sched_run_thread, 0);
}

/* Runs one schedule. Returns true if it passed. */
static inline bool sched_run(uint64_t seed) {
    const schedule *what = sched.what;
    schedule_report *report = &sched.report;
    weak_begin();
    sched.random = report->seed = seed;
    sched.current = SCHED_TEST;
    sched.steps = sched.choices = 0;
    sched.is_alike = false;
    sched.now = 1000000000;
    sched.writes = 0;
    memset(sched.spent, 0, sizeof sched.spent);
    report->choices[sched.told = 0] = '\0';
    for (unsigned i = 0; i < sched.count; i++) sched_set_up(i);
    for (unsigned i = 0; i < SCHED_PCT_CHANGES; i++)
        sched.changes[i] = sched.mode == SCHED_RANDOM ? 1 + random_below(&sched.random, sched.expected_steps) : 0;
    for (unsigned i = 0; i < SCHED_RANDOM_DEATHS && what->deaths; i++)
        sched.deaths[i] = sched.mode == SCHED_RANDOM ? 1 + random_below(&sched.random, sched.expected_steps) : 0;
    swapcontext(&sched.outside, &sched.threads[SCHED_TEST].context);
    if (sched.steps > report->steps) report->steps = sched.steps;
    return report->end == SCHEDULE_PASSED;
}

/* Returns the limit of steps for each number of preemptions. It is low where steps are slow, or where another build
 * already runs all schedules. KOLK_TEST_SCHEDULE_STEPS replaces it. Random schedules follow in any case. */
static inline uint64_t sched_enough_steps(void) {
    bool some = does_a_part() || sizeof(void *) < 8;
    return number_from_environment("KOLK_TEST_SCHEDULE_STEPS", some ? 500000 : UINT64_MAX);
}

/* Returns true if no schedule is left out. Then a test may assert that one of them reaches some state. */
static inline bool schedules_are_all(void) {
    return sched_enough_steps() == UINT64_MAX && !getenv("KOLK_TEST_SCHEDULE");
}

/* Runs all schedules with this many preemptions: walks the tree of choices, depth first. The first run takes option 0
 * of each choice. */
static inline bool sched_explore_all(unsigned preemptions) {
    sched.bounds[SCHED_PREEMPTION] = preemptions;
    sched.trail_length = 0;
    sched.report.exhaustive = 0;
    uint64_t steps = 0, enough = sched_enough_steps();
    do {
        if (steps >= enough) {
            sched.report.cut = true;
            break;
        }
        sched.report.exhaustive++;
        if (!sched_run(0)) return false;
        if (preemptions == 0 && sched.report.exhaustive == 1) sched.expected_steps = sched.steps + 1;
        steps += sched.steps;
    } while (sched_advance());
    return true;
}

static inline bool sched_explore(void) {
    const schedule *what = sched.what;
    if (what->replay) {
        sched.mode = SCHED_REPLAY;
        return sched_run(0);
    }
    sched.mode = SCHED_EXHAUSTIVE;
    sched.bounds[SCHED_SURPRISE] = what->surprises;
    sched.bounds[SCHED_DEATH] = what->deaths;
    for (unsigned n = 0; n <= what->preemptions; n++)
        if (!sched_explore_all(n)) return false;
    uint64_t seed = what->seed ? what->seed : number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    sched.mode = SCHED_RANDOM;
    for (unsigned n = 0; n < what->random; n++) {
        sched.report.random++;
        if (!sched_run(seed + n)) return false;
    }
    sched.report.seed = seed;
    return true;
}

static inline const schedule_report *schedule_explore(const schedule *what) {
    memset(&sched, 0, sizeof sched);
    sched.what = what;
    sched.max_steps = what->max_steps ? what->max_steps : SCHED_MAX_STEPS;
    sched.count = 1;
    while (sched.count < WEAK_THREADS && what->threads[sched.count - 1].body) sched.count++;
    for (unsigned i = 0; i < sched.count; i++) {
        sched.threads[i].stack = (unsigned char *)malloc(SCHED_STACK);
        assert_non_null(sched.threads[i].stack);
    }
    kolk_set_failure_handler(sched_on_failure, NULL);
    bool passed = sched_explore();
    kolk_set_failure_handler(NULL, NULL);
    if (!passed || what->replay) sched_tell_story();
    for (unsigned i = 0; i < sched.count; i++) free(sched.threads[i].stack);
    return &sched.report;
}

static inline void schedule_must_pass(const schedule *what) {
    schedule asked = *what;
    const char *words = getenv("KOLK_TEST_SCHEDULE");
    if (words) {
        size_t length = strlen(what->name);
        if (strncmp(words, what->name, length) != 0 || words[length] != '/') return;
        asked.replay = words + length + 1;
    }
    const schedule_report *report = schedule_explore(&asked);
    fputs(report->story, stderr); /* cmocka cuts its messages at 1024 characters */
    if (report->end != SCHEDULE_PASSED) fail_msg("%s: %s", what->name, report->sentence);
    if (!asked.replay)
        print_message("%s: %s%" PRIu64 " schedules with up to %u preemptions, %u surprises and %u deaths, %" PRIu64
                      " random ones from seed %" PRIu64 "; up to %u steps\n",
                      what->name, report->cut ? "not all, " : "", report->exhaustive, what->preemptions,
                      what->surprises, what->deaths, report->random, report->seed, report->steps);
}

#endif
