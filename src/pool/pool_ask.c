/* pool_ask.c: looks up objects of a core pool by pointer, index and handle, and reports invalid pointers. Only counters
 * change here. Where pool.h promises it, a look-up includes the overflow pools. */
#include "pool_inside.h"

#include "../base/assert.h"
#include "../core/fail.h"
#include "../core/handle.h"
#include "../core/stale.h"
#include "../core/tools.h"

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

kolk_failure kolk_pool_failure_(const kolk_pool *pool, kolk_status rule, uint32_t slot, const void *site) {
    kolk_failure failure = {.rule = rule, .pool = pool_name_of(pool), .slot = slot, .site = site};
    if (pool_debug_of(pool)) kolk_watch_->sites(pool->debug, slot, &failure);
    return failure;
}

void kolk_pool_bar_(const kolk_pool *pool, const char *verb, const void *site) {
    const char *rule = "must not change it"; /* a table of texts would link all texts of the library */
    if (pool->in_hook == HOOK_LIVES) rule = "may only alloc and free";
    if (pool->in_hook == HOOK_FREES) rule = "may only free";
    kolk_fail_(kolk_pool_failure_(pool, KOLK_IN_HOOK, KOLK_NO_SLOT_, site), "%s in a hook of this pool, which %s", verb,
               rule);
}

/* Returns the slot that this pointer points into, and sets *inside to the distance from its start. Returns
 * KOLK_NO_SLOT_ if there is no such slot. */
static uint32_t locate_in_pool(const kolk_pool *pool, const void *pointer, uint64_t *inside) {
    if (pool_is_bypassed(pool)) return kolk_watch_->find(pool->debug, pointer, pool->fresh, inside);
    return kolk_locate_(pool->slots, pool->stride, pool->capacity, pointer, inside);
}

void kolk_pool_fail_object_(const kolk_pool *pool, const void *object, const char *verb, kolk_status if_dead,
                            const void *site) {
    KOLK_ASSERT_(pool);
    const kolk_pool *asked = pool;
    uint64_t inside = 0, slot = KOLK_NO_SLOT_;
    for (const kolk_pool *place = pool; object && place && slot == KOLK_NO_SLOT_; place = place->overflow)
        if ((slot = locate_in_pool(place, object, &inside)) != KOLK_NO_SLOT_) pool = place;
    kolk_failure failure = kolk_pool_failure_(pool, if_dead, (uint32_t)slot, site);
    failure.object = object;
    bool is_live = slot < pool->fresh && !inside && kolk_pool_lives_(pool, (uintptr_t)slot);
    if (is_live) {
        failure.rule = pool == asked ? KOLK_NO_HANDLES : KOLK_FOREIGN_POINTER;
        kolk_fail_(failure,
                   pool == asked ? "%s of slot %u, but KOLK_GENERATIONS_NONE has no handles"
                                 : "%s of slot %u, for the pool that overflowed into this one",
                   verb, slot);
        return;
    }
    if (slot >= pool->fresh) failure.rule = KOLK_NEVER_ISSUED;
    kolk_fail_object_(failure, verb, "slot", inside);
}

void kolk_pool_verify_(kolk_pool *pool, uint32_t index, const void *site) {
    KOLK_ASSERT_(pool->debug && index < pool->fresh);
    uint8_t in_hook = pool->in_hook;
    pool->in_hook = false; /* reset first, because the handler may longjmp */
    bool is_used = kolk_pool_lives_(pool, index) || is_kept(pool, index);
    kolk_watch_->verify(pool->debug, index, pool_slot_at(pool, index), is_used,
                        kolk_pool_failure_(pool, KOLK_OK, index, site));
    pool->in_hook = in_hook;
}

void kolk_pool_verify_all_(kolk_pool *pool, const void *site) {
    for (uint32_t i = 0; pool_debug_of(pool) && i < pool->fresh; i++) kolk_pool_verify_(pool, i, site);
}

/* ---- Which pool, and which object -------------------------------------------------------------------------------- */

bool kolk_pool_holds_(const kolk_pool *pool, const void *object) {
    return pool_is_alive(pool, pool_slot_of(pool, object));
}

kolk_pool *kolk_pool_holder_(const kolk_pool *pool, const void *object) {
    while (pool && !kolk_pool_holds_(pool, object)) pool = pool->overflow;
    return (kolk_pool *)(uintptr_t)pool;
}

