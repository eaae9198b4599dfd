/* course.c: see course.h. */
#define _POSIX_C_SOURCE 200809L
#include "course.h"
#include "../room.h"
#include "../replay/input.h"
#include "../top/view.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_LEAST = 24 }; /* fewer show how a program begins */

static const char beginning[] = "{\"time\": ";

bool course_is_log(const char *line) {
    return strncmp(line, beginning, sizeof beginning - 1) == 0;
}

/* ---- Points ------------------------------------------------------------------------------------------------------ */

static void raise_to(uint64_t *most, uint64_t number) {
    if (*most < number) *most = number;
}

static void merge_points(struct course_point *into, const struct course_point *later) {
    if (!later->is_there) return;
    if (!into->is_there) {
        *into = *later;
        return;
    }
    if (into->least > later->least) into->least = later->least;
    raise_to(&into->alive, later->alive);
    raise_to(&into->peak, later->peak);
    raise_to(&into->capacity, later->capacity);
    raise_to(&into->failed, later->failed);
    raise_to(&into->waiting, later->waiting);
    raise_to(&into->memory, later->memory);
}

/* Merges the points in pairs, so that each has twice as many lines. */
static void halve(struct course *course) {
    for (size_t n = 0; n < course->count / 2; n++) course->times[n] = course->times[2 * n + 1];
    for (size_t p = 0; p < course->pool_count; p++) {
        struct course_point *points = course->pools[p].points;
        for (size_t n = 0; n < course->count / 2; n++) {
            struct course_point merged = points[2 * n];
            merge_points(&merged, &points[2 * n + 1]);
            points[n] = merged;
        }
        memset(points + course->count / 2, 0, (course->count - course->count / 2) * sizeof *points);
    }
    course->count /= 2;
    course->per_point *= 2;
}

/* Makes room for one more line, and returns the number of its point. */
static size_t point_of_line(struct course *course) {
    if (course->per_point == 0) course->per_point = course->in_last = 1;
    if (course->count > 0 && course->in_last < course->per_point) {
        course->in_last++;
        return course->count - 1;
    }
    if (course->count == COURSE_POINTS) halve(course);
    course->in_last = 1;
    return course->count++;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *pool, const char *member) {
    const char *text = json_string_value(json_object_get(pool, member));
    return text ? text : "";
}

static void free_pool(const struct course_pool *pool) {
    free(pool->name);
    free(pool->kind);
    free(pool->points);
}

static struct course_pool *add_pool(struct course *course, const json_t *seen, unsigned nth) {
    if (!has_room(&course->pools, course->pool_count, &course->room, sizeof *course->pools)) return NULL;
    struct course_pool *pool = &course->pools[course->pool_count];
    *pool = (struct course_pool){.name = strdup(text_of(seen, "name")),
                                 .kind = strdup(text_of(seen, "kind")),
                                 .nth = nth,
                                 .points = calloc(COURSE_POINTS, sizeof *pool->points)};
    if (pool->name && pool->kind && pool->points) {
        course->pool_count++;
        return pool;
    }
    free_pool(pool);
    return NULL;
}

/* Returns the pool, which is added if it is new; NULL: memory ran out. */
static struct course_pool *pool_of(struct course *course, const json_t *seen, unsigned nth) {
    for (size_t n = 0; n < course->pool_count; n++) {
        struct course_pool *pool = &course->pools[n];
        if (pool->nth == nth && strcmp(pool->name, text_of(seen, "name")) == 0 &&
            strcmp(pool->kind, text_of(seen, "kind")) == 0)
            return pool;
    }
    return add_pool(course, seen, nth);
}

/* The number of pools like the n-th one that come before it. */
static unsigned number_before(const json_t *pools, size_t n) {
    const json_t *pool = json_array_get(pools, n);
    unsigned count = 0;
    for (size_t m = 0; m < n; m++) {
        const json_t *other = json_array_get(pools, m);
        count += strcmp(text_of(other, "name"), text_of(pool, "name")) == 0 &&
                 strcmp(text_of(other, "kind"), text_of(pool, "kind")) == 0;
    }
    return count;
}

