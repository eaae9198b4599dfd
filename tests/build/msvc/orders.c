/* Functions whose machine code msvc.sh looks at. */
#include "base/atomics.h"

uint32_t load_relaxed(const uint32_t *at) {
    return kolk_raw_load_(at, KOLK_RELAXED_);
}

/* Without a fence, the compiler would read *plain only once. */
uint32_t load_acquire(const uint32_t *at, const uint32_t *plain) {
    uint32_t before = *plain;
    return kolk_raw_load_(at, KOLK_ACQUIRE_) + *plain - before;
}

uint32_t load_seq_cst(const uint32_t *at) {
    return kolk_raw_load_(at, KOLK_SEQ_CST_);
}

void store_relaxed(uint32_t *at) {
    kolk_raw_store_(at, 1, KOLK_RELAXED_);
}

/* Without a fence, the compiler would write *plain only once. */
void store_release(uint32_t *at, uint32_t *plain) {
    *plain = 1;
    kolk_raw_store_(at, 1, KOLK_RELEASE_);
    *plain = 2;
}

void publish(uint32_t *at, uint32_t *plain) {
    *plain = 1;
    KOLK_PUBLISH_(at, 1);
    *plain = 2;
}

void store_seq_cst(uint32_t *at) {
    kolk_raw_store_(at, 1, KOLK_SEQ_CST_);
}

uint64_t load_64(const uint64_t *at) {
    return kolk_raw_load_(at, KOLK_RELAXED_);
}

void store_64(uint64_t *at) {
    kolk_raw_store_(at, 1, KOLK_RELAXED_);
}

void folded(uint32_t *at) {
    *at = KOLK_FOLDED_LOWEST_BIT_(UINT64_C(48) << 32);
}
