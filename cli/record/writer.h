/* cli/record/writer.h: turns a program's records into a trace while it runs. */
#ifndef CLI_WRITER_H
#define CLI_WRITER_H

#include "calls.h"
#include "output.h"
#include "program.h"
#include "../replay/trace.h"

#include <pthread.h>

struct writer {
    struct wire *wire;
    struct output *output;
    uint32_t has_ended; /* the program has ended, and writes no more */
    uint64_t operations, threads;
    uint64_t calls_timed; /* the operations of all programs, also of those that exec has replaced */
    struct calls calls;
    struct trace_run runs[TRACE_RUNS_MOST]; /* measured before, without recording */
    size_t run_count;
    pthread_t reader;    /* the reading thread, which owns the members below */
    uint64_t head, tail; /* words available; words read */
    uint32_t thread;     /* of the previous operation; UINT32_MAX: none */
    uint64_t *known;     /* one bit per thread */
};

/* Starts the reading thread. The caller sets `wire` and `output`, and zeroes the rest. Returns false if memory runs
 * out. */
bool writer_begin(struct writer *writer);

/* Writes the rest of the trace, once the program has ended. The times are those of `program`, a run that was recorded
 * or not. */
void writer_end(struct writer *writer, const struct program *program, bool is_recorded);

/* Returns how much of the program's processor time recording took, as estimated: see preload/record/cost.c. */
uint64_t writer_recording_ns(const struct writer *writer, uint64_t processor_ns);

#endif
