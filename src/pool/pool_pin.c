/* pool_pin.c: pins: objects whose slots and contents stay when they are freed. The free itself is in pool_free.c. */
#include "pool_rank.h"
#include "pool_order.h"

#include "../core/fail.h"

/* Returns the pool that has this object, alive or pinned: this one or one of its overflow pools. If there is none, or
 * it has no pins, or must not change now, reports that and returns NULL. */
static kolk_pool *pinnable(kolk_pool *pool, const void *object, const char *verb, uint32_t *slot, const void *site) {
    for (kolk_pool *place = pool; place; place = place->overflow) {
        uintptr_t at = pool_slot_of(place, object);
        bool is_held = at < place->fresh && is_pinned(place, at) && place->pins[at] != KEPT; /* == : being freed */
        if (!is_held && !pool_is_alive(place, at)) continue;
        *slot = (uint32_t)at;
        if (kolk_pool_is_barred_(place, HOOK_FREES, verb, site)) return NULL;
        if (place->pins) return place;
        kolk_fail_(kolk_pool_failure_(place, KOLK_PINS_MISSING, KOLK_NO_SLOT_, site), "%s needs .pins", verb);
        return NULL;
    }
    kolk_pool_fail_object_(pool, object, verb, KOLK_DEAD_OBJECT, site);
    return NULL;
}

KOLK_NOINLINE_ void kolk_pool_pin(kolk_pool *pool, const void *object) {
    uint32_t slot;
    kolk_pool *holder = object ? pinnable(pool, object, "pin", &slot, SITE) : NULL;
    if (!holder || holder->pins[slot]++ > 0) return;
    holder->pinned++;
    kolk_pool_show_all_bounds_(holder);
}

/* A live object that is no longer pinned may be evicted again. */
static void release(kolk_pool *pool, uint32_t slot) {
    pool->pinned--;
    kolk_pool_show_all_bounds_(pool);
    bool is_missing = pool->ranking && pool->ranks[slot].place == NO_RANK && !is_protected(pool, slot);
    if (is_missing) (void)kolk_pool_enter_ranks_(pool, slot, NULL);
}

KOLK_NOINLINE_ void kolk_pool_unpin(kolk_pool *pool, const void *object) {
    uint32_t slot;
    kolk_pool *holder = object ? pinnable(pool, object, "unpin", &slot, SITE) : NULL;
    if (!holder) return;
    if (!is_pinned(holder, slot)) {
        kolk_fail_(kolk_pool_failure_(holder, KOLK_NOT_PINNED, slot, SITE), "unpin of slot %u, which is not pinned",
                   (uint64_t)slot);
    } else if (holder->pins[slot] == (KEPT | 1)) {
        kolk_pool_free_kept_(holder, slot, SITE);
        if (holder != pool) kolk_pool_release_rest_(holder);
    } else if (--holder->pins[slot] == 0) {
        release(holder, slot);
    }
}
