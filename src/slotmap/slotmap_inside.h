/* slotmap_inside.h: what the files of the slot map share. slotmap.c has the essay and the operations, slotmap_memory.c
 * the memory that a map lives in, slotmap_valid.c the predicate over all of it. */
#ifndef KOLK_SRC_SLOTMAP_INSIDE_H
#define KOLK_SRC_SLOTMAP_INSIDE_H

#undef KOLK_EXTERN /* slotmap.c emits the functions of slotmap.inl, also in a program that is compiled with it */
#include "kolk/slotmap.h"

#include "../core/assert.h"
#include "../core/geometry.h"
#include "../diag/debug.h"
#include "../core/room.h"
#include "../diag/sizes.h"

#define NO_PLACE KOLK_NO_SLOT

/* NULL: off, as always without diagnostics, where the compiler leaves all of it out. */
static inline kolk_debug *map_debug_of(const kolk_slotmap *map) {
    return KOLK_DIAGNOSTICS ? map->debug : NULL;
}

static inline bool map_has(const kolk_slotmap *map, uint32_t flag) {
    return KOLK_DIAGNOSTICS && (map->debug_flags & flag);
}

static inline void *map_object_at(const kolk_slotmap *map, uint32_t place) {
    KOLK_ASSERT(place < map->capacity);
    return map->objects + (size_t)place * map->stride;
}

/* Places that have owners: the slots that are neither worn out nor new. */
static inline uint32_t owned(const kolk_slotmap *map) {
    KOLK_ASSERT(map->worn <= map->fresh);
    return map->fresh - map->worn;
}

/* The bounds that the fast paths are shown. */
static inline uint32_t add_bound_of(const kolk_slotmap *map) {
    uint32_t known = map->peak < owned(map) ? map->peak : owned(map);
    return map_has(map, UINT32_MAX) ? 0 : known;
}

static inline uint32_t remove_bound_of(const kolk_slotmap *map) {
    return map_has(map, UINT32_MAX) || map->on_move || map->on_remove ? 0 : map->fresh;
}

/* ---- slotmap.c --------------------------------------------------------------------------------------------------- */

/* With the debug setting move, gives all objects other addresses, and says so to on_move. */
void kolk_slotmap_readdress(kolk_slotmap *map);

/* ---- slotmap_memory.c -------------------------------------------------------------------------------------------- */

/* Checks the descriptor and fills in its defaults. type_size and type_align as in kolk_slotmap_init_type. */
kolk_status kolk_slotmap_resolve(kolk_slotmap_desc *desc, size_t type_size, size_t type_align);

/* Makes the memory of such a map, with what it can have of the debug mode's settings: the map, all zero before, has its
 * shape and its places then, or is all zero as before. Reports nothing. */
kolk_status kolk_slotmap_make(kolk_slotmap *map, const kolk_slotmap_desc *desc, const kolk_settings *settings);

/* Gives that memory back; the map is all zero then. */
void kolk_slotmap_unmake(kolk_slotmap *map);

/* Lets this many places be used. */
bool kolk_slotmap_commit(const kolk_slotmap *map, uint32_t capacity);

/* Bytes of address space, and those that the map's capacity has been committed. */
uint64_t kolk_slotmap_reserved(const kolk_slotmap *map);
uint64_t kolk_slotmap_committed(const kolk_slotmap *map);

/* Debug setting move: gives all objects other addresses, and makes the old ones inaccessible. Does nothing if there is
 * no memory for it. */
void kolk_slotmap_relocate(kolk_slotmap *map);

/* Tells tools that the first place without an object may not be touched; that it may. */
void kolk_slotmap_hide_first_free(const kolk_slotmap *map);
void kolk_slotmap_show_first_free(const kolk_slotmap *map);

/* The place that these bytes are in, now or before the last few times that the objects were moved, and how far. */
uint32_t kolk_slotmap_locate(const kolk_slotmap *map, const void *pointer, uint64_t *inside, bool *moved);

#endif
