/* kolk/bytemap.h: the object pool of the GTA trilogy (III, Vice City, San Andreas), bit for bit: the same handles, in
 * the same slots, in the same order, under the names of the modding documentation; over memory of its own, over yours,
 * or attached to the arrays of a game.
 *
 *     #include <kolk/kolk.h>
 *     #include <stdio.h>
 *
 *     struct ped { float health; };
 *     KOLK_BYTEMAP_TYPE(peds, struct ped)
 *
 *     int main(void) {
 *         static peds pool;                                           // all zero
 *         if (peds_initialise(&pool, 140) != KOLK_OK) return 1;
 *         struct ped *ped = peds_new(&pool);
 *         if (!ped) return 1;                                         // all 140 are about
 *         int32_t handle = peds_get_index(&pool, ped);                // 1: slot 0, seed 1
 *         peds_delete(&pool, ped);
 *         printf("%s\n", peds_get_at(&pool, handle) ? "still there" : "gone");    // gone
 *         peds_flush(&pool);
 *     }
 *
 * (peds_... come from typed.h: the same functions as below, with your type for void *. For pools of your own kolk_pool
 * is the better one: no scans, and handles that repeat after 2^32 - 1 lives of a slot instead of 128.)
 *
 * Cost      get_slot, get_at, get_just_index, get_index and delete are O(1). new looks at each slot once at most, eight
 *           at a time; usually at one. new_at, clear, is_valid, and initialise (except for its memory, which is the
 *           system's fresh pages), are O(count). used_count and free_count are O(1); O(count) of an attached pool,
 *           eight slots a step.
 * Memory    pages of the system (not in freestanding builds: KOLK_NO_MEMORY), or your arrays. A slot costs object_size,
 *           unrounded, and 1 byte. An attached pool's memory is never freed, and never written without .writable.
 * Contents  new gives what the last life left, or what memory held: initialise all of it. delete leaves the object as
 *           it is. Nothing is stored in a slot.
 * Threads   one at a time; any number may call the functions that take a const pool while no other function is called.
 * An attached pool's arrays may not change during a call: call it where the game's own scripts run.
 * Design    the essay in src/bytemap/bytemap.c; docs/texts.md lists each difference from the documentation and the
 *           games.
 */
#ifndef KOLK_BYTEMAP_H
#define KOLK_BYTEMAP_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* byte_map has a byte for each slot: this flag, and the seed below it. A used slot's byte is its seed. */
#define KOLK_BYTEMAP_FREE 0x80u

/* A handle is (index << 8) | byte, so an int32_t has room for 2^23 slots. The first handle of slot 0 is 1; after 128
 * lives of that slot, 0 is a valid handle too, so the null handle is -1, which no slot ever has. */
enum { KOLK_BYTEMAP_NULL = -1, KOLK_BYTEMAP_MAX_COUNT = 1 << 23 };

/* What New(handle) makes of the slot's seed. */
typedef enum kolk_bytemap_seeds {
    KOLK_BYTEMAP_SEED_ADVANCE = 0, /* seed + 1, as in New: the documentation */
    KOLK_BYTEMAP_SEED_OF_HANDLE    /* the handle's, so that the same handle is valid again: the games */
} kolk_bytemap_seeds;

/* ---- Descriptor: the arrays of a pool. Zero means default for all but object_size -------------------------------- */

typedef struct kolk_bytemap_view {
    const char *name;   /* for sentences and statistics; outlives the pool */
    void *object_list;  /* both arrays, or neither: then initialise_with makes them */
    uint8_t *byte_map;  /* count bytes */
    size_t object_size; /* bytes from slot to slot, from 1; in the games, of the widest derived type */
    int32_t count;      /* slots: 0 to KOLK_BYTEMAP_MAX_COUNT */
    kolk_bytemap_seeds seeds;

    /* The rest is for attach only. */
    int32_t first_free; /* where the cursor starts */
    int32_t *cursor;    /* the owner's own first_free, to go on with: takes the place of the one above; may be NULL */
    bool writable;      /* new, new_at, delete and clear may write byte_map and *cursor */
} kolk_bytemap_view;

