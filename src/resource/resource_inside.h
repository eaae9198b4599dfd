/* resource_inside.h: what the files of the resource pool share, floor by floor from below. resource.c has the essay and
 * the invariants. */
#ifndef KOLK_SRC_RESOURCE_INSIDE_H
#define KOLK_SRC_RESOURCE_INSIDE_H

#undef KOLK_EXTERN /* the functions of pool.inl are emitted in pool.c, also in a program that is compiled with it */
#include "kolk/pool.h"
#include "kolk/resource.h"

#include "../core/assert.h"
#include "../core/wait_queue.h"
#include "../diag/settings.h"
#include "../diag/stacks.h"
#include "../os/lock.h"
#include "../os/thread.h"
#include "housekeeper.h"

#define KEY_BYTES 256u /* of a key, with its 0 */

typedef enum resource_state {
    RESOURCE_IDLE,    /* in the list of its key */
    RESOURCE_LENT,    /* a borrower has it */
    RESOURCE_IN_HAND, /* a thread validates, resets or destroys it, or is about to lend it */
    RESOURCE_MAKING   /* a thread creates it; counts in `creating` */
} resource_state;

/* Why a resource is destroyed: an index of resource_counts.destroyed. */
typedef enum resource_end {
    END_DISCARDED,
    END_INVALID,
    END_UNCLEAN,
    END_EXPIRED,
    END_UNUSED,
    END_EVICTED,
    END_REPLACED,
    END_CLOSED,
    RESOURCE_ENDS,
    NO_END = RESOURCE_ENDS
} resource_end;

struct resource_entry;

/* A key that resources, borrows or waiters have. An object of the pool's `keys`. */
typedef struct resource_key {
    struct resource_key *next;              /* with the same remainder of the hash */
    struct resource_entry *newest, *oldest; /* its idle resources, in the order in which they came back */
    uint32_t idle;                          /* how many */
    uint32_t users;                         /* entries and calls; the key goes with the last */
    uint32_t making;                        /* how many of it are being created */
    uint32_t hash;
    bool wanted; /* an event loop is to hear of the next idle one; counts as a user */
    char text[KEY_BYTES];
} resource_key;

/* A resource, or the right to create one. An object of the pool's `entries`. */
typedef struct resource_entry {
    void *resource;
    resource_key *key;
    struct resource_entry *newer, *older; /* IDLE: in the list of its key */
    int64_t expires;                      /* the end of its lifetime */
    int64_t idle_since;
    int64_t proved;      /* when it was seen to be good last: created, validated, given back */
    int64_t since;       /* LENT: when; to whom: */
    const char *who;     /* may be NULL */
    kolk_kept_site site; /* of the borrow */
    uint32_t thread;     /* that has it; IN_HAND and MAKING: that works at it */
    uint32_t borrows;    /* so far, of this slot of `entries`: it makes the handles. Stays from life to life */
    uint32_t epoch;      /* of the pool when its creation began */
    uint32_t slot;       /* of `entries`, that it is in */
    uint64_t number;     /* it is the n-th that the pool has created */
    uint8_t state;
    bool evicted;
    bool replaces; /* MAKING: there is a resource of another key, which is to be destroyed before */
    bool told;     /* this borrow was reported as a leak */
    bool promised; /* IDLE: an event loop was told of it, and has not asked yet */
    char thread_name[KOLK_THREAD_NAME]; /* of the borrower, if the pool keeps_names */
} resource_entry;

/* Times in buckets whose width is an eighth of their octave (as HdrHistogram, Tene, 2012), up to 2^41 ns. */
#define TIME_BUCKETS (39u * 8u)
typedef struct resource_times {
    uint64_t count, sum, max;
    uint64_t buckets[TIME_BUCKETS];
} resource_times;

/* Since init. */
typedef struct resource_counts {
    uint64_t borrows, full, timeouts, failed, created, create_failures, leaks;
    uint64_t destroyed[RESOURCE_ENDS];
} resource_counts;

