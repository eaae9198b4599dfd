/* resource_life.c: the beginning and the end of a resource pool, and what steers it. */
#include "resource_inside.h"

#if __STDC_HOSTED__

#include "../core/handle.h"
#include "../diag/begin.h"
#include "../os/clock.h"
#include "../os/event.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../os/thread.h"

#define MS                INT64_C(1000000)
#define LONGEST_UPKEEP_NS INT64_C(10000000000) /* of one turn of the housekeeper */

/* ---- Init -------------------------------------------------------------------------------------------------------- */

/* Milliseconds become nanoseconds; 0 the default, less than 0 `off`. */
static int64_t ns_of(int64_t ms, int64_t standard, int64_t off) {
    if (ms == 0) ms = standard;
    if (ms < 0) return off;
    return ms < INT64_MAX / MS ? ms * MS : INT64_MAX;
}

static kolk_status resolve_resource_desc(kolk_resource_pool_desc *desc) {
    if (!desc->create) return KOLK_CREATE_MISSING;
    if (desc->reuse != KOLK_REUSE_LIFO && desc->reuse != KOLK_REUSE_FIFO) return KOLK_BAD_REUSE;
    if (desc->max == 0) desc->max = 10;
    if (desc->max > KOLK_RESOURCES_AT_MOST) return KOLK_ABOVE_MAX;
    if (desc->min_idle > desc->max) return KOLK_BAD_MIN_IDLE;
    if (desc->max_creating == 0) desc->max_creating = 2;
    desc->idle_timeout_ms = ns_of(desc->idle_timeout_ms, 600000, INT64_MAX);
    desc->max_lifetime_ms = ns_of(desc->max_lifetime_ms, 1800000, INT64_MAX);
    desc->keepalive_ms = ns_of(desc->keepalive_ms, -1, INT64_MAX);
    desc->validate_after_ms = ns_of(desc->validate_after_ms, 500, 0);
    desc->leak_after_ms = ns_of(desc->leak_after_ms, -1, INT64_MAX);
    return KOLK_OK;
}

/* For the registry, which asks for one pool at a time. */
static void list_resource_stats(const void *pool, kolk_stats *out) {
    kolk_resource_inside *inside = (kolk_resource_inside *)(uintptr_t)pool;
    kolk_resource_stats *more = &inside->listed;
    kolk_resource_pool_stats(&(kolk_resource_pool){inside}, more);
    *out = (kolk_stats){.name = more->name,
                        .kind = "resource",
                        .count = more->in_use,
                        .peak = more->peak,
                        .capacity = more->max,
                        .max_capacity = more->max,
                        .bytes_reserved = inside->bytes,
                        .bytes_committed = inside->bytes,
                        .failed = more->full + more->timeouts + more->failed,
                        .debug = inside->settings.flags,
                        .resource = more};
}

static void list_resource_leaks(const void *pool) {
    kolk_resource_inside *inside = (kolk_resource_inside *)(uintptr_t)pool;
    if (kolk_forks() == inside->forks) kolk_resource_name_holders(inside);
}

/* Of each pool its own, so that a borrow of another one is noticed. */
static uint32_t next_tag(void) {
    static uint32_t tags;
    return kolk_fetch_add(&tags, 1, KOLK_RELAXED) + 1;
}

static bool make_inner_pools(kolk_resource_inside *pool) {
    kolk_pool_desc desc = {.object_size = sizeof(resource_entry),
                           .capacity = pool->max, /* so that none of max is ever missing for lack of memory */
                           .max_capacity = KOLK_RESOURCES_AT_MOST,
                           .generations = KOLK_GENERATIONS_NONE,
                           .debug = kolk_no_settings};
    if (kolk_pool_init(&pool->entries, &desc) != KOLK_OK) return false;
    desc.object_size = sizeof(resource_key);
    desc.capacity = 8;
    return kolk_pool_init(&pool->keys, &desc) == KOLK_OK && (pool->no_key = kolk_key_of(pool, ""));
}

static void free_inside(kolk_resource_inside *pool) {
    kolk_pool_deinit(&pool->entries);
    kolk_pool_deinit(&pool->keys);
    kolk_memory_release(pool, pool->bytes);
}

static void do_upkeep(kolk_chore *chore) {
    kolk_resource_upkeep((kolk_resource_inside *)(void *)chore, (kolk_deadline){kolk_now_ns() + LONGEST_UPKEEP_NS});
}

