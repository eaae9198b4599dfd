/* SPDX-License-Identifier: Zlib */
/* kolk/pool.h: a pool of objects of one size, which never move and whose memory is reused.
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
 * The functions that everybody needs come first: `init` and `deinit`; `alloc`, alloc_zeroed, `free`, `renew` and
 * `clear`; handle_of, `get` and free_handle; is_live, `index`, `at` and `each`; `count`, `available` and `stats`. Each
 * later section can be read on its own, and begins with the descriptor's members that belong to it: When it is full;
 * Memory; Age; Pins; Objects that are made once; Many at once; Saving.
 *
 * Cost      `alloc`, `free`, `renew`, `get`, is_live, `index` and `at` are O(1): a handful of instructions, no system
 *           call, no lock; with KOLK_REUSE_LOWEST, alloc and free take one step for each factor of 64 in max_capacity.
 *           For allocs and renewals of a ranked pool see kolk_pool_recost, and for allocs after an alloc_at see
 *           kolk_pool_alloc_at. An alloc that grows the pool calls the system. `init` is O(1) and touches no slot. A
 *           step of a walk is O(groups that it skips): a group is KOLK_GROUP slots, and is skipped if none of them is
 *           alive. `clear`, `trim` and is_valid are O(slots).
 * Memory    the caller's memory, or pages of the system; never malloc. A slot costs its stride and 1 byte; 4 bytes
 *           for the order of reuse (LOWEST: 1 bit; without an OS, on 32 bits: 2 bytes); 4 bytes if there are handles,
 *           but in the system's memory only once a slot has had 128 lives; 1 bit with a setup or teardown hook; 16
 *           bytes with ages, 16 if the pool is ranked, and 4 with pins.
 * Contents  a new object has the bytes of the slot's last life, or those that the memory had before: initialise all of
 *           it. free does not change the object. The pool never stores its own data in a slot.
 * Threads   one thread at a time. But any number of threads may call functions that take a const pool while no other
 *           function runs.
 * Design    the essay in src/pool/pool.c; ARCHITECTURE.md.
 */
#ifndef KOLK_POOL_H
#define KOLK_POOL_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* With this attribute, gcc -fanalyzer -DKOLK_EXTERN finds your double frees and leaks. (It wrongly reports a leak if
 * you keep only an object's handle, or find the object again by a walk.) */
#if defined(KOLK_EXTERN) && defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
#define KOLK_ALLOCATES_ __attribute__((malloc, malloc(kolk_pool_free, 2)))
#else
#define KOLK_ALLOCATES_
#endif

typedef struct kolk_pool kolk_pool;

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

/* What happens when the pool is full, and before that: see When it is full. */
typedef struct kolk_pool_full {
    bool (*on_full)(kolk_pool *pool, size_t bytes, void *context) KOLK_OR_0_;
    double (*cost)(const void *object, void *context) KOLK_OR_0_;
    bool ranked KOLK_OR_0_; /* see kolk_pool_recost */
    void (*on_evict)(void *object, void *context) KOLK_OR_0_;
    kolk_pool *overflow KOLK_OR_0_;
    uint32_t headroom KOLK_OR_0_;
    uint32_t low_water KOLK_OR_0_;
    void (*on_low)(kolk_pool *pool, void *context) KOLK_OR_0_;
} kolk_pool_full;

/* Zero means the default, except for object_size. Use it as &(kolk_pool_desc){.object_size = 64, .capacity = 100}. */
typedef struct kolk_pool_desc {
    const char *name KOLK_OR_0_;   /* for reports and statistics; copied (see base.h) */
    size_t object_size KOLK_OR_0_; /* bytes, from 1 */
    /* a power of two up to 4096; 0: the largest one that divides object_size, at most 16 */
    size_t object_align KOLK_OR_0_;
    uint32_t capacity KOLK_OR_0_;     /* slots; 0: see Memory */
    uint32_t max_capacity KOLK_OR_0_; /* the pool can grow to this; 0: the same as capacity */
    kolk_reuse reuse KOLK_OR_0_;
    /* A slot is worn out after 2^32 - 1 lives. RECYCLE: it is used again, with generations from 1, once the pool would
     * otherwise be full; the slot that wore out first is used first. NONE saves the 4 bytes per slot. */
    kolk_generations generations KOLK_OR_0_;
    uint32_t tag KOLK_OR_0_;               /* distinguishes its handles from other pools'; 0: a hash of the name */
    bool ages KOLK_OR_0_;                  /* see Age */
    bool pins KOLK_OR_0_;                  /* see Pins */
    void *memory KOLK_OR_0_;               /* see Memory; NULL: pages of the system */
    size_t memory_size KOLK_OR_0_;         /* bytes of memory */
    struct kolk_budget *budget KOLK_OR_0_; /* the bytes of its slots count towards it (budget.h); NULL: none */
    kolk_pool_full full KOLK_OR_0_;        /* see When it is full */
    kolk_life life KOLK_OR_0_;             /* see Objects that are made once */
    void *context KOLK_OR_0_;              /* passed to the hooks in `full` and `life` */
    /* settings (base.h): "fill,guard,sites"; KOLK_DEBUG in the environment replaces them */
    const char *debug KOLK_OR_0_;
} kolk_pool_desc;

/* Hooks must return. So must the failure handler if the failed call was made by a hook; it may longjmp or throw only
 * out of the ready-made hooks. An on_full that throws nevertheless is not called again, because the pool considers it
 * still running. Each hook may call the functions that take a const pool (but snapshots are impossible meanwhile, and
 * is_valid may be false) and those of Age. What else it may do with its own pool:
 *
 *     on_full, on_low            anything but rebind and restore. If it ends the pool, the alloc returns NULL.
 *     setup, reset, on_evict     free, alloc and renew, also several at once, and reserve; such an alloc does not call
 *                                on_full. on_evict may free or renew its own object, which is not evicted then.
 *     teardown                   free; an alloc returns NULL
 *     cost, `convert` of a restore, `hash`, on_mark of the budget, a profiler's functions      nothing
 *
 * Anything else is a bug of the caller (KOLK_IN_HOOK): it changes nothing, and returns NULL, false or 0; but rebind,
 * restore and reserve only return KOLK_IN_HOOK. If hooks call each other, the strictest one counts. */

