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
 * Threads   set the failure handler before threads start; the rest may be called at any time. No function of kolk is a
 *           cancellation point, not even one that waits: a cancelled thread (pthread_cancel) ends after the call.
 *           Functions of yours that kolk calls may be cancelled only where they may longjmp: in the failure handler. A
 *           thread whose cancellation is asynchronous must not call kolk.
 * Forks     a child may use the pools in which no other thread was within a call when it was forked; of shared pools
 *           shared.h says which. A child that was made by _Fork or clone may use kolk if its parent had one thread
 *           then; it does not notice which threads have ended. Handlers of pthread_atfork that were registered before
 *           kolk was loaded may use what is one thread's, once an init has returned, but no queue and no shared pool.
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

#define KOLK_VERSION "0.1.0"
#define KOLK_ABI     1 /* of the structs' layout; also the number in libkolk.so.1 */

/* -DKOLK_CHECKS=0 leaves out the double-free test of the inline kolk_pool_free, never the bounds: a double free then
 * goes unnoticed and corrupts the pool. No layout depends on it. */
#ifndef KOLK_CHECKS
#define KOLK_CHECKS 1
#endif

/* Is there an operating system, with pages, threads, files and an environment? Where there is none, with a C library
 * (newlib, picolibc) or without (-ffreestanding), heaps, shared pools, queues and resource pools are left out, and so
 * are the diagnostics. The manuals call that a freestanding build. */
#if __STDC_HOSTED__ && (defined(__unix__) || defined(__linux__) || defined(__APPLE__) || defined(_WIN32))
#define KOLK_HOSTED 1
#else
#define KOLK_HOSTED 0
#endif

/* The library compiled with -DKOLK_NO_DIAGNOSTICS has no debug mode, no sites, and none of the variables KOLK_DEBUG,
 * KOLK_STATS, KOLK_SIZES, KOLK_FAIL and KOLK_BYPASS: docs/small.md says how much smaller it is. The first init reports
 * those of them that are set. Bugs are reported as ever, without sites. No layout depends on it: programs need not
 * know. */
#if KOLK_HOSTED && !defined(KOLK_NO_DIAGNOSTICS)
#define KOLK_DIAGNOSTICS 1
#else
#define KOLK_DIAGNOSTICS 0
#endif

#if defined(_WIN32) && defined(KOLK_BUILD) && defined(KOLK_SHARED)
#define KOLK_API __declspec(dllexport)
#elif !defined(_WIN32)
#define KOLK_API __attribute__((visibility("default")))
#else
#define KOLK_API
#endif

/* ALWAYS_INLINE compiles what is hot once for each caller. NOINLINE keeps what is rare from costing registers where it
 * is called. */
#define KOLK_ALWAYS_INLINE inline __attribute__((always_inline))
#define KOLK_NOINLINE      __attribute__((noinline))

/* Of a function whose body is in an .inl file. Inlined without optimisation too: the debug mode's `sites` are then in
 * the function that asked for an object, and not in one of ours. (With optimisation the compiler judges best: forced,
 * it inlines less of what is around.) */
#ifdef __OPTIMIZE__
#define KOLK_INLINE_AT_O0 inline
#else
#define KOLK_INLINE_AT_O0 KOLK_ALWAYS_INLINE
#endif
#ifdef KOLK_EXTERN
#define KOLK_INLINE KOLK_API
#else
#define KOLK_INLINE KOLK_API KOLK_INLINE_AT_O0
#endif

/* The same, where a constant argument lets all but a few instructions fold: always inlined, as a call would have to
 * compute what the compiler knows. */
#define KOLK_FOLDED_INLINE KOLK_API KOLK_ALWAYS_INLINE

#ifdef __cplusplus
#define KOLK_ALIGNAS(n) alignas(n)
#elif __STDC_VERSION__ >= 201112L
#define KOLK_ALIGNAS(n) _Alignas(n)
#else
#define KOLK_ALIGNAS(n) __attribute__((aligned(n))) /* in a program of C99 */
#endif

