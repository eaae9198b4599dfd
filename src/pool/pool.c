/* pool.c: the core pool.
 *
 *     slots        | 0 | 1 | 2 | ......... | fresh | ........ | capacity | (reserved, not committed) | max_capacity |
 *     live         1 bit a slot    the truth about every slot
 *     generations  32 bits a slot  of the life that is or comes next; ends in every handle
 *     stack        32 bits a slot  LIFO: indices of free slots; FIFO: the same array as a ring; LOWEST has holes
 *                                  instead: 1 bit a free slot, with levels of summary bits above (bits.h)
 *
 * Nothing of this is inside a slot, so a stray write through a dangling pointer cannot corrupt the pool, alloc touches
 * no cold object, and the free order of a million slots needs no set-up: `fresh` separates the slots that were once
 * handed out from those that never were, and only ever advances. It gives an init that touches nothing, metadata that
 * is written for the first time as it passes (the caller's memory may be dirty), the peak, and a tight bound for
 * pointers.
 *
 * The fast paths (pool.inl) have a branch for one option, generations or none, and for no other. They read three
 * bounds, and a pool whose option needs more than they do is shown bounds that always lead here:
 *     floor       alloc takes from the stack what lies above it
 *     free_bound  free pushes what lies below it
 *     bound       get, is_live, index, at know what lies below it
 * LIFO is shown the truth (stack, fresh, fresh); FIFO and LOWEST (the end of memory, 0, fresh). An option raises the
 * floor (setup, teardown, ages) or lowers free_bound (reset) alone. Headroom and low_water raise the floor as far as
 * never-issued slots no longer cover them: the last entries of the stack are taken here, where they are looked after. So
 * does a peak that is counted, as far as it would rise. age_floor is the floor of pools with ages, whose alloc does a
 * little more, in kolk_pool_alloc_slow; held_floor is that of FIFO and LOWEST, in free slots: above it, they too look after
 * nothing else.
 * Pools in debug mode are shown (end, 0, 0), since their stride may not be the one that typed code knows, and since under tools
 * that watch malloc their objects are not in slots at all (debug_bypass.c).
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
 *     I9  with ages, the circle through ages[0] is closed in both directions and has no slot twice; a slot that is not in
 *         it is its own neighbour; dead ones leave it when they are passed or used again, so that free has nothing to do
 * All time bounds are those of pool.h. Two things come from elsewhere: exact division (base.inl) and the advancing mark
 * instead of a free list linked at creation (PostgreSQL, slab.c, 2017 on). */
#include "pool_inside.h"

#include "../core/begin.h"
#include "../core/fail.h"
#include "../core/handle.h"
#include "../os/memory.h"
#include "../diag/probes.h"
#include "../diag/tools.h"

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

/* ---- Life of a pool -------------------------------------------------------------------------------------------- */

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

