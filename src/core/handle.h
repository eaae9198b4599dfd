/* handle.h: the tags in handles. How the bits of a handle are put together is in base.inl.
 *
 *     | generation, 32 bits | slot, in the bits that max_capacity needs, below |
 *                           | tag, its lowest bit on top                       |     XORed
 *
 * So the slot that a handle of another pool leads to has bits above those that max_capacity needs. */
#ifndef KOLK_SRC_HANDLE_H
#define KOLK_SRC_HANDLE_H

#include "kolk/base.inl"

#include "hash.h"

/* Bits that an index below n needs. */
static inline unsigned kolk_index_bits(uint32_t n) {
    return n > 1 ? 32 - (unsigned)__builtin_clz(n - 1) : 0;
}

/* The tag's bits (0: those of the name's hash) from the top of the word down: small tags differ above the bits of an
 * index, whatever the capacities. The same in pools of all capacities, so that handles can be loaded into a larger
 * pool. */
static inline uint32_t kolk_tag_bits(uint32_t tag, const char *name) {
    if (!tag && name) tag = kolk_hash(name);
    tag = tag >> 16 | tag << 16; /* halves change places, then halves of these, and so on */
    tag = (tag >> 8 & 0x00ff00ff) | (tag & 0x00ff00ff) << 8;
    tag = (tag >> 4 & 0x0f0f0f0f) | (tag & 0x0f0f0f0f) << 4;
    tag = (tag >> 2 & 0x33333333) | (tag & 0x33333333) << 2;
    return (tag >> 1 & 0x55555555) | (tag & 0x55555555) << 1;
}

/* Does a handle lead beyond all slots that max_capacity allows? Then it has another tag. */
static inline bool kolk_handle_is_foreign(kolk_handle handle, uint32_t tag, uint32_t max_capacity) {
    unsigned bits = kolk_index_bits(max_capacity);
    return bits < 32 && kolk_handle_index(handle, tag) >> bits != 0;
}

#endif
