/* slotmap_snapshot.c: saves the state of a slot map as one block of bytes, and restores it.
 *
 *     | header | generations | links    | objects | 0 to 7 zeros | checksum |
 *       48       4 a slot      4 a slot   object_size each,        8 bytes
 *       bytes                             in the order of places
 *
 * The block covers all slots below fresh. The links store the places and all orders of slots in one chain (snapshot.h):
 *
 *     first -> slots of objects -> free slots     -> worn-out slots -> 0
 *              (in the order of    (in the order     (the oldest
 *              places)             of their use)     first)
 *
 * Even a forged block with a correct checksum cannot break an invariant of slotmap.c. These rules are checked:
 *
 *     S1  count <= fresh - worn <= fresh                                                    (I1)
 *     S2  the chain has all slots below fresh, each once                                    (I2, I3)
 *     S3  all generations are within bounds; they are 0 for exactly the chain's last `worn` slots  (I3, I4)
 *     S4  padding before the checksum is 0, so equal states have equal blocks
 *     S5  objects that are converted have a size; the sizes of the parts add up to the size of the block
 *
 * The block does not depend on the capacity, on addresses, on strides, or on the width of pointers. */
#include "slotmap_inside.h"

#include "../base/hash.h"
#include "../core/snapshot.h"

/* ---- Taking one -------------------------------------------------------------------------------------------------- */

static kolk_map_header_ map_header_of(const kolk_slotmap *map) {
    kolk_map_header_ head = {
        .object_size = map->object_size,
        .tag = map->tag,
        .fresh = map->fresh,
        .count = map->count,
        .worn = map->worn,
    };
    head.start = kolk_snapshot_start_of_(MAP_MAGIC, MAP_FORMAT, kolk_map_parts_(&head).size);
    return head;
}

size_t kolk_slotmap_snapshot_size(const kolk_slotmap *map) {
    return map->move || map->in_hook ? 0 : (size_t)map_header_of(map).start.size;
}

/* Writes the chain and the generations. The map keeps its list of worn-out slots in their generations, so that those
 * become 0. */
static void write_slots(const kolk_slotmap *map, kolk_chain_ to, unsigned char *generations) {
    uint32_t slot = map->worn_first;
    for (uint32_t place = 0; place < owned(map); place++) {
        uint32_t owner = map->owners[place];
        kolk_chain_append_(&to, owner);
        kolk_snapshot_store32_(generations + (size_t)owner * 4, map->cells[owner].generation);
    }
    for (uint32_t n = 0; n < map->worn; n++, slot = map->cells[slot].generation) {
        kolk_chain_append_(&to, slot);
        kolk_snapshot_store32_(generations + (size_t)slot * 4, 0);
    }
    kolk_snapshot_store32_(to.end, 0);
}

size_t kolk_slotmap_snapshot(const kolk_slotmap *map, void *block, size_t size) {
    if (map->move || map->in_hook) return 0;
    kolk_map_header_ head = map_header_of(map);
    kolk_parts_ at = kolk_map_parts_(&head);
    if (size < at.size) return 0;

    unsigned char *bytes = block;
    write_slots(map, (kolk_chain_){bytes + at.links, (unsigned char *)&head.first}, bytes + at.generations);
    kolk_snapshot_save_(bytes + at.objects, map->objects, map->stride, map->object_size, map->count);
    memcpy(bytes, &head, sizeof head);
    return kolk_snapshot_seal_(bytes, at.padding, at.size);
}

/* ---- Proving one ------------------------------------------------------------------------------------------------- */

static bool slots_are_right(const kolk_map_header_ *head, const unsigned char *bytes,
                            const kolk_parts_ *at) { /* S2, S3 */
    uint32_t next = head->first;
    for (uint32_t n = 0; n < head->fresh; n++) {
        uint64_t slot = (uint64_t)next - 1; /* a huge number if the chain has ended */
        if (slot >= head->fresh) return false;
        uint32_t generation = kolk_snapshot_load32_(bytes + at->generations + slot * 4);
        bool worn = n >= head->fresh - head->worn;
        if (generation > KOLK_GENERATION_MAX || (generation == 0) != worn) return false;
        next = kolk_chain_link_(bytes + at->links, slot);
    }
    return next == 0;
}

