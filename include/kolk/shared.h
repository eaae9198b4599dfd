/* SPDX-License-Identifier: Zlib */
/* kolk/shared.h: a pool of objects that never move, for many threads. Each thread uses the pool through its own
 * kolk_shared_local. An object may be freed by a different thread from the one that allocated it.
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
 * whose magazine is empty or full goes to the depot, which all threads share, and moves some dozens of slots in one
 * atomic step.
 *
 * Cost      alloc, free and get are O(1): a dozen instructions without an atomic read-modify-write. About every 32nd
 *           call does one to three atomic operations, and at worst scans one word per 4,096 slots. Without caches every
 *           call does a few atomic operations.
 * Memory    pages of the system. An object costs its stride, 5 bits, and 4 bytes (1 without handles). There are
 *           (max_threads - 1) * cache more slots than max_capacity, because that many may lie in other threads'
 *           magazines. By default these are at most a quarter of max_capacity.
 * Capacity  with up to max_threads locals, max_capacity objects can be alive at any time, and perhaps up to
 *           (max_threads - 1) * cache more. So NULL proves that at one moment during the call at least max_capacity
 *           objects were alive or waiting for their deferred free, or that the system had no memory for the pool to
 *           grow. From then on the pool is uncached for a while: threads cache nothing, and each freed slot goes
 *           straight to the depot, where all threads find it. This ends when at least half as many slots have returned
 *           as the pool has. Without caches (small pools, or KOLK_NO_CACHE) the capacity is exactly max_capacity. NULL
 *           then means that max_capacity objects were alive, or were being freed: a free first ends the object's life
 *           (`get`, is_live and walks no longer find it), and then returns the slot.
 * Contents  a new object has the bytes of the slot's last life, or any others, and so has an object in setup:
 *           initialise all of it. free does not change the object, except in debug mode. To keep costly parts from one
 *           life to the next, see Objects that are made once.
 * Threads   a kolk_shared_local belongs to one thread. Any number of threads may call the functions of kolk_shared at
 *           the same time, except init, deinit, clear and is_valid. Some functions are described as lock-free: a thread
 *           that is stopped in the middle of one stops no other thread. But an alloc that grows the pool takes a lock
 *           for a moment, and so does a thread that serves waiting threads, or one in debug mode. The thread that
 *           allocates a slot next sees all writes that were made to it before its free. Signal handlers must not call
 *           these functions.
 * Forks     a child can continue to use the locals of the thread that forked. In the child, other threads' objects stay
 *           alive, and slots that were on their way to or from other threads are lost. Slots with a deferred free may
 *           wait there for some 1,000 calls of quiesce, until the child notices which threads it does not have.
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

/* Zero means the default, except for object_size. */
typedef struct kolk_shared_desc {
    const char *name KOLK_OR_0_; /* for reports, statistics and the default tag; copied; NULL: none */
    size_t object_size KOLK_OR_0_;
    /* A power of two up to 4096. 0: the largest one that divides object_size, at most 16. */
    size_t object_align KOLK_OR_0_;
    /* objects that can be alive before the pool has to grow; may be 0 if max_capacity is set */
    uint32_t capacity KOLK_OR_0_;
    uint32_t max_capacity KOLK_OR_0_; /* the pool can grow to this, in place; 0: capacity */
    uint32_t max_threads KOLK_OR_0_;  /* the most locals at the same time; 0: 16 */
    /* Free slots that a thread may cache, up to 2^28. 0: 256, or fewer, so that all threads but one cache at most a
     * quarter of max_capacity; none if that is fewer than 4, or with a setup or teardown hook. KOLK_NO_CACHE: none. */
    uint32_t cache KOLK_OR_0_;
    /* RECYCLE: a slot's generations start anew right after 2^31 lives. NONE: 1 byte per slot instead of 4. STRICT is
     * refused, because each free would have to check whether this life was the last one. */
    kolk_generations generations KOLK_OR_0_;
    uint32_t tag KOLK_OR_0_;               /* distinguishes its handles from other pools'; 0: a hash of the name */
    struct kolk_budget *budget KOLK_OR_0_; /* the bytes of its slots count towards it (budget.h); NULL: none */
    bool exact KOLK_OR_0_;                 /* detects two simultaneous frees of an object: see kolk_shared_free */
    kolk_life life KOLK_OR_0_;             /* see Objects that are made once */
    void *context KOLK_OR_0_;              /* passed to the hooks in `life` */
    /* Settings of the debug mode: "fill,guard,quarantine=64,sites" and the like (base.h); NULL: none. KOLK_DEBUG in the
     * environment overrides them. A pool in debug mode is always uncached, and sometimes takes a lock. */
    const char *debug KOLK_OR_0_;
} kolk_shared_desc;