/* For macros, which are expanded in C++ programs too: a cast that those are not warned of, and a size_t without one. */
#ifdef __cplusplus
#define KOLK_CAST_(T, value) static_cast<T>(value)
#else
#define KOLK_CAST_(T, value) ((T)(value))
#endif
#define KOLK_SIZE_(n) (sizeof(char) - 1 + (n))

/* A constant, for the sizes of storage. */
#define KOLK_ROUND_UP(n, unit) ((KOLK_SIZE_(n) + KOLK_SIZE_(unit) - 1) / KOLK_SIZE_(unit) * KOLK_SIZE_(unit))

/* Around functions with bodies, which are C: a C++ program may be warned of its casts and of NULL. */
#ifdef __cplusplus
#define KOLK_BODIES_BEGIN_                                                                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")                              \
        _Pragma("GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"")
#define KOLK_BODIES_END_ _Pragma("GCC diagnostic pop")
#else
#define KOLK_BODIES_BEGIN_
#define KOLK_BODIES_END_
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status ------------------------------------------------------------------------------------------------------ */

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
    X(KOLK_NOT_CREATED, "the resource could not be created")                                                           \
    X(KOLK_FORKED, "the pool is that of a parent process: a fork's child needs its own")                               \
    X(KOLK_KEY_TOO_LONG, "a key has more than 255 bytes")                                                              \
    /* a bad descriptor */                                                                                             \
    X(KOLK_WRONG_ABI, "the program was compiled with the headers of another kolk than the library it runs with")       \
    X(KOLK_NO_DESCRIPTOR, "the descriptor is NULL")                                                                    \
    X(KOLK_ZERO_SIZE, "object_size or item_size is 0")                                                                 \
    X(KOLK_BAD_ALIGN, "object_align is not a power of two")                                                            \
    X(KOLK_ALIGN_TOO_LARGE, "object_align is above 4096")                                                              \
    X(KOLK_SIZE_OVERFLOW, "an object is to be about 2 GiB or more, or all of them more than the address space")        \
    X(KOLK_MAX_BELOW_CAPACITY, "max_capacity is below capacity")                                                       \
    X(KOLK_CANNOT_GROW, "a pool on the caller's memory cannot grow: max_capacity must be 0 or capacity")               \
    X(KOLK_MEMORY_MISSING, "memory_size is given, memory is NULL")                                                     \
    X(KOLK_MEMORY_TOO_SMALL, "memory_size is 0 or too small for capacity (_memory_size tells), or for one object")     \
    X(KOLK_MEMORY_MISALIGNED, "memory is not aligned to object_align and to 8")                                        \
    X(KOLK_BAD_REUSE, "reuse is none of the KOLK_REUSE_ values, or none that this kind of pool has")                   \
    X(KOLK_BAD_GENERATIONS, "generations is none of the KOLK_GENERATIONS_ values, or, in a shared pool, STRICT")       \
    X(KOLK_COST_MISSING, "costs are asked for (kolk_pool_evict_cheapest, kolk_pool_alloc_over), and cost is NULL")     \
    X(KOLK_AGES_MISSING, "the order of births is asked for (kolk_pool_evict_oldest and the like), and ages is false")  \
    X(KOLK_BAD_HEADROOM, "headroom is more than max_capacity")                                                         \
    X(KOLK_BAD_OVERFLOW, "the overflow pool's objects have another size or alignment, or its handles the same tag")    \
    X(KOLK_TYPE_MISMATCH, "object_size, object_align or item_size differ from the type's: leave them 0")               \
    X(KOLK_ZERO_CAPACITY, "capacity is 0, and there is no max_capacity to grow to")                                    \
    X(KOLK_TOO_MANY_THREADS, "max_threads locals are there: raise max_threads in the descriptor of the shared pool")   \
    X(KOLK_BAD_COUNT, "count is negative, or above 2^23: an index must fit a handle")                                  \
    X(KOLK_ARRAY_MISSING, "object_list or byte_map is NULL")                                                           \
    X(KOLK_BAD_SEEDS, "seeds is none of the KOLK_BYTEMAP_SEED_ values")                                                \
    X(KOLK_BAD_LAYOUT, "layout is none of the kolk_bytemap_layout values")                                             \
    X(KOLK_OUTSIDE, "an address, or the end of what begins there, is outside of each region")                          \
    X(KOLK_NOT_FLUSHED, "the pool is initialised already: flush it first")                                             \
    X(KOLK_CREATE_MISSING, "create is NULL")                                                                           \
    X(KOLK_BAD_MAX, "max is above 65536, or is to become 0")                                                           \
    X(KOLK_BAD_MIN_IDLE, "min_idle is more than max")                                                                  \
    X(KOLK_BAD_TIME, "a time is negative, and not -1")                                                                 \
    X(KOLK_PATH_MISSING, "path is NULL")                                                                               \
    X(KOLK_BAD_ADDRESS, "address is not host:port or [host]:port, or is NULL where min_idle needs one")                \
    X(KOLK_BAD_CLASSES, "the classes of a heap are none, more than 64, or not in ascending order of size")             \
    X(KOLK_NO_THREAD, "the system gives no more threads, and no_housekeeper is not set")                               \
    /* a snapshot that cannot be taken in */                                                                           \
    X(KOLK_NO_SNAPSHOT, "a pool with setup or teardown has no snapshot: what they make is not in the objects' bytes")  \
    X(KOLK_IN_HOOK, "a hook of the pool is running")                                                                   \
    X(KOLK_NOT_A_SNAPSHOT, "the block is not a snapshot of a pool")                                                    \
    X(KOLK_OTHER_BYTE_ORDER, "the snapshot is of a machine with another byte order")                                   \
    X(KOLK_OTHER_VERSION, "the snapshot is of another version of its format")                                          \
    X(KOLK_DAMAGED_SNAPSHOT, "the snapshot is cut off or changed: its size or its checksum is wrong")                  \
    X(KOLK_OTHER_POOL, "the snapshot is of a pool with another object_size, reuse, generations, ages or tag")          \
    X(KOLK_FORGED_SNAPSHOT, "the snapshot is whole, but no pool can be in the state that it tells of")                 \
    /* a bug of the caller: reported to the failure handler */                                                         \
    X(KOLK_DOUBLE_FREE, "double free")                                                                                 \
    X(KOLK_DEAD_OBJECT, "the object is free")                                                                          \
    X(KOLK_NEVER_ISSUED, "the slot was never handed out")                                                              \
    X(KOLK_INTERIOR_POINTER, "the pointer is not the start of an object")                                              \
    X(KOLK_FOREIGN_POINTER, "the pointer is not of this pool")                                                         \
    X(KOLK_NO_HANDLES, "the pool has no handles: KOLK_GENERATIONS_NONE")                                               \
    X(KOLK_NO_LOCAL, "the local, or the pool for it, was never initialised, or its init failed, or it is deinit'd")    \
    X(KOLK_READ_ONLY, "the pool was attached without .writable, to be read")                                           \
    X(KOLK_MOVED, "the pool was moved or copied after its init")                                                       \
    /* ... that the debug mode sees */                                                                                 \
    X(KOLK_WRITE_AFTER_FREE, "an object was written to after it was freed")                                            \
    X(KOLK_OVERFLOW, "the bytes behind an object were written to")                                                     \
    X(KOLK_UNDERFLOW, "the bytes before an object were written to")                                                    \
    X(KOLK_WRONG_POOL, "the handle is of another pool")                                                                \
    /* reported to the failure handler too; the default one prints them and goes on */                                 \
    X(KOLK_LEAK, "objects are still alive at the end of their pool or of the program")                                 \
    X(KOLK_BAD_SETTING, "a setting of the debug mode or the statistics is not understood")

typedef enum kolk_status {
#define KOLK_STATUS_ENUMERATOR(status, sentence) status,
    KOLK_STATUS_LIST(KOLK_STATUS_ENUMERATOR)
#undef KOLK_STATUS_ENUMERATOR
} kolk_status;

/* A sentence without a full stop, in static storage; never NULL. */
KOLK_API const char *kolk_status_text(kolk_status status);

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

/* A name for one life of one slot: generation (32 bits) above, index mixed with the pool's tag (32 bits) below.
 * {0} is null and never valid. `bits` is the plain integer for logs, scripts and networks: the same program gives the
 * same bits in every run and on every platform. */
typedef struct kolk_handle {
    uint64_t bits;
} kolk_handle;

/* What happens to a slot that has had as many lives as a generation can count. It is worn out. */
typedef enum kolk_generations {
    KOLK_GENERATIONS_RECYCLE = 0, /* its generations start anew: a handle of so long ago is good again */
    KOLK_GENERATIONS_STRICT,      /* it is never used again: no old handle can ever come back to life */
    KOLK_GENERATIONS_NONE         /* no generations, and so no handles: less memory a slot */
} kolk_generations;

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

/* ---- Order of reuse ---------------------------------------------------------------------------------------------- */

/* Which free slot is used next. Never-issued slots come in ascending order. */
typedef enum kolk_reuse {
    KOLK_REUSE_LIFO = 0, /* the one freed last: warm in the cache, and the fastest */
    KOLK_REUSE_FIFO,     /* never-issued slots first, then the longest dead: stale pointers stay harmless longest */
    KOLK_REUSE_LOWEST    /* the lowest: objects stay close together; 1 bit a slot instead of 4 bytes */
} kolk_reuse;

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

/* A moment of the monotonic clock in nanoseconds. Computed once, at the edge of the program; never re-armed. */
typedef struct kolk_deadline {
    int64_t ns;
} kolk_deadline;

static const kolk_deadline KOLK_NOW = {0};             /* has passed already: try, don't wait */
static const kolk_deadline KOLK_FOREVER = {INT64_MAX}; /* never passes */

/* Now + milliseconds; saturates at KOLK_FOREVER; 0 and less give KOLK_NOW. Not in freestanding builds. */
KOLK_API kolk_deadline kolk_deadline_after(int64_t milliseconds);

/* Inside the library: threads that wait, in the order in which they came (src/core/wait_queue.h). */
typedef struct kolk_wait_queue {
    struct kolk_waiter *first, *last;
} kolk_wait_queue;

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

/* Filled by kolk_pool_stats and its like. Counters start at init; clear does not reset them. */
typedef struct kolk_stats {
    const char *name;         /* of the pool; "" when it has none */
    const char *kind;         /* "pool", "slotmap", "bytemap", "queue", "shared", "heap" (the whole, or a class),
                               * "resource" */
    uint64_t object_size;     /* bytes, as asked for */
    uint64_t stride;          /* bytes from slot to slot */
    uint32_t count;           /* objects alive now */
    uint32_t peak;            /* most slots ever needed at a time: the capacity that would have done (KOLK_STATS=sizes:
                               * since kolk_scene) */
    uint32_t capacity;        /* slots that can be used without more memory */
    uint32_t max_capacity;    /* slots that it may grow to */
    uint64_t unused_bytes;    /* of slots that were never needed: (capacity - peak) * stride bytes too many */
    uint64_t bytes_reserved;  /* address space, metadata included, the debug mode's not */
    uint64_t bytes_committed; /* of these, may be touched; the system backs them with memory at first touch */
    uint64_t failed;          /* allocations that gave NULL for want of room, or because setup failed */
    uint64_t evictions;       /* objects that on_full freed to make room */
    uint64_t wrong_pool;      /* handles of other pools that were looked up; a little low if several threads do so */
    uint64_t waits;           /* shared pools: how often a thread has waited for an object */
    uint32_t worn_out;        /* free slots whose generations are used up */
    uint32_t recycled;        /* worn-out slots that were put to use again, their generations starting anew */
    uint32_t waiting;         /* shared pools: threads that wait for an object now */
    uint32_t debug;           /* KOLK_DEBUG_ flags that are in force: a setting that this pool can't have is not */

    /* Inside the library: what more there is to write of a resource pool. NULL. */
    const struct kolk_resource_stats *resource;
} kolk_stats;

typedef enum kolk_stats_format {
    KOLK_STATS_TEXT = 0,   /* a table for people: name, kind, size, alive, peak, capacity, failed, bytes; another one of
                            * the pools for which threads have waited: waiting, waits; resource pools have one of
                            * their own: max, in use, idle, waiting, borrows, full, timeouts ... */
    KOLK_STATS_JSON,       /* every field, as {"pools": [{"name": "bullets", ...}, ...]} and a newline */
    KOLK_STATS_OPENMETRICS /* for Prometheus and its like: kolk_count{pool="bullets",kind="pool"} 17, ... # EOF; of
                            * resource pools also OpenTelemetry's db_client_connection_..., and kolk_resource_... */
} kolk_stats_format;

/* Writes the statistics of every pool that is initialised now and has a name, in pieces, through `put`, which may call
 * anything of kolk. While other threads use pools, their numbers may be a little off. A library
 * without diagnostics has no list of pools, and writes that of none. */
KOLK_API void kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                               void *context);

