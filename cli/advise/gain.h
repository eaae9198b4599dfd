/* cli/advise/gain.h: measures the gain of pools by playing recorded operations: once with malloc alone, and once with
 * the pools for the objects of their sources and malloc for the rest.
 *
 * There are two gains. In one run of the program, both sides get their pages from the system, once. If the program's
 * work is repeated, a pool has its pages already, where malloc may have returned them.
 *
 * Each source is also played alone. There malloc is at its best: the free blocks are all of its own size. In the
 * program they are not, and malloc searches, splits and joins blocks. */
#ifndef CLI_GAIN_H
#define CLI_GAIN_H

#include "../context.h"
#include "verdict.h"

enum {
    GAIN_SAMPLES = 21, /* pairs of child processes that measure, one after another */
    GAIN_LEAST = 6     /* with fewer samples, no interval encloses the median at 95 % */
};

struct gain {
    uint64_t operations; /* how many were played: allocations, resizes and frees */
    size_t samples;
    double first[GAIN_SAMPLES], repeated[GAIN_SAMPLES]; /* nanoseconds of processor time saved in a pass */
    double malloc_ns, pool_ns;         /* per operation, if repeated; for an arena, only its clear counts as freeing */
    uint64_t malloc_bytes, pool_bytes; /* see gain_measure; only of one source */
};

/* An interval that contains the median of the samples' distribution at 95 % or more, whatever that distribution is. */
struct range {
    double low, median, high;
};

/* Plays the operations of this verdict, which is not ADVICE_LEAVE, in one thread, in the recorded order, and proves
 * that the pool is never full. A block is written as the program writes it, at least once in full, if it is not large.
 * malloc_bytes is what malloc_usable_size tells of the objects alive at the peak, and a word for malloc's header.
 * pool_bytes is the memory that the pool has committed, spare slots included. Everything runs in child processes. If
 * the result is not CLI_OK, a sentence has been printed. */
int gain_measure(const cli_context *cli, const struct verdict *verdict, struct gain *gain);

/* The same for all operations of the trace, with all of these pools together, of which there is at least one. */
int gain_measure_all(const cli_context *cli, const struct trace *trace, const struct sources *sources,
                     const struct verdict *const *verdicts, size_t count, struct gain *gain);

/* Returns the interval of up to GAIN_SAMPLES samples, of which there is at least one. */
struct range gain_range(const double *samples, size_t count);

#endif
