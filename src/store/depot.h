/* depot.h: the free slots that no thread has, and slots that were never used. Threads take them by the word into their
 * magazines (magazine.h), and put them back.
 *
 *     slots   | 0 | 1 | 2 | ........... | fresh | ........... | usable | (not committed) | slots |
 *     free    1 bit a slot, in words, and a summary (slot_set.h)
 *
 * A slot is a number here: the depot knows no objects, no addresses and no pool. It allocates nothing, takes no lock
 * and reports nothing, so that a heap under malloc can have depots too. Its owner gives it zeroed memory for
 * `free`, and usable slots by kolk_depot_extend_.
 *
 * A word has no more bits than a magazine has room for. Only an empty magazine takes a word. So no thread ever has more
 * than `cache` free slots: in its magazine, or on the way to it or from it.
 *
 * How to prove that there is no free slot. Scanning many words is not a snapshot. So a thread that puts slots counts
 * them in `returns` afterwards. Read `returns`, then look (kolk_depot_look_); if nothing was found and `returns` is the
 * same, all words that were seen empty still were so at the end of the look. The exception is slots that a thread is
 * just putting; these count as that thread's own.
 *
 * Uncached. When a look has found no slot, the free slots are in other threads' magazines. Then the depot goes uncached
 * for a while: magazines keep no slots, so each slot that is freed comes here, where all threads find it. That lasts
 * until as many slots have returned as there are. Another failure extends it, but only when fewer than half of that
 * remain. While threads wait, the depot is uncached too. A depot without caches is uncached for ever. Its slots are
 * taken one by one, and a summary bit stays set: clearing it would hide, for a moment, a slot that was just put
 * there. */
#ifndef KOLK_SRC_DEPOT_H
#define KOLK_SRC_DEPOT_H

#include "slot_set.h"

#include "../base/assert.h"

/* The free slots that no thread has. Fields that different threads write are 128 bytes apart, against false sharing. */
typedef struct kolk_depot_ {
    kolk_slot_set_ free;           /* 1 << word_shift slots in a word */
    struct kolk_keepers_ *keepers; /* the threads whose magazines it fills */
    uint32_t slots;                /* the most that it may have */
    uint32_t usable;               /* slots that are committed */
    uint32_t cache;                /* most slots in one magazine; 0: slots go one by one */
    uint8_t word_shift;
    bool slow_free; /* no free takes the fast path */
    unsigned char pad0[128];
    uint32_t fresh; /* slots from here on were never taken; only advances */
    unsigned char pad1[128];
    KOLK_ALIGNAS(8) uint64_t returns;        /* how often slots were put here */
    KOLK_ALIGNAS(8) uint64_t uncached_until; /* no magazine keeps slots until `returns` is this */
    KOLK_ALIGNAS(8) uint64_t lowered_until;  /* the same, once the bounds of all magazines are lowered */
    uint32_t waiting;                        /* threads that wait for slots */
    unsigned char pad2[128];
} kolk_depot_;

/* ---- Slots and words --------------------------------------------------------------------------------------------- */

static inline uint32_t kolk_depot_word_bits_(const kolk_depot_ *depot) {
    return 1u << depot->word_shift;
}

/* The number of words for the first n slots. */
static inline uint64_t kolk_depot_words_(const kolk_depot_ *depot, uint32_t n) {
    return ((uint64_t)n + kolk_depot_word_bits_(depot) - 1) >> depot->word_shift;
}

/* The lowest slot of these bits of a word, and the bit of a slot in its word. */
static inline uint32_t kolk_depot_slot_(const kolk_depot_ *depot, uint32_t word, uint64_t bits) {
    return (word << depot->word_shift) + kolk_bits_lowest_(bits);
}

static inline uint64_t kolk_depot_bit_(const kolk_depot_ *depot, uint32_t slot) {
    return UINT64_C(1) << (slot & (kolk_depot_word_bits_(depot) - 1));
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Fills in a zeroed depot that may have up to `slots` slots, for magazines of `cache` entries (0: magazines keep no
 * slots). The caller provides the memory of `free` before it puts the first slot. */
void kolk_depot_begin_(kolk_depot_ *depot, struct kolk_keepers_ *keepers, uint32_t slots, uint32_t cache);

/* Lets threads take slots below `usable` from now on. One thread at a time. */
static inline void kolk_depot_extend_(kolk_depot_ *depot, uint32_t usable) {
    kolk_store_(&depot->usable, usable, KOLK_RELEASE_); /* partner: kolk_depot_usable_ */
}

static inline uint32_t kolk_depot_usable_(const kolk_depot_ *depot) {
    return kolk_load_(&depot->usable,
                      KOLK_ACQUIRE_); /* partner: kolk_depot_extend_, before which they were committed */
}

/* ---- Put and take ------------------------------------------------------------------------------------------------ */

/* Puts slots of one word. The caller counts them afterwards, all at once. */
static inline void kolk_depot_put_bits_(kolk_depot_ *depot, uint32_t word, uint64_t bits) {
    kolk_slot_set_put_(&depot->free, word, bits);
}

static inline void kolk_depot_count_return_(kolk_depot_ *depot) {
    kolk_fetch_add_(&depot->returns, 1,
                    KOLK_SEQ_CST_); /* partner: the proof that there is none, and kolk_depot_is_uncached_ */
}

/* Puts one slot, and counts it. */
static inline void kolk_depot_put_(kolk_depot_ *depot, uint32_t slot) {
    KOLK_ASSERT_(slot < depot->slots);
    kolk_depot_put_bits_(depot, slot >> depot->word_shift, kolk_depot_bit_(depot, slot));
    kolk_depot_count_return_(depot);
}

/* Looks once for the free slots of one word, or for just one slot: returns their bits, and the word in *word, where the
 * search begins. 0: it found none; the text above says what that proves. */
uint64_t kolk_depot_search_(kolk_depot_ *depot, uint32_t *word, bool only_one);

/* The same for slots that were never used. */
uint64_t kolk_depot_take_fresh_(kolk_depot_ *depot, uint32_t *word, bool only_one);

/* Does both, in this order. */
static inline uint64_t kolk_depot_look_(kolk_depot_ *depot, uint32_t *word, bool only_one) {
    uint64_t bits = kolk_depot_search_(depot, word, only_one);
    return bits ? bits : kolk_depot_take_fresh_(depot, word, only_one);
}

/* ---- Uncached ---------------------------------------------------------------------------------------------------- */

static inline bool kolk_depot_is_uncached_(const kolk_depot_ *depot) {
    return kolk_load_(&depot->waiting, KOLK_SEQ_CST_) ||
           kolk_load_(&depot->uncached_until, KOLK_SEQ_CST_) > kolk_load_(&depot->returns, KOLK_SEQ_CST_);
}

/* Raises *at to `number` if it is lower. NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static inline void kolk_atomic_max_(uint64_t *at, uint64_t number) {
    uint64_t before = kolk_load_(at, KOLK_SEQ_CST_);
    while (before < number)
        if (kolk_compare_exchange_weak_(at, &before, number, KOLK_SEQ_CST_, KOLK_SEQ_CST_)) return;
}

#endif
