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

bool kolk_slotmap_is_valid(const kolk_slotmap *map) {
    if (map->worn > map->fresh || map->count > owned(map)) return false;                                /* I1 */
    if (map->fresh > map->capacity || map->capacity > map->max_capacity) return false;                  /* I1 */
    if (map->count > map->counted || map->counted > map->capacity) return false;                        /* I1 */
    if (kolk_peak_(map->peak, map->fresh) < map->count) return false;                                   /* I1 */
    if (map->add_bound != add_bound_of(map) || map->remove_bound != remove_bound_of(map)) return false; /* I5 */
    for (uint32_t place = 0; place < owned(map); place++) {
        uint32_t slot = map->owners[place];
        if (slot >= map->fresh || map->cells[slot].place != place) return false; /* I2 */
        if (map->cells[slot].generation == 0) return false;                      /* I4 */
    }
    for (uint32_t place = map->count; map_debug_of(map) && place < map->fresh; place++)
        if (!kolk_watch_->is_intact(map->debug, place, map_object_at(map, place), false)) return false; /* I6 */
    return worn_are_valid(map);
}
