/* inside.h: declarations that the files of libkolk-record.so share. */
#ifndef KOLK_RECORD_INSIDE_H
#define KOLK_RECORD_INSIDE_H

#include "wire.h"

#include <stdbool.h>
#include <stddef.h>

/* The caller of malloc: its return address, and the stack pointer there; or the name of a pool, and NULL for none. */
struct caller {
    uintptr_t site, stack;
    const char *pool;
};

/* ---- ring.c: whether this process records, the lock, the ring --------------------------------------------------- */

/* This page is all zero in a fork's child, so the child records nothing, and the lock is free there. */
struct state {
    uint32_t on;
    uint32_t lock; /* 0 free, 1 taken, 2 taken and a thread may be asleep */
    struct wire *wire;
    uint64_t head;    /* words written, some of them not yet published */
    uint64_t most;    /* head may grow to this before the tail must be read again */
    uint32_t threads; /* thread numbers assigned */
    int recorder;     /* pid of the kolk command */
};

extern struct state *record_state;

struct here {
    struct cache *cache; /* see stacks.c */
    uint32_t thread;     /* its number plus 1; 0 if it has none yet */
    bool inside;         /* it is inside this library, whose allocations are not recorded */
    bool is_slow;        /* it does work that is timed by itself */
    bool was_slow;       /* it has done such work since the last call that was timed began */
    uint32_t untimed;    /* calls until the next one that is timed */
};

extern _Thread_local struct here record_here __attribute__((tls_model("initial-exec")));

static inline bool recording(void) {
    return __builtin_expect(record_state->on && !record_here.inside, 1);
}

/* Returns the ring that the kolk command has made for this process; NULL if this process is not recorded. */
struct wire *record_wire(char **environment);

/* Returns the state for the kolk command: WIRE_STARTED, or the reason why this process is not recorded. */
uint32_t record_ring_begin(struct wire *wire);

void record_lock(void);
void record_unlock(void);

/* Writes a record: reserves space for all words, stores them, then publishes them. The caller holds the lock. Only
 * whole records are published, because the program may be killed between any two instructions. */
void record_begin(size_t count);
void record_put(const uint64_t *words, size_t count);
void record_end(void);

/* ---- cost.c: the processor time that recording takes in the program ---------------------------------------------- */

/* A piece of work that is timed; all zero if it is not. */
struct timing {
    uint64_t before, begin; /* two readings of the thread's clock: their distance is what one reading takes */
};

/* Times about one call in COST_EACH, in which work that is timed by itself does not count. */
struct timing record_cost_begin(void);
void record_cost_end(struct timing timing);

/* Times rare work that takes long. */
struct timing record_slow_begin(void);
void record_slow_end(struct timing timing);

/* ---- stacks.c ---------------------------------------------------------------------------------------------------- */

bool record_stacks_begin(void); /* returns false if there is no memory */

/* Returns the number of the calling thread's stack, or of the pool's name. Called without the lock. */
uint32_t record_stack(struct caller caller);

/* ---- modules.c --------------------------------------------------------------------------------------------------- */

/* Records the list of modules if it has changed. Called without the lock. */
void record_modules(void);

#endif
