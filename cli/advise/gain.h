/* cli/advise/gain.h: measures the gain of a verdict by playing the source's operations on the suggested pool and on
 * malloc.
 *
 * There are two gains. In one run of the program, both sides get their pages from the system, once. If the program's
 * work is repeated, a pool has its pages already, where malloc may have returned them. */
#ifndef CLI_GAIN_H
#define CLI_GAIN_H

#include "../context.h"
#include "verdict.h"

enum {
    GAIN_SAMPLES = 21, /* child processes that measure, one after another */
    GAIN_LEAST = 6     /* with fewer samples, no interval encloses the median at 95 % */
};

struct gain {
    uint64_t operations;               /* how many were played: allocations and frees */
    double malloc_ns, pool_ns;         /* per operation, if repeated; for an arena, only its clear counts as freeing */
    uint64_t malloc_bytes, pool_bytes; /* see gain_measure */
    size_t samples;
    double first[GAIN_SAMPLES], repeated[GAIN_SAMPLES]; /* nanoseconds of processor time saved in a pass */
};

/* An interval that contains the median of the samples' distribution at 95 % or more, whatever that distribution is. */
struct range {
    double low, median, high;
};

struct gain_job {
    const struct verdict *verdict; /* other than ADVICE_LEAVE */
    struct gain *gain;             /* the result */
};

/* Plays the operations of each verdict in one thread, in the recorded order, and proves that the pool is never full.
 * malloc_bytes is the sum over the objects alive at the peak of malloc_usable_size and a word for malloc's header.
 * pool_bytes is the memory that the pool has committed, spare slots included. Everything runs in child processes. If
 * the result is not CLI_OK, a sentence has been printed. */
int gain_measure(const cli_context *cli, const struct gain_job *jobs, size_t count);

/* Returns the interval of up to GAIN_SAMPLES samples, of which there is at least one. */
struct range gain_range(const double *samples, size_t count);

#endif