bool kolk_pool_is_live_slow_(const kolk_pool *pool, const void *object) {
    return kolk_pool_holder_(pool, object) != NULL;
}

void *kolk_pool_at_slow_(const kolk_pool *pool, uint32_t index) {
    return pool_is_alive(pool, index) ? pool_slot_at(pool, index) : NULL;
}

KOLK_NOINLINE_ uint32_t kolk_pool_index_slow_(const kolk_pool *pool, const void *object) {
    if (kolk_pool_holds_(pool, object)) return (uint32_t)pool_slot_of(pool, object);
    kolk_pool_fail_object_(pool, object, "index", KOLK_DEAD_OBJECT, SITE);
    return KOLK_NO_SLOT_;
}

KOLK_NOINLINE_ kolk_handle kolk_pool_handle_slow_(const kolk_pool *pool, const void *object) {
    const kolk_pool *place = kolk_pool_holder_(pool, object);
    if (!place || !place->high) {
        kolk_pool_fail_object_(place ? place : pool, object, "handle", KOLK_DEAD_OBJECT, SITE);
        return (kolk_handle){0};
    }
    uintptr_t index = pool_slot_of(place, object);
    return kolk_handle_make_(kolk_pool_generation_(place, index), (uint32_t)index, place->tag);
}

/* Does the handle match the tag of this pool or of one of its overflow pools? */
static bool knows_tag(const kolk_pool *pool, kolk_handle handle) {
    while (pool && kolk_handle_is_foreign_(handle, pool->tag, pool->max_capacity)) pool = pool->overflow;
    return pool != NULL;
}

/* Records that a handle has found no object, and returns NULL. */
static void *get_none(const kolk_pool *pool, kolk_handle handle, const void *site) {
    if (kolk_note_stale_(&pool->name, handle) && !knows_tag(pool, handle) &&
        kolk_note_foreign_(&pool->wrong_pool, pool_has(pool, KOLK_DEBUG_STRICT_)))
        kolk_fail_handle_(kolk_pool_failure_(pool, KOLK_WRONG_POOL, KOLK_NO_SLOT_, site), handle);
    return NULL;
}

void *kolk_pool_find_(const kolk_pool *pool, kolk_handle handle, const void *site) {
    const kolk_pool *place = pool;
    do {
        uint32_t index = kolk_handle_index_(handle, place->tag), generation = kolk_handle_generation_(handle);
        if (index < place->fresh && place->high && kolk_pool_lives_as_(place->states, place->high, index, generation))
            return pool_slot_at(place, index);
    } while ((place = place->overflow) != NULL);
    return get_none(pool, handle, site);
}

KOLK_NOINLINE_ void *kolk_pool_get_slow_(const kolk_pool *pool, kolk_handle handle) {
    return kolk_pool_find_(pool, handle, SITE);
}

bool kolk_pool_can_alloc(const kolk_pool *pool, uint32_t n) {
    uint64_t slots = 0;
    for (; pool && slots < n; pool = pool->overflow) {
        uint64_t own = (uint64_t)kolk_pool_available(pool) + (pool->max_capacity - pool->capacity);
        if (own > pool->headroom) slots += own - pool->headroom;
    }
    return slots >= n;
}

void kolk_pool_stats(const kolk_pool *pool, kolk_stats *out) {
    uint32_t peak = peak_of(pool);
    *out = (kolk_stats){
        .name = pool_name_of(pool),
        .kind = "pool",
        .object_size = pool->object_size,
        .stride = pool->stride,
        .count = kolk_pool_count(pool),
        .peak = peak,
        .capacity = pool->capacity,
        .max_capacity = pool->max_capacity,
        .unused_bytes = (uint64_t)(pool->capacity - peak) * pool->stride,
        .bytes_reserved = pool->block_size,
        .bytes_committed = kolk_pool_committed_(pool),
        .failed = pool->failed,
        .evictions = pool->evictions,
        .wrong_pool = kolk_raw_load_(&pool->wrong_pool, KOLK_RELAXED_),
        .worn_out = pool->worn.count,
        .recycled = pool->worn.recycled,
        .debug = pool->debug_flags,
    };
    kolk_tools_wrote_(out, sizeof *out);
}
