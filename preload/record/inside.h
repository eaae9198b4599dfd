/* inside.h: what the files of libkolk-record.so share. */
#ifndef KOLK_RECORD_INSIDE_H
#define KOLK_RECORD_INSIDE_H

#include "wire.h"

#include <stdbool.h>
#include <stddef.h>

/* Who called malloc: where it will go on, and the value of the stack pointer there. */
struct caller {
    uintptr_t site, stack;
};

/* ---- ring.c: whether this process records, the lock, the ring ---------------------------------------------------- */

/* A page that a fork's child finds all zero: it records nothing, whoever had the lock. */
struct state {
    uint32_t on;
    uint32_t lock; /* 0 free, 1 taken, 2 taken and a thread may sleep */
    struct wire *wire;
    uint64_t head;    /* words written, some not to be seen yet */
    uint64_t most;    /* head may grow to this before the tail is to be read again */
    uint32_t threads; /* numbers given */
    int recorder;     /* pid of the kolk command */
};

extern struct state *record_state;

struct here {
    struct cache *cache; /* see stacks.c */
    uint32_t thread;     /* its number and 1; 0: it has none yet */
    bool inside;         /* in this library: what is allocated there is not recorded */
};

extern _Thread_local struct here record_here __attribute__((tls_model("initial-exec")));

static inline bool recording(void) {
    return __builtin_expect(record_state->on && !record_here.inside, 1);
}

void record_lock(void);
void record_unlock(void);

/* A record: room for all of its words, the words, and then the reader sees it. With the lock, and only whole records:
 * the program may be killed between any two instructions. */
void record_begin(size_t count);
void record_put(const uint64_t *words, size_t count);
void record_end(void);

/* ---- stacks.c ---------------------------------------------------------------------------------------------------- */

bool record_stacks_begin(void); /* false: there is no memory */

/* The number of the calling thread's stack. Without the lock. */
uint32_t record_stack(struct caller caller);

/* ---- modules.c --------------------------------------------------------------------------------------------------- */

/* Tells the list of modules if it has changed since. Without the lock. */
void record_modules(void);

#endif
