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

/* Of locals that have no pool: empty, and every free leaves the fast path. */
static kolk_magazine nobodys;

/* In debug mode a slot may be between two places. */
static void bring_held(kolk_shared *pool, kolk_magazine *magazine) {
    uint32_t held = magazine->held;
    kolk_store(&magazine->held, 0, KOLK_RELAXED); /* first, as in bury_one */
    if (held) kolk_shared_bring_slot(pool, held - 1);
}

/* A fork's child may bury it again, from anywhere in between: so each slot leaves the magazine before it comes home. An entry
 * may be of an object that is alive: alloc's two stores, of `top` and of the life, are in no order to others. */
static void bury_one(kolk_shared *pool, kolk_magazine *magazine) {
    uint32_t fresh = kolk_load(&pool->fresh, KOLK_ACQUIRE);
    while (magazine->leaving < magazine->top) {
        uint32_t slot = *kolk_magazine_entry(magazine, magazine->leaving);
        kolk_store(&magazine->leaving, magazine->leaving + 1, KOLK_RELAXED);
        if (slot < fresh && !(life_of(pool, slot) & 1)) kolk_shared_bring_slot(pool, slot);
    }
    /* The fill of the slot under proof may be half done. */
    if (magazine->held) kolk_debug_forget(pool->debug, magazine->held - 1, magazine->held);
    bring_held(pool, magazine);
    kolk_store(&magazine->top, 0, KOLK_RELEASE); /* in this order */
    kolk_store(&magazine->leaving, 0, KOLK_RELEASE);
    /* What it freed in its last epoch, and what it was just bringing home at the end of one, is to come home too. */
    if (magazine->seen) raise_to(&pool->retired, kolk_load(&pool->epoch, KOLK_RELAXED) + 1);
    kolk_store(&magazine->seen, 0, KOLK_RELEASE);
    magazine->taken = false;
}

void kolk_shared_bury(kolk_shared *pool, bool closely) {
    uint32_t me = kolk_thread();
    kolk_lock_word(&pool->lock);
    for (uint32_t n = 0; n < pool->max_threads; n++) {
        kolk_magazine *magazine = magazine_at(pool, n);
        bool other = magazine->taken && magazine->owner != me;
        if (other && (closely ? kolk_thread_has_ended : kolk_thread_is_gone)(magazine->owner)) bury_one(pool, magazine);
    }
    kolk_unlock_word(&pool->lock);
    serve_waiting(pool);
}

/* A magazine that nobody has, or NULL. */
static kolk_magazine *take_magazine(kolk_shared *pool) {
    kolk_magazine *found = NULL;
    kolk_lock_word(&pool->lock);
    for (uint32_t n = 0; n < pool->max_threads && !found; n++) {
        kolk_magazine *magazine = magazine_at(pool, n);
        if (magazine->taken) continue;
        found = magazine;
        magazine->owner = kolk_thread(); /* first: in a fork's child who took it is gone */
        magazine->taken = true;
        magazine->place = n * 64 / pool->max_threads; /* apart from the others' */
    }
    kolk_unlock_word(&pool->lock);
    return found;
}

kolk_status kolk_local_init(kolk_local *local, kolk_shared *pool) {
    *local = (kolk_local){&nobodys, NULL};
    kolk_shared_bury(pool, false);
    kolk_magazine *magazine = take_magazine(pool);
    if (!magazine) {
        kolk_shared_bury(pool, true);
        magazine = take_magazine(pool);
    }
    if (!magazine) return KOLK_TOO_MANY_THREADS;
    magazine->slots = pool->slots;
    magazine->lives = pool->lives;
    magazine->short_lives = pool->short_lives;
    magazine->inverse = pool->inverse;
    magazine->stride = pool->stride;
    magazine->shift = pool->shift;
    magazine->cache = pool->cache;
    *local = (kolk_local){magazine, pool};
    kolk_shared_show_bound(pool, magazine);
    kolk_local_online(local);
    return KOLK_OK;
}

void kolk_local_flush(kolk_local *local) {
    if (!local->pool) return;
    kolk_shared_bring_oldest(local->pool, local->magazine, held_by(local->magazine));
    bring_held(local->pool, local->magazine);
    serve_waiting(local->pool);
}

/* A thread's own local is in its magazine, which may be another's once it is not taken. */
void kolk_local_deinit(kolk_local *local) {
    kolk_shared *pool = local->pool;
    kolk_magazine *magazine = local->magazine;
    if (!pool) return;
    kolk_local_flush(local);
    kolk_local_offline(local);
    if (local == &magazine->own) kolk_key_set(pool->key - 1, NULL);
    *local = (kolk_local){&nobodys, NULL};
    kolk_lock_word(&pool->lock);
    magazine->taken = false;
    kolk_unlock_word(&pool->lock);
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
    kolk_local *own = &local.magazine->own;
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
