/* shared_block.c: the memory of a shared pool: one block (core/room.h) of these regions, each of which grows on its
 * own.
 *
 *     | slots | lives | records of threads | free | later[0] | ... | later[3] | ready | raw |
 *
 * The last two are there with setup or teardown. A class of a heap has its slots elsewhere, in the range that the heap
 * has given it, no records, and two sets. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../core/room.h"
#include "../os/memory.h"

enum { OF_SLOTS, OF_LIVES, OF_RECORDS, OF_FREE, OF_LATER, OF_READY = OF_LATER + 4, OF_RAW, SHARED_REGIONS };

#define LINE 128u /* bytes that a processor takes at a time, and the next */

static bool has_handles(const kolk_shared *pool) {
    return pool->generations != KOLK_GENERATIONS_NONE;
}

static void measure_regions(const kolk_shared *pool, uint32_t slots, uint64_t sizes[SHARED_REGIONS]) {
    sizes[OF_SLOTS] = pool->range ? 0 : (uint64_t)slots * pool->stride;
    sizes[OF_LIVES] = pool->colour + (uint64_t)slots * (has_handles(pool) ? 4 : 1);
    sizes[OF_RECORDS] = pool->max_threads * (uint64_t)pool->record_size;
    sizes[OF_FREE] = kolk_slot_set_size(kolk_depot_words(&pool->depot, slots));
    for (unsigned n = 0; n < 4; n++)
        sizes[OF_LATER + n] = n < later_sets(pool) ? kolk_slot_set_size(kolk_bits_words(slots)) : 0;
    sizes[OF_READY] = sizes[OF_RAW] = makes_parts(pool) ? kolk_slot_set_size(kolk_bits_words(slots)) : 0;
    for (unsigned r = 0; r < SHARED_REGIONS; r++)
        sizes[r] = round_up(sizes[r], LINE); /* the block begins with a line */
}

static uint64_t bytes_of_block(const void *pool, uint32_t slots, uint64_t unit) {
    uint64_t sizes[SHARED_REGIONS];
    measure_regions((const kolk_shared *)pool, slots, sizes);
    return kolk_room_bytes(sizes, SHARED_REGIONS, unit);
}

bool kolk_shared_commit(const kolk_shared *pool, uint32_t slots) {
    uint64_t sizes[SHARED_REGIONS];
    unsigned char *lives = has_handles(pool) ? (unsigned char *)pool->lives : pool->short_lives;
    if (pool->colour) lives -= pool->colour; /* NULL has no offset, not even 0 */
    void *starts[SHARED_REGIONS] = {pool->block, lives, pool->records, pool->depot.free.sheets};
    for (unsigned n = 0; n < 4; n++) starts[OF_LATER + n] = pool->later[n].sheets;
    starts[OF_READY] = pool->ready.sheets;
    starts[OF_RAW] = pool->raw.sheets;
    KOLK_ASSERT(slots <= slots_of(pool));
    if (pool->debug && !kolk_debug_commit(pool->debug, slots)) return false;
    measure_regions(pool, slots, sizes);
    if (pool->memory == MEMORY_GROWS && !kolk_room_commit(starts, sizes, SHARED_REGIONS)) return false;
    return !pool->range || slots == 0 || kolk_memory_commit(pool->range, (size_t)slots * pool->stride);
}

uint64_t kolk_shared_committed(const kolk_shared *pool, uint32_t slots) {
    uint64_t sizes[SHARED_REGIONS];
    measure_regions(pool, slots, sizes);
    uint64_t elsewhere = pool->range ? (uint64_t)slots * pool->stride : 0;
    if (pool->memory != MEMORY_GROWS && !pool->range) return pool->block_size;
    return kolk_room_bytes(sizes, SHARED_REGIONS, kolk_memory_page()) + elsewhere;
}

static void point_to_regions(kolk_shared *pool, void *const starts[SHARED_REGIONS], uint32_t front) {
    unsigned char *start = pool->range ? pool->range : (unsigned char *)starts[OF_SLOTS];
    pool->slots = start ? start + front : NULL;
    if (has_handles(pool))
        pool->lives = (uint32_t *)starts[OF_LIVES];
    else
        pool->short_lives = (uint8_t *)starts[OF_LIVES] + pool->colour;
    pool->records = (unsigned char *)starts[OF_RECORDS];
    pool->depot.free.sheets = (kolk_slot_sheet *)starts[OF_FREE];
    for (unsigned n = 0; n < 4; n++) pool->later[n].sheets = (kolk_slot_sheet *)starts[OF_LATER + n];
    pool->ready.sheets = (kolk_slot_sheet *)starts[OF_READY];
    pool->raw.sheets = (kolk_slot_sheet *)starts[OF_RAW];
}

/* Makes the block of a heap's class, whose slots are elsewhere. Where that costs nothing, all of it is committed at
 * once: so it is one mapping, and growing does not ask the system for it again. */
static bool make_block_of_class(kolk_room *room, const uint64_t *sizes, void **starts) {
    kolk_room whole = *room;
    whole.capacity = whole.max_capacity;
    if (!kolk_memory_commits_lazily() || !kolk_room_make(&whole, sizes, SHARED_REGIONS, starts))
        return kolk_room_make(room, sizes, SHARED_REGIONS, starts);
    *room = whole;
    return true;
}

kolk_status kolk_shared_make_block(kolk_shared *pool, uint32_t first_slots, size_t align, uint32_t front) {
    kolk_room room = {.object_align = align, .capacity = first_slots, .max_capacity = slots_of(pool)};
    kolk_status status = kolk_room_resolve(&room, bytes_of_block, pool);
    if (status != KOLK_OK) return status;
    uint64_t sizes[SHARED_REGIONS];
    void *starts[SHARED_REGIONS] = {NULL};
    measure_regions(pool, slots_of(pool), sizes);
    bool made =
        pool->range ? make_block_of_class(&room, sizes, starts) : kolk_room_make(&room, sizes, SHARED_REGIONS, starts);
    pool->block = room.block;
    pool->block_size = room.block_size;
    pool->memory = room.kind;
    pool->depot.usable = pool->bound = room.kind == MEMORY_GROWS || pool->range ? first_slots : slots_of(pool);
    if (made) {
        point_to_regions(pool, starts, front);
        return KOLK_OK;
    }
    kolk_shared_end_block(pool);
    return KOLK_NO_MEMORY;
}

void kolk_shared_end_block(const kolk_shared *pool) {
    kolk_room room = {.block = pool->block, .block_size = pool->block_size, .kind = pool->memory};
    if (pool->block) kolk_room_end(&room);
}

#endif