static kolk_resource_inside *make_inside(const kolk_resource_pool_desc *desc) {
    kolk_resource_inside *pool = kolk_memory_take(sizeof *pool, sizeof *pool); /* reads as 0 */
    if (!pool) return NULL;
    pool->chore.work = do_upkeep;
    pool->bytes = sizeof *pool;
    pool->desc = *desc;
    pool->desc.debug = NULL; /* need not outlive the init */
    pool->max = desc->max;
    pool->forks = kolk_forks();
    pool->random = (uint64_t)kolk_now_ns();
    pool->tag = kolk_tag_bits(next_tag(), NULL);
    if (make_inner_pools(pool)) return pool;
    free_inside(pool);
    return NULL;
}

kolk_status kolk_resource_pool_begin(kolk_resource_pool *pool, const kolk_resource_pool_desc *given, size_t pool_size,
                                     uint32_t abi) {
    static const kolk_kind kind = {list_resource_stats, NULL, NULL};
    static const kolk_kind kind_with_sites = {list_resource_stats, list_resource_leaks, NULL};
    kolk_status status = kolk_begin(pool, pool_size, sizeof *pool, abi, given);
    if (status != KOLK_OK) return status;
    kolk_resource_pool_desc desc = *given;
    status = resolve_resource_desc(&desc);
    if (status != KOLK_OK) return status;
    kolk_settings settings = kolk_settings_of(desc.name, desc.debug);
    kolk_resource_inside *inside = make_inside(&desc);
    if (!inside) return KOLK_NO_MEMORY;
    inside->settings = settings;
    inside->settings.flags &= KOLK_DEBUG_SITES | KOLK_DEBUG_FAIL;
    pool->inside = inside; /* before the housekeeper calls the user's functions, which may use the pool */
    kolk_tools_wrote(pool, sizeof *pool);
    if (!desc.no_housekeeper && !kolk_housekeeper_add(&inside->chore)) {
        pool->inside = NULL;
        free_inside(inside);
        return KOLK_NO_THREAD;
    }
    return kolk_enlist(inside, sizeof *inside, &inside->number,
                       settings.flags & KOLK_DEBUG_SITES ? &kind_with_sites : &kind);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* NULL: it is closed, or the parent's, which this process may not touch. */
static kolk_resource_inside *own_inside(const kolk_resource_pool *pool) {
    return pool->inside && kolk_forks() == pool->inside->forks ? pool->inside : NULL;
}

/* Destroys what is idle and has to go: under the lock. */
static void destroy_idle(kolk_resource_inside *pool) {
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        resource_entry *entry = kolk_entry_at(pool, slot);
        if (!entry || entry->state != RESOURCE_IDLE) continue;
        resource_end end = kolk_entry_end(pool, entry, 0);
        if (end == NO_END) continue;
        kolk_entry_take_out(pool, entry, kolk_thread());
        kolk_entry_destroy(pool, entry, end);
    }
}

/* No waiter is left behind: under the lock. */
static void turn_waiters_away(kolk_resource_inside *pool) {
    while (pool->waiters.first) {
        kolk_waiter *first = pool->waiters.first;
        kolk_waiter_leave(&pool->waiters, first);
        pool->waiting--;
        kolk_waiter_wake(first); /* it has no entry */
    }
}

kolk_status kolk_resource_pool_close(kolk_resource_pool *pool, kolk_deadline deadline) {
    kolk_resource_inside *inside = own_inside(pool);
    if (!inside) return KOLK_OK;
    kolk_resource_lock(inside);
    inside->closed = true;
    turn_waiters_away(inside);
    destroy_idle(inside);
    bool in_time = true;
    while (kolk_pool_count(&inside->entries) > 0 && in_time) {
        uint32_t emptied = inside->emptied;
        kolk_resource_unlock(inside);
        in_time = kolk_wait(&inside->emptied, emptied, deadline);
        kolk_resource_lock(inside);
    }
    uint32_t left = kolk_pool_count(&inside->entries);
    kolk_resource_unlock(inside);
    if (left == 0) return KOLK_OK;
    kolk_resource_name_holders(inside);
    return KOLK_TIMEOUT;
}

void kolk_resource_pool_deinit(kolk_resource_pool *pool) {
    kolk_resource_inside *inside = pool->inside;
    if (!inside) return;
    kolk_registry_remove(inside->number);
    if (own_inside(pool) && !inside->desc.no_housekeeper) kolk_housekeeper_remove(&inside->chore);
    kolk_resource_pool_close(pool, KOLK_NOW);
    pool->inside = NULL;
    if (inside->fd) kolk_event_close((int)inside->fd - 1);
    free_inside(inside);
}

/* ---- Steering ---------------------------------------------------------------------------------------------------- */

