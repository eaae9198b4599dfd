/* store_block.c: makes a store and its memory from a descriptor. The memory is one block (core/block.h) of these
 * regions, each of which grows separately. The free slots and the other sets grow downwards.
 *
 *     | slots -> | <- free | lives -> | owner's part | <- sets[0] | ... |
 *
 * If the owner provides a range of addresses, the slots are at the start of that range, and everything else (the block)
 * is at its end. The block grows from one place in both directions, so the metadata of a store with few slots take only
 * one page. The sheets of all sets (slot_set.h) alternate, because there is only one downward direction:
 *
 *     | slots -> | (reserved) ... | sets[0] | free | sets[0] | free | lives -> (reserved) |
 *                                    <- sheets 1        sheets 0 */
#include "store.h"

#if KOLK_HOSTED

#include "../core/block.h"
#include "../os/lock.h"

#include <string.h>

enum { OF_SLOTS, OF_FREE, OF_LIVES, OF_OWNER, OF_SETS, REGIONS = OF_SETS + KOLK_STORE_SETS_ };

#define LINE 128u /* bytes of two neighbouring cache lines, which processors load together */

/* ---- Regions ----------------------------------------------------------------------------------------------------- */

/* The bytes from one sheet of a set to the next: in a range, the sheets of all sets alternate. */
static uint64_t sheet_size(const kolk_slot_store_ *store) {
    return (store->sweeps ? 1 + (uint64_t)store->n_sets : 1) * KOLK_SHEET_ * sizeof(uint64_t);
}

/* The size in bytes of each region for this number of slots. Alternating sheets all count as part of `free`. No set has
 * more words than `free`. */
static void measure_regions(const kolk_slot_store_ *store, uint32_t slots, uint64_t sizes[REGIONS]) {
    uint64_t words = kolk_depot_words_(&store->depot, slots);
    bool alternate = store->sweeps;
    sizes[OF_SLOTS] = (uint64_t)slots * store->stride;
    sizes[OF_FREE] = alternate ? kolk_bits_words_(words) * sheet_size(store) : kolk_slot_set_size_(words);
    sizes[OF_LIVES] = (uint64_t)slots * store->life_bytes;
    sizes[OF_OWNER] = store->owners_size;
    for (unsigned n = 0; n < KOLK_STORE_SETS_; n++)
        sizes[OF_SETS + n] = n < store->n_sets && !alternate ? kolk_slot_set_size_(kolk_bits_words_(slots)) : 0;
    for (unsigned r = 0; r < REGIONS; r++) sizes[r] = round_up(sizes[r], LINE); /* the block is aligned to LINE too */
}

static uint64_t bytes_of_block(const void *store, uint32_t slots, uint64_t unit) {
    uint64_t sizes[REGIONS];
    measure_regions((const kolk_slot_store_ *)store, slots, sizes);
    return kolk_block_bytes_(sizes, REGIONS, unit);
}

static void *end_of_region(void *const starts[REGIONS], const uint64_t sizes[REGIONS], unsigned region) {
    return (unsigned char *)starts[region] + sizes[region];
}

/* `sizes` are those for all slots that the store may have. */
static void point_to_regions(kolk_slot_store_ *store, void *const starts[REGIONS], const uint64_t sizes[REGIONS],
                             uint32_t front) {
    store->range = (unsigned char *)starts[OF_SLOTS];
    store->slots = store->range + front;
    if (store->life_bytes == sizeof *store->lives)
        store->lives = (uint32_t *)starts[OF_LIVES];
    else
        store->short_lives = (uint8_t *)starts[OF_LIVES];
    store->owners = starts[OF_OWNER];
    uint32_t step = (uint32_t)(sheet_size(store) / sizeof(uint64_t));
    uint64_t *end = (uint64_t *)end_of_region(starts, sizes, OF_FREE);
    store->depot.free = (kolk_slot_set_){end, step};
    for (unsigned n = 0; n < store->n_sets; n++) {
        if (store->sweeps)
            end -= KOLK_SHEET_;
        else
            end = (uint64_t *)end_of_region(starts, sizes, OF_SETS + n);
        store->sets[n] = (kolk_slot_set_){end, step};
    }
}

