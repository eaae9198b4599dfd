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
 * What everybody needs comes first: init and deinit, alloc, alloc_zeroed, free and clear, handle, get and free_handle,
 * is_live, index, at and next, count, available and stats. Each later section stands alone and begins with the members
 * of the descriptor that it is about: When it is full; Memory; Age; Objects that are made once; Many at once; Saving.
 *
 * Cost      alloc, free, get, is_live, index and at are O(1): a handful of instructions, no system call, no lock; with
 *           KOLK_REUSE_LOWEST one step per factor 64 of max_capacity. An alloc that grows the pool calls the system.
 *           init is O(1) and touches no slot. next is O(dead words skipped). clear, trim and is_valid are O(slots).
 * Memory    on the caller's memory, or on pages of the system; never malloc. A slot costs its stride and 1 bit, 4 bytes
 *           (LOWEST: another bit) for the order of reuse, 4 bytes for generations (none: 0), 1 bit if there is a setup
 *           or teardown hook, 8 bytes with ages.
 * Contents  alloc gives what the last life left, or what memory held: initialise all of it. free leaves the object as
 *           it is. Nothing of the pool's own is ever stored in a slot.
 * Threads   one at a time; any number may call the functions that take a const pool while no other function is called.
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

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

/* Zero means default for all but object_size. Use it as &(kolk_pool_desc){.object_size = 64, .capacity = 100}. */
typedef struct kolk_pool_desc {
    const char *name;      /* for sentences and statistics; must outlive the pool */
    size_t object_size;    /* bytes, from 1 */
    size_t object_align;   /* a power of two up to 4096; 0: the largest that divides object_size, at most 16 */
    uint32_t capacity;     /* slots; 0: see Memory; none, if it may grow or has an overflow pool */
    uint32_t max_capacity; /* the pool may grow to this; 0: as capacity */
    uint32_t headroom;     /* see When it is full */
    uint32_t low_water;    /* see When it is full */
    kolk_reuse reuse;
    /* A slot is worn out after 2^32 - 1 lives. RECYCLE: it waits until the pool would otherwise be full, the oldest
     * first, and then starts at 1. NONE: 4 bytes less a slot. */
    kolk_generations generations;
    uint32_t tag;                                    /* tells its handles from other pools'; 0: a hash of the name */
    bool keep;                                       /* see Objects that are made once */
    bool ages;                                       /* see Age */
    void *memory;                                    /* see Memory; NULL: pages of the system */
    size_t memory_size;                              /* bytes of it */
    void (*on_full)(kolk_pool *pool, void *context); /* see When it is full, and so on down to on_low */
    double (*cost)(const void *object, void *context);
    void (*on_evict)(void *object, void *context);
    kolk_pool *overflow;
    void (*on_low)(kolk_pool *pool, void *context);
    bool (*setup)(void *object, void *context); /* see Objects that are made once, and so on down to teardown */
    void (*reset)(void *object, void *context);
    void (*teardown)(void *object, void *context);
    void *context;     /* handed to each hook: on_full, cost, on_evict, on_low, setup, reset, teardown */
    const char *debug; /* settings (base.h): "fill,guard,sites"; KOLK_DEBUG in the environment takes its place */
} kolk_pool_desc;

/* Hooks must return, and so must the failure handler for a call that a hook makes; it may longjmp or throw only out of
 * the ready-made hooks. An on_full that throws all the same is not asked again: to the pool it still runs. A hook may
 * call the pool's const functions. on_full and on_low may also change the pool. setup and reset may also call free, and
 * alloc, which does not ask on_full then. */

/* ---- What everybody needs ---------------------------------------------------------------------------------------- */

/* Anything but KOLK_OK (a broken rule of the descriptor, or KOLK_NO_MEMORY) leaves the pool all zero. */
static inline kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc);

/* Runs reset for what is alive and teardown for what is set up, gives the memory back, leaves the pool all zero. A
 * reset hook that allocates gets slots that were free, and NULL when these are used up, for the pool does not grow any
 * more. The lives of these objects are ended too. */
KOLK_API void kolk_pool_deinit(kolk_pool *pool);

