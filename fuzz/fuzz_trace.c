/* fuzz_trace.c: reads any bytes as a trace, plain or compressed. The reader must succeed, or fail with a sentence. */
#define _POSIX_C_SOURCE 200809L
#include "replay/trace.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0) return 0; /* some versions of fmemopen refuse it */
    FILE *file = fmemopen((void *)(uintptr_t)data, size, "rb");
    if (!file) abort();
    struct trace trace;
    struct trace_problem problem = {""};
    if (trace_read(&trace, file, &problem)) {
        if (!trace_is_valid(&trace)) abort();
    } else {
        if (trace.ops || trace.count > 0) abort();
        if (!strstr(problem.text, "line ") || strpbrk(problem.text, "\n\r\033")) abort();
    }
    trace_free(&trace);
    fclose(file);
    return 0;
}
