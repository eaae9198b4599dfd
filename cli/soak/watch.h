/* cli/soak/watch.h: records values over a long time in little memory: a value against x, with the slope of the line
 * through its points; and the times of operations. */
#ifndef SOAK_WATCH_H
#define SOAK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* ---- A line through points --------------------------------------------------------------------------------------- */

/* A series has 256 to 512 points, however long it runs, because each point is the mean of as many samples as necessary.
 * Neighbouring samples are correlated, which would make the interval too narrow. The means of many samples are less
 * correlated. */
enum { WATCH_POINTS = 512 };

struct watch_series {
    uint32_t count; /* points */
    uint32_t part;  /* samples in the sums below, which are not yet a point */
    uint64_t per;   /* samples per point; 0 counts as 1 */
    double sum_x, sum_y;
    double x[WATCH_POINTS], y[WATCH_POINTS];
};

void watch_add(struct watch_series *series, double x, double y);

/* The slope by least squares, and its 95 % confidence interval by Student's distribution. */
struct watch_slope {
    bool known; /* false: too few points */
    double slope, low, high;
};

struct watch_slope watch_slope(const struct watch_series *series);
double watch_student(uint64_t freedom); /* returns the two-sided 95 % quantile */

/* ---- Times ------------------------------------------------------------------------------------------------------- */

/* A histogram of nanoseconds. Each step is at most a sixteenth of the value wide. */
enum { WATCH_STEPS = 16, WATCH_TIMES = 61 * WATCH_STEPS };

struct watch_times {
    uint64_t count;
    uint64_t at[WATCH_TIMES];
};

void watch_time(struct watch_times *times, uint64_t ns);
double watch_quantile(const struct watch_times *times, double part); /* the middle of the step; 0 if no times */

#endif
