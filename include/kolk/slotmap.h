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
 * Each object has a *slot*, the number in its handle, which it keeps for life, and a *place* in the array, which
 * changes: a removal moves the last object into the hole, a sort moves many. A handle finds the object through one
 * table, so every copy of it follows every move. A pointer does not: what add, get, at and objects return is good until
 * the next remove, clear or sort (an add, reserve or trim moves nothing). Keep handles, and ask get for the pointer
 * where you use it. The debug setting `move` catches a program that does not.
 *
 * Cost      add, remove, get, slot, handle, index and at are O(1); a remove copies one object. An add that grows the
 *           map calls the system. init is O(1) and touches no place. clear and trim are O(count), sort is O(n log n),
 *           is_valid O(slots). If you need no packing, kolk_pool has stable addresses and cheaper removals.
 * Memory    on the caller's memory, or on pages of the system; never malloc. An object costs its stride and 12 bytes.
 * Contents  add gives what was there before: initialise all of it. Objects are moved as bytes: one that holds pointers
 *           into itself, or is pointed to, needs on_move. Nothing of the map's own is ever stored among the objects.
 * Threads   one at a time; any number may call the functions that take a const map while no other function is called.
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

/* Zero means default for all but object_size. */
typedef struct kolk_slotmap_desc {
    const char *name; /* for reports, statistics and the default tag; must outlive the map; NULL: none */
    size_t object_size;
    /* A power of two up to 4096. 0: the largest that divides object_size, at most 16. */
    size_t object_align;

    /* Objects. 0: with memory, as many as fit; with max_capacity, it starts empty and grows; else it is always full. */
    uint32_t capacity;
    uint32_t max_capacity; /* it grows up to this, and no object moves for it; 0: as capacity */
    uint32_t tag;          /* tells this map's handles from others': see kolk_slotmap_get; 0: a hash of the name */

    void *memory;       /* yours, aligned to object_align and to 8, may be dirty; NULL: pages of the system */
    size_t memory_size; /* bytes of it */

    /* Called after each move of an object from one place to another, for arrays beside the map that go by place, and
     * for objects that know their own address: object is where it is now, array[to] = array[from] is what an array
     * needs. A sort puts objects aside on the way: `from` or `to` is max_capacity then, so such an array has
     * max_capacity + 1 elements (and object is where it is at that moment). With the debug setting `move`, also called
     * for every object whose address alone has changed: from == to. It must return, and may not use the map. */
    void (*on_move)(void *object, uint32_t from, uint32_t to, void *context);

    /* Called once for each object that goes, by remove, clear or deinit: what a destructor does. The object is still in
     * its place, and its handle finds it; only afterwards its life ends, the last object moves into the hole, and
     * on_move hears of that. clear and deinit go from the last place down. It must return; of the map it may call const
     * functions. */
    void (*on_remove)(void *object, void *context);
    void *context; /* handed to both */

    /* Settings of the debug mode, "fill,move,sites" (base.h); NULL: none, but KOLK_DEBUG in the environment may still
     * ask for some. */
    const char *debug;
} kolk_slotmap_desc;

/* ---- Struct: read any field, write none -------------------------------------------------------------------------- */

/* Of a slot. */
typedef struct kolk_cell {
    uint32_t place;      /* of its object; of a free slot, from count on */
    uint32_t generation; /* of the life that is or comes next, from 1 */
} kolk_cell;

/* All zero is a valid map of capacity 0. Never copy or move it once initialised. */
struct kolk_slotmap {
    /* what get, add and remove read */
    unsigned char *objects;
    kolk_cell *cells;      /* by slot */
    uint32_t *owners;      /* by place: the slot of its object; from count to fresh - worn, the free slots */
    uint32_t count;        /* objects, and the first place without one */
    uint32_t fresh;        /* slots from here on never had an object; only advances */
    uint32_t add_bound;    /* add leaves the fast path from this count on */
    uint32_t remove_bound; /* remove leaves it from this slot on */
    uint32_t stride;       /* bytes from place to place */
    uint32_t tag;          /* XORed into the slot of a handle */

