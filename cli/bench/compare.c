/* compare.c: see compare.h. */
#include "compare.h"
#include "../room.h"

#include "../measure.h"
#include "results.h"
#include "tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The test of Mann and Whitney (1947) ------------------------------------------------------------------------- */

/* Each of the count + others choose count orders of the samples is equally likely. The numbers of orders with each sum
 * are the coefficients of the Gaussian binomial: the product of (1 - x^(others + i)) / (1 - x^i), i = 1 ... count. */
static double share_at_most(double sum, size_t count, size_t others) {
    size_t size = count * others + 1;
    double *orders = calloc(size, sizeof *orders), all = 0, some = 0;
    if (!orders) return 1;
    orders[0] = 1;
    for (size_t i = 1; i <= count; i++) {
        for (size_t n = size; n-- > others + i;) orders[n] -= orders[n - others - i];
        for (size_t n = i; n < size; n++) orders[n] += orders[n - i];
    }
    for (size_t n = 0; n < size; n++) {
        all += orders[n];
        if ((double)n <= sum) some += orders[n];
    }
    free(orders);
    return some / all;
}

double rank_test(const double *first, size_t count, const double *second, size_t others) {
    double above = 0; /* pairs whose first is greater, equal ones as a half */
    for (size_t n = 0; n < count; n++)
        for (size_t m = 0; m < others; m++) above += first[n] > second[m] ? 1 : first[n] < second[m] ? 0 : 0.5;
    double pairs = (double)count * (double)others, least = above < pairs - above ? above : pairs - above;
    if (pairs == 0) return 1;
    double p = 2 * share_at_most(ceil(least), count, others); /* a half is rounded to the less certain side */
    return p < 1 ? p : 1;
}

/* ---- Figures ----------------------------------------------------------------------------------------------------- */

/* Copies the ratios of a figure to its yardstick, one of each pass, and returns their number. */
static size_t ratios_of(const json_t *results, const struct table *table, const char *where, const char *who,
                        double ratios[PASSES_MOST]) {
    double yardstick[PASSES_MOST];
    size_t count = results_samples(results, table->name, where, who, ratios);
    if (results_samples(results, table->name, where, table->yardstick, yardstick) != count) return 0;
    for (size_t n = 0; n < count; n++) ratios[n] /= yardstick[n];
    return count;
}

/* Sets everything but the word. */
static bool compare_figure(struct comparison *it, double *before, size_t old, double *after, size_t new) {
    double *changes = malloc(old * new * sizeof *changes);
    if (!changes) return false;
    for (size_t n = 0; n < old; n++)
        for (size_t m = 0; m < new; m++) changes[n * new + m] = after[m] / before[n] - 1;
    it->change = cli_quantile(changes, old * new, 0.5);
    it->p = rank_test(before, old, after, new);
    it->before = cli_quantile(before, old, 0.5);
    it->after = cli_quantile(after, new, 0.5);
    free(changes);
    return true;
}

static int by_p(const void *left, const void *right) {
    const struct comparison *a = left, *b = right;
    return (a->p > b->p) - (a->p < b->p);
}

/* The least p is compared with 1 % / count, the next with 1 % / (count - 1), and so on, until one is too great (Holm,
 * 1979). */
static void judge(struct comparisons *all) {
    qsort(all->all, all->count, sizeof *all->all, by_p);
    for (size_t n = 0; n < all->count && all->all[n].p * (double)(all->count - n) < 0.01; n++) {
        struct comparison *it = &all->all[n];
        if (fabs(it->change) * 100 < CHANGE_LEAST) continue;
        it->word = it->change < 0 ? VERDICT_IMPROVED : VERDICT_REGRESSED;
        all->improved += it->word == VERDICT_IMPROVED;
        all->regressed += it->word == VERDICT_REGRESSED;
    }
}

static bool is_kolk(const char *who) {
    return strncmp(who, "kolk", 4) == 0;
}

bool compare_results(struct comparisons *comparisons, const json_t *before, const json_t *after) {
    double old[PASSES_MOST], new[PASSES_MOST];
    const char *where, *who;
    json_t *subjects, *samples;
    size_t room = 0;
    *comparisons = (struct comparisons){.all = NULL};
    for (size_t n = 0; n < table_count; n++) {
        json_t *cases = json_object_get(json_object_get(after, "tables"), tables[n].name);
        json_object_foreach(cases, where, subjects) json_object_foreach(subjects, who, samples) {
            if (!is_kolk(who)) continue;
            size_t old_count = ratios_of(before, &tables[n], where, who, old);
            size_t new_count = ratios_of(after, &tables[n], where, who, new);
            if (old_count == 0 || new_count == 0) {
                comparisons->alone++;
                continue;
            }
            if (!has_room(&comparisons->all, comparisons->count, &room, sizeof *comparisons->all)) return false;
            struct comparison *it = &comparisons->all[comparisons->count++];
            *it = (struct comparison){.table = tables[n].name, .where = where, .who = who};
            if (!compare_figure(it, old, old_count, new, new_count)) return false;
        }
    }
    judge(comparisons);
    return true;
}

void comparisons_free(struct comparisons *comparisons) {
    free(comparisons->all);
}