/* ---- Structs: read no field; call the functions instead ---------------------------------------------------------- */

/* A thread's access to the pool. A zero-initialised local has no pool: alloc returns NULL. */
typedef struct kolk_shared_local {
    uint32_t *lives; /* as in its magazine; NULL: the fast paths do not serve this local */
    struct kolk_magazine_ *magazine;
    struct kolk_shared_inside_ *pool;
} kolk_shared_local;

/* One thread's free slots of one depot: a stack, whose `cache` entries follow the struct. */
typedef struct kolk_magazine_ {
    unsigned char *slots;
    uint32_t *lives;      /* by slot: how often a life began or ended; odd: alive. NULL: short_lives has them */
    uint8_t *short_lives; /* the same in bytes, in pools without handles */
    uintptr_t inverse;
    uint32_t stride, bound; /* free takes the slow path from this slot on */
    uint32_t top, cache;    /* entries below top are free slots; top <= cache */
    uint8_t shift;
    uint32_t next_word; /* the depot's word where the next search begins */
    KOLK_ALIGNAS(8) uint64_t failed;
    uint32_t leaving; /* entries below it are on their way to the depot */
    uint32_t proving; /* debug mode: 1 + the slot whose fill is being verified before its life begins */
    struct kolk_depot_ *depot;
    struct kolk_keeper_ *keeper;
    struct kolk_magazine_ *next; /* the next magazine of the same keeper */
} kolk_magazine_;

/* No local can be made for a zero-initialised pool. Never copy or move a pool once it is initialised. */
typedef struct kolk_shared {
    unsigned char *slots;
    uint32_t *lives; /* as in kolk_magazine_ */
    uint32_t stride, tag;
    uint32_t bound;  /* get takes the slow path from this slot on, which then raises it */
    uint32_t number; /* number in the registry; 0: not registered */
    const char *name;
    struct kolk_shared_inside_ *inside;
} kolk_shared;

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the pool is left all zero. */
KOLK_FOLDED_INLINE_ kolk_status kolk_shared_init(kolk_shared *pool, const kolk_shared_desc *desc);

/* For hot reload, as kolk_pool_rebind: replaces the hooks, context and name. The other members must be 0, or as they
 * were at the init (capacity may be less than the pool has now), and the pool must have a reset hook, and a setup or
 * teardown hook, if and only if it had one at the init. Otherwise changes nothing and returns KOLK_STRUCT_CHANGED,
 * KOLK_LAYOUT_CHANGED, KOLK_IN_HOOK or KOLK_MOVED. Locals stay usable, but no thread may be inside a call meanwhile. */
KOLK_FOLDED_INLINE_ kolk_status kolk_shared_rebind(kolk_shared *pool, const kolk_shared_desc *desc);

/* Call it when no thread uses the pool any more, and no local will be used again. Runs reset for each live object and
 * teardown for each slot that is set up, releases the memory, and leaves the pool all zero. (A later alloc or free
 * through one of its locals is reported as KOLK_NO_LOCAL. To make this possible, the last 64 pools that had locals of
 * running threads leave a few pages behind. A local of an earlier pool accesses memory that is gone.) */
KOLK_USES_(1) void kolk_shared_deinit(kolk_shared *pool);

/* Makes a local for the calling thread, which lasts until this thread ends or deinits it. A thread may have several
 * locals. KOLK_TOO_MANY_THREADS: there are already max_threads locals. On Linux and Windows, threads that have ended
 * without a deinit do not count: their free slots are reclaimed now. KOLK_NO_LOCAL: the pool is all zero. After either
 * status the local is all zero, and alloc returns NULL. Never copy a local: both copies would hand out the same
 * slots. */
KOLK_USES_(2) kolk_status kolk_shared_local_init(kolk_shared_local *local, kolk_shared *pool);

/* Returns the calling thread's own local, for code that has no place to keep one. It is made by the first call, and is
 * deinitialised when the thread ends. A call takes some nanoseconds, so use the result for many objects. Returns NULL
 * if there are already max_threads locals, or if the process has more such pools than the system has keys for
 * thread-specific data (1,024 on Linux). */
KOLK_USES_(1) kolk_shared_local *kolk_shared_local_of_thread(kolk_shared *pool);

/* Returns the local's free slots to the depot, and leaves the local all zero. Its objects stay alive. Takes a lock for
 * a moment, as init does. */
KOLK_USES_(1) void kolk_shared_local_deinit(kolk_shared_local *local);

