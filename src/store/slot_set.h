/* slot_set.h: a lock-free set of slots, such as the free ones. Many threads may put slots into it and take slots from
 * it at the same time.
 *
 *     words      11..1..1   ........   .1..1...   1....1..      1 bit a slot
 *     summary    1 . 1 1                                        1 bit a word that may have bits
 *
 * A summary of 64 bits and its 64 words form a sheet. So the first words of a set and their summary are in the same
 * page of memory. In memory, all of this goes downwards from the set's end:
 *
 *     | (sheet 2) | word 127 ... word 64 | summary 1 | word 63 ... word 1 | word 0 | summary 0 | end
 *
 * So the first words of a set share a page with whatever begins at its end, such as the first lives of the slots.
 *
 * A put ORs bits into a word. A take exchanges the whole word for 0, or takes some bits by a compare-and-exchange. No
 * slot has a link to another, so ABA cannot occur, and a stray write into an object corrupts nothing. The set's owner
 * decides how many bits of a word are used.
 *
 * The summary. A take of a whole word clears the word's summary bit first; a put sets it afterwards, unless it is
 * already set. So a bit may be set although its word is empty; the next search clears it. But after a put, either the
 * word's bit is set or another thread is in the middle of taking the whole word. The summary needs no memory order of
 * its own, because the word itself orders the threads that take from it and put into it. Taking some slots does not
 * change the bit. */
#ifndef KOLK_SRC_SLOT_SET_H
#define KOLK_SRC_SLOT_SET_H

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../base/bits.h"

#define KOLK_SHEET_ 65u /* numbers of a sheet: the summary, and 64 words with 1 bit per slot */

typedef struct kolk_slot_set_ {
    uint64_t *end;
    uint32_t step; /* numbers from one sheet to the next: KOLK_SHEET_, or more if other sets' sheets lie between them */
} kolk_slot_set_;

/* The size in bytes of a set that has this many words, and no other set's sheets. The last sheet may be incomplete. */
static inline uint64_t kolk_slot_set_size_(uint64_t words) {
    return (kolk_bits_words_(words) + words) * sizeof(uint64_t);
}

/* The summary of sheet n. */
static inline uint64_t *kolk_slot_set_sheet_(const kolk_slot_set_ *set, uint64_t n) {
    return set->end - (n * set->step + 1);
}

/* The summary that has the bit of this word. */
static inline uint64_t *kolk_slot_set_summary_(const kolk_slot_set_ *set, uint64_t word) {
    return kolk_slot_set_sheet_(set, word / 64);
}

static inline uint64_t *kolk_slot_set_word_(const kolk_slot_set_ *set, uint64_t word) {
    return kolk_slot_set_summary_(set, word) - (1 + word % 64);
}

/* The acquire and the release of the OR pair with the exchange in take_word. If the exchange came first, the summary
 * bit had already been cleared, and the load here sees that. If the exchange comes later, it takes these slots. That a
 * word was not empty proves nothing about the summary, because an earlier put may not have set the bit yet. */
static inline void kolk_slot_set_put_(const kolk_slot_set_ *set, uint32_t word, uint64_t bits) {
    uint64_t bit = kolk_bits_at_(word), *summary = kolk_slot_set_summary_(set, word);
    KOLK_ASSERT_(bits != 0);
    kolk_fetch_or_(kolk_slot_set_word_(set, word), bits, KOLK_ACQ_REL_);
    if (!(kolk_load_(summary, KOLK_RELAXED_) & bit)) kolk_fetch_or_(summary, bit, KOLK_RELAXED_);
}

/* Takes all slots of a word; the word may be empty. */
static inline uint64_t kolk_slot_set_take_word_(const kolk_slot_set_ *set, uint32_t word) {
    kolk_fetch_and_(kolk_slot_set_summary_(set, word), ~kolk_bits_at_(word), KOLK_RELAXED_);
    return kolk_exchange_(kolk_slot_set_word_(set, word), 0, KOLK_ACQ_REL_); /* partner: kolk_slot_set_put_ */
}

/* Takes the n lowest slots of a word, or as many as there are; 0 if the word is empty. */
static inline uint64_t kolk_slot_set_take_some_(const kolk_slot_set_ *set, uint32_t word, uint32_t n) {
    uint64_t *at = kolk_slot_set_word_(set, word), bits = kolk_load_(at, KOLK_RELAXED_);
    while (bits) {
        uint64_t some = kolk_bits_lowest_n_(bits, n);
        if (kolk_compare_exchange_weak_(at, &bits, bits ^ some, KOLK_ACQ_REL_, KOLK_RELAXED_)) return some;
    }
    return 0;
}

