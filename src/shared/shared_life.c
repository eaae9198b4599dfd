/* shared_life.c: a life begins and ends in a slot of a shared pool.
 *
 * The life is a counter for each slot, odd while an object lives. It is what a double free is known by, the generation
 * in handles, and what a walk over live objects reads. Only the thread that has the slot adds to it, so a plain load
 * and store will do. But two threads may free one object at the same moment. Here, out of the fast path, exactly one of
 * them is believed. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"

void *kolk_shared_begin_life(kolk_local *local, uint32_t slot, const void *site) {
    kolk_shared *pool = local->pool;
    void *object = pool->debug ? kolk_shared_prepare(local, slot, site) : plain_object_at(pool, slot);
    if (!object) return NULL;
    if (!kolk_shared_set_up(pool, slot, object)) {
        serve_waiting(pool);
        return NULL;
    }
    if (pool->debug) kolk_debug_begin_life(pool->debug, slot, object, site);
    uint32_t life = life_of(pool, slot) + 1;
    KOLK_ASSERT(slot < pool->depot.slots);
    if (pool->lives)
        kolk_store(&pool->lives[slot], life, KOLK_RELAXED);
    else
        kolk_store(&pool->short_lives[slot], (uint8_t)life, KOLK_RELAXED);
    return object;
}

/* False if there is no life, or if another thread was first to end it. */
static bool end_life_in_slot(const kolk_shared *pool, uintptr_t slot) {
    uint32_t life = life_of(pool, slot);
    if (!(life & 1)) return false;
    uint8_t short_life = (uint8_t)life;
    if (pool->lives) return kolk_compare_exchange(&pool->lives[slot], &life, life + 1, KOLK_RELAXED, KOLK_RELAXED);
    return kolk_compare_exchange(&pool->short_lives[slot], &short_life, (uint8_t)(short_life + 1), KOLK_RELAXED,
                                 KOLK_RELAXED);
}

uint32_t kolk_shared_end_life(const kolk_shared *pool, const void *object, const void *site) {
    uintptr_t slot = slot_of(pool, object);
    bool known = is_alive(pool, slot);
    /* Only its red zones, which are the same in every life: another thread may be freeing it, and be first. */
    if (known && pool->debug) kolk_shared_verify(pool, (uint32_t)slot, false, site);
    if (!known || !end_life_in_slot(pool, slot)) {
        kolk_shared_fail_object(pool, object, "free", KOLK_DOUBLE_FREE, site);
        return NO_SLOT;
    }
    if (pool->debug) kolk_debug_end_life(pool->debug, (uint32_t)slot, site);
    return (uint32_t)slot;
}

#endif
