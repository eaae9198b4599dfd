/* resource_inside.h: declarations that the files of the resource pool have in common, floor by floor, lowest first.
 * resource.c has the essay and the invariants. */
#ifndef KOLK_SRC_RESOURCE_INSIDE_H
#define KOLK_SRC_RESOURCE_INSIDE_H

#undef KOLK_EXTERN /* pool.c emits the functions of pool.inl, even if the program defines it */
#include "kolk/pool.h"
#include "kolk/resource.h"

#include "../base/assert.h"
#include "../core/wait_queue.h"
#include "../core/watch.h"
#include "../core/begin.h"
#include "../os/lock.h"
#include "../os/thread.h"
#include "makers.h"

#define KEY_BYTES 256u /* the most bytes of a key, including its final 0 */

typedef enum resource_state {
    RESOURCE_IDLE,    /* in the line of its key */
    RESOURCE_ASKED,   /* also in the line, while a maker validates it; it is not lent meanwhile */
    RESOURCE_LENT,    /* a borrower has it */
    RESOURCE_IN_HAND, /* a thread validates, resets or destroys it, or is about to lend it */
    RESOURCE_MAKING,  /* a thread creates it */
    RESOURCE_DOOMED,  /* a maker will destroy it */
    RESOURCE_ENDING   /* a maker destroys it */
} resource_state;

/* Why a resource is destroyed, or leaves the pool. This is also the index into resource_counts.destroyed. */
typedef enum resource_end {
    END_DISCARDED,
    END_INVALID,
    END_UNCLEAN,
    END_EXPIRED,
    END_UNUSED,
    END_EVICTED,
    END_REPLACED,
    END_CLOSED,
    END_DETACHED, /* not destroyed */
    RESOURCE_ENDS,
    NO_END = RESOURCE_ENDS
} resource_end;

struct resource_entry;

/* A key of resources, borrows or waiters. An object of the pool's `keys`. */
typedef struct resource_key {
    struct resource_key *next;              /* in the same list of the table */
    struct resource_entry *newest, *oldest; /* its line: IDLE and ASKED entries, in the order in which they came back */
    struct resource_key *before, *behind;   /* hungry: neighbours among hungry keys */
    struct resource_key *rests_before, *rests_behind; /* rests: neighbours among resting keys */
    kolk_wait_queue_ waiters;
    uint64_t since;         /* hungry: the turn in which it became so */
    uint32_t waiting;       /* number of waiters */
    uint32_t wishes;        /* resources to create for borrows with KOLK_NOW that found none; a user if not 0 */
    uint32_t surge;         /* the last number of wishes */
    uint32_t entries;       /* entries of all states */
    uint32_t idle, making;  /* entries that are IDLE, entries that are MAKING */
    uint32_t asked, silent; /* ASKED entries that are in time, ASKED entries that are late */
    uint32_t users;         /* entries, calls, and each field here marked `a user`; without users the key is freed */
    uint32_t hash;
    bool hungry;               /* demand exceeds the resources on their way, and a maker may act on that */
    bool rests;                /* a create has failed, and the next one waits until retry_at; a user */
    bool wanted;               /* an event loop must be notified of the next idle entry; a user */
    bool news;                 /* an event loop was notified, and has not borrowed since; a user */
    bool refused;              /* an event loop must receive `error` */
    bool brief;                /* the last borrow that ended was shorter than BRIEF_NS */
    int64_t retry_at, backoff; /* the pause after the next failure is at most twice `backoff` */
    int64_t failed_at;         /* when a create last failed; 0: none since the last success */
    kolk_error error;          /* of that failed create */
    char text[KEY_BYTES];
} resource_key;

