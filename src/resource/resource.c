/* resource.c: borrow and give_back. The resource pool has these files, each of which calls only those above it:
 *
 *     makers.c            threads of the process that do the chores of its pools
 *     resource_times.c    how long things take, in buckets
 *     resource_key.c      keys, found by their text, and the demand for each
 *     resource_share.c    who gets which resource: states of entries, idle entries, room, waiters
 *     resource_make.c     the user's functions: create, validate, reset, destroy
 *     resource_report.c   reports about borrowers
 *     resource_work.c     the work of makers and ticks
 *     resource.c          borrow, give_back, discard, detach
 *     resource_ask.c      statistics, validity
 *     resource_metrics.c  statistics in three formats
 *     resource_life.c     init, close, deinit
 *     resource_steer.c    evict, pause, resize, tick, event loops
 *     resource_init.c     the inits as symbols, for other languages
 *
 * An entry is a resource, or the right to make one. It counts towards `max` from the moment a thread may create the
 * resource until destroy has returned, so the server never sees more than max resources. Its states:
 *
 *              create                lend
 *     MAKING --------> IN_HAND <-------------> LENT
 *                       |  ^  give_back, reset
 *                 offer v  |  take
 *                       IDLE <-------> ASKED        a maker validates it
 *
 *     IN_HAND --> DOOMED --> ENDING                 a maker destroys it
 *
 * Each entry is in the list of its state. An IDLE or ASKED entry is also in the line of its key. So each step takes a
 * few writes, regardless of the number of entries, because the entry that has been idle or lent longest is the first of
 * a list. An entry that is ASKED, IN_HAND, MAKING or ENDING belongs to one thread, which calls the user's functions for
 * it without the lock. Everything else is done under the lock.
 *
 * A creation belongs to the pool, not to a borrower. A borrower that finds no resource joins the waiters of its key,
 * which makes the key hungry. A maker takes the right to create for the key that has been hungry longest, and the new
 * resource goes to whoever is the first waiter when it is ready. So if connecting takes longer than a borrower's
 * deadline, the borrow fails, but the connection is not lost. Makers also validate idle resources and destroy old ones,
 * so no borrower waits for a peer. Unless something has changed for hungry keys, locking and unlocking do not look at
 * any key (kolk_resource_settle_and_unlock_).
 *
 * When a maker calls a user's function, the call is a job, and others wait for it for up to LATE_NS. After that, the
 * job is late and no longer counts: another resource may be created or validated at the same time. So a silent peer
 * delays others by at most LATE_NS.
 *
 * Without makers (no_housekeeper), or if the system has no thread left, a borrower takes the right to create, or
 * receives it in its turn, and calls create, validate and destroy in its own thread.
 *
 * There is one rule of fairness: whenever the lock is released, no waiter could be served (I6). A thread that returns a
 * resource serves the first waiter of the key before it unlocks, unless another key has been hungry for longer and has
 * no other way to get room. So a newcomer that takes the lock finds only resources that no waiter can use. A borrower
 * that found a dead resource gives up its entry and takes the next one under the same lock. If it has to wait, it joins
 * the waiters in front of those that came later.
 *
 * This order has a price: a resource that is handed over is not used until its waiter wakes up, which takes several
 * microseconds. If borrows are shorter, the thread that gave it back needs another one by then, finds none and waits as
 * well, so the line never gets shorter, and each borrow costs a sleep and a wake (a convoy; Blasgen, Gray, Mitoma and
 * Price, 1979). So if borrows are brief, a borrower that finds no resource does not join the waiters yet. It tries
 * again for a while, and yields the processor meanwhile to those that were served. Once the line is empty, threads
 * borrow without waiting, until the system stops threads that have the resources.
 *
 * Another way would be to let a few newcomers overtake each waiter. If these are at most 16, it gains little, because a
 * newcomer overtakes all waiters at once. So from the time that one of 60 waiters joins the line until it is served, at
 * most 16 of 76 borrows need no wake.
 *
 * A waiter receives an entry, not just a chance to get one. If its deadline passes at that moment, it keeps the entry:
 * either the borrow succeeds, or the waiter gives up the entry. So no entry is lost between hand-over and wake-up.
 *
 * A borrow's handle consists of the slot of its entry and the number of borrows of that slot. So a second give_back
 * finds a different number there, or an entry that is not LENT.
 *
 * Invariants (kolk_resource_is_valid):
 *     I1  each entry is in the list of its state, and counted there; there are at most max entries, except after a
 *         resize
 *     I2  an entry is in the line of its key if and only if it is IDLE or ASKED; the line is in the order in which they
 *         came back
 *     I3  the jobs are the entries that are in_time; at most max_creating of them are MAKING. For each key, at most
 *         max_creating entries are MAKING, including late ones
 *     I4  the users of a key are its entries, the calls that use it, and one each for wishes, a rest, `wanted` and
 *         `news`; a key without users is freed, except ""
 *     I5  a closed pool has no waiters and no idle entries
 *     I6  in a pool that is neither closed nor paused, no waiter could be served: any idle resources of its key must be
 *         validated first, or make room for another key; and without makers no resource can be created for it
 *     I7  a key is hungry if and only if demand exceeds the resources on their way, and a maker could act on that
 *     I8  the waiters of a key are in the order of their calls
 *
 * The order of service is the same as in HikariCP and in the CMAP specification of MongoDB's drivers, which also limits
 * creations. In puddle and pgxpool, too, a creation outlives the borrow that caused it. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/handle.h"
#include "../core/probes.h"
#include "../core/fail.h"
#include "../os/cancel.h"
#include "../os/clock.h"
#include "../os/event.h"
#include "../os/thread.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_WAIT_NS INT64_C(30000000000)

/* A borrow that finds no resource tries again before it joins the waiters. Each pause is twice as long as the last. */
#define BRIEF_NS  INT64_C(5000)    /* a borrow that is shorter than a thread takes to fall asleep and wake up */
#define TRYING_NS INT64_C(1000000) /* no try begins later than this after the call */
#ifndef KOLK_SCHEDULED
#define MOST_TRIES     9
#define FIRST_PAUSE_NS INT64_C(2000)
#else
#define MOST_TRIES     1
#define FIRST_PAUSE_NS INT64_C(0)
#endif

