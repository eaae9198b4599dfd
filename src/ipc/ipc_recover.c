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
 *    marked as queued, but no queue has it. Nobody else changes the life of an orphan, so plain stores end it: with a
 *    million orphans, exchanges take half as long again.
 *
 * The steps are the same for one dead process and for a thousand, so one walk recovers all that are found.
 *
 * A free of the dead that had just changed the life may have left no hint. So this counts as a return at the end, and
 * the next alloc that finds no hint searches. */
#include "ipc_inside.h"

#if KOLK_HOSTED

#include "../os/between.h"
#include "../os/clock.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../os/sleep.h"

static ipc_process *process_at(const kolk_ipc *pool, uint32_t n) {
    KOLK_ASSERT_(n > 0 && n <= pool->max_processes);
    return (ipc_process *)(void *)((unsigned char *)pool->block + IPC_HEADER) + n;
}

/* Nobody but this thread changes the life of a dead process's object that is in no queue. */
static void set_life(const kolk_ipc *pool, uint32_t slot, uint64_t life) {
    kolk_store_(&pool->lives[slot], life, KOLK_RELEASE_);
}

/* Frees an object of a dead process, or gives it to whoever is to have it. */
static void end_orphan(kolk_ipc *pool, uint32_t slot, uint64_t life, uint64_t *freed) {
    uint32_t me = pool->on_orphan ? number_so_far(pool) : 0;
    if (me) {
        set_life(pool, slot, owned_life(life, me));
        pool->on_orphan(object_at(pool, slot), pool->context);
    } else if (pool->orphans == KOLK_IPC_KEEP) {
        set_life(pool, slot, owned_life(life, 0));
    } else {
        set_life(pool, slot, next_life(life, 0));
        *freed |= kolk_bits_at_(slot);
    }
}

/* Shows the hints of 64 slots at once. Ends no more of them if the hook finds garbage. */
static uint32_t end_orphans(kolk_ipc *pool, const ipc_dead *dead) {
    uint32_t count = 0, used = used_slots(pool);
    for (uint32_t word = 0; word < kolk_bits_words_(used); word++) {
        uint64_t freed = 0;
        for (uint64_t left = bits_in_word(pool, word); left; left &= left - 1) {
            uint32_t slot = word * 64 + kolk_bits_lowest_(left);
            uint64_t life = life_at(pool, slot);
            if (!has_live_object(life) || !is_dead(dead, life_owner(life)) || is_corrupt(pool)) continue;
            end_orphan(pool, slot, life, &freed);
            count++;
        }
        if (freed) kolk_ipc_show_hints_(pool, word, freed);
    }
    return count;
}

static void add_dead(const kolk_ipc *pool, ipc_dead *dead, uint32_t n) {
    dead->numbers[(n - dead->first) / 64] |= kolk_bits_at_(n - dead->first);
    kolk_store_(&process_at(pool, n)->used, IPC_ENDS, KOLK_SEQ_CST_);
}

/* A free of the dead may have changed the life, and shown no hint. */
static void count_return(const kolk_ipc *pool) {
    kolk_fetch_add_(&pool->block->search, 2, KOLK_SEQ_CST_);
}

static uint32_t recover_these(kolk_ipc *pool, const ipc_dead *dead) {
    kolk_ipc_settle_(pool, dead);
    uint32_t count = end_orphans(pool, dead);
    count_return(pool);
    if (is_corrupt(pool)) return count; /* the rest is for another process */
    for (uint32_t n = dead->first; n <= pool->max_processes && n - dead->first < IPC_MOST_DEAD; n++)
        if (is_dead(dead, n)) kolk_store_(&process_at(pool, n)->used, 0, KOLK_SEQ_CST_);
    return count;
}

/* This thread has the lock of process n, which is dead, or leaves. */
static void recover_one(kolk_ipc *pool, uint32_t n) {
    ipc_dead dead = {.first = n};
    add_dead(pool, &dead, n);
    recover_these(pool, &dead);
}

static bool may_be_dead(const kolk_ipc *pool, uint32_t n) {
    return n != number_so_far(pool) && kolk_load_(&process_at(pool, n)->used, KOLK_ACQUIRE_);
}

