/* sizes.c: a program measures capacities in one run, people edit them, and the next run starts with them.
 *
 * The file (sizes_file.c) is read at the start. Invalid lines are not reported immediately, because that must be done
 * without a lock. If the handler leaves by longjmp, the other lines are reported later. At exit, the needs are written
 * into the file in its state at that time, because people may have edited it meanwhile.
 *
 * Measuring costs pools very little: a peak is updated only when the count exceeds it (pool.c, floor), and the start of
 * a scene resets it to the number of live objects. A pool's need is recorded when the pool ends, when a scene ends, and
 * at exit:
 *
 *     for all       the greatest peak of all pools with the same name
 *     [scene]       the greatest peak during that scene. A pool that cannot grow needs its room at init, so a pool that
 *                   was initialised during the scene counts at the greatest peak of its whole life. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/fail.h"
#include "sizes.h"
#include "sizes_file.h"
#include "../os/environment.h"
#include "../os/lock.h"

static struct {
    const char *name; /* the name of the file; NULL if KOLK_SIZES is not set */
    bool unreadable, measures;
    uint32_t wrong; /* 1: there is something to report */
    kolk_sizes_file_ file;
    const char *scene;    /* NULL if none has begun */
    kolk_records_ scenes; /* by name, in the order in which they were first entered */
    kolk_records_ needs;  /* by name; the member `kind` is the scene, or "" */
} sizes;

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static const kolk_failure bad_setting = {.rule = KOLK_BAD_SETTING, .pool = "KOLK_SIZES", .slot = UINT32_MAX};

/* Reports each mistake in the file once. */
static void report_wrong(void) {
    if (!kolk_raw_exchange_(&sizes.wrong, 0, KOLK_ACQ_REL_)) return;
    if (sizes.unreadable) {
        kolk_fail_(bad_setting, "\"%s\" cannot be read", sizes.name);
        return;
    }
    for (size_t i = 0; i < sizes.file.count; i++) {
        kolk_line_ *at = &sizes.file.lines[i];
        if (!kolk_line_is_wrong_(at) || at->told) continue;
        at->told = true;
        kolk_raw_store_(&sizes.wrong, 1, KOLK_RELEASE_); /* set first, because the handler may longjmp */
        kolk_line_report_(at, "KOLK_SIZES", sizes.name);
        kolk_raw_store_(&sizes.wrong, 0, KOLK_RELEASE_);
    }
}

