/* shared_end.c: a shared pool ends, while no other thread is at work: lives end, parts are torn down, and locals that
 * were left over are told.
 *
 * A reset hook may still free objects and allocate some: so the lives are ended again until there are none. That comes
 * to an end, since no slot whose life is ended here can be had again. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../os/memory.h"
#include "../os/thread.h"

#include <string.h>

/* The object is dead, and its slot is in no place. */
static void end_object(kolk_shared *pool, uint32_t slot) {
    void *object = object_at(pool, slot);
    if (pool->reset) pool->reset(object, pool->context);
    if (pool->debug) kolk_debug_wipe(pool->debug, slot, object);
}

static void end_later(void *context, uint32_t slot, uint64_t bits) {
    KOLK_ASSERT(bits == 1);
    (void)bits;
    end_object((kolk_shared *)context, slot);
}

static bool end_alive(kolk_shared *pool, const void *site) {
    uint32_t end = kolk_load(&pool->depot.fresh, KOLK_RELAXED);
    bool any = false;
    for (uint32_t slot = 0; slot < end; slot++) {
        if (!is_alive(pool, slot)) continue;
        kolk_shared_end_life(pool, object_at(pool, slot), site);
        end_object(pool, slot);
        any = true;
    }
    return any;
}

static void tear_down_all(kolk_shared *pool) {
    for (uint32_t slot = 0; slot < pool->depot.fresh; slot++) {
        if (!is_ready(pool, slot)) continue;
        kolk_fetch_and(kolk_slot_set_word(&pool->ready, slot / 64), ~kolk_bits_at(slot), KOLK_RELAXED);
        pool->teardown(object_at(pool, slot), pool->context);
    }
}

void kolk_shared_end_lives(kolk_shared *pool, const void *site) {
    for (bool any = pool->reset || pool->debug; any;) {
        any = kolk_shared_drain_later(pool, end_later);
        any |= end_alive(pool, site);
    }
    if (pool->teardown) tear_down_all(pool);
}

/* Zeroes are what the slow paths know such a local by: they look at its magazine before its pool, which may be gone
 * altogether. */
bool kolk_shared_orphan_locals(kolk_shared *pool) {
    bool any = false;
    if (!pool->debug || pool->range) return false;
    for (const kolk_member *member = kolk_members_first(&pool->members); member; member = member->next)
        any |= member->taken && !kolk_thread_has_ended(member->owner);
    if (!any) return false;
    memset(pool->records, 0, pool->max_threads * pool->record_size);
    kolk_memory_discard(pool->block, (size_t)usable(pool) * pool->stride);
    return true;
}

#endif
