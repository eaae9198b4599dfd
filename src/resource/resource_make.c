/* resource_make.c: calls the user's functions: create, validate, reset, destroy. Every function here begins and ends
 * under the pool's lock, and releases it while a user's function runs. If a thread is cancelled meanwhile
 * (pthread_cancel), it ends only later. Otherwise its entry would stay unfinished for ever. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../os/cancel.h"
#include "../os/clock.h"

#include <stdio.h>

/* What end_function needs to know of a call, and the context for the function. */
typedef struct function_call {
    resource_call call;
    void *context;
    int cancel;
} function_call;

/* Between begin_function and end_function, the user's code runs without the lock. */
static void begin_function(kolk_resource_inside_ *pool, resource_entry *entry, function_call *call) {
    bool is_evicted = !entry->resource && entry->epoch != pool->epoch; /* while it is being created */
    entry->maker = kolk_maker_self_();
    if (entry->maker) kolk_maker_set_interrupted_(entry->maker, pool->closed || is_evicted);
    call->context = pool->desc.context;
    kolk_resource_call_begins_(pool, &call->call);
    kolk_resource_settle_and_unlock_(pool);
    call->cancel = kolk_cancel_off_();
}

static void end_function(kolk_resource_inside_ *pool, resource_entry *entry, const function_call *call) {
    kolk_cancel_restore_(call->cancel);
    kolk_resource_lock_(pool);
    kolk_resource_call_ends_(pool, &call->call);
    entry->maker = NULL;
}

