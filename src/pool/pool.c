/* pool.c: the core pool: its life, and alloc. pool_inside.h says what its other files do.
 *
 *     slots        | 0 | 1 | 2 | ......... | fresh | ........ | capacity | (reserved, not committed) | max_capacity |
 *     live         1 bit a slot    the truth about every slot
 *     generations  32 bits a slot  of the life that is or comes next; ends in every handle
 *     stack        32 bits a slot  LIFO: indices of free slots; FIFO: the same array as a ring; LOWEST has holes
 *                                  instead: 1 bit a free slot, with levels of summary bits above (bits.h)
 *
 * Nothing of this is inside a slot. So a stray write through a dangling pointer cannot corrupt the pool, and alloc
 * touches no cold object.
 *
 * `fresh` separates the slots that were once handed out from those that never were, and it only advances. Because of it
 * the order of a million free slots needs no set-up, and init touches nothing: metadata is written for the first time
 * as `fresh` passes, so the caller's memory may be dirty. It is also the peak, and a tight bound for pointers.
 *
 * Alloc takes a free slot, sets its live bit and computes its address. Free divides the address by the stride, tests
 * the bit and clears it, ends the generation and puts the slot back. The fast paths (pool.inl) do this for a LIFO
 * stack. They have a branch for one option, generations or none. Every other option leads them into the slow path, by
 * one of the three bounds that they look at anyway:
 *
 *     floor       alloc takes from the stack what lies above it
 *     free_bound  free pushes slots below it
 *     bound       get, is_live, index and at know slots below it
 *
 *     option                           floor             free_bound   bound    alloc's own bounds in the slow path
 *     LIFO                             stack             fresh        fresh    none is needed
 *     FIFO, LOWEST                     end of memory     0            fresh    held_floor: worn.count
 *     FIFO with never-issued slots                                             held_floor: none is taken at once
 *     headroom, low_water, peak        stack + watched                         held_floor: worn.count + watched
 *     ages                             end of memory                           age_floor: what floor is without ages
 *     setup, teardown                  end of memory                           neither
 *     reset                                              0
 *     debug mode                       end of memory     0            0        neither
 *
 * An option that leaves a field empty does not change that bound. `watched` is how many of the last free slots need a
 * look: they are in the headroom or near the low-water mark, or the peak is counted and they would raise it. A pool
 * with ages pops its stack above age_floor, but also enters the order of births. FIFO and LOWEST take a slot at once
 * while more than held_floor are held. The debug mode also hides from get, since its stride may not be the one that
 * typed code knows, and since under tools that watch malloc its objects are not in slots at all (debug_bypass.c).
 *
 * Invariants (kolk_pool_is_valid):
 *     I1  count == fresh - (top - stack) - held is the number of live bits; peak >= count, counted or not
 *     I2  a live bit is set only below fresh; fresh <= capacity <= max_capacity
 *     I3  each free slot below fresh is in exactly one place: the stack, the ring, the holes, the worn-out list, or the
 *         debug mode's quarantine; held counts all but the first
 *     I4  the bounds are as said above
 *     I5  a live slot's generation is at least 1
 *     I6  a summary bit is set if and only if the word below it is not 0
 *     I7  with setup or teardown, a live slot is ready
 *     I8  zones and fills are as the debug mode left them
 *     I9  with ages, the circle through ages[0] is closed in both directions and has no slot twice; a slot that is not
 *         in it is its own neighbour; a dead one leaves it when it is passed or used again, so that free has nothing to
 *         do
 *
 * The time bounds are those of pool.h. Two things come from elsewhere: exact division (base.inl), and the advancing
 * mark instead of a free list that is linked at creation (PostgreSQL, slab.c, 2017 on). */
#include "pool_age.h"
#include "pool_order.h"

#include "../diag/begin.h"
#include "../core/fail.h"
#include "../core/handle.h"
#include "../os/memory.h"
#include "../core/probes.h"
#include "../core/tools.h"

#include <string.h>

