/* SPDX-License-Identifier: Zlib */
/* kolk/slotmap.h: objects of one type, packed at the front of an array; they move, and their handles follow.
 *
 *     #include <kolk/kolk.h>
 *     #include <stdio.h>
 *
 *     struct body { float x, dx; };
 *     KOLK_SLOTMAP_TYPE(bodies, struct body)
 *
 *     int main(void) {
 *         bodies map;
 *         if (bodies_init(&map, &(kolk_slotmap_desc){.name = "bodies", .max_capacity = 1000}) != KOLK_OK) return 1;
 *         bodies_handle first, second;
 *         struct body *body = bodies_add(&map, &first);
 *         if (!body) return 1;                                        // a thousand are there
 *         *body = (struct body){.dx = 1};
 *         body = bodies_add(&map, &second);
 *         if (!body) return 1;
 *         *body = (struct body){.dx = 2};
 *         bodies_remove(&map, first);                                 // the second moves to where the first was
 *         struct body *all = bodies_objects(&map);                    // a plain array
 *         for (uint32_t i = 0; i < bodies_count(&map); i++) all[i].x += all[i].dx;
 *         printf("%s, %g\n", bodies_get(&map, first) ? "there" : "gone", bodies_get(&map, second)->x);    // gone, 2
 *         bodies_deinit(&map);
 *     }
 *
 * (bodies_... come from typed.h: the same functions as below, with your type for void *.)
 *
 * Each object has a *slot*, the number in its handle, which it keeps for life. It also has a *place* in the array,
 * which changes: a removal moves the last object into the hole, and a sort moves many objects. A handle finds the
 * object through one table, so every copy of the handle follows every move. A pointer does not: the pointers that
 * `add`, `get`, `at` and `objects` return are valid until the next remove, settle, clear, sort or restore (`add`,
 * remove_in_place, `reserve` and `trim` move nothing). So keep handles, and call `get` where you need a pointer. The
 * debug setting `move` catches a program that keeps pointers.
 *
 * Cost      `add`, `remove`, `get`, `slot`, `handle`, `index` and `at` are O(1); a remove copies one object. An add
 *           that grows the map calls the system. `init` is O(1) and touches no place. `clear` and `trim` are O(count),
 *           `sort` is O(n log n), and is_valid, `snapshot` and `restore` are O(slots). If you need no packing,
 *           kolk_pool has stable addresses and cheaper removals.
 * Memory    the caller's memory, or pages of the system; never malloc. An object costs its stride plus 12 bytes.
 * Contents  a new object has the bytes that its place had before: initialise all of it. Objects are moved as bytes, so
 *           set on_move or `move` if an object has pointers into itself, or if others point to it. The map never stores
 *           its own data among the objects.
 * Threads   one thread at a time. But any number of threads may call functions that take a const map while no other
 *           function runs.
 * Design    the essay in src/slotmap/slotmap.c; ARCHITECTURE.md.
 */
#ifndef KOLK_SLOTMAP_H
#define KOLK_SLOTMAP_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kolk_slotmap kolk_slotmap;

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

