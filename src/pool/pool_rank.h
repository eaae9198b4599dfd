/* pool_rank.h: the order of costs, for ranked pools: a heap of slots, in which each place has four below it.
 *
 *     place p    ranks[p].slot                      its slot is not before that of place (p - 1) / 4
 *     slot s     ranks[s].price, ranks[s].place     16 bytes a slot
 *
 * A slot with a lower price is before others; among equal prices, the lower slot is. A price is a cost as an integer,
 * so that every cost, also one that is not a number, has a place. The price of a new object is 0, which is below all
 * costs: the hook is asked only when such a slot is at place 0. By then the caller has filled in the object.
 *
 * As with ages, free does not touch the order. A dead or protected slot leaves it at place 0, so each is passed at most
 * once for each time that it was entered. A full pool has no dead slots. There is no order before the first eviction,
 * and after kolk_pool_recost of all: the next eviction makes it from the live objects, in O(slots). An order without
 * places is an order all the same, so it is not made again for each alloc while all objects are protected. */
#ifndef KOLK_SRC_POOL_RANK_H
#define KOLK_SRC_POOL_RANK_H

#include "pool_age.h"

#include <string.h>

#define NO_RANK UINT32_MAX

static inline void be_unranked(kolk_pool *pool, uint32_t slot) {
    KOLK_ASSERT_(slot < pool->capacity);
    pool->ranks[slot].place = NO_RANK;
}

/* The bits of non-negative numbers are in the order of the numbers; those of negative numbers are in reverse order. */
static inline uint64_t price_of_cost(double cost) {
    uint64_t bits, sign = (uint64_t)1 << 63;
    if (cost != cost) return UINT64_MAX;
    if (cost == 0) return sign; /* -0 and 0 are equal */
    memcpy(&bits, &cost, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

static inline uint64_t price_of(const kolk_pool *pool, const void *object) {
    KOLK_ASSERT_(pool->cost && object);
    return price_of_cost(pool->cost(object, pool->context));
}

/* ---- pool_rank.c ------------------------------------------------------------------------------------------------- */

/* Enters a slot into an order that exists, at the price 0. The slot may be in the order since an earlier life. Returns
 * its object. */
void *kolk_pool_enter_ranks_(kolk_pool *pool, uint32_t slot, void *object);

/* Returns the first object in the order, and its price. Returns NULL if all are protected or none is alive. */
void *kolk_pool_first_ranked_(kolk_pool *pool, uint64_t *price);

/* Is the order right (I10)? */
bool kolk_pool_ranks_are_valid_(const kolk_pool *pool);

/* ---- Both orders ------------------------------------------------------------------------------------------------- */

/* Enters a slot whose life begins into the orders that the pool keeps. */
static inline void enter_orders(kolk_pool *pool, uint32_t slot) {
    if (pool->ages) become_newest(pool, slot);
    if (pool->ranking) (void)kolk_pool_enter_ranks_(pool, slot, NULL);
}

/* Does that, and returns the object. */
static inline void *entered(kolk_pool *pool, uint32_t slot, void *object) {
    if (pool->ages) become_newest(pool, slot);
    return pool->ranking ? kolk_pool_enter_ranks_(pool, slot, object) : object;
}

/* Does the stack have a slot that only these orders keep off the fast path? */
static inline bool has_ordered_slot(const kolk_pool *pool) {
    return (uintptr_t)pool->top > (uintptr_t)pool->order_floor;
}

/* Allocates that slot as the fast path does, and enters it. */
static inline void *alloc_ordered(kolk_pool *pool) {
    kolk_slot_ *top = pool->top;
    uint32_t index = top[-1].index;
    KOLK_ASSERT_(top > pool->stack && index < pool->fresh && !kolk_pool_lives_(pool, index));
    pool->top = top - 1;
    set_alive(pool, index);
    return entered(pool, index, plain_slot_at(pool, index));
}

#endif
