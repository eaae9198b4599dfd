/* shared_supply.c: where a shared pool gets free slots from: its depot, new memory, and, in debug mode, its
 * quarantine. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../core/budget.h"
#include "../core/room.h"
#include "../core/probes.h"
#include "../os/lock.h"

#define BUDGET_SHARE 16u /* a class of a heap that has a limit takes at most this part of what is left at a time */

/* How many slots more there are to be; they are in the budget. */
static uint32_t next_step(const kolk_shared *pool, uint32_t now) {
    uint32_t extra = now == 0 ? pool->slack : 0; /* what is promised is without these */
    uint64_t bytes =
        (uint64_t)(kolk_room_next_capacity(now, slots_of(pool) - extra, pool->stride) + extra - now) * pool->stride;
    if (pool->budget) {
        uint64_t most = kolk_load(pool->budget, KOLK_RELAXED) / BUDGET_SHARE;
        if (bytes > most) bytes = most > pool->stride ? most : pool->stride;
    }
    return (uint32_t)(kolk_budget_take(pool->budget, bytes, pool->stride) / pool->stride);
}

/* Commits more slots than the `before` that were usable; true if there are more now, also by another thread. */
static KOLK_NOINLINE bool grow_depot(kolk_shared *pool, uint32_t before) {
    KOLK_ASSERT(before <= slots_of(pool));
    if (before == slots_of(pool) && !pool->range) return false;
    kolk_lock_word(&pool->lock); /* of a heap's class, after a sweep that has slots in hand */
    uint32_t now = pool->depot.usable, step = now == before ? next_step(pool, now) : 0, made = step;
    while (made && !kolk_shared_commit(pool, now + made)) made /= 2;
    kolk_budget_give(pool->budget, (uint64_t)(step - made) * pool->stride);
    if (made) {
        PROBE3(grow, shared_name(pool), now, now + made);
        now += made;
        kolk_depot_extend(&pool->depot, now);
        if (!pool->debug) kolk_store(&pool->bound, now, KOLK_RELAXED);
    }
    kolk_unlock_word(&pool->lock);
    return now != before;
}

/* The proof that there is none is that of depot.h. It needs the number of usable slots from before the look: if all
 * were usable then, the look has seen the last of them. */
uint64_t kolk_shared_supply(kolk_shared *pool, uint32_t *word, bool only_one) {
    const uint64_t *counted = &pool->depot.returns;
    for (;;) {
        uint64_t returns = kolk_load(counted, KOLK_ACQUIRE); /* an old one differs from the one at the end */
        uint32_t end = usable(pool);
        uint64_t bits = kolk_depot_search(&pool->depot, word, only_one);
        if (!bits && pool->range && kolk_shared_rouse(pool)) continue;
        if (!bits && makes_parts(pool)) bits = kolk_shared_take_raw(pool, word);
        if (!bits) bits = kolk_depot_take_fresh(&pool->depot, word, only_one || makes_parts(pool));
        if (!bits && grow_depot(pool, end)) continue;
        if (!bits && pool->debug) bits = kolk_shared_take_quarantined(pool, word);
        if (bits || kolk_load(counted, KOLK_SEQ_CST) == returns) return bits;
    }
}

#endif
