/* shared_inside.h: what the files of the shared pool share, floor by floor from below. Which floors there are is told
 * in shared.c; a file calls only what is above its own section here. */
#ifndef KOLK_SRC_SHARED_INSIDE_H
#define KOLK_SRC_SHARED_INSIDE_H

#undef KOLK_EXTERN /* the functions of shared.inl are emitted in shared.c, also in a program that is compiled with it */
#include "kolk/shared.h"

#include "../core/atomics.h"
#include "../core/bits.h"
#include "../core/wait_queue.h"
#include "../diag/debug.h"
#include "magazine.h"
#include "member.h"
#include "part.h"

#define NO_SLOT UINT32_MAX

/* Of a thread's record: a kolk_member, and behind it its kolk_magazine, so that what others read is apart from the fast
 * paths. */
#define MEMBER_BYTES 128u

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

static inline uint32_t slots_of(const kolk_shared *pool) {
    return pool->depot.slots;
}

static inline uint32_t usable(const kolk_shared *pool) {
    return kolk_depot_usable(&pool->depot);
}

static inline void *plain_object_at(const kolk_shared *pool, uintptr_t index) {
    return pool->slots + index * pool->stride;
}

static inline uint32_t life_of(const kolk_shared *pool, uintptr_t index) {
    return pool->lives ? kolk_load(&pool->lives[index], KOLK_RELAXED)
                       : kolk_load(&pool->short_lives[index], KOLK_RELAXED);
}

static inline bool is_alive(const kolk_shared *pool, uintptr_t index) {
    return index < usable(pool) && (life_of(pool, index) & 1);
}

/* How many of the sets `later` it has. A class of a heap has two, of another meaning: see shared_trim.c. */
static inline unsigned later_sets(const kolk_shared *pool) {
    return pool->range ? 2 : 4;
}

/* The pool of a local; NULL: it has none, or the pool is gone, which has made its magazine all zero (shared_end.c). */
static inline kolk_shared *pool_of(const kolk_local *local) {
    return local->magazine && local->magazine->depot ? local->pool : NULL;
}

/* Are there parts to be made, and not only contents? */
static inline bool makes_parts(const kolk_shared *pool) {
    return pool->setup || pool->teardown;
}

static inline const char *shared_name(const kolk_shared *pool) {
    return pool->name ? pool->name : "";
}

/* ---- shared_block.c ---------------------------------------------------------------------------------------------- */

/* Makes the block of a pool that has its shape, and points the pool to its regions. `align` is of the objects, which
 * begin `front` bytes behind the region's start; the first slots are committed. On failure nothing is left, and the
 * pool's pointers say nothing. */
kolk_status kolk_shared_make_block(kolk_shared *pool, uint32_t first_slots, size_t align, uint32_t front);
void kolk_shared_end_block(const kolk_shared *pool);

/* Commits the memory of the first slots, up to this number. */
bool kolk_shared_commit(const kolk_shared *pool, uint32_t slots);

/* Bytes that are committed for this number of slots. */
uint64_t kolk_shared_committed(const kolk_shared *pool, uint32_t slots);

/* ---- shared_hooks.c ---------------------------------------------------------------------------------------------- */

/* Sets up the object of a slot, if that has not been done. False: it could not, and the slot is raw. */
bool kolk_shared_set_up(kolk_shared *pool, uint32_t slot, void *object);

/* A raw slot, as one bit of *word; 0: there is none. */
uint64_t kolk_shared_take_raw(kolk_shared *pool, uint32_t *word);

/* Puts a slot that no thread has where others find it, and counts it. */
void kolk_shared_put_free(kolk_shared *pool, uint32_t slot);

static inline bool is_ready(const kolk_shared *pool, uint32_t slot) {
    return kolk_load(kolk_slot_set_word(&pool->ready, slot / 64), KOLK_RELAXED) & kolk_bits_at(slot);
}

/* ---- shared_debug.c ---------------------------------------------------------------------------------------------- */

kolk_failure kolk_shared_failure(const kolk_shared *pool, kolk_status rule, uint32_t slot, const void *site);

/* For what slots share in debug mode: see the table in debug.h. */
void kolk_shared_lock_debug(const kolk_shared *pool);
void kolk_shared_unlock_debug(const kolk_shared *pool);

/* Malloc-backed: as slot_of and object_at, and kolk_debug_search. */
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

/* Proves a slot's red zones and fill, and prepares it for a life: gives its object, or NULL if malloc has none. */
void *kolk_shared_prepare(kolk_local *local, uint32_t slot, const void *site);

/* Are all red zones and fills as they were left? */
bool kolk_shared_is_intact(const kolk_shared *pool);

/* Proves a slot's red zones, with reports, and its fill, if it is to have one. */
void kolk_shared_verify(const kolk_shared *pool, uint32_t slot, bool filled, const void *site);

/* No thread reads the object of an ended life any more: poisons it, and puts its slot into the quarantine or the
 * depot. */
void kolk_shared_put_poisoned(kolk_shared *pool, uint32_t slot);

/* The oldest slot in quarantine, as one bit of *word; 0: there is none. */
uint64_t kolk_shared_take_quarantined(kolk_shared *pool, uint32_t *word);

