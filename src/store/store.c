/* store.c: free slots and lives; store.h has the essay. */
#include "store.h"

#if KOLK_HOSTED

#include "../core/budget.h"
#include "../core/probes.h"
#include "../core/room.h"
#include "../os/lock.h"

#define BUDGET_SHARE 16u /* a store with a budget takes at most this fraction of the rest at a time */

/* ---- Supply ------------------------------------------------------------------------------------------------------ */

/* By how many slots the store grows next; their bytes are taken from the budget. */
static uint32_t next_step(const kolk_slot_store *store, uint32_t now) {
    uint32_t extra = now == 0 ? store->slack : 0; /* capacity does not include these */
    uint32_t next = kolk_room_next_capacity(now, store->depot.slots - extra, store->stride) + extra;
    uint64_t bytes = (uint64_t)(next - now) * store->stride;
    if (store->budget) {
        uint64_t most = kolk_load(store->budget, KOLK_RELAXED) / BUDGET_SHARE;
        if (bytes > most) bytes = most > store->stride ? most : store->stride;
    }
    return (uint32_t)(kolk_budget_take(store->budget, bytes, store->stride) / store->stride);
}

/* Commits more slots than the `before` that were usable. True if there are more now, even if another thread added
 * them. */
static KOLK_NOINLINE bool grow(kolk_slot_store *store, uint32_t before) {
    KOLK_ASSERT(before <= store->depot.slots);
    if (before == store->depot.slots && !store->sweeps) return false;
    kolk_lock_word(&store->lock);
    uint32_t now = store->depot.usable, step = now == before ? next_step(store, now) : 0, made = step;
    while (made && !kolk_store_commit(store, now, now + made)) made /= 2;
    kolk_budget_give(store->budget, (uint64_t)(step - made) * store->stride);
    if (made) {
        PROBE3(grow, store->name, now, now + made);
        now += made;
        kolk_depot_extend(&store->depot, now);
    }
    kolk_unlock_word(&store->lock);
    return now != before;
}

/* depot.h proves that there is no free slot. The proof needs the number of usable slots before the look: if all were
 * usable then, the look has covered them all. */
uint64_t kolk_store_supply(kolk_slot_store *store, uint32_t *word, bool only_one) {
    kolk_depot *depot = &store->depot;
    for (;;) {
        uint64_t returns = kolk_load(&depot->returns, KOLK_ACQUIRE); /* a stale value differs from that at the end */
        uint32_t end = kolk_depot_usable(depot);
        uint64_t bits = kolk_depot_search(depot, word, only_one);
        if (!bits && store->more) bits = store->more(store, word, only_one);
        if (!bits) bits = kolk_depot_take_fresh(depot, word, only_one || store->singly);
        if (!bits && grow(store, end)) continue;
        if (!bits && store->debug) bits = kolk_store_take_quarantined(store, word);
        if (bits || kolk_load(&depot->returns, KOLK_SEQ_CST) == returns) return bits;
    }
}

/* Takes one slot of the depot, or KOLK_NO_SLOT. The other slots of its word fill the magazine, which is empty. */
static uint32_t take_from_depot(kolk_slot_store *store, kolk_magazine *magazine) {
    uint64_t bits = kolk_store_supply(store, &magazine->next_word, kolk_depot_is_uncached(&store->depot));
    uint64_t others = bits & (bits - 1);
    if (others) kolk_magazine_fill(magazine, others);
    kolk_magazine_set_bound(magazine);
    return bits ? kolk_depot_slot(&store->depot, magazine->next_word, bits) : KOLK_NO_SLOT;
}

