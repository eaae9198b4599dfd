/* large.h: blocks that are too large for the classes of a heap. Each has its own pages. When it is freed, they are kept
 * for the next block (spare.h) or released. A table outside the blocks lists them, so any pointer can be looked up.
 *
 * Any number of threads may call these functions. They hold a lock only briefly, and never during a system call for
 * memory. They report no errors; the heap does. */
#ifndef KOLK_SRC_HEAP_LARGE_H
#define KOLK_SRC_HEAP_LARGE_H

#include "../core/budget.h"
#include "spare.h"

/* One block. */
typedef struct kolk_large_block_ {
    uintptr_t start;   /* 0: no entry */
    size_t size;       /* usable bytes */
    uintptr_t mapping; /* start of the pages, at or before `start`; 0: the block came from malloc */
    size_t mapped;     /* bytes of the pages, or of malloc's block */
    uint8_t is_used;   /* the pages are those of an earlier block, with its contents */
} kolk_large_block_;

/* A hash table with open addressing. The key is `start`. */
typedef struct kolk_large_table_ {
    size_t places; /* a power of two */
    kolk_large_block_ blocks[];
} kolk_large_table_;

/* A struct that is all zero has no blocks. The counters may be loaded without the lock. */
typedef struct kolk_large_ {
    uintptr_t table; /* address of the kolk_large_table_; 0: none */
    size_t hole;     /* see large_table.c; 0: none */
    size_t moving;   /* blocks that are outside the table while they are resized */
    size_t count, peak;
    size_t bytes, peak_bytes; /* bytes that the blocks got from the system or malloc */
    size_t failed;            /* calls that returned NULL because there was no memory */
    uint32_t lock;
    bool from_malloc;    /* blocks come from malloc, in the exact size, for tools that watch it (core/tools.h) */
    bool keeps;          /* pages of freed blocks may be kept */
    kolk_budget *budget; /* for the usable bytes of the blocks; NULL: no limit */
    kolk_spares_ spares;
} kolk_large_;

/* Returns a block of at least `size` bytes, aligned to the power of two `align`. NULL: no memory, or too little is left
 * of the budget. */
void *kolk_large_alloc_(kolk_large_ *large, size_t align, size_t size);

/* The same, in new pages between two that nobody may touch. The block ends with its pages, up to 15 bytes before. There
 * must be no budget. */
void *kolk_large_alloc_apart_(kolk_large_ *large, size_t size);

/* The usable bytes that kolk_large_alloc_ (`block` is NULL) or kolk_large_resize_ gives. 0: that is too large. */
size_t kolk_large_bytes_(const kolk_large_ *large, const void *block, size_t align, size_t size);

/* Makes the first `size` bytes of a live block read as 0. Does not write to pages that already do. */
void kolk_large_zero_(const kolk_large_ *large, void *block, size_t size);

/* False: this is not the start of a live block, and nothing has changed. */
bool kolk_large_free_(kolk_large_ *large, void *block);

/* Frees all blocks. No other thread may use the blocks meanwhile. */
void kolk_large_clear_(kolk_large_ *large);

/* Resizes the block, which has `before` usable bytes. (If single pages cannot be released, a block that stays more than
 * half full keeps its size.) The block may move, together with as much of its contents as fits. If it moves, it has
 * only the usual alignment (a page's, or malloc's). NULL: no memory, too little is left of the budget, or this is not
 * the start of a live block; nothing has changed. */
void *kolk_large_resize_(kolk_large_ *large, void *block, size_t before, size_t size);

/* Usable bytes; 0: not the start of a live block. */
size_t kolk_large_size_(const kolk_large_ *large, const void *block);

/* The live block that this pointer points into, and the offset there; NULL: none. O(all blocks). */
void *kolk_large_locate_(const kolk_large_ *large, const void *pointer, size_t *inside);

/* The live block with the lowest start above this address; NULL: none. O(all blocks). */
void *kolk_large_next_(const kolk_large_ *large, uintptr_t above);

/* Usable bytes of all blocks together. */
uint64_t kolk_large_usable_(const kolk_large_ *large);

/* Releases all blocks and the table, and sets the struct to all zero. No other thread may be using it. */
void kolk_large_end_(kolk_large_ *large);

/* For tests, while no other thread is at work. */
bool kolk_large_is_valid_(const kolk_large_ *large);

/* ---- large_table.c ----------------------------------------------------------------------------------------------- */

/* Queries take the lock too, and may be the first to find a hole. */
void kolk_large_lock_(const kolk_large_ *large);
void kolk_large_unlock_(const kolk_large_ *large);

/* Doubles a table that had this many places, unless another thread has done so meanwhile. False: no memory. Call it
 * without the lock. */
bool kolk_large_grow_(kolk_large_ *large, size_t places);

/* Releases the table's memory. No other thread may be using the table. */
void kolk_large_drop_table_(kolk_large_ *large);

/* ---- With the lock ----------------------------------------------------------------------------------------------- */

static inline kolk_large_table_ *kolk_large_table_of_(const kolk_large_ *large) {
    return (kolk_large_table_ *)large->table;
}

static inline size_t kolk_large_places_(const kolk_large_ *large) {
    return large->table ? kolk_large_table_of_(large)->places : 0;
}

/* Does the table have room for one more block, in addition to those that are being resized? */
static inline bool kolk_large_has_room_(const kolk_large_ *large) {
    return large->count + large->moving < kolk_large_places_(large) / 4 * 3;
}

/* The entry with this start; NULL: none. */
kolk_large_block_ *kolk_large_entry_(const kolk_large_ *large, const void *start);

/* Enters a block; there must be room. */
void kolk_large_enter_(kolk_large_ *large, const kolk_large_block_ *block);

void kolk_large_remove_(kolk_large_ *large, const kolk_large_block_ *entry);

bool kolk_large_table_is_valid_(const kolk_large_ *large);

#endif