/* If it `converts`, the saved objects may have another size. */
static kolk_status prove_map(const kolk_slotmap *map, const unsigned char *bytes, size_t size, bool converts,
                             kolk_map_header_ *head) {
    kolk_status status = kolk_snapshot_prove_(bytes, size, MAP_MAGIC, MAP_FORMAT, sizeof *head);
    if (status != KOLK_OK) return status;
    memcpy(head, bytes, sizeof *head);

    if (!converts && head->object_size != map->object_size) return KOLK_OTHER_POOL;
    if (head->tag != map->tag) return KOLK_OTHER_POOL;

    if (head->worn > head->fresh || head->count > head->fresh - head->worn) return KOLK_FORGED_SNAPSHOT; /* S1 */
    if (converts && !kolk_conversion_is_possible_(head->object_size)) return KOLK_FORGED_SNAPSHOT;       /* S5 */
    kolk_parts_ at = kolk_map_parts_(head);
    if (at.size != size) return KOLK_FORGED_SNAPSHOT;                                       /* S5 */
    if (!kolk_snapshot_is_padded_(bytes, at.padding, at.size)) return KOLK_FORGED_SNAPSHOT; /* S4 */
    return slots_are_right(head, bytes, &at) ? KOLK_OK : KOLK_FORGED_SNAPSHOT;
}

/* ---- The debug mode ---------------------------------------------------------------------------------------------- */

/* Ends the lives that only the map has. Returns how many lives go on; the cells of their slots then have the first
 * places. Objects stay where they are, because all will be overwritten. */
static uint32_t end_other_lives(kolk_slotmap *map, const kolk_map_header_ *head, const unsigned char *links,
                                const void *site) {
    uint32_t kept = 0, slot = head->first - 1;
    for (uint32_t n = 0; n < head->count; n++, slot = kolk_chain_link_(links, slot) - 1) {
        if (slot >= map->fresh || map->cells[slot].place >= map->count) continue;
        uint32_t place = map->cells[slot].place, other = map->owners[kept];
        map->owners[place] = other;
        map->cells[other].place = place;
        map->cells[slot].place = kept++; /* nobody reads owners[kept] any more */
    }
    for (uint32_t place = map->count; place-- > kept;) {
        kolk_watch_->dies(map->debug, map->owners[place], site);
        kolk_watch_->wiped(map->debug, map->owners[place], map_object_at(map, place));
    }
    return kept;
}

/* Begins the lives that only the block has, at the places behind those that were kept, and prepares all places of the
 * block's objects. */
static void begin_other_lives(kolk_slotmap *map, const kolk_map_header_ *head, const unsigned char *links,
                              uint32_t kept, const void *site) {
    uint32_t next = kept, slot = head->first - 1;
    for (uint32_t place = 0; place < head->count; place++)
        kolk_watch_->prepare(map->debug, place, map_object_at(map, place));
    for (uint32_t n = 0; n < head->count; n++, slot = kolk_chain_link_(links, slot) - 1) {
        if (slot < map->fresh && map->cells[slot].place < kept) continue;
        kolk_watch_->born(map->debug, slot, map_object_at(map, next++), site);
    }
    KOLK_ASSERT_(next == head->count);
    kolk_watch_->lost(map->debug, head->fresh, map->fresh, false);
}

/* Updates the debug mode, and makes the places of the block's objects accessible. With the setting `move`, the places
 * then have different addresses. I2 is broken until take_in_map. */
static void change_objects(kolk_slotmap *map, const kolk_map_header_ *head, const unsigned char *links,
                           const void *site) {
    bool debugs = map_debug_of(map) != NULL;
    uint32_t kept = debugs ? end_other_lives(map, head, links, site) : 0;
    while (map->count > 0) {
        map->count--;
        kolk_slotmap_hide_free_(map, map->count);
    }
    if (map_has(map, KOLK_DEBUG_MOVE)) kolk_slotmap_relocate_(map);
    if (debugs) begin_other_lives(map, head, links, kept, site);
    for (; map->count < head->count; map->count++) kolk_slotmap_show_free_(map, map->count);
}

/* ---- Putting it in place ----------------------------------------------------------------------------------------- */

/* Makes owners, cells and the worn-out list from the chain. */
static void take_slots(kolk_slotmap *map, const kolk_map_header_ *head, const unsigned char *generations,
                       const unsigned char *links) {
    uint32_t slot = head->first - 1, free_end = head->fresh - head->worn;
    KOLK_ASSERT_(head->fresh <= map->capacity);
    for (uint32_t place = 0; place < free_end; place++, slot = kolk_chain_link_(links, slot) - 1) {
        KOLK_ASSERT_(slot < head->fresh);
        map->owners[place] = slot;
        map->cells[slot] = (kolk_cell_){place, kolk_snapshot_load32_(generations + (size_t)slot * 4)};
    }
    map->worn_first = slot;
    for (uint32_t n = 0, next; n < head->worn; n++, slot = next) {
        next = kolk_chain_link_(links, slot) - 1; /* after the last slot KOLK_NO_SLOT_, as in the map's list */
        map->cells[slot] = (kolk_cell_){NO_PLACE, next};
        map->worn_last = slot;
    }
    map->fresh = head->fresh;
    map->worn = head->worn;
}

