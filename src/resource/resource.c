/* resource.c: the way of a borrow. The resource pool has these files, each of which calls only those above it:
 *
 *     housekeeper.c       a thread for what is done in the background
 *     resource_times.c    how long things take, in buckets
 *     resource_key.c      keys by their text
 *     resource_share.c    who gets what: entries, idle lists, the waiters
 *     resource_make.c     create, validate, destroy
 *     resource_report.c   sentences about borrowers
 *     resource_upkeep.c   what is done in the background
 *     resource.c          borrow, give_back, discard
 *     resource_ask.c      statistics, validity
 *     resource_life.c     init, close, deinit
 *     resource_steer.c    evict, pause, resize, tick, event loops
 *
 * An entry is a resource, or the right to make one. It is counted in `max` from the moment in which a thread may create
 * until destroy has returned, so the server never sees more than max of them. Its states:
 *
 *              create                lend
 *     MAKING --------> IN_HAND <-------------> LENT
 *                       |  ^  give_back, reset
 *             put back  v  |  take, validate
 *                       IDLE
 *
 * From IN_HAND it can also end, by destroy. One thread at a time has an entry that is MAKING or IN_HAND, and calls the
 * user's functions for it without the lock. Everything else is done under the lock.
 *
 * There is one rule of fairness: whenever the lock is given back, no waiter could be served (I6). A thread that puts
 * something back, or gives up its right to create, serves the waiters in their order before it unlocks. So what a
 * newcomer finds under the lock is what no waiter can use, and the newcomer takes it without a look at the waiters. A
 * borrower that found a dead resource gives up its entry and takes the next under one lock, and if it has to wait, it
 * joins in front: it has been served once.
 *
 * A waiter is handed an entry, not a chance. If its deadline passes at that moment, it has the entry all the same: it
 * lends it, or creates with a deadline that has passed, or gives it up. So nothing is lost between hand-over and
 * wake-up.
 *
 * A borrow's handle is made of the slot of its entry and the number of borrows of that slot. So a second give_back
 * finds another number there, or an entry that is not LENT.
 *
 * Invariants (kolk_resource_pool_is_valid):
 *     I1  the entries are idle + lent + creating + those IN_HAND; at most max, but after a resize
 *     I2  an entry is in the list of its key if and only if it is IDLE; the list goes from the newest idle_since to the
 *         oldest
 *     I3  creating is the number of entries that are MAKING, at most max_creating; key->making is that of one key
 *     I4  the users of a key are its entries, and the calls that wait for it; a key without users is gone, but ""
 *     I5  a pool that is closed has no waiters, and nothing idle
 *     I6  a pool that is neither closed nor paused could serve no waiter
 *
 * The order of what comes is HikariCP's and the CMAP specification's of MongoDB's drivers, whose cap on creations this
 * is. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/handle.h"
#include "../diag/debug.h"
#include "../os/clock.h"
#include "../os/event.h"
#include "../os/thread.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_WAIT_NS INT64_C(30000000000)

typedef struct resource_request {
    kolk_resource_inside *pool;
    resource_key *key;
    kolk_deadline deadline;
    const char *who;
    kolk_kept_site site;
    int64_t begin, now;
    uint32_t thread;
    kolk_borrow *out;
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

static void say_more(const resource_request *me, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say_more(const resource_request *me, const char *format, ...) {
    kolk_error *error = &me->out->error;
    size_t length = strlen(error->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text + length, sizeof error->text - length, format, arguments);
    va_end(arguments);
}

/* Why nothing came: under the lock. */
static void explain_waiting(const resource_request *me) {
    const kolk_resource_inside *pool = me->pool;
    const resource_entry *longest = NULL;
    uint32_t own = 0;
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        const resource_entry *entry = kolk_entry_at(pool, slot);
        if (!entry || entry->state != RESOURCE_LENT) continue;
        own += me->thread && entry->thread == me->thread;
        if (!longest || entry->since < longest->since) longest = entry;
    }
    me->out->error.code = pool->last_failure ? pool->last_error.code : 0;
    say_more(me, "%s%u of %u in use%s, %u being created, %u waiting", pool->paused ? "paused, " : "", pool->lent,
             pool->max,
             own == 0   ? ""
             : own == 1 ? " (one by this thread itself)"
                        : " (several by this thread itself)",
             pool->creating, pool->waiting);
    if (longest)
        say_more(me, "; the longest%s%.40s for %" PRId64 " ms", longest->who ? " by " : "",
                 longest->who ? longest->who : "", (me->now - longest->since) / 1000000);
    if (pool->last_failure)
        say_more(me, "; %" PRId64 " ms ago a create failed: %s", (me->now - pool->last_failure) / 1000000,
                 pool->last_error.text);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* Is the calling thread in one of the user's functions, called for this pool? */
static bool is_in_function(const resource_request *me) {
    for (uint32_t slot = 0; slot < me->pool->slots && me->thread; slot++) {
        const resource_entry *entry = kolk_entry_at(me->pool, slot);
        if (!entry || entry->thread != me->thread) continue;
        if (entry->state == RESOURCE_MAKING || entry->state == RESOURCE_IN_HAND) return true;
    }
    return false;
}