/* ---- What everybody needs ---------------------------------------------------------------------------------------- */

/* Initialises the pool. If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the pool is
 * left all zero. */
KOLK_FOLDED_INLINE_ kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc);

/* Runs reset for each live object and teardown for each slot that is set up, releases the memory, and leaves the pool
 * all zero. A reset hook that allocates gets a slot that was free, or NULL when none is left, because the pool no
 * longer grows. The lives of objects allocated in this way are ended too. */
KOLK_USES_(1) void kolk_pool_deinit(kolk_pool *pool);

/* Frees an object of this pool; all its handles are stale from now on. NULL does nothing. Any other pointer is a bug of
 * the caller: it is not from this pool, is not the start of an object, was never handed out, or is free already. */
KOLK_INLINE_USES_(1) void kolk_pool_free(kolk_pool *pool, void *object);

/* Returns an object, or NULL if the pool is full: see When it is full. */
KOLK_INLINE_USES_(1) KOLK_ALLOCATES_ void *kolk_pool_alloc(kolk_pool *pool);

/* The same; all bytes of the object are 0. */
KOLK_USES_(1) KOLK_ALLOCATES_ void *kolk_pool_alloc_zeroed(kolk_pool *pool);

/* A free and an alloc in one: ends an object's life and begins the next one in the same slot, as when a bullet is fired
 * again or a voice plays another sound. Returns the new object; all handles of the old one are stale. The reset hook
 * runs. The free slots and `count` do not change, so no hook of a full pool is called. An object of an overflow pool
 * stays there. NULL does nothing, and the result is NULL. Any other pointer that `free` refuses is a bug of the caller
 * here too; the result is then NULL.
 *
 * Use the result, because it may be at another address. If the slot is worn out or pinned, the new object is that of
 * an alloc; and under a tool that watches malloc (KOLK_BYPASS) it is another block. If the alloc or malloc fails, the
 * result is NULL, and the old object is freed. */
KOLK_INLINE_USES_(1) void *kolk_pool_renew(kolk_pool *pool, void *object);

/* Frees all live objects. An object that a reset hook allocates meanwhile may be freed too, or may stay. Afterwards
 * slots are reused from the lowest one on, and all handles are stale. Worn-out slots stay worn out. */
KOLK_USES_(1) void kolk_pool_clear(kolk_pool *pool);

/* Returns the handle of a live object of this pool. When the object is gone, the handle is stale. Any other pointer is
 * a bug of the caller; the result is then the null handle. */
KOLK_INLINE_ kolk_handle kolk_pool_handle_of(const kolk_pool *pool, const void *object);

/* Returns the object, or NULL if this handle is null, stale, forged or from another pool. It never returns a different
 * object, within the limits of generations (kolk_generations, kolk_pool_alloc_at) and tags. A tag uses the b bits of 32
 * that an index below max_capacity leaves free. Pools with distinct tags below 2^b never accept each other's handles.
 * Two tags that are hashes of names are equal in one of 2^b cases. Pools with the same name, or with neither a tag nor
 * a name, share a tag, so give each pool of a type its own name or tag. */
KOLK_INLINE_ void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle);

/* Frees the object of a handle. Returns false if get would return NULL. */
KOLK_USES_(1) bool kolk_pool_free_handle(kolk_pool *pool, kolk_handle handle);

/* Frees the object in this slot. Returns false if none lives there. */
KOLK_USES_(1) bool kolk_pool_free_at(kolk_pool *pool, uint32_t index);

/* Is this the start of a live object of this pool? Any pointer is allowed, including NULL. */
KOLK_INLINE_ bool kolk_pool_is_live(const kolk_pool *pool, const void *object);

/* Returns the slot of a live object, counted from 0, for arrays that you keep beside the pool. Any other pointer is a
 * bug of the caller; the result is then UINT32_MAX. */
KOLK_INLINE_ uint32_t kolk_pool_index(const kolk_pool *pool, const void *object);

/* Returns the live object in a slot, or NULL. */
KOLK_INLINE_ void *kolk_pool_at(const kolk_pool *pool, uint32_t index);

/* A walk looks at this many slots at once. */
#if KOLK_HOSTED
#define KOLK_GROUP 64
typedef uint64_t kolk_group_;
#else
#define KOLK_GROUP 8
typedef uint32_t kolk_group_;
#endif

/* A walk over the live objects, in ascending order of slots. kolk_pool_each begins it; each kolk_cursor_next returns an
 * object, or NULL at the end. Any object may be freed during the walk, including the current one. An object that is
 * allocated during the walk may or may not be visited. KOLK_EACH of typed.h is this loop for typed pools:
 *
 *     kolk_cursor cursor = kolk_pool_each(&pool);
 *     for (T *it; (it = kolk_cursor_next(&cursor)) != NULL;) ...
 *
 * kolk_cursor_next_run returns several objects at a time: a run, which is n neighbours that are all alive, `stride`
 * bytes apart. It is for inner loops over plain arrays, which compilers turn into vector instructions. A run is either
 * a whole group, if all of its KOLK_GROUP slots have objects, or one object; so this is about as fast as
 * kolk_cursor_next where few objects are alive. At the end, returns NULL and sets *length to 0. The objects of the
 * current run may be freed too. KOLK_EACH_RUN of typed.h is this loop:
 *
 *     kolk_cursor cursor = kolk_pool_each(&pool);
 *     uint32_t n;
 *     for (T *run; (run = kolk_cursor_next_run(&cursor, &n)) != NULL;)
 *         for (uint32_t i = 0; i < n; i++) ... run[i] ...
 */
typedef struct kolk_cursor {
    const uint8_t *states; /* the bytes of the next group of KOLK_GROUP slots */
    const uint8_t *last;   /* those of the last group, or their end if that is the current one */
    unsigned char *next;   /* address of the next group's first slot */
    unsigned char *base;   /* address of the current group's first slot; or if it is full, of the next object */
    kolk_group_ pending;   /* the slots of the current group that have not been visited yet: 1 bit each */
    kolk_group_ tail;      /* the slots of the last group that are to be visited; 0 once it is the current one */
    size_t left;           /* in a full group, minus the number of slots that have not been visited; else 0 */
    size_t stride;
    bool more;              /* false: there is nothing to visit, or KOLK_EACH is done */
    const kolk_pool *apart; /* the pool, if its objects have no neighbours (guard, KOLK_BYPASS); else NULL */
    uint32_t from, end;     /* the slots to visit in such a pool */
} kolk_cursor;

