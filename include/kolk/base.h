/* kolk/base.h: the words that all pools share: status, handle, deadline, statistics, failure handler.
 *
 * Every kolk header includes this one. Three channels, never mixed:
 *   being full, stale, late or closed is normal   NULL, false or a kolk_status; at most a counter
 *   a bad descriptor, no memory at init           a kolk_status with a sentence: kolk_status_text
 *   a bug of the program (a double free, ...)     the failure handler; by default a sentence on stderr, then abort
 *
 * Cost      every function here is O(1).
 * Memory    none is allocated.
 * Contents  plain integers and pointers only. The headers are also valid C++17 and freestanding C, where kolk needs
 *           only the mem* functions.
 * Threads   set the failure handler before threads start. All other functions may be called at any time. No function of
 *           kolk is a cancellation point, even if it waits: a cancelled thread (pthread_cancel) ends after the call. Of
 *           your functions that kolk calls, only the failure handler may be cancelled, as only it may longjmp. A thread
 *           whose cancellation is asynchronous must not call kolk.
 * Forks     a child may use a pool if no other thread was inside a call on it at the fork; shared.h has the rule for
 *           shared pools. A child made by _Fork or clone may use kolk if its parent had only one thread; it does not
 *           notice which threads have ended. Handlers of pthread_atfork that were registered before kolk was loaded may
 *           use a single thread's pools once an init has returned, but no queue and no shared pool.
 * Design    ARCHITECTURE.md.
 */
#ifndef KOLK_BASE_H
#define KOLK_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__GNUC__) && !defined(__clang__)
#error "kolk needs gcc or clang: on Windows mingw-w64's gcc, or clang"
#endif
#if !defined(__cplusplus) && defined(__STRICT_ANSI__) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#error "kolk's headers need C99, C11 or gnu89: leave out -ansi or -std=c89, or say -std=c99"
#define inline __inline__ /* so that this is the only error message */
#endif

#define KOLK_VERSION "0.1.0"
#define KOLK_ABI     1 /* version of the structs' layout, and the number in libkolk.so.1 */

/* -DKOLK_CHECKS=0 leaves out the double-free test of the inline kolk_pool_free, but not its test of bounds. A double
 * free then goes unnoticed and corrupts the pool. No layout depends on this macro. */
#ifndef KOLK_CHECKS
#define KOLK_CHECKS 1
#endif

/* Whether there is an operating system, with pages, threads, files and an environment. Without one, heaps, shared
 * pools, queues, resource pools and the diagnostics are left out, even if there is a C library (newlib, picolibc). The
 * manuals call that a freestanding build. */
#if __STDC_HOSTED__ && (defined(__unix__) || defined(__linux__) || defined(__APPLE__) || defined(_WIN32))
#define KOLK_HOSTED 1
#else
#define KOLK_HOSTED 0
#endif

/* A library compiled with -DKOLK_NO_DIAGNOSTICS has no debug mode and no sites, and ignores the variables KOLK_DEBUG,
 * KOLK_STATS, KOLK_SIZES, KOLK_FAIL and KOLK_BYPASS: docs/small.md says how much smaller it is. Its first init reports
 * each of these variables that is set. Bugs are still reported, without sites. No layout depends on this macro, so
 * programs need not define it. */
#if KOLK_HOSTED && !defined(KOLK_NO_DIAGNOSTICS)
#define KOLK_DIAGNOSTICS 1
#else
#define KOLK_DIAGNOSTICS 0
#endif

#if defined(_WIN32) && defined(KOLK_BUILD) && defined(KOLK_SHARED)
#define KOLK_API_ __declspec(dllexport)
#elif !defined(_WIN32)
#define KOLK_API_ __attribute__((visibility("default")))
#else
#define KOLK_API_
#endif

/* ALWAYS_INLINE compiles a hot function into each caller. NOINLINE keeps a rare call from costing its caller
 * registers. */
#define KOLK_ALWAYS_INLINE_ inline __attribute__((always_inline))
#define KOLK_NOINLINE_      __attribute__((noinline))

/* Marks a function whose body is in an .inl file. It is inlined without optimisation too, so that the debug mode's
 * `sites` are in the user's function and not in one of ours. (With optimisation the compiler decides: if it is forced
 * to inline this function, it inlines fewer of the others.) */
