/* pool_age.h: the order of births, for pools with .ages.
 *
 *     ages[0] <-> oldest <-> ... <-> newest <-> ages[0]      slots + 1, neighbours on both sides; 8 bytes a slot
 *
 * Free does not touch the circle, so that pools with ages free as fast as others: a dead slot stays in it until a walk
 * passes it or it is used again. Each death is passed once at most, so that a step is O(1) over time. A full pool has
 * no dead slots, so that evicting its oldest is O(1) at once. */
#ifndef KOLK_SRC_POOL_AGE_H
#define KOLK_SRC_POOL_AGE_H

#include "pool_inside.h"

/* A slot that is in no order is its own neighbour on both sides. */
static inline void be_alone(kolk_pool *pool, uint32_t slot) {
    KOLK_ASSERT(slot < pool->capacity);
    pool->ages[slot + 1] = (kolk_age){slot + 1, slot + 1};
}

static inline bool is_alone(const kolk_pool *pool, uint32_t slot) {
    KOLK_ASSERT(slot < pool->fresh);
    return pool->ages[slot + 1].newer == slot + 1;
}

/* Nothing happens to one that is alone. */
static inline void leave_order(kolk_pool *pool, uint32_t slot) {
    KOLK_ASSERT(slot < pool->fresh);
    kolk_age *ages = pool->ages, age = ages[slot + 1];
    ages[age.older].newer = age.newer;
    ages[age.newer].older = age.older;
}

static inline void become_newest(kolk_pool *pool, uint32_t slot) {
    leave_order(pool, slot);
    kolk_age *ages = pool->ages;
    uint32_t newest = ages[0].older;
    KOLK_ASSERT(newest <= pool->fresh && newest != slot + 1);
    ages[slot + 1] = (kolk_age){newest, 0};
    ages[newest].newer = slot + 1;
    ages[0].older = slot + 1;
}

/* Has the stack a slot for an alloc which no option but ages looks after? */
static inline bool has_aged_slot(const kolk_pool *pool) {
    return (uintptr_t)pool->top > (uintptr_t)pool->age_floor;
}

/* Such an alloc: as the fast path, and an age. */
static inline void *alloc_aged(kolk_pool *pool) {
    kolk_slot *top = pool->top;
    uint32_t index = top[-1].index;
    KOLK_ASSERT(top > pool->stack && index < pool->fresh && !kolk_bits_get(pool->live, index));
    pool->top = top - 1;
    kolk_bits_set(pool->live, index);
    become_newest(pool, index);
    return plain_slot_at(pool, index);
}

/* ---- pool_age.c -------------------------------------------------------------------------------------------------- */

/* kolk_pool_oldest for a caller at `site`, which is called `verb` in the report that the pool keeps no ages. */
void *kolk_pool_find_oldest(kolk_pool *pool, const char *verb, const void *site);

#endif
