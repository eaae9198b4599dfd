/* SPDX-License-Identifier: Zlib */
/* kolk/base.h: what all pools share: statuses, handles, deadlines, statistics and the failure handler.
 *
 * Every kolk header includes this one. A call that does not succeed has one of three reasons, each reported in its own
 * way:
 *   normal: full, stale, late, closed            NULL, false or a kolk_status; at most a counter
 *   a bad descriptor, or no memory at init       a kolk_status, whose sentence kolk_status_text returns
 *   a bug of the program (a double free, ...)    the failure handler; by default a sentence on stderr, then abort
 *
 * Cost      every function here is O(1).
 * Memory    none is allocated.
 * Contents  plain integers and pointers only. The headers are also valid C++17 and freestanding C, where kolk needs
 *           only the mem* functions.
 * Threads   set the failure handler before threads start. All other functions may be called at any time. No function of
 *           kolk is a cancellation point, even if it waits: a cancelled thread (pthread_cancel) ends after the call.
 *           Among your functions that kolk calls, only the failure handler may be cancelled, because only it may
 *           longjmp. A thread with asynchronous cancellation must not call kolk.
 * Forks     a child may use a pool if no other thread was inside a call on it at the fork; shared.h and heap.h have the
 *           rules for shared pools and heaps, which other threads may be using, ipc.h that for pools between processes,
 *           which a child uses as a process of its own, and resource.h that for resource pools, which a child cannot
 *           use. A child made by _Fork or clone may use kolk if its parent had only one thread
 *           besides kolk's own (those of resource pools and of KOLK_STATS_AT), and calls kolk before it starts another
 *           thread; in such a child, kolk does not notice which threads have ended. A child that shares its parent's
 *           memory (vfork, or clone with CLONE_VM) must not call kolk. pthread_atfork handlers that were registered
 *           before kolk was loaded may use single-threaded pools once an init has returned, but neither queues nor
 *           shared pools.
 * Design    ARCHITECTURE.md.
 */
#ifndef KOLK_BASE_H
#define KOLK_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

#define KOLK_VERSION "0.1.0"
#define KOLK_ABI     1 /* version of the structs' layout, and the number in libkolk.so.1 */

/* 1 if there is an operating system, with pages, threads, files and an environment. Without one, shared pools, queues,
 * resource pools and the diagnostics are left out, and heaps live in the caller's memory, even if there is a C library
 * (newlib, picolibc). The manuals call this a freestanding build. */
#if __STDC_HOSTED__ && (defined(__unix__) || defined(__linux__) || defined(__APPLE__) || defined(_WIN32))
#define KOLK_HOSTED 1
#else
#define KOLK_HOSTED 0
#endif

/* Marks, in place of KOLK_API_, a function that freestanding builds lack: a call does not compile there, and the
 * compiler says that the `kinds` need an operating system. */
#ifdef __has_attribute
#if !KOLK_HOSTED && __has_attribute(error)
#define KOLK_HOSTED_(kinds)                                                                                            \
    KOLK_API_                                                                                                          \
    __attribute__((error(kinds " need an operating system, and this is a build without one (KOLK_HOSTED is 0)")))
#endif
#endif
#ifndef KOLK_HOSTED_
#define KOLK_HOSTED_(kinds) KOLK_API_
#endif

/* A program that wants no diagnostics says so in one of its files, outside of functions:
 *
 *     KOLK_WITHOUT_DIAGNOSTICS
 *
 * Linked with libkolk.a, it then has no debug mode, no registry and no sites, and ignores the environment variables
 * KOLK_DEBUG, KOLK_STATS, KOLK_STATS_AT, KOLK_SIZES, KOLK_FAIL and KOLK_BYPASS. Its first init reports each of these
 * variables that is set. Bugs are still reported, but without sites. The same holds for kolk.c compiled with
 * -DKOLK_NO_DIAGNOSTICS, which is even smaller, and without an operating system. docs/small.md states how small. */
#ifdef __cplusplus
#define KOLK_WITHOUT_(TYPE, NAME) extern "C" const struct TYPE *const NAME = 0;
#else
#define KOLK_WITHOUT_(TYPE, NAME) const struct TYPE *const NAME = 0;
#endif
#define KOLK_WITHOUT_DIAGNOSTICS                                                                                       \
    KOLK_WITHOUT_(kolk_events_, kolk_watch_)                                                                           \
    KOLK_WITHOUT_(kolk_pool_options_, kolk_pool_watched_options_)

/* For macros, which C++ programs expand too: a cast without a C++ warning, and a conversion to size_t without a
 * cast. */
#ifdef __cplusplus
#define KOLK_CAST_(T, value) static_cast<T>(value)
#else
#define KOLK_CAST_(T, value) ((T)(value))
#endif
#define KOLK_SIZE_(n) (sizeof(char) - 1 + (n))

/* Follows each member of a descriptor. In C++20, a member that designated initialisers leave out is then 0 without a
 * warning, as in C. The structs of pools do not use it, because C++ would then initialise static pools when the program
 * starts, perhaps after their first use. */
