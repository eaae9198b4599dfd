/* shared.c: one pool, many threads. This is its top floor: what alloc and free do when the fast paths of shared.inl
 * cannot.
 *
 *     slots      | 0 | 1 | 2 | ......... | fresh | ....... | usable | (reserved, not committed) |
 *     lives      32 or 8 bits a slot: how often a life began or ended there; odd while it lasts
 *     depot      the free slots that no thread has (depot.h)
 *     magazines  for each thread, a stack of free slots (magazine.h)
 *     later      four sets of freed slots that are not to be used yet (shared_epochs.c)
 *     waiters    threads that wait for a slot (shared_waiters.c)
 *     ready      1 bit a slot that is set up, and raw, free slots that are not (shared_hooks.c)
 *
 * The floors, each of which calls only those below:
 *
 *     shared.c                                      alloc and free
 *     shared_local.c  shared_memory.c  shared_valid.c     locals; init and deinit; the invariants
 *     shared_life.c                                 a life begins and ends
 *     shared_end.c                                  all lives end, with their pool
 *     shared_epochs.c                               deferred free
 *     shared_reclaim.c                              what threads had that have ended
 *     shared_waiters.c                              threads that wait
 *     shared_supply.c                               free slots: from the depot, from new memory, from quarantine
 *     shared_ask.c                                  questions, reports, statistics
 *     shared_debug.c  shared_hooks.c                the debug mode; objects that are made once
 *     shared_block.c                                the block of memory
 *     member.c  magazine.c  depot.c                 threads, magazines and depots, which know no pools and objects
 *     core/slot_set.h  core/wait_queue.h
 *
 * The life of one object. Its slot was never used. A thread whose magazine is empty takes it, together with all others
 * of one word, into its magazine. alloc pops it, and adds one to its life, which is odd now. Another thread frees the
 * object: it adds one to the life and pushes the slot on its own magazine. That becomes full some time, so the slot
 * goes to the depot with the oldest half, where the next thread finds it. So most calls touch one magazine only, and
 * about every 32nd does one to three atomic operations.
 *
 * How many can be alive. Slots in magazines cannot be found by other threads. So there are max_capacity + slack slots,
 * and slack is (max_threads - 1) * cache. When a thread with an empty magazine has proved that the depot is empty
 * (depot.h), the other threads have at most `slack` free slots, and so at least max_capacity objects are alive or to be
 * free later. That is what NULL means. The depot is uncached for a while then, so that slots do not stay in magazines
 * while others need them.
 *
 * Invariants (kolk_shared_is_valid, while nobody is at work):
 *     I1  fresh <= usable <= max_capacity + slack
 *     I2  each slot below fresh is alive, or in the depot, or in one magazine, or in one set of those to be free later,
 *         or raw, or in the debug mode's quarantine; above, none is anywhere
 *     I3  a word that is not 0 has its bit in the summary
 *     I4  no magazine has more than `cache` entries, and cache has room for a word
 *     I5  no thread waits
 *     I6  slots that are to be free later are of the last three epochs
 *     I7  red zones and fills are as the debug mode left them
 *     I8  with setup or teardown, each slot below fresh is either raw or ready */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../core/probes.h"

/* Emit each function of shared.inl once. */
extern inline uint32_t *kolk_magazine_entry(kolk_magazine *magazine, uint32_t n);
extern inline void *kolk_local_alloc_sized(kolk_local *local, size_t stride);
extern inline void *kolk_local_alloc(kolk_local *local);
extern inline void kolk_local_free_slot(kolk_local *local, void *object, uintptr_t index);
extern inline void kolk_local_free(kolk_local *local, void *object);
extern inline void kolk_local_free_sized(kolk_local *local, void *object, size_t stride);
extern inline void *kolk_shared_get_sized(const kolk_shared *pool, kolk_handle handle, size_t stride);
extern inline void *kolk_shared_get(const kolk_shared *pool, kolk_handle handle);

/* ---- Alloc ------------------------------------------------------------------------------------------------------- */

