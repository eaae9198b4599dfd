/* shared_inside.h: declarations that the files of the shared pool have in common, floor by floor, lowest first.
 * shared.c lists the floors. A file calls only functions that are declared above its own section here. */
#ifndef KOLK_SRC_SHARED_INSIDE_H
#define KOLK_SRC_SHARED_INSIDE_H

#undef KOLK_EXTERN /* shared.c emits the functions of shared.inl, even if the program defines it */
#include "../core/wait_queue.h"
#include "../os/thread.h"
#include "../store/store.h"

/* The store's sets. Without setup and teardown, RAW and READY do not exist. */
enum {
    LATER,           /* 4 sets of slots that will be free later: the epoch of the free, modulo 4, selects the set */
    RAW = LATER + 4, /* free slots that are not set up, because setup failed */
    READY,           /* slots that are set up, free or not */
    SETS
};

/* The part of a pool that the fast paths do not need. */
typedef struct kolk_shared_inside_ {
    kolk_slot_store_ store; /* first */
    unsigned char *records; /* max_threads of them: a kolk_shared_keeper_, and its kolk_magazine_ at THREAD_BYTES */
    size_t record_size;
    uint32_t tag, max_threads;
    uintptr_t key; /* the key of the threads' own locals, plus 1; 0: no key */
    bool exact;
    kolk_life life;
    void *context;
    uint32_t wrong_pool;
    kolk_keepers_ keepers;
    KOLK_ALIGNAS(8) uint64_t epoch;   /* of deferred free */
    KOLK_ALIGNAS(8) uint64_t retired; /* the last epoch in which free_later was called */
    KOLK_ALIGNAS(8) uint64_t looked;  /* kolk_now_ns_ when a waiter last looked for dead threads */
    KOLK_ALIGNAS(8) uint64_t waits;   /* how many threads have joined the waiters */
    kolk_wait_queue_ waiters;
    uint32_t waiters_lock, waiters_forks;
    uint32_t is_shut; /* kolk_shared_shutdown */
    uint32_t ender;   /* the thread that is inside clear or deinit; 0: none */
    bool tears_down;  /* deinit is at the last step: an alloc returns NULL */
} kolk_shared_inside_;

/* A thread with a local. */
typedef struct kolk_shared_keeper_ {
    kolk_keeper_ base;              /* first */
    KOLK_ALIGNAS(8) uint64_t epoch; /* the epoch that the thread has reached; 0: offline */
    uint32_t stalls;                /* how often it has found other threads behind its epoch */
    uint32_t in_hook;               /* the thread that runs a hook through this local; 0: none */
    kolk_shared_local own;          /* for kolk_shared_local_of_thread */
} kolk_shared_keeper_;

/* Bytes from the start of a record to its magazine. This separates the fields that other threads read from those that
 * the fast paths use. */
#define THREAD_BYTES 128u

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

/* The pool of a local. NULL: it has none, or the pool has ended and cleared the magazine (shared_end.c). */
static inline kolk_shared_inside_ *pool_of(const kolk_shared_local *local) {
    return local->magazine && local->magazine->depot ? local->pool : NULL;
}

static inline kolk_shared_keeper_ *keeper_of(const kolk_shared_local *local) {
    return (kolk_shared_keeper_ *)(void *)local->magazine->keeper;
}

static inline kolk_shared_keeper_ *first_keeper(const kolk_shared_inside_ *pool) {
    return (kolk_shared_keeper_ *)(void *)kolk_keepers_first_(&pool->keepers);
}

static inline kolk_shared_keeper_ *next_keeper(const kolk_shared_keeper_ *keeper) {
    return (kolk_shared_keeper_ *)(void *)keeper->base.next;
}

/* Do hooks set up or tear down parts of objects? */
static inline bool makes_parts(const kolk_shared_inside_ *pool) {
    return pool->life.setup || pool->life.teardown;
}

static inline bool is_ready(const kolk_shared_inside_ *pool, uint32_t slot) {
    return kolk_load_(kolk_slot_set_word_(&pool->store.sets[READY], slot / 64), KOLK_RELAXED_) & kolk_bits_at_(slot);
}

/* Enclose the call of a hook through a local. Entering returns what leaving needs. */
static inline uint32_t enter_shared_hook(kolk_shared_keeper_ *keeper) {
    uint32_t before = keeper->in_hook;
    keeper->in_hook = kolk_thread_();
    return before;
}

static inline void leave_shared_hook(kolk_shared_keeper_ *keeper, uint32_t before) {
    keeper->in_hook = before;
}

/* ---- shared_ask.c ------------------------------------------------------------------------------------------------ */

/* Adds the statistics that a store does not have. */
void kolk_shared_add_waits_(const kolk_shared_inside_ *inside, kolk_stats *out);

