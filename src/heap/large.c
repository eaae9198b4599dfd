/* large.c: blocks with pages of their own, or from malloc.
 *
 * A block is mapped first and then entered into the table (large_table.c), and it leaves the table before it is
 * unmapped. So two entries never have the same address, even if the system reuses an address immediately. A resize
 * takes the entry out, lets the system move the pages, and enters the block again. `moving` reserves room for it in the
 * table, so that entering it cannot fail. (In a fork's child, the room that a lost thread had reserved stays reserved
 * for ever.)
 *
 * Invariants, in addition to those of the table:
 *     I5  a block lies inside its mapping; a block that came from malloc has exactly the bytes that were requested from
 *         malloc
 *     I6  spare pages have no more bytes than most_spare allows */
#include "../os/system.h"

#include "kolk/base.h"

#include "large.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../core/block.h"
#include "../os/memory.h"
#include "heap_sizes.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SPARE ((size_t)4 << 20)   /* bytes of spare pages that any heap may have */
#define MOST_SPARE  ((size_t)128 << 20) /* the most bytes of spare pages, if the blocks once had as many */

/* ---- Memory of blocks -------------------------------------------------------------------------------------------- */

/* Might the sum of align, size and a page wrap? */
static bool is_too_large(size_t align, size_t size) {
    size_t most = (size_t)PTRDIFF_MAX - kolk_memory_page_();
    return align > most || size > most - align;
}

static bool take_pages(size_t align, size_t size, kolk_large_block_ *block) {
    size_t page = kolk_memory_page_(), usable = (size_t)round_up(size, page);
    size_t surplus = align > page ? align - page : 0;
    char *mapping = (char *)(surplus ? kolk_memory_reserve_(usable + surplus) : kolk_memory_map_(usable));
    if (!mapping) return false;
    size_t before = (size_t)(round_up((uintptr_t)mapping, align) - (uintptr_t)mapping), behind = surplus - before;
    if (surplus && !kolk_memory_commit_(mapping + before, usable)) {
        kolk_memory_release_(mapping, usable + surplus);
        return false;
    }
    *block = (kolk_large_block_){(uintptr_t)mapping + before, usable, (uintptr_t)mapping, usable + surplus, false};
    if (behind && kolk_memory_trim_(mapping + before + usable, behind)) block->mapped -= behind;
    if (before && kolk_memory_trim_(mapping, before)) {
        block->mapping += before;
        block->mapped -= before;
    }
    return true;
}

/* The block ends where the second inaccessible page begins. */
static bool take_pages_apart(size_t size, kolk_large_block_ *block) {
    size_t page = kolk_memory_page_(), usable = (size_t)round_up(size, 16);
    size_t pages = (size_t)round_up(usable, page), mapped = pages + 2 * page;
    char *mapping = (char *)kolk_memory_reserve_(mapped);
    if (!mapping) return false;
    if (!kolk_memory_commit_(mapping + page, pages)) {
        kolk_memory_release_(mapping, mapped);
        return false;
    }
    *block = (kolk_large_block_){(uintptr_t)mapping + page + pages - usable, usable, (uintptr_t)mapping, mapped, false};
    return true;
}

#ifdef _WIN32 /* malloc's blocks are not aligned there, and aligned blocks need a different free */
static bool can_malloc(size_t align) {
    return align <= KOLK_MALLOC_ALIGN_;
}

static void *malloc_aligned(size_t align, size_t size) {
    (void)align;
    return malloc(size);
}
#else
static bool can_malloc(size_t align) {
    (void)align;
    return true;
}

static void *malloc_aligned(size_t align, size_t size) {
    void *start;
    if (align <= KOLK_MALLOC_ALIGN_) return malloc(size);
    return posix_memalign(&start, align, size) == 0 ? start : NULL;
}
#endif

static bool take_from_malloc(size_t align, size_t size, kolk_large_block_ *block) {
    void *start = malloc_aligned(align, size);
    if (!start) return false;
    *block = (kolk_large_block_){(uintptr_t)start, size, 0, size, false};
    return true;
}

/* A copy of the block's entry; all zero: there is none. */
static kolk_large_block_ find_large(const kolk_large_ *large, const void *block) {
    kolk_large_lock_(large);
    const kolk_large_block_ *entry = kolk_large_entry_(large, block);
    kolk_large_block_ found = entry ? *entry : (kolk_large_block_){0};
    kolk_large_unlock_(large);
    return found;
}

size_t kolk_large_bytes_(const kolk_large_ *large, const void *block, size_t align, size_t size) {
    if (is_too_large(align, size)) return 0;
    if (size == 0) size = 1;
    bool exact = large->from_malloc && can_malloc(align) && !(block && find_large(large, block).mapping);
    return exact ? size : (size_t)round_up(size, kolk_memory_page_());
}

