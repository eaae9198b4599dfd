/* resource_share.c: who gets which resource: the states of entries, idle entries, room, waiters. All functions run
 * under the pool's lock. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/watch.h"
#include "../os/clock.h"
#include "../os/event.h"

/* ---- States ------------------------------------------------------------------------------------------------------ */

resource_entry *kolk_entry_at_(const kolk_resource_inside_ *pool, uint32_t slot) {
    return slot < pool->slots ? kolk_pool_at(&pool->entries, slot) : NULL;
}

static inline bool is_in_line(resource_state state) {
    return state <= RESOURCE_ASKED;
}

static inline resource_list *list_of_entry(kolk_resource_inside_ *pool, resource_state state) {
    return &pool->lists[kolk_list_of_state_(state)];
}

static inline void join_list(resource_list *list, resource_entry *entry) {
    entry->older = list->newest;
    entry->newer = NULL;
    *(list->newest ? &list->newest->newer : &list->oldest) = entry;
    list->newest = entry;
    list->count++;
}

static inline void leave_list(resource_list *list, resource_entry *entry) {
    KOLK_ASSERT_(list->count > 0);
    *(entry->newer ? &entry->newer->older : &list->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &list->oldest) = entry->newer;
    list->count--;
}

static inline void join_line(resource_entry *entry) {
    resource_key *key = entry->key;
    entry->line_older = key->newest;
    entry->line_newer = NULL;
    *(key->newest ? &key->newest->line_newer : &key->oldest) = entry;
    key->newest = entry;
}

static inline void leave_line(resource_entry *entry) {
    resource_key *key = entry->key;
    *(entry->line_newer ? &entry->line_newer->line_older : &key->newest) = entry->line_older;
    *(entry->line_older ? &entry->line_older->line_newer : &key->oldest) = entry->line_newer;
}

/* Adds `by`, 1 or -1, to the counters of the entry's state. The caller counts IDLE entries itself. */
static void count_entry(kolk_resource_inside_ *pool, const resource_entry *entry, uint32_t by) {
    if (entry->state == RESOURCE_ASKED) pool->asked += by;
    if (entry->state >= RESOURCE_DOOMED) pool->going += by;
    if (entry->state != RESOURCE_MAKING) return;
    entry->key->making += by;
    pool->creating += by;
}

void kolk_entry_become_(kolk_resource_inside_ *pool, resource_entry *entry, resource_state state) {
    resource_state before = (resource_state)entry->state;
    resource_list *from = list_of_entry(pool, before), *to = list_of_entry(pool, state);
    bool was_in_line = is_in_line(before), will_be_in_line = is_in_line(state);
    if (before == RESOURCE_IDLE) entry->key->idle--;
    if (before != RESOURCE_IDLE && before != RESOURCE_LENT) count_entry(pool, entry, UINT32_MAX);
    entry->state = (uint8_t)state;
    if (state == RESOURCE_IDLE) entry->key->idle++;
    if (state != RESOURCE_IDLE && state != RESOURCE_LENT) count_entry(pool, entry, 1);
    if (was_in_line && !will_be_in_line) leave_line(entry);
    if (!was_in_line && will_be_in_line) join_line(entry);
    if (from != to) { /* otherwise it keeps its place */
        leave_list(from, entry);
        join_list(to, entry);
    }
    kolk_key_changed_(pool, entry->key);
}

/* The same for the two changes of state that nearly every borrow makes: about 40 instructions instead of 95. */
void kolk_entry_lend_idle_(kolk_resource_inside_ *pool, resource_entry *entry) {
    KOLK_ASSERT_(entry->state == RESOURCE_IDLE);
    entry->state = RESOURCE_LENT;
    entry->key->idle--;
    leave_line(entry);
    leave_list(&pool->lists[LIST_IDLE], entry);
    join_list(&pool->lists[LIST_LENT], entry);
    kolk_key_changed_(pool, entry->key);
}

