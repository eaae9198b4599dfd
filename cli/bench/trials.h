/* cli/bench/trials.h: measures loops in turn, so that a disturbance of the machine affects all of them. */
#ifndef CLI_BENCH_TRIALS_H
#define CLI_BENCH_TRIALS_H

#include "results.h"

#include <stdint.h>

enum { ALIGNMENTS = 4, TRIAL_ROUNDS = 2 * ALIGNMENTS, TRIALS_MOST = 64 };

#define INLINED static inline __attribute__((always_inline))

typedef void loop_function(void *what, uint64_t times);

/* The time of a loop depends on where its code lies, by a third and more. So the code of a loop is compiled ALIGNMENTS
 * times, each time 16 bytes further from the start of a cache line: the functions name[0] to name[ALIGNMENTS - 1]. */
#define DEFINE_ALIGNED(name, loop)                                                                                     \
    DEFINE_ALIGNED_(name##_0, 0, loop)                                                                                 \
    DEFINE_ALIGNED_(name##_1, 1, loop)                                                                                 \
    DEFINE_ALIGNED_(name##_2, 2, loop)                                                                                 \
    DEFINE_ALIGNED_(name##_3, 3, loop)                                                                                 \
    static loop_function *const name[ALIGNMENTS] = {name##_0, name##_1, name##_2, name##_3};

#define DEFINE_ALIGNED_(name, number, loop)                                                                            \
    static __attribute__((noinline)) void name(void *what, uint64_t times) {                                           \
        __asm__ volatile(".balign 64\n\t.rept " #number "\n\tnop\n\t.balign 16\n\t.endr");                             \
        loop;                                                                                                          \
    }

/* A loop, which is one figure. */
struct trial {
    const char *table, *where, *who;
    loop_function *const *run; /* at each alignment */
    void *what;
    double operations; /* in one of the `times` */
    uint64_t times;    /* in one round; trials_run finds it */
    double ns[TRIAL_ROUNDS];
};

/* Runs the loops in TRIAL_ROUNDS rounds of about two milliseconds, each round in another order and at another
 * alignment, and adds to the results the median time of an operation of each loop. Before each round the loop runs as
 * long without being measured, because the loop before it has filled the caches. `count`: at most TRIALS_MOST. */
void trials_run(struct trial *trials, size_t count, json_t *results, uint64_t *random);

/* The next number of a generator, xorshift64 (Marsaglia, 2003). */
static inline uint64_t draw(uint64_t *random) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

/* A random number below `below`, which is less than 2^32. */
static inline uint32_t draw_below(uint64_t *random, uint64_t below) {
    return (uint32_t)((draw(random) >> 32) * below >> 32);
}

/* Hides an object, or all memory, from the optimiser. Without these it would join a free with the alloc after it. */
static inline void hide_object(void *object) {
    __asm__ volatile("" : "+r"(object) : : "memory");
}

static inline void hide_memory(void) {
    __asm__ volatile("" : : : "memory");
}

#endif
