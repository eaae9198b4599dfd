/* pool_free.c: ends lives: free (by pointer or by handle), clear, and the first half of a renewal.
 *
 * While an object is pinned, and with a reset hook while places are unlisted, the pool's bounds send all frees to
 * free_elsewhere, and so to kolk_pool_free_rest_. */
#include "pool_order.h"

#include "../core/quarantine.h"

static void run_reset(kolk_pool *pool, void *object) {
    KOLK_ASSERT_(object);
    uint8_t before = enter_pool_hook(pool, HOOK_LIVES);
    pool->reset(object, pool->context);
    leave_pool_hook(pool, before);
}

static void wipe(kolk_pool *pool, kolk_debug *debug, uint32_t index, void *object) {
    pool_look look = begin_pool_look(pool); /* the profiler */
    kolk_watch_->wiped(debug, index, object);
    end_pool_look(pool, &look);
}

/* Ends the life in a slot and invalidates its handles. Until the caller has put the slot somewhere, the slot still
 * counts as alive (I1 and I3 are broken), so that a reset hook may free other objects. Returns true if the slot is worn
 * out. */
static KOLK_ALWAYS_INLINE_ bool end_pool_life(kolk_pool *pool, kolk_debug *debug, uint32_t index, void *object,
                                              const void *site) {
    bool worn = end_life(pool, index);
    if (pool->reset) run_reset(pool, object);
    if (debug) {
        kolk_watch_->dies(debug, index, site);
        wipe(pool, debug, index, object);
    }
    return worn;
}

/* The same for an object that is pinned: its slot and its contents stay until the last unpin. Returns false, and does
 * nothing, if it is not pinned. */
static KOLK_NOINLINE_ bool keep_pinned(kolk_pool *pool, uint32_t index, const void *site) {
    if (!is_pinned(pool, index)) return false;
    (void)end_life(pool, index); /* is_just_worn tells */
    pool->pins[index] |= KEPT;
    if (pool_debug_of(pool)) kolk_watch_->dies(pool->debug, index, site);
    return true;
}

static KOLK_NOINLINE_ void wear_out(kolk_pool *pool, uint32_t index) {
    kolk_pool_put_worn_(pool, index);
    show_bounds_of_options(pool);
}

/* Puts a slot whose life has ended where it belongs. */
static KOLK_ALWAYS_INLINE_ void put_dead(kolk_pool *pool, kolk_debug *debug, uint32_t index, bool worn) {
    if (worn)
        wear_out(pool, index);
    else if (debug && kolk_quarantine_(debug))
        kolk_pool_put_quarantined_(pool, index);
    else
        put_free(pool, index);
}

/* Frees an object that is not alive in this pool, but may belong to the overflow pool; or while the bounds send all
 * frees here. */
static KOLK_NOINLINE_ void free_elsewhere(kolk_pool *pool, void *object, const void *site) {
    if (kolk_pool_is_barred_(pool, HOOK_FREES, "free", site)) return;
    const kolk_pool_options_ *options = pool->options;
    if (options && options->free_rest && options->free_rest(pool, object, site)) return;
    kolk_pool_fail_object_(pool, object, "free", KOLK_DOUBLE_FREE, site);
}

/* Frees the live object in a slot. `rare`: objects may be pinned, or places unlisted. */
static KOLK_ALWAYS_INLINE_ void free_slot(kolk_pool *pool, kolk_debug *debug, uint32_t index, bool rare, void *object,
                                          const void *site) {
    if (debug) {
        kolk_pool_verify_(pool, index, site);
        if (!kolk_pool_lives_(pool, index)) return; /* the failure handler has freed it */
    }
    kolk_away_ away;
    if (rare && keep_pinned(pool, index, site)) return;
    if (rare) go_away(pool, &away, index);
    bool worn = end_pool_life(pool, debug, index, object, site);
    if (rare) come_back(pool);
    put_dead(pool, debug, index, worn);
}

static KOLK_ALWAYS_INLINE_ void free_from(kolk_pool *pool, kolk_debug *debug, void *object, const void *site) {
    if (!object) return;
    uintptr_t found = debug ? pool_slot_of(pool, object) : kolk_pool_slot_(pool, object);
    uint32_t index = (uint32_t)found;
    bool watched = debug && pool->in_hook != HOOK_LOOKS && !pool->pinned && !pool->unlisted; /* its own bound is 0 */
    if (found >= (watched ? pool->fresh : pool->bound) || !kolk_pool_lives_(pool, index))
        free_elsewhere(pool, object, site);
    else
        free_slot(pool, debug, index, false, object, site);
}

static KOLK_NOINLINE_ void free_any(kolk_pool *pool, void *object, const void *site) {
    free_from(pool, pool_debug_of(pool), object, site);
}

