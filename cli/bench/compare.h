/* cli/bench/compare.h: tells whether kolk became faster or slower between two runs of kolk bench.
 *
 * What is compared is not times but ratios: the time of kolk divided by that of the yardstick (malloc, or the packed
 * array) in the same case of the same pass. So another load of the machine, or another clock rate, changes little. The
 * passes are the samples, because each is a process of its own: its memory lies elsewhere. */
#ifndef CLI_BENCH_COMPARE_H
#define CLI_BENCH_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { CHANGE_LEAST = 3 }; /* percent; less is no change, however certain it is */

enum verdict_word { VERDICT_SAME, VERDICT_IMPROVED, VERDICT_REGRESSED };

/* The comparison of one figure. The names belong to the tables and to the results. */
struct comparison {
    const char *table, *where, *who;
    double before, after; /* medians of the ratio */
    double
        change; /* median of the changes from each pass before to each pass after (Hodges, Lehmann): 0.1: 10 % slower */
    double p;   /* the chance of such a difference if nothing has changed (Mann, Whitney; two-sided) */
    enum verdict_word word;
};

struct comparisons {
    struct comparison *all;
    size_t count, improved, regressed;
    size_t alone; /* figures of one of the two only */
};

/* Compares all figures of kolk. A figure has changed if its change is CHANGE_LEAST % or more, and if its p, as one of
 * so many (Holm), is below 1 %: so one of a hundred runs without any change shows a change anywhere. Returns false if
 * there is no memory. */
bool compare_results(struct comparisons *comparisons, const json_t *before, const json_t *after);

void comparisons_free(struct comparisons *comparisons);

/* The p of one comparison: the chance that, of samples from one distribution, the ranks of the first differ so much. */
double rank_test(const double *first, size_t count, const double *second, size_t others);

#endif
