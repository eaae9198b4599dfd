/* kolk/base.h: the words that all pools share: status, handle, deadline, statistics, failure handler.
 *
 * Every kolk header includes this one. Three channels, never mixed:
 *   being full, stale, late or closed is normal   NULL, false or a kolk_status; at most a counter
 *   a bad descriptor, no memory at init           a kolk_status with a sentence: kolk_status_text
 *   a bug of the program (a double free, ...)     the failure handler; by default a sentence on stderr, then abort
 *
 * Cost      every function here is O(1).
 * Memory    none is allocated.
 * Contents  plain integers and pointers only: also valid C++17, and freestanding C (no libc but the mem* functions).
 * Threads   set the failure handler before threads start; the rest may be called at any time.
 * Design    ARCHITECTURE.md.
 */
#ifndef KOLK_BASE_H
#define KOLK_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KOLK_VERSION "0.1.0"
#define KOLK_ABI     1 /* of the structs' layout; also the number in libkolk.so.1 */

/* -DKOLK_CHECKS=0 leaves out the double-free test of the inline kolk_pool_free, never the bounds: a double free then
 * goes unnoticed and corrupts the pool. No layout depends on it. */
#ifndef KOLK_CHECKS
#define KOLK_CHECKS 1
#endif

#if defined(_WIN32) && defined(KOLK_BUILD) && defined(KOLK_SHARED)
#define KOLK_API __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define KOLK_API __attribute__((visibility("default")))
#else
#define KOLK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ---------------------------------------------------------------------------------------------------- */

#define KOLK_STATUS_LIST(X)                                                                                            \
    X(KOLK_OK, "done")                                                                                                 \
    /* normal */                                                                                                       \
    X(KOLK_TIMEOUT, "the deadline has passed")                                                                         \
    X(KOLK_CLOSED, "it is closed")                                                                                     \
    X(KOLK_SHUTDOWN, "it is shut down")                                                                                \
    X(KOLK_FULL, "it is full")                                                                                         \
    X(KOLK_EMPTY, "it is empty")                                                                                       \
    X(KOLK_NO_MEMORY, "the system gives no more memory")                                                               \
    X(KOLK_ABOVE_MAX, "more capacity is asked for than max_capacity")                                                  \
    /* a bad descriptor */                                                                                             \
    X(KOLK_WRONG_ABI, "the program was compiled with the headers of another kolk than the library it runs with")       \
    X(KOLK_NO_DESCRIPTOR, "the descriptor is NULL")                                                                    \
    X(KOLK_ZERO_SIZE, "object_size is 0")                                                                              \
    X(KOLK_BAD_ALIGN, "object_align is not a power of two")                                                            \
    X(KOLK_ALIGN_TOO_LARGE, "object_align is above 4096")                                                              \
    X(KOLK_SIZE_OVERFLOW, "object_size is about 2 GiB or more, or times max_capacity beyond the address space")        \
    X(KOLK_MAX_BELOW_CAPACITY, "max_capacity is below capacity")                                                       \
    X(KOLK_CANNOT_GROW, "a pool on the caller's memory cannot grow: max_capacity must be 0 or capacity")               \
    X(KOLK_MEMORY_MISSING, "memory_size is given, memory is NULL")                                                     \
    X(KOLK_MEMORY_TOO_SMALL, "memory_size is too small for capacity (kolk_pool_memory_size tells), or for one object") \
    X(KOLK_MEMORY_MISALIGNED, "memory is not aligned to object_align and to 8")                                        \
    X(KOLK_BAD_REUSE, "reuse is none of the KOLK_REUSE_ values")                                                       \
    X(KOLK_BAD_GENERATIONS, "generations is none of the KOLK_GENERATIONS_ values")                                     \
    X(KOLK_COST_MISSING, "on_full is kolk_pool_evict_cheapest, and cost is NULL")                                      \
    X(KOLK_TYPE_MISMATCH, "object_size or object_align differ from the pool's type: leave them 0")                     \
    /* a bug of the caller: reported to the failure handler */                                                         \
    X(KOLK_DOUBLE_FREE, "double free")                                                                                 \
    X(KOLK_DEAD_OBJECT, "the object is free")                                                                          \
    X(KOLK_NEVER_ISSUED, "the slot was never handed out")                                                              \
    X(KOLK_INTERIOR_POINTER, "the pointer is not the start of an object")                                              \
    X(KOLK_FOREIGN_POINTER, "the pointer is not of this pool")                                                         \
    X(KOLK_NO_HANDLES, "the pool has no handles: KOLK_GENERATIONS_NONE")