KOLK_INLINE_ kolk_cursor kolk_pool_each(const kolk_pool *pool);
KOLK_INLINE_USES_(1) void *kolk_cursor_next(kolk_cursor *cursor);
KOLK_INLINE_USES_(1) void *kolk_cursor_next_run(kolk_cursor *cursor, uint32_t *length);

/* Begins a walk over n slots only, from slot `first` on; slots beyond the last one are ignored. With this, threads can
 * divide the work: each walks over a part of the slots from 0 to capacity - 1. */
KOLK_INLINE_ kolk_cursor kolk_pool_each_in(const kolk_pool *pool, uint32_t first, uint32_t n);

/* The number of live objects (and of those that were freed while they were pinned), and the number of slots that are
 * free without growing: capacity - count (with STRICT, minus the worn-out slots). */
KOLK_INLINE_ uint32_t kolk_pool_count(const kolk_pool *pool);
KOLK_INLINE_ uint32_t kolk_pool_available(const kolk_pool *pool);

/* Would n allocs find slots, without an eviction: free ones, those that the pool can still grow by, and those of its
 * overflow pools? The headroom does not count. The budget and the system may still refuse the memory to grow. */
KOLK_API_ bool kolk_pool_can_alloc(const kolk_pool *pool, uint32_t n);

/* All counters; O(1). */
KOLK_API_ void kolk_pool_stats(const kolk_pool *pool, kolk_stats *out);

/* Checks every invariant of src/pool/pool.c; O(slots), for tests. */
KOLK_API_ bool kolk_pool_is_valid(const kolk_pool *pool);

/* ---- When it is full ----------------------------------------------------------------------------------------------
 *
 * An alloc that finds no free slot grows the pool, up to max_capacity. If max_capacity is reached, it tries in this
 * order:
 *
 *     .full.overflow   an object from this other pool, which must have the same object_size, at least the same
 *                      object_align and a different tag. Initialise it before this pool, and deinit it after this pool.
 *                      This pool's `free`, free_handle, handle_of, `get` and is_live also find objects there. `index`,
 *                      `at`, `count`, walks and `clear` apply to each pool separately. When the overflow pool's last
 *                      object is freed through this pool, the overflow pool is trimmed.
 *     .full.on_full    your hook, which may make room by calling free, clear or reserve. `bytes` is the object_size. If
 *                      it returns true, the alloc is tried once more. If it returns false, or there is no hook, the
 *                      alloc returns NULL. An alloc inside the hook does not call it again.
 *
 * Before a pool is full:
 *
 *     .full.headroom   this many slots are reserved for kolk_pool_alloc_urgent: "cosmetics never take the slot of the
 *                      boss"
 *     .full.low_water  an alloc that would leave fewer free slots than this, out of max_capacity, first calls on_low
 *     .full.on_low     your hook, which may do the same as on_full, for example call kolk_pool_evict_oldest. It is
 *                      called again only after more than low_water slots were free.
 *     .full.cost       returns the cost of losing an object, for kolk_pool_evict_cheapest and kolk_pool_alloc_over
 *     .full.on_evict   called with an object before a ready-made hook or alloc_over frees it */

/* Works like kolk_pool_alloc, but also uses the headroom. A pool that can grow commits the headroom in advance, so that
 * this call need not ask the system for memory. */
KOLK_USES_(1) KOLK_ALLOCATES_ void *kolk_pool_alloc_urgent(kolk_pool *pool);

/* Works like kolk_pool_alloc, but if the pool is full, frees its cheapest object if that costs less than `cost`, and
 * otherwise returns NULL. So a sound that is quieter than all others is not started. on_full is not called. Needs
 * .full.cost. If the pool is full: O(slots), or with .full.ranked as kolk_pool_recost states. */
KOLK_USES_(1) KOLK_ALLOCATES_ void *kolk_pool_alloc_over(kolk_pool *pool, double cost);

/* Ready-made for .full.on_full: reports a bug of the caller (KOLK_FULL), with the pool, its capacity and how to raise
 * it; with the debug setting `sites`, also with the three places that have allocated most of its objects. Returns
 * false if the failure handler returns. */
KOLK_USES_(1) bool kolk_pool_trap_full(kolk_pool *pool, size_t bytes, void *context);

/* Ready-made for .full.on_full: frees the live object with the least .full.cost, such as the quietest sound; among
 * equals, the one in the lowest slot. A cost that is not a number counts as the highest. Returns false if no object is
 * alive, or if all are protected. `bytes` and `context` are not used. Calls .full.cost for each object, O(slots),
 * unless the pool is ranked. */
KOLK_USES_(1) bool kolk_pool_evict_cheapest(kolk_pool *pool, size_t bytes, void *context);

/* With .full.ranked, which costs 16 bytes per slot, the pool remembers what each object costs and keeps the objects in
 * that order. Then evict_cheapest and alloc_over find the same object in O(log n), if you say when costs change:
 *
 *     kolk_pool_recost(pool, object)    the cost of this live object has changed. Calls .cost; O(log n).
 *     kolk_pool_recost(pool, NULL)      many costs have changed, for example because the listener has moved. O(1). The
 *                                       next eviction calls .cost for each object, O(n); those after it are O(log n).
 *
 * The pool asks for the cost of a new object at the first eviction that could choose the object, so fill it in before.
 * If a cost changes unsaid, an eviction may choose another object. The order is made at the first eviction. Each alloc
 * and each renewal after it enters the object: O(log n), but an alloc in a full pool is O(1). In a pool without
 * .ranked, recost does nothing. The order is a heap (J. W. J. Williams, Algorithm 232, 1964; built as by R. W. Floyd,
 * Algorithm 245, 1964). */
KOLK_USES_(1) void kolk_pool_recost(kolk_pool *pool, const void *object);

/* Ready-made for .full.on_full: frees the oldest object. If each use calls kolk_pool_touch, that is the least recently
 * used object. Otherwise it works like kolk_pool_evict_cheapest, but is O(1). Needs .ages, which .full.on_full =
 * kolk_pool_evict_oldest implies. */