#ifdef __OPTIMIZE__
#define KOLK_INLINE_AT_O0_ inline
#else
#define KOLK_INLINE_AT_O0_ KOLK_ALWAYS_INLINE_
#endif
#if defined(__GNUC_GNU_INLINE__) && !defined(__cplusplus) /* gnu89's way to emit the body in no object file */
#define KOLK_NOT_EMITTED_ extern
#else
#define KOLK_NOT_EMITTED_
#endif
#ifdef KOLK_EXTERN
#define KOLK_INLINE_ KOLK_API_
#else
#define KOLK_INLINE_ KOLK_API_ KOLK_NOT_EMITTED_ KOLK_INLINE_AT_O0_
#endif

/* The same for a function that a constant argument reduces to a few instructions. It is always inlined, because a call
 * would compute at run time what the compiler knows. */
#define KOLK_FOLDED_INLINE_ KOLK_API_ KOLK_NOT_EMITTED_ KOLK_ALWAYS_INLINE_

#ifdef __cplusplus
#define KOLK_ALIGNAS(n) alignas(n)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define KOLK_ALIGNAS(n) _Alignas(n)
#else
#define KOLK_ALIGNAS(n) __attribute__((aligned(n))) /* in a C99 program */
#endif

/* For macros, which C++ programs expand too: a cast without a C++ warning, and a conversion to size_t without a
 * cast. */
#ifdef __cplusplus
#define KOLK_CAST_(T, value) static_cast<T>(value)
#else
#define KOLK_CAST_(T, value) ((T)(value))
#endif
#define KOLK_SIZE_(n) (sizeof(char) - 1 + (n))

/* Stands behind each member of a descriptor. In C++20, a member that designated initialisers leave out is then 0
 * without a warning, as in C. The structs of pools do not use it: C++ would initialise static pools when the program
 * starts, perhaps after their first use. */
#if defined(__cplusplus) && __cplusplus > 201703L
#define KOLK_OR_0_ = {}
#else
#define KOLK_OR_0_
#endif

/* A constant expression, for the sizes of storage. */
#define KOLK_ROUND_UP_(n, unit) ((KOLK_SIZE_(n) + KOLK_SIZE_(unit) - 1) / KOLK_SIZE_(unit) * KOLK_SIZE_(unit))

