/* cli/advise/gain.h: what a verdict gains: the source's own operations, played from the pool as it is to be declared
 * and from malloc. */
#ifndef CLI_GAIN_H
#define CLI_GAIN_H

#include "../context.h"
#include "verdict.h"

struct gain {
    uint64_t operations;               /* played: allocations and frees */
    double malloc_ns, pool_ns;         /* an operation; of an arena, the frees take no time but that of clear */
    uint64_t malloc_bytes, pool_bytes; /* see gain_measure */
    size_t rounds;
};

/* Plays the operations of a verdict other than ADVICE_LEAVE, by one thread in the recorded order: first once, to prove
 * that the pool is never full, then in timed rounds that alternate. The bytes are those that malloc has given at the
 * peak, malloc_usable_size and a word of malloc's own each, and those that the pool has committed, headroom and all. In
 * a process of its own. Anything but CLI_OK: a sentence was printed. */
int gain_measure(const cli_context *cli, const struct verdict *verdict, struct gain *gain);

/* Nanoseconds that the source takes less than from malloc, in all. */
double gain_of(const struct gain *gain);

#endif
