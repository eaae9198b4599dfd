/* cli/advise/gain.h: measures the gain of a verdict: plays the source's operations on the suggested pool, and on
 * malloc. */
#ifndef CLI_GAIN_H
#define CLI_GAIN_H

#include "../context.h"
#include "verdict.h"

struct gain {
    uint64_t operations;               /* played: allocations and frees */
    double malloc_ns, pool_ns;         /* per operation; an arena's frees cost only its clear */
    uint64_t malloc_bytes, pool_bytes; /* see gain_measure */
    size_t rounds;
};

/* Plays the operations of a verdict other than ADVICE_LEAVE, by one thread in the recorded order: first once, to prove
 * that the pool is never full, then in timed rounds that alternate. malloc_bytes is the sum of malloc_usable_size and a
 * word for malloc's header over the objects at the peak. pool_bytes is the memory that the pool has committed, spare
 * slots included. Runs in a child process. If the result is not CLI_OK, a sentence was printed. */
int gain_measure(const cli_context *cli, const struct verdict *verdict, struct gain *gain);

/* The nanoseconds that the source saves in total, compared with malloc. */
double gain_of(const struct gain *gain);

#endif
