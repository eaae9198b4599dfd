/* stale.h: what is noted of a handle that has found no object in a pool. */
#ifndef KOLK_SRC_STALE_H
#define KOLK_SRC_STALE_H

#include "kolk/base.inl"

#include "../core/probes.h"

/* A statistic in something const: several threads may count here, and lose some. */
static inline void kolk_count_one(const uint32_t *counter) {
    uint32_t *at = (uint32_t *)(uintptr_t)counter;
    __atomic_store_n(at, __atomic_load_n(at, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* Notes that a handle has found no object in the pool that has this name, or none. False for the null handle, which is
 * not worth a note. */
static inline bool kolk_note_stale(const char *const *name, kolk_handle handle) {
    (void)name; /* without probes */
    if (kolk_handle_generation(handle) == 0) return false;
    PROBE2(stale_handle, *name ? *name : "", handle.bits);
    return true;
}

/* Counts a handle that is foreign as well; with `strict` it is to be reported: kolk_fail_handle. */
static inline bool kolk_note_foreign(const uint32_t *wrong_pool, bool strict) {
    kolk_count_one(wrong_pool);
    return strict;
}

#endif
