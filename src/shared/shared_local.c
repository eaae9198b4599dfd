/* shared_local.c: the threads' ways into a shared pool.
 *
 * A local is two pointers; all else is in its magazine, which is in the pool. So a thread that ends without a deinit leaves
 * nothing that dangles, and what it had at hand can be brought home by others: when a local is made, and when deferred free
 * has long found its thread behind. A thread is known by a number that it keeps through forks (thread.h); in a fork's child, all
 * threads but one are such. There a magazine may have been left in the middle of an operation: slots that were on their way to
 * it or from it are lost to the child, but none is in it twice or alive, since all is written in this order: a life ends, its
 * slot is in the magazine, top says so, `leaving` says that it goes, it comes home. */
#include "shared_inside.h"

#if __STDC_HOSTED__

#include "../os/key.h"
#include "../os/lock.h"
#include "../os/thread.h"

/* What locals without a pool have: no slot, and every free leaves the fast path; offline. */
static kolk_member null_member;
static kolk_magazine null_magazine = {.member = &null_member};

/* In debug mode a slot may be between two places. */
static void put_proving(kolk_shared *pool, kolk_magazine *magazine) {
    uint32_t proving = magazine->proving;
    kolk_store(&magazine->proving, 0, KOLK_RELAXED); /* first, as in reclaim_magazine */
    if (proving) kolk_depot_put(&pool->depot, proving - 1);
}

/* A fork's child may reclaim it again, from anywhere in between: so each slot leaves the magazine before it is put into the depot.
 * An entry may be of an object that is alive: alloc's two stores, of `top` and of the life, are in no order to others. */
static void reclaim_magazine(kolk_shared *pool, kolk_magazine *magazine) {
    uint32_t fresh = kolk_load(&pool->depot.fresh, KOLK_ACQUIRE);
    while (magazine->leaving < magazine->top) {
        uint32_t slot = *kolk_magazine_entry(magazine, magazine->leaving);
        kolk_store(&magazine->leaving, magazine->leaving + 1, KOLK_RELAXED);
        if (slot < fresh && !(life_of(pool, slot) & 1)) kolk_depot_put(&pool->depot, slot);
    }
    /* The fill of the slot under proof may be half done. */
    if (magazine->proving) kolk_debug_forget(pool->debug, magazine->proving - 1, magazine->proving);
    put_proving(pool, magazine);
    kolk_store(&magazine->top, 0, KOLK_RELEASE); /* in this order */
    kolk_store(&magazine->leaving, 0, KOLK_RELEASE);
}

static void reclaim_member(kolk_shared *pool, kolk_member *member) {
    reclaim_magazine(pool, kolk_member_magazines(member));
    /* What it freed in its last epoch, and what it was just putting back at the end of one, is to be free too. */
    if (member->epoch) kolk_atomic_max(&pool->retired, kolk_load(&pool->epoch, KOLK_RELAXED) + 1);
    kolk_store(&member->epoch, 0, KOLK_RELEASE);
    member->taken = false;
}

void kolk_shared_reclaim(kolk_shared *pool, bool closely) {
    uint32_t me = kolk_thread();
    kolk_lock_word(&pool->members.lock);
    for (kolk_member *member = kolk_members_first(&pool->members); member; member = member->next)
        if (kolk_member_is_dead(member, me, closely)) reclaim_member(pool, member);
    kolk_unlock_word(&pool->members.lock);
    serve_waiting(pool);
}

/* A fork's child may find the record half made: so all of it is written. */
static kolk_member *make_member(void *context, uint32_t n) {
    kolk_shared *pool = (kolk_shared *)context;
    if (n >= pool->max_threads) return NULL;
    unsigned char *record = pool->records + n * pool->record_size;
    kolk_member *member = (kolk_member *)(void *)record;
    kolk_magazine *magazine = (kolk_magazine *)(void *)(record + MEMBER_BYTES);
    *member = (kolk_member){.taken = false};
    *magazine = (kolk_magazine){
        .slots = pool->slots,
        .lives = pool->lives,
        .short_lives = pool->short_lives,
        .inverse = pool->inverse,
        .stride = pool->stride,
        .shift = pool->shift,
        .cache = pool->cache,
        .next_word = n * 64 / pool->max_threads, /* apart from the others' */
        .depot = &pool->depot,
    };
    kolk_member_add(member, magazine);
    return member;
}

kolk_status kolk_local_init(kolk_local *local, kolk_shared *pool) {
    *local = (kolk_local){&null_magazine, NULL};
    kolk_shared_reclaim(pool, false);
    kolk_member *member = kolk_members_take(&pool->members, make_member, pool);
    if (!member) {
        kolk_shared_reclaim(pool, true);
        member = kolk_members_take(&pool->members, make_member, pool);
    }
    if (!member) return KOLK_TOO_MANY_THREADS;
    *local = (kolk_local){kolk_member_magazines(member), pool};
    kolk_magazine_set_bound(local->magazine);
    kolk_local_online(local);
    return KOLK_OK;
}

void kolk_local_flush(kolk_local *local) {
    if (!local->pool) return;
    kolk_magazine_put_oldest(local->magazine, kolk_magazine_count(local->magazine));
    put_proving(local->pool, local->magazine);
    serve_waiting(local->pool);
}

/* A thread's own local is in its member, which may be another's once it is given back. */
void kolk_local_deinit(kolk_local *local) {
    kolk_shared *pool = local->pool;
    kolk_member *member = local->magazine->member;
    if (!pool) return;
    kolk_local_flush(local);
    kolk_local_offline(local);
    if (local == &member->own) kolk_key_set(pool->key - 1, NULL);
    *local = (kolk_local){&null_magazine, NULL};
    kolk_members_give(&pool->members, member);
}

/* ---- A thread's own ---------------------------------------------------------------------------------------------------- */

static void KOLK_AT_THREADS_END end_own(void *local) {
    kolk_local_deinit((kolk_local *)local);
}

/* The pool's key, + 1; 0: the system has no more. */
static uintptr_t make_key(kolk_shared *pool) {
    uintptr_t key;
    kolk_lock_word(&pool->lock);
    if (!pool->key && kolk_key_make(&key, end_own)) kolk_store(&pool->key, key + 1, KOLK_RELEASE); /* partner: below */
    uintptr_t made = pool->key;
    kolk_unlock_word(&pool->lock);
    return made;
}

static kolk_local *make_own(kolk_shared *pool) {
    kolk_local local;
    if (kolk_local_init(&local, pool) != KOLK_OK) return NULL;
    uintptr_t key = make_key(pool);
    kolk_local *own = &local.magazine->member->own;
    *own = local;
    if (key && kolk_key_set(key - 1, own)) return own;
    kolk_local_deinit(&local);
    return NULL;
}

kolk_local *kolk_local_of_thread(kolk_shared *pool) {
    uintptr_t key = kolk_load(&pool->key, KOLK_ACQUIRE);
    kolk_local *own = key ? (kolk_local *)kolk_key_get(key - 1) : NULL;
    return own ? own : make_own(pool);
}

#else

typedef int kolk_shared_local_is_empty_here; /* a translation unit may not be */

#endif
