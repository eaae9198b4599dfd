/* kolk/pool.h: objects of one size that are used again and again, and never move.
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
 * Cost      alloc, free, get, is_live, index and at are O(1): a handful of instructions, no system call, no lock; with
 *           KOLK_REUSE_LOWEST one step per factor 64 of max_capacity. An alloc that grows the pool calls the system.
 *           init is O(1) and touches no slot. next is O(dead words skipped). clear, trim and is_valid are O(slots).
 * Memory    on the caller's memory, or on pages of the system; never malloc. A slot costs its stride and 1 bit, 4 bytes
 *           (LOWEST: another bit) for the order of reuse, 4 bytes for generations (none: 0), 1 bit if there is a setup
 *           or teardown hook.
 * Contents  alloc gives what the last life left, or what memory held: initialise all of it. free leaves the object as
 *           it is. Nothing of the pool's own is ever stored in a slot.
 * Threads   one at a time; any number may call the functions that take a const pool while nobody calls another.
 * Design    the essay in src/pool/pool.c; ARCHITECTURE.md.
 */
#ifndef KOLK_POOL_H
#define KOLK_POOL_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* gcc -fanalyzer -DKOLK_EXTERN finds your double frees and leaks through this. (It takes an object that you keep by its
 * handle only, or find again by iterating, for a leak.) */
#if defined(KOLK_EXTERN) && defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
#define KOLK_ALLOCATES __attribute__((malloc, malloc(kolk_pool_free, 2)))
#else
#define KOLK_ALLOCATES
#endif

typedef struct kolk_pool kolk_pool;

/* ---- Descriptor ------------------------------------------------------------------------------------------------ */

/* Which free slot is used next. Never-issued slots come in ascending order. */
typedef enum kolk_reuse {
    KOLK_REUSE_LIFO = 0, /* the one freed last: warm in the cache, and the fastest */
    KOLK_REUSE_FIFO,     /* never-issued slots first, then the longest dead: stale pointers stay harmless longest */
    KOLK_REUSE_LOWEST    /* the lowest: objects stay close together; 1 bit a slot instead of 4 bytes */
} kolk_reuse;

/* What happens to a slot after 2^32 - 1 lives, when its generations are used up. */
typedef enum kolk_generations {
    KOLK_GENERATIONS_RECYCLE = 0, /* it waits until the pool would otherwise be full, then starts at 1, oldest first */
    KOLK_GENERATIONS_STRICT,      /* it is never used again: no old handle can ever come back to life */
    KOLK_GENERATIONS_NONE         /* no handles, and 4 bytes less a slot */
} kolk_generations;

/* Zero means default for all but object_size. Use it as &(kolk_pool_desc){.object_size = 64, .capacity = 100}. */
typedef struct kolk_pool_desc {
    const char *name;   /* for sentences and statistics; outlives the pool */
    size_t object_size; /* bytes, from 1 */

    /* A power of two up to 4096. 0: the largest that divides object_size, at most 16; this suits every type of that
     * size that has no _Alignas of its own. */
    size_t object_align;

    /* Slots. 0: with memory, as many as fit (of a KOLK_POOL_STORAGE perhaps more than its n); with max_capacity, it
     * starts empty and grows; else it is always full. */
    uint32_t capacity;
    uint32_t max_capacity; /* it grows up to this, and no address changes; 0: as capacity */
    uint32_t headroom;     /* the last slots, so many, are only for kolk_pool_alloc_urgent */
    uint32_t low_water;    /* for on_low, of all slots that it may grow to */

    kolk_reuse reuse;
    kolk_generations generations;
    uint32_t tag; /* tells this pool's handles from others': see kolk_pool_get; 0: a hash of the name */
    bool keep;    /* contents survive between lives: objects made once and used as they are */
    bool ages;    /* keeps the order of births, for kolk_pool_oldest and the like: 8 bytes a slot */

    void *memory;       /* yours, aligned to object_align and to 8, may be dirty; NULL: pages of the system */
    size_t memory_size; /* bytes of it */

    /* Called when an alloc finds no slot: may free, clear or reserve; then that alloc is tried once more. NULL: alloc
     * gives NULL. */
    void (*on_full)(kolk_pool *pool, void *context);
    double (*cost)(const void *object, void *context); /* what losing it would cost: for kolk_pool_evict_cheapest and
                                                        * kolk_pool_alloc_over */
    void (*on_evict)(void *object, void *context);     /* the ready-made hooks and alloc_over are about to free it */

    /* A full pool hands over to this one before it asks on_full; which is alike (object_size, object_align, and a tag of
     * its own), initialised before and deinit'd after. See kolk_pool_alloc. */
    kolk_pool *overflow;

    /* Called when an alloc is about to leave fewer than low_water slots; again once more than that were left meanwhile.
     * May do what on_full may. */
    void (*on_low)(kolk_pool *pool, void *context);

    /* Once per slot, before it is first handed out, and again after a trim. False: it could not; alloc gives NULL and
     * the slot stays free. */
    bool (*setup)(void *object, void *context);

    /* At every free, clear, eviction and deinit of a live object, which is dead by then (though count still counts it):
     * clear its references to others. */
    void (*reset)(void *object, void *context);
    void (*teardown)(void *object, void *context); /* once per set-up slot, at deinit and trim */

    /* Handed to each hook. Hooks must return, and so must the failure handler for a call that a hook makes; only out of
     * the ready-made hooks the handler may longjmp or throw. Of this pool, setup and reset may call free, and alloc,
     * which does not ask on_full then; all hooks const functions. */
    void *context;

    /* Settings of the debug mode: "fill,guard,quarantine=64,sites" and the like (base.h); NULL: none, but KOLK_DEBUG in
     * the environment may still ask for some. */
    const char *debug;
} kolk_pool_desc;