/* Takes an object of this pool back, once; all its handles are stale from now on. NULL does nothing. A bug of the
 * caller otherwise: a pointer that is not of this pool, not the start of an object, never handed out, or free
 * already. */
KOLK_INLINE void kolk_pool_free(kolk_pool *pool, void *object);

/* An object, or NULL when the pool is full: see When it is full. */
KOLK_INLINE KOLK_ALLOCATES void *kolk_pool_alloc(kolk_pool *pool);

/* The same with all bytes 0. */
KOLK_API KOLK_ALLOCATES void *kolk_pool_alloc_zeroed(kolk_pool *pool);

/* Frees all that is alive; what a reset hook allocates may be freed too, or stay. Slots are then reused from the
 * lowest. All handles are stale; worn-out slots stay so. */
KOLK_API void kolk_pool_clear(kolk_pool *pool);

/* A name that notices when its object is gone. Of a live object of this pool; anything else is a bug of the caller and
 * gives the null handle. */
KOLK_INLINE kolk_handle kolk_pool_handle(const kolk_pool *pool, const void *object);

/* The object, or NULL if this handle is null, stale, not of an object that is alive, or of another pool. Never another
 * object, within the limits of the generations (kolk_generations, kolk_pool_alloc_at) and of the tags: of 32 bits, a
 * tag has those that an index below max_capacity leaves. Pools with distinct tags below 2^(those bits) never answer
 * each other's handles; tags that are hashes of names are the same once in 2^(those bits) pairs; pools of one name, or
 * without tag and name, have the same: give several pools of one type a name each, or a tag. */
KOLK_INLINE void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle);

/* Frees the object of a handle; false if there is none. */
KOLK_API bool kolk_pool_free_handle(kolk_pool *pool, kolk_handle handle);

/* Is it the start of a live object of this pool? Any pointer may be asked about, NULL too. */
KOLK_INLINE bool kolk_pool_is_live(const kolk_pool *pool, const void *object);

/* Slot of a live object, from 0: for arrays beside the pool. Anything else is a bug of the caller and gives
 * UINT32_MAX. */
KOLK_INLINE uint32_t kolk_pool_index(const kolk_pool *pool, const void *object);

/* The live object in a slot, or NULL. */
KOLK_INLINE void *kolk_pool_at(const kolk_pool *pool, uint32_t index);

/* The next live object after this one, which may have been freed since; NULL starts, NULL ends. In ascending slots; any
 * object may be freed on the way; what is allocated on the way may or may not be visited. A pointer that is no object
 * of this pool is a bug of the caller and gives NULL. (KOLK_EACH of typed.h does the same, faster.)
 *
 * Under sanitizers and memcheck objects come from malloc, and a pointer alone does not tell the slot. There an object
 * that next gave is known, live or freed, until 64 others that next gave have been freed after it. An object that next
 * did not give is known until it is freed and its slot is used again. KOLK_EACH goes by the slot and has no such
 * limits. */
KOLK_API void *kolk_pool_next(const kolk_pool *pool, const void *object);

/* Objects alive; and how many more could be without growing: capacity - count (STRICT: less the worn-out slots). */
KOLK_INLINE uint32_t kolk_pool_count(const kolk_pool *pool);
KOLK_INLINE uint32_t kolk_pool_available(const kolk_pool *pool);

/* All counters; O(1). */
KOLK_API void kolk_pool_stats(const kolk_pool *pool, kolk_stats *out);

/* Checks every invariant of src/pool/pool.c; O(slots), for tests. */
KOLK_API bool kolk_pool_is_valid(const kolk_pool *pool);

