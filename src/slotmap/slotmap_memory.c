/* slotmap_memory.c: the memory of a slot map, which is one block (block.h) of these regions:
 *
 *     | objects | cells | owners |
 *
 * With the debug setting `move`, the objects are in one of several separate blocks instead. The other blocks are
 * inaccessible, and their pages are released:
 *
 *     blocks    | - | - | objects | - | - | - | - | - | */
#include "slotmap_inside.h"

#include "../os/memory.h"
#include "../core/tools.h"

#include <string.h>

#define BLOCKS 8u

enum { MAP_OBJECTS, MAP_CELLS, MAP_OWNERS, MAP_REGIONS };

static void measure_map(uint64_t stride, uint32_t capacity, uint64_t sizes[MAP_REGIONS]) {
    sizes[MAP_OBJECTS] = capacity * stride;
    sizes[MAP_CELLS] = (uint64_t)capacity * sizeof(kolk_cell_);
    sizes[MAP_OWNERS] = (uint64_t)capacity * sizeof(uint32_t);
}

static uint64_t map_bytes_of(const void *given, uint32_t capacity, uint64_t unit) {
    const kolk_slotmap_desc *desc = given;
    uint64_t sizes[MAP_REGIONS];
    measure_map(round_up(desc->object_size, desc->object_align), capacity, sizes);
    return kolk_block_bytes_(sizes, MAP_REGIONS, unit);
}

static kolk_block_ map_block_of(const kolk_slotmap_desc *desc) {
    return (kolk_block_){
        desc->object_align, desc->capacity, desc->max_capacity, desc->memory, desc->memory_size, NULL, 0, 0};
}

kolk_status kolk_slotmap_resolve_(kolk_slotmap_desc *desc, size_t type_size, size_t type_align) {
    kolk_status status = kolk_block_resolve_size_(&desc->object_size, &desc->object_align, type_size, type_align);
    if (status != KOLK_OK) return status;
    if (desc->capacity > INT32_MAX) return KOLK_BAD_CAPACITY;
    kolk_block_ block = map_block_of(desc);
    status = kolk_block_resolve_(&block, map_bytes_of, desc);
    desc->capacity = block.capacity;
    desc->max_capacity = block.max_capacity;
    return status == KOLK_OK && block.max_capacity == 0 ? KOLK_ZERO_CAPACITY : status;
}

size_t kolk_slotmap_memory_size(const kolk_slotmap_desc *desc) {
    if (!desc) return 0;
    kolk_slotmap_desc fixed = {
        .object_size = desc->object_size, .object_align = desc->object_align, .capacity = desc->capacity};
    return kolk_slotmap_resolve_(&fixed, 0, 0) == KOLK_OK ? (size_t)map_bytes_of(&fixed, fixed.capacity, 8) : 0;
}

/* ---- Reports to tools about the places from `from` to `end` ------------------------------------------------------ */

/* Makes these places inaccessible for tools, together with the rest of their last 8-byte granule, which belongs to no
 * object. */
static void hide_places(const kolk_slotmap *map, const unsigned char *objects, uint32_t from, uint32_t end) {
    KOLK_ASSERT_(end <= map->max_capacity);
    size_t first = (size_t)from * map->stride, last = (size_t)round_up((uint64_t)end * map->stride, 8);
    if (map_has(map, KOLK_DEBUG_BYPASS) && from < end) kolk_tools_hide_(objects + first, last - first);
}

/* Makes these places accessible. The program must write to them before it reads them. */
static void show_places(const kolk_slotmap *map, const unsigned char *objects, uint32_t from, uint32_t end) {
    KOLK_ASSERT_(end <= map->max_capacity);
    size_t first = (size_t)from * map->stride, last = (size_t)end * map->stride;
    if (map_has(map, KOLK_DEBUG_BYPASS) && from < end) kolk_tools_show_(objects + first, last - first);
}

void kolk_slotmap_hide_free_(const kolk_slotmap *map, uint32_t place) {
    bool shares = place < map->count && map->stride % 8; /* a hole, whose last granule has a part of an object */
    if (!shares) hide_places(map, map->objects, place, place + 1);
}

void kolk_slotmap_show_free_(const kolk_slotmap *map, uint32_t place) {
    show_places(map, map->objects, place, place + 1);
}

/* ---- The blocks of the debug setting move ------------------------------------------------------------------------ */