#if defined(__cplusplus) && __cplusplus > 201703L
#define KOLK_OR_0_ = {}
#else
#define KOLK_OR_0_
#endif

/* A constant expression, for storage sizes. */
#define KOLK_ROUND_UP_(n, unit) ((KOLK_SIZE_(n) + KOLK_SIZE_(unit) - 1) / KOLK_SIZE_(unit) * KOLK_SIZE_(unit))

/* For typed pools: FUNCTION returns the descriptor or, if it has no name, a copy of it with the type's name. */
#define KOLK_NAMED_(FUNCTION, DESC)                                                                                    \
    static inline const DESC *FUNCTION(const DESC *desc, const char *name, DESC *named) {                              \
        if (!desc || desc->name) return desc;                                                                          \
        *named = *desc;                                                                                                \
        named->name = name;                                                                                            \
        return named;                                                                                                  \
    }

/* In the library, only base.c exports the functions of base.inl, because mingw's gcc emits all inline functions in a
 * file that exports one of them. */
#if defined(KOLK_BUILD) && !defined(KOLK_BASE_INLINE)
#define KOLK_BASE_INLINE KOLK_INLINE_AT_O0_
#elif !defined(KOLK_BASE_INLINE)
#define KOLK_BASE_INLINE KOLK_INLINE_
#endif

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
    X(KOLK_NO_MEMORY, 6, "the system provides no more memory")                                                         \
    X(KOLK_ABOVE_MAX, 7, "more capacity was requested than max_capacity allows")                                       \
    X(KOLK_NOT_CREATED, 8, "the resource could not be created")                                                        \
    X(KOLK_FORKED, 9, "the pool belongs to the parent process: a fork's child needs its own")                          \
    X(KOLK_KEY_TOO_LONG, 10, "a key has more than 255 bytes")                                                          \
    X(KOLK_OVER_BUDGET, 11, "the budget, or one that it is part of, has too few bytes left")                           \
    X(KOLK_CORRUPT, 12, "another process has overwritten what the pool keeps in their common block")                   \
    /* a bad descriptor */                                                                                             \
    X(KOLK_WRONG_ABI, 100, "the program was compiled with headers of a different kolk than the library it runs with")  \
    X(KOLK_NO_DESCRIPTOR, 101, "the descriptor is NULL")                                                               \
    X(KOLK_ZERO_SIZE, 102, "object_size or item_size is 0")                                                            \
    X(KOLK_BAD_ALIGN, 103, "object_align is not a power of two")                                                       \
    X(KOLK_ALIGN_TOO_LARGE, 104, "object_align is above 4096")                                                         \
    X(KOLK_SIZE_OVERFLOW, 105, "an object would have about 2 GiB or more, or all of them more than the address space") \
    X(KOLK_MAX_BELOW_CAPACITY, 106, "max_capacity is below capacity")                                                  \
    X(KOLK_CANNOT_GROW, 107, "a pool on the caller's memory cannot grow: max_capacity must be 0 or capacity")          \
    X(KOLK_MEMORY_MISSING, 108, "memory_size is given, memory is NULL")                                                \
    X(KOLK_MEMORY_TOO_SMALL, 109, "memory_size is 0 or too small for capacity (see _memory_size), or for one object")  \
    X(KOLK_MEMORY_MISALIGNED, 110, "memory is not aligned to object_align and to 8, or for a heap to 16")              \
    X(KOLK_BAD_REUSE, 111, "reuse is not a KOLK_REUSE_ value, or not one that this kind of pool supports")             \
    X(KOLK_BAD_GENERATIONS, 112, "generations is not a KOLK_GENERATIONS_ value, or is STRICT in a shared pool")        \
    X(KOLK_COST_MISSING, 113, "kolk_pool_evict_cheapest and kolk_pool_alloc_over need cost, which is NULL")            \
    X(KOLK_AGES_MISSING, 114, "the order of births (kolk_pool_evict_oldest ...) needs ages, which is false")           \
    X(KOLK_BAD_HEADROOM, 115, "headroom is more than max_capacity")                                                    \
    X(KOLK_BAD_OVERFLOW, 116, "the overflow pool's objects differ in size or alignment, or its handles share a tag")   \
    X(KOLK_TYPE_MISMATCH, 117, "object_size, object_align or item_size differ from the type's: leave them 0")          \
    X(KOLK_ZERO_CAPACITY, 118, "capacity is 0, and there is no max_capacity to grow to")                               \
    X(KOLK_TOO_MANY_THREADS, 119, "the shared pool has max_threads locals: raise max_threads in its descriptor")       \
    X(KOLK_BAD_COUNT, 120, "count is negative, or above 2^23: an index must fit a handle")                             \
    X(KOLK_ARRAY_MISSING, 121, "object_list or byte_map is NULL")                                                      \
    X(KOLK_BAD_SEEDS, 122, "seeds is not a KOLK_BYTEMAP_SEED_ value")                                                  \
    X(KOLK_BAD_LAYOUT, 123, "layout is not a kolk_bytemap_layout value")                                               \
    X(KOLK_OUTSIDE, 124, "an address, or the end of what begins there, lies outside all regions")                      \
    X(KOLK_NOT_FLUSHED, 125, "the pool is initialised already: flush it first")                                        \
    X(KOLK_CREATE_MISSING, 126, "create is NULL, or in C++ destroy, for a type that is incomplete")                    \
    X(KOLK_BAD_MAX, 127, "max is above 65536, or would become 0")                                                      \
    X(KOLK_BAD_MIN_IDLE, 128, "min_idle is more than max")                                                             \
    X(KOLK_BAD_TIME, 129, "a time is negative, but not -1")                                                            \
    X(KOLK_PATH_MISSING, 130, "path is NULL")                                                                          \
    X(KOLK_BAD_ADDRESS, 131, "address is not host:port or unix:/path, or is NULL where min_idle needs one")            \
    X(KOLK_BAD_CLASSES, 132,                                                                                           \
      "a heap has no classes, more than 64, or classes that are not in ascending order of size")                       \
    X(KOLK_NO_THREAD, 133, "the system provides no more threads, and no_housekeeper is not set")                       \
    X(KOLK_BAD_CAPACITY, 134, "capacity is negative, or above 2^31 - 1")                                               \
    X(KOLK_LOWEST_MISSING, 135, "kolk_pool_alloc_run needs a pool whose reuse is KOLK_REUSE_LOWEST")                   \
    X(KOLK_BAD_PARENT, 136, "the parent is not initialised, or has ended")                                             \
    X(KOLK_FIXED_HEAP, 137, "a heap on the caller's memory has no limit, budget or parent")                            \
    X(KOLK_STRUCT_CHANGED, 138, "the objects' size or alignment is not the one that the pool was initialised with")    \
    X(KOLK_LAYOUT_CHANGED, 139,                                                                                        \
      "a rebind cannot change this: leave capacity, order, handles, memory ... 0, or as they were at init")            \
    X(KOLK_BAD_BUDGET, 140, "a heap inside another one has that one's budget: give it none")                           \
    X(KOLK_SET_BY_ADAPTER, 141,                                                                                        \
      "create, destroy, validate and reset are the adapter's, and for PostgreSQL validate_after_ms: leave them 0")     \
    X(KOLK_PINS_MISSING, 142, "kolk_pool_pin and kolk_pool_unpin need pins, which is false")                           \
    X(KOLK_BAD_QUEUES, 143, "queues is above 256, or queue_capacity above capacity")                                   \
    X(KOLK_BAD_PROCESSES, 144, "max_processes is above 4095")                                                          \
    X(KOLK_BAD_ORPHANS, 145, "orphans is not a KOLK_IPC_ value")                                                       \
    /* a block of several processes that cannot be made or attached to */                                              \
    X(KOLK_NEEDS_LINUX, 180, "pools between processes need Linux")                                                     \
    X(KOLK_NO_LOCKS, 181, "the file cannot be opened once more: there is no /proc, no descriptor, or no right")        \
    X(KOLK_NOT_EMPTY, 182, "the file for a new block is not empty")                                                    \
    X(KOLK_NOT_A_BLOCK, 183, "the file is not a block of this version and byte order, or is not complete yet")         \
    X(KOLK_OTHER_LAYOUT, 184, "the block was made with another name, size, capacity, number of queues or version")     \
    X(KOLK_NOT_SEALED, 185, "another process could truncate the file: see unsealed in kolk_ipc_desc")                  \
    X(KOLK_TOO_MANY_PROCESSES, 186, "max_processes are attached already")                                              \
    /* a snapshot that cannot be made or restored */                                                                   \
    X(KOLK_NO_SNAPSHOT, 200, "a pool with setup or teardown, or a slot map with move, has no snapshots")               \
    X(KOLK_IN_HOOK, 201, "a hook of the pool is running")                                                              \
    X(KOLK_NOT_A_SNAPSHOT, 202, "these bytes are not a snapshot of a pool of this kind, or not a delta or saved file") \
    X(KOLK_OTHER_BYTE_ORDER, 203, "the snapshot comes from a machine with a different byte order")                     \
    X(KOLK_OTHER_VERSION, 204, "the snapshot has a different version of the format")                                   \
    X(KOLK_DAMAGED_SNAPSHOT, 205, "the snapshot is cut off or changed: its size or its checksum is wrong")             \
    X(KOLK_OTHER_POOL, 206,                                                                                            \
      "the snapshot comes from a pool with a different object_size, reuse, generations, ages or tag")                  \
    X(KOLK_FORGED_SNAPSHOT, 207, "the snapshot is complete, but describes a state that no pool can be in")             \
    X(KOLK_NO_ROOM, 208, "the snapshot needs more bytes than there is room for")                                       \
    X(KOLK_OTHER_BASE, 209, "the delta was made against another snapshot")                                             \
    X(KOLK_NO_FILE, 210, "there is no file of this name")                                                              \
    X(KOLK_NOT_READ, 211, "the file cannot be read: errno says why")                                                   \
    X(KOLK_NOT_SAVED, 212, "the file could not be written, or not for certain: errno says why")                        \
    /* a bug of the caller: reported to the failure handler */                                                         \
    X(KOLK_DOUBLE_FREE, 300, "double free")                                                                            \
    X(KOLK_DEAD_OBJECT, 301, "the object is free")                                                                     \
    X(KOLK_NEVER_ISSUED, 302, "the slot was never handed out")                                                         \
    X(KOLK_INTERIOR_POINTER, 303, "the pointer is not the start of an object")                                         \
    X(KOLK_FOREIGN_POINTER, 304, "the pointer does not belong to this pool")                                           \
    X(KOLK_NO_HANDLES, 305, "the pool has no handles: KOLK_GENERATIONS_NONE")                                          \
    X(KOLK_NO_LOCAL, 306, "the local or its pool was never initialised, or its init failed, or it is deinit'd")        \
    X(KOLK_READ_ONLY, 307, "the pool was attached to be read")                                                         \
    X(KOLK_MOVED, 308, "the pool was moved or copied after its init")                                                  \
    X(KOLK_PINNED, 309, "an object is still pinned")                                                                   \
    X(KOLK_NOT_PINNED, 310, "the object is not pinned")                                                                \
    X(KOLK_NO_QUEUE, 311, "the pool has no queue of this number")                                                      \
    /* a bug that the debug mode finds */                                                                              \
    X(KOLK_WRITE_AFTER_FREE, 350, "an object was written to after it was freed")                                       \
    X(KOLK_OVERFLOW, 351, "the bytes behind an object were written to")                                                \
    X(KOLK_UNDERFLOW, 352, "the bytes before an object were written to")                                               \
    X(KOLK_WRONG_POOL, 353, "the handle belongs to another pool")                                                      \
    /* also reported to the failure handler; the default one prints them and returns */                                \
    X(KOLK_LEAK, 400, "objects are still alive at the end of their pool or of the program")                            \
    X(KOLK_BAD_SETTING, 401, "a setting of the debug mode or the statistics is not understood")                        \
    X(KOLK_NESTED, 402, "a thread waits for a resource of a pool while it has another one")                            \
    X(KOLK_NOT_OWNER, 403, "the object is free, in a queue, or another process's")