KOLK_USES_(1) bool kolk_pool_evict_oldest(kolk_pool *pool, size_t bytes, void *context);

/* ---- Memory --------------------------------------------------------------------------------------------------------
 *
 *     .capacity      slots that can be used without more memory. 0: with .memory, as many as fit (in a
 *                    KOLK_POOL_STORAGE perhaps more than its n); with max_capacity, the pool starts empty and grows;
 *                    otherwise it needs .full.overflow and is always full.
 *     .max_capacity  the pool grows up to this many slots. init reserves address space for them, so no address ever
 *                    changes.
 *     .memory        your memory, aligned to object_align and to 8; it need not be zero. The pool cannot grow then.
 *     .object_align  the default suits every type of that size without an _Alignas. */

/* Returns how many bytes of the caller's memory a pool of desc->capacity slots needs. It may be called before any init.
 * Returns 0 if the descriptor is bad; memory, memory_size, max_capacity, headroom and overflow are not checked. For a
 * typed pool, set object_size = sizeof(T) and object_align = _Alignof(T); its init also accepts these values. */
KOLK_API_ size_t kolk_pool_memory_size(const kolk_pool_desc *desc);

/* The same as a constant. It is enough for any descriptor of this size, alignment and capacity without these two (see
 * KOLK_POOL_STORAGE in typed.h). With ages, add KOLK_POOL_AGE_BYTES; if it is ranked, KOLK_POOL_RANK_BYTES; with pins,
 * KOLK_POOL_PIN_BYTES. */
/* clang-format off */
#define KOLK_POOL_BYTES(size, align, n)                                                                                \
    (KOLK_POOL_HIGH_AT_(size, align, n) + 8 * ((KOLK_SIZE_(n) + 63) / 64) + KOLK_ROUND_UP_(KOLK_SIZE_(n) * 4, 8) +     \
     KOLK_ROUND_UP_(KOLK_SIZE_(n) * sizeof(kolk_slot_), 8))
#define KOLK_POOL_STATES_AT_(size, align, n) KOLK_ROUND_UP_(KOLK_SIZE_(n) * KOLK_ROUND_UP_(size, align), 8)
#define KOLK_POOL_HIGH_AT_(size, align, n)   (KOLK_POOL_STATES_AT_(size, align, n) + KOLK_ROUND_UP_(KOLK_SIZE_(n), KOLK_GROUP))
#define KOLK_POOL_AGE_BYTES(n)  (16 * (KOLK_SIZE_(n) + 1))
#define KOLK_POOL_RANK_BYTES(n) (16 * KOLK_SIZE_(n))
#define KOLK_POOL_PIN_BYTES(n)  KOLK_ROUND_UP_(KOLK_SIZE_(n) * 4, 8)
/* clang-format on */

/* Raises the capacity to this many slots now, so that later allocs need not ask the system for memory, nor the budget.
 * After KOLK_ABOVE_MAX, KOLK_OVER_BUDGET or KOLK_NO_MEMORY nothing has changed. */
KOLK_USES_(1) kolk_status kolk_pool_reserve(kolk_pool *pool, uint32_t capacity);

/* Releases whole pages without live objects to the system, and makes a LIFO pool use low slots first. Does nothing for
 * a pool on the caller's memory, or if keep is set without a setup hook that could make the contents again. Returns the
 * number of bytes released, as far as the system reports them. Capacity, addresses and handles do not change. What is
 * released behind the last object in use counts towards the budget no longer: see Released in budget.h. */
KOLK_USES_(1) size_t kolk_pool_trim(kolk_pool *pool);

/* Call it once per frame. It grows the pool in advance and releases memory, both according to the measured demand and a
 * little at a time. Demand is the maximum of the counts at the ticks and of new peaks between them; it decays by 1/64
 * per tick. If demand nearly fills a pool that can grow, the pool gets up to `slots` more, so that no alloc
 * waits for the system. Once demand has fallen by half, each tick releases the whole pages without live objects among
 * `slots` slots (rounded up to 64 and to whole pages, 4096 at most). A tick never does more work than that, except
 * that it moves the ring when a FIFO pool grows. It is O(1) while nothing changes. Returns the number of bytes
 * released, which is 0 for a pool that cannot be trimmed. Releasing memory does not change the capacity, addresses,
 * handles or the order of free slots. */
KOLK_USES_(1) size_t kolk_pool_tick(kolk_pool *pool, uint32_t slots);

/* ---- Age: the order of births --------------------------------------------------------------------------------------
 *
 *     .ages   keeps the order of births, which costs 16 bytes per slot. All functions of this section change the pool,
 *             so only one thread at a time may call them.
 *
 * A walk from the oldest object to the newest. It visits the objects that are in the order when it begins. Meanwhile
 * any object may be freed, evicted, touched, protected or allocated, including the current and the next one. What is
 * born or touched during the walk is newer than its end, so the walk does not visit it again. A restore ends the walk.
 * KOLK_EACH_OLDEST of typed.h is this loop for typed pools:
 *
 *     kolk_age_cursor cursor = kolk_pool_each_oldest(&pool);
 *     for (T *it; (it = kolk_age_cursor_next(&cursor)) != NULL;) ...
 *
 * A step is O(1), plus the dead objects that it passes for the first time since they were freed. If both the current
 * and the next object have left their places, the step also passes the objects that are older than the current one. */
typedef struct kolk_age_cursor {
    kolk_pool *pool;
    uint64_t born;     /* the number of the current object's birth */
    uint64_t last;     /* that of the last object to visit */
    uint32_t at, next; /* the current object's slot + 1; the one after it */
    bool more;         /* false: KOLK_EACH_OLDEST is done */
} kolk_age_cursor;

KOLK_USES_(1) kolk_age_cursor kolk_pool_each_oldest(kolk_pool *pool);
KOLK_INLINE_USES_(1) void *kolk_age_cursor_next(kolk_age_cursor *cursor);

KOLK_USES_(1) void *kolk_pool_oldest(kolk_pool *pool); /* NULL: no object is alive */
KOLK_USES_(1) void *kolk_pool_newest(kolk_pool *pool);
/* The object born next after another one, and the one before it. NULL: none. The other one may be dead if its slot was
 * not used again. */
KOLK_USES_(1) void *kolk_pool_newer(kolk_pool *pool, const void *object);
KOLK_USES_(1) void *kolk_pool_older(kolk_pool *pool, const void *object);

