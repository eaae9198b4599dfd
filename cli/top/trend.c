/* trend.c: see trend.h. */
#include "trend.h"

#include "../measure.h"

#include <stdbool.h>

enum { PAIRS = TREND_PARTS * (TREND_PARTS - 1) / 2 };

/* Finds the minimum of each part. Returns false if a part has no point. */
static bool find_minima(const top_point *points, size_t count, top_point minima[TREND_PARTS]) {
    double start = count ? points[0].at : 0, length = count ? points[count - 1].at - start : 0;
    bool has[TREND_PARTS] = {false};
    if (length <= 0) return false;
    for (size_t n = 0; n < count; n++) {
        int part = (int)((points[n].at - start) / length * TREND_PARTS);
        if (part >= TREND_PARTS) part = TREND_PARTS - 1;
        if (!has[part] || points[n].value < minima[part].value) minima[part] = points[n];
        has[part] = true;
    }
    for (int part = 0; part < TREND_PARTS; part++)
        if (!has[part]) return false;
    return true;
}

/* The probability that numbers in random order have at least this many pairs that rise: of all orders, those with k
 * rising pairs are counted by adding the numbers one by one, since the n-th rises above 0 to n - 1 of those before. */
static double chance_of(int rising) {
    double orders[PAIRS + 1] = {1}, all = 1, as_many = 0;
    for (int n = 2; n <= TREND_PARTS; n++) {
        double next[PAIRS + 1] = {0};
        for (int k = 0; k <= PAIRS; k++)
            for (int more = 0; more < n && k + more <= PAIRS; more++) next[k + more] += orders[k];
        for (int k = 0; k <= PAIRS; k++) orders[k] = next[k];
        all *= n;
    }
    for (int k = rising; k <= PAIRS; k++) as_many += orders[k];
    return as_many / all;
}

top_trend top_trend_of(const top_point *points, size_t count) {
    top_point minima[TREND_PARTS] = {0};
    double slopes[PAIRS];
    size_t pairs = 0;
    int rising = 0;
    if (!find_minima(points, count, minima)) return (top_trend){0, 0};
    for (int j = 1; j < TREND_PARTS; j++)
        for (int i = 0; i < j; i++) {
            double rise = minima[j].value - minima[i].value;
            rising += rise > 0;
            slopes[pairs++] = rise / (minima[j].at - minima[i].at);
        }
    return (top_trend){cli_quantile(slopes, pairs, 0.5), 1 - chance_of(rising)};
}
