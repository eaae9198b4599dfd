/* cli/measure.h: time, quantiles, the memory of a process. */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include "context.h"

#include <stddef.h>

uint64_t cli_now(void);                                         /* nanoseconds, monotonic */
double cli_quantile(double *values, size_t count, double part); /* sorts them; part 0.5: the median; 0 for none */
uint64_t cli_resident(void); /* bytes of data (not code) that this process has in memory; 0: unknown */

/* One of several that do the same in different ways. */
struct cli_side {
    bool (*run)(void *what); /* false: it cannot go on */
    void *what;
    double ns; /* of a run, the median */
};

/* Runs the sides in turn, one run each a round, for about `time` nanoseconds, and at least nine rounds: what disturbs
 * the machine for a while disturbs all. The first round is not counted, as the sides get their memory from the system
 * there. The number of rounds; 0 if a run gave false, or there is no memory. */
size_t cli_rounds(const cli_context *cli, struct cli_side *sides, size_t count, uint64_t time);

/* Calls work in a child process, so that its memory is its own and its resident bytes start anew, and brings `size`
 * bytes of result back. False (and a sentence was printed) if that failed; then result is as it was. */
bool cli_isolated(void (*work)(const void *input, void *result), const void *input, void *result, size_t size);

/* The same in two steps, so that several can be at work. `result` is what the child begins with. Each that was begun is
 * ended; a result of more than 60,000 bytes keeps the child waiting for that. */
struct cli_isolation {
    int pid, pipe;
};

bool cli_isolated_begin(struct cli_isolation *isolation, void (*work)(const void *input, void *result),
                        const void *input, const void *result, size_t size);
bool cli_isolated_end(const struct cli_isolation *isolation, void *result, size_t size);

#endif
