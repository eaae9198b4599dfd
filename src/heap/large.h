/* large.h: blocks that are too large for the classes of a heap. Each has pages of the system for itself, and goes back
 * to the system when it is freed. A table outside of the blocks says which there are, so every pointer can be asked
 * about.
 *
 * Any number of threads; a lock is held for moments, never while the system is asked for memory. Nothing is reported
 * here: that is the heap's business. */
#ifndef KOLK_SRC_HEAP_LARGE_H
#define KOLK_SRC_HEAP_LARGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One block. */
typedef struct kolk_large_block {
    uintptr_t start;   /* 0: no entry */
    size_t size;       /* usable bytes */
    uintptr_t mapping; /* what the system gave: it begins at or before start; 0: it came from malloc */
    size_t mapped;     /* its bytes */
} kolk_large_block;

/* Open addressing, by the hash of start. */
typedef struct kolk_large_table {
    size_t places; /* a power of two */
    kolk_large_block blocks[];
} kolk_large_table;

/* All zero has no blocks. What is counted may be loaded without the lock. */
typedef struct kolk_large {
    uintptr_t table; /* of kolk_large_table; 0: none */
    size_t hole;     /* large_table.h tells; 0: none */
    size_t moving;   /* blocks that are out of the table to be resized */
    size_t count, peak;
    size_t bytes, peak_bytes; /* of what the system or malloc gave for blocks */
    size_t failed;            /* calls that gave NULL for want of memory */
    uint32_t lock;
    bool from_malloc; /* blocks come from malloc, of the exact size: for tools that watch it (core/tools.h) */
} kolk_large;

/* A block of at least `size` bytes, which is not 0, aligned to the power of two `align`. They read as 0, unless the
 * block is malloc's. NULL: no memory. */
void *kolk_large_alloc(kolk_large *large, size_t align, size_t size);

/* False: this is not the start of a live block, and nothing has changed. */
bool kolk_large_free(kolk_large *large, void *block);

/* Gives the block another size, which is not 0; it may move, its contents, as far as they fit, with it, but no
 * alignment beyond that of every block (a page's, or malloc's). NULL: no memory, or this is not the start of a live
 * block; nothing has changed. */
void *kolk_large_resize(kolk_large *large, void *block, size_t size);

/* Usable bytes; 0: not the start of a live block. */
size_t kolk_large_size(const kolk_large *large, const void *block);

/* The live block that this pointer points into, and how far; NULL: none. Looks at all. */
void *kolk_large_locate(const kolk_large *large, const void *pointer, size_t *inside);

/* The live block with the lowest start above this address; NULL: none. Looks at all. */
void *kolk_large_next(const kolk_large *large, uintptr_t above);

/* Usable bytes of all blocks together. */
uint64_t kolk_large_usable(const kolk_large *large);

/* Gives all blocks and the table back, and leaves it all zero. Nobody is at work. */
void kolk_large_end(kolk_large *large);

/* For tests: nobody is at work. */
bool kolk_large_is_valid(const kolk_large *large);

#endif