/* An event loop has found nothing: it gets to know of what comes, and what could not be created. */
static kolk_status resource_found_none(const resource_request *me) {
    kolk_resource_inside *pool = me->pool;
    if (!pool->fd) return KOLK_FULL;
    if (pool->fd_called) kolk_event_reset((int)pool->fd - 1);
    pool->fd_called = false;
    kolk_key_want(pool, me->key);
    kolk_resource_call_upkeep(pool);
    if (!pool->fd_failure) return KOLK_FULL;
    pool->fd_failure = false;
    me->out->error = pool->last_error;
    return KOLK_NOT_CREATED;
}

/* Waits for an entry, with the lock given back; in front of all others if it was served before. */
static KOLK_NOINLINE kolk_status wait_for_entry(resource_request *me, bool in_front, resource_entry **entry) {
    kolk_resource_inside *pool = me->pool;
    if (!resource_waits(me)) return resource_found_none(me);
    if (is_in_function(me)) return KOLK_IN_HOOK;
    resource_waiter waiter = {.key = me->key, .thread = me->thread};
    if (in_front)
        kolk_waiter_join_front(&pool->waiters, &waiter.link);
    else
        kolk_waiter_join(&pool->waiters, &waiter.link);
    pool->waiting++;
    kolk_resource_unlock(pool);
    for (bool in_time = true; in_time && !kolk_load(&waiter.link.woken, KOLK_ACQUIRE);)
        in_time = kolk_waiter_sleep(&waiter.link, me->deadline);
    kolk_resource_lock(pool);
    me->now = kolk_now_ns();
    *entry = waiter.entry;
    if (kolk_load(&waiter.link.woken, KOLK_RELAXED)) return waiter.entry ? KOLK_OK : KOLK_CLOSED;
    kolk_waiter_leave(&pool->waiters, &waiter.link);
    pool->waiting--;
    return KOLK_TIMEOUT;
}

/* ---- Borrowing --------------------------------------------------------------------------------------------------- */

static void lend_entry(resource_request *me, resource_entry *entry) {
    kolk_resource_inside *pool = me->pool;
    KOLK_ASSERT(entry->state == RESOURCE_IN_HAND);
    entry->state = RESOURCE_LENT;
    entry->since = me->now;
    entry->who = me->who;
    entry->site = me->site;
    entry->thread = me->thread;
    entry->told = false;
    if (pool->keeps_names) memcpy(entry->thread_name, kolk_thread_own_name(), KOLK_THREAD_NAME);
    if (++entry->borrows == 0) entry->borrows = 1;
    if (++pool->lent > pool->peak) pool->peak = pool->lent;
    pool->counts.borrows++;
    kolk_times_add(&pool->wait, me->now - me->begin);
    me->out->resource = entry->resource;
    me->out->handle = kolk_handle_make(entry->borrows, entry->slot, pool->tag);
}

/* Makes the entry fit to be lent. One that was made just now is not validated: else, with a validate that always says
 * no, one would be made and destroyed after the other without an end. False: it is gone; *status is why there can't be
 * another, or KOLK_OK. */
static bool make_fit(resource_request *me, resource_entry *entry, kolk_status *status) {
    kolk_resource_inside *pool = me->pool;
    bool is_new = entry->state == RESOURCE_MAKING;
    if (is_new && !kolk_entry_create(pool, entry, me->deadline, &me->out->error)) {
        *status = KOLK_NOT_CREATED;
        return false;
    }
    if (is_new) me->now = kolk_now_ns();
    resource_end end = kolk_entry_end(pool, entry, me->now);
    bool is_proved = is_new || !pool->desc.validate || me->now - entry->proved < pool->desc.validate_after_ms;
    if (end == NO_END && !is_proved) {
        if (!kolk_entry_validate(pool, entry, me->deadline)) return false;
        me->now = kolk_now_ns();
        end = kolk_entry_end(pool, entry, me->now);
    }
    if (end != NO_END) kolk_entry_destroy(pool, entry, end);
    return end == NO_END;
}

/* Under the lock. */
static kolk_status borrow_locked(resource_request *me) {
    kolk_resource_inside *pool = me->pool;
    bool creates = resource_waits(me) || !pool->fd;
    kolk_status status = KOLK_OK;
    for (bool again = false; status == KOLK_OK; again = true) {
        if (pool->closed) return KOLK_CLOSED; /* perhaps while what it found had to be destroyed */
        if (again) me->now = kolk_now_ns();
        if (again && is_too_late(me)) return KOLK_TIMEOUT;
        resource_entry *entry = kolk_resource_take(pool, me->key, creates, me->thread);
        if (!entry) status = wait_for_entry(me, again, &entry);
        if (status != KOLK_OK || !make_fit(me, entry, &status)) continue;
        lend_entry(me, entry);
        return KOLK_OK;
    }
    return status;
}