/* Stand around function bodies. These are C, and a C++ compiler may warn of their casts and of NULL. */
#ifdef __cplusplus
#define KOLK_BODIES_BEGIN_                                                                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")                              \
        _Pragma("GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
#define KOLK_BODIES_END_ _Pragma("GCC diagnostic pop")
#else
#define KOLK_BODIES_BEGIN_
#define KOLK_BODIES_END_
#endif

/* For typed pools: FUNCTION returns the descriptor, or, if that has no name, a copy with the type's name. */
#define KOLK_NAMED_(FUNCTION, DESC)                                                                                    \
    static inline const DESC *FUNCTION(const DESC *desc, const char *name, DESC *named) {                              \
        if (!desc || desc->name) return desc;                                                                          \
        *named = *desc;                                                                                                \
        named->name = name;                                                                                            \
        return named;                                                                                                  \
    }

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ------------------------------------------------------------------------------------------------------ */

/* Each row has a name, a number and a sentence. A number never changes, and no number is used twice. */
#define KOLK_STATUS_LIST(X)                                                                                            \
    X(KOLK_OK, 0, "done")                                                                                              \
    /* normal */                                                                                                       \
    X(KOLK_TIMEOUT, 1, "the deadline has passed")                                                                      \
    X(KOLK_CLOSED, 2, "it is closed")                                                                                  \
    X(KOLK_SHUTDOWN, 3, "it is shut down")                                                                             \
    X(KOLK_FULL, 4, "it is full")                                                                                      \
    X(KOLK_EMPTY, 5, "it is empty")                                                                                    \
    X(KOLK_NO_MEMORY, 6, "the system gives no more memory")                                                            \
    X(KOLK_ABOVE_MAX, 7, "more capacity is asked for than max_capacity")                                               \
    X(KOLK_NOT_CREATED, 8, "the resource could not be created")                                                        \
    X(KOLK_FORKED, 9, "the pool is that of a parent process: a fork's child needs its own")                            \
    X(KOLK_KEY_TOO_LONG, 10, "a key has more than 255 bytes")                                                          \
    /* a bad descriptor */                                                                                             \
    X(KOLK_WRONG_ABI, 100, "the program was compiled with the headers of another kolk than the library it runs with")  \
    X(KOLK_NO_DESCRIPTOR, 101, "the descriptor is NULL")                                                               \
    X(KOLK_ZERO_SIZE, 102, "object_size or item_size is 0")                                                            \
    X(KOLK_BAD_ALIGN, 103, "object_align is not a power of two")                                                       \
    X(KOLK_ALIGN_TOO_LARGE, 104, "object_align is above 4096")                                                         \
    X(KOLK_SIZE_OVERFLOW, 105, "an object is to be about 2 GiB or more, or all of them more than the address space")   \
    X(KOLK_MAX_BELOW_CAPACITY, 106, "max_capacity is below capacity")                                                  \
    X(KOLK_CANNOT_GROW, 107, "a pool on the caller's memory cannot grow: max_capacity must be 0 or capacity")          \
    X(KOLK_MEMORY_MISSING, 108, "memory_size is given, memory is NULL")                                                \
    X(KOLK_MEMORY_TOO_SMALL, 109, "memory_size is 0 or too small for capacity (see _memory_size), or for one object")  \
    X(KOLK_MEMORY_MISALIGNED, 110, "memory is not aligned to object_align and to 8")                                   \
    X(KOLK_BAD_REUSE, 111, "reuse is none of the KOLK_REUSE_ values, or none that this kind of pool has")              \
    X(KOLK_BAD_GENERATIONS, 112, "generations is none of the KOLK_GENERATIONS_ values, or, in a shared pool, STRICT")  \
    X(KOLK_COST_MISSING, 113, "costs are asked for (kolk_pool_evict_cheapest, kolk_pool_alloc_over), cost is NULL")    \
    X(KOLK_AGES_MISSING, 114, "the order of births is asked for (kolk_pool_evict_oldest ...), and ages is false")      \
    X(KOLK_BAD_HEADROOM, 115, "headroom is more than max_capacity")                                                    \
    X(KOLK_BAD_OVERFLOW, 116, "the overflow pool's objects differ in size or alignment, or its handles share a tag")   \
    X(KOLK_TYPE_MISMATCH, 117, "object_size, object_align or item_size differ from the type's: leave them 0")          \
    X(KOLK_ZERO_CAPACITY, 118, "capacity is 0, and there is no max_capacity to grow to")                               \
    X(KOLK_TOO_MANY_THREADS, 119, "the shared pool has max_threads locals: raise max_threads in its descriptor")       \
    X(KOLK_BAD_COUNT, 120, "count is negative, or above 2^23: an index must fit a handle")                             \
    X(KOLK_ARRAY_MISSING, 121, "object_list or byte_map is NULL")                                                      \
    X(KOLK_BAD_SEEDS, 122, "seeds is none of the KOLK_BYTEMAP_SEED_ values")                                           \
    X(KOLK_BAD_LAYOUT, 123, "layout is none of the kolk_bytemap_layout values")                                        \
    X(KOLK_OUTSIDE, 124, "an address, or the end of what begins there, is outside of each region")                     \
    X(KOLK_NOT_FLUSHED, 125, "the pool is initialised already: flush it first")                                        \
    X(KOLK_CREATE_MISSING, 126, "create is NULL")                                                                      \
    X(KOLK_BAD_MAX, 127, "max is above 65536, or is to become 0")                                                      \
    X(KOLK_BAD_MIN_IDLE, 128, "min_idle is more than max")                                                             \
    X(KOLK_BAD_TIME, 129, "a time is negative, and not -1")                                                            \
    X(KOLK_PATH_MISSING, 130, "path is NULL")                                                                          \
    X(KOLK_BAD_ADDRESS, 131, "address is not host:port or unix:/path, or is NULL where min_idle needs one")            \
    X(KOLK_BAD_CLASSES, 132, "the classes of a heap are none, more than 64, or not in ascending order of size")        \
    X(KOLK_NO_THREAD, 133, "the system gives no more threads, and no_housekeeper is not set")                          \
    X(KOLK_BAD_CAPACITY, 134, "capacity is negative, or above 2^31 - 1")                                               \
    /* a snapshot that cannot be taken in */                                                                           \
    X(KOLK_NO_SNAPSHOT, 200, "no snapshot of a pool with setup or teardown: it would lack what these have made")       \
    X(KOLK_IN_HOOK, 201, "a hook of the pool is running")                                                              \
    X(KOLK_NOT_A_SNAPSHOT, 202, "the block is not a snapshot of a pool")                                               \
    X(KOLK_OTHER_BYTE_ORDER, 203, "the snapshot is of a machine with another byte order")                              \
    X(KOLK_OTHER_VERSION, 204, "the snapshot is of another version of its format")                                     \
    X(KOLK_DAMAGED_SNAPSHOT, 205, "the snapshot is cut off or changed: its size or its checksum is wrong")             \
    X(KOLK_OTHER_POOL, 206, "the snapshot is of a pool with another object_size, reuse, generations, ages or tag")     \
    X(KOLK_FORGED_SNAPSHOT, 207, "the snapshot is whole, but no pool can be in the state that it tells of")            \
    /* a bug of the caller: reported to the failure handler */                                                         \
    X(KOLK_DOUBLE_FREE, 300, "double free")                                                                            \
    X(KOLK_DEAD_OBJECT, 301, "the object is free")                                                                     \
    X(KOLK_NEVER_ISSUED, 302, "the slot was never handed out")                                                         \
    X(KOLK_INTERIOR_POINTER, 303, "the pointer is not the start of an object")                                         \
    X(KOLK_FOREIGN_POINTER, 304, "the pointer is not of this pool")                                                    \
    X(KOLK_NO_HANDLES, 305, "the pool has no handles: KOLK_GENERATIONS_NONE")                                          \
    X(KOLK_NO_LOCAL, 306, "the local or its pool was never initialised, or its init failed, or it is deinit'd")        \
    X(KOLK_READ_ONLY, 307, "the pool was attached without .writable, to be read")                                      \
    X(KOLK_MOVED, 308, "the pool was moved or copied after its init")                                                  \
    /* ... that the debug mode sees */                                                                                 \
    X(KOLK_WRITE_AFTER_FREE, 350, "an object was written to after it was freed")                                       \
    X(KOLK_OVERFLOW, 351, "the bytes behind an object were written to")                                                \
    X(KOLK_UNDERFLOW, 352, "the bytes before an object were written to")                                               \
    X(KOLK_WRONG_POOL, 353, "the handle is of another pool")                                                           \
    /* reported to the failure handler too; the default one prints them and goes on */                                 \
    X(KOLK_LEAK, 400, "objects are still alive at the end of their pool or of the program")                            \
    X(KOLK_BAD_SETTING, 401, "a setting of the debug mode or the statistics is not understood")

typedef enum kolk_status {
#define KOLK_STATUS_ENUMERATOR_(status, number, sentence) status = (number),
    KOLK_STATUS_LIST(KOLK_STATUS_ENUMERATOR_)
#undef KOLK_STATUS_ENUMERATOR_
} kolk_status;

/* A sentence without a full stop, in static storage; never NULL. */
KOLK_API_ const char *kolk_status_text(kolk_status status);

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

/* Names one life of one slot. The upper 32 bits are the generation, the lower 32 the index, mixed with the pool's tag.
 * {0} is null and never valid. `bits` is a plain integer for logs, scripts and networks: the same program gets the same
 * bits in every run and on every platform. */
typedef struct kolk_handle {
    uint64_t bits;
} kolk_handle;

/* What happens to a worn-out slot, which has had as many lives as a generation can count. */
typedef enum kolk_generations {
    KOLK_GENERATIONS_RECYCLE = 0, /* its generations start anew: its oldest handles become valid again */
    KOLK_GENERATIONS_STRICT,      /* it is never used again: no old handle ever becomes valid again */
    KOLK_GENERATIONS_NONE         /* no generations, so no handles, and less memory per slot */
} kolk_generations;

static inline bool kolk_handle_is_null(kolk_handle handle) {
    return handle.bits == 0;
}

static inline bool kolk_handle_equal(kolk_handle a, kolk_handle b) {
    return a.bits == b.bits;
}

/* Converts to and from the plain integer. Any integer may be unpacked: a pool returns NULL for a handle that it did not
 * issue. */
static inline uint64_t kolk_handle_pack(kolk_handle handle) {
    return handle.bits;
}

static inline kolk_handle kolk_handle_unpack(uint64_t bits) {
    kolk_handle handle;
    handle.bits = bits;
    return handle;
}

/* ---- Order of reuse ---------------------------------------------------------------------------------------------- */

/* Which free slot is used next. Never-issued slots come in ascending order. */
typedef enum kolk_reuse {
    KOLK_REUSE_LIFO = 0, /* the slot freed last: the fastest, as it is warm in the cache */
    KOLK_REUSE_FIFO,     /* never-issued slots, then the one freed first: stale pointers stay harmless longest */
    KOLK_REUSE_LOWEST    /* the lowest slot: objects stay close together; costs 1 bit per slot instead of 4 bytes */
} kolk_reuse;

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

/* A moment of the monotonic clock, in nanoseconds. The program computes it once, where a request comes in, and passes
 * it on unchanged. */
typedef struct kolk_deadline {
    int64_t ns;
} kolk_deadline;

static const kolk_deadline KOLK_NOW = {0};             /* has passed already: try, don't wait */
static const kolk_deadline KOLK_FOREVER = {INT64_MAX}; /* never passes */

/* Returns now + milliseconds, at most KOLK_FOREVER; 0 or less gives KOLK_NOW. Not in freestanding builds. */
KOLK_API_ kolk_deadline kolk_deadline_after(int64_t milliseconds);

/* Threads that wait, in the order in which they came (src/core/wait_queue.h). */
typedef struct kolk_wait_queue_ {
    struct kolk_waiter_ *first, *last;
} kolk_wait_queue_;

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

/* What the debug mode does for a pool: see KOLK_DEBUG below. */
enum {
    KOLK_DEBUG_FILL = 1,
    KOLK_DEBUG_GUARD = 2,
    KOLK_DEBUG_QUARANTINE = 4,
    KOLK_DEBUG_SITES = 8,
    KOLK_DEBUG_TRACE = 16,
    KOLK_DEBUG_BYPASS = 32,
    KOLK_DEBUG_MOVE = 64,
    KOLK_DEBUG_FAIL = 128,
    KOLK_DEBUG_SAMPLE = 256
};

/* kolk_pool_stats and its counterparts fill this in. Counters start at init; clear does not reset them. */
typedef struct kolk_stats {
    const char *name;         /* the pool's name; "" if it has none */
    const char *kind;         /* "pool", "slotmap", "bytemap", "queue", "shared", "heap" (the whole, or a class),
                               * "resource" */
    uint64_t object_size;     /* bytes, as asked for */
    uint64_t stride;          /* bytes from slot to slot */
    uint32_t count;           /* objects alive now */
    uint32_t peak;            /* most slots ever needed at a time: this capacity would have sufficed (KOLK_STATS=sizes:
                               * since kolk_scene) */
    uint32_t capacity;        /* slots that can be used without more memory */
    uint32_t max_capacity;    /* slots that it may grow to */
    uint64_t unused_bytes;    /* bytes of slots that were never needed: (capacity - peak) * stride */
    uint64_t bytes_reserved;  /* address space, metadata included, the debug mode's not */
    uint64_t bytes_committed; /* the part of them that may be touched; the system backs it with memory at first touch */
    uint64_t failed;          /* allocs that returned NULL because there was no room or setup failed */
    uint64_t evictions;       /* objects that on_full freed to make room */
    uint64_t wrong_pool;      /* lookups of other pools' handles; slightly too low if several threads make them */
    uint64_t waits;           /* shared pools: how often a thread has waited for an object */
    uint32_t worn_out;        /* free slots whose generations are used up */
    uint32_t recycled;        /* worn-out slots that were used again, with generations that start anew */
    uint32_t waiting;         /* shared pools: threads that wait for an object now */
    uint32_t debug;           /* KOLK_DEBUG_ flags in force, without settings that this kind of pool cannot have */
} kolk_stats;

typedef enum kolk_stats_format {
    KOLK_STATS_TEXT = 0,   /* a table for people: name, kind, size, alive, peak, capacity, failed, bytes. A second table
                            * lists the pools that threads have waited for: waiting, waits. A third one lists resource
                            * pools: max, in use, idle, waiting, borrows, full, timeouts ... */
    KOLK_STATS_JSON,       /* every field, as {"pools": [{"name": "bullets", ...}, ...]} and a newline */
    KOLK_STATS_OPENMETRICS /* for Prometheus and the like: kolk_count{pool="bullets",kind="pool"} 17, ... # EOF.
                            * Resource pools also have OpenTelemetry's db_client_connection_... and kolk_resource_... */
} kolk_stats_format;

/* Writes the statistics of every initialised pool that has a name. It hands the text to `put` in pieces; `put` may call
 * any function of kolk. While other threads use pools, their numbers may be slightly off. A library without diagnostics
 * has no list of pools, and writes an empty one. */
KOLK_API_ void kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                                void *context);

