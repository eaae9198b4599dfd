/* handle.h: the tags in handles. base.inl assembles the bits of a handle.
 *
 *     | generation, 32 bits | slot, in the bits that max_capacity needs, below |
 *                           | tag, its lowest bit on top                       |     XORed
 *
 * So a handle of another pool decodes to a slot with bits set above those that max_capacity needs. */
#ifndef KOLK_SRC_HANDLE_H
#define KOLK_SRC_HANDLE_H

#include "kolk/base.inl"

#include "../base/bits.h"
#include "../base/hash.h"

/* The number of bits that an index below n needs. */
static inline unsigned kolk_index_bits_(uint32_t n) {
    return n > 1 ? kolk_bits_highest_32_(n - 1) + 1 : 0;
}

/* Reverses the tag's bits, or those of the name's hash if the tag is 0, so that even small tags differ in the bits
 * above those of an index. The result does not depend on the capacity, so handles can be loaded into a larger pool. */
static inline uint32_t kolk_tag_bits_(uint32_t tag, const char *name) {
    if (!tag && name) tag = kolk_hash_(name);
    tag = tag >> 16 | tag << 16; /* swap the halves, then the halves of each half, and so on */
    tag = (tag >> 8 & 0x00ff00ff) | (tag & 0x00ff00ff) << 8;
    tag = (tag >> 4 & 0x0f0f0f0f) | (tag & 0x0f0f0f0f) << 4;
    tag = (tag >> 2 & 0x33333333) | (tag & 0x33333333) << 2;
    return (tag >> 1 & 0x55555555) | (tag & 0x55555555) << 1;
}

/* For a rebind: does a descriptor with this tag leave these bits as they are? 0 means the same as at init. */
static inline bool kolk_is_tag_kept_(uint32_t tag, uint32_t bits) {
    return !tag || kolk_tag_bits_(tag, NULL) == bits;
}

/* Does the handle decode to a slot beyond max_capacity? Then it has a different tag. */
static inline bool kolk_handle_is_foreign_(kolk_handle handle, uint32_t tag, uint32_t max_capacity) {
    unsigned bits = kolk_index_bits_(max_capacity);
    return bits < 32 && kolk_handle_index_(handle, tag) >> bits != 0;
}

#endif
