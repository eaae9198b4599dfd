/* pool_order.h: the free slots of a core pool: where they are, and in which order they come back (pool.c, I3).
 *
 *     LIFO     stack   | 7 | 3 | 9 |            the last first; count of them: top - stack
 *     FIFO     stack   | 5 | . | . | 2 | 8 |    a ring that begins at `first`; count of them: waiting
 *     LOWEST   holes   ..1.....1..1             one bit a slot, and summary levels (bits.h); count of them: waiting
 *
 * A slot that must not be used yet is in none of these, but in the list of worn-out slots or in the debug mode's
 * quarantine. The functions that are inline here are worth a fifth of the time of FIFO and LOWEST. */
#ifndef KOLK_SRC_POOL_ORDER_H
#define KOLK_SRC_POOL_ORDER_H

#include "pool_inside.h"

/* Free slots in the ring or the holes. */
static inline uint32_t waiting(const kolk_pool *pool) {
    KOLK_ASSERT(pool->held >= pool->worn.count + pool->quarantined);
    return pool->held - pool->worn.count - pool->quarantined;
}

/* Free slots in the array of LIFO and FIFO, and the place of the n-th: for LIFO, first is 0. */
static inline uint32_t queued(const kolk_pool *pool) {
    return pool->desc.reuse == KOLK_REUSE_FIFO ? waiting(pool) : (uint32_t)(pool->top - pool->stack);
}

static inline kolk_slot *queue_at(const kolk_pool *pool, uint32_t n) {
    KOLK_ASSERT(n < pool->capacity);
    uint64_t at = (uint64_t)pool->first + n;
    return pool->stack + (at < pool->capacity ? at : at - pool->capacity);
}

static KOLK_ALWAYS_INLINE void put_free(kolk_pool *pool, uint32_t index) {
    KOLK_ASSERT(index < pool->fresh && !kolk_bits_get(pool->live, index));
    if (pool->desc.reuse == KOLK_REUSE_LIFO) {
        KOLK_ASSERT(pool->top < pool->stack + pool->capacity);
        (pool->top++)->index = index;
        return;
    }
    if (pool->desc.reuse == KOLK_REUSE_FIFO) {
        queue_at(pool, waiting(pool))->index = index;
    } else {
        kolk_levels_set(pool->holes, pool->levels, index);
    }
    pool->held++;
}

/* Of FIFO and LOWEST, and one waits. */
static KOLK_ALWAYS_INLINE uint32_t take_waiting(kolk_pool *pool) {
    KOLK_ASSERT(waiting(pool) > 0);
    pool->held--;
    if (pool->desc.reuse == KOLK_REUSE_LOWEST) return (uint32_t)kolk_levels_take_lowest(pool->holes, pool->levels);
    uint32_t first = pool->first;
    pool->first = first + 1 < pool->capacity ? first + 1 : 0;
    return pool->stack[first].index;
}

static inline bool take_free(kolk_pool *pool, uint32_t *index) {
    if (pool->desc.reuse == KOLK_REUSE_LIFO) {
        if (pool->top == pool->stack) return false;
        *index = (--pool->top)->index;
        return true;
    }
    if (waiting(pool) == 0) return false;
    *index = take_waiting(pool);
    return true;
}

/* The first slot that was never handed out; what every pool knows of it is written for the first time. The caller
 * shows the bounds. */
static inline uint32_t take_fresh_slot(kolk_pool *pool) {
    KOLK_ASSERT(pool->fresh < pool->capacity);
    uint32_t index = pool->fresh++;
    if (index % 64 == 0) pool->live[index / 64] = 0;
    if (pool->generations) pool->generations[index] = 1;
    return index;
}

/* ---- pool_order.c ------------------------------------------------------------------------------------------------ */

/* Worn-out slots, oldest first. KOLK_NO_SLOT: there is none, or they are never used again. The caller shows the
 * bounds. */
void kolk_pool_put_worn(kolk_pool *pool, uint32_t index);
uint32_t kolk_pool_take_worn(kolk_pool *pool);

/* The debug mode's quarantine: the slots that were freed last wait there. The slot that leaves it for this one becomes
 * free. KOLK_NO_SLOT: none waits. */
void kolk_pool_put_quarantined(kolk_pool *pool, uint32_t index);
uint32_t kolk_pool_take_quarantined(kolk_pool *pool);

/* Takes this free slot below fresh out of its place; the caller shows the bounds. False: it is worn out for ever, or
 * dying (its reset hook asks). */
bool kolk_pool_take_this(kolk_pool *pool, uint32_t index);

/* Rebuilds the order of free slots from the live bits, lowest first. Holes that are there already stay. */
void kolk_pool_sort_free(kolk_pool *pool);

#endif
