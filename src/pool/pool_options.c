/* pool_options.c: pools with options: the rules of their descriptors, init, deinit and alloc. Alloc tries, in this
 * order: a free slot, a slot that was never used, growth, the quarantine, worn-out slots, the overflow pool, and the
 * hooks of a full pool. */
#include "pool_order.h"
#include "pool_rank.h"

#include "../core/fail.h"
#include "../core/handle.h"
#include "../core/probes.h"
#include "../core/tools.h"
#include "../core/begin.h"

/* Takes a slot that was never handed out, and writes its metadata for all options. */
static uint32_t take_fresh_with_options(kolk_pool *pool) {
    uint32_t index = take_fresh_slot(pool);
    if (index % 64 == 0) {
        if (!pool_debug_of(pool)) (void)kolk_is_home_(pool, pool->number, pool->name, NULL);
        if (pool->ready) pool->ready[index / 64] = 0;
        clear_holes_from(pool, index);
    }
    if (pool->ages) be_alone(pool, index);
    if (pool->ranks) be_unranked(pool, index);
    if (pool->pins) pool->pins[index] = 0;
    kolk_pool_show_all_bounds_(pool);
    return index;
}

/* Are n slots free beyond the headroom? If not, tries to grow the pool by as many slots as are missing. */
static KOLK_ALWAYS_INLINE_ bool has_more_than_headroom(kolk_pool *pool, uint32_t n) {
    uint64_t needed = (uint64_t)pool->headroom + n, available = kolk_pool_available(pool) - pool->held_back;
    return available >= needed || kolk_pool_grow_(pool, open_capacity(pool) + (needed - available));
}

/* As a last resort, takes a slot from quarantine, or a worn-out one. Returns KOLK_NO_SLOT_ if there is none. */
static KOLK_NOINLINE_ uint32_t take_withheld(kolk_pool *pool) {
    uint32_t index = kolk_pool_take_quarantined_(pool);
    if (index == KOLK_NO_SLOT_) index = kolk_pool_take_worn_(pool);
    kolk_pool_show_all_bounds_(pool);
    return index;
}

/* Does the slot that alloc would take next count towards the budget, perhaps again? Also true if alloc must grow the
 * pool, because growth takes bytes too. */
static bool next_slot_counts(kolk_pool *pool) {
    if (!KOLK_HOSTED || pool->counted == pool->capacity || pool->fresh < pool->counted) return true;
    if (!is_fresh_first(pool) && ready_slots(pool) > uncounted_slots(pool)) return true;
    return kolk_pool_grow_(pool, (uint64_t)pool->counted + 1);
}

static bool take_slot(kolk_pool *pool, uint32_t *index, bool urgent) {
    if (kolk_pool_count(pool) == pool->max_capacity) return false; /* it saves the search in vain */
    if (pool->headroom && !urgent && !has_more_than_headroom(pool, 1)) return false;
    bool counts = next_slot_counts(pool);
    bool some = counts ? !is_fresh_first(pool) : ready_slots(pool) > uncounted_slots(pool);
    if (some && take_free(pool, index)) return true;
    if (!counts) return (*index = take_withheld(pool)) != KOLK_NO_SLOT_;
    if (pool->fresh == open_capacity(pool) && !kolk_pool_grow_(pool, (uint64_t)pool->fresh + 1))
        return (*index = take_withheld(pool)) != KOLK_NO_SLOT_;
    *index = take_fresh_with_options(pool);
    return true;
}

/* Lets the debug mode prepare a slot for a life. Returns the object, or NULL if malloc fails. */
static void *prepare_slot(kolk_pool *pool, uint32_t index, const void *site) {
    KOLK_ASSERT_(pool->debug);
    void *object = pool_slot_at(pool, index);
    (void)kolk_is_home_(pool, pool->number, pool->name, site);
    if (!kolk_watch_->is_intact(pool->debug, index, object, false)) {
        put_free(pool, index); /* the handler may longjmp */
        kolk_pool_verify_(pool, index, site);
        kolk_pool_take_this_(pool, index);
    }
    return kolk_watch_->prepare(pool->debug, index, object);
}

/* Setup and reset run while their slot is in none of the places of I3. So allocs in these hooks must not call on_full,
 * which may clear the pool. */