/* ---- Failures: bugs of the caller -------------------------------------------------------------------------------- */

typedef struct kolk_failure {
    kolk_status rule;     /* which rule was broken */
    const char *pool;     /* its name; "" if it has none; KOLK_BAD_SETTING: the variable, such as "KOLK_DEBUG" */
    const void *object;   /* the pointer that was passed, or the object that the failure is about, or NULL */
    uint32_t slot;        /* the object's slot (in a slot map, its place), or UINT32_MAX */
    const char *sentence; /* the whole message, for people: "kolk: bullets: double free of slot 17" */

    /* Sites are return addresses; NULL if not known. With the debug setting `sites`, each stack lists a site and the
     * calls around it, from the site outwards, with a NULL behind the last; a stack that is NULL is not known. A stack
     * may begin in a function of kolk's headers. kolk_site_text and kolk_stack_text describe sites and stacks in
     * words. */
    const void *site;       /* the call that failed */
    const void *alloc_site; /* where the object was allocated last, with the debug setting `sites` */
    const void *free_site;  /* where it was freed last */
    const void *const *stack, *const *alloc_stack, *const *free_stack;

    kolk_handle handle; /* KOLK_WRONG_POOL: the handle */
    uint32_t offset;    /* where the first changed byte is: after the start of the object (KOLK_WRITE_AFTER_FREE), after
                      * its end (KOLK_OVERFLOW), or before its start (KOLK_UNDERFLOW) */
    uint32_t count;     /* how many bytes changed; KOLK_LEAK: how many objects leaked that alloc_site allocated */
    uint32_t depth;     /* how many calls the sentence names at each site; 0: three */
    bool sites;         /* the debug setting `sites` is on: the sentence names the sites */
    bool no_debug;      /* this kind of pool has no debug mode */
} kolk_failure;

