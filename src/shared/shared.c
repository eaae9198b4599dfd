/* shared.c: a pool that many threads share. This file is its top floor: the slow paths of alloc and free. shared.inl
 * has the fast paths.
 *
 *     store      slots and their lives, the free slots, and each thread's magazine (src/store)
 *     LATER      four sets of freed slots that may not be used yet (shared_epochs.c)
 *     waiters    threads that wait for a slot (shared_waiters.c)
 *     READY      the slots that are set up; RAW: the free slots that are not (shared_memory.c)
 *
 * All of that is in the pool's block; the program's struct has the fields that the fast paths need.
 *
 * The floors, each of which calls only those below:
 *
 *     shared.c                          alloc and free
 *     shared_memory.c                   init and deinit, of pools and of locals
 *     shared_end.c                      all lives end, at a clear or with their pool
 *     shared_epochs.c                   deferred free; slots of threads that have ended
 *     shared_waiters.c                  threads that wait
 *     shared_ask.c                      questions, statistics, the invariants
 *     src/store                         slots that threads share
 *
 * How many objects can be alive. The slots in a thread's magazine cannot be found by other threads. So the pool has
 * max_capacity + slack slots, where slack is (max_threads - 1) * cache. When a thread with an empty magazine has proved
 * that the depot is empty (depot.h), the other threads have at most `slack` free slots, so at least max_capacity slots
 * have live objects or will be free later. This is what it means when an alloc returns NULL. Afterwards the depot is
 * uncached for a while, so that slots do not stay in magazines while other threads need them.
 *
 * Invariants (kolk_shared_is_valid, while no thread is at work):
 *     I1  the store is valid (store.h), and its sets contain only slots below fresh
 *     I2  no thread waits
 *     I3  slots that will be free later belong to the last three epochs
 *     I4  with setup or teardown, each slot below fresh is either raw or ready */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/probes.h"
#include "../core/tools.h"

/* Emit each function of shared.inl once. */
extern inline uint32_t *kolk_magazine_entry_(kolk_magazine_ *magazine, uint32_t n);
extern inline void *kolk_shared_alloc_sized_(kolk_shared_local *local, size_t stride);
extern inline void *kolk_shared_alloc(kolk_shared_local *local);
extern inline void *kolk_shared_take_sized_(kolk_shared_local *local, size_t stride, uint32_t **life);
extern inline void kolk_shared_begin_(kolk_shared_local *local, void *object, uint32_t *life);
extern inline void kolk_shared_free_slot_(kolk_shared_local *local, void *object, uintptr_t index);
extern inline void kolk_shared_free(kolk_shared_local *local, void *object);
extern inline void kolk_shared_free_sized_(kolk_shared_local *local, void *object, size_t stride);
extern inline void *kolk_shared_get_sized_(const kolk_shared *pool, kolk_handle handle, size_t stride);
extern inline void *kolk_shared_get(const kolk_shared *pool, kolk_handle handle);
extern inline kolk_status kolk_shared_init(kolk_shared *pool, const kolk_shared_desc *desc);
extern inline kolk_status kolk_shared_rebind(kolk_shared *pool, const kolk_shared_desc *desc);

/* ---- Alloc ------------------------------------------------------------------------------------------------------- */

/* Takes a free slot. KOLK_NO_SLOT_: the depot was empty at some moment during the call. */
static uint32_t take_free_slot(kolk_shared_local *local) {
    uint32_t slot;
    do {
        slot = kolk_store_take_(&local->pool->store, local->magazine);
        serve_waiting(local->pool);
    } while (slot == KOLK_NO_SLOT_ && kolk_shared_end_epochs_(local));
    return slot;
}

static bool run_shared_setup(const kolk_shared_local *local, void *object) {
    const kolk_shared_inside_ *pool = local->pool;
    if (!pool->life.setup) return true;
    uint32_t before = enter_shared_hook(keeper_of(local));
    bool done = pool->life.setup(object, pool->context);
    leave_shared_hook(keeper_of(local), before);
    return done;
}

/* Prepares an object for its life, in a slot that only the calling thread has. NULL: malloc or setup failed. */
static void *prepare(kolk_shared_local *local, uint32_t slot, const void *site) {
    kolk_shared_inside_ *pool = local->pool;
    void *object = kolk_store_prepare_(&pool->store, local->magazine, slot, site);
    if (!object || !makes_parts(pool) || is_ready(pool, slot)) return object;
    if (run_shared_setup(local, object)) {
        kolk_slot_set_put_(&pool->store.sets[READY], slot / 64, kolk_bits_at_(slot));
        return object;
    }
    pool->store.put_back(&pool->store, slot);
    serve_waiting(pool);
    return NULL;
}

/* Waits for a slot and stores it in *slot, or stores KOLK_NO_SLOT_ if the deadline passes. False: the pool was shut
 * down. The thread first joins the queue. Then it makes the depot uncached, ends the epochs that no other thread would
 * end, and serves the queue itself (see shared_waiters.c). */