/* ---- Struct: read any field, write none but seeds ---------------------------------------------------------------- */

/* All zero is a valid pool of 0 slots. Never copy or move it once initialised. */
typedef struct kolk_bytemap {
    unsigned char *object_list;
    uint8_t *byte_map;
    int32_t count;      /* slots; how many are used: kolk_bytemap_used_count */
    int32_t first_free; /* the cursor: new begins behind it; -1 to count - 1; elsewhere if there is a cursor below */
    int32_t used, peak; /* used slots now, and most at a time; not of attached pools */
    uint32_t bound;     /* count, or 0 if it is attached */
    kolk_bytemap_seeds seeds; /* yours to change */
    size_t object_size;
    uintptr_t inverse;      /* of odd, modulo the word */
    uint8_t shift;          /* object_size = odd << shift */
    bool initialized_state; /* from initialise or attach until flush */
    bool attached, read_only;
    uint32_t number; /* in the registry; 0: it is not there */
    /* new, delete and get_at read no more than this: 64 bytes */
    int32_t *cursor; /* attached: the owner's first_free, or NULL */
    uint64_t failed; /* new gave NULL */
    void *block;     /* own memory: both arrays */
    size_t block_size;
    const struct kolk_bytemap *self; /* where it was initialised */
    const char *name;
} kolk_bytemap;

/* ---- Life of a pool: the struct is all zero, or flushed, before the first of these ------------------------------- */

/* Initialise: all slots free, all seeds 0, first_free -1. KOLK_NOT_FLUSHED if it is initialised already, and the pool
 * stays as it is (the games lose the first arrays); any other status but KOLK_OK leaves it all zero. */
static inline kolk_status kolk_bytemap_initialise(kolk_bytemap *pool, int32_t count, size_t object_size);

/* The same with a name, seeds, or arrays of yours, which flush does not free. */
static inline kolk_status kolk_bytemap_initialise_with(kolk_bytemap *pool, const kolk_bytemap_view *view);

/* A pool over somebody else's arrays as they are; both must be given, unless count is 0. Without .writable, new,
 * new_at, delete and clear are bugs of the caller (KOLK_READ_ONLY) and change nothing. Flush it before its arrays go;
 * if they went before, statistics leave it out. In the game's own process, the game's struct has all that is needed
 * (where it is, and the size of its widest object, you know):
 *
 *     struct CPool { void *objects; uint8_t *bytes; int32_t count, first_free; };   // San Andreas: two flags behind
 *     struct CPool *game = *(struct CPool **)address_of_the_pointer;
 *     kolk_bytemap_attach(&pool, &(kolk_bytemap_view){.object_list = game->objects, .byte_map = game->bytes,
 *         .object_size = size, .count = game->count, .cursor = &game->first_free}); */
static inline kolk_status kolk_bytemap_attach(kolk_bytemap *pool, const kolk_bytemap_view *view);

/* Clear: all slots free, all seeds 0; so old handles come back to life sooner. first_free stays. */
KOLK_API void kolk_bytemap_clear(kolk_bytemap *pool);

/* Flush: frees the arrays if they are its own; then all fields are 0, initialized_state too. Again: nothing. */
KOLK_API void kolk_bytemap_flush(kolk_bytemap *pool);

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* New: looks at the slots behind first_free, then at those from 0 up to it. The first free one becomes first_free, its
 * seed is seed + 1 modulo 128. NULL if there is none, and first_free is -1. So a slot that was deleted just now is not
 * used before the cursor has come round. */
KOLK_INLINE void *kolk_bytemap_new(kolk_bytemap *pool);

/* New(handle), for loading: the object in the handle's slot, with a seed as pool->seeds says. first_free is then the
 * first free slot from 0, or -1 if that was the last one (as new leaves it in a full pool). NULL if the slot is in use
 * or there is none. */
KOLK_API void *kolk_bytemap_new_at(kolk_bytemap *pool, int32_t handle);

/* Delete: the slot is free and keeps its seed; first_free moves down to it, never up. NULL does nothing. A bug of the
 * caller otherwise: a pointer that is not of this pool or not the start of a slot, or whose slot is free already. */