/* ---- Search ------------------------------------------------------------------------------------------------------ */

/* A walk over the words whose summary bit is set. It starts at one word, wraps round, and ends before that word. It
 * reads each summary once (the first one twice), at different moments, so it is not a snapshot. */
typedef struct kolk_slot_walk_ {
    const kolk_slot_set_ *set;
    uint64_t left;              /* bits of sheet `at`'s summary that are still to be visited */
    uint64_t before;            /* bits of the first sheet's words before the start */
    uint32_t at, looks, sheets; /* the current sheet, the summaries still to be read, the number of sheets */
} kolk_slot_walk_;

/* `words` is the number of words that are in use. */
static inline kolk_slot_walk_ kolk_slot_walk_from_(const kolk_slot_set_ *set, uint64_t words, uint32_t word) {
    uint32_t n = (uint32_t)kolk_bits_words_(words), at = word / 64 < n ? word / 64 : 0;
    uint64_t before = kolk_bits_at_(word) - 1;
    uint64_t left = n ? kolk_load_(kolk_slot_set_sheet_(set, at), KOLK_RELAXED_) & ~before : 0;
    return (kolk_slot_walk_){.set = set, .left = left, .before = before, .at = at, .looks = n, .sheets = n};
}

/* Goes to the next word; false at the end. */
static inline bool kolk_slot_walk_next_(kolk_slot_walk_ *walk, uint32_t *word) {
    for (; !walk->left; walk->looks--) {
        if (walk->looks == 0) return false;
        walk->at = walk->at + 1 < walk->sheets ? walk->at + 1 : 0;
        walk->left = kolk_load_(kolk_slot_set_sheet_(walk->set, walk->at), KOLK_RELAXED_);
        if (walk->looks == 1) walk->left &= walk->before;
    }
    *word = walk->at * 64 + kolk_bits_lowest_(walk->left);
    walk->left &= walk->left - 1;
    return true;
}

/* ---- All slots --------------------------------------------------------------------------------------------------- */

/* Receives slots of one word; bit n is the slot `slot` + n. */
typedef void kolk_slots_taker_(void *context, uint32_t slot, uint64_t bits);

/* Takes all slots out of a set whose words have 64 slots each, `part` bits at a time. A part leaves the set before the
  * taker receives it, because a fork's child may have to continue, and a slot that it finds in the set must not be
  * anywhere else. Returns false if there were none. No other thread may use the set meanwhile. */
static inline bool kolk_slot_set_drain_(const kolk_slot_set_ *set, uint64_t words, unsigned part,
                                        kolk_slots_taker_ *taker, void *context) {
    KOLK_ASSERT_(part >= 1 && part <= 64);
    KOLK_ASSERT_((part & (part - 1)) == 0);
    uint64_t mask = ~UINT64_C(0) >> (64 - part);
    bool any = false;
    for (uint64_t sheet = 0; sheet < kolk_bits_words_(words); sheet++) {
        uint64_t left = kolk_load_(kolk_slot_set_sheet_(set, sheet), KOLK_RELAXED_);
        if (!left) continue;
        for (any = true; left; left &= left - 1) {
            uint32_t word = (uint32_t)sheet * 64 + kolk_bits_lowest_(left);
            uint64_t *at = kolk_slot_set_word_(set, word), bits = kolk_load_(at, KOLK_RELAXED_);
            for (unsigned first = 0; first < 64; first += part) {
                uint64_t some = bits >> first & mask;
                if (!some) continue;
                kolk_fetch_and_(at, ~(mask << first), KOLK_RELAXED_);
                taker(context, word * 64 + first, some);
            }
        }
        kolk_store_(kolk_slot_set_sheet_(set, sheet), 0, KOLK_RELAXED_);
    }
    return any;
}

/* The number of slots: exact while no thread changes the set, otherwise approximate. */
static inline uint64_t kolk_slot_set_count_(const kolk_slot_set_ *set, uint64_t words) {
    uint64_t count = 0;
    for (uint64_t at = 0; at < words; at++)
        count += kolk_bits_count_(kolk_load_(kolk_slot_set_word_(set, at), KOLK_RELAXED_));
    return count;
}

#endif
