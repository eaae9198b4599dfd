/* wraps: cli/failing_malloc.h realloc */
/* reading.h: reads traces from memory, also traces that are cut off, and with allocations that fail. Include it behind
 * cmocka.h. */
#ifndef TESTS_READING_H
#define TESTS_READING_H

#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "failing_malloc.h"
#include "replay/trace.h"

void *__wrap_realloc(void *object, size_t size) {
    return refused() ? NULL : __real_realloc(object, size);
}

static struct trace_problem problem; /* of the last trace that was read */

static bool read_bytes(struct trace *trace, const void *bytes, size_t size) {
    FILE *file = fmemopen((void *)(uintptr_t)bytes, size, "rb");
    assert_non_null(file);
    problem.text[0] = '\0';
    bool read = trace_read(trace, file, &problem);
    fclose(file);
    if (read) assert_true(trace_is_valid(trace));
    assert_int_equal(read, problem.text[0] == '\0');
    return read;
}

static char *compress(const char *text, size_t length, size_t *size) {
    size_t room = ZSTD_compressBound(length);
    char *packed = malloc(room);
    *size = ZSTD_compress(packed, room, text, length, 3);
    return packed;
}

/* The operations of a trace that is cut off are the first ones of the whole. */
static void assert_is_prefix(const struct trace *cut, const struct trace *whole) {
    assert_true(cut->count <= whole->count);
    for (size_t i = 0; i < cut->count; i++) {
        assert_int_equal(cut->ops[i].kind, whole->ops[i].kind);
        assert_int_equal(cut->ops[i].block, whole->ops[i].block);
        assert_int_equal(cut->ops[i].caller, whole->ops[i].caller);
        assert_int_equal(cut->ops[i].size, whole->ops[i].size);
    }
}

/* Of a text with less than a block of zstd, each part is noticed as such: of the first line, it is no trace. */
static void assert_cuts_are_noticed(const char *text, size_t length) {
    struct trace whole, trace;
    size_t size, first = (size_t)(strchr(text, '\n') - text);
    char *packed = compress(text, length, &size);
    assert_true(read_bytes(&whole, packed, size));
    for (size_t cut = 1; cut < size; cut++) assert_false(read_bytes(&trace, packed, cut));
    assert_string_equal(problem.text, "line 1: its zstd data end too early");
    for (size_t cut = 1; cut < length; cut++) {
        assert_int_equal(read_bytes(&trace, text, cut), cut > first);
        if (cut <= first) continue;
        assert_int_equal(trace.cut_line == 0, text[cut - 1] == '\n'); /* mtrace's may end after any line */
        assert_is_prefix(&trace, &whole);
        trace_free(&trace);
    }
    trace_free(&whole);
    packed[size / 2] ^= 0x40;
    assert_false(read_bytes(&trace, packed, size));
    free(packed);
}

/* Reads a trace again and again, each time with one allocation more that succeeds, until all of it is read. Each
 * failure must be a sentence. Returns how many allocations it takes. */
static unsigned long read_with_less(char *text, size_t length) {
    struct trace trace;
    bool read = false;
    unsigned long n = 0;
    while (!read) {
        FILE *file = fmemopen(text, length, "rb");
        allocations = 0;
        failing = ++n;
        all_after = true;
        problem.text[0] = '\0';
        read = trace_read(&trace, file, &problem);
        failing = 0;
        fclose(file);
        if (read) continue;
        assert_non_null(strstr(problem.text, "there is no memory"));
        assert_null(trace.ops);
    }
    trace_free(&trace);
    return n;
}

#endif
