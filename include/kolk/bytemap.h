/* SPDX-License-Identifier: Zlib */
/* kolk/bytemap.h: the object pool of the GTA trilogy (III, Vice City, San Andreas), bit for bit: the same handles, in
 * the same slots, in the same order, with the names of the modding documentation. It uses its own memory or yours, or
 * is attached to the arrays of a game.
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
 * (peds_... come from typed.h: the same functions as below, with your type for void *. For a new program kolk_pool is
 * better: it does not scan, and its handles repeat after 2^32 - 1 lives of a slot instead of 128.)
 *
 * Cost      get_slot, get_at, get_just_index, get_index, set_byte and `delete` are O(1). `new` usually looks at one
 *           slot, and at worst at each once, eight at a time. new_at, `clear`, is_valid and `initialise` are O(count);
 *           `initialise` on fresh pages of the system does not touch the objects. used_count and free_count are O(1),
 *           but O(count) for an attached pool, eight slots per step.
 * Memory    pages of the system (freestanding builds return KOLK_NO_MEMORY), or your arrays. A slot costs object_size,
 *           not rounded up, plus 1 byte. An attached pool's memory is never freed, and is written to only with
 *           .writable.
 * Contents  a new object has the bytes of the slot's last life, or those that the memory had before: initialise all of
 *           it. `delete` does not change the object, except in debug mode. The pool stores no data in a slot.
 * Threads   one thread at a time. But any number of threads may call functions that take a const pool while no other
 *           function runs.
 * An attached pool's arrays must not change during a call, so call kolk where the game's own scripts run.
 * Design    the essay in src/bytemap/bytemap.c; docs/texts.md lists each difference from the documentation and the
 *           games.
 */
#ifndef KOLK_BYTEMAP_H
#define KOLK_BYTEMAP_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* byte_map has one byte per slot: this flag, and the seed in the lower 7 bits. A used slot's byte is its seed. */
#define KOLK_BYTEMAP_FREE 0x80u

/* A handle is (index << 8) | byte, so an int32_t has room for 2^23 slots. The first handle of slot 0 is 1; after 128
 * lives of that slot, 0 is a valid handle too, so the null handle is -1, which no slot ever has. */
enum { KOLK_BYTEMAP_NULL = -1, KOLK_BYTEMAP_MAX_COUNT = 1 << 23 };

/* The slot's seed after `New(handle)`. */
typedef enum kolk_bytemap_seeds {
    KOLK_BYTEMAP_SEED_ADVANCE = 0, /* seed + 1, as in `New`; the documentation states this */
    KOLK_BYTEMAP_SEED_OF_HANDLE    /* the handle's seed, so that the handle is valid again; the games do this */
} kolk_bytemap_seeds;

/* How a game's struct of a pool begins: the offsets of object_list, byte_map, count, and first_free or object_size.
 * IV and later games have the same bytes and handles, but chain the free slots through the objects: do not write to
 * their pools. */
typedef enum kolk_bytemap_layout {
    KOLK_BYTEMAP_III = 0,            /* 0, 4, 8, first_free 0xC; 0x10 bytes */
    KOLK_BYTEMAP_VICE_CITY,          /* the same */
    KOLK_BYTEMAP_SAN_ANDREAS,        /* also the flag owns-its-memory at 0x10 and another at 0x11; 0x14 bytes */
    KOLK_BYTEMAP_SAN_ANDREAS_UNREAL, /* 64 bits: 0, 8, 0x10, first_free 0x14; 0x20 bytes */
    KOLK_BYTEMAP_IV,                 /* 0, 4, 8, object_size 0xC; 0x1C bytes */
    KOLK_BYTEMAP_V,                  /* 64 bits: 0, 8, 0x10, object_size 0x14; 0x28 bytes */
    KOLK_BYTEMAP_RDR3                /* also V Enhanced; 64 bits: 8, 0x10, 0x18, object_size 0x1C; 0x30 bytes */
} kolk_bytemap_layout;

/* ---- Descriptor: the arrays of a pool. Zero means default for all but object_size -------------------------------- */

