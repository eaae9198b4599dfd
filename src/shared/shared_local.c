/* shared_local.c: the locals of a shared pool: how threads come and go.
 *
 * A local is a few pointers. All other data is in its keeper and magazine, which are in the pool. So a thread that ends
 * without calling deinit leaves no dangling pointers, and other threads can reclaim its slots (shared_reclaim.c). A
 * thread is identified by a number that it keeps through forks (kolk_thread_). */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/watch.h"
#include "../core/begin.h"
#include "../os/key.h"
#include "../os/lock.h"

/* Writes the whole record, because a fork's child may find it half written. */
static kolk_keeper_ *make_member(void *context, uint32_t n) {
    kolk_shared_inside_ *pool = (kolk_shared_inside_ *)context;
    if (n >= pool->max_threads) return NULL;
    KOLK_ASSERT_(pool->records);
    unsigned char *record = pool->records + n * pool->record_size;
    kolk_sharer_ *sharer = (kolk_sharer_ *)(void *)record;
    *sharer = (kolk_sharer_){.epoch = 0};
    kolk_magazine_ *magazine = kolk_store_add_magazine_(&pool->store, &sharer->keeper, record + THREAD_BYTES);
    magazine->next_word = n * 64 / pool->max_threads; /* each thread starts at a different word */
    return &sharer->keeper;
}

KOLK_NOINLINE_ kolk_status kolk_shared_local_init(kolk_shared_local *local, kolk_shared *of) {
    kolk_shared_inside_ *pool = of->inside;
    *local = (kolk_shared_local){0};
    if (!pool) return KOLK_NO_LOCAL; /* the pool is all zero */
    if (!kolk_is_home_(of, of->number, of->name, SITE)) return KOLK_MOVED;
    kolk_shared_reclaim_(pool, false);
    kolk_keeper_ *keeper = kolk_keepers_take_(&pool->keepers, make_member, pool);
    if (!keeper) {
        kolk_shared_reclaim_(pool, true);
        keeper = kolk_keepers_take_(&pool->keepers, make_member, pool);
    }
    if (!keeper) return KOLK_TOO_MANY_THREADS;
    *local = (kolk_shared_local){pool->store.lives, kolk_keeper_magazines_(keeper), pool};
    kolk_magazine_set_bound_(local->magazine);
    kolk_shared_come_online_(local);
    return KOLK_OK;
}

void kolk_shared_local_flush(kolk_shared_local *local) {
    kolk_shared_inside_ *pool = pool_of(local);
    if (!pool) return;
    kolk_store_flush_(&pool->store, local->magazine);
    serve_waiting(pool);
}

/* A thread's own local is in its keeper, and another thread may take the keeper as soon as it is released. So the local
 * is cleared first. */
static void end_local(kolk_shared_local *local) {
    kolk_shared_inside_ *pool = pool_of(local);
    kolk_keeper_ *keeper = local->magazine->keeper;
    KOLK_ASSERT_(keeper->taken);
    kolk_shared_local_flush(local);
    kolk_shared_leave_online_(local);
    KOLK_ASSERT_(local->magazine->top == 0);
    if (local == &sharer_of(local)->own) kolk_key_set_(pool->key - 1, NULL);
    *local = (kolk_shared_local){0};
    kolk_keepers_give_(&pool->keepers, keeper);
}

KOLK_NOINLINE_ void kolk_shared_local_deinit(kolk_shared_local *local) {
    if (!pool_of(local))
        *local = (kolk_shared_local){0};
    else if (!kolk_shared_is_barred_(local, "local_deinit", SITE))
        end_local(local);
}

/* ---- A thread's own ---------------------------------------------------------------------------------------------- */

/* On Windows, a deinit that drops the key runs this too. */
static void KOLK_AT_THREADS_END_ end_own(void *local) {
    if (!kolk_key_ends_late_() && pool_of((kolk_shared_local *)local)) end_local((kolk_shared_local *)local);
}

/* Returns the pool's key + 1; 0: the system has no key left. A key is made and dropped without the lock, because on
 * Windows a thread that is ending may have the system's lock of all keys, and wait for ours. */
static uintptr_t make_key(kolk_shared_inside_ *pool) {
    uintptr_t key = kolk_load_(&pool->key, KOLK_ACQUIRE_), spare;
    if (key || !kolk_key_make_(&spare, end_own)) return key;
    kolk_lock_word_(&pool->store.lock);
    bool first = !pool->key;
    if (first) kolk_store_(&pool->key, spare + 1, KOLK_RELEASE_); /* partner: below */
    key = pool->key;
    kolk_unlock_word_(&pool->store.lock);
    if (!first) kolk_key_drop_(spare);
    return key;
}

static kolk_shared_local *make_own(kolk_shared *pool) {
    kolk_shared_local local;
    if (kolk_shared_local_init(&local, pool) != KOLK_OK) return NULL;
    uintptr_t key = make_key(pool->inside);
    kolk_shared_local *own = &sharer_of(&local)->own;
    *own = local;
    if (key && kolk_key_set_(key - 1, own)) return own;
    kolk_shared_local_deinit(&local);
    return NULL;
}

kolk_shared_local *kolk_shared_local_of_thread(kolk_shared *pool) {
    uintptr_t key = pool->inside ? kolk_load_(&pool->inside->key, KOLK_ACQUIRE_) : 0;
    kolk_shared_local *own = key ? (kolk_shared_local *)kolk_key_get_(key - 1) : NULL;
    return own ? own : make_own(pool);
}

#endif
