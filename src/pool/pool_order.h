/* pool_order.h: the free slots of a core pool: their places, and the order of their reuse (pool.c, I3).
 *
 *     LIFO     stack   | 7 | 3 | 9 |            last in, first out; top - stack slots
 *     FIFO     stack   | 5 | . | . | 2 | 8 |    a ring that begins at `first`; `listed` slots
 *     LOWEST   holes   ..1.....1..1             one bit a slot, and summary levels (bits.h); `listed` slots
 *
 * After an alloc_at the oldest `unlisted` places of stack or ring have no slots yet: | ? | ? | ? | 8 |.
 *
 * A slot that must not be used yet is in none of these, but in the list of worn-out slots or in the debug mode's
 * quarantine. Inlining these functions saves FIFO and LOWEST a fifth of their time. */
#ifndef KOLK_SRC_POOL_ORDER_H
#define KOLK_SRC_POOL_ORDER_H

#include "pool_inside.h"

#include "../core/probes.h"

/* The number of free slots in the ring or the holes. */
static inline uint32_t listed(const kolk_pool *pool) {
    KOLK_ASSERT_(pool->aside >= pool->worn.count + pool->quarantined);
    return pool->aside - pool->worn.count - pool->quarantined;
}

/* The number of free slots in the array that LIFO and FIFO use. */
static inline uint32_t queued(const kolk_pool *pool) {
    return pool->reuse == KOLK_REUSE_FIFO ? listed(pool) : (uint32_t)(pool->top - pool->stack);
}

/* The number of free slots that alloc may take. */
static inline uint32_t ready_slots(const kolk_pool *pool) {
    return pool->reuse == KOLK_REUSE_LOWEST ? listed(pool) : queued(pool);
}

/* The place of the n-th free slot in that array. For LIFO, `first` is 0. */
static inline kolk_slot_ *queue_at(const kolk_pool *pool, uint32_t n) {
    KOLK_ASSERT_(n < pool->capacity);
    uint64_t at = (uint64_t)pool->first + n;
    return pool->stack + (at < pool->capacity ? at : at - pool->capacity);
}

/* If the next free slot is in an unlisted place, lists it and some more. Also shows the bounds. (pool_order.c) */
void kolk_pool_list_next_(kolk_pool *pool);

static KOLK_ALWAYS_INLINE_ void put_free(kolk_pool *pool, uint32_t index) {
    KOLK_ASSERT_(index < pool->fresh && !kolk_pool_lives_(pool, index));
    if (pool->reuse == KOLK_REUSE_LIFO) {
        KOLK_ASSERT_(pool->top < pool->stack + pool->capacity);
        (pool->top++)->index = (kolk_index_)index;
        return;
    }
    if (pool->reuse == KOLK_REUSE_FIFO) {
        queue_at(pool, listed(pool))->index = (kolk_index_)index;
    } else {
        kolk_levels_set_(pool->holes, pool->levels, index);
    }
    pool->aside++;
}

/* Takes a free slot of FIFO or LOWEST. At least one must be listed. */
static KOLK_ALWAYS_INLINE_ uint32_t take_listed(kolk_pool *pool) {
    KOLK_ASSERT_(listed(pool) > 0);
    pool->aside--;
    if (pool->reuse == KOLK_REUSE_LOWEST) return (uint32_t)kolk_levels_take_lowest_(pool->holes, pool->levels);
    uint32_t first = pool->first;
    pool->first = first + 1 < pool->capacity ? first + 1 : 0;
    return pool->stack[first].index;
}

static inline bool take_free(kolk_pool *pool, uint32_t *index) {
    if (KOLK_UNLIKELY_(pool->unlisted)) kolk_pool_list_next_(pool);
    if (pool->reuse == KOLK_REUSE_LIFO) {
        if (pool->top == pool->stack) return false;
        *index = (--pool->top)->index;
        return true;
    }
    if (listed(pool) == 0) return false;
    *index = take_listed(pool);
    return true;
}

/* Takes the first slot that was never handed out, and writes the metadata that every pool has. The caller must call
 * kolk_pool_show_all_bounds_. */
static inline uint32_t take_fresh_slot(kolk_pool *pool) {
    KOLK_ASSERT_(pool->fresh < pool->capacity);
    uint32_t index = pool->fresh++;
    pool->states[index] = (uint8_t)KOLK_A_LIFE_;
    if (pool->high && pool->memory == MEMORY_CALLERS) pool->high[index] = 0; /* the system's memory is 0 */
    return index;
}

