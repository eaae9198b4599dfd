/* SPDX-License-Identifier: Zlib */
/* kolk/slotmap.inl: the fast paths of slotmap.h. With -DKOLK_EXTERN they are left out, and calls go to the library,
 * where each function is emitted once.
 *
 * The functions that end in _sized take the stride as an argument. A typed map's stride is its type's size, so typed.h
 * passes a constant, and copying an object takes only a few instructions. */
#ifndef KOLK_SLOTMAP_INL
#define KOLK_SLOTMAP_INL

#include "base.inl"

#ifdef __cplusplus
extern "C" {
#endif
KOLK_BODIES_BEGIN_

/* Does the handle find an object? Its slot must have been handed out in this generation, and must have an object now. A
 * free slot's place is count or more, so a forged handle of its next life finds nothing. */
KOLK_INLINE_ bool kolk_slotmap_finds_(const kolk_slotmap *map, uint32_t slot, kolk_handle handle) {
    return slot < map->fresh && map->cells[slot].generation == kolk_handle_generation_(handle) &&
           map->cells[slot].place < map->count;
}

KOLK_INLINE_ void *kolk_slotmap_get_sized_(const kolk_slotmap *map, kolk_handle handle, size_t stride) {
    uint32_t slot = kolk_handle_index_(handle, map->tag);
    if (KOLK_UNLIKELY_(!kolk_slotmap_finds_(map, slot, handle))) return kolk_slotmap_get_slow_(map, handle);
    return map->objects + map->cells[slot].place * stride;
}

KOLK_INLINE_ void *kolk_slotmap_get(const kolk_slotmap *map, kolk_handle handle) {
    return kolk_slotmap_get_sized_(map, handle, map->stride);
}

KOLK_INLINE_ uint32_t kolk_slotmap_slot(const kolk_slotmap *map, kolk_handle handle) {
    uint32_t slot = kolk_handle_index_(handle, map->tag);
    if (KOLK_UNLIKELY_(!kolk_slotmap_finds_(map, slot, handle))) return kolk_slotmap_slot_slow_(map, handle);
    return slot;
}

/* The first free slot owns the first free place, and its cell already has that place. */
KOLK_INLINE_USES_(1) void *kolk_slotmap_add_sized_(kolk_slotmap *map, kolk_handle *out, size_t stride) {
    uint32_t place = map->count;
    if (KOLK_UNLIKELY_(place >= map->add_bound)) return kolk_slotmap_add_slow_(map, out);
    uint32_t slot = map->owners[place];
    map->count = place + 1;
    if (out) *out = kolk_handle_make_(map->cells[slot].generation, slot, map->tag);
    return map->objects + place * stride;
}

KOLK_INLINE_ void *kolk_slotmap_add(kolk_slotmap *map, kolk_handle *out) {
    return kolk_slotmap_add_sized_(map, out, map->stride);
}

/* Swaps the places of two slots: the removed object's and the last object's. */
KOLK_INLINE_USES_(1) bool kolk_slotmap_remove_sized_(kolk_slotmap *map, kolk_handle handle, size_t stride) {
    uint32_t slot = kolk_handle_index_(handle, map->tag);
    uint32_t generation = kolk_handle_generation_(handle);
    if (KOLK_UNLIKELY_(slot >= map->remove_bound || generation == KOLK_GENERATION_MAX))
        return kolk_slotmap_remove_slow_(map, handle);
    kolk_cell_ *cells = map->cells;
    uint32_t *owners = map->owners, place = cells[slot].place, last = map->count - 1;
    if (KOLK_UNLIKELY_(cells[slot].generation != generation || place >= map->count))
        return kolk_slotmap_remove_slow_(map, handle);
    uint32_t moved = owners[last];
    cells[moved].place = place;
    owners[place] = moved;
    cells[slot].place = last;
    cells[slot].generation = generation + 1;
    owners[last] = slot;
    map->count = last;
    /* NOLINTNEXTLINE(clang-analyzer-unix.cstring.NullArg): a map with slots has objects */
    if (place != last) KOLK_COPY_(map->objects + place * stride, map->objects + last * stride, stride);
    return true;
}

KOLK_INLINE_ bool kolk_slotmap_remove(kolk_slotmap *map, kolk_handle handle) {
    return kolk_slotmap_remove_sized_(map, handle, map->stride);
}

KOLK_INLINE_ void *kolk_slotmap_objects(const kolk_slotmap *map) {
    return map->objects;
}

KOLK_INLINE_ uint32_t kolk_slotmap_count(const kolk_slotmap *map) {
    return map->count;
}

KOLK_INLINE_ uint32_t kolk_slotmap_available(const kolk_slotmap *map) {
    return map->capacity - map->count;
}

KOLK_INLINE_ void *kolk_slotmap_at(const kolk_slotmap *map, uint32_t index) {
    if (index >= map->count || (map->holes && map->owners[index] & KOLK_HOLE_)) return NULL;
    return map->objects + index * (size_t)map->stride;
}

KOLK_INLINE_ bool kolk_slotmap_remove_at(kolk_slotmap *map, uint32_t index) {
    void *object = kolk_slotmap_at(map, index);
    return object && kolk_slotmap_remove(map, kolk_slotmap_handle_of(map, object));
}

KOLK_INLINE_ kolk_slotmap_cursor kolk_slotmap_each(const kolk_slotmap *map) {
    kolk_slotmap_cursor cursor = {map, 0, UINT32_MAX, true};
    return cursor;
}

/* Goes to the next place, but only if the current place still has the object that was visited there. Otherwise that
 * object was removed, and the place has another object or none. */
KOLK_INLINE_ void *kolk_slotmap_cursor_next_sized_(kolk_slotmap_cursor *cursor, size_t stride) {
    const kolk_slotmap *map = cursor->map;
    uint32_t place = cursor->place;
    if (place < map->count && map->owners[place] == cursor->slot) place++;
    for (; place < map->count; place++) {
        uint32_t slot = map->owners[place];
        if (KOLK_UNLIKELY_(slot & KOLK_HOLE_)) continue;
        cursor->place = place;
        cursor->slot = slot;
        return map->objects + place * stride;
    }
    return NULL;
}

KOLK_INLINE_ void *kolk_slotmap_cursor_next(kolk_slotmap_cursor *cursor) {
    return kolk_slotmap_cursor_next_sized_(cursor, cursor->map->stride);
}

KOLK_BODIES_END_
#ifdef __cplusplus
}
#endif
#endif