uint32_t kolk_pool_end_for_next_(kolk_pool *pool, void *object, const void *site) {
    kolk_debug *debug = pool_debug_of(pool);
    uint32_t index = (uint32_t)pool_slot_of(pool, object);
    if (debug) {
        kolk_pool_verify_(pool, index, site);
        if (!kolk_pool_lives_(pool, index)) return KOLK_NO_SLOT_; /* the failure handler has freed it */
    }
    if (pool->pinned && keep_pinned(pool, index, site)) return KOLK_NO_SLOT_;
    kolk_away_ away;
    go_away(pool, &away, index);
    bool worn = end_pool_life(pool, debug, index, object, site);
    come_back(pool);
    if (!worn) return index;
    wear_out(pool, index);
    return KOLK_NO_SLOT_;
}

void kolk_pool_release_rest_(kolk_pool *overflow) {
    if (kolk_pool_count(overflow) == 0 && overflow->in_hook <= HOOK_CHANGES) kolk_pool_trim(overflow);
}

bool kolk_pool_free_rest_(kolk_pool *pool, void *object, const void *site) {
    kolk_pool *holder = kolk_pool_holder_(pool, object);
    if (!holder) return false;
    if (holder == pool) {
        free_slot(pool, pool_debug_of(pool), (uint32_t)pool_slot_of(pool, object), true, object, site);
        return true;
    }
    free_any(holder, object, site);
    kolk_pool_release_rest_(holder);
    return true;
}

void kolk_pool_free_kept_(kolk_pool *pool, uint32_t index, const void *site) {
    kolk_debug *debug = pool_debug_of(pool);
    void *object = pool_slot_at(pool, index);
    if (debug) kolk_pool_verify_(pool, index, site); /* first, because the handler may longjmp */
    KOLK_ASSERT_(pool->pins[index] == (KEPT | 1));
    pool->pins[index] = KEPT; /* nobody can pin it again */
    if (pool->reset) run_reset(pool, object);
    if (debug) wipe(pool, debug, index, object);
    pool->pins[index] = 0;
    pool->pinned--;
    put_dead(pool, debug, index, is_just_worn(pool, index));
    kolk_pool_show_all_bounds_(pool);
}

KOLK_NOINLINE_ void kolk_pool_free_slow_(kolk_pool *pool, void *object) {
    if (KOLK_UNLIKELY_(pool_debug_of(pool)))
        free_any(pool, object, SITE);
    else
        free_from(pool, NULL, object, SITE);
}

KOLK_NOINLINE_ void kolk_pool_free_n(kolk_pool *pool, void *const *objects, uint32_t n) {
    if (KOLK_UNLIKELY_(pool_debug_of(pool)))
        for (uint32_t i = 0; i < n; i++) free_any(pool, objects[i], SITE);
    else
        for (uint32_t i = 0; i < n; i++) free_from(pool, NULL, objects[i], SITE);
}

/* Frees a live object, or NULL. Returns false if none is freed. */
static bool free_found(kolk_pool *pool, void *object, const void *site) {
    if (!object || kolk_pool_is_barred_(pool, HOOK_FREES, "free", site)) return false;
    if (KOLK_UNLIKELY_(pool_debug_of(pool)))
        free_any(pool, object, site);
    else
        kolk_pool_free(pool, object);
    return true;
}

KOLK_NOINLINE_ bool kolk_pool_free_handle(kolk_pool *pool, kolk_handle handle) {
    void *object = pool_debug_of(pool) ? kolk_pool_find_(pool, handle, SITE) : kolk_pool_get(pool, handle);
    return free_found(pool, object, SITE);
}

KOLK_NOINLINE_ bool kolk_pool_free_at(kolk_pool *pool, uint32_t index) {
    return free_found(pool, kolk_pool_at(pool, index), SITE);
}

/* Ends the lives below the current `fresh`. Only worn-out slots are put where an alloc can find them. Returns false if
 * there were no lives. If the pool `ends`, what a reset hook pins meanwhile ends too. */
static bool end_lives(kolk_pool *pool, bool ends, const void *site) {
    uint64_t end = pool->fresh; /* leaves out objects that reset hooks allocate beyond it */
    bool some = false;
    for (uint64_t i = 0; (i = kolk_pool_next_(pool, true, i, end)) < end; i++) {
        some = true;
        if (!ends && pool->pinned && keep_pinned(pool, (uint32_t)i, site)) continue;
        if (end_pool_life(pool, pool_debug_of(pool), (uint32_t)i, pool_slot_at(pool, i), site))
            wear_out(pool, (uint32_t)i);
    }
    return some;
}

void kolk_pool_clear_for_(kolk_pool *pool, bool ends, const void *site) {
    kolk_pool_verify_all_(pool, site);
    pool->ranking = 0;                          /* it would consist of dead slots */
    if (pool->reset) kolk_pool_list_all_(pool); /* which may allocate, while slots are in no place */
    while (end_lives(pool, ends, site) && ends) {}
    while (kolk_pool_take_quarantined_(pool) != KOLK_NO_SLOT_) {} /* they were verified above; sort_free finds them */
    kolk_pool_sort_free_(pool);
}

KOLK_NOINLINE_ void kolk_pool_clear(kolk_pool *pool) {
    if (!kolk_pool_is_barred_(pool, HOOK_CHANGES, "clear", SITE)) kolk_pool_clear_for_(pool, false, SITE);
}
