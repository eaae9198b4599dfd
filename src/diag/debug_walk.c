/* debug_walk.c: walks by pointers over objects that are malloc blocks.
 *
 * A walk by pointers may go on from an object that is long dead. By then its slot has another block, and its address
 * may belong to another slot. So the address alone does not tell where such a walk stands. Therefore the last freed
 * ones of the objects that a walk came to are remembered with their slots, and no other slot gets a block at such an
 * address.
 *
 * Another thread may fork at any moment. Its child relies on the order of the stores here: an address that is
 * remembered has its slot. */
#include "debug_inside.h"

#if KOLK_DIAGNOSTICS

#include "../core/atomics.h"
#include "../os/lock.h"

static void lock_memories(const kolk_debug *debug) {
    kolk_lock_word((uint32_t *)(uintptr_t)&debug->lock);
}

static void unlock_memories(const kolk_debug *debug) {
    kolk_unlock_word((uint32_t *)(uintptr_t)&debug->lock);
}

uint32_t kolk_debug_recall(const kolk_debug *debug, const void *object) {
    uint32_t slot = NO_SLOT;
    uintptr_t inverted = ~(uintptr_t)object;
    if (!inverted) return NO_SLOT;
    lock_memories(debug);
    for (unsigned n = 0; n < REMEMBERED; n++)
        if (debug->memories[n].object == inverted) slot = debug->memories[n].slot;
    unlock_memories(debug);
    return slot;
}

/* Makes the object the youngest of those that are remembered, each of which is there once. The order of these stores is
 * for forks: see above. */
static void remember(kolk_debug *debug, uint32_t slot, const void *object) {
    KOLK_ASSERT(debug->oldest < REMEMBERED);
    remembered *youngest = &debug->memories[debug->oldest];
    for (remembered *each = debug->memories; each < debug->memories + REMEMBERED; each++)
        if (each->object == ~(uintptr_t)object) kolk_store(&each->object, 0, KOLK_RELEASE);
    kolk_store(&youngest->object, 0, KOLK_RELEASE);
    kolk_store(&youngest->slot, slot, KOLK_RELEASE);
    kolk_store(&youngest->object, ~(uintptr_t)object, KOLK_RELEASE);
    debug->oldest = (debug->oldest + 1) % REMEMBERED;
}

void kolk_debug_walk(kolk_debug *debug, uint32_t slot, bool dead) {
    KOLK_ASSERT(slot < debug->desc.max_capacity);
    lock_memories(debug);
    debug->lives[slot].walked = true;
    if (dead) remember(debug, slot, kolk_debug_object(debug, slot));
    unlock_memories(debug);
}

/* Called before malloc can give its address to another slot. */
void kolk_debug_leave_walks(kolk_debug *debug, uint32_t slot, const void *object) {
    KOLK_ASSERT(slot < debug->desc.max_capacity);
    lock_memories(debug);
    if (debug->lives[slot].walked) remember(debug, slot, object);
    unlock_memories(debug);
}

#endif
