/* with: -O2 -fwrapv src */
/* kolk_exact_slot_ and kolk_inverse_ (base.inl), by which a free finds its slot. For words of 16 bits, it tries all
 * strides and all offsets. ARCHITECTURE.md has the proof for words of all widths. */
#define KOLK_EXTERN
#define KOLK_BASE_INLINE static inline
#include "../help/test.h"

/* The library's functions, which no header declares. */
uintptr_t kolk_inverse_(uintptr_t odd);
uintptr_t kolk_exact_slot_(uintptr_t offset, unsigned shift, uintptr_t inverse);

/* The same source, compiled for words of 16 bits. C promotes these to int, so this program is
 * compiled with -fwrapv: products and shifts beyond an int are right in their low 16 bits. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#define uintptr_t        uint16_t
#define kolk_inverse_    inverse_16
#define kolk_exact_slot_ exact_slot_16
#include "kolk/base.inl"
#undef uintptr_t
#undef kolk_inverse_
#undef kolk_exact_slot_
#pragma GCC diagnostic pop

static void test_each_inverse_of_16_bits(void **state) {
    for (uint32_t odd = 1; odd <= UINT16_MAX; odd += 2)
        assert_int_equal((uint16_t)(odd * inverse_16((uint16_t)odd)), 1);
}

/* All n slots of this stride that begin within 2^16 bytes have their numbers, and all other offsets have numbers above
 * them: otherwise more than n offsets would have numbers below n. So the same holds for any fewer slots. */
static void try_each_offset(uint32_t stride) {
    unsigned shift = 0;
    while (!(stride >> shift & 1)) shift++;
    uint16_t inverse = inverse_16((uint16_t)(stride >> shift)), last = (uint16_t)(UINT16_MAX / stride);
    for (uint32_t k = 0; k <= last; k++) {
        uint16_t slot = exact_slot_16((uint16_t)(k * stride), shift, inverse);
        if (slot != k) fail_msg("slot %" PRIu32 " of stride %" PRIu32 " is %u", k, stride, slot);
    }
    uint32_t accepted = 0;
    for (uint32_t offset = 0; offset <= UINT16_MAX; offset++)
        accepted += exact_slot_16((uint16_t)offset, shift, inverse) <= last;
    if (accepted != last + 1u)
        fail_msg("stride %" PRIu32 ": %" PRIu32 " offsets of %u slots", stride, accepted, last + 1u);
}

/* promise: README.md "accepts the starts of slots" */
static void test_each_stride_and_offset_of_16_bits(void **state) {
    uint32_t apart = emulator() ? 61 : 1;
    for (uint32_t stride = 1; stride <= UINT16_MAX; stride += apart) try_each_offset(stride);
    for (uint32_t stride = 1; stride <= UINT16_MAX; stride *= 2) try_each_offset(stride);
}

/* What the library has, for its own words. promise: README.md "accepts the starts of slots" */
static void test_some_of_all_bits(void **state) {
    for (uintptr_t odd = 1; odd < 5000; odd += 2) {
        assert_int_equal((uintptr_t)(odd * kolk_inverse_(odd)), 1);
        assert_int_equal((uintptr_t)(-odd * kolk_inverse_(-odd)), 1);
    }
    for (unsigned shift = 0; shift < 8; shift++) {
        for (uintptr_t odd = 1; odd < 40; odd += 2) {
            uintptr_t stride = odd << shift, slots = 10;
            for (uintptr_t offset = 0; offset < slots * stride; offset++) {
                uintptr_t slot = kolk_exact_slot_(offset, shift, kolk_inverse_(odd));
                assert_true(offset % stride ? slot >= slots : slot == offset / stride);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_inverse_of_16_bits),
                                       cmocka_unit_test(test_each_stride_and_offset_of_16_bits),
                                       cmocka_unit_test(test_some_of_all_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