static size_t size_of_blocks(const kolk_slotmap *map) {
    return (size_t)round_up((uint64_t)map->max_capacity * map->stride, kolk_memory_page_());
}

/* Reserves the blocks. If there is no address space for them, turns the setting `move` off. */
static void make_blocks(kolk_slotmap *map, const kolk_slotmap_desc *desc) {
    bool fits = size_of_blocks(map) <= PTRDIFF_MAX / BLOCKS && map->max_capacity > 0;
    if (map_has(map, KOLK_DEBUG_MOVE) && fits && !desc->memory)
        map->blocks = kolk_memory_reserve_(BLOCKS * size_of_blocks(map));
    if (!map->blocks) {
        map->debug_flags &= (uint8_t)~KOLK_DEBUG_MOVE;
        return;
    }
    kolk_tools_add_root_(map->blocks, BLOCKS * size_of_blocks(map));
}

static void release_blocks(kolk_slotmap *map) {
    if (!map->blocks) return;
    if (map_has(map, KOLK_DEBUG_BYPASS)) kolk_tools_show_(map->blocks, BLOCKS * size_of_blocks(map));
    kolk_tools_remove_root_(map->blocks, BLOCKS * size_of_blocks(map));
    kolk_memory_release_(map->blocks, BLOCKS * size_of_blocks(map));
}

void kolk_slotmap_move_(const kolk_slotmap *map, void *to, void *from, uint32_t n) {
    if (!map->move) memcpy(to, from, (size_t)n * map->stride);
    for (size_t i = 0; map->move && i < n; i++)
        map->move((unsigned char *)to + i * map->stride, (unsigned char *)from + i * map->stride, map->context);
}

void kolk_slotmap_relocate_(kolk_slotmap *map) {
    KOLK_ASSERT_(map->blocks);
    unsigned char *from = map->objects, *to = from + size_of_blocks(map);
    if (to == map->blocks + BLOCKS * size_of_blocks(map)) to = map->blocks;
    if (!kolk_memory_commit_(to, (size_t)map->capacity * map->stride)) return;
    map->objects = to;
    show_places(map, to, 0, map->count);
    kolk_slotmap_move_(map, to, from, map->count);
    hide_places(map, to, map->count, map->capacity);
    hide_places(map, from, 0, map->count);
    kolk_memory_decommit_(from, size_of_blocks(map));
    if (map_debug_of(map)) kolk_watch_->lost(map->debug, map->count, map->fresh, false);
}

uint32_t kolk_slotmap_locate_(const kolk_slotmap *map, const void *pointer, uint64_t *inside, bool *moved) {
    uint32_t place = kolk_locate_(map->objects, map->stride, map->capacity, pointer, inside);
    *moved = false;
    if (place != NO_PLACE || !map->blocks) return place;
    uint64_t offset;
    if (kolk_locate_(map->blocks, size_of_blocks(map), BLOCKS, pointer, &offset) == KOLK_NO_SLOT_) return NO_PLACE;
    *moved = true;
    *inside = offset % map->stride;
    return (uint32_t)(offset / map->stride);
}

/* ---- The block --------------------------------------------------------------------------------------------------- */

bool kolk_slotmap_commit_(const kolk_slotmap *map, uint32_t capacity) {
    KOLK_ASSERT_(capacity <= map->max_capacity);
    uint64_t sizes[MAP_REGIONS];
    void *starts[MAP_REGIONS] = {map->objects, map->cells, map->owners};
    if (map_debug_of(map) && !kolk_watch_->committed(map->debug, capacity)) return false;
    measure_map(map->stride, capacity, sizes);
    if (map->blocks && capacity && !kolk_memory_commit_(map->objects, (size_t)sizes[MAP_OBJECTS])) return false;
    if (map->blocks) sizes[MAP_OBJECTS] = 0;
    if (map->memory == MEMORY_GROWS && !kolk_block_commit_(starts, sizes, MAP_REGIONS)) return false;
    hide_places(map, map->objects, map->capacity, capacity);
    return true;
}

uint64_t kolk_slotmap_reserved_(const kolk_slotmap *map) {
    return map->block_size + (map->blocks ? BLOCKS * (uint64_t)size_of_blocks(map) : 0);
}