static bool take_block(kolk_large_ *large, size_t align, size_t size, kolk_large_block_ *block) {
    size_t page = kolk_memory_page_();
    if (large->from_malloc && can_malloc(align)) return take_from_malloc(align, size, block);
    size_t usable = (size_t)round_up(size, page);
    void *spare = align <= page ? kolk_spares_take_(&large->spares, usable) : NULL;
    if (!spare) return take_pages(align, size, block);
    *block = (kolk_large_block_){(uintptr_t)spare, usable, (uintptr_t)spare, usable, true};
    return true;
}

/* The most bytes of spare pages: half of the largest sum of live blocks. Up to MOST_SPARE it is the whole sum, because
 * that many lie between blocks that are replaced at random. */
static size_t most_spare(const kolk_large_ *large) {
    size_t peak = kolk_load_(&large->peak_bytes, KOLK_RELAXED_), most = peak < MOST_SPARE ? peak : MOST_SPARE;
    if (!large->keeps) return 0;
    if (most < LEAST_SPARE) most = LEAST_SPARE;
    return peak / 2 > most ? peak / 2 : most;
}

static void give_back(kolk_large_ *large, const kolk_large_block_ *block) {
    bool has_gaps = block->mapped != block->size;
    if (block->mapping)
        kolk_spares_put_(&large->spares, (void *)block->mapping, block->mapped, has_gaps, most_spare(large));
    else
        free((void *)block->start);
}

