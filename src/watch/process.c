/* process.c: see process.h.
 *
 * After a fork, both processes report at their own exit. The child's report includes its copies of the parent's pools,
 * but not the parent's resource pools. If both write the same file, the later report overwrites the earlier one.
 *
 * A process may contain several copies of kolk: one in the program, and one in each library that was linked with it.
 * Each has its own pools, and reports on them at its own end, which for a library may be its unload. Whether a name in
 * a setting matches a pool is reported only at the exit. */
#include "kolk/base.h"

#include "process.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../os/lock.h"
#include "registry.h"
#include "settings.h"
#include "sizes.h"
#include "stats.h"

#include <stdlib.h>

#define MOST_KEPT 1000u /* records of ended pools; more are summed up */

static struct {
    uint32_t reading;   /* held to read the environment; under the process's lock, a slow file would delay forks */
    bool is_read;       /* the environment has been read */
    uint32_t started;   /* the number of forks before this process, plus 1, once it has started */
    bool unloads;       /* the library that contains this copy of kolk is being unloaded; the process goes on */
    bool keeps;         /* the statistics of pools that have ended are kept until the exit */
    kolk_records_ past; /* the kept statistics */
} this_process = {.past = {.most = MOST_KEPT}};

/* Called when a pool ends, and for each pool when a scene ends. */
static void keep_last(const kolk_record_ *last, const kolk_kind_ *kind, const char *born, kolk_record_of_ of) {
    if (!kolk_sizes_count_(true))
        kolk_records_add_whole_(&this_process.past, last, of);
    else if (kind->enter)
        kolk_sizes_note_(&last->stats, born);
}

/* ---- At exit, and at unload -------------------------------------------------------------------------------------- */

/* When a library is unloaded, its destructors run before the functions that it gave to atexit. When a process exits,
 * they run after them. (Microsoft's compiler has no destructors, so there an unload is taken for the exit.) */
#if !KOLK_MSVC_
__attribute__((destructor)) static void note_unload(void) {
    this_process.unloads = true;
}
#endif

static bool lists_leaks(const kolk_listed_ *at) {
    return (at->kind->leaks || at->kind->debug) && at->debug & KOLK_DEBUG_SITES;
}

static void list_what_is_alive(void) {
    for (kolk_listed_ at = {0}; kolk_registry_next_(&at, lists_leaks);) kolk_registry_report_leaks_(&at);
    kolk_homes_report_lost_(this_process.keeps);
    if (!this_process.unloads) {
        kolk_settings_report_unmet_();
        return;
    }
    kolk_homes_report_unloaded_();
    kolk_registry_end_(); /* the process goes on, and may load the library again and again */
}

static void report_unused_sizes(void) {
    if (!this_process.unloads) kolk_sizes_report_unused_();
}

/* Writes the statistics of what has ended and of what is alive. What has ended stays kept for the next time. */
static bool write_statistics(void) {
    KOLK_ASSERT_(this_process.keeps);
    kolk_records_ past = {.most = MOST_KEPT};
    kolk_lock_();
    kolk_records_add_all_(&past, &this_process.past);
    kolk_registry_keep_all_();
    kolk_records_ all = this_process.past;
    this_process.past = past;
    kolk_unlock_();
    bool written = kolk_stats_write_setting_(&all);
    kolk_records_release_(&all);
    return written;
}

static void write_last_statistics(void) {
    kolk_stats_at_end_();
    if (kolk_stats_at_exit_()) write_statistics();
    kolk_lock_();
    kolk_records_ past = this_process.past;
    this_process.past = (kolk_records_){.most = MOST_KEPT};
    kolk_unlock_();
    kolk_records_release_(&past);
}

/* ---- The start --------------------------------------------------------------------------------------------------- */

/* Runs once. If the process forks in the middle of it, the child starts again. */
static void read_environment(void) {
    const char *file;
    this_process.keeps = kolk_stats_read_setting_();
    if (this_process.keeps) kolk_registry_keep_(keep_last);
    kolk_stats_at_read_();
    bool measures = kolk_stats_want_sizes_(&file);
    kolk_sizes_read_setting_(measures, file);
    this_process.is_read = true;
}

/* The function that is registered last runs first. They are separate functions so that the statistics are still written
 * if a failure handler calls exit at the first leak. */
static void register_exit(void) {
    if (this_process.keeps) atexit(write_last_statistics);
    if (kolk_sizes_count_(false)) atexit(report_unused_sizes);
    atexit(list_what_is_alive);
}

void kolk_process_start_(void) {
    uint32_t here = kolk_forks_now_() + 1;
    if (kolk_raw_load_(&this_process.started, KOLK_ACQUIRE_) == here) return;
    kolk_lock_word_(&this_process.reading);
    bool reads = !this_process.is_read, starts = this_process.started != here;
    if (reads) read_environment();
    kolk_raw_store_(&this_process.started, here, KOLK_RELEASE_); /* partner: the load above */
    kolk_unlock_word_(&this_process.reading);
    if (reads) register_exit();
    if (starts && this_process.keeps) kolk_stats_at_begin_(write_statistics);
    if (!reads) return;
    kolk_stats_report_setting_();
    kolk_stats_at_report_(this_process.keeps);
}

bool kolk_stats_now(void) {
    if (!kolk_watch_) return false;
    kolk_process_start_();
    return this_process.keeps && write_statistics();
}

/* ---- Scenes ------------------------------------------------------------------------------------------------------ */

static bool takes_part_in_scenes(const kolk_listed_ *at) {
    return *at->name && at->kind->enter;
}

static void begin_scene_in(const kolk_listed_ *at) {
    KOLK_ASSERT_(at->kind->enter);
    kolk_stats stats;
    at->kind->stats(at->pool, &stats);
    kolk_status status =
        at->kind->enter((void *)(uintptr_t)at->pool, kolk_sizes_of_(stats.name), kolk_sizes_count_(true));
    if (status != KOLK_OK) kolk_sizes_refuse_(stats.name, stats.capacity, kolk_status_text(status));
}

void kolk_scene(const char *name) {
    if (!kolk_watch_) return;
    kolk_process_start_();
    if (!kolk_sizes_count_(false)) return;
    kolk_lock_();
    if (kolk_sizes_count_(true)) kolk_registry_keep_all_(); /* for the scene that ends */
    kolk_sizes_enter_(name ? name : "");
    kolk_registry_enter_(kolk_sizes_scene_());
    kolk_unlock_();
    for (kolk_listed_ at = {0}; kolk_registry_next_(&at, takes_part_in_scenes);) begin_scene_in(&at);
}

#endif
