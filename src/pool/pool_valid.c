/* pool_valid.c: checks all invariants of the core pool, numbered as in pool.c. */
#include "pool_order.h"

#include "../core/quarantine.h"
#include "pool_rank.h"

#include "../base/hash.h"

/* Adds the free slots that are in their places to a fingerprint. Returns false if the worn-out list contains an invalid
 * slot (I3). The fingerprint is a sum of hashes, which identifies a set of slots without marking any slot. */
static bool add_places(const kolk_pool *pool, uint64_t *print) {
    uint32_t length = queued(pool);
    for (uint32_t n = pool->unlisted; n < length; n++) *print += kolk_mixed_(queue_at(pool, n)->index);
    uint32_t worn = pool->worn.first;
    if (pool->worn.count && !pool->high) return false;
    for (uint32_t n = 0; n < pool->worn.count; n++, worn = next_worn(pool, worn)) {
        if (worn >= pool->fresh) return false;
        *print += kolk_mixed_(worn);
    }
    for (uint32_t n = 0; n < pool->quarantined; n++) *print += kolk_mixed_(*kolk_quarantined_(pool->debug, n));
    if (pool->levels == 0) return true;
    for (uint64_t i = 0; (i = kolk_bits_find_(pool->holes[0], true, i, pool->fresh)) < pool->fresh; i++)
        *print += kolk_mixed_(i);
    return true;
}

/* Where some places are unlisted, only the slots of the others can be checked: they are dead. I1 counts them all. */
static bool unlisted_are_valid(const kolk_pool *pool) {
    uint32_t length = queued(pool);
    for (uint32_t n = pool->unlisted; n < length; n++) {
        uint32_t slot = queue_at(pool, n)->index;
        if (slot >= pool->fresh || kolk_pool_lives_(pool, slot)) return false;
    }
    return pool->unlisted <= length && pool->reuse != KOLK_REUSE_LOWEST;
}

static bool levels_are_valid(const kolk_pool *pool) { /* I6 */
    uint64_t bits = kolk_bits_words_(pool->fresh);
    for (unsigned k = 0; k + 1 < pool->levels; k++, bits = kolk_bits_words_(bits))
        for (uint64_t i = 0; i < bits; i++)
            if (kolk_bits_get_(pool->holes[k + 1], i) != (pool->holes[k][i] != 0)) return false;
    return true;
}

static bool ages_are_valid(const kolk_pool *pool) {
    if (!pool->ages) return true;
    uint64_t in_order = 0, alone = 0;
    for (uint32_t at = 0, next;; at = next, in_order++) {
        next = pool->ages[at].newer;
        if (next > pool->fresh || pool->ages[next].older != at) return false; /* so a cycle must contain 0 */
        if (next == 0) break;
        if (pool->ages[next].born <= pool->ages[at].born) return false;
    }
    for (uint32_t slot = 0; slot < pool->fresh; slot++)
        alone += is_alone(pool, slot) && pool->ages[slot + 1].older == slot + 1 && !pool->ages[slot + 1].born;
    return in_order + alone == pool->fresh && pool->ages[pool->ages[0].older].born <= pool->births;
}

/* Are the slots that do not count free, and the last ones to be used? Unless they are unlisted, they must be at the
 * bottom of the stack, in their order. */
static bool uncounted_are_valid(const kolk_pool *pool) { /* I11 */
    uint32_t uncounted = uncounted_slots(pool);
    if (pool->counted > pool->capacity || uncounted > ready_slots(pool)) return false;
    for (uint32_t n = 0; n < uncounted; n++) {
        uint32_t slot = pool->fresh - 1 - n;
        if (kolk_pool_lives_(pool, slot)) return false;
        if (pool->levels && !kolk_bits_get_(pool->holes[0], slot)) return false;
        if (!pool->levels && n >= pool->unlisted && queue_at(pool, n)->index != slot) return false;
    }
    return uncounted == 0 || pool->reuse != KOLK_REUSE_FIFO;
}

bool kolk_pool_is_valid(const kolk_pool *pool) {
    if (pool->fresh > pool->capacity || pool->capacity > pool->max_capacity) return false;           /* I2 */
    if (pool->held_back > pool->capacity - pool->fresh) return false;                                /* I2 */
    if (pool->top < pool->stack || pool->aside < pool->worn.count + pool->quarantined) return false; /* I1 */
    kolk_pool shown = *pool;                                                                         /* I4 */
    kolk_pool_show_all_bounds_(&shown);
    if (pool->bound != shown.bound || pool->free_bound != shown.free_bound || pool->floor != shown.floor) return false;
    bool easy = pool->order_floor == shown.order_floor && pool->aside_floor == shown.aside_floor;
    if (pool->max_capacity && !easy) return false; /* in the all-zero pool these bounds are 0 */

    uint64_t live = 0, dead = 0;
    uint32_t pinned = 0;
    for (uint32_t i = 0; i < pool->fresh; i++) {
        bool lives = kolk_pool_lives_(pool, i), keeps = pool->pins && pool->pins[i] & KEPT, is_live = lives || keeps;
        if (pool_debug_of(pool) && !kolk_watch_->is_intact(pool->debug, (uint32_t)i, pool_slot_at(pool, i), is_live))
            return false; /* I8 */
        pinned += pool->pins && pool->pins[i];
        if (lives && keeps) return false; /* I12 */
        if (!is_live) {
            dead += kolk_mixed_(i);
            continue;
        }
        live++;
        if (lives && pool->high && kolk_pool_generation_(pool, i) == 0) return false; /* I5 */
        if (pool->ready && !kolk_bits_get_(pool->ready, i)) return false;             /* I7 */
    }
    if (kolk_pool_count(pool) != live) return false; /* I1 */
    if (pool->pinned != pinned) return false;        /* I12 */
    if (peak_of(pool) < live) return false;

    uint64_t places = 0;                                                     /* I3 */
    bool ordered = ages_are_valid(pool) && kolk_pool_ranks_are_valid_(pool); /* I9, I10 */
    if (!add_places(pool, &places) || !levels_are_valid(pool) || !ordered) return false;
    if (!uncounted_are_valid(pool)) return false; /* I11 */
    return pool->unlisted ? unlisted_are_valid(pool) : places == dead;
}