/* Makes a live object the newest, unless it is protected. If you call it at each use, the oldest object is the least
 * recently used. */
KOLK_USES_(1) void kolk_pool_touch(kolk_pool *pool, const void *object);

/* Protects a live object from eviction by the ready-made hooks and alloc_over, until it is freed or the protection is
 * turned off (`on` false). A protected object is not in the order of births, so walks by age do not visit it. When the
 * protection ends, the object becomes the newest. */
KOLK_USES_(1) void kolk_pool_protect(kolk_pool *pool, const void *object, bool on);

/* ---- Pins: objects that must not go away yet -----------------------------------------------------------------------
 *
 *     .pins   lets you pin objects, which costs 4 bytes per slot
 *
 * Pin an object while you use it, if other code may free it meanwhile:
 *
 *     bullets_pin(&pool, bullet);
 *     on_hit(bullet);                  // may free it, or clear the pool
 *     bullet->x += 1;                  // but its memory is still there
 *     bullets_unpin(&pool, bullet);    // the free, if there was one, is completed here
 *
 * A free, an eviction by hand or a clear ends the life of a pinned object at once: its handles are stale, is_live is
 * false, no walk visits it, and a second free is a double free. But its contents stay, and no alloc gets its slot,
 * until the last unpin. Only then its reset hook runs. Until then it counts, and alloc_at of its slot gives NULL.
 *
 *     renew               ends the life in the same way; the new object is that of an alloc, in another slot
 *     evictions           the ready-made hooks and alloc_over spare pinned objects, but evict_oldest looks at each of
 *                         them that is older
 *     snapshot, restore   are impossible while an object is pinned (KOLK_PINNED)
 *     deinit              is a bug of the caller while an object is pinned (KOLK_PINNED), and changes nothing then
 *
 * While an object of a pool is pinned, all its functions but the allocs make a call where they are otherwise inline. */

/* Pins an object that is live or pinned, also several times, and nothing if it is NULL. O(1). Any other pointer is a
 * bug of the caller, and so is a pool without .pins (KOLK_PINS_MISSING). */
KOLK_USES_(1) void kolk_pool_pin(kolk_pool *pool, const void *object);

/* Takes back one pin, and none if it is NULL. If it was the last one, and the object was freed meanwhile, frees its
 * slot. O(1); O(log n) if the pool is ranked. An object that is not pinned is a bug of the caller (KOLK_NOT_PINNED). */
KOLK_USES_(1) void kolk_pool_unpin(kolk_pool *pool, const void *object);

/* ---- Objects that are made once ---------------------------------------------------------------------------------
 *
 *     .life.keep      contents survive from one life to the next: objects are made once and used as they are
 *     .life.setup     called once per slot, before it is first handed out, and again after a trim. If it returns false,
 *                     setup failed: alloc returns NULL and the slot stays free.
 *     .life.reset     called when a live object is freed, cleared, evicted or deinit'd: it should clear the object's
 *                     references to others. The object is dead by then, although count still includes it.
 *     .life.teardown  called once per slot that is set up, at deinit and trim. */

/* ---- Hot reload ----------------------------------------------------------------------------------------------------
 *
 * Hooks that lie in a module must not be called after the module was unloaded. So a new version of the module passes
 * its descriptor to rebind, which gives an existing pool the new hooks. docs/hotreload.md shows all steps. */

/* Replaces the hooks, context, name, headroom and low_water by those of the descriptor, also where these are 0. All
 * objects, handles and counters stay, and so do the tag and the debug settings. No hook runs. The descriptor may be the
 * one of the init. Members that determine how the pool is laid out must be 0, or as they were at the init: object_size,
 * object_align, capacity (or less than the pool has now), max_capacity, reuse, generations, tag, keep, ages, pins,
 * ranked, memory, memory_size, budget and overflow. The pool must have a setup or teardown hook if and only if it had
 * one at the init.
 *
 * Changes nothing and returns KOLK_STRUCT_CHANGED if the objects have a different size or alignment, as after a change
 * of their struct (see kolk_pool_restore_converted); KOLK_LAYOUT_CHANGED for another such member; KOLK_IN_HOOK if a
 * hook is running; KOLK_MOVED if the pool is not at home (reported as well); KOLK_AGES_MISSING for
 * evict_oldest in a pool without ages; or what init returns for such hooks. */
KOLK_FOLDED_INLINE_ kolk_status kolk_pool_rebind(kolk_pool *pool, const kolk_pool_desc *desc);

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

/* Allocates up to n objects and returns how many. Only the allocation of the first one may call on_full, because a
 * later on_full might evict the objects just allocated. */
KOLK_USES_(1) uint32_t kolk_pool_alloc_n(kolk_pool *pool, void **objects, uint32_t n);

/* Frees n objects as `free` does, in this order. NULL entries do nothing. A pointer that `free` refuses is reported,
 * and the other objects are freed all the same. This saves the calls of `free` in pools where it is not inline: with
 * FIFO, LOWEST, hooks or the debug mode. */
KOLK_USES_(1) void kolk_pool_free_n(kolk_pool *pool, void *const *objects, uint32_t n);

/* Allocates n neighbouring objects and returns the first one: in a typed pool, an array of n objects. (In another pool
 * they are `stride` bytes apart, see kolk_stats.) If several places have room for n objects, it takes the lowest one:
 * first fit. Each object is like any other: it has its own handle, and `free` or free_n may free it alone, in any
 * order. Returns NULL, and allocates nothing, if n is 0, or if there are not n neighbouring free slots and the pool
 * cannot grow by as many as are missing.
 *
 *     struct cell *row = cells_alloc_run(&pool, 80);                       // .reuse = KOLK_REUSE_LOWEST
 *     for (int i = 0; row && i < 80; i++) row[i].letter = ' ';
 *     for (int i = 0; row && i < 80; i++) cells_free(&pool, &row[i]);
 *
 * Needs KOLK_REUSE_LOWEST: only such a pool knows which free slots are neighbours. With another reuse, the call is a
 * bug of the caller (KOLK_LOWEST_MISSING). It respects the headroom and may call on_low, but tries neither .overflow
 * nor on_full, because freeing one object seldom makes room for a run. Worn-out slots are not part of a run. If setup
 * fails for one of the objects, the others stay set up, and none is allocated. With the debug setting `guard`, and
 * under tools where each object is a malloc block (KOLK_BYPASS), objects have no neighbours: then n > 1 returns NULL.
 *
 * Cost: O(n), plus O(1) for each shorter stretch of free slots below the run. */