/* LOWEST: writes the words of the holes that begin with this slot, which was never handed out before. */
static inline void clear_holes_from(kolk_pool *pool, uint32_t index) {
    uint64_t at = index;
    for (unsigned k = 0; k < pool->levels && at % 64 == 0; k++, at /= 64) pool->holes[k][at / 64] = 0;
}

static inline void *refuse(kolk_pool *pool) {
    pool->failed++;
    PROBE2(full, pool_name_of(pool), pool->capacity);
    return NULL;
}

/* KOLK_POOL_STATIC: if only the compiler has initialised the pool, makes it of the descriptor that is in it. */
static inline void begin_static_pool(kolk_pool *pool) {
    if (KOLK_UNLIKELY_(pool->stride == 0 && pool->object_size)) {
        kolk_pool_desc desc = {.name = pool->name,
                               .object_size = pool->object_size,
                               .object_align = pool->object_align,
                               .capacity = pool->first,
                               .memory = pool->slots,
                               .memory_size = pool->block_size};
        (void)kolk_pool_begin_(pool, &desc, 0, 0, sizeof *pool, KOLK_POOL_ABI_, NULL); /* or it is all zero */
    }
}

/* kolk_pool_show_all_bounds_ for a pool without options. */
static inline void show_plain_bounds(kolk_pool *pool) {
    pool->bound = pool->free_bound = pool->fresh;
    pool->floor = pool->stack;
    pool->order_floor = (kolk_slot_ *)UINTPTR_MAX;
    pool->aside_floor = UINT32_MAX;
}

/* ---- pool_order.c ------------------------------------------------------------------------------------------------ */

/* Sets the bounds of the fast paths (I4) of a pool with options. Must be called after fresh, capacity, worn or the peak
 * has changed, and when a hook begins or ends that may only look. */
void kolk_pool_show_all_bounds_(kolk_pool *pool);

/* The same where the pool may have no options. */
static inline void show_bounds(kolk_pool *pool) {
    if (pool->options && pool->options->show_bounds)
        pool->options->show_bounds(pool);
    else
        show_plain_bounds(pool);
}

/* The same after anything but `fresh` has changed, on which alone the bounds of a pool without options depend. */
static inline void show_bounds_of_options(kolk_pool *pool) {
    if (pool->options && pool->options->show_bounds) pool->options->show_bounds(pool);
}

/* Add a worn-out slot, or take the oldest one. Taking returns KOLK_NO_SLOT_ if there is none, or if worn-out slots are
 * never used again. The caller must call kolk_pool_show_all_bounds_. */
void kolk_pool_put_worn_(kolk_pool *pool, uint32_t index);
uint32_t kolk_pool_take_worn_(kolk_pool *pool);

/* Add a slot to the debug mode's quarantine, or take the oldest one. Taking returns KOLK_NO_SLOT_ if the quarantine is
 * empty. If the quarantine is full, adding makes the oldest slot free. */
void kolk_pool_put_quarantined_(kolk_pool *pool, uint32_t index);
uint32_t kolk_pool_take_quarantined_(kolk_pool *pool);

/* A slot that is dead, but in no place, because its setup or reset hook is running; others, because hooks call each
 * other. So a hook's alloc that lists unlisted places does not take it for one that belongs there. It is needed only
 * where places can be unlisted: the bounds of such a pool with a reset hook send its frees to
 * kolk_pool_free_rest_. */
typedef struct kolk_away_ {
    struct kolk_away_ *outer;
    uint32_t slot;
} kolk_away_;

static inline void go_away(kolk_pool *pool, kolk_away_ *away, uint32_t slot) {
    *away = (kolk_away_){pool->away, slot};
    pool->away = away;
}

static inline void come_back(kolk_pool *pool) {
    pool->away = pool->away->outer;
}

/* Lists the slots of all unlisted places. Also shows the bounds. */
void kolk_pool_list_all_(kolk_pool *pool);

/* Takes this free slot below fresh out of its place. The caller must set the bounds. Returns false if the slot
 * is worn out for ever, or if its life is just ending (its reset hook is the caller). If it is not the slot that was
 * freed last, free slots may be used from the lowest one on afterwards. */
bool kolk_pool_take_this_(kolk_pool *pool, uint32_t index);

/* Returns the number of the first slot from which on all slots below fresh are free, and not worn out or in
 * quarantine. */
uint32_t kolk_pool_end_of_use_(kolk_pool *pool);

/* Rebuilds the order of free slots from the states, lowest first. Holes that are already set stay set. */
void kolk_pool_sort_free_(kolk_pool *pool);

#endif