/* Zero means the default, except for object_size. */
typedef struct kolk_slotmap_desc {
    const char *name KOLK_OR_0_; /* for reports, statistics and the default tag; copied; NULL: none */
    size_t object_size KOLK_OR_0_;
    /* A power of two up to 4096. 0: the largest one that divides object_size, at most 16. */
    size_t object_align KOLK_OR_0_;

    /* Objects. 0: with `memory`, as many as fit; with max_capacity, the map starts empty and grows; otherwise the init
     * returns KOLK_ZERO_CAPACITY. */
    uint32_t capacity KOLK_OR_0_;
    uint32_t max_capacity KOLK_OR_0_; /* the map can grow to this, without moving objects; 0: capacity */
    uint32_t tag KOLK_OR_0_; /* sets its handles apart from other maps': see kolk_slotmap_get; 0: a hash of the name */

    void *memory KOLK_OR_0_; /* yours, aligned to object_align and to 8, with any contents; NULL: the system's pages */
    size_t memory_size KOLK_OR_0_;         /* bytes of memory */
    struct kolk_budget *budget KOLK_OR_0_; /* the bytes of its slots count towards it (budget.h); NULL: none */

    /* Called after each move of an object from one place to another. It is for arrays beside the map that are indexed
     * by place (they need array[to] = array[from]), and for objects that store their own address. `object` is the new
     * address. A sort sets objects aside for a moment: `from` or `to` is max_capacity then, so give such an array
     * max_capacity + 1 elements. With the debug setting `move`, it is also called, with from == to, for each object
     * whose address has changed but not its place. */
    void (*on_move)(void *object, uint32_t from, uint32_t to, void *context) KOLK_OR_0_;

    /* The destructor: called once per object, by the removals, `clear` and `deinit`. The object is still in its place,
     * and its handle finds it. Afterwards its life ends, the last object moves into the hole, and on_move is called.
     * `clear` and `deinit` go from the last place down. The hook may remove other objects, such as children: nothing
     * moves before the outermost removal ends, so these leave holes (see kolk_slotmap_remove_in_place). To remove an
     * object whose on_remove is running returns false. The hook may also add objects; during clear and deinit, add
     * returns NULL. */
    void (*on_remove)(void *object, void *context) KOLK_OR_0_;

    /* Moves an object, instead of a copy of its bytes: makes the object at `to`, where there is none, and ends the one
     * at `from`. on_move is called after it. A sort sets one object at a time aside: `to` is NULL then, and `from` is
     * NULL when the object comes back; the hook keeps it meanwhile. */
    void (*move)(void *to, void *from, void *context) KOLK_OR_0_;
    void *context KOLK_OR_0_; /* passed to all hooks */

    /* Settings of the debug mode, such as "fill,move,sites" (base.h). NULL: none, unless KOLK_DEBUG in the environment
     * sets some. */
    const char *debug KOLK_OR_0_;
} kolk_slotmap_desc;

/* Hooks must return. Each may call the functions that take a const map; but snapshots are impossible (see
 * kolk_slotmap_snapshot_size), and is_valid may be false meanwhile. What on_remove may change is said there; the others
 * (on_move, move, `compare` of a sort, `convert` of a restore, `hash`) must not change the map. Anything else is a bug
 * of the caller (KOLK_IN_HOOK): it changes nothing, and returns NULL, false or 0; but rebind, restore and reserve only
 * return KOLK_IN_HOOK. */

/* ---- Struct: read any field, write none -------------------------------------------------------------------------- */

/* Marks a place before count that has no object, in its owner and in the owner's cell. */
#define KOLK_HOLE_ 0x80000000u

/* The record of one slot. */
typedef struct kolk_cell_ {
    uint32_t place;      /* of its object; in a free slot, count or more */
    uint32_t generation; /* of the present or next life, from 1 */
} kolk_cell_;

/* A zero-initialised map is valid and has the capacity 0. Never copy or move a map once it is initialised. */
struct kolk_slotmap {
    /* fields that `get`, `add` and `remove` read */
    unsigned char *objects;
    kolk_cell_ *cells;     /* by slot */
    uint32_t *owners;      /* by place: the slot of its object; from count up to fresh - worn, the free slots */
    uint32_t count;        /* number of objects and holes, and the first place behind them */
    uint32_t fresh;        /* slots from here on never had an object; only advances */
    uint32_t add_bound;    /* add takes the slow path from this count on */
    uint32_t remove_bound; /* remove takes the slow path from this slot on */
    uint32_t stride;       /* bytes from place to place */
    uint32_t tag;          /* XORed into the slot of a handle */