/* A resource, or the right to create one. An object of the pool's `entries`. */
typedef struct resource_entry {
    void *resource;
    resource_key *key;
    struct resource_entry *newer, *older;           /* in the list of its state */
    struct resource_entry *line_newer, *line_older; /* IDLE, ASKED: in the line of its key */
    struct resource_entry *job_newer, *job_older;   /* among the jobs, if it is in_time */
    int64_t expires;                                /* the end of its lifetime */
    int64_t idle_since;
    int64_t proved;       /* when it was last created, validated or given back */
    int64_t since;        /* LENT: when the borrow began */
    const char *who;      /* LENT: the borrower; may be NULL */
    kolk_maker_ *maker;   /* the maker that calls a user's function for it; NULL: none */
    kolk_kept_site_ site; /* of the borrow */
    int64_t begun;        /* ASKED, MAKING, ENDING: when its job began */
    uint32_t thread;      /* the thread that has it, or works on it */
    uint32_t borrows;     /* borrows of this slot so far, for the handles; survives the entry */
    uint32_t epoch;       /* the pool's epoch when its creation began */
    uint32_t slot;        /* its slot in `entries` */
    uint64_t number;      /* n, if this is the n-th resource that the pool has created */
    uint8_t state;
    bool evicted;
    bool replaces;                       /* MAKING: a resource of another key must be destroyed first */
    bool told;                           /* this borrow was reported as a leak */
    bool promised;                       /* IDLE: an event loop was notified of it, and has not borrowed yet */
    bool vouched;                        /* it was just created or validated, for the next borrower */
    bool in_time;                        /* it is being created, validated or destroyed, and others wait for that */
    char thread_name[KOLK_THREAD_NAME_]; /* the borrower's, if the pool keeps_names */
} resource_entry;

/* Entries in the order in which they joined the list. */
typedef struct resource_list {
    resource_entry *newest, *oldest;
    uint32_t count;
} resource_list;

typedef enum list_of_states {
    LIST_IDLE, /* IDLE and ASKED, in the order in which they came back */
    LIST_LENT,
    LIST_BUSY, /* IN_HAND, MAKING, ENDING */
    LIST_DOOMED,
    STATE_LISTS
} list_of_states;

static inline list_of_states kolk_list_of_state_(unsigned state) {
    if (state <= RESOURCE_ASKED) return LIST_IDLE;
    if (state == RESOURCE_LENT) return LIST_LENT;
    return state == RESOURCE_DOOMED ? LIST_DOOMED : LIST_BUSY;
}

/* Entries for which a maker is inside a user's function, in the order in which these calls began. Other threads wait
 * for them. An entry whose call takes longer than LATE_NS leaves the list, and another call may then begin at the same
 * time. */
#define LATE_NS INT64_C(100000000)
typedef struct resource_jobs {
    resource_entry *newest, *oldest;
    uint32_t creates, others;
} resource_jobs;

/* Times in buckets whose width is an eighth of their octave (as in HdrHistogram; Tene, 2012), up to 2^41 ns. */
#define TIME_BUCKETS (39u * 8u)
typedef struct resource_times {
    uint64_t count, sum, max;
    uint64_t buckets[TIME_BUCKETS];
} resource_times;

/* Counts since init. */
typedef struct resource_counts {
    uint64_t borrows, full, timeouts, failed, created, create_failures, leaks, waits;
    uint64_t destroyed[RESOURCE_ENDS];
} resource_counts;

/* The table of keys: segments of 64, 64, 128, 256 ... places. It grows by one place with each key. */
#define KEY_SEGMENTS     11u
#define FIRST_KEY_PLACES 64u

typedef struct resource_keys {
    kolk_pool pool;
    resource_key **segments[KEY_SEGMENTS];
    resource_key *first[FIRST_KEY_PLACES]; /* segment 0 */
    uint32_t places;                       /* the number of lists */
} resource_keys;

typedef struct key_list {
    resource_key *first, *last;
} key_list;

