/* handle.h: what the tag does to the indices in handles. */
#ifndef KOLK_SRC_HANDLE_H
#define KOLK_SRC_HANDLE_H

#include "kolk/base.h"

#include "hash.h"

/* Bits that an index below n needs. */
static inline unsigned kolk_index_bits(uint32_t n) {
    return n > 1 ? 32 - (unsigned)__builtin_clz(n - 1) : 0;
}

/* The tag's bits (0: those of the name's hash) from the top of the word down: small tags differ above the bits of an index,
 * whatever the capacities. The same in pools of all capacities, so that handles can be loaded into a larger pool. */
static inline uint32_t kolk_tag_bits(uint32_t tag, const char *name) {
    uint32_t reversed = 0;
    if (!tag && name) tag = kolk_hash(name);
    for (unsigned n = 0; n < 32; n++, tag >>= 1) reversed |= (tag & 1) << (31 - n);
    return reversed;
}

/* Is the index of a handle, without the tag, beyond all that max_capacity allows? Then the handle had another tag. */
static inline bool kolk_is_of_another(uint32_t index, uint32_t max_capacity) {
    unsigned bits = kolk_index_bits(max_capacity);
    return bits < 32 && index >> bits != 0;
}

/* A statistic in something const: several threads may count here, and lose some. */
static inline void kolk_count_one(const uint32_t *counter) {
    uint32_t *at = (uint32_t *)(uintptr_t)counter;
    __atomic_store_n(at, __atomic_load_n(at, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

#endif