static bool run_setup(kolk_pool *pool, uint32_t index, void *object) {
    kolk_away_ away;
    uint8_t before = enter_pool_hook(pool, HOOK_LIVES);
    go_away(pool, &away, index);
    bool done = pool->setup(object, pool->context);
    come_back(pool);
    leave_pool_hook(pool, before);
    return done;
}

/* Makes a slot ready for a life of this object, if the pool has setup or teardown. Returns false if setup fails. */
static inline bool set_up_slot(kolk_pool *pool, uint32_t index, void *object) {
    if (!pool->ready || kolk_bits_get_(pool->ready, index)) return true;
    if (pool->setup && !run_setup(pool, index, object)) return false;
    kolk_bits_set_(pool->ready, index);
    return true;
}

/* Begins a life in a slot that is ready and currently in no place. */
static inline void begin_pool_life(kolk_pool *pool, uint32_t index, const void *object, const void *site) {
    kolk_debug *debug = pool_debug_of(pool);
    set_alive(pool, index);
    enter_orders(pool, index);
    if (debug) {
        pool_look look = begin_pool_look(pool); /* the profiler */
        kolk_watch_->born(debug, index, object, site);
        end_pool_look(pool, &look);
    }
    if (keeps_peak(pool) && kolk_pool_count(pool) > pool->peak) {
        pool->peak = kolk_pool_count(pool);
        kolk_pool_show_all_bounds_(pool);
    }
}

void *kolk_pool_issue_(kolk_pool *pool, uint32_t index, const void *site) {
    KOLK_ASSERT_(index < pool->fresh && !kolk_pool_lives_(pool, index));
    kolk_debug *debug = pool_debug_of(pool);
    void *object = debug ? prepare_slot(pool, index, site) : plain_slot_at(pool, index);
    bool none = debug && !object; /* malloc has failed */
    if (none || !set_up_slot(pool, index, object)) {
        put_free(pool, index);
        pool->failed++;
        return NULL;
    }
    begin_pool_life(pool, index, object, site);
    return object;
}

/* Is there a hook to call? An overflow pool may lack `cost`. */
static bool may_ask_for_room(const kolk_pool *pool, alloc_request how) {
    return !pool->in_hook && !how.quiet && (how.cost ? pool->cost != NULL : pool->on_full != NULL);
}

static void *alloc_any(kolk_pool *pool, alloc_request how, const void *site);

/* Continues an alloc that has found no slot or must fail: tries the overflow pool, then the hook that may make room,
 * then a slot again. */
static KOLK_NOINLINE_ void *alloc_full(kolk_pool *pool, alloc_request how, bool fails, const void *site) {
    alloc_grant has = {.urgent = how.urgent, .fails = fails};
    uint32_t index;
    do {
        alloc_request there = how;
        there.looked = how.quiet; /* when quiet, skip its on_low, which might evict objects of this alloc_n */
        void *object = pool->overflow ? alloc_any(pool->overflow, there, site) : NULL;
        if (object) return object;
        has.again = false;
        if (may_ask_for_room(pool, how)) has = kolk_pool_make_room_(pool, how, has, site);
        if (has.ended) return NULL;
        if (has.object) return has.object;
        if (!has.again) return refuse(pool);
        how.quiet = true;
    } while (has.fails || !take_slot(pool, &index, has.urgent));
    return kolk_pool_issue_(pool, index, site);
}

/* Is a hook running in which the pool gives nothing? Reports that if the hook must not even ask. */
static bool bars_allocs(const kolk_pool *pool, const char *verb, const void *site) {
    if (pool->in_hook <= HOOK_LIVES) return false;
    (void)kolk_pool_is_barred_(pool, HOOK_FREES, verb, site);
    return true;
}

static KOLK_NOINLINE_ void *alloc_any(kolk_pool *pool, alloc_request how, const void *site) {
    begin_static_pool(pool);
    if (KOLK_UNLIKELY_(bars_allocs(pool, "alloc", site))) {
        pool->failed++;
        return NULL;
    }
    uint32_t index;
    if (pool->on_low && !how.looked) kolk_pool_look_at_low_water_(pool, 1);
    bool fails = pool_debug_of(pool) && kolk_debug_fails_(pool_debug_of(pool));
    if (fails || !take_slot(pool, &index, how.urgent)) return alloc_full(pool, how, fails, site);
    return kolk_pool_issue_(pool, index, site);
}