/* False: the system or malloc cannot resize the block, and nothing has changed. */
static bool resize_memory(kolk_large_block_ *block, size_t size) {
    void *start = block->mapping ? kolk_memory_resize_((void *)block->start, block->size, size)
                                 : realloc((void *)block->start, size);
    if (!start) return false;
    *block = (kolk_large_block_){(uintptr_t)start, size, block->mapping ? (uintptr_t)start : 0, size, block->is_used};
    return true;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static void *count_large_failure(kolk_large_ *large) {
    kolk_large_lock_(large);
    kolk_store_(&large->failed, large->failed + 1, KOLK_RELAXED_);
    kolk_large_unlock_(large);
    return NULL;
}

/* Enters a new block. NULL: there is no memory for the table; the block is given back. */
static void *enter_new(kolk_large_ *large, const kolk_large_block_ *block) {
    for (;;) {
        kolk_large_lock_(large);
        size_t places = kolk_large_places_(large);
        bool fits = kolk_large_has_room_(large);
        if (fits) kolk_large_enter_(large, block);
        kolk_large_unlock_(large);
        if (fits) return (void *)block->start;
        if (!kolk_large_grow_(large, places)) break;
    }
    give_back(large, block);
    return count_large_failure(large);
}

/* Makes a block whose bytes have been taken of the budget. */
static void *make_large(kolk_large_ *large, size_t align, size_t bytes) {
    kolk_large_block_ block;
    return take_block(large, align, bytes, &block) ? enter_new(large, &block) : count_large_failure(large);
}

/* Ends a block, and returns its usable bytes, which the budget has not got back yet. */
static size_t end_large(kolk_large_ *large, void *block) {
    kolk_large_lock_(large);
    kolk_large_block_ *entry = kolk_large_entry_(large, block);
    kolk_large_block_ found = entry ? *entry : (kolk_large_block_){0};
    if (entry) kolk_large_remove_(large, entry);
    kolk_large_unlock_(large);
    if (found.start) give_back(large, &found);
    return found.size;
}

void *kolk_large_alloc_(kolk_large_ *large, size_t align, size_t size) {
    KOLK_ASSERT_(align && (align & (align - 1)) == 0);
    if (align < KOLK_GRAIN_) align = KOLK_GRAIN_;
    size_t bytes = kolk_large_bytes_(large, NULL, align, size);
    if (!bytes) return count_large_failure(large);
    if (!kolk_budget_take_all_(large->budget, bytes)) return NULL;
    void *block = make_large(large, align, bytes);
    if (!block) kolk_budget_give_(large->budget, bytes);
    return block;
}

void *kolk_large_alloc_apart_(kolk_large_ *large, size_t size) {
    kolk_large_block_ block;
    KOLK_ASSERT_(size > 0 && !large->from_malloc && !large->budget);
    return take_pages_apart(size, &block) ? enter_new(large, &block) : NULL;
}

void kolk_large_zero_(const kolk_large_ *large, void *block, size_t size) {
    kolk_large_block_ found = find_large(large, block);
    if (!found.mapping) memset(block, 0, size);
    if (found.mapping && found.is_used && kolk_memory_discard_(block, found.size, false) == 0) memset(block, 0, size);
}

bool kolk_large_free_(kolk_large_ *large, void *block) {
    size_t bytes = end_large(large, block);
    kolk_budget_give_(large->budget, bytes);
    return bytes;
}

/* After a removal, another entry may have moved to its place. */
void kolk_large_clear_(kolk_large_ *large) {
    for (size_t place = 0; place < kolk_large_places_(large); place++)
        while (kolk_large_table_of_(large)->blocks[place].start)
            kolk_large_free_(large, (void *)kolk_large_table_of_(large)->blocks[place].start);
}

/* Resizes a block that has been taken out of the table, and enters it again. */
static bool resize_outside(kolk_large_ *large, kolk_large_block_ *block, size_t size) {
    bool done = resize_memory(block, size);
    kolk_large_lock_(large);
    large->moving--;
    kolk_large_enter_(large, block);
    kolk_large_unlock_(large);
    return done;
}

/* Resizes a block to `size` usable bytes. The caller takes the bytes of the budget, and gives them back. */
static void *resize_found(kolk_large_ *large, void *block, size_t size) {
    kolk_large_lock_(large);
    kolk_large_block_ *entry = kolk_large_entry_(large, block);
    kolk_large_block_ found = entry ? *entry : (kolk_large_block_){0};
    bool takes_out = entry && found.size != size && found.size == found.mapped; /* not a mapping with a surplus */
    if (takes_out) {
        kolk_large_remove_(large, entry);
        large->moving++;
    }
    kolk_large_unlock_(large);
    if (!entry) return NULL;
    if (found.size == size) return block;
    if (takes_out && resize_outside(large, &found, size)) return (void *)found.start;
    if (size < found.size && size > found.size / 2) return block;
    void *moved = make_large(large, KOLK_GRAIN_, size);
    if (!moved) return NULL;
    memcpy(moved, block, size < found.size ? size : found.size);
    end_large(large, block);
    return moved;
}

void *kolk_large_resize_(kolk_large_ *large, void *block, size_t before, size_t size) {
    size_t after = kolk_large_bytes_(large, block, KOLK_GRAIN_, size), more = after > before ? after - before : 0;
    if (!after) return count_large_failure(large);
    if (!kolk_budget_take_all_(large->budget, more)) return NULL;
    void *resized = resize_found(large, block, after);
    if (!resized)
        kolk_budget_give_(large->budget, more);
    else if (after < before) /* the block has shrunk, or has kept its size */
        kolk_budget_give_(large->budget, before - kolk_large_size_(large, resized));
    return resized;
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

size_t kolk_large_size_(const kolk_large_ *large, const void *block) {
    return find_large(large, block).size;
}

void *kolk_large_locate_(const kolk_large_ *large, const void *pointer, size_t *inside) {
    kolk_large_lock_(large);
    uintptr_t found = 0;
    for (size_t place = 0; place < kolk_large_places_(large) && !found; place++) {
        const kolk_large_block_ *entry = &kolk_large_table_of_(large)->blocks[place];
        *inside = (uintptr_t)pointer - entry->start;
        if (entry->start && *inside < entry->size) found = entry->start;
    }
    kolk_large_unlock_(large);
    return (void *)found;
}

void *kolk_large_next_(const kolk_large_ *large, uintptr_t above) {
    kolk_large_lock_(large);
    uintptr_t lowest = UINTPTR_MAX;
    for (size_t place = 0; place < kolk_large_places_(large); place++) {
        uintptr_t start = kolk_large_table_of_(large)->blocks[place].start;
        if (start > above && start < lowest) lowest = start;
    }
    kolk_large_unlock_(large);
    return lowest == UINTPTR_MAX ? NULL : (void *)lowest;
}

uint64_t kolk_large_usable_(const kolk_large_ *large) {
    uint64_t bytes = 0;
    kolk_large_lock_(large);
    for (size_t place = 0; place < kolk_large_places_(large); place++)
        if (kolk_large_table_of_(large)->blocks[place].start) bytes += kolk_large_table_of_(large)->blocks[place].size;
    kolk_large_unlock_(large);
    return bytes;
}

void kolk_large_end_(kolk_large_ *large) {
    kolk_large_lock_(large); /* in a fork's child, locking closes the hole */
    large->keeps = false;
    kolk_large_unlock_(large);
    for (size_t place = 0; place < kolk_large_places_(large); place++)
        if (kolk_large_table_of_(large)->blocks[place].start)
            give_back(large, &kolk_large_table_of_(large)->blocks[place]);
    kolk_spares_expire_(&large->spares, INT64_MAX);
    kolk_large_drop_table_(large);
    *large = (kolk_large_){0};
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

static bool is_inside_mapping(const kolk_large_block_ *block) {
    if (block->mapping == 0) return block->mapped == block->size;
    size_t before = block->start - block->mapping;
    return before < block->mapped && block->size <= block->mapped - before;
}

bool kolk_large_is_valid_(const kolk_large_ *large) {
    kolk_large_lock_(large);
    bool valid = kolk_large_table_is_valid_(large);
    for (size_t place = 0; place < kolk_large_places_(large); place++) {
        const kolk_large_block_ *entry = &kolk_large_table_of_(large)->blocks[place];
        if (entry->start && !is_inside_mapping(entry)) valid = false; /* I5 */
    }
    kolk_large_unlock_(large);
    return valid && kolk_spares_bytes_(&large->spares) <= most_spare(large); /* I6 */
}

#endif