_Static_assert(sizeof(void *) != 8 || offsetof(kolk_pool, shift) == 64, "the fast paths read 64 bytes and the shift");
_Static_assert(sizeof(void *) != 8 || (sizeof(kolk_pool) == 424 && sizeof(kolk_pool_desc) == 152),
               "the layout has changed: raise KOLK_ABI");

/* Emit each function of pool.inl once. */
extern inline uintptr_t kolk_pool_slot(const kolk_pool *pool, const void *object);
extern inline uintptr_t kolk_pool_slot_sized(const kolk_pool *pool, const void *object, size_t stride);
extern inline bool kolk_pool_bit(const uint64_t *words, uintptr_t index);
extern inline void *kolk_pool_alloc_sized(kolk_pool *pool, size_t stride);
extern inline void *kolk_pool_alloc(kolk_pool *pool);
extern inline void kolk_pool_free_slot(kolk_pool *pool, void *object, uintptr_t index);
extern inline void kolk_pool_free(kolk_pool *pool, void *object);
extern inline void kolk_pool_free_sized(kolk_pool *pool, void *object, size_t stride);
extern inline bool kolk_pool_is_live(const kolk_pool *pool, const void *object);
extern inline uint32_t kolk_pool_index(const kolk_pool *pool, const void *object);
extern inline void *kolk_pool_at(const kolk_pool *pool, uint32_t index);
extern inline kolk_handle kolk_pool_handle(const kolk_pool *pool, const void *object);
extern inline void *kolk_pool_get_sized(const kolk_pool *pool, kolk_handle handle, size_t stride);
extern inline void *kolk_pool_get(const kolk_pool *pool, kolk_handle handle);
extern inline uint32_t kolk_pool_count(const kolk_pool *pool);
extern inline uint32_t kolk_pool_available(const kolk_pool *pool);
extern inline kolk_cursor kolk_pool_each(const kolk_pool *pool);
extern inline void *kolk_pool_bypassed(const kolk_pool *pool, uintptr_t index);
extern inline void *kolk_cursor_bypassed(kolk_cursor *cursor);
extern inline void *kolk_cursor_next(kolk_cursor *cursor);

/* ---- Life of a pool ---------------------------------------------------------------------------------------------- */

static void list_pool_stats(const void *pool, kolk_stats *out) {
    kolk_pool_stats((const kolk_pool *)pool, out);
}

static void list_pool_leaks(const void *pool) {
    const kolk_pool *self = (const kolk_pool *)pool;
    kolk_debug_leaks(self->debug, self->fresh, kolk_pool_failure(self, KOLK_LEAK, KOLK_NO_SLOT, NULL));
}

static kolk_status pool_enter_scene(void *pool, uint32_t capacity) {
    kolk_pool *self = (kolk_pool *)pool;
    if (kolk_sizes_are_measured()) {
        self->peak = kolk_pool_count(self);
        show_pool_bounds(self);
    }
    return kolk_pool_reserve(self, capacity);
}

static uintptr_t pool_facts(const void *pool) {
    const kolk_pool *self = (const kolk_pool *)pool;
    if (self->fresh > self->capacity || self->capacity > self->desc.max_capacity) return 0; /* I2 */
    return KOLK_FACTS(self->number, (uintptr_t)self->block, (uintptr_t)self->slots, (uintptr_t)self->live, self->stride,
                      (uintptr_t)self->desc.name, self->desc.object_size, self->desc.max_capacity, self->debug_flags,
                      (uintptr_t)self->debug, (uintptr_t)self->stack);
}

