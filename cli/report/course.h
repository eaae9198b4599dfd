/* cli/report/course.h: statistics over time, from the log that a program writes with KOLK_STATS=log:FILE. */
#ifndef CLI_COURSE_H
#define CLI_COURSE_H

#include "../json.h"
#include "../top/trend.h"

enum { COURSE_POINTS = 500 }; /* a long log is shortened to between so many points and half of them */

/* What was seen of a pool in the lines of the log that became one point: the greatest of each number. */
struct course_point {
    bool is_there;
    uint64_t alive, peak, capacity, failed, waiting, memory;
    uint64_t least; /* the least number of objects alive */
};

struct course_pool {
    char *name, *kind;
    unsigned nth; /* its number among those of this name and kind */
    uint64_t size;
    struct course_point *points; /* COURSE_POINTS of them */
    top_trend trend;             /* of the objects alive */
    bool creeps;
};

/* If it is all zero, it is empty. */
struct course {
    double times[COURSE_POINTS]; /* seconds since 1970, of the last line of each point */
    double begin;                /* the time of the first line */
    size_t count;                /* of points */
    size_t per_point, in_last;   /* lines in each point but the last, and in that one */
    struct course_pool *pools;   /* those that creep come first, then those that failed or waited, then by memory */
    size_t pool_count, room;
    uint64_t lines, broken; /* lines that were not whole are left out */
};

/* Is this the first line of a log? */
bool course_is_log(const char *line);

/* Reads the file to its end. Returns NULL, or why it cannot be read, without a full stop. */
const char *course_read(struct course *course, FILE *file);
void course_free(struct course *course);

/* Writes the times, the pools and their points, as members of an object. */
void course_write(cli_json *json, const struct course *course);

#endif
