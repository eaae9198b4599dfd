/* shared_hooks.c: objects whose parts are made once (setup) and live on from life to life, until the pool ends.
 *
 *     READY    slots that are set up
 *     RAW      free slots that are not set up, because setup has failed so far
 *
 * Magazines and the depot have only ready slots, so that the fast path hands them out without a check. So a slot that
 * was never used is taken alone, and the thread that has it sets it up before its life begins. If that fails, the slot
 * goes to RAW, and the next alloc that finds the depot empty takes it from there.
 *
 * READY does not follow from `fresh` and RAW: in a fork's child, slots that other threads were setting up are below
 * fresh, not raw, and not ready. The child must leave them alone. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"

bool kolk_shared_set_up_(kolk_shared_inside_ *pool, uint32_t slot, void *object) {
    KOLK_ASSERT_(object);
    if (!makes_parts(pool) || is_ready(pool, slot)) return true;
    if (pool->setup && !pool->setup(object, pool->context)) {
        kolk_store_put_back_(&pool->store, slot);
        return false;
    }
    kolk_slot_set_put_(&pool->store.sets[READY], slot / 64, kolk_bits_at_(slot));
    return true;
}

uint64_t kolk_shared_take_raw_(kolk_slot_store_ *store, uint32_t *word, bool only_one) {
    const kolk_slot_set_ *raw = &store->sets[RAW];
    uint32_t found;
    (void)only_one; /* this always takes one */
    for (kolk_slot_walk_ walk = kolk_slot_walk_from_(raw, kolk_bits_words_(kolk_store_fresh_(store)), 0);
         kolk_slot_walk_next_(&walk, &found);) {
        uint64_t bit = kolk_slot_set_take_one_(raw, found);
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