static KOLK_NOINLINE_ bool wait_for_slot(kolk_shared_local *local, kolk_deadline deadline, uint32_t *slot) {
    kolk_shared_inside_ *pool = local->pool;
    kolk_slot_waiter_ me;
    if (!kolk_shared_join_(pool, &me)) return false;
    PROBE2(wait, pool->store.name, "alloc");
    kolk_magazines_go_uncached_(&pool->store.depot);
    kolk_shared_end_epochs_(local);
    kolk_shared_serve_(pool);
    for (bool in_time = true; in_time && !kolk_shared_is_served_(&me);) {
        kolk_deadline look = kolk_deadline_after(WAITER_LOOK_NS / 1000000);
        bool is_last = deadline.ns <= look.ns;
        in_time = kolk_waiter_sleep_(&me.link, is_last ? deadline : look) || !is_last;
        if (!kolk_load_(&me.link.woken, KOLK_RELAXED_)) kolk_shared_look_for_dead_(local);
    }
    *slot = kolk_shared_leave_(pool, &me);
    bool is_shut = *slot == KOLK_NO_SLOT_ && kolk_shared_is_served_(&me);
    PROBE3(waited, pool->store.name, "alloc",
           is_shut                  ? KOLK_SHUTDOWN
           : *slot == KOLK_NO_SLOT_ ? KOLK_TIMEOUT
                                    : KOLK_OK);
    return !is_shut;
}

/* Takes a slot for an object whose life has not begun; returns NULL if the deadline passes first. With KOLK_NOW it does
 * not wait. If other threads are waiting, a thread that would also wait and has no slot in its magazine joins the queue
 * immediately, because it must not overtake them. */
static void *take_until(kolk_shared_local *local, kolk_deadline deadline, uint32_t *slot, const void *site) {
    kolk_shared_inside_ *pool = pool_of(local);
    bool waits = deadline.ns > 0;
    *slot = KOLK_NO_SLOT_;
    if (!pool && local->magazine) kolk_shared_fail_local_(local, NULL, "alloc", site);
    if (!pool) return NULL; /* a local that was never made, or whose init failed, is not a bug */
    if (waits && (kolk_shared_is_barred_(local, "alloc_wait", site) || kolk_load_(&pool->is_shut, KOLK_SEQ_CST_)))
        return NULL;
    if (pool->tears_down) return NULL;
    if (pool->store.debug && kolk_debug_fails_(pool->store.debug))
        return kolk_store_fail_alloc_(&pool->store, local->magazine);
    bool has_one = kolk_magazine_count_(local->magazine) || local->magazine->proving;
    bool joins_at_once = waits && !has_one && kolk_load_(&pool->store.depot.waiting, KOLK_RELAXED_);
    if (!joins_at_once) *slot = take_free_slot(local);
    if (*slot == KOLK_NO_SLOT_ && waits && !wait_for_slot(local, deadline, slot)) return NULL;
    void *object = *slot == KOLK_NO_SLOT_ ? NULL : prepare(local, *slot, site);
    return object ? object : kolk_store_fail_alloc_(&pool->store, local->magazine);
}

static void *alloc_until(kolk_shared_local *local, kolk_deadline deadline, const void *site) {
    uint32_t slot;
    void *object = take_until(local, deadline, &slot, site);
    if (object) kolk_store_begin_life_(&local->pool->store, slot, object, site);
    return object;
}

KOLK_NOINLINE_ void *kolk_shared_alloc_slow_(kolk_shared_local *local) {
    return alloc_until(local, KOLK_NOW, SITE);
}

KOLK_NOINLINE_ void *kolk_shared_alloc_short_(kolk_shared_local *local) {
    kolk_magazine_ *magazine = local->magazine;
    if (KOLK_UNLIKELY_(!magazine || magazine->top == 0)) return alloc_until(local, KOLK_NOW, SITE);
    uint32_t slot = kolk_magazine_pop_(magazine);
    uint8_t *life = &magazine->short_lives[slot];
    kolk_store_(life, (uint8_t)(kolk_load_(life, KOLK_RELAXED_) + 1), KOLK_RELAXED_);
    return magazine->slots + (size_t)slot * magazine->stride;
}

KOLK_NOINLINE_ void *kolk_shared_alloc_wait(kolk_shared_local *local, kolk_deadline deadline) {
    return alloc_until(local, deadline, SITE);
}

KOLK_NOINLINE_ void *kolk_shared_take_slow_(kolk_shared_local *local, kolk_deadline deadline) {
    uint32_t slot;
    return take_until(local, deadline, &slot, SITE);
}

KOLK_NOINLINE_ void kolk_shared_begin_slow_(kolk_shared_local *local, void *object) {
    kolk_slot_store_ *store = &local->pool->store;
    kolk_store_begin_life_(store, (uint32_t)kolk_store_slot_of_(store, object), object, SITE);
}