typedef struct kolk_bytemap_view {
    const char *name KOLK_OR_0_;   /* for reports and statistics; copied */
    void *object_list KOLK_OR_0_;  /* give both arrays, or neither: then initialise_with allocates them */
    uint8_t *byte_map KOLK_OR_0_;  /* count bytes */
    size_t object_size KOLK_OR_0_; /* bytes from slot to slot, from 1; in the games, the size of the widest derived
                                   * type */
    int32_t count KOLK_OR_0_;      /* slots: 0 to KOLK_BYTEMAP_MAX_COUNT */
    int32_t max_count KOLK_OR_0_;  /* what reserve may raise count to, if the pool allocates its arrays; 0: count */
    kolk_bytemap_seeds seeds KOLK_OR_0_;
    /* settings of the debug mode, such as "fill,sites" (base.h); NULL: none, unless KOLK_DEBUG in the environment sets
     * some. A read-only pool has none */
    const char *debug KOLK_OR_0_;

    /* The rest is for attach only. */
    int32_t first_free KOLK_OR_0_; /* where the cursor starts */
    /* the owner's own first_free, which the pool then uses instead of the one above; may be NULL */
    int32_t *cursor KOLK_OR_0_;
    bool writable KOLK_OR_0_; /* `new`, new_at, `delete`, set_byte and `clear` may write byte_map and *cursor */
} kolk_bytemap_view;

/* ---- Struct: read any field, write none but seeds, first_free and trap_full -------------------------------------- */

/* A zero-initialised pool is valid and has 0 slots. Never copy or move a pool once it is initialised. */
typedef struct kolk_bytemap {
    unsigned char *object_list;
    uint8_t *byte_map;
    int32_t count;      /* slots; for the used ones, call kolk_bytemap_used_count */
    int32_t first_free; /* the cursor, -1 to count - 1: `new` begins after it; yours to change; unused with `cursor` */
    int32_t used, peak; /* used slots now, and the most at a time; not for attached pools */
    uint32_t bound;     /* count, or 0 if it is attached or in debug mode */
    kolk_bytemap_seeds seeds; /* yours to change */
    size_t object_size;
    uintptr_t inverse;      /* inverse of odd, modulo the word */
    uint8_t shift;          /* object_size = odd << shift */
    bool initialized_state; /* true from initialise or attach until flush */
    bool attached;
    bool careful;    /* it is read-only, or in debug mode */
    uint32_t number; /* number in the registry; 0: not registered */
    /* `new`, `delete` and get_at read only the fields above: 64 bytes */
    int32_t *cursor; /* attached: the owner's first_free, or NULL */
    uint64_t failed; /* how often `new` returned NULL */
    void *block;     /* the pool's own memory: both arrays, unless they were given, and `known` */
    size_t block_size;
    struct kolk_debug *debug;        /* NULL if it is off */
    uint8_t *known;                  /* in debug mode: byte_map as kolk has last written it */
    const struct kolk_bytemap *self; /* where it was initialised */
    const char *name;
    int32_t max_count;
    bool trap_full; /* yours to change: a `new` that finds no free slot is reported (KOLK_FULL), with sites also the
                     * places that hold the pool (kolk_failure.holders) */
    bool read_only;
    uint8_t debug_flags;
} kolk_bytemap;

/* ---- Life of a pool: before the first of these calls, the struct must be all zero or flushed --------------------- */

/* Initialise: afterwards all slots are free, all seeds are 0, and first_free is -1. KOLK_NOT_FLUSHED: the pool is
 * already initialised, and stays as it is (the games would leak the first arrays). Any other status but KOLK_OK leaves
 * the pool all zero. */
KOLK_FOLDED_INLINE_ kolk_status kolk_bytemap_initialise(kolk_bytemap *pool, int32_t count, size_t object_size);

/* The same with a name, seeds, or your own arrays, which flush does not free. */
KOLK_FOLDED_INLINE_ kolk_status kolk_bytemap_initialise_with(kolk_bytemap *pool, const kolk_bytemap_view *view);

