/* shared_hooks.c: objects whose parts are made once (setup) and live on from life to life, until the pool ends.
 *
 *     ready    1 bit a slot: it is set up
 *     raw      free slots that are not: their setup has failed, so far
 *
 * A thread's magazine and the depot have ready slots only, so that the fast path hands them out without a look. A slot
 * that was never used is therefore taken alone, and set up by the thread that has it, before its life begins. If that
 * fails, the slot goes to `raw`, from where the next alloc takes it that finds the depot empty.
 *
 * What is ready cannot be told from `fresh` and `raw`: in a fork's child, the setups that other threads were running
 * are in neither, and have to be left alone. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"

bool kolk_shared_set_up(kolk_shared *pool, uint32_t slot, void *object) {
    KOLK_ASSERT(object);
    if (!makes_parts(pool) || is_ready(pool, slot)) return true;
    if (pool->setup && !pool->setup(object, pool->context)) {
        kolk_shared_put_free(pool, slot);
        return false;
    }
    kolk_slot_set_put(&pool->ready, slot / 64, kolk_bits_at(slot));
    return true;
}

uint64_t kolk_shared_take_raw(kolk_shared *pool, uint32_t *word) {
    uint64_t words = kolk_bits_words(kolk_load(&pool->depot.fresh, KOLK_RELAXED));
    uint32_t found;
    for (kolk_slot_walk walk = kolk_slot_walk_from(&pool->raw, words, 0); kolk_slot_walk_next(&walk, &found);) {
        uint64_t bit = kolk_slot_set_take_one(&pool->raw, found);
        if (!bit) continue;
        uint32_t slot = found * 64 + kolk_bits_lowest(bit);
        *word = slot >> pool->depot.word_shift;
        return kolk_depot_bit(&pool->depot, slot);
    }
    return 0;
}

void kolk_shared_put_free(kolk_shared *pool, uint32_t slot) {
    if (!makes_parts(pool) || is_ready(pool, slot)) {
        kolk_depot_put(&pool->depot, slot);
        return;
    }
    kolk_slot_set_put(&pool->raw, slot / 64, kolk_bits_at(slot));
    kolk_depot_count_return(&pool->depot);
}

#endif