/* ---- When it is full ----------------------------------------------------------------------------------------------
 *
 * An alloc that finds no free slot grows the pool as far as it may (max_capacity). Then it asks, in this order:
 *
 *     .overflow   another pool, for an object. It has the same object_size, at least the same object_align and a tag of
 *                 its own, is initialised before this pool and deinit'd after it. Its object is as good as any: free,
 *                 free_handle, handle, get and is_live of this pool find it. index, at, count, iteration and clear are
 *                 for each pool alone. When the last object there is freed through this pool, that pool is trimmed.
 *     .on_full    your hook, for room: it may free, clear or reserve; then the alloc is tried once more. An alloc
 *                 inside the hook does not ask it again. NULL: the alloc gives NULL.
 *
 * And before a pool is full:
 *
 *     .headroom   this many slots are reserved for kolk_pool_alloc_urgent: "cosmetics never take the slot of the boss"
 *     .low_water  an alloc that is about to leave fewer slots than this, of all that the pool may grow to, calls
 *     .on_low     first, which may do what on_full may. It is called again only after more than that were left.
 *     .cost       what losing an object would cost, for kolk_pool_evict_cheapest and kolk_pool_alloc_over
 *     .on_evict   is told that a ready-made hook or alloc_over is about to free this object */

/* As kolk_pool_alloc, from the headroom as well. A growing pool commits the headroom ahead, so that the system is not
 * asked here. */
KOLK_API KOLK_ALLOCATES void *kolk_pool_alloc_urgent(kolk_pool *pool);

/* As kolk_pool_alloc, but a full pool frees its cheapest object if that costs less than `cost`, and gives NULL
 * otherwise: a sound quieter than all that play is not started. on_full is not asked. Needs .cost; O(slots) when
 * full. */
KOLK_API KOLK_ALLOCATES void *kolk_pool_alloc_over(kolk_pool *pool, double cost);

/* Ready-made for .on_full: a bug of the caller (KOLK_FULL), which says which pool, its capacity and how to raise it. */
KOLK_API void kolk_pool_trap_full(kolk_pool *pool, void *context);

/* Ready-made: frees the live object of least cost (.cost; of equals that of the lowest slot): "the quietest sound".
 * O(slots). */
KOLK_API void kolk_pool_evict_cheapest(kolk_pool *pool, void *context);

/* Ready-made: frees the oldest (.ages); with kolk_pool_touch at each use, the least recently used. O(1). */
KOLK_API void kolk_pool_evict_oldest(kolk_pool *pool, void *context);

/* ---- Memory --------------------------------------------------------------------------------------------------------
 *
 *     .capacity      slots that can be used without more memory. 0: with .memory, as many as fit (of a
 *                    KOLK_POOL_STORAGE perhaps more than its n); with max_capacity, the pool starts empty and grows;
 *                    else it is always full.
 *     .max_capacity  the pool grows up to this, and no address ever changes: address space for it is reserved at init
 *     .memory        yours, aligned to object_align and to 8, may be dirty; the pool cannot grow then
 *     .object_align  the default suits every type of that size that has no _Alignas of its own */

/* Bytes that a pool of desc->capacity needs on the caller's memory; before any init. 0 for a bad descriptor, of which
 * it looks at all but memory, memory_size, max_capacity, headroom and overflow. For a typed pool, object_size =
 * sizeof(T) and object_align = _Alignof(T), which its init takes as well. */
KOLK_API size_t kolk_pool_memory_size(const kolk_pool_desc *desc);

/* The same as a constant, enough for any descriptor of that size, alignment and capacity without ages (see
 * KOLK_POOL_STORAGE in typed.h); and what ages take besides. */
/* clang-format off */
#define KOLK_POOL_BYTES(size, align, n)                                                                                \
    (KOLK_ROUND_UP(KOLK_SIZE_(n) * KOLK_ROUND_UP(size, align), 8) + 2 * 8 * ((KOLK_SIZE_(n) + 63) / 64) +              \
     2 * KOLK_ROUND_UP(KOLK_SIZE_(n) * 4, 8))
#define KOLK_POOL_AGE_BYTES(n) (8 * (KOLK_SIZE_(n) + 1))
/* clang-format on */

/* Room for this many slots without asking the system later. KOLK_ABOVE_MAX, KOLK_NO_MEMORY: nothing has changed. */
KOLK_API kolk_status kolk_pool_reserve(kolk_pool *pool, uint32_t capacity);

/* Gives whole pages without live objects back to the system, and makes a LIFO pool use low slots first. Not on the
 * caller's memory; not if keep is set without a setup hook that could make their contents anew. Bytes given back, where
 * the system can tell; capacity, addresses and handles stay. */
KOLK_API size_t kolk_pool_trim(kolk_pool *pool);

