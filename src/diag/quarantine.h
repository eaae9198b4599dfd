/* quarantine.h: the slots of a pool that were freed last wait in its debug mode's ring (debug.h) before they are used
 * again.
 *
 *     ring   | 7 | 2 | 9 | . | . |      `waiting` slots, the oldest first
 *
 * `waiting` is a field of the pool, which needs it to count its objects. A shared pool calls these functions under its
 * lock; other threads may read that field at the same time. */
#ifndef KOLK_SRC_QUARANTINE_H
#define KOLK_SRC_QUARANTINE_H

#include "debug.h"

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../core/geometry.h"

/* Removes the oldest slot and returns it; KOLK_NO_SLOT if none waits. */
static inline uint32_t kolk_quarantine_leave(kolk_debug *debug, uint32_t *waiting) {
    if (*waiting == 0) return KOLK_NO_SLOT;
    uint32_t slot = *kolk_debug_ring(debug, 0);
    /* Store first: a fork between the two steps then costs the child the youngest slot. In the other order the child
     * would later take an entry that was never written. */
    kolk_store(waiting, *waiting - 1, KOLK_RELAXED); /* partner: the reads that count the pool's objects */
    kolk_debug_ring_advance(debug);
    return slot;
}

/* Adds this slot. Returns the oldest slot if the ring was full and it had to leave, else KOLK_NO_SLOT. */
static inline uint32_t kolk_quarantine_enter(kolk_debug *debug, uint32_t slot, uint32_t *waiting) {
    KOLK_ASSERT(*waiting <= kolk_debug_quarantine(debug) && kolk_debug_quarantine(debug) > 0);
    bool is_full = *waiting == kolk_debug_quarantine(debug);
    uint32_t leaves = is_full ? kolk_quarantine_leave(debug, waiting) : KOLK_NO_SLOT;
    uint32_t *place = kolk_debug_ring(debug, *waiting);
    KOLK_PLAIN_WRITE(place, sizeof *place);
    *place = slot;
    kolk_store(waiting, *waiting + 1, KOLK_RELAXED);
    return leaves;
}

#endif