    /* the rest */
    uint32_t capacity, max_capacity;
    uint32_t counted; /* the places below it count towards the budget; a trim may have released the others */
    uint32_t object_size;
    uint32_t peak; /* UINT32_MAX: the peak is fresh; counted after a scene has begun (KOLK_STATS=sizes) */
    uint32_t worn_first, worn_last,
        worn; /* worn-out slots: a list through their generations, oldest first; its length */
    uint32_t recycled, wrong_pool;
    uint32_t number;     /* number in the registry; 0: not registered */
    uint32_t holes;      /* see kolk_slotmap_remove_in_place */
    uint32_t first_hole; /* the place of the hole made last */
    uint8_t shift;       /* stride = odd << shift */
    uint8_t memory;      /* MEMORY_WHOLE, MEMORY_GROWS or MEMORY_CALLERS: src/core/block.h */
    uint8_t debug_flags; /* KOLK_DEBUG_ */
    uint8_t in_hook;     /* which hook is running: src/core/hooks.h */
    uintptr_t inverse;   /* inverse of odd, modulo the word */
    uint64_t failed;
    unsigned char *block;
    size_t block_size;
    struct kolk_budget *budget;
    unsigned char *blocks; /* debug setting move: the blocks that hold the objects in turn */
    struct kolk_debug *debug;
    const char *name;
    void (*on_move)(void *object, uint32_t from, uint32_t to, void *context);
    void (*on_remove)(void *object, void *context);
    void (*move)(void *to, void *from, void *context);
    void *context;
    struct kolk_removal_ *removals; /* objects whose on_remove is running, the innermost first */
};

/* ---- Life of a map ----------------------------------------------------------------------------------------------- */

/* Initialises the map. If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the map is left
 * all zero. */
KOLK_FOLDED_INLINE_ kolk_status kolk_slotmap_init(kolk_slotmap *map, const kolk_slotmap_desc *desc);

/* Removes all objects (see on_remove), releases the memory, and leaves the map all zero. */
KOLK_USES_(1) void kolk_slotmap_deinit(kolk_slotmap *map);

/* For hot reload, as kolk_pool_rebind: replaces the hooks, context and name. The other members must be 0, or as they
 * were at the init (capacity may be less than the map has now, and memory_size any that is enough for the map).
 * Otherwise changes nothing and returns KOLK_STRUCT_CHANGED, KOLK_LAYOUT_CHANGED, KOLK_IN_HOOK or KOLK_MOVED. */
KOLK_FOLDED_INLINE_ kolk_status kolk_slotmap_rebind(kolk_slotmap *map, const kolk_slotmap_desc *desc);

/* Returns how many bytes of the caller's memory a map of desc->capacity objects needs. It may be called before any
 * init. Returns 0 if the descriptor is bad; only size, alignment and capacity are checked. */
KOLK_API_ size_t kolk_slotmap_memory_size(const kolk_slotmap_desc *desc);

/* The same as a constant (see KOLK_SLOTMAP_STORAGE in typed.h). */
/* clang-format off */
#define KOLK_SLOTMAP_BYTES(size, align, n)                                                                             \
    (KOLK_ROUND_UP_(KOLK_SIZE_(n) * KOLK_ROUND_UP_(size, align), 8) + KOLK_SIZE_(n) * 8 +                              \
     KOLK_ROUND_UP_(KOLK_SIZE_(n) * 4, 8))
/* clang-format on */

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* Returns a new object, the last of the array, and stores its handle in *out (out may be NULL). If the map would be
 * full otherwise, the object lies in a hole (see remove_in_place). If the map is full and cannot grow, returns NULL and
 * stores the null handle. */
KOLK_INLINE_USES_(1) void *kolk_slotmap_add(kolk_slotmap *map, kolk_handle *out);

/* Removes the object of a handle; the last object moves to its place. If get would return NULL, returns false and does
 * nothing, so a second removal is harmless. */
KOLK_INLINE_USES_(1) bool kolk_slotmap_remove(kolk_slotmap *map, kolk_handle handle);

/* The same for the object at this place of the array. Returns false if the array has no such place. */
KOLK_INLINE_USES_(1) bool kolk_slotmap_remove_at(kolk_slotmap *map, uint32_t index);