/* ---- Struct: read any field, write none ------------------------------------------------------------------------ */

typedef struct kolk_slot {
    uint32_t index;
} kolk_slot;

/* A slot's neighbours in the order of births, as slots + 1; its own where it is in no order. */
typedef struct kolk_age {
    uint32_t older, newer;
} kolk_age;

/* Free slots whose generations are used up: a list through generations[], the oldest first. */
typedef struct kolk_worn {
    uint32_t first, last, count;
    uint32_t recycled; /* so many were put to use again */
} kolk_worn;

/* What kolk_pool_tick has measured: src/pool/pool_trim.c. */
typedef struct kolk_tick {
    uint32_t demand;   /* a maximum of count that fades */
    uint32_t provided; /* the demand that memory is held for */
    uint32_t sweep;    /* dead pages from here to fresh have gone back; 0: no sweep is under way */
    uint32_t peak;     /* at the last tick */
} kolk_tick;

/* count == fresh - (top - stack) - held. All zero is a valid pool of capacity 0. Never copy or move it once
 * initialised. */
struct kolk_pool {
    /* what alloc, free and get read */
    unsigned char *slots;
    uint64_t *live;        /* 1 bit a slot, valid below fresh */
    uint32_t *generations; /* of the life that is or comes next, from 1; NULL with KOLK_GENERATIONS_NONE */
    kolk_slot *top;        /* end of the stack of free slots (LIFO) */
    kolk_slot *floor;      /* alloc takes what lies above it: the stack's bottom, or higher, or nothing ever */
    uintptr_t inverse;     /* stride = odd << shift; of odd, modulo the word */
    uint32_t stride;       /* bytes from slot to slot */
    uint32_t free_bound;   /* free leaves the fast path from here on */
    uint32_t bound;        /* get, is_live, index, at leave it from here on */
    uint32_t tag;          /* XORed into the index of a handle */
    uint8_t shift;

    /* free slots */
    uint8_t levels;       /* LOWEST: of summary words */
    uint8_t memory;       /* 0: the system's, committed at init; 1: ... as capacity grows; 2: the caller's */
    uint8_t in_hook;      /* a full pool gives NULL without asking on_full */
    uint16_t debug_flags; /* KOLK_DEBUG_ */
    uint16_t low_reported;
    uint32_t fresh;      /* slots from here on were never handed out; only advances */
    uint32_t held;       /* free slots below fresh that are not on the stack: ring or holes, worn out, in quarantine */
    uint32_t capacity;   /* slots that can be used without more memory */
    uint32_t first;      /* FIFO: of the ring */
    uint32_t held_floor; /* FIFO, LOWEST: while more are held, alloc takes one at once */
    uint32_t quarantined;
    kolk_worn worn;
    kolk_slot *age_floor; /* ages: as floor, but alloc also enters the order of births */
    kolk_slot *stack;     /* LIFO: bottom of the stack; FIFO: the ring, capacity entries */
    uint64_t *holes[6];   /* LOWEST: 1 bit a free slot below fresh; in [k + 1], 1 bit a word of [k] that is not 0 */
    kolk_age *ages;       /* by slot + 1, in a circle through [0], the oldest first; NULL without */
    uint64_t *ready;      /* 1 bit a slot that is set up; NULL without setup and teardown */

