/* shared_epochs.c: slots that are free later, when no thread looks any more at what was in them.
 *
 *     epoch     e - 2        e - 1            e
 *     later     | waits      | waits, and may | waits, and   |
 *               |            | still grow     | still grows  |      the fourth set is empty
 *
 * Each thread that is online says in its member's `epoch` which epoch it has come to. To say so is to say that it holds
 * no pointer from before. When all have come to epoch e, it ends, and e + 1 begins.
 *
 * A slot that a thread frees later goes into the set of the epoch a that the thread has come to. The pool's epoch
 * cannot get beyond a+1 before this thread says a+1. When it does, it has taken the object out of wherever others find
 * it, and a thread that reads a+2 as the epoch knows of that: all these writes are releases, and the reads acquires. So
 * a thread that has come to a+2 does not find the object any more, and holds no pointer from before. When all have,
 * which is when a+3 begins, the slot can be free. The thread that begins a+3 puts the whole set into the depot before
 * it comes to a+3 itself. So no thread can be in a+4 meanwhile, which has the same set.
 *
 * Classic schemes have three sets and take the epoch from the pool, which needs a fence after the object is taken out
 * (Fraser, "Practical lock-freedom", 2004). One's own epoch, which is always there, and one set more, need none.
 *
 * Threads that are offline are not asked. A thread that comes online says an epoch, and then looks whether it is still
 * that one. A thread that ends this epoch without having seen that is the last one that does not see it. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../os/clock.h"

#define EPOCHS_BEHIND     3u    /* from free_later until the slot is free */
#define STALLS_UNTIL_LOOK 1024u /* looks at a thread that is behind, then a look whether it still runs */

/* ---- Online and offline ------------------------------------------------------------------------------------------ */

void kolk_local_online(kolk_local *local) {
    if (!pool_of(local) || local->magazine->member->epoch) return;
    uint64_t epoch, *now = &local->pool->epoch;
    do {
        epoch = kolk_load(now, KOLK_SEQ_CST);
        kolk_exchange(&local->magazine->member->epoch, epoch, KOLK_SEQ_CST); /* partner: has_passed */
    } while (kolk_load(now, KOLK_SEQ_CST) != epoch);
}

static void go_offline(kolk_local *local) {
    kolk_store(&local->magazine->member->epoch, 0, KOLK_SEQ_CST); /* partner: has_passed */
}

/* It may have been the last thread that could end epochs, while others wait for the slots. A thread that joins the
 * waiters looks at the epochs afterwards, and this one looks at the waiters afterwards: so one of the two ends them. */
void kolk_local_offline(kolk_local *local) {
    if (!pool_of(local) || !local->magazine->member->epoch) return;
    go_offline(local);
    if (kolk_load(&local->pool->depot.waiting, KOLK_SEQ_CST)) kolk_shared_end_epochs(local);
}

/* ---- The end of an epoch ----------------------------------------------------------------------------------------- */

static void put_drained(void *context, uint32_t slot, uint64_t bits) {
    kolk_shared *pool = (kolk_shared *)context;
    if (pool->reset) pool->reset(object_at(pool, slot), pool->context);
    if (pool->debug)
        kolk_shared_put_poisoned(pool, slot);
    else
        kolk_depot_put_bits(&pool->depot, slot >> pool->depot.word_shift, bits * kolk_depot_bit(&pool->depot, slot));
}

/* No thread adds to this set meanwhile, and the one that has begun the epoch knows all of it. */
static bool put_set(kolk_shared *pool, const kolk_slot_set *set) {
    unsigned part = pool->debug || pool->reset ? 1 : kolk_depot_word_bits(&pool->depot);
    return kolk_slot_set_drain(set, kolk_bits_words(usable(pool)), part, put_drained, pool);
}

bool kolk_shared_drain_later(kolk_shared *pool, kolk_slots_taker *taker) {
    bool any = false;
    for (unsigned n = 0; n < later_sets(pool); n++)
        any |= kolk_slot_set_drain(&pool->later[n], kolk_bits_words(usable(pool)), 1, taker, pool);
    return any;
}

/* Has this thread come to the epoch, or is it offline? */
static bool has_passed(const kolk_member *member, uint64_t epoch) {
    uint64_t seen = kolk_load(&member->epoch, KOLK_SEQ_CST);
    return seen == 0 || seen == epoch;
}