/* Once a frame: has room and gives memory back, both by measured demand, a little at a time. Demand is a maximum of
 * count at the ticks, and of new peaks between them, that fades by 1/64 a tick. A growing pool that it nearly fills
 * gets up to `budget` slots more, so that no alloc waits for the system. Once it has fallen below half of what it was,
 * whole pages without live objects go back, of `budget` slots a tick (rounded up to 64 and to what fills whole pages,
 * 4096 at most). Never more work than that, except for the ring of a growing FIFO pool, which moves; O(1) while nothing
 * changes. Bytes given back. A pool that can't be trimmed gives none; capacity, addresses, handles and the order of
 * free slots stay. */
KOLK_API size_t kolk_pool_tick(kolk_pool *pool, uint32_t budget);

/* ---- Age: the order of births --------------------------------------------------------------------------------------
 *
 *     .ages   keeps it, for 8 bytes a slot
 *
 *     for (void *object = kolk_pool_oldest(pool); object; object = kolk_pool_newer(pool, object)) ...
 *
 * The current object may be freed if nothing is allocated, and no other walk begun, before going on. If it is touched
 * or protected, the walk ends. A step is O(1), plus the dead objects that it passes for the first time since they were
 * freed. All of this changes the pool: one thread at a time. */

KOLK_API void *kolk_pool_oldest(kolk_pool *pool); /* NULL: none is alive */
KOLK_API void *kolk_pool_newest(kolk_pool *pool);
KOLK_API void *kolk_pool_newer(kolk_pool *pool, const void *object); /* the next one born; NULL ends */
KOLK_API void *kolk_pool_older(kolk_pool *pool, const void *object);

/* Makes a live object the newest, unless it is protected. Called at each use, it makes the oldest the one least
 * recently used. */
KOLK_API void kolk_pool_touch(kolk_pool *pool, const void *object);

/* Keeps a live object from eviction by the ready-made hooks and alloc_over, until it is freed or `on` is false. While
 * it is protected it is in no order, so that walks don't visit it; then it is the newest. */
KOLK_API void kolk_pool_protect(kolk_pool *pool, const void *object, bool on);

/* ---- Objects that are made once ---------------------------------------------------------------------------------
 *
 *     .keep       contents survive between lives: objects are made once and used as they are
 *     .setup      once per slot, before it is first handed out, and again after a trim. False: it could not; alloc
 *                 gives NULL and the slot stays free.
 *     .reset      at every free, clear, eviction and deinit of a live object, which is dead by then, though count still
 *                 counts it: clear its references to others
 *     .teardown   once per slot that is set up, at deinit and trim */

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

/* Up to n objects; how many. Asks on_full for the first of them only: it might evict the others. */
KOLK_API uint32_t kolk_pool_alloc_n(kolk_pool *pool, void **objects, uint32_t n);

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

/* A place in an iteration, for KOLK_EACH, and for untyped pools or an iterator of C++: kolk_pool_each begins, and each
 * kolk_cursor_next gives an object, or NULL at the end. Objects may be freed on the way. */
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

/* ---- Saving: object by object, or the whole pool as one block of bytes ------------------------------------------
 *
 *     size_t size = kolk_pool_snapshot_size(&pool);
 *     void *block = malloc(size);
 *     kolk_pool_snapshot(&pool, block, size);                  // ... time goes by ...
 *     if (kolk_pool_restore(&pool, block, size) != KOLK_OK) ...
 *
 * After a restore all is as it was: which objects are alive, their bytes, their ages, the order of reuse. Every handle
 * of that time is valid, and the next allocations give the same slots and handles as they gave then. (With another
 * capacity they may differ: a larger pool is full later, and FIFO uses its never-issued slots first.) The block has no
 * pointers in it. The same operations give the same block, byte for byte, on every machine of the same byte order, of
 * 32 bits or 64, as far as the objects' own bytes are the same: their padding may differ, and pointers in them are
 * yours to mend.
 *
 * No hook runs, for no life ends: call kolk_pool_clear before, if you want `reset` for what is alive. The contents of
 * dead objects (`keep`) are not in the block and stay as they are. Counters, the peak and what a tick measures go on.
 * An overflow pool has a snapshot of its own.
 *
 * A handle that was made after the snapshot is stale right after the restore, but the pool will give the same bits
 * again once it has done the same again. So forget these handles with the state that they are of. (STRICT knows nothing
 * of the lives that a restore undoes, either.)
 *
 * Cost: O(slots below the highest that was ever used) and the bytes copied. The block: 72 bytes, the live objects, and
 * for each of these slots 1 bit, 4 bytes for generations, and 4 for the order of reuse where there is one to keep. */

