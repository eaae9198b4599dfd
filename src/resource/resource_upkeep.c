/* resource_upkeep.c: what is done in the background: for each idle resource whether it is too old, idle for too long or
 * to be validated, for each borrow whether it lasts too long, and whether resources are missing. A walk over all
 * entries, by slot: while the lock is given back, entries may come and go. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../os/clock.h"
#include "../os/thread.h"

#define SHORTEST_BACKOFF_NS INT64_C(10000000)
#define LONGEST_BACKOFF_NS  INT64_C(5000000000)
#define SHORTEST_LOOK_NS    INT64_C(10000000)
#define LONGEST_LOOK_NS     INT64_C(30000000000)
#define PROMISE_NS          INT64_C(500000000)

static bool is_due(int64_t since, int64_t interval, int64_t now) {
    return now - since >= interval;
}

/* ---- Idle ones --------------------------------------------------------------------------------------------------- */

static resource_end end_of_idle(const kolk_resource_inside *pool, const resource_entry *entry, int64_t now) {
    resource_end end = kolk_entry_end(pool, entry, now);
    if (end != NO_END || !is_due(entry->idle_since, pool->desc.idle_timeout_ms, now)) return end;
    bool is_kept = entry->key == pool->no_key && entry->key->idle <= pool->desc.min_idle;
    return is_kept ? NO_END : END_UNUSED;
}

/* True: something was done, with the lock given back. */
static bool look_after_idle(kolk_resource_inside *pool, resource_entry *entry, int64_t now, kolk_deadline deadline) {
    resource_end end = end_of_idle(pool, entry, now);
    if (is_due(entry->idle_since, PROMISE_NS, now)) entry->promised = false;
    bool validates = pool->desc.validate && is_due(entry->proved, pool->desc.keepalive_ms, now);
    if (end == NO_END && !validates) return false;
    kolk_entry_take_out(pool, entry, kolk_thread());
    if (end != NO_END) {
        kolk_entry_destroy(pool, entry, end);
    } else if (kolk_entry_validate(pool, entry, deadline)) {
        kolk_entry_settle(pool, entry, now);
    }
    return true;
}

/* ---- Borrows ----------------------------------------------------------------------------------------------------- */

static bool look_after_lent(kolk_resource_inside *pool, resource_entry *entry, int64_t now, int64_t leak_after) {
    if (entry->told || !is_due(entry->since, leak_after, now)) return false;
    resource_holder holder = kolk_entry_holder(entry, now);
    entry->told = true;
    pool->counts.leaks++;
    kolk_resource_unlock(pool);
    kolk_report_leak(pool, &holder);
    kolk_resource_lock(pool);
    return true;
}

void kolk_resource_name_holders(kolk_resource_inside *pool) {
    kolk_resource_lock(pool);
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        resource_entry *entry = kolk_entry_at(pool, slot);
        if (entry && entry->state == RESOURCE_LENT) look_after_lent(pool, entry, kolk_now_ns(), 0);
    }
    kolk_resource_unlock(pool);
}

/* ---- Missing ones ------------------------------------------------------------------------------------------------ */

/* The key of which some are to be ready, if there are too few. */
static resource_key *kept_key(const kolk_resource_inside *pool) {
    return pool->no_key->idle + pool->no_key->making < pool->desc.min_idle ? pool->no_key : NULL;
}

static resource_key *wanted_key(const kolk_resource_inside *pool) {
    for (uint32_t list = 0; list < KEY_LISTS && pool->wanted; list++)
        for (resource_key *key = pool->lists[list]; key; key = key->next)
            if (key->wanted && !key->making) return key;
    return NULL;
}

/* After a failure there is a pause, a random part of one that doubles (exponential backoff with full jitter, Brooker,
 * 2015). Event loops hear of it. */
static void note_background_failure(kolk_resource_inside *pool, resource_key *key, int64_t now) {
    pool->backoff = pool->backoff ? pool->backoff * 2 : SHORTEST_BACKOFF_NS;
    if (pool->backoff > LONGEST_BACKOFF_NS) pool->backoff = LONGEST_BACKOFF_NS;
    pool->retry_at = now + 1 + kolk_resource_random(pool, pool->backoff);
    pool->kept_failed = key == pool->no_key;
    pool->fd_failure = key->wanted;
    kolk_key_tell(pool, key);
}

/* True: a create was tried. What is kept ready comes first, unless it failed last: a key that can't be made is not to
 * be in the way of the others for ever. */
static bool make_missing_one(kolk_resource_inside *pool, int64_t now, kolk_deadline deadline) {
    resource_key *key = NULL;
    resource_entry *entry = NULL;
    if (now < pool->retry_at) return false;
    for (int turn = 0; turn < 2 && !entry; turn++) {
        bool keeps = (turn == 0) != pool->kept_failed;
        key = keeps ? kept_key(pool) : wanted_key(pool);
        if (key) entry = kolk_resource_make(pool, key, keeps ? ROOM_OF_NONE : ROOM_OF_UNPROMISED, kolk_thread());
    }
    if (!entry) return false;
    kolk_error error;
    key->users++; /* it outlives the entry */
    if (!kolk_entry_create(pool, entry, deadline, &error))
        note_background_failure(pool, key, kolk_now_ns());
    else
        kolk_entry_settle(pool, entry, now);
    kolk_key_leave(pool, key);
    return true;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* An eighth of the shortest time that is set: so late may be what has no moment of its own. */
static int64_t next_look(const kolk_resource_inside *pool, int64_t now) {
    const kolk_resource_pool_desc *desc = &pool->desc;
    int64_t times[] = {desc->idle_timeout_ms, desc->max_lifetime_ms, desc->keepalive_ms, desc->leak_after_ms};
    int64_t pause = pool->wanted ? PROMISE_NS : LONGEST_LOOK_NS;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i] / 8 < pause) pause = times[i] / 8;
    if (pause < SHORTEST_LOOK_NS) pause = SHORTEST_LOOK_NS;
    return now < pool->retry_at && pool->retry_at < now + pause ? pool->retry_at : now + pause;
}

void kolk_resource_upkeep(kolk_resource_inside *pool, kolk_deadline deadline) {
    kolk_resource_lock(pool);
    pool->called = false;
    int64_t now = kolk_now_ns();
    bool in_time = true;
    for (uint32_t slot = 0; slot < pool->slots && in_time; slot++) {
        resource_entry *entry = kolk_entry_at(pool, slot);
        bool did = false;
        if (entry && entry->state == RESOURCE_IDLE)
            did = look_after_idle(pool, entry, now, deadline);
        else if (entry && entry->state == RESOURCE_LENT)
            did = look_after_lent(pool, entry, now, pool->desc.leak_after_ms);
        if (!did) continue;
        now = kolk_now_ns();
        in_time = now < deadline.ns;
    }
    while (in_time && make_missing_one(pool, now, deadline)) {
        now = kolk_now_ns();
        in_time = now < deadline.ns;
    }
    bool again = pool->called || !in_time;
    kolk_store(&pool->chore.due, again ? now : next_look(pool, now), KOLK_RELAXED); /* partner: the housekeeper */
    kolk_resource_unlock(pool);
}

#endif