typedef struct kolk_resource_inside_ {
    kolk_chore_ chore; /* first: for the makers */
    uint32_t lock;     /* protects all fields that change, except chore.due; not held while a user's function runs */
    uint32_t forks;    /* kolk_forks_ at init */
    uint32_t tag;      /* in the handles */

    bool has_makers; /* false: borrowers create, and ticks do the rest */
    bool closed, paused;
    bool shrunk;      /* max was lowered: there may be more entries than that */
    bool told_nested; /* a nested borrow was reported */
    bool keeps_names; /* the pool keeps the names of borrowing threads, because they may end before a report */
    bool changed;     /* there may be work for hungry keys or makers: see kolk_resource_settle_and_unlock_ */
    bool called;      /* upkeep was requested since the last upkeep began */
    uint32_t max;     /* may become less than the number of entries */
    uint32_t slots;   /* slots of `entries` that were ever used */
    uint32_t peak;
    uint32_t epoch;   /* raised by evict */
    uint32_t emptied; /* counts entries that end after close; close sleeps on it */
    uint32_t waiting;
    uint32_t turn;     /* 0 or 1; each rebind changes it */
    uint32_t calls[2]; /* for each turn: calls of the user's functions that began in it and have not returned */
    struct resource_call *running; /* these calls, the newest first */
    uint32_t returned;             /* counts ends of turns: when their last call has returned; rebind sleeps on it */

    kolk_pool entries;
    resource_list lists[STATE_LISTS];
    resource_jobs jobs;
    uint32_t creating; /* MAKING entries */
    uint32_t asked;    /* ASKED entries */
    uint32_t going;    /* DOOMED and ENDING entries */
    resource_keys keys;
    resource_key *no_key; /* "" */
    key_list hungry, resting;
    int64_t rest_ends; /* no rest ends earlier */
    uint64_t turns;    /* counts borrows, and keys that become hungry */

    int64_t look_at; /* when the next look at all entries begins */
    uint32_t looked; /* the look has reached this slot */
    bool looks;      /* a look is in progress */
    uint64_t random; /* state of the random numbers */
    uint32_t fd;     /* the descriptor for event loops, plus 1; 0: none */
    uint32_t wanted; /* keys that are `wanted` */
    uint32_t news;   /* keys that have `news` */
    bool fd_called;  /* fd is readable */
    bool fd_news;    /* fd must become readable */

    kolk_resource_pool_desc desc; /* resolved: times in nanoseconds, INT64_MAX for never */
    kolk_settings_ settings;
    size_t create_calls; /* for KOLK_FAIL */
    size_t bytes;        /* of this struct */
    resource_counts counts;
    resource_times wait, use, create;
    kolk_resource_pool_stats listed; /* the numbers last given to the registry; protected by the process's lock */
} kolk_resource_inside_;

/* A call of the user's code that has not returned. */
typedef struct resource_call {
    uint32_t thread, turn;
    struct resource_call *older;
} resource_call;

/* A borrower that waits. */
typedef struct resource_waiter {
    kolk_waiter_ link; /* first: the entry in the queue of waiters */
    uint64_t turn;     /* of its call */
    uint32_t thread;
    resource_entry *entry; /* the entry that it received; if NULL when it is woken, see `status` */
    kolk_status status;
} resource_waiter;

/* The inside of a pool. NULL: the pool is closed, or belongs to the parent process and must not be touched. */
static inline kolk_resource_inside_ *own_inside(const kolk_resource_pool *pool) {
    return pool->inside && kolk_forks_now_() == pool->inside->forks ? pool->inside : NULL;
}

/* Enclose a call of the user's code. Run under the lock, which is released during the call. A function of `desc` and
 * its context must be copied before the call, because a rebind may replace them meanwhile. */
static inline void kolk_resource_call_begins_(kolk_resource_inside_ *pool, resource_call *call) {
    *call = (resource_call){.thread = kolk_thread_(), .turn = pool->turn, .older = pool->running};
    pool->running = call;
    pool->calls[call->turn]++;
}

static inline void kolk_resource_call_ends_(kolk_resource_inside_ *pool, const resource_call *call) {
    resource_call **at = &pool->running;
    while (*at != call) at = &(*at)->older;
    *at = call->older;
    KOLK_ASSERT_(pool->calls[call->turn] > 0);
    if (--pool->calls[call->turn] > 0 || call->turn == pool->turn) return;
    kolk_store_(&pool->returned, pool->returned + 1, KOLK_RELAXED_); /* a rebind checks again under the lock */
    kolk_wake_(&pool->returned, UINT32_MAX);
}

/* Is the thread with this number inside a call of the user's code for this pool? Runs under the lock. */
static inline bool kolk_resource_is_inside_(const kolk_resource_inside_ *pool, uint32_t thread) {
    const resource_call *call = pool->running;
    while (call && call->thread != thread) call = call->older;
    return call;
}

/* ---- resource_times.c -------------------------------------------------------------------------------------------- */

void kolk_times_add_(resource_times *times, int64_t ns);
void kolk_times_sum_up_(const resource_times *times, kolk_times *out);

/* ---- resource_key.c: under the lock ------------------------------------------------------------------------------ */

bool kolk_keys_init_(kolk_resource_inside_ *pool);
void kolk_keys_deinit_(kolk_resource_inside_ *pool);

/* Returns the key with this text, and adds a user. NULL: no memory. */
resource_key *kolk_key_of_(kolk_resource_inside_ *pool, const char *text);
void kolk_key_leave_(kolk_resource_inside_ *pool, resource_key *key);

/* A walk over the keys in the order of the table: NULL begins it, and NULL ends it. Each key that exists throughout the
 * walk is visited once, even if others are made and freed meanwhile. */
