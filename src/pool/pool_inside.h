/* pool_inside.h: what the files of the core pool share. pool.c has the essay and the operations, pool_ask.c the questions, pool_full.c who makes room
 * in a full pool, pool_trim.c growing and giving back, pool_memory.c the memory that a pool lives in, pool_valid.c the
 * predicate over all of it. */
#ifndef KOLK_SRC_POOL_INSIDE_H
#define KOLK_SRC_POOL_INSIDE_H

#undef KOLK_EXTERN /* the functions of pool.inl are emitted in pool.c, also in a program that is compiled with it */
#include "kolk/pool.h"

#include "../core/bits.h"
#include "../core/geometry.h"
#include "../diag/debug.h"
#include "../core/room.h"
#include "../diag/sizes.h"

/* NULL: off, as always in freestanding builds, whose compiler then leaves all of it out. */
static inline kolk_debug *pool_debug_of(const kolk_pool *pool) {
    return __STDC_HOSTED__ ? pool->debug : NULL;
}

static inline void *plain_slot_at(const kolk_pool *pool, uint64_t index) {
    return pool->slots + (size_t)index * pool->stride;
}

/* The object in a slot; of a slot that was never handed out it means nothing if objects come from malloc. */
static inline void *pool_slot_at(const kolk_pool *pool, uint64_t index) {
    return pool->objects ? kolk_pool_bypassed(pool, (uintptr_t)index) : plain_slot_at(pool, index);
}

/* The slot of an object, or a number from fresh on. */
static inline uintptr_t pool_slot_of(const kolk_pool *pool, const void *object) {
    if (pool->objects) return kolk_debug_find(pool->debug, object);
    return kolk_pool_slot(pool, object);
}

/* Has this slot, or number that is no slot, a live object? */
static inline bool pool_is_alive(const kolk_pool *pool, uintptr_t slot) {
    return slot < pool->fresh && kolk_bits_get(pool->live, slot);
}

/* Free slots in the ring or the holes. */
static inline uint32_t waiting(const kolk_pool *pool) {
    return pool->held - pool->worn.count - pool->quarantined;
}

/* Free slots in the array of LIFO and FIFO, and the place of the n-th: for LIFO, first is 0. */
static inline uint32_t queued(const kolk_pool *pool) {
    return pool->desc.reuse == KOLK_REUSE_FIFO ? waiting(pool) : (uint32_t)(pool->top - pool->stack);
}

static inline kolk_slot *queue_at(const kolk_pool *pool, uint32_t n) {
    uint64_t at = (uint64_t)pool->first + n;
    return pool->stack + (at < pool->capacity ? at : at - pool->capacity);
}

/* Are worn-out slots never used again? */
static inline bool is_strict(const kolk_pool *pool) {
    return pool->desc.generations == KOLK_GENERATIONS_STRICT;
}

static inline const char *pool_name_of(const kolk_pool *pool) {
    return pool->desc.name ? pool->desc.name : "";
}

static inline bool keeps_peak(const kolk_pool *pool) {
    return pool->peak != PEAK_IS_FRESH;
}

static inline uint32_t peak_of(const kolk_pool *pool) {
    return kolk_peak(pool->peak, pool->fresh);
}

/* Of the last so many free slots, allocs are looked after: never-issued slots don't cover the headroom any more, or the
 * low-water mark and the slot above it; or the peak is counted, and would rise. */
static inline uint32_t watched_slots(const kolk_pool *pool) {
    uint64_t low = pool->desc.on_low ? (uint64_t)pool->desc.low_water + 1 : 0, spare = pool->capacity - pool->fresh;
    uint64_t kept = pool->desc.headroom > low ? pool->desc.headroom : low;
    uint32_t used = pool->fresh - pool->worn.count - pool->quarantined; /* alive, or free and next in turn */
    uint64_t slots = kept > spare ? kept - spare : 0, above = used > pool->peak ? used - pool->peak : 0;
    if (slots < above) slots = above;
    return slots < used ? (uint32_t)slots : used;
}

