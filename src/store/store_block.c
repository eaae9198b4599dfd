/* store_block.c: makes a store and its memory from a descriptor. The memory is one block (core/block.h) of these
 * regions, each of which grows separately.
 *
 *     | slots | lives | owner's part | free | sets[0] | ... |
 *
 * If the owner provides a range of addresses, the slots are at the start of that range, and everything else (the block)
 * is at its end. The sets are then committed only when they are first used, because most processes never use them:
 *
 *     | slots | (reserved) | lives | free | sets[0] | ... | */
#include "store.h"

#if KOLK_HOSTED

#include "../core/block.h"
#include "../os/lock.h"

#include <string.h>

enum { OF_SLOTS, OF_LIVES, OF_OWNER, OF_FREE, OF_SETS, REGIONS = OF_SETS + KOLK_STORE_SETS_ };

#define LINE 128u /* bytes of two neighbouring cache lines, which processors load together */

/* ---- Regions ----------------------------------------------------------------------------------------------------- */

/* The size in bytes of each region for this number of slots. */
static void measure_regions(const kolk_slot_store_ *store, uint32_t slots, uint64_t sizes[REGIONS]) {
    sizes[OF_SLOTS] = (uint64_t)slots * store->stride;
    sizes[OF_LIVES] = store->colour + (uint64_t)slots * store->life_bytes;
    sizes[OF_OWNER] = store->owners_size;
    sizes[OF_FREE] = kolk_slot_set_size_(kolk_depot_words_(&store->depot, slots));
    for (unsigned n = 0; n < KOLK_STORE_SETS_; n++)
        sizes[OF_SETS + n] = n < store->n_sets ? kolk_slot_set_size_(kolk_bits_words_(slots)) : 0;
    for (unsigned r = 0; r < REGIONS; r++) sizes[r] = round_up(sizes[r], LINE); /* the block is aligned to LINE too */
}

/* The same, but without the sets if they are not committed yet. */
static void measure_committed(const kolk_slot_store_ *store, uint32_t slots, uint64_t sizes[REGIONS]) {
    measure_regions(store, slots, sizes);
    for (unsigned n = kolk_store_sets_(store); n < KOLK_STORE_SETS_; n++) sizes[OF_SETS + n] = 0;
}

static uint64_t bytes_of_block(const void *store, uint32_t slots, uint64_t unit) {
    uint64_t sizes[REGIONS];
    measure_regions((const kolk_slot_store_ *)store, slots, sizes);
    return kolk_block_bytes_(sizes, REGIONS, unit);
}

static void point_to_regions(kolk_slot_store_ *store, void *const starts[REGIONS], uint32_t front) {
    store->range = (unsigned char *)starts[OF_SLOTS];
    store->slots = store->range + front;
    if (store->life_bytes == sizeof *store->lives)
        store->lives = (uint32_t *)starts[OF_LIVES];
    else
        store->short_lives = (uint8_t *)starts[OF_LIVES] + store->colour;
    store->owners = starts[OF_OWNER];
    store->depot.free.sheets = (kolk_slot_sheet_ *)starts[OF_FREE];
    for (unsigned n = 0; n < KOLK_STORE_SETS_; n++) store->sets[n].sheets = (kolk_slot_sheet_ *)starts[OF_SETS + n];
}

static unsigned char *start_of_region(const kolk_slot_store_ *store, unsigned region) {
    switch (region) {
    case OF_SLOTS:
        return store->range;
    case OF_LIVES:
        return store->lives ? (unsigned char *)store->lives : store->short_lives - store->colour;
    case OF_OWNER:
        return (unsigned char *)store->owners;
    case OF_FREE:
        return (unsigned char *)store->depot.free.sheets;
    default:
        return (unsigned char *)store->sets[region - OF_SETS].sheets;
    }
}

/* ---- More memory ------------------------------------------------------------------------------------------------- */

/* Commits the pages that a region gains. Most growth steps need no new page in most regions. */
static bool commit_more(const kolk_slot_store_ *store, unsigned region, uint64_t before, uint64_t size) {
    uintptr_t start = (uintptr_t)start_of_region(store, region);
    uintptr_t from = start + (uintptr_t)before, end = start + (uintptr_t)size;
    if (before) from = (uintptr_t)round_up(from, kolk_memory_page_());
    return from >= end || kolk_memory_commit_((void *)from, end - from);
}