/* ---- Failures: bugs of the caller -------------------------------------------------------------------------------- */

typedef struct kolk_failure {
    kolk_status rule;     /* which rule was broken */
    const char *pool;     /* its name; "" when it has none; KOLK_BAD_SETTING: what was set, "KOLK_DEBUG" */
    const void *object;   /* the pointer that was handed in, or the object that the failure is about, or NULL */
    uint32_t slot;        /* the slot that it is in (of a slot map, the place), or UINT32_MAX */
    const char *sentence; /* the whole of it, for people: "kolk: bullets: double free of slot 17" */

    /* Where, as return addresses; NULL where it is not known. The stacks, with the debug setting `sites`, are those of
     * the calls around them too, from the site itself outwards, with a NULL behind the last; NULL: only the site is
     * known. They may begin in a function of kolk's headers. kolk_site_text and kolk_stack_text put them into words. */
    const void *site;       /* of the call that failed */
    const void *alloc_site; /* where the object was allocated last, with the debug setting `sites` */
    const void *free_site;  /* and freed last */
    const void *const *stack, *const *alloc_stack, *const *free_stack;

    kolk_handle handle; /* KOLK_WRONG_POOL: the handle */
    uint32_t offset; /* the first byte that changed, from the start of the object (KOLK_WRITE_AFTER_FREE), from its end
                           (KOLK_OVERFLOW), or how far before its start (KOLK_UNDERFLOW) */
    uint32_t count;  /* of these: bytes that changed; KOLK_LEAK: objects from alloc_site */
    uint32_t depth;  /* calls that the sentence names at each site; 0: three */
    bool sites;      /* the sentence names the sites, as the debug setting says */
    bool no_debug;   /* this kind of pool has no debug mode */
} kolk_failure;

