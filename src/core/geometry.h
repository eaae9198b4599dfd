/* geometry.h: slots of one size, side by side in memory.
 *
 *     slots    | 0 ........ | 1 ........ | 2 ........ | ... | n - 1 .... |
 *              |<- stride ->|    ^ slot 1, `inside` bytes behind its start
 *
 * kolk_exact_slot_ (base.inl) finds the slot that starts at a given pointer. It divides by the stride, which is odd <<
 * shift. */
#ifndef KOLK_SRC_GEOMETRY_H
#define KOLK_SRC_GEOMETRY_H

#include "kolk/base.inl"

#include "../base/assert.h"

#define KOLK_NO_SLOT_ UINT32_MAX

/* Computes the two numbers that exact division by this stride needs. */
static inline void kolk_set_divisor_(size_t stride, uint8_t *shift, uintptr_t *inverse) {
    KOLK_ASSERT_(stride != 0);
    *shift = (uint8_t)KOLK_LOWEST_BIT_(stride);
    *inverse = kolk_inverse_(stride >> *shift);
    KOLK_ASSERT_((uintptr_t)(stride >> *shift) * *inverse == 1);
}

/* Returns which of n slots a pointer points into; *inside becomes the pointer's distance from the slot's start. If it
 * points into none, returns KOLK_NO_SLOT_, and *inside becomes 0. */
static inline uint32_t kolk_locate_(const void *slots, size_t stride, uint32_t n, const void *pointer,
                                    uint64_t *inside) {
    uintptr_t offset = (uintptr_t)pointer - (uintptr_t)slots;
    *inside = 0;
    KOLK_ASSERT_(slots || n == 0);
    if (offset >= (uint64_t)n * stride) return KOLK_NO_SLOT_;
    *inside = offset % stride;
    return (uint32_t)(offset / stride);
}

#endif
