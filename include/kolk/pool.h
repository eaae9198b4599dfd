/* kolk/pool.h: objects of one size, whose memory is reused and which never move.
 *
 *     #include <kolk/kolk.h>
 *     #include <stdio.h>
 *
 *     struct bullet { float x, dx; };
 *     KOLK_POOL_TYPE(bullets, struct bullet)
 *
 *     int main(void) {
 *         bullets pool;
 *         if (bullets_init(&pool, &(kolk_pool_desc){.name = "bullets", .capacity = 256}) != KOLK_OK) return 1;
 *         struct bullet *bullet = bullets_alloc(&pool);
 *         if (!bullet) return 1;                                      // all 256 fly
 *         *bullet = (struct bullet){.dx = 1};
 *         bullets_handle handle = bullets_handle_of(&pool, bullet);
 *         KOLK_EACH(bullets, each, &pool) each->x += each->dx;        // only what is alive
 *         bullets_free(&pool, bullet);
 *         printf("%s\n", bullets_get(&pool, handle) ? "still there" : "gone");    // gone
 *         bullets_deinit(&pool);
 *     }
 *
 * (bullets_... come from typed.h: the same functions as below, with your type for void *.)
 *
 * What everybody needs comes first: init and deinit, alloc, alloc_zeroed, free and clear, handle, get and free_handle,
 * is_live, index, at and each, count, available and stats. Each later section stands alone and begins with its members
 * of the descriptor: When it is full; Memory; Age; Objects that are made once; Many at once; Saving.
 *
 * Cost      alloc, free, get, is_live, index and at are O(1): a handful of instructions, no system call, no lock; with
 *           KOLK_REUSE_LOWEST one step per factor 64 of max_capacity. An alloc that grows the pool calls the system.
 *           init is O(1) and touches no slot. A step of a walk is O(words without live objects that it skips). clear,
 *           trim and is_valid are O(slots).
 * Memory    on the caller's memory, or on pages of the system; never malloc. A slot costs its stride and 1 bit; 4 bytes
 *           for the order of reuse (LOWEST: 1 bit); 4 bytes for generations, if it has them; 1 bit with a setup or
 *           teardown hook; 8 bytes with ages.
 * Contents  a new object has the bytes of the slot's last life, or of the memory before: initialise all of it. free
 *           leaves the object as it is. The pool never stores its own data in a slot.
 * Threads   one thread at a time. But any number may call functions that take a const pool while no other function
 *           runs.
 * Design    the essay in src/pool/pool.c; ARCHITECTURE.md.
 */
#ifndef KOLK_POOL_H
#define KOLK_POOL_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* With this attribute, gcc -fanalyzer -DKOLK_EXTERN finds your double frees and leaks. (It reports an object as a leak
 * if you keep only its handle, or find it again by a walk.) */
#if defined(KOLK_EXTERN) && defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
#define KOLK_ALLOCATES_ __attribute__((malloc, malloc(kolk_pool_free, 2)))
#else
#define KOLK_ALLOCATES_
#endif

typedef struct kolk_pool kolk_pool;

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