/* Ends the object's life as `remove` does, but nothing moves, so all pointers stay valid: its place is a hole. `at`
 * returns NULL for a hole, and KOLK_EACH skips it; `count`, `available` and a loop over the plain array include it.
 * `settle` closes all holes: the last object moves into each. So pointers hold within a frame:
 *
 *     KOLK_EACH (bodies, body, &map)
 *         if (is_dead(body)) bodies_remove_in_place(&map, bodies_handle_of(&map, body));
 *     ...                                                     // no object has moved
 *     bodies_settle(&map);                                    // the array is packed again
 *
 * `settle` is O(holes), with at most one move for each. A `remove`, `clear`, `sort` and `restore` close all holes too;
 * so a walk should not use both kinds of removal. While there are holes, no snapshot is possible. */
KOLK_USES_(1) bool kolk_slotmap_remove_in_place(kolk_slotmap *map, kolk_handle handle);
KOLK_USES_(1) void kolk_slotmap_settle(kolk_slotmap *map);

/* Removes all objects. */
KOLK_USES_(1) void kolk_slotmap_clear(kolk_slotmap *map);

/* Returns the object, or NULL if this handle is null, stale, forged, or from another map or pool. It never returns a
 * different object, within the limits of tags (see kolk_pool_get) and of generations: a slot that has had 2^32 - 1
 * objects is used again once the map would otherwise be full, and its oldest handles then become valid again. */
KOLK_INLINE_ void *kolk_slotmap_get(const kolk_slotmap *map, kolk_handle handle);

/* The array of kolk_slotmap_count objects and holes, stride bytes apart (in a typed map, sizeof(T)). */
KOLK_INLINE_ void *kolk_slotmap_objects(const kolk_slotmap *map);
KOLK_INLINE_ uint32_t kolk_slotmap_count(const kolk_slotmap *map);

/* How many objects can be added without growing. */
KOLK_INLINE_ uint32_t kolk_slotmap_available(const kolk_slotmap *map);

/* ---- From an object to its handle, and arrays beside the map ----------------------------------------------------- */

/* Returns the handle of an object of this map. Any other pointer is a bug of the caller; the result is then the null
 * handle. */
KOLK_API_ kolk_handle kolk_slotmap_handle_of(const kolk_slotmap *map, const void *object);

/* Returns an object's place, from 0: the object is objects[place]. Any other pointer is a bug of the caller; the result
 * is then UINT32_MAX. This is for arrays that are indexed by place and that on_move keeps up to date. */
KOLK_API_ uint32_t kolk_slotmap_index(const kolk_slotmap *map, const void *object);

/* Returns the object at a place, or NULL if index >= count or there is a hole. */
KOLK_INLINE_ void *kolk_slotmap_at(const kolk_slotmap *map, uint32_t index);

/* Returns the slot of a handle's object, or UINT32_MAX if get would return NULL. An object keeps its slot for life;
 * slots are below max_capacity. This is for arrays that are indexed by slot: moves do not affect them. Initialise the
 * element when you add the object:
 *
 *     float health[1000];
 *     health[bodies_slot(&map, handle)] = 100;
 */
KOLK_INLINE_ uint32_t kolk_slotmap_slot(const kolk_slotmap *map, kolk_handle handle);

/* ---- Order and iteration ----------------------------------------------------------------------------------------- */

/* Sorts the objects in place, by the sign of what `compare` returns. Equal objects keep their order, and all handles
 * stay valid. Makes O(n log n) comparisons and at most one move per object; if the objects are already sorted, O(n)
 * comparisons and no move. `compare` is called with objects of this map. In it, handle_of and `index` take O(slots).
 * Later adds and removals don't keep the order. */
KOLK_USES_(1)
void kolk_slotmap_sort(kolk_slotmap *map, int (*compare)(const void *a, const void *b, void *context), void *context);

/* A loop over the plain array is fastest, but must not remove objects. To remove objects during a walk, use KOLK_EACH
 * (typed.h), which walks upwards and visits a place again if its object was removed. Or walk downwards:
 *
 *     for (uint32_t i = kolk_slotmap_count(map); i-- > 0;)
 *         if (is_dead(kolk_slotmap_at(map, i)))
 *             kolk_slotmap_remove_at(map, i);
 *
 * In both walks, the current object may be removed, and objects may be added. If any other object is removed, the last
 * object, which takes its place, may be missed or visited twice. */