/* The handler is called with each failure, by the thread that makes the call: of pools for many threads perhaps by
 * several at a time. NULL puts back the default, which prints the sentence to stderr and aborts (freestanding:
 * __builtin_trap), but goes on after a KOLK_LEAK or KOLK_BAD_SETTING. Of the pool it may call const functions. If it
 * returns, the call that failed has changed nothing; what the debug mode finds damaged is put right, and the call goes
 * on.
 *
 * It may longjmp or throw. An init that it leaves this way has failed: the pool is all zero, and has no memory. But it
 * must return where the call that failed was made in a hook (reset, setup, on_full, on_move, destroy ...), since hooks
 * must return; out of kolk's own hooks (kolk_pool_trap_full, _evict_oldest, _evict_cheapest) it may longjmp or throw
 * too. (To be thrown through, kolk's files need unwind tables: compile them with -fexceptions where these are not the
 * default, as on 32-bit ARM. CMakeLists.txt does.) */
KOLK_API void kolk_set_failure_handler(void (*handler)(const kolk_failure *failure, void *context), void *context);

/* Puts an address of code into words: "on_hit+0x2c (collide.c:63)", without the place where addr2line or the debug
 * information is missing, "program+0x11f3" without a symbol table. Where the compiler has merged functions at the
 * address, they come first: "on_hit (collide.c:63) < explode+0x2c (collide.c:80)"; three are named at most, and none of
 * kolk's own. Cut to size bytes with the final 0; returns `text`. Slow: it reads files, and runs addr2line if `lines`
 * is true: the first in PATH, for what clang has compiled llvm-addr2line. Of PATH only folders with absolute names
 * count, and none in a program with more rights than its user (set-user-ID, file capabilities). "" in freestanding
 * builds, without diagnostics, and on Windows. */