/* Zero means default for all but object_size. Use it as &(kolk_pool_desc){.object_size = 64, .capacity = 100}. */
typedef struct kolk_pool_desc {
    const char *name KOLK_OR_0_;   /* for reports and statistics; must outlive the pool */
    size_t object_size KOLK_OR_0_; /* bytes, from 1 */
    /* a power of two up to 4096; 0: the largest that divides object_size, at most 16 */
    size_t object_align KOLK_OR_0_;
    uint32_t capacity KOLK_OR_0_;     /* slots; 0: see Memory */
    uint32_t max_capacity KOLK_OR_0_; /* the pool may grow to this; 0: as capacity */
    uint32_t headroom KOLK_OR_0_;     /* see When it is full */
    uint32_t low_water KOLK_OR_0_;    /* see When it is full */
    kolk_reuse reuse KOLK_OR_0_;
    /* A slot is worn out after 2^32 - 1 lives. RECYCLE: it is used again, with generations from 1, once the pool would
     * otherwise be full; the slot worn out first comes first. NONE saves 4 bytes per slot. */
    kolk_generations generations KOLK_OR_0_;
    uint32_t tag KOLK_OR_0_;       /* distinguishes its handles from other pools'; 0: a hash of the name */
    bool keep KOLK_OR_0_;          /* see Objects that are made once */
    bool ages KOLK_OR_0_;          /* see Age */
    void *memory KOLK_OR_0_;       /* see Memory; NULL: pages of the system */
    size_t memory_size KOLK_OR_0_; /* bytes of memory */
    /* from here to on_low: see When it is full */
    bool (*on_full)(kolk_pool *pool, size_t bytes, void *context) KOLK_OR_0_;
    double (*cost)(const void *object, void *context) KOLK_OR_0_;
    void (*on_evict)(void *object, void *context) KOLK_OR_0_;
    kolk_pool *overflow KOLK_OR_0_;
    void (*on_low)(kolk_pool *pool, void *context) KOLK_OR_0_;
    /* from here to teardown: see Objects that are made once */
    bool (*setup)(void *object, void *context) KOLK_OR_0_;
    void (*reset)(void *object, void *context) KOLK_OR_0_;
    void (*teardown)(void *object, void *context) KOLK_OR_0_;
    void *context KOLK_OR_0_; /* passed to each hook: on_full, cost, on_evict, on_low, setup, reset, teardown */
    /* settings (base.h): "fill,guard,sites"; KOLK_DEBUG in the environment replaces them */
    const char *debug KOLK_OR_0_;
} kolk_pool_desc;

/* Hooks must return. So must the failure handler, for a call that a hook makes; it may longjmp or throw only out of the
 * ready-made hooks. An on_full that throws all the same is not called again, because the pool believes it is still
 * running. A hook may call the pool's const functions. on_full and on_low may also change the pool. setup and reset may
 * also call free, and alloc, which does not call on_full then. */

/* ---- What everybody needs ---------------------------------------------------------------------------------------- */

/* Initialises the pool. Any status but KOLK_OK (a broken rule of the descriptor, or KOLK_NO_MEMORY) leaves it all
 * zero. */
static inline kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc);

/* Runs reset for each live object and teardown for each slot that is set up, releases the memory, and leaves the pool
 * all zero. A reset hook that allocates gets a slot that was free, or NULL when none is left, as the pool does not grow
 * any more. The lives of these objects are ended too. */
KOLK_API_ void kolk_pool_deinit(kolk_pool *pool);

/* Frees an object of this pool; all its handles are stale from now on. NULL does nothing. Any other pointer is a bug of
 * the caller: one that is not of this pool, is not the start of an object, was never handed out, or is free already. */
KOLK_INLINE_ void kolk_pool_free(kolk_pool *pool, void *object);

/* Returns an object, or NULL if the pool is full: see When it is full. */
KOLK_INLINE_ KOLK_ALLOCATES_ void *kolk_pool_alloc(kolk_pool *pool);

/* The same; all bytes of the object are 0. */
KOLK_API_ KOLK_ALLOCATES_ void *kolk_pool_alloc_zeroed(kolk_pool *pool);

/* Frees all live objects. An object that a reset hook allocates meanwhile may be freed too, or stay. Slots are then
 * reused from the lowest. All handles are stale; worn-out slots stay worn out. */
KOLK_API_ void kolk_pool_clear(kolk_pool *pool);

/* Returns the handle of a live object of this pool. A handle notices when its object is gone. Any other pointer is a
 * bug of the caller and gives the null handle. */
KOLK_INLINE_ kolk_handle kolk_pool_handle_of(const kolk_pool *pool, const void *object);

