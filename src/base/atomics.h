/* atomics.h: all operations through which threads communicate.
 *
 *     uint64_t tail = kolk_load_(&queue->tail, KOLK_RELAXED_);
 *     if (kolk_compare_exchange_(&queue->tail, &tail, tail + 1, KOLK_RELAXED_, KOLK_RELAXED_)) {
 *         KOLK_PLAIN_WRITE_(cell->item, size);
 *         memcpy(cell->item, item, size);
 *         kolk_store_(&cell->turn, turn + 1, KOLK_RELEASE_);      // partner: the acquire in kolk_queue_pop
 *     }
 *
 * An atomic is a plain uint8_t, uint32_t or uint64_t (size_t and uintptr_t are among them), aligned to its size: on
 * 32-bit targets a uint64_t in a struct needs _Alignas(8) (alignas in C++). It cannot be _Atomic, because public
 * headers must compile as C++17, which lacks that keyword. <stdatomic.h> does not help, because its functions take only
 * _Atomic objects, whose size and alignment may differ from those of the plain types. So these macros wrap the builtins
 * of gcc and clang that <stdatomic.h> itself uses; interlocked.h has the same operations for Microsoft's compiler. They
 * are macros so that the memory order is a constant at each use, even without optimisation.
 *
 * There are no fences, because ThreadSanitizer does not see them. Also, only an operation that has a memory order of
 * its own has a partner that a comment can name.
 *
 * With KOLK_SCHEDULED, which only tests define, tests/help/schedule.h may switch threads at each operation, a load may
 * return an older value that another processor could still see, and the memory passed to KOLK_PLAIN_READ_ and
 * KOLK_PLAIN_WRITE_ is checked for races. */
#ifndef KOLK_SRC_ATOMICS_H
#define KOLK_SRC_ATOMICS_H

#include "kolk/base.h"

#if KOLK_MSVC_ || defined(KOLK_SCHEDULED)
/* There, functions return every result as 64 bits. These convert it to the atomic's type. */
static inline uint8_t kolk_as_8_(uint64_t value) {
    return (uint8_t)value;
}

static inline uint32_t kolk_as_32_(uint64_t value) {
    return (uint32_t)value;
}

static inline uint64_t kolk_as_64_(uint64_t value) {
    return value;
}

static inline int64_t kolk_as_signed_(uint64_t value) {
    return (int64_t)value;
}
#endif

#if KOLK_MSVC_
#include "interlocked.h"
#define KOLK_ATOMIC_64_ 2
#else

#if defined(__GCC_ATOMIC_LLONG_LOCK_FREE)
#define KOLK_ATOMIC_64_ __GCC_ATOMIC_LLONG_LOCK_FREE
#elif defined(__CLANG_ATOMIC_LLONG_LOCK_FREE) /* clang defines only this one when it imitates Microsoft's compiler */
#define KOLK_ATOMIC_64_ __CLANG_ATOMIC_LLONG_LOCK_FREE
#else
#define KOLK_ATOMIC_64_ 0
#endif

#define KOLK_RELAXED_                         __ATOMIC_RELAXED
#define KOLK_ACQUIRE_                         __ATOMIC_ACQUIRE
#define KOLK_RELEASE_                         __ATOMIC_RELEASE
#define KOLK_ACQ_REL_                         __ATOMIC_ACQ_REL
#define KOLK_SEQ_CST_                         __ATOMIC_SEQ_CST

/* The operations themselves. Used directly, they are hidden from scheduled and chaos tests, and may have atomics of
 * other types, such as bool and pointers. */
#define kolk_raw_load_(at, order)             __atomic_load_n((at), (order))
#define kolk_raw_store_(at, value, order)     __atomic_store_n((at), (value), (order))
#define kolk_raw_exchange_(at, value, order)  __atomic_exchange_n((at), (value), (order))
#define kolk_raw_fetch_add_(at, value, order) __atomic_fetch_add((at), (value), (order))
#define kolk_raw_fetch_sub_(at, value, order) __atomic_fetch_sub((at), (value), (order))
#define kolk_raw_fetch_or_(at, value, order)  __atomic_fetch_or((at), (value), (order))
#define kolk_raw_fetch_and_(at, value, order) __atomic_fetch_and((at), (value), (order))
#define kolk_raw_compare_exchange_(at, expected, desired, success, failure)                                            \
    __atomic_compare_exchange_n((at), (expected), (desired), false, (success), (failure))
#define kolk_raw_compare_exchange_weak_(at, expected, desired, success, failure)                                       \
    __atomic_compare_exchange_n((at), (expected), (desired), true, (success), (failure))

#endif