    kolk_pool_desc desc; /* the descriptor, with its defaults filled in */

    /* the rest */
    struct kolk_debug *debug; /* NULL: off */
    uintptr_t *objects; /* where they come from malloc: by slot, inverted (leak checkers take it for no pointer) */
    unsigned char *block;
    size_t block_size;
    uint64_t failed, evictions;
    uint32_t wrong_pool;
    uint32_t peak;   /* UINT32_MAX: it is fresh; FIFO and debug mode count it */
    uint32_t number; /* in the registry; 0: it is not there */
    kolk_tick tick;
};

/* ---- Life of a pool -------------------------------------------------------------------------------------------- */

/* Anything but KOLK_OK (a broken rule of the descriptor, or KOLK_NO_MEMORY) leaves the pool all zero. */
static inline kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc);

/* Runs reset for what is alive and teardown for what is set up, gives the memory back, leaves the pool all zero. What a
 * reset hook allocates meanwhile is alive, too. It gets slots that were free, and NULL when these are used up: what
 * deinit ends leaves no free slot, and the pool does not grow any more. */
KOLK_API void kolk_pool_deinit(kolk_pool *pool);

/* Bytes that a pool of desc->capacity needs on the caller's memory; before any init. 0 for a bad descriptor, of which
 * it looks at all but memory, memory_size, max_capacity, headroom and overflow. For a typed pool, object_size = sizeof(T) and object_align
 * = _Alignof(T), which its init takes as well. */
KOLK_API size_t kolk_pool_memory_size(const kolk_pool_desc *desc);

/* The same as a constant, enough for any descriptor of that size, alignment and capacity without ages (see
 * KOLK_POOL_STORAGE in typed.h); and what ages take besides. */
/* clang-format off */
#define KOLK_POOL_BYTES(size, align, n)                                                                                \
    (KOLK_ROUND_UP((size_t)(n) * KOLK_ROUND_UP(size, align), 8) + 2 * 8 * (((size_t)(n) + 63) / 64) +                  \
     2 * KOLK_ROUND_UP((size_t)(n) * 4, 8))
#define KOLK_POOL_AGE_BYTES(n) (8 * ((size_t)(n) + 1))
/* clang-format on */

/* ---- Objects --------------------------------------------------------------------------------------------------- */

/* Takes an object of this pool back, once; all its handles are stale from now on. NULL does nothing. A bug of the
 * caller otherwise: a pointer that is not of this pool, not the start of an object, never handed out, or free
 * already. */
KOLK_INLINE void kolk_pool_free(kolk_pool *pool, void *object);

/* An object, or NULL when the pool is full: after growing as far as it may, asking the overflow pool and on_full. An
 * object of the overflow pool is as good as any: free, free_handle, handle, get and is_live of this pool find it. Index,
 * at, count, iteration and clear are for each pool alone. When the last one there is freed, that pool is trimmed. */
KOLK_INLINE KOLK_ALLOCATES void *kolk_pool_alloc(kolk_pool *pool);

/* The same with all bytes 0. */
KOLK_API KOLK_ALLOCATES void *kolk_pool_alloc_zeroed(kolk_pool *pool);

/* Up to n objects; how many. Asks on_full for the first of them only: it might evict the others. */
KOLK_API uint32_t kolk_pool_alloc_n(kolk_pool *pool, void **objects, uint32_t n);

/* The same, with the headroom as well: "cosmetics never take the slot of the boss". A growing pool commits the headroom
 * ahead, so that the system is not asked here. */
KOLK_API KOLK_ALLOCATES void *kolk_pool_alloc_urgent(kolk_pool *pool);

/* As kolk_pool_alloc, but a full pool frees its cheapest object if that costs less than `cost`, and gives NULL otherwise:
 * a sound quieter than all that play is not started. on_full is not asked. Needs desc.cost; O(slots) when full. */
