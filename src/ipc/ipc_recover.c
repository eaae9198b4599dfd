/* ipc_recover.c: which process this is, and what the dead have left.
 *
 * Process n holds the lock of byte n of the file for its whole life (between.h). The system releases it when the
 * process ends, and no sooner. So who gets the lock of another process's byte knows that this process is dead, and
 * keeps the lock while it recovers what the dead process has left. Nobody else can take the number meanwhile, and if
 * the one who recovers dies too, its own lock and this one are released together, and the next begins anew. The record
 * says `used` until the recovery is complete.
 *
 * 1  A pop at the head of a queue whose object is claimed already is completed, before that slot can have another life
 *    (ipc_queue.c).
 * 2  What is in the queues becomes the queues' own.
 * 3  Whatever still has the dead owner's number is an orphan. That includes an object that it was about to push: it is
 *    marked as queued, but no queue has it.
 *
 * A free of the dead that had just changed the life may have left no hint. So this counts as a return at the end, and
 * the next alloc that finds no hint searches. */
#include "ipc_inside.h"

#if KOLK_HOSTED

#include "../base/bits.h"
#include "../os/between.h"
#include "../os/clock.h"
#include "../os/lock.h"
#include "../os/sleep.h"

static ipc_process *process_at(const kolk_ipc *pool, uint32_t n) {
    KOLK_ASSERT_(n > 0 && n <= pool->max_processes);
    return (ipc_process *)(void *)((unsigned char *)pool->block + IPC_HEADER) + n;
}

/* Frees an object of a dead process, or gives it to whoever is to have it. Returns false if it had changed hands. */
static bool end_orphan(kolk_ipc *pool, uint32_t slot, uint64_t life, uint64_t *freed) {
    if (pool->on_orphan && pool->me) {
        if (!change_life(pool, slot, life, owned_life(life, pool->me))) return false;
        pool->on_orphan(object_at(pool, slot), pool->context);
        return true;
    }
    if (pool->orphans == KOLK_IPC_KEEP) return change_life(pool, slot, life, owned_life(life, 0));
    if (!change_life(pool, slot, life, next_life(life, 0))) return false;
    *freed |= kolk_bits_at_(slot);
    return true;
}

/* Shows the hints of 64 slots at once: the exchange of the life is then most of what a slot costs. */
static uint32_t end_orphans(kolk_ipc *pool, uint32_t n) {
    uint32_t count = 0;
    for (uint32_t word = 0; word < kolk_bits_words_(pool->capacity); word++) {
        uint64_t freed = 0;
        for (uint64_t left = bits_in_word(pool, word); left; left &= left - 1) {
            uint32_t slot = word * 64 + kolk_bits_lowest_(left);
            uint64_t life = life_at(pool, slot);
            if (has_live_object(life) && life_owner(life) == n) count += end_orphan(pool, slot, life, &freed);
        }
        if (freed) kolk_ipc_show_hints_(pool, word, freed);
    }
    return count;
}

/* The caller holds the process's lock. */
static uint32_t recover_process(kolk_ipc *pool, uint32_t n) {
    kolk_store_(&process_at(pool, n)->used, IPC_ENDS, KOLK_SEQ_CST_);
    kolk_ipc_settle_(pool, n);
    uint32_t count = end_orphans(pool, n);
    kolk_fetch_add_(&pool->block->search, 2, KOLK_SEQ_CST_);
    kolk_store_(&process_at(pool, n)->used, 0, KOLK_SEQ_CST_);
    return count;
}

static bool may_be_dead(const kolk_ipc *pool, uint32_t n) {
    return n != pool->me && kolk_load_(&process_at(pool, n)->used, KOLK_ACQUIRE_);
}

/* Takes the lock of the first dead process from *n on. NULL: there is none. */
static void *lock_dead(const kolk_ipc *pool, uint32_t *n) {
    int opened = kolk_between_open_(pool->fd, pool->file);
    if (opened < 0) return NULL;
    for (; *n <= pool->max_processes; (*n)++)
        if (may_be_dead(pool, *n) && kolk_between_lock_(opened, *n)) return kolk_between_keep_(opened);
    kolk_between_close_(opened);
    return NULL;
}

/* One thread of the process recovers at a time, and a hook does not recover. */
static bool recover_all(kolk_ipc *pool, uint32_t *count) {
    bool any = false;
    *count = 0;
    if (kolk_exchange_(&pool->recovering, 1, KOLK_ACQUIRE_)) return false;
    void *kept;
    for (uint32_t n = 1; (kept = lock_dead(pool, &n)); n++) {
        bool dead = may_be_dead(pool, n);
        if (dead) *count += recover_process(pool, n);
        kolk_between_release_(kept);
        any |= dead;
    }
    kolk_store_(&pool->recovering, 0, KOLK_RELEASE_);
    if (any) kolk_ipc_call_(&pool->block->free, UINT32_MAX);
    return any;
}

KOLK_NOINLINE_ uint32_t kolk_ipc_recover(kolk_ipc *pool) {
    uint32_t count;
    if (!number_here(pool)) return 0;
    recover_all(pool, &count);
    return count;
}

