/* shared_waiters.c: threads that wait for a slot of a shared pool, first come, first served.
 *
 * A slot in the depot can be taken by any thread. So a thread that has put slots there reads `waiting`. If it is not 0,
 * the thread takes slots out one by one, under the lock of the queue, and gives each to the first waiter, until there
 * is no slot or no waiter left. A thread that joins the queue does the same before it sleeps.
 *
 * No wake-up is lost. A thread that joins counts itself in `waiting`, and then reads `returns` and the depot's words. A
 * thread that puts slots writes the words, increments `returns`, and then reads `waiting`. All these operations are
 * sequentially consistent, so at least one of the two threads sees what the other wrote (Dekker). Therefore, while a
 * thread is in the queue, the slots of every finished put have left the depot.
 *
 * A shutdown wakes all waiters, under the lock and without giving them a slot. Afterwards no thread joins.
 *
 * A free that pushes its slot on a magazine does not serve the waiters. But while a thread waits, the depot is
 * uncached, and a thread that joins lowers all bounds before it sleeps. A free that began earlier may still push its
 * slot on its magazine. In that case, at least max_capacity other objects were alive. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../os/lock.h"

/* The threads that wait in the parent do not exist in a fork's child, so the child starts with an empty queue. */
static void lock_waiters(kolk_shared_inside_ *pool) {
    kolk_lock_word_(&pool->waiters_lock);
    uint32_t forks = kolk_forks_();
    if (pool->waiters_forks == forks) return;
    pool->waiters_forks = forks;
    pool->waiters = (kolk_wait_queue_){NULL, NULL};
    kolk_store_(&pool->store.depot.waiting, 0, KOLK_SEQ_CST_);
}

/* Call this under the lock. */
static void remove_waiter(kolk_shared_inside_ *pool, const kolk_slot_waiter_ *one) {
    kolk_waiter_leave_(&pool->waiters, &one->link);
    kolk_fetch_sub_(&pool->store.depot.waiting, 1, KOLK_SEQ_CST_);
}

/* Ends the first waiter's wait with this slot. Call it under the lock. */
static void wake_first(kolk_shared_inside_ *pool, uint32_t slot) {
    kolk_slot_waiter_ *one = (kolk_slot_waiter_ *)(void *)pool->waiters.first;
    KOLK_ASSERT_(one->slot == KOLK_NO_SLOT_);
    remove_waiter(pool, one);
    one->slot = slot;
    kolk_waiter_wake_(&one->link); /* its thread may return now */
}

bool kolk_shared_join_(kolk_shared_inside_ *pool, kolk_slot_waiter_ *me) {
    me->slot = KOLK_NO_SLOT_;
    kolk_store_(&me->link.woken, 0, KOLK_RELAXED_);
    lock_waiters(pool);
    bool joins = !pool->is_shut;
    if (joins) {
        /* The thread counts itself before it joins, so that a fork's child serves the queue even if it finds only this
         * waiter in it. */
        kolk_fetch_add_(&pool->store.depot.waiting, 1, KOLK_SEQ_CST_); /* partner: serve_waiting */
        kolk_store_(&pool->waits, pool->waits + 1, KOLK_RELAXED_);
        kolk_waiter_join_(&pool->waiters, &me->link);
    }
    kolk_unlock_word_(&pool->waiters_lock);
    return joins;
}

uint32_t kolk_shared_leave_(kolk_shared_inside_ *pool, kolk_slot_waiter_ *me) {
    if (kolk_shared_is_served_(me)) return me->slot;
    lock_waiters(pool);
    if (!kolk_load_(&me->link.woken, KOLK_RELAXED_)) remove_waiter(pool, me);
    kolk_unlock_word_(&pool->waiters_lock);
    return me->slot;
}

void kolk_shared_serve_(kolk_shared_inside_ *pool) {
    uint64_t bits;
    uint32_t word = 0;
    lock_waiters(pool);
    while (pool->waiters.first && (bits = kolk_store_supply_(&pool->store, &word, 1)))
        wake_first(pool, kolk_depot_slot_(&pool->store.depot, word, bits));
    kolk_unlock_word_(&pool->waiters_lock);
}

void kolk_shared_shutdown(kolk_shared *of) {
    kolk_shared_inside_ *pool = of->inside;
    if (!pool) return;
    lock_waiters(pool);
    kolk_store_(&pool->is_shut, 1, KOLK_SEQ_CST_);
    while (pool->waiters.first) wake_first(pool, KOLK_NO_SLOT_);
    kolk_unlock_word_(&pool->waiters_lock);
}

void kolk_shared_reopen(kolk_shared *of) {
    kolk_shared_inside_ *pool = of->inside;
    if (!pool) return;
    lock_waiters(pool);
    kolk_store_(&pool->is_shut, 0, KOLK_SEQ_CST_);
    kolk_unlock_word_(&pool->waiters_lock);
}

#endif
