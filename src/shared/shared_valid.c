/* shared_valid.c: the proof of a shared pool's invariants, which are told in shared.c. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/hash.h"

/* What has been found so far: how many slots, and a sum that tells which. */
typedef struct slot_sum {
    uint64_t slots, mixed;
} slot_sum;

static void add_slot(slot_sum *found, uint64_t slot) {
    found->slots++;
    found->mixed += kolk_mixed(slot);
}

/* Adds all slots of a set that uses this many bits of a word; false if one is not below end, or if a word is not in the
 * summary. */
static bool add_set(slot_sum *found, const kolk_slot_set *set, uint64_t words, uint32_t bits, uint32_t end) {
    for (uint64_t word = 0; word < words; word++) {
        uint64_t left = *kolk_slot_set_word(set, word);
        if (left && !(*kolk_slot_set_summary(set, word) & kolk_bits_at(word))) return false; /* I3 */
        for (; left; left &= left - 1) {
            if (kolk_bits_lowest(left) >= bits || word * bits + kolk_bits_lowest(left) >= end) return false; /* I2 */
            add_slot(found, word * bits + kolk_bits_lowest(left));
        }
    }
    return true;
}

static bool add_magazine(slot_sum *found, kolk_magazine *magazine, uint32_t cache, uint32_t end) {
    if (kolk_magazine_count(magazine) > cache || magazine->leaving) return false; /* I4 */
    for (uint32_t at = 0; at < magazine->top; at++) {
        add_slot(found, *kolk_magazine_entry(magazine, at)); /* I2: no slot from `end` on is among those to be found */
    }
    if (magazine->proving > end) return false; /* I2 */
    if (magazine->proving) add_slot(found, magazine->proving - 1);
    return true;
}

static bool is_raw(const kolk_shared *pool, uint32_t slot) {
    return *kolk_slot_set_word(&pool->raw, slot / 64) & kolk_bits_at(slot);
}

bool kolk_shared_is_valid(const kolk_shared *pool) {
    const kolk_depot *depot = &pool->depot;
    uint32_t fresh = depot->fresh;
    slot_sum all = {0, 0}, found = {0, 0};
    if (fresh > depot->usable || depot->usable > depot->slots) return false; /* I1 */
    if (depot->slots && ((depot->cache && kolk_depot_word_bits(depot) > depot->cache) || pool->epoch == 0))
        return false; /* I4, I6 */
    for (uint32_t i = 0; i < depot->usable; i++) {
        bool alive = life_of(pool, i) & 1;
        if (i >= fresh && life_of(pool, i)) return false; /* I2 */
        if (i < fresh) add_slot(&all, i);
        if (alive) add_slot(&found, i);
    }
    if (!add_set(&found, &depot->free, kolk_depot_words(depot, depot->usable), kolk_depot_word_bits(depot), fresh))
        return false;
    for (unsigned n = 0; n < later_sets(pool); n++) {
        uint64_t before = found.slots;
        if (!add_set(&found, &pool->later[n], kolk_bits_words(depot->usable), 64, fresh)) return false;
        if (found.slots > before && !pool->range && n == (pool->epoch + 1) % 4) return false; /* I6 */
    }
    if (makes_parts(pool)) {
        if (!add_set(&found, &pool->raw, kolk_bits_words(depot->usable), 64, fresh)) return false;
        for (uint32_t i = 0; i < depot->usable; i++)
            if (is_ready(pool, i) != (i < fresh && !is_raw(pool, i))) return false; /* I8 */
    }
    for (kolk_magazine *magazine = NULL; (magazine = kolk_depot_next_magazine(depot, magazine));)
        if (!add_magazine(&found, magazine, depot->cache, fresh)) return false;
    for (uint32_t n = 0; n < pool->quarantined; n++) add_slot(&found, *kolk_debug_ring(pool->debug, n));
    if (depot->waiting || pool->waiters.first || pool->waiters.last) return false; /* I5 */
    if (pool->debug && !kolk_shared_is_intact(pool)) return false;                 /* I7 */
    return found.slots == all.slots && found.mixed == all.mixed;                   /* I2 */
}

#endif