    /* the rest */
    uint32_t capacity, max_capacity;
    uint32_t object_size;
    uint32_t peak; /* UINT32_MAX: as fresh; from a scene on it is counted (KOLK_STATS=sizes) */
    uint32_t worn_first, worn_last,
        worn; /* worn-out slots: a list through their generations, oldest first; its length */
    uint32_t recycled, wrong_pool;
    uint32_t number;     /* in the registry; 0: it is not there */
    uint8_t shift;       /* stride = odd << shift */
    uint8_t memory;      /* 0: the system's, committed at init; 1: ... as capacity grows; 2: the caller's */
    uint8_t debug_flags; /* KOLK_DEBUG_ */
    uint8_t turn;        /* debug setting move: which of its blocks the objects are in */
    uintptr_t inverse;   /* of odd, modulo the word */
    uint64_t failed;
    unsigned char *block;
    size_t block_size;
    unsigned char *blocks; /* debug setting move: where the objects are in turn */
    struct kolk_debug *debug;
    const char *name;
    void (*on_move)(void *object, uint32_t from, uint32_t to, void *context);
    void (*on_remove)(void *object, void *context);
    void *context;
};

/* ---- Life of a map ----------------------------------------------------------------------------------------------- */

/* Anything but KOLK_OK (a broken rule of the descriptor, or KOLK_NO_MEMORY) leaves the map all zero. */
static inline kolk_status kolk_slotmap_init(kolk_slotmap *map, const kolk_slotmap_desc *desc);

/* Removes all (see on_remove), gives the memory back, leaves the map all zero. */
KOLK_API void kolk_slotmap_deinit(kolk_slotmap *map);

/* Bytes that a map of desc->capacity needs on the caller's memory; before any init. 0 for a bad descriptor, of which it
 * looks at size, alignment and capacity only. */
KOLK_API size_t kolk_slotmap_memory_size(const kolk_slotmap_desc *desc);

/* The same as a constant (see KOLK_SLOTMAP_STORAGE in typed.h). */
/* clang-format off */
#define KOLK_SLOTMAP_BYTES(size, align, n)                                                                             \
    (KOLK_ROUND_UP(KOLK_SIZE_(n) * KOLK_ROUND_UP(size, align), 8) + KOLK_SIZE_(n) * 8 +                                \
     KOLK_ROUND_UP(KOLK_SIZE_(n) * 4, 8))
/* clang-format on */

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* A new object, the last of the array, and its handle (out may be NULL); or NULL, and the null handle, when the map is
 * full, after growing as far as it may. */
KOLK_INLINE void *kolk_slotmap_add(kolk_slotmap *map, kolk_handle *out);

/* Removes the object of a handle; the last object moves to its place. False, and nothing happens, if get would give
 * NULL: so the second of two removals is harmless. */
KOLK_INLINE bool kolk_slotmap_remove(kolk_slotmap *map, kolk_handle handle);

/* Removes all. */
KOLK_API void kolk_slotmap_clear(kolk_slotmap *map);

/* The object, or NULL if this handle is null, stale, not of an object that is there, or of another map or pool. Never
 * somebody else's object, within the limits of the tags, which are those of kolk_pool_get, and of the generations: a
 * slot that has had 2^32 - 1 objects waits until the map would otherwise be full; then it starts anew, and its oldest
 * handles mean something again. */
KOLK_INLINE void *kolk_slotmap_get(const kolk_slotmap *map, kolk_handle handle);

/* The array: kolk_slotmap_count objects, stride bytes apart, which is sizeof(T) for a type. */
KOLK_INLINE void *kolk_slotmap_objects(const kolk_slotmap *map);
KOLK_INLINE uint32_t kolk_slotmap_count(const kolk_slotmap *map);

/* How many more there could be without growing. */
KOLK_INLINE uint32_t kolk_slotmap_available(const kolk_slotmap *map);

/* ---- From an object to its handle, and arrays beside the map ----------------------------------------------------- */

/* Of an object of this map: any other pointer is a bug of the caller and gives the null handle. */
KOLK_API kolk_handle kolk_slotmap_handle(const kolk_slotmap *map, const void *object);

/* Its place, from 0: it is objects[place]. Any other pointer is a bug of the caller and gives UINT32_MAX. For an array
 * that goes by place, and is kept in step by on_move. */
KOLK_API uint32_t kolk_slotmap_index(const kolk_slotmap *map, const void *object);

/* The object at a place, or NULL from count on. */
KOLK_INLINE void *kolk_slotmap_at(const kolk_slotmap *map, uint32_t index);

/* The slot of the object of a handle, or UINT32_MAX if get would give NULL. It is the object's own for life, and below
 * the map's fresh, thus below max_capacity. For arrays that go by handle, with nothing to be kept in step; initialise
 * the element when you add the object:
 *
 *     float health[1000];
 *     health[bodies_slot(&map, handle)] = 100;
 */