/* Is every slot alive that the pool can have, with nothing else to try than on_full? (`bound` is 0 if there are no
 * slots, in debug mode, and while an object is pinned.) */
static inline bool is_all_alive(const kolk_pool *pool) {
    bool all_alive = pool->bound == pool->max_capacity && pool->top == pool->stack && !pool->aside;
    return all_alive && pool->bound && !pool->overflow && !pool->on_low && !pool->in_hook;
}

/* A pool that is full for long, such as one of a game's effects, asks this for each object that it does not get. */
static bool is_full(const kolk_pool *pool) {
    return !pool->on_full && is_all_alive(pool);
}

/* Such a pool renews its oldest object for each alloc. This does the same as alloc_any and the hook evict_oldest, with
 * a tenth of their steps. Returns NULL if it does not apply. */
static inline void *renew_oldest(kolk_pool *pool) {
    if (pool->on_full != kolk_pool_evict_oldest || !is_all_alive(pool)) return NULL;
    uint32_t oldest = pool->ages[0].newer; /* it is alive, as all are; 0: all are protected */
    if (oldest == 0 || pool->on_evict || pool->reset) return NULL;
    if (!kolk_pool_begin_next_(pool, oldest - 1)) return NULL;
    pool->evictions++;
    return entered(pool, oldest - 1, plain_slot_at(pool, oldest - 1));
}

/* FIFO and LOWEST take a slot directly here, unless an option watches the free slots. */
static KOLK_NOINLINE_ void *alloc_listed(kolk_pool *pool, const void *site) {
    if (pool->aside <= pool->aside_floor)
        return is_full(pool) ? refuse(pool) : alloc_any(pool, (alloc_request){0}, site);
    uint32_t index = take_listed(pool);
    KOLK_ASSERT_(index < pool->fresh && !kolk_pool_lives_(pool, index));
    set_alive(pool, index);
    return plain_slot_at(pool, index);
}

KOLK_NOINLINE_ void *kolk_pool_alloc_urgent(kolk_pool *pool) {
    return alloc_any(pool, (alloc_request){.urgent = true}, SITE);
}

KOLK_NOINLINE_ void *kolk_pool_alloc_over(kolk_pool *pool, double cost) {
    if (!pool->cost) {
        kolk_fail_(kolk_pool_failure_(pool, KOLK_COST_MISSING, KOLK_NO_SLOT_, SITE), "alloc_over needs .full.cost");
        return NULL;
    }
    return alloc_any(pool, (alloc_request){.cost = &cost}, SITE);
}

/* Does kolk_pool_alloc for a caller at `site`. */
static void *alloc_by(kolk_pool *pool, alloc_request how, const void *site) {
    bool fast = (uintptr_t)pool->top > (uintptr_t)pool->floor;
    return fast ? kolk_pool_alloc(pool) : alloc_any(pool, how, site);
}

KOLK_NOINLINE_ uint32_t kolk_pool_alloc_n(kolk_pool *pool, void **objects, uint32_t n) {
    alloc_request first = {.looked = true},
                  more = {.looked = true, .quiet = true}; /* a hook might evict objects that this call allocated */
    uint32_t count = 0;
    if (pool->on_low && n) kolk_pool_look_at_low_water_(pool, n);
    while (count < n && (objects[count] = alloc_by(pool, count ? more : first, SITE))) count++;
    kolk_tools_wrote_(objects, count * sizeof *objects);
    return count;
}

/* ---- Runs: neighbouring slots of a LOWEST pool ------------------------------------------------------------------- */

/* Returns the lowest slot from which on n slots are free, or KOLK_NO_SLOT_. The pool grows if it needs to. */
static uint32_t find_run(kolk_pool *pool, uint32_t n) {
    uint64_t fresh = pool->fresh, first, end = 0;
    do { /* the run that reaches fresh goes on in the slots that were never used */
        first = kolk_levels_find_(pool->holes, end, fresh);
        end = kolk_bits_find_(pool->holes[0], false, first, first + n < fresh ? first + n : fresh);
    } while (end - first < n && end < fresh);
    bool fits = first + n <= pool->counted || kolk_pool_grow_(pool, first + n);
    return fits ? (uint32_t)first : KOLK_NO_SLOT_;
}

