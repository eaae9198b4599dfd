/* interlocked.h: the raw operations of atomics.h for Microsoft's compiler, which has atomic types in C only with an
 * experimental option. Only atomics.h includes it.
 *
 *     load                     a volatile read; then a fence (kolk/compiler.h), unless the load is relaxed; also a
 *                              fence before it, if it is seq_cst
 *     store                    a fence, unless the store is relaxed; then a volatile write
 *     seq_cst store            a compare-and-exchange, repeated until it succeeds
 *     exchange, fetch_...      the same
 *     compare_exchange         one compare-and-exchange
 *
 * A compare-and-exchange is a full barrier on each processor, so it serves every order. A volatile access of an aligned
 * word is atomic. 32-bit x86 has no such access to 64 bits: a compare-and-exchange loads and stores them, so they must
 * not lie in read-only memory. The size is a constant at each use, and all but one branch of a function vanish. */
#ifndef KOLK_SRC_INTERLOCKED_H
#define KOLK_SRC_INTERLOCKED_H

#include "kolk/base.h"

typedef enum kolk_order_ { KOLK_RELAXED_, KOLK_ACQUIRE_, KOLK_RELEASE_, KOLK_ACQ_REL_, KOLK_SEQ_CST_ } kolk_order_;

typedef enum kolk_change_ { KOLK_TO_SET_, KOLK_TO_ADD_, KOLK_TO_OR_, KOLK_TO_AND_ } kolk_change_;

/* Returns the old value. If that was `expected`, the new one is `desired`. */
static __forceinline uint64_t kolk_interlocked_(volatile void *at, size_t size, uint64_t expected, uint64_t desired) {
    if (size == 1)
        return (uint8_t)_InterlockedCompareExchange8((volatile char *)at, (char)(uint8_t)desired,
                                                     (char)(uint8_t)expected);
    if (size == 4)
        return (uint32_t)_InterlockedCompareExchange((volatile long *)at, (long)(uint32_t)desired,
                                                     (long)(uint32_t)expected);
    return (uint64_t)_InterlockedCompareExchange64((volatile long long *)at, (long long)desired, (long long)expected);
}

static __forceinline uint64_t kolk_interlocked_load_(const volatile void *at, size_t size, kolk_order_ order) {
    uint64_t value;
    if (order == KOLK_SEQ_CST_) kolk_fence_();
    if (size == 1)
        value = *(const volatile uint8_t *)at;
    else if (size == 4)
        value = *(const volatile uint32_t *)at;
    else if (sizeof(void *) == 8)
        value = *(const volatile uint64_t *)at;
    else
        value = kolk_interlocked_((volatile void *)(uintptr_t)at, size, 0, 0);
    if (order != KOLK_RELAXED_) kolk_fence_();
    return value;
}

/* Returns the old value. */
static __forceinline uint64_t kolk_interlocked_change_(volatile void *at, size_t size, kolk_change_ change,
                                                       uint64_t by) {
    uint64_t old = kolk_interlocked_load_(at, size, KOLK_RELAXED_);
    for (;;) {
        uint64_t changed = change == KOLK_TO_SET_   ? by
                           : change == KOLK_TO_ADD_ ? old + by
                           : change == KOLK_TO_OR_  ? old | by
                                                    : old & by;
        uint64_t seen = kolk_interlocked_(at, size, old, changed);
        if (seen == old) return old;
        old = seen;
    }
}

static __forceinline void kolk_interlocked_store_(volatile void *at, size_t size, uint64_t value, kolk_order_ order) {
    if (order == KOLK_SEQ_CST_ || size > sizeof(void *)) {
        kolk_interlocked_change_(at, size, KOLK_TO_SET_, value);
        return;
    }
    if (order != KOLK_RELAXED_) kolk_fence_();
    if (size == 1)
        *(volatile uint8_t *)at = (uint8_t)value;
    else if (size == 4)
        *(volatile uint32_t *)at = (uint32_t)value;
    else
        *(volatile uint64_t *)at = value;
}

static __forceinline bool kolk_interlocked_compare_(volatile void *at, size_t size, void *expected, uint64_t desired) {
    uint64_t old = kolk_interlocked_load_(expected, size, KOLK_RELAXED_);
    uint64_t seen = kolk_interlocked_(at, size, old, desired);
    if (seen != old) kolk_interlocked_store_(expected, size, seen, KOLK_RELAXED_);
    return seen == old;
}

static inline bool kolk_as_bool_(uint64_t value) {
    return value != 0;
}

static inline void *kolk_as_pointer_(uint64_t value) {
    return (void *)(uintptr_t)value;
}

/* Converts a result to the atomic's type, which is one of these numbers or a pointer. The comma operator drops const
 * from the type. */
#define KOLK_OF_TYPE_(at, result)                                                                                      \
    (_Generic(((void)0, *(at)), bool                                                                                   \
              : kolk_as_bool_, uint8_t                                                                                 \
              : kolk_as_8_, uint32_t                                                                                   \
              : kolk_as_32_, uint64_t                                                                                  \
              : kolk_as_64_, int64_t                                                                                   \
              : kolk_as_signed_, default                                                                               \
              : kolk_as_pointer_)(result))
#define KOLK_CHANGE_(at, change, by) KOLK_OF_TYPE_(at, kolk_interlocked_change_((at), sizeof *(at), change, by))

#define kolk_raw_load_(at, order)         KOLK_OF_TYPE_(at, kolk_interlocked_load_((at), sizeof *(at), order))
#define kolk_raw_store_(at, value, order) kolk_interlocked_store_((at), sizeof *(at), (uint64_t)(value), order)

#define kolk_raw_exchange_(at, value, order)  KOLK_CHANGE_(at, KOLK_TO_SET_, (uint64_t)(value))
#define kolk_raw_fetch_add_(at, value, order) KOLK_CHANGE_(at, KOLK_TO_ADD_, (uint64_t)(value))
#define kolk_raw_fetch_sub_(at, value, order) KOLK_CHANGE_(at, KOLK_TO_ADD_, ~(uint64_t)(value) + 1)
#define kolk_raw_fetch_or_(at, value, order)  KOLK_CHANGE_(at, KOLK_TO_OR_, (uint64_t)(value))
#define kolk_raw_fetch_and_(at, value, order) KOLK_CHANGE_(at, KOLK_TO_AND_, (uint64_t)(value))

#define kolk_raw_compare_exchange_(at, expected, desired, success, failure)                                            \
    kolk_interlocked_compare_((at), sizeof *(at), (expected), (uint64_t)(desired))
#define kolk_raw_compare_exchange_weak_ kolk_raw_compare_exchange_

#endif