static void convert_map_objects(kolk_slotmap *map, const unsigned char *bytes, size_t saved_size,
                                const kolk_conversion_ *by) {
    uint8_t before = enter_map_hook(map, HOOK_LOOKS);
    for (uint32_t place = 0; place < map->count; place++, bytes += saved_size)
        kolk_conversion_make_(by, map_object_at(map, place), map->object_size, bytes, saved_size);
    leave_map_hook(map, before);
}

/* Restores the state; this cannot fail. The map keeps its peak. If `fresh` decreases, it can no longer serve as the
 * peak, so the peak is counted from then on. */
static void take_in_map(kolk_slotmap *map, const kolk_map_header_ *head, const unsigned char *bytes,
                        const kolk_conversion_ *by) {
    kolk_parts_ at = kolk_map_parts_(head);
    uint32_t peak = kolk_peak_(map->peak, map->fresh);
    if (map->peak != PEAK_IS_FRESH || peak > head->fresh) map->peak = peak > head->count ? peak : head->count;
    KOLK_ASSERT_(map->count == head->count);
    take_slots(map, head, bytes + at.generations, bytes + at.links);
    show_map_bounds(map);
    if (by->convert)
        convert_map_objects(map, bytes + at.objects, head->object_size, by);
    else
        kolk_snapshot_load_(bytes + at.objects, map->objects, map->stride, map->object_size, map->count);
    for (uint32_t place = 0; place < map->count; place++) kolk_slotmap_tell_of_move_(map, place, place, place);
}

static kolk_status restore_map(kolk_slotmap *map, const void *block, size_t size, kolk_conversion_ by,
                               const void *site) {
    kolk_map_header_ head;
    if (map->move) return KOLK_NO_SNAPSHOT;
    if (map->in_hook) return KOLK_IN_HOOK;
    kolk_status status = prove_map(map, block, size, by.convert != NULL, &head);
    if (status == KOLK_OK) status = kolk_slotmap_reserve(map, head.fresh);
    if (status != KOLK_OK) return status;
    const unsigned char *bytes = block;
    kolk_slotmap_verify_all_(map, site); /* first, because the handler may longjmp */
    change_objects(map, &head, bytes + kolk_map_parts_(&head).links, site);
    take_in_map(map, &head, bytes, &by);
    return KOLK_OK;
}

KOLK_NOINLINE_ kolk_status kolk_slotmap_restore(kolk_slotmap *map, const void *block, size_t size) {
    return restore_map(map, block, size, (kolk_conversion_){.convert = NULL}, SITE);
}

KOLK_NOINLINE_ kolk_status kolk_slotmap_restore_converted(kolk_slotmap *map, const void *block, size_t size,
                                                          void (*convert)(void *object, const void *saved,
                                                                          size_t saved_size, void *context),
                                                          void *context) {
    return restore_map(map, block, size, (kolk_conversion_){convert, context}, SITE);
}

/* ---- The hash ---------------------------------------------------------------------------------------------------- */

/* Covers what a block does: the slots in the order of places, with their generations and objects, then the others. */
uint64_t kolk_slotmap_hash(kolk_slotmap *map, uint64_t (*hash)(const void *object, void *context), void *context) {
    if (map->in_hook) return 0;
    uint64_t sum = kolk_hash_word_(map->count, map->fresh);
    uint32_t slot = map->worn_first;
    uint8_t before = enter_map_hook(map, HOOK_LOOKS);
    for (uint32_t place = 0; place < owned(map); place++) {
        uint32_t owner = map->owners[place];
        uint64_t of_slot = kolk_mixed_((uint64_t)owner << 32 | map->cells[owner].generation);
        if (place < map->count) {
            const void *object = map_object_at(map, place);
            of_slot ^= hash ? hash(object, context) : kolk_hash_bytes_(object, map->object_size);
        }
        sum = kolk_hash_word_(sum, of_slot);
    }
    leave_map_hook(map, before);
    for (uint32_t n = 0; n < map->worn; n++, slot = map->cells[slot].generation) sum = kolk_hash_word_(sum, slot);
    return kolk_mixed_(sum);
}
