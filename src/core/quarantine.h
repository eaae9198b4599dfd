/* quarantine.h: the slots of a pool in debug mode that were freed last wait in a ring before they are reused.
 *
 *     ring   | 7 | 2 | 9 | . | . |      `quarantined` slots, the oldest first
 *
 * `quarantined` is a field of the pool, which needs it to count its objects. A shared pool calls these functions under
 * its lock; other threads may read that field at the same time. */
#ifndef KOLK_SRC_QUARANTINE_H
#define KOLK_SRC_QUARANTINE_H

#include "../base/assert.h"
#include "../base/atomics.h"
#include "geometry.h"
#include "watch.h"

/* The most slots that may wait. */
static inline uint32_t kolk_quarantine_(const kolk_debug *debug) {
    return KOLK_WATCHED_ ? debug->desc.settings.quarantine : 0;
}

/* The n-th quarantined slot, from the oldest on. */
static inline uint32_t *kolk_quarantined_(const kolk_debug *debug, uint32_t n) {
    KOLK_ASSERT_(n <= kolk_quarantine_(debug));
    uint64_t at = (uint64_t)debug->first + n, size = kolk_quarantine_(debug);
    return &debug->ring[at < size ? at : at - size];
}

/* Removes the oldest slot and returns it; KOLK_NO_SLOT_ if none waits. */
static inline uint32_t kolk_quarantine_leave_(kolk_debug *debug, uint32_t *quarantined) {
    if (!KOLK_WATCHED_ || *quarantined == 0) return KOLK_NO_SLOT_;
    uint32_t slot = *kolk_quarantined_(debug, 0);
    /* Store first: if another thread forks between the two steps, the child only loses the youngest slot. In the other
     * order, the child would later take an entry that was never written. */
    kolk_store_(quarantined, *quarantined - 1, KOLK_RELAXED_); /* partner: the reads that count the pool's objects */
    KOLK_PLAIN_WRITE_(&debug->first, sizeof debug->first);
    debug->first = debug->first + 1 < kolk_quarantine_(debug) ? debug->first + 1 : 0;
    return slot;
}

/* Adds this slot. If the ring was full, removes the oldest slot and returns it; otherwise returns KOLK_NO_SLOT_. */
static inline uint32_t kolk_quarantine_enter_(kolk_debug *debug, uint32_t slot, uint32_t *quarantined) {
    KOLK_ASSERT_(*quarantined <= kolk_quarantine_(debug) && kolk_quarantine_(debug) > 0);
    bool is_full = *quarantined == kolk_quarantine_(debug);
    uint32_t leaves = is_full ? kolk_quarantine_leave_(debug, quarantined) : KOLK_NO_SLOT_;
    uint32_t *place = kolk_quarantined_(debug, *quarantined);
    KOLK_PLAIN_WRITE_(place, sizeof *place);
    *place = slot;
    kolk_store_(quarantined, *quarantined + 1, KOLK_RELAXED_);
    return leaves;
}

#endif
