/* pool.c: the core pool: its essay, deinit, alloc and renew. pool_inside.h lists the other files.
 *
 *     slots        | 0 | 1 | 2 | ......... | fresh | ........ | capacity | (reserved, not committed) | max_capacity |
 *     states       8 bits a slot   1 bit: an object lives there; 7 bits: the low part of the generation
 *     high         32 bits a slot  the high part of the generation, 25 bits
 *     stack        32 bits a slot  LIFO: indices of free slots; FIFO: the same array as a ring; LOWEST has holes
 *                                  instead: 1 bit a free slot, with levels of summary bits above (bits.h)
 *
 * A slot's generation is the number of its present or next life, and part of every handle. It lies in two arrays, so
 * that one byte is all that alloc and free write: the end of a life clears the bit and adds 1, and is one store. The
 * byte is that of the pools of the GTA trilogy, with the flag turned round. The high part changes once in 128 lives, so
 * in most programs its pages are never touched. A walk gets the highest bits of many bytes by one instruction.
 *
 * None of this is inside a slot. So a stray write through a dangling pointer cannot corrupt the pool, and alloc touches
 * no cold object.
 *
 * `fresh` separates the slots that were once handed out from those that never were, and it only advances. Because of
 * it, the order of a million free slots needs no set-up, and init touches no memory. Metadata is first written when
 * `fresh` passes it, so the caller's memory may be dirty. `fresh` is also the peak, and a tight bound for pointers.
 *
 * Alloc takes a free slot, sets the bit in its byte and computes its address. Free divides the address by the stride,
 * ends the life by one addition to the byte, and puts the slot back. The addition overflows if it was allowed; a slot
 * without an object, and one whose low part ends, go to the slow path (kolk_pool_end_life_). The fast paths (pool.inl)
 * do this for a LIFO stack. They branch on no option: each sends them to the slow path, through one of three bounds
 * that they read anyway:
 *
 *     floor       alloc pops the stack while its top is above this
 *     free_bound  free pushes slots below this
 *     bound       `get`, is_live, `index` and `at` accept slots below this
 *
 *     option                           floor             free_bound   bound    alloc's own bounds in the slow path
 *     LIFO                             stack             fresh        fresh    none is needed
 *     FIFO, LOWEST                     end of memory     0            fresh    aside_floor: worn.count
 *     FIFO with never-issued slots                                             aside_floor: none is taken directly
 *     unlisted slots                   stack + unlisted                        aside_floor: none is taken directly
 *         with reset                                     0            0
 *     headroom, low_water, peak,
 *         slots that do not count      stack + watched                         aside_floor: worn.count + watched
 *     ages, ranked                     end of memory                           order_floor: the floor without these
 *     pinned objects                                     0            0
 *     setup, teardown                  end of memory                           neither
 *     reset                                              0
 *     debug mode                       end of memory     0            0        neither
 *
 * An empty cell means that the option does not change that bound. `watched` is how many of the last free slots need the
 * slow path, because they belong to the headroom, are near the low-water mark, would raise a counted peak, or do not
 * count towards the budget. A pool with ages, or a ranked one, pops its stack while the top is above order_floor, but
 * also enters the slot into its orders. FIFO and LOWEST take a slot directly while more than aside_floor slots are
 * aside. The debug mode also keeps get off its fast path, because its stride may differ from the one that typed code
 * assumes, and because under tools that watch malloc its objects are not in slots at all.
 *
 * The code of all options lies behind a pointer in each pool, `options`, which is NULL for a pool without any: then the
 * slow paths are those of this file, and a program whose pools have none need not link the rest (pool_inside.h).
 *
 * A renewal adds to the byte, and touches nothing else. Its fast path is for slots below free_bound in a pool whose
 * floor is not the end of memory, which may mean an order that the object must enter anew.
 *
 * A trim gives the bytes of the last slots back to the budget: those from `counted` on. Before an alloc takes one of
 * them, it takes bytes for it and some more of them from the budget again, as growth does (pool_options.c).
 *
 * A slot whose object was freed while it was pinned is dead, but in no place, as if its reset hook was running: so it
 * still counts, and no alloc finds it. The last unpin puts it in its place.
 *
 * FIFO takes never-issued slots first, but after a restore only those that the saved pool had: the others, held_back,
 * wait until the ring is empty. So a pool that has grown since a snapshot repeats what it did.
 *
 * alloc_at takes a slot from the middle of the stack or the ring, where a search would be O(free slots). Instead it
 * gives up their order: stack or ring get one place shorter, and all of their places become unlisted. Which slots
 * belong there is known without a list: the dead slots that are in no other place. Slots that are freed later go behind
 * the unlisted places, as ever. When an alloc reaches the unlisted ones, it lists the lowest dead slots there
 * (pool_order.c).
 *
 * Invariants (kolk_pool_is_valid):
 *     I1  count == fresh - (top - stack) - aside is the number of slots that are live or kept; peak >= count, whether
 *         the peak is counted or not
 *     I2  fresh <= capacity - held_back; capacity <= max_capacity; what the arrays have from fresh on does not matter,
 *         but the high parts there are 0 in the system's memory (which is_valid does not read)
 *     I3  each free slot below fresh that is not kept is in exactly one place: the stack, the ring, the holes, the
 *         worn-out list, or the debug mode's quarantine; aside counts all but the first; the first `unlisted` places of
 *         the stack or the ring stand for the slots that are in no other place
 *     I4  the bounds are those of the table above
 *     I5  a live slot's generation is at least 1
 *     I6  a summary bit is set if and only if the word below it is not 0
 *     I7  with setup or teardown, a live slot is ready
 *     I8  red zones and fills are unchanged since the debug mode wrote them
 *     I9  with ages, the circle through ages[0] is closed in both directions and contains no slot twice, and `born`
 *         rises from slot to slot; a slot that is not in it is its own neighbour; a dead slot leaves it when a walk
 *         passes it or it is used again, so free has nothing to do
 *     I10 if the order of costs exists, no slot in it is before the one above it, and each live slot that is not
 *         protected is in it
 *     I11 counted <= capacity; with FIFO fresh <= counted; the slots from counted up to fresh are free, and they are
 *         the last free ones that an alloc takes, the lowest first
 *     I12 pinned is the number of slots with pins; those that are kept are dead
 *
 * pool.h states the time bounds. Two ideas are borrowed: exact division (base.inl), and an advancing mark instead of a
 * free list that is linked at creation (PostgreSQL, slab.c, since 2017). */
