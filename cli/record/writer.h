/* cli/record/writer.h: turns what a program records into a trace, while it runs. */
#ifndef CLI_WRITER_H
#define CLI_WRITER_H

#include "calls.h"
#include "output.h"

#include <pthread.h>

struct writer {
    struct wire *wire;
    struct output *output;
    uint32_t has_ended; /* the program: nothing more comes */
    uint64_t operations, threads;
    struct calls calls;
    pthread_t reader;    /* a thread, from here on its own */
    uint64_t head, tail; /* words that are there, and that are read */
    uint32_t thread;     /* of the operation before; UINT32_MAX: there was none */
    uint64_t *known;     /* a bit for each thread */
};

/* Starts a thread that reads. `wire` and `output` are set, all else is zero. False: there is no memory for it. */
bool writer_begin(struct writer *writer);

/* The program has ended: writes the rest of the trace. */
void writer_end(struct writer *writer);

#endif
