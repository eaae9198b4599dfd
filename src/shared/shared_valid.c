/* shared_valid.c: checks a shared pool's invariants, which shared.c lists. */
#include "shared_inside.h"

#if KOLK_HOSTED

static bool is_raw(const kolk_shared_inside *pool, uint32_t slot) {
    return *kolk_slot_set_word(&pool->store.sets[RAW], slot / 64) & kolk_bits_at(slot);
}

bool kolk_shared_is_valid(const kolk_shared *of) {
    const kolk_shared_inside *pool = of->inside;
    if (!pool) return !of->slots && !of->bound;
    const kolk_depot *depot = &pool->store.depot;
    if (!kolk_store_is_valid(&pool->store)) return false;                          /* I1 */
    if (depot->waiting || pool->waiters.first || pool->waiters.last) return false; /* I2 */
    const kolk_slot_set *to_come = &pool->store.sets[LATER + (pool->epoch + 1) % 4];
    if (pool->epoch == 0 || kolk_slot_set_count(to_come, kolk_bits_words(depot->usable))) return false; /* I3 */
    for (uint32_t slot = 0; makes_parts(pool) && slot < depot->usable; slot++)
        if (is_ready(pool, slot) != (slot < depot->fresh && !is_raw(pool, slot))) return false; /* I4 */
    return true;
}

#endif
