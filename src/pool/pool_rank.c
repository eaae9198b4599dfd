/* pool_rank.c: see pool_rank.h. */
#include "pool_rank.h"

#include "../base/assert.h"
#include "../core/fail.h"

/* ---- The heap ---------------------------------------------------------------------------------------------------- */

static bool costs_less(const kolk_rank_ *ranks, uint32_t a, uint32_t b) {
    uint64_t price = ranks[a].price, other = ranks[b].price;
    return price < other || (price == other && a < b);
}

static void put_slot(kolk_rank_ *ranks, uint32_t place, uint32_t slot) {
    ranks[place].slot = slot;
    ranks[slot].place = place;
}

/* The number of places in an order that exists. */
static uint32_t places_of(const kolk_pool *pool) {
    KOLK_ASSERT_(pool->ranking > 0);
    return pool->ranking - 1;
}

/* Moves a slot that may be before the one above it. */
static void rise(kolk_pool *pool, uint32_t slot) {
    kolk_rank_ *ranks = pool->ranks;
    uint32_t place = ranks[slot].place;
    KOLK_ASSERT_(place < places_of(pool));
    while (place > 0) {
        uint32_t above = (place - 1) / 4;
        if (!costs_less(ranks, slot, ranks[above].slot)) break;
        put_slot(ranks, place, ranks[above].slot);
        place = above;
    }
    put_slot(ranks, place, slot);
}

/* Moves a slot that may be behind one of those below it. */
static void sink(kolk_pool *pool, uint32_t slot) {
    kolk_rank_ *ranks = pool->ranks;
    uint64_t place = ranks[slot].place, below;
    uint32_t places = places_of(pool);
    KOLK_ASSERT_(place < places);
    while ((below = 4 * place + 1) < places) {
        uint64_t end = below + 4 < places ? below + 4 : places;
        for (uint64_t at = below + 1; at < end; at++)
            if (costs_less(ranks, ranks[at].slot, ranks[below].slot)) below = at;
        if (!costs_less(ranks, ranks[below].slot, slot)) break;
        put_slot(ranks, (uint32_t)place, ranks[below].slot);
        place = below;
    }
    put_slot(ranks, (uint32_t)place, slot);
}

static void leave_first_place(kolk_pool *pool) {
    kolk_rank_ *ranks = pool->ranks;
    uint32_t last = ranks[places_of(pool) - 1].slot;
    be_unranked(pool, ranks[0].slot);
    pool->ranking--;
    if (places_of(pool) == 0) return;
    put_slot(ranks, 0, last);
    sink(pool, last);
}

void *kolk_pool_enter_ranks_(kolk_pool *pool, uint32_t slot, void *object) {
    KOLK_ASSERT_(slot < pool->fresh);
    kolk_rank_ *rank = &pool->ranks[slot];
    rank->price = 0;
    if (rank->place == NO_RANK) {
        rank->place = places_of(pool);
        pool->ranking++;
    }
    rise(pool, slot);
    return object;
}

/* Asks for the cost of each object that is not protected, and orders them. */
static void make_order(kolk_pool *pool) {
    uint32_t places = 0;
    for (uint32_t slot = 0; slot < pool->fresh; slot++) {
        be_unranked(pool, slot);
        if (!kolk_pool_lives_(pool, slot) || is_protected(pool, slot)) continue;
        pool->ranks[slot].price = price_of(pool, pool_slot_at(pool, slot));
        put_slot(pool->ranks, places++, slot);
    }
    pool->ranking = places + 1;
    for (uint32_t place = (places + 2) / 4; place-- > 0;) /* those that have places below them */
        sink(pool, pool->ranks[place].slot);
}

void *kolk_pool_first_ranked_(kolk_pool *pool, uint64_t *price) {
    if (pool->ranking == 0) make_order(pool);
    while (places_of(pool) > 0) {
        uint32_t slot = pool->ranks[0].slot;
        if (!kolk_pool_lives_(pool, slot) || is_protected(pool, slot)) {
            leave_first_place(pool);
            continue;
        }
        *price = pool->ranks[slot].price;
        if (*price > 0) return pool_slot_at(pool, slot);
        pool->ranks[slot].price = price_of(pool, pool_slot_at(pool, slot));
        sink(pool, slot);
    }
    return NULL;
}

KOLK_NOINLINE_ void kolk_pool_recost(kolk_pool *pool, const void *object) {
    if (kolk_pool_is_barred_(pool, HOOK_FREES, "recost", SITE)) return;
    if (!object) {
        pool->ranking = 0;
        return;
    }
    if (!kolk_pool_holds_(pool, object)) {
        kolk_pool_fail_object_(pool, object, "recost", KOLK_DEAD_OBJECT, SITE);
        return;
    }
    uint32_t slot = (uint32_t)pool_slot_of(pool, object);
    if (pool->ranking == 0 || pool->ranks[slot].place == NO_RANK) return; /* no order yet, or it is protected */
    pool_look look = begin_pool_look(pool);
    pool->ranks[slot].price = price_of(pool, object);
    end_pool_look(pool, &look);
    rise(pool, slot);
    sink(pool, slot);
}

bool kolk_pool_ranks_are_valid_(const kolk_pool *pool) {
    const kolk_rank_ *ranks = pool->ranks;
    uint32_t places = 0;
    if (pool->ranking == 0) return true;
    if (places_of(pool) > pool->fresh) return false;
    for (uint32_t place = 0; place < places_of(pool); place++) {
        uint32_t slot = ranks[place].slot;
        if (slot >= pool->fresh || ranks[slot].place != place) return false;
        if (place > 0 && costs_less(ranks, slot, ranks[(place - 1) / 4].slot)) return false;
    }
    for (uint32_t slot = 0; slot < pool->fresh; slot++) {
        bool ranked = ranks[slot].place != NO_RANK;
        places += ranked;
        if (!ranked && kolk_pool_lives_(pool, slot) && !is_protected(pool, slot)) return false;
    }
    return places == places_of(pool);
}
