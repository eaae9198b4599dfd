/* shared_epochs.c: deferred free: a slot becomes free once no thread uses its object any longer.
 *
 *     epoch     e - 2        e - 1            e
 *     later     | waits      | waits, and may | waits, and   |
 *               |            | still grow     | still grows  |      the fourth set is empty
 *
 * Each online thread has an `epoch`: the epoch of the pool that the thread has reached. By storing a new epoch there,
 * it states that it holds no pointer that it read earlier. When all threads have reached epoch e, e ends and e+1
 * begins.
 *
 * When a thread that has reached epoch e calls free_later, the slot goes into the set of epoch e. The pool's epoch
 * cannot advance beyond e+1 before this thread stores e+1. By then the thread has removed the object from the program's
 * data, and any thread that reads e+2 as the epoch sees the removal, because all these writes are releases and the
 * reads are acquires. So a thread that has reached e+2 can no longer find the object and holds no pointer that it read
 * earlier. When all threads have reached e+2, e+3 begins, and the slot can become free. The thread that begins e+3 puts
 * the whole set into the depot before it reaches e+3 itself. So until then no thread can be in e+4, which uses the same
 * set.
 *
 * Classic schemes have three sets and use the pool's epoch, which requires a fence after the object is removed (Fraser,
 * "Practical lock-freedom", 2004). With the thread's own epoch and a fourth set, no fence is needed.
 *
 * Offline threads do not hold up an epoch. A thread that comes online stores the pool's epoch, and then checks that the
 * pool's epoch is still the same. Another thread may end this epoch without having seen the store, but every thread
 * that ends a later epoch sees it. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../os/clock.h"
#include "../os/lock.h"

#define EPOCHS_BEHIND     3u    /* epochs from free_later until the slot is free */
#define STALLS_UNTIL_LOOK 1024u /* after finding threads behind this many times, check whether they still run */

/* ---- Threads that have ended -------------------------------------------------------------------------------------
 *
 * The free slots of threads that ended without kolk_shared_local_deinit return to the depot, and their keepers can be
 * taken by other threads. This happens when a local is made, when a thread has repeatedly found others behind its
 * epoch, and when threads wait for a long time. In a fork's child all threads but one have ended, perhaps in the middle
 * of an operation. Slots that were on their way to or from a magazine are lost to the child. But no slot is in two
 * places, and none is both free and alive. This follows from the order of the writes: the end of the life, the
 * magazine's entry, `top`, `leaving`, and the depot. */

/* Raises `retired`, so that the slots that the thread passed to free_later become free too: those of its last epoch,
 * and those that it was putting into the depot at the end of an epoch. */
static void reclaim_keeper(kolk_shared_inside_ *pool, kolk_shared_keeper_ *keeper) {
    kolk_magazine_ *magazine = kolk_keeper_magazines_(&keeper->base);
    KOLK_ASSERT_(keeper->base.taken);
    KOLK_ASSERT_(magazine->depot == &pool->store.depot);
    kolk_store_reclaim_(&pool->store, magazine);
    if (keeper->epoch) kolk_atomic_max_(&pool->retired, kolk_load_(&pool->epoch, KOLK_RELAXED_) + 1);
    kolk_store_(&keeper->epoch, 0, KOLK_RELEASE_);
    kolk_keeper_release_(&keeper->base);
}

void kolk_shared_reclaim_(kolk_shared_inside_ *pool, bool closely) {
    uint32_t me = kolk_thread_();
    kolk_lock_word_(&pool->keepers.lock);
    for (kolk_shared_keeper_ *keeper = first_keeper(pool); keeper; keeper = next_keeper(keeper))
        if (kolk_keeper_is_dead_(&keeper->base, me, closely)) reclaim_keeper(pool, keeper);
    kolk_unlock_word_(&pool->keepers.lock);
    serve_waiting(pool);
}

/* ---- Online and offline ------------------------------------------------------------------------------------------ */

void kolk_shared_come_online_(const kolk_shared_local *local) {
    if (keeper_of(local)->epoch) return;
    uint64_t epoch, *now = &local->pool->epoch;
    do {
        epoch = kolk_load_(now, KOLK_SEQ_CST_);
        kolk_exchange_(&keeper_of(local)->epoch, epoch, KOLK_SEQ_CST_); /* partner: has_passed */
    } while (kolk_load_(now, KOLK_SEQ_CST_) != epoch);
}