/* Bytes of the block for the pool's present state. 0: it has no snapshot, since it has a setup or teardown hook, or
 * a hook of it is running. */
KOLK_API size_t kolk_pool_snapshot_size(const kolk_pool *pool);

/* Writes the block; bytes written. 0: it has none, or size is below kolk_pool_snapshot_size. */
KOLK_API size_t kolk_pool_snapshot(const kolk_pool *pool, void *block, size_t size);

/* Puts the state of the block in the place of the pool's. The pool may be another one, in another program, if it has
 * the object_size, reuse, generations, ages and tag (or name) of the first. It grows to the first one's capacity if it
 * may; KOLK_ABOVE_MAX: it has not got, and cannot have, the slots that are used. Everything is proved before anything
 * is changed, whatever made the block. Any status but KOLK_OK leaves the pool as it was, perhaps with more capacity.
 * Trust goes no further: what is in the objects is not looked at. */
KOLK_API kolk_status kolk_pool_restore(kolk_pool *pool, const void *block, size_t size);

/* For loading object by object: one in the slot and with the generation of this handle, so that get finds it. NULL if
 * the slot is in use, beyond max_capacity, worn out for ever (STRICT) or fails its setup, or the handle is of another
 * pool or null. Makes slots up to it free where they were never handed out. Older handles of the slot may become valid
 * again. O(1) in ascending order of slots without gaps, as kolk_pool_next gave them when saving; O(gap) or O(free
 * slots) otherwise. */
KOLK_API void *kolk_pool_alloc_at(kolk_pool *pool, kolk_handle handle);

/* ---- Struct: read any field, write none -------------------------------------------------------------------------- */

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
    uint32_t recycled; /* how many were put to use again */
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

    kolk_pool_desc desc; /* the descriptor, with its defaults filled in but for tag, and without its debug settings */

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

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* type_size and type_align are 0, or of the type of a typed pool. */
KOLK_API kolk_status kolk_pool_init_type(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                         size_t type_align, size_t pool_size, uint32_t abi);

/* For typed pools: the descriptor, or, if it has no name, a copy that has the type's. */
static inline const kolk_pool_desc *kolk_pool_desc_named(const kolk_pool_desc *desc, const char *name,
                                                         kolk_pool_desc *named) {
    if (!desc || desc->name) return desc;
    *named = *desc;
    named->name = name;
    return named;
}

/* The same for a descriptor that asks for nothing which kolk_pool_is_plain rules out. */
KOLK_API kolk_status kolk_pool_init_plain(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                          size_t type_align, size_t pool_size, uint32_t abi);

/* The compiler knows the answer where it sees the descriptor's braces, and the linker then drops what the program does
 * not need: src/pool/pool_plain.c. */
static inline bool kolk_pool_is_plain(const kolk_pool_desc *desc) {
    bool grows = desc->max_capacity && !desc->memory;
    bool asks = desc->on_full || desc->cost || desc->on_low || desc->overflow || desc->headroom;
    bool lives_on = desc->setup || desc->reset || desc->teardown;
    return desc->reuse == KOLK_REUSE_LIFO && !desc->ages && !grows && !asks && !lives_on;
}

static inline kolk_status kolk_pool_init_typed(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                               size_t type_align) {
    if (desc && kolk_pool_is_plain(desc))
        return kolk_pool_init_plain(pool, desc, type_size, type_align, sizeof *pool, KOLK_ABI);
    return kolk_pool_init_type(pool, desc, type_size, type_align, sizeof *pool, KOLK_ABI);
}

static inline kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc) {
    return kolk_pool_init_typed(pool, desc, 0, 0);
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
