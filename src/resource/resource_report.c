/* resource_report.c: sentences about borrows, for the failure handler. Without the lock, since handlers may longjmp. */
#include "resource_inside.h"

#if __STDC_HOSTED__

#include "../core/fail.h"
#include "../core/handle.h"
#include "../diag/debug.h"
#include "../os/thread.h"

#include <stdio.h>

static const char *name_of_resources(const kolk_resource_inside *pool) {
    return pool && pool->desc.name ? pool->desc.name : "";
}

resource_holder kolk_entry_holder(const kolk_resource_inside *pool, const resource_entry *entry, int64_t now) {
    return (resource_holder){.slot = kolk_entry_slot(pool, entry),
                             .thread = entry->thread,
                             .who = entry->who,
                             .site = entry->site,
                             .resource = entry->resource,
                             .held = now - entry->since};
}

/* "by reader 3, in thread worker, in load+0x2c (user.c:17)": of that, what is known. */
static void put_holder(const kolk_resource_inside *pool, const resource_holder *holder, char *text, size_t size) {
    char thread[32] = "", site[200] = "";
    bool lines = pool->settings.flags & KOLK_DEBUG_SITES;
    kolk_thread_name(holder->thread, thread, sizeof thread);
    kolk_site_text(holder->site, lines, site, sizeof site);
    snprintf(text, size, "%s%s%s%s%s%s", holder->who ? " by " : "", holder->who ? holder->who : "",
             *thread ? " in thread " : "", thread, *site ? " in " : "", site);
}

/* `count` are the borrows that are still there. */
static void report_borrow(const kolk_resource_inside *pool, const resource_holder *holder, uint32_t count,
                          const char *format) {
    char by[400];
    put_holder(pool, holder, by, sizeof by);
    kolk_failure failure = {.rule = KOLK_LEAK,
                            .pool = name_of_resources(pool),
                            .object = holder->resource,
                            .slot = holder->slot,
                            .alloc_site = holder->site,
                            .count = count,
                            .no_debug = pool->settings.flags & KOLK_DEBUG_SITES};
    kolk_fail(failure, format, by, (uint64_t)(holder->held / 1000000));
}

void kolk_report_leak(const kolk_resource_inside *pool, const resource_holder *holder) {
    report_borrow(pool, holder, 1, "a resource that was borrowed%s is not given back after %u ms");
}

void kolk_report_return(const kolk_resource_inside *pool, const resource_holder *holder) {
    report_borrow(pool, holder, 0, "the resource that was borrowed%s is given back now, after %u ms");
}

void kolk_report_handle(const kolk_resource_inside *pool, kolk_handle handle, const void *site) {
    bool is_known = pool && !kolk_handle_is_foreign(handle, pool->tag, KOLK_RESOURCES_AT_MOST);
    kolk_failure failure = {.rule = is_known ? KOLK_DOUBLE_FREE : KOLK_WRONG_POOL,
                            .pool = name_of_resources(pool),
                            .slot = is_known ? kolk_handle_index(handle, pool->tag) : UINT32_MAX,
                            .site = site,
                            .handle = handle,
                            .sites = pool && pool->settings.flags & KOLK_DEBUG_SITES};
    if (is_known)
        kolk_fail(failure, "resource %u is given back a second time", (uint64_t)failure.slot);
    else if (pool)
        kolk_fail(failure, "what another pool has lent is given back to this one");
    else
        kolk_fail(failure, "a resource is given back to a pool that is deinit'd");
}

#endif