KOLK_API const char *kolk_site_text(const void *site, bool lines, char *text, size_t size);

/* The same for a stack of return addresses, with a NULL behind the last, such as a failure has: names `depth` calls at
 * most, 0 being three. Returns how many of the addresses these calls are of. */
KOLK_API size_t kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size);

/* ---- The debug mode, statistics at exit, and tools ---------------------------------------------------------------
 *
 * Settings of a pool's debug mode, in its descriptor's `debug` or for whole programs in the environment:
 *
 *     fill            a freed object becomes 0x1deadb0b, which is verified before its slot is used again, at clear and
 *                     deinit; each object is handed out full of 0xcd, so that forgotten initialisation shows. Not for
 *                     pools with keep, setup or teardown, whose contents live on.
 *     guard           zones of 16 bytes or more on both sides of each object, verified at free, clear, deinit and by
 *                     is_valid. Not on the caller's memory. next_run then gives runs of one.
 *     quarantine=64   the last 64 freed slots wait before they are used again, unless the pool would be full otherwise
 *     sites=3         where objects were allocated and freed, which reports then name: the three innermost calls
 *                     outside kolk, merged functions (inlined ones) too; 1 to 16, 3 without a number. What is still
 *                     alive at deinit and at exit is listed: KOLK_LEAK, one failure for each place of alloc, that of
 *                     the oldest object first. An alloc or free takes some microseconds to walk the stack; sites=1
 *                     does not walk. docs/debugging.md says where less is known.
 *     move            slot maps only (not on the caller's memory): each remove, clear and sort moves all objects to
 *                     another block and makes the old one inaccessible, so that a pointer that was kept crashes at
 *                     once, until seven more have been made. O(count) a removal, so not in `all`.
 *     trace           alloc and free leave the fast path, for the probes and kolk_set_profiler below
 *     sample=1000     heaps only: about one block of 1,000 lies between pages that nobody may touch, and a read or
 *                     write past its end, or after its free, ends the program at once: see heap.h. Not in `all`.
 *     all             fill, guard, quarantine=64 and sites
 *
 * Slot maps have fill, sites, move and trace: what is filled are the places behind the last object. Shared pools have
 * all but move; what is freed later is filled, put into quarantine and told to profilers when it comes home, and of two
 * threads that free one object at the very same moment one is always reported. Resource pools have sites; byte maps
 * and queues have none.
 *
 * With any of the first five, a handle of another pool that is looked up is reported too, KOLK_WRONG_POOL, and a pool
 * that was moved after its init (KOLK_MOVED), is initialised again without a deinit, or whose storage ends without one
 * (KOLK_LEAK). Only quarantine changes the order in which slots are used.
 *
 *     KOLK_DEBUG=SETTINGS[:GLOB][;SETTINGS[:GLOB]]...      for pools whose name matches (* and ?); all without a GLOB
 *                                                          takes the place of the descriptor's where it matches
 *     KOLK_STATS=1 | text[:FILE] | json[:FILE] | openmetrics[:FILE]
 *                                                          at exit, of all named pools that ever were; to stderr. A
 *                                                          FILE is replaced at once: readers see the old or the new.
 *                                                          Pools of one name, kind and size that have ended share a
 *                                                          row: the greatest of all, counters added up
 *     KOLK_STATS=sizes[:FILE]                              what each of them needed, and in which scene: see below
 *     KOLK_SIZES=FILE                                      capacities for pools by their names: see below
 *     KOLK_BYPASS=1 | 0                                    objects come from malloc, one by one, for tools that watch
 *                                                          malloc; 1 is the default under AddressSanitizer,
 *                                                          LeakSanitizer, MemorySanitizer and memcheck. Those of slot
 *                                                          maps stay where they are, and the tools are told of places
 *
 *     KOLK_FAIL=GLOB:every=10 | GLOB:chance=0.01,seed=7[;...]
 *                                                          allocs of pools whose name matches meet a full pool, each
 *                                                          10th or by chance: to try out what the program makes of it.
 *                                                          on_full is asked as usual; kolk_local_alloc_wait does not
 *                                                          wait. Of resource pools, creates fail, the
 *                                                          housekeeper's too. The first entry that matches counts
 *
 * The environment is read when a pool is initialised. All this is left out of freestanding builds, and of those with
 * KOLK_NO_DIAGNOSTICS. A setting that is not understood is reported as KOLK_BAD_SETTING and ignored; a GLOB that is
 * like no pool's name, at exit. */