/* Each failure calls the handler, in the thread that made the call. If several threads use a pool, the handler may run
 * in several of them at the same time. NULL restores the default handler, which prints the sentence to stderr and
 * aborts (freestanding: __builtin_trap), but goes on after a KOLK_LEAK or KOLK_BAD_SETTING. A handler may call const
 * functions of the pool. If it returns, the call that failed has changed nothing. If the debug mode found damage, the
 * call repairs it and goes on.
 *
 * The handler may longjmp or throw. An init that it leaves this way has failed: the pool is all zero, and has no
 * memory. But if the failed call was made in a hook (reset, setup, on_full, on_move, destroy ...), the handler must
 * return, since hooks must return. Only kolk's own hooks (kolk_pool_trap_full, _evict_oldest, _evict_cheapest) may be
 * left by longjmp or throw. (A handler that throws needs unwind tables for kolk's files: compile them with -fexceptions
 * where these are not the default, as on 32-bit ARM. CMakeLists.txt does.) */
KOLK_API_ void kolk_set_failure_handler(void (*handler)(const kolk_failure *failure, void *context), void *context);

/* Describes an address of code: "on_hit+0x2c (collide.c:63)". The file and line are missing if addr2line or the debug
 * information is; without a symbol table it is "program+0x11f3". Functions that the compiler has inlined at the address
 * come first: "on_hit (collide.c:63) < explode+0x2c (collide.c:80)". At most three functions are named, and none of
 * kolk's own. The text is cut to size bytes with the final 0; returns `text`. Slow: it reads files, and, if `lines` is
 * true, runs the first addr2line in PATH, or llvm-addr2line for code that clang compiled. Only absolute folders of PATH
 * are searched, and none in a program with more rights than its user (set-user-ID, file capabilities). The text is ""
 * in freestanding builds, without diagnostics, and on Windows. */