/* Without setup, teardown and the debug mode, the magazine's slots and whole words of the depot are handed out here.
 * For everything else, including the last slots and the proof that there is none, alloc_until is called. */
KOLK_NOINLINE_ uint32_t kolk_shared_alloc_n(kolk_shared_local *local, void **objects, uint32_t n) {
    kolk_shared_inside_ *pool = pool_of(local);
    bool is_plain = pool && !pool->store.debug && !makes_parts(pool);
    uint32_t count = 0;
    while (count < n) {
        if (is_plain) {
            count += kolk_store_alloc_n_(&pool->store, local->magazine, objects + count, n - count);
            serve_waiting(pool);
            if (count == n) break;
        }
        if (!(objects[count] = alloc_until(local, KOLK_NOW, SITE))) break;
        count++;
    }
    kolk_tools_wrote_(objects, count * sizeof *objects);
    return count;
}

/* ---- Free -------------------------------------------------------------------------------------------------------- */

/* Like kolk_store_make_room_, but also serves the waiters. */
static bool make_room_for_one(kolk_shared_inside_ *pool, kolk_magazine_ *magazine) {
    bool uncached = kolk_store_make_room_(&pool->store, magazine, 1);
    serve_waiting(pool);
    return uncached;
}

static KOLK_NOINLINE_ void run_shared_reset(const kolk_shared_local *local, void *object) {
    uint32_t before = enter_shared_hook(keeper_of(local));
    local->pool->life.reset(object, local->pool->context);
    leave_shared_hook(keeper_of(local), before);
}

/* A reset hook may use the magazine, so room is made again after it. */
static void free_at(kolk_shared_local *local, void *object, const void *site) {
    kolk_shared_inside_ *pool = pool_of(local);
    kolk_magazine_ *magazine = local->magazine;
    if (!object) return;
    if (!pool) {
        kolk_shared_fail_local_(local, object, "free", site);
        return;
    }
    bool uncached = make_room_for_one(pool, magazine);
    uint32_t slot = kolk_store_end_life_(&pool->store, object, site);
    if (slot == KOLK_NO_SLOT_) return;
    if (pool->life.reset) {
        run_shared_reset(local, object);
        uncached = make_room_for_one(pool, magazine);
    }
    kolk_store_put_(&pool->store, magazine, slot, uncached);
    if (uncached) serve_waiting(pool);
}

KOLK_NOINLINE_ void kolk_shared_give_up_(kolk_shared_local *local, void *object) {
    kolk_shared_inside_ *pool = local->pool;
    uint32_t slot = (uint32_t)kolk_store_slot_of_(&pool->store, object);
    bool uncached = make_room_for_one(pool, local->magazine);
    kolk_store_put_(&pool->store, local->magazine, slot, uncached);
    if (uncached) serve_waiting(pool);
}

KOLK_NOINLINE_ void kolk_shared_free_slow_(kolk_shared_local *local, void *object) {
    free_at(local, object, SITE);
}

/* Without a reset hook and the debug mode, the store frees many objects at once. The others are freed one by one. */
KOLK_NOINLINE_ void kolk_shared_free_n(kolk_shared_local *local, void *const *objects, uint32_t n) {
    kolk_shared_inside_ *pool = pool_of(local);
    bool is_plain = pool && !pool->store.debug && !pool->life.reset;
    for (uint32_t at = 0; at < n; at++) {
        if (is_plain) {
            at += kolk_store_free_n_(&pool->store, local->magazine, objects + at, n - at);
            serve_waiting(pool);
            if (at == n) break;
        }
        free_at(local, objects[at], SITE);
    }
}

KOLK_NOINLINE_ void kolk_shared_free_short_(kolk_shared_local *local, void *object) {
    kolk_magazine_ *magazine = local->magazine;
    uintptr_t slot =
        magazine ? kolk_exact_slot_((uintptr_t)object - (uintptr_t)magazine->slots, magazine->shift, magazine->inverse)
                 : KOLK_NO_SLOT_;
    bool easy = magazine && slot < kolk_load_(&magazine->bound, KOLK_RELAXED_) && magazine->top != magazine->cache;
    uint8_t life = 0;
    if (easy) life = kolk_load_(&magazine->short_lives[slot], KOLK_RELAXED_);
    if (KOLK_UNLIKELY_(!(life & 1))) {
        free_at(local, object, SITE);
        return;
    }
    kolk_store_(&magazine->short_lives[slot], (uint8_t)(life + 1), KOLK_RELAXED_);
    kolk_magazine_push_(magazine, (uint32_t)slot);
}

KOLK_NOINLINE_ void kolk_shared_free_later(kolk_shared_local *local, void *object) {
    kolk_shared_inside_ *pool = pool_of(local);
    if (!object) return;
    if (!pool) {
        kolk_shared_fail_local_(local, object, "free", SITE);
        return;
    }
    uint32_t slot = kolk_store_end_life_(&pool->store, object, SITE);
    if (slot != KOLK_NO_SLOT_) kolk_shared_retire_(local, slot);
}

#endif
