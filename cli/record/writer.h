/* cli/record/writer.h: turns a program's records into a trace while it runs. */
#ifndef CLI_WRITER_H
#define CLI_WRITER_H

#include "calls.h"
#include "output.h"

#include <pthread.h>

struct writer {
    struct wire *wire;
    struct output *output;
    uint32_t has_ended; /* the program has ended, and writes no more */
    uint64_t operations, threads;
    struct calls calls;
    pthread_t reader;    /* the reading thread; the members below are its own */
    uint64_t head, tail; /* words available; words read */
    uint32_t thread;     /* of the previous operation; UINT32_MAX: none */
    uint64_t *known;     /* a bit for each thread */
};

/* Starts a thread that reads. The caller sets `wire` and `output`, and zeroes the rest. Returns false if memory runs
 * out. */
bool writer_begin(struct writer *writer);

/* The program has ended: writes the rest of the trace. */
void writer_end(struct writer *writer);

#endif