/* Makes a pool from arrays of another owner, and leaves the arrays as they are. Both arrays must be given, unless count
 * is 0. Without `.writable`, a call of `new`, new_at, `delete`, set_byte or `clear` is a bug of the caller
 * (KOLK_READ_ONLY) and changes nothing. Flush the pool before its arrays are freed; if they are already gone,
 * statistics leave the pool out. In the game's own process, you need only know the address of the game's struct and
 * the size of its widest object:
 *
 *     struct CPool { void *objects; uint8_t *bytes; int32_t count, first_free; };   // San Andreas: two flags behind
 *     struct CPool *game = *(struct CPool **)address_of_the_pointer;
 *     kolk_bytemap_attach(&pool, &(kolk_bytemap_view){.object_list = game->objects, .byte_map = game->bytes,
 *         .object_size = size, .count = game->count, .cursor = &game->first_free}); */
KOLK_FOLDED_INLINE_ kolk_status kolk_bytemap_attach(kolk_bytemap *pool, const kolk_bytemap_view *view);

/* Raises count, and leaves everything else as it is: objects, handles and the cursor stay, so a game's limit can be
 * raised while the game runs. init has reserved the addresses of max_count slots; their memory comes only now. O(new
 * slots). After KOLK_ABOVE_MAX (of max_count) or KOLK_NO_MEMORY nothing has changed. */
KOLK_USES_(1) kolk_status kolk_bytemap_reserve(kolk_bytemap *pool, int32_t count);

/* Gives the pool to a game in this process, as a limit adjuster does: writes its arrays, count and cursor to the game's
 * struct, without owns-its-memory. From then on the game's code may use the pool as well, and it counts as attached,
 * with the game's first_free as its cursor. The struct's own arrays must have no objects, because theirs would be lost.
 * Call export again after each reserve, and after flush: then it writes a pool of no slots, from which the game's own
 * Flush frees nothing. KOLK_BAD_LAYOUT: this process has other pointers, or the layout is IV's or later; nothing has
 * changed.
 *
 *     kolk_bytemap_initialise_with(&pool, &(kolk_bytemap_view){.object_size = size, .count = 140, .max_count = 5000});
 *     kolk_bytemap_export(&pool, KOLK_BYTEMAP_SAN_ANDREAS, game);
 *     ...
 *     if (kolk_bytemap_reserve(&pool, 300) == KOLK_OK) kolk_bytemap_export(&pool, KOLK_BYTEMAP_SAN_ANDREAS, game); */
KOLK_USES_(1) kolk_status kolk_bytemap_export(kolk_bytemap *pool, kolk_bytemap_layout layout, void *game);

/* Clear: all slots become free, and all seeds 0, so old handles become valid again sooner. first_free does not
 * change. */
KOLK_USES_(1) void kolk_bytemap_clear(kolk_bytemap *pool);

/* Flush: frees the arrays if they are the pool's own, and sets all fields to 0, including initialized_state. A second
 * flush does nothing. With the debug setting `sites`, first reports the objects that were made here and are still
 * alive; those in a game's pool live on. */
KOLK_USES_(1) void kolk_bytemap_flush(kolk_bytemap *pool);

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* New: looks at the slots after first_free, then at the slots from 0 up to it. The first free slot becomes first_free,
 * and its seed becomes seed + 1 modulo 128. If no slot is free, returns NULL and sets first_free to -1. So a slot that
 * was just deleted is not used again before the cursor has gone round. */
KOLK_INLINE_USES_(1) void *kolk_bytemap_new(kolk_bytemap *pool);

/* New(handle), for loading: returns the object in the handle's slot, with the seed that pool->seeds selects. first_free
 * is then the lowest free slot, or -1 if none is left (as after `new` in a full pool). Returns NULL if the slot is in
 * use or does not exist. */
KOLK_USES_(1) void *kolk_bytemap_new_at(kolk_bytemap *pool, int32_t handle);

/* Delete: the slot becomes free and keeps its seed; first_free moves down to it, but never up. NULL does nothing. Any
 * other pointer is a bug of the caller: it is not from this pool, is not the start of a slot, or its slot is already
 * free. */