typedef enum kolk_status {
#define KOLK_STATUS_ENUMERATOR_(status, number, sentence) status = (number),
    KOLK_STATUS_LIST(KOLK_STATUS_ENUMERATOR_)
#undef KOLK_STATUS_ENUMERATOR_
} kolk_status;

/* Returns a sentence without a full stop, in static storage; never NULL. */
KOLK_API_ const char *kolk_status_text(kolk_status status);

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

/* Names one life of one slot. The upper 32 bits are the generation; the lower 32 bits are the index, XORed with the
 * pool's tag. {0} is null and never valid. `bits` is a plain integer for logs, scripts and networks: the same program
 * gets the same bits in every run and on every platform. */
typedef struct kolk_handle {
    uint64_t bits;
} kolk_handle;

/* The treatment of a worn-out slot, which has had as many lives as a generation can count. */
typedef enum kolk_generations {
    KOLK_GENERATIONS_RECYCLE = 0, /* its generations start anew, so its oldest handles become valid again */
    KOLK_GENERATIONS_STRICT,      /* it is never used again, so no old handle ever becomes valid again */
    KOLK_GENERATIONS_NONE         /* no generations, and so no handles, but less memory per slot */
} kolk_generations;

/* For pools and shared pools: see Objects that are made once, in pool.h and shared.h. */
typedef struct kolk_life {
    bool keep KOLK_OR_0_;
    bool (*setup)(void *object, void *context) KOLK_OR_0_;
    void (*reset)(void *object, void *context) KOLK_OR_0_;
    void (*teardown)(void *object, void *context) KOLK_OR_0_;
} kolk_life;