/* Returns the object, or NULL if this handle is null, stale, forged or of another pool. It never returns another
 * object, within the limits of generations (kolk_generations, kolk_pool_alloc_at) and tags. A tag uses the b bits of 32
 * that an index below max_capacity leaves free. Pools with distinct tags below 2^b never accept each other's handles.
 * Two tags that are hashes of names are equal in one of 2^b cases. Pools of one name, or without tag and name, share a
 * tag: give each pool of a type its own name or tag. */
KOLK_INLINE_ void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle);

/* Frees the object of a handle. Returns false if get would return NULL. */
KOLK_API_ bool kolk_pool_free_handle(kolk_pool *pool, kolk_handle handle);

/* Is this the start of a live object of this pool? Any pointer is allowed, NULL too. */
KOLK_INLINE_ bool kolk_pool_is_live(const kolk_pool *pool, const void *object);

/* Returns the slot of a live object, from 0, for arrays beside the pool. Any other pointer is a bug of the caller and
 * gives UINT32_MAX. */
KOLK_INLINE_ uint32_t kolk_pool_index(const kolk_pool *pool, const void *object);

/* Returns the live object in a slot, or NULL. */
KOLK_INLINE_ void *kolk_pool_at(const kolk_pool *pool, uint32_t index);

/* A walk over the live objects, in ascending slots. kolk_pool_each begins it; each kolk_cursor_next returns an object,
 * or NULL at the end. Any object may be freed during the walk, the current one too. An object that is allocated during
 * the walk may or may not be visited. KOLK_EACH of typed.h is this loop for typed pools:
 *
 *     kolk_cursor cursor = kolk_pool_each(&pool);
 *     for (T *it; (it = kolk_cursor_next(&cursor)) != NULL;) ...
 */
typedef struct kolk_cursor {
    const uint64_t *word; /* the current word of the live bits */
    const uint64_t *last; /* the last word below fresh when the walk began */
    unsigned char *base;  /* address of the slot of the word's lowest bit */
    uint64_t pending;     /* bits of the word that are not visited yet */
    size_t stride;
    bool more;                 /* false: no slot was ever handed out, or KOLK_EACH is done */
    const kolk_pool *bypassed; /* the pool, if its objects come from malloc; else NULL */
    uint32_t from;             /* the next slot to visit in a bypassed pool */
} kolk_cursor;

KOLK_INLINE_ kolk_cursor kolk_pool_each(const kolk_pool *pool);
KOLK_INLINE_ void *kolk_cursor_next(kolk_cursor *cursor);

/* The number of live objects, and the number of free slots without growing: capacity - count (STRICT: less the worn-out
 * slots). */
KOLK_INLINE_ uint32_t kolk_pool_count(const kolk_pool *pool);
KOLK_INLINE_ uint32_t kolk_pool_available(const kolk_pool *pool);

/* All counters; O(1). */
KOLK_API_ void kolk_pool_stats(const kolk_pool *pool, kolk_stats *out);

/* Checks every invariant of src/pool/pool.c; O(slots), for tests. */
KOLK_API_ bool kolk_pool_is_valid(const kolk_pool *pool);

/* ---- When it is full ----------------------------------------------------------------------------------------------
 *
 * An alloc that finds no free slot grows the pool, up to max_capacity. If that is reached, it tries in this order:
 *
 *     .overflow   an object of this other pool, which has the same object_size, at least the same object_align and a
 *                 different tag. It is initialised before this pool and deinit'd after it. This pool's free,
 *                 free_handle, handle_of, get and is_live also find objects there. index, at, count, walks and clear
 *                 apply to each pool alone. When the last object there is freed through this pool, the overflow pool is
 *                 trimmed.
 *     .on_full    your hook, which may make room by free, clear or reserve. `bytes` is the object_size. If it returns
 *                 true, the alloc is tried once more. If it returns false, or there is no hook, the alloc returns NULL.
 *                 An alloc inside the hook does not call it again.
 *
 * Before a pool is full:
 *
 *     .headroom   this many slots are reserved for kolk_pool_alloc_urgent: "cosmetics never take the slot of the boss"
 *     .low_water  an alloc that would leave fewer free slots than this, out of max_capacity, first calls on_low
 *     .on_low     your hook, which may do the same as on_full, such as call kolk_pool_evict_oldest. It is called again
 *                 only after more than low_water slots were free.
 *     .cost       returns the cost of losing an object, for kolk_pool_evict_cheapest and kolk_pool_alloc_over
 *     .on_evict   called before a ready-made hook or alloc_over frees this object */

