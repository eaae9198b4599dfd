/* shared_reclaim.c: returns the free slots of threads that ended without kolk_shared_local_deinit to the depot, and
 * makes their keepers available to other threads.
 *
 * This happens when a local is made, when a thread has repeatedly found others behind its epoch, and when threads wait
 * for a long time. In a fork's child all threads but one have ended, perhaps in the middle of an operation. Slots that
 * were on their way to or from a magazine are lost to the child. But no slot is in two places, and none is both free
 * and alive. This follows from the order of the writes: the end of the life, the magazine's entry, `top`, `leaving`,
 * and the depot. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../os/lock.h"
#include "../os/thread.h"

/* Raises `retired`, so that the slots that the thread passed to free_later become free too: those of its last epoch,
 * and those that it was putting into the depot at the end of an epoch. */
static void reclaim_sharer(kolk_shared_inside_ *pool, kolk_sharer_ *sharer) {
    kolk_magazine_ *magazine = kolk_keeper_magazines_(&sharer->keeper);
    KOLK_ASSERT_(sharer->keeper.taken);
    KOLK_ASSERT_(magazine->depot == &pool->store.depot);
    kolk_store_reclaim_(&pool->store, magazine);
    if (sharer->epoch) kolk_atomic_max_(&pool->retired, kolk_load_(&pool->epoch, KOLK_RELAXED_) + 1);
    kolk_store_(&sharer->epoch, 0, KOLK_RELEASE_);
    kolk_keeper_release_(&sharer->keeper);
}

void kolk_shared_reclaim_(kolk_shared_inside_ *pool, bool closely) {
    uint32_t me = kolk_thread_();
    kolk_lock_word_(&pool->keepers.lock);
    for (kolk_sharer_ *sharer = first_sharer(pool); sharer; sharer = next_sharer(sharer))
        if (kolk_keeper_is_dead_(&sharer->keeper, me, closely)) reclaim_sharer(pool, sharer);
    kolk_unlock_word_(&pool->keepers.lock);
    serve_waiting(pool);
}

#endif
