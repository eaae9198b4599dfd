/* cli/measure.h: measures time, quantiles and a process's memory. */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include "context.h"

#include <stddef.h>

uint64_t cli_now(void);                                         /* nanoseconds, monotonic */
double cli_quantile(double *values, size_t count, double part); /* sorts them; part 0.5: the median; 0 if none */
uint64_t cli_resident(void); /* resident bytes of data (not code) of this process; 0: unknown */

/* One of several ways to do the same thing. */
struct cli_side {
    bool (*run)(void *what); /* returns false if it cannot continue */
    void *what;
    double ns; /* median time of a run */
};

/* Runs each side once per round, for about `time` nanoseconds and at least nine rounds, so that a disturbance of the
 * machine affects all sides. The first round is not counted, because in it the sides get their memory from the system.
 * Returns the number of rounds, or 0 if a run returned false or memory ran out. */
size_t cli_rounds(const cli_context *cli, struct cli_side *sides, size_t count, uint64_t time);

/* Like fork, for every child of the command except a program that is recorded: the child ends with this process,
 * however this ends, and also once it has become another program. */
int cli_fork(void);

/* Calls `work` in a child process with its own memory and resident bytes, and copies `size` bytes of result back. On
 * failure prints a sentence, returns false and leaves `result` unchanged. */
bool cli_isolated(void (*work)(const void *input, void *result), const void *input, void *result, size_t size);

/* The same in two steps, so that several children can run at once. The child starts with the contents of `result`.
 * Every child that was begun must be ended. A child with a result of more than 60,000 bytes waits until then. */
struct cli_isolation {
    int pid, pipe;
};

bool cli_isolated_begin(struct cli_isolation *isolation, void (*work)(const void *input, void *result),
                        const void *input, const void *result, size_t size);
bool cli_isolated_end(const struct cli_isolation *isolation, void *result, size_t size);

#endif
