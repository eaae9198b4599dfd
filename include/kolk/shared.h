/* kolk/shared.h: one pool of objects that never move, for many threads. Each thread works through a kolk_local of its
 * own; an object may be freed by another thread than the one that allocated it.
 *
 *     #include <kolk/kolk.h>
 *     #include <pthread.h>
 *     #include <stdio.h>
 *
 *     struct message { int number; };
 *     KOLK_SHARED_TYPE(messages, struct message)
 *
 *     static messages pool;                                           // all zero
 *
 *     static void *work(void *argument) {
 *         messages_local local;
 *         if (messages_local_init(&local, &pool) != KOLK_OK) return argument;
 *         for (int i = 0; i < 1000; i++) {
 *             struct message *message = messages_alloc(&local);
 *             if (!message) break;                                    // a hundred are alive
 *             message->number = i;
 *             messages_free(&local, message);
 *         }
 *         messages_local_deinit(&local);
 *         return argument;
 *     }
 *
 *     int main(void) {
 *         if (messages_init(&pool, &(kolk_shared_desc){.name = "messages", .capacity = 100}) != KOLK_OK) return 1;
 *         pthread_t threads[2];
 *         for (int i = 0; i < 2; i++)
 *             if (pthread_create(&threads[i], NULL, work, NULL) != 0) return 1;
 *         for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
 *         printf("%u\n", messages_count(&pool));                      // 0
 *         messages_deinit(&pool);
 *     }
 *
 * (messages_... come from typed.h: the same functions as below, with your type for void *.)
 *
 * Each thread keeps up to `cache` free slots in a magazine of its own, and most calls touch nothing else. Only a thread
 * whose magazine is empty, or full, goes to the depot that all share, and moves some dozens of slots in one atomic
 * step.
 *
 * Cost      alloc, free and get are O(1): a dozen instructions without an atomic read-modify-write. About every 32nd
 *           call does one to three atomic operations, and at worst scans one word per 4,096 slots. Without caches every
 *           call does a few.
 * Memory    pages of the system. An object costs its stride, 5 bits, and 4 bytes (1 without handles). There are slots
 *           for (max_threads - 1) * cache objects more than max_capacity, as that many may lie in other threads'
 *           magazines. By default that is at most a quarter of max_capacity.
 * Capacity  with up to max_threads locals, max_capacity objects can be alive at any time, and perhaps up to
 *           (max_threads - 1) * cache more. So NULL is proof of this: at one moment of the call at least max_capacity
 *           objects were alive, or were to be free later; or the system had no memory for the pool to grow. From then
 *           on the pool is uncached for a while: threads keep nothing, and each freed slot goes to the depot at once,
 *           where all others find it. That ends when at least half as many slots have returned as the pool has. Without
 *           caches (small pools, or KOLK_NO_CACHE) the capacity is exactly max_capacity. NULL then means that
 *           max_capacity objects were alive, or were being freed: a free first ends its object's life (get, is_live and
 *           next don't find it any more), and then returns its slot.
 * Contents  alloc gives what the last life left, or anything, to setup too: initialise all of it. free leaves the
 *           object as it is, but in debug mode.
 *           Parts that cost much to make are kept from life to life: see Objects that are made once.
 * Threads   a kolk_local is one thread's. The functions of kolk_shared may be called by any number of threads at the
 *           same time, except init, deinit and is_valid. Those that say so are lock-free: a thread that is stopped in
 *           the middle of one stops no other. But a lock is taken, for moments, by an alloc that grows the pool, by a
 *           thread that serves others which wait, and in debug mode. The thread that allocates an object next sees what
 *           was written to it before its free. Not for signal handlers. A fork's child goes on with the locals of the
 *           thread that forked. Other threads' objects stay alive, and slots that were on their way to them or from
 *           them are lost to the child. What was freed later may wait there for some 1,000 calls of quiesce, until the
 *           child looks which threads it does not have.
 * Design    the essay in src/shared/shared.c. Not in freestanding builds.
 */
#ifndef KOLK_SHARED_H
#define KOLK_SHARED_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

#define KOLK_NO_CACHE UINT32_MAX