/* One slot of the depot, or NO_SLOT. The others of its word fill the magazine, which is empty. */
static uint32_t take_from_depot(kolk_local *local) {
    kolk_shared *pool = local->pool;
    kolk_magazine *magazine = local->magazine;
    uint64_t bits = kolk_shared_supply(pool, &magazine->next_word, kolk_depot_is_uncached(&pool->depot));
    uint64_t others = bits & (bits - 1);
    if (others) kolk_magazine_fill(magazine, others);
    kolk_magazine_set_bound(magazine);
    serve_waiting(pool);
    return bits ? kolk_depot_slot(&pool->depot, magazine->next_word, bits) : NO_SLOT;
}

/* A free slot, or NO_SLOT: then the depot was empty at one moment of the call. */
static uint32_t take_free_slot(kolk_local *local) {
    kolk_magazine *magazine = local->magazine;
    if (magazine->proving) return magazine->proving - 1;
    if (kolk_magazine_count(magazine)) return kolk_magazine_pop(magazine);
    uint32_t slot = take_from_depot(local);
    return slot == NO_SLOT && kolk_shared_end_epochs(local) ? take_from_depot(local) : slot;
}

/* The next slot for a thread that waits, or NO_SLOT after the deadline; false: the pool was shut down. It joins first.
 * Then it makes others put what they free into the depot, ends the epochs that nobody else would end, and serves the
 * queue itself: see shared_waiters.c. */
static KOLK_NOINLINE bool wait_for_slot(kolk_local *local, kolk_deadline deadline, uint32_t *slot) {
    kolk_shared *pool = local->pool;
    kolk_slot_waiter me;
    if (!kolk_shared_join(pool, &me)) return false;
    kolk_depot_go_uncached(&pool->depot);
    kolk_shared_end_epochs(local);
    kolk_shared_serve(pool);
    for (bool in_time = true; in_time && !kolk_shared_is_served(&me);) {
        in_time = kolk_shared_sleep(&me, deadline);
        if (!kolk_load(&me.link.woken, KOLK_RELAXED)) kolk_shared_look_for_dead(local);
    }
    *slot = kolk_shared_leave(pool, &me);
    return *slot != NO_SLOT || !kolk_shared_is_served(&me);
}

/* Counts an alloc that gives NULL. The depot goes uncached. */
static void *fail_alloc(const kolk_local *local) {
    uint64_t *failed = &local->magazine->failed;
    kolk_store(failed, *failed + 1, KOLK_RELAXED); /* partner: kolk_shared_stats */
    PROBE2(full, shared_name(local->pool), local->pool->capacity);
    kolk_depot_go_uncached(&local->pool->depot);
    return NULL;
}

/* A local that was never made, or could not be, is no bug. */
static void *alloc_of_no_pool(const kolk_local *local, const void *site) {
    if (local->magazine) kolk_shared_fail_local(local, NULL, "alloc", site);
    return NULL;
}

/* An object, or NULL after the deadline; with KOLK_NOW nobody waits. While others wait, a thread that has no slot of
 * its own and would wait too joins at once: it may not overtake them. */
static void *alloc_until(kolk_local *local, kolk_deadline deadline, const void *site) {
    kolk_shared *pool = pool_of(local);
    bool waits = deadline.ns > 0;
    if (!pool) return alloc_of_no_pool(local, site);
    if (waits && kolk_load(&pool->is_shut, KOLK_SEQ_CST)) return NULL;
    if (pool->debug && kolk_debug_fails(pool->debug)) return fail_alloc(local);
    bool has_one = kolk_magazine_count(local->magazine) || local->magazine->proving;
    bool joins_at_once = waits && !has_one && kolk_load(&pool->depot.waiting, KOLK_RELAXED);
    uint32_t slot = joins_at_once ? NO_SLOT : take_free_slot(local);
    if (slot == NO_SLOT && waits && !wait_for_slot(local, deadline, &slot)) return NULL;
    void *object = slot == NO_SLOT ? NULL : kolk_shared_begin_life(local, slot, site);
    return object ? object : fail_alloc(local);
}

KOLK_NOINLINE void *kolk_local_alloc_slow(kolk_local *local) {
    return alloc_until(local, KOLK_NOW, SITE);
}