bool kolk_ipc_look_for_dead_(kolk_ipc *pool, int64_t ns) {
    uint64_t now = (uint64_t)kolk_now_ns_(), before = kolk_load_(&pool->looked, KOLK_RELAXED_);
    uint32_t count;
    if (now - before < (uint64_t)ns) return false;
    kolk_store_(&pool->looked, now, KOLK_RELAXED_);
    return recover_all(pool, &count);
}

/* ---- The number of this process ---------------------------------------------------------------------------------- */

/* Takes the lock of a number that nobody has, or with `dead` of one that a dead process has; 0: there is none. */
static uint32_t lock_number(const kolk_ipc *pool, int opened, bool dead) {
    for (uint32_t n = 1; n <= pool->max_processes; n++) {
        if (!dead && kolk_load_(&process_at(pool, n)->used, KOLK_ACQUIRE_)) continue;
        if (kolk_between_lock_(opened, n)) return n;
    }
    return 0;
}

#define MOST_NAPS 1000 /* of a millisecond */

/* Does another process hold the lock of a number that may become free: one that joins, leaves, or recovers a third? */
static bool may_become_free(const kolk_ipc *pool) {
    for (uint32_t n = 1; n <= pool->max_processes; n++)
        if (kolk_load_(&process_at(pool, n)->used, KOLK_ACQUIRE_) != IPC_LIVES) return true;
    return false;
}

static kolk_status lock_any_number(kolk_ipc *pool, uint32_t *n) {
    int opened = kolk_between_open_(pool->fd, pool->file);
    if (opened < 0) return KOLK_NO_LOCKS;
    *n = lock_number(pool, opened, false);
    if (!*n) *n = lock_number(pool, opened, true);
    if (*n) {
        pool->lock_kept = kolk_between_keep_(opened);
        return pool->lock_kept ? KOLK_OK : KOLK_NO_MEMORY;
    }
    kolk_between_close_(opened);
    return KOLK_TOO_MANY_PROCESSES;
}

/* What a dead process with this number may have left is recovered first: without the hook, because this process cannot
 * own objects yet. */
kolk_status kolk_ipc_join_(kolk_ipc *pool) {
    uint32_t n, count;
    kolk_forks_watch_();
    uint32_t forks = kolk_forks_now_();
    kolk_status status = lock_any_number(pool, &n);
    for (int naps = 0; status == KOLK_TOO_MANY_PROCESSES && naps < MOST_NAPS && may_become_free(pool); naps++) {
        uint32_t nothing = 0;
        kolk_wait_(&nothing, 0, (kolk_deadline){kolk_now_ns_() + 1000000});
        status = lock_any_number(pool, &n);
    }
    if (status != KOLK_OK) return status;
    ipc_process *process = process_at(pool, n);
    if (kolk_load_(&process->used, KOLK_ACQUIRE_)) recover_process(pool, n);
    process->pid = kolk_between_number_();
    kolk_between_name_(process->name);
    kolk_store_(&process->used, IPC_LIVES, KOLK_SEQ_CST_);
    pool->me = n;
    kolk_store_(&pool->forks, forks, KOLK_RELEASE_); /* partner: number_here */
    recover_all(pool, &count);
    return KOLK_OK;
}

/* The number and its lock are the parent's. */
static void join_as_child(kolk_ipc *pool) {
    uint32_t forks = kolk_forks_now_();
    pool->me = 0;
    kolk_store_(&pool->recovering, 0, KOLK_RELAXED_);
    pool->lock_kept = NULL;
    pool->waiting = 0;
    if (!pool->read_only) kolk_ipc_join_(pool);
    kolk_store_(&pool->forks, forks, KOLK_RELEASE_); /* partner: number_here */
}

KOLK_NOINLINE_ uint32_t kolk_ipc_join_again_(kolk_ipc *pool) {
    if (!pool->block) return 0;
    kolk_lock_word_(&pool->lock);
    if (pool->forks != kolk_forks_now_()) join_as_child(pool);
    kolk_unlock_word_(&pool->lock);
    return pool->me;
}

void kolk_ipc_leave_(kolk_ipc *pool) {
    uint32_t me = number_here(pool);
    if (!me) return;
    pool->on_orphan = NULL; /* what this process owns is not given to itself */
    recover_process(pool, me);
    pool->me = 0;
    kolk_ipc_call_(&pool->block->free, UINT32_MAX);
}

kolk_status kolk_ipc_status(kolk_ipc *pool) {
    if (!pool->block) return KOLK_NO_DESCRIPTOR;
    if (kolk_load_(&pool->corrupt, KOLK_RELAXED_)) return KOLK_CORRUPT;
    if (pool->read_only) return KOLK_READ_ONLY;
    if (number_here(pool)) return KOLK_OK;
    return KOLK_TOO_MANY_PROCESSES;
}

/* ---- Adopt ------------------------------------------------------------------------------------------------------- */

KOLK_NOINLINE_ void *kolk_ipc_adopt(kolk_ipc *pool) {
    uint32_t me = number_here(pool);
    for (uint32_t slot = 0; me && slot < pool->capacity; slot++) {
        uint64_t life = life_at(pool, slot);
        if (!has_live_object(life) || (life & IPC_QUEUED) || life_owner(life) != 0) continue;
        if (change_life(pool, slot, life, owned_life(life, me))) return object_at(pool, slot);
    }
    return NULL;
}

#endif