/* The same. As a last resort, all slots leave the quarantine. (In debug mode, no bound depends on it.) */
static uint32_t find_run_or_release(kolk_pool *pool, uint32_t n) {
    uint32_t first = find_run(pool, n), index;
    if (first != KOLK_NO_SLOT_ || pool->quarantined == 0) return first;
    while ((index = kolk_pool_take_quarantined_(pool)) != KOLK_NO_SLOT_) put_free(pool, index);
    return find_run(pool, n);
}

static void take_run(kolk_pool *pool, uint32_t first, uint32_t n) {
    for (uint32_t slot = first; slot != first + n; slot++) {
        if (slot == pool->fresh) {
            take_fresh_with_options(pool);
            continue;
        }
        kolk_levels_clear_(pool->holes, pool->levels, slot);
        pool->aside--;
    }
}

/* Makes the slots of a run, which are in no place, ready for a life. Returns false if setup or malloc fails. */
static bool prepare_run(kolk_pool *pool, uint32_t first, uint32_t n) {
    kolk_debug *debug = pool_debug_of(pool);
    for (uint32_t slot = first; slot != first + n; slot++) {
        void *object = pool_slot_at(pool, slot);
        if (debug && !(object = kolk_watch_->prepare(debug, slot, object))) return false;
        if (!set_up_slot(pool, slot, object)) return false;
    }
    return true;
}

/* All hooks and reports come before the first life, because a setup may fail, and a failure handler may longjmp. */
static void *alloc_run(kolk_pool *pool, uint32_t n, const void *site) {
    if (bars_allocs(pool, "alloc_run", site)) return NULL;
    kolk_debug *debug = pool_debug_of(pool);
    if (n > 1 && pool_has(pool, KOLK_DEBUG_GUARD | KOLK_DEBUG_BYPASS)) return NULL; /* objects are not neighbours */
    if (pool->on_low) kolk_pool_look_at_low_water_(pool, n);
    if (debug && kolk_debug_fails_(debug)) return NULL;
    if (pool->headroom && !has_more_than_headroom(pool, n)) return NULL;
    uint32_t first = find_run_or_release(pool, n);
    if (first == KOLK_NO_SLOT_) return NULL;
    if (debug) (void)kolk_is_home_(pool, pool->number, pool->name, site);
    for (uint32_t slot = first; debug && slot != first + n && slot < pool->fresh; slot++)
        kolk_pool_verify_(pool, slot, site);
    take_run(pool, first, n);
    bool ready = prepare_run(pool, first, n);
    for (uint32_t slot = first; slot != first + n; slot++) {
        if (ready)
            begin_pool_life(pool, slot, pool_slot_at(pool, slot), site);
        else
            put_free(pool, slot);
    }
    return ready ? pool_slot_at(pool, first) : NULL;
}

/* In a pool without slots, such as one that is all zero, the order does not matter. */
KOLK_NOINLINE_ void *kolk_pool_alloc_run(kolk_pool *pool, uint32_t n) {
    if (pool->reuse != KOLK_REUSE_LOWEST && pool->max_capacity) {
        kolk_fail_(kolk_pool_failure_(pool, KOLK_LOWEST_MISSING, KOLK_NO_SLOT_, SITE),
                   "alloc_run needs .reuse = KOLK_REUSE_LOWEST");
        return NULL;
    }
    void *first = n ? alloc_run(pool, n, SITE) : NULL;
    if (n && !first) pool->failed++;
    return first;
}

/* ---- One slot, by its index or handle ---------------------------------------------------------------------------- */

/* Allocates this slot. `generation`: 0 for the slot's next one. */
static void *alloc_slot(kolk_pool *pool, uint32_t index, uint32_t generation, const void *site) {
    if (index >= pool->max_capacity) return NULL;
    if (pool->on_low) kolk_pool_look_at_low_water_(pool, 1);
    bool there = index < pool->counted && index < open_capacity(pool);
    if (!there && !kolk_pool_grow_(pool, (uint64_t)index + 1)) {
        pool->failed++;
        return NULL;
    }
    if (index < pool->fresh) {
        if (kolk_pool_lives_(pool, index) || is_kept(pool, index) || !kolk_pool_take_this_(pool, index)) return NULL;
        if (pool->unlisted) pool->options = kolk_pool_options_of_(pool); /* these know unlisted places */
        kolk_pool_show_all_bounds_(pool);
    } else {
        uint32_t first = pool->fresh, gap = index - first;
        while (take_fresh_with_options(pool) != index) {}
        for (uint32_t n = 0; n < gap; n++) /* so that the lowest slot is used first */
            put_free(pool, pool->reuse == KOLK_REUSE_LIFO ? index - 1 - n : first + n);
    }
    void *object = kolk_pool_issue_(pool, index, site);
    if (!object) return NULL;
    if (generation) set_generation(pool, index, generation);
    if (index >= pool->peak) pool->peak = index + 1;
    kolk_pool_show_all_bounds_(pool);
    return object;
}