KOLK_BASE_INLINE bool kolk_handle_is_null(kolk_handle handle);
KOLK_BASE_INLINE bool kolk_handle_equal(kolk_handle a, kolk_handle b);

/* Converts to and from the plain integer. Any integer may be unpacked: a pool returns NULL for a handle that it did not
 * issue. */
KOLK_BASE_INLINE uint64_t kolk_handle_pack(kolk_handle handle);
KOLK_BASE_INLINE kolk_handle kolk_handle_unpack(uint64_t bits);

/* ---- Order of reuse ---------------------------------------------------------------------------------------------- */

/* Which free slot is used next. Slots that were never issued are used in ascending order. */
typedef enum kolk_reuse {
    KOLK_REUSE_LIFO = 0, /* the slot freed last: fastest, because it is probably still in the cache */
    KOLK_REUSE_FIFO,     /* never-issued slots, then the slot freed first: stale pointers stay harmless longest */
    KOLK_REUSE_LOWEST    /* the lowest free slot: objects stay close together; 1 bit per slot instead of 4 bytes */
} kolk_reuse;

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

/* A point in time on the monotonic clock, in nanoseconds. The program computes it once, when a request comes in, and
 * passes it on unchanged. */
typedef struct kolk_deadline {
    int64_t ns;
} kolk_deadline;