/* Returns the local's free slots to the depot. Call it before the thread sleeps for long. Lock-free. */
KOLK_USES_(1) void kolk_shared_local_flush(kolk_shared_local *local);

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* Returns an object, or NULL: see Capacity above. Lock-free. */
KOLK_INLINE_USES_(1) void *kolk_shared_alloc(kolk_shared_local *local);

/* The same, but waits for an object until the deadline, and then returns NULL. With KOLK_NOW it works like
 * kolk_shared_alloc. Waiting threads are served in order of arrival; an alloc that does not wait may overtake them.
 * Only an object, the deadline, or kolk_shared_shutdown ends a wait; pthread_cancel does not. If the program uses
 * deferred free, go offline before waiting: otherwise the awaited slots may be waiting for this thread. (Once a second,
 * one of the waiters checks whether they wait for a thread that has ended without a deinit.) To limit the number of
 * objects exactly, use a pool without caches, because a pool with caches can have more objects than its capacity. */
KOLK_USES_(1) void *kolk_shared_alloc_wait(kolk_shared_local *local, kolk_deadline deadline);

/* Frees an object of the pool; any thread may have allocated it. Its handles are stale from now on. NULL does nothing.
 * Anything else is a bug of the caller and is reported: a double free, or a pointer that is not from this pool or is
 * not the start of an object. If two threads free the same object at the very same moment, it can happen that neither
 * free is reported; the slot is then handed out twice. With `.exact`, one of them is always reported; this costs some
 * nanoseconds per free. Lock-free. */
KOLK_INLINE_USES_(1) void kolk_shared_free(kolk_shared_local *local, void *object);

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

/* Allocates up to n objects and returns how many. If these are fewer than n, the next kolk_shared_alloc would have
 * returned NULL: see Capacity. Does not wait. Without setup, teardown and the debug mode, this takes the free slots of
 * whole words of the depot without moving them through the local's cache. For many objects this costs about two thirds
 * of n single calls, and a tenth in a pool without caches. Otherwise it is a loop. Lock-free. */
KOLK_USES_(1) uint32_t kolk_shared_alloc_n(kolk_shared_local *local, void **objects, uint32_t n);

/* Frees n objects of the pool, in the order of the array, each as kolk_shared_free does; NULL entries are skipped. A
 * pointer that kolk_shared_free would refuse is the same bug of the caller here, and so is one that is in the array
 * twice: it is reported, and the others are freed all the same. (If the failure handler jumps out, the objects behind
 * it stay alive.) The array is not changed. Without a reset hook and the debug mode, slots that are neighbours in the
 * array and in the pool go to the depot together. So for more objects than `cache`, and in pools without caches, this
 * costs less than n single calls, if objects are freed in about the order in which they were allocated. Waiting
 * threads are served at the end. Otherwise it is a loop. Lock-free. */
KOLK_USES_(1) void kolk_shared_free_n(kolk_shared_local *local, void *const *objects, uint32_t n);

/* Frees all objects at once, also those that wait for their deferred free, and makes all handles stale. Call it while
 * no other thread uses the pool or its objects, for example between two levels, and order it before what these threads
 * do with the pool later. The locals stay usable. reset runs for each object, in the calling thread; an object that it
 * allocates meanwhile may be freed too, or may stay. Cost: O(slots that were ever used): per object about a third of
 * the time of free_n, and a tenth without handles. With hooks or the debug mode, it is one free for each object. */
KOLK_USES_(1) void kolk_shared_clear(kolk_shared *pool);

/* ---- The end of waiting ------------------------------------------------------------------------------------------ */

/* Ends waiting: every alloc_wait that is waiting or is called later returns NULL immediately, even if there is a free
 * object. Only with the deadline KOLK_NOW does it still allocate. alloc and free still work, so that the program can
 * finish its work. */
KOLK_USES_(1) void kolk_shared_shutdown(kolk_shared *pool);

/* Undoes a shutdown. A call that was waiting at the shutdown still returns NULL. */
KOLK_USES_(1) void kolk_shared_reopen(kolk_shared *pool);