KOLK_NOINLINE_ void *kolk_pool_alloc_at(kolk_pool *pool, kolk_handle handle) {
    begin_static_pool(pool);
    if (bars_allocs(pool, "alloc_at", SITE)) return NULL;
    uint32_t generation = kolk_handle_generation_(handle);
    if (!pool->high || generation == 0 || generation > KOLK_GENERATION_MAX) return NULL;
    return alloc_slot(pool, kolk_handle_index_(handle, pool->tag), generation, SITE);
}

KOLK_NOINLINE_ void *kolk_pool_alloc_at_index(kolk_pool *pool, uint32_t index) {
    begin_static_pool(pool);
    return bars_allocs(pool, "alloc_at_index", SITE) ? NULL : alloc_slot(pool, index, 0, SITE);
}

KOLK_NOINLINE_ void *kolk_pool_alloc_in(kolk_pool *pool, uint32_t first, uint32_t n) {
    begin_static_pool(pool);
    if (bars_allocs(pool, "alloc_in", SITE)) return NULL;
    if (pool->on_low) kolk_pool_look_at_low_water_(pool, 1); /* first, because its allocs may fail and count */
    uint64_t end = (uint64_t)first + n, failed = pool->failed;
    if (end > pool->max_capacity) end = pool->max_capacity;
    for (uint64_t slot = first; slot < end && pool->failed == failed; slot++) {
        if (slot < pool->fresh) slot = kolk_pool_next_(pool, false, slot, end < pool->fresh ? end : pool->fresh);
        void *object = slot < end ? alloc_slot(pool, (uint32_t)slot, 0, SITE) : NULL;
        if (object) return object;
    }
    if (pool->failed == failed) pool->failed++;
    return NULL;
}

/* ---- Deinit ------------------------------------------------------------------------------------------------------ */

static bool end_options(kolk_pool *pool, const void *site) {
    if (pool->pinned) {
        uint32_t slot = 0;
        while (!is_pinned(pool, slot)) slot++;
        kolk_fail_(kolk_pool_failure_(pool, KOLK_PINNED, slot, site),
                   "deinit with pinned objects, the first in slot %u", (uint64_t)slot);
        return false;
    }
    kolk_pool_verify_all_(pool, site); /* first, because the handler may longjmp */
    if (pool_debug_of(pool)) kolk_watch_->leaks(pool->debug, pool->fresh);
    kolk_unlist_(pool->number);
    pool->number = 0;                    /* a hook may allocate */
    pool->max_capacity = pool->capacity; /* no growth, in case a reset hook always allocates */
    if (pool->reset || pool_debug_of(pool)) kolk_pool_clear_for_(pool, true, site);
    kolk_pool_tear_down_(pool, 0, pool->fresh);
    return true;
}

/* ---- Init -------------------------------------------------------------------------------------------------------- */

/* Could a handle of a pool with this descriptor pass for a handle of `pool`? A pool without slots has no handles. */
static bool shares_tag(const kolk_pool *pool, const kolk_pool_desc *desc) {
    uint32_t most = pool->max_capacity > desc->max_capacity ? pool->max_capacity : desc->max_capacity;
    bool has_handles = desc->max_capacity && desc->generations != KOLK_GENERATIONS_NONE;
    if (!has_handles || !pool->high) return false;
    return (uint64_t)(pool->tag ^ kolk_tag_bits_(desc->tag, desc->name)) >> kolk_index_bits_(most) == 0;
}

/* May a pool with this descriptor overflow into `pool` and its overflow pools? Makes a KOLK_POOL_STATIC first: until
 * then it has no tag. */