static const kolk_deadline KOLK_NOW = {0};             /* has passed already: try, don't wait */
static const kolk_deadline KOLK_FOREVER = {INT64_MAX}; /* never passes */

/* Returns now + milliseconds, at most KOLK_FOREVER; 0 or less gives KOLK_NOW. Not in freestanding builds. */
KOLK_API_ kolk_deadline kolk_deadline_after(int64_t milliseconds);

/* Waiting threads, in order of arrival (src/core/wait_queue.h). */
typedef struct kolk_wait_queue_ {
    struct kolk_waiter_ *first, *last;
} kolk_wait_queue_;

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

/* The debug settings of a pool: see KOLK_DEBUG below. */
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

/* kolk_pool_stats and its counterparts fill this in. Counters start at init; clear does not reset them.
 *
 * Names are copied by init, so the text that you pass may lie in a module that is unloaded. The copies live as long as
 * the process, and equal names share one. All copies together take at most 128 KiB: after that, and in a program
 * without diagnostics, the text itself is used and must outlive the pool. */
typedef struct kolk_stats {
    const char *name;         /* the pool's name; "" if it has none */
    const char *kind;         /* "pool", "slotmap", "bytemap", "queue", "shared", "ipc", "heap" (the whole, or a
                               * class), "resource" */
    uint64_t object_size;     /* bytes, as requested */
    uint64_t stride;          /* bytes from slot to slot */
    uint32_t count;           /* objects alive now */
    uint32_t peak;            /* the most slots ever needed at a time: this capacity would have sufficed (with
                               * KOLK_STATS=sizes, since kolk_scene) */
    uint32_t capacity;        /* slots that can be used without more memory */
    uint32_t max_capacity;    /* slots that the pool may grow to */
    uint64_t unused_bytes;    /* bytes of slots that were never needed: (capacity - peak) * stride */
    uint64_t bytes_reserved;  /* address space, including metadata, but not the debug mode's */
    uint64_t bytes_committed; /* the part of it that may be accessed; the first access gets memory from the system */
    uint64_t failed;          /* allocs that returned NULL because there was no room or setup failed */
    uint64_t evictions;       /* objects that on_full or alloc_over freed to make room */
    uint64_t wrong_pool;      /* lookups of other pools' handles; slightly too low if several threads make them */
    uint64_t waits;           /* shared pools, queues: how often a thread has waited for an object, or at an end */
    uint32_t worn_out;        /* free slots whose generations are used up */
    uint32_t recycled;        /* worn-out slots that were used again with new generations */
    uint32_t waiting;         /* shared pools, queues: threads that wait now (at both ends of a queue) */
    uint32_t debug;           /* KOLK_DEBUG_ flags in effect, without settings that this kind of pool cannot have */
} kolk_stats;

typedef enum kolk_stats_format {
    KOLK_STATS_TEXT = 0, /* a table for people: name, kind, size, alive, peak, capacity, failed, bytes. A second table
                            * lists the pools that threads have waited for: waiting, waits. A third table lists resource
                            * pools: max, in use, idle, waiting, borrows, full, timeouts ... For pools with the debug
                            * setting `sites`, it lists where the live objects were allocated; for pools between
                            * processes, which process holds how many */
    KOLK_STATS_JSON,     /* every field, as {"pools": [{"name": "bullets", ...}, ...]} and a newline; with `sites`, also
                            * "places": [{"alive": 3, "by": "fire+0x2c (weapons.c:41)"}, ...]; between processes
                            * [{"alive": 900, "by": "process 4711 (capture)"}, ...] */
    KOLK_STATS_OPENMETRICS, /* OpenMetrics 1.0: kolk_alive{pool="bullets",kind="pool"} 17, ... # EOF. Resource pools
                             * also have OpenTelemetry's db_client_connection_... and kolk_resource_... */
    KOLK_STATS_PROMETHEUS   /* the same in Prometheus's text format 0.0.4, which node_exporter's textfile collector and
                             * promtool read. There, db_client_connection_count is called db_client_connections */
} kolk_stats_format;

/* Writes the statistics of every initialised pool that has a name. The text is passed to `put` in pieces; `put` may
 * call any function of kolk. The figures of pools that other threads are using may be slightly inaccurate. A program
 * without diagnostics keeps no list of pools, and writes an empty one. */
KOLK_API_ void kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                                void *context);

/* Writes at once what the variable KOLK_STATS requests, to where it says, as KOLK_STATS_AT does at signals. A file is
 * replaced as a whole. Threads may call it at the same time; signal handlers must not. Returns false if KOLK_STATS
 * requests nothing, if the file cannot be written (which is reported, once for several failures in a row), and without
 * diagnostics. O(pools). */
KOLK_API_ bool kolk_stats_now(void);