/* The debug mode of the pool, which has its shape: false if there is no memory for it. */
bool kolk_shared_begin_debug(kolk_shared *pool, const kolk_debug_desc *desc);

void kolk_shared_list_leaks(const void *pool);
void kolk_shared_end_debug(kolk_shared *pool);

/* ---- shared_ask.c ------------------------------------------------------------------------------------------------ */

/* Says what is wrong with this pointer; if it is a free slot's, that this is `if_dead`. */
void kolk_shared_fail_object(const kolk_shared *pool, const void *object, const char *verb, kolk_status if_dead,
                             const void *site);

/* Says that the local has no pool, or that its pool is gone. */
void kolk_shared_fail_local(const kolk_local *local, const void *object, const char *verb, const void *site);

/* ---- shared_trim.c ----------------------------------------------------------------------------------------------- */

/* Puts some slots of a heap's class that nobody has asked for in a while into the depot; false if there are none. */
bool kolk_shared_rouse(kolk_shared *pool);

/* ---- shared_supply.c --------------------------------------------------------------------------------------------- */

/* Free slots of one word, or just one: gives their bits, and the word in *word, where the search begins. 0: at one
 * moment of the call there was none. */
uint64_t kolk_shared_supply(kolk_shared *pool, uint32_t *word, bool only_one);

/* ---- shared_waiters.c -------------------------------------------------------------------------------------------- */

/* A thread that waits for a slot. */
typedef struct kolk_slot_waiter {
    kolk_waiter link; /* first: what is in the queue */
    uint32_t slot;    /* NO_SLOT until it is served */
} kolk_slot_waiter;

/* How often waiters look whether they wait for a thread that has ended. */
#ifndef KOLK_SCHEDULED
#define WAITER_LOOK_NS INT64_C(1000000000)
#else
#define WAITER_LOOK_NS INT64_MAX /* never: in scheduled tests a thread that nobody wakes is to sleep for ever */
#endif

/* The calling thread waits from now on, as the last one. False: the pool is shut down. */
bool kolk_shared_join(kolk_shared *pool, kolk_slot_waiter *me);

/* It waits no more: gives its slot, or NO_SLOT. */
uint32_t kolk_shared_leave(kolk_shared *pool, kolk_slot_waiter *me);

/* Sleeps for WAITER_LOOK_NS, or until the deadline or a wake; false if the deadline has passed. */
bool kolk_shared_sleep(kolk_slot_waiter *me, kolk_deadline deadline);

/* Does it wait no more: has it got a slot, or, if that is NO_SLOT, was the pool shut down? */
static inline bool kolk_shared_is_served(const kolk_slot_waiter *me) {
    return kolk_load(&me->link.woken, KOLK_ACQUIRE); /* partner: kolk_waiter_wake */
}

/* Gives free slots to those who wait, first come, first served. */
void kolk_shared_serve(kolk_shared *pool);

/* After slots were put into the depot, and counted. */
static inline void serve_waiting(kolk_shared *pool) {
    if (KOLK_UNLIKELY(kolk_load(&pool->depot.waiting, KOLK_SEQ_CST)))
        kolk_shared_serve(pool); /* partner: kolk_shared_join */
}

/* ---- shared_reclaim.c -------------------------------------------------------------------------------------------- */

/* The slot whose fill was being proved, if there is one, is free. */
void kolk_shared_put_proving(kolk_shared *pool, kolk_magazine *magazine);

/* Puts the slots of threads that have ended without a word into the depot; `closely`: also of those that the system
 * still knows. */
void kolk_shared_reclaim(kolk_shared *pool, bool closely);

/* ---- shared_epochs.c --------------------------------------------------------------------------------------------- */

/* A slot whose life has ended is to be free later. */
void kolk_shared_retire(kolk_local *local, uint32_t slot);

/* Takes out all slots that are to be free later, while no other thread is at work; false if there are none. */
bool kolk_shared_drain_later(kolk_shared *pool, kolk_slots_taker *taker);

/* If slots wait for epochs to end, and all threads are offline, ends them; true if slots may be free now. */
bool kolk_shared_end_epochs(kolk_local *local);

/* For a thread that waits: if slots are to be free later, reclaims what threads had that have ended, and ends the
 * epochs that these held up. At most once in WAITER_LOOK_NS. */
void kolk_shared_look_for_dead(kolk_local *local);

/* ---- shared_life.c ----------------------------------------------------------------------------------------------- */

/* The object of a slot that only the calling thread has; NULL if malloc should have given it, and has none, or if its
 * setup has failed. */
void *kolk_shared_begin_life(kolk_local *local, uint32_t slot, const void *site);

/* Ends the life of an object, which `site` frees, and gives its slot; NO_SLOT, and a report, if it is none, or if
 * another thread was first. */
uint32_t kolk_shared_end_life(const kolk_shared *pool, const void *object, const void *site);

/* ---- shared_end.c ------------------------------------------------------------------------------------------------ */

/* Runs the hooks that are due at the end of the pool. */
void kolk_shared_end_lives(kolk_shared *pool, const void *site);

/* Gives the block back, but for a few pages if locals of running threads are left over: these know from now on that
 * their pool is gone. */
void kolk_shared_end_memory(const kolk_shared *pool);

#endif