#define KEY_LISTS 64u

typedef struct kolk_resource_inside {
    kolk_chore chore; /* first: the upkeep, for the housekeeper */
    uint32_t lock;    /* of all that changes, but chore.due; never held while a function of the user runs */
    uint32_t forks;   /* of the process that has made it */
    uint32_t number;  /* in the registry */
    uint32_t tag;     /* in the handles */

    bool closed, paused;
    bool keeps_names; /* of threads that borrow, since they may have ended when they are reported */
    uint32_t max;     /* may become less than there are */
    uint32_t slots;   /* of `entries` that were ever used */
    uint32_t idle;    /* entries by state */
    uint32_t lent;
    uint32_t creating;
    uint32_t peak;
    uint32_t epoch;   /* raised by evict */
    uint32_t emptied; /* counts entries that go once it is closed; close sleeps on it */

    kolk_pool entries, keys;
    resource_key *no_key; /* "" */
    resource_key *lists[KEY_LISTS];
    kolk_wait_queue waiters;
    uint32_t waiting;

    bool called;           /* for upkeep, since the last began */
    int64_t retry_at;      /* not before, it creates again after a failure */
    int64_t backoff;       /* the pause after the next failure, at most */
    uint64_t random;       /* state */
    kolk_error last_error; /* of the last create that failed, and when */
    int64_t last_failure;
    uint32_t fd;      /* for event loops, + 1; 0: none */
    uint32_t wanted;  /* keys that are */
    bool fd_called;   /* it is readable */
    bool fd_news;     /* there is something that event loops want, or the next is true */
    bool fd_failure;  /* they are to hear of last_error */
    bool kept_failed; /* the last create in the background that failed was of the key "" */

    kolk_resource_pool_desc desc; /* resolved: times in nanoseconds, INT64_MAX for never */
    kolk_settings settings;
    size_t create_calls; /* for KOLK_FAIL */
    size_t bytes;        /* of this struct */
    resource_counts counts;
    resource_times wait, use, create;
    kolk_resource_stats listed; /* what the registry was told last; under the process's lock */
} kolk_resource_inside;

/* A borrower that waits. */
typedef struct resource_waiter {
    kolk_waiter link; /* first: what is in the queue of waiters */
    resource_key *key;
    uint32_t thread;
    resource_entry *entry; /* what it was given; NULL when it is woken: the pool is closed */
} resource_waiter;

/* NULL: it is closed, or the parent's, which this process may not touch. */
static inline kolk_resource_inside *own_inside(const kolk_resource_pool *pool) {
    return pool->inside && kolk_forks() == pool->inside->forks ? pool->inside : NULL;
}

/* ---- resource_times.c -------------------------------------------------------------------------------------------- */

void kolk_times_add(resource_times *times, int64_t ns);
void kolk_times_sum_up(const resource_times *times, kolk_times *out);

/* ---- resource_key.c: under the lock ------------------------------------------------------------------------------ */

/* The key of this text, with one user more. NULL: no memory. */
resource_key *kolk_key_of(kolk_resource_inside *pool, const char *text);
void kolk_key_leave(kolk_resource_inside *pool, resource_key *key);

/* An event loop wants to hear of the next idle one of this key; it has heard. */
void kolk_key_want(kolk_resource_inside *pool, resource_key *key);
void kolk_key_tell(kolk_resource_inside *pool, resource_key *key);

/* ---- resource_share.c: who gets what. Under the lock ------------------------------------------------------------- */

void kolk_resource_lock(kolk_resource_inside *pool);

/* Serves the waiters with what there is, and unlocks. */
void kolk_resource_unlock(kolk_resource_inside *pool);

/* The entry in this slot of `entries`, or NULL. */
resource_entry *kolk_entry_at(const kolk_resource_inside *pool, uint32_t slot);

/* Idle ones of another key that may be destroyed to make room. */
typedef enum resource_room { ROOM_OF_NONE, ROOM_OF_UNPROMISED, ROOM_OF_ANY } resource_room;

