/* cli/top/view.h: the pools of another process, looked at again and again. */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "trend.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOP_TEXT = 80, TOP_POINTS = 1024 };

#define TOP_SURE   0.999 /* with this confidence in its trend, a pool creeps */
#define TOP_WINDOW 300.0 /* seconds: the trend is that of the last five minutes */

typedef struct top_pool {
    char name[TOP_TEXT], kind[16];
    unsigned nth;               /* its number among those of this name and kind */
    char held_by[2 * TOP_TEXT]; /* the process that holds the most objects, and how many; "": none does */
    uint64_t size, alive, capacity, peak, failed, waiting;
    uint64_t memory, idle;    /* bytes: committed; without an object */
    double resident, wasted;  /* bytes: in memory; less those of the live objects; NAN if not known */
    double allocs_per_second; /* since the look before; NAN if it is not known */
    double waits_since;       /* the time when threads began to wait; NAN if none waits */
    double waited;            /* seconds since then; 0 if none waits */
    top_trend trend;
    bool creeps;

    bool is_there; /* seen in the last look */
    bool has_allocs;
    uint64_t allocs;
    top_point *points; /* objects alive over time */
    size_t n_points, room;
} top_pool;

typedef struct top_view {
    top_pool *pools;
    size_t count, room;
    uint64_t memory; /* bytes that all pools have committed */
    double now;      /* the time of the last look, in seconds */
} top_view;

/* Looks at the process. Pools that are gone leave the view. Returns NULL, or why nothing was seen, as a clause. */
const char *top_look(top_view *view, int64_t process, double now);

void top_end(top_view *view);

/* A number of a pool in the JSON of statistics; 0 if it is missing or negative. */
struct json_t;
uint64_t top_number(const struct json_t *pool, const char *member);

/* Replaces what would control a terminal by question marks, in a text that another process has chosen. */
void top_clean(char *text);

#endif
