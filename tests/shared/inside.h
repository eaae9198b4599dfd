/* inside.h: internals of the shared pool that its tests read. */
#ifndef TESTS_SHARED_INSIDE_H
#define TESTS_SHARED_INSIDE_H

#include "shared/shared_inside.h"

/* Returns the number of all slots of the pool: max_capacity, plus the slack that fills the magazines of all locals but
 * one. */
static inline uint32_t all_slots(const kolk_shared *pool) {
    return pool->inside->store.depot.slots;
}

static inline uint32_t max_capacity_of(const kolk_shared *pool) {
    return all_slots(pool) - pool->inside->store.slack;
}

/* Makes a kolk_shared of a local's pool, for calls that only read. */
#define shared_of(local) (&(const kolk_shared){.inside = (local)->pool})

#endif
