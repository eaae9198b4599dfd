/* shared_reclaim.c: the free slots of threads that have ended without a word go back to the depot, and their members
 * are free for others.
 *
 * That happens when a local is made, when a thread has long found others behind its epoch, and when threads wait for
 * long. In a fork's child all threads but one have ended, perhaps in the middle of an operation. Slots that were on
 * their way to a magazine or from it are lost to the child. But none is in two places, and none is free and alive,
 * since all is written in this order: a life ends, its slot is in the magazine, `top` says so, `leaving` says that it
 * goes, it is in the depot. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../os/lock.h"
#include "../os/thread.h"

void kolk_shared_put_proving(kolk_shared *pool, kolk_magazine *magazine) {
    uint32_t proving = magazine->proving;
    kolk_store(&magazine->proving, 0, KOLK_RELAXED); /* first, as in reclaim_magazine */
    if (proving) kolk_shared_put_free(pool, proving - 1);
}

/* A fork's child may reclaim it again, from anywhere in between: so each slot leaves the magazine before it is put into
 * the depot. An entry may be of an object that is alive: alloc's two stores, of `top` and of the life, are in no order
 * to others. */
void kolk_shared_reclaim_magazine(kolk_shared *pool, kolk_magazine *magazine) {
    uint32_t fresh = kolk_load(&pool->depot.fresh, KOLK_ACQUIRE);
    while (magazine->leaving < magazine->top) {
        uint32_t slot = *kolk_magazine_entry(magazine, magazine->leaving);
        kolk_store(&magazine->leaving, magazine->leaving + 1, KOLK_RELAXED);
        if (slot < fresh && !(life_of(pool, slot) & 1)) kolk_depot_put(&pool->depot, slot);
    }
    /* The fill of the slot under proof may be half done. */
    if (magazine->proving) kolk_debug_forget(pool->debug, magazine->proving - 1, magazine->proving);
    kolk_shared_put_proving(pool, magazine);
    kolk_store(&magazine->top, 0, KOLK_RELEASE); /* in this order */
    kolk_store(&magazine->leaving, 0, KOLK_RELEASE);
}

/* The slots that the thread freed in its last epoch are to be free too, and those that it was just putting into the
 * depot at the end of one. */
static void reclaim_member(kolk_shared *pool, kolk_member *member) {
    kolk_magazine *magazine = kolk_member_magazines(member);
    KOLK_ASSERT(member->taken);
    KOLK_ASSERT(magazine->depot == &pool->depot);
    kolk_shared_reclaim_magazine(pool, magazine);
    if (member->epoch) kolk_atomic_max(&pool->retired, kolk_load(&pool->epoch, KOLK_RELAXED) + 1);
    kolk_store(&member->epoch, 0, KOLK_RELEASE);
    member->taken = 0;
}

void kolk_shared_reclaim(kolk_shared *pool, bool closely) {
    uint32_t me = kolk_thread();
    kolk_lock_word(&pool->members.lock);
    for (kolk_member *member = kolk_members_first(&pool->members); member; member = member->next)
        if (kolk_member_is_dead(member, me, closely)) reclaim_member(pool, member);
    kolk_unlock_word(&pool->members.lock);
    serve_waiting(pool);
}

#endif
