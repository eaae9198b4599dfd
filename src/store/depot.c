/* depot.c: takes slots out of a depot, moves them between it and magazines, and lets threads come and go; depot.h has
 * the essay. */
#include "depot.h"

#if KOLK_HOSTED

#include "../os/thread.h"

#include <string.h>

#define FORMER   16u /* looks at this many former entries; 32 gained no more */
#define NO_ENTRY UINT32_MAX
#define FEW      8u  /* words of other processors */
#define GATHERED 64u /* words of slots that are put into the depot together */

/* ---- Depot ------------------------------------------------------------------------------------------------------- */

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

/* Threads on different processors may write the same byte: it is a hint, and any of their numbers will do. */
static uint8_t *taker_of(kolk_depot_ *depot, uint32_t word) {
    return &depot->takers[word % KOLK_TAKERS_];
}

/* Looks in all words. If `others` is not NULL, looks just in words that this processor took last, and counts the others
 * that may have slots, until they are more than a few. */
static uint64_t search_words(kolk_depot_ *depot, uint32_t *word, uint32_t most, uint32_t processor, uint32_t *others) {
    uint64_t words = kolk_depot_words_(depot, kolk_load_(&depot->fresh, KOLK_RELAXED_));
    uint32_t found;
    for (kolk_slot_walk_ walk = kolk_slot_walk_from_(&depot->free, words, *word);
         kolk_slot_walk_next_(&walk, &found);) {
        if (others && kolk_load_(taker_of(depot, found), KOLK_RELAXED_) != (uint8_t)processor) {
            if (++*others > FEW) return 0;
            continue;
        }
        uint64_t bits = take_from_word(depot, found, most);
        if (!bits) continue;
        *word = found;
        return bits;
    }
    return 0;
}