resource_key *kolk_key_next_(const kolk_resource_inside_ *pool, const resource_key *key);

/* Does demand exceed the resources on their way, and could a maker act on that? */
bool kolk_key_is_hungry_(const kolk_resource_inside_ *pool, const resource_key *key);

/* Updates `hungry` after a change that may affect it. */
void kolk_key_feel_(kolk_resource_inside_ *pool, resource_key *key);

/* The same after a change of one of the key's entries. Such a change cannot make a key without demand hungry. */
static inline void kolk_key_changed_(kolk_resource_inside_ *pool, resource_key *key) {
    if (key->waiting | key->wishes | key->hungry | pool->desc.min_idle) kolk_key_feel_(pool, key);
}

/* Ends a key's turn: the other hungry keys now come first. */
void kolk_key_had_turn_(kolk_resource_inside_ *pool, resource_key *key);

/* The first adds wishes after a borrow with KOLK_NOW that found no resource. The second removes one when a resource has
 * become idle. */
void kolk_key_wish_(kolk_resource_inside_ *pool, resource_key *key);
void kolk_key_grant_(kolk_resource_inside_ *pool, resource_key *key);

/* A random number from 0 to n - 1; 0 if n is 0. */
int64_t kolk_resource_random_(kolk_resource_inside_ *pool, int64_t n);

/* The first begins a pause after a failed create, in which no resource is created for the key. The second ends it. */
void kolk_key_rest_(kolk_resource_inside_ *pool, resource_key *key, int64_t now);
void kolk_key_end_rest_(kolk_resource_inside_ *pool, resource_key *key);

/* Ends the pause, and forgets the failures. */
void kolk_key_forgive_(kolk_resource_inside_ *pool, resource_key *key);

/* The three steps of an event loop: it wants to be notified of the key's next idle entry, it is notified, and it
 * borrows again. */
void kolk_key_want_(kolk_resource_inside_ *pool, resource_key *key);
void kolk_key_tell_(kolk_resource_inside_ *pool, resource_key *key);
void kolk_key_heard_(kolk_resource_inside_ *pool, resource_key *key);

/* ---- resource_share.c: who gets what. Under the lock ------------------------------------------------------------- */

void kolk_resource_lock_(kolk_resource_inside_ *pool);

/* For a copy of the struct, or under the lock: the pool's statistics. Follows no pointer. */
void kolk_resource_sum_up_(const kolk_resource_inside_ *inside, kolk_resource_pool_stats *out);

/* What the registry gets of the statistics in `listed`. */
void kolk_resource_fill_(const kolk_resource_inside_ *inside, kolk_stats *out);

/* If something has changed for waiters or makers, serves the waiters or calls the makers; then unlocks. */
void kolk_resource_settle_and_unlock_(kolk_resource_inside_ *pool);

/* The number of entries that can be lent or replaced. */
static inline uint32_t count_of_idle(const kolk_resource_inside_ *pool) {
    return pool->lists[LIST_IDLE].count - pool->asked;
}

/* Is it true that no resource of the key could come back, and that another create is useless? */
static inline bool kolk_key_is_hopeless_(const resource_key *key) {
    return key->failed_at && key->error.final && key->entries == 0;
}

/* Are fewer than min_idle resources ready, while there is room for more? */
static inline bool lacks_kept_ones(const kolk_resource_inside_ *pool) {
    const resource_key *kept = pool->no_key;
    return kept->idle + kept->asked + kept->making < pool->desc.min_idle && kolk_pool_count(&pool->entries) < pool->max;
}

/* The entry in this slot of `entries`, or NULL. */
resource_entry *kolk_entry_at_(const kolk_resource_inside_ *pool, uint32_t slot);

/* Changes the state of an entry. It joins or leaves the line of its key accordingly. */
void kolk_entry_become_(kolk_resource_inside_ *pool, resource_entry *entry, resource_state state);

/* Changes an entry from IDLE to LENT. */
void kolk_entry_lend_idle_(kolk_resource_inside_ *pool, resource_entry *entry);

/* The first begins a job, which is a create, validate or destroy that others wait for. The second ends the job; call it
 * before the entry's state changes. */
void kolk_job_begin_(kolk_resource_inside_ *pool, resource_entry *entry, int64_t now);
void kolk_job_end_(kolk_resource_inside_ *pool, resource_entry *entry);

