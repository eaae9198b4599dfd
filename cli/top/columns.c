/* columns.c: see columns.h. */
#define _GNU_SOURCE /* strcasestr */
#include "columns.h"

#include "../print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Cells ------------------------------------------------------------------------------------------------------- */

static void put_text(char *out, const char *text) {
    snprintf(out, TOP_TEXT, "%s", text);
}

static void put_name(const top_pool *pool, char *out) {
    if (pool->nth == 1)
        put_text(out, *pool->name ? pool->name : "-");
    else
        snprintf(out, TOP_TEXT, "%.28s #%u", pool->name, pool->nth);
}

static void put_kind(const top_pool *pool, char *out) {
    put_text(out, pool->kind);
}

/* The cell and the number of a column that shows a member, in the words of cli_count or cli_bytes. */
#define NUMBER(member, in_words)                                                                                       \
    static double member##_of(const top_pool *pool) {                                                                  \
        return (double)pool->member;                                                                                   \
    }                                                                                                                  \
    static void put_##member(const top_pool *pool, char *out) {                                                        \
        put_text(out, in_words(pool->member).text);                                                                    \
    }

NUMBER(alive, cli_count)
NUMBER(capacity, cli_count)
NUMBER(peak, cli_count)
NUMBER(failed, cli_count)
NUMBER(memory, cli_bytes)
NUMBER(idle, cli_bytes)

/* The same for what may be unknown. */
#define UNKNOWN(member, in_words)                                                                                      \
    static double member##_of(const top_pool *pool) {                                                                  \
        return isnan(pool->member) ? -1 : pool->member;                                                                \
    }                                                                                                                  \
    static void put_##member(const top_pool *pool, char *out) {                                                        \
        put_text(out, isnan(pool->member) ? "-" : in_words((uint64_t)pool->member).text);                              \
    }

UNKNOWN(resident, cli_bytes)
UNKNOWN(wasted, cli_bytes)
UNKNOWN(allocs_per_second, cli_count)

static void put_waiting(const top_pool *pool, char *out) {
    if (pool->waiting == 0)
        put_text(out, "-");
    else
        snprintf(out, TOP_TEXT, "%s for %s", cli_count(pool->waiting).text, cli_time(pool->waited, 0, " s").text);
}

static double waiting_of(const top_pool *pool) {
    return (double)pool->waiting;
}

static void put_trend(const top_pool *pool, char *out) {
    if (pool->trend.confidence == 0)
        put_text(out, "-");
    else
        snprintf(out, TOP_TEXT, fabs(pool->trend.slope) < 10 ? "%+.2g/s %s%s" : "%+.0f/s %s%s", pool->trend.slope,
                 cli_share(pool->trend.confidence, 1).text, pool->creeps ? " creeps" : "");
}

/* Pools that creep come first, however slowly they do. */
static double trend_of(const top_pool *pool) {
    return (pool->creeps ? 1e9 : 0) + pool->trend.slope;
}

const top_column top_columns[TOP_COLUMNS] = {
    {"name", "POOL", 'l', put_name, NULL},
    {"kind", "KIND", 'l', put_kind, NULL},
    {"alive", "ALIVE", 'r', put_alive, alive_of},
    {"capacity", "CAPACITY", 'r', put_capacity, capacity_of},
    {"peak", "PEAK", 'r', put_peak, peak_of},
    {"allocs", "ALLOCS/S", 'r', put_allocs_per_second, allocs_per_second_of},
    {"failed", "FAILED", 'r', put_failed, failed_of},
    {"waiting", "WAITING", 'r', put_waiting, waiting_of},
    {"memory", "MEMORY", 'r', put_memory, memory_of},
    {"idle", "IDLE", 'r', put_idle, idle_of},
    {"resident", "RESIDENT", 'r', put_resident, resident_of},
    {"wasted", "WASTED", 'r', put_wasted, wasted_of},
    {"trend", "TREND", 'l', put_trend, trend_of},
};

/* ---- Order ------------------------------------------------------------------------------------------------------- */

int top_column_of(const char *key) {
    for (int n = 0; n < TOP_COLUMNS; n++)
        if (strcmp(key, top_columns[n].key) == 0) return n;
    return -1;
}

static struct {
    const top_column *column;
    bool reverse;
} by;

static int compare(const void *left, const void *right) {
    const top_pool *a = *(const top_pool *const *)left, *b = *(const top_pool *const *)right;
    int order = 0;
    if (by.column->value) {
        double x = by.column->value(a), y = by.column->value(b);
        order = (x < y) - (x > y);
    } else if (by.column == &top_columns[1]) {
        order = strcmp(a->kind, b->kind);
    }
    if (order == 0) order = strcmp(a->name, b->name);
    if (order == 0) order = (a->nth > b->nth) - (a->nth < b->nth);
    return by.reverse ? -order : order;
}

size_t top_order(const top_view *view, const char *filter, int column, bool reverse, const top_pool **order) {
    size_t count = 0;
    for (size_t n = 0; n < view->count; n++)
        if (strcasestr(view->pools[n].name, filter) || strcasestr(view->pools[n].kind, filter))
            order[count++] = &view->pools[n];
    by.column = &top_columns[column];
    by.reverse = reverse;
    qsort((void *)order, count, sizeof(const top_pool *), compare);
    return count;
}
