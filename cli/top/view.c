/* view.c: see view.h. The look is the JSON that kolk_stats_write_of writes. */
#include "view.h"

#include <jansson.h>
#include <kolk/kolk.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_POINTS = 60 }; /* fewer show how a program begins */

/* ---- One pool ---------------------------------------------------------------------------------------------------- */

static uint64_t number(const json_t *pool, const char *member) {
    json_int_t value = json_integer_value(json_object_get(pool, member));
    return value < 0 ? 0 : (uint64_t)value;
}

/* Copies a text that another process has chosen: as much as there is room for, and nothing that controls a terminal. */
static void copy_text(char *to, size_t room, const json_t *pool, const char *member) {
    const char *text = json_string_value(json_object_get(pool, member));
    size_t length = text ? strlen(text) : 0;
    if (length >= room)
        for (length = room - 1; (text[length] & 0xc0) == 0x80;) length--;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool is_control = byte < 0x20 || byte == 0x7f || (byte == 0xc2 && (unsigned char)text[i + 1] < 0xa0);
        to[i] = is_control ? '?' : text[i];
        if (is_control && byte == 0xc2) to[++i] = '?';
    }
    to[length] = 0;
}

static void add_point(top_pool *pool, double now) {
    size_t old = 0;
    while (old < pool->n_points && now - pool->points[old].at > TOP_WINDOW) old++;
    if (pool->n_points == TOP_POINTS && old == 0) old = TOP_POINTS / 8;
    if (old) memmove(pool->points, pool->points + old, (pool->n_points -= old) * sizeof *pool->points);
    if (pool->n_points == pool->room) {
        size_t room = pool->room ? 2 * pool->room : 16;
        top_point *points = (top_point *)realloc(pool->points, room * sizeof *points);
        if (!points) return;
        pool->points = points;
        pool->room = room;
    }
    pool->points[pool->n_points++] = (top_point){now, (double)pool->alive};
}

static void update(top_pool *pool, const json_t *seen, double now, double before) {
    uint64_t allocs = pool->allocs, objects;
    bool had_allocs = pool->has_allocs;
    pool->size = number(seen, "object_size");
    pool->alive = number(seen, "count");
    pool->capacity = number(seen, "capacity");
    pool->peak = number(seen, "peak");
    pool->failed = number(seen, "failed");
    pool->waiting = number(seen, "waiting");
    pool->memory = number(seen, "bytes_committed");
    objects = pool->alive * pool->size;
    pool->idle = pool->memory > objects ? pool->memory - objects : 0;
    if (pool->waiting == 0)
        pool->waits_since = NAN;
    else if (isnan(pool->waits_since))
        pool->waits_since = now;
    pool->has_allocs = json_object_get(seen, "allocs") != NULL;
    pool->allocs = number(seen, "allocs");
    pool->allocs_per_second = pool->has_allocs && had_allocs && pool->allocs >= allocs && now > before
                                  ? (double)(pool->allocs - allocs) / (now - before)
                                  : NAN;
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
    if (view->count == view->room) {
        size_t room = view->room ? 2 * view->room : 32;
        top_pool *pools = (top_pool *)realloc(view->pools, room * sizeof *pools);
        if (!pools) return NULL;
        view->pools = pools;
        view->room = room;
    }
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

/* The whole heap NAME is idle where its classes NAME/SIZE are; blocks outside of the classes have memory of their own,
 * which is never idle. */
static void sum_up_heaps(top_view *view) {
    for (size_t n = 0; n < view->count; n++) {
        top_pool *heap = &view->pools[n];
        size_t length = strlen(heap->name);
        if (strcmp(heap->kind, "heap") != 0 || heap->size != 0) continue;
        heap->idle = 0;
        for (size_t m = 0; m < view->count; m++)
            if (strncmp(view->pools[m].name, heap->name, length) == 0 && view->pools[m].name[length] == '/')
                heap->idle += view->pools[m].idle;
    }
}

typedef struct text {
    char *bytes;
    size_t length, room;
    bool failed;
} text;

static void put(const char *bytes, size_t length, void *context) {
    text *to = (text *)context;
    if (to->failed) return;
    if (to->length + length > to->room) {
        size_t room = 2 * (to->length + length);
        char *more = (char *)realloc(to->bytes, room);
        to->failed = !more;
        if (!more) return;
        to->bytes = more;
        to->room = room;
    }
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

const char *top_look(top_view *view, int64_t process, double now) {
    text json = {0};
    const char *wrong = kolk_stats_write_of(process, KOLK_STATS_JSON, put, &json);
    json_t *seen = wrong || json.failed ? NULL : json_loadb(json.bytes, json.length, 0, NULL), *pool;
    free(json.bytes);
    if (wrong) return wrong;
    if (!seen) return "there is no memory";
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
    sum_up_heaps(view);
    view->now = now;
    return is_whole ? NULL : "there is no memory";
}

void top_end(top_view *view) {
    for (size_t n = 0; n < view->count; n++) free(view->pools[n].points);
    free(view->pools);
    *view = (top_view){0};
}