bool kolk_store_commit_(const kolk_slot_store_ *store, uint32_t before, uint32_t slots) {
    uint64_t had[REGIONS] = {0}, sizes[REGIONS];
    bool done = true;
    KOLK_ASSERT_(slots <= store->depot.slots);
    if (store->debug && !kolk_debug_commit_(store->debug, slots)) return false;
    if (store->memory != MEMORY_GROWS) return true;
    if (before) measure_committed(store, before, had);
    measure_committed(store, slots, sizes);
    for (unsigned r = 0; r < REGIONS; r++)
        if (slots || r == OF_OWNER) done = done && commit_more(store, r, had[r], sizes[r]);
    return done;
}

bool kolk_store_commit_sets_(kolk_slot_store_ *store) {
    uint64_t sizes[REGIONS];
    bool done = true;
    kolk_lock_word_(&store->lock);
    measure_regions(store, kolk_store_usable_(store), sizes);
    for (unsigned n = OF_SETS; !store->has_sets && n < REGIONS; n++) done = done && commit_more(store, n, 0, sizes[n]);
    if (done) kolk_store_(&store->has_sets, 1, KOLK_RELEASE_); /* partner: kolk_store_sets_ */
    kolk_unlock_word_(&store->lock);
    return done;
}

uint64_t kolk_store_committed_(const kolk_slot_store_ *store) {
    uint64_t sizes[REGIONS];
    if (store->memory != MEMORY_GROWS) return store->block_size;
    measure_committed(store, kolk_store_usable_(store), sizes);
    return kolk_block_bytes_(sizes, REGIONS, kolk_memory_page_());
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

uint32_t kolk_store_slots_of_range_(uint64_t range_size, uint64_t stride, uint32_t cache, unsigned n_sets) {
    uint64_t slack = 4 * (uint64_t)kolk_memory_page_() + KOLK_MAX_ALIGN_ + 1024;  /* for rounding, and the colour */
    uint64_t words = cache && cache < 64 ? 64 >> (31 - __builtin_clz(cache)) : 1; /* depot words for 64 slots */
    /* 64 slots need 64 bytes for their lives. Each word of a set needs 8 bytes, and 1 byte in the summary. */
    uint64_t bytes = 64 * stride + 64 + 9 * (n_sets + words);
    uint64_t fits = range_size > slack ? (range_size - slack) * 64 / bytes : 0;
    return fits < UINT32_MAX ? (uint32_t)fits : UINT32_MAX - 1;
}

/* Places the block at the end of the range, which has room for it. */
static void place_block(kolk_slot_store_ *store, const kolk_store_desc_ *desc, uint32_t front) {
    uint64_t sizes[REGIONS];
    void *starts[REGIONS] = {NULL};
    measure_regions(store, desc->slots, sizes);
    uint64_t slots_size = sizes[OF_SLOTS];
    sizes[OF_SLOTS] = 0;
    store->block_size = (size_t)kolk_block_bytes_(sizes, REGIONS, kolk_memory_page_());
    store->block = desc->range + desc->range_size - store->block_size;
    KOLK_ASSERT_((uintptr_t)store->block % kolk_memory_page_() == 0);
    KOLK_ASSERT_(slots_size <= desc->range_size - store->block_size);
    (void)slots_size;
    unsigned char *at = store->block;
    for (unsigned r = 0; r < REGIONS; at += round_up(sizes[r++], kolk_memory_page_())) starts[r] = sizes[r] ? at : NULL;
    starts[OF_SLOTS] = desc->range;
    store->memory = MEMORY_GROWS;
    store->depot.usable = desc->capacity;
    point_to_regions(store, starts, front);
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
    point_to_regions(store, starts, front);
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
    store->singly = desc->singly;
    store->sweeps = desc->range;
    store->owners_size = desc->owners_size;
    store->colour = desc->colour;
    store->slack = desc->slack;
    store->budget = desc->budget;
    kolk_depot_begin_(&store->depot, desc->keepers, desc->slots, desc->cache);
    store->depot.slow_free = desc->slow_free;
}

/* Takes the bytes of the slots that are usable from the start out of the budget. Returns false if the budget has too
 * few. */
static bool take_first_bytes(const kolk_slot_store_ *store) {
    uint64_t bytes = (uint64_t)store->depot.usable * store->stride;
    return bytes == 0 || kolk_budget_take_(store->budget, bytes, bytes);
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
    if (kolk_store_begin_debug_(store, &debug) && kolk_store_commit_(store, 0, store->depot.usable) &&
        take_first_bytes(store))
        return KOLK_OK;
    if (store->debug) kolk_debug_end_(store->debug, 0);
    kolk_store_end_block_(store);
    return KOLK_NO_MEMORY;
}

void kolk_store_end_block_(const kolk_slot_store_ *store) {
    kolk_block_ block = {.start = store->block, .size = store->block_size, .kind = store->memory};
    if (store->block && !store->sweeps) kolk_block_end_(&block);
}

#endif
