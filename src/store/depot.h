/* depot.h: the free slots that no thread has, and the slots that were never used. Threads take them into their
 * magazines (magazine.h), a whole word at a time, and put them back.
 *
 *     slots   | 0 | 1 | 2 | ........... | fresh | ........... | usable | (not committed) | slots |
 *     free    1 bit a slot, in words, and a summary (slot_set.h)
 *
 * To a depot, a slot is just a number, without an object, an address or a pool. A depot allocates nothing, takes no
 * lock and reports nothing, so that a heap that implements malloc can have depots too. Its owner provides zeroed memory
 * for `free`, and adds usable slots with kolk_depot_extend_.
 *
 * A word has no more slots than a magazine can hold, and only an empty magazine takes a word. So no thread ever has
 * more than `cache` free slots, even counting those on their way to or from its magazine.
 *
 * How to prove that there is no free slot. Scanning many words is not a snapshot. So a thread that has put slots here
 * then increments `returns`. Read `returns`, then look (kolk_depot_look_). If the look found nothing and `returns` has
 * not changed, all words that were seen empty were still empty at the end of the look. The exception is slots that a
 * thread is in the middle of putting; these still count as that thread's own.
 *
 * Uncached. If a look finds no slot, the free slots are in other threads' magazines. The depot then goes uncached for a
 * while: magazines keep no slots, so each freed slot comes here, where all threads can find it. This period lasts for
 * as many returns as the depot has slots. Another failure extends it, but only if no more than half of it remains. The
 * depot is also uncached while threads wait. A depot without caches is uncached for ever. Only as many of its slots are
 * taken as get lives at once, and its summary bits stay set, because clearing one would briefly hide a slot that was
 * just put there. */
#ifndef KOLK_SRC_DEPOT_H
#define KOLK_SRC_DEPOT_H

#include "slot_set.h"

#include "../base/assert.h"

/* The free slots that no thread has. Fields that different threads write are 128 bytes apart, to avoid false
 * sharing. */
typedef struct kolk_depot_ {
    kolk_slot_set_ free;           /* a word has 1 << word_shift slots */
    struct kolk_keepers_ *keepers; /* the threads whose magazines it fills */
    uint32_t slots;                /* the most slots that it may have */
    uint32_t usable;               /* slots that are committed */
    uint32_t cache;                /* the most slots in one magazine; 0: slots are taken one by one */
    uint8_t word_shift;
    bool slow_free; /* no free takes the fast path */
    unsigned char pad0[128];
    uint32_t fresh; /* slots from here on were never taken; only advances */
    unsigned char pad1[128];
    KOLK_ALIGNAS(8) uint64_t returns;        /* how often slots were put here */
    KOLK_ALIGNAS(8) uint64_t uncached_until; /* no magazine keeps slots until `returns` reaches this */
    KOLK_ALIGNAS(8) uint64_t lowered_until;  /* the same, but set once the bounds of all magazines are lowered */
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

/* Return the lowest slot among these bits of a word, and the bit of a slot in its word. */
static inline uint32_t kolk_depot_slot_(const kolk_depot_ *depot, uint32_t word, uint64_t bits) {
    return (word << depot->word_shift) + kolk_bits_lowest_(bits);
}

static inline uint64_t kolk_depot_bit_(const kolk_depot_ *depot, uint32_t slot) {
    return UINT64_C(1) << (slot & (kolk_depot_word_bits_(depot) - 1));
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Initialises a zeroed depot of up to `slots` slots, for magazines of `cache` entries (0: magazines keep no slots). The
 * caller must provide the memory of `free` before it puts the first slot. */
void kolk_depot_begin_(kolk_depot_ *depot, struct kolk_keepers_ *keepers, uint32_t slots, uint32_t cache);

/* Lets threads take slots below `usable` from now on. Only one thread at a time may call this. */
static inline void kolk_depot_extend_(kolk_depot_ *depot, uint32_t usable) {
    kolk_store_(&depot->usable, usable, KOLK_RELEASE_); /* partner: kolk_depot_usable_ */
}

static inline uint32_t kolk_depot_usable_(const kolk_depot_ *depot) {
    return kolk_load_(&depot->usable,
                      KOLK_ACQUIRE_); /* partner: kolk_depot_extend_, called after the slots are committed */
}

/* ---- Put and take ------------------------------------------------------------------------------------------------ */

/* Puts slots of one word. After all its puts, the caller calls kolk_depot_count_return_ once. */
static inline void kolk_depot_put_bits_(kolk_depot_ *depot, uint32_t word, uint64_t bits) {
    kolk_slot_set_put_(&depot->free, word, bits);
}

static inline void kolk_depot_count_returns_(kolk_depot_ *depot, uint32_t n) {
    kolk_fetch_add_(&depot->returns, n,
                    KOLK_SEQ_CST_); /* partners: the proof that no slot is free, and kolk_depot_is_uncached_ */
}

static inline void kolk_depot_count_return_(kolk_depot_ *depot) {
    kolk_depot_count_returns_(depot, 1);
}

/* Puts one slot, and counts it. */
static inline void kolk_depot_put_(kolk_depot_ *depot, uint32_t slot) {
    KOLK_ASSERT_(slot < depot->slots);
    kolk_depot_put_bits_(depot, slot >> depot->word_shift, kolk_depot_bit_(depot, slot));
    kolk_depot_count_return_(depot);
}

/* For `most` below: all free slots of a word. */
#define KOLK_WHOLE_WORD_ 64u

/* Looks once for the free slots of one word, or for `most` of them. The search begins at *word. Returns the slots'
 * bits, and sets *word to the index of the word that contains them. Returns 0 if it found none; the text above explains
 * what that proves. */
uint64_t kolk_depot_search_(kolk_depot_ *depot, uint32_t *word, uint32_t most);

/* Does the same for slots that were never used. */
uint64_t kolk_depot_take_fresh_(kolk_depot_ *depot, uint32_t *word, uint32_t most);

/* Tries both, in this order. */
static inline uint64_t kolk_depot_look_(kolk_depot_ *depot, uint32_t *word, uint32_t most) {
    uint64_t bits = kolk_depot_search_(depot, word, most);
    return bits ? bits : kolk_depot_take_fresh_(depot, word, most);
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