/* Like kolk_stats_write, for the pools of another process, which does nothing for it and does not notice it. It may be
 * in the middle of a call; a pool that cannot be read at this moment is left out. Needs the right to trace that process
 * (ptrace(2)): the same user, and what kernel.yama.ptrace_scope demands. The process must contain this version of kolk,
 * linked in any way; if it contains several copies, the pools of all are written. JSON has `allocs` where it can be
 * known: how many objects were ever allocated, plus a constant; and `resident_bytes` where it can be known: how many
 * bytes of the slots (of a heap: of all blocks) are in memory. Returns NULL, or why nothing was written, as a clause.
 * O(pools), O(slots) for what counts lives, O(pages) of the slots (of the first 64 GiB; some 40 ms for a GiB in
 * memory), and a search through the writable data of the process's modules. It reads at most 1 GiB, where each small
 * read counts as 2 KiB, so that no process can hold up its reader: pools beyond are left out, and so is `allocs` where
 * counting would take more than half of what is left. Linux only, and only in a library that has all members. */
KOLK_API_ const char *kolk_stats_write_of(int64_t process, kolk_stats_format format,
                                          void (*put)(const char *text, size_t length, void *context), void *context);

/* ---- Failures: bugs of the caller -------------------------------------------------------------------------------- */

typedef struct kolk_failure {
    kolk_status rule;     /* which rule was broken */
    const char *pool;     /* the pool's name, or ""; for KOLK_BAD_SETTING, the variable, such as "KOLK_DEBUG" */
    const void *object;   /* the pointer that was passed, the object that the failure is about, or NULL */
    uint32_t slot;        /* the object's slot (in a slot map, its place), or UINT32_MAX */
    const char *sentence; /* the whole message, for people: "kolk: bullets: double free of slot 17" */

    /* Sites are return addresses; an unknown site is NULL. With the debug setting `sites`, each stack lists a site and
     * its callers, from the site outwards, and ends with a NULL; an unknown stack is NULL. A stack may begin in a
     * function of kolk's headers. kolk_site_text and kolk_stack_text describe sites and stacks in words. */
    const void *site;       /* the call that failed */
    const void *alloc_site; /* where the object was allocated last, with the debug setting `sites` */
    const void *free_site;  /* where it was freed last */
    const void *const *stack, *const *alloc_stack, *const *free_stack;

    /* For KOLK_FULL, with `sites`: the three places where most of the live objects were allocated, "97 from fire
     * (gun.c:31), 20 from ...", which also end the sentence; otherwise NULL */
    const char *holders;

    kolk_handle handle; /* for KOLK_WRONG_POOL: the handle */
    uint32_t offset;    /* the first changed byte: how far after the object's start (KOLK_WRITE_AFTER_FREE), after its
                      * end (KOLK_OVERFLOW), or before its start (KOLK_UNDERFLOW) */
    uint32_t count;     /* how many bytes changed; for KOLK_LEAK: how many objects from alloc_site have leaked */
    uint32_t depth;     /* how many calls the sentence names at each site; 0: three */
    bool sites;         /* the debug setting `sites` is on: the sentence names the sites */
    bool no_debug;      /* this kind of pool has no debug mode */
} kolk_failure;

/* The handler is called for each failure, in the thread whose call failed. If several threads use a pool, the handler
 * may run in several of them at the same time. NULL restores the default handler, which prints the sentence to stderr
 * and aborts (freestanding: __builtin_trap); after KOLK_LEAK, KOLK_BAD_SETTING and KOLK_NESTED it does not abort. A
 * handler may call functions that take a const pool. If it returns, the failed call changes nothing. But if the failure
 * is damage that the debug mode has found, the call repairs it and continues.
 *
 * The handler may longjmp or throw. An init that is left in this way has failed: the pool is all zero, and has no
 * memory. But if the failed call was made by a hook (reset, setup, on_full, on_move, destroy ...), the handler must
 * return, because hooks must return. Only kolk's own hooks (kolk_pool_trap_full, _evict_oldest, _evict_cheapest) may be
 * left by longjmp or throw. (A handler that throws needs unwind tables for kolk's files: where they are not the
 * default, as on 32-bit ARM, compile these files with -fexceptions. CMakeLists.txt does so.) */
KOLK_API_ void kolk_set_failure_handler(void (*handler)(const kolk_failure *failure, void *context), void *context);

/* Describes an address of code: "on_hit+0x2c (collide.c:63)". The file and line are missing if addr2line or the debug
 * information is missing; without a symbol table it is "program+0x11f3". Functions that the compiler has inlined at the
 * address come first: "on_hit (collide.c:63) < explode+0x2c (collide.c:80)". At most three functions are named, and
 * none of kolk's own. The text is cut off after `size` bytes, including the final 0. Returns `text`. The call is slow,
 * because it reads files and, if `lines` is true, runs the first addr2line in PATH, or llvm-addr2line for code that
 * clang compiled. Only absolute folders in PATH are searched, and none if the program has more rights than its user
 * (set-user-ID, file capabilities). On Windows the text is "program.exe+0x11f3", and on other systems without Linux's
 * loader it is an address. In freestanding builds it is empty. */
KOLK_API_ const char *kolk_site_text(const void *site, bool lines, char *text, size_t size);

