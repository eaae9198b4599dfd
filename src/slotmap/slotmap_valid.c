/* slotmap_valid.c: checks all invariants of the slot map, numbered as in slotmap.c. */
#include "slotmap_inside.h"

#include "../base/hash.h"

/* Does the worn-out list have the right length, and does it consist of the slots without a place? (I3) */
static bool worn_are_valid(const kolk_slotmap *map) {
    uint64_t listed = 0, placeless = 0;
    for (uint32_t slot = 0; slot < map->fresh; slot++)
        if (map->cells[slot].place == NO_PLACE) placeless += kolk_mixed_(slot);
    uint32_t slot = map->worn_first, last = slot;
    for (uint32_t n = 0; n < map->worn; n++, last = slot, slot = map->cells[slot].generation) {
        if (slot >= map->fresh) return false;
        listed += kolk_mixed_(slot);
    }
    return listed == placeless && (map->worn == 0 || last == map->worn_last);
}

/* Does the list of holes have the right length, and does it consist of the places whose owners have the bit HOLE? Their
 * slots differ, because each cell leads to another hole. (I2) */
static bool holes_are_valid(const kolk_slotmap *map) {
    uint64_t listed = 0, marked = 0;
    for (uint32_t place = 0; place < map->count; place++)
        if (is_hole(map, place)) marked += kolk_mixed_(place);
    uint32_t place = map->first_hole;
    for (uint32_t n = 0; n < map->holes; n++) {
        if (place >= map->count || !is_hole(map, place)) return false;
        uint32_t slot = map->owners[place] & ~HOLE;
        listed += kolk_mixed_(place);
        if (slot >= map->fresh || !(map->cells[slot].place & HOLE)) return false;
        bool watched = map_debug_of(map) != NULL;
        if (watched && !kolk_watch_->is_intact(map->debug, place, map_object_at(map, place), false))
            return false; /* I6 */
        place = map->cells[slot].place & ~HOLE;
    }
    return listed == marked;
}

bool kolk_slotmap_is_valid(const kolk_slotmap *map) {
    if (map->worn > map->fresh || map->count > owned(map)) return false;                                /* I1 */
    if (map->fresh > map->capacity || map->capacity > map->max_capacity) return false;                  /* I1 */
    if (map->count > map->counted || map->counted > map->capacity) return false;                        /* I1 */
    if (kolk_peak_(map->peak, map->fresh) < map->count) return false;                                   /* I1 */
    if (map->add_bound != add_bound_of(map) || map->remove_bound != remove_bound_of(map)) return false; /* I5 */
    for (uint32_t place = 0; place < owned(map); place++) {
        uint32_t slot = map->owners[place];
        if (slot & HOLE && place < map->count) continue;
        if (slot >= map->fresh || map->cells[slot].place != place) return false; /* I2 */
        if (map->cells[slot].generation == 0) return false;                      /* I4 */
    }
    for (uint32_t place = map->count; map_debug_of(map) && place < map->fresh; place++)
        if (!kolk_watch_->is_intact(map->debug, place, map_object_at(map, place), false)) return false; /* I6 */
    return holes_are_valid(map) && worn_are_valid(map);
}