static inline void make_lent_idle(kolk_resource_inside_ *pool, resource_entry *entry) {
    entry->state = RESOURCE_IDLE;
    entry->key->idle++;
    leave_list(&pool->lists[LIST_LENT], entry);
    join_list(&pool->lists[LIST_IDLE], entry);
    join_line(entry);
    kolk_key_changed_(pool, entry->key);
}

/* Sets up a new entry, which is MAKING, for this key. */
static void begin_entry(kolk_resource_inside_ *pool, resource_entry *entry, resource_key *key) {
    entry->key = key;
    entry->state = RESOURCE_MAKING;
    key->users++;
    key->entries++;
    count_entry(pool, entry, 1);
    join_list(list_of_entry(pool, RESOURCE_MAKING), entry);
    kolk_key_feel_(pool, key);
}

static void end_entry(kolk_resource_inside_ *pool, resource_entry *entry) {
    resource_key *key = entry->key;
    if (entry->state == RESOURCE_IDLE) key->idle--;
    count_entry(pool, entry, UINT32_MAX);
    leave_list(list_of_entry(pool, entry->state), entry);
    if (is_in_line(entry->state)) leave_line(entry);
    key->entries--;
    kolk_key_feel_(pool, key);
    kolk_key_leave_(pool, key);
}

