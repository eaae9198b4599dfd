/* pool_age.h: the order of births, for pools with .ages.
 *
 *     ages[0] <-> oldest <-> ... <-> newest <-> ages[0]      links are slots + 1; 16 bytes a slot
 *
 * Births are numbered, so a walk finds its place again when the current and the next slot have left theirs: at the
 * first slot with a higher number.
 *
 * Free does not touch the circle, so it is as fast in pools with ages as in others. A dead slot stays in the circle
 * until a walk passes it or it is used again. Each dead slot is passed at most once, so a step takes amortised O(1)
 * time. A full pool has no dead slots, so evicting its oldest object takes O(1) time even in the worst case. */
#ifndef KOLK_SRC_POOL_AGE_H
#define KOLK_SRC_POOL_AGE_H

#include "pool_inside.h"

/* A slot that is not in the order is its own neighbour on both sides. */
static inline void be_alone(kolk_pool *pool, uint32_t slot) {
    KOLK_ASSERT_(slot < pool->capacity);
    pool->ages[slot + 1] = (kolk_age_){slot + 1, slot + 1, 0};
}

static inline bool is_alone(const kolk_pool *pool, uint32_t slot) {
    KOLK_ASSERT_(slot < pool->fresh);
    return pool->ages[slot + 1].newer == slot + 1;
}

/* Must the ready-made hooks spare this live object? A slot that is protected is alive, but not in the order: so
 * protection needs no memory, and it ends with the life. */
static inline bool is_protected(const kolk_pool *pool, uint32_t slot) {
    return (pool->ages && is_alone(pool, slot)) || is_pinned(pool, slot);
}

/* Takes a slot out of the order. Changes nothing if it is not in the order. */
static inline void leave_order(kolk_pool *pool, uint32_t slot) {
    KOLK_ASSERT_(slot < pool->fresh);
    kolk_age_ *ages = pool->ages, age = ages[slot + 1];
    ages[age.older].newer = age.newer;
    ages[age.newer].older = age.older;
}

static inline void become_newest(kolk_pool *pool, uint32_t slot) {
    leave_order(pool, slot);
    kolk_age_ *ages = pool->ages;
    uint32_t newest = ages[0].older;
    KOLK_ASSERT_(newest <= pool->fresh && newest != slot + 1);
    ages[slot + 1] = (kolk_age_){newest, 0, ++pool->births};
    ages[newest].newer = slot + 1;
    ages[0].older = slot + 1;
}

/* ---- pool_age.c -------------------------------------------------------------------------------------------------- */

/* Returns the oldest object that is not pinned. If the pool keeps no ages, the report calls the operation `verb`. */
void *kolk_pool_find_oldest_(kolk_pool *pool, const char *verb, const void *site);

#endif