kolk_status kolk_pool_init_type(kolk_pool *pool, const kolk_pool_desc *given, size_t type_size, size_t type_align,
                                size_t pool_size, uint32_t abi) {
    static const kolk_kind kind = {list_pool_stats, NULL, pool_enter_scene, pool_facts, sizeof(kolk_pool)};
    static const kolk_kind kind_with_sites = {list_pool_stats, list_pool_leaks, pool_enter_scene, pool_facts,
                                              sizeof(kolk_pool)};
    kolk_status status = kolk_begin(pool, pool_size, sizeof *pool, abi, given);
    if (status != KOLK_OK) return status;
    kolk_pool_desc desc = *given;
    kolk_settings settings = kolk_settings_of(desc.name, desc.debug);
    kolk_size size = kolk_sizes_ask(desc.name, desc.memory, &desc.capacity, &desc.max_capacity);
    do {
        status = kolk_pool_resolve(&desc, type_size, type_align);
        if (status == KOLK_OK) kolk_sizes_settle(&size, desc.capacity);
        if (status == KOLK_OK) status = kolk_pool_make(pool, &desc, &settings);
    } while (status != KOLK_OK && kolk_sizes_withdraw(&size, status));
    if (status != KOLK_OK) return status;
    pool->tag = kolk_tag_bits(desc.tag, desc.name);
    if (pool->ages) pool->ages[0] = (kolk_age){0, 0};
    bool named = desc.name && *desc.name;
    bool counts = desc.reuse == KOLK_REUSE_FIFO || pool_debug_of(pool) || (named && kolk_sizes_are_measured());
    pool->peak = counts ? 0 : PEAK_IS_FRESH;
    show_pool_bounds(pool);
    bool lists_leaks = pool->debug_flags & KOLK_DEBUG_SITES;
    return kolk_enlist(pool, sizeof *pool, &pool->number, lists_leaks ? &kind_with_sites : &kind);
}

