/* pool_full.c: who makes room in a full pool, and the order of births, which says who is the oldest.
 *
 *     ages[0] <-> oldest <-> ... <-> newest <-> ages[0]      slots + 1, neighbours on both sides; 8 bytes a slot
 *
 * Free does not touch the circle: a dead slot stays in it until it is passed here or used again, so that pools with ages
 * free as fast as others. Each death is passed once at most, so that a step is O(1) over time; a full pool has no dead
 * slots, so evicting its oldest is O(1) at once. */
#include "pool_inside.h"

#include "../core/fail.h"

/* ---- Age ---------------------------------------------------------------------------------------------------------- */

/* The slot + 1 of the nearest live object from here on; 0 at the end of the circle. */
static uint32_t pass_dead(kolk_pool *pool, uint32_t at, bool up) {
    while (at && !pool_is_alive(pool, at - 1)) {
        uint32_t dead = at - 1;
        at = up ? pool->ages[at].newer : pool->ages[at].older;
        leave_order(pool, dead);
        be_alone(pool, dead);
    }
    return at;
}

static bool keeps_ages(const kolk_pool *pool, const char *verb, const void *site) {
    if (pool->ages) return true;
    kolk_fail(kolk_pool_failure(pool, KOLK_AGES_MISSING, KOLK_NO_SLOT, site), "%s needs .ages", verb);
    return false;
}

/* The live object next to a slot + 1 (0: the ends). Its own neighbour, a slot in no order, has no next. */
static void *neighbour(kolk_pool *pool, uint32_t from, bool up) {
    uint32_t at = up ? pool->ages[from].newer : pool->ages[from].older;
    if (at == from) return NULL;
    at = pass_dead(pool, at, up);
    return at ? pool_slot_at(pool, at - 1) : NULL;
}

/* The same from an object, which may have been freed since. */
static void *neighbour_of(kolk_pool *pool, const void *object, bool up, const char *verb, const void *site) {
    if (!keeps_ages(pool, verb, site)) return NULL;
    uintptr_t slot = pool_slot_of(pool, object);
    if (slot < pool->fresh) return neighbour(pool, (uint32_t)slot + 1, up);
    kolk_pool_fail_object(pool, object, verb, KOLK_DEAD_OBJECT, site);
    return NULL;
}

void *kolk_pool_oldest(kolk_pool *pool) {
    return keeps_ages(pool, "oldest", SITE) ? neighbour(pool, 0, true) : NULL;
}

void *kolk_pool_newest(kolk_pool *pool) {
    return keeps_ages(pool, "newest", SITE) ? neighbour(pool, 0, false) : NULL;
}

void *kolk_pool_newer(kolk_pool *pool, const void *object) {
    return neighbour_of(pool, object, true, "newer", SITE);
}

void *kolk_pool_older(kolk_pool *pool, const void *object) {
    return neighbour_of(pool, object, false, "older", SITE);
}

/* The slot of a live object, for a verb that is about ages; KOLK_NO_SLOT: reported. */
static uint32_t aging_slot(kolk_pool *pool, const void *object, const char *verb, const void *site) {
    if (!keeps_ages(pool, verb, site)) return KOLK_NO_SLOT;
    if (kolk_pool_holds(pool, object)) return (uint32_t)pool_slot_of(pool, object);
    kolk_pool_fail_object(pool, object, verb, KOLK_DEAD_OBJECT, site);
    return KOLK_NO_SLOT;
}

void kolk_pool_touch(kolk_pool *pool, const void *object) {
    uint32_t slot = aging_slot(pool, object, "touch", SITE);
    if (slot != KOLK_NO_SLOT && !is_alone(pool, slot)) become_newest(pool, slot);
}

/* A live slot that is in no order is protected: the mark needs no place of its own, and ends with the life. */
void kolk_pool_protect(kolk_pool *pool, const void *object, bool on) {
    uint32_t slot = aging_slot(pool, object, "protect", SITE);
    if (slot == KOLK_NO_SLOT || is_alone(pool, slot) == on) return;
    if (on) {
        leave_order(pool, slot);
        be_alone(pool, slot);
    } else {
        become_newest(pool, slot);
    }
}

/* ---- Eviction ----------------------------------------------------------------------------------------------------- */

static bool is_protected(const kolk_pool *pool, const void *object) {
    return pool->ages && is_alone(pool, (uint32_t)pool_slot_of(pool, object));
}

static void evict(kolk_pool *pool, void *object) {
    if (object && pool->desc.on_evict) pool->desc.on_evict(object, pool->desc.context);
    kolk_pool_free(pool, object);
}

/* The object of least cost, of equals the lowest slot's; NULL: all are protected, or none is alive. */
static void *cheapest(const kolk_pool *pool, double *least) {
    void *found = NULL;
    for (void *object = NULL; (object = kolk_pool_next(pool, object));) {
        if (is_protected(pool, object)) continue;
        double cost = pool->desc.cost(object, pool->desc.context);
        if (found && !(cost < *least)) continue;
        found = object;
        *least = cost;
    }
    return found;
}

bool kolk_pool_evict_below(kolk_pool *pool, double cost) {
    double least = 0;
    void *object = cheapest(pool, &least);
    if (!object || !(least < cost)) return false;
    evict(pool, object);
    return true;
}

void kolk_pool_evict_cheapest(kolk_pool *pool, void *context) {
    (void)context; /* hooks get the pool's, also if it is called by hand */
    double least = 0;
    if (pool->desc.cost)
        evict(pool, cheapest(pool, &least));
    else
        kolk_fail(kolk_pool_failure(pool, KOLK_COST_MISSING, KOLK_NO_SLOT, SITE), "evict_cheapest needs .cost");
}

void kolk_pool_evict_oldest(kolk_pool *pool, void *context) {
    (void)context;
    if (keeps_ages(pool, "evict_oldest", SITE)) evict(pool, neighbour(pool, 0, true));
}