/* Zero means default for all but object_size. */
typedef struct kolk_shared_desc {
    const char *name; /* for reports, statistics and the default tag; must outlive the pool; NULL: none */
    size_t object_size;
    /* A power of two up to 4096. 0: the largest that divides object_size, at most 16. */
    size_t object_align;
    uint32_t capacity;     /* objects that can always be alive before the pool has to grow; 0: none, if it may */
    uint32_t max_capacity; /* grows up to it, in place; 0: capacity */
    uint32_t max_threads;  /* locals at the same time; 0: 16 */
    /* Free slots that a thread may keep, up to 2^28. 0: 256, or less, so that all threads but one keep a quarter of
     * max_capacity at most; if that leaves less than 4, or there is a setup or teardown hook, none. KOLK_NO_CACHE:
     * none. */
    uint32_t cache;
    /* RECYCLE: a slot's generations start anew after 2^31 lives, at once. NONE: 1 byte a slot instead of 4. STRICT is
     * refused: each free would have to look whether this life was the last one. */
    kolk_generations generations;
    uint32_t tag; /* of handles; 0: a hash of the name */
    bool exact;   /* two threads that free one object at the very same moment: see kolk_local_free */
    bool keep;    /* see Objects that are made once, and so on down to teardown */
    bool (*setup)(void *object, void *context);
    void (*reset)(void *object, void *context);
    void (*teardown)(void *object, void *context);
    void *context; /* handed to setup, reset and teardown */
    /* Settings of the debug mode: "fill,guard,quarantine=64,sites" and the like (base.h); NULL: none, but KOLK_DEBUG in
     * the environment counts before this. A pool in debug mode is uncached for ever, and takes a lock now and then. */
    const char *debug;
} kolk_shared_desc;

/* ---- Structs: nothing to read; ask the functions ----------------------------------------------------------------- */

/* A thread's way into the pool. All zero is a local of no pool: alloc gives NULL. */
typedef struct kolk_local {
    uint32_t *lives; /* as in its magazine; NULL: the fast paths below are not for it */
    struct kolk_magazine *magazine;
    struct kolk_shared *pool;
} kolk_local;

/* 1 bit a slot, in words, and before each 64 of these a summary: 1 bit a word that may have bits. */
typedef struct kolk_slot_sheet {
    uint64_t summary, words[64];
} kolk_slot_sheet;

typedef struct kolk_slot_set {
    kolk_slot_sheet *sheets;
} kolk_slot_set;

/* One thread's free slots of one depot: a stack, whose `cache` entries follow the struct. */
typedef struct kolk_magazine {
    unsigned char *slots;
    uint32_t *lives;      /* of each slot: how often one began or ended; odd: it is alive. NULL: they are in bytes */
    uint8_t *short_lives; /* ... */
    uintptr_t inverse;
    uint32_t stride, bound; /* free leaves the fast path from this slot on */
    uint32_t top, cache;    /* the entries below top are free slots; top <= cache */
    uint8_t shift;
    uint32_t next_word; /* of the depot: where the next search begins */
    KOLK_ALIGNAS(8) uint64_t failed;
    uint32_t leaving; /* the entries below it are on their way to the depot */
    uint32_t proving; /* debug mode: slot + 1 whose fill is being proved, before its life begins */
    struct kolk_depot *depot;
    struct kolk_member *member;
    struct kolk_magazine *next; /* of the same member */
} kolk_magazine;

/* A thread, or the place of one that is gone. It owns one magazine or several. */
typedef struct kolk_member {
    KOLK_ALIGNAS(8) uint64_t epoch; /* that the thread has come to; 0: offline */
    uint32_t owner;                 /* the thread; 0: unknown */
    uint32_t stalls;                /* how often it has found others behind its epoch */
    uintptr_t magazines;            /* the first kolk_magazine */
    struct kolk_member *next;
    kolk_local own; /* of kolk_local_of_thread */
    uint8_t taken;  /* by a thread: 1 */
} kolk_member;

/* A list that only grows: members are taken and given back, and stay in it. */
typedef struct kolk_members {
    uintptr_t first; /* a kolk_member */
    uint32_t lock;   /* of taking and giving back */
} kolk_members;