typedef enum kolk_status {
#define KOLK_STATUS_ENUMERATOR(status, sentence) status,
    KOLK_STATUS_LIST(KOLK_STATUS_ENUMERATOR)
#undef KOLK_STATUS_ENUMERATOR
} kolk_status;

/* A sentence without a full stop, in static storage; never NULL. */
KOLK_API const char *kolk_status_text(kolk_status status);

/* ---- Handles --------------------------------------------------------------------------------------------------- */

/* A name for one life of one slot: generation (32 bits) above, index mixed with the pool's tag (32 bits) below.
 * {0} is null and never valid. `bits` is the plain integer for logs, scripts and networks: the same program gives the
 * same bits in every run and on every platform. */
typedef struct kolk_handle {
    uint64_t bits;
} kolk_handle;

static inline bool kolk_handle_is_null(kolk_handle handle) {
    return handle.bits == 0;
}

static inline bool kolk_handle_equal(kolk_handle a, kolk_handle b) {
    return a.bits == b.bits;
}

/* To and from the plain integer. Any integer may be unpacked: a pool answers NULL to a handle that it did not give
 * out. */
static inline uint64_t kolk_handle_pack(kolk_handle handle) {
    return handle.bits;
}

static inline kolk_handle kolk_handle_unpack(uint64_t bits) {
    kolk_handle handle;
    handle.bits = bits;
    return handle;
}

/* ---- Deadlines ------------------------------------------------------------------------------------------------- */

/* A moment of the monotonic clock in nanoseconds. Computed once, at the edge of the program; never re-armed. */
typedef struct kolk_deadline {
    int64_t ns;
} kolk_deadline;

static const kolk_deadline KOLK_NOW = {0};             /* has passed already: try, don't wait */
static const kolk_deadline KOLK_FOREVER = {INT64_MAX}; /* never passes */

/* Now + milliseconds; saturates at KOLK_FOREVER; 0 and less give KOLK_NOW. Not in freestanding builds. */
KOLK_API kolk_deadline kolk_deadline_after(int64_t milliseconds);

/* ---- Statistics ------------------------------------------------------------------------------------------------ */

/* Filled by kolk_pool_stats and its like. Counters start at init; clear does not reset them. */
typedef struct kolk_stats {
    const char *name;         /* of the pool; "" when it has none */
    const char *kind;         /* "pool" */
    uint64_t object_size;     /* bytes, as asked for */
    uint64_t stride;          /* bytes from slot to slot */
    uint32_t count;           /* objects alive now */
    uint32_t peak;            /* most slots ever needed at a time: the capacity that would have done */
    uint32_t capacity;        /* slots that can be used without more memory */
    uint32_t max_capacity;    /* slots that it may grow to */
    uint64_t unused_bytes;    /* of slots that were never needed: (capacity - peak) * stride bytes too many */
    uint64_t bytes_reserved;  /* address space, metadata included */
    uint64_t bytes_committed; /* of these, may be touched; the system backs them with memory at first touch */
    uint64_t failed;          /* allocations that gave NULL for want of room, or because setup failed */
    uint64_t evictions;       /* objects that on_full freed to make room */
    uint64_t wrong_pool;      /* handles of other pools that were looked up; a little low if several threads do so */
    uint32_t worn_out;        /* free slots whose generations are used up */
    uint32_t recycled;        /* worn-out slots that were put to use again, their generations starting anew */
} kolk_stats;

/* ---- Failures: bugs of the caller ------------------------------------------------------------------------------- */

typedef struct kolk_failure {
    kolk_status rule;     /* which rule was broken */
    const char *pool;     /* its name; "" when it has none */
    const void *object;   /* the pointer that was handed in, or NULL */
    uint32_t slot;        /* the slot that it is in, or UINT32_MAX */
    const char *sentence; /* the whole of it, for people: "kolk: bullets: double free of slot 17" */
} kolk_failure;

/* The handler is called with each failure; NULL puts back the default, which prints the sentence to stderr and aborts
 * (freestanding: __builtin_trap). It may longjmp or throw. If it returns, the call that failed has changed nothing. */
KOLK_API void kolk_set_failure_handler(void (*handler)(const kolk_failure *failure, void *context), void *context);

#ifdef __cplusplus
}
#endif
#endif