/* Allocates as kolk_pool_alloc does, but from the headroom too. A growing pool commits the headroom in advance, so that
 * this call need not ask the system for memory. */
KOLK_API_ KOLK_ALLOCATES_ void *kolk_pool_alloc_urgent(kolk_pool *pool);

/* Allocates as kolk_pool_alloc does, but a full pool frees its cheapest object if that costs less than `cost`, and
 * otherwise returns NULL: a sound that is quieter than all others is not started. on_full is not called. Needs .cost;
 * O(slots) if the pool is full. */
KOLK_API_ KOLK_ALLOCATES_ void *kolk_pool_alloc_over(kolk_pool *pool, double cost);

/* Ready-made for .on_full: reports a bug of the caller (KOLK_FULL), with the pool, its capacity and how to raise it.
 * Returns false if the failure handler returns. */
KOLK_API_ bool kolk_pool_trap_full(kolk_pool *pool, size_t bytes, void *context);

/* Ready-made for .on_full: frees the live object with the least .cost, such as the quietest sound; among equals, the
 * one in the lowest slot. False: no object is alive, or all are protected. bytes and context are not used. O(slots). */
KOLK_API_ bool kolk_pool_evict_cheapest(kolk_pool *pool, size_t bytes, void *context);

/* Ready-made for .on_full: frees the oldest object (needs .ages), or, with kolk_pool_touch at each use, the least
 * recently used. Otherwise as kolk_pool_evict_cheapest, but O(1). */
KOLK_API_ bool kolk_pool_evict_oldest(kolk_pool *pool, size_t bytes, void *context);

/* ---- Memory --------------------------------------------------------------------------------------------------------
 *
 *     .capacity      slots that can be used without more memory. 0: with .memory, as many as fit (in a
 *                    KOLK_POOL_STORAGE perhaps more than its n); with max_capacity, the pool starts empty and grows;
 *                    otherwise it needs .overflow and is always full.
 *     .max_capacity  the pool grows up to this many slots. init reserves address space for them, so no address ever
 *                    changes.
 *     .memory        your memory, aligned to object_align and to 8; it need not be zero. The pool cannot grow then.
 *     .object_align  the default suits every type of that size without an _Alignas. */

/* Returns the bytes that a pool of desc->capacity needs on the caller's memory. It may be called before any init. 0:
 * the descriptor is bad; memory, memory_size, max_capacity, headroom and overflow are not checked. For a typed pool,
 * set object_size = sizeof(T) and object_align = _Alignof(T); its init accepts them too. */
KOLK_API_ size_t kolk_pool_memory_size(const kolk_pool_desc *desc);

/* The same as a constant, enough for any descriptor of that size, alignment and capacity without ages (see
 * KOLK_POOL_STORAGE in typed.h). KOLK_POOL_AGE_BYTES is the addition for ages. */
/* clang-format off */
#define KOLK_POOL_BYTES(size, align, n)                                                                                \
    (KOLK_ROUND_UP_(KOLK_SIZE_(n) * KOLK_ROUND_UP_(size, align), 8) + 2 * 8 * ((KOLK_SIZE_(n) + 63) / 64) +            \
     2 * KOLK_ROUND_UP_(KOLK_SIZE_(n) * 4, 8))