KOLK_NOINLINE_ void kolk_shared_online(kolk_shared_local *local) {
    if (pool_of(local) && !kolk_shared_is_barred_(local, "online", SITE)) kolk_shared_come_online_(local);
}

static void go_offline(const kolk_shared_local *local) {
    kolk_store_(&keeper_of(local)->epoch, 0, KOLK_SEQ_CST_); /* partner: has_passed */
}

/* This thread may have been the last that could end epochs while other threads wait for the slots. A thread that joins
 * the waiters looks at the epochs afterwards, and a thread that goes offline looks at the waiters afterwards. So one of
 * the two ends the epochs. */
void kolk_shared_leave_online_(const kolk_shared_local *local) {
    if (!keeper_of(local)->epoch) return;
    go_offline(local);
    if (kolk_load_(&local->pool->store.depot.waiting, KOLK_SEQ_CST_)) kolk_shared_end_epochs_(local);
}

KOLK_NOINLINE_ void kolk_shared_offline(kolk_shared_local *local) {
    if (pool_of(local) && !kolk_shared_is_barred_(local, "offline", SITE)) kolk_shared_leave_online_(local);
}

/* ---- The end of an epoch ----------------------------------------------------------------------------------------- */

static void put_drained(void *context, uint32_t slot, uint64_t bits) {
    kolk_shared_inside_ *pool = (kolk_shared_inside_ *)context;
    if (pool->life.reset) pool->life.reset(kolk_store_object_(&pool->store, slot), pool->context);
    if (pool->store.debug)
        kolk_store_put_poisoned_(&pool->store, slot);
    else
        kolk_depot_put_bits_(&pool->store.depot, slot >> pool->store.depot.word_shift,
                             bits * kolk_depot_bit_(&pool->store.depot, slot));
}

static bool drain(kolk_shared_inside_ *pool, uint64_t epoch, unsigned part, kolk_slots_taker_ *taker) {
    uint64_t words = kolk_bits_words_(kolk_store_usable_(&pool->store));
    return kolk_slot_set_drain_(&pool->store.sets[LATER + epoch % 4], words, part, taker, pool);
}

bool kolk_shared_drain_later_(kolk_shared_inside_ *pool, kolk_slots_taker_ *taker) {
    bool any = false;
    for (unsigned n = 0; n < 4; n++) any |= drain(pool, n, 1, taker);
    return any;
}

void kolk_shared_free_retired_(kolk_shared_inside_ *pool) {
    if (kolk_shared_drain_later_(pool, put_drained)) kolk_depot_count_return_(&pool->store.depot);
}

/* Has this thread reached the epoch, or is it offline? */
static bool has_passed(const kolk_shared_keeper_ *keeper, uint64_t epoch) {
    uint64_t seen = kolk_load_(&keeper->epoch, KOLK_SEQ_CST_);
    return seen == 0 || seen == epoch;
}

/* Begins the next epoch, if all threads have reached this one. Then puts the slots of three epochs ago into the depot:
 * no thread adds to their set meanwhile, and this thread sees all of it, because it has begun the epoch. */
static void begin_next_epoch(kolk_shared_inside_ *pool, kolk_shared_keeper_ *me, uint64_t epoch) {
    KOLK_ASSERT_(me->epoch == epoch);
    for (const kolk_shared_keeper_ *keeper = first_keeper(pool); keeper; keeper = next_keeper(keeper)) {
        if (has_passed(keeper, epoch)) continue;
        if (++me->stalls % STALLS_UNTIL_LOOK == 0) kolk_shared_reclaim_(pool, true);
        return;
    }
    if (!kolk_compare_exchange_(&pool->epoch, &epoch, epoch + 1, KOLK_SEQ_CST_, KOLK_RELAXED_)) return;
    uint32_t before = enter_shared_hook(me); /* reset */
    unsigned part = pool->store.debug || pool->life.reset ? 1 : kolk_depot_word_bits_(&pool->store.depot);
    bool any = drain(pool, epoch + 1 - EPOCHS_BEHIND, part, put_drained);
    leave_shared_hook(me, before);
    if (!any) return;
    kolk_depot_count_return_(&pool->store.depot);
    serve_waiting(pool);
}