KOLK_API KOLK_ALLOCATES void *kolk_pool_alloc_over(kolk_pool *pool, double cost);

/* Frees all that is alive (what a reset hook allocates meanwhile may be freed too, or stay); slots are then reused from
 * the lowest. Handles are stale; worn-out slots stay so. */
KOLK_API void kolk_pool_clear(kolk_pool *pool);

/* ---- Handles: names that notice when their object is gone -------------------------------------------------------- */

/* Of a live object of this pool: anything else is a bug of the caller and gives the null handle. */
KOLK_INLINE kolk_handle kolk_pool_handle(const kolk_pool *pool, const void *object);

/* The object, or NULL if this handle is null, stale, not of an object that is alive, or of another pool. Never somebody
 * else's object, within the limits of the generations (kolk_generations, kolk_pool_alloc_at) and of the tags, which
 * have the bits that an index below max_capacity leaves of 32. Pools with distinct tags below 2^(those bits) never
 * answer each other's handles; tags that are hashes of names are the same once in 2^(those bits) pairs; pools without
 * tag and name have the same. */
KOLK_INLINE void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle);

/* Frees the object of a handle; false if there is none. */
KOLK_API bool kolk_pool_free_handle(kolk_pool *pool, kolk_handle handle);

/* For loading: an object in the slot and with the generation of this handle, so that get finds it. NULL if the slot is
 * in use, beyond max_capacity, worn out for ever (STRICT) or fails its setup, or the handle is of another pool or null.
 * Makes slots up to it free where they were never handed out. Older handles of the slot may become valid again. O(1) in
 * ascending order of slots without gaps, as kolk_pool_next gave them when saving; O(gap) or O(free slots) otherwise. */
KOLK_API void *kolk_pool_alloc_at(kolk_pool *pool, kolk_handle handle);

/* ---- Questions ------------------------------------------------------------------------------------------------- */

/* Is it the start of a live object of this pool? Any pointer may be asked about, NULL too. (By index: kolk_pool_at;
 * by handle: kolk_pool_get.) */
KOLK_INLINE bool kolk_pool_is_live(const kolk_pool *pool, const void *object);

/* Slot of a live object, from 0: for arrays beside the pool. Anything else is a bug of the caller and gives
 * UINT32_MAX. */
KOLK_INLINE uint32_t kolk_pool_index(const kolk_pool *pool, const void *object);

/* The live object in a slot, or NULL. */
KOLK_INLINE void *kolk_pool_at(const kolk_pool *pool, uint32_t index);

/* Objects alive; and how many more could be without growing: capacity - count (STRICT: less the worn-out slots). */
KOLK_INLINE uint32_t kolk_pool_count(const kolk_pool *pool);
KOLK_INLINE uint32_t kolk_pool_available(const kolk_pool *pool);

/* All counters; O(1). */
KOLK_API void kolk_pool_stats(const kolk_pool *pool, kolk_stats *out);

/* Checks every invariant of src/pool/pool.c; O(slots), for tests. */
KOLK_API bool kolk_pool_is_valid(const kolk_pool *pool);

/* ---- Iteration: ascending slots; the current object, or any other, may be freed meanwhile; what is allocated
 *      meanwhile may or may not be visited. Fastest by KOLK_EACH (typed.h), where objects are dense by runs. ------ */

/* The next live object after this one (which may have been freed since); NULL starts, NULL ends. A pointer that is no
 * object of this pool is a bug of the caller and gives NULL.
 *
 * Under sanitizers and memcheck objects come from malloc, and a pointer alone does not tell the slot. There an object that
 * next gave is known, live or freed, until 64 others that next gave have been freed after it; an object that next did not give,
 * until it is freed and its slot is used again. KOLK_EACH goes by the slot and has no such limits. */
KOLK_API void *kolk_pool_next(const kolk_pool *pool, const void *object);

/* The next run of live objects side by side (stride bytes apart), for inner loops over plain arrays where objects are
 * dense, and for splitting work over threads by ranges of slots, which go from 0 to capacity - 1. *index in: look from
 * here, out: start of the run; *length in: slots to look at (cut at the last one), out: length of the run. Returns its
 * first object, or NULL when there is none (and *length 0).
 *
 *     uint32_t at = begin, n = end - begin;
 *     for (T *run; (run = kolk_pool_next_run(pool, &at, &n)) != NULL; at += n, n = end - at)
 *         for (uint32_t i = 0; i < n; i++) ... run[i] ...
 */
