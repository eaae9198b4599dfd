/* resource_report.c: reports about borrows, for the failure handler. They are made without the lock, because handlers
 * may longjmp. */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "../core/handle.h"
#include "../os/thread.h"

#include <stdio.h>
#include <string.h>

static const char *name_of_resources(const kolk_resource_inside_ *pool) {
    const char *name = pool ? kolk_raw_load_(&pool->desc.name, KOLK_RELAXED_) : NULL; /* no lock is held */
    return name ? name : "";
}

resource_holder kolk_entry_holder_(const resource_entry *entry, int64_t now) {
    resource_holder holder = {.known = true,
                              .has_it = entry->state == RESOURCE_LENT,
                              .slot = entry->slot,
                              .thread = entry->thread,
                              .who = entry->who,
                              .site = entry->site,
                              .resource = entry->resource,
                              .held = now - entry->since};
    memcpy(holder.thread_name, entry->thread_name, sizeof holder.thread_name);
    return holder;
}

/* Writes " in thread worker (4711)" or " in thread worker (4711, ended)"; without a name " in thread 4711 (ended)". The
 * system forgets the name of a thread that ends. Then the name that the pool kept is used. */
static void put_thread(const resource_holder *holder, char *text, size_t size) {
    char name[32];
    uint32_t number = kolk_thread_system_number_(holder->thread);
    bool ended = kolk_thread_has_ended_(holder->thread);
    kolk_thread_name_(holder->thread, name, sizeof name);
    if (!*name) snprintf(name, sizeof name, "%s", holder->thread_name);
    *text = 0;
    if (number && *name)
        snprintf(text, size, " in thread %s (%u%s)", name, number, ended ? ", ended" : "");
    else if (number)
        snprintf(text, size, " in thread %u%s", number, ended ? " (ended)" : "");
}

/* Writes "by reader 3 in thread worker (4711) in load+0x2c (user.c:17)", without the parts that are not known. */
static void put_holder(const kolk_resource_inside_ *pool, const resource_holder *holder, char *text, size_t size) {
    char thread[80], site[KOLK_SITE_WORDS_] = "";
    bool lines = pool->settings.flags & KOLK_DEBUG_SITES;
    put_thread(holder, thread, sizeof thread);
    kolk_site_words_(holder->site, pool->settings.depth, lines, site, sizeof site);
    snprintf(text, size, "%s%s%s%s%s", holder->who ? " by " : "", holder->who ? holder->who : "", thread,
             *site ? " in " : "", site);
}

/* `count` is the number of borrows that have not ended. `next` stands at the end of the format. */
static void report_borrow(const kolk_resource_inside_ *pool, const resource_holder *holder, kolk_status rule,
                          uint32_t count, const char *format, const char *next) {
    char by[200 + KOLK_SITE_WORDS_];
    put_holder(pool, holder, by, sizeof by);
    kolk_failure failure = {.rule = rule,
                            .pool = name_of_resources(pool),
                            .object = holder->resource,
                            .slot = holder->slot,
                            .alloc_site = kolk_site_address_(holder->site),
                            .alloc_stack = kolk_site_stack_(holder->site),
                            .count = count,
                            .no_debug = pool->settings.flags & KOLK_DEBUG_SITES};
    kolk_fail_(failure, format, by, (uint64_t)(holder->held / 1000000), next);
}

void kolk_report_leak_(const kolk_resource_inside_ *pool, const resource_holder *holder) {
    report_borrow(pool, holder, KOLK_LEAK, 1, "a resource that was borrowed%s is not given back after %u ms", "");
}

void kolk_report_return_(const kolk_resource_inside_ *pool, const resource_holder *holder, bool detached) {
    const char *format = detached ? "the resource that was borrowed%s is taken out of the pool now, after %u ms"
                                  : "the resource that was borrowed%s is given back now, after %u ms";
    report_borrow(pool, holder, KOLK_LEAK, 0, format, "");
}

