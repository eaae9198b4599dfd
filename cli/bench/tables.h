/* cli/bench/tables.h: the tables of kolk bench, and what measures them. */
#ifndef CLI_BENCH_TABLES_H
#define CLI_BENCH_TABLES_H

#include "results.h"

#include <stdint.h>

struct table {
    const char *name;                                   /* in the file of results */
    const char *title;                                  /* for people */
    void (*measure)(json_t *results, uint64_t *random); /* one pass */
};

extern const struct table tables[];
extern const size_t table_count;

/* Visits to the live objects of a pool, and of its rivals (visits.c). */
void measure_visits(json_t *results, uint64_t *random);

#endif