/* Shows the fast paths their bounds (I4); due when fresh, capacity, worn or the peak have changed. */
static inline void show_pool_bounds(kolk_pool *pool) {
    bool lifo = pool->desc.reuse == KOLK_REUSE_LIFO, easy = !pool_debug_of(pool) && !pool->ready;
    bool fresh_first = pool->desc.reuse == KOLK_REUSE_FIFO && pool->fresh < pool->capacity;
    kolk_slot *nothing = (kolk_slot *)UINTPTR_MAX, *floor = nothing;
    uint32_t watched = watched_slots(pool);
    if (easy && lifo) floor = watched ? pool->stack + watched : pool->stack; /* NULL without slots */
    pool->bound = pool_debug_of(pool) ? 0 : pool->fresh;
    pool->free_bound = lifo && !pool_debug_of(pool) && !pool->desc.reset ? pool->fresh : 0;
    pool->floor = pool->ages ? nothing : floor;
    pool->age_floor = pool->ages ? floor : nothing;
    pool->held_floor = easy && !lifo && !pool->ages && !fresh_first ? pool->worn.count + watched : UINT32_MAX;
}

/* ---- The order of births ------------------------------------------------------------------------------------------ */

/* A slot that is in no order is its own neighbour on both sides. */
static inline void be_alone(kolk_pool *pool, uint32_t slot) {
    pool->ages[slot + 1] = (kolk_age){slot + 1, slot + 1};
}

static inline bool is_alone(const kolk_pool *pool, uint32_t slot) {
    return pool->ages[slot + 1].newer == slot + 1;
}

/* Nothing happens to one that is alone. */
static inline void leave_order(kolk_pool *pool, uint32_t slot) {
    kolk_age *ages = pool->ages, age = ages[slot + 1];
    ages[age.older].newer = age.newer;
    ages[age.newer].older = age.older;
}

static inline void become_newest(kolk_pool *pool, uint32_t slot) {
    leave_order(pool, slot);
    kolk_age *ages = pool->ages;
    uint32_t newest = ages[0].older;
    ages[slot + 1] = (kolk_age){newest, 0};
    ages[newest].newer = slot + 1;
    ages[0].older = slot + 1;
}

/* ---- pool.c ------------------------------------------------------------------------------------------------------- */

/* Ends the set-up of these slots. */
void kolk_pool_tear_down(kolk_pool *pool, uint64_t from, uint64_t end);

/* The debug mode's proof of all zones and fills. */
void kolk_pool_verify_all(kolk_pool *pool, const void *site);

/* Rebuilds the order of free slots from the live bits, lowest first. Holes that are there already stay. */
void kolk_pool_sort_free(kolk_pool *pool);

/* ---- pool_ask.c --------------------------------------------------------------------------------------------------- */

/* Reports what is wrong with a pointer that the caller wants to `verb`; if_dead is the rule broken by a free slot's. */
void kolk_pool_fail_object(const kolk_pool *pool, const void *object, const char *verb, kolk_status if_dead,
                           const void *site);

/* ... and what is wrong with a call. */
kolk_failure kolk_pool_failure(const kolk_pool *pool, kolk_status rule, uint32_t slot, const void *site);

/* Is it the start of a live object of this pool, and not of its overflow pool? */
bool kolk_pool_holds(const kolk_pool *pool, const void *object);

/* Which of this pool and those that it overflows into has this live object; NULL: none. */
kolk_pool *kolk_pool_holder(const kolk_pool *pool, const void *object);

/* kolk_pool_get for a caller at `site`. */
void *kolk_pool_find(const kolk_pool *pool, kolk_handle handle, const void *site);

/* ---- pool_full.c -------------------------------------------------------------------------------------------------- */

/* Frees the cheapest object if it costs less than this; false: it does not, or there is none. */
bool kolk_pool_evict_below(kolk_pool *pool, double cost);

/* ---- pool_trim.c -------------------------------------------------------------------------------------------------- */

/* Room for `needed` slots at least, twice what there was if possible. */
bool kolk_pool_grow(kolk_pool *pool, uint64_t needed);

/* ---- pool_memory.c ---------------------------------------------------------------------------------------------- */

/* Checks the descriptor and fills in its defaults. type_size and type_align as in kolk_pool_init_type. */
kolk_status kolk_pool_resolve(kolk_pool_desc *desc, size_t type_size, size_t type_align);

/* Makes the memory of such a pool, with what it can have of the debug mode's settings: the pool, all zero before, has
 * its shape and its places then, or is all zero as before. Reports nothing. */
kolk_status kolk_pool_make(kolk_pool *pool, const kolk_pool_desc *desc, const kolk_settings *settings);

/* Gives that memory back; the pool is all zero then. */
void kolk_pool_unmake(kolk_pool *pool);

/* Lets so many slots be used, as far as the pool commits memory step by step. */
bool kolk_pool_commit(const kolk_pool *pool, uint32_t capacity);

/* Bytes that capacity slots have been committed. */
uint64_t kolk_pool_committed(const kolk_pool *pool);

#endif