/* The right to create one for this key: an entry MAKING. NULL: nothing. */
resource_entry *kolk_resource_make(kolk_resource_inside *pool, resource_key *key, resource_room room, uint32_t thread);

/* Upkeep is due now. */
void kolk_resource_call_upkeep(kolk_resource_inside *pool);

/* There may be room for what upkeep is to make. */
void kolk_resource_has_room(kolk_resource_inside *pool);

/* What a borrower of this key can have now: an idle one, IN_HAND, or, if it `creates`, the right to create one. */
resource_entry *kolk_resource_take(kolk_resource_inside *pool, resource_key *key, bool creates, uint32_t thread);

/* Takes an idle one out of its list: IN_HAND. */
void kolk_entry_take_out(kolk_resource_inside *pool, resource_entry *entry, uint32_t thread);

/* An entry IN_HAND becomes idle, in the order of idle_since. */
void kolk_entry_put_back(kolk_resource_inside *pool, resource_entry *entry);

/* ---- resource_make.c: the user's functions. Under the lock, which is given back while they run ------------------- */

/* Why an entry has to go, or NO_END. */
resource_end kolk_entry_end(const kolk_resource_inside *pool, const resource_entry *entry, int64_t now);

/* Destroys the resource of an entry IN_HAND, and the entry. The lock is given back meanwhile. */
void kolk_entry_destroy(kolk_resource_inside *pool, resource_entry *entry, resource_end end);

/* Destroys what is idle and has to go. */
void kolk_resource_destroy_idle(kolk_resource_inside *pool);

/* Puts an entry IN_HAND back, or destroys it if it has to go. */
void kolk_entry_settle(kolk_resource_inside *pool, resource_entry *entry, int64_t now);

/* Creates the resource of an entry MAKING, with the lock given back: then it is IN_HAND. False: it is gone, and *error
 * says why. */
bool kolk_entry_create(kolk_resource_inside *pool, resource_entry *entry, kolk_deadline deadline, kolk_error *error);

/* A number from 0 to below n; 0 if n is. */
int64_t kolk_resource_random(kolk_resource_inside *pool, int64_t n);

/* Validates the resource of an entry IN_HAND, with the lock given back. False: it is destroyed, and the entry gone. */
bool kolk_entry_validate(kolk_resource_inside *pool, resource_entry *entry, kolk_deadline deadline);

/* ---- resource_report.c: without the lock ------------------------------------------------------------------------- */

/* The borrower of a resource: the one that has it now, or had it last. */
typedef struct resource_holder {
    bool known, has_it;
    uint32_t slot, thread;
    const char *who;
    kolk_kept_site site;
    const void *resource;
    int64_t held; /* nanoseconds */
    char thread_name[KOLK_THREAD_NAME];
} resource_holder;

resource_holder kolk_entry_holder(const resource_entry *entry, int64_t now);

/* A borrow that lasts too long, or is still there at the end; one of those came back. */
void kolk_report_leak(const kolk_resource_inside *pool, const resource_holder *holder);
void kolk_report_return(const kolk_resource_inside *pool, const resource_holder *holder);

/* A handle that ends no borrow: what is known of the one who has the resource now, or else of the one who had it, with
 * the thread that gave it back. Under the lock. */
resource_holder kolk_holder_of_handle(const kolk_resource_inside *pool, kolk_handle handle);

/* Reports it; pool NULL: it is deinit'd. */
void kolk_report_handle(const kolk_resource_inside *pool, kolk_handle handle, const void *site,
                        const resource_holder *holder);

/* ---- resource_upkeep.c ------------------------------------------------------------------------------------------- */

/* What kolk_resource_tick does. Says in the chore when it is due again. */
void kolk_resource_upkeep(kolk_resource_inside *pool, kolk_deadline deadline);

/* Reports who has something, if it was not reported yet. */
void kolk_resource_name_holders(kolk_resource_inside *pool);

#endif
