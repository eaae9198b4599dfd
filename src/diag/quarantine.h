/* quarantine.h: the slots of a pool that were freed last wait in the ring of its debug mode (debug.h) before they are
 * reused.
 *
 *     ring   | 7 | 2 | 9 | . | . |      `quarantined` slots, the oldest first
 *
 * `quarantined` is a field of the pool, which needs it to count its objects. A shared pool calls these functions under
 * its lock; other threads may read that field at the same time. */
#ifndef KOLK_SRC_QUARANTINE_H
#define KOLK_SRC_QUARANTINE_H

#include "debug.h"

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../core/geometry.h"

/* Removes the oldest slot and returns it; KOLK_NO_SLOT_ if none waits. */
static inline uint32_t kolk_quarantine_leave_(kolk_debug *debug, uint32_t *quarantined) {
    if (*quarantined == 0) return KOLK_NO_SLOT_;
    uint32_t slot = *kolk_debug_ring_(debug, 0);
    /* Store first: if another thread forks between the two steps, the child only loses the youngest slot. In the other
     * order, the child would later take an entry that was never written. */
    kolk_store_(quarantined, *quarantined - 1, KOLK_RELAXED_); /* partner: the reads that count the pool's objects */
    kolk_debug_ring_advance_(debug);
    return slot;
}

/* Adds this slot. If the ring was full, removes the oldest slot and returns it; otherwise returns KOLK_NO_SLOT_. */
static inline uint32_t kolk_quarantine_enter_(kolk_debug *debug, uint32_t slot, uint32_t *quarantined) {
    KOLK_ASSERT_(*quarantined <= kolk_debug_quarantine_(debug) && kolk_debug_quarantine_(debug) > 0);
    bool is_full = *quarantined == kolk_debug_quarantine_(debug);
    uint32_t leaves = is_full ? kolk_quarantine_leave_(debug, quarantined) : KOLK_NO_SLOT_;
    uint32_t *place = kolk_debug_ring_(debug, *quarantined);
    KOLK_PLAIN_WRITE_(place, sizeof *place);
    *place = slot;
    kolk_store_(quarantined, *quarantined + 1, KOLK_RELAXED_);
    return leaves;
}

#endif
