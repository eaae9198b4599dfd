/* cli/top/trend.h: does a pool creep? The trend of a number over time, and how sure it is.
 *
 * What a leak raises is the least that a pool has between its peaks. So the time is divided into TREND_PARTS parts of
 * equal length, and only the minimum of each counts: a burst, even a large one, is no trend. The slope is the median of
 * the slopes between any two of them (Theil 1950, Sen 1968). The confidence is that of Kendall's test (1938): 1 minus
 * the probability that minima in random order would rise as often. */
#ifndef TOP_TREND_H
#define TOP_TREND_H

#include <stddef.h>

enum { TREND_PARTS = 8 };

typedef struct top_point {
    double at, value; /* seconds, and the number then */
} top_point;

typedef struct top_trend {
    double slope;      /* per second */
    double confidence; /* from 0 to 1 that the number rises */
} top_trend;

/* The points are in the order of time. With fewer than one in each part, the confidence is 0. */
top_trend top_trend_of(const top_point *points, size_t count);

#endif