KOLK_API void *kolk_pool_next_run(const kolk_pool *pool, uint32_t *index, uint32_t *length);

/* A place in an iteration, for KOLK_EACH. */
typedef struct kolk_cursor {
    const uint64_t *word; /* of the live bits: where the iteration is */
    const uint64_t *last; /* of the words below fresh when it began */
    unsigned char *base;  /* slot of the word's lowest bit */
    uint64_t pending;     /* the word's bits that are still to visit */
    size_t stride;
    bool more;                 /* false: no slot was ever handed out, or KOLK_EACH is done */
    const kolk_pool *bypassed; /* whose objects are not in slots; NULL: they are */
    uint32_t from;             /* of these: the next slot to look at */
} kolk_cursor;

KOLK_INLINE kolk_cursor kolk_pool_each(const kolk_pool *pool);
KOLK_INLINE void *kolk_cursor_next(kolk_cursor *cursor);

/* ---- Age: the order of births (desc.ages) ------------------------------------------------------------------------
 * for (void *object = kolk_pool_oldest(pool); object; object = kolk_pool_newer(pool, object)) ...
 * The current object may be freed if nothing is allocated, and no other walk begun, before going on; touched or protected,
 * it ends the walk. Each step is O(1), but for dead objects that
 * it passes for the first time since they were freed. All of it changes the pool: one thread at a time. */

KOLK_API void *kolk_pool_oldest(kolk_pool *pool); /* NULL: none is alive */
KOLK_API void *kolk_pool_newest(kolk_pool *pool);
KOLK_API void *kolk_pool_newer(kolk_pool *pool, const void *object); /* the next one born; NULL ends */
KOLK_API void *kolk_pool_older(kolk_pool *pool, const void *object);

/* Makes a live object the newest, unless it is protected. Called at each use, it makes the oldest the one least recently
 * used. */
KOLK_API void kolk_pool_touch(kolk_pool *pool, const void *object);

/* Keeps a live object from eviction by the ready-made hooks and alloc_over, until it is freed or `on` is false. It is in
 * no order meanwhile, so that walks don't visit it; then it is the newest. */
KOLK_API void kolk_pool_protect(kolk_pool *pool, const void *object, bool on);

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

/* Room for so many slots without asking the system later. KOLK_ABOVE_MAX, KOLK_NO_MEMORY: nothing has changed. */
KOLK_API kolk_status kolk_pool_reserve(kolk_pool *pool, uint32_t capacity);

/* Gives whole pages without live objects back to the system (not on the caller's memory; not if keep is set without a
 * setup hook that could make their contents anew), and makes a LIFO pool use low slots first. Bytes given back, where
 * the system can tell; capacity, addresses and handles stay. */
KOLK_API size_t kolk_pool_trim(kolk_pool *pool);

/* Once a frame: has room and gives memory back, both by measured demand, a little at a time. Demand is a maximum of
 * count at the ticks, and of new peaks between them, that fades by 1/64 a tick. A growing pool that it nearly fills gets
 * up to `budget` slots more, so that no alloc waits for the system; once it has fallen below half of what it was, whole
 * pages without live objects go back, of `budget` slots a tick (rounded up to 64 and to what fills whole pages, 4096 at
 * most). Never more work than that, but for the ring of a growing FIFO pool, which moves; O(1) while nothing changes.
 * Bytes given back. What can't be trimmed gives none; capacity, addresses, handles and the order of free slots stay. */
KOLK_API size_t kolk_pool_tick(kolk_pool *pool, uint32_t budget);

