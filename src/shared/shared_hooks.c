/* shared_hooks.c: objects with parts that setup makes once and that last from life to life, until the pool ends.
 *
 *     READY    slots that are set up
 *     RAW      free slots that are not set up, because setup has failed so far
 *
 * Magazines and the depot contain only ready slots, so the fast path can hand them out without a check. Therefore a
 * slot that was never used is taken on its own, and the thread that takes it sets it up before its life begins. If
 * setup fails, the slot goes to RAW, and the next alloc that finds the depot empty takes it from there.
 *
 * READY cannot be derived from `fresh` and RAW. In a fork's child, the slots that other threads were setting up are
 * below fresh, but neither raw nor ready. The child must not use them. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"

static bool run_shared_setup(const kolk_shared_local *local, void *object) {
    const kolk_shared_inside_ *pool = local->pool;
    if (!pool->life.setup) return true;
    uint32_t before = enter_shared_hook(sharer_of(local));
    bool done = pool->life.setup(object, pool->context);
    leave_shared_hook(sharer_of(local), before);
    return done;
}

bool kolk_shared_set_up_(const kolk_shared_local *local, uint32_t slot, void *object) {
    kolk_shared_inside_ *pool = local->pool;
    KOLK_ASSERT_(object);
    if (!makes_parts(pool) || is_ready(pool, slot)) return true;
    if (!run_shared_setup(local, object)) {
        kolk_store_put_back_(&pool->store, slot);
        return false;
    }
    kolk_slot_set_put_(&pool->store.sets[READY], slot / 64, kolk_bits_at_(slot));
    return true;
}

uint64_t kolk_shared_take_raw_(kolk_slot_store_ *store, uint32_t *word, uint32_t most) {
    const kolk_slot_set_ *raw = &store->sets[RAW];
    uint32_t found;
    (void)most; /* this always takes one */
    for (kolk_slot_walk_ walk = kolk_slot_walk_from_(raw, kolk_bits_words_(kolk_store_fresh_(store)), 0);
         kolk_slot_walk_next_(&walk, &found);) {
        uint64_t bit = kolk_slot_set_take_some_(raw, found, 1);
        if (!bit) continue;
        uint32_t slot = found * 64 + kolk_bits_lowest_(bit);
        *word = slot >> store->depot.word_shift;
        return kolk_depot_bit_(&store->depot, slot);
    }
    return 0;
}

void kolk_shared_put_back_(kolk_slot_store_ *store, uint32_t slot) {
    if (is_ready((kolk_shared_inside_ *)(void *)store, slot)) {
        kolk_depot_put_(&store->depot, slot);
        return;
    }
    kolk_slot_set_put_(&store->sets[RAW], slot / 64, kolk_bits_at_(slot));
    kolk_depot_count_return_(&store->depot);
}

#endif