KOLK_USES_(1) void *kolk_pool_alloc_run(kolk_pool *pool, uint32_t n);

/* ---- Saving: object by object, or the whole pool as one block of bytes ------------------------------------------
 *
 *     size_t size = kolk_pool_snapshot_size(&pool);
 *     void *block = malloc(size);                              // snapshot.h: deltas of blocks, and files
 *     kolk_pool_snapshot(&pool, block, size);                  // ... time goes by ...
 *     if (kolk_pool_restore(&pool, block, size) != KOLK_OK) ...
 *
 * A restore brings back the live objects, their bytes, their ages and the order of reuse. Every handle that was valid
 * at the snapshot is valid again, and the next allocs return the same slots and handles as they did then, also if the
 * pool has grown since. (They may differ with a different max_capacity, because a larger pool becomes full later; and
 * with FIFO if kolk_pool_tick grows the pool in advance, so give such a pool its whole capacity at init.) The block
 * contains no pointers of the pool. The same operations give the same block, byte for byte, on every machine with the
 * same byte order, whether 32-bit or 64-bit, if the objects' own bytes are the same. Their padding may differ, and you
 * must correct pointers inside objects. A walk that continues after a restore visits the objects that are alive then.
 *
 * No hook runs. If you want `reset` to run for the live objects, call kolk_pool_clear before the restore. The contents
 * of dead objects (`keep`) are not in the block, and a restore leaves them as they are. Counters, the peak and the
 * measurements of ticks are not restored either. An overflow pool has its own snapshot.
 *
 * A handle that was made after the snapshot is stale right after the restore. But the pool issues the same bits again
 * when it repeats the same operations, so discard such handles together with the state they belong to. (Lives that a
 * restore undoes are not counted, even with STRICT.)
 *
 * Cost: O(slots up to the highest one ever used), plus the bytes copied. The block consists of 72 bytes, the live
 * objects, and for each of these slots 1 bit, 4 bytes for generations, and 4 bytes if its order of reuse must be
 * kept. */

/* Returns the size of the block for the pool's present state, in bytes. Returns 0 if no snapshot is possible, because
 * the pool has a setup or teardown hook, one of its hooks is running, or an object is pinned. */
KOLK_API_ size_t kolk_pool_snapshot_size(const kolk_pool *pool);

/* Writes the block and returns its size. Returns 0 if no snapshot is possible, or if `size` is below
 * kolk_pool_snapshot_size. */
KOLK_API_ size_t kolk_pool_snapshot(const kolk_pool *pool, void *block, size_t size);

/* Replaces the pool's state by the state in the block. The pool may be a different one, in a different program, if it
 * has the same object_size, reuse, generations, ages and tag (or name). It grows as far as it needs to for the
 * slots that the saved pool had handed out, and then towards that pool's capacity as an alloc would, if it can.
 * KOLK_ABOVE_MAX, KOLK_OVER_BUDGET, KOLK_NO_MEMORY: it cannot provide these slots. The whole block is checked before
 * anything changes, so it may come from an untrusted source. Any status but KOLK_OK leaves the pool as it was, perhaps
 * with more capacity. Only the bytes inside objects are not checked. */
KOLK_USES_(1) kolk_status kolk_pool_restore(kolk_pool *pool, const void *block, size_t size);

/* The same for a block whose objects have another size or meaning, such as one that an older version of the program has
 * saved: calls `convert` for each object, in the order of slots. The object is all zero; `saved` are its `saved_size`
 * bytes of the block, which are not aligned, so memcpy them into the old struct. Everything but the objects is restored
 * as by kolk_pool_restore, so that no handle that was stale at the snapshot becomes valid, unlike with alloc_at. The
 * block does not state what its objects mean: save a version beside it if the size does not tell. convert is not called
 * before the whole block is checked. NULL: the objects are copied, and must have the same size. */
KOLK_USES_(1)
kolk_status kolk_pool_restore_converted(kolk_pool *pool, const void *block, size_t size,
                                        void (*convert)(void *object, const void *saved, size_t saved_size,
                                                        void *context),
                                        void *context);

/* A hash of the pool's state, by which two peers of a game notice that their simulations differ. It covers the live
 * objects, in which slots they are, the generations of all slots, and the orders of reuse and of births: what a
 * snapshot covers and what decides which handles the next allocs return. A restored pool has the hash that it had at
 * the snapshot, even if its capacity has risen.
 *
 * `hash` returns the hash of one object. Use it to leave out padding, pointers, and what peers need not agree on; it
 * must not change the pool. NULL: all bytes of the object count, in the machine's byte order. The same kolk gives the
 * same hash on every machine; another version may give another one. Returns 0 inside a hook. O(slots that were ever
 * used), plus the bytes of the live objects. */
KOLK_USES_(1)
uint64_t kolk_pool_hash(kolk_pool *pool, uint64_t (*hash)(const void *object, void *context), void *context);

/* For loading object by object: allocates an object in this handle's slot, with the handle's generation, so that get
 * finds the object by this handle. Returns NULL if the slot is in use, is beyond max_capacity, is worn out for ever
 * (STRICT) or fails its setup, or if the handle is null or from another pool. Lower slots that were never handed out
 * become free slots. Older handles of the slot may become valid again.
 *
 * O(1), and a step for each of these lower slots. Unless the slot was the last one freed, LIFO and FIFO give up the
 * order of the slots that are free at that time: they are used from the lowest one on. The next alloc that takes one of
 * them is O(slots / 64) with LIFO, O(slots) with FIFO or while an object is pinned. In a hook other than on_full and
 * on_low, the order stays, and alloc_at is O(free slots). */
KOLK_USES_(1) void *kolk_pool_alloc_at(kolk_pool *pool, kolk_handle handle);

/* The same for a slot by its index, such as a number that a protocol or a file gives to an object. The slot has its
 * next generation, so older handles stay stale, and the pool need not have handles. */
KOLK_USES_(1) void *kolk_pool_alloc_at_index(kolk_pool *pool, uint32_t index);