KOLK_API_ const char *kolk_site_text(const void *site, bool lines, char *text, size_t size);

/* Describes a stack of return addresses, such as a failure has, with a NULL behind the last. It names at most `depth`
 * calls (0: three). Returns how many of the addresses these calls cover. */
KOLK_API_ size_t kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size);

/* ---- The debug mode, statistics at exit, and tools ---------------------------------------------------------------
 *
 * Settings of a pool's debug mode, in its descriptor's `debug` or for whole programs in the environment:
 *
 *     fill            a freed object is filled with 0x1deadb0b. The fill is verified before its slot is used again, and
 *                     at clear and deinit. Each new object is full of 0xcd, so that forgotten initialisation shows. Not
 *                     for pools with keep, setup or teardown, whose contents survive.
 *     guard           red zones of 16 bytes or more on both sides of each object. They are verified by free, clear,
 *                     deinit and is_valid. Not on the caller's memory. next_run then returns runs of one object.
 *     quarantine=64   the last 64 freed slots are not used again yet, unless the pool would be full otherwise
 *     sites=3         reports name where an object was allocated and freed: the three innermost calls outside kolk,
 *                     inlined functions included. The number may be 1 to 16; without one it is 3. Objects that are
 *                     still alive at deinit and at exit are reported (KOLK_LEAK): one failure for each place of alloc,
 *                     and the place with the oldest object first. An alloc or free takes some microseconds to walk the
 *                     stack; sites=1 does not walk. docs/debugging.md says where less is known.
 *     move            slot maps only (not on the caller's memory): each remove, clear and sort moves all objects to
 *                     another block and makes the old one inaccessible, until seven more such calls. So a pointer that
 *                     the program kept crashes at once. A removal is then O(count), so `all` leaves this out.
 *     trace           alloc and free leave the fast path, so that the probes and kolk_set_profiler (below) see each
 *                     call
 *     sample=1000     heaps only: about one block in 1,000 lies between inaccessible pages, so that a read or write
 *                     past its end, or after its free, ends the program at once: see heap.h. Not in `all`.
 *     all             fill, guard, quarantine=64 and sites
 *
 * Slot maps have fill, sites, move and trace; fill applies to the places behind the last object. Shared pools have all
 * but move. An object that is freed later is filled, quarantined and reported to profilers when its slot becomes free.
 * If two threads free one object at the same moment, one of them is always reported. Resource pools have sites; byte
 * maps and queues have none.
 *
 * With any of the first five settings, these are reported too: a lookup of another pool's handle (KOLK_WRONG_POOL); a
 * pool that was moved after its init (KOLK_MOVED); a pool that is initialised again, or whose storage ends, without a
 * deinit (KOLK_LEAK). Only quarantine changes the order in which slots are used.
 *
 *     KOLK_DEBUG=SETTINGS[:GLOB][;SETTINGS[:GLOB]]...      for pools whose name matches (* and ?), or for all if there
 *                                                          is no GLOB; replaces the descriptor's settings
 *     KOLK_STATS=1 | text[:FILE] | json[:FILE] | openmetrics[:FILE]
 *                                                          at exit, statistics of all named pools that ever existed, to
 *                                                          stderr or FILE. A FILE is replaced atomically: readers see
 *                                                          the old one or the new one. Pools of one name, kind and size
 *                                                          that have ended share a row, which has their maxima and the
 *                                                          sums of their counters
 *     KOLK_STATS=sizes[:FILE]                              the capacity that each needed, and in which scene: see below
 *     KOLK_SIZES=FILE                                      sets capacities of pools by their names: see below
 *     KOLK_BYPASS=1 | 0                                    objects come from malloc, one by one, for tools that watch
 *                                                          malloc; 1 is the default under AddressSanitizer,
 *                                                          LeakSanitizer, MemorySanitizer and memcheck. Objects of slot
 *                                                          maps stay in their array, and the tools learn which places
 *                                                          are in use
 *
 *     KOLK_FAIL=GLOB:every=10 | GLOB:chance=0.01,seed=7[;...]
 *                                                          every 10th alloc (or a random one) finds the pool full, if
 *                                                          its name matches, to test how the program copes. on_full is
 *                                                          called as usual; kolk_shared_alloc_wait does not wait. In
 *                                                          resource pools, creates fail. The first matching entry
 *                                                          applies
 *
 * The environment is read when a pool is initialised. Freestanding builds, and builds with KOLK_NO_DIAGNOSTICS, have
 * none of this. A setting that is not understood is reported as KOLK_BAD_SETTING and ignored. A GLOB that has matched
 * no pool's name is reported at exit. */