/* Where a region's first bytes for these slots are, and the first byte behind them. */
static void locate_region(const kolk_slot_store_ *store, unsigned region, uint64_t size, uintptr_t *from,
                          uintptr_t *end) {
    const void *lives = store->lives ? (const void *)store->lives : store->short_lives;
    const void *const starts[] = {[OF_SLOTS] = store->range, [OF_LIVES] = lives, [OF_OWNER] = store->owners};
    if (region == OF_FREE || region >= OF_SETS) {
        const kolk_slot_set_ *set = region == OF_FREE ? &store->depot.free : &store->sets[region - OF_SETS];
        *end = (uintptr_t)set->end;
        *from = *end - (uintptr_t)size;
    } else {
        *from = (uintptr_t)starts[region];
        *end = *from + (uintptr_t)size;
    }
}

/* ---- More memory ------------------------------------------------------------------------------------------------- */

static uintptr_t page_of(uintptr_t address) {
    return address & ~(uintptr_t)(kolk_memory_page_() - 1);
}

static uintptr_t page_from(uintptr_t address) {
    return (uintptr_t)round_up(address, kolk_memory_page_());
}

/* The pages that a region gains when its size grows. */
static void locate_gain(const kolk_slot_store_ *store, unsigned region, uint64_t before, uint64_t size, uintptr_t *from,
                        uintptr_t *end) {
    uintptr_t had_from, had_end;
    locate_region(store, region, before, &had_from, &had_end);
    locate_region(store, region, size, from, end);
    bool grows_up = *from == had_from;
    *from = before && grows_up ? page_from(had_end) : page_of(*from);
    *end = before && !grows_up ? page_of(had_from) : page_from(*end);
}

/* Adds up the pages that regions gain, and commits them if `commits`. Two regions may share a page. Most growth steps
 * need no new page in most regions. */
static bool gain_pages(const kolk_slot_store_ *store, const uint64_t had[REGIONS], const uint64_t sizes[REGIONS],
                       bool commits, uint64_t *bytes) {
    uintptr_t from, end, covered = 0;
    *bytes = 0;
    for (unsigned r = 0; r < REGIONS; r++) {
        if (sizes[r] == had[r]) continue;
        locate_gain(store, r, had[r], sizes[r], &from, &end);
        if (from < covered) from = covered;
        if (from >= end) continue;
        if (commits && !kolk_memory_commit_((void *)from, end - from)) return false;
        *bytes += end - from;
        covered = end;
    }
    return true;
}

/* Commits memory for the first `slots` slots. The first `before` of them already have theirs. */
static bool commit_store_slots(const kolk_slot_store_ *store, uint32_t before, uint32_t slots) {
    uint64_t had[REGIONS] = {0}, sizes[REGIONS], bytes;
    KOLK_ASSERT_(slots <= store->depot.slots);
    if (store->debug && !kolk_watch_->committed(store->debug, slots)) return false;
    if (store->memory != MEMORY_GROWS) return true;
    if (before) measure_regions(store, before, had);
    measure_regions(store, slots, sizes);
    return gain_pages(store, had, sizes, true, &bytes);
}

uint64_t kolk_store_committed_(const kolk_slot_store_ *store) {
    uint64_t none[REGIONS] = {0}, sizes[REGIONS], bytes;
    if (store->memory != MEMORY_GROWS) return store->block_size;
    measure_regions(store, kolk_store_usable_(store), sizes);
    gain_pages(store, none, sizes, false, &bytes);
    return bytes;
}

/* ---- The account ------------------------------------------------------------------------------------------------- */

static uint64_t bytes_of_slots(const kolk_slot_store_ *store, uint32_t n) {
    return (uint64_t)n * store->stride;
}

uint64_t kolk_store_account_(const kolk_slot_store_ *store) {
    return bytes_of_slots(store, kolk_store_usable_(store) - kolk_load_(&store->released, KOLK_RELAXED_));
}

/* Takes the bytes of up to n slots from the budget, and returns of how many. */
static uint32_t take_slot_bytes(const kolk_slot_store_ *store, uint32_t n) {
    uint64_t wish = bytes_of_slots(store, kolk_budget_step_(store->budget, n, store->stride));
    return (uint32_t)(kolk_budget_take_(store->budget, wish, store->stride) / store->stride);
}

