/* shared_valid.c: checks the invariants of a shared pool. shared.c lists them. */
#include "shared_inside.h"

#if KOLK_HOSTED

static bool is_raw(const kolk_shared_inside_ *pool, uint32_t slot) {
    return *kolk_slot_set_word_(&pool->store.sets[RAW], slot / 64) & kolk_bits_at_(slot);
}

bool kolk_shared_is_valid(const kolk_shared *of) {
    const kolk_shared_inside_ *pool = of->inside;
    if (!pool) return !of->slots && !of->bound;
    const kolk_depot_ *depot = &pool->store.depot;
    if (!kolk_store_is_valid_(&pool->store)) return false;                         /* I1 */
    if (depot->waiting || pool->waiters.first || pool->waiters.last) return false; /* I2 */
    const kolk_slot_set_ *to_come = &pool->store.sets[LATER + (pool->epoch + 1) % 4];
    if (pool->epoch == 0 || kolk_slot_set_count_(to_come, kolk_bits_words_(depot->usable))) return false; /* I3 */
    for (uint32_t slot = 0; makes_parts(pool) && slot < depot->usable; slot++)
        if (is_ready(pool, slot) != (slot < depot->fresh && !is_raw(pool, slot))) return false; /* I4 */
    return true;
}

#endif
