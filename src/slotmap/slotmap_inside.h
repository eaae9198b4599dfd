/* slotmap_inside.h: declarations that the files of the slot map share:
 *
 *     slotmap.c          the essay and the operations
 *     slotmap_sort.c     the stable sort in place
 *     slotmap_memory.c   the map's block of memory
 *     slotmap_snapshot.c the map's state as one block of bytes
 *     slotmap_valid.c    the check of all invariants */
#ifndef KOLK_SRC_SLOTMAP_INSIDE_H
#define KOLK_SRC_SLOTMAP_INSIDE_H

#undef KOLK_EXTERN /* slotmap.c emits the functions of slotmap.inl, even if the program defines KOLK_EXTERN */
#include "kolk/slotmap.h"

#include "../base/assert.h"
#include "../core/budget.h"
#include "../core/geometry.h"
#include "../core/hooks.h"
#include "../core/block.h"
#include "../core/begin.h"

#define NO_PLACE KOLK_NO_SLOT_
#define HOLE     KOLK_HOLE_

static inline bool is_hole(const kolk_slotmap *map, uint32_t place) {
    KOLK_ASSERT_(place < map->count);
    return map->owners[place] & HOLE;
}

/* The map's debug mode; NULL if it is off. */
static inline kolk_debug *map_debug_of(const kolk_slotmap *map) {
    return kolk_debug_of_(map->debug);
}

static inline bool map_has(const kolk_slotmap *map, uint32_t flag) {
    return KOLK_WATCHED_ && (map->debug_flags & flag);
}

static inline void *map_object_at(const kolk_slotmap *map, uint32_t place) {
    KOLK_ASSERT_(place < map->capacity);
    return map->objects + (size_t)place * map->stride;
}

/* The bytes of these places that count towards the budget. */
static inline uint64_t map_bytes_that_count(const kolk_slotmap *map, uint32_t places) {
    return map->memory == MEMORY_CALLERS ? 0 : (uint64_t)places * map->stride;
}

/* The number of places with owners, one for each slot below fresh that is not worn out. */
static inline uint32_t owned(const kolk_slotmap *map) {
    KOLK_ASSERT_(map->worn <= map->fresh);
    return map->fresh - map->worn;
}

/* Compute the bounds of the fast paths. */
static inline uint32_t add_bound_of(const kolk_slotmap *map) {
    uint32_t known = map->peak < owned(map) ? map->peak : owned(map);
    if (known > map->counted) known = map->counted;
    bool open = map->in_hook <= HOOK_LIVES && !map_has(map, UINT32_MAX);
    return open ? known : 0;
}

static inline uint32_t remove_bound_of(const kolk_slotmap *map) {
    bool hooked = map->on_move || map->on_remove || map->move || map->in_hook > HOOK_LIVES;
    return map_has(map, UINT32_MAX) || hooked || map->holes > 0 ? 0 : map->fresh;
}

/* Sets the bounds of the fast paths (I5). */
static inline void show_map_bounds(kolk_slotmap *map) {
    map->add_bound = add_bound_of(map);
    map->remove_bound = remove_bound_of(map);
}

/* Enclose the call of a hook that bars adds (hooks.h). Entering returns what leaving needs. */
static inline uint8_t enter_map_hook(kolk_slotmap *map, uint8_t hook) {
    uint8_t before = map->in_hook;
    if (hook > before) map->in_hook = hook;
    KOLK_ASSERT_(hook > HOOK_LIVES);
    map->add_bound = map->remove_bound = 0; /* as show_map_bounds would */
    return before;
}

static inline void leave_map_hook(kolk_slotmap *map, uint8_t before) {
    map->in_hook = before;
    show_map_bounds(map);
}

/* ---- slotmap.c --------------------------------------------------------------------------------------------------- */

/* With the debug setting `move`, and without holes, moves all objects to different addresses and calls on_move. */
void kolk_slotmap_readdress_(kolk_slotmap *map);

/* Is a hook running that must not make this call? If so, reports that. `most` is the last hook that may make it. */
void kolk_slotmap_bar_(const kolk_slotmap *map, const char *verb, const void *site);
static inline bool kolk_slotmap_is_barred_(const kolk_slotmap *map, uint8_t most, const char *verb, const void *site) {
    if (!KOLK_UNLIKELY_(map->in_hook > most)) return false;
    kolk_slotmap_bar_(map, verb, site);
    return true;
}

/* Calls on_move, if there is one, for the object at a place. */
void kolk_slotmap_tell_of_move_(kolk_slotmap *map, uint32_t at, uint32_t from, uint32_t to);

/* Closes all holes: each gets the last object. Returns false if there are none. If it is not `whole`, no object
 * moves, because all will be overwritten. */
bool kolk_slotmap_close_holes_(kolk_slotmap *map, bool whole, const void *site);

/* Lets the debug mode check the places that have no object. */
void kolk_slotmap_verify_all_(const kolk_slotmap *map, const void *site);

/* ---- slotmap_memory.c -------------------------------------------------------------------------------------------- */

/* Checks the descriptor and replaces zeros with defaults. `type_size` and `type_align` are the same as in
 * kolk_slotmap_init_abi_. */
kolk_status kolk_slotmap_resolve_(kolk_slotmap_desc *desc, size_t type_size, size_t type_align);

/* Allocates the memory of a map, with the debug settings that it can have, and sets the fields that describe the
 * memory. The map must be all zero before the call, and is all zero again on failure. Reports nothing. */
kolk_status kolk_slotmap_make_(kolk_slotmap *map, const kolk_slotmap_desc *desc, const kolk_settings_ *settings);

/* Releases the map's memory and sets the map to zero. */
void kolk_slotmap_unmake_(kolk_slotmap *map);

/* Commits memory for this many places. */
bool kolk_slotmap_commit_(const kolk_slotmap *map, uint32_t capacity);

/* The number of bytes of address space, and the number of bytes committed for the map's capacity. */
uint64_t kolk_slotmap_reserved_(const kolk_slotmap *map);
uint64_t kolk_slotmap_committed_(const kolk_slotmap *map);

/* Moves n neighbours to `to`, where there are no objects. */
void kolk_slotmap_move_(const kolk_slotmap *map, void *to, void *from, uint32_t n);

/* With the debug setting `move`, moves all objects to different addresses and makes the old addresses inaccessible.
 * Does nothing if there is no memory. */
void kolk_slotmap_relocate_(kolk_slotmap *map);

/* For tools, mark a place without an object as inaccessible or as accessible. */
void kolk_slotmap_hide_free_(const kolk_slotmap *map, uint32_t place);
void kolk_slotmap_show_free_(const kolk_slotmap *map, uint32_t place);

/* Returns the place that this pointer points into, and sets *inside to the distance from its start. Sets *moved to true
 * if the pointer dates from before one of the last few moves of all objects, and otherwise to false. */
uint32_t kolk_slotmap_locate_(const kolk_slotmap *map, const void *pointer, uint64_t *inside, bool *moved);

#endif
