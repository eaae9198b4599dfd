/* fixed.h: a heap on the caller's memory. Its trays never grow. It needs no system, and one thread uses it at a time.
 *
 *     memory   | kolk_fixed_, a record of each tray | bits of all trays | blocks of tray 0 | blocks of tray 1 | ...
 *
 * A tray has a bit for each block, which is set if the block is free, and summary levels above these bits (bits.h). So
 * alloc finds the lowest free block in one step for each level, and free sees whether a block is alive. All records and
 * bits lie in front of the blocks, so writes beyond the end of a block do not reach them.
 *
 * Invariants (kolk_fixed_is_valid_):
 *     F1  trays ascend in size and in address, and size == odd << shift, inverse * odd == 1
 *     F2  no bit is set from capacity on; the bits of each level say which words of the level below are not 0
 *     F3  count is the number of blocks whose bit is not set; count <= peak <= capacity
 *     F4  the bits of all blocks from peak on are set: they were never handed out */
#ifndef KOLK_SRC_FIXED_H
#define KOLK_SRC_FIXED_H

#include "heap_sizes.h"

typedef struct kolk_fixed_tray_ {
    unsigned char *blocks;
    uintptr_t inverse;              /* inverse of odd, modulo the word; size = odd << shift */
    uint64_t *free[4];              /* levels: 64^4 blocks at most */
    const char *name;               /* the class's, or else the heap's; NULL: none */
    uint64_t failed;                /* allocs that found it full */
    uint64_t asked, given;          /* bytes requested and handed out */
    uint32_t size;                  /* bytes of a block */
    uint32_t capacity, count, peak; /* blocks */
    uint32_t number;                /* in the registry; 0: not registered */
    uint8_t shift, levels;
    uint8_t when_full; /* kolk_heap_when_full */
} kolk_fixed_tray_;

typedef struct kolk_fixed_ {
    uint64_t failed; /* allocs that returned NULL */
    const char *name;
    bool (*on_full)(kolk_heap *heap, size_t bytes, void *context);
    void *context;
    size_t memory_size;
    uint32_t number;          /* the heap's in the registry; 0: not registered */
    bool asks;                /* on_full is running */
    kolk_fixed_tray_ trays[]; /* n_classes */
} kolk_fixed_;

/* Makes the trays of a heap that is all zero. If the status is not KOLK_OK, the heap stays all zero. */
kolk_status kolk_fixed_make_(kolk_heap *heap, const kolk_heap_desc *desc);

/* Is on_full running, in which the heap must neither end nor be reset? If so, reports that. */
bool kolk_fixed_is_barred_(const kolk_heap *heap, const char *verb, const void *site);

/* Does what kolk_heap_rebind states. */
kolk_status kolk_fixed_rebind_(kolk_heap *heap, const kolk_heap_desc *desc);

/* Removes the trays from the registry, and shows all blocks to the tools again. */
void kolk_fixed_end_(kolk_heap *heap);

/* `align` is a power of two. NULL: no tray has a block, and on_full made no room. */
void *kolk_fixed_alloc_(kolk_heap *heap, size_t align, size_t size);

void kolk_fixed_free_(kolk_heap *heap, void *block, const void *site);
void kolk_fixed_reset_(kolk_heap *heap);

/* The size in bytes of a live block; 0: this is not the start of one. */
size_t kolk_fixed_size_of_(const kolk_heap *heap, const void *block);

/* Reports what is wrong with a pointer that is not a live block. */
void kolk_fixed_refuse_(const kolk_heap *heap, const void *block, const char *verb, const void *site);

/* The next live block behind this one (NULL: the first of all), or NULL. Reports a pointer into a tray that is not a
 * block. */
void *kolk_fixed_next_(const kolk_heap *heap, const void *block, const void *site);

/* Are the records still those of this heap, or of a copy of its struct? The memory is the caller's, who may have
 * forgotten the heap and used it for something else, or unmapped it. Only with diagnostics. */
bool kolk_fixed_is_there_(const kolk_heap *heap);

bool kolk_fixed_stats_of_class_(const kolk_heap *heap, uint32_t n, kolk_heap_class_stats *out);
void kolk_fixed_stats_(const kolk_heap *heap, kolk_stats *out);
bool kolk_fixed_is_valid_(const kolk_heap *heap);

/* Realloc, also in other heaps: is this block as suitable for the size as a new one would be? */
static inline bool kolk_heap_is_as_good_(size_t usable, size_t size) {
    return size <= usable && (size > usable / 2 || usable <= 64);
}

/* Realloc of a live block or of NULL. */
void *kolk_fixed_realloc_(kolk_heap *heap, void *block, size_t size, const void *site);

#endif
