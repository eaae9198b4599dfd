/* cost.c: measures the processor time that recording takes in the program, so that kolk record can subtract it from the
 * time of the program.
 *
 * One call in COST_EACH is a sample; kolk record multiplies the mean of the samples by the number of calls. So one
 * interrupt within a sample would count COST_EACH times. No call takes as long as SAMPLE_MOST without an interrupt or a
 * change of thread: what takes longer is no sample. For that, and because reading a thread's clock is a system call,
 * which takes longer than recording a call does, samples are taken by the clock that needs none.
 *
 * Walking a stack, and waiting for the reader, are rare and take long. So they are always timed, by the thread's clock,
 * and a call that contains one is no sample; the next call is.
 *
 * What one reading takes is measured by two readings in succession, each time. The difference may be negative for one
 * sample. The damage to the processor's caches remains, which cannot be measured from within. */
#define _GNU_SOURCE
#include "inside.h"

#ifndef COST_EACH
#define COST_EACH 256
#endif

enum { SAMPLE_MOST = 2000 }; /* ns */

static uint64_t now(clockid_t clock) {
    struct timespec time = {0, 0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static struct timing begin(clockid_t clock) {
    struct timing timing = {.before = now(clock)};
    timing.begin = now(clock);
    return timing;
}

/* Returns how many calls a new thread makes before one is timed, from 0 to COST_EACH - 1. It is scattered over the
 * threads, as a thread may make a few calls only. */
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
    return begin(CLOCK_MONOTONIC);
}

void record_cost_end(struct timing timing) {
    if (__builtin_expect(timing.begin == 0, 1) || record_here.was_slow) return;
    uint64_t all = now(CLOCK_MONOTONIC) - timing.begin, reading = timing.begin - timing.before;
    if (all > SAMPLE_MOST || reading > SAMPLE_MOST) return;
    record_here.untimed = COST_EACH - 1;
    struct wire *wire = record_state->wire;
    __atomic_fetch_add(&wire->sampled_ns, (int64_t)all - (int64_t)reading, __ATOMIC_RELAXED);
    __atomic_fetch_add(&wire->samples, 1, __ATOMIC_RELAXED);
}

struct timing record_slow_begin(void) {
    struct here *here = &record_here;
    if (here->is_slow) return (struct timing){0, 0}; /* the work around this is timed */
    here->is_slow = here->was_slow = true;
    return begin(CLOCK_THREAD_CPUTIME_ID);
}

/* Adds the work, and what the three readings take. */
void record_slow_end(struct timing timing) {
    if (timing.begin == 0) return;
    record_here.is_slow = false;
    uint64_t all = now(CLOCK_THREAD_CPUTIME_ID) - timing.begin, reading = timing.begin - timing.before;
    __atomic_fetch_add(&record_state->wire->slow_ns, (all > reading ? all - reading : 0) + 3 * reading,
                       __ATOMIC_RELAXED);
}
