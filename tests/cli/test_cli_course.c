/* The course of a log: what is kept of a long one, pools that come and go, pools of one name, what creeps, and lines
 * that are not whole. */
#define _POSIX_C_SOURCE 200809L
#include "../help/test.h"

#include "../help/plain.h"

#include "report/course.h"

#include <stdlib.h>

static char *text;
static size_t length;
static FILE *out;
static struct course course;

static void begin_log(void) {
    course = (struct course){.count = 0};
    out = open_memstream(&text, &length);
    assert_non_null(out);
}

static void write_pool(const char *before, const char *name, unsigned alive, unsigned peak, unsigned failed) {
    fprintf(
        out,
        "%s{\"name\": \"%s\", \"kind\": \"pool\", \"object_size\": 24, \"count\": %u, \"peak\": %u, \"capacity\": 100, "
        "\"bytes_committed\": %u, \"failed\": %u, \"waiting\": 0}",
        before, name, alive, peak, peak * 24, failed);
}

/* Reads what was written. */
static const char *read_log(void) {
    fclose(out);
    FILE *in = fmemopen(text, length, "rb");
    assert_non_null(in);
    const char *problem = course_read(&course, in);
    fclose(in);
    free(text);
    return problem;
}

static const struct course_pool *pool_named(const char *name, unsigned nth) {
    for (size_t n = 0; n < course.pool_count; n++)
        if (strcmp(course.pools[n].name, name) == 0 && course.pools[n].nth == nth) return &course.pools[n];
    return NULL;
}

static void test_a_short_log(void **state) {
    begin_log();
    for (unsigned n = 0; n < 3; n++) {
        fprintf(out, "{\"time\": %u.500, \"pools\": [", 1700000000 + n);
        write_pool("", "a", n, n + 1, 0);
        if (n > 0) write_pool(", ", "b", 7, 7, 5 * n);
        if (n < 2) write_pool(", ", "a", 50, 60, 0);
        fputs("]}\n", out);
    }
    assert_null(read_log());
    assert_int_equal(course.count, 3);
    assert_int_equal(course.pool_count, 3);
    assert_true(course.begin == 1700000000.5 && course.times[2] == 1700000002.5);
    assert_string_equal(course.pools[0].name, "b"); /* it has failed */
    assert_int_equal(course.pools[1].nth, 2);       /* it has more memory than the other one of this name */
    const struct course_pool *a = pool_named("a", 1), *b = pool_named("b", 1), *other = pool_named("a", 2);
    for (unsigned n = 0; n < 3; n++) {
        assert_int_equal(a->points[n].alive, n);
        assert_int_equal(a->points[n].peak, n + 1);
        assert_int_equal(a->points[n].memory, 24 * (n + 1));
        assert_int_equal(b->points[n].is_there, n > 0);
        assert_int_equal(b->points[n].failed, 5 * n);
        assert_int_equal(other->points[n].is_there, n < 2);
    }
    assert_false(a->creeps || b->creeps);
    assert_int_equal(a->size, 24);
    course_free(&course);
}

/* Each point has the most, and the least, of its lines; no line is lost. */
static void test_long_logs(void **state) {
    static const unsigned counts[] = {1, 499, 500, 501, 999, 1000, 1001, 1002, 2000, 2003, 5000};
    for (size_t c = 0; c < LENGTH_OF(counts); c++) {
        unsigned count = counts[c];
        begin_log();
        for (unsigned n = 0; n < count; n++) {
            fprintf(out, "{\"time\": %u, \"pools\": [", 1000 + n);
            write_pool("", "a", n * 7919 % 1000, 1000, n);
            fputs("]}\n", out);
        }
        assert_null(read_log());
        assert_int_equal(course.lines, count);
        assert_true(course.count <= COURSE_POINTS && (count < COURSE_POINTS || course.count >= COURSE_POINTS / 2));
        unsigned line = 0;
        for (size_t point = 0; point < course.count; point++) {
            unsigned most = 0, least = UINT32_MAX, lines = (unsigned)course.per_point;
            if (point == course.count - 1) lines = (unsigned)course.in_last;
            for (; lines > 0; lines--, line++) {
                unsigned alive = line * 7919 % 1000;
                if (most < alive) most = alive;
                if (least > alive) least = alive;
            }
            assert_int_equal(course.pools[0].points[point].alive, most);
            assert_int_equal(course.pools[0].points[point].least, least);
            assert_int_equal(course.pools[0].points[point].failed, line - 1);
            assert_true(course.times[point] == 1000 + line - 1);
        }
        assert_int_equal(line, count);
        assert_true(course.begin == 1000);
        course_free(&course);
    }
}

/* A leak below bursts creeps, also if the log is shortened; bursts alone do not. */
static void test_what_creeps(void **state) {
    static const unsigned counts[] = {24, 300, 3000};
    for (size_t c = 0; c < LENGTH_OF(counts); c++) {
        uint64_t random = 1;
        begin_log();
        for (unsigned n = 0; n < counts[c]; n++) {
            unsigned burst = random_below(&random, 100);
            fprintf(out, "{\"time\": %u, \"pools\": [", 1000 + 10 * n);
            write_pool("", "steady", 200 + burst, 300, 0);
            write_pool(", ", "leaks", 200 + burst + n * 2400 / counts[c], 3000, 0);
            fputs("]}\n", out);
        }
        assert_null(read_log());
        assert_string_equal(course.pools[0].name, "leaks");
        assert_true(course.pools[0].creeps && !course.pools[1].creeps);
        double per_second = 240.0 / counts[c], slope = course.pools[0].trend.slope;
        assert_true(slope > 0.8 * per_second && slope < 1.2 * per_second);
        course_free(&course);
    }
}

static void test_broken_lines(void **state) {
    begin_log();
    fputs("{\"time\": 1, \"pools\": []}\n{\"time\": 2, \"pools\": [{\"na\nsomething else\n\n{\"time\": 3, \"pools\": "
          "[]}\n",
          out);
    assert_null(read_log());
    assert_int_equal(course.count, 2);
    assert_int_equal(course.lines, 5);
    assert_int_equal(course.broken, 3);
    course_free(&course);
    begin_log();
    fputs("{\"time\": 2, \"po\n", out);
    assert_string_equal(read_log(), "no line of it is whole");
    course_free(&course);
    begin_log();
    fputs("{\"time\": 2, \"pools\": 7}\n{\"time\": \"x\", \"pools\": [1, {}, {\"name\": 3, \"count\": -5}]}\n", out);
    assert_null(read_log());
    assert_int_equal(course.count, 2);
    course_free(&course);
    assert_true(course_is_log("{\"time\": 1"));
    assert_false(course_is_log("= Start") || course_is_log(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_short_log),
        cmocka_unit_test(test_long_logs),
        cmocka_unit_test(test_what_creeps),
        cmocka_unit_test(test_broken_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