/* ---- Objects that are made once ------------------------------------------------------------------------------------
 *
 *     .life.keep      contents survive from one life to the next: objects are made once and used as they are
 *     .life.setup     called once per slot, before it is first handed out. If it returns false, setup failed: alloc
 *                     returns NULL, and so does alloc_wait, even before its deadline. The slot stays free and is
 *                     tried again.
 *     .life.reset     called once after each free of a live object, and at clear and deinit: it should clear the
 *                     object's references to others. The object is dead by then for handles, is_live and walks,
 *                     although count still includes it.
 *     .life.teardown  called once per slot that is set up, at deinit
 *
 * (examples/compress.c has such objects.) The thread that allocates runs setup, and the thread that frees runs reset.
 * After free_later, reset runs in the thread whose quiesce (or alloc, or offline) makes the slot free, when no thread
 * looks at the object any more. At deinit, the thread that calls it runs all hooks. Hooks of the same object never run
 * at the same time, and each sees the writes of the previous one. Hooks of different objects may run at the same time
 * in different threads, so `context` may need a lock.
 *
 * Hooks must return. They may call functions that only read the pool. setup and reset may also call alloc, free and
 * free_later through a local of the thread that runs them. At deinit a reset hook that allocates gets a slot that was
 * free, or NULL when none is left; such an object is reset too. In teardown, an alloc returns NULL. To call alloc_wait,
 * quiesce, offline, online, local_deinit, clear or deinit in a hook of the same pool is a bug of the caller
 * (KOLK_IN_HOOK), and does nothing; alloc_wait with KOLK_NOW is an alloc. rebind returns KOLK_IN_HOOK.
 *
 * teardown does not run before deinit: slots of ended threads return to the depot still set up, without a hook. The
 * debug mode does not fill a pool with keep, setup or teardown.
 *
 * A fork's child has copies of all objects, and runs their hooks at its own deinit. A hook that frees memory then frees
 * only the child's copy, but a hook that removes files or ends connections does so for both processes. An object whose
 * setup was running in another thread at the fork is not set up in the child. An object whose reset was running counts
 * as alive, and is torn down.
 *
 * Cost: with setup or teardown, a slot costs 2 bits more, and slots that were never used are taken one by one. With
 * reset, no free takes the fast path. Without hooks there is no cost. Slots in magazines, and slots beyond
 * max_capacity, are set up too. So for costly parts use no cache, which is the default with these hooks. Then there are
 * never more slots set up than the most objects that were alive, or being freed, at a time (more with the debug setting
 * `quarantine`). If setup is cheap, such as initialising a lock, set a cache. */

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
 * (examples/routes.c is a complete program with this.)
 *
 * If a pool's objects are freed by free_later, each thread that has a local must call quiesce regularly, or be offline.
 * A thread that does neither delays these slots for all threads. (Quiescent-state-based reclamation: McKenney,
 * Slingwine 1998; here with epochs.) */

/* Frees an object as kolk_shared_free does: for handles, `count` and is_live it is gone. But its contents stay, and its
 * slot becomes free only after every online local, including this one, has called quiesce, and at the latest when each
 * has done so three times. Until then the slot counts as alive (see Capacity). Objects that it points to are not freed.
 * O(1), one or two atomic operations. Lock-free. */
KOLK_USES_(1) void kolk_shared_free_later(kolk_shared_local *local, void *object);

/* States that the calling thread holds no pointers to objects that any thread may have passed to free_later. This costs
 * two loads if no slot is waiting to become free. Otherwise it also reads each local, and once per epoch costs O(slots
 * / 4096), plus the slots that become free. Lock-free; but slots become free only if all threads keep calling it.
 * (Every 1024th time that a thread finds another thread behind, it checks under a lock whether that thread has ended
 * without a deinit.) */
KOLK_USES_(1) void kolk_shared_quiesce(kolk_shared_local *local);

/* offline states that the thread holds no such pointers until it calls online. Call it before the thread blocks. A new
 * local is online. Lock-free. */
KOLK_USES_(1) void kolk_shared_offline(kolk_shared_local *local);
KOLK_USES_(1) void kolk_shared_online(kolk_shared_local *local);

/* ---- Handles and questions, from any thread: all lock-free but is_valid ------------------------------------------ */

/* Returns the handle of a live object. Any other pointer is a bug of the caller; the result is then the null handle. */
KOLK_API_ kolk_handle kolk_shared_handle_of(const kolk_shared *pool, const void *object);

/* Returns the object of a handle, or NULL if it was freed. Another thread may free the object right afterwards: the
 * program must make sure that none does while this thread uses it. After 2^31 lives of its slot a handle becomes valid
 * again. */
KOLK_INLINE_ void *kolk_shared_get(const kolk_shared *pool, kolk_handle handle);

/* Is this the start of a live object? Any pointer is allowed. */
KOLK_API_ bool kolk_shared_is_live(const kolk_shared *pool, const void *object);

/* The number of live objects: exact while no thread allocates or frees, otherwise approximate. O(slots / 64). */
KOLK_API_ uint32_t kolk_shared_count(const kolk_shared *pool);

