/* resource_steer.c: operations on a resource pool as a whole: evict, pause, resize, tick, event loops. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/watch.h"
#include "../os/clock.h"
#include "../os/event.h"
#include "../os/thread.h"

/* No resource has generation 0. Runs under the lock. */
static void evict_all(kolk_resource_inside_ *pool) {
    if (++pool->epoch == 0) pool->epoch = 1;
    while (pool->resting.first) kolk_key_forgive_(pool, pool->resting.first); /* a create that failed may succeed now */
    kolk_resource_interrupt_(pool);
    kolk_resource_destroy_idle_(pool);
}

void kolk_resource_evict(kolk_resource_pool *pool) {
    kolk_resource_inside_ *inside = own_inside(pool);
    if (!inside) return;
    kolk_resource_lock_(inside);
    evict_all(inside);
    kolk_resource_settle_and_unlock_(inside);
}

bool kolk_resource_evict_generation(kolk_resource_pool *pool, uint32_t generation) {
    kolk_resource_inside_ *inside = own_inside(pool);
    if (!inside) return false;
    kolk_resource_lock_(inside);
    bool is_first = generation == inside->epoch;
    if (is_first) evict_all(inside);
    kolk_resource_settle_and_unlock_(inside);
    return is_first;
}

typedef bool resource_wants(const char *key, const void *resource, bool in_use, void *context);

/* Calls `wants` for an entry, and marks the entry as evicted if `wants` returns true. Runs under the lock, which is
 * released during the call. */
static bool asks_to_evict(kolk_resource_inside_ *pool, resource_entry *entry, resource_wants *wants, void *context) {
    bool idle = entry->state == RESOURCE_IDLE;
    uint32_t slot = entry->slot;
    uint64_t number = entry->number;
    const void *resource = entry->resource;
    resource_key *key = entry->key;
    if (idle) entry->thread = kolk_thread_();
    if (idle) kolk_entry_become_(pool, entry, RESOURCE_ASKED); /* it is not lent meanwhile, and keeps its place */
    if (idle) kolk_job_begin_(pool, entry, kolk_now_ns_());
    key->users++;
    resource_call call;
    kolk_resource_call_begins_(pool, &call);
    kolk_resource_settle_and_unlock_(pool);
    bool wanted = wants(key->text, resource, !idle, context);
    kolk_resource_lock_(pool);
    kolk_resource_call_ends_(pool, &call);
    entry = kolk_entry_at_(pool, slot);
    bool same = entry && entry->state != RESOURCE_MAKING && entry->number == number;
    if (same && wanted) entry->evicted = true;
    if (idle) kolk_job_end_(pool, entry);
    if (idle) kolk_entry_become_(pool, entry, RESOURCE_IDLE);
    if (idle) kolk_resource_serve_key_(pool, key, kolk_now_ns_());
    kolk_key_leave_(pool, key);
    return same && wanted;
}

uint32_t kolk_resource_evict_if(kolk_resource_pool *pool, resource_wants *wants, void *context) {
    kolk_resource_inside_ *inside = own_inside(pool);
    uint32_t count = 0;
    if (!inside) return 0;
    kolk_resource_lock_(inside);
    for (uint32_t slot = 0; slot < inside->slots; slot++) {
        resource_entry *entry = kolk_entry_at_(inside, slot);
        bool has_resource =
            entry && entry->resource && entry->state != RESOURCE_MAKING && entry->state < RESOURCE_DOOMED;
        if (has_resource) count += asks_to_evict(inside, entry, wants, context);
    }
    kolk_resource_destroy_idle_(inside);
    kolk_resource_settle_and_unlock_(inside);
    return count;
}

static void set_paused(kolk_resource_pool *pool, bool paused) {
    kolk_resource_inside_ *inside = own_inside(pool);
    if (!inside) return;
    kolk_resource_lock_(inside);
    inside->paused = paused;
    if (!paused) kolk_resource_serve_all_(inside, kolk_now_ns_());
    inside->changed = true;
    kolk_resource_settle_and_unlock_(inside);
}

void kolk_resource_pause(kolk_resource_pool *pool) {
    set_paused(pool, true);
}

void kolk_resource_resume(kolk_resource_pool *pool) {
    set_paused(pool, false);
}

kolk_status kolk_resource_resize(kolk_resource_pool *pool, uint32_t max) {
    kolk_resource_inside_ *inside = own_inside(pool);
    if (!inside) return pool->inside ? KOLK_FORKED : KOLK_CLOSED;
    if (max == 0 || max > KOLK_RESOURCE_MOST) return KOLK_BAD_MAX;
    if (max < inside->desc.min_idle) return KOLK_BAD_MIN_IDLE;
    kolk_resource_lock_(inside);
    kolk_status status = kolk_pool_reserve(&inside->entries, max);
    if (status == KOLK_OK) {
        inside->max = max;
        inside->shrunk = kolk_pool_count(&inside->entries) > max;
        kolk_resource_destroy_idle_(inside);
        inside->changed = true;
    }
    kolk_resource_settle_and_unlock_(inside);
    return status;
}

KOLK_NOINLINE_ void kolk_resource_tick(kolk_resource_pool *pool, kolk_deadline deadline) {
    kolk_resource_inside_ *inside = own_inside(pool);
    if (inside && !kolk_resource_is_barred_(inside, "tick", SITE)) kolk_resource_upkeep_(inside, deadline);
}

int kolk_resource_fd(kolk_resource_pool *pool) {
    kolk_resource_inside_ *inside = own_inside(pool);
    if (!inside) return -1;
    kolk_resource_lock_(inside);
    if (!inside->fd) inside->fd = (uint32_t)(kolk_event_open_() + 1);
    int fd = (int)inside->fd - 1;
    kolk_resource_settle_and_unlock_(inside);
    return fd;
}

#endif
