/* cost.c: measures the processor time that recording takes in the program, so that kolk record can subtract it from the
 * time of the program.
 *
 * Reading a thread's clock is a system call, which takes longer than recording a call does. So only one call in
 * COST_EACH is timed, and counts for all of them. Walking a stack, and waiting for the reader, are rare and take long:
 * a sample would often miss them, or count one of them COST_EACH times. So they are always timed, and a call that
 * contains one is no sample; the next call is.
 *
 * What one reading takes is measured by two readings in succession, each time. The damage to the processor's caches
 * remains, which cannot be measured from within. */
#define _GNU_SOURCE
#include "inside.h"

#ifndef COST_EACH
#define COST_EACH 256
#endif

static uint64_t now(void) {
    struct timespec time = {0, 0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static struct timing begin(void) {
    struct timing timing = {.before = now()};
    timing.begin = now();
    return timing;
}

/* Adds the work since the beginning, which happens so many times, and what the three readings take. */
static void add(struct timing timing, uint64_t times) {
    uint64_t all = now() - timing.begin, reading = timing.begin - timing.before;
    uint64_t work = all > reading ? all - reading : 0;
    __atomic_fetch_add(&record_state->wire->recording_ns, work * times + 3 * reading, __ATOMIC_RELAXED);
}

/* Returns how many calls a new thread makes before one is timed, from 0 to COST_EACH - 1. It is scattered over the
 * threads, as a thread may make a few calls only, and each sample counts for COST_EACH. */
static uint32_t first_sample(const struct here *here) {
    return (uint32_t)((uintptr_t)here * UINT64_C(0x9e3779b97f4a7c15) >> 32) % COST_EACH;
}

struct timing record_cost_begin(void) {
    struct here *here = &record_here;
    if (__builtin_expect(here->untimed > 0, 1)) {
        here->untimed--;
        return (struct timing){0, 0};
    }
    if (here->thread == 0) { /* its first call */
        here->untimed = first_sample(here);
        return (struct timing){0, 0};
    }
    here->was_slow = false;
    return begin();
}

void record_cost_end(struct timing timing) {
    if (__builtin_expect(timing.begin == 0, 1) || record_here.was_slow) return;
    record_here.untimed = COST_EACH - 1;
    add(timing, COST_EACH);
}

struct timing record_slow_begin(void) {
    struct here *here = &record_here;
    if (here->is_slow) return (struct timing){0, 0}; /* the work around this is timed */
    here->is_slow = here->was_slow = true;
    return begin();
}

void record_slow_end(struct timing timing) {
    if (timing.begin == 0) return;
    record_here.is_slow = false;
    add(timing, 1);
}
