/* resource_life.c: makes a resource pool from its descriptor, and ends it. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/handle.h"
#include "../core/begin.h"
#include "../core/watch.h"
#include "../os/clock.h"
#include "../os/event.h"
#include "../os/memory.h"
#include "../os/thread.h"

#define MS INT64_C(1000000)

/* ---- Init -------------------------------------------------------------------------------------------------------- */

/* Only -1 turns a time off. A lower number is a mistake, such as a difference of two times. */
static bool times_are_right(const kolk_resource_pool_desc *desc) {
    return desc->idle_timeout_ms >= -1 && desc->max_lifetime_ms >= -1 && desc->keepalive_ms >= -1 &&
           desc->validate_after_ms >= -1 && desc->leak_after_ms >= -1 && desc->create_timeout_ms >= -1 &&
           desc->slow_borrow_ms >= -1;
}

/* Converts milliseconds to nanoseconds; 0 gives the default, a negative number `off`. */
static int64_t ns_of(int64_t ms, int64_t standard, int64_t off) {
    if (ms == 0) ms = standard;
    if (ms < 0) return off;
    return ms < INT64_MAX / MS ? ms * MS : INT64_MAX;
}

static kolk_status resolve_resource_desc(kolk_resource_pool_desc *desc) {
    if (!desc->create) return KOLK_CREATE_MISSING;
    if (desc->reuse != KOLK_REUSE_LIFO && desc->reuse != KOLK_REUSE_FIFO) return KOLK_BAD_REUSE;
    if (desc->max == 0) desc->max = 10;
    if (desc->max > KOLK_RESOURCE_MOST) return KOLK_BAD_MAX;
    if (desc->min_idle > desc->max) return KOLK_BAD_MIN_IDLE;
    if (!times_are_right(desc)) return KOLK_BAD_TIME;
    if (desc->max_creating == 0) desc->max_creating = 2;
    desc->idle_timeout_ms = ns_of(desc->idle_timeout_ms, 600000, INT64_MAX);
    desc->max_lifetime_ms = ns_of(desc->max_lifetime_ms, 1800000, INT64_MAX);
    desc->keepalive_ms = ns_of(desc->keepalive_ms, -1, INT64_MAX);
    desc->validate_after_ms = ns_of(desc->validate_after_ms, 500, 0);
    desc->leak_after_ms = ns_of(desc->leak_after_ms, -1, INT64_MAX);
    desc->create_timeout_ms = ns_of(desc->create_timeout_ms, 10000, INT64_MAX);
    desc->slow_borrow_ms = ns_of(desc->slow_borrow_ms, 1000, INT64_MAX);
    return KOLK_OK;
}

/* For the registry, which calls it for one pool at a time. A fork's child reports its own copies of other pools, but
 * not its parent's resources. */
void kolk_resource_fill_(const kolk_resource_inside_ *inside, kolk_stats *out) {
    const kolk_resource_pool_stats *more = &inside->listed;
    *out = (kolk_stats){.name = more->name,
                        .kind = "resource",
                        .count = more->in_use,
                        .peak = more->peak,
                        .capacity = more->max,
                        .max_capacity = more->max,
                        .bytes_reserved = inside->bytes,
                        .bytes_committed = inside->bytes,
                        .failed = more->full + more->timeouts + more->failed,
                        .evictions = more->evicted,
                        .waits = more->waits,
                        .waiting = more->waiting,
                        .debug = inside->settings.flags};
}

static void list_resource_stats(const void *pool, kolk_stats *out) {
    kolk_resource_inside_ *inside = (kolk_resource_inside_ *)(uintptr_t)pool;
    *out = (kolk_stats){.name = ""};
    if (kolk_forks_now_() != inside->forks) return;
    kolk_resource_stats(&(kolk_resource_pool){.inside = inside}, &inside->listed);
    kolk_resource_fill_(inside, out);
}

static void list_resource_leaks(const void *pool) {
    kolk_resource_inside_ *inside = (kolk_resource_inside_ *)(uintptr_t)pool;
    if (kolk_forks_now_() == inside->forks) kolk_resource_name_holders_(inside);
}

static void note_borrowed(const void *pool, void (*note)(void *to, kolk_kept_site_ site, uint32_t depth), void *to) {
    kolk_resource_inside_ *inside = (kolk_resource_inside_ *)(uintptr_t)pool;
    if (kolk_forks_now_() == inside->forks) kolk_resource_note_holders_(inside, note, to);
}

/* Each pool has its own tag, so that it detects a borrow that came from another pool. */
static uint32_t next_tag(void) {
    static uint32_t tags;
    return kolk_fetch_add_(&tags, 1, KOLK_RELAXED_) + 1;
}

static bool make_inner_pools(kolk_resource_inside_ *pool) {
    kolk_pool_desc desc = {.object_size = sizeof(resource_entry),
                           .capacity = pool->max, /* so that there is always memory for `max` entries */
                           .max_capacity = KOLK_RESOURCE_MOST,
                           .generations = KOLK_GENERATIONS_NONE,
                           .debug = kolk_no_settings_};
    return kolk_pool_init(&pool->entries, &desc) == KOLK_OK && kolk_keys_init_(pool);
}

