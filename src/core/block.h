/* block.h: the memory that objects live in: one block, cut into regions that each grow on their own.
 *
 *     | objects | region 1 | region 2 | ...
 *
 * In the caller's memory, and where nothing grows, the regions lie side by side and have their full size from the
 * start. Otherwise each region has address space for max_capacity, and more of it is committed as the capacity
 * grows. */
#ifndef KOLK_SRC_BLOCK_H
#define KOLK_SRC_BLOCK_H

#include "kolk/base.h"

#include "../base/assert.h"

/* Where the block comes from: the system (committed as a whole or step by step) or the caller. */
enum { MEMORY_WHOLE, MEMORY_GROWS, MEMORY_CALLERS };

#define KOLK_MAX_ALIGN_ 4096u

/* The members of a descriptor that concern memory, and the block that is made according to them. */
typedef struct kolk_block_ {
    size_t object_align;
    uint32_t capacity, max_capacity;
    void *memory;
    size_t memory_size;

    unsigned char *start;
    size_t size;
    uint8_t kind; /* MEMORY_ */
} kolk_block_;

/* Rounds up to a multiple of `unit`, a power of two. Check that n is in range first, because the sum could wrap. */
static inline uint64_t round_up(uint64_t n, uint64_t unit) {
    KOLK_ASSERT_(unit != 0 && (unit & (unit - 1)) == 0);
    KOLK_ASSERT_(n <= UINT64_MAX - unit);
    return (n + unit - 1) & ~(unit - 1);
}

/* Returns the capacity that a full block should try first: twice the old one, but at least 64 KiB or one slot more. */
static inline uint32_t kolk_block_next_capacity_(uint32_t capacity, uint32_t max_capacity, uint32_t stride) {
    KOLK_ASSERT_(capacity <= max_capacity && stride != 0);
    uint64_t step = stride < 65536 ? 65536 / stride : 1;
    uint64_t wish = capacity + (capacity > step ? capacity : step);
    return wish < max_capacity ? (uint32_t)wish : max_capacity;
}

/* Checks the objects' size and alignment and replaces 0 by defaults. `type_size` and `type_align` are the size and
 * alignment of the object's type, or 0 if there is none. */
kolk_status kolk_block_resolve_size_(size_t *size, size_t *align, size_t type_size, size_t type_align);

/* For a rebind: do these members of a descriptor describe objects of `own_size` bytes that begin at `first` and every
 * `stride` bytes from there on? 0 means the same as at init. Otherwise returns KOLK_STRUCT_CHANGED, or what
 * kolk_block_resolve_size_ returns. */
kolk_status kolk_block_match_size_(size_t size, size_t align, size_t type_size, size_t type_align, size_t own_size,
                                   const void *first, size_t stride);

/* The same for a number that must not change. */
static inline bool kolk_is_kept_(uint64_t given, uint64_t own) {
    return given == 0 || given == own;
}

/* The same for the capacities. `given` may be less than the present capacity, which may have grown since init. */
static inline bool kolk_is_capacity_kept_(uint32_t given, uint32_t given_max, uint32_t own, uint32_t own_max) {
    return kolk_is_kept_(given_max, own_max) && given <= own;
}

/* Computes the bytes of a block that `desc` describes, for this many slots, with each region rounded up to `unit`. */
typedef uint64_t kolk_bytes_(const void *desc, uint32_t capacity, uint64_t unit);

/* Checks capacities and memory, and replaces 0 by defaults. The objects' size must be resolved first. */
kolk_status kolk_block_resolve_(kolk_block_ *block, kolk_bytes_ *bytes, const void *desc);

/* Returns the sum of the sizes of n regions, each rounded up to `unit`. */
uint64_t kolk_block_bytes_(const uint64_t *sizes, unsigned n, uint64_t unit);

/* Makes the block of n regions and sets their starts; the start of a region of size 0 is NULL. `sizes` are the sizes
 * for max_capacity. Returns false, without a block, if there is no memory. */
bool kolk_block_make_(kolk_block_ *block, const uint64_t *sizes, unsigned n, void **starts);

/* Commits the first sizes[r] bytes of each region r of a growing block. */
bool kolk_block_commit_(void *const *starts, const uint64_t *sizes, unsigned n);

/* Releases the block, unless it is NULL or the caller's. */
void kolk_block_end_(const kolk_block_ *block);

#endif