static bool can_overflow(kolk_pool *pool, const kolk_pool_desc *desc) {
    for (; pool; pool = pool->overflow) {
        begin_static_pool(pool);
        if (pool->object_size != desc->object_size || pool->object_align < desc->object_align) return false;
        if (shares_tag(pool, desc)) return false;
    }
    return true;
}

kolk_status kolk_pool_resolve_hooks_(kolk_pool_desc *desc) {
    kolk_pool_full *full = &desc->full;
    bool by_cost = full->on_full == kolk_pool_evict_cheapest || full->ranked;
    if (by_cost && !full->cost) return KOLK_COST_MISSING;
    if (full->on_full == kolk_pool_evict_oldest && !desc->ages) return KOLK_AGES_MISSING;
    if (full->low_water == 0) full->on_low = NULL;
    return full->headroom > desc->max_capacity ? KOLK_BAD_HEADROOM : KOLK_OK;
}

void kolk_pool_take_hooks_(kolk_pool *pool, const kolk_pool_desc *desc) {
    const kolk_pool_full *full = &desc->full;
    pool->headroom = full->headroom;
    pool->low_water = full->low_water;
    pool->on_full = full->on_full;
    pool->cost = full->cost;
    pool->ranked = full->ranked;
    pool->on_evict = full->on_evict;
    pool->overflow = full->overflow;
    pool->on_low = full->on_low;
    pool->setup = desc->life.setup;
    pool->reset = desc->life.reset;
    pool->teardown = desc->life.teardown;
    pool->context = desc->context;
}

static kolk_status resolve_options(kolk_pool_desc *desc, size_t type_size, size_t type_align) {
    if ((unsigned)desc->reuse > KOLK_REUSE_LOWEST) return KOLK_BAD_REUSE;
    if (desc->full.on_full == kolk_pool_evict_oldest) desc->ages = true;
    kolk_status status = kolk_pool_resolve_(desc, type_size, type_align);
    if (status == KOLK_OK) status = kolk_pool_resolve_hooks_(desc);
    if (status != KOLK_OK) return status;
    return can_overflow(desc->full.overflow, desc) ? KOLK_OK : KOLK_BAD_OVERFLOW;
}

size_t kolk_pool_memory_size(const kolk_pool_desc *desc) {
    if (!desc) return 0;
    kolk_pool_desc fixed = *desc;
    fixed.memory = NULL;
    fixed.memory_size = 0;
    fixed.max_capacity = 0;
    fixed.full.overflow = NULL;
    fixed.full.headroom = 0;
    if (resolve_options(&fixed, 0, 0) != KOLK_OK) return 0;
    return (size_t)kolk_pool_bytes_(&fixed, fixed.capacity, 8);
}

/* A pool with an order of births or costs takes a slot of its stack as the fast path does, and enters it. */
static void *alloc_with_orders(kolk_pool *pool, const void *site) {
    if (has_ordered_slot(pool)) return alloc_ordered(pool);
    void *renewed = KOLK_HOSTED ? renew_oldest(pool) : NULL; /* on devices, bytes of code matter more */
    return renewed ? renewed : alloc_listed(pool, site);
}

static void enter_in_orders(kolk_pool *pool, uint32_t slot) {
    enter_orders(pool, slot);
}

#define OPTIONS(ALLOC, ENTER)                                                                                          \
    {                                                                                                                  \
        resolve_options, kolk_pool_take_hooks_, ALLOC, ENTER, kolk_pool_issue_, kolk_pool_show_all_bounds_,            \
            kolk_pool_bar_, end_options, kolk_pool_free_rest_                                                          \
    }

const kolk_pool_options_ kolk_pool_all_options_[] = {OPTIONS(alloc_listed, NULL),
                                                     OPTIONS(alloc_with_orders, enter_in_orders)};

const kolk_pool_options_ *kolk_pool_options_of_(const kolk_pool *pool) {
    return &kolk_pool_all_options_[pool->ages || pool->ranks];
}

kolk_status kolk_pool_init_abi_(kolk_pool *pool, const kolk_pool_desc *desc, size_t type_size, size_t type_align,
                                size_t pool_size, uint32_t abi) {
    kolk_status status = kolk_pool_begin_(pool, desc, type_size, type_align, pool_size, abi, kolk_pool_all_options_);
    if (status == KOLK_OK) pool->options = kolk_pool_options_of_(pool);
    return status;
}