/* Are there slots that wait for this epoch to end? */
static bool is_waited_for(const kolk_shared_inside_ *pool, uint64_t epoch) {
    uint64_t retired =
        kolk_load_(&pool->retired, KOLK_SEQ_CST_); /* partner: kolk_shared_retire_, before it goes offline */
    return retired + EPOCHS_BEHIND > epoch;
}

static void quiesce(const kolk_shared_local *local) {
    kolk_shared_inside_ *pool = local->pool;
    kolk_shared_keeper_ *keeper = keeper_of(local);
    if (!keeper->epoch) return;                               /* offline */
    uint64_t epoch = kolk_load_(&pool->epoch, KOLK_ACQUIRE_); /* partner: begin_next_epoch */
    if (keeper->epoch != epoch) kolk_store_(&keeper->epoch, epoch, KOLK_RELEASE_);
    if (is_waited_for(pool, epoch)) begin_next_epoch(pool, keeper, epoch);
}

KOLK_NOINLINE_ void kolk_shared_quiesce(kolk_shared_local *local) {
    if (pool_of(local) && !kolk_shared_is_barred_(local, "quiesce", SITE)) quiesce(local);
}

static bool is_anybody_online(const kolk_shared_inside_ *pool) {
    for (const kolk_shared_keeper_ *keeper = first_keeper(pool); keeper; keeper = next_keeper(keeper))
        if (kolk_load_(&keeper->epoch, KOLK_SEQ_CST_)) return true;
    return false;
}

/* Online threads end epochs themselves, and this thread must not hold them up. But if two threads run this loop at the
 * same time, each may see the other online, leave the rest to it, and go offline. So each looks again afterwards. All
 * these operations are sequentially consistent, so the thread that goes offline last sees that the other is offline,
 * and ends the epochs. */
bool kolk_shared_end_epochs_(const kolk_shared_local *local) {
    kolk_shared_inside_ *pool = local->pool;
    bool any = false;
    while (is_waited_for(pool, kolk_load_(&pool->epoch, KOLK_SEQ_CST_)) && !is_anybody_online(pool)) {
        kolk_shared_come_online_(local);
        for (unsigned n = 0; n <= EPOCHS_BEHIND; n++) quiesce(local);
        go_offline(local);
        any = true;
    }
    return any;
}

/* A thread that ended while it was online holds up its epoch for ever, unless an online thread notices that it is
 * behind. */
void kolk_shared_look_for_dead_(kolk_shared_local *local) {
    kolk_shared_inside_ *pool = local->pool;
    uint64_t now = (uint64_t)kolk_now_ns_(), before = kolk_load_(&pool->looked, KOLK_RELAXED_);
    if (now - before < (uint64_t)WAITER_LOOK_NS) return;
    if (!is_waited_for(pool, kolk_load_(&pool->epoch, KOLK_SEQ_CST_))) return;
    if (!kolk_compare_exchange_(&pool->looked, &before, now, KOLK_RELAXED_, KOLK_RELAXED_)) return;
    kolk_shared_reclaim_(pool, true);
    kolk_shared_end_epochs_(local);
}

/* ---- Slots that are to be free later ----------------------------------------------------------------------------- */

/* An offline thread comes online for a moment, so that the pool's epoch cannot advance past it. */
void kolk_shared_retire_(kolk_shared_local *local, uint32_t slot) {
    kolk_shared_inside_ *pool = local->pool;
    bool online = keeper_of(local)->epoch;
    if (!online) kolk_shared_come_online_(local);
    uint64_t epoch = keeper_of(local)->epoch;
    KOLK_ASSERT_(epoch != 0);
    kolk_slot_set_put_(&pool->store.sets[LATER + epoch % 4], slot / 64, kolk_bits_at_(slot));
    kolk_atomic_max_(&pool->retired, epoch);
    if (!online) kolk_shared_leave_online_(local);
}

#endif