/* Takes the locks of the first dead processes from number n on. NULL: there are none. */
static void *lock_dead(const kolk_ipc *pool, uint32_t n, ipc_dead *dead) {
    bool any = false;
    int opened = kolk_between_open_(pool->fd, pool->file);
    if (opened < 0) return NULL;
    for (*dead = (ipc_dead){.first = n}; n <= pool->max_processes && n - dead->first < IPC_MOST_DEAD; n++) {
        if (!any) dead->first = n;
        if (!may_be_dead(pool, n) || !kolk_between_lock_(opened, n)) continue;
        any = true;
        if (may_be_dead(pool, n)) add_dead(pool, dead, n); /* nobody has recovered it meanwhile */
    }
    if (any) return kolk_between_keep_(opened, pool->page);
    kolk_between_close_(opened);
    return NULL;
}

/* One thread of the process recovers at a time, and a hook does not recover. Returns true if anybody was dead. */
static bool recover_all(kolk_ipc *pool, uint32_t *count) {
    bool any = false;
    ipc_dead dead;
    *count = 0;
    if (kolk_exchange_(&pool->recovering, 1, KOLK_ACQUIRE_)) return false;
    void *kept;
    for (uint32_t n = 1; (kept = lock_dead(pool, n, &dead)); n = dead.first + IPC_MOST_DEAD) {
        *count += recover_these(pool, &dead);
        kolk_between_release_(kept, pool->page);
        any = true;
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

/* How often to look again for a number, after a millisecond each. If another process joins, leaves or recovers a third,
 * a number may become free. If nobody seems to, one may just have begun. */
static int most_naps(const kolk_ipc *pool) {
    for (uint32_t n = 1; n <= pool->max_processes; n++)
        if (kolk_load_(&process_at(pool, n)->used, KOLK_ACQUIRE_) != IPC_LIVES) return 1000;
    return 100;
}

static kolk_status lock_any_number(kolk_ipc *pool, uint32_t *n) {
    int opened = kolk_between_open_(pool->fd, pool->file);
    if (opened < 0) return KOLK_NO_LOCKS;
    *n = lock_number(pool, opened, false);
    if (!*n) *n = lock_number(pool, opened, true);
    if (*n) {
        pool->lock_kept = kolk_between_keep_(opened, pool->page);
        return pool->lock_kept ? KOLK_OK : KOLK_NO_MEMORY;
    }
    kolk_between_close_(opened);
    return KOLK_TOO_MANY_PROCESSES;
}

static void release_number(kolk_ipc *pool) {
    if (pool->lock_kept) kolk_between_release_(pool->lock_kept, pool->page);
    pool->lock_kept = NULL;
}

/* From now on this process is number n. */
static void become(kolk_ipc *pool, uint32_t n, uint32_t forks) {
    ipc_process *process = process_at(pool, n);
    process->pid = kolk_between_number_();
    kolk_between_name_(process->name);
    kolk_store_(&process->used, IPC_LIVES, KOLK_SEQ_CST_);
    kolk_raw_store_(&pool->me, n, KOLK_RELAXED_);
    kolk_store_(&pool->forks, forks, KOLK_RELEASE_); /* partner: number_so_far */
}

/* What a dead process has left whose number this process got: the lives of its objects, by slot, else 0. They are this
 * process's own from then on, and go to the hook. They are noted before, because what this process allocates with the
 * same number is no orphan. */
typedef struct ipc_legacy {
    uint64_t *lives;
    uint32_t slots;
} ipc_legacy;

static size_t legacy_bytes(const ipc_legacy *it) {
    return (size_t)it->slots * sizeof(uint64_t);
}

static kolk_status note_legacy(kolk_ipc *pool, uint32_t n, ipc_legacy *out) {
    ipc_dead dead = {.first = n, .numbers = {1}};
    kolk_ipc_settle_(pool, &dead);
    out->slots = used_slots(pool);
    size_t size = legacy_bytes(out);
    if (size == 0) return KOLK_OK;
    out->lives = (uint64_t *)kolk_memory_take_(size, size);
    if (!out->lives) return KOLK_NO_MEMORY;
    for (uint32_t slot = 0; slot < out->slots; slot++) {
        uint64_t life = life_at(pool, slot);
        out->lives[slot] = has_live_object(life) && life_owner(life) == n ? life : 0;
    }
    return KOLK_OK;
}

static void hand_out(kolk_ipc *pool, const ipc_legacy *legacy) {
    for (uint32_t slot = 0; slot < legacy->slots; slot++) {
        uint64_t life = legacy->lives[slot];
        if (!life || is_corrupt(pool) || !change_life(pool, slot, life, life & ~IPC_QUEUED))
            continue; /* the hook has had it already */
        pool->on_orphan(object_at(pool, slot), pool->context);
    }
    kolk_memory_release_(legacy->lives, legacy_bytes(legacy));
    count_return(pool);
}

static kolk_status take_number(kolk_ipc *pool, ipc_legacy *legacy) {
    uint32_t n;
    kolk_forks_watch_();
    uint32_t forks = kolk_forks_now_();
    kolk_status status = lock_any_number(pool, &n);
    for (int naps = 0; status == KOLK_TOO_MANY_PROCESSES && naps < most_naps(pool); naps++) {
        uint32_t nothing = 0;
        kolk_wait_(&nothing, 0, (kolk_deadline){kolk_now_ns_() + 1000000});
        status = lock_any_number(pool, &n);
    }
    if (status != KOLK_OK) return status;
    bool inherits = kolk_load_(&process_at(pool, n)->used, KOLK_ACQUIRE_);
    if (inherits && pool->on_orphan)
        status = note_legacy(pool, n, legacy);
    else if (inherits)
        recover_one(pool, n);
    if (status == KOLK_OK)
        become(pool, n, forks);
    else
        release_number(pool);
    return status;
}

/* Calls the hook, so this thread has no lock. */
static void meet_the_dead(kolk_ipc *pool, const ipc_legacy *legacy) {
    uint32_t count;
    if (legacy->lives) hand_out(pool, legacy);
    recover_all(pool, &count);
}

kolk_status kolk_ipc_join_(kolk_ipc *pool) {
    ipc_legacy legacy = {.lives = NULL};
    kolk_status status = take_number(pool, &legacy);
    if (status == KOLK_OK) meet_the_dead(pool, &legacy);
    return status;
}

/* The number and its lock are the parent's. If the child gets none, it does not ask again. */
static bool join_as_child(kolk_ipc *pool, ipc_legacy *legacy) {
    uint32_t forks = kolk_forks_now_();
    pool->me = 0;
    kolk_store_(&pool->recovering, 0, KOLK_RELAXED_);
    pool->lock_kept = NULL;
    pool->waiting = 0;
    bool joins = !pool->read_only && !is_corrupt(pool) && take_number(pool, legacy) == KOLK_OK;
    kolk_store_(&pool->forks, forks, KOLK_RELEASE_); /* partner: number_so_far */
    return joins;
}

KOLK_NOINLINE_ uint32_t kolk_ipc_join_again_(kolk_ipc *pool) {
    ipc_legacy legacy = {.lives = NULL};
    if (!pool->block) return 0;
    kolk_lock_word_(&pool->lock);
    bool joined = pool->forks != kolk_forks_now_() && join_as_child(pool, &legacy);
    kolk_unlock_word_(&pool->lock);
    if (joined) meet_the_dead(pool, &legacy);
    return number_so_far(pool);
}

/* A fork's child that has called nothing yet has no number. Its parent's lock is not mapped there. */
void kolk_ipc_leave_(kolk_ipc *pool) {
    uint32_t me = number_so_far(pool);
    if (pool->forks != kolk_forks_now_()) pool->lock_kept = NULL;
    pool->on_orphan = NULL; /* what this process owns is not given to itself */
    if (me) recover_one(pool, me);
    pool->me = 0;
    if (me) kolk_ipc_call_(&pool->block->free, UINT32_MAX);
    release_number(pool);
}

kolk_status kolk_ipc_status(kolk_ipc *pool) {
    if (!pool->block) return KOLK_NO_DESCRIPTOR;
    uint32_t me = number_here(pool);
    if (is_corrupt(pool)) return KOLK_CORRUPT;
    if (pool->read_only) return KOLK_READ_ONLY;
    return me ? KOLK_OK : KOLK_TOO_MANY_PROCESSES;
}

/* ---- Adopt ------------------------------------------------------------------------------------------------------- */

KOLK_NOINLINE_ void *kolk_ipc_adopt(kolk_ipc *pool) {
    uint32_t me = number_here(pool), end = me ? used_slots(pool) : 0;
    for (uint32_t slot = 0; slot < end; slot++) {
        uint64_t life = life_at(pool, slot);
        if (!has_live_object(life) || (life & IPC_QUEUED) || life_owner(life) != 0) continue;
        if (change_life(pool, slot, life, owned_life(life, me))) return object_at(pool, slot);
    }
    return NULL;
}

#endif
