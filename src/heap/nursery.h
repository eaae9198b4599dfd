/* nursery.h: the blocks of a young heap. Each heap begins with a nursery, which has blocks of all sizes side by side.
 *
 *     a run     | block | block     | (free) | block | rest ...............|      neighbouring leaves (leaves.h)
 *     starts    1.......1...........1........1.......1......................      a bit for each 16 bytes
 *     alive     1.......1....................1..............................
 *
 * A class takes two pages or more before it has its first block, and some 20 us of system calls. That pays off once
 * the heap has allocated some hundreds of blocks of its size. The nursery serves the first ones. So a heap with few
 * blocks takes little memory and little time, and there may be many such heaps.
 *
 * A block has the size of its class. It is placed where a freed block of the same size was, or else at the top of the
 * newest run, behind which nothing was ever placed. When the block below the top is freed, the top goes down to the
 * next live block. So blocks that are freed in reverse order leave no gaps, and what is above the top is one piece. A
 * run without live blocks is returned when another one is needed, so its leaves may serve other sizes and other heaps.
 * The sizes of blocks and gaps follow from the starts, and whether a block is alive from its bit, so every free is
 * checked.
 *
 * malloc's heap has a second nursery, which is watched: it serves the first blocks of each size, and finds writes
 * beyond them and to freed ones. Its blocks end in seals (seal.h), each run begins with a margin that has one, freed
 * blocks read as 0, and the block that was freed last waits until another one is freed. Each alloc and free there looks
 * at the block that was allocated last, at the one that was freed last, and at the bytes above the top, which read as
 * 0. A free also looks at its own block. A program pays some hundred instructions for each of these blocks, of which
 * there are few, and nothing for all others.
 *
 * Any number of threads may call these functions. Each call takes the nursery's lock for a moment, except
 * kolk_nursery_size_of_. Alloc and free are O(leaves) at worst, usually O(1); in a watched nursery, a free
 * is also O(bytes of the block).
 *
 * Invariants (kolk_nursery_is_valid_, while no thread is at work):
 *     N1  the runs' records name each other, their leaves and this nursery
 *     N2  each run begins with a start, behind the margin; only a start is alive; in the newest run, the last start is
 *         the top, unless the top is the run's end; the block below the top is alive, or there is none
 *     N3  the counts of live and freed blocks and of leaves are right; each run except the newest has a live block.
 *         Here, the block that waits is alive
 *     N4  in a watched nursery, each block and gap below the top ends in a seal; the asked bytes of freed blocks, and
 *         all bytes above the top, read as 0 (unless the program has written there) */
#ifndef KOLK_SRC_HEAP_NURSERY_H
#define KOLK_SRC_HEAP_NURSERY_H

#include "../core/budget.h"
#include "leaves.h"

#define KOLK_NURSERY_LARGEST_ 32768u /* bytes of its largest blocks */
#define KOLK_NURSERY_CLASSES_ 40u    /* kolk's own classes up to that size */

#define KOLK_WATCHED_LARGEST_   32760u /* bytes of the largest watched block of a nursery: a seal follows it */
#define KOLK_NURSERY_DOUBLINGS_ 19u    /* of sizes up to KOLK_HEAP_LARGEST: 1, 2 and 3, 4 to 7, ... */

/* The blocks of one class. */
typedef struct kolk_young_ {
    uint32_t alive;  /* live blocks */
    uint32_t freed;  /* freed blocks and gaps of this size, which can be taken */
    uint16_t served; /* how many were allocated so far; no further than the class needs to be made */
    uint16_t peak;   /* the most that were alive when one was freed; UINT16_MAX: that many or more */
    uint32_t hint;   /* where one was freed or taken again last: leaf * 64 + grain; 0: nowhere */
} kolk_young_;

typedef struct kolk_nursery_counts_ {
    uint32_t leaves;
    kolk_young_ of[KOLK_NURSERY_CLASSES_];
} kolk_nursery_counts_;

typedef struct kolk_nursery_ {
    uint32_t lock;         /* a brief lock (lock.h) */
    uint32_t owner;        /* what the records of its leaves say; unique among the last 2^32 nurseries of the process */
    uint32_t newest;       /* the first leaf of its newest run, the first in the list of runs; 0: none */
    uint32_t leaves;       /* how many leaves all runs have */
    uint32_t wish;         /* how many it had before the last reset, if that returned them */
    uint32_t classes;      /* the classes that it serves: all, or none if it is closed */
    uint32_t margin;       /* bytes before the first block of each run: 0 unless it is watched */
    bool trusts;           /* watched, but reports no damage: a fork has interrupted another thread */
    uint8_t waiting_class; /* the class of `waiting` */
    unsigned char *top, *end;    /* the rest of the newest run */
    unsigned char *newborn;      /* watched: the block allocated last, while it lives */
    unsigned char *waiting;      /* watched: the block freed last, whose place is not free yet */
    kolk_budget *budget;         /* for the bytes of its leaves; NULL: no limit */
    struct kolk_nursery_ *watch; /* malloc's heap: the watched nursery; NULL: none */
    uint32_t watch_owner;        /* its owner; 0: none */
    uint32_t watches;            /* a bit for each doubling of the size: more of its blocks are to be watched */
    uint32_t trimmed;            /* kolk_nursery_trim_for_room_: how many bytes of freed blocks were left by then */
    kolk_young_ of[KOLK_NURSERY_CLASSES_];
} kolk_nursery_;

