/* cli/advise/gain.h: measures the gain of a verdict by playing the source's operations on the suggested pool and on
 * malloc. */
#ifndef CLI_GAIN_H
#define CLI_GAIN_H

#include "../context.h"
#include "verdict.h"

struct gain {
    uint64_t operations;               /* how many were played: allocations and frees */
    double malloc_ns, pool_ns;         /* per operation; for an arena, only its clear counts as freeing */
    uint64_t malloc_bytes, pool_bytes; /* see gain_measure */
    size_t rounds;
};

/* Plays the operations of a verdict other than ADVICE_LEAVE in one thread, in the recorded order: first once, to prove
 * that the pool is never full, then in timed rounds that alternate between the pool and malloc. malloc_bytes is the sum
 * over the objects alive at the peak of malloc_usable_size and a word for malloc's header. pool_bytes is the memory
 * that the pool has committed, spare slots included. Runs in a child process. If the result is not CLI_OK, a sentence
 * has been printed. */
int gain_measure(const cli_context *cli, const struct verdict *verdict, struct gain *gain);

/* The nanoseconds that the source saves in total, compared with malloc. */
double gain_of(const struct gain *gain);

#endif