typedef struct resource_request {
    kolk_resource_inside_ *pool;
    resource_key *key;
    kolk_deadline deadline;
    const char *who;
    kolk_kept_site_ site;
    int64_t begin, now;
    uint64_t turn; /* in the order of all calls */
    uint32_t thread;
    int tries; /* so far, after the first */
    kolk_borrowed *out;
} resource_request;

static bool resource_waits(const resource_request *me) {
    return me->deadline.ns > KOLK_NOW.ns;
}

static bool is_too_late(const resource_request *me) {
    return resource_waits(me) && me->now >= me->deadline.ns;
}

/* ---- Sentences for the borrower ---------------------------------------------------------------------------------- */

static void say_error(kolk_error *error, const char *text) {
    snprintf(error->text, sizeof error->text, "%s", text);
}

KOLK_FORMAT_(2) static void say_more(const resource_request *me, const char *format, ...);

static void say_more(const resource_request *me, const char *format, ...) {
    kolk_error *error = &me->out->error;
    size_t length = strlen(error->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + length, sizeof error->text - length, format, arguments);
    va_end(arguments);
}

/* How many of the most recent borrows are searched for those of one thread. */
#define OWN_AT_MOST 100

/* The first of these borrows that are the thread's own, or NULL; and how many there are. Runs under the lock. */
static const resource_entry *own_borrows(const resource_request *me, uint32_t *own) {
    const resource_entry *entry = me->pool->lists[LIST_LENT].newest, *first = NULL;
    *own = 0;
    for (int i = 0; i < OWN_AT_MOST && entry && me->thread; i++, entry = entry->older) {
        if (entry->thread != me->thread) continue;
        first = entry;
        ++*own;
    }
    return first;
}

