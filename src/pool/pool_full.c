/* pool_full.c: a pool that is full, or nearly: its hooks are asked for room, and the ready-made ones make some. */
#include "pool_age.h"

#include "../core/assert.h"
#include "../core/fail.h"

/* ---- Eviction ---------------------------------------------------------------------------------------------------- */

static bool is_protected(const kolk_pool *pool, const void *object) {
    return pool->ages && is_alone(pool, (uint32_t)pool_slot_of(pool, object));
}

static void evict(kolk_pool *pool, void *object) {
    if (object && pool->desc.on_evict) pool->desc.on_evict(object, pool->desc.context);
    kolk_pool_free(pool, object);
}

/* The object of least cost, of equals the lowest slot's; NULL: all are protected, or none is alive. */
static void *cheapest(const kolk_pool *pool, double *least) {
    KOLK_ASSERT(pool->desc.cost);
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

/* Frees the cheapest object if it costs less than this; false: it does not, or there is none. */
static bool evict_below(kolk_pool *pool, double cost) {
    double least = 0;
    void *object = cheapest(pool, &least);
    if (!object || !(least < cost)) return false;
    evict(pool, object);
    return true;
}

KOLK_NOINLINE void kolk_pool_evict_cheapest(kolk_pool *pool, void *context) {
    (void)context; /* hooks get the pool's, also if it is called by hand */
    double least = 0;
    if (pool->desc.cost)
        evict(pool, cheapest(pool, &least));
    else
        kolk_fail(kolk_pool_failure(pool, KOLK_COST_MISSING, KOLK_NO_SLOT, SITE), "evict_cheapest needs .cost");
}

KOLK_NOINLINE void kolk_pool_evict_oldest(kolk_pool *pool, void *context) {
    (void)context;
    evict(pool, kolk_pool_find_oldest(pool, "evict_oldest", SITE));
}

/* ---- The trap ---------------------------------------------------------------------------------------------------- */

/* Does what kolk_pool_trap_full does; alloc calls it directly, to tell where it was called from. */
static void trap_full(kolk_pool *pool, const void *site) {
    uint64_t capacity = pool->capacity, worn = pool->worn.count, headroom = pool->desc.headroom,
             count = kolk_pool_count(pool);
    kolk_failure full = kolk_pool_failure(pool, KOLK_FULL, KOLK_NO_SLOT, site);
    pool->in_hook = false; /* the handler may longjmp */
    if (worn)
        kolk_fail(full, "full: %u of %u slots are worn out: raise .capacity, or take KOLK_GENERATIONS_RECYCLE", worn,
                  capacity);
    else if ((pool->debug_flags & KOLK_DEBUG_FAIL) && kolk_pool_available(pool) > headroom)
        kolk_fail(full, "full: KOLK_FAIL says so; %u of %u slots are in use", count, capacity);
    else if (headroom && kolk_pool_available(pool))
        kolk_fail(full, "full: of %u slots, the last %u are for urgent allocations only: raise .capacity", capacity,
                  headroom);
    else if (pool->capacity < pool->desc.max_capacity)
        kolk_fail(full, "full: all %u slots are in use, and the system gives no memory for more", capacity);
    else
        kolk_fail(full, "full: all %u slots are in use: raise .capacity, or .max_capacity to let the pool grow",
                  capacity);
}

KOLK_NOINLINE void kolk_pool_trap_full(kolk_pool *pool, void *context) {
    (void)context;
    trap_full(pool, SITE);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

/* Calls a hook for the full or nearly full pool; allocs of its own don't ask for another. */
static void call_hook(kolk_pool *pool, void (*hook)(kolk_pool *pool, void *context), const void *site) {
    KOLK_ASSERT(hook && !pool->in_hook);
    pool->in_hook = true;
    if (hook == kolk_pool_trap_full)
        trap_full(pool, site);
    else
        hook(pool, pool->desc.context);
    pool->in_hook = false;
}

/* Slots that are left, of all that the pool may grow to. */
static uint64_t slots_left(const kolk_pool *pool) {
    return (uint64_t)pool->desc.max_capacity - pool->capacity + kolk_pool_available(pool);
}

void kolk_pool_look_at_low_water(kolk_pool *pool, uint32_t n, const void *site) {
    KOLK_ASSERT(pool->desc.on_low && n > 0);
    uint64_t enough = (uint64_t)pool->desc.low_water + n;
    if (slots_left(pool) > pool->desc.low_water) pool->low_reported = false;
    if (pool->low_reported || pool->in_hook || slots_left(pool) >= enough) return;
    pool->low_reported = true; /* a failure's handler may longjmp */
    call_hook(pool, pool->desc.on_low, site);
    pool->low_reported = slots_left(pool) < enough; /* it may have made room */
}

static uint64_t count_with_overflow(const kolk_pool *pool) {
    uint64_t count = 0;
    for (; pool; pool = pool->desc.overflow) count += kolk_pool_count(pool);
    return count;
}

alloc_grant kolk_pool_make_room(kolk_pool *pool, alloc_request how, alloc_grant has, const void *site) {
    KOLK_ASSERT(how.cost ? pool->desc.cost != NULL : pool->desc.on_full != NULL);
    uint64_t before = count_with_overflow(pool);
    uint32_t count = kolk_pool_count(pool), capacity = pool->capacity;
    if (!how.cost)
        call_hook(pool, pool->desc.on_full, site);
    else if (!evict_below(pool, *how.cost))
        return has;
    uint64_t after = count_with_overflow(pool);
    if (after < before) pool->evictions += before - after;
    if (kolk_pool_count(pool) < count) has.urgent = true;
    if (after < before || pool->capacity > capacity) has.fails = false;
    has.again = true;
    return has;
}