typedef struct kolk_slotmap_cursor {
    const kolk_slotmap *map;
    uint32_t place;
    uint32_t slot; /* of the object that was visited last */
    bool more;     /* false: KOLK_EACH is done */
} kolk_slotmap_cursor;

KOLK_INLINE_ kolk_slotmap_cursor kolk_slotmap_each(const kolk_slotmap *map);
KOLK_INLINE_USES_(1) void *kolk_slotmap_cursor_next(kolk_slotmap_cursor *cursor);

/* ---- Snapshots ---------------------------------------------------------------------------------------------------
 *
 *     size_t size = kolk_slotmap_snapshot_size(&map);
 *     void *block = malloc(size);                              // snapshot.h: deltas of blocks, and files
 *     kolk_slotmap_snapshot(&map, block, size);                // ... time goes by ...
 *     if (kolk_slotmap_restore(&map, block, size) != KOLK_OK) ...
 *
 * A restore brings back the objects, their bytes and their places. Every handle that was valid at the snapshot is valid
 * again, all others are stale, and the next adds return the same handles as they did then. (With a different
 * max_capacity they may differ once slots are worn out.) The block contains no pointers of the map, and belongs to the
 * caller. Equal states give equal blocks, byte for byte, on every machine with the same byte order, whether 32-bit or
 * 64-bit, if the objects' own bytes are the same. Their padding may differ.
 *
 * on_remove does not run for the objects that a restore replaces. If you want it to run, call kolk_slotmap_clear before
 * the restore. Afterwards on_move is called for each object, with from == to, because its address may have changed.
 * Save arrays beside the map together with the block. Counters and the peak are not restored.
 *
 * A handle that was made after the snapshot is stale right after the restore. But the map issues the same bits again
 * when it repeats the same operations, so discard such handles together with the state they belong to.
 *
 * Cost: O(slots that ever had an object), plus the bytes copied. The block consists of 56 bytes, 8 for each of these
 * slots, and the objects. */

/* Returns the size of the block for the map's present state, in bytes. Returns 0 if no snapshot is possible, because
 * the map has the hook `move` (its objects cannot be copied as bytes), has holes, or one of its hooks is running. */
KOLK_API_ size_t kolk_slotmap_snapshot_size(const kolk_slotmap *map);

/* Writes the block and returns its size. Returns 0 if no snapshot is possible, or if `size` is below
 * kolk_slotmap_snapshot_size. */
KOLK_API_ size_t kolk_slotmap_snapshot(const kolk_slotmap *map, void *block, size_t size);

/* Replaces the map's state by the state in the block. The map may be a different one, in a different program, if it has
 * the same object_size and tag (or name). If it has too few slots, it grows. The whole block is checked before anything
 * changes, so it may come from an untrusted source. Only the bytes inside objects are not checked. Any status but
 * KOLK_OK leaves the map as it was: KOLK_NO_SNAPSHOT (it has the hook `move`), KOLK_NOT_A_SNAPSHOT,
 * KOLK_OTHER_BYTE_ORDER, KOLK_OTHER_VERSION, KOLK_DAMAGED_SNAPSHOT, KOLK_FORGED_SNAPSHOT, KOLK_OTHER_POOL (a different
 * object_size or tag), KOLK_ABOVE_MAX, KOLK_OVER_BUDGET or KOLK_NO_MEMORY (it cannot provide all slots that the block
 * has), or KOLK_IN_HOOK. */
KOLK_USES_(1) kolk_status kolk_slotmap_restore(kolk_slotmap *map, const void *block, size_t size);

/* The same for a block whose objects have another size or meaning, such as one that an older version of the program has
 * saved: calls `convert` for each object, in the order of places. The object is all zero; `saved` are its `saved_size`
 * bytes of the block, which are not aligned, so memcpy them into the old struct. The block does not state what its
 * objects mean: save a version beside it if the size does not tell. convert is not called before the whole block is
 * checked. NULL: the objects are copied, and must have the same size. */
KOLK_USES_(1)
kolk_status kolk_slotmap_restore_converted(kolk_slotmap *map, const void *block, size_t size,
                                           void (*convert)(void *object, const void *saved, size_t saved_size,
                                                           void *context),
                                           void *context);