KOLK_INLINE void kolk_bytemap_delete(kolk_bytemap *pool, void *object);

/* ---- Handles and indices ----------------------------------------------------------------------------------------- */

/* GetSlot: the object in a used slot, else NULL; any index may be asked about. */
KOLK_INLINE void *kolk_bytemap_get_slot(const kolk_bytemap *pool, int32_t index);

/* GetAt: the object of a handle, or NULL if its slot is free, has another seed, or does not exist. A handle does not
 * tell its pool: another one's may well be valid here. It can be somebody else's object after 128 lives of the slot, or
 * a clear.
 *
 * Why it is NULL: the slot is handle >> 8. If that is negative or from count on, there is no such slot; if get_slot
 * gives NULL for it, the object was deleted; else another object is there, whose seed is byte_map[slot]. */
KOLK_INLINE void *kolk_bytemap_get_at(const kolk_bytemap *pool, int32_t handle);

/* GetJustIndex, GetIndex: the index, or the handle, of any slot by the start of its object, in use or free. The handle
 * of a free slot has the free flag in it, and get_at gives NULL for it. Anything else is a bug of the caller and gives
 * -1. */
KOLK_API int32_t kolk_bytemap_get_just_index(const kolk_bytemap *pool, const void *object);
KOLK_API int32_t kolk_bytemap_get_index(const kolk_bytemap *pool, const void *object);

/* TraversePoolEntities: the object of a handle in whichever of n pools has it. *which in: the first of them to look at,
 * out: the one found, or n. As several pools may know one handle, all of its objects are found by
 *     for (size_t which = 0; (object = kolk_bytemap_find(pools, n, handle, &which)) != NULL; which++) ...
 */
KOLK_API void *kolk_bytemap_find(const kolk_bytemap *const *pools, size_t n, int32_t handle, size_t *which);

/* ---- Questions --------------------------------------------------------------------------------------------------- */

KOLK_API int32_t kolk_bytemap_used_count(const kolk_bytemap *pool);
KOLK_API int32_t kolk_bytemap_free_count(const kolk_bytemap *pool);

/* All counters, as of the family; peak of an attached pool is what is used now. Cost of used_count. */
KOLK_API void kolk_bytemap_stats(const kolk_bytemap *pool, kolk_stats *out);

/* Checks every invariant of src/bytemap/bytemap.c, for tests. Of an attached pool: is its cursor from -1 to
 * count - 1? */
KOLK_API bool kolk_bytemap_is_valid(const kolk_bytemap *pool);

/* ---- Walking: used slots in ascending order. Any may be deleted; what is new may or may not be visited */

/* The next object behind this one (which may have been deleted since); NULL starts, NULL ends. A pointer that is not
 * the start of a slot is a bug of the caller and gives NULL. */
KOLK_API void *kolk_bytemap_next(const kolk_bytemap *pool, const void *object);

/* The handle of the next used slot behind this handle's slot; -1 starts, -1 ends. */
KOLK_API int32_t kolk_bytemap_next_handle(const kolk_bytemap *pool, int32_t handle);

/* ---- Two moments: what was born, what died? ---------------------------------------------------------------------- */

/* A moment is a copy of byte_map:
 *
 *     memcpy(before, pool.byte_map, (size_t)pool.count);
 *     ...
 *     kolk_bytemap_difference difference = {0};
 *     while (kolk_bytemap_compare(before, pool.byte_map, pool.count, &difference)) ...
 */
typedef enum kolk_bytemap_change {
    KOLK_BYTEMAP_BORN = 1, /* the slot was free */
    KOLK_BYTEMAP_DIED,     /* it is now */
    KOLK_BYTEMAP_REPLACED  /* another object is in it */
} kolk_bytemap_change;

typedef struct kolk_bytemap_difference {
    int32_t next; /* slot to go on with: 0 at first */
    int32_t index;
    kolk_bytemap_change change;
    int32_t before, after; /* handles, or -1 where the slot is free */
} kolk_bytemap_difference;