void kolk_entry_drop_(kolk_resource_inside_ *pool, resource_entry *entry) {
    end_entry(pool, entry);
    kolk_pool_free(&pool->entries, entry);
    pool->changed = true; /* there is room */
    if (!pool->closed) return;
    kolk_store_(&pool->emptied, pool->emptied + 1, KOLK_RELAXED_); /* close takes the lock before it checks */
    kolk_wake_(&pool->emptied, UINT32_MAX);
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

static uint32_t *count_of_jobs(kolk_resource_inside_ *pool, const resource_entry *entry) {
    return entry->state == RESOURCE_MAKING ? &pool->jobs.creates : &pool->jobs.others;
}

void kolk_job_begin_(kolk_resource_inside_ *pool, resource_entry *entry, int64_t now) {
    resource_jobs *jobs = &pool->jobs;
    entry->begun = now;
    entry->in_time = true;
    entry->job_older = jobs->newest;
    entry->job_newer = NULL;
    *(jobs->newest ? &jobs->newest->job_newer : &jobs->oldest) = entry;
    jobs->newest = entry;
    ++*count_of_jobs(pool, entry);
    if (entry->state == RESOURCE_ASKED) entry->key->asked++;
    kolk_key_feel_(pool, entry->key);
}

static void leave_jobs(kolk_resource_inside_ *pool, resource_entry *entry) {
    resource_jobs *jobs = &pool->jobs;
    *(entry->job_newer ? &entry->job_newer->job_older : &jobs->newest) = entry->job_older;
    *(entry->job_older ? &entry->job_older->job_newer : &jobs->oldest) = entry->job_newer;
    --*count_of_jobs(pool, entry);
    entry->in_time = false;
    if (entry->state == RESOURCE_ASKED) entry->key->asked--;
    kolk_key_feel_(pool, entry->key);
    pool->changed = true; /* there is room for another job */
}

void kolk_job_end_(kolk_resource_inside_ *pool, resource_entry *entry) {
    if (entry->in_time)
        leave_jobs(pool, entry);
    else if (entry->state == RESOURCE_ASKED)
        entry->key->silent--;
}

void kolk_entry_give_up_(kolk_resource_inside_ *pool, resource_entry *entry) {
    bool is_late = entry->state == RESOURCE_MAKING && !entry->in_time;
    if (is_late && entry->epoch != pool->epoch) kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
}

void kolk_jobs_note_late_(kolk_resource_inside_ *pool, int64_t now) {
    for (resource_entry *entry; (entry = pool->jobs.oldest) && now - entry->begun >= LATE_NS;) {
        leave_jobs(pool, entry);
        if (entry->state == RESOURCE_ASKED) entry->key->silent++;
        kolk_entry_give_up_(pool, entry);
    }
}

/* ---- Idle ones --------------------------------------------------------------------------------------------------- */

resource_end kolk_entry_why_end_(const kolk_resource_inside_ *pool, const resource_entry *entry, int64_t now) {
    if (pool->closed) return END_CLOSED;
    if (entry->evicted || entry->epoch != pool->epoch) return END_EVICTED;
    if (pool->shrunk && kolk_pool_count(&pool->entries) - pool->going > pool->max) return END_EVICTED;
    return now >= entry->expires ? END_EXPIRED : NO_END;
}

bool kolk_entry_is_proved_(const kolk_resource_inside_ *pool, const resource_entry *entry, int64_t now) {
    return entry->vouched || !pool->desc.validate || now - entry->proved < pool->desc.validate_after_ms;
}

/* Skips ASKED entries, of which there are never more than there are makers. */
resource_entry *kolk_key_next_idle_(const kolk_resource_inside_ *pool, const resource_key *key) {
    bool oldest = pool->desc.reuse == KOLK_REUSE_FIFO;
    resource_entry *entry = oldest ? key->oldest : key->newest;
    if (key->idle == 0) return NULL;
    while (entry->state != RESOURCE_IDLE) entry = oldest ? entry->line_newer : entry->line_older;
    return entry;
}

/* The entry, of any key, that has been idle longest. With `keeps_promised`, promised entries are left out. NULL: there
 * is none. */
static resource_entry *longest_idle(const kolk_resource_inside_ *pool, bool keeps_promised) {
    resource_entry *entry = pool->lists[LIST_IDLE].oldest;
    while (entry && (entry->state != RESOURCE_IDLE || (keeps_promised && entry->promised))) entry = entry->newer;
    return entry;
}

/* ---- Room -------------------------------------------------------------------------------------------------------- */

bool kolk_resource_can_make_(const kolk_resource_inside_ *pool, const resource_key *key, resource_room room) {
    uint32_t count = kolk_pool_count(&pool->entries);
    bool rests = key->rests && (pool->has_makers || room != ROOM_OF_ANY); /* without makers, a borrow does not wait for
                                                                           * the rest's end */
    if (pool->paused || pool->closed || pool->jobs.creates >= pool->desc.max_creating) return false;
    if (rests || key->making >= pool->desc.max_creating || count > pool->max || room == NO_ROOM) return false;
    return count < pool->max || (room > ROOM_OF_NONE && longest_idle(pool, room == ROOM_OF_UNPROMISED));
}

/* Takes the idle entry that makes room for a new one. The new entry uses its slot. */
static resource_entry *entry_to_replace(kolk_resource_inside_ *pool, resource_room room) {
    resource_entry *entry = longest_idle(pool, room == ROOM_OF_UNPROMISED);
    end_entry(pool, entry);
    entry->replaces = true;
    entry->evicted = false;
    return entry;
}

static resource_entry *new_entry(kolk_resource_inside_ *pool) {
    resource_entry *entry = kolk_pool_alloc(&pool->entries);
    KOLK_ASSERT_(entry); /* `entries` has room for max */
    uint32_t slot = kolk_pool_index(&pool->entries, entry);
    if (slot >= pool->slots) pool->slots = slot + 1;
    *entry = (resource_entry){.borrows = entry->borrows, .slot = slot};
    return entry;
}

resource_entry *kolk_resource_make_(kolk_resource_inside_ *pool, resource_key *key, resource_room room, uint32_t thread,
                                    int64_t now) {
    if (!kolk_resource_can_make_(pool, key, room)) return NULL;
    key->users++; /* the replaced entry may be the key's last user */
    bool is_full = kolk_pool_count(&pool->entries) == pool->max;
    resource_entry *entry = is_full ? entry_to_replace(pool, room) : new_entry(pool);
    entry->thread = thread;
    entry->epoch = pool->epoch;
    begin_entry(pool, entry, key);
    kolk_job_begin_(pool, entry, now);
    kolk_key_leave_(pool, key);
    kolk_key_had_turn_(pool, key);
    return entry;
}

/* ---- Waiters ----------------------------------------------------------------------------------------------------- */

void kolk_waiter_serve_(kolk_resource_inside_ *pool, resource_key *key, resource_waiter *waiter, resource_entry *entry,
                        kolk_status status) {
    kolk_waiter_leave_(&key->waiters, &waiter->link);
    key->waiting--;
    pool->waiting--;
    if (entry) entry->thread = waiter->thread;
    waiter->entry = entry;
    waiter->status = status;
    kolk_key_feel_(pool, key);
    kolk_waiter_wake_(&waiter->link); /* its thread may return now */
}

/* Has another key been hungry for longer than this key's first waiter has waited, and can it get room only if this
 * entry is destroyed? */
static bool is_anothers_turn(const kolk_resource_inside_ *pool, const resource_key *key, const resource_waiter *first) {
    const resource_key *other = pool->hungry.first;
    if (!other || other == key || other->waiting == 0 || other->since > first->turn) return false;
    if (pool->jobs.creates >= pool->desc.max_creating || other->rests) return false;
    return kolk_pool_count(&pool->entries) == pool->max && count_of_idle(pool) == 0;
}

void kolk_entry_offer_(kolk_resource_inside_ *pool, resource_entry *entry, int64_t now) {
    resource_key *key = entry->key;
    resource_waiter *first = (resource_waiter *)(void *)key->waiters.first;
    KOLK_ASSERT_(entry->state == RESOURCE_IN_HAND || entry->state == RESOURCE_LENT);
    bool is_fit = first && !pool->paused && (!pool->has_makers || kolk_entry_is_proved_(pool, entry, now));
    if (is_fit && !is_anothers_turn(pool, key, first)) {
        kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
        kolk_waiter_serve_(pool, key, first, entry, KOLK_OK);
        return;
    }
    entry->vouched = false;
    entry->promised = key->wanted;
    if (entry->state == RESOURCE_LENT)
        make_lent_idle(pool, entry);
    else
        kolk_entry_become_(pool, entry, RESOURCE_IDLE);
    if (key->wishes) kolk_key_grant_(pool, key);
    if (key->wanted) kolk_key_tell_(pool, key);
    if (pool->hungry.first) pool->changed = true; /* the entry may make room for another key */
}

void kolk_resource_serve_key_(kolk_resource_inside_ *pool, resource_key *key, int64_t now) {
    for (resource_entry *entry; key->waiting > 0 && (entry = kolk_key_next_idle_(pool, key));) {
        if (pool->paused || (pool->has_makers && !kolk_entry_is_proved_(pool, entry, now))) return;
        kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
        kolk_waiter_serve_(pool, key, (resource_waiter *)(void *)key->waiters.first, entry, KOLK_OK);
    }
}

/* Event loops are also notified of resources that came back during a pause. */
void kolk_resource_serve_all_(kolk_resource_inside_ *pool, int64_t now) {
    for (resource_key *key = kolk_key_next_(pool, NULL); key; key = kolk_key_next_(pool, key)) {
        kolk_resource_serve_key_(pool, key, now);
        if (key->idle > 0) kolk_key_tell_(pool, key);
    }
}

/* Without makers, waiters get the right to create for themselves. */
static void let_waiters_create(kolk_resource_inside_ *pool) {
    int64_t now = kolk_now_ns_();
    for (resource_key *key = pool->hungry.first, *next; key; key = next) {
        next = key->behind;
        resource_waiter *first = (resource_waiter *)(void *)key->waiters.first;
        if (!first) continue; /* the key has only wishes */
        resource_entry *entry = kolk_resource_make_(pool, key, ROOM_OF_ANY, first->thread, now);
        if (!entry) return;
        kolk_waiter_serve_(pool, key, first, entry, KOLK_OK);
        next = pool->hungry.first;
    }
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

void kolk_resource_call_upkeep_(kolk_resource_inside_ *pool) {
    bool is_due = kolk_load_(&pool->chore.due, KOLK_RELAXED_) == 0; /* then makers have been called already */
    pool->called = true;
    kolk_store_(&pool->chore.due, 0, KOLK_RELAXED_);
    if (pool->has_makers && !is_due) kolk_makers_call_();
}

void kolk_resource_look_soon_(kolk_resource_inside_ *pool, int64_t now) {
    if (pool->look_at > now + PROMISE_NS) pool->look_at = now + PROMISE_NS;
    kolk_resource_call_upkeep_(pool);
}

/* Finds the first hungry key for which there is a job now. */
static resource_job job_for_hungry(const kolk_resource_inside_ *pool, bool may_tend, resource_key **of,
                                   resource_room *room) {
    for (resource_key *key = pool->hungry.first; key; key = key->behind) {
        *of = key;
        *room = kolk_key_room_(pool, key);
        if (kolk_resource_can_make_(pool, key, *room)) return JOB_CREATE;
        if (pool->has_makers && key->waiting > 0 && key->idle > 0 && may_tend) return JOB_ASK;
        if (kolk_pool_count(&pool->entries) >= pool->max && count_of_idle(pool) == 0) return NO_JOB;
    }
    return NO_JOB;
}

resource_job kolk_resource_next_job_(const kolk_resource_inside_ *pool, resource_key **key, resource_room *room) {
    bool may_tend = pool->jobs.others < pool->desc.max_creating, stands_still = pool->closed || pool->paused;
    resource_job job = stands_still ? NO_JOB : job_for_hungry(pool, may_tend, key, room);
    if (job != NO_JOB) return job;
    if (may_tend && pool->lists[LIST_DOOMED].oldest) return JOB_DESTROY;
    if (may_tend && pool->looks) return JOB_LOOK;
    *key = pool->no_key;
    *room = ROOM_OF_NONE;
    return lacks_kept_ones(pool) && kolk_resource_can_make_(pool, *key, *room) ? JOB_CREATE : NO_JOB;
}

int64_t kolk_resource_next_due_(const kolk_resource_inside_ *pool) {
    int64_t due = pool->look_at;
    bool waits =
        pool->waiting || pool->looks || pool->hungry.first || pool->lists[LIST_DOOMED].oldest || lacks_kept_ones(pool);
    if (waits && pool->jobs.oldest && pool->jobs.oldest->begun + LATE_NS < due)
        due = pool->jobs.oldest->begun + LATE_NS;
    return pool->resting.first && pool->rest_ends < due ? pool->rest_ends : due;
}

static KOLK_NOINLINE_ void heed_changes(kolk_resource_inside_ *pool) {
    if (!pool->has_makers && pool->hungry.first) let_waiters_create(pool);
    int64_t due = kolk_resource_next_due_(pool);
    resource_key *key;
    resource_room room;
    if (kolk_resource_next_job_(pool, &key, &room) != NO_JOB) {
        kolk_resource_call_upkeep_(pool);
    } else if (pool->has_makers && due < kolk_load_(&pool->chore.due, KOLK_RELAXED_)) {
        kolk_store_(&pool->chore.due, due, KOLK_RELAXED_);
        kolk_makers_call_();
    }
    pool->changed = false;
}

static KOLK_NOINLINE_ void tell_event_loops(kolk_resource_inside_ *pool) {
    if (pool->fd_called || !(pool->fd_news || pool->closed)) return;
    pool->fd_news = false;
    pool->fd_called = true;
    kolk_event_set_((int)pool->fd - 1);
}

void kolk_resource_lock_(kolk_resource_inside_ *pool) {
    kolk_lock_word_(&pool->lock);
}

void kolk_resource_settle_and_unlock_(kolk_resource_inside_ *pool) {
    if (pool->changed) heed_changes(pool);
    if (pool->fd) tell_event_loops(pool);
    kolk_unlock_word_(&pool->lock);
}

#endif
