/* resource_life.c: the beginning and the end of a resource pool. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/handle.h"
#include "../diag/begin.h"
#include "../os/clock.h"
#include "../os/event.h"
#include "../os/memory.h"
#include "../os/thread.h"

#define MS                INT64_C(1000000)
#define LONGEST_UPKEEP_NS INT64_C(10000000000) /* of one turn of the housekeeper */

/* ---- Init -------------------------------------------------------------------------------------------------------- */

/* Only -1 turns a time off: what is less is a mistake, such as a difference of two times. */
static bool times_are_right(const kolk_resource_pool_desc *desc) {
    return desc->idle_timeout_ms >= -1 && desc->max_lifetime_ms >= -1 && desc->keepalive_ms >= -1 &&
           desc->validate_after_ms >= -1 && desc->leak_after_ms >= -1;
}

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
    if (desc->max > KOLK_RESOURCES_AT_MOST) return KOLK_BAD_MAX;
    if (desc->min_idle > desc->max) return KOLK_BAD_MIN_IDLE;
    if (!times_are_right(desc)) return KOLK_BAD_TIME;
    if (desc->max_creating == 0) desc->max_creating = 2;
    desc->idle_timeout_ms = ns_of(desc->idle_timeout_ms, 600000, INT64_MAX);
    desc->max_lifetime_ms = ns_of(desc->max_lifetime_ms, 1800000, INT64_MAX);
    desc->keepalive_ms = ns_of(desc->keepalive_ms, -1, INT64_MAX);
    desc->validate_after_ms = ns_of(desc->validate_after_ms, 500, 0);
    desc->leak_after_ms = ns_of(desc->leak_after_ms, -1, INT64_MAX);
    return KOLK_OK;
}

/* For the registry, which asks for one pool at a time. A fork's child has copies of pools of memory, which are its own;
 * of its parent's resources it has nothing to tell. */
static void list_resource_stats(const void *pool, kolk_stats *out) {
    kolk_resource_inside *inside = (kolk_resource_inside *)(uintptr_t)pool;
    *out = (kolk_stats){.name = ""};
    if (kolk_forks() != inside->forks) return;
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
    static const kolk_kind kind = {list_resource_stats, NULL, NULL, NULL, 0};
    static const kolk_kind kind_with_sites = {list_resource_stats, list_resource_leaks, NULL, NULL, 0};
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
    inside->keeps_names = settings.flags & KOLK_DEBUG_SITES || desc.leak_after_ms < INT64_MAX;
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
    if (!inside) return pool->inside ? KOLK_FORKED : KOLK_OK;
    kolk_resource_lock(inside);
    inside->closed = true;
    turn_waiters_away(inside);
    kolk_resource_destroy_idle(inside);
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

#endif
