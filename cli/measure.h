/* cli/measure.h: time, quantiles, the memory of a process. */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t cli_now(void);                                         /* nanoseconds, monotonic */
double cli_quantile(double *values, size_t count, double part); /* sorts them; part 0.5: the median; 0 for none */
uint64_t cli_resident(void); /* bytes of data (not code) that this process has in memory; 0: unknown */

/* Calls work in a child process, so that its memory is its own and its resident bytes start anew, and brings `size`
 * bytes of result back. False (and a sentence was printed) if that failed; then result is as it was. */
bool cli_isolated(void (*work)(const void *input, void *result), const void *input, void *result, size_t size);

#endif
