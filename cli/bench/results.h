/* cli/bench/results.h: the results of kolk bench.
 *
 * A figure is the time of one subject (who) in one case (where) of a table. It has a sample from each pass. So they
 * keep what was measured, and not only what was concluded:
 *
 *     {"kolk_bench": 1,
 *      "facts": {"date": "2026-01-31", "processor": "...", ...},
 *      "left_out": {"jemalloc": "libjemalloc.so.2: cannot open shared object file"},
 *      "tables": {
 *       "calls": {
 *        "100": {
 *         "kolk": [3.61, 3.58, 3.63]}}}}
 */
#ifndef CLI_BENCH_RESULTS_H
#define CLI_BENCH_RESULTS_H

#include "../context.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum { PASSES_MOST = 99 };

/* New results: without figures, and with the facts of this machine. The caller ends them with json_decref. NULL: there
 * is no memory. */
json_t *results_new(void);

/* Adds a sample, in nanoseconds. */
void results_add(json_t *results, const char *table, const char *where, const char *who, double ns);

/* Says why a subject was not measured. */
void results_leave_out(json_t *results, const char *who, const char *why);

/* Copies the samples of a figure, of which there are at most PASSES_MOST, and returns their number. */
size_t results_samples(const json_t *results, const char *table, const char *where, const char *who,
                       double samples[PASSES_MOST]);

/* Adds all samples of other results. */
void results_merge(json_t *results, const json_t *others);

/* A fact about the machine: "processor", "system", "compiler", "kolk", "malloc", "date"; "?" if there is none. */
const char *results_fact(const json_t *results, const char *name);

/* Writes them to cli->out. */
void results_write(const cli_context *cli, const json_t *results);

#endif