#define KOLK_POOL_AGE_BYTES(n) (8 * (KOLK_SIZE_(n) + 1))
/* clang-format on */

/* Raises the capacity to this many slots now, so that later allocs need not ask the system. KOLK_ABOVE_MAX,
 * KOLK_NO_MEMORY: nothing has changed. */
KOLK_API_ kolk_status kolk_pool_reserve(kolk_pool *pool, uint32_t capacity);

/* Releases whole pages without live objects to the system, and makes a LIFO pool use low slots first. Does nothing on
 * the caller's memory, or if keep is set without a setup hook that could make the contents anew. Returns the bytes
 * released, as far as the system reports them. Capacity, addresses and handles stay. */
KOLK_API_ size_t kolk_pool_trim(kolk_pool *pool);

/* Call it once a frame: it grows the pool in advance, and releases memory, both by measured demand and a little at a
 * time. Demand is the maximum of count at the ticks and of new peaks between them; it fades by 1/64 per tick. If demand
 * nearly fills a growing pool, the pool gets up to `budget` more slots, so that no alloc waits for the system. Once
 * demand has fallen by half, each tick releases the whole pages without live objects among `budget` slots (rounded up
 * to 64 and to whole pages, 4096 at most). A tick never does more work than that, except that it moves the ring of a
 * growing FIFO pool. It is O(1) while nothing changes. Returns the bytes released: 0 for a pool that cannot be trimmed.
 * Capacity, addresses, handles and the order of free slots stay. */
KOLK_API_ size_t kolk_pool_tick(kolk_pool *pool, uint32_t budget);

/* ---- Age: the order of births --------------------------------------------------------------------------------------
 *
 *     .ages   keeps this order, for 8 bytes per slot
 *
 *     for (void *object = kolk_pool_oldest(pool); object; object = kolk_pool_newer(pool, object)) ...
 *
 * The current object may be freed if nothing is allocated, and no other walk begun, before the next step. If it is
 * touched or protected, the walk ends. A step is O(1), plus the dead objects that it passes for the first time since
 * they were freed. All functions of this section change the pool: one thread at a time. */

KOLK_API_ void *kolk_pool_oldest(kolk_pool *pool); /* NULL: no object is alive */
KOLK_API_ void *kolk_pool_newest(kolk_pool *pool);
KOLK_API_ void *kolk_pool_newer(kolk_pool *pool, const void *object); /* born next; NULL: the end */
KOLK_API_ void *kolk_pool_older(kolk_pool *pool, const void *object);

/* Makes a live object the newest, unless it is protected. If you call it at each use, the oldest object is the least
 * recently used. */
KOLK_API_ void kolk_pool_touch(kolk_pool *pool, const void *object);

/* Protects a live object from eviction by the ready-made hooks and alloc_over, until it is freed or the protection is
 * turned off (`on` false). A protected object is not in the order of births, so walks by age do not visit it. When the
 * protection ends, it is the newest. */
KOLK_API_ void kolk_pool_protect(kolk_pool *pool, const void *object, bool on);

/* ---- Objects that are made once ---------------------------------------------------------------------------------
 *
 *     .keep       contents survive between lives: objects are made once and used as they are
 *     .setup      once per slot, before it is first handed out, and again after a trim. False: setup failed; alloc
 *                 returns NULL and the slot stays free.
 *     .reset      when a live object is freed, cleared, evicted or deinit'd: clear its references to others. The object
 *                 is dead by then, although count still includes it.
 *     .teardown   once per slot that is set up, at deinit and trim. */

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

/* Allocates up to n objects and returns how many. Only the first one may call on_full, which might evict the others. */
KOLK_API_ uint32_t kolk_pool_alloc_n(kolk_pool *pool, void **objects, uint32_t n);

