/* resource_steer.c: what is asked of a resource pool as a whole: evict, pause, resize, tick, event loops. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../os/event.h"
#include "../os/thread.h"

void kolk_resource_pool_evict(kolk_resource_pool *pool) {
    kolk_resource_inside *inside = own_inside(pool);
    if (!inside) return;
    kolk_resource_lock(inside);
    inside->epoch++;
    kolk_resource_destroy_idle(inside);
    kolk_resource_unlock(inside);
}

uint32_t kolk_resource_pool_evict_if(kolk_resource_pool *pool,
                                     bool (*wants)(const char *key, const void *resource, bool in_use, void *context),
                                     void *context) {
    kolk_resource_inside *inside = own_inside(pool);
    uint32_t count = 0;
    if (!inside) return 0;
    kolk_resource_lock(inside);
    for (uint32_t slot = 0; slot < inside->slots; slot++) {
        resource_entry *entry = kolk_entry_at(inside, slot);
        if (!entry || entry->state == RESOURCE_MAKING) continue;
        bool idle = entry->state == RESOURCE_IDLE;
        if (idle) kolk_entry_take_out(inside, entry, kolk_thread());
        const void *resource = entry->resource;
        resource_key *key = entry->key;
        uint64_t number = entry->number;
        key->users++;
        kolk_resource_unlock(inside);
        bool wanted = wants(key->text, resource, !idle, context);
        kolk_resource_lock(inside);
        entry = kolk_entry_at(inside, slot);
        bool same = entry && entry->state != RESOURCE_MAKING && entry->number == number;
        if (same && wanted) entry->evicted = true;
        count += same && wanted;
        if (idle) kolk_entry_settle(inside, entry, 0);
        kolk_key_leave(inside, key);
    }
    kolk_resource_destroy_idle(inside);
    kolk_resource_unlock(inside);
    return count;
}

/* Event loops hear of what came back during a pause: under the lock. */
static void tell_of_idle(kolk_resource_inside *pool) {
    for (uint32_t list = 0; list < KEY_LISTS && pool->wanted; list++)
        for (resource_key *key = pool->lists[list]; key; key = key->next)
            if (key->idle) kolk_key_tell(pool, key);
}

static void set_paused(kolk_resource_pool *pool, bool paused) {
    kolk_resource_inside *inside = own_inside(pool);
    if (!inside) return;
    kolk_resource_lock(inside);
    inside->paused = paused;
    if (!paused) tell_of_idle(inside);
    kolk_resource_has_room(inside);
    kolk_resource_unlock(inside);
}

void kolk_resource_pool_pause(kolk_resource_pool *pool) {
    set_paused(pool, true);
}

void kolk_resource_pool_resume(kolk_resource_pool *pool) {
    set_paused(pool, false);
}

kolk_status kolk_resource_pool_resize(kolk_resource_pool *pool, uint32_t max) {
    kolk_resource_inside *inside = own_inside(pool);
    if (!inside) return pool->inside ? KOLK_FORKED : KOLK_CLOSED;
    if (max == 0 || max > KOLK_RESOURCES_AT_MOST) return KOLK_BAD_MAX;
    if (max < inside->desc.min_idle) return KOLK_BAD_MIN_IDLE;
    kolk_resource_lock(inside);
    kolk_status status = kolk_pool_reserve(&inside->entries, max);
    if (status == KOLK_OK) {
        inside->max = max;
        kolk_resource_destroy_idle(inside);
        kolk_resource_has_room(inside);
    }
    kolk_resource_unlock(inside);
    return status;
}

void kolk_resource_tick(kolk_resource_pool *pool, kolk_deadline deadline) {
    kolk_resource_inside *inside = own_inside(pool);
    if (inside) kolk_resource_upkeep(inside, deadline);
}

int kolk_resource_fd(kolk_resource_pool *pool) {
    kolk_resource_inside *inside = own_inside(pool);
    if (!inside) return -1;
    kolk_resource_lock(inside);
    if (!inside->fd) inside->fd = (uint32_t)(kolk_event_open() + 1);
    int fd = (int)inside->fd - 1;
    kolk_resource_unlock(inside);
    return fd;
}

#endif
