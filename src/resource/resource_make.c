/* resource_make.c: resources are created, validated and destroyed by the user's functions. All of it begins and ends
 * under the pool's lock, which is given back while one of them runs. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/hash.h"
#include "../os/clock.h"
#include "../os/sleep.h"
#include "../os/thread.h"

#include <stdio.h>

resource_end kolk_entry_end(const kolk_resource_inside *pool, const resource_entry *entry, int64_t now) {
    if (pool->closed) return END_CLOSED;
    if (entry->evicted || entry->epoch != pool->epoch) return END_EVICTED;
    if (kolk_pool_count(&pool->entries) > pool->max) return END_EVICTED;
    return now >= entry->expires ? END_EXPIRED : NO_END;
}

/* An entry that has no resource any more goes. */
static void drop_entry(kolk_resource_inside *pool, resource_entry *entry) {
    resource_key *key = entry->key;
    kolk_pool_free(&pool->entries, entry);
    kolk_resource_has_room(pool);
    kolk_key_leave(pool, key);
    if (!pool->closed) return;
    kolk_store(&pool->emptied, pool->emptied + 1, KOLK_RELAXED); /* close takes the lock before it looks */
    kolk_wake(&pool->emptied, UINT32_MAX);
}

/* Calls destroy, without the lock. */
static void destroy_resource(kolk_resource_inside *pool, resource_entry *entry, resource_end end) {
    KOLK_ASSERT(end < RESOURCE_ENDS);
    pool->counts.destroyed[end]++;
    if (!pool->desc.destroy) return;
    kolk_resource_unlock(pool);
    pool->desc.destroy(pool->desc.context, entry->resource);
    kolk_resource_lock(pool);
}

void kolk_entry_destroy(kolk_resource_inside *pool, resource_entry *entry, resource_end end) {
    KOLK_ASSERT(entry->state == RESOURCE_IN_HAND);
    destroy_resource(pool, entry, end);
    drop_entry(pool, entry);
}

void kolk_resource_destroy_idle(kolk_resource_inside *pool) {
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        resource_entry *entry = kolk_entry_at(pool, slot);
        if (!entry || entry->state != RESOURCE_IDLE) continue;
        resource_end end = kolk_entry_end(pool, entry, 0);
        if (end == NO_END) continue;
        kolk_entry_take_out(pool, entry, kolk_thread());
        kolk_entry_destroy(pool, entry, end);
    }
}

void kolk_entry_settle(kolk_resource_inside *pool, resource_entry *entry, int64_t now) {
    resource_end end = kolk_entry_end(pool, entry, now);
    if (end == NO_END)
        kolk_entry_put_back(pool, entry);
    else
        kolk_entry_destroy(pool, entry, end);
}

bool kolk_entry_validate(kolk_resource_inside *pool, resource_entry *entry, kolk_deadline deadline) {
    KOLK_ASSERT(entry->state == RESOURCE_IN_HAND);
    kolk_resource_unlock(pool);
    bool good = pool->desc.validate(pool->desc.context, entry->resource, deadline);
    kolk_resource_lock(pool);
    if (good)
        entry->proved = kolk_now_ns();
    else
        kolk_entry_destroy(pool, entry, END_INVALID);
    return good;
}

/* Without the lock: what create does, or KOLK_FAIL in its place. */
static bool call_create(kolk_resource_inside *pool, resource_entry *entry, kolk_deadline deadline, bool fails,
                        kolk_error *error) {
    entry->resource = NULL;
    error->code = 0;
    error->text[0] = 0;
    bool said = !fails && pool->desc.create(pool->desc.context, entry->key->text, deadline, &entry->resource, error);
    bool made = said && entry->resource;
    const char *reason = fails  ? "KOLK_FAIL makes it fail"
                         : said ? "create returned true, but left *resource NULL"
                                : "create gave no reason";
    if (!made && (said || !error->text[0])) snprintf(error->text, sizeof error->text, "%s", reason);
    error->text[sizeof error->text - 1] = 0;
    return made;
}

int64_t kolk_resource_random(kolk_resource_inside *pool, int64_t n) {
    return n > 0 ? (int64_t)(kolk_mixed(pool->random++) % (uint64_t)n) : 0;
}

static void note_created(kolk_resource_inside *pool, resource_entry *entry, int64_t begin, int64_t now) {
    int64_t lifetime = pool->desc.max_lifetime_ms;
    entry->number = ++pool->counts.created;
    kolk_times_add(&pool->create, now - begin);
    pool->last_failure = 0;
    kolk_resource_has_room(pool); /* for another create */
    pool->backoff = pool->retry_at = 0;
    entry->proved = entry->idle_since = now;
    entry->expires =
        lifetime < INT64_MAX - now ? now + lifetime - kolk_resource_random(pool, lifetime / 10) : INT64_MAX;
    entry->state = RESOURCE_IN_HAND;
}

bool kolk_entry_create(kolk_resource_inside *pool, resource_entry *entry, kolk_deadline deadline, kolk_error *error) {
    KOLK_ASSERT(entry->state == RESOURCE_MAKING);
    if (entry->replaces) destroy_resource(pool, entry, END_REPLACED);
    bool fails = kolk_settings_fail(&pool->settings, ++pool->create_calls);
    kolk_resource_unlock(pool);
    int64_t begin = kolk_now_ns();
    bool made = call_create(pool, entry, deadline, fails, error);
    int64_t now = kolk_now_ns();
    kolk_resource_lock(pool);
    KOLK_ASSERT(pool->creating > 0 && entry->key->making > 0);
    pool->creating--;
    entry->key->making--;
    if (made) {
        note_created(pool, entry, begin, now);
    } else {
        pool->counts.create_failures++;
        pool->last_error = *error;
        pool->last_failure = now;
        drop_entry(pool, entry);
    }
    return made;
}

#endif
