/* pool_trim.c: memory that a pool gives back, and growing and giving back by measured demand.
 *
 *     demand    a maximum of count that fades by 1/64 a tick
 *     provided  the demand that memory is held for. Once demand is below half of it a sweep begins, at whose end
 *               provided = demand
 *     sweep     how far the sweep has come: the slots from here to fresh have been looked at; 0: none is under way
 *
 * One spike keeps demand up for about 45 ticks, so memory goes back only after the demand has stayed low. Another sweep
 * begins only after the demand has halved again. */
#include "pool_order.h"

#include "../core/assert.h"
#include "../os/memory.h"

/* ---- Memory given back ------------------------------------------------------------------------------------------- */

/* The least number of slots that fill whole pages. */
static uint64_t slots_of_pages(const kolk_pool *pool) {
    uint64_t page = kolk_memory_page(), least = (uint64_t)1 << pool->shift;
    return least < page ? page / least : 1;
}

void kolk_pool_tear_down(kolk_pool *pool, uint64_t from, uint64_t end) {
    KOLK_ASSERT(end <= pool->fresh); /* from may lie behind it: discard looks at whole pages */
    if (!pool->ready) return;
    for (uint64_t i = from; (i = kolk_bits_find(pool->ready, true, i, end)) < end; i++) {
        kolk_bits_clear(pool->ready, i);
        if (pool->desc.teardown) pool->desc.teardown(pool_slot_at(pool, i), pool->desc.context);
    }
}

/* Gives back the whole pages in a stretch of dead slots, which ends the set-up of all slots that they touch. */
static size_t discard(kolk_pool *pool, uint64_t first, uint64_t end) {
    KOLK_ASSERT(first <= end && end <= pool->capacity);
    uint64_t page = kolk_memory_page();
    uint64_t from = round_up(first * pool->stride, page); /* slots begins on a page */
    uint64_t to = end * pool->stride / page * page;
    if (from >= to) return 0;
    uint64_t last = (to + pool->stride - 1) / pool->stride;
    if (last > pool->fresh) last = pool->fresh;
    kolk_pool_tear_down(pool, from / pool->stride, last);
    if (pool_debug_of(pool)) kolk_debug_forget(pool->debug, (uint32_t)(from / pool->stride), (uint32_t)last);
    return kolk_memory_discard(pool->block + from, (size_t)(to - from));
}

/* The same for all dead slots of a stretch that begins and ends between pages, or at fresh. */
static size_t discard_dead(kolk_pool *pool, uint64_t from, uint64_t end) {
    size_t bytes = 0;
    uint64_t touched = round_up(pool->fresh, slots_of_pages(pool)); /* the last page */
    if (touched > pool->capacity) touched = pool->capacity;
    for (uint64_t i = from; (i = kolk_bits_find(pool->live, false, i, end)) < end;) {
        uint64_t stop = kolk_bits_find(pool->live, true, i, end);
        bytes += discard(pool, i, stop < pool->fresh ? stop : touched);
        i = stop;
    }
    return bytes;
}

/* May contents of dead slots be lost? */
static bool may_discard(const kolk_pool *pool) {
    return pool->memory != MEMORY_CALLERS && (!pool->desc.keep || pool->desc.setup);
}

size_t kolk_pool_trim(kolk_pool *pool) {
    size_t bytes = may_discard(pool) ? discard_dead(pool, 0, pool->fresh) : 0;
    if (pool->desc.reuse == KOLK_REUSE_LIFO) kolk_pool_sort_free(pool);
    return bytes;
}

/* ---- A little a frame -------------------------------------------------------------------------------------------- */

static void measure_demand(kolk_pool *pool) {
    uint32_t demand = pool->tick.demand - (pool->tick.demand / 64 + (pool->tick.demand % 64 != 0));
    if (demand < kolk_pool_count(pool)) demand = kolk_pool_count(pool);
    uint32_t peak = peak_of(pool);
    if (pool->tick.peak < peak) demand = peak; /* needed since the last tick */
    pool->tick.peak = peak;
    pool->tick.demand = demand;
    if (pool->tick.provided < demand) pool->tick.provided = demand;
}

static void have_room(kolk_pool *pool, uint32_t budget) {
    uint32_t more = pool->desc.max_capacity - pool->capacity, demand = pool->tick.demand;
    if (demand == 0 || demand < pool->capacity - pool->capacity / 8) return;
    kolk_pool_reserve(pool, pool->capacity + (more < budget ? more : budget)); /* or alloc asks again */
}

/* One step of a sweep from fresh down to 0. Its ends lie between pages, so that no page belongs to two steps. */
static size_t sweep(kolk_pool *pool, uint32_t budget) {
    KOLK_ASSERT(budget > 0 && pool->tick.sweep <= pool->fresh);
    uint64_t unit = slots_of_pages(pool);
    uint64_t step = round_up(budget, unit > 64 ? unit : 64);
    uint64_t end = pool->tick.sweep ? pool->tick.sweep : pool->fresh;
    uint64_t from = end > step ? round_up(end - step, unit) : 0;
    pool->tick.sweep = (uint32_t)from;
    if (from == 0) pool->tick.provided = pool->tick.demand;
    return discard_dead(pool, from, end);
}

size_t kolk_pool_tick(kolk_pool *pool, uint32_t budget) {
    measure_demand(pool);
    have_room(pool, budget);
    if (budget == 0) return 0;
    if ((uint64_t)pool->tick.demand * 2 >= pool->tick.provided || !may_discard(pool)) {
        pool->tick.sweep = 0;
        return 0;
    }
    return sweep(pool, budget);
}
