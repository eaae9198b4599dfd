/* cli/bench/subjects.h: the allocators that kolk bench compares. Each hands out objects of 64 bytes. */
#ifndef CLI_BENCH_SUBJECTS_H
#define CLI_BENCH_SUBJECTS_H

#include "trials.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BURST = 100 }; /* objects that the burst allocates before it frees them */

struct thing {
    uint64_t words[8];
};

/* An allocator, and the objects that are alive in it. */
struct stand {
    void *from;
    struct thing **places; /* the live objects */
    uint32_t count;
    uint64_t random;
    const char *problem; /* why it is not there */
};

/* The loops. A time of the first two is one object. */
enum loop {
    LOOP_REPLACE, /* frees a random object, and allocates another */
    LOOP_WRITE,   /* the same, and writes all of the new object */
    LOOP_BURST,   /* allocates BURST objects and frees them */
    LOOPS
};

struct subject {
    const char *who;                           /* names of kolk's begin with "kolk" */
    size_t size;                               /* of the struct at `from` */
    const char *(*begin)(struct stand *stand); /* initialises it; returns why it cannot */
    void (*end)(void *from);
    void (*fill)(struct stand *stand);
    void (*empty)(struct stand *stand);
    loop_function *const *loops[LOOPS]; /* of stands, at each alignment */
};

enum { SUBJECT_LOOP, SUBJECT_MALLOC };
extern const struct subject subjects[];
extern const size_t subject_count;

/* Makes an allocator for `count` live objects, without any. If there is none, sets `problem` and returns false. */
bool stand_begin(struct stand *stand, const struct subject *subject, uint32_t count);

/* Ends it. Its objects must have been freed. */
void stand_end(struct stand *stand, const struct subject *subject);

#endif
