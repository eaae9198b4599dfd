/* pool_full.c: calls the hooks of a pool that is full or nearly full. The ready-made hooks are also here. */
#include "pool_order.h"
#include "pool_rank.h"

#include "../base/assert.h"
#include "../core/fail.h"

/* ---- Eviction ---------------------------------------------------------------------------------------------------- */

/* Calls on_evict. Returns false if the hook has freed the object itself, or renewed it. */
static bool tell_of_eviction(kolk_pool *pool, void *object, uintptr_t slot) {
    uint8_t state = pool->states[slot], before = enter_pool_hook(pool, HOOK_LIVES);
    pool->on_evict(object, pool->context);
    leave_pool_hook(pool, before);
    return pool->states[slot] == state;
}

/* Renews the object if a free and an alloc would do the same: the alloc would take this slot, and no hook or debug mode
 * has to know. Otherwise returns false. */
static bool renew_in_full_pool(kolk_pool *pool, uintptr_t slot) {
    bool next = ready_slots(pool) == 0 && !is_fresh_first(pool); /* in each order of reuse */
    if (slot >= pool->bound || pool->reset || !next || !kolk_pool_begin_next_(pool, slot)) return false;
    enter_orders(pool, (uint32_t)slot);
    return true;
}

/* Evicts the object. Returns false if it is NULL, or if on_evict has renewed it. If `renewed` is not NULL, this is for
 * an alloc: *renewed becomes the alloc's object if that can be made of the old one at once. */
static bool evict(kolk_pool *pool, void *object, void **renewed) {
    if (!object) return false;
    uintptr_t slot = pool_slot_of(pool, object);
    if (pool->on_evict && !tell_of_eviction(pool, object, slot)) return !kolk_pool_lives_(pool, slot);
    if (renewed && renew_in_full_pool(pool, slot))
        *renewed = object;
    else
        kolk_pool_free(pool, object);
    return true;
}

/* Returns the object with the lowest price; if several have the same, the one in the lowest slot. Returns NULL if all
 * are protected or none is alive. */
static void *find_cheapest(kolk_pool *pool, uint64_t *least) {
    if (pool->ranks) return kolk_pool_first_ranked_(pool, least);
    void *found = NULL;
    kolk_cursor cursor = kolk_pool_each(pool);
    for (void *object; (object = kolk_cursor_next(&cursor));) {
        bool some = pool->ages || pool->pinned;
        if (some && is_protected(pool, (uint32_t)pool_slot_of(pool, object))) continue;
        uint64_t price = price_of(pool, object);
        if (found && price >= *least) continue;
        found = object;
        *least = price;
    }
    return found;
}

static void *cheapest(kolk_pool *pool, uint64_t *least) {
    pool_look look = begin_pool_look(pool);
    void *object = find_cheapest(pool, least);
    end_pool_look(pool, &look);
    return object;
}

/* Evicts the cheapest object if it costs less than `cost`. Returns false if there is no such object. */
static bool evict_below(kolk_pool *pool, double cost, void **renewed) {
    uint64_t least = 0;
    void *object = cheapest(pool, &least);
    return object && least < price_of_cost(cost) && evict(pool, object, renewed);
}

KOLK_NOINLINE_ bool kolk_pool_evict_cheapest(kolk_pool *pool, size_t bytes, void *context) {
    (void)bytes, (void)context; /* the hooks get the pool's context, even if the program calls this directly */
    if (kolk_pool_is_barred_(pool, HOOK_CHANGES, "evict_cheapest", SITE)) return false;
    uint64_t least = 0;
    if (pool->cost) return evict(pool, cheapest(pool, &least), NULL);
    kolk_fail_(kolk_pool_failure_(pool, KOLK_COST_MISSING, KOLK_NO_SLOT_, SITE), "evict_cheapest needs .full.cost");
    return false;
}

KOLK_NOINLINE_ bool kolk_pool_evict_oldest(kolk_pool *pool, size_t bytes, void *context) {
    (void)bytes, (void)context;
    if (kolk_pool_is_barred_(pool, HOOK_CHANGES, "evict_oldest", SITE)) return false;
    return evict(pool, kolk_pool_find_oldest_(pool, "evict_oldest", SITE), NULL);
}

/* ---- The trap ---------------------------------------------------------------------------------------------------- */