/* Removes late jobs from the list, so that nobody waits for them any longer. */
void kolk_jobs_note_late_(kolk_resource_inside_ *pool, int64_t now);

/* Frees an entry that no longer has a resource. */
void kolk_entry_drop_(kolk_resource_inside_ *pool, resource_entry *entry);

/* Which idle entries may be destroyed to make room for a new entry. NO_ROOM: no new entry may be created at all. */
typedef enum resource_room { NO_ROOM, ROOM_OF_NONE, ROOM_OF_UNPROMISED, ROOM_OF_ANY } resource_room;

/* The room that a hungry key may use. If the key has idle entries, its waiter gets one as soon as a maker has validated
 * it. If one of these validations is late, another resource may be created in the meantime. */
static inline resource_room kolk_key_room_(const kolk_resource_inside_ *pool, const resource_key *key) {
    if (key->waiting == 0) return ROOM_OF_UNPROMISED;
    if (!pool->has_makers || key->idle == 0) return ROOM_OF_ANY;
    return key->silent > 0 ? ROOM_OF_NONE : NO_ROOM;
}

/* Could a resource be created for this key? */
bool kolk_resource_can_make_(const kolk_resource_inside_ *pool, const resource_key *key, resource_room room);

/* Returns the right to create a resource for this key: an entry that is MAKING. NULL: no resource can be created. */
resource_entry *kolk_resource_make_(kolk_resource_inside_ *pool, resource_key *key, resource_room room, uint32_t thread,
                                    int64_t now);

/* Why an entry must be destroyed, or NO_END. */
resource_end kolk_entry_why_end_(const kolk_resource_inside_ *pool, const resource_entry *entry, int64_t now);

static inline resource_end kolk_entry_cause_of_end_(const kolk_resource_inside_ *pool, const resource_entry *entry,
                                                    int64_t now) {
    bool may_go =
        pool->closed | pool->shrunk | entry->evicted | (entry->epoch != pool->epoch) | (now >= entry->expires);
    return may_go ? kolk_entry_why_end_(pool, entry, now) : NO_END;
}

/* May the entry be lent without validation? */
bool kolk_entry_is_proved_(const kolk_resource_inside_ *pool, const resource_entry *entry, int64_t now);

/* The idle entry of this key that is lent next, or NULL. */
resource_entry *kolk_key_next_idle_(const kolk_resource_inside_ *pool, const resource_key *key);

/* Gives an entry to the first waiter of its key, or makes it idle. The entry is IN_HAND or LENT, and fit to be lent. */
void kolk_entry_offer_(kolk_resource_inside_ *pool, resource_entry *entry, int64_t now);

/* Gives a waiter an entry or a status, removes the waiter from its queue, and wakes it. */
void kolk_waiter_serve_(kolk_resource_inside_ *pool, resource_key *key, resource_waiter *waiter, resource_entry *entry,
                        kolk_status status);

/* The first serves the waiters of a key with its idle entries. The second does so for all keys, after a pause. */
void kolk_resource_serve_key_(kolk_resource_inside_ *pool, resource_key *key, int64_t now);
void kolk_resource_serve_all_(kolk_resource_inside_ *pool, int64_t now);

/* Makes upkeep due now. */
void kolk_resource_call_upkeep_(kolk_resource_inside_ *pool);

/* Makes the next look at all entries begin within PROMISE_NS. An event loop is promised its idle entry for that
 * long. */
#define PROMISE_NS INT64_C(500000000)
void kolk_resource_look_soon_(kolk_resource_inside_ *pool, int64_t now);

typedef enum resource_job {
    NO_JOB,
    JOB_CREATE,  /* create a resource for *key, in *room */
    JOB_ASK,     /* validate an idle entry of *key, for its waiter */
    JOB_DESTROY, /* destroy a doomed entry */
    JOB_LOOK     /* look at the next entries */
} resource_job;

/* The next job for a maker or a tick. */
resource_job kolk_resource_next_job_(const kolk_resource_inside_ *pool, resource_key **key, resource_room *room);

/* The time at which the next job becomes due, if nothing calls the pool before then. */
int64_t kolk_resource_next_due_(const kolk_resource_inside_ *pool);

/* ---- resource_make.c: the user's functions. Under the lock, which is released while they run --------------------- */

/* Destroys an IN_HAND entry and its resource, or leaves that to the makers, if there are any. Counts it immediately. */
void kolk_entry_destroy_(kolk_resource_inside_ *pool, resource_entry *entry, resource_end end);

