/* resource_work.c: the work of makers, and of ticks in pools without makers: one job after the other, until none is
 * left.
 *
 *     for a hungry key    create a resource; or validate an idle one for a waiter
 *     doomed entries      destroy one
 *     min_idle            create a resource of "", if fewer than min_idle are ready
 *     the look            now and then visit all entries, to find resources that are too old, idle for too long or due
 *                         for validation, and borrows that last too long
 *
 * Several makers may run this at the same time, each with an entry of its own. They release the lock while a user's
 * function runs. The look visits the slots in order, and each maker continues where the last one stopped. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/probes.h"
#include "../os/clock.h"
#include "../os/thread.h"

#define SHORTEST_LOOK_NS INT64_C(10000000)
#define LONGEST_LOOK_NS  INT64_C(30000000000)
#define SLOTS_AT_ONCE    256 /* slots that a look visits before others get the lock */

static bool is_due(int64_t since, int64_t interval, int64_t now) {
    return now - since >= interval;
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

/* Makes a key's waiters fail if no resource of the key can come back and another create would not help. */
static void turn_away_hopeless(kolk_resource_inside_ *pool, resource_key *key) {
    if (!kolk_key_is_hopeless_(key)) return;
    while (key->waiters.first)
        kolk_waiter_serve_(pool, key, (resource_waiter *)(void *)key->waiters.first, NULL, KOLK_NOT_CREATED);
}

/* Creates the resource of a MAKING entry, and gives it to whoever is the first waiter then. */
static void create_for_key(kolk_resource_inside_ *pool, resource_entry *entry, kolk_deadline deadline) {
    resource_key *key = entry->key;
    uint32_t epoch = entry->epoch;
    key->users++; /* so that the key outlives the entry */
    if (kolk_entry_create_(pool, entry, deadline)) {
        kolk_entry_settle_(pool, entry, entry->proved);
    } else if (epoch == pool->epoch) { /* otherwise an evict has interrupted it */
        kolk_key_rest_(pool, key, key->failed_at);
        key->refused = key->wanted;
        kolk_key_tell_(pool, key);
        turn_away_hopeless(pool, key);
    }
    kolk_key_leave_(pool, key);
}

/* ---- Asking and destroying --------------------------------------------------------------------------------------- */

/* Validates an idle entry, which keeps its place in the line. */
static void ask_idle(kolk_resource_inside_ *pool, resource_entry *entry, int64_t now, kolk_deadline deadline) {
    entry->thread = kolk_thread_();
    kolk_entry_become_(pool, entry, RESOURCE_ASKED);
    kolk_job_begin_(pool, entry, now);
    bool good = kolk_entry_validate_(pool, entry, deadline);
    kolk_job_end_(pool, entry);
    resource_end end = good ? kolk_entry_cause_of_end_(pool, entry, now) : END_INVALID;
    if (end == NO_END && !entry->key->waiters.first) {
        kolk_entry_become_(pool, entry, RESOURCE_IDLE);
        return;
    }
    entry->vouched = true;
    kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
    if (end == NO_END)
        kolk_entry_offer_(pool, entry, entry->proved);
    else
        kolk_entry_destroy_(pool, entry, end);
}

static void end_doomed(kolk_resource_inside_ *pool, int64_t now) {
    resource_entry *entry = pool->lists[LIST_DOOMED].oldest;
    entry->thread = kolk_thread_();
    kolk_entry_become_(pool, entry, RESOURCE_ENDING);
    kolk_job_begin_(pool, entry, now);
    kolk_entry_destroy_now_(pool, entry);
}

void kolk_resource_end_doomed_(kolk_resource_inside_ *pool) {
    while (pool->lists[LIST_DOOMED].oldest) end_doomed(pool, kolk_now_ns_());
}

/* ---- For those who wait ------------------------------------------------------------------------------------------ */

/* Validates the next idle entry of a key, unless that is no longer necessary, or the entry has a reason to end. */
static void ask_for_key(kolk_resource_inside_ *pool, resource_key *key, int64_t now, kolk_deadline deadline) {
    resource_entry *entry = kolk_key_next_idle_(pool, key);
    resource_end end = kolk_entry_cause_of_end_(pool, entry, now);
    kolk_key_had_turn_(pool, key);
    if (end == NO_END && !kolk_entry_is_proved_(pool, entry, now)) {
        ask_idle(pool, entry, now, deadline);
        return;
    }
    kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
    kolk_entry_settle_(pool, entry, now);
}

static void end_rests(kolk_resource_inside_ *pool, int64_t now) {
    if (!pool->resting.first || now < pool->rest_ends) return;
    pool->rest_ends = INT64_MAX;
    for (resource_key *key = pool->resting.first, *next; key; key = next) {
        next = key->rests_behind;
        if (key->retry_at <= now)
            kolk_key_end_rest_(pool, key);
        else if (key->retry_at < pool->rest_ends)
            pool->rest_ends = key->retry_at;
    }
}

/* ---- The look ---------------------------------------------------------------------------------------------------- */

static resource_end end_of_idle(const kolk_resource_inside_ *pool, const resource_entry *entry, int64_t now) {
    resource_end end = kolk_entry_cause_of_end_(pool, entry, now);
    if (end != NO_END || !is_due(entry->idle_since, pool->desc.idle_timeout_ms, now)) return end;
    bool is_kept = entry->key == pool->no_key && entry->key->idle <= pool->desc.min_idle;
    return is_kept ? NO_END : END_UNUSED;
}

/* If an event loop does not fetch a promised entry for a while, any borrower may have it. At each later look the loop
 * is notified again, because another loop may have been quicker to see that the descriptor was readable. */
static void remind_event_loops(kolk_resource_inside_ *pool, resource_entry *entry) {
    resource_key *key = entry->key;
    key->surge = 0; /* not all of the resources that were wished for are in use */
    if (key->wanted && !pool->paused) pool->fd_news = true;
    if (entry->promised && key->news) {
        kolk_key_want_(pool, key);
        kolk_key_heard_(pool, key);
    }
    entry->promised = false;
}

/* True: the entry was validated or destroyed, and the lock was released meanwhile. */
static bool look_after_idle(kolk_resource_inside_ *pool, resource_entry *entry, int64_t now, kolk_deadline deadline) {
    resource_end end = end_of_idle(pool, entry, now);
    if (is_due(entry->idle_since, PROMISE_NS, now)) remind_event_loops(pool, entry);
    bool validates = pool->desc.validate && is_due(entry->proved, pool->desc.keepalive_ms, now);
    if (end == NO_END && !validates) return false;
    if (end == NO_END) {
        ask_idle(pool, entry, now, deadline);
    } else {
        entry->thread = kolk_thread_();
        kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
        kolk_entry_destroy_(pool, entry, end);
    }
    return true;
}

static bool look_after_lent(kolk_resource_inside_ *pool, resource_entry *entry, int64_t now, int64_t leak_after) {
    if (entry->told || !is_due(entry->since, leak_after, now)) return false;
    resource_holder holder = kolk_entry_holder_(entry, now);
    entry->told = true;
    pool->counts.leaks++;
    PROBE2(leak, kolk_probe_name_(pool->desc.name), now - entry->since);
    kolk_resource_settle_and_unlock_(pool);
    kolk_report_leak_(pool, &holder);
    kolk_resource_lock_(pool);
    return true;
}

void kolk_resource_name_holders_(kolk_resource_inside_ *pool) {
    kolk_resource_lock_(pool);
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        resource_entry *entry = kolk_entry_at_(pool, slot);
        if (entry && entry->state == RESOURCE_LENT) look_after_lent(pool, entry, kolk_now_ns_(), 0);
    }
    kolk_resource_settle_and_unlock_(pool);
}