/* Writes why no resource was available. Runs under the lock. */
static void explain_waiting(const resource_request *me) {
    const kolk_resource_inside_ *pool = me->pool;
    const resource_key *key = me->key;
    const resource_list *lent = &pool->lists[LIST_LENT];
    const resource_entry *longest = lent->oldest;
    uint32_t own;
    own_borrows(me, &own);
    me->out->error.code = key->failed_at ? key->error.code : 0;
    me->out->error.final = key->failed_at && key->error.final;
    say_more(me, "%s%u of %u in use%s, %u being created, %u waiting", pool->paused ? "paused, " : "", lent->count,
             pool->max,
             own == 0   ? ""
             : own == 1 ? " (one by this thread itself)"
                        : " (several by this thread itself)",
             pool->creating, pool->waiting);
    if (longest)
        say_more(me, "; the longest%s%.40s for %" PRId64 " ms", longest->who ? " by " : "",
                 longest->who ? longest->who : "", (me->now - longest->since) / 1000000);
    if (key->failed_at)
        say_more(me, "; %" PRId64 " ms ago a create failed: %s", (me->now - key->failed_at) / 1000000, key->error.text);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* For a borrow with KOLK_NOW that found no resource. If there is room, a resource is created for the next borrow. An
 * event loop is notified of that resource, or of a failed create. */
static kolk_status resource_found_none(const resource_request *me) {
    kolk_resource_inside_ *pool = me->pool;
    resource_key *key = me->key;
    bool refused = key->refused;
    if (pool->fd || kolk_resource_can_make_(pool, key, ROOM_OF_ANY)) kolk_key_wish_(pool, key);
    if (!pool->fd) return KOLK_FULL;
    key->refused = false;
    kolk_key_heard_(pool, key);
    if (pool->fd_called && pool->news == 0) {
        kolk_event_reset_((int)pool->fd - 1);
        pool->fd_called = false;
    }
    kolk_key_want_(pool, key);
    kolk_resource_look_soon_(pool, me->now);
    if (!refused) return KOLK_FULL;
    me->out->error = key->error;
    return KOLK_NOT_CREATED;
}

/* Ends a wait, and returns the waiter's entry or status. Runs under the lock. */
static kolk_status end_waiting(resource_request *me, resource_waiter *waiter, resource_entry **entry) {
    kolk_resource_inside_ *pool = me->pool;
    *entry = waiter->entry;
    if (!kolk_load_(&waiter->link.woken, KOLK_RELAXED_)) {
        kolk_waiter_leave_(&me->key->waiters, &waiter->link);
        me->key->waiting--;
        pool->waiting--;
        kolk_key_feel_(pool, me->key);
        return KOLK_TIMEOUT;
    }
    if (waiter->status == KOLK_NOT_CREATED) me->out->error = me->key->error;
    return waiter->status;
}

/* Must a warning come first, because the thread has a resource already? Runs under the lock. */
static bool is_nested(const resource_request *me) {
    uint32_t own;
    return me->pool->desc.warn_nested && !me->pool->told_nested && own_borrows(me, &own);
}

/* Is a resource of the key likely to come back sooner than a thread falls asleep and wakes up, and is that all that the
 * borrow could wait for? Makers create and validate resources only for those that wait. */
static bool is_worth_trying(const resource_request *me) {
    const kolk_resource_inside_ *pool = me->pool;
    const resource_key *key = me->key;
    if (!key->brief || pool->desc.strict_order || pool->paused || !resource_waits(me) || is_too_late(me)) return false;
    if (me->tries >= MOST_TRIES || me->now - me->begin >= TRYING_NS) return false;
    if (key->entries == 0 || count_of_idle(pool) > 0 || kolk_pool_count(&pool->entries) < pool->max) return false;
    return !kolk_resource_is_inside_(pool, me->thread) && !is_nested(me);
}

/* Before the next try, pauses with the lock released, and lets other threads run on this processor. False: no try is
 * left, and the borrow has to wait. Until then it has no place among the waiters, and takes only what none of them can
 * use. */
static KOLK_NOINLINE_ bool pause_before_try(resource_request *me) {
    kolk_resource_inside_ *pool = me->pool;
    if (!is_worth_trying(me)) return false;
    int64_t end = me->now + (FIRST_PAUSE_NS << me->tries++);
    if (end > me->deadline.ns) end = me->deadline.ns;
    kolk_resource_settle_and_unlock_(pool);
    do kolk_yield_();
    while ((me->now = kolk_now_ns_()) < end);
    kolk_resource_lock_(pool);
    return true;
}

/* Waiters are in the order of their calls (I8). A borrow that has tried in vain, or that got a resource that proved
 * dead, joins them in front of those that came later. */
static void join_waiters(resource_key *key, resource_waiter *waiter) {
    kolk_waiter_ *before = key->waiters.last;
    while (before && ((resource_waiter *)(void *)before)->turn > waiter->turn) before = before->before;
    kolk_waiter_insert_(&key->waiters, &waiter->link, before);
    key->waiting++;
}

/* Waits for an entry with the lock released. KOLK_NESTED: it has not waited, and the caller reports that it has to. */
static KOLK_NOINLINE_ kolk_status wait_for_entry(resource_request *me, resource_entry **entry) {
    kolk_resource_inside_ *pool = me->pool;
    resource_key *key = me->key;
    if (!resource_waits(me)) return resource_found_none(me);
    if (kolk_resource_is_inside_(pool, me->thread)) return KOLK_IN_HOOK;
    if (key->rests && kolk_key_is_hopeless_(key)) {
        me->out->error = key->error;
        return KOLK_NOT_CREATED;
    }
    if (is_nested(me)) return KOLK_NESTED;
    resource_waiter waiter = {.thread = me->thread, .turn = me->turn};
    join_waiters(key, &waiter);
    pool->waiting++;
    pool->counts.waits++;
    kolk_key_feel_(pool, key);
    PROBE2(wait, kolk_probe_name_(pool->desc.name), "borrow"); /* under the lock, because a rebind changes the name */
    kolk_resource_settle_and_unlock_(pool);
    for (bool in_time = true; in_time && !kolk_load_(&waiter.link.woken, KOLK_ACQUIRE_);)
        in_time = kolk_waiter_sleep_(&waiter.link, me->deadline);
    kolk_resource_lock_(pool);
    me->now = kolk_now_ns_();
    kolk_status status = end_waiting(me, &waiter, entry);
    PROBE3(waited, kolk_probe_name_(pool->desc.name), "borrow", status);
    return status;
}

/* ---- Borrowing --------------------------------------------------------------------------------------------------- */

static void lend_entry(resource_request *me, resource_entry *entry) {
    kolk_resource_inside_ *pool = me->pool;
    if (entry->state == RESOURCE_IDLE)
        kolk_entry_lend_idle_(pool, entry);
    else
        kolk_entry_become_(pool, entry, RESOURCE_LENT);
    entry->since = me->now;
    entry->who = me->who;
    entry->site = me->site;
    entry->thread = me->thread;
    entry->told = false;
    if (pool->keeps_names) memcpy(entry->thread_name, kolk_thread_own_name_(), KOLK_THREAD_NAME_);
    if (++entry->borrows == 0) entry->borrows = 1;
    if (pool->lists[LIST_LENT].count > pool->peak) pool->peak = pool->lists[LIST_LENT].count;
    pool->counts.borrows++;
    kolk_times_add_(&pool->wait, me->now - me->begin);
    if (entry->key->news) kolk_key_heard_(pool, entry->key);
    me->out->resource = entry->resource;
    me->out->handle = kolk_handle_make_(entry->borrows, entry->slot, pool->tag);
    me->out->generation = entry->epoch;
}

/* Must the borrower itself validate a resource before it is lent, and until when? If there are makers, they do any
 * validation that can wait. */
static bool is_to_be_seen(const resource_request *me, const resource_entry *entry, kolk_deadline *deadline) {
    const kolk_resource_inside_ *pool = me->pool;
    if (!pool->desc.validate) return false;
    bool waits_for_makers = pool->has_makers && resource_waits(me);
    bool is_proved = waits_for_makers || kolk_entry_is_proved_(pool, entry, me->now);
    *deadline = is_proved || pool->has_makers ? KOLK_NOW : me->deadline;
    return !is_proved || (pool->desc.look && !entry->vouched);
}

/* Makes an entry that is IDLE, IN_HAND or MAKING fit to be lent. A newly created resource is not validated: if validate
 * always failed, creating and destroying would never end. False: the entry is gone. *status is the reason why there
 * cannot be another entry, or KOLK_OK if there can. */
static bool make_fit(resource_request *me, resource_entry *entry, kolk_status *status) {
    kolk_resource_inside_ *pool = me->pool;
    kolk_deadline deadline;
    if (entry->state == RESOURCE_MAKING) {
        if (!kolk_entry_create_(pool, entry, me->deadline)) {
            me->out->error = me->key->error;
            *status = KOLK_NOT_CREATED;
            return false;
        }
        me->now = kolk_now_ns_();
    }
    resource_end end = kolk_entry_cause_of_end_(pool, entry, me->now);
    bool sees = end == NO_END && is_to_be_seen(me, entry, &deadline);
    if (end == NO_END && !sees) return true;
    if (entry->state == RESOURCE_IDLE) kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
    if (sees) {
        bool good = kolk_entry_validate_(pool, entry, deadline);
        me->now = kolk_now_ns_();
        end = good ? kolk_entry_cause_of_end_(pool, entry, me->now) : END_INVALID;
    }
    if (end != NO_END) kolk_entry_destroy_(pool, entry, end);
    return end == NO_END;
}

/* Without makers, a borrower takes an idle resource, or creates one. No waiter could have used that resource or created
 * one. */
static resource_entry *take_or_make(const resource_request *me) {
    kolk_resource_inside_ *pool = me->pool;
    resource_entry *entry = kolk_key_next_idle_(pool, me->key);
    if (!entry && !resource_waits(me) && pool->fd) return NULL;
    return entry ? entry : kolk_resource_make_(pool, me->key, ROOM_OF_ANY, me->thread, me->now);
}

/* With makers, a borrower takes an idle resource that need not be validated, if nobody is waiting already. If no maker
 * will come soon, it creates a resource. */
static resource_entry *take_ready(const resource_request *me) {
    kolk_resource_inside_ *pool = me->pool;
    resource_key *key = me->key;
    resource_entry *entry = key->waiting > 0 ? NULL : kolk_key_next_idle_(pool, key);
    if (entry && resource_waits(me) && !kolk_entry_is_proved_(pool, entry, me->now)) entry = NULL;
    if (entry || key->idle > 0 || !resource_waits(me) || kolk_makers_are_there_()) return entry;
    return kolk_resource_make_(pool, key, ROOM_OF_ANY, me->thread, me->now);
}

static resource_entry *take_resource(const resource_request *me) {
    kolk_resource_inside_ *pool = me->pool;
    if (pool->paused || pool->closed) return NULL;
    resource_entry *entry = pool->has_makers ? take_ready(me) : take_or_make(me);
    if (entry) entry->thread = me->thread;
    return entry;
}

/* Runs under the lock. */
static kolk_status borrow_locked(resource_request *me) {
    kolk_resource_inside_ *pool = me->pool;
    kolk_status status = KOLK_OK;
    for (bool again = false; status == KOLK_OK; again = true) {
        if (again) me->now = kolk_now_ns_();
        if (again && is_too_late(me)) return KOLK_TIMEOUT;
        resource_entry *entry;
        do {
            if (pool->closed) return KOLK_CLOSED; /* it may have closed while the lock was released */
            entry = take_resource(me);
        } while (!entry && !again && pause_before_try(me));
        if (!entry) status = wait_for_entry(me, &entry);
        if (status != KOLK_OK || !make_fit(me, entry, &status)) continue;
        lend_entry(me, entry);
        return KOLK_OK;
    }
    return status;
}

/* Counts a borrow that failed, and makes sure that its error has a text. Runs under the lock. */
static KOLK_NOINLINE_ void explain_failure(const resource_request *me, kolk_status status) {
    resource_counts *counts = &me->pool->counts;
    kolk_error *error = &me->out->error;
    if (status == KOLK_FULL)
        counts->full++;
    else if (status == KOLK_TIMEOUT)
        counts->timeouts++;
    else
        counts->failed++;
    if (status == KOLK_FULL) PROBE2(full, kolk_probe_name_(me->pool->desc.name), me->pool->desc.max);
    if (status == KOLK_FULL || status == KOLK_TIMEOUT) explain_waiting(me);
    if (status == KOLK_IN_HOOK) say_error(error, "a function of the pool borrows from it, and would wait for itself");
    if (!*error->text) say_error(error, kolk_status_text(status));
}

/* Is the borrow failed or slow, so that `log` receives it? Not if it is `log` that borrows. Runs under the lock. */
static bool is_logged(const resource_request *me, kolk_status status) {
    const kolk_resource_pool_desc *desc = &me->pool->desc;
    if (!desc->log || status == KOLK_FULL || kolk_resource_is_inside_(me->pool, me->thread)) return false;
    return status != KOLK_OK || me->now - me->begin >= desc->slow_borrow_ms;
}

/* Logs a slow or failed borrow. Begins under the lock, and ends without it. */
static KOLK_NOINLINE_ void log_borrow(const resource_request *me, const char *key, kolk_status status) {
    kolk_resource_inside_ *pool = me->pool;
    const kolk_resource_pool_desc *desc = &pool->desc;
    void (*log)(void *context, const kolk_resource_event *event) = desc->log;
    void *context = desc->context;
    int64_t ns = (status == KOLK_OK ? me->now : kolk_now_ns_()) - me->begin;
    kolk_resource_event event = {.kind = status == KOLK_OK ? KOLK_RESOURCE_SLOW_BORROW : KOLK_RESOURCE_BORROW_FAILED,
                                 .pool = desc->name ? desc->name : "",
                                 .key = key,
                                 .who = me->who ? me->who : "",
                                 .status = status,
                                 .ns = ns,
                                 .error = &me->out->error};
    resource_call call;
    kolk_resource_call_begins_(pool, &call);
    kolk_resource_settle_and_unlock_(pool);
    int cancel = kolk_cancel_off_();
    log(context, &event);
    kolk_cancel_restore_(cancel);
    kolk_resource_lock_(pool);
    kolk_resource_call_ends_(pool, &call);
    kolk_resource_settle_and_unlock_(pool);
}

/* Runs under the lock. */
static kolk_status borrow_of_key(resource_request *me, const char *key) {
    kolk_resource_inside_ *pool = me->pool;
    me->key = *key ? kolk_key_of_(pool, key) : pool->no_key; /* this key always exists, so it needs no user */
    kolk_status status = me->key ? borrow_locked(me) : KOLK_NO_MEMORY;
    if (status != KOLK_OK && status != KOLK_NESTED) explain_failure(me, status);
    if (me->key && *key) kolk_key_leave_(pool, me->key);
    return status;
}

/* Reports a nested borrow while it has no key and is in no queue, because the handler may longjmp. Begins and ends
 * under the lock. */
static KOLK_NOINLINE_ void warn_of_nesting(resource_request *me) {
    kolk_resource_inside_ *pool = me->pool;
    uint32_t own;
    resource_holder holder = kolk_entry_holder_(own_borrows(me, &own), me->now);
    resource_holder next = {.who = me->who, .site = me->site};
    pool->told_nested = true;
    kolk_resource_settle_and_unlock_(pool);
    kolk_report_nested_(pool, &holder, &next);
    kolk_resource_lock_(pool);
    me->now = kolk_now_ns_();
}

static kolk_status refuse_borrow(kolk_borrowed *out, kolk_status status) {
    say_error(&out->error, kolk_status_text(status));
    return status;
}

KOLK_NOINLINE_ kolk_status kolk_resource_borrow(kolk_resource_pool *pool, const kolk_borrow_desc *desc,
                                                kolk_borrowed *out) {
    out->resource = NULL;
    out->handle = (kolk_handle){0};
    out->generation = 0;
    out->error.code = 0;
    out->error.text[0] = 0;
    out->error.final = false;
    kolk_resource_inside_ *inside = pool->inside;
    if (!inside) return refuse_borrow(out, KOLK_CLOSED);
    if (kolk_forks_now_() != inside->forks) return refuse_borrow(out, KOLK_FORKED);
    const char *key = desc && desc->key ? desc->key : "";
    if (*key && strlen(key) >= KEY_BYTES) return refuse_borrow(out, KOLK_KEY_TOO_LONG);
    resource_request me = {
        .pool = inside, .site = kolk_site_keep_(SITE, inside->settings.depth), .thread = kolk_thread_(), .out = out};
    me.who = desc ? desc->who : NULL;
    me.now = me.begin = kolk_now_ns_();
    me.deadline = desc ? desc->deadline : (kolk_deadline){me.begin + DEFAULT_WAIT_NS};
    kolk_resource_lock_(inside);
    me.turn = ++inside->turns;
    kolk_status status;
    while ((status = borrow_of_key(&me, key)) == KOLK_NESTED) warn_of_nesting(&me); /* once */
    if (is_logged(&me, status))
        log_borrow(&me, key, status);
    else
        kolk_resource_settle_and_unlock_(inside);
    return status;
}

/* ---- Giving back ------------------------------------------------------------------------------------------------- */

/* The entry of a borrow, or NULL. Runs under the lock. */
static resource_entry *entry_of_handle(const kolk_resource_inside_ *pool, kolk_handle handle) {
    resource_entry *entry = kolk_entry_at_(pool, kolk_handle_index_(handle, pool->tag));
    bool is_its = entry && entry->state == RESOURCE_LENT && entry->borrows == kolk_handle_generation_(handle);
    return is_its ? entry : NULL;
}

/* Runs under the lock. `end` is the borrower's wish. */
static void take_home(kolk_resource_inside_ *pool, resource_entry *entry, resource_end end, int64_t now) {
    int64_t used = now - entry->since;
    entry->key->brief = used < BRIEF_NS;
    kolk_times_add_(&pool->use, used);
    if (end == END_DETACHED) {
        pool->counts.destroyed[END_DETACHED]++;
        kolk_entry_drop_(pool, entry);
        return;
    }
    if (end == NO_END) end = kolk_entry_cause_of_end_(pool, entry, now);
    entry->thread = kolk_thread_();
    entry->idle_since = entry->proved = now;
    entry->vouched = false;
    if (end == NO_END && !pool->desc.reset) {
        kolk_entry_offer_(pool, entry, now);
        return;
    }
    kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
    if (end == NO_END && !kolk_entry_reset_(pool, entry)) end = END_UNCLEAN;
    if (end == NO_END)
        kolk_entry_settle_(pool, entry, now);
    else
        kolk_entry_destroy_(pool, entry, end);
}

/* Returns the resource whose borrow has ended, or NULL. */
static void *end_borrow(kolk_resource_inside_ *pool, kolk_borrowed *borrow, resource_end end, const void *site) {
    if (kolk_handle_is_null(borrow->handle)) return NULL;
    if (!pool) {
        kolk_report_handle_(NULL, borrow->handle, site, NULL);
        return NULL;
    }
    if (!kolk_handle_is_foreign_(borrow->handle, pool->tag, KOLK_RESOURCE_MOST)) borrow->resource = NULL;
    if (kolk_forks_now_() != pool->forks) return NULL;
    int64_t now = kolk_now_ns_();
    resource_holder holder;
    kolk_resource_lock_(pool);
    resource_entry *entry = entry_of_handle(pool, borrow->handle);
    void *resource = entry ? entry->resource : NULL;
    bool told = entry && entry->told;
    if (told) holder = kolk_entry_holder_(entry, now);
    if (entry)
        take_home(pool, entry, end, now);
    else
        holder = kolk_holder_of_handle_(pool, borrow->handle);
    kolk_resource_settle_and_unlock_(pool);
    if (!entry) kolk_report_handle_(pool, borrow->handle, site, &holder);
    if (told) kolk_report_return_(pool, &holder, end == END_DETACHED);
    return resource;
}

KOLK_NOINLINE_ void kolk_resource_give_back(kolk_resource_pool *pool, kolk_borrowed *borrow) {
    end_borrow(pool->inside, borrow, NO_END, SITE);
}

KOLK_NOINLINE_ void kolk_resource_discard(kolk_resource_pool *pool, kolk_borrowed *borrow) {
    end_borrow(pool->inside, borrow, END_DISCARDED, SITE);
}

KOLK_NOINLINE_ void *kolk_resource_detach(kolk_resource_pool *pool, kolk_borrowed *borrow) {
    return end_borrow(pool->inside, borrow, END_DETACHED, SITE);
}

#endif