/* Destroys an IN_HAND or ENDING entry and its resource in this thread. */
void kolk_entry_destroy_now_(kolk_resource_inside_ *pool, resource_entry *entry);

/* Destroys idle entries that have a reason to end. */
void kolk_resource_destroy_idle_(kolk_resource_inside_ *pool);

/* Offers an IN_HAND entry, or destroys it if it has a reason to end. */
void kolk_entry_settle_(kolk_resource_inside_ *pool, resource_entry *entry, int64_t now);

/* Creates the resource of a MAKING entry, which is then IN_HAND. False: the entry is gone, and its key's error has the
 * reason. The caller must be a user of the key, so that the key is not freed. */
bool kolk_entry_create_(kolk_resource_inside_ *pool, resource_entry *entry, kolk_deadline deadline);

/* Validates the resource of an IN_HAND or ASKED entry. The result changes only `proved`. */
bool kolk_entry_validate_(kolk_resource_inside_ *pool, resource_entry *entry, kolk_deadline deadline);

/* If a create is late, and there was an evict since it began, lets another resource be created in its place. */
void kolk_entry_give_up_(kolk_resource_inside_ *pool, resource_entry *entry);

/* Interrupts makers: after an evict, those that are inside create; after a close, all of them. */
void kolk_resource_interrupt_(kolk_resource_inside_ *pool);

/* Resets the resource of an IN_HAND entry. */
bool kolk_entry_reset_(kolk_resource_inside_ *pool, resource_entry *entry);

/* ---- resource_report.c: without the lock ------------------------------------------------------------------------- */

/* The current or last borrower of a resource. */
typedef struct resource_holder {
    bool known, has_it;
    uint32_t slot, thread;
    const char *who;
    kolk_kept_site_ site;
    const void *resource;
    int64_t held; /* nanoseconds */
    char thread_name[KOLK_THREAD_NAME_];
} resource_holder;

resource_holder kolk_entry_holder_(const resource_entry *entry, int64_t now);

/* The first reports a borrow that lasts too long or has not ended at close. The second reports that such a borrow has
 * ended after all. */
void kolk_report_leak_(const kolk_resource_inside_ *pool, const resource_holder *holder);
void kolk_report_return_(const kolk_resource_inside_ *pool, const resource_holder *holder, bool detached);

/* Reports that the thread of this borrow has to wait for another one, which is described by `next`. */
void kolk_report_nested_(const kolk_resource_inside_ *pool, const resource_holder *holder, const resource_holder *next);

/* For a handle that does not end a borrow: returns the current borrower of the resource, or else the last one, with the
 * thread that gave the resource back. Call it under the lock. */
resource_holder kolk_holder_of_handle_(const kolk_resource_inside_ *pool, kolk_handle handle);

/* Reports such a handle. `pool` is NULL if the pool is deinit'd. */
void kolk_report_handle_(const kolk_resource_inside_ *pool, kolk_handle handle, const void *site,
                         const resource_holder *holder);

/* ---- resource_work.c: what makers and ticks do ------------------------------------------------------------------- */

/* Does the work of kolk_resource_tick. */
void kolk_resource_upkeep_(kolk_resource_inside_ *pool, kolk_deadline deadline);

/* Sets the time at which the first work of a new pool is due. */
void kolk_resource_begin_work_(kolk_resource_inside_ *pool);

/* Does a maker's jobs until none is left. Then sets the time at which the chore is due again. */
void kolk_resource_work_(kolk_chore_ *chore);

/* ---- resource_metrics.c ------------------------------------------------------------------------------------------ */

extern const struct kolk_extra_ kolk_resource_extra_;

/* Destroys all doomed entries, concurrently with the makers. Call it under the lock. */
void kolk_resource_end_doomed_(kolk_resource_inside_ *pool);

/* Reports each borrow that has not ended and was not reported before. */
void kolk_resource_name_holders_(kolk_resource_inside_ *pool);

/* Is the calling thread inside one of the pool's functions? If so, reports that it cannot make this call. */
bool kolk_resource_is_barred_(kolk_resource_inside_ *pool, const char *verb, const void *site);

/* Calls `note` for each resource in use, with the site of its borrow. */
void kolk_resource_note_holders_(kolk_resource_inside_ *pool,
                                 void (*note)(void *to, kolk_kept_site_ site, uint32_t depth), void *to);

#endif