/* ---- Snapshots: the whole pool as one block of bytes, for save games and rollback -------------------------------
 *
 *     size_t size = kolk_pool_snapshot_size(&pool);
 *     void *block = malloc(size);
 *     kolk_pool_snapshot(&pool, block, size);                  // ... time goes by ...
 *     if (kolk_pool_restore(&pool, block, size) != KOLK_OK) ...
 *
 * After a restore all is as it was: which objects are alive, their bytes, their ages, the order of reuse. Every
 * handle of that time is valid, and the next allocations give the same slots and handles as they gave then (where capacities are the same:
 * a larger pool is full later, and FIFO uses its never-issued slots first). The block has no pointers in it. The same
 * operations give the same block, byte for byte, on every machine of the same byte order, of 32 bits or 64, as far as
 * the objects' own bytes are the same: their padding may differ, and pointers in them are yours to mend.
 *
 * No hook runs, for no life ends: who wants `reset` for what is alive calls kolk_pool_clear before. What dead objects
 * contain (`keep`) is not in the block and stays as it is; counters, the peak and what a tick measures go on. An overflow
 * pool has a snapshot of its own.
 *
 * A handle that was made after the snapshot is stale right after the restore, but the pool will give the same bits again
 * once it has done the same again. So forget these handles with the state that they are of. (STRICT knows nothing of
 * the lives that a restore undoes, either.)
 *
 * Cost: O(slots below the highest that was ever used) and the bytes copied. The block: 72 bytes, the live objects, and
 * for each of these slots 1 bit, 4 bytes for generations, and 4 for the order of reuse where there is one to keep. */

/* Bytes of the block for the pool's present state. 0: it has no snapshot, since it has a setup or teardown hook, or
 * a hook of it is running. */
KOLK_API size_t kolk_pool_snapshot_size(const kolk_pool *pool);

/* Writes the block; bytes written. 0: it has none, or size is below kolk_pool_snapshot_size. */
KOLK_API size_t kolk_pool_snapshot(const kolk_pool *pool, void *block, size_t size);

/* Puts the state of the block in the place of the pool's. The pool may be another one, in another program, if it has the
 * object_size, reuse, generations, ages and tag (or name) of the first. It grows to the first one's capacity if it may;
 * KOLK_ABOVE_MAX: it has not got, and cannot have, the slots that are used. Everything is proved before anything is
 * changed, whoever made the block: any status but KOLK_OK leaves the pool as it was, but perhaps with more capacity.
 * Trust goes no further: what is in the objects is not looked at. */
KOLK_API kolk_status kolk_pool_restore(kolk_pool *pool, const void *block, size_t size);

/* ---- Ready-made hooks for on_full ------------------------------------------------------------------------------- */

/* A bug of the caller (KOLK_FULL): says which pool, its capacity and how to raise it. */
KOLK_API void kolk_pool_trap_full(kolk_pool *pool, void *context);

/* Frees the live object of least cost (desc.cost; the lowest slot of equals): "the quietest sound". O(slots). */
KOLK_API void kolk_pool_evict_cheapest(kolk_pool *pool, void *context);

/* Frees the oldest (desc.ages); with kolk_pool_touch at each use, the least recently used. O(1). */
KOLK_API void kolk_pool_evict_oldest(kolk_pool *pool, void *context);

/* ---- Inside ---------------------------------------------------------------------------------------------------- */

/* type_size and type_align are 0, or of the type of a typed pool. */
KOLK_API kolk_status kolk_pool_init_type(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                         size_t type_align, size_t pool_size, uint32_t abi);

static inline kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc) {
    return kolk_pool_init_type(pool, desc, 0, 0, sizeof *pool, KOLK_ABI);
}

/* The ways out of the fast paths of pool.inl. */
KOLK_API void *kolk_pool_alloc_slow(kolk_pool *pool);
KOLK_API void kolk_pool_free_slow(kolk_pool *pool, void *object);
KOLK_API void *kolk_pool_get_slow(const kolk_pool *pool, kolk_handle handle);
KOLK_API kolk_handle kolk_pool_handle_slow(const kolk_pool *pool, const void *object);
KOLK_API bool kolk_pool_is_live_slow(const kolk_pool *pool, const void *object);
KOLK_API uint32_t kolk_pool_index_slow(const kolk_pool *pool, const void *object);
KOLK_API void *kolk_pool_at_slow(const kolk_pool *pool, uint32_t index);

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "pool.inl"
#else /* the calls that typed.h would make into pool.inl */
#define kolk_pool_alloc_sized(pool, stride)        kolk_pool_alloc(pool)
#define kolk_pool_free_sized(pool, object, stride) kolk_pool_free(pool, object)
#define kolk_pool_get_sized(pool, handle, stride)  kolk_pool_get(pool, handle)
#endif
#endif
