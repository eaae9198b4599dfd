/* pool_trim.c: releases a pool's memory, and adapts its memory to the measured demand.
 *
 *     demand    the maximum of count; it decays by 1/64 per tick
 *     provided  the demand for which memory is held. Once demand is below half of it, a sweep begins; at its end
 *               provided = demand
 *     sweep     the sweep's position: the slots from here to fresh are done; 0 if no sweep is under way
 *
 * One spike keeps demand up for about 45 ticks, so memory is released only after the demand has stayed low. Another
 * sweep begins only after the demand has halved again. */
#include "pool_order.h"

#include "../base/assert.h"
#include "../core/budget.h"
#include "../core/trim.h"
#include "../os/memory.h"

/* ---- Memory given back ------------------------------------------------------------------------------------------- */

/* The smallest number of slots whose bytes fill whole pages. */
static uint64_t slots_of_pages(const kolk_pool *pool) {
    uint64_t page = kolk_memory_page_(), least = (uint64_t)1 << pool->shift;
    return least < page ? page / least : 1;
}

void kolk_pool_tear_down_(kolk_pool *pool, uint64_t from, uint64_t end) {
    KOLK_ASSERT_(end <= pool->fresh); /* `from` may exceed `end`, because discard rounds to whole pages */
    if (!pool->ready) return;
    uint8_t before = enter_pool_hook(pool, HOOK_FREES);
    for (uint64_t i = from; (i = kolk_bits_find_(pool->ready, true, i, end)) < end; i++) {
        kolk_bits_clear_(pool->ready, i);
        if (pool->teardown) pool->teardown(pool_slot_at(pool, i), pool->context);
    }
    leave_pool_hook(pool, before);
}

/* Releases the whole pages in a stretch of dead slots. This ends the set-up of all slots that these pages touch. */
static size_t discard(kolk_pool *pool, uint64_t first, uint64_t end) {
    KOLK_ASSERT_(first <= end && end <= pool->capacity);
    uint64_t page = kolk_memory_page_();
    uint64_t from = round_up(first * pool->stride, page); /* the array `slots` begins on a page */
    uint64_t to = end * pool->stride / page * page;
    if (from >= to) return 0;
    uint64_t last = (to + pool->stride - 1) / pool->stride;
    if (last > pool->fresh) last = pool->fresh;
    kolk_pool_tear_down_(pool, from / pool->stride, last);
    if (pool_debug_of(pool)) kolk_watch_->lost(pool->debug, (uint32_t)(from / pool->stride), (uint32_t)last, false);
    return kolk_memory_discard_(pool->block + from, (size_t)(to - from), true);
}

/* Does the same for all dead slots in [from, end). Both ends of this range lie on page boundaries or at fresh. */
static size_t discard_dead(kolk_pool *pool, uint64_t from, uint64_t end) {
    size_t bytes = 0;
    uint64_t touched = round_up(pool->fresh, slots_of_pages(pool)); /* to the end of the last page */
    if (touched > pool->capacity) touched = pool->capacity;
    for (uint64_t i = from; (i = kolk_pool_next_(pool, false, i, end)) < end;) {
        uint64_t stop = kolk_pool_next_(pool, true, i, end), kept = i;
        while (pool->pinned && kept < stop && !is_kept(pool, (uintptr_t)kept)) kept++;
        if (pool->pinned) stop = kept;
        bytes += discard(pool, i, stop < pool->fresh ? stop : touched);
        i = stop + 1;
    }
    return bytes;
}

/* May the contents of dead slots be lost? */
static bool may_discard(const kolk_pool *pool) {
    return pool->memory != MEMORY_CALLERS && (!pool->keep || pool->setup);
}

/* Gives the bytes of the last free slots back to the budget, if the system releases their pages. They are torn down
 * already. FIFO uses every slot in its turn, so there only slots can go that were never issued. A headroom must be
 * there when it is needed. The last page may be touched by slots that count and by others. */
