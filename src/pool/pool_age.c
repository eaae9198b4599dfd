/* pool_age.c: see pool_age.h. */
#include "pool_rank.h"

#include "../base/assert.h"
#include "../core/fail.h"

/* Returns the slot + 1 of the nearest live object from `at` on, or 0 at the end of the circle. */
static uint32_t pass_dead(kolk_pool *pool, uint32_t at, bool up) {
    KOLK_ASSERT_(at <= pool->fresh);
    while (at && !pool_is_alive(pool, at - 1)) {
        uint32_t dead = at - 1;
        at = up ? pool->ages[at].newer : pool->ages[at].older;
        leave_order(pool, dead);
        be_alone(pool, dead);
    }
    return at;
}

static bool keeps_ages(const kolk_pool *pool, const char *verb, const void *site) {
    if (pool->ages) return true;
    kolk_fail_(kolk_pool_failure_(pool, KOLK_AGES_MISSING, KOLK_NO_SLOT_, site), "%s needs .ages", verb);
    return false;
}

/* Returns the live object next to slot `from` - 1; if `from` is 0, the first one at that end. Returns NULL for a slot
 * that is not in the order, because such a slot is its own neighbour. */
static void *neighbour(kolk_pool *pool, uint32_t from, bool up) {
    KOLK_ASSERT_(from <= pool->fresh);
    uint32_t at = up ? pool->ages[from].newer : pool->ages[from].older;
    if (at == from) return NULL;
    at = pass_dead(pool, at, up);
    return at ? pool_slot_at(pool, at - 1) : NULL;
}

/* Does the same for an object, which may already be freed. */
static KOLK_ALWAYS_INLINE_ void *neighbour_of(kolk_pool *pool, const void *object, bool up, const char *verb,
                                              const void *site) {
    if (!keeps_ages(pool, verb, site)) return NULL;
    uintptr_t slot = pool_slot_of(pool, object);
    if (slot < pool->fresh) return neighbour(pool, (uint32_t)slot + 1, up);
    kolk_pool_fail_object_(pool, object, verb, KOLK_DEAD_OBJECT, site);
    return NULL;
}

void *kolk_pool_find_oldest_(kolk_pool *pool, const char *verb, const void *site) {
    if (!keeps_ages(pool, verb, site)) return NULL;
    void *object = neighbour(pool, 0, true);
    for (uintptr_t slot; pool->pinned && object; object = neighbour(pool, (uint32_t)slot + 1, true))
        if (!is_pinned(pool, slot = pool_slot_of(pool, object))) break;
    return object;
}

KOLK_NOINLINE_ void *kolk_pool_oldest(kolk_pool *pool) {
    return keeps_ages(pool, "oldest", SITE) ? neighbour(pool, 0, true) : NULL;
}

KOLK_NOINLINE_ void *kolk_pool_newest(kolk_pool *pool) {
    return keeps_ages(pool, "newest", SITE) ? neighbour(pool, 0, false) : NULL;
}

KOLK_NOINLINE_ kolk_age_cursor kolk_pool_each_oldest(kolk_pool *pool) {
    if (!keeps_ages(pool, "each_oldest", SITE)) return (kolk_age_cursor){.more = true};
    return (kolk_age_cursor){.pool = pool, .last = pool->births, .more = true};
}

/* After the last object, stays behind it. */
void *kolk_age_cursor_next_slow_(kolk_age_cursor *cursor) {
    kolk_pool *pool = cursor->pool;
    if (!pool) return NULL;
    const kolk_age_ *ages = pool->ages;
    uint32_t at = cursor->next;
    if (!kolk_age_is_due_(cursor, at)) {
        bool stays = cursor->at <= pool->fresh && ages[cursor->at].born == cursor->born; /* not after a restore */
        at = ages[stays ? cursor->at : 0].newer;
        while (at && ages[at].born <= cursor->born) at = ages[at].newer;
    }
    at = pass_dead(pool, at, true);
    if (!kolk_age_is_due_(cursor, at)) return NULL;
    cursor->at = at;
    cursor->born = ages[at].born;
    cursor->next = ages[at].newer;
    return pool_slot_at(pool, at - 1);
}

KOLK_NOINLINE_ void *kolk_pool_newer(kolk_pool *pool, const void *object) {
    return neighbour_of(pool, object, true, "newer", SITE);
}

KOLK_NOINLINE_ void *kolk_pool_older(kolk_pool *pool, const void *object) {
    return neighbour_of(pool, object, false, "older", SITE);
}

/* Returns the slot of a live object. If the caller has made a mistake, such as using a pool without ages, reports it
 * and returns KOLK_NO_SLOT_. */
static uint32_t aging_slot(kolk_pool *pool, const void *object, const char *verb, const void *site) {
    if (!keeps_ages(pool, verb, site)) return KOLK_NO_SLOT_;
    if (kolk_pool_holds_(pool, object)) return (uint32_t)pool_slot_of(pool, object);
    kolk_pool_fail_object_(pool, object, verb, KOLK_DEAD_OBJECT, site);
    return KOLK_NO_SLOT_;
}

KOLK_NOINLINE_ void kolk_pool_touch(kolk_pool *pool, const void *object) {
    uint32_t slot = aging_slot(pool, object, "touch", SITE);
    if (slot != KOLK_NO_SLOT_ && !is_alone(pool, slot)) become_newest(pool, slot);
}

KOLK_NOINLINE_ void kolk_pool_protect(kolk_pool *pool, const void *object, bool on) {
    uint32_t slot = aging_slot(pool, object, "protect", SITE);
    if (slot == KOLK_NO_SLOT_ || is_alone(pool, slot) == on) return;
    if (on) {
        leave_order(pool, slot);
        be_alone(pool, slot);
    } else {
        enter_orders(pool, slot);
    }
}