/* The free slots that no thread has. The parts that different threads write are 128 bytes apart, so that processors
 * don't take them from each other for nothing. */
typedef struct kolk_depot {
    kolk_slot_set free;    /* 1 << word_shift slots in a word */
    kolk_members *members; /* it fills their magazines */
    uint32_t slots;        /* that it may ever have */
    uint32_t usable;       /* that are committed */
    uint32_t cache;        /* that one magazine may have; 0: slots go one by one */
    uint8_t word_shift;
    bool slow_free; /* no free takes the fast path */
    unsigned char pad0[128];
    uint32_t fresh; /* slots from here on were never taken; only advances */
    unsigned char pad1[128];
    KOLK_ALIGNAS(8) uint64_t returns;        /* how often slots were put here */
    KOLK_ALIGNAS(8) uint64_t uncached_until; /* until `returns` is this, no magazine keeps slots */
    KOLK_ALIGNAS(8) uint64_t lowered_until;  /* the same, and the bounds of all magazines say so */
    uint32_t waiting;                        /* threads that wait for slots */
    unsigned char pad2[128];
} kolk_depot;

/* All zero is a pool that no local can be made for. Never copy or move it once initialised. */
typedef struct kolk_shared {
    unsigned char *slots;
    uint32_t *lives; /* as in kolk_magazine */
    uint8_t *short_lives;
    kolk_slot_set later[4]; /* slots that are to be free, by the lowest bits of the epoch in which they were freed */
    kolk_slot_set ready;    /* slots that are set up; without setup and teardown it has no sheets, nor has: */
    kolk_slot_set raw;      /* free slots that are not, as their setup failed */
    unsigned char *records; /* of max_threads threads: a kolk_member, and 128 bytes behind it its kolk_magazine */
    size_t record_size;
    uintptr_t inverse;
    uint32_t stride, object_size, tag;
    uint32_t capacity, max_capacity; /* objects; slots are `slack` more */
    uint32_t slack, max_threads;
    uint32_t bound;  /* get leaves the fast path from this slot on */
    uint32_t lock;   /* of growth, and of the key */
    uintptr_t key;   /* of the threads' own locals, + 1 */
    uint32_t number; /* in the registry; 0: it is not there */
    uint8_t shift, memory;
    uint8_t generations; /* KOLK_GENERATIONS_ */
    uint8_t debug_flags; /* KOLK_DEBUG_ */
    const char *name;
    struct kolk_debug *debug; /* NULL: off */
    uintptr_t *objects;       /* malloc-backed: inverted pointers to malloc's blocks, by slot; NULL: slots have them */
    uint32_t quarantined, debug_lock;
    unsigned char *block;
    size_t block_size;
    unsigned char *range; /* a class of a heap: where its slots are; NULL: in the block */
    uint32_t colour;      /* bytes before the lives: those of a heap's classes do not all begin at a page */
    uint64_t *budget;     /* bytes that the classes of this heap may still take; NULL: no limit */
    bool (*setup)(void *object, void *context);
    void (*reset)(void *object, void *context);
    void (*teardown)(void *object, void *context);
    void *context;
    uint32_t wrong_pool;
    kolk_members members;
    kolk_depot depot;
    KOLK_ALIGNAS(8) uint64_t epoch;   /* of deferred free */
    KOLK_ALIGNAS(8) uint64_t retired; /* the last epoch with slots to be free later */
    KOLK_ALIGNAS(8) uint64_t looked;  /* when a waiter looked for dead threads last, by kolk_now_ns */
    KOLK_ALIGNAS(8) uint64_t waits;   /* how many threads have joined the waiters */
    kolk_wait_queue waiters;
    uint32_t waiters_lock, waiters_forks;
    uint32_t is_shut; /* kolk_shared_shutdown */
} kolk_shared;

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Anything but KOLK_OK (a broken rule of the descriptor, or KOLK_NO_MEMORY) leaves it all zero. */
static inline kolk_status kolk_shared_init(kolk_shared *pool, const kolk_shared_desc *desc);