/* The same for the lowest slot without an object among n slots, from slot `first` on. If all allocs of a pool are of
 * this kind, each kind of object has numbers of its own: those of the server below 1000, say, and those of its clients
 * from 1000 on. O(n / 64), plus that of alloc_at_index. Returns NULL if none of these slots can be had, or the setup of
 * the lowest one fails. */
KOLK_USES_(1) void *kolk_pool_alloc_in(kolk_pool *pool, uint32_t first, uint32_t n);

/* ---- Struct: read any field, write none -------------------------------------------------------------------------- */

/* The number of a slot takes 2 bytes in a freestanding build for 32 bits: there a pool has at most 65,535 slots. */
#if KOLK_HOSTED || UINTPTR_MAX > UINT32_MAX
#define KOLK_POOL_MOST INT32_MAX
typedef uint32_t kolk_index_;
#else
#define KOLK_POOL_MOST UINT16_MAX
typedef uint16_t kolk_index_;
#endif

typedef struct kolk_slot_ {
    kolk_index_ index;
} kolk_slot_;

/* A slot's neighbours in the order of births, as slot numbers + 1. A slot that is not in the order has its own number
 * in both, and `born` 0. */
typedef struct kolk_age_ {
    uint32_t older, newer;
    uint64_t born; /* the number of its birth, or of the touch that made it the newest */
} kolk_age_;

/* The order of costs: src/pool/pool_rank.h. A slot's rank holds `price` and `place`; a place's rank holds `slot`. */
typedef struct kolk_rank_ {
    uint64_t price; /* the slot's cost, as a number that grows with it; 0: the pool has not asked yet */
    uint32_t place; /* where the slot is in the order; UINT32_MAX: nowhere */
    uint32_t slot;  /* the slot at this place */
} kolk_rank_;

/* Free slots whose generations are used up: a list through high[], the oldest first. */
typedef struct kolk_worn_ {
    uint32_t first, last, count;
    uint32_t recycled; /* how many were used again */
} kolk_worn_;

/* The measurements of kolk_pool_tick: src/pool/pool_trim.c. */
typedef struct kolk_tick_ {
    uint32_t demand;   /* a decaying maximum of `count` */
    uint32_t provided; /* the demand for which memory is kept */
    uint32_t sweep;    /* dead pages from this slot to fresh are released; 0: no sweep is under way */
    uint32_t peak;     /* peak at the last tick */
    uint32_t trims;    /* calls of kolk_trim_all before the init or the last tick */
} kolk_tick_;

/* count == fresh - (top - stack) - aside. A zero-initialised pool is valid and has the capacity 0. Never copy or move a
 * pool once it is initialised. */
struct kolk_pool {
    /* fields that alloc, free and get read */
    unsigned char *slots;
    uint8_t *states;     /* 1 byte per slot, valid below fresh: alive, and the low 7 bits of the generation */
    uint32_t *high;      /* the other bits of the generation; NULL with KOLK_GENERATIONS_NONE */
    kolk_slot_ *top;     /* end of the stack of free slots (LIFO) */
    kolk_slot_ *floor;   /* the stack's bottom, or higher to send allocs to the slow path */
    uintptr_t inverse;   /* inverse of odd, modulo the word; stride = odd << shift */
    uint32_t stride;     /* bytes from slot to slot */
    uint32_t free_bound; /* free takes the slow path from this slot on */
    uint32_t bound;      /* `get`, is_live, `index` and `at` take it from this slot on */
    uint32_t tag;        /* XORed into the index of a handle */
    uint8_t shift;

    /* free slots */
    uint8_t levels;       /* LOWEST: levels of summary words */
    uint8_t memory;       /* MEMORY_WHOLE, MEMORY_GROWS or MEMORY_CALLERS: src/core/block.h */
    uint8_t in_hook;      /* a hook is running: a full pool returns NULL without calling on_full */
    uint16_t debug_flags; /* KOLK_DEBUG_ */
    uint16_t low_reported;
    uint32_t fresh;       /* slots from here on were never handed out; only advances */
    uint32_t aside;       /* free slots below fresh, outside the stack: in ring or holes, worn out, or quarantined */
    uint32_t capacity;    /* slots that can be used without more memory */
    uint32_t first;       /* FIFO: where the ring begins; KOLK_POOL_STATIC: the capacity, until the pool is made */
    uint32_t aside_floor; /* FIFO, LOWEST: while aside is above it, alloc takes such a slot first */
    uint32_t quarantined;
    kolk_worn_ worn;
    kolk_slot_ *order_floor; /* ages, ranked: the floor for allocs, which also enter the object into these orders */
    kolk_slot_ *stack;       /* LIFO: bottom of the stack; FIFO: the ring, capacity entries */
    uint64_t *holes[6]; /* LOWEST: [0] has a bit for each free slot below fresh, [k + 1] one for each word of [k] */
    kolk_age_ *ages;    /* by slot + 1: a circular list through [0], the oldest first; NULL without ages */
    kolk_rank_ *ranks;  /* by slot, and by place; NULL if the pool is not ranked */
    uint32_t *pins;     /* by slot: how often it is pinned, and KEPT if it was freed since; NULL without pins */
    uint64_t *ready;    /* 1 bit per slot: it is set up; NULL without setup and teardown */

    /* what the descriptor said, with defaults filled in */
    const char *name;
    size_t object_size, object_align;
    uint32_t max_capacity, headroom, low_water;
    kolk_reuse reuse;
    kolk_generations generations;
    bool keep, ranked;
    struct kolk_budget *budget;
    bool (*on_full)(kolk_pool *pool, size_t bytes, void *context);
    double (*cost)(const void *object, void *context);
    void (*on_evict)(void *object, void *context);
    kolk_pool *overflow;
    void (*on_low)(kolk_pool *pool, void *context);
    bool (*setup)(void *object, void *context);
    void (*reset)(void *object, void *context);
    void (*teardown)(void *object, void *context);
    void *context;

