/* reading.h: reads traces from memory, also with allocations that fail. Include it behind cmocka.h. */
#ifndef TESTS_READING_H
#define TESTS_READING_H

#include <stdio.h>
#include <string.h>

#include "failing_malloc.h"
#include "replay/trace.h"

void *__wrap_realloc(void *object, size_t size) {
    return refused() ? NULL : __real_realloc(object, size);
}

/* Reads a trace again and again, each time with one allocation more that succeeds, until all of it is read. Each
 * failure must be a sentence. Returns how many allocations it takes. */
static unsigned long read_with_less(char *text, size_t length) {
    struct trace trace;
    struct trace_problem problem;
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
