/* spare.c: see spare.h. */
#include "../os/system.h"

#include "kolk/base.h"

#include "spare.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../os/clock.h"
#include "../os/lock.h"
#include "../os/memory.h"

#define HIDE_SHARE 32                /* a heap spends at most this part of the time on hiding spares */
#define HIDE_AHEAD INT64_C(20000000) /* ns of which the part may be spent in advance */

/* ---- With the lock ----------------------------------------------------------------------------------------------- */

static size_t bytes_of_spares(const kolk_spares_ *spares) {
    size_t bytes = 0;
    for (uint32_t n = 0; n < KOLK_SPARES_; n++)
        if (spares->all[n].start) bytes += spares->all[n].size;
    return bytes;
}

static kolk_spare_ take_spare(kolk_spare_ *spare) {
    kolk_spare_ taken = *spare;
    kolk_store_(&spare->start, 0, KOLK_RELEASE_);
    return taken;
}

static void write_spare(kolk_spare_ *entry, const kolk_spare_ *spare) {
    KOLK_ASSERT_(!entry->start);
    entry->size = spare->size;
    entry->since = spare->since;
    entry->is_hidden = spare->is_hidden;
    kolk_store_(&entry->start, spare->start, KOLK_RELEASE_);
}

/* Removes the spares beside this one, and adds their pages to it. */
static void join_neighbours(kolk_spares_ *spares, kolk_spare_ *joined) {
    for (kolk_spare_ *at = spares->all; at < spares->all + KOLK_SPARES_; at++) {
        bool is_before = at->start + at->size == joined->start, is_behind = joined->start + joined->size == at->start;
        if (!at->start || !(is_before || is_behind)) continue;
        joined->is_hidden |= at->is_hidden;
        joined->size += take_spare(at).size;
        if (is_before) joined->start -= at->size;
    }
}

static kolk_spare_ take_oldest_spare(kolk_spares_ *spares) {
    kolk_spare_ *oldest = NULL;
    for (kolk_spare_ *at = spares->all; at < spares->all + KOLK_SPARES_; at++)
        if (at->start && (!oldest || at->since < oldest->since)) oldest = at;
    KOLK_ASSERT_(oldest);
    return take_spare(oldest);
}

static kolk_spare_ *free_spare_entry(kolk_spares_ *spares) {
    for (kolk_spare_ *at = spares->all; at < spares->all + KOLK_SPARES_; at++)
        if (!at->start) return at;
    return NULL;
}

/* Takes `size` bytes from the smallest spare that has as many, and whose rest stays. */
static kolk_spare_ take_best(kolk_spares_ *spares, size_t size) {
    kolk_spare_ *best = NULL;
    for (kolk_spare_ *at = spares->all; at < spares->all + KOLK_SPARES_; at++)
        if (at->start && at->size >= size && (!best || at->size < best->size)) best = at;
    if (!best) return (kolk_spare_){0};
    kolk_spare_ taken = take_spare(best);
    if (taken.size == size) return taken;
    write_spare(best, &(kolk_spare_){taken.start + size, taken.size - size, taken.since, taken.is_hidden});
    taken.size = size;
    return taken;
}

/* ---- Spares ------------------------------------------------------------------------------------------------------ */

static void release_spare(const kolk_spare_ *spare) {
    if (spare->start) kolk_memory_release_((void *)spare->start, spare->size);
}

/* Makes a spare inaccessible, unless all of it is accessible and that would take too much of the time. False: the
 * system cannot do that. */
static bool hide_spare(kolk_spares_ *spares, kolk_spare_ *spare) {
    int64_t begin = spare->since, spent = kolk_load_(&spares->spent, KOLK_RELAXED_);
    if (spent > begin + HIDE_AHEAD && !spare->is_hidden) return true;
    spare->is_hidden = kolk_memory_hide_((void *)spare->start, spare->size);
    if (spent < begin) spent = begin;
    kolk_store_(&spares->spent, spent + (kolk_now_ns_() - begin) * HIDE_SHARE, KOLK_RELAXED_);
    return spare->is_hidden;
}

static bool show_spare(const kolk_spare_ *spare) {
    return !spare->is_hidden || kolk_memory_commit_((void *)spare->start, spare->size);
}

size_t kolk_spares_expire_(kolk_spares_ *spares, int64_t since) {
    kolk_spare_ expired[KOLK_SPARES_];
    uint32_t count = 0;
    size_t bytes = 0;
    kolk_lock_word_(&spares->lock);
    for (kolk_spare_ *at = spares->all; at < spares->all + KOLK_SPARES_; at++)
        if (at->start && at->since <= since) expired[count++] = take_spare(at);
    kolk_unlock_word_(&spares->lock);
    for (uint32_t n = 0; n < count; n++) {
        release_spare(&expired[n]);
        bytes += expired[n].size;
    }
    return bytes;
}

void kolk_spares_put_(kolk_spares_ *spares, void *start, size_t size, bool has_gaps, size_t most) {
    int64_t now = kolk_now_ns_();
    kolk_spare_ spare = {(uintptr_t)start, size, now, has_gaps};
    KOLK_ASSERT_(start && size);
    kolk_spares_expire_(spares, now - KOLK_SPARE_TIME_);
    if (size > most || !hide_spare(spares, &spare)) {
        release_spare(&spare);
        return;
    }
    kolk_lock_word_(&spares->lock);
    while (!free_spare_entry(spares) || bytes_of_spares(spares) > most - size) {
        kolk_spare_ oldest = take_oldest_spare(spares);
        kolk_unlock_word_(&spares->lock);
        release_spare(&oldest);
        kolk_lock_word_(&spares->lock);
    }
    join_neighbours(spares, &spare);
    write_spare(free_spare_entry(spares), &spare);
    kolk_unlock_word_(&spares->lock);
}

void *kolk_spares_take_(kolk_spares_ *spares, size_t size) {
    kolk_lock_word_(&spares->lock);
    kolk_spare_ taken = take_best(spares, size);
    kolk_unlock_word_(&spares->lock);
    if (!taken.start || show_spare(&taken)) return (void *)taken.start;
    release_spare(&taken);
    return NULL;
}

size_t kolk_spares_bytes_(const kolk_spares_ *spares) {
    kolk_spares_ *its = (kolk_spares_ *)(uintptr_t)spares; /* the lock changes */
    kolk_lock_word_(&its->lock);
    size_t bytes = bytes_of_spares(its);
    kolk_unlock_word_(&its->lock);
    return bytes;
}

#endif
