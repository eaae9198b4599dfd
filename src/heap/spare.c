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

static void write_spare(kolk_spare_ *free_entry, const kolk_spare_ *spare) {
    KOLK_ASSERT_(!free_entry->start);
    free_entry->size = spare->size;
    free_entry->since = spare->since;
    kolk_store_(&free_entry->start, spare->start, KOLK_RELEASE_);
}

/* Removes the spares beside this one, and adds their pages to it. */
static void join_neighbours(kolk_spares_ *spares, kolk_spare_ *joined) {
    for (kolk_spare_ *at = spares->all; at < spares->all + KOLK_SPARES_; at++) {
        bool is_before = at->start + at->size == joined->start, is_behind = joined->start + joined->size == at->start;
        if (!at->start || !(is_before || is_behind)) continue;
        joined->size += take_spare(at).size;
        if (is_before) joined->start -= at->size;
    }
}

/* Enters a spare at a free entry, or in place of the smallest spare if this one is larger. Returns the spare that is
 * left over; its `start` is 0 if none is. */
static kolk_spare_ enter_spare(kolk_spares_ *spares, kolk_spare_ entered) {
    kolk_spare_ *least = &spares->all[0];
    for (kolk_spare_ *at = spares->all; at < spares->all + KOLK_SPARES_ && least->start; at++)
        if (!at->start || at->size < least->size) least = at;
    if (least->start && least->size >= entered.size) return entered;
    kolk_spare_ replaced = take_spare(least);
    write_spare(least, &entered);
    return replaced;
}

/* Is this spare a better choice for `size` bytes than the best one so far, which may be NULL? */
static bool fits_better(const kolk_spare_ *spare, const kolk_spare_ *best, size_t size) {
    if (!best) return true;
    if (best->size >= size) return spare->size >= size && spare->size < best->size;
    return spare->size > best->size;
}

/* Takes up to `size` bytes from the best spare, whose rest stays. */
static kolk_spare_ take_best(kolk_spares_ *spares, size_t size) {
    kolk_spare_ *best = NULL;
    for (kolk_spare_ *at = spares->all; at < spares->all + KOLK_SPARES_; at++)
        if (at->start && at->size >= size / 2 && fits_better(at, best, size)) best = at;
    if (!best) return (kolk_spare_){0};
    kolk_spare_ taken = take_spare(best);
    if (taken.size <= size) return taken;
    write_spare(best, &(kolk_spare_){taken.start + size, taken.size - size, taken.since});
    taken.size = size;
    return taken;
}

/* ---- Spares ------------------------------------------------------------------------------------------------------ */

static void release_spare(const kolk_spare_ *spare) {
    if (spare->start) kolk_memory_release_((void *)spare->start, spare->size);
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

void kolk_spares_put_(kolk_spares_ *spares, void *start, size_t size, size_t most) {
    int64_t now = kolk_now_ns_();
    kolk_spare_ spare = {(uintptr_t)start, size, now};
    KOLK_ASSERT_(start && size);
    kolk_spares_expire_(spares, now - KOLK_SPARE_TIME_);
    if (size <= most && kolk_memory_hide_(start, size)) {
        kolk_lock_word_(&spares->lock);
        if (bytes_of_spares(spares) <= most - size) {
            join_neighbours(spares, &spare);
            spare = enter_spare(spares, spare);
        }
        kolk_unlock_word_(&spares->lock);
    }
    release_spare(&spare);
}

void *kolk_spares_take_(kolk_spares_ *spares, size_t size, size_t *found) {
    kolk_lock_word_(&spares->lock);
    kolk_spare_ taken = take_best(spares, size);
    kolk_unlock_word_(&spares->lock);
    *found = taken.size;
    if (!taken.start || kolk_memory_commit_((void *)taken.start, taken.size)) return (void *)taken.start;
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
