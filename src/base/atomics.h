/* atomics.h: all operations by which threads communicate.
 *
 *     uint64_t tail = kolk_load(&queue->tail, KOLK_RELAXED);
 *     if (kolk_compare_exchange(&queue->tail, &tail, tail + 1, KOLK_RELAXED, KOLK_RELAXED)) {
 *         KOLK_PLAIN_WRITE(cell->item, size);
 *         memcpy(cell->item, item, size);
 *         kolk_store(&cell->turn, turn + 1, KOLK_RELEASE);      // partner: the acquire in kolk_queue_pop
 *     }
 *
 * An atomic is a plain uint8_t, uint32_t or uint64_t (size_t and uintptr_t are one of them), aligned to its size: on
 * 32-bit targets a uint64_t in a struct needs _Alignas(8) (alignas in C++). It cannot be _Atomic, because public
 * headers must compile as C++17, which lacks this keyword. <stdatomic.h> does not help, because its functions take only
 * _Atomic objects, whose size and alignment may differ from the plain ones. So these macros wrap the builtins of gcc
 * and clang that <stdatomic.h> itself uses. They are macros so that the order is a constant at each use even without
 * optimisation.
 *
 * There are no fences: ThreadSanitizer does not see them, and only an operation's own order can name its partner.
 *
 * With KOLK_SCHEDULED, which only tests define, tests/help/schedule.h may switch threads at each operation, a load may
 * return an older value that another processor could still see, and the memory of KOLK_PLAIN_READ and KOLK_PLAIN_WRITE
 * is checked for races. */
#ifndef KOLK_SRC_ATOMICS_H
#define KOLK_SRC_ATOMICS_H

#include "kolk/base.h"

#if defined(__GCC_ATOMIC_LLONG_LOCK_FREE)
#define KOLK_ATOMIC_64 __GCC_ATOMIC_LLONG_LOCK_FREE
#elif defined(__CLANG_ATOMIC_LLONG_LOCK_FREE) /* clang defines only this one when it imitates Microsoft's compiler */
#define KOLK_ATOMIC_64 __CLANG_ATOMIC_LLONG_LOCK_FREE
#else
#define KOLK_ATOMIC_64 0
#endif
#if KOLK_HOSTED && KOLK_ATOMIC_64 < 2
#error "kolk's queue and shared pool need atomic operations on 64 bits without a lock"
#endif

#define KOLK_RELAXED __ATOMIC_RELAXED
#define KOLK_ACQUIRE __ATOMIC_ACQUIRE
#define KOLK_RELEASE __ATOMIC_RELEASE
#define KOLK_ACQ_REL __ATOMIC_ACQ_REL
#define KOLK_SEQ_CST __ATOMIC_SEQ_CST

#ifndef KOLK_SCHEDULED

/* With KOLK_CHAOS, which only tests define, tests/help/chaos.h may interrupt a thread before each of these. */
#ifdef KOLK_CHAOS
void kolk_chaos(void);
#define KOLK_ONE(operation) (kolk_chaos(), operation)
#else
#define KOLK_ONE(operation) operation
#endif

#define kolk_load(at, order)            KOLK_ONE(__atomic_load_n((at), (order)))
#define kolk_store(at, value, order)    KOLK_ONE(__atomic_store_n((at), (value), (order)))
#define kolk_exchange(at, value, order) KOLK_ONE(__atomic_exchange_n((at), (value), (order)))

/* These return the old value. */
#define kolk_fetch_add(at, value, order) KOLK_ONE(__atomic_fetch_add((at), (value), (order)))
#define kolk_fetch_sub(at, value, order) KOLK_ONE(__atomic_fetch_sub((at), (value), (order)))
#define kolk_fetch_or(at, value, order)  KOLK_ONE(__atomic_fetch_or((at), (value), (order)))
#define kolk_fetch_and(at, value, order) KOLK_ONE(__atomic_fetch_and((at), (value), (order)))

/* True if *at was *expected and is now `desired`. Otherwise *expected becomes the value of *at. The weak one may also
 * fail for no reason; it is cheaper in a caller's loop. The last two arguments are the orders on success and on
 * failure. */
#define kolk_compare_exchange(at, expected, desired, success, failure)                                                 \
    KOLK_ONE(__atomic_compare_exchange_n((at), (expected), (desired), false, (success), (failure)))
#define kolk_compare_exchange_weak(at, expected, desired, success, failure)                                            \
    KOLK_ONE(__atomic_compare_exchange_n((at), (expected), (desired), true, (success), (failure)))

