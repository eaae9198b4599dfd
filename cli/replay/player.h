/* cli/replay/player.h: plays a trace again, on pools, on a heap, and on malloc.
 *
 * With pools, sizes up to 1 KiB have a class for each multiple of 16 bytes, and each class has its own growing pool.
 * Larger blocks are class 0, and come from malloc. The other players serve everything from the heap or from malloc, as
 * class 0. All run the same code, so that only the allocators differ.
 *
 * A free knows its class without a lookup, as a program with one pool for each type does.
 */
#ifndef CLI_PLAYER_H
#define CLI_PLAYER_H

#include "trace.h"

#include <kolk/kolk.h>

enum { PLAYER_STEP = 16, PLAYER_CLASSES = 1024 / PLAYER_STEP + 1, PLAYER_NOWHERE = 255 };

/* Moves a block from one class to another. From nowhere is an allocation, to nowhere a free, and to the same class a
 * resize. */
struct player_op {
    uint64_t size;
    uint32_t block;
    uint16_t keep; /* bytes to copy when the class changes */
    uint8_t from, to;
};

/* A class, with the trace's demands on it. A resize that changes the class counts as an allocation in the new class. */
struct player_class {
    uint64_t allocations;
    uint64_t bytes;   /* most at a time: peak * size of a pool, or bytes requested from malloc */
    uint32_t callers; /* different ones */
    uint32_t peak;    /* most blocks alive at a time: the capacity that the pool needs */
};

enum player_supply { PLAYER_POOLS, PLAYER_HEAP, PLAYER_MALLOC };

struct player {
    struct player_op *ops; /* the trace's, then frees of the blocks that it left, so that it can run again */
    size_t count;
    void **places; /* of the blocks that are alive, by number */
    uint32_t blocks;
    size_t summit;  /* the operation after which most bytes are in use ... */
    uint64_t bytes; /* ... and how many were requested then */
    uint64_t allocations;
    struct player_class classes[PLAYER_CLASSES];
    kolk_pool pools[PLAYER_CLASSES]; /* none for class 0 */
    kolk_heap heap;
    bool has_heap; /* blocks of class 0 come from the heap */
};

/* On failure returns false, and puts a sentence without a full stop into problem. The trace is not needed
 * afterwards. */
bool player_init(struct player *player, const struct trace *trace, enum player_supply supply,
                 struct trace_problem *problem);
void player_deinit(struct player *player);

/* Plays all operations, and writes each object's first word. Returns false if an allocation failed. */
bool player_run(struct player *player);

struct player_check {
    uint64_t checked;             /* objects that kept their contents until they were freed or resized */
    uint64_t resident;            /* bytes by which this process grew up to the summit; 0: unknown */
    struct trace_problem problem; /* "": nothing is wrong */
};

/* Plays again with checks. Each object must be aligned. Its own fill pattern must be intact at its free, and up to the
 * smaller size after a resize. In the end, nothing is alive and the pools are valid. */
void player_check(struct player *player, uint64_t seed, struct player_check *check);

#endif
