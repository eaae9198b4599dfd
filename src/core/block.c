/* block.c: see block.h. */
#include "block.h"

#include "../base/assert.h"
#include "../os/memory.h"
#include "tools.h"

#define FEW_PAGES 4u

kolk_status kolk_block_resolve_size_(size_t *size, size_t *align, size_t type_size, size_t type_align) {
    if (type_size) {
        if (*size && *size != type_size) return KOLK_TYPE_MISMATCH;
        if (*align && *align != type_align) return KOLK_TYPE_MISMATCH;
        *size = type_size;
        *align = type_align;
    }
    if (*size == 0) return KOLK_ZERO_SIZE;
    if (*align == 0) {
        size_t divides = *size & (~*size + 1);
        *align = divides < 16 ? divides : 16;
    }
    if (*align & (*align - 1)) return KOLK_BAD_ALIGN;
    if (*align > KOLK_MAX_ALIGN_) return KOLK_ALIGN_TOO_LARGE;
    if (*size > INT32_MAX - KOLK_MAX_ALIGN_) return KOLK_SIZE_OVERFLOW; /* so that no product of the size can wrap */
    return KOLK_OK;
}

kolk_status kolk_block_match_size_(size_t size, size_t align, size_t type_size, size_t type_align, size_t own_size,
                                   const void *first, size_t stride) {
    if (!size && !type_size) size = own_size;
    if (!align && !type_align) align = 1;
    kolk_status status = kolk_block_resolve_size_(&size, &align, type_size, type_align);
    if (status != KOLK_OK) return status;
    bool aligned = (uintptr_t)first % align == 0 && stride % align == 0;
    return size == own_size && aligned ? KOLK_OK : KOLK_STRUCT_CHANGED;
}

/* Returns the greatest capacity that fits into the caller's memory. The bytes per slot hardly depend on the capacity,
 * so the first guess takes them from a block of 2^16 slots. Each further guess drops as many slots as the excess bytes
 * hold. The steps need no 64-bit division where pointers have 32 bits. */
static uint32_t capacity_that_fits(const kolk_block_ *block, kolk_bytes_ *bytes, const void *desc) {
    KOLK_ASSERT_(block->memory);
    uint64_t each64 = bytes(desc, 1u << 16, 8) >> 10; /* bytes of 64 slots */
    size_t size = block->memory_size, each = each64 < SIZE_MAX ? (size_t)each64 : SIZE_MAX;
    KOLK_ASSERT_(each >= 64);
    uint64_t near = (uint64_t)(size / each) * 64 + size % each * 64 / each;
    uint32_t n = near < UINT32_MAX ? (uint32_t)near : UINT32_MAX;
    for (uint64_t needed; n > 0 && (needed = bytes(desc, n, 8)) > size;) {
        size_t fewer = (size_t)(needed - size) / (each / 64 + 1) + 1;
        n = fewer < n ? n - (uint32_t)fewer : 0;
    }
    while (n < UINT32_MAX && bytes(desc, n + 1, 8) <= size) n++;
    return n;
}

kolk_status kolk_block_resolve_(kolk_block_ *block, kolk_bytes_ *bytes, const void *desc) {
    KOLK_ASSERT_(block->object_align && (block->object_align & (block->object_align - 1)) == 0);
    if (block->max_capacity && block->max_capacity < block->capacity) return KOLK_MAX_BELOW_CAPACITY;
    uint64_t unit = KOLK_MAX_ALIGN_;
    if (block->memory) {
        if (block->max_capacity && block->max_capacity != block->capacity) return KOLK_CANNOT_GROW;
        if ((uintptr_t)block->memory % (block->object_align > 8 ? block->object_align : 8))
            return KOLK_MEMORY_MISALIGNED;
        bool asks = block->capacity == 0;
        if (asks) block->capacity = block->max_capacity = capacity_that_fits(block, bytes, desc);
        if (block->capacity == 0) return KOLK_MEMORY_TOO_SMALL;
        if (asks && block->memory_size <= PTRDIFF_MAX) return KOLK_OK;
        unit = 8;
    } else if (block->memory_size) {
        return KOLK_MEMORY_MISSING;
    }
    if (block->max_capacity == 0) block->max_capacity = block->capacity;
    uint64_t needed = bytes(desc, block->max_capacity, unit);
    if (block->memory && needed > block->memory_size) return KOLK_MEMORY_TOO_SMALL;
    return needed > PTRDIFF_MAX ? KOLK_SIZE_OVERFLOW : KOLK_OK;
}

uint64_t kolk_block_bytes_(const uint64_t *sizes, unsigned n, uint64_t unit) {
    uint64_t sum = 0;
    for (unsigned r = 0; r < n; r++) sum += round_up(sizes[r], unit);
    return sum;
}

bool kolk_block_make_(kolk_block_ *block, const uint64_t *sizes, unsigned n, void **starts) {
    KOLK_ASSERT_(block->capacity <= block->max_capacity && !block->start);
    /* Each region of a growing block takes whole pages. A block that is no larger than FEW_PAGES does not grow: it is
     * committed as a whole. */
    uint64_t page = kolk_memory_page_();
    bool grows =
        KOLK_PAGES_ && block->max_capacity > block->capacity && kolk_block_bytes_(sizes, n, 8) > FEW_PAGES * page;
    uint64_t unit = grows ? page : 8;
    KOLK_ASSERT_(kolk_block_bytes_(sizes, n, unit) <= PTRDIFF_MAX);
    block->kind = block->memory ? MEMORY_CALLERS : grows ? MEMORY_GROWS : MEMORY_WHOLE;
    block->size = (size_t)kolk_block_bytes_(sizes, n, unit);
    block->start = block->memory;
    if (KOLK_PAGES_ && !block->start && block->size)
        block->start = kolk_memory_take_(block->size, grows ? 0 : block->size);
    if (!block->start) return block->size == 0;
    unsigned char *at = block->start;
    for (unsigned r = 0; r < n; at += round_up(sizes[r++], unit)) starts[r] = sizes[r] ? at : NULL;
    if (block->kind == MEMORY_CALLERS) {
        size_t objects = (size_t)round_up(sizes[0], unit); /* the program writes the objects itself */
        kolk_tools_wrote_(block->start + objects, block->size - objects);
        return true;
    }
    kolk_tools_add_root_(block->start, block->size);
    return true;
}

bool kolk_block_commit_(void *const *starts, const uint64_t *sizes, unsigned n) {
    for (unsigned r = 0; r < n; r++) {
        KOLK_ASSERT_(starts[r] || sizes[r] == 0);
        if (sizes[r] && !kolk_memory_commit_(starts[r], (size_t)sizes[r])) return false;
    }
    return true;
}

void kolk_block_end_(const kolk_block_ *block) {
    if (!block->start || block->kind == MEMORY_CALLERS) return;
    kolk_tools_remove_root_(block->start, block->size);
    kolk_memory_release_(block->start, block->size);
}