void kolk_resource_note_holders_(kolk_resource_inside_ *pool,
                                 void (*note)(void *to, kolk_kept_site_ site, uint32_t depth), void *to) {
    kolk_resource_lock_(pool);
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        const resource_entry *entry = kolk_entry_at_(pool, slot);
        if (entry && entry->state == RESOURCE_LENT) note(to, entry->site, pool->settings.depth);
    }
    kolk_resource_settle_and_unlock_(pool);
}

/* An eighth of the shortest time that is set: actions that have no timer of their own may be this late. */
static int64_t pause_of_looks(const kolk_resource_inside_ *pool) {
    const kolk_resource_pool_desc *desc = &pool->desc;
    int64_t times[] = {desc->idle_timeout_ms, desc->max_lifetime_ms, desc->keepalive_ms, desc->leak_after_ms};
    int64_t pause = pool->wanted || pool->news ? PROMISE_NS : LONGEST_LOOK_NS;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i] / 8 < pause) pause = times[i] / 8;
    return pause > SHORTEST_LOOK_NS ? pause : SHORTEST_LOOK_NS;
}

/* True: the lock was released, for an action or to let others have it. */
static bool look_on(kolk_resource_inside_ *pool, int64_t now, kolk_deadline deadline) {
    for (int i = 0; i < SLOTS_AT_ONCE; i++) {
        if (pool->looked >= pool->slots) {
            pool->looks = false;
            return false;
        }
        resource_entry *entry = kolk_entry_at_(pool, pool->looked++);
        bool did = false;
        if (entry && entry->state == RESOURCE_IDLE)
            did = look_after_idle(pool, entry, now, deadline);
        else if (entry && entry->state == RESOURCE_LENT)
            did = look_after_lent(pool, entry, now, pool->desc.leak_after_ms);
        if (did) return true;
    }
    kolk_unlock_word_(&pool->lock);
    kolk_resource_lock_(pool);
    return true;
}