uint32_t kolk_store_gain_(const kolk_slot_store_ *store, uint32_t now, uint32_t wish) {
    uint32_t taken = take_slot_bytes(store, wish), made = taken;
    while (made && !commit_store_slots(store, now, now + made)) made /= 2;
    kolk_budget_give_(store->budget, bytes_of_slots(store, taken - made));
    return made;
}

/* Commits the memory that a store has from its beginning. */
static kolk_status gain_first(const kolk_slot_store_ *store) {
    uint64_t bytes = bytes_of_slots(store, store->depot.usable);
    if (!kolk_budget_take_all_(store->budget, bytes)) return KOLK_OVER_BUDGET;
    if (commit_store_slots(store, 0, store->depot.usable)) return KOLK_OK;
    kolk_budget_give_(store->budget, bytes);
    return KOLK_NO_MEMORY;
}

size_t kolk_store_discard_(const kolk_slot_store_ *store, uint32_t *from, uint32_t *end, bool counts) {
    uintptr_t slots = (uintptr_t)store->slots, start = slots + (uintptr_t)*from * store->stride,
              behind = slots + (uintptr_t)*end * store->stride, first = page_from(start), last = page_of(behind);
    *from = *end;
    if (first >= last) return 0;
    size_t bytes = kolk_memory_discard_((void *)start, behind - start, counts);
    if (!bytes && !(counts && kolk_memory_discard_((void *)start, behind - start, false))) return 0; /* refused */
    uint32_t inside = (uint32_t)((first - slots + store->stride - 1) / store->stride);
    *end = (uint32_t)((last - slots) / store->stride);
    *from = inside < *end ? inside : *end;
    return bytes;
}

void kolk_store_uncount_(kolk_slot_store_ *store, uint32_t n) {
    if (n == 0) return;
    kolk_fetch_add_(&store->released, n, KOLK_RELAXED_);
    kolk_budget_give_(store->budget, bytes_of_slots(store, n));
}

uint32_t kolk_store_recount_(kolk_slot_store_ *store, uint32_t n) {
    n = take_slot_bytes(store, n);
    if (n) kolk_fetch_sub_(&store->released, n, KOLK_RELAXED_);
    return n;
}

