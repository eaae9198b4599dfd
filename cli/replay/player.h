/* cli/replay/player.h: plays a trace again, on pools, on a heap, and on malloc.
 *
 * With pools, sizes of up to 1 KiB have a class for each multiple of 16 bytes, and each class its own growing pool;
 * everything larger is malloc's, class 0. Others give all to the heap, or to malloc, as of class 0. All run the same
 * code, so that a comparison compares the allocators.
 *
 * A class is known at free without looking it up, as a program with one pool a type knows it.
 */
#ifndef CLI_PLAYER_H
#define CLI_PLAYER_H

#include "trace.h"

#include <kolk/kolk.h>

enum { PLAYER_STEP = 16, PLAYER_CLASSES = 1024 / PLAYER_STEP + 1, PLAYER_NOWHERE = 255 };

/* Moves a block from one class to another. From nowhere: an allocation; to nowhere: a free; to the same: a resize. */
struct player_op {
    uint64_t size;
    uint32_t block;
    uint16_t keep; /* bytes to copy when the class changes */
    uint8_t from, to;
};

/* A class, and what the trace asks of it. A resize that changes the class counts as an allocation in the new one. */
struct player_class {
    uint64_t allocations;
    uint64_t bytes;   /* most at a time: peak * size for a pool, what was asked for of malloc */
    uint32_t callers; /* different ones */
    uint32_t peak;    /* most blocks alive at a time: the capacity that the pool needs */
};

enum player_supply { PLAYER_POOLS, PLAYER_HEAP, PLAYER_MALLOC };

struct player {
    struct player_op *ops; /* those of the trace; then the blocks are freed that it left, so that it can run again */
    size_t count;
    void **places; /* of the blocks that are alive, by number */
    uint32_t blocks;
    size_t summit;  /* the operation after which most bytes are in use ... */
    uint64_t bytes; /* ... and how many are asked for then */
    uint64_t allocations;
    struct player_class classes[PLAYER_CLASSES];
    kolk_pool pools[PLAYER_CLASSES]; /* none for class 0 */
    kolk_heap heap;
    bool has_heap; /* what is of class 0 is of the heap */
};

/* False if it cannot be made: a sentence without a full stop is in problem. The trace may go away then. */
bool player_init(struct player *player, const struct trace *trace, enum player_supply supply,
                 struct trace_problem *problem);
void player_deinit(struct player *player);

/* All operations; each object's first word is written. False: an allocation failed. */
bool player_run(struct player *player);

struct player_check {
    uint64_t checked;             /* objects that kept what was written to them until they were freed, or resized */
    uint64_t resident;            /* bytes by which this process was larger at the summit than before; 0: unknown */
    struct trace_problem problem; /* "": nothing is wrong */
};

/* The same once more, checking: each object is aligned, and is filled with a pattern of its own that must be whole at
 * its free, and up to the smaller size after a resize; in the end, nothing is left alive and the pools are valid. */
void player_check(struct player *player, uint64_t seed, struct player_check *check);

#endif