KOLK_NOINLINE void kolk_pool_deinit(kolk_pool *pool) {
    const void *site = SITE;
    if (!kolk_is_home(pool, pool->number, pool->desc.name, site)) return;
    kolk_pool_verify_all(pool, site); /* the handler may longjmp: nothing has changed */
    if (pool->debug_flags & KOLK_DEBUG_SITES) list_pool_leaks(pool);
    kolk_registry_remove(pool->number);
    pool->number = 0;                         /* a hook may allocate */
    pool->desc.max_capacity = pool->capacity; /* no growth for a reset hook that always allocates */
    if (pool->desc.reset || pool_debug_of(pool)) kolk_pool_clear_for(pool, true, site);
    kolk_pool_tear_down(pool, 0, pool->fresh);
    kolk_pool_unmake(pool);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* The first slot that was never handed out; its metadata is written for the first time. */
static uint32_t take_fresh_slot(kolk_pool *pool) {
    KOLK_ASSERT(pool->fresh < pool->capacity);
    uint32_t index = pool->fresh++;
    if (index % 64 == 0) {
        if (!pool->debug) (void)kolk_is_home(pool, pool->number, pool->desc.name, NULL);
        pool->live[index / 64] = 0;
        if (pool->ready) pool->ready[index / 64] = 0;
        uint64_t at = index;
        for (unsigned k = 0; k < pool->levels && at % 64 == 0; k++, at /= 64) pool->holes[k][at / 64] = 0;
    }
    if (pool->generations) pool->generations[index] = 1;
    if (pool->ages) be_alone(pool, index);
    show_pool_bounds(pool);
    return index;
}

/* Is a slot left besides the headroom? The pool grows in order to have both. */
static bool has_more_than_headroom(kolk_pool *pool) {
    uint64_t needed = (uint64_t)pool->desc.headroom + 1, available = kolk_pool_available(pool);
    return available >= needed || kolk_pool_grow(pool, pool->capacity + (needed - available));
}

/* A slot that was to wait longer, for want of any other; KOLK_NO_SLOT: there is none of these either. */
static uint32_t take_withheld(kolk_pool *pool) {
    uint32_t index = kolk_pool_take_quarantined(pool);
    return index != KOLK_NO_SLOT ? index : kolk_pool_take_worn(pool);
}

static bool take_slot(kolk_pool *pool, uint32_t *index, bool urgent) {
    if (pool->desc.headroom && !urgent && !has_more_than_headroom(pool)) return false;
    bool fresh_first = pool->desc.reuse == KOLK_REUSE_FIFO && pool->fresh < pool->capacity;
    if (!fresh_first && take_free(pool, index)) return true;
    if (pool->fresh == pool->capacity && !kolk_pool_grow(pool, (uint64_t)pool->capacity + 1))
        return (*index = take_withheld(pool)) != KOLK_NO_SLOT;
    *index = take_fresh_slot(pool);
    return true;
}

/* The debug mode makes a slot ready for a life: an object's bytes, or NULL if malloc has none. */
static void *prepare_slot(kolk_pool *pool, uint32_t index, const void *site) {
    KOLK_ASSERT(pool->debug);
    void *object = pool_slot_at(pool, index);
    (void)kolk_is_home(pool, pool->number, pool->desc.name, site);
    if (!kolk_debug_is_intact(pool->debug, index, object, false)) {
        put_free(pool, index); /* the handler may longjmp */
        kolk_pool_verify(pool, index, site);
        kolk_pool_take_this(pool, index);
    }
    return kolk_debug_prepare(pool->debug, index, object);
}

/* Setup and reset run while their slot is in no place (I3 broken), so an alloc of theirs must not ask on_full, which
 * may clear the pool. */
static bool run_setup(kolk_pool *pool, void *object) {
    uint8_t in_hook = pool->in_hook;
    pool->in_hook = true;
    bool done = pool->desc.setup(object, pool->desc.context);
    pool->in_hook = in_hook;
    return done;
}

/* Begins the life of an object in a slot that is in no place now; NULL if its setup fails. */
static void *issue_slot(kolk_pool *pool, uint32_t index, const void *site) {
    KOLK_ASSERT(index < pool->fresh && !kolk_bits_get(pool->live, index));
    kolk_debug *debug = pool_debug_of(pool);
    void *object = debug ? prepare_slot(pool, index, site) : plain_slot_at(pool, index);
    bool none = debug && !object; /* malloc has none */
    if (none || (pool->ready && !kolk_bits_get(pool->ready, index))) {
        if (none || (pool->desc.setup && !run_setup(pool, object))) {
            put_free(pool, index);
            pool->failed++;
            return NULL;
        }
        kolk_bits_set(pool->ready, index);
    }
    kolk_bits_set(pool->live, index);
    if (pool->ages) become_newest(pool, index);
    if (debug) kolk_debug_begin_life(debug, index, object, site);
    if (keeps_peak(pool) && kolk_pool_count(pool) > pool->peak) {
        pool->peak = kolk_pool_count(pool);
        show_pool_bounds(pool);
    }
    return object;
}

/* Is there a hook to ask? An overflow pool may have no cost. */
static bool may_ask_for_room(const kolk_pool *pool, alloc_request how) {
    return !pool->in_hook && !how.quiet && (how.cost ? pool->desc.cost != NULL : pool->desc.on_full != NULL);
}

static void *alloc_any(kolk_pool *pool, alloc_request how, const void *site);

/* An alloc that has found no slot, or is to fail; once more after room was made. */
static KOLK_NOINLINE void *alloc_full(kolk_pool *pool, alloc_request how, bool fails, const void *site) {
    alloc_grant has = {.urgent = how.urgent, .fails = fails};
    uint32_t index;
    do {
        alloc_request there = how;
        there.looked = how.quiet; /* quiet: its on_low might evict what alloc_n has just given */
        void *object = pool->desc.overflow ? alloc_any(pool->desc.overflow, there, site) : NULL;
        if (object) return object;
        has.again = false;
        if (may_ask_for_room(pool, how)) has = kolk_pool_make_room(pool, how, has, site);
        if (!has.again) {
            pool->failed++;
            PROBE2(full, pool_name_of(pool), pool->capacity);
            return NULL;
        }
        how.quiet = true;
    } while (has.fails || !take_slot(pool, &index, has.urgent));
    return issue_slot(pool, index, site);
}

static KOLK_NOINLINE void *alloc_any(kolk_pool *pool, alloc_request how, const void *site) {
    uint32_t index;
    if (pool->desc.on_low && !how.looked) kolk_pool_look_at_low_water(pool, 1, site);
    bool fails = pool_debug_of(pool) && kolk_debug_fails(pool_debug_of(pool));
    if (fails || !take_slot(pool, &index, how.urgent)) return alloc_full(pool, how, fails, site);
    return issue_slot(pool, index, site);
}

/* FIFO and LOWEST, where no option looks after what is left. */
static KOLK_NOINLINE void *alloc_waiting(kolk_pool *pool, const void *site) {
    if (pool->held <= pool->held_floor) return alloc_any(pool, (alloc_request){0}, site);
    uint32_t index = take_waiting(pool);
    KOLK_ASSERT(index < pool->fresh && !kolk_bits_get(pool->live, index));
    kolk_bits_set(pool->live, index);
    return plain_slot_at(pool, index);
}

KOLK_NOINLINE void *kolk_pool_alloc_slow(kolk_pool *pool) {
    kolk_slot *top = pool->top;
    if ((uintptr_t)top <= (uintptr_t)pool->age_floor) return alloc_waiting(pool, SITE);
    uint32_t index = top[-1].index; /* as the fast path, and an age */
    KOLK_ASSERT(top > pool->stack && index < pool->fresh && !kolk_bits_get(pool->live, index));
    pool->top = top - 1;
    kolk_bits_set(pool->live, index);
    become_newest(pool, index);
    return plain_slot_at(pool, index);
}

KOLK_NOINLINE void *kolk_pool_alloc_urgent(kolk_pool *pool) {
    return alloc_any(pool, (alloc_request){.urgent = true}, SITE);
}

KOLK_NOINLINE void *kolk_pool_alloc_over(kolk_pool *pool, double cost) {
    if (!pool->desc.cost) {
        kolk_fail(kolk_pool_failure(pool, KOLK_COST_MISSING, KOLK_NO_SLOT, SITE), "alloc_over needs .cost");
        return NULL;
    }
    return alloc_any(pool, (alloc_request){.cost = &cost}, SITE);
}

/* As kolk_pool_alloc, for a caller at `site`. */
static void *alloc_by(kolk_pool *pool, alloc_request how, const void *site) {
    bool fast = (uintptr_t)pool->top > (uintptr_t)pool->floor;
    return fast ? kolk_pool_alloc(pool) : alloc_any(pool, how, site);
}

KOLK_NOINLINE void *kolk_pool_alloc_zeroed(kolk_pool *pool) {
    void *object = alloc_by(pool, (alloc_request){0}, SITE);
    if (object) memset(object, 0, pool->desc.object_size);
    return object;
}

KOLK_NOINLINE uint32_t kolk_pool_alloc_n(kolk_pool *pool, void **objects, uint32_t n) {
    alloc_request first = {.looked = true},
                  more = {.looked = true, .quiet = true}; /* a hook might evict what this call has just given */
    uint32_t count = 0;
    if (pool->desc.on_low && n) kolk_pool_look_at_low_water(pool, n, SITE);
    while (count < n && (objects[count] = alloc_by(pool, count ? more : first, SITE))) count++;
    kolk_tools_wrote(objects, count * sizeof *objects);
    return count;
}

KOLK_NOINLINE void *kolk_pool_alloc_at(kolk_pool *pool, kolk_handle handle) {
    uint32_t index = kolk_handle_index(handle, pool->tag);
    uint32_t generation = kolk_handle_generation(handle);
    if (!pool->generations || index >= pool->desc.max_capacity) return NULL;
    if (generation == 0 || generation > KOLK_GENERATION_MAX) return NULL;
    if (pool->desc.on_low) kolk_pool_look_at_low_water(pool, 1, SITE);
    if (index >= pool->capacity && !kolk_pool_grow(pool, (uint64_t)index + 1)) {
        pool->failed++;
        return NULL;
    }
    if (index < pool->fresh) {
        if (kolk_bits_get(pool->live, index) || !kolk_pool_take_this(pool, index)) return NULL;
    } else {
        uint32_t first = pool->fresh, gap = index - first;
        while (take_fresh_slot(pool) != index) {}
        for (uint32_t n = 0; n < gap; n++) /* so that the lowest of them is used first */
            put_free(pool, pool->desc.reuse == KOLK_REUSE_LIFO ? index - 1 - n : first + n);
    }
    void *object = issue_slot(pool, index, SITE);
    if (!object) return NULL;
    pool->generations[index] = generation;
    if (index >= pool->peak) pool->peak = index + 1;
    show_pool_bounds(pool);
    return object;
}