#if KOLK_HOSTED && KOLK_ATOMIC_64_ < 2
#error "kolk's queue and shared pool need atomic operations on 64 bits without a lock"
#endif

#ifndef KOLK_SCHEDULED

/* With KOLK_CHAOS, which only tests define, tests/help/chaos.h may interrupt a thread before each of these
 * operations. */
#ifdef KOLK_CHAOS
void kolk_chaos_(void);
#define KOLK_ONE_(operation) (kolk_chaos_(), operation)
#else
#define KOLK_ONE_(operation) operation
#endif

#define kolk_load_(at, order)            KOLK_ONE_(kolk_raw_load_(at, order))
#define kolk_store_(at, value, order)    KOLK_ONE_(kolk_raw_store_(at, value, order))
#define kolk_exchange_(at, value, order) KOLK_ONE_(kolk_raw_exchange_(at, value, order))

/* These return the old value. */
#define kolk_fetch_add_(at, value, order) KOLK_ONE_(kolk_raw_fetch_add_(at, value, order))
#define kolk_fetch_sub_(at, value, order) KOLK_ONE_(kolk_raw_fetch_sub_(at, value, order))
#define kolk_fetch_or_(at, value, order)  KOLK_ONE_(kolk_raw_fetch_or_(at, value, order))
#define kolk_fetch_and_(at, value, order) KOLK_ONE_(kolk_raw_fetch_and_(at, value, order))

/* Returns true if *at was *expected and is now `desired`. Otherwise *expected becomes the value of *at. The weak
 * variant may also fail spuriously; it is cheaper in a loop. The last two arguments are the orders on success and on
 * failure. */
#define kolk_compare_exchange_(at, expected, desired, success, failure)                                                \
    KOLK_ONE_(kolk_raw_compare_exchange_(at, expected, desired, success, failure))
#define kolk_compare_exchange_weak_(at, expected, desired, success, failure)                                           \
    KOLK_ONE_(kolk_raw_compare_exchange_weak_(at, expected, desired, success, failure))