kolk_status kolk_pool_init_type(kolk_pool *pool, const kolk_pool_desc *given, size_t type_size, size_t type_align,
                                size_t pool_size, uint32_t abi) {
    /* At exit the registry looks only at pools that have something to say: others' storage may be gone. */
    static const kolk_kind kind = {list_pool_stats, NULL, pool_enter_scene};
    static const kolk_kind kind_with_sites = {list_pool_stats, list_pool_leaks, pool_enter_scene};
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

void kolk_pool_tear_down(kolk_pool *pool, uint64_t from, uint64_t end) {
    if (!pool->ready) return;
    for (uint64_t i = from; (i = kolk_bits_find(pool->ready, true, i, end)) < end; i++) {
        kolk_bits_clear(pool->ready, i);
        if (pool->desc.teardown) pool->desc.teardown(pool_slot_at(pool, i), pool->desc.context);
    }
}

static void clear_pool(kolk_pool *pool, bool ends, const void *site);

/* The debug mode's proof of a slot's zones and fill. */
static void verify(kolk_pool *pool, uint32_t index, const void *site) {
    uint8_t in_hook = pool->in_hook;
    pool->in_hook = false; /* the handler may longjmp */
    kolk_debug_verify(pool->debug, index, pool_slot_at(pool, index), kolk_bits_get(pool->live, index),
                      kolk_pool_failure(pool, KOLK_OK, index, site));
    pool->in_hook = in_hook;
}

void kolk_pool_verify_all(kolk_pool *pool, const void *site) {
    for (uint32_t i = 0; pool_debug_of(pool) && i < pool->fresh; i++) verify(pool, i, site);
}

void kolk_pool_deinit(kolk_pool *pool) {
    const void *site = SITE;
    kolk_pool_verify_all(pool, site); /* whose handler may longjmp: nothing has changed */
    if (pool->debug_flags & KOLK_DEBUG_SITES) list_pool_leaks(pool);
    kolk_registry_remove(pool->number);
    pool->desc.max_capacity = pool->capacity; /* no growth for a reset hook that always allocates */
    if (pool->desc.reset || pool_debug_of(pool)) clear_pool(pool, true, site);
    kolk_pool_tear_down(pool, 0, pool->fresh);
    kolk_pool_unmake(pool);
}

/* ---- Free slots: where they are, and in which order they come back (I3) ------------------------------------------
 * `inline` here and below is worth a fifth of the time of FIFO and LOWEST. */

static KOLK_WITHIN void put_free(kolk_pool *pool, uint32_t index) {
    if (pool->desc.reuse == KOLK_REUSE_LIFO) {
        (pool->top++)->index = index;
        return;
    }
    if (pool->desc.reuse == KOLK_REUSE_FIFO) {
        queue_at(pool, waiting(pool))->index = index;
    } else {
        kolk_levels_set(pool->holes, pool->levels, index);
    }
    pool->held++;
}

/* Of FIFO and LOWEST, which must have one. */
static KOLK_WITHIN uint32_t take_waiting(kolk_pool *pool) {
    pool->held--;
    if (pool->desc.reuse == KOLK_REUSE_LOWEST) return (uint32_t)kolk_levels_take_lowest(pool->holes, pool->levels);
    uint32_t first = pool->first;
    pool->first = first + 1 < pool->capacity ? first + 1 : 0;
    return pool->stack[first].index;
}

static bool take_free(kolk_pool *pool, uint32_t *index) {
    if (pool->desc.reuse == KOLK_REUSE_LIFO) {
        if (pool->top == pool->stack) return false;
        *index = (--pool->top)->index;
        return true;
    }
    if (waiting(pool) == 0) return false;
    *index = take_waiting(pool);
    return true;
}

/* Worn-out slots: a list through generations[], which mean nothing there; a dead slot's are not looked at. */
static void put_worn(kolk_pool *pool, uint32_t index) {
    if (pool->worn.count == 0)
        pool->worn.first = index;
    else
        pool->generations[pool->worn.last] = index;
    pool->worn.last = index;
    pool->worn.count++;
    pool->held++;
    show_pool_bounds(pool);
}

/* Takes a slot out of the list, behind the one `before` it (KOLK_NO_SLOT: it is the first); its generations start anew. */
static void recycle(kolk_pool *pool, uint32_t before, uint32_t index) {
    if (before == KOLK_NO_SLOT)
        pool->worn.first = pool->generations[index];
    else
        pool->generations[before] = pool->generations[index];
    if (pool->worn.last == index) pool->worn.last = before;
    pool->generations[index] = 1;
    pool->worn.count--;
    pool->held--;
    pool->worn.recycled++;
    show_pool_bounds(pool);
}

static bool take_worn(kolk_pool *pool, uint32_t *index) {
    if (is_strict(pool) || pool->worn.count == 0) return false;
    *index = pool->worn.first;
    recycle(pool, KOLK_NO_SLOT, *index);
    return true;
}

/* The first slot that was never handed out; its metadata is written for the first time. */
static uint32_t take_fresh_slot(kolk_pool *pool) {
    uint32_t index = pool->fresh++;
    if (index % 64 == 0) {
        pool->live[index / 64] = 0;
        if (pool->ready) pool->ready[index / 64] = 0;
    }
    uint64_t at = index;
    for (unsigned k = 0; k < pool->levels && at % 64 == 0; k++, at /= 64) pool->holes[k][at / 64] = 0;
    if (pool->generations) pool->generations[index] = 1;
    if (pool->ages) be_alone(pool, index);
    show_pool_bounds(pool);
    return index;
}

/* The debug mode's quarantine: the slots that were freed last wait there. */
static uint32_t leave_pool_quarantine(kolk_pool *pool) {
    uint32_t index = *kolk_debug_ring(pool->debug, 0);
    kolk_debug_ring_advance(pool->debug);
    pool->quarantined--;
    pool->held--;
    return index;
}

static bool take_quarantined(kolk_pool *pool, uint32_t *index) {
    if (pool->quarantined == 0) return false;
    *index = leave_pool_quarantine(pool);
    return true;
}

static void put_quarantined(kolk_pool *pool, uint32_t index) {
    if (pool->quarantined == kolk_debug_quarantine(pool->debug)) put_free(pool, leave_pool_quarantine(pool));
    *kolk_debug_ring(pool->debug, pool->quarantined++) = index;
    pool->held++;
}

static void mark(kolk_pool *pool, uint32_t index, bool live) {
    if (live)
        kolk_bits_set(pool->live, index);
    else
        kolk_bits_clear(pool->live, index);
}

/* Lets free slots that must not be used yet pass for live ones, or ends that (I1, I2 broken between). */
static void mark_withheld(kolk_pool *pool, bool live) {
    uint32_t worn = pool->worn.first;
    for (uint32_t n = 0; n < pool->worn.count; n++, worn = pool->generations[worn]) mark(pool, worn, live);
    for (uint32_t n = 0; n < pool->quarantined; n++) mark(pool, *kolk_debug_ring(pool->debug, n), live);
}

/* Rebuilds the order from the live bits, lowest first. Holes that are there already stay. */
void kolk_pool_sort_free(kolk_pool *pool) {
    mark_withheld(pool, true);
    pool->top = pool->stack;
    pool->held = pool->worn.count + pool->quarantined;
    if (pool->desc.reuse == KOLK_REUSE_LIFO) {
        for (uint32_t i = pool->fresh; i-- > 0;)
            if (!kolk_bits_get(pool->live, i)) put_free(pool, i);
    } else {
        for (uint64_t i = 0; (i = kolk_bits_find(pool->live, false, i, pool->fresh)) < pool->fresh; i++)
            put_free(pool, (uint32_t)i);
    }
    mark_withheld(pool, false);
}

/* Closes the gap that this slot leaves in the array of LIFO or FIFO; false if it is not there. */
static bool take_queued(kolk_pool *pool, uint32_t index) {
    uint32_t length = queued(pool), n = 0;
    while (n < length && queue_at(pool, n)->index != index) n++;
    if (n == length) return false;
    for (; n + 1 < length; n++) *queue_at(pool, n) = *queue_at(pool, n + 1);
    if (pool->desc.reuse == KOLK_REUSE_LIFO)
        pool->top--;
    else
        pool->held--;
    return true;
}

static bool take_this_quarantined(kolk_pool *pool, uint32_t index) {
    uint32_t n = 0;
    while (n < pool->quarantined && *kolk_debug_ring(pool->debug, n) != index) n++;
    if (n == pool->quarantined) return false;
    for (; n > 0; n--) *kolk_debug_ring(pool->debug, n) = *kolk_debug_ring(pool->debug, n - 1);
    leave_pool_quarantine(pool);
    return true;
}

/* Takes this free slot below fresh out of its place; false if it is worn out for ever. */
static bool take_this(kolk_pool *pool, uint32_t index) {
    if (pool->desc.reuse == KOLK_REUSE_LOWEST && kolk_bits_get(pool->holes[0], index)) {
        kolk_levels_clear(pool->holes, pool->levels, index);
        pool->held--;
        return true;
    }
    if (take_queued(pool, index) || take_this_quarantined(pool, index)) return true;
    if (is_strict(pool)) return false;
    uint32_t before = KOLK_NO_SLOT, worn = pool->worn.first, n = 0;
    for (; n < pool->worn.count && worn != index; n++, worn = pool->generations[worn]) before = worn;
    if (n == pool->worn.count) return false; /* it is dying: its reset hook asked */
    recycle(pool, before, index);
    return true;
}

/* ---- Objects --------------------------------------------------------------------------------------------------- */

/* Is a slot left besides the headroom? The pool grows in order to have both. */
static bool has_more_than_headroom(kolk_pool *pool) {
    uint64_t needed = (uint64_t)pool->desc.headroom + 1, available = kolk_pool_available(pool);
    return available >= needed || kolk_pool_grow(pool, pool->capacity + (needed - available));
}

static bool take_slot(kolk_pool *pool, uint32_t *index, bool urgent) {
    if (pool->desc.headroom && !urgent && !has_more_than_headroom(pool)) return false;
    bool fresh_first = pool->desc.reuse == KOLK_REUSE_FIFO && pool->fresh < pool->capacity;
    if (!fresh_first && take_free(pool, index)) return true;
    if (pool->fresh == pool->capacity && !kolk_pool_grow(pool, (uint64_t)pool->capacity + 1))
        return take_quarantined(pool, index) || take_worn(pool, index);
    *index = take_fresh_slot(pool);
    return true;
}

/* The debug mode makes a slot ready for a life: an object's bytes, or NULL if malloc has none. */
static void *dress(kolk_pool *pool, uint32_t index, const void *site) {
    void *object = pool_slot_at(pool, index);
    if (!kolk_debug_is_intact(pool->debug, index, object, false)) {
        put_free(pool, index); /* the handler may longjmp */
        verify(pool, index, site);
        take_this(pool, index);
    }
    return kolk_debug_dress(pool->debug, index, object);
}

/* Setup and reset run while their slot is in no place (I3 broken), so an alloc of theirs must not ask on_full, which may
 * clear the pool. */
static bool run_setup(kolk_pool *pool, void *object) {
    uint8_t in_hook = pool->in_hook;
    pool->in_hook = true;
    bool done = pool->desc.setup(object, pool->desc.context);
    pool->in_hook = in_hook;
    return done;
}

static void run_reset(kolk_pool *pool, void *object) {
    uint8_t in_hook = pool->in_hook;
    pool->in_hook = true;
    pool->desc.reset(object, pool->desc.context);
    pool->in_hook = in_hook;
}

/* Begins the life of an object in a slot that is in no place now; NULL if its setup fails. */
static void *issue_slot(kolk_pool *pool, uint32_t index, const void *site) {
    kolk_debug *debug = pool_debug_of(pool);
    void *object = debug ? dress(pool, index, site) : plain_slot_at(pool, index);
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

/* What kolk_pool_trap_full does; alloc calls it directly, to tell where it was called from. */
static void trap_full(kolk_pool *pool, const void *site) {
    uint64_t capacity = pool->capacity, worn = pool->worn.count, headroom = pool->desc.headroom,
             count = kolk_pool_count(pool);
    kolk_failure full = kolk_pool_failure(pool, KOLK_FULL, KOLK_NO_SLOT, site);
    pool->in_hook = false; /* the handler may longjmp */
    if (worn)
        kolk_fail(full, "full: %u of %u slots are worn out: raise .capacity, or take KOLK_GENERATIONS_RECYCLE", worn,
                  capacity);
    else if ((pool->debug_flags & KOLK_DEBUG_FAIL) && kolk_pool_available(pool) > headroom)
        kolk_fail(full, "full: KOLK_FAIL says so; %u of %u slots are in use", count, capacity);
    else if (headroom && kolk_pool_available(pool))
        kolk_fail(full, "full: of %u slots, the last %u are for urgent allocations only: raise .capacity", capacity,
                  headroom);
    else if (pool->capacity < pool->desc.max_capacity)
        kolk_fail(full, "full: all %u slots are in use, and the system gives no memory for more", capacity);
    else
        kolk_fail(full, "full: all %u slots are in use: raise .capacity, or .max_capacity to let the pool grow",
                  capacity);
}

/* Calls a hook for the full or nearly full pool; allocs of its own don't ask for another. */
static void call_hook(kolk_pool *pool, void (*hook)(kolk_pool *pool, void *context), const void *site) {
    pool->in_hook = true;
    if (hook == kolk_pool_trap_full)
        trap_full(pool, site);
    else
        hook(pool, pool->desc.context);
    pool->in_hook = false;
}

/* Slots that are left, of all that the pool may grow to. */
static uint64_t slots_left(const kolk_pool *pool) {
    return (uint64_t)pool->desc.max_capacity - pool->capacity + kolk_pool_available(pool);
}

/* Tells of the last slots when an alloc of n is about to take the first of them. */
static KOLK_APART void look_at_low_water(kolk_pool *pool, uint32_t n, const void *site) {
    uint64_t enough = (uint64_t)pool->desc.low_water + n;
    if (slots_left(pool) > pool->desc.low_water) pool->low_reported = false;
    if (pool->low_reported || pool->in_hook || slots_left(pool) >= enough) return;
    pool->low_reported = true; /* a failure's handler may longjmp */
    call_hook(pool, pool->desc.on_low, site);
    pool->low_reported = slots_left(pool) < enough; /* it may have made room */
}

/* How an object is asked for, but for kolk_pool_alloc's own way, which is all 0. */
typedef struct wish {
    bool urgent;        /* from the headroom too */
    bool quiet;         /* no hook is asked */
    bool looked;        /* on_low has been asked */
    const double *cost; /* at the cost of a cheaper object, instead of asking on_full */
} wish;

static uint64_t count_with_overflow(const kolk_pool *pool) {
    uint64_t count = 0;
    for (; pool; pool = pool->desc.overflow) count += kolk_pool_count(pool);
    return count;
}

/* What an alloc may do. */
typedef struct chance {
    bool urgent; /* take from the headroom: it takes the place of what was freed for it */
    bool fails;  /* nothing, until room was made: a forced failure */
} chance;

/* Asks for room for an alloc that has found no slot; true if it is to try once more. */
static KOLK_APART bool ask_for_room(kolk_pool *pool, wish how, chance *has, const void *site) {
    if (pool->in_hook || how.quiet) return false;
    uint64_t before = count_with_overflow(pool);
    uint32_t count = kolk_pool_count(pool), capacity = pool->capacity;
    if (how.cost) {
        if (!pool->desc.cost || !kolk_pool_evict_below(pool, *how.cost))
            return false; /* an overflow pool may have none */
    } else {
        if (!pool->desc.on_full) return false;
        call_hook(pool, pool->desc.on_full, site);
    }
    uint64_t after = count_with_overflow(pool);
    if (after < before) pool->evictions += before - after;
    if (kolk_pool_count(pool) < count) has->urgent = true;
    if (after < before || pool->capacity > capacity) has->fails = false;
    return true;
}

static void *alloc_any(kolk_pool *pool, wish how, const void *site);

/* An alloc that has found no slot, or is to fail; once more after room was made. */
static KOLK_APART void *alloc_full(kolk_pool *pool, wish how, bool fails, const void *site) {
    chance has = {how.urgent, fails};
    uint32_t index;
    do {
        wish there = how;
        there.looked = how.quiet; /* its on_low has not, but might evict what alloc_n has just given */
        void *object = pool->desc.overflow ? alloc_any(pool->desc.overflow, there, site) : NULL;
        if (object) return object;
        if (!ask_for_room(pool, how, &has, site)) {
            pool->failed++;
            PROBE2(full, pool_name_of(pool), pool->capacity);
            return NULL;
        }
        how.quiet = true;
    } while (has.fails || !take_slot(pool, &index, has.urgent));
    return issue_slot(pool, index, site);
}

static KOLK_APART void *alloc_any(kolk_pool *pool, wish how, const void *site) {
    uint32_t index;
    if (pool->desc.on_low && !how.looked) look_at_low_water(pool, 1, site);
    bool fails = pool_debug_of(pool) && kolk_debug_fails(pool_debug_of(pool));
    if (fails || !take_slot(pool, &index, how.urgent)) return alloc_full(pool, how, fails, site);
    return issue_slot(pool, index, site);
}

/* FIFO and LOWEST, where no option looks after what is left. */
static KOLK_APART void *alloc_waiting(kolk_pool *pool, const void *site) {
    if (pool->held <= pool->held_floor) return alloc_any(pool, (wish){0}, site);
    uint32_t index = take_waiting(pool);
    kolk_bits_set(pool->live, index);
    return plain_slot_at(pool, index);
}

void *kolk_pool_alloc_slow(kolk_pool *pool) {
    kolk_slot *top = pool->top;
    if ((uintptr_t)top <= (uintptr_t)pool->age_floor) return alloc_waiting(pool, SITE);
    uint32_t index = top[-1].index; /* as the fast path, and an age */
    pool->top = top - 1;
    kolk_bits_set(pool->live, index);
    become_newest(pool, index);
    return plain_slot_at(pool, index);
}

void *kolk_pool_alloc_urgent(kolk_pool *pool) {
    return alloc_any(pool, (wish){.urgent = true}, SITE);
}

void *kolk_pool_alloc_over(kolk_pool *pool, double cost) {
    if (!pool->desc.cost) {
        kolk_fail(kolk_pool_failure(pool, KOLK_COST_MISSING, KOLK_NO_SLOT, SITE), "alloc_over needs .cost");
        return NULL;
    }
    return alloc_any(pool, (wish){.cost = &cost}, SITE);
}

/* As kolk_pool_alloc, for a caller at `site`. */
static void *alloc_by(kolk_pool *pool, wish how, const void *site) {
    bool fast = (uintptr_t)pool->top > (uintptr_t)pool->floor;
    return fast ? kolk_pool_alloc(pool) : alloc_any(pool, how, site);
}

void *kolk_pool_alloc_zeroed(kolk_pool *pool) {
    void *object = alloc_by(pool, (wish){0}, SITE);
    if (object) memset(object, 0, pool->desc.object_size);
    return object;
}

uint32_t kolk_pool_alloc_n(kolk_pool *pool, void **objects, uint32_t n) {
    wish first = {.looked = true},
         more = {.looked = true, .quiet = true}; /* a hook might evict what this call has just given */
    uint32_t count = 0;
    if (pool->desc.on_low && n) look_at_low_water(pool, n, SITE);
    while (count < n && (objects[count] = alloc_by(pool, count ? more : first, SITE))) count++;
    kolk_tools_wrote(objects, count * sizeof *objects);
    return count;
}

void *kolk_pool_alloc_at(kolk_pool *pool, kolk_handle handle) {
    uint32_t index = kolk_handle_index(handle, pool->tag);
    uint32_t generation = kolk_handle_generation(handle);
    if (!pool->generations || index >= pool->desc.max_capacity) return NULL;
    if (generation == 0 || generation > KOLK_GENERATION_MAX) return NULL;
    if (pool->desc.on_low) look_at_low_water(pool, 1, SITE);
    if (index >= pool->capacity && !kolk_pool_grow(pool, (uint64_t)index + 1)) {
        pool->failed++;
        return NULL;
    }
    if (index < pool->fresh) {
        if (kolk_bits_get(pool->live, index) || !take_this(pool, index)) return NULL;
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

/* Ends the life in a slot and its handles; until the caller has put the slot somewhere, it counts as alive (I1, I3
 * broken), so that a reset hook may free other objects. True if the slot is worn out. */
static KOLK_WITHIN bool end_pool_life(kolk_pool *pool, kolk_debug *debug, uint32_t index, void *object,
                                      const void *site) {
    kolk_bits_clear(pool->live, index);
    bool worn = false;
    if (pool->generations) {
        pool->generations[index] = (pool->generations[index] + 1) & KOLK_GENERATION_MAX;
        worn = pool->generations[index] == 0;
    }
    if (pool->desc.reset) run_reset(pool, object);
    if (debug) {
        kolk_debug_end_life(debug, index, site);
        kolk_debug_wipe(debug, index, object);
    }
    return worn;
}

static void free_any(kolk_pool *pool, void *object, const void *site);

/* What is not alive here may be of the overflow pool, which gives its memory back with its last object. */
static KOLK_APART void free_elsewhere(kolk_pool *pool, void *object, const void *site) {
    kolk_pool *other = kolk_pool_holder(pool->desc.overflow, object);
    if (!other) {
        kolk_pool_fail_object(pool, object, "free", KOLK_DOUBLE_FREE, site);
        return;
    }
    free_any(other, object, site);
    if (kolk_pool_count(other) == 0) kolk_pool_trim(other);
}

static KOLK_WITHIN void free_from(kolk_pool *pool, kolk_debug *debug, void *object, const void *site) {
    if (!object) return;
    uintptr_t found = debug ? pool_slot_of(pool, object) : kolk_pool_slot(pool, object);
    uint32_t index = (uint32_t)found;
    if (found >= pool->fresh || !kolk_bits_get(pool->live, index)) {
        free_elsewhere(pool, object, site);
        return;
    }
    if (debug) verify(pool, index, site);
    if (end_pool_life(pool, debug, index, object, site))
        put_worn(pool, index);
    else if (debug && kolk_debug_quarantine(debug))
        put_quarantined(pool, index);
    else
        put_free(pool, index);
}

static KOLK_APART void free_any(kolk_pool *pool, void *object, const void *site) {
    free_from(pool, pool_debug_of(pool), object, site);
}

void kolk_pool_free_slow(kolk_pool *pool, void *object) {
    if (KOLK_UNLIKELY(pool_debug_of(pool)))
        free_any(pool, object, SITE);
    else
        free_from(pool, NULL, object, SITE);
}

bool kolk_pool_free_handle(kolk_pool *pool, kolk_handle handle) {
    if (pool_debug_of(pool)) {
        void *object = kolk_pool_find(pool, handle, SITE);
        free_any(pool, object, SITE);
        return object != NULL;
    }
    void *object = kolk_pool_get(pool, handle);
    kolk_pool_free(pool, object);
    return object != NULL;
}

/* Ends the lives below the slot that is fresh now, and puts no slot but worn-out ones where an alloc would find it.
 * False: there were none. */
static bool end_lives(kolk_pool *pool, const void *site) {
    uint64_t end = pool->fresh; /* not what reset hooks allocate beyond it */
    bool some = false;
    for (uint64_t i = 0; (i = kolk_bits_find(pool->live, true, i, end)) < end; i++) {
        if (end_pool_life(pool, pool_debug_of(pool), (uint32_t)i, pool_slot_at(pool, i), site))
            put_worn(pool, (uint32_t)i);
        some = true;
    }
    return some;
}

/* If the pool `ends`, also what reset hooks allocate meanwhile; which ends with the free slots, as none is added. */
static void clear_pool(kolk_pool *pool, bool ends, const void *site) {
    kolk_pool_verify_all(pool, site);
    while (end_lives(pool, site) && ends) {}
    while (pool->quarantined) leave_pool_quarantine(pool); /* proven above; sort_free finds them */
    kolk_pool_sort_free(pool);
}

void kolk_pool_clear(kolk_pool *pool) {
    clear_pool(pool, false, SITE);
}

void kolk_pool_trap_full(kolk_pool *pool, void *context) {
    (void)context;
    trap_full(pool, SITE);
}