void kolk_resource_interrupt_(kolk_resource_inside_ *pool) {
    for (resource_entry *entry = pool->lists[LIST_BUSY].oldest, *next; entry; entry = next) {
        next = entry->newer;
        if (entry->maker && (pool->closed || entry->state == RESOURCE_MAKING))
            kolk_maker_set_interrupted_(entry->maker, true);
        kolk_entry_give_up_(pool, entry);
    }
    const resource_entry *idle = pool->closed && pool->asked > 0 ? pool->lists[LIST_IDLE].oldest : NULL;
    for (; idle; idle = idle->newer)
        if (idle->maker) kolk_maker_set_interrupted_(idle->maker, true);
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

static void destroy_resource(kolk_resource_inside_ *pool, resource_entry *entry) {
    void (*destroy)(void *context, void *resource) = pool->desc.destroy;
    if (!destroy) return;
    function_call call;
    begin_function(pool, entry, &call);
    destroy(call.context, entry->resource);
    end_function(pool, entry, &call);
}

void kolk_entry_destroy_now_(kolk_resource_inside_ *pool, resource_entry *entry) {
    KOLK_ASSERT_(entry->state == RESOURCE_IN_HAND || entry->state == RESOURCE_ENDING);
    destroy_resource(pool, entry);
    kolk_job_end_(pool, entry);
    kolk_entry_drop_(pool, entry);
}

void kolk_entry_destroy_(kolk_resource_inside_ *pool, resource_entry *entry, resource_end end) {
    KOLK_ASSERT_(entry->state == RESOURCE_IN_HAND && end < RESOURCE_ENDS);
    pool->counts.destroyed[end]++;
    if (!pool->has_makers || !pool->desc.destroy) {
        kolk_entry_destroy_now_(pool, entry);
        return;
    }
    kolk_entry_become_(pool, entry, RESOURCE_DOOMED);
    pool->changed = true;
}

void kolk_resource_destroy_idle_(kolk_resource_inside_ *pool) {
    for (uint32_t slot = 0; slot < pool->slots && count_of_idle(pool); slot++) {
        resource_entry *entry = kolk_entry_at_(pool, slot);
        if (!entry || entry->state != RESOURCE_IDLE) continue;
        resource_end end = kolk_entry_cause_of_end_(pool, entry, 0);
        if (end == NO_END) continue;
        entry->thread = kolk_thread_();
        kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
        kolk_entry_destroy_(pool, entry, end);
    }
}

void kolk_entry_settle_(kolk_resource_inside_ *pool, resource_entry *entry, int64_t now) {
    resource_end end = kolk_entry_cause_of_end_(pool, entry, now);
    if (end == NO_END)
        kolk_entry_offer_(pool, entry, now);
    else
        kolk_entry_destroy_(pool, entry, end);
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

bool kolk_entry_validate_(kolk_resource_inside_ *pool, resource_entry *entry, kolk_deadline deadline) {
    bool (*validate)(void *context, void *resource, kolk_deadline deadline) = pool->desc.validate;
    function_call call;
    begin_function(pool, entry, &call);
    bool good = validate(call.context, entry->resource, deadline);
    end_function(pool, entry, &call);
    if (good) entry->proved = kolk_now_ns_();
    return good;
}

bool kolk_entry_reset_(kolk_resource_inside_ *pool, resource_entry *entry) {
    KOLK_ASSERT_(entry->state == RESOURCE_IN_HAND);
    bool (*reset)(void *context, void *resource) = pool->desc.reset;
    function_call call;
    begin_function(pool, entry, &call);
    bool clean = reset(call.context, entry->resource);
    end_function(pool, entry, &call);
    return clean;
}

/* ---- Creation ---------------------------------------------------------------------------------------------------- */

/* Calls create, or fails instead if KOLK_FAIL demands it. */
static bool call_create(kolk_resource_inside_ *pool, resource_entry *entry, kolk_deadline deadline, kolk_error *error) {
    bool fails = pool->settings.flags & KOLK_DEBUG_FAIL && kolk_watch_->fails(&pool->settings, &pool->create_calls);
    void *resource = NULL;
    entry->resource = NULL;
    *error = (kolk_error){0};
    bool (*create)(void *context, const char *key, kolk_deadline until, void **made, kolk_error *why) =
        pool->desc.create;
    function_call call;
    begin_function(pool, entry, &call);
    bool said = !fails && create(call.context, entry->key->text, deadline, &resource, error);
    end_function(pool, entry, &call);
    bool made = said && resource;
    const char *reason = fails  ? "KOLK_FAIL makes it fail"
                         : said ? "create returned true, but left *resource NULL"
                                : "create gave no reason";
    if (!made && (said || !error->text[0])) snprintf(error->text, sizeof error->text, "%s", reason);
    error->text[sizeof error->text - 1] = 0;
    entry->resource = made ? resource : NULL;
    return made;
}

static void note_created(kolk_resource_inside_ *pool, resource_entry *entry, int64_t begin, int64_t now) {
    int64_t lifetime = pool->desc.max_lifetime_ms;
    resource_key *key = entry->key;
    entry->number = ++pool->counts.created;
    kolk_times_add_(&pool->create, now - begin);
    key->failed_at = key->backoff = 0;
    entry->proved = entry->idle_since = now;
    entry->vouched = true;
    entry->expires =
        lifetime < INT64_MAX - now ? now + lifetime - kolk_resource_random_(pool, lifetime / 10) : INT64_MAX;
    kolk_entry_become_(pool, entry, RESOURCE_IN_HAND);
    kolk_key_end_rest_(pool, key);
}

static void log_failure(kolk_resource_inside_ *pool, resource_entry *entry, const kolk_error *error) {
    kolk_resource_event event = {.kind = KOLK_RESOURCE_CREATE_FAILED,
                                 .pool = pool->desc.name ? pool->desc.name : "",
                                 .key = entry->key->text,
                                 .who = "",
                                 .status = KOLK_NOT_CREATED,
                                 .error = error};
    void (*log)(void *context, const kolk_resource_event *event) = pool->desc.log;
    function_call call;
    begin_function(pool, entry, &call);
    log(call.context, &event);
    end_function(pool, entry, &call);
}

bool kolk_entry_create_(kolk_resource_inside_ *pool, resource_entry *entry, kolk_deadline deadline) {
    KOLK_ASSERT_(entry->state == RESOURCE_MAKING);
    kolk_error error;
    resource_key *key = entry->key;
    pool->counts.destroyed[END_REPLACED] += entry->replaces;
    if (entry->replaces) destroy_resource(pool, entry);
    int64_t begin = kolk_now_ns_();
    bool made = call_create(pool, entry, deadline, &error);
    if (!made && pool->desc.log) log_failure(pool, entry, &error);
    int64_t now = kolk_now_ns_();
    kolk_job_end_(pool, entry);
    if (made) {
        note_created(pool, entry, begin, now);
    } else {
        pool->counts.create_failures++;
        key->error = error;
        key->failed_at = now;
        kolk_entry_drop_(pool, entry);
    }
    return made;
}

#endif