    /* the rest */
    const struct kolk_pool_options_ *options; /* the code for its options: src/pool/pool_inside.h; NULL: it has none */
    struct kolk_debug *debug;                 /* NULL: off */
    uintptr_t *objects; /* bypass: malloc blocks by slot; bits inverted to hide them from leak checkers */
    unsigned char *block;
    size_t block_size;
    uint64_t failed, evictions;
    uint64_t births; /* with ages: the number of the last birth */
    uint32_t wrong_pool;
    uint32_t peak;    /* UINT32_MAX: the peak is fresh; FIFO and debug mode count it */
    uint32_t number;  /* number in the registry; 0: not registered */
    uint32_t ranking; /* the places in the order of costs + 1; 0: no order exists, and the next eviction makes it */
    kolk_tick_ tick;
    uint32_t held_back; /* FIFO, after a restore: the last slots of the capacity, which the saved pool did not have */
    uint32_t unlisted;  /* LIFO, FIFO: at the start of the stack or ring, places whose slots are not decided yet */
    uint32_t counted;   /* the slots below it count towards the budget; a trim may have released the others */
    uint32_t pinned;    /* the number of slots that have pins */
    struct kolk_away_ *away; /* the slots that are on their way while a hook runs: src/pool/pool_order.h */
};

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* Without an OS, cursors and indices of slots are smaller. A program and a library that differ in that do not fit. */
#define KOLK_POOL_ABI_ (KOLK_ABI + 1000u * !KOLK_HOSTED)

/* `type_size` and `type_align` are the size and alignment of a typed pool's type, or 0 if the pool is not typed. */
KOLK_API_ kolk_status kolk_pool_init_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                          size_t type_align, size_t pool_size, uint32_t abi);

KOLK_NAMED_(kolk_pool_desc_named_, kolk_pool_desc)

/* The same for a descriptor without options (kolk_pool_has_options_): `plain` if it also has LIFO. The other one is for
 * FIFO and LOWEST, and only devices have it. */
KOLK_API_ kolk_status kolk_pool_init_plain_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                                size_t type_align, size_t pool_size, uint32_t abi);
#if !KOLK_HOSTED
kolk_status kolk_pool_init_listed_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                       size_t pool_size, uint32_t abi);
#endif

/* If the compiler sees the descriptor's initialiser, it computes the result itself, and the linker drops the code that
 * the program does not need. */
KOLK_FOLDED_INLINE_ bool kolk_pool_has_options_(const kolk_pool_desc *desc) {
    bool grows = desc->max_capacity && !desc->memory, counts = KOLK_HOSTED && desc->budget;
    const kolk_pool_full *full = &desc->full;
    bool asks = full->on_full || full->cost || full->on_low || full->overflow || full->headroom || full->ranked;
    bool lives_on = desc->life.setup || desc->life.reset || desc->life.teardown;
    return desc->ages || desc->pins || grows || counts || asks || lives_on;
}

KOLK_FOLDED_INLINE_ kolk_status kolk_pool_init_typed_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                                      size_t type_align) {
    if (desc && !kolk_pool_has_options_(desc)) {
        if (desc->reuse == KOLK_REUSE_LIFO)
            return kolk_pool_init_plain_abi_(pool, desc, type_size, type_align, sizeof *pool, KOLK_POOL_ABI_);
#if !KOLK_HOSTED
        if (desc->reuse == KOLK_REUSE_FIFO || desc->reuse == KOLK_REUSE_LOWEST)
            return kolk_pool_init_listed_abi_(pool, desc, type_size, type_align, sizeof *pool, KOLK_POOL_ABI_);
#endif
    }
    return kolk_pool_init_abi_(pool, desc, type_size, type_align, sizeof *pool, KOLK_POOL_ABI_);
}

KOLK_FOLDED_INLINE_ kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc) {
    return kolk_pool_init_typed_(pool, desc, 0, 0);
}

KOLK_API_ kolk_status kolk_pool_rebind_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                            size_t type_align, size_t pool_size, uint32_t abi);

KOLK_FOLDED_INLINE_ kolk_status kolk_pool_rebind(kolk_pool *pool, const kolk_pool_desc *desc) {
    return kolk_pool_rebind_abi_(pool, desc, 0, 0, sizeof *pool, KOLK_POOL_ABI_);
}

/* The slow paths that pool.inl calls. */
KOLK_API_ void *kolk_pool_alloc_slow_(kolk_pool *pool);
KOLK_API_ void kolk_pool_free_slow_(kolk_pool *pool, void *object);
KOLK_API_ void *kolk_pool_renew_slow_(kolk_pool *pool, void *object);
KOLK_API_ void *kolk_pool_get_slow_(const kolk_pool *pool, kolk_handle handle);
KOLK_API_ kolk_handle kolk_pool_handle_slow_(const kolk_pool *pool, const void *object);
KOLK_API_ bool kolk_pool_is_live_slow_(const kolk_pool *pool, const void *object);
KOLK_API_ uint32_t kolk_pool_index_slow_(const kolk_pool *pool, const void *object);
KOLK_API_ void *kolk_pool_at_slow_(const kolk_pool *pool, uint32_t index);
KOLK_API_ void *kolk_age_cursor_next_slow_(kolk_age_cursor *cursor);

/* For kolk.hpp. Returns the pool that has this live object: this one, or one of its overflow pools; NULL: none. */
KOLK_API_ kolk_pool *kolk_pool_holder_(const kolk_pool *pool, const void *object);

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "pool.inl"
#else /* the functions of pool.inl that typed.h calls */
#define kolk_pool_alloc_in_(pool, slots, states, stride)             kolk_pool_alloc(pool)
#define kolk_pool_free_in_(pool, slots, states, object, stride)      kolk_pool_free(pool, object)
#define kolk_pool_get_in_(pool, slots, states, high, handle, stride) kolk_pool_get(pool, handle)
#define kolk_pool_alloc_sized_(pool, stride)                         kolk_pool_alloc(pool)
#define kolk_pool_free_sized_(pool, object, stride)                  kolk_pool_free(pool, object)
#define kolk_pool_renew_sized_(pool, object, stride)                 kolk_pool_renew(pool, object)
#define kolk_pool_get_sized_(pool, handle, stride)                   kolk_pool_get(pool, handle)
#define kolk_pool_slot_sized_(pool, object, stride)                  0 /* these three for kolk.hpp */
#define kolk_pool_end_slot_(pool, states, object, slot, bound)                                                         \
    ((void)(slot), (void)(bound), kolk_pool_free(pool, object), false)
#define kolk_pool_push_slot_(pool, slot) (void)(slot)
#endif
#endif