/* Call it in the body of a loop that reads an atomic until another thread changes it. */
static inline void kolk_pause_(void) {
#if KOLK_MSVC_ && (defined(_M_IX86) || defined(_M_X64))
    _mm_pause();
#elif KOLK_MSVC_
    __isb(_ARM64_BARRIER_SY);
#elif defined(__i386__) || defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* about 10 ns, like x86's pause; yield is a nop on most processors */
#elif defined(__arm__) && __ARM_ARCH >= 7
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* Pauses n times, for loops that pause longer each time. A scheduled test pauses once, whatever n is. */
static inline void kolk_pause_for_(uint32_t n) {
    while (n-- > 0) kolk_pause_();
}

/* Announces that the next lines read or write non-atomic memory that several threads use in turn. */
#define KOLK_PLAIN_READ_(at, size)  KOLK_ONE_((void)0)
#define KOLK_PLAIN_WRITE_(at, size) KOLK_ONE_((void)0)

/* Announces that the next lines use data that threads share without these operations, such as data under the process's
 * lock. */
#define KOLK_UNSEEN_() ((void)0)

#else /* KOLK_SCHEDULED: the same macros; each passes its place in the source for the trace */

typedef enum kolk_verb_ {
    KOLK_LOAD_,
    KOLK_STORE_,
    KOLK_EXCHANGE_,
    KOLK_FETCH_ADD_,
    KOLK_FETCH_SUB_,
    KOLK_FETCH_OR_,
    KOLK_FETCH_AND_,
    KOLK_COMPARE_EXCHANGE_,
    KOLK_COMPARE_EXCHANGE_WEAK_,
    KOLK_PAUSE_,
    KOLK_READ_PLAIN_,
    KOLK_WRITE_PLAIN_,
    KOLK_WAIT_,
    KOLK_WAKE_
} kolk_verb_;

typedef struct kolk_place_ {
    kolk_verb_ verb;
    int order, line;
    const char *what, *function;
} kolk_place_;

uint64_t kolk_scheduled_load_(const void *at, size_t size, const kolk_place_ *place);
/* Serves stores and the kolk_fetch_ operations. Returns the old value. */
uint64_t kolk_scheduled_update_(void *at, size_t size, uint64_t value, const kolk_place_ *place);
bool kolk_scheduled_compare_(void *at, size_t size, void *expected, uint64_t desired, int failure,
                             const kolk_place_ *place);
void kolk_scheduled_pause_(const kolk_place_ *place);
void kolk_scheduled_plain_(const void *at, size_t size, const kolk_place_ *place);
void kolk_scheduled_unseen_(void);

#define KOLK_PLACE_(verb, what, order) (&(const kolk_place_){verb, order, __LINE__, what, __func__})

/* Converts the result to the atomic's type; other types do not compile. It is a function call because ignoring the
 * result of a call causes no warning. */
#define KOLK_AS_TYPE_OF_(at, result)                                                                                   \
    (_Generic(*(at), uint8_t                                                                                           \
              : kolk_as_8_, uint32_t                                                                                   \
              : kolk_as_32_, uint64_t                                                                                  \
              : kolk_as_64_, int64_t                                                                                   \
              : kolk_as_signed_)(result))
#define KOLK_UPDATE_(verb, what, at, value, order)                                                                     \
    KOLK_AS_TYPE_OF_(at, kolk_scheduled_update_((at), sizeof *(at), (uint64_t)(value), KOLK_PLACE_(verb, what, order)))

#define kolk_load_(at, order)                                                                                          \
    KOLK_AS_TYPE_OF_(at, kolk_scheduled_load_((at), sizeof *(at), KOLK_PLACE_(KOLK_LOAD_, #at, order)))

#define kolk_store_(at, value, order)     ((void)KOLK_UPDATE_(KOLK_STORE_, #at, at, value, order))
#define kolk_exchange_(at, value, order)  KOLK_UPDATE_(KOLK_EXCHANGE_, #at, at, value, order)
#define kolk_fetch_add_(at, value, order) KOLK_UPDATE_(KOLK_FETCH_ADD_, #at, at, value, order)
#define kolk_fetch_sub_(at, value, order) KOLK_UPDATE_(KOLK_FETCH_SUB_, #at, at, value, order)
#define kolk_fetch_or_(at, value, order)  KOLK_UPDATE_(KOLK_FETCH_OR_, #at, at, value, order)
#define kolk_fetch_and_(at, value, order) KOLK_UPDATE_(KOLK_FETCH_AND_, #at, at, value, order)

#define kolk_compare_exchange_(at, expected, desired, success, failure)                                                \
    kolk_scheduled_compare_((at), sizeof *(at), (expected), (uint64_t)(desired), failure,                              \
                            KOLK_PLACE_(KOLK_COMPARE_EXCHANGE_, #at, success))
#define kolk_compare_exchange_weak_(at, expected, desired, success, failure)                                           \
    kolk_scheduled_compare_((at), sizeof *(at), (expected), (uint64_t)(desired), failure,                              \
                            KOLK_PLACE_(KOLK_COMPARE_EXCHANGE_WEAK_, #at, success))
#define kolk_pause_()           kolk_scheduled_pause_(KOLK_PLACE_(KOLK_PAUSE_, "", KOLK_RELAXED_))
#define kolk_pause_for_(pauses) ((void)(pauses), kolk_pause_())
#define KOLK_PLAIN_READ_(at, size)                                                                                     \
    kolk_scheduled_plain_((at), (size), KOLK_PLACE_(KOLK_READ_PLAIN_, #at, KOLK_RELAXED_))
#define KOLK_PLAIN_WRITE_(at, size)                                                                                    \
    kolk_scheduled_plain_((at), (size), KOLK_PLACE_(KOLK_WRITE_PLAIN_, #at, KOLK_RELAXED_))

#define KOLK_UNSEEN_() kolk_scheduled_unseen_()

#endif

/* kolk_compare_exchange_ of one byte, relaxed, for machines whose compiler would call libatomic for it, as gcc 12 does
 * on RISC-V. It exchanges the word around the byte, and tries again if another byte of it has changed. */
static inline bool kolk_compare_exchange_in_word_(uint8_t *at, uint8_t *expected, uint8_t desired) {
    uintptr_t place = (uintptr_t)at % sizeof(uint32_t);
    uint32_t *around = (uint32_t *)(void *)(at - place);
    uint32_t shift = 8 * (uint32_t)(KOLK_IS_LITTLE_ENDIAN_ ? place : sizeof *around - 1 - place);
    uint32_t seen = kolk_load_(around, KOLK_RELAXED_);
    while ((uint8_t)(seen >> shift) == *expected) {
        uint32_t changed = (seen & ~(UINT32_C(0xff) << shift)) | (uint32_t)desired << shift;
        if (kolk_compare_exchange_weak_(around, &seen, changed, KOLK_RELAXED_, KOLK_RELAXED_)) return true;
    }
    *expected = (uint8_t)(seen >> shift);
    return false;
}

#if KOLK_MSVC_ || defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_1)
#define kolk_compare_exchange_byte_(at, expected, desired)                                                             \
    kolk_compare_exchange_(at, expected, desired, KOLK_RELAXED_, KOLK_RELAXED_)
#else
#define kolk_compare_exchange_byte_ kolk_compare_exchange_in_word_
#endif

#endif