/* Capacities that tune themselves: a run with KOLK_STATS=sizes:FILE measures what each named pool needs, and later runs
 * with KOLK_SIZES=FILE start with these capacities. Both may name the same file. It is text that people may edit:
 *
 *     # slots by the names of pools
 *     bullets   = 256
 *     particles = 512
 *     [boss fight]
 *     particles = 4096        # while kolk_scene("boss fight") is on
 *
 * Writing: a number before the first section is a pool's peak; a number in a section is its peak in that scene. Pools
 * of one name share the greatest peak. A pool that cannot grow has its lifetime peak in the section of the scene in
 * which it was initialised. If an alloc found a pool full, a remark says that the need is greater than the measured
 * number. Slot maps are measured too; byte maps are not, as their game knows the count.
 *
 * The text that people wrote stays: comments, blank lines, the order, sections and pools that this run did not see.
 * Only the numbers of measured pools change, and kolk's own remarks; the number of a pool that was never needed stays.
 * New pools are added at the end of their section, new sections at the end of the file. The file is replaced atomically
 * when the program ends. A file that cannot be read, or that has a line which is not understood, stays as it is, and
 * the measurements go to stderr.
 *
 * Reading: init gives a pool the capacity that the file has for its name, in the scene's section or else before the
 * first section. It raises max_capacity to that if it is less. When a scene begins, pools that may grow reserve their
 * capacity for it; no pool shrinks. A pool on the caller's memory keeps its capacity. A line that is not understood,
 * that fits no pool or scene, or that cannot be obeyed is reported as KOLK_BAD_SETTING with file and line, and ignored.
 * The first init of the program reads the file, in O(its bytes). Inits of other threads wait for that, forks do not.
 * Later each init of a named pool searches the lines.
 *
 * Measuring sends each alloc that raises the peak of its scene through the slow path, and costs an alloc of LOWEST a
 * comparison. Other allocs cost the same as before. Without these settings nothing costs more. */