/* Returns the next run of live objects side by side (stride bytes apart), for inner loops over plain arrays where
 * objects are dense, and for dividing work between threads by ranges of slots (0 to capacity - 1). On entry, *index is
 * the first slot to look at and *length the number of slots, cut at the last slot. On return, they are the start and
 * the length of the run. Returns its first object, or NULL, with *length 0, if there is no run.
 *
 *     uint32_t at = begin, n = end - begin;
 *     for (T *run; (run = kolk_pool_next_run(pool, &at, &n)) != NULL; at += n, n = end - at)
 *         for (uint32_t i = 0; i < n; i++) ... run[i] ...
 */
KOLK_API_ void *kolk_pool_next_run(const kolk_pool *pool, uint32_t *index, uint32_t *length);

/* ---- Saving: object by object, or the whole pool as one block of bytes ------------------------------------------
 *
 *     size_t size = kolk_pool_snapshot_size(&pool);
 *     void *block = malloc(size);
 *     kolk_pool_snapshot(&pool, block, size);                  // ... time goes by ...
 *     if (kolk_pool_restore(&pool, block, size) != KOLK_OK) ...
 *
 * A restore brings back the live objects, their bytes, their ages and the order of reuse. Every handle of that time is
 * valid again, and the next allocs return the same slots and handles as they did then. (With another capacity they may
 * differ: a larger pool is full later, and FIFO uses its never-issued slots first.) The block has no pointers of the
 * pool. The same operations give the same block, byte for byte, on every machine of the same byte order, with 32 bits
 * or 64, if the objects' own bytes are the same. Padding may differ, and you must correct pointers inside objects. A
 * walk that goes on after a restore visits the objects that are alive then.
 *
 * No hook runs: if you want `reset` for the live objects, call kolk_pool_clear before the restore. The contents of dead
 * objects (`keep`) are not in the block and stay as they are. Counters, the peak and the measurements of ticks are not
 * restored either. An overflow pool has its own snapshot.
 *
 * A handle that was made after the snapshot is stale right after the restore. But the pool issues the same bits again
 * when it repeats the same operations, so drop these handles together with the state they belong to. (STRICT does not
 * count the lives that a restore undoes, either.)
 *
 * Cost: O(slots up to the highest that was ever used) and the bytes copied. The block has 72 bytes, the live objects,
 * and for each of these slots 1 bit, 4 bytes for generations, and 4 bytes if its order of reuse must be kept. */

/* Returns the bytes of the block for the pool's present state. 0: no snapshot is possible, because the pool has a setup
 * or teardown hook, or one of its hooks is running. */
KOLK_API_ size_t kolk_pool_snapshot_size(const kolk_pool *pool);

/* Writes the block and returns its bytes. 0: no snapshot is possible, or size is below kolk_pool_snapshot_size. */
KOLK_API_ size_t kolk_pool_snapshot(const kolk_pool *pool, void *block, size_t size);

/* Replaces the pool's state by that in the block. The pool may be another one, in another program, if it has the same
 * object_size, reuse, generations, ages and tag (or name). It grows to the capacity of the first pool if it may.
 * KOLK_ABOVE_MAX: it cannot have all slots that are in use. The whole block is checked before anything changes, so it
 * may come from an untrusted source. Any status but KOLK_OK leaves the pool as it was, perhaps with more capacity. Only
 * the bytes inside objects are not checked. */
KOLK_API_ kolk_status kolk_pool_restore(kolk_pool *pool, const void *block, size_t size);

/* For loading object by object: allocates the object in this handle's slot, with its generation, so that get finds it
 * by this handle. NULL: the slot is in use, beyond max_capacity, worn out for ever (STRICT) or fails its setup, or the
 * handle is null or of another pool. Lower slots that were never handed out become free slots. Older handles of the
 * slot may become valid again. O(1) in ascending order of slots without gaps, the order in which a walk saves them;
 * otherwise O(gap) or O(free slots). */
KOLK_API_ void *kolk_pool_alloc_at(kolk_pool *pool, kolk_handle handle);

/* ---- Struct: read any field, write none -------------------------------------------------------------------------- */