/* A hash of the map's state, by which two peers of a game notice that their simulations differ. It covers what a
 * snapshot covers: the objects and their places, and the slots with their generations and their order. `hash` returns
 * the hash of one object, so that padding and pointers can be left out; it must not change the map. NULL: all bytes of
 * the object count, in the machine's byte order. The same kolk gives the same hash on every machine; another version
 * may give another one. Returns 0 inside a hook, and while there are holes. O(slots that ever had an object), plus the
 * bytes of the objects. */
KOLK_USES_(1)
uint64_t kolk_slotmap_hash(kolk_slotmap *map, uint64_t (*hash)(const void *object, void *context), void *context);

/* ---- Memory and questions ---------------------------------------------------------------------------------------- */

/* Raises the capacity to this many objects now, so that later adds need not ask the system for memory, nor the budget.
 * After KOLK_ABOVE_MAX, KOLK_OVER_BUDGET or KOLK_NO_MEMORY nothing has changed. */
KOLK_USES_(1) kolk_status kolk_slotmap_reserve(kolk_slotmap *map, uint32_t capacity);

/* Returns to the system all pages that lie wholly behind the last object. Does nothing on the caller's memory. Returns
 * the number of bytes released, as far as the system reports them. Capacity, objects and handles do not change. The
 * released places count towards the budget no longer: see Released in budget.h. */
KOLK_USES_(1) size_t kolk_slotmap_trim(kolk_slotmap *map);

/* All counters; O(1). */
KOLK_API_ void kolk_slotmap_stats(const kolk_slotmap *map, kolk_stats *out);

/* Checks every invariant of src/slotmap/slotmap.c; O(slots), for tests. */
KOLK_API_ bool kolk_slotmap_is_valid(const kolk_slotmap *map);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* `type_size` and `type_align` are the size and alignment of a typed map's type, or 0 if the map is not typed. */
KOLK_API_ kolk_status kolk_slotmap_init_abi_(kolk_slotmap *map, const kolk_slotmap_desc *desc, size_t type_size,
                                             size_t type_align, size_t map_size, uint32_t abi);

KOLK_NAMED_(kolk_slotmap_desc_named_, kolk_slotmap_desc)

KOLK_FOLDED_INLINE_ kolk_status kolk_slotmap_init(kolk_slotmap *map, const kolk_slotmap_desc *desc) {
    return kolk_slotmap_init_abi_(map, desc, 0, 0, sizeof *map, KOLK_ABI);
}

KOLK_API_ kolk_status kolk_slotmap_rebind_abi_(kolk_slotmap *map, const kolk_slotmap_desc *desc, size_t type_size,
                                               size_t type_align, size_t map_size, uint32_t abi);

KOLK_FOLDED_INLINE_ kolk_status kolk_slotmap_rebind(kolk_slotmap *map, const kolk_slotmap_desc *desc) {
    return kolk_slotmap_rebind_abi_(map, desc, 0, 0, sizeof *map, KOLK_ABI);
}

/* The slow paths that slotmap.inl calls. */
KOLK_API_ void *kolk_slotmap_add_slow_(kolk_slotmap *map, kolk_handle *out);
KOLK_API_ bool kolk_slotmap_remove_slow_(kolk_slotmap *map, kolk_handle handle);
KOLK_API_ void *kolk_slotmap_get_slow_(const kolk_slotmap *map, kolk_handle handle);
KOLK_API_ uint32_t kolk_slotmap_slot_slow_(const kolk_slotmap *map, kolk_handle handle);

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "slotmap.inl"
#else /* the functions of slotmap.inl that typed.h calls */
#define kolk_slotmap_add_sized_(map, out, stride)       kolk_slotmap_add(map, out)
#define kolk_slotmap_remove_sized_(map, handle, stride) kolk_slotmap_remove(map, handle)
#define kolk_slotmap_get_sized_(map, handle, stride)    kolk_slotmap_get(map, handle)
#define kolk_slotmap_cursor_next_sized_(cursor, stride) kolk_slotmap_cursor_next(cursor)
#endif
#endif