KOLK_INLINE_USES_(1) void kolk_bytemap_delete(kolk_bytemap *pool, void *object);

/* SetFreeAt and SetIdAt in one, to bring a saved pool back: sets the byte of a slot, with flag and seed. The object and
 * first_free do not change, except that the debug setting `fill` fills an object that this frees. Returns false, and
 * changes nothing, if there is no such slot. */
KOLK_USES_(1) bool kolk_bytemap_set_byte(kolk_bytemap *pool, int32_t index, uint8_t byte);

/* ---- Handles and indices ----------------------------------------------------------------------------------------- */

/* GetSlot: returns the object in a used slot, otherwise NULL. Any index is allowed. */
KOLK_INLINE_ void *kolk_bytemap_get_slot(const kolk_bytemap *pool, int32_t index);

/* GetAt: returns the object of a handle, or NULL if its slot is free, has another seed, or does not exist. A handle
 * does not identify its pool: another pool's handle may be valid here too. After 128 lives of the slot, or a clear, the
 * handle can find another object.
 *
 * To find out why the result is NULL: the slot is handle >> 8. If that is negative or at least count, there is no such
 * slot. If get_slot returns NULL for it, the object was deleted. Otherwise the slot has another object, whose seed is
 * byte_map[slot]. */
KOLK_INLINE_ void *kolk_bytemap_get_at(const kolk_bytemap *pool, int32_t handle);

/* GetJustIndex and GetIndex: return the index, or the handle, of the slot that begins at `object`, whether used or
 * free. The handle of a free slot contains the free flag, and get_at returns NULL for it. Any other pointer is a bug of
 * the caller; the result is then -1. */
KOLK_API_ int32_t kolk_bytemap_get_just_index(const kolk_bytemap *pool, const void *object);
KOLK_API_ int32_t kolk_bytemap_get_index(const kolk_bytemap *pool, const void *object);

/* TraversePoolEntities: returns the object of a handle in the first of n pools for which it is valid. On entry, *which
 * is the index of the pool to begin with; on return, it is that of the object's pool, or n. A handle may be valid in
 * several pools. This loop finds all of its objects:
 *     for (size_t which = 0; (object = kolk_bytemap_find(pools, n, handle, &which)) != NULL; which++) ...
 */
KOLK_API_ void *kolk_bytemap_find(const kolk_bytemap *const *pools, size_t n, int32_t handle, size_t *which);

/* ---- Questions --------------------------------------------------------------------------------------------------- */

KOLK_API_ int32_t kolk_bytemap_used_count(const kolk_bytemap *pool);
KOLK_API_ int32_t kolk_bytemap_free_count(const kolk_bytemap *pool);

/* All counters, as for the other members. The peak of an attached pool is its present count. Costs the same as
 * used_count. */
KOLK_API_ void kolk_bytemap_stats(const kolk_bytemap *pool, kolk_stats *out);

/* Checks every invariant of src/bytemap/bytemap.c, for tests. In an attached pool, it checks the owner's cursor too: it
 * must be from -1 to count - 1. */
KOLK_API_ bool kolk_bytemap_is_valid(const kolk_bytemap *pool);

/* ---- Walking: used slots in ascending order. Any may be deleted meanwhile; new ones may or may not be visited ---- */

/* Returns the next object after this one, which may have been deleted since. NULL begins the walk, and NULL ends it. A
 * pointer that is not the start of a slot is a bug of the caller; the result is then NULL. */
KOLK_API_ void *kolk_bytemap_next(const kolk_bytemap *pool, const void *object);

/* Returns the handle of the next used slot after this handle's slot. -1 begins the walk, and -1 ends it. */
KOLK_API_ int32_t kolk_bytemap_next_handle(const kolk_bytemap *pool, int32_t handle);

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
    KOLK_BYTEMAP_DIED,     /* the slot is free now */
    KOLK_BYTEMAP_REPLACED  /* another object is in it */
} kolk_bytemap_change;

