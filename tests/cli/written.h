/* written.h: traces that a test writes, line by line, and reads. Include it behind cmocka.h. */
#ifndef TESTS_WRITTEN_H
#define TESTS_WRITTEN_H

#include <stdarg.h>
#include <stdio.h>

#include "replay/trace.h"

static char text[1 << 22]; /* the lines so far */
static size_t length;
static unsigned long address; /* of the last block */
static struct trace trace;

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    assert_true(length < sizeof text);
}

static unsigned long begin(const char *caller, unsigned size) {
    line("@ %s + 0x%lx 0x%x\n", caller, ++address, size);
    return address;
}

static void read_lines(void) {
    struct trace_problem problem;
    FILE *file = fmemopen(text, length, "rb");
    assert_non_null(file);
    if (!trace_read(&trace, file, &problem)) fail_msg("%s", problem.text);
    fclose(file);
}

/* Frees the trace, and begins another. */
static void forget_lines(void) {
    trace_free(&trace);
    length = address = 0;
}

#endif
