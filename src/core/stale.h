/* stale.h: records handles that have found no object in a pool. */
#ifndef KOLK_SRC_STALE_H
#define KOLK_SRC_STALE_H

#include "kolk/base.inl"

#include "../base/atomics.h"
#include "probes.h"

/* Increments a counter in an object that is const for the caller. Increments may be lost if several threads make them
 * at the same time. */
static inline void kolk_count_one_(const uint32_t *counter) {
    uint32_t *at = (uint32_t *)(uintptr_t)counter;
    kolk_raw_store_(at, kolk_raw_load_(at, KOLK_RELAXED_) + 1, KOLK_RELAXED_);
}

/* Records that a handle has found no object in the pool with this name (*name may be NULL). Returns false for the null
 * handle, which is not recorded. */
static inline bool kolk_note_stale_(const char *const *name, kolk_handle handle) {
    (void)name; /* unused in builds without probes */
    if (kolk_handle_generation_(handle) == 0) return false;
    PROBE2(stale_handle, kolk_probe_name_(*name), handle.bits);
    return true;
}

/* Counts a handle of another pool. Returns `strict`, which is true if the caller must also report the handle
 * (kolk_fail_handle_). */
static inline bool kolk_note_foreign_(const uint32_t *wrong_pool, bool strict) {
    kolk_count_one_(wrong_pool);
    return strict;
}

#endif