static void uncount_slots(kolk_pool *pool) {
    if (!pool->budget || pool->headroom) return;
    uint64_t used = pool->reuse == KOLK_REUSE_FIFO ? pool->fresh : kolk_pool_end_of_use_(pool);
    uint64_t page = kolk_memory_page_(), from = round_up(used * pool->stride, page);
    uint64_t end = round_up((uint64_t)pool->counted * pool->stride, page);
    uint64_t last = (uint64_t)pool->capacity * pool->stride / page * page;
    if (end > last) end = last;
    uint32_t kept = (uint32_t)((from + pool->stride - 1) / pool->stride);
    if (kept >= pool->counted || from >= end) return;
    if (!kolk_memory_discard_(pool->block + from, (size_t)(end - from), false)) return;
    kolk_budget_give_(pool->budget, (uint64_t)(pool->counted - kept) * pool->stride);
    pool->counted = kept;
    kolk_pool_show_all_bounds_(pool);
}

KOLK_NOINLINE_ size_t kolk_pool_trim(kolk_pool *pool) {
    if (kolk_pool_is_barred_(pool, HOOK_CHANGES, "trim", SITE)) return 0;
    size_t bytes = may_discard(pool) ? discard_dead(pool, 0, pool->fresh) : 0;
    if (pool->reuse == KOLK_REUSE_LIFO) kolk_pool_sort_free_(pool);
    if (KOLK_HOSTED && may_discard(pool)) uncount_slots(pool);
    return bytes;
}

/* ---- A little a frame -------------------------------------------------------------------------------------------- */

static void measure_demand(kolk_pool *pool) {
    uint32_t demand = pool->tick.demand - (pool->tick.demand / 64 + (pool->tick.demand % 64 != 0));
    if (demand < kolk_pool_count(pool)) demand = kolk_pool_count(pool);
    uint32_t peak = peak_of(pool);
    if (pool->tick.peak < peak) demand = peak; /* the peak has risen since the last tick */
    pool->tick.peak = peak;
    pool->tick.demand = demand;
    if (pool->tick.provided < demand) pool->tick.provided = demand;
}

static void have_room(kolk_pool *pool, uint32_t slots) {
    uint32_t more = pool->max_capacity - pool->capacity, demand = pool->tick.demand;
    if (pool->counted < pool->capacity) return; /* it has room already, which a trim has released */
    if (demand == 0 || demand < pool->capacity - pool->capacity / 8) return;
    kolk_pool_reserve(pool, pool->capacity + (more < slots ? more : slots)); /* if this fails, alloc tries again */
}

/* Makes one step of a sweep from fresh down to 0. The ends of a step lie on page boundaries, so no page belongs to two
 * steps. */
static size_t sweep(kolk_pool *pool, uint32_t slots) {
    KOLK_ASSERT_(slots > 0 && pool->tick.sweep <= pool->fresh);
    uint64_t unit = slots_of_pages(pool);
    uint64_t step = round_up(slots, unit > 64 ? unit : 64);
    uint64_t end = pool->tick.sweep ? pool->tick.sweep : pool->fresh;
    uint64_t from = end > step ? round_up(end - step, unit) : 0;
    pool->tick.sweep = (uint32_t)from;
    if (from == 0) pool->tick.provided = pool->tick.demand;
    return discard_dead(pool, from, end);
}

KOLK_NOINLINE_ size_t kolk_pool_tick(kolk_pool *pool, uint32_t slots) {
    if (kolk_pool_is_barred_(pool, HOOK_CHANGES, "tick", SITE)) return 0;
    measure_demand(pool);
    if (pool->tick.trims != kolk_trims_now_()) {
        pool->tick.trims = kolk_trims_now_();
        pool->tick.sweep = 0;
        return kolk_pool_trim(pool);
    }
    have_room(pool, slots);
    if (slots == 0) return 0;
    if ((uint64_t)pool->tick.demand * 2 >= pool->tick.provided || !may_discard(pool)) {
        pool->tick.sweep = 0;
        return 0;
    }
    return sweep(pool, slots);
}