/* Nobody may use the pool any more: all locals are gone, or will not be used again. Runs reset for what is alive and
 * teardown for what is set up, gives the memory back, leaves the pool all zero. (An alloc or free through a local that
 * was left over is reported: KOLK_NO_LOCAL. For that, the last 64 pools that left locals of running threads leave a few
 * pages behind. An alloc or free through a local of an earlier one touches memory that is gone.) */
KOLK_API void kolk_shared_deinit(kolk_shared *pool);

/* Makes a local for the calling thread, until this thread ends or deinits it. A thread may have several.
 * KOLK_TOO_MANY_THREADS: there are max_threads. A thread that has ended without a deinit does not count, where the
 * system tells (Linux, Windows): its free slots are reclaimed now. KOLK_NO_LOCAL: the pool is all zero. In each case
 * the local is all zero then, of no pool, and alloc gives NULL. Never copy a local: two would hand out the same
 * slots. */
KOLK_API kolk_status kolk_local_init(kolk_local *local, kolk_shared *pool);

/* The calling thread's own local, made at the first call and deinit'd when the thread ends: for code that has nowhere
 * to keep one. A call takes some nanoseconds, so ask once for many objects. NULL: there are max_threads, or the process
 * has more such pools than the system has keys (1,024 on Linux). */
KOLK_API kolk_local *kolk_local_of_thread(kolk_shared *pool);

/* Returns its free slots to the depot, and leaves the local all zero. Its objects stay alive. Takes a lock for moments,
 * as init does. */
KOLK_API void kolk_local_deinit(kolk_local *local);

/* Returns its free slots to the depot: before the thread sleeps for long. Lock-free. */
KOLK_API void kolk_local_flush(kolk_local *local);

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* An object, or NULL: see Capacity above. Lock-free. */
KOLK_INLINE void *kolk_local_alloc(kolk_local *local);

/* The same, but waits for an object until the deadline: NULL after it; with KOLK_NOW it is kolk_local_alloc. First
 * come, first served: of the threads that wait, the first one gets the next object that is freed. (An alloc that does
 * not wait takes what it finds.) Only an object, the deadline, or kolk_shared_shutdown ends a wait; pthread_cancel does
 * not. Where objects are freed later, wait offline: the slots that are waited for may wait for this thread. (Once a
 * second, one of the waiters looks whether they wait for a thread that has ended without a deinit.) To limit something
 * to a few, take a pool without caches: others have more than their capacity. */
KOLK_API void *kolk_local_alloc_wait(kolk_local *local, kolk_deadline deadline);

/* Takes back an object of the pool, whichever thread allocated it, once; its handles are stale from now on. NULL does
 * nothing. Anything else is a bug of the caller and is reported: a double free, a pointer that is not of this pool or
 * not the start of an object. Two threads that free one object at the very same moment are both believed, and the slot
 * is handed out twice; with .exact one of them is reported, which costs some nanoseconds a free. Lock-free. */
KOLK_INLINE void kolk_local_free(kolk_local *local, void *object);

/* ---- The end of waiting ------------------------------------------------------------------------------------------ */

/* Stop: each alloc_wait that waits, now or later, gives NULL at once, and so does one that need not wait; only with
 * KOLK_NOW, or less, it is kolk_local_alloc as ever. alloc and free go on, so that what is under way can be ended. */
KOLK_API void kolk_shared_shutdown(kolk_shared *pool);

/* After it: as before. A call that was waiting at a shutdown still gives NULL. */
KOLK_API void kolk_shared_reopen(kolk_shared *pool);