static void free_inside(kolk_resource_inside_ *pool) {
    kolk_pool_deinit(&pool->entries);
    kolk_keys_deinit_(pool);
    kolk_memory_release_(pool, pool->bytes);
}

static kolk_resource_inside_ *make_inside(const kolk_resource_pool_desc *desc) {
    kolk_resource_inside_ *pool = kolk_memory_take_(sizeof *pool, sizeof *pool); /* reads as 0 */
    if (!pool) return NULL;
    pool->chore.work = kolk_resource_work_;
    pool->has_makers = !desc->no_housekeeper;
    pool->bytes = sizeof *pool;
    pool->desc = *desc;
    pool->desc.debug = NULL; /* the string need not outlive init */
    pool->max = desc->max;
    pool->epoch = 1;
    kolk_forks_watch_();
    pool->forks = kolk_forks_now_();
    pool->random = (uint64_t)kolk_now_ns_();
    pool->tag = kolk_tag_bits_(next_tag(), NULL);
    if (!make_inner_pools(pool)) {
        free_inside(pool);
        return NULL;
    }
    kolk_resource_begin_work_(pool);
    return pool;
}

const kolk_kind_ kolk_resource_kind_ = {.stats = list_resource_stats,
                                        .leaks = list_resource_leaks,
                                        .borrowed = note_borrowed,
                                        .extra = &kolk_resource_extra_,
                                        .id = KOLK_KIND_RESOURCE_,
                                        .layout = sizeof(kolk_resource_inside_)};

kolk_status kolk_resource_init_abi_(kolk_resource_pool *pool, const kolk_resource_pool_desc *given, size_t pool_size,
                                    uint32_t abi) {
    kolk_status status = kolk_begin_(pool, pool_size, sizeof *pool, abi, given);
    if (status != KOLK_OK) return status;
    kolk_resource_pool_desc desc = *given;
    desc.name = kolk_name_kept_(given->name);
    status = resolve_resource_desc(&desc);
    if (status != KOLK_OK) return status;
    kolk_settings_ settings = kolk_settings_of_(desc.name, desc.debug, true);
    kolk_resource_inside_ *inside = make_inside(&desc);
    if (!inside) return KOLK_NO_MEMORY;
    inside->settings = settings;
    inside->settings.flags &= KOLK_DEBUG_SITES | KOLK_DEBUG_FAIL;
    inside->keeps_names = settings.flags & KOLK_DEBUG_SITES || desc.leak_after_ms < INT64_MAX;
    pool->inside = inside; /* before makers call the user's functions, which may use the pool */
    kolk_tools_wrote_(pool, sizeof *pool);
    if (!desc.no_housekeeper && !kolk_makers_add_(&inside->chore)) {
        pool->inside = NULL;
        free_inside(inside);
        return KOLK_NO_THREAD;
    }
    kolk_list_(inside, sizeof *inside, &pool->number, &kolk_resource_kind_);
    return KOLK_OK;
}

/* ---- Hot reload -------------------------------------------------------------------------------------------------- */

/* Do both descriptors have the same functions, apart from what these do? */
static bool has_same_functions(const kolk_resource_pool_desc *a, const kolk_resource_pool_desc *b) {
    return !a->destroy == !b->destroy && !a->validate == !b->validate && !a->reset == !b->reset && !a->log == !b->log;
}

static bool has_same_numbers(const kolk_resource_pool_desc *a, const kolk_resource_pool_desc *b) {
    return a->max == b->max && a->min_idle == b->min_idle && a->max_creating == b->max_creating &&
           a->idle_timeout_ms == b->idle_timeout_ms && a->max_lifetime_ms == b->max_lifetime_ms &&
           a->keepalive_ms == b->keepalive_ms && a->validate_after_ms == b->validate_after_ms &&
           a->leak_after_ms == b->leak_after_ms && a->create_timeout_ms == b->create_timeout_ms &&
           a->slow_borrow_ms == b->slow_borrow_ms && a->reuse == b->reuse && a->look == b->look &&
           a->warn_nested == b->warn_nested && a->strict_order == b->strict_order &&
           a->no_housekeeper == b->no_housekeeper;
}

/* Waits until the calls that began in this turn have returned. If the next rebind has begun meanwhile, it has waited
 * for them. Runs under the lock, which is released meanwhile. */
static void await_calls(kolk_resource_inside_ *pool, uint32_t turn) {
    while (pool->turn != turn && pool->calls[turn] > 0) {
        uint32_t returned = pool->returned;
        kolk_resource_settle_and_unlock_(pool);
        kolk_wait_(&pool->returned, returned, KOLK_FOREVER);
        kolk_resource_lock_(pool);
    }
}