static void begin_look(kolk_resource_inside_ *pool, int64_t now) {
    pool->looks = true;
    pool->looked = 0;
    pool->look_at = now + pause_of_looks(pool);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* True: a job was done. */
static bool do_job(kolk_resource_inside_ *pool, int64_t now, kolk_deadline deadline) {
    resource_key *key;
    resource_room room;
    resource_job job;
    do job = kolk_resource_next_job_(pool, &key, &room);
    while (job == JOB_LOOK && !look_on(pool, now, deadline));
    if (job == JOB_CREATE)
        create_for_key(pool, kolk_resource_make_(pool, key, room, kolk_thread_(), now), deadline);
    else if (job == JOB_ASK)
        ask_for_key(pool, key, now, deadline);
    else if (job == JOB_DESTROY)
        end_doomed(pool, now);
    return job != NO_JOB;
}

static void set_due(kolk_resource_inside_ *pool) {
    pool->called = false;
    kolk_store_(&pool->chore.due, kolk_resource_next_due_(pool), KOLK_RELAXED_); /* partner: the makers */
}

void kolk_resource_begin_work_(kolk_resource_inside_ *pool) {
    pool->look_at = kolk_now_ns_() + pause_of_looks(pool);
    kolk_store_(&pool->chore.due, lacks_kept_ones(pool) ? 0 : pool->look_at, KOLK_RELAXED_);
}

void kolk_resource_work_(kolk_chore_ *chore) {
    kolk_resource_inside_ *pool = (kolk_resource_inside_ *)(void *)chore;
    kolk_resource_lock_(pool);
    for (bool more = true; more;) {
        int64_t now = kolk_now_ns_();
        end_rests(pool, now);
        kolk_jobs_note_late_(pool, now);
        if (!pool->looks && pool->look_at <= now) begin_look(pool, now);
        pool->called = false;
        /* if more work is due during the job, kolk_resource_settle_and_unlock_ sets this and calls makers */
        kolk_store_(&chore->due, INT64_MAX, KOLK_RELAXED_);
        pool->changed = true;
        int64_t limit = pool->desc.create_timeout_ms;
        more = do_job(pool, now, (kolk_deadline){limit < INT64_MAX - now ? now + limit : INT64_MAX});
    }
    set_due(pool);
    pool->changed = false;
    kolk_resource_settle_and_unlock_(pool);
}

void kolk_resource_upkeep_(kolk_resource_inside_ *pool, kolk_deadline deadline) {
    kolk_resource_lock_(pool);
    int64_t now = kolk_now_ns_();
    bool in_time = true;
    begin_look(pool, now);
    set_due(pool);
    while (in_time) {
        end_rests(pool, now);
        kolk_jobs_note_late_(pool, now);
        if (!do_job(pool, now, deadline)) break;
        now = kolk_now_ns_();
        in_time = now < deadline.ns;
    }
    if (!in_time)
        kolk_store_(&pool->chore.due, now, KOLK_RELAXED_);
    else if (!pool->called)
        set_due(pool);
    kolk_resource_settle_and_unlock_(pool);
}

#endif
