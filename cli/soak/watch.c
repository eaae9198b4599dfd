/* watch.c: see watch.h. */
#include "watch.h"

#include <math.h>

/* ---- A line through points --------------------------------------------------------------------------------------- */

static void halve(struct watch_series *series) {
    for (uint32_t n = 0; n < WATCH_POINTS / 2; n++) {
        series->x[n] = (series->x[2 * n] + series->x[2 * n + 1]) / 2;
        series->y[n] = (series->y[2 * n] + series->y[2 * n + 1]) / 2;
    }
    series->count = WATCH_POINTS / 2;
    series->per *= 2;
}

void watch_add(struct watch_series *series, double x, double y) {
    if (series->per == 0) series->per = 1;
    if (series->count == WATCH_POINTS) halve(series);
    series->sum_x += x;
    series->sum_y += y;
    if (++series->part < series->per) return;
    series->x[series->count] = series->sum_x / series->part;
    series->y[series->count] = series->sum_y / series->part;
    series->count++;
    series->part = 0;
    series->sum_x = series->sum_y = 0;
}

/* Uses the expansion of Fisher and Cornish (1960), which is accurate to a thousandth from 6 degrees of freedom on. */
double watch_student(uint64_t freedom) {
    static const double few[] = {INFINITY, 12.7062, 4.3027, 3.1824, 2.7764, 2.5706};
    if (freedom < sizeof few / sizeof *few) return few[freedom];
    const double z = 1.959964, n = (double)freedom;
    double first = (pow(z, 3) + z) / 4, second = (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / 96;
    double third = (3 * pow(z, 7) + 19 * pow(z, 5) + 17 * pow(z, 3) - 15 * z) / 384;
    return z + first / n + second / (n * n) + third / (n * n * n);
}

struct watch_slope watch_slope(const struct watch_series *series) {
    struct watch_slope slope = {0};
    double x = 0, y = 0, xx = 0, xy = 0, yy = 0; /* the means, and the sums of squares around them */
    for (uint32_t n = 0; n < series->count; n++) {
        x += series->x[n] / series->count;
        y += series->y[n] / series->count;
    }
    for (uint32_t n = 0; n < series->count; n++) {
        double right = series->x[n] - x, up = series->y[n] - y;
        xx += right * right;
        xy += right * up;
        yy += up * up;
    }
    if (series->count < 3 || xx <= 0) return slope;
    uint64_t freedom = series->count - 2;
    slope.slope = xy / xx;
    double rest = yy - slope.slope * xy; /* the sum of squares that the line does not explain */
    double error = rest > 0 ? sqrt(rest / (double)freedom / xx) : 0;
    slope.low = slope.slope - watch_student(freedom) * error;
    slope.high = slope.slope + watch_student(freedom) * error;
    slope.known = true;
    return slope;
}

/* ---- Times ------------------------------------------------------------------------------------------------------- */

/* Below 32 ns, each value has a step of its own. Above that, each doubling has 16 steps. */
void watch_time(struct watch_times *times, uint64_t ns) {
    uint32_t doublings = ns < WATCH_STEPS ? 0 : 59 - (uint32_t)__builtin_clzll(ns);
    uint64_t step = ns < WATCH_STEPS ? ns : WATCH_STEPS + doublings * WATCH_STEPS + ((ns >> doublings) - WATCH_STEPS);
    times->at[step]++;
    times->count++;
}

static double middle_of(uint32_t step) {
    if (step < 2 * WATCH_STEPS) return step;
    uint32_t doublings = step / WATCH_STEPS - 1;
    return ldexp(WATCH_STEPS + step % WATCH_STEPS + 0.5, (int)doublings);
}

double watch_quantile(const struct watch_times *times, double part) {
    uint64_t wanted = (uint64_t)ceil(part * (double)times->count), seen = 0;
    for (uint32_t step = 0; step < WATCH_TIMES; step++) {
        seen += times->at[step];
        if (seen >= wanted && seen > 0) return middle_of(step);
    }
    return 0;
}