/* Sizes that tune themselves: a run with KOLK_STATS=sizes:FILE measures what each named pool needs, KOLK_SIZES=FILE
 * starts the next runs with that. The file may be the same. It is text, for people to edit:
 *
 *     # slots by the names of pools
 *     bullets   = 256
 *     particles = 512
 *     [boss fight]
 *     particles = 4096        # while kolk_scene("boss fight") is on
 *
 * Written: before the first section, each pool's peak; in a section, its peak in that scene. Pools of one name share
 * the greatest; one that cannot grow has the peak of its whole life under the scene in which it was initialised. Where
 * all were in use and more were asked for, a remark says so: the need is greater than what could be measured. Slot maps
 * are pools here; a kolk_bytemap, whose count its game knows, is not.
 *
 * All that people wrote stays as it is: comments, blank lines, the order, sections and pools that this run did not see.
 * Only the numbers of pools that were measured change (that of one which was never needed stays), and kolk's own
 * remarks. New pools come at the end of their section, new sections at the end. The file is replaced at once, when the
 * program ends, or not at all: one that cannot be read, or in which something is not understood, is left alone. The
 * measurements are written to stderr then.
 *
 * Read: a pool that is initialised gets the capacity of its name, in the scene's section or else before the first, and
 * max_capacity is raised to it where it is less. One that is there when a scene begins has it reserved if it may grow;
 * none shrinks. A pool on the caller's memory keeps its capacity. Lines that are not understood, that no pool or scene
 * follows, or that cannot be followed, are reported as KOLK_BAD_SETTING with file and line, and ignored. The first init
 * of the program reads the file, in O(its bytes); inits of other threads wait for that, forks do not. Then each init of
 * a named pool looks through its lines.
 *
 * Measuring costs an alloc that raises the peak of its scene the slow path (an alloc of LOWEST, a comparison);
 * otherwise nothing, and without these settings nothing at all. */

