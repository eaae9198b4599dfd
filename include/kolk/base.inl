/* SPDX-License-Identifier: Zlib */
/* kolk/base.inl: the bodies of base.h's functions for handles, and functions that the fast paths of several headers
 * share. */
#ifndef KOLK_BASE_INL
#define KOLK_BASE_INL

#include "base.h"

#ifndef KOLK_GENERATION_MAX
#define KOLK_GENERATION_MAX UINT32_MAX /* 2^n - 1; tests lower it, also in the library, to wear slots out */
#endif

#ifdef __cplusplus
extern "C" {
#endif
KOLK_BODIES_BEGIN_

/* Returns the inverse of an odd number modulo 2^(bits of a word). The first guess has 5 correct bits, and each step of
 * Newton's iteration doubles their number (Warren, Hacker's Delight, 2nd ed. 2012, 10-16). */
KOLK_BASE_INLINE uintptr_t kolk_inverse_(uintptr_t odd) {
    uintptr_t inverse = (3 * odd) ^ 2;
    inverse *= 2 - odd * inverse;
    inverse *= 2 - odd * inverse;
    inverse *= 2 - odd * inverse;
    inverse *= 2 - odd * inverse;
    return inverse;
}

/* Returns the slot that begins at `offset`, or a number above all slots. It divides exactly by the stride, which is odd
 * << shift. Rotating right by shift moves stray low bits to the top. Multiplying by the inverse of odd maps the
 * multiples of odd, and nothing else, to small numbers. So one comparison with a bound refuses foreign, misaligned and
 * interior pointers (Granlund and Montgomery, Division by Invariant Integers using Multiplication, 1994, section 9).
 * ARCHITECTURE.md has the proof. */
KOLK_BASE_INLINE uintptr_t kolk_exact_slot_(uintptr_t offset, unsigned shift, uintptr_t inverse) {
    unsigned width = 8 * (unsigned)sizeof offset;
    return ((offset >> shift) | (offset << ((width - shift) % width))) * inverse;
}

KOLK_BASE_INLINE bool kolk_handle_is_null(kolk_handle handle) {
    return handle.bits == 0;
}

KOLK_BASE_INLINE bool kolk_handle_equal(kolk_handle a, kolk_handle b) {
    return a.bits == b.bits;
}

KOLK_BASE_INLINE uint64_t kolk_handle_pack(kolk_handle handle) {
    return handle.bits;
}

KOLK_BASE_INLINE kolk_handle kolk_handle_unpack(uint64_t bits) {
    kolk_handle handle = {bits};
    return handle;
}

/* Joins the two halves of a handle's bits (base.h): the generation, and the index XORed with the pool's tag. */
KOLK_BASE_INLINE kolk_handle kolk_handle_make_(uint32_t generation, uint32_t index, uint32_t tag) {
    kolk_handle handle = {(uint64_t)generation << 32 | (index ^ tag)};
    return handle;
}

KOLK_BASE_INLINE uint32_t kolk_handle_generation_(kolk_handle handle) {
    return (uint32_t)(handle.bits >> 32);
}

/* Returns the index. For a handle of a pool with another tag, it is beyond all slots, or the generation differs. */
KOLK_BASE_INLINE uint32_t kolk_handle_index_(kolk_handle handle, uint32_t tag) {
    return (uint32_t)handle.bits ^ tag;
}

KOLK_BODIES_END_
#ifdef __cplusplus
}
#endif
#endif