typedef struct kolk_slot_ {
    uint32_t index;
} kolk_slot_;

/* A slot's neighbours in the order of births, as slot numbers + 1. A slot that is not in the order has its own number
 * in both. */
typedef struct kolk_age_ {
    uint32_t older, newer;
} kolk_age_;

/* Free slots whose generations are used up: a list through generations[], the oldest first. */
typedef struct kolk_worn_ {
    uint32_t first, last, count;
    uint32_t recycled; /* how many were used again */
} kolk_worn_;

/* The measurements of kolk_pool_tick: src/pool/pool_trim.c. */
typedef struct kolk_tick_ {
    uint32_t demand;   /* a maximum of count that fades */
    uint32_t provided; /* the demand for which memory is kept */
    uint32_t sweep;    /* dead pages from this slot to fresh are released; 0: no sweep is under way */
    uint32_t peak;     /* peak at the last tick */
} kolk_tick_;

/* The pool's copy of the descriptor. In C++ it is a separate type, without KOLK_OR_0_. */
#ifdef __cplusplus
typedef struct kolk_pool_kept_desc {
    const char *name;
    size_t object_size, object_align;
    uint32_t capacity, max_capacity, headroom, low_water;
    kolk_reuse reuse;
    kolk_generations generations;
    uint32_t tag;
    bool keep, ages;
    void *memory;
    size_t memory_size;
    bool (*on_full)(kolk_pool *pool, size_t bytes, void *context);
    double (*cost)(const void *object, void *context);
    void (*on_evict)(void *object, void *context);
    kolk_pool *overflow;
    void (*on_low)(kolk_pool *pool, void *context);
    bool (*setup)(void *object, void *context);
    void (*reset)(void *object, void *context);
    void (*teardown)(void *object, void *context);
    void *context;
    const char *debug;
} kolk_pool_kept_desc;
static_assert(sizeof(kolk_pool_kept_desc) == sizeof(kolk_pool_desc), "both have the same members");
#else
typedef kolk_pool_desc kolk_pool_kept_desc;
#endif

/* count == fresh - (top - stack) - held. All zero is a valid pool of capacity 0. Never copy or move it once
 * initialised. */
struct kolk_pool {
    /* fields that alloc, free and get read */
    unsigned char *slots;
    uint64_t *live;        /* 1 bit a slot, valid below fresh */
    uint32_t *generations; /* the slot's present or next life, from 1; NULL with KOLK_GENERATIONS_NONE */
    kolk_slot_ *top;       /* end of the stack of free slots (LIFO) */
    kolk_slot_ *floor;     /* the stack's bottom, or higher to send allocs to the slow path */
    uintptr_t inverse;     /* of odd modulo the word; stride = odd << shift */
    uint32_t stride;       /* bytes from slot to slot */
    uint32_t free_bound;   /* free leaves the fast path from here on */
    uint32_t bound;        /* get, is_live, index, at leave it from here on */
    uint32_t tag;          /* XORed into the index of a handle */
    uint8_t shift;

    /* free slots */
    uint8_t levels;       /* LOWEST: levels of summary words */
    uint8_t memory;       /* 0: the system's, committed at init; 1: committed as capacity grows; 2: the caller's */
    uint8_t in_hook;      /* a hook runs: a full pool returns NULL without calling on_full */
    uint16_t debug_flags; /* KOLK_DEBUG_ */
    uint16_t low_reported;
    uint32_t fresh;      /* slots from here on were never handed out; only advances */
    uint32_t held;       /* free slots below fresh that are not on the stack: ring or holes, worn out, in quarantine */
    uint32_t capacity;   /* slots that can be used without more memory */
    uint32_t first;      /* FIFO: where the ring begins */
    uint32_t held_floor; /* FIFO, LOWEST: while held is above it, alloc takes a held slot first */
    uint32_t quarantined;
    kolk_worn_ worn;
    kolk_slot_ *age_floor; /* ages: the floor for allocs, which also enter the object in the order of births */
    kolk_slot_ *stack;     /* LIFO: bottom of the stack; FIFO: the ring, capacity entries */
    uint64_t *holes[6];    /* LOWEST: [0] has a bit for each free slot below fresh, [k + 1] one for each word of [k] */
    kolk_age_ *ages;       /* by slot + 1: a circle through [0], the oldest first; NULL without ages */
    uint64_t *ready;       /* 1 bit a slot that is set up; NULL without setup and teardown */