/* Reports that the local has no pool, or that its pool is gone. */
void kolk_shared_fail_local_(const kolk_shared_local *local, const void *object, const char *verb, const void *site);

/* Is the calling thread, which has this local, inside a hook of the pool? If so, reports that it cannot make this
 * call. */
bool kolk_shared_bar_(const kolk_shared_local *local, const char *verb, const void *site);
static inline bool kolk_shared_is_barred_(const kolk_shared_local *local, const char *verb, const void *site) {
    bool may_be = keeper_of(local)->in_hook || kolk_load_(&local->pool->ender, KOLK_RELAXED_);
    return KOLK_UNLIKELY_(may_be) && kolk_shared_bar_(local, verb, site);
}

/* The same for a call that needs the whole pool, by a thread that may have any locals, or none. The second function
 * does not report. */
bool kolk_shared_is_all_barred_(const kolk_shared_inside_ *pool, const char *verb, const void *site);
bool kolk_shared_runs_hook_(const kolk_shared_inside_ *pool);

/* ---- shared_waiters.c -------------------------------------------------------------------------------------------- */

/* A thread that waits for a slot. */
typedef struct kolk_slot_waiter_ {
    kolk_waiter_ link; /* first: the entry of the queue */
    uint32_t slot;     /* KOLK_NO_SLOT_ until it is served */
} kolk_slot_waiter_;

/* The interval at which waiters check whether they wait for a thread that has ended. */
#ifndef KOLK_SCHEDULED
#define WAITER_LOOK_NS INT64_C(1000000000)
#else
#define WAITER_LOOK_NS INT64_MAX /* never: in scheduled tests a thread that is not woken must sleep for ever */
#endif

/* The calling thread joins the end of the queue. False: the pool is shut down. */
bool kolk_shared_join_(kolk_shared_inside_ *pool, kolk_slot_waiter_ *me);

/* The calling thread leaves the queue: returns its slot, or KOLK_NO_SLOT_. */
uint32_t kolk_shared_leave_(kolk_shared_inside_ *pool, kolk_slot_waiter_ *me);

/* Has its wait ended? If so, it has a slot; if the slot is KOLK_NO_SLOT_, the pool was shut down. */
static inline bool kolk_shared_is_served_(const kolk_slot_waiter_ *me) {
    return kolk_load_(&me->link.woken, KOLK_ACQUIRE_); /* partner: kolk_waiter_wake_ */
}

/* Hands free slots to the waiting threads, first come, first served. */
void kolk_shared_serve_(kolk_shared_inside_ *pool);

/* Call this after putting slots into the depot and counting them. */
static inline void serve_waiting(kolk_shared_inside_ *pool) {
    if (KOLK_UNLIKELY_(kolk_load_(&pool->store.depot.waiting, KOLK_SEQ_CST_)))
        kolk_shared_serve_(pool); /* partner: kolk_shared_join_ */
}

/* ---- shared_epochs.c --------------------------------------------------------------------------------------------- */

/* Puts the slots of threads that ended without kolk_shared_local_deinit into the depot. With `closely`, this includes
 * threads that are exiting but that the system still lists. */
void kolk_shared_reclaim_(kolk_shared_inside_ *pool, bool closely);

/* Do what kolk_shared_online and kolk_shared_offline do, also in hooks. */
void kolk_shared_come_online_(const kolk_shared_local *local);
void kolk_shared_leave_online_(const kolk_shared_local *local);

/* Sets aside a slot whose life has ended; the slot becomes free later. */
void kolk_shared_retire_(kolk_shared_local *local, uint32_t slot);

/* Takes out all slots that are set aside to be free later; false if there are none. No other thread may use the pool
 * meanwhile. */
bool kolk_shared_drain_later_(kolk_shared_inside_ *pool, kolk_slots_taker_ *taker);

/* Makes all slots free that are set aside to be free later. No other thread may use the pool meanwhile. */
void kolk_shared_free_retired_(kolk_shared_inside_ *pool);

/* If slots wait for epochs to end, and all threads are offline, ends these epochs; true if slots may have become
 * free. */
bool kolk_shared_end_epochs_(const kolk_shared_local *local);

/* For a thread that waits. If slots are set aside to be free later, reclaims the slots of threads that have ended, and
 * ends the epochs that those threads held up. Does so at most once per WAITER_LOOK_NS. */
void kolk_shared_look_for_dead_(kolk_shared_local *local);

/* ---- shared_end.c ------------------------------------------------------------------------------------------------ */

/* Runs the hooks that must run when the pool ends. */
void kolk_shared_end_lives_(kolk_shared_inside_ *pool, const void *site);

/* Releases the block. If running threads still have locals, a few pages stay, so that calls through these locals find
 * that the pool has ended. */
void kolk_shared_end_memory_(const kolk_shared_inside_ *pool);

#endif
