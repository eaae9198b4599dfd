/* depot.c: takes free slots out of a depot; depot.h has the essay. */
#include "depot.h"

#if KOLK_HOSTED

#include "../base/assert.h"

void kolk_depot_begin_(kolk_depot_ *depot, struct kolk_keepers_ *keepers, uint32_t slots, uint32_t cache) {
    KOLK_ASSERT_(slots < UINT32_MAX);
    depot->keepers = keepers;
    depot->slots = slots;
    depot->cache = cache;
    depot->word_shift = (uint8_t)kolk_bits_highest_32_(cache && cache < 64 ? cache : 64);
    depot->uncached_until = depot->lowered_until = cache ? 0 : UINT64_MAX;
}

/* Takes all slots of a word, or the `most` lowest of them. */
static uint64_t take_from_word(kolk_depot_ *depot, uint32_t word, uint32_t most) {
    bool some = most < KOLK_WHOLE_WORD_ || depot->cache == 0;
    uint64_t bits = some ? kolk_slot_set_take_some_(&depot->free, word, most) : 0;
    if (bits || depot->cache == 0) return bits;
    bits = kolk_slot_set_take_word_(&depot->free, word);
    uint64_t lowest = some ? kolk_bits_lowest_n_(bits, most) : bits;
    if (bits == lowest) return bits;
    kolk_depot_put_bits_(depot, word, bits ^ lowest); /* slots that were put after the word was empty */
    kolk_depot_count_return_(depot);
    return lowest;
}

uint64_t kolk_depot_search_(kolk_depot_ *depot, uint32_t *word, uint32_t most) {
    uint64_t words = kolk_depot_words_(depot, kolk_load_(&depot->fresh, KOLK_RELAXED_));
    uint32_t found;
    for (kolk_slot_walk_ walk = kolk_slot_walk_from_(&depot->free, words, *word);
         kolk_slot_walk_next_(&walk, &found);) {
        uint64_t bits = take_from_word(depot, found, most);
        if (!bits) continue;
        *word = found;
        return bits;
    }
    return 0;
}

/* Takes slots that were never used: the rest of one word, or `most` slots of it. */
uint64_t kolk_depot_take_fresh_(kolk_depot_ *depot, uint32_t *word, uint32_t most) {
    uint32_t fresh = kolk_load_(&depot->fresh, KOLK_ACQUIRE_),
             n; /* partner: below, so that usable is at least as new as fresh */
    do {
        uint32_t left = kolk_depot_usable_(depot) - fresh;
        if (left == 0) return 0;
        n = kolk_depot_word_bits_(depot) - (fresh & (kolk_depot_word_bits_(depot) - 1)); /* the rest of the word */
        if (n > left) n = left;
        if (n > most) n = most;
    } while (!kolk_compare_exchange_weak_(&depot->fresh, &fresh, fresh + n, KOLK_ACQ_REL_, KOLK_ACQUIRE_));
    KOLK_ASSERT_(n >= 1 && n <= 64);
    *word = fresh >> depot->word_shift;
    return ~UINT64_C(0) >> (64 - n) << (fresh & (kolk_depot_word_bits_(depot) - 1));
}

#endif
