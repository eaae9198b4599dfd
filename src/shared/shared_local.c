/* shared_local.c: the locals of a shared pool: how threads come and go.
 *
 * A local is a few pointers. All else is in its member and magazine, which are in the pool. So a thread that ends
 * without a deinit leaves nothing that dangles, and others can reclaim what it had (shared_reclaim.c). A thread is
 * known by a number that it keeps through forks (kolk_thread). */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../diag/homes.h"
#include "../os/key.h"
#include "../os/lock.h"

size_t kolk_shared_magazine_size(const kolk_shared *pool) {
    return sizeof(kolk_magazine) + pool->depot.cache * sizeof(uint32_t);
}

kolk_magazine *kolk_shared_add_magazine(kolk_shared *pool, kolk_member *member, void *memory) {
    kolk_magazine *magazine = (kolk_magazine *)memory;
    *magazine = (kolk_magazine){
        .slots = pool->slots,
        .lives = pool->lives,
        .short_lives = pool->short_lives,
        .inverse = pool->inverse,
        .stride = pool->stride,
        .shift = pool->shift,
        .cache = pool->depot.cache,
        .depot = &pool->depot,
    };
    kolk_member_add(member, magazine);
    return magazine;
}

/* A fork's child may find the record half made: so all of it is written. */
static kolk_member *make_member(void *context, uint32_t n) {
    kolk_shared *pool = (kolk_shared *)context;
    if (n >= pool->max_threads) return NULL;
    KOLK_ASSERT(pool->records);
    unsigned char *record = pool->records + n * pool->record_size;
    kolk_member *member = (kolk_member *)(void *)record;
    *member = (kolk_member){.taken = 0};
    kolk_magazine *magazine = kolk_shared_add_magazine(pool, member, record + MEMBER_BYTES);
    magazine->next_word = n * 64 / pool->max_threads; /* apart from the others' */
    return member;
}

KOLK_NOINLINE kolk_status kolk_local_init(kolk_local *local, kolk_shared *pool) {
    *local = (kolk_local){0};
    if (pool->max_threads == 0) return KOLK_NO_LOCAL; /* it is all zero */
    if (!kolk_is_home(pool, pool->number, pool->name, SITE)) return KOLK_MOVED;
    if (pool->depot.members != &pool->members) pool->depot.members = &pool->members; /* it was moved */
    kolk_shared_reclaim(pool, false);
    kolk_member *member = kolk_members_take(&pool->members, make_member, pool);
    if (!member) {
        kolk_shared_reclaim(pool, true);
        member = kolk_members_take(&pool->members, make_member, pool);
    }
    if (!member) return KOLK_TOO_MANY_THREADS;
    *local = (kolk_local){pool->lives, kolk_member_magazines(member), pool};
    kolk_magazine_set_bound(local->magazine);
    kolk_local_online(local);
    return KOLK_OK;
}

void kolk_local_flush(kolk_local *local) {
    kolk_shared *pool = pool_of(local);
    if (!pool) return;
    kolk_magazine_put_oldest(local->magazine, kolk_magazine_count(local->magazine));
    kolk_shared_put_proving(pool, local->magazine);
    serve_waiting(pool);
}

/* A thread's own local is in its member, which may be another's once it is given back. */
void kolk_local_deinit(kolk_local *local) {
    kolk_shared *pool = pool_of(local);
    if (!pool) {
        *local = (kolk_local){0};
        return;
    }
    kolk_member *member = local->magazine->member;
    KOLK_ASSERT(member->taken);
    kolk_local_flush(local);
    kolk_local_offline(local);
    KOLK_ASSERT(local->magazine->top == 0);
    if (local == &member->own) kolk_key_set(pool->key - 1, NULL);
    *local = (kolk_local){0};
    kolk_members_give(&pool->members, member);
}

/* ---- A thread's own ---------------------------------------------------------------------------------------------- */

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

#endif