/* Counts a borrow that failed, and sees that its error says something: under the lock. */
static KOLK_NOINLINE void explain_failure(const resource_request *me, kolk_status status) {
    resource_counts *counts = &me->pool->counts;
    kolk_error *error = &me->out->error;
    if (status == KOLK_FULL)
        counts->full++;
    else if (status == KOLK_TIMEOUT)
        counts->timeouts++;
    else
        counts->failed++;
    if (status == KOLK_FULL || status == KOLK_TIMEOUT) explain_waiting(me);
    if (status == KOLK_IN_HOOK) say_error(error, "a function of the pool borrows from it, and would wait for itself");
    if (!*error->text) say_error(error, kolk_status_text(status));
}

static kolk_status refuse_borrow(kolk_borrow *out, kolk_status status) {
    say_error(&out->error, kolk_status_text(status));
    return status;
}

KOLK_NOINLINE kolk_status kolk_resource_borrow(kolk_resource_pool *pool, const kolk_borrow_desc *desc,
                                               kolk_borrow *out) {
    out->resource = NULL;
    out->handle = (kolk_handle){0};
    out->error.code = 0;
    out->error.text[0] = 0;
    kolk_resource_inside *inside = pool->inside;
    if (!inside) return refuse_borrow(out, KOLK_CLOSED);
    if (kolk_forks() != inside->forks) return refuse_borrow(out, KOLK_FORKED);
    const char *key = desc && desc->key ? desc->key : "";
    if (*key && strlen(key) >= KEY_BYTES) return refuse_borrow(out, KOLK_KEY_TOO_LONG);
    resource_request me = {
        .pool = inside, .site = kolk_site_keep(SITE, inside->settings.depth), .thread = kolk_thread(), .out = out};
    me.who = desc ? desc->who : NULL;
    me.now = me.begin = kolk_now_ns();
    me.deadline = desc ? desc->deadline : (kolk_deadline){me.begin + DEFAULT_WAIT_NS};
    kolk_resource_lock(inside);
    me.key = *key ? kolk_key_of(inside, key) : inside->no_key; /* which stays, so it need not be told of a user */
    kolk_status status = me.key ? borrow_locked(&me) : KOLK_NO_MEMORY;
    if (status != KOLK_OK) explain_failure(&me, status);
    if (me.key && *key) kolk_key_leave(inside, me.key);
    kolk_resource_unlock(inside);
    return status;
}

/* ---- Giving back ------------------------------------------------------------------------------------------------- */

/* The entry of a borrow, or NULL: under the lock. */
static resource_entry *entry_of_handle(const kolk_resource_inside *pool, kolk_handle handle) {
    resource_entry *entry = kolk_entry_at(pool, kolk_handle_index(handle, pool->tag));
    bool is_its = entry && entry->state == RESOURCE_LENT && entry->borrows == kolk_handle_generation(handle);
    return is_its ? entry : NULL;
}

/* Under the lock. */
static void take_home(kolk_resource_inside *pool, resource_entry *entry, bool discards, int64_t now) {
    entry->state = RESOURCE_IN_HAND;
    entry->thread = kolk_thread();
    entry->idle_since = entry->proved = now;
    pool->lent--;
    kolk_times_add(&pool->use, now - entry->since);
    bool clean = true;
    if (!discards && pool->desc.reset && kolk_entry_end(pool, entry, now) == NO_END) {
        kolk_resource_unlock(pool);
        clean = pool->desc.reset(pool->desc.context, entry->resource);
        kolk_resource_lock(pool);
    }
    if (discards)
        kolk_entry_destroy(pool, entry, END_DISCARDED);
    else if (!clean)
        kolk_entry_destroy(pool, entry, END_UNCLEAN);
    else
        kolk_entry_settle(pool, entry, now);
}

static void end_borrow(kolk_resource_inside *pool, kolk_borrow *borrow, bool discards, const void *site) {
    if (kolk_handle_is_null(borrow->handle)) return;
    if (!pool) {
        kolk_report_handle(NULL, borrow->handle, site, NULL);
        return;
    }
    if (!kolk_handle_is_foreign(borrow->handle, pool->tag, KOLK_RESOURCES_AT_MOST)) borrow->resource = NULL;
    if (kolk_forks() != pool->forks) return;
    int64_t now = kolk_now_ns();
    resource_holder holder;
    kolk_resource_lock(pool);
    resource_entry *entry = entry_of_handle(pool, borrow->handle);
    bool told = entry && entry->told;
    if (told) holder = kolk_entry_holder(entry, now);
    if (entry)
        take_home(pool, entry, discards, now);
    else
        holder = kolk_holder_of_handle(pool, borrow->handle);
    kolk_resource_unlock(pool);
    if (!entry) kolk_report_handle(pool, borrow->handle, site, &holder);
    if (told) kolk_report_return(pool, &holder);
}

KOLK_NOINLINE void kolk_resource_give_back(kolk_resource_pool *pool, kolk_borrow *borrow) {
    end_borrow(pool->inside, borrow, false, SITE);
}

KOLK_NOINLINE void kolk_resource_discard(kolk_resource_pool *pool, kolk_borrow *borrow) {
    end_borrow(pool->inside, borrow, true, SITE);
}

#endif