uint64_t kolk_slotmap_committed_(const kolk_slotmap *map) {
    uint64_t sizes[MAP_REGIONS], objects = 0;
    measure_map(map->stride, map->capacity, sizes);
    if (map->blocks) {
        objects = round_up(sizes[MAP_OBJECTS], kolk_memory_page_());
        sizes[MAP_OBJECTS] = 0;
    }
    bool grows = map->memory == MEMORY_GROWS;
    return objects + (grows ? kolk_block_bytes_(sizes, MAP_REGIONS, kolk_memory_page_()) : map->block_size);
}

static bool make_map_block(kolk_slotmap *map, const kolk_slotmap_desc *desc) {
    uint64_t sizes[MAP_REGIONS];
    void *starts[MAP_REGIONS] = {NULL};
    kolk_block_ block = map_block_of(desc);
    make_blocks(map, desc);
    measure_map(map->stride, desc->max_capacity, sizes);
    if (map->blocks) sizes[MAP_OBJECTS] = 0;
    bool made = kolk_block_make_(&block, sizes, MAP_REGIONS, starts);
    map->block = block.start;
    map->block_size = block.size;
    map->memory = block.kind;
    map->objects = map->blocks ? map->blocks : starts[MAP_OBJECTS];
    map->cells = starts[MAP_CELLS];
    map->owners = starts[MAP_OWNERS];
    if (!made || !kolk_slotmap_commit_(map, desc->capacity)) return false;
    map->capacity = map->counted = desc->capacity;
    return true;
}

/* The debug settings that a map can have. */
static kolk_settings_ map_settings(kolk_settings_ settings) {
    settings.flags &= ~(uint32_t)(KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE);
    if (settings.flags & KOLK_DEBUG_BYPASS) settings.flags &= ~(uint32_t)KOLK_DEBUG_FILL; /* the tools find more */
    settings.quarantine = 0;
    return settings;
}

static bool begin_debug(kolk_slotmap *map, const kolk_slotmap_desc *desc, const kolk_settings_ *settings) {
    kolk_debug_desc_ debug = {
        .name = desc->name ? desc->name : "",
        .noun = "place",
        .settings = map_settings(*settings),
        .object_size = (uint32_t)desc->object_size,
        .object_align = (uint32_t)desc->object_align,
        .max_capacity = desc->max_capacity,
    };
    map->debug_flags = (uint8_t)debug.settings.flags;
    debug.settings.flags &= ~(uint32_t)(KOLK_DEBUG_BYPASS | KOLK_DEBUG_MOVE); /* handled in this file */
    if (debug.settings.flags) map->debug = kolk_watch_->laid_out(&debug);
    return map->debug || !debug.settings.flags;
}

kolk_status kolk_slotmap_make_(kolk_slotmap *map, const kolk_slotmap_desc *desc, const kolk_settings_ *settings) {
    KOLK_ASSERT_(!map->block && !map->debug);
    map->object_size = (uint32_t)desc->object_size;
    map->stride = (uint32_t)round_up(desc->object_size, desc->object_align);
    kolk_set_divisor_(map->stride, &map->shift, &map->inverse);
    map->max_capacity = desc->max_capacity;
    map->budget = desc->budget;
    uint64_t bytes = desc->memory ? 0 : (uint64_t)desc->capacity * map->stride;
    map->in_hook = HOOK_LOOKS; /* on_mark */
    bool fits = kolk_budget_take_all_(map->budget, bytes);
    map->in_hook = NO_HOOK;
    if (fits && begin_debug(map, desc, settings) && make_map_block(map, desc)) return KOLK_OK;
    if (fits) kolk_budget_give_(map->budget, bytes);
    kolk_slotmap_unmake_(map); /* its capacity is still 0 */
    return fits ? KOLK_NO_MEMORY : KOLK_OVER_BUDGET;
}

void kolk_slotmap_unmake_(kolk_slotmap *map) {
    size_t hidden = (size_t)round_up((uint64_t)map->capacity * map->stride, 8);
    if (map_has(map, KOLK_DEBUG_BYPASS) && hidden) kolk_tools_show_(map->objects, hidden);
    if (map_debug_of(map)) kolk_watch_->unmade(map->debug, map->fresh);
    kolk_block_end_(&(kolk_block_){.start = map->block, .size = map->block_size, .kind = map->memory});
    release_blocks(map);
    kolk_budget_give_(map->budget, map_bytes_that_count(map, map->counted));
    memset(map, 0, sizeof *map);
}