static kolk_status rebind_locked(kolk_resource_inside_ *pool, const kolk_resource_pool_desc *desc) {
    if (kolk_resource_is_inside_(pool, kolk_thread_())) return KOLK_IN_HOOK;
    if (!has_same_functions(desc, &pool->desc) || !has_same_numbers(desc, &pool->desc)) return KOLK_LAYOUT_CHANGED;
    while (pool->calls[!pool->turn] > 0) await_calls(pool, !pool->turn); /* for another rebind */
    uint32_t before = pool->turn;
    kolk_raw_store_(&pool->desc.name, desc->name, KOLK_RELAXED_);
    pool->desc.context = desc->context;
    pool->desc.create = desc->create;
    pool->desc.destroy = desc->destroy;
    pool->desc.validate = desc->validate;
    pool->desc.reset = desc->reset;
    pool->desc.log = desc->log;
    pool->turn = !before;
    await_calls(pool, before);
    return KOLK_OK;
}

kolk_status kolk_resource_rebind_abi_(kolk_resource_pool *pool, const kolk_resource_pool_desc *given, size_t pool_size,
                                      uint32_t abi) {
    kolk_status status = kolk_check_call_(pool_size, sizeof *pool, abi, given);
    if (status != KOLK_OK) return status;
    kolk_resource_inside_ *inside = own_inside(pool);
    if (!inside) return pool->inside ? KOLK_FORKED : KOLK_CLOSED;
    kolk_resource_pool_desc desc = *given;
    desc.name = kolk_name_kept_(given->name);
    status = resolve_resource_desc(&desc);
    if (status != KOLK_OK) return status;
    kolk_resource_lock_(inside);
    status = rebind_locked(inside, &desc);
    kolk_resource_settle_and_unlock_(inside);
    if (status == KOLK_OK) kolk_relist_(pool->number, desc.name, NULL);
    return status;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* Makes all waiters fail with KOLK_CLOSED. Runs under the lock. */
static void turn_waiters_away(kolk_resource_inside_ *pool) {
    for (resource_key *key = kolk_key_next_(pool, NULL); key && pool->waiting > 0; key = kolk_key_next_(pool, key))
        while (key->waiters.first)
            kolk_waiter_serve_(pool, key, (resource_waiter *)(void *)key->waiters.first, NULL, KOLK_CLOSED);
}

/* Waits until no entry is left, or until the deadline. True: none is left. Runs under the lock. */
static bool await_emptiness(kolk_resource_inside_ *pool, kolk_deadline deadline) {
    bool in_time = true;
    while (kolk_pool_count(&pool->entries) > 0 && in_time) {
        uint32_t emptied = pool->emptied;
        kolk_resource_settle_and_unlock_(pool);
        in_time = kolk_wait_(&pool->emptied, emptied, deadline);
        kolk_resource_lock_(pool);
    }
    return kolk_pool_count(&pool->entries) == 0;
}

kolk_status kolk_resource_close(kolk_resource_pool *pool, kolk_deadline deadline) {
    kolk_resource_inside_ *inside = own_inside(pool);
    if (!inside) return pool->inside ? KOLK_FORKED : KOLK_OK;
    kolk_resource_lock_(inside);
    bool waits = deadline.ns != KOLK_NOW.ns && deadline.ns > kolk_now_ns_();
    if (waits && kolk_resource_is_inside_(inside, kolk_thread_())) {
        kolk_resource_settle_and_unlock_(inside);
        return KOLK_IN_HOOK;
    }
    inside->closed = true;
    kolk_resource_interrupt_(inside);
    turn_waiters_away(inside);
    kolk_resource_destroy_idle_(inside);
    bool empty = await_emptiness(inside, deadline);
    kolk_resource_settle_and_unlock_(inside);
    if (empty) return KOLK_OK;
    kolk_resource_name_holders_(inside);
    return KOLK_TIMEOUT;
}

/* Destroys doomed entries concurrently with the makers. The calling thread acts as a maker, so that destroy need not
 * wait for peers. */
static void end_doomed_here(kolk_resource_inside_ *pool) {
    kolk_maker_ self = {0};
    bool is_maker = kolk_maker_self_(); /* then deinit is called inside a function of another pool */
    if (!is_maker) kolk_maker_enter_(&self);
    kolk_resource_lock_(pool);
    kolk_resource_end_doomed_(pool);
    kolk_resource_settle_and_unlock_(pool);
    if (!is_maker) kolk_maker_leave_(&self);
}

/* The makers finish the jobs that they have begun. deinit does the remaining jobs itself. */
KOLK_NOINLINE_ void kolk_resource_deinit(kolk_resource_pool *pool) {
    kolk_resource_inside_ *inside = pool->inside;
    if (!inside || !kolk_is_home_(inside, pool->number, NULL, SITE)) return;
    if (own_inside(pool) && kolk_resource_is_barred_(inside, "deinit", SITE)) return;
    kolk_unlist_(pool->number);
    pool->number = 0; /* `destroy` may use the pool */
    kolk_resource_close(pool, KOLK_NOW);
    if (own_inside(pool)) {
        end_doomed_here(inside);
        if (inside->has_makers) kolk_makers_remove_(&inside->chore);
        end_doomed_here(inside); /* the entries that makers still had */
    }
    *pool = (kolk_resource_pool){.inside = NULL};
    if (inside->fd) kolk_event_close_((int)inside->fd - 1);
    free_inside(inside);
}

#endif