KOLK_INLINE uint32_t kolk_slotmap_slot(const kolk_slotmap *map, kolk_handle handle);

/* ---- Order and iteration ----------------------------------------------------------------------------------------- */

/* Sorts the objects by the sign of compare, equal ones staying in their order; all handles stay valid. In place:
 * O(n log n) comparisons, at most one move an object; O(n), and no move, if they are sorted. compare must return, and
 * may not change the map; it is called with objects of this map. Later adds and removals don't keep the order. */
KOLK_API void kolk_slotmap_sort(kolk_slotmap *map, int (*compare)(const void *a, const void *b, void *context),
                                void *context);

/* Fastest is a loop over the plain array, in which nothing is removed. To remove on the way, use KOLK_EACH (typed.h),
 * which goes up the places and looks again at the one whose object has been removed; or go down:
 *
 *     for (uint32_t i = kolk_slotmap_count(map); i-- > 0;)
 *         if (is_dead(kolk_slotmap_at(map, i)))
 *             kolk_slotmap_remove(map, kolk_slotmap_handle(map, kolk_slotmap_at(map, i)));
 *
 * In both, the current object may be removed, and objects may be added. If another one is removed, the last object,
 * which takes its place, may be missed or visited twice. */
typedef struct kolk_slotmap_cursor {
    const kolk_slotmap *map;
    uint32_t place;
    uint32_t slot; /* of the object that was visited there last */
    bool more;     /* false: KOLK_EACH is done */
} kolk_slotmap_cursor;

KOLK_INLINE kolk_slotmap_cursor kolk_slotmap_each(const kolk_slotmap *map);
KOLK_INLINE void *kolk_slotmap_cursor_next(kolk_slotmap_cursor *cursor);

/* ---- Memory and questions ---------------------------------------------------------------------------------------- */

/* Room for this many objects without asking the system later. KOLK_ABOVE_MAX, KOLK_NO_MEMORY: nothing has changed. */
KOLK_API kolk_status kolk_slotmap_reserve(kolk_slotmap *map, uint32_t capacity);

/* Gives the whole pages behind the last object back to the system (not on the caller's memory). Bytes given back, where
 * the system can tell; capacity, objects and handles stay. */
KOLK_API size_t kolk_slotmap_trim(kolk_slotmap *map);

/* All counters; O(1). */
KOLK_API void kolk_slotmap_stats(const kolk_slotmap *map, kolk_stats *out);

/* Checks every invariant of src/slotmap/slotmap.c; O(slots), for tests. */
KOLK_API bool kolk_slotmap_is_valid(const kolk_slotmap *map);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

/* type_size and type_align are 0, or of the type of a typed map. */
KOLK_API kolk_status kolk_slotmap_init_type(kolk_slotmap *map, const kolk_slotmap_desc *desc, size_t type_size,
                                            size_t type_align, size_t map_size, uint32_t abi);

/* For typed maps: the descriptor, or, if it has no name, a copy that has the type's. */
static inline const kolk_slotmap_desc *kolk_slotmap_desc_named(const kolk_slotmap_desc *desc, const char *name,
                                                               kolk_slotmap_desc *named) {
    if (!desc || desc->name) return desc;
    *named = *desc;
    named->name = name;
    return named;
}

static inline kolk_status kolk_slotmap_init(kolk_slotmap *map, const kolk_slotmap_desc *desc) {
    return kolk_slotmap_init_type(map, desc, 0, 0, sizeof *map, KOLK_ABI);
}

/* The ways out of the fast paths of slotmap.inl. */
KOLK_API void *kolk_slotmap_add_slow(kolk_slotmap *map, kolk_handle *out);
KOLK_API bool kolk_slotmap_remove_slow(kolk_slotmap *map, kolk_handle handle);
KOLK_API void *kolk_slotmap_get_slow(const kolk_slotmap *map, kolk_handle handle);

#ifdef __cplusplus
}
#endif

#ifndef KOLK_EXTERN
#include "slotmap.inl"
#else /* the calls that typed.h would make into slotmap.inl */
#define kolk_slotmap_add_sized(map, out, stride)       kolk_slotmap_add(map, out)
#define kolk_slotmap_remove_sized(map, handle, stride) kolk_slotmap_remove(map, handle)
#define kolk_slotmap_get_sized(map, handle, stride)    kolk_slotmap_get(map, handle)
#define kolk_slotmap_cursor_next_sized(cursor, stride) kolk_slotmap_cursor_next(cursor)
#endif
#endif