/* Begins the next epoch, if all have come to this one. */
static void begin_next_epoch(kolk_shared *pool, kolk_member *me, uint64_t epoch) {
    KOLK_ASSERT(me->epoch == epoch);
    for (const kolk_member *member = kolk_members_first(&pool->members); member; member = member->next) {
        if (has_passed(member, epoch)) continue;
        if (++me->stalls % STALLS_UNTIL_LOOK == 0) kolk_shared_reclaim(pool, true);
        return;
    }
    if (!kolk_compare_exchange(&pool->epoch, &epoch, epoch + 1, KOLK_SEQ_CST, KOLK_RELAXED)) return;
    if (!put_set(pool, &pool->later[(epoch + 1 - EPOCHS_BEHIND) % 4])) return;
    kolk_depot_count_return(&pool->depot);
    serve_waiting(pool);
}

/* Are there slots that wait for this epoch to end? */
static bool is_waited_for(const kolk_shared *pool, uint64_t epoch) {
    uint64_t retired =
        kolk_load(&pool->retired, KOLK_SEQ_CST); /* partner: kolk_shared_retire, before it goes offline */
    return retired + EPOCHS_BEHIND > epoch;
}

void kolk_local_quiesce(kolk_local *local) {
    kolk_shared *pool = pool_of(local);
    if (!pool) return;
    kolk_member *member = local->magazine->member;
    if (!member->epoch) return;                             /* offline */
    uint64_t epoch = kolk_load(&pool->epoch, KOLK_ACQUIRE); /* partner: begin_next_epoch */
    if (member->epoch != epoch) kolk_store(&member->epoch, epoch, KOLK_RELEASE);
    if (is_waited_for(pool, epoch)) begin_next_epoch(pool, member, epoch);
}

static bool is_anybody_online(const kolk_shared *pool) {
    for (const kolk_member *member = kolk_members_first(&pool->members); member; member = member->next)
        if (kolk_load(&member->epoch, KOLK_SEQ_CST)) return true;
    return false;
}

/* Threads that are online end epochs themselves, and must not be held up by this one. But two threads A and B may both
 * be here: each sees the other online, leaves the rest to it, and goes offline. So each looks again afterwards. All
 * these operations are in the one sequentially consistent order: the thread that goes offline last sees the other
 * offline, and ends the epochs. */
bool kolk_shared_end_epochs(kolk_local *local) {
    kolk_shared *pool = local->pool;
    bool any = false;
    while (is_waited_for(pool, kolk_load(&pool->epoch, KOLK_SEQ_CST)) && !is_anybody_online(pool)) {
        kolk_local_online(local);
        for (unsigned n = 0; n <= EPOCHS_BEHIND; n++) kolk_local_quiesce(local);
        go_offline(local);
        any = true;
    }
    return any;
}

/* A thread that ended while it was online holds up its epoch for ever, unless one that is online finds it behind. */
void kolk_shared_look_for_dead(kolk_local *local) {
    kolk_shared *pool = local->pool;
    uint64_t now = (uint64_t)kolk_now_ns(), before = kolk_load(&pool->looked, KOLK_RELAXED);
    if (now - before < (uint64_t)WAITER_LOOK_NS) return;
    if (!is_waited_for(pool, kolk_load(&pool->epoch, KOLK_SEQ_CST))) return;
    if (!kolk_compare_exchange(&pool->looked, &before, now, KOLK_RELAXED, KOLK_RELAXED)) return;
    kolk_shared_reclaim(pool, true);
    kolk_shared_end_epochs(local);
}

/* ---- Slots that are to be free later ----------------------------------------------------------------------------- */

/* A thread that is offline comes online for the moment: so the epoch cannot pass it by. */
void kolk_shared_retire(kolk_local *local, uint32_t slot) {
    kolk_shared *pool = local->pool;
    bool online = local->magazine->member->epoch;
    if (!online) kolk_local_online(local);
    uint64_t epoch = local->magazine->member->epoch;
    KOLK_ASSERT(epoch != 0);
    kolk_slot_set_put(&pool->later[epoch % 4], slot / 64, kolk_bits_at(slot));
    kolk_atomic_max(&pool->retired, epoch);
    if (!online) kolk_local_offline(local);
}

#endif
