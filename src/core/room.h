/* room.h: the memory that objects live in: one block, cut into regions that each grow on their own.
 *
 *     | objects | region 1 | region 2 | ...
 *
 * On the caller's memory, and where nothing grows, the regions lie side by side and are whole from the start. Otherwise
 * each has address space for max_capacity, and its first bytes are committed as capacity grows. */
#ifndef KOLK_SRC_ROOM_H
#define KOLK_SRC_ROOM_H

#include "kolk/base.h"

#include "assert.h"

/* Where the block comes from: the system, whole or step by step, or the caller. */
enum { MEMORY_WHOLE, MEMORY_GROWS, MEMORY_CALLERS };

#define KOLK_MAX_ALIGN 4096u

/* What a descriptor says of room, and the block that is made of it. */
typedef struct kolk_room {
    size_t object_align;
    uint32_t capacity, max_capacity;
    void *memory;
    size_t memory_size;

    unsigned char *block;
    size_t block_size;
    uint8_t kind; /* MEMORY_ */
} kolk_room;

/* To a multiple of a power of two. */
static inline uint64_t round_up(uint64_t n, uint64_t unit) {
    KOLK_ASSERT(unit != 0 && (unit & (unit - 1)) == 0);
    return (n + unit - 1) & ~(unit - 1);
}

/* The capacity that something which is full asks for first: twice what it has, at least 64 KiB more, and one slot. */
static inline uint32_t kolk_room_next_capacity(uint32_t capacity, uint32_t max_capacity, uint32_t stride) {
    KOLK_ASSERT(capacity <= max_capacity && stride != 0);
    uint64_t step = stride < 65536 ? 65536 / stride : 1;
    uint64_t wish = capacity + (capacity > step ? capacity : step);
    return wish < max_capacity ? (uint32_t)wish : max_capacity;
}

/* Checks size and alignment of the objects and fills in what is 0. type_size and type_align are 0, or of the type. */
kolk_status kolk_room_resolve_size(size_t *size, size_t *align, size_t type_size, size_t type_align);

/* Bytes of the block of what `desc` describes, with this many slots, each region rounded up to `unit`. */
typedef uint64_t kolk_bytes(const void *desc, uint32_t capacity, uint64_t unit);

/* Checks capacities and memory, once the objects' size is resolved, and fills in what is 0. */
kolk_status kolk_room_resolve(kolk_room *room, kolk_bytes *bytes, const void *desc);

/* Bytes of n regions of these sizes. */
uint64_t kolk_room_bytes(const uint64_t *sizes, unsigned n, uint64_t unit);

/* Makes the block of these n regions, which have their size for max_capacity, and gives their starts; NULL for what has
 * no size. False: no memory, and no block. */
bool kolk_room_make(kolk_room *room, const uint64_t *sizes, unsigned n, void **starts);

/* Lets these first bytes of the regions of a growing block be touched. */
bool kolk_room_commit(void *const *starts, const uint64_t *sizes, unsigned n);

/* Gives the block back; one of the caller's, or none, is left alone. */
void kolk_room_end(const kolk_room *room);

#endif
