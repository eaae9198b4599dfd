/* bits.h: scans over 64-bit words, and the summary levels above them.
 *
 *     holes[2]                                1            one word for 64^3 slots
 *     holes[1]            1 0 0 1 ...                      one bit per word of holes[0], set if the word is not 0
 *     holes[0]   0010...  0000...  0000...  1100...        one bit per slot
 *
 * With n levels, the lowest set bit of 64^n bits is found in n steps: at each level, the lowest set bit of one word
 * determines the word to look at in the level below. */
#ifndef KOLK_SRC_BITS_H
#define KOLK_SRC_BITS_H

#include "assert.h"

static inline unsigned kolk_bits_lowest_(uint64_t word) {
    KOLK_ASSERT_(word != 0);
#if UINTPTR_MAX == UINT32_MAX && !KOLK_MSVC_ /* gcc would call a function of its own, twice as long */
    return (uint32_t)word ? (unsigned)__builtin_ctz((uint32_t)word)
                          : 32 + (unsigned)__builtin_ctz((uint32_t)(word >> 32));
#else
    return KOLK_LOWEST_BIT_(word);
#endif
}

#if !KOLK_MSVC_

/* The index of the highest set bit of a word, which must not be 0; and the number of set bits. */
#define kolk_bits_highest_(word)    (63 - (unsigned)__builtin_clzll(word))
#define kolk_bits_highest_32_(word) (31 - (unsigned)__builtin_clz(word))
#define kolk_bits_count_(word)      ((unsigned)__builtin_popcountll(word))

#else

static inline unsigned kolk_bits_highest_32_(uint32_t word) {
    unsigned long index;
    _BitScanReverse(&index, word);
    return (unsigned)index;
}

static inline unsigned kolk_bits_highest_(uint64_t word) {
    return word >> 32 ? 32 + kolk_bits_highest_32_((uint32_t)(word >> 32)) : kolk_bits_highest_32_((uint32_t)word);
}

/* Adds up pairs, fours and bytes (Warren, Hacker's Delight, 2nd ed. 2012, 5-1). __popcnt64 would be shorter, but not
 * all processors have it. */
static inline unsigned kolk_bits_count_(uint64_t word) {
    word -= word >> 1 & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(word * UINT64_C(0x0101010101010101) >> 56);
}

#endif

/* The n lowest set bits of a word, or all if there are fewer; n is at least 1. */
static inline uint64_t kolk_bits_lowest_n_(uint64_t word, uint32_t n) {
    uint64_t rest = word;
    do rest &= rest - 1;
    while (--n && rest);
    return word ^ rest;
}

/* The number of words that hold n bits. */
static inline uint64_t kolk_bits_words_(uint64_t n) {
    return (n + 63) / 64;
}

static inline uint64_t kolk_bits_at_(uint64_t index) {
    return UINT64_C(1) << (index % 64);
}

/* The part of a word in which a single bit is read or written: a half, where a 64-bit shift takes many instructions and
 * the lower half comes first. */
#if UINTPTR_MAX == UINT32_MAX && KOLK_IS_LITTLE_ENDIAN_
typedef uint32_t KOLK_MAY_ALIAS_ kolk_bits_part_;
#else
typedef uint64_t kolk_bits_part_;
#endif
#define KOLK_PART_ (8 * sizeof(kolk_bits_part_))

static inline bool kolk_bits_get_(const uint64_t *words, uint64_t index) {
    return ((const kolk_bits_part_ *)words)[(size_t)index / KOLK_PART_] >> (size_t)index % KOLK_PART_ & 1;
}

static inline void kolk_bits_set_(uint64_t *words, uint64_t index) {
    ((kolk_bits_part_ *)words)[(size_t)index / KOLK_PART_] |= (kolk_bits_part_)1 << (size_t)index % KOLK_PART_;
}

static inline void kolk_bits_clear_(uint64_t *words, uint64_t index) {
    ((kolk_bits_part_ *)words)[(size_t)index / KOLK_PART_] &= ~((kolk_bits_part_)1 << (size_t)index % KOLK_PART_);
}

/* Returns the first index in [from, end) whose bit is `value`, or `end` if there is none. Reads whole words. */
static inline uint64_t kolk_bits_find_(const uint64_t *words, bool value, uint64_t from, uint64_t end) {
    if (from >= end) return end;
    uint64_t flip = value ? 0 : ~UINT64_C(0);
    uint64_t word = (words[from / 64] ^ flip) & (~UINT64_C(0) << (from % 64));
    while (!word) {
        from = (from / 64 + 1) * 64;
        if (from >= end) return end;
        word = words[from / 64] ^ flip;
    }
    uint64_t index = from / 64 * 64 + kolk_bits_lowest_(word);
    return index < end ? index : end;
}

static inline void kolk_levels_set_(uint64_t *const *levels, unsigned n, size_t index) {
    for (unsigned k = 0; k < n; k++, index /= 64) kolk_bits_set_(levels[k], index);
}

static inline void kolk_levels_clear_(uint64_t *const *levels, unsigned n, size_t index) {
    for (unsigned k = 0; k < n; k++, index /= 64) {
        kolk_bits_clear_(levels[k], index);
        if (levels[k][index / 64]) return; /* other bits of the word are set, so the levels above stay as they are */
    }
}

/* Returns the first index in [from, end) whose bit is set, or `end` if there is none. Reads at most two words of each
 * level, none of them behind those of the first `end` bits. No bit from `end` on may be set in these. */
static inline uint64_t kolk_levels_find_(uint64_t *const *levels, uint64_t from, uint64_t end) {
    uint64_t at = from, last = end;
    for (unsigned k = 0; at < last; k++, at = at / 64 + 1, last = kolk_bits_words_(last)) {
        uint64_t word = levels[k][at / 64] & (~UINT64_C(0) << (at % 64));
        if (!word) continue;
        at = at / 64 * 64 + kolk_bits_lowest_(word);
        while (k-- > 0) at = at * 64 + kolk_bits_lowest_(levels[k][at]);
        return at;
    }
    return end;
}

/* Clears the lowest set bit and returns its index. At least one bit must be set. */
static inline size_t kolk_levels_take_lowest_(uint64_t *const *levels, unsigned n) {
    KOLK_ASSERT_(n > 0);
    size_t index = 0;
    for (unsigned k = n; k-- > 0;) index = index * 64 + kolk_bits_lowest_(levels[k][index]);
    kolk_levels_clear_(levels, n, index);
    return index;
}

#endif
