/* cli/replay/player.h: replays a trace on pools, on a heap and on malloc.
 *
 * With pools, there is a class for each multiple of 16 bytes up to 1 KiB, and each class has its own growing pool.
 * Larger blocks are in class 0, and come from malloc. The other players have only class 0, which is served from the
 * heap or from malloc. All players run the same code, so that only the allocators differ.
 *
 * A free has the class without a lookup, as in a program with one pool for each type.
 */
#ifndef CLI_PLAYER_H
#define CLI_PLAYER_H

#include "trace.h"

#include <kolk/kolk.h>

enum { PLAYER_STEP = 16, PLAYER_CLASSES = 1024 / PLAYER_STEP + 1, PLAYER_NOWHERE = 255 };

/* Moves a block from one class to another. From nowhere it is an allocation, to nowhere a free, and within one class a
 * resize. */
struct player_op {
    uint64_t size;
    uint32_t block;
    uint16_t keep; /* bytes to copy when the class changes */
    uint8_t from, to;
};

/* A class, and what the trace requires of it. A resize that changes the class counts as an allocation in the new
 * class. */
struct player_class {
    uint64_t allocations;
    uint64_t bytes;   /* the most in use at a time: peak * size for a pool, or the bytes requested from malloc */
    uint32_t callers; /* number of different callers */
    uint32_t peak;    /* the most blocks alive at a time, which is the capacity that the pool needs */
};

enum player_supply { PLAYER_POOLS, PLAYER_HEAP, PLAYER_MALLOC };

struct player {
    struct player_op *ops; /* those of the trace, then frees of all live blocks, so that it can be played again */
    size_t count;
    void **places; /* addresses of the live blocks, by block number */
    uint32_t blocks;
    size_t summit;  /* the operation after which most bytes are in use ... */
    uint64_t bytes; /* ... and how many bytes are requested at that point */
    uint64_t allocations;
    uint32_t callers; /* number of callers that allocate */
    struct player_class classes[PLAYER_CLASSES];
    kolk_pool pools[PLAYER_CLASSES]; /* class 0 has none */
    kolk_heap heap;
    bool has_heap; /* blocks of class 0 come from the heap */
};

/* On failure returns false, and puts a sentence without a full stop into `problem`. The trace is no longer needed
 * afterwards. */
bool player_init(struct player *player, const struct trace *trace, enum player_supply supply,
                 struct trace_problem *problem);
void player_deinit(struct player *player);

/* Plays all operations, and writes the first word of each object. Returns false if an allocation failed. */
bool player_run(struct player *player);

struct player_check {
    uint64_t checked;             /* objects whose contents were intact when they were freed or resized */
    uint64_t resident;            /* bytes by which this process had grown at the summit; 0: unknown */
    struct trace_problem problem; /* "": nothing is wrong */
};

/* Plays the operations again, with checks. Each object must be aligned. Its fill pattern must be intact when it is
 * freed, and up to the smaller size after a resize. At the end, nothing may be alive and the pools must be valid. */
void player_check(struct player *player, uint64_t seed, struct player_check *check);

#endif