void kolk_report_nested_(const kolk_resource_inside_ *pool, const resource_holder *holder,
                         const resource_holder *next) {
    char by[200 + KOLK_SITE_WORDS_];
    put_holder(pool, next, by, sizeof by);
    report_borrow(pool, holder, KOLK_NESTED, 0,
                  "a resource was borrowed%s, and %u ms later the same thread has to wait for another one, borrowed%s: "
                  "threads that do so can wait for each other",
                  by);
}

/* If the resource has been idle since it was given back, `thread` is the thread that gave it back. */
resource_holder kolk_holder_of_handle_(const kolk_resource_inside_ *pool, kolk_handle handle) {
    const resource_entry *entry = kolk_entry_at_(pool, kolk_handle_index_(handle, pool->tag));
    if (!entry) return (resource_holder){.known = false};
    resource_holder holder = kolk_entry_holder_(entry, entry->since);
    if (holder.has_it) return holder;
    holder.known = entry->borrows == kolk_handle_generation_(handle);
    holder.thread_name[0] = 0; /* it is the borrower's name */
    if (entry->state != RESOURCE_IDLE || entry->proved != entry->idle_since) holder.thread = 0;
    return holder;
}

/* Writes ", now that it is borrowed by reader 3 in thread worker (4711) in load+0x2c (user.c:17),", or ", after it was
 * borrowed by reader 3 in load+0x2c (user.c:17) and given back in thread worker (4711),". */
static void put_fate(const kolk_resource_inside_ *pool, const resource_holder *holder, char *text, size_t size) {
    char by[200 + KOLK_SITE_WORDS_], thread[80];
    resource_holder borrower = *holder;
    if (!holder->has_it) borrower.thread = 0;
    put_holder(pool, &borrower, by, sizeof by);
    put_thread(holder, thread, sizeof thread);
    if (holder->has_it)
        snprintf(text, size, ", now that it is borrowed%s,", by);
    else
        snprintf(text, size, ", after it was borrowed%s and given back%s,", by, thread);
}

void kolk_report_handle_(const kolk_resource_inside_ *pool, kolk_handle handle, const void *site,
                         const resource_holder *holder) {
    char fate[320 + KOLK_SITE_WORDS_] = "";
    bool is_known = pool && !kolk_handle_is_foreign_(handle, pool->tag, KOLK_RESOURCE_MOST);
    kolk_failure failure = {.rule = is_known ? KOLK_DOUBLE_FREE : KOLK_WRONG_POOL,
                            .pool = name_of_resources(pool),
                            .slot = is_known ? kolk_handle_index_(handle, pool->tag) : UINT32_MAX,
                            .site = site,
                            .handle = handle,
                            .depth = pool ? pool->settings.depth : 0,
                            .sites = pool && pool->settings.flags & KOLK_DEBUG_SITES};
    if (is_known && failure.sites && holder->known) put_fate(pool, holder, fate, sizeof fate);
    if (is_known)
        kolk_fail_(failure, "resource %u is given back a second time%s", (uint64_t)failure.slot, fate);
    else if (pool)
        kolk_fail_(failure, "what another pool has lent is given back to this one");
    else
        kolk_fail_(failure, "a resource is given back to a pool that is deinit'd");
}

bool kolk_resource_is_barred_(kolk_resource_inside_ *pool, const char *verb, const void *site) {
    kolk_resource_lock_(pool);
    bool barred = kolk_resource_is_inside_(pool, kolk_thread_());
    kolk_resource_settle_and_unlock_(pool);
    if (!barred) return false;
    kolk_failure failure = {.rule = KOLK_IN_HOOK, .pool = name_of_resources(pool), .slot = UINT32_MAX, .site = site};
    failure.no_debug = true;
    kolk_fail_(failure, "%s in one of the pool's own functions", verb);
    return true;
}

#endif