typedef struct kolk_bytemap_difference {
    int32_t next; /* slot to continue with; 0 at first */
    int32_t index;
    kolk_bytemap_change change;
    int32_t before, after; /* handles, or -1 where the slot is free */
} kolk_bytemap_difference;

/* Finds the next slot that differs, in ascending order; false if there is none. It does not notice an object that was
 * born and died in between, or one that replaced another under the same handle (128 lives later, or after a clear). */
KOLK_API_ bool kolk_bytemap_compare(const uint8_t *before, const uint8_t *after, int32_t count,
                                    kolk_bytemap_difference *difference);

/* ---- Reading a dump: a game's memory as regions of bytes, wherever this program runs ----------------------------- */

typedef struct kolk_bytemap_region {
    uint64_t address;  /* the first byte's address in the game */
    const void *bytes; /* the bytes in this program */
    size_t size;
} kolk_bytemap_region;

/* Reads the pointer at an address, such as a game's pointer to a pool, with the game's 32 or 64 bits. KOLK_OUTSIDE: no
 * region contains it. */
KOLK_API_ kolk_status kolk_bytemap_follow(const kolk_bytemap_region *regions, size_t n, uint64_t address,
                                          kolk_bytemap_layout layout, uint64_t *out);

/* Makes a view of the pool whose struct is at this address, for attach. Its arrays lie in the regions' own bytes.
 * object_size is the size of the game's widest type, which games before IV do not store; for the others it is ignored,
 * and first_free becomes -1. KOLK_OUTSIDE: the struct or an array is not wholly in one region. KOLK_BAD_COUNT: there is
 * no pool. After any status but KOLK_OK *out is unchanged. The game's other data is not trusted: first_free may be any
 * number. A wrong one does not harm `new`, and is_valid reports it. */
KOLK_API_ kolk_status kolk_bytemap_read(const kolk_bytemap_region *regions, size_t n, uint64_t address,
                                        kolk_bytemap_layout layout, size_t object_size, kolk_bytemap_view *out);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* `type_size` and `type_align` are the size and alignment of a typed pool's type, or 0 if the pool is not typed.
 * object_size may be larger than the type. */
KOLK_API_ kolk_status kolk_bytemap_init_abi_(kolk_bytemap *pool, const kolk_bytemap_view *view, bool attach,
                                             size_t type_size, size_t type_align, size_t pool_size, uint32_t abi);

/* The slow paths that bytemap.inl calls. */
KOLK_API_ void *kolk_bytemap_new_slow_(kolk_bytemap *pool);
KOLK_API_ void kolk_bytemap_delete_slow_(kolk_bytemap *pool, void *object);

KOLK_BODIES_BEGIN_

KOLK_NAMED_(kolk_bytemap_view_named_, kolk_bytemap_view)

KOLK_FOLDED_INLINE_ kolk_status kolk_bytemap_initialise_type_(kolk_bytemap *pool, int32_t count, size_t object_size,
                                                              const char *name) {
    kolk_bytemap_view view = {name, NULL, NULL, object_size, count, 0, KOLK_BYTEMAP_SEED_ADVANCE, NULL, 0, NULL, false};
    return kolk_bytemap_init_abi_(pool, &view, false, 0, 0, sizeof *pool, KOLK_ABI);
}

KOLK_FOLDED_INLINE_ kolk_status kolk_bytemap_initialise(kolk_bytemap *pool, int32_t count, size_t object_size) {
    return kolk_bytemap_initialise_type_(pool, count, object_size, NULL);
}

KOLK_FOLDED_INLINE_ kolk_status kolk_bytemap_initialise_with(kolk_bytemap *pool, const kolk_bytemap_view *view) {
    return kolk_bytemap_init_abi_(pool, view, false, 0, 0, sizeof *pool, KOLK_ABI);
}

KOLK_FOLDED_INLINE_ kolk_status kolk_bytemap_attach(kolk_bytemap *pool, const kolk_bytemap_view *view) {
    return kolk_bytemap_init_abi_(pool, view, true, 0, 0, sizeof *pool, KOLK_ABI);
}

KOLK_BODIES_END_

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "bytemap.inl"
#endif
#endif