uint64_t kolk_depot_search_(kolk_depot_ *depot, uint32_t *word, uint32_t most) {
    return search_words(depot, word, most, 0, NULL);
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

uint64_t kolk_depot_search_near_(kolk_depot_ *depot, uint32_t *word, uint32_t processor) {
    uint32_t others = 0;
    uint64_t bits = search_words(depot, word, KOLK_WHOLE_WORD_, processor, &others);
    bool few = others > 0 && others <= FEW;
    return bits || !few ? bits : kolk_depot_take_fresh_(depot, word, KOLK_WHOLE_WORD_);
}

void kolk_depot_note_taker_(kolk_depot_ *depot, uint32_t word, uint64_t bits, uint32_t processor) {
    if (2 * kolk_bits_count_(bits) < kolk_depot_word_bits_(depot)) return;
    kolk_store_(taker_of(depot, word), (uint8_t)processor, KOLK_RELAXED_);
}

/* ---- Magazines --------------------------------------------------------------------------------------------------- */

static uint32_t count_former(const kolk_magazine_ *magazine) {
    return magazine->cache < FORMER ? magazine->cache : FORMER;
}

void kolk_magazine_begin_entries_(kolk_magazine_ *magazine) {
    for (uint32_t n = count_former(magazine); n > 0; n--) *kolk_magazine_entry_(magazine, n - 1) = NO_ENTRY;
}

void kolk_magazine_go_back_(kolk_magazine_ *magazine) {
    const kolk_depot_ *depot = magazine->depot;
    uint32_t before = magazine->next_word; /* it has just used up this word */
    for (uint32_t n = 0, count = count_former(magazine); n < count; n++) {
        uint32_t slot = *kolk_magazine_entry_(magazine, n), word = slot >> depot->word_shift;
        if (slot == NO_ENTRY || word == before) continue;
        before = word;
        if (!kolk_load_(kolk_slot_set_word_(&depot->free, word), KOLK_RELAXED_)) continue;
        magazine->next_word = word;
        return;
    }
}

void kolk_magazine_fill_(kolk_magazine_ *magazine, uint64_t bits) {
    uint32_t first = magazine->next_word << magazine->depot->word_shift, n = kolk_bits_count_(bits);
    KOLK_ASSERT_(magazine->top == 0);
    KOLK_ASSERT_(n < magazine->cache);
    uint32_t *entry = kolk_magazine_entry_(magazine, n), lowest = kolk_bits_lowest_(bits);
    if (bits >> lowest == ~UINT64_C(0) >> (64 - n)) { /* neighbours */
        for (uint32_t slot = first + lowest, end = slot + n; slot != end; slot++) *--entry = slot;
    } else {
        for (; bits; bits &= bits - 1) *--entry = first + kolk_bits_lowest_(bits);
    }
    kolk_store_(&magazine->top, n, KOLK_RELEASE_); /* so that a fork's child finds all entries */
}

/* Slots on their way to the depot: up to GATHERED words with their bits. A word's place is its number modulo
 * GATHERED. */
typedef struct gathered_slots {
    uint64_t bits[GATHERED];
    uint32_t words[GATHERED];
    uint64_t used; /* bit n: the n-th place has a word */
} gathered_slots;

/* If the word's place has another word, that one goes to the depot first. */
static inline void gather(gathered_slots *gathered, kolk_depot_ *depot, uint32_t word, uint64_t bits) {
    uint32_t at = word % GATHERED;
    bool used = gathered->used >> at & 1;
    if (used && gathered->words[at] == word) {
        gathered->bits[at] |= bits;
        return;
    }
    if (used) kolk_depot_put_bits_(depot, gathered->words[at], gathered->bits[at]);
    gathered->words[at] = word;
    gathered->bits[at] = bits;
    gathered->used |= UINT64_C(1) << at;
}

static inline void put_gathered(const gathered_slots *gathered, kolk_depot_ *depot) {
    for (uint64_t left = gathered->used; left; left &= left - 1) {
        uint32_t at = kolk_bits_lowest_(left);
        kolk_depot_put_bits_(depot, gathered->words[at], gathered->bits[at]);
    }
}

/* The slots that leave stay in the magazine until they are counted (depot.h). Then the other slots move down. As n is
 * at least half, their old and new places do not overlap, so a fork's child finds each of them once. */
void kolk_magazine_put_oldest_(kolk_magazine_ *magazine, uint32_t n) {
    kolk_depot_ *depot = magazine->depot;
    uint32_t *entries = kolk_magazine_entry_(magazine, 0), left = magazine->top - n, at = 0;
    unsigned shift = depot->word_shift;
    uint32_t in_word = kolk_depot_word_bits_(depot) - 1;
    gathered_slots gathered;
    gathered.used = 0;
    KOLK_ASSERT_(n <= magazine->top && left <= n);
    if (n == 0) return;
    kolk_store_(&magazine->leaving, n, KOLK_RELAXED_);
    while (at != n) {
        uint32_t slot = entries[at], word = slot >> shift;
        uint64_t bits = 0;
        do {
            bits |= UINT64_C(1) << (slot & in_word);
            if (++at == n) break;
            slot = entries[at];
        } while (slot >> shift == word);
        gather(&gathered, depot, word, bits);
    }
    put_gathered(&gathered, depot);
    kolk_depot_count_return_(depot);
    memcpy(entries, entries + n, left * sizeof *entries);
    kolk_store_(&magazine->top, left, KOLK_RELEASE_); /* release: a fork's child finds all earlier writes */
    kolk_store_(&magazine->leaving, 0, KOLK_RELEASE_);
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

/* Raises the bound, then checks again whether the depot is uncached. kolk_magazines_go_uncached_ first marks the depot,
 * then lowers the bounds. All these operations are sequentially consistent, so at least one of the two threads sees
 * what the other has done, and the bound ends up 0. */
void kolk_magazine_set_bound_(kolk_magazine_ *magazine) {
    const kolk_depot_ *depot = magazine->depot;
    uint32_t bound = depot->slow_free || kolk_depot_is_uncached_(depot) ? 0 : kolk_depot_usable_(depot);
    if (kolk_load_(&magazine->bound, KOLK_RELAXED_) == bound) return;
    kolk_exchange_(&magazine->bound, bound, KOLK_SEQ_CST_); /* partner: kolk_magazines_go_uncached_ */
    if (kolk_depot_is_uncached_(depot)) kolk_store_(&magazine->bound, 0, KOLK_SEQ_CST_);
}

static void lower_bounds(const kolk_depot_ *depot) {
    for (kolk_magazine_ *magazine = NULL; (magazine = kolk_keepers_next_magazine_(depot, magazine));)
        kolk_store_(&magazine->bound, 0, KOLK_SEQ_CST_);
}

/* Returns early only if another thread has finished lowering every bound, because one that has just begun may be
 * stopped for a long time. Never shortens a period, because a thread that read `returns` later may have made it longer.
 * A thread whose keeper is listed after lower_bounds has begun sees `uncached_until` when it sets its first bound. */
void kolk_magazines_go_uncached_(kolk_depot_ *depot) {
    uint64_t lowered = kolk_load_(&depot->lowered_until, KOLK_SEQ_CST_);
    uint64_t now = kolk_load_(&depot->returns, KOLK_SEQ_CST_);
    if (lowered > now + depot->slots / 2) return;
    kolk_atomic_max_(&depot->uncached_until, now + depot->slots);
    lower_bounds(depot);
    kolk_atomic_max_(&depot->lowered_until, now + depot->slots);
}

/* ---- Keepers ----------------------------------------------------------------------------------------------------- */

void kolk_keepers_list_(kolk_keepers_ *keepers, kolk_keeper_ *keeper) {
    KOLK_ASSERT_(!keeper->taken);
    keeper->next = kolk_keepers_first_(keepers);
    kolk_store_(&keepers->first, (uintptr_t)keeper, KOLK_SEQ_CST_); /* partner: kolk_keepers_first_ */
}

void kolk_keeper_take_(kolk_keeper_ *keeper) {
    KOLK_ASSERT_(!keeper->taken);
    kolk_store_(&keeper->owner, kolk_thread_(), KOLK_RELAXED_); /* first, because a fork's child lacks this thread */
    kolk_store_(&keeper->taken, 1, KOLK_RELEASE_);
}

kolk_magazine_ *kolk_keeper_magazine_(const kolk_keeper_ *keeper, const kolk_depot_ *depot) {
    kolk_magazine_ *magazine = kolk_keeper_magazines_(keeper);
    while (magazine && magazine->depot != depot) magazine = magazine->next;
    return magazine;
}

kolk_magazine_ *kolk_keepers_next_magazine_(const kolk_depot_ *depot, const kolk_magazine_ *magazine) {
    if (!depot->keepers) return NULL; /* the store is all zero */
    const kolk_keeper_ *keeper = magazine ? magazine->keeper->next : kolk_keepers_first_(depot->keepers);
    kolk_magazine_ *next = NULL;
    for (; keeper && !next; keeper = keeper->next) next = kolk_keeper_magazine_(keeper, depot);
    return next;
}

void kolk_keeper_add_(kolk_keeper_ *keeper, kolk_magazine_ *magazine) {
    KOLK_ASSERT_(magazine->depot && magazine->top == 0);
    magazine->keeper = keeper;
    magazine->next = kolk_keeper_magazines_(keeper);
    kolk_store_(&keeper->magazines, (uintptr_t)magazine, KOLK_SEQ_CST_); /* partner: kolk_keeper_magazines_ */
}

bool kolk_keeper_is_dead_(const kolk_keeper_ *keeper, uint32_t me, bool closely) {
    if (!keeper->taken || keeper->owner == me) return false;
    return closely ? kolk_thread_has_ended_(keeper->owner) : kolk_thread_is_gone_(keeper->owner);
}

#endif
