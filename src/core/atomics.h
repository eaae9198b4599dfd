/* atomics.h: everything by which the threads of the queue and the shared pool speak to each other.
 *
 *     uint64_t tail = kolk_load(&queue->tail, KOLK_RELAXED);
 *     if (kolk_compare_exchange(&queue->tail, &tail, tail + 1, KOLK_RELAXED, KOLK_RELAXED)) {
 *         KOLK_PLAIN_WRITE(cell->item, size);
 *         memcpy(cell->item, item, size);
 *         kolk_store(&cell->turn, turn + 1, KOLK_RELEASE);      // partner: the acquire in kolk_queue_pop
 *     }
 *
 * An atomic is a plain uint8_t, uint32_t or uint64_t (size_t and uintptr_t are one of them), aligned to its size: on
 * 32-bit targets a uint64_t in a struct needs _Alignas(8) (alignas in C++). Not _Atomic, because public headers are
 * C++17 as well, which has no such word; and not <stdatomic.h>, because its functions take _Atomic objects only, which
 * may have another size and alignment than the plain ones. So these are the builtins of gcc and clang, to which
 * <stdatomic.h> leads too. They are macros, so that the order is a constant at each place even without optimisation:
 * the instructions are the builtins'.
 *
 * There are no fences: ThreadSanitizer does not see them, and an order at an operation can name its partner.
 *
 * With KOLK_SCHEDULED, which only tests define, each operation is a place where tests/help/schedule.h may let another
 * thread go on, loads may give what another processor would still see, and memory that is said to be plain is watched
 * for races. */
#ifndef KOLK_SRC_ATOMICS_H
#define KOLK_SRC_ATOMICS_H

#include "kolk/base.h"

#if KOLK_HOSTED && (!defined(__GCC_ATOMIC_LLONG_LOCK_FREE) || __GCC_ATOMIC_LLONG_LOCK_FREE < 2)
#error "kolk's queue and shared pool need atomic operations on 64 bits without a lock"
#endif

#define KOLK_RELAXED __ATOMIC_RELAXED
#define KOLK_ACQUIRE __ATOMIC_ACQUIRE
#define KOLK_RELEASE __ATOMIC_RELEASE
#define KOLK_ACQ_REL __ATOMIC_ACQ_REL
#define KOLK_SEQ_CST __ATOMIC_SEQ_CST

#ifndef KOLK_SCHEDULED

/* With KOLK_CHAOS, which only tests define, a thread may be interrupted before each of these: tests/help/chaos.h. */
#ifdef KOLK_CHAOS
void kolk_chaos(void);
#define KOLK_ONE(operation) (kolk_chaos(), operation)
#else
#define KOLK_ONE(operation) operation
#endif

#define kolk_load(at, order)            KOLK_ONE(__atomic_load_n((at), (order)))
#define kolk_store(at, value, order)    KOLK_ONE(__atomic_store_n((at), (value), (order)))
#define kolk_exchange(at, value, order) KOLK_ONE(__atomic_exchange_n((at), (value), (order)))

/* These give the value from before. */
#define kolk_fetch_add(at, value, order) KOLK_ONE(__atomic_fetch_add((at), (value), (order)))
#define kolk_fetch_sub(at, value, order) KOLK_ONE(__atomic_fetch_sub((at), (value), (order)))
#define kolk_fetch_or(at, value, order)  KOLK_ONE(__atomic_fetch_or((at), (value), (order)))
#define kolk_fetch_and(at, value, order) KOLK_ONE(__atomic_fetch_and((at), (value), (order)))

/* Whether *at was *expected and is now desired; if not, *expected is what it was. The weak one may fail for no reason,
 * which saves the others' loop where the caller has one. Orders: of success, of failure. */
#define kolk_compare_exchange(at, expected, desired, success, failure)                                                 \
    KOLK_ONE(__atomic_compare_exchange_n((at), (expected), (desired), false, (success), (failure)))
#define kolk_compare_exchange_weak(at, expected, desired, success, failure)                                            \
    KOLK_ONE(__atomic_compare_exchange_n((at), (expected), (desired), true, (success), (failure)))

/* In the body of a loop that looks at an atomic until another thread changes it. */
static inline void kolk_pause(void) {
#if defined(__i386__) || defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* waits for some 10 ns, as x86's does; yield is no more than a nop on most */
#elif defined(__arm__) && __ARM_ARCH >= 7
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/* Such a loop's longer and longer pauses: n of them. In a scheduled test one, whatever n is. */
static inline void kolk_pause_for(uint32_t n) {
    while (n-- > 0) kolk_pause();
}

/* Before the next lines read or write memory that is not atomic and that several threads use, one after the other. */
#define KOLK_PLAIN_READ(at, size)  KOLK_ONE((void)0)
#define KOLK_PLAIN_WRITE(at, size) KOLK_ONE((void)0)

/* Before the next lines use what threads share otherwise, as under the process's lock. */
#define KOLK_UNSEEN() ((void)0)

#else /* KOLK_SCHEDULED: the same words, each with its place for the trace */

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
/* Stores and fetches; gives the value from before. */
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

/* Gives the result the atomic's type; other types don't compile. It is a call, so that dropping the result gives no
 * warning. */
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