/* Implements kolk_pool_trap_full. alloc calls it directly, so that the report names alloc's caller. */
static void trap_full(kolk_pool *pool, const void *site) {
    uint64_t capacity = pool->capacity, worn = pool->worn.count, headroom = pool->headroom,
             count = kolk_pool_count(pool);
    kolk_failure full = kolk_pool_failure_(pool, KOLK_FULL, KOLK_NO_SLOT_, site);
    char holders[KOLK_HOLDERS_WORDS_];
    if (pool_debug_of(pool)) full.holders = kolk_watch_->holders(pool->debug, pool->fresh, holders, sizeof holders);
    uint8_t in_hook = pool->in_hook;
    pool->in_hook = NO_HOOK; /* the handler may longjmp */
    if (worn)
        kolk_fail_(full, "full: %u of %u slots are worn out: raise .capacity, or take KOLK_GENERATIONS_RECYCLE", worn,
                   capacity);
    else if ((pool->debug_flags & KOLK_DEBUG_FAIL) && kolk_pool_available(pool) > headroom)
        kolk_fail_(full, "full: KOLK_FAIL says so; %u of %u slots are in use", count, capacity);
    else if (headroom && kolk_pool_available(pool))
        kolk_fail_(full, "full: of %u slots, the last %u are for urgent allocations only: raise .capacity", capacity,
                   headroom);
    else if (pool->counted < capacity)
        kolk_fail_(full, "full: %u of %u slots are in use, and the budget has no bytes for more", count, capacity);
    else if (pool->capacity < pool->max_capacity)
        kolk_fail_(full, "full: all %u slots are in use, and the system gives no memory for more", capacity);
    else
        kolk_fail_(full, "full: all %u slots are in use: raise .capacity, or .max_capacity to let the pool grow",
                   capacity);
    pool->in_hook = in_hook;
}

KOLK_NOINLINE_ bool kolk_pool_trap_full(kolk_pool *pool, size_t bytes, void *context) {
    (void)bytes, (void)context;
    trap_full(pool, SITE);
    return false;
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

/* Calls on_full, whose own allocs call no hook. Returns true if the alloc should be tried again, or if
 * *renewed is its object. If the hook has ended the pool, the number of the hook is gone, even if the pool was
 * initialised again. */
static bool ask_on_full(kolk_pool *pool, bool *ended, void **renewed, const void *site) {
    KOLK_ASSERT_(pool->on_full && !pool->in_hook);
    bool again = false;
    uint64_t least = 0;
    pool->in_hook = HOOK_CHANGES;
    if (pool->on_full == kolk_pool_trap_full)
        trap_full(pool, site);
    else if (pool->on_full == kolk_pool_evict_oldest)
        again = evict(pool, kolk_pool_find_oldest_(pool, "evict_oldest", site), renewed);
    else if (pool->on_full == kolk_pool_evict_cheapest)
        again = evict(pool, cheapest(pool, &least), renewed);
    else
        again = pool->on_full(pool, pool->object_size, pool->context);
    *ended = pool->in_hook == NO_HOOK;
    pool->in_hook = NO_HOOK;
    return again;
}

/* The number of slots that are free or can be added by growth. */
static uint64_t slots_left(const kolk_pool *pool) {
    return (uint64_t)pool->max_capacity - pool->capacity + kolk_pool_available(pool);
}

void kolk_pool_look_at_low_water_(kolk_pool *pool, uint32_t n) {
    KOLK_ASSERT_(pool->on_low && n > 0);
    uint64_t enough = (uint64_t)pool->low_water + n;
    if (slots_left(pool) > pool->low_water) pool->low_reported = false;
    if (pool->low_reported || pool->in_hook || slots_left(pool) >= enough) return;
    pool->low_reported = true; /* set first, because a failure handler may longjmp */
    pool->in_hook = HOOK_CHANGES;
    pool->on_low(pool, pool->context);
    if (pool->in_hook == NO_HOOK) return; /* the hook has ended the pool */
    pool->in_hook = NO_HOOK;
    pool->low_reported = slots_left(pool) < enough; /* the hook may have made room */
}

static uint64_t count_with_overflow(const kolk_pool *pool) {
    uint64_t count = 0;
    for (; pool; pool = pool->overflow) count += kolk_pool_count(pool);
    return count;
}

alloc_grant kolk_pool_make_room_(kolk_pool *pool, alloc_request how, alloc_grant has, const void *site) {
    KOLK_ASSERT_(how.cost ? pool->cost != NULL : pool->on_full != NULL);
    uint64_t before = count_with_overflow(pool);
    uint32_t count = kolk_pool_count(pool), capacity = pool->capacity;
    void *renewed = NULL;
    has.again = how.cost ? evict_below(pool, *how.cost, &renewed) : ask_on_full(pool, &has.ended, &renewed, site);
    if (has.ended) return has;
    has.object = renewed;
    uint64_t after = count_with_overflow(pool) - (renewed != NULL);
    if (after < before) pool->evictions += before - after;
    if (kolk_pool_count(pool) < count) has.urgent = true;
    if (after < before || pool->capacity > capacity) has.fails = false;
    return has;
}