uint32_t kolk_store_take(kolk_slot_store *store, kolk_magazine *magazine) {
    if (magazine->proving) return magazine->proving - 1;
    return kolk_magazine_count(magazine) ? kolk_magazine_pop(magazine) : take_from_depot(store, magazine);
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

void kolk_store_begin_life(kolk_slot_store *store, uint32_t slot, const void *object, const void *site) {
    if (store->debug) kolk_debug_begin_life(store->debug, slot, object, site);
    uint32_t life = kolk_store_life(store, slot) + 1;
    KOLK_ASSERT(slot < store->depot.slots);
    if (store->lives)
        kolk_store(&store->lives[slot], life, KOLK_RELAXED);
    else
        kolk_store(&store->short_lives[slot], (uint8_t)life, KOLK_RELAXED);
}

/* Returns false if the slot has no life, or another thread was first to end it. */
static bool end_life_in_slot(const kolk_slot_store *store, uintptr_t slot) {
    uint32_t life = kolk_store_life(store, slot);
    if (!(life & 1)) return false;
    if (store->lives) return kolk_compare_exchange(&store->lives[slot], &life, life + 1, KOLK_RELAXED, KOLK_RELAXED);
    uint8_t short_life = (uint8_t)life, after = life == UINT8_MAX ? 2 : (uint8_t)(life + 1); /* 0: never used */
    return kolk_compare_exchange(&store->short_lives[slot], &short_life, after, KOLK_RELAXED, KOLK_RELAXED);
}

uint32_t kolk_store_end_life(const kolk_slot_store *store, const void *object, const void *site) {
    uintptr_t slot = kolk_store_slot_of(store, object);
    bool known = kolk_store_is_alive(store, slot);
    /* Verify only the red zones, which are the same in every life: another thread may be freeing the object, and be
     * first. */
    if (known && store->debug) kolk_store_verify(store, (uint32_t)slot, false, site);
    if (!known || !end_life_in_slot(store, slot)) {
        kolk_store_fail_object(store, object, "free", KOLK_DOUBLE_FREE, site);
        return KOLK_NO_SLOT;
    }
    if (store->debug) kolk_debug_end_life(store->debug, (uint32_t)slot, site);
    return (uint32_t)slot;
}

void kolk_store_end_lives(kolk_slot_store *store, const void *site) {
    if (!store->debug) return;
    for (uint32_t slot = 0; slot < store->depot.fresh; slot++) {
        if (!kolk_store_is_alive(store, slot)) continue;
        void *object = kolk_store_object(store, slot);
        kolk_store_end_life(store, object, site);
        kolk_debug_wipe(store->debug, slot, object);
    }
    kolk_debug_end(store->debug, store->depot.fresh);
}

/* ---- Alloc and free ---------------------------------------------------------------------------------------------- */

void *kolk_store_fail_alloc(kolk_slot_store *store, kolk_magazine *magazine) {
    kolk_store(&magazine->failed, magazine->failed + 1, KOLK_RELAXED); /* partner: kolk_store_stats */
    PROBE2(full, store->name, kolk_store_capacity(store));
    kolk_magazines_go_uncached(&store->depot);
    return NULL;
}

void *kolk_store_alloc(kolk_slot_store *store, kolk_magazine *magazine, const void *site) {
    bool fails = store->debug && kolk_debug_fails(store->debug);
    uint32_t slot = fails ? KOLK_NO_SLOT : kolk_store_take(store, magazine);
    void *object = slot == KOLK_NO_SLOT ? NULL : kolk_store_prepare(store, magazine, slot, site);
    if (!object) return kolk_store_fail_alloc(store, magazine);
    kolk_store_begin_life(store, slot, object, site);
    return object;
}

bool kolk_store_make_room(kolk_slot_store *store, kolk_magazine *magazine) {
    bool uncached = kolk_depot_is_uncached(&store->depot);
    uint32_t count = kolk_magazine_count(magazine), leave = 0;
    if (uncached)
        leave = count;
    else if (count == magazine->cache)
        leave = (count + 1) / 2;
    kolk_magazine_set_bound(magazine);
    if (leave) kolk_magazine_put_oldest(magazine, leave);
    return uncached;
}

void kolk_store_free(kolk_slot_store *store, kolk_magazine *magazine, void *object, const void *site) {
    bool uncached = !magazine || kolk_store_make_room(store, magazine);
    uint32_t slot = kolk_store_end_life(store, object, site);
    if (slot != KOLK_NO_SLOT) kolk_store_put(store, magazine, slot, uncached);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

kolk_magazine *kolk_store_add_magazine(kolk_slot_store *store, kolk_keeper *keeper, void *memory) {
    kolk_magazine *magazine = (kolk_magazine *)memory;
    *magazine = (kolk_magazine){
        .slots = store->slots,
        .lives = store->lives,
        .short_lives = store->short_lives,
        .inverse = store->inverse,
        .stride = store->stride,
        .shift = store->shift,
        .cache = store->depot.cache,
        .depot = &store->depot,
    };
    kolk_keeper_add(keeper, magazine);
    return magazine;
}

/* Puts back the slot whose fill was being verified, if there is one. */
static void put_proving(kolk_slot_store *store, kolk_magazine *magazine) {
    uint32_t proving = magazine->proving;
    kolk_store(&magazine->proving, 0, KOLK_RELAXED); /* first, as in kolk_store_reclaim */
    if (proving) kolk_store_put_back(store, proving - 1);
}

void kolk_store_flush(kolk_slot_store *store, kolk_magazine *magazine) {
    kolk_magazine_put_oldest(magazine, kolk_magazine_count(magazine));
    put_proving(store, magazine);
}

/* A fork may stop this anywhere, and the child then reclaims the magazine again: so each slot leaves the magazine
 * before it is put into the depot. An entry may be the slot of a live object, because other threads see alloc's two
 * stores, of `top` and of the life, in any order. */
void kolk_store_reclaim(kolk_slot_store *store, kolk_magazine *magazine) {
    uint32_t fresh = kolk_load(&store->depot.fresh, KOLK_ACQUIRE);
    while (magazine->leaving < magazine->top) {
        uint32_t slot = *kolk_magazine_entry(magazine, magazine->leaving);
        kolk_store(&magazine->leaving, magazine->leaving + 1, KOLK_RELAXED);
        if (slot < fresh && !(kolk_store_life(store, slot) & 1)) kolk_depot_put(&store->depot, slot);
    }
    /* The fill of this slot may be half written. */
    if (magazine->proving) kolk_debug_forget(store->debug, magazine->proving - 1, magazine->proving);
    put_proving(store, magazine);
    kolk_store(&magazine->top, 0, KOLK_RELEASE); /* in this order */
    kolk_store(&magazine->leaving, 0, KOLK_RELEASE);
}

#endif