/* A scene begins, or if NULL just ends: levels of a game, phases of a server. While no other thread uses a pool.
 * O(pools) with KOLK_STATS=sizes, O(pools times lines of the file) with KOLK_SIZES, else O(1). The name is copied.
 * Nothing without diagnostics. */
KOLK_API void kolk_scene(const char *name);

/* The profiler is told of every alloc and free of the pools that are initialised while it is set (NULL: none); these
 * pools leave the fast paths for it. Made for profilers: Tracy's TracyAllocN(object, size, pool) and TracyFreeN(object,
 * pool) fit in. Set it before threads start. The functions must return; they may not use the pool; for a shared pool
 * several threads may call them at the same time. Copied. */
typedef struct kolk_profiler {
    void (*alloc)(const char *pool, const void *object, size_t size, void *context);
    void (*free)(const char *pool, const void *object, void *context);
    void *context;
} kolk_profiler;

KOLK_API void kolk_set_profiler(const kolk_profiler *profiler);

/* What this library was built with, as far as it depends on the machine where it was built. */
enum {
    KOLK_HAS_PROBES = 1,     /* USDT probes (sys/sdt.h): kolk:alloc, free, full, grow, stale_handle */
    KOLK_HAS_VALGRIND = 2,   /* memcheck is noticed (valgrind/memcheck.h) */
    KOLK_HAS_PAGES = 4,      /* pools can live on the system's memory, and grow */
    KOLK_HAS_DIAGNOSTICS = 8 /* the debug mode and all that is told of it above: no KOLK_NO_DIAGNOSTICS */
};

KOLK_API uint32_t kolk_features(void);

#ifdef __cplusplus
}
#endif
#endif