    kolk_pool_kept_desc desc; /* with defaults filled in, except tag, and without the debug settings */

    /* the rest */
    struct kolk_debug *debug; /* NULL: off */
    uintptr_t *objects;       /* bypass: malloc's objects by slot, inverted to hide them from leak checkers */
    unsigned char *block;
    size_t block_size;
    uint64_t failed, evictions;
    uint32_t wrong_pool;
    uint32_t peak;   /* UINT32_MAX: the peak is fresh; FIFO and debug mode count it */
    uint32_t number; /* number in the registry; 0: not registered */
    kolk_tick_ tick;
};

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* type_size and type_align are those of a typed pool's type, or 0. */
KOLK_API_ kolk_status kolk_pool_init_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                          size_t type_align, size_t pool_size, uint32_t abi);

KOLK_NAMED_(kolk_pool_desc_named_, kolk_pool_desc)

/* The same for a descriptor for which kolk_pool_is_plain_ is true. */
KOLK_API_ kolk_status kolk_pool_init_plain_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                                size_t type_align, size_t pool_size, uint32_t abi);

/* If the compiler sees the descriptor's initialiser, it computes the result, and the linker drops the code that the
 * program does not need: src/pool/pool_plain.c. */
static inline bool kolk_pool_is_plain_(const kolk_pool_desc *desc) {
    bool grows = desc->max_capacity && !desc->memory;
    bool asks = desc->on_full || desc->cost || desc->on_low || desc->overflow || desc->headroom;
    bool lives_on = desc->setup || desc->reset || desc->teardown;
    return desc->reuse == KOLK_REUSE_LIFO && !desc->ages && !grows && !asks && !lives_on;
}

static inline kolk_status kolk_pool_init_typed_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                                size_t type_align) {
    if (desc && kolk_pool_is_plain_(desc))
        return kolk_pool_init_plain_abi_(pool, desc, type_size, type_align, sizeof *pool, KOLK_ABI);
    return kolk_pool_init_abi_(pool, desc, type_size, type_align, sizeof *pool, KOLK_ABI);
}

static inline kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc) {
    return kolk_pool_init_typed_(pool, desc, 0, 0);
}

/* The slow paths that pool.inl calls. */
KOLK_API_ void *kolk_pool_alloc_slow_(kolk_pool *pool);
KOLK_API_ void kolk_pool_free_slow_(kolk_pool *pool, void *object);
KOLK_API_ void *kolk_pool_get_slow_(const kolk_pool *pool, kolk_handle handle);
KOLK_API_ kolk_handle kolk_pool_handle_slow_(const kolk_pool *pool, const void *object);
KOLK_API_ bool kolk_pool_is_live_slow_(const kolk_pool *pool, const void *object);
KOLK_API_ uint32_t kolk_pool_index_slow_(const kolk_pool *pool, const void *object);
KOLK_API_ void *kolk_pool_at_slow_(const kolk_pool *pool, uint32_t index);

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "pool.inl"
#else /* the functions of pool.inl that typed.h calls */
#define kolk_pool_alloc_sized_(pool, stride)        kolk_pool_alloc(pool)
#define kolk_pool_free_sized_(pool, object, stride) kolk_pool_free(pool, object)
#define kolk_pool_get_sized_(pool, handle, stride)  kolk_pool_get(pool, handle)
#endif
#endif