/* Describes a stack of return addresses that ends with a NULL, such as those of kolk_failure. It names at most `depth`
 * calls (0: three). Returns how many of the addresses these calls cover. */
KOLK_API_ size_t kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size);

/* ---- The debug mode, statistics at exit, and tools ---------------------------------------------------------------
 *
 * Settings of the debug mode: for one pool in its descriptor's `debug`, or for the whole program in the environment:
 *
 *     fill            a freed object is filled with 0x1deadb0b. The fill is verified before its slot is used again, and
 *                     at clear and deinit. Each new object is filled with 0xcd, so that missing initialisation shows.
 *                     Has no effect on pools with keep, setup or teardown, because their contents survive.
 *     guard           red zones of 16 bytes or more on both sides of each object. They are verified by free, the last
 *                     unpin, clear, deinit and is_valid. Has no effect on pools on the caller's memory. With guard,
 *                     each run of KOLK_EACH_RUN is one object.
 *     quarantine=64   the 64 slots freed last are not used again, unless the pool would otherwise be full
 *     sites=3         reports state where an object was allocated and freed: they name the three innermost calls
 *                     outside kolk, including inlined functions. The number may be 1 to 16; if it is left out, it is 3.
 *                     Objects that are still alive at deinit and at exit are reported (KOLK_LEAK): one failure for each
 *                     place that allocated some, beginning with the place of the oldest object. The end of a heap with
 *                     a parent reports none. An alloc or free takes some microseconds to walk the stack; with sites=1
 *                     it does not walk. docs/debugging.md states when less is known.
 *     move            slot maps only (not on the caller's memory): each remove, settle, clear and sort moves all
 *                     objects to another block and makes the old block inaccessible until seven more such calls. So
 *                     the use of a kept pointer crashes immediately. A removal is then O(count), so `all` does not
 *                     include this setting.
 *     trace           alloc and free do not use the fast path, so that the probes and the profiler (kolk_set_profiler,
 *                     below) see each call
 *     sample=1000     heaps only: about one block in 1,000 lies between inaccessible pages, so that a read or write
 *                     past its end, or after its free, crashes the program immediately: see heap.h. Not included in
 *                     `all`. In another pool's `debug`, or with its name, it is reported (KOLK_BAD_SETTING).
 *     all             fill, guard, quarantine=64 and sites
 *
 * Slot maps have fill, sites, move and trace; fill applies to the places behind the last object. Shared pools have all
 * settings but move. After kolk_shared_free_later, an object is filled, quarantined and reported to profilers when its
 * slot becomes free. If two threads free the same object at the same moment, one of them is always reported. Resource
 * pools have sites; queues have no settings. Byte maps have fill, sites and trace, also for the pool of a game, unless
 * it is read-only: what the game makes and deletes there by itself has no sites, and is not reported.
 *
 * Any of the first five settings also causes reports of a lookup with another pool's handle (KOLK_WRONG_POOL), of a
 * pool that was moved after its init (KOLK_MOVED), and of a pool that is initialised again, or whose storage is gone,
 * without a deinit (KOLK_LEAK). Only quarantine changes the order in which slots are used.
 *
 *     KOLK_DEBUG=SETTINGS[:GLOB][;SETTINGS[:GLOB]]...      sets the settings of pools whose name matches GLOB (with *
 *                                                          and ?), or of all pools if there is no GLOB; they replace
 *                                                          the descriptor's settings
 *     KOLK_STATS=1 | text[:FILE] | json[:FILE] | openmetrics[:FILE] | prometheus[:FILE]
 *                                                          at exit, writes statistics of all named pools that ever
 *                                                          existed to stderr or FILE. A FILE is replaced atomically:
 *                                                          readers see either the old one or the new one. Ended pools
 *                                                          of the same name, kind and size share a row with their
 *                                                          maxima and the sums of their counters. Of 1,000 names of
 *                                                          ended pools the rows are kept; later ones are summed up in
 *                                                          a row "(other names)" for each kind. More than 7 pools of
 *                                                          one name that still exist share a row with their sums
 *     KOLK_STATS=log[:FILE]                                at exit, adds one line of JSON to FILE: {"time": seconds
 *                                                          since 1970, "pools": [...]}, as above, but only with pools
 *                                                          that exist. For KOLK_STATS_AT, and kolk report
 *     KOLK_STATS_AT=WORD[,WORD]...                         writes them at other times. The words are exit; HUP, INT,
 *                                                          QUIT, TERM, USR1 and USR2, for signals; and one interval,
 *                                                          such as 500ms, 10s or 5m. Without the word exit, nothing is
 *                                                          written at exit. A thread of kolk's own writes, never the
 *                                                          signal's handler. The program's own handlers are called as
 *                                                          before. If it has none, USR1 and USR2 do nothing else, and
 *                                                          the others end the process after the statistics are written
 *     KOLK_STATS=sizes[:FILE]                              at exit, writes the capacity that each pool needed, and in
 *                                                          which scene: see below
 *     KOLK_SIZES=FILE                                      sets the capacities of pools by name: see below
 *     KOLK_BYPASS=1 | 0                                    each object is a malloc block of its own, for tools that
 *                                                          watch malloc; 1 is the default under AddressSanitizer,
 *                                                          LeakSanitizer, MemorySanitizer and memcheck. Objects of slot
 *                                                          maps stay in their array, and kolk reports to the tools
 *                                                          which places are in use
 *
 *     KOLK_FAIL=GLOB:every=10 | GLOB:chance=0.01,seed=7[;...]
 *                                                          tests how the program copes with full pools: in pools whose
 *                                                          name matches, every 10th alloc (or random ones) finds the
 *                                                          pool full. on_full is called as usual;
 *                                                          kolk_shared_alloc_wait does not wait. In resource pools,
 *                                                          creates fail. The first matching entry applies
 *
 * The environment is read when a pool is initialised. Freestanding builds, and programs without diagnostics, have
 * none of this. A setting that is not understood is reported as KOLK_BAD_SETTING and ignored. A GLOB that has matched
 * no pool's name is reported at exit. */

