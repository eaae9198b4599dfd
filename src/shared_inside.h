/* shared_inside.h: what the files of the shared pool share: shared.c (home and away, alloc and free), shared_local.c (the
 * threads' ways in), shared_wait.c, shared_later.c, shared_memory.c (the block), shared_ask.c. The idea is told in shared.c. */
#ifndef KOLK_SRC_SHARED_INSIDE_H
#define KOLK_SRC_SHARED_INSIDE_H

#include "kolk/shared.h"

#include "atomics.h"
#include "debug.h"

#define NO_SLOT UINT32_MAX

/* ---- Leaves ---------------------------------------------------------------------------------------------------------- */

static inline uint32_t word_bits(const kolk_shared *pool) {
    return 1u << pool->word_shift;
}

/* Words that have the bits of so many slots. */
static inline uint64_t words_of(const kolk_shared *pool, uint32_t slots) {
    return ((uint64_t)slots + word_bits(pool) - 1) >> pool->word_shift;
}

static inline uint32_t slots_of(const kolk_shared *pool) {
    return pool->max_capacity + pool->slack;
}

static inline kolk_magazine *magazine_at(const kolk_shared *pool, uint32_t n) {
    return (kolk_magazine *)(void *)(pool->magazines + n * pool->magazine_size);
}

static inline uint32_t held_by(const kolk_magazine *magazine) {
    return kolk_load(&magazine->top, KOLK_RELAXED) - kolk_load(&magazine->bottom, KOLK_RELAXED);
}

static inline uintptr_t slot_of(const kolk_shared *pool, const void *object) {
    return kolk_exact_slot((uintptr_t)object - (uintptr_t)pool->slots, pool->shift, pool->inverse);
}

static inline void *object_at(const kolk_shared *pool, uintptr_t index) {
    return pool->slots + index * pool->stride;
}

static inline uint32_t life_of(const kolk_shared *pool, uintptr_t index) {
    return pool->lives ? kolk_load(&pool->lives[index], KOLK_RELAXED)
                       : kolk_load(&pool->short_lives[index], KOLK_RELAXED);
}

static inline uint32_t usable(const kolk_shared *pool) {
    return kolk_load(&pool->usable, KOLK_ACQUIRE); /* partner: grow, which commits before */
}

static inline const char *name_of(const kolk_shared *pool) {
    return pool->name ? pool->name : "";
}

/* ---- shared.c -------------------------------------------------------------------------------------------------------- */

/* Brings slots of one word home, or to where they are free later. */
void kolk_shared_bring(const kolk_slot_set *set, uint32_t word, uint64_t bits);

/* Brings one slot home. */
void kolk_shared_bring_slot(kolk_shared *pool, uint32_t slot);

/* Brings the n oldest of a magazine home. */
void kolk_shared_bring_oldest(kolk_shared *pool, kolk_magazine *magazine, uint32_t n);

/* Says that slots have come home; afterwards those who wait are to be served. */
void kolk_shared_count_return(kolk_shared *pool);

/* Bits of a word with free slots, which is *place then; just one if `one`. The search begins at *place. 0: at one moment since
 * the call, none was at home. */
uint64_t kolk_shared_fetch(kolk_shared *pool, uint32_t *place, bool one);

/* Ends the life in a slot; false if there is none, or if another thread was first. */
bool kolk_shared_end_life(const kolk_shared *pool, uintptr_t index);

/* Slots for an empty magazine; false as kolk_shared_fetch. */
bool kolk_shared_fill(kolk_local *local);

/* The object of a slot that nobody else has. */
void *kolk_shared_begin_life(const kolk_shared *pool, uint32_t index);

/* An alloc gives NULL. */
void *kolk_shared_fail_alloc(const kolk_local *local);

/* From now on frees go home at once. */
void kolk_shared_go_direct(kolk_shared *pool);

/* Lets free keep slots at hand, if that may be. */
void kolk_shared_show_bound(const kolk_shared *pool, kolk_magazine *magazine);

/* ---- shared_wait.c --------------------------------------------------------------------------------------------------- */

/* Gives those who wait what has come home, in the order of the line. */
void kolk_shared_serve(kolk_shared *pool);

static inline void serve_waiting(kolk_shared *pool) {
    if (KOLK_UNLIKELY(kolk_load(&pool->waiting, KOLK_SEQ_CST))) kolk_shared_serve(pool); /* partner: line_up */
}

/* ---- shared_local.c -------------------------------------------------------------------------------------------------- */

/* Brings home what threads have at hand that ended without a word. */
void kolk_shared_bury(kolk_shared *pool);

/* ---- shared_memory.c ------------------------------------------------------------------------------------------------- */

/* Lets so many slots be used. */
bool kolk_shared_commit(const kolk_shared *pool, uint32_t slots);

uint64_t kolk_shared_committed(const kolk_shared *pool, uint32_t slots);

/* ---- shared_ask.c ---------------------------------------------------------------------------------------------------- */

/* Says what is wrong with this pointer; if it is a free slot's, that this is `if_dead`. `pool` is NULL for a local that has
 * none. */
void kolk_shared_fail_object(const kolk_shared *pool, const void *object, const char *verb, kolk_status if_dead,
                             const void *site);

#endif
