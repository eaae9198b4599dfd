/* depot.c: takes free slots out of a depot; depot.h has the essay. */
#include "depot.h"

#if KOLK_HOSTED

#include "../base/assert.h"

void kolk_depot_begin(kolk_depot *depot, struct kolk_keepers *keepers, uint32_t slots, uint32_t cache) {
    KOLK_ASSERT(slots < UINT32_MAX);
    depot->keepers = keepers;
    depot->slots = slots;
    depot->cache = cache;
    depot->word_shift = (uint8_t)(31 - __builtin_clz(cache && cache < 64 ? cache : 64));
    depot->uncached_until = depot->lowered_until = cache ? 0 : UINT64_MAX;
}

/* Takes all slots of a word, or just one of them. */
static uint64_t take_from_word(kolk_depot *depot, uint32_t word, bool only_one) {
    uint64_t bits = only_one ? kolk_slot_set_take_one(&depot->free, word) : 0;
    if (bits || depot->cache == 0) return bits;
    bits = kolk_slot_set_take_word(&depot->free, word);
    uint64_t lowest = bits & (~bits + 1);
    if (!only_one || bits == lowest) return bits;
    kolk_depot_put_bits(depot, word, bits ^ lowest); /* slots that were put since the word was empty */
    kolk_depot_count_return(depot);
    return lowest;
}

uint64_t kolk_depot_search(kolk_depot *depot, uint32_t *word, bool only_one) {
    uint64_t words = kolk_depot_words(depot, kolk_load(&depot->fresh, KOLK_RELAXED));
    uint32_t found;
    for (kolk_slot_walk walk = kolk_slot_walk_from(&depot->free, words, *word); kolk_slot_walk_next(&walk, &found);) {
        uint64_t bits = take_from_word(depot, found, only_one);
        if (!bits) continue;
        *word = found;
        return bits;
    }
    return 0;
}

/* Takes slots that were never used: the rest of one word, or one slot. */
uint64_t kolk_depot_take_fresh(kolk_depot *depot, uint32_t *word, bool only_one) {
    uint32_t fresh = kolk_load(&depot->fresh, KOLK_ACQUIRE), n; /* partner: below, so that usable is at least as new */
    do {
        uint32_t left = kolk_depot_usable(depot) - fresh;
        if (left == 0) return 0;
        uint32_t in_word = only_one ? 1 : kolk_depot_word_bits(depot) - (fresh & (kolk_depot_word_bits(depot) - 1));
        n = left < in_word ? left : in_word;
    } while (!kolk_compare_exchange_weak(&depot->fresh, &fresh, fresh + n, KOLK_ACQ_REL, KOLK_ACQUIRE));
    KOLK_ASSERT(n >= 1 && n <= 64);
    *word = fresh >> depot->word_shift;
    return ~UINT64_C(0) >> (64 - n) << (fresh & (kolk_depot_word_bits(depot) - 1));
}

#endif
