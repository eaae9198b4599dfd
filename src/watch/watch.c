/* watch.c: the table of events, through which alone the members reach this folder (core/watch.h). A program that does
 * not link it has no diagnostics. The files:
 *
 *     watch.c                                              the table of events
 *     process.c  settings.c                                the process's start and exit; settings of the debug mode
 *     registry.c  homes.c  names.c                         all pools; pools that are moved or lost; copies of names
 *     debug.c  debug_fill.c  debug_bypass.c                the debug mode of one pool
 *     stacks.c  places.c                                   stacks of allocs; how many live objects come from each
 *     stats.c  stats_at.c  stats_setting.c  records.c      statistics, and those of ended pools
 *     sizes.c  sizes_file.c                                capacities that tune themselves
 *     sites.c  sites_call.c  sites_name.c  sites_source.c  addresses of code in words
 *     remote.c  remote_pools.c  remote_kinds.c             the pools of another process: remote.h
 *     remote_store.c  remote_heap.c
 *     none.c                                               the public functions where there is no operating system */
#include "../core/watch.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "../os/stack.h"
#include "debug.h"
#include "registry.h"
#include "process.h"
#include "settings.h"
#include "sizes.h"

#include <string.h>

static void begin_pool(void *pool, size_t size) {
    kolk_noted_ noted;
    bool again = kolk_registry_evict_(pool, &noted);
    memset(pool, 0, size);
    kolk_process_start_();
    if (again) kolk_homes_report_evicted_(&noted);
}

static const kolk_events_ events = {
    .begins = begin_pool,
    .named = kolk_names_keep_,
    .settings = kolk_settings_read_,
    .wanted = kolk_sizes_of_,
    .refused = kolk_sizes_refuse_,
    .sizes = kolk_sizes_count_,
    .listed = kolk_registry_add_,
    .ended = kolk_registry_remove_,
    .renamed = kolk_registry_rename_,
    .is_home = kolk_homes_check_,
    .name_of = kolk_registry_name_of_,
    .words = kolk_stack_text,
    .walk = kolk_stack_walk_,
    .keep = kolk_stack_keep_,
    .kept = kolk_stack_kept_,
    .settled = kolk_debug_settle_,
    .laid_out = kolk_debug_lay_out_,
    .committed = kolk_debug_commit_,
    .unmade = kolk_debug_unmake_,
    .fails = kolk_settings_fail_,
    .prepare = kolk_debug_prepare_,
    .born = kolk_debug_begin_life_,
    .dies = kolk_debug_end_life_,
    .wiped = kolk_debug_wipe_,
    .filled = kolk_debug_fill_,
    .is_intact = kolk_debug_is_intact_,
    .verify = kolk_debug_verify_,
    .lost = kolk_debug_lose_,
    .find = kolk_debug_find_,
    .sites = kolk_debug_sites_,
    .holders = kolk_debug_holders_,
    .leaks = kolk_debug_leaks_,
};

#if KOLK_WATCHED_
const kolk_events_ *const kolk_watch_ = &events;
#endif

#endif