#include "pool_order.h"

#include "../core/begin.h"

#include <string.h>

_Static_assert(sizeof(void *) != 8 || offsetof(kolk_pool, shift) == 64, "the fast paths read 64 bytes and the shift");
_Static_assert(sizeof(void *) != 8 || (sizeof(kolk_pool) == 464 && sizeof(kolk_pool_desc) == 176),
               "the layout has changed: raise KOLK_ABI");

/* ---- Life of a pool ---------------------------------------------------------------------------------------------- */

KOLK_NOINLINE_ void kolk_pool_deinit(kolk_pool *pool) {
    if (!kolk_is_home_(pool, pool->number, pool->name, SITE)) return;
    if (kolk_pool_is_barred_(pool, HOOK_CHANGES, "deinit", SITE)) return;
    if (!pool->options || !pool->options->end)
        kolk_unlist_(pool->number);
    else if (!pool->options->end(pool, SITE))
        return;
    kolk_pool_unmake_(pool);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* Allocates from a pool without options whose stack is empty. */
static KOLK_NOINLINE_ void *alloc_plain(kolk_pool *pool, const void *site) {
    begin_static_pool(pool);
    if (KOLK_WATCHED_ && pool->options) return pool->options->alloc(pool, site); /* it was static until now */
    if (kolk_pool_is_barred_(pool, HOOK_FREES, "alloc", site)) return NULL;      /* `convert` of a restore */
    KOLK_ASSERT_(pool->top <= pool->stack);
    uint32_t index;
    if (pool->fresh < pool->capacity) {
        index = take_fresh_slot(pool);
        if (index % 64 == 0) (void)kolk_is_home_(pool, pool->number, pool->name, NULL);
        if (pool->peak < pool->fresh) pool->peak = pool->fresh; /* after a restore: otherwise it is greater */
    } else if ((index = kolk_pool_take_worn_(pool)) == KOLK_NO_SLOT_) {
        return refuse(pool);
    }
    show_plain_bounds(pool);
    set_alive(pool, index);
    return plain_slot_at(pool, index);
}

static KOLK_ALWAYS_INLINE_ void *alloc_slowly(kolk_pool *pool, const void *site) {
    return pool->options ? pool->options->alloc(pool, site) : alloc_plain(pool, site);
}

KOLK_NOINLINE_ void *kolk_pool_alloc_slow_(kolk_pool *pool) {
    return alloc_slowly(pool, SITE);
}

/* Does kolk_pool_alloc for a caller at `site`. */
static void *alloc_at_site(kolk_pool *pool, const void *site) {
    bool fast = (uintptr_t)pool->top > (uintptr_t)pool->floor;
    return fast ? kolk_pool_alloc(pool) : alloc_slowly(pool, site);
}

KOLK_NOINLINE_ void *kolk_pool_alloc_zeroed(kolk_pool *pool) {
    void *object = alloc_at_site(pool, SITE);
    if (object) memset(object, 0, pool->object_size);
    return object;
}

/* Renews an object of this pool or of one of its overflow pools. */
static KOLK_NOINLINE_ void *renew_any(kolk_pool *pool, void *object, const void *site) {
    if (!object || kolk_pool_is_barred_(pool, HOOK_LIVES, "renew", site)) return NULL;
    kolk_pool *holder = kolk_pool_holder_(pool, object);
    if (!holder) {
        kolk_pool_fail_object_(pool, object, "renew", KOLK_DEAD_OBJECT, site);
        return NULL;
    }
    if (kolk_pool_is_barred_(holder, HOOK_LIVES, "renew", site)) return NULL;
    uint32_t index = kolk_pool_end_for_next_(holder, object, site);
    if (index == KOLK_NO_SLOT_) return alloc_at_site(pool, site);
    if (holder->options && holder->options->issue) return holder->options->issue(holder, index, site);
    set_alive(holder, index);
    return object;
}

/* In a pool with an order of births or costs, or with another reuse than LIFO, most renewals do what the fast path
 * does, and enter the object into these orders. */
KOLK_NOINLINE_ void *kolk_pool_renew_slow_(kolk_pool *pool, void *object) {
    uintptr_t slot = kolk_pool_slot_(pool, object);
    bool easy = slot < pool->bound && !pool->reset && pool->in_hook <= HOOK_LIVES;
    if (!easy || !kolk_pool_begin_next_(pool, slot)) return renew_any(pool, object, SITE);
    if (pool->options && pool->options->enter) pool->options->enter(pool, (uint32_t)slot);
    return object;
}

/* ---- The functions of pool.inl, each emitted once ---------------------------------------------------------------- */

extern inline uintptr_t kolk_pool_slot_(const kolk_pool *pool, const void *object);
extern inline uintptr_t kolk_pool_slot_in_(const unsigned char *slots, const void *object, size_t stride);
extern inline uintptr_t kolk_pool_slot_sized_(const kolk_pool *pool, const void *object, size_t stride);
extern inline bool kolk_pool_lives_(const kolk_pool *pool, uintptr_t index);
extern inline uint32_t kolk_pool_generation_(const kolk_pool *pool, uintptr_t index);
extern inline bool kolk_pool_lives_as_(const uint8_t *states, const uint32_t *high, uintptr_t index,
                                       uint32_t generation);
extern inline void *kolk_pool_alloc_in_(kolk_pool *pool, unsigned char *slots, uint8_t *states, size_t stride);
extern inline void *kolk_pool_alloc_sized_(kolk_pool *pool, size_t stride);
extern inline void *kolk_pool_alloc(kolk_pool *pool);
extern inline void kolk_pool_push_slot_(kolk_pool *pool, uintptr_t index);
extern inline bool kolk_add_overflows_(uint8_t *byte, signed char n);
extern inline bool kolk_pool_end_life_(uint8_t *state);
extern inline bool kolk_pool_end_slot_(kolk_pool *pool, uint8_t *states, void *object, uintptr_t index, uint32_t bound);
extern inline void kolk_pool_free_slot_(kolk_pool *pool, uint8_t *states, void *object, uintptr_t index);
extern inline void kolk_pool_free(kolk_pool *pool, void *object);
extern inline void kolk_pool_free_in_(kolk_pool *pool, const unsigned char *slots, uint8_t *states, void *object,
                                      size_t stride);
extern inline void kolk_pool_free_sized_(kolk_pool *pool, void *object, size_t stride);
extern inline bool kolk_pool_begin_next_(kolk_pool *pool, uintptr_t index);
extern inline void *kolk_pool_renew_slot_(kolk_pool *pool, void *object, uintptr_t index);
extern inline void *kolk_pool_renew(kolk_pool *pool, void *object);
extern inline void *kolk_pool_renew_sized_(kolk_pool *pool, void *object, size_t stride);
extern inline bool kolk_pool_is_live(const kolk_pool *pool, const void *object);
extern inline uint32_t kolk_pool_index(const kolk_pool *pool, const void *object);
extern inline void *kolk_pool_at(const kolk_pool *pool, uint32_t index);
extern inline kolk_handle kolk_pool_handle_of(const kolk_pool *pool, const void *object);
extern inline void *kolk_pool_get_in_(const kolk_pool *pool, unsigned char *slots, const uint8_t *states,
                                      const uint32_t *high, kolk_handle handle, size_t stride);
extern inline void *kolk_pool_get_sized_(const kolk_pool *pool, kolk_handle handle, size_t stride);
extern inline void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle);
extern inline uint32_t kolk_pool_count(const kolk_pool *pool);
extern inline uint32_t kolk_pool_available(const kolk_pool *pool);
extern inline kolk_group_ kolk_pool_mask_(const uint8_t *states);
extern inline kolk_cursor kolk_pool_each_in(const kolk_pool *pool, uint32_t first, uint32_t n);
extern inline kolk_cursor kolk_pool_each(const kolk_pool *pool);
extern inline void *kolk_pool_bypassed_(const kolk_pool *pool, uintptr_t index);
extern inline void *kolk_cursor_apart_(kolk_cursor *cursor);
extern inline bool kolk_cursor_enter_(kolk_cursor *cursor);
extern inline void *kolk_cursor_next(kolk_cursor *cursor);
extern inline void *kolk_cursor_next_run(kolk_cursor *cursor, uint32_t *length);
extern inline bool kolk_age_is_due_(const kolk_age_cursor *cursor, uint32_t at);
extern inline void *kolk_age_cursor_next(kolk_age_cursor *cursor);
extern inline bool kolk_pool_has_options_(const kolk_pool_desc *desc);
extern inline kolk_status kolk_pool_init_typed_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size,
                                                size_t type_align);
extern inline kolk_status kolk_pool_init(kolk_pool *pool, const kolk_pool_desc *desc);
extern inline kolk_status kolk_pool_rebind(kolk_pool *pool, const kolk_pool_desc *desc);
