/* shared_supply.c: where a shared pool gets free slots from: its depot, new memory, and, in debug mode, its
 * quarantine. */
#include "shared_inside.h"

#if __STDC_HOSTED__

#include "../core/assert.h"
#include "../core/room.h"
#include "../core/probes.h"
#include "../os/lock.h"

/* Commits more slots than the `before` that were usable; true if there are more now, also by another thread. */
static KOLK_NOINLINE bool grow_depot(kolk_shared *pool, uint32_t before) {
    KOLK_ASSERT(before <= slots_of(pool));
    if (before == slots_of(pool)) return false;
    kolk_lock_word(&pool->lock);
    uint32_t now = pool->depot.usable, next = kolk_room_next_capacity(now, slots_of(pool), pool->stride);
    if (now == before && kolk_shared_commit(pool, next)) {
        PROBE3(grow, shared_name(pool), now, next);
        kolk_depot_extend(&pool->depot, next);
        if (!pool->debug) kolk_store(&pool->bound, next, KOLK_RELAXED);
        now = next;
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
        uint64_t bits = kolk_depot_look(&pool->depot, word, only_one);
        if (!bits && grow_depot(pool, end)) continue;
        if (!bits && pool->debug) bits = kolk_shared_take_quarantined(pool, word);
        if (bits || kolk_load(counted, KOLK_SEQ_CST) == returns) return bits;
    }
}

#endif