/* Capacities that tune themselves: a run with KOLK_STATS=sizes:FILE measures what each named pool needs, and later runs
 * with KOLK_SIZES=FILE start with these capacities. Both may name the same file. The file is text that people may edit:
 *
 *     # slots by the names of pools
 *     bullets   = 256
 *     particles = 512
 *     [boss fight]
 *     particles = 4096        # while kolk_scene("boss fight") is on
 *
 * Writing: a number before the first section is a pool's peak; a number in a section is its peak in that scene. For
 * pools of the same name, it is the greatest of their peaks. For a pool that cannot grow, the peak of its whole life is
 * in the section of the scene in which it was initialised. If an alloc found a pool full, a remark states that the need
 * is greater than the measured number. Slot maps are measured too. Byte maps are not, because their game knows the
 * count.
 *
 * Text that people wrote stays: comments, blank lines, the order, and the sections and pools that this run did not see.
 * Only the numbers of measured pools and kolk's own remarks change. A pool that was never needed keeps its number too.
 * New pools are added at the end of their section, new sections at the end of the file. The file is replaced atomically
 * when the program ends. A file that cannot be read, or that has a line that is not understood, stays as it is, and the
 * measurements go to stderr.
 *
 * Reading: init gives a pool the capacity that the file has for its name, in the scene's section or else before the
 * first section. If max_capacity is less than that, init raises it. When a scene begins, pools that can grow reserve
 * their capacity for that scene; no pool shrinks. A pool on the caller's memory keeps its capacity. A line that is not
 * understood, that matches no pool or scene, or that cannot be applied is reported as KOLK_BAD_SETTING with file and
 * line, and ignored. The first init of the program reads the file, and compares each line with those above it. Inits in
 * other threads wait for it; forks do not. Each later init of a named pool searches the lines.
 *
 * While kolk measures, each alloc that raises the peak of its scene takes the slow path, and an alloc with
 * KOLK_REUSE_LOWEST makes one more comparison. Other allocs cost the same as without measuring. Without these settings
 * nothing costs more. */

/* Ends the current scene and, unless the name is NULL, begins a new one: a level of a game, a phase of a server. Call
 * it while no other thread uses a pool. O(pools) with KOLK_STATS=sizes, O(pools times lines of the file) with
 * KOLK_SIZES, else O(1). The name is copied. Does nothing without diagnostics. */
KOLK_API_ void kolk_scene(const char *name);

/* Sets the profiler (NULL: none). Pools that are initialised while it is set report every alloc and free to it, so they
 * do not use the fast paths. The arguments suit Tracy's TracyAllocN(object, size, pool) and TracyFreeN(object, pool).
 * Set it before threads start; the struct is copied. Its functions must return, and must not use the pool. For a shared
 * pool, several threads may call them at the same time. */
typedef struct kolk_profiler {
    void (*alloc)(const char *pool, const void *object, size_t size, void *context);
    void (*free)(const char *pool, const void *object, void *context);
    void *context;
} kolk_profiler;

KOLK_API_ void kolk_set_profiler(const kolk_profiler *profiler);

/* The features of this library that depend on the machine, on the options it was built with, and on what the program
 * links. */
enum {
    KOLK_HAS_PROBES = 1,     /* USDT probes (sys/sdt.h): kolk:full, wait ...: src/core/probes.h */
    KOLK_HAS_VALGRIND = 2,   /* kolk detects memcheck (valgrind/memcheck.h) */
    KOLK_HAS_PAGES = 4,      /* pools can use the system's memory, and grow */
    KOLK_HAS_DIAGNOSTICS = 8 /* the debug mode and the diagnostics above: KOLK_WITHOUT_DIAGNOSTICS */
};

KOLK_API_ uint32_t kolk_features(void);

/* For other languages, which must provide the memory for a pool: the size and the alignment of a struct of these
 * headers, such as "kolk_pool", in bytes; 0 if there is no such struct. O(structs). Only in a library that has all
 * members. */
KOLK_API_ size_t kolk_size_of(const char *type);
KOLK_API_ size_t kolk_align_of(const char *type);

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "base.inl"
#endif
#endif