/* Belongs in the body of a loop that reads an atomic until another thread changes it. */
static inline void kolk_pause(void) {
#if defined(__i386__) || defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* some 10 ns, as x86's pause; yield is a nop on most processors */
#elif defined(__arm__) && __ARM_ARCH >= 7
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* Pauses n times, for loops that pause longer and longer. A scheduled test pauses once, whatever n is. */
static inline void kolk_pause_for(uint32_t n) {
    while (n-- > 0) kolk_pause();
}

/* Announces that the next lines read or write non-atomic memory that several threads use, one after the other. */
#define KOLK_PLAIN_READ(at, size)  KOLK_ONE((void)0)
#define KOLK_PLAIN_WRITE(at, size) KOLK_ONE((void)0)

/* Announces that the next lines use data that threads share without these operations, as under the process's lock. */
#define KOLK_UNSEEN() ((void)0)

#else /* KOLK_SCHEDULED: the same macros, each with its place in the source for the trace */

typedef enum kolk_verb {
    KOLK_LOAD,
    KOLK_STORE,
    KOLK_EXCHANGE,
    KOLK_FETCH_ADD,
    KOLK_FETCH_SUB,
    KOLK_FETCH_OR,
    KOLK_FETCH_AND,
    KOLK_COMPARE_EXCHANGE,
    KOLK_COMPARE_EXCHANGE_WEAK,
    KOLK_PAUSE,
    KOLK_READ_PLAIN,
    KOLK_WRITE_PLAIN,
    KOLK_WAIT,
    KOLK_WAKE
} kolk_verb;

typedef struct kolk_place {
    kolk_verb verb;
    int order, line;
    const char *what, *function;
} kolk_place;

uint64_t kolk_scheduled_load(const void *at, size_t size, const kolk_place *place);
/* Serves stores and the kolk_fetch_ operations. Returns the old value. */
uint64_t kolk_scheduled_update(void *at, size_t size, uint64_t value, const kolk_place *place);
bool kolk_scheduled_compare(void *at, size_t size, void *expected, uint64_t desired, int failure,
                            const kolk_place *place);
void kolk_scheduled_pause(const kolk_place *place);
void kolk_scheduled_plain(const void *at, size_t size, const kolk_place *place);
void kolk_scheduled_unseen(void);

#define KOLK_PLACE(verb, what, order) (&(const kolk_place){verb, order, __LINE__, what, __func__})

static inline uint8_t kolk_as_8(uint64_t value) {
    return (uint8_t)value;
}

static inline uint32_t kolk_as_32(uint64_t value) {
    return (uint32_t)value;
}

static inline uint64_t kolk_as_64(uint64_t value) {
    return value;
}

static inline int64_t kolk_as_signed(uint64_t value) {
    return (int64_t)value;
}

/* Converts the result to the atomic's type; other types do not compile. It is a call because a dropped result of a call
 * causes no warning. */
#define KOLK_TYPED(at, result)                                                                                         \
    (_Generic(*(at), uint8_t                                                                                           \
              : kolk_as_8, uint32_t                                                                                    \
              : kolk_as_32, uint64_t                                                                                   \
              : kolk_as_64, int64_t                                                                                    \
              : kolk_as_signed)(result))
#define KOLK_UPDATE(verb, what, at, value, order)                                                                      \
    KOLK_TYPED(at, kolk_scheduled_update((at), sizeof *(at), (uint64_t)(value), KOLK_PLACE(verb, what, order)))

#define kolk_load(at, order) KOLK_TYPED(at, kolk_scheduled_load((at), sizeof *(at), KOLK_PLACE(KOLK_LOAD, #at, order)))

#define kolk_store(at, value, order)     ((void)KOLK_UPDATE(KOLK_STORE, #at, at, value, order))
#define kolk_exchange(at, value, order)  KOLK_UPDATE(KOLK_EXCHANGE, #at, at, value, order)
#define kolk_fetch_add(at, value, order) KOLK_UPDATE(KOLK_FETCH_ADD, #at, at, value, order)
#define kolk_fetch_sub(at, value, order) KOLK_UPDATE(KOLK_FETCH_SUB, #at, at, value, order)
#define kolk_fetch_or(at, value, order)  KOLK_UPDATE(KOLK_FETCH_OR, #at, at, value, order)
#define kolk_fetch_and(at, value, order) KOLK_UPDATE(KOLK_FETCH_AND, #at, at, value, order)

#define kolk_compare_exchange(at, expected, desired, success, failure)                                                 \
    kolk_scheduled_compare((at), sizeof *(at), (expected), (uint64_t)(desired), failure,                               \
                           KOLK_PLACE(KOLK_COMPARE_EXCHANGE, #at, success))
#define kolk_compare_exchange_weak(at, expected, desired, success, failure)                                            \
    kolk_scheduled_compare((at), sizeof *(at), (expected), (uint64_t)(desired), failure,                               \
                           KOLK_PLACE(KOLK_COMPARE_EXCHANGE_WEAK, #at, success))
#define kolk_pause()               kolk_scheduled_pause(KOLK_PLACE(KOLK_PAUSE, "", KOLK_RELAXED))
#define kolk_pause_for(pauses)     ((void)(pauses), kolk_pause())
#define KOLK_PLAIN_READ(at, size)  kolk_scheduled_plain((at), (size), KOLK_PLACE(KOLK_READ_PLAIN, #at, KOLK_RELAXED))
#define KOLK_PLAIN_WRITE(at, size) kolk_scheduled_plain((at), (size), KOLK_PLACE(KOLK_WRITE_PLAIN, #at, KOLK_RELAXED))

#define KOLK_UNSEEN() kolk_scheduled_unseen()

#endif

#endif