/* Makes a zeroed struct an empty nursery without memory. */
void kolk_nursery_begin_(kolk_nursery_ *nursery, kolk_budget *budget);

/* Gives a nursery without a budget a watched one, if there is memory. It must not be reset then. */
void kolk_nursery_watch_(kolk_nursery_ *nursery);

/* From now on, it serves no block. */
static inline void kolk_nursery_close_(kolk_nursery_ *nursery) {
    nursery->classes = 0;
}

/* Returns its leaves. No other thread may use it. */
void kolk_nursery_end_(kolk_nursery_ *nursery);

/* Returns a block of this size and alignment, a power of two. NULL: there is no memory, or a class would serve it
 * better from now on; but with `anyway`, the nursery serves it all the same. */
void *kolk_nursery_alloc_(kolk_nursery_ *nursery, size_t align, size_t size, bool anyway);

/* False: this is not the start of a live block, and nothing has changed. If two threads free the same block, one of
 * them gets false. */
bool kolk_nursery_free_(kolk_nursery_ *nursery, const void *block);

/* Damage that a watched nursery has found, and repaired. */
typedef struct kolk_damage_ {
    kolk_status rule; /* KOLK_OVERFLOW, KOLK_UNDERFLOW or KOLK_WRITE_AFTER_FREE; KOLK_OK: none */
    const void *block;
    uint64_t size; /* the bytes that were asked for; UINT64_MAX: that has been overwritten */
} kolk_damage_;

/* Is a block of this size, which is at most KOLK_HEAP_LARGEST, one of the first that are watched? */
static inline bool kolk_nursery_watches_(const kolk_nursery_ *nursery, size_t size) {
    return kolk_load_(&nursery->watches, KOLK_RELAXED_) >> kolk_bits_highest_(size | 1) & 1;
}

/* Counts such a block. */
void kolk_nursery_count_watched_(kolk_nursery_ *nursery, size_t size);

/* Returns a watched block, if its size is at most KOLK_WATCHED_LARGEST_; NULL: it is larger, or there is no
 * memory. There must be a watched nursery. Fills in *damage, which is all zero, if it finds some. */
void *kolk_nursery_alloc_watched_(const kolk_nursery_ *nursery, size_t size, kolk_damage_ *damage);

/* False: this is not the start of a live watched block, and nothing has changed. */
bool kolk_nursery_free_watched_(const kolk_nursery_ *nursery, const void *block, kolk_damage_ *damage);

/* Frees all blocks, and counts anew, except for the peaks. Keeps its run, if there is only one; otherwise the next run
 * will be as long as all were together. No other thread may use the nursery. */
void kolk_nursery_reset_(kolk_nursery_ *nursery);

/* Returns all leaves that no live block touches. Does not change what the next run would be. O(leaves). */
void kolk_nursery_trim_(kolk_nursery_ *nursery);

/* The same for an alloc that a limit has refused, if enough was freed since the last time: on average, that costs O(1)
 * for each freed leaf. True: it has returned some. */
bool kolk_nursery_trim_for_room_(kolk_nursery_ *nursery);

/* Does this address lie in one of its leaves, or in one that it has returned and that no other nursery has taken since?
 */
static inline bool kolk_nursery_has_(const kolk_nursery_ *nursery, const void *at) {
    uint32_t leaf = kolk_leaf_of_(at), owner = leaf ? kolk_load_(&kolk_leaf_record_(leaf)->owner, KOLK_RELAXED_) : 0;
    return owner && (owner == nursery->owner || owner == nursery->watch_owner);
}

/* The size in bytes of a live block; of a watched one, the bytes that were asked for, or 1. 0: this is not the start of
 * one. */
size_t kolk_nursery_size_of_(const kolk_nursery_ *nursery, const void *block);

/* The start of the live block that this address lies in; NULL: none. */
void *kolk_nursery_locate_(kolk_nursery_ *nursery, const void *at);

/* The live block with the lowest start above this address; NULL: none. */
void *kolk_nursery_next_(kolk_nursery_ *nursery, const void *above);

/* Adds up what it and its watched nursery have. */
void kolk_nursery_count_(kolk_nursery_ *nursery, kolk_nursery_counts_ *out);

bool kolk_nursery_is_valid_(kolk_nursery_ *nursery);

/* ---- kolk's own classes ------------------------------------------------------------------------------------------ */

/* The size of the n-th of kolk's own classes: 16, 32, 48, 64, and then four for each doubling. */
#define KOLK_OWN_SIZE_(n) ((n) < 4 ? ((n) + 1) * KOLK_GRAIN_ : (KOLK_GRAIN_ / 2 << (n) / 4) * (5 + (n) % 4))
static inline uint32_t kolk_own_size_(uint32_t n) {
    return KOLK_OWN_SIZE_(n);
}

/* The first of kolk's own classes that is as large as this size. */
static inline uint32_t kolk_own_class_(size_t size) {
    if (size <= 4 * KOLK_GRAIN_) return size ? (uint32_t)(size - 1) / KOLK_GRAIN_ : 0;
    unsigned doubling = kolk_bits_highest_((size - 1) / (4 * KOLK_GRAIN_));
    return 4 + 4 * doubling + (uint32_t)((size - 1) >> (doubling + 4) & 3);
}

#endif
