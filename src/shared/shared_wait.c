/* shared_wait.c: threads that wait for an object of a shared pool.
 *
 * They stand in a line. Nothing else would be first come, first served: a slot that comes home can be taken by anybody. So who
 * has brought slots home looks at `waiting`, and, if somebody does, gives them out under the line's lock, one by one, to the
 * first in line, until none is left at home. Who lines up does the same, before sleeping.
 *
 * No lost wake-up: to line up is to count oneself in `waiting` and then to look at `returns` and the words; to bring home is to
 * write the words, to count in `returns` and then to look at `waiting`; all in the one order of sequentially consistent
 * operations. So at least one of the two sees the other (Dekker), and while anybody is in line nobody has ended bringing slots
 * home that are still there.
 *
 * Frees that keep their slot at hand do not come here. But while somebody waits the pool is direct (shared.c), and nobody does
 * so: who lines up lowers all bounds first. A free that began before may still go into its thread's magazine: then at least
 * max_capacity objects were alive, without it. */
#include "shared_inside.h"

#if __STDC_HOSTED__

#include "../core/wait_queue.h"
#include "../os/lock.h"

/* A thread that waits for a slot. */
typedef struct slot_waiter {
    kolk_waiter link; /* first: what is in the queue */
    uint32_t slot;
} slot_waiter;

/* The threads that waited when a process forked are not in its child. */
static void lock_waiters(kolk_shared *pool) {
    kolk_lock_word(&pool->waiters_lock);
    uint32_t forks = kolk_forks();
    if (pool->waiters_forks == forks) return;
    pool->waiters_forks = forks;
    pool->waiters = (kolk_wait_queue){NULL, NULL};
    kolk_store(&pool->depot.waiting, 0, KOLK_SEQ_CST);
}

/* It counts itself first, so that a fork's child, which finds only this one in the queue, looks too. */
static void join_waiters(kolk_shared *pool, slot_waiter *me) {
    lock_waiters(pool);
    kolk_fetch_add(&pool->depot.waiting, 1, KOLK_SEQ_CST); /* partner: serve_waiting */
    kolk_waiter_join(&pool->waiters, &me->link);
    kolk_unlock_word(&pool->waiters_lock);
}

/* Under the lock. */
static void leave_waiters(kolk_shared *pool, const slot_waiter *one) {
    kolk_waiter_leave(&pool->waiters, &one->link);
    kolk_fetch_sub(&pool->depot.waiting, 1, KOLK_SEQ_CST);
}

void kolk_shared_serve(kolk_shared *pool) {
    uint64_t bits;
    uint32_t word = 0;
    lock_waiters(pool);
    while (pool->waiters.first && (bits = kolk_shared_fetch(pool, &word, true))) {
        slot_waiter *one = (slot_waiter *)(void *)pool->waiters.first;
        leave_waiters(pool, one);
        one->slot = kolk_depot_slot(&pool->depot, word, bits);
        kolk_waiter_wake(&one->link); /* it may return now */
    }
    kolk_unlock_word(&pool->waiters_lock);
}

static bool has_slot(const slot_waiter *me) {
    return kolk_load(&me->link.woken, KOLK_ACQUIRE); /* partner: kolk_waiter_wake */
}

/* Sleeps for a second, or until the deadline or a wake; false if the deadline has passed. */
static bool sleep_a_while(slot_waiter *me, kolk_deadline deadline) {
    kolk_deadline look = kolk_deadline_after(LOOK_NS / 1000000);
    bool is_last = deadline.ns <= look.ns;
    return kolk_waiter_sleep(&me->link, is_last ? deadline : look) || !is_last;
}

/* A slot that comes home, or NO_SLOT. */
static uint32_t wait_in_line(kolk_local *local, kolk_deadline deadline) {
    kolk_shared *pool = local->pool;
    slot_waiter me = {.slot = NO_SLOT};
    kolk_store(&me.link.woken, 0, KOLK_RELAXED);
    join_waiters(pool, &me);
    kolk_depot_go_uncached(&pool->depot);
    kolk_shared_end_epochs(local);
    kolk_shared_serve(pool);
    for (bool in_time = true; in_time && !has_slot(&me);) {
        in_time = sleep_a_while(&me, deadline);
        if (!kolk_load(&me.link.woken, KOLK_RELAXED)) kolk_shared_mind_the_dead(local);
    }
    if (has_slot(&me)) return me.slot;
    lock_waiters(pool);
    if (!kolk_load(&me.link.woken, KOLK_RELAXED)) leave_waiters(pool, &me);
    kolk_unlock_word(&pool->waiters_lock);
    return me.slot;
}

void *kolk_shared_alloc(kolk_local *local, kolk_deadline deadline, const void *site) {
    kolk_shared *pool = local->pool;
    bool waits = deadline.ns > 0;
    if (!pool) return NULL;
    if (pool->debug && kolk_debug_fails(pool->debug)) return kolk_shared_fail_alloc(local);
    bool has_one = kolk_magazine_count(local->magazine) || local->magazine->proving;
    bool lines_up = waits && !has_one && kolk_load(&pool->depot.waiting, KOLK_RELAXED);
    uint32_t slot = lines_up ? NO_SLOT : kolk_shared_take(local);
    if (slot == NO_SLOT && waits) slot = wait_in_line(local, deadline);
    return slot == NO_SLOT ? kolk_shared_fail_alloc(local) : kolk_shared_begin_life(local, slot, site);
}

void *kolk_local_alloc_wait(kolk_local *local, kolk_deadline deadline) {
    return kolk_shared_alloc(local, deadline, SITE);
}

#else

typedef int kolk_shared_wait_is_empty_here; /* a translation unit may not be */

#endif