/* ---- Objects that are made once ------------------------------------------------------------------------------------
 *
 *     .keep       contents survive between lives: objects are made once and used as they are
 *     .setup      once per slot, before it is first handed out. False: it could not; alloc gives NULL, alloc_wait too
 *                 before its deadline, and the slot stays free and is tried again.
 *     .reset      once after every free of a live object, and at deinit. The object is dead by then, for handles,
 *                 is_live and next, though count still counts it: clear its references to others.
 *     .teardown   once per slot that is set up, at deinit
 *
 * (examples/compress.c has such objects.) Which thread runs what: setup, the one that allocates; reset, the one that
 * frees, and after free_later the one whose quiesce (or alloc, or offline) makes the slot free, when no thread looks at
 * the object any more; at deinit all is run by its caller. An object is in one hook at a time, and what one hook wrote
 * the next one sees; hooks for different objects run at the same time in different threads, so that `context` may need
 * a lock.
 *
 * Hooks must return. They may call what is a question; setup and reset also alloc, free and free_later through a local
 * of the thread that runs them, but nothing that waits, and neither quiesce, offline nor online. At deinit what reset
 * allocates is reset too, out of the slots that were free before; it gets NULL when these are used up.
 *
 * Nothing is given back before deinit: the slots of threads that have ended come home as they are, set up, and no hook
 * runs for it. A pool with keep, setup or teardown is not filled by the debug mode.
 *
 * A fork's child has copies of all objects, and runs the hooks for them at its own deinit: in C that frees the child's
 * own copy of memory, but a hook that removes files or ends connections does so for both. An object whose setup another
 * thread was just running is not set up there; one whose reset was under way counts as alive, and is torn down.
 *
 * Cost: with setup or teardown 2 bits a slot, and slots that were never used are taken one by one; with reset no free
 * takes the fast path. Where none is set, nothing. What a magazine has at hand is set up too, and so are the slots
 * beyond max_capacity: with costly parts take no cache, as is the default then, and there are never more parts than
 * the most objects that were alive at a time, or just being freed (in debug mode more, with `quarantine`). Where setup
 * costs little (a lock that is initialised), ask for a cache. */

/* ---- Deferred free: for readers that take no lock ------------------------------------------------------------------
 *
 *     #include <kolk/kolk.h>
 *     #include <stdatomic.h>
 *
 *     struct route { int metric; };
 *     KOLK_SHARED_TYPE(routes, struct route)
 *     static struct route *_Atomic current;
 *
 *     void replace(routes_local *local, struct route *with) {
 *         struct route *old = atomic_exchange(&current, with);
 *         routes_free_later(local, old);                              // readers may still be looking at it
 *     }
 *
 *     int answer_a_request(routes_local *local) {
 *         int metric = atomic_load(&current)->metric;                 // no lock, and no wait
 *         routes_quiesce(local);                                      // it has no pointer to others' objects any more:
 *         return metric;                                              // after a request, at the end of a frame
 *     }
 *
 * (examples/routes.c is a program of these.)
 *
 * In a pool in which something is freed later, each thread that has a local calls quiesce again and again, or is
 * offline. A thread that does neither holds up these slots for all. (Quiescent-state-based reclamation: McKenney,
 * Slingwine 1998; here with epochs.) */

/* Frees it as kolk_local_free does: handles, `count` and is_live know nothing of it any more. But its contents stay,
 * and its slot is free only after every local that is online, this one too, has passed a quiesce that began after this
 * call; at the latest with the third round of these. Until then it counts as alive for Capacity. The objects that it
 * points to are not freed with it. O(1), one or two atomic operations. Lock-free. */
KOLK_API void kolk_local_free_later(kolk_local *local, void *object);

/* The calling thread holds no pointers to objects that any thread may have freed later. Two loads if no slot waits for
 * that; otherwise also a look at each local, and once an epoch O(slots / 4096) and the slots that become free.
 * Lock-free; but slots that were freed later become free only when all threads go on. (Each 1024th time that a thread
 * finds another one behind, it looks under a lock whether that other one has ended without a deinit.) */
KOLK_API void kolk_local_quiesce(kolk_local *local);

/* The thread holds no such pointers until it is online again: before it blocks. A local is online when it is made.
 * Lock-free. */
KOLK_API void kolk_local_offline(kolk_local *local);
KOLK_API void kolk_local_online(kolk_local *local);

/* ---- Handles and questions, from any thread: all lock-free but is_valid ------------------------------------------ */

/* The handle of a live object; null, and a report, if it is not one. */
KOLK_API kolk_handle kolk_shared_handle(const kolk_shared *pool, const void *object);