/* Ends the current scene and, unless the name is NULL, begins a new one: a level of a game, a phase of a server. Call
 * it while no other thread uses a pool. O(pools) with KOLK_STATS=sizes, O(pools times lines of the file) with
 * KOLK_SIZES, else O(1). The name is copied. Does nothing without diagnostics. */
KOLK_API_ void kolk_scene(const char *name);

/* Sets the profiler (NULL: none). Pools that are initialised while it is set report every alloc and free to it, and
 * leave the fast paths for that. The arguments suit Tracy's TracyAllocN(object, size, pool) and TracyFreeN(object,
 * pool). Set it before threads start; the struct is copied. Its functions must return and may not use the pool. For a
 * shared pool, several threads may call them at the same time. */
typedef struct kolk_profiler {
    void (*alloc)(const char *pool, const void *object, size_t size, void *context);
    void (*free)(const char *pool, const void *object, void *context);
    void *context;
} kolk_profiler;

KOLK_API_ void kolk_set_profiler(const kolk_profiler *profiler);

/* The features of this library that depend on the machine and the options it was built with. */
enum {
    KOLK_HAS_PROBES = 1,     /* USDT probes (sys/sdt.h): kolk:alloc, free, full, grow, stale_handle */
    KOLK_HAS_VALGRIND = 2,   /* kolk notices memcheck (valgrind/memcheck.h) */
    KOLK_HAS_PAGES = 4,      /* pools can live on the system's memory, and grow */
    KOLK_HAS_DIAGNOSTICS = 8 /* the debug mode and the diagnostics above: built without KOLK_NO_DIAGNOSTICS */
};

KOLK_API_ uint32_t kolk_features(void);

#ifdef __cplusplus
}
#endif
#endif
