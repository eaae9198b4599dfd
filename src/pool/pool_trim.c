/* pool_trim.c: a pool's memory over time: growing, giving back, and both by measured demand.
 *
 *     demand   a maximum of count that fades by 1/64 a tick
 *     provided the demand that memory is held for; demand below half of it begins a sweep, which ends at provided = demand
 *     sweep    how far the sweep has come: the slots from here to fresh have been looked at; 0: none is under way
 *
 * One spike keeps demand up for about 45 ticks, so memory goes back only once the demand has stayed low; and to come
 * again, a sweep needs the demand to halve again. */
#include "pool_inside.h"

#include "../os/memory.h"
#include "../diag/probes.h"

#include <string.h>

/* ---- Growth ---------------------------------------------------------------------------------------------------- */

kolk_status kolk_pool_reserve(kolk_pool *pool, uint32_t capacity) {
    if (capacity <= pool->capacity) return KOLK_OK;
    if (capacity > pool->desc.max_capacity) return KOLK_ABOVE_MAX;
    if (!kolk_pool_commit(pool, capacity)) return KOLK_NO_MEMORY;
    PROBE3(grow, pool_name_of(pool), pool->capacity, capacity);
    uint32_t head = pool->capacity - pool->first;
    if (pool->desc.reuse == KOLK_REUSE_FIFO && waiting(pool) > head) { /* the ring goes round: move its beginning up */
        kolk_slot *first = pool->stack + capacity - head;
        memmove(first, pool->stack + pool->first, head * sizeof *first);
        pool->first = capacity - head;
    }
    pool->capacity = capacity;
    show_pool_bounds(pool);
    return KOLK_OK;
}

/* Room for `needed` slots at least, twice what there was if possible. */
bool kolk_pool_grow(kolk_pool *pool, uint64_t needed) {
    if (needed > pool->desc.max_capacity) return false;
    uint32_t wish = kolk_room_next_capacity(pool->capacity, pool->desc.max_capacity, pool->stride);
    if (wish > needed && kolk_pool_reserve(pool, wish) == KOLK_OK) return true;
    return kolk_pool_reserve(pool, (uint32_t)needed) == KOLK_OK;
}

/* ---- Memory given back ------------------------------------------------------------------------------------------- */

/* So many slots fill whole pages. */
static uint64_t slots_of_pages(const kolk_pool *pool) {
    uint64_t page = kolk_memory_page(), least = (uint64_t)1 << pool->shift;
    return least < page ? page / least : 1;
}

/* Gives back the whole pages in a stretch of dead slots, which ends the set-up of all slots that they touch. */
static size_t discard(kolk_pool *pool, uint64_t first, uint64_t end) {
    uint64_t page = kolk_memory_page();
    uint64_t from = round_up(first * pool->stride, page); /* slots begins on a page */
    uint64_t to = end * pool->stride / page * page;
    if (from >= to) return 0;
    uint64_t last = round_up(to, pool->stride) / pool->stride;
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

/* ---- A little a frame --------------------------------------------------------------------------------------------- */

static void measure_demand(kolk_pool *pool) {
    uint32_t demand = pool->tick.demand - (pool->tick.demand / 64 + (pool->tick.demand % 64 != 0));
    if (demand < kolk_pool_count(pool)) demand = kolk_pool_count(pool);
    uint32_t peak = peak_of(pool);
    if (pool->tick.peak < peak) demand = peak; /* so many were needed since the last tick */
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
