/* shared_inside.h: what the files of the shared pool share: shared.c (home and away, alloc and free), shared_local.c (the
 * threads' ways in), shared_wait.c, shared_later.c, shared_debug.c, shared_memory.c (the block), shared_ask.c. The idea is told
 * in shared.c. */
#ifndef KOLK_SRC_SHARED_INSIDE_H
#define KOLK_SRC_SHARED_INSIDE_H

#undef KOLK_EXTERN /* the functions of shared.inl are emitted in shared.c, also in a program that is compiled with it */
#include "kolk/shared.h"

#include "../core/atomics.h"
#include "../core/bits.h"
#include "../diag/debug.h"
#include "magazine.h"
#include "member.h"

#define NO_SLOT UINT32_MAX

/* Of a thread's record: a kolk_member, and behind it its kolk_magazine, which others write less. */
#define MEMBER_BYTES 128u

/* ---- Leaves ---------------------------------------------------------------------------------------------------------- */

static inline uint32_t slots_of(const kolk_shared *pool) {
    return pool->depot.slots;
}

static inline void *plain_object_at(const kolk_shared *pool, uintptr_t index) {
    return pool->slots + index * pool->stride;
}

static inline uint32_t life_of(const kolk_shared *pool, uintptr_t index) {
    return pool->lives ? kolk_load(&pool->lives[index], KOLK_RELAXED)
                       : kolk_load(&pool->short_lives[index], KOLK_RELAXED);
}

static inline uint32_t usable(const kolk_shared *pool) {
    return kolk_depot_usable(&pool->depot);
}

static inline bool is_alive(const kolk_shared *pool, uintptr_t index) {
    return index < usable(pool) && (life_of(pool, index) & 1);
}

static inline const char *name_of(const kolk_shared *pool) {
    return pool->name ? pool->name : "";
}

/* ---- shared.c -------------------------------------------------------------------------------------------------------- */

/* Bits of a word with free slots, which is *place then; just one if `one`. The search begins at *place. 0: at one moment since
 * the call, none was at home. */
uint64_t kolk_shared_fetch(kolk_shared *pool, uint32_t *place, bool one);

/* Ends the life of an object, which `site` frees, and gives its slot; NO_SLOT, and a report, if it is none, or if another
 * thread was first. */
uint32_t kolk_shared_end_life(const kolk_local *local, const void *object, const void *site);

/* A free slot, of those that are at hand or from home; NO_SLOT as kolk_shared_fetch. */
uint32_t kolk_shared_take(kolk_local *local);

/* The object of a slot that nobody else has; NULL if malloc should have given it. */
void *kolk_shared_begin_life(kolk_local *local, uint32_t slot, const void *site);

/* An alloc gives NULL. */
void *kolk_shared_fail_alloc(const kolk_local *local);

/* ---- shared_wait.c --------------------------------------------------------------------------------------------------- */

/* An object, or NULL after the deadline; with KOLK_NOW nobody waits. */
void *kolk_shared_alloc(kolk_local *local, kolk_deadline deadline, const void *site);

/* Gives those who wait what has come home, in the order of the line. */
void kolk_shared_serve(kolk_shared *pool);

static inline void serve_waiting(kolk_shared *pool) {
    if (KOLK_UNLIKELY(kolk_load(&pool->depot.waiting, KOLK_SEQ_CST))) kolk_shared_serve(pool); /* partner: line_up */
}

/* ---- shared_debug.c -------------------------------------------------------------------------------------------------- */

kolk_failure kolk_shared_failure(const kolk_shared *pool, kolk_status rule, uint32_t slot, const void *site);

/* What slots share in debug mode: see the table in debug.h. */
void kolk_shared_lock_debug(const kolk_shared *pool);
void kolk_shared_unlock_debug(const kolk_shared *pool);

/* With bypass: as slot_of and object_at, and kolk_debug_search. */
uintptr_t kolk_shared_find_bypassed(const kolk_shared *pool, const void *object);
void *kolk_shared_bypassed_at(const kolk_shared *pool, uintptr_t slot);
uint32_t kolk_shared_search_bypassed(const kolk_shared *pool, const void *pointer, uint64_t *inside);

static inline uintptr_t slot_of(const kolk_shared *pool, const void *object) {
    if (KOLK_UNLIKELY(pool->objects)) return kolk_shared_find_bypassed(pool, object);
    return kolk_exact_slot((uintptr_t)object - (uintptr_t)pool->slots, pool->shift, pool->inverse);
}

static inline void *object_at(const kolk_shared *pool, uintptr_t slot) {
    return KOLK_UNLIKELY(pool->objects) ? kolk_shared_bypassed_at(pool, slot) : plain_object_at(pool, slot);
}

/* Proves a slot's zones and fill, and makes it ready for a life: its object, or NULL if malloc has none. */
void *kolk_shared_dress(kolk_local *local, uint32_t slot, const void *site);

/* Are all zones and fills as they were left? */
bool kolk_shared_is_intact(const kolk_shared *pool);

/* Proves a slot's zones, with reports, and its fill, if it is to have one. */
void kolk_shared_verify(const kolk_shared *pool, uint32_t slot, bool filled, const void *site);

/* Nobody reads the object of an ended life any more: fills it, and puts its slot away. */
void kolk_shared_wipe(kolk_shared *pool, uint32_t slot);

/* As kolk_shared_fetch, of those in quarantine. */
uint64_t kolk_shared_take_quarantined(kolk_shared *pool, uint32_t *word);

/* The debug mode of the pool, which has its shape: false if there is no memory for it. */
bool kolk_shared_begin_debug(kolk_shared *pool, const kolk_debug_desc *desc);

/* Proves all, and tells what is alive; the handler may longjmp. Then ends all lives. */
void kolk_shared_prove_all(const kolk_shared *pool, const void *site);
void kolk_shared_list_leaks(const void *pool);
void kolk_shared_end_debug(kolk_shared *pool);

/* ---- shared_later.c -------------------------------------------------------------------------------------------------- */

/* Who finds no slot, where all are offline, ends epochs for them; true if slots may have come home. */
bool kolk_shared_end_epochs(kolk_local *local);

/* How often waiters look whether they wait for a thread that has ended. */
#ifndef KOLK_SCHEDULED
#define LOOK_NS INT64_C(1000000000)
#else
#define LOOK_NS INT64_MAX /* never: in scheduled tests a thread that nobody wakes is to sleep for ever */
#endif

/* If slots wait to be free, brings home what threads had that ended without a word, and ends the epochs that these held up; not
 * more often than that. */
void kolk_shared_mind_the_dead(kolk_local *local);

/* ---- shared_local.c -------------------------------------------------------------------------------------------------- */

/* Brings home what threads have at hand that ended without a word; also those that the system still knows, if `closely`. */
void kolk_shared_reclaim(kolk_shared *pool, bool closely);

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