/* The next slot that differs, in ascending order; false when there is no more. Not seen: an object that came and went
 * in between, and one in place of another with the same handle (128 lives later, or after a clear). */
KOLK_API bool kolk_bytemap_compare(const uint8_t *before, const uint8_t *after, int32_t count,
                                   kolk_bytemap_difference *difference);

/* ---- Out of a dump: the memory of a 32-bit game as regions of bytes, wherever this program runs ------------------ */

typedef struct kolk_bytemap_region {
    uint32_t address;  /* in the game, of the first byte */
    const void *bytes; /* here */
    size_t size;
} kolk_bytemap_region;

typedef enum kolk_bytemap_layout {
    KOLK_BYTEMAP_III = 0, /* object_list at 0, byte_map at 4, count at 8, first_free at 0xC; 0x10 bytes */
    KOLK_BYTEMAP_VICE_CITY,
    KOLK_BYTEMAP_SAN_ANDREAS /* and owns-its-memory at 0x10, a flag at 0x11; 0x14 bytes */
} kolk_bytemap_layout;

/* The 32-bit number at an address: the pointer to a pool, where a game keeps one. KOLK_OUTSIDE if no region has it. */
KOLK_API kolk_status kolk_bytemap_follow(const kolk_bytemap_region *regions, size_t n, uint32_t address, uint32_t *out);

/* Makes a view for attach of the pool whose struct is at this address; its arrays are in the regions' own bytes. The
 * game does not store object_size, so you tell it: of the game's widest type. KOLK_OUTSIDE: the struct or an array is
 * not wholly in one region; KOLK_BAD_COUNT: there is no pool. *out is unchanged then. Nothing else that is there is
 * believed: first_free may be any number, which new survives and is_valid reports. */
KOLK_API kolk_status kolk_bytemap_read(const kolk_bytemap_region *regions, size_t n, uint32_t address,
                                       kolk_bytemap_layout layout, size_t object_size, kolk_bytemap_view *out);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* type_size and type_align are 0, or of the type of a typed pool, whose object_size may be larger. */
KOLK_API kolk_status kolk_bytemap_begin(kolk_bytemap *pool, const kolk_bytemap_view *view, bool attach,
                                        size_t type_size, size_t type_align, size_t pool_size, uint32_t abi);

/* The ways out of the fast paths of bytemap.inl. */
KOLK_API void *kolk_bytemap_new_slow(kolk_bytemap *pool);
KOLK_API void kolk_bytemap_delete_slow(kolk_bytemap *pool, void *object);

KOLK_BODIES_BEGIN_

/* For typed pools: the descriptor, or, if it has no name, a copy that has the type's. */
static inline const kolk_bytemap_view *kolk_bytemap_view_named(const kolk_bytemap_view *desc, const char *name,
                                                               kolk_bytemap_view *named) {
    if (!desc || desc->name) return desc;
    *named = *desc;
    named->name = name;
    return named;
}

static inline kolk_status kolk_bytemap_initialise_type(kolk_bytemap *pool, int32_t count, size_t object_size,
                                                       const char *name) {
    kolk_bytemap_view view = {name, NULL, NULL, object_size, count, KOLK_BYTEMAP_SEED_ADVANCE, 0, NULL, false};
    return kolk_bytemap_begin(pool, &view, false, 0, 0, sizeof *pool, KOLK_ABI);
}

static inline kolk_status kolk_bytemap_initialise(kolk_bytemap *pool, int32_t count, size_t object_size) {
    return kolk_bytemap_initialise_type(pool, count, object_size, NULL);
}

static inline kolk_status kolk_bytemap_initialise_with(kolk_bytemap *pool, const kolk_bytemap_view *view) {
    return kolk_bytemap_begin(pool, view, false, 0, 0, sizeof *pool, KOLK_ABI);
}

static inline kolk_status kolk_bytemap_attach(kolk_bytemap *pool, const kolk_bytemap_view *view) {
    return kolk_bytemap_begin(pool, view, true, 0, 0, sizeof *pool, KOLK_ABI);
}

KOLK_BODIES_END_

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "bytemap.inl"
#endif
#endif