/* The object of a handle, or NULL if it was freed. It may be freed the moment after: a thread that looks objects up
 * while others free some must know that they don't free these. After 2^31 lives of its slot a handle is good again. */
KOLK_INLINE void *kolk_shared_get(const kolk_shared *pool, kolk_handle handle);

/* Is it the start of a live object? Any pointer may be asked about. */
KOLK_API bool kolk_shared_is_live(const kolk_shared *pool, const void *object);

/* Objects alive: exact while nobody allocates or frees, otherwise nearly. O(slots / 64). */
KOLK_API uint32_t kolk_shared_count(const kolk_shared *pool);

/* The next live object in ascending order of slots, after this one (which may have been freed since); NULL starts, NULL
 * ends. An object that other threads allocate or free during the walk may be visited or not; all others are visited. A
 * pointer that is no object of this pool is a bug of the caller and gives NULL.
 *
 * Under sanitizers and memcheck objects come from malloc, and a pointer alone does not tell the slot. There an object
 * that next gave is known, live or freed, until 64 others that next gave have been freed after it; an object that next
 * did not give, until it is freed and its slot is used again. */
KOLK_API void *kolk_shared_next(const kolk_shared *pool, const void *object);

/* A place in a walk, for KOLK_EACH of typed.h, which visits what next does, and in the same order. It goes by the slot,
 * and has none of next's limits under tools: any object may be freed on the way. Slots that are used for the first time
 * after the walk began are not visited. The object may be freed by another thread while the body looks at it: as with
 * get, the program must know that it is not (or free it later). */
typedef struct kolk_shared_cursor {
    const kolk_shared *pool;
    uint32_t slot, end; /* the next to look at, and where the walk ends */
    bool more;          /* false: KOLK_EACH is done */
} kolk_shared_cursor;

KOLK_API kolk_shared_cursor kolk_shared_each(const kolk_shared *pool);
KOLK_API void *kolk_shared_cursor_next(kolk_shared_cursor *cursor);

/* capacity and max_capacity are objects, as in the descriptor, without the slots beyond them. peak is an upper bound:
 * the slots that were ever taken, into magazines too, but not more than capacity, unless more are alive. `waiting` are
 * the threads in alloc_wait now, `waits` how many have waited. */
KOLK_API void kolk_shared_stats(const kolk_shared *pool, kolk_stats *out);

/* Checks every invariant of src/shared/shared.c, for tests; nobody may allocate or free meanwhile. */
KOLK_API bool kolk_shared_is_valid(const kolk_shared *pool);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* type_size and type_align are 0, or of the type of a typed pool. */
KOLK_API kolk_status kolk_shared_init_type(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size,
                                           size_t type_align, size_t pool_size, uint32_t abi);

/* For typed pools: the descriptor, or, if it has no name, a copy that has the type's. */
static inline const kolk_shared_desc *kolk_shared_desc_named(const kolk_shared_desc *desc, const char *name,
                                                             kolk_shared_desc *named) {
    if (!desc || desc->name) return desc;
    *named = *desc;
    named->name = name;
    return named;
}

static inline kolk_status kolk_shared_init(kolk_shared *pool, const kolk_shared_desc *desc) {
    return kolk_shared_init_type(pool, desc, 0, 0, sizeof *pool, KOLK_ABI);
}

/* The ways out of the fast paths of shared.inl; and those for locals without `lives`. */
KOLK_API void *kolk_local_alloc_slow(kolk_local *local);
KOLK_API void kolk_local_free_slow(kolk_local *local, void *object);
KOLK_API void *kolk_local_alloc_short(kolk_local *local);
KOLK_API void kolk_local_free_short(kolk_local *local, void *object);
KOLK_API void *kolk_shared_get_slow(const kolk_shared *pool, kolk_handle handle);

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "shared.inl"
#else /* the calls that typed.h would make into shared.inl */
#define kolk_local_alloc_sized(local, stride)        kolk_local_alloc(local)
#define kolk_local_free_sized(local, object, stride) kolk_local_free(local, object)
#define kolk_shared_get_sized(pool, handle, stride)  kolk_shared_get(pool, handle)
#endif
#endif