void kolk_resource_pool_evict(kolk_resource_pool *pool) {
    kolk_resource_inside *inside = own_inside(pool);
    if (!inside) return;
    kolk_resource_lock(inside);
    inside->epoch++;
    destroy_idle(inside);
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
    destroy_idle(inside);
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
    if (max == 0 || max > KOLK_RESOURCES_AT_MOST) return max ? KOLK_ABOVE_MAX : KOLK_ZERO_CAPACITY;
    if (max < inside->desc.min_idle) return KOLK_BAD_MIN_IDLE;
    kolk_resource_lock(inside);
    kolk_status status = kolk_pool_reserve(&inside->entries, max);
    if (status == KOLK_OK) {
        inside->max = max;
        destroy_idle(inside);
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

/* ---- Statistics, validity ---------------------------------------------------------------------------------------- */

void kolk_resource_pool_stats(const kolk_resource_pool *pool, kolk_resource_stats *out) {
    *out = (kolk_resource_stats){.name = ""};
    kolk_resource_inside *inside = pool->inside;
    if (!inside) return;
    kolk_resource_lock(inside);
    const resource_counts *counts = &inside->counts;
    *out = (kolk_resource_stats){
        .name = inside->desc.name ? inside->desc.name : "",
        .max = inside->max,
        .in_use = inside->lent,
        .idle = inside->idle,
        .creating = inside->creating,
        .waiting = inside->waiting,
        .peak = inside->peak,
        .borrows = counts->borrows,
        .full = counts->full,
        .timeouts = counts->timeouts,
        .failed = counts->failed,
        .created = counts->created,
        .create_failures = counts->create_failures,
        .discarded = counts->destroyed[END_DISCARDED],
        .invalid = counts->destroyed[END_INVALID],
        .unclean = counts->destroyed[END_UNCLEAN],
        .expired = counts->destroyed[END_EXPIRED],
        .unused = counts->destroyed[END_UNUSED],
        .evicted = counts->destroyed[END_EVICTED],
        .replaced = counts->destroyed[END_REPLACED],
        .closed = counts->destroyed[END_CLOSED],
        .leaks = counts->leaks,
    };
    kolk_times_sum_up(&inside->wait, &out->wait);
    kolk_times_sum_up(&inside->use, &out->use);
    kolk_times_sum_up(&inside->create, &out->create);
    kolk_resource_unlock(inside);
    kolk_tools_wrote(out, sizeof *out);
}

/* Is the list of a key as long as it says, in order, and closed at both ends (I2)? */
static bool key_is_valid(const kolk_resource_inside *pool, const resource_key *key, uint32_t *idle) {
    uint32_t count = 0;
    const resource_entry *newer = NULL;
    for (const resource_entry *entry = key->newest; entry; entry = entry->older) {
        if (++count > key->idle || entry->key != key || entry->state != RESOURCE_IDLE) return false;
        if (entry->newer != newer || (newer && newer->idle_since < entry->idle_since)) return false;
        newer = entry;
    }
    *idle += count;
    return count == key->idle && key->oldest == newer && (key->users > 0) && (!key->making || pool->creating);
}

static bool resource_counts_are_valid(const kolk_resource_inside *pool) {
    uint32_t states[RESOURCE_MAKING + 1] = {0}, idle = 0;
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        const resource_entry *entry = kolk_entry_at(pool, slot);
        if (entry && entry->state > RESOURCE_MAKING) return false;
        if (entry) states[entry->state]++;
    }
    for (uint32_t list = 0; list < KEY_LISTS; list++)
        for (const resource_key *key = pool->lists[list]; key; key = key->next)
            if (!key_is_valid(pool, key, &idle)) return false;
    return states[RESOURCE_IDLE] == pool->idle && idle == pool->idle && states[RESOURCE_LENT] == pool->lent &&
           states[RESOURCE_MAKING] == pool->creating && pool->creating <= pool->desc.max_creating;
}

/* Could no waiter be served (I5, I6)? */
static bool waiters_are_right(const kolk_resource_inside *pool) {
    uint32_t waiting = 0;
    bool stopped = pool->paused || pool->closed;
    bool can_make =
        pool->creating < pool->desc.max_creating && (kolk_pool_count(&pool->entries) < pool->max ||
                                                     (kolk_pool_count(&pool->entries) == pool->max && pool->idle > 0));
    for (const kolk_waiter *each = pool->waiters.first; each; each = each->behind) {
        if (!stopped && (can_make || ((const resource_waiter *)(const void *)each)->key->idle > 0)) return false;
        waiting++;
    }
    return waiting == pool->waiting && !(pool->closed && (waiting || pool->idle));
}

bool kolk_resource_pool_is_valid(const kolk_resource_pool *pool) {
    kolk_resource_inside *inside = pool->inside;
    if (!inside) return true;
    kolk_lock_word(&inside->lock);
    bool valid = kolk_pool_is_valid(&inside->entries) && kolk_pool_is_valid(&inside->keys) &&
                 resource_counts_are_valid(inside) && waiters_are_right(inside);
    kolk_unlock_word(&inside->lock);
    return valid;
}

#endif