KOLK_NOINLINE void *kolk_local_alloc_short(kolk_local *local) {
    kolk_magazine *magazine = local->magazine;
    if (KOLK_UNLIKELY(!magazine || magazine->top == 0)) return alloc_until(local, KOLK_NOW, SITE);
    uint32_t slot = kolk_magazine_pop(magazine);
    uint8_t *life = &magazine->short_lives[slot];
    kolk_store(life, (uint8_t)(kolk_load(life, KOLK_RELAXED) + 1), KOLK_RELAXED);
    return magazine->slots + (size_t)slot * magazine->stride;
}

void *kolk_shared_alloc_at(kolk_local *local, const void *site) {
    return alloc_until(local, KOLK_NOW, site);
}

KOLK_NOINLINE void *kolk_local_alloc_wait(kolk_local *local, kolk_deadline deadline) {
    return alloc_until(local, deadline, SITE);
}

/* ---- Free -------------------------------------------------------------------------------------------------------- */

/* Makes room in the magazine for one slot more; true if the depot is uncached, so that the magazine is to stay
 * empty. */
static bool make_room_for_one(kolk_shared *pool, kolk_magazine *magazine) {
    bool uncached = kolk_depot_is_uncached(&pool->depot);
    uint32_t count = kolk_magazine_count(magazine), leave = 0;
    if (uncached)
        leave = count;
    else if (count == magazine->cache)
        leave = (count + 1) / 2;
    kolk_magazine_set_bound(magazine);
    if (leave) {
        kolk_magazine_put_oldest(magazine, leave);
        serve_waiting(pool);
    }
    return uncached;
}

/* A reset hook may have used the magazine: so there has to be room again. */
void kolk_shared_free_at(kolk_local *local, void *object, const void *site) {
    kolk_shared *pool = pool_of(local);
    kolk_magazine *magazine = local->magazine;
    if (!object) return;
    if (!pool) {
        kolk_shared_fail_local(local, object, "free", site);
        return;
    }
    bool uncached = make_room_for_one(pool, magazine);
    uint32_t slot = kolk_shared_end_life(pool, object, site);
    if (slot == NO_SLOT) return;
    if (pool->reset) {
        pool->reset(object, pool->context);
        uncached = make_room_for_one(pool, magazine);
    }
    if (pool->debug)
        kolk_shared_put_poisoned(pool, slot);
    else if (uncached)
        kolk_depot_put(&pool->depot, slot);
    else
        kolk_magazine_push(magazine, slot);
    if (uncached) serve_waiting(pool);
}

KOLK_NOINLINE void kolk_local_free_slow(kolk_local *local, void *object) {
    kolk_shared_free_at(local, object, SITE);
}

KOLK_NOINLINE void kolk_local_free_short(kolk_local *local, void *object) {
    kolk_magazine *magazine = local->magazine;
    uintptr_t slot =
        magazine ? kolk_exact_slot((uintptr_t)object - (uintptr_t)magazine->slots, magazine->shift, magazine->inverse)
                 : NO_SLOT;
    bool easy = magazine && slot < kolk_load(&magazine->bound, KOLK_RELAXED) && magazine->top != magazine->cache;
    uint8_t life = 0;
    if (easy) life = kolk_load(&magazine->short_lives[slot], KOLK_RELAXED);
    if (KOLK_UNLIKELY(!(life & 1))) {
        kolk_shared_free_at(local, object, SITE);
        return;
    }
    kolk_store(&magazine->short_lives[slot], (uint8_t)(life + 1), KOLK_RELAXED);
    kolk_magazine_push(magazine, (uint32_t)slot);
}

void kolk_shared_free_alone(kolk_shared *pool, void *object, const void *site) {
    uint32_t slot = kolk_shared_end_life(pool, object, site);
    if (slot == NO_SLOT) return;
    if (pool->debug)
        kolk_shared_put_poisoned(pool, slot);
    else
        kolk_depot_put(&pool->depot, slot);
}

KOLK_NOINLINE void kolk_local_free_later(kolk_local *local, void *object) {
    kolk_shared *pool = pool_of(local);
    if (!object) return;
    if (!pool) {
        kolk_shared_fail_local(local, object, "free", SITE);
        return;
    }
    uint32_t slot = kolk_shared_end_life(pool, object, SITE);
    if (slot != NO_SLOT) kolk_shared_retire(local, slot);
}

#endif
