/* view.c: see view.h. The look is the JSON that kolk_stats_write_of writes. */
#define _POSIX_C_SOURCE 200809L
#include "view.h"
#include "../room.h"

#include "../print.h"

#include <jansson.h>
#include <kolk/kolk.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_POINTS = 60 }; /* fewer show how a program begins */

/* ---- One pool ---------------------------------------------------------------------------------------------------- */

uint64_t top_number(const json_t *pool, const char *member) {
    json_int_t value = json_integer_value(json_object_get(pool, member));
    return value < 0 ? 0 : (uint64_t)value;
}

void top_clean(char *text) {
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        if (*at < 0x20 || *at == 0x7f) *at = '?';
        if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) at[0] = at[1] = '?'; /* U+0080 to U+009F */
    }
}

/* Copies as many characters as there is room for. */
static void copy_text(char *to, size_t room, const json_t *pool, const char *member) {
    const char *text = json_string_value(json_object_get(pool, member));
    size_t length = text ? strlen(text) : 0;
    if (length >= room)
        for (length = room - 1; (text[length] & 0xc0) == 0x80;) length--;
    if (length) memcpy(to, text, length);
    to[length] = 0;
    top_clean(to);
}

static void add_point(top_pool *pool, double now) {
    size_t old = 0;
    while (old < pool->n_points && now - pool->points[old].at > TOP_WINDOW) old++;
    if (pool->n_points == TOP_POINTS && old == 0) old = TOP_POINTS / 8;
    if (old) memmove(pool->points, pool->points + old, (pool->n_points -= old) * sizeof *pool->points);
    if (!has_room(&pool->points, pool->n_points, &pool->room, sizeof *pool->points)) return;
    pool->points[pool->n_points++] = (top_point){now, (double)pool->alive};
}

static void update_holder(top_pool *pool, const json_t *seen) {
    const json_t *most = json_array_get(json_object_get(seen, "places"), 0);
    char by[TOP_TEXT];
    copy_text(by, sizeof by, most, "by");
    *pool->held_by = 0;
    if (*by) snprintf(pool->held_by, sizeof pool->held_by, "%s by %s", cli_count(top_number(most, "alive")).text, by);
}

static void update(top_pool *pool, const json_t *seen, double now, double before) {
    uint64_t allocs = pool->allocs, objects;
    bool had_allocs = pool->has_allocs;
    pool->size = top_number(seen, "object_size");
    pool->alive = top_number(seen, "count");
    pool->capacity = top_number(seen, "capacity");
    pool->peak = top_number(seen, "peak");
    pool->failed = top_number(seen, "failed");
    pool->waiting = top_number(seen, "waiting");
    pool->memory = top_number(seen, "bytes_committed");
    objects = pool->alive * pool->size;
    pool->idle = pool->memory > objects ? pool->memory - objects : 0;
    pool->resident = json_object_get(seen, "resident_bytes") ? (double)top_number(seen, "resident_bytes") : NAN;
    pool->wasted = fmax(pool->resident - (double)objects, isnan(pool->resident) ? NAN : 0);
    if (pool->waiting == 0)
        pool->waits_since = NAN;
    else if (isnan(pool->waits_since))
        pool->waits_since = now;
    pool->waited = pool->waiting ? now - pool->waits_since : 0;
    pool->has_allocs = json_object_get(seen, "allocs") != NULL;
    pool->allocs = top_number(seen, "allocs");
    pool->allocs_per_second = pool->has_allocs && had_allocs && pool->allocs >= allocs && now > before
                                  ? (double)(pool->allocs - allocs) / (now - before)
                                  : NAN;
    update_holder(pool, seen);
    add_point(pool, now);
    if (pool->n_points >= LEAST_POINTS) pool->trend = top_trend_of(pool->points, pool->n_points);
    pool->creeps = pool->trend.confidence >= TOP_SURE && pool->trend.slope > 0;
}

/* ---- All pools --------------------------------------------------------------------------------------------------- */

/* Finds the pool of the view, or adds it. Returns NULL if there is no memory. */
static top_pool *pool_of(top_view *view, const json_t *seen) {
    top_pool key = {.nth = 1, .waits_since = NAN, .is_there = true};
    copy_text(key.name, sizeof key.name, seen, "name");
    copy_text(key.kind, sizeof key.kind, seen, "kind");
    for (size_t n = 0; n < view->count; n++) {
        top_pool *pool = &view->pools[n];
        if (strcmp(pool->name, key.name) != 0 || strcmp(pool->kind, key.kind) != 0) continue;
        if (!pool->is_there) {
            pool->is_there = true;
            return pool;
        }
        key.nth = pool->nth + 1;
    }
    if (!has_room(&view->pools, view->count, &view->room, sizeof *view->pools)) return NULL;
    view->pools[view->count] = key;
    return &view->pools[view->count++];
}

static void forget_the_gone(top_view *view) {
    size_t kept = 0;
    for (size_t n = 0; n < view->count; n++)
        if (view->pools[n].is_there)
            view->pools[kept++] = view->pools[n];
        else
            free(view->pools[n].points);
    view->count = kept;
}

/* The memory of the classes NAME/SIZE of a heap is part of that of the heap NAME. A heap is idle where its classes are,
 * because the blocks outside of classes have memory of their own. */
static void sum_up(top_view *view) {
    view->memory = 0;
    for (size_t n = 0; n < view->count; n++) {
        top_pool *heap = &view->pools[n];
        size_t length = strlen(heap->name);
        bool is_heap = strcmp(heap->kind, "heap") == 0;
        if (!is_heap || heap->size == 0) view->memory += heap->memory;
        if (!is_heap || heap->size != 0) continue;
        heap->idle = 0;
        heap->wasted = isnan(heap->resident) ? NAN : 0;
        for (size_t m = 0; m < view->count; m++) {
            if (strncmp(view->pools[m].name, heap->name, length) != 0 || view->pools[m].name[length] != '/') continue;
            heap->idle += view->pools[m].idle;
            heap->wasted += view->pools[m].wasted;
        }
    }
}

/* Returns NULL if the process cannot be read, with the reason in *wrong, or if there is no memory. */
static json_t *read_pools(int64_t process, const char **wrong) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    *wrong = kolk_stats_write_of(process, KOLK_STATS_JSON, cli_put, out);
    bool is_whole = fclose(out) == 0;
    json_t *pools = !*wrong && is_whole ? json_loadb(text, length, 0, NULL) : NULL;
    free(text);
    return pools;
}

const char *top_look(top_view *view, int64_t process, double now) {
    const char *wrong = NULL;
    json_t *seen = read_pools(process, &wrong), *pool;
    if (!seen) return wrong ? wrong : "there is no memory";
    size_t n;
    bool is_whole = true;
    for (size_t i = 0; i < view->count; i++) view->pools[i].is_there = false;
    json_array_foreach(json_object_get(seen, "pools"), n, pool) {
        top_pool *own = pool_of(view, pool);
        if (own)
            update(own, pool, now, view->now);
        else
            is_whole = false;
    }
    json_decref(seen);
    forget_the_gone(view);
    sum_up(view);
    view->now = now;
    return is_whole ? NULL : "there is no memory";
}

void top_end(top_view *view) {
    for (size_t n = 0; n < view->count; n++) free(view->pools[n].points);
    free(view->pools);
    *view = (top_view){0};
}