void kolk_sizes_read_setting_(bool measures, const char *measured) {
    const char *name = kolk_environment_("KOLK_SIZES");
    sizes.measures = measures;
    if (!name || !*name) return;
    sizes.name = kolk_records_copy_(&sizes.needs, name); /* the environment may change before the exit */
    if (!sizes.name) return;
    kolk_sizes_file_ file = {0}; /* complete it before storing it: a child that is forked in between starts again */
    kolk_found_ found = kolk_sizes_file_read_(&file, name);
    sizes.file = file;
    bool first_run = found == KOLK_MISSING_ && measured && strcmp(measured, name) == 0; /* it will be written at exit */
    sizes.unreadable = found != KOLK_FOUND_ && !first_run;
    sizes.wrong = sizes.unreadable || sizes.file.wrong;
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

const char *kolk_sizes_scene_(void) {
    return sizes.scene ? sizes.scene : "";
}

bool kolk_sizes_count_(bool measured) {
    bool measures = kolk_raw_load_(&sizes.measures, KOLK_RELAXED_);
    return measures || (!measured && sizes.name);
}

void kolk_sizes_enter_(const char *scene) {
    kolk_records_add_(&sizes.scenes, &(kolk_stats){.name = scene, .kind = ""}, KOLK_RECORD_ENDED_);
    const kolk_record_ *at = sizes.scenes.first;
    while (at && strcmp(at->stats.name, scene) != 0) at = at->next;
    sizes.scene = at ? at->stats.name : NULL;
    for (size_t i = 0; i < sizes.file.count; i++)
        if (sizes.file.lines[i].is == LINE_SECTION && is_text(sizes.file.lines[i].section, scene))
            sizes.file.lines[i].used = true;
}

/* Returns the line that now applies to a pool of this name. */
static kolk_line_ *find_size(const char *name) {
    kolk_line_ *found = NULL;
    const char *scene = kolk_sizes_scene_();
    for (size_t i = 0; i < sizes.file.count; i++) {
        kolk_line_ *at = &sizes.file.lines[i];
        if (at->is != LINE_SIZE || !is_text(at->name, name)) continue;
        at->used = true;
        bool now = *scene && is_text(at->section, scene);
        if (now || (!found && !at->section.length)) found = at;
    }
    return found;
}

uint32_t kolk_sizes_of_(const char *name) {
    if (!name || !*name) return 0;
    report_wrong();
    kolk_lock_();
    const kolk_line_ *found = find_size(name);
    uint32_t capacity = found ? found->capacity : 0;
    kolk_unlock_();
    return capacity;
}

void kolk_sizes_refuse_(const char *name, uint32_t capacity, const char *why) {
    kolk_lock_();
    kolk_line_ *found = find_size(name);
    bool first = found && !found->told;
    if (found) found->told = true;
    kolk_unlock_();
    if (first)
        kolk_fail_(bad_setting, "%s:%u: %s keeps %u slots and cannot have %u: %s", sizes.name, (uint64_t)found->number,
                   name, (uint64_t)capacity, (uint64_t)found->capacity, why);
}

/* For a section that was never entered, reports the section alone, because its lines were not used either. */
void kolk_sizes_report_unused_(void) {
    bool entered = true;
    for (size_t i = 0; i < sizes.file.count; i++) {
        const kolk_line_ *at = &sizes.file.lines[i];
        if (at->is == LINE_SECTION) entered = at->used;
        bool asks = at->is == LINE_SECTION || (at->is == LINE_SIZE && entered);
        if (asks && !at->used) kolk_line_report_(at, "KOLK_SIZES", sizes.name);
    }
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static void note_need(const kolk_stats *stats, const char *scene) {
    KOLK_ASSERT_(scene);
    KOLK_ASSERT_(*stats->name);
    bool short_of = stats->peak >= stats->capacity && stats->failed + stats->evictions > 0;
    kolk_stats need = {.name = stats->name, .kind = scene, .peak = stats->peak, .failed = short_of};
    kolk_records_add_(&sizes.needs, &need, KOLK_RECORD_ENDED_);
}

void kolk_sizes_note_(const kolk_stats *stats, const char *born) {
    const char *scene = kolk_sizes_scene_();
    if (!stats->peak) return;
    note_need(stats, "");
    if (*scene) note_need(stats, scene);
    if (*born && born != scene && stats->capacity == stats->max_capacity) note_need(stats, born);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* Writes the recorded needs into this file. On failure returns false and leaves the file unchanged. */
static bool update_file(kolk_sizes_file_ *file, const char *name) {
    kolk_failure bad = bad_setting;
    bad.pool = "KOLK_STATS";
    bool special = kolk_file_is_special_(name);
    if (!special && kolk_sizes_file_read_(file, name) == KOLK_UNREADABLE_) {
        kolk_fail_(bad, "\"%s\" cannot be read and stays as it is; this was measured:", name);
        return false;
    }
    if (file->wrong) {
        for (size_t i = 0; i < file->count; i++)
            if (kolk_line_is_wrong_(&file->lines[i])) kolk_line_report_(&file->lines[i], "KOLK_STATS", name);
        kolk_fail_(bad, "\"%s\" stays as it is until that is put right; this was measured:", name);
        return false;
    }
    kolk_new_file_ new;
    bool written = kolk_file_begin_(&new, name);
    if (written) {
        kolk_sizes_file_write_(new.out, file, &sizes.needs, &sizes.scenes);
        written = kolk_file_end_(&new, false);
    }
    if (!written) kolk_fail_(bad, "\"%s\" cannot be written; this was measured:", name);
    return written;
}

void kolk_sizes_write_(const char *name) {
    kolk_sizes_file_ file = {0}, none = {0};
    if (!name || !update_file(&file, name)) kolk_sizes_file_write_(stderr, &none, &sizes.needs, &sizes.scenes);
    kolk_sizes_file_release_(&file);
}

#endif
