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

#include "../os/lock.h"
#include "../os/sleep.h"

/* Who waits, on its own stack. */
typedef struct kolk_in_line {
    uint32_t served; /* what it sleeps on while it is 0 */
    uint32_t slot;
    struct kolk_in_line *before, *behind;
} waiter;

/* The threads that were in line when a process forked are not in its child. */
static void lock_line(kolk_shared *pool) {
    kolk_lock_word(&pool->line_lock);
    uint32_t forks = kolk_forks();
    if (pool->line_forks == forks) return;
    pool->line_forks = forks;
    pool->first = pool->last = NULL;
    kolk_store(&pool->waiting, 0, KOLK_SEQ_CST);
}

/* It counts itself first, so that a fork's child, which finds nobody but this in line, looks too. */
static void line_up(kolk_shared *pool, waiter *me) {
    lock_line(pool);
    kolk_fetch_add(&pool->waiting, 1, KOLK_SEQ_CST); /* partner: serve_waiting */
    me->before = pool->last;
    *(me->before ? &me->before->behind : &pool->first) = me;
    pool->last = me;
    kolk_unlock_word(&pool->line_lock);
}

static void leave(kolk_shared *pool, waiter *one) {
    *(one->before ? &one->before->behind : &pool->first) = one->behind;
    *(one->behind ? &one->behind->before : &pool->last) = one->before;
    kolk_fetch_sub(&pool->waiting, 1, KOLK_SEQ_CST);
}

void kolk_shared_serve(kolk_shared *pool) {
    uint64_t bits;
    uint32_t word = 0;
    lock_line(pool);
    while (pool->first && (bits = kolk_shared_fetch(pool, &word, true))) {
        waiter *one = pool->first;
        leave(pool, one);
        one->slot = first_slot(pool, word, bits);
        kolk_store(&one->served, 1, KOLK_RELEASE); /* it may return now */
        kolk_wake(&one->served, 1);                /* then nobody sleeps there, or wakes for no reason */
    }
    kolk_unlock_word(&pool->line_lock);
}

/* For a second, or until the deadline or a wake; false if the deadline has passed. */
static bool sleep_a_while(waiter *me, kolk_deadline deadline) {
    kolk_deadline look = kolk_deadline_after(LOOK_NS / 1000000);
    bool is_last = deadline.ns <= look.ns;
    return kolk_wait(&me->served, 0, is_last ? deadline : look) || !is_last;
}

/* A slot that comes home, or NO_SLOT. */
static uint32_t wait_in_line(kolk_local *local, kolk_deadline deadline) {
    kolk_shared *pool = local->pool;
    waiter me = {.slot = NO_SLOT};
    kolk_store(&me.served, 0, KOLK_RELAXED);
    line_up(pool, &me);
    kolk_shared_go_direct(pool);
    kolk_shared_end_epochs(local);
    kolk_shared_serve(pool);
    for (bool in_time = true; in_time && !kolk_load(&me.served, KOLK_ACQUIRE);) {
        in_time = sleep_a_while(&me, deadline);
        if (!kolk_load(&me.served, KOLK_RELAXED)) kolk_shared_mind_the_dead(local);
    }
    if (kolk_load(&me.served, KOLK_ACQUIRE)) return me.slot;
    lock_line(pool);
    if (!kolk_load(&me.served, KOLK_RELAXED)) leave(pool, &me);
    kolk_unlock_word(&pool->line_lock);
    return me.slot;
}

void *kolk_shared_alloc(kolk_local *local, kolk_deadline deadline, const void *site) {
    kolk_shared *pool = local->pool;
    bool waits = deadline.ns > 0;
    if (!pool) return NULL;
    if (pool->debug && kolk_debug_fails(pool->debug)) return kolk_shared_fail_alloc(local);
    bool has_one = held_by(local->magazine) || local->magazine->held;
    bool lines_up = waits && !has_one && kolk_load(&pool->waiting, KOLK_RELAXED);
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