void kolk_store_close_account_(kolk_slot_store_ *store) {
    kolk_budget_give_(store->budget, kolk_store_account_(store));
    store->budget = NULL;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

uint32_t kolk_store_slots_of_range_(uint64_t range_size, uint64_t stride, uint32_t cache, unsigned n_sets) {
    uint64_t slack = 4 * (uint64_t)kolk_memory_page_() + KOLK_MAX_ALIGN_ + 1024;   /* for rounding, and the colour */
    uint64_t words = cache && cache < 64 ? 64 >> kolk_bits_highest_32_(cache) : 1; /* depot words for 64 slots */
    /* 64 slots need 64 bytes for their lives. Each word of a set needs 8 bytes, and 1 byte in the summary. All sets
     * have as many sheets as the depot. */
    uint64_t bytes = 64 * stride + 64 + 9 * (1 + n_sets) * words;
    uint64_t fits = range_size > slack ? (range_size - slack) * 64 / bytes : 0;
    return fits < UINT32_MAX ? (uint32_t)fits : UINT32_MAX - 1;
}

/* Places the block at the end of the range, which has room for it. The first sheets and the first lives are in the same
 * page. */
static void place_block(kolk_slot_store_ *store, const kolk_store_desc_ *desc, uint32_t front) {
    uint64_t sizes[REGIONS];
    void *starts[REGIONS] = {NULL};
    measure_regions(store, desc->slots, sizes);
    uintptr_t end = (uintptr_t)desc->range + desc->range_size;
    uintptr_t inside = (uintptr_t)round_up(sheet_size(store), LINE) + desc->colour;
    uintptr_t lives = page_of(end - (uintptr_t)sizes[OF_LIVES] - inside) + inside;
    uintptr_t block = page_of(lives - (uintptr_t)sizes[OF_FREE]);
    KOLK_ASSERT_(end % kolk_memory_page_() == 0);
    KOLK_ASSERT_(sizes[OF_SLOTS] <= block - (uintptr_t)desc->range);
    store->block_size = end - block;
    store->block = desc->range + (desc->range_size - store->block_size);
    starts[OF_SLOTS] = desc->range;
    starts[OF_LIVES] = store->block + (lives - block);
    starts[OF_FREE] = store->block + (lives - block) - sizes[OF_FREE];
    store->memory = MEMORY_GROWS;
    store->depot.usable = desc->capacity;
    point_to_regions(store, starts, sizes, front);
}

static kolk_status make_block(kolk_slot_store_ *store, const kolk_store_desc_ *desc, uint32_t front) {
    kolk_block_ block = {
        .object_align = desc->object_align, .capacity = desc->capacity, .max_capacity = store->depot.slots};
    kolk_status status = kolk_block_resolve_(&block, bytes_of_block, store);
    if (status != KOLK_OK) return status;
    uint64_t sizes[REGIONS];
    void *starts[REGIONS] = {NULL};
    measure_regions(store, store->depot.slots, sizes);
    bool made = kolk_block_make_(&block, sizes, REGIONS, starts);
    store->block = block.start;
    store->block_size = block.size;
    store->memory = block.kind;
    store->depot.usable = block.kind == MEMORY_GROWS ? desc->capacity : store->depot.slots;
    if (!made) {
        kolk_store_end_block_(store);
        return KOLK_NO_MEMORY;
    }
    point_to_regions(store, starts, sizes, front);
    return KOLK_OK;
}

static void shape(kolk_slot_store_ *store, const kolk_store_desc_ *desc) {
    KOLK_ASSERT_(desc->slack <= desc->slots && desc->n_free_sets <= desc->n_sets && desc->n_sets <= KOLK_STORE_SETS_);
    store->name = desc->name;
    store->object_size = (uint32_t)desc->object_size;
    kolk_store_set_stride_(store, (uint32_t)round_up(desc->object_size, desc->object_align));
    store->life_bytes = desc->has_handles ? sizeof *store->lives : sizeof *store->short_lives;
    store->n_sets = desc->n_sets;
    store->n_free_sets = desc->n_free_sets;
    store->has_sets = !desc->range;
    store->sweeps = desc->range;
    store->owners_size = desc->owners_size;
    store->slack = desc->slack;
    store->budget = desc->budget;
    kolk_depot_begin_(&store->depot, desc->keepers, desc->slots, desc->cache);
    store->depot.slow_free = desc->slow_free;
}

kolk_status kolk_store_begin_(kolk_slot_store_ *store, const kolk_store_desc_ *desc, const kolk_settings_ *settings) {
    kolk_status status = KOLK_OK;
    shape(store, desc);
    kolk_debug_desc_ debug = kolk_store_debug_desc_(store, settings, desc->object_align, desc->persistent);
    if (desc->range)
        place_block(store, desc, debug.front);
    else
        status = make_block(store, desc, debug.front);
    if (status != KOLK_OK) return status;
    status = kolk_store_begin_debug_(store, &debug) ? gain_first(store) : KOLK_NO_MEMORY;
    if (status == KOLK_OK) return KOLK_OK;
    if (store->debug) kolk_watch_->unmade(store->debug, 0);
    kolk_store_end_block_(store);
    return status;
}

void kolk_store_wipe_records_(const kolk_slot_store_ *store) {
    uint64_t sizes[REGIONS];
    KOLK_ASSERT_(store->sweeps && !store->debug);
    measure_regions(store, kolk_store_fresh_(store), sizes);
    for (unsigned r = OF_FREE; r <= OF_LIVES; r++) {
        uintptr_t from, end;
        locate_region(store, r, sizes[r], &from, &end);
        memset((void *)from, 0, end - from);
    }
}

void kolk_store_end_block_(const kolk_slot_store_ *store) {
    kolk_block_ block = {.start = store->block, .size = store->block_size, .kind = store->memory};
    if (store->block && !store->sweeps) kolk_block_end_(&block);
}

#endif