/* A walk over the live objects, in ascending order of slots. kolk_shared_each begins it; each kolk_shared_cursor_next
 * returns an object, or NULL at the end. KOLK_EACH of typed.h is such a loop. Any object may be freed during the walk,
 * including the current one. An object that other threads allocate or free during the walk may or may not be visited;
 * all others are visited. Slots that are used for the first time after the walk began are not visited. As with `get`,
 * the program must make sure that no other thread frees an object while the loop's body uses it (or that it is freed by
 * free_later). */
typedef struct kolk_shared_cursor {
    const kolk_shared *pool;
    uint32_t slot, end; /* the next slot to look at, and the end of the walk */
    bool more;          /* false: KOLK_EACH is done */
} kolk_shared_cursor;

KOLK_API_ kolk_shared_cursor kolk_shared_each(const kolk_shared *pool);
KOLK_USES_(1) void *kolk_shared_cursor_next(kolk_shared_cursor *cursor);

/* `capacity` and `max_capacity` count objects, as in the descriptor; they do not include the pool's additional slots.
 * `peak` is an upper bound, because it counts slots in magazines too; it exceeds `capacity` only if more objects are
 * alive. `waiting` is the number of threads in alloc_wait now, and `waits` the number of calls that have waited. */
KOLK_API_ void kolk_shared_stats(const kolk_shared *pool, kolk_stats *out);

/* Checks every invariant of src/shared/shared.c, for tests; no thread may allocate or free meanwhile. */
KOLK_API_ bool kolk_shared_is_valid(const kolk_shared *pool);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* `type_size` and `type_align` are the size and alignment of a typed pool's type, or 0 if the pool is not typed. */
KOLK_HOSTED_("shared pools")
kolk_status kolk_shared_init_abi_(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size, size_t type_align,
                                  size_t pool_size, uint32_t abi);

KOLK_API_ kolk_status kolk_shared_rebind_abi_(kolk_shared *pool, const kolk_shared_desc *desc, size_t type_size,
                                              size_t type_align, size_t pool_size, uint32_t abi);

KOLK_NAMED_(kolk_shared_desc_named_, kolk_shared_desc)

KOLK_FOLDED_INLINE_ kolk_status kolk_shared_init(kolk_shared *pool, const kolk_shared_desc *desc) {
    return kolk_shared_init_abi_(pool, desc, 0, 0, sizeof *pool, KOLK_ABI);
}

KOLK_FOLDED_INLINE_ kolk_status kolk_shared_rebind(kolk_shared *pool, const kolk_shared_desc *desc) {
    return kolk_shared_rebind_abi_(pool, desc, 0, 0, sizeof *pool, KOLK_ABI);
}

/* The slow paths that shared.inl calls. The functions whose names end in _short_ serve locals without `lives`. */
KOLK_API_ void *kolk_shared_alloc_slow_(kolk_shared_local *local);
KOLK_API_ void kolk_shared_free_slow_(kolk_shared_local *local, void *object);
KOLK_API_ void *kolk_shared_alloc_short_(kolk_shared_local *local);
KOLK_API_ void kolk_shared_free_short_(kolk_shared_local *local, void *object);
KOLK_API_ void *kolk_shared_get_slow_(const kolk_shared *pool, kolk_handle handle);

/* For kolk.hpp, which makes an alloc of two halves, so that no thread finds an object whose constructor has not run
 * yet. take returns a slot whose life has not begun, or NULL as alloc_wait does. Then begin starts the life, or give_up
 * returns the slot. `life` passes from one half to the other, and is NULL if the fast paths do not serve this slot. */
KOLK_USES_(1) void *kolk_shared_take_slow_(kolk_shared_local *local, kolk_deadline deadline);
KOLK_USES_(1) void kolk_shared_begin_slow_(kolk_shared_local *local, void *object);
KOLK_USES_(1) void kolk_shared_give_up_(kolk_shared_local *local, void *object);

/* Returns the n-th entry, counted from the oldest. */
KOLK_INLINE_ uint32_t *kolk_magazine_entry_(kolk_magazine_ *magazine, uint32_t n);

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "shared.inl"
#else /* the functions of shared.inl that typed.h calls */
#define kolk_shared_alloc_sized_(local, stride)        kolk_shared_alloc(local)
#define kolk_shared_free_sized_(local, object, stride) kolk_shared_free(local, object)
#define kolk_shared_get_sized_(pool, handle, stride)   kolk_shared_get(pool, handle)
#define kolk_shared_take_sized_(local, stride, life)   (*(life) = NULL, kolk_shared_take_slow_(local, KOLK_NOW))
#define kolk_shared_begin_(local, object, life)        ((void)(life), kolk_shared_begin_slow_(local, object))
#endif
#endif