static bool add_line(struct course *course, const json_t *line) {
    const json_t *pools = json_object_get(line, "pools");
    size_t at = point_of_line(course);
    course->times[at] = json_number_value(json_object_get(line, "time"));
    if (course->lines == course->broken + 1) course->begin = course->times[at];
    for (size_t n = 0; n < json_array_size(pools); n++) {
        const json_t *seen = json_array_get(pools, n);
        struct course_pool *pool = pool_of(course, seen, 1 + number_before(pools, n));
        if (!pool) return false;
        pool->size = top_number(seen, "object_size");
        merge_points(&pool->points[at], &(struct course_point){.is_there = true,
                                                               .alive = top_number(seen, "count"),
                                                               .least = top_number(seen, "count"),
                                                               .peak = top_number(seen, "peak"),
                                                               .capacity = top_number(seen, "capacity"),
                                                               .failed = top_number(seen, "failed"),
                                                               .waiting = top_number(seen, "waiting"),
                                                               .memory = top_number(seen, "bytes_committed")});
    }
    return true;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static void find_trend(const struct course *course, struct course_pool *pool) {
    top_point points[COURSE_POINTS];
    size_t count = 0;
    for (size_t n = 0; n < course->count; n++)
        if (pool->points[n].is_there) points[count++] = (top_point){course->times[n], (double)pool->points[n].least};
    if (count >= POINTS_LEAST) pool->trend = top_trend_of(points, count);
    pool->creeps = pool->trend.confidence >= TOP_SURE && pool->trend.slope > 0;
}

static uint64_t most_of(const struct course_pool *pool, size_t member) {
    uint64_t most = 0, number;
    for (size_t n = 0; n < COURSE_POINTS; n++) {
        memcpy(&number, (const char *)&pool->points[n] + member, sizeof number);
        raise_to(&most, number);
    }
    return most;
}

#define MOST(pool, member) most_of(pool, offsetof(struct course_point, member))

static int by_importance(const void *left, const void *right) {
    const struct course_pool *a = left, *b = right;
    if (a->creeps != b->creeps) return b->creeps - a->creeps;
    bool a_lacks = MOST(a, failed) || MOST(a, waiting), b_lacks = MOST(b, failed) || MOST(b, waiting);
    if (a_lacks != b_lacks) return b_lacks - a_lacks;
    uint64_t a_memory = MOST(a, memory), b_memory = MOST(b, memory);
    return (a_memory < b_memory) - (a_memory > b_memory);
}

const char *course_read(struct course *course, FILE *file) {
    struct input *input = input_open(file);
    bool fits = input;
    size_t length;
    for (const char *text; fits && (text = input_line(input, &length));) {
        json_t *line = course_is_log(text) ? json_loadb(text, length, 0, NULL) : NULL;
        course->lines++;
        if (line)
            fits = add_line(course, line);
        else
            course->broken++;
        json_decref(line);
    }
    const char *problem = fits ? input_problem(input) : "there is no memory to look at it";
    if (input) input_close(input);
    if (!problem && course->count == 0) problem = "no line of it is whole";
    for (size_t n = 0; n < course->pool_count; n++) find_trend(course, &course->pools[n]);
    if (course->pool_count) qsort(course->pools, course->pool_count, sizeof *course->pools, by_importance);
    return problem;
}

void course_free(struct course *course) {
    for (size_t n = 0; n < course->pool_count; n++) free_pool(&course->pools[n]);
    free(course->pools);
    *course = (struct course){.count = 0};
}

static void write_numbers(cli_json *json, const char *key, const struct course *course, const struct course_pool *pool,
                          size_t member) {
    cli_json_open(json, key, '[');
    for (size_t n = 0; n < course->count; n++) {
        uint64_t number;
        memcpy(&number, (const char *)&pool->points[n] + member, sizeof number);
        cli_json_count(json, NULL, number);
    }
    cli_json_close(json, ']');
}

#define WRITE(member) write_numbers(json, #member, course, pool, offsetof(struct course_point, member))

static void write_pool(cli_json *json, const struct course *course, const struct course_pool *pool) {
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "name", pool->name);
    cli_json_text(json, "kind", pool->kind);
    cli_json_count(json, "nth", pool->nth);
    cli_json_count(json, "object_size", pool->size);
    cli_json_flag(json, "creeps", pool->creeps);
    cli_json_number(json, "per_second", pool->trend.slope);
    cli_json_number(json, "confidence", pool->trend.confidence);
    WRITE(alive);
    WRITE(peak);
    WRITE(capacity);
    WRITE(failed);
    WRITE(waiting);
    WRITE(memory);
    cli_json_close(json, '}');
}

void course_write(cli_json *json, const struct course *course) {
    cli_json_count(json, "lines", course->lines);
    cli_json_count(json, "broken_lines", course->broken);
    cli_json_count(json, "begin", (uint64_t)(course->begin * 1000));
    cli_json_open(json, "times", '[');
    for (size_t n = 0; n < course->count; n++) cli_json_count(json, NULL, (uint64_t)(course->times[n] * 1000));
    cli_json_close(json, ']');
    cli_json_open(json, "pools", '[');
    for (size_t n = 0; n < course->pool_count; n++) write_pool(json, course, &course->pools[n]);
    cli_json_close(json, ']');
}
