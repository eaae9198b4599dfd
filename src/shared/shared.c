/* shared.c: one pool, many threads.
 *
 *     slots      | 0 | 1 | 2 | ......... | fresh | ....... | usable | (reserved, not committed) |
 *     lives      32 or 8 bits a slot   how often a life began or ended there: odd while it lasts
 *     home       1 bit a slot          free, and at home; in words, and a summary: 1 bit a word that may have bits
 *     later      4 times the same      freed, and not to be used yet (shared_later.c)
 *     magazines  a stack of free slots for each thread
 *
 * A word is what threads pass on. A thread whose magazine is empty takes a whole word by one exchange, and owns the slots of
 * its bits: it hands them out and takes them back, whoever had them, without an atomic read-modify-write. When the magazine is
 * full, the oldest half goes home, neighbours that are of one word by one OR: objects that went through a queue come back in
 * order, so that is most of them. No slot has a link to another, so there is nothing to take for something that it was before
 * (ABA), and nothing that a stray write can corrupt.
 *
 * How many can be alive. A word has no more bits than a magazine has room for, and is only taken by an empty one, so no thread
 * ever has more than `cache` free slots, in its magazine or on the way to it or from it. There are max_capacity + slack slots,
 * slack = (max_threads - 1) * cache, so if all words are empty when a thread with an empty magazine looks, at least max_capacity
 * objects are alive. But one look at many words is no look at one moment. So `returns` counts who has brought slots home, after
 * he did: if it is the same before and after, all words that were seen empty still were at the end, but for bits that are on
 * their way home, which count as their thread's (see fetch).
 *
 * When none is found, the pool goes direct: nobody keeps slots at hand, until as many have come home as there are (or half as
 * many: to find none once more renews that only then). What is
 * freed can be found by all, and is what those who wait in line get (shared_wait.c). To go direct is to lower the bound from
 * which on free leaves the fast path, in all magazines: it costs nothing when it is not needed. A pool without caches is direct
 * for ever, and so exact: no slack, and slots are taken one by one. There a bit of the summary, once set, stays: to clear it
 * would tell the others, for a moment, that a word is empty which somebody has just brought a slot to.
 *
 * The summary. Who takes a word clears its bit first; who brings slots to a word sees to it afterwards that it is set. A bit
 * may be set though the word is empty: the next one finds out. But a word to which somebody has ended bringing slots has its
 * bit set, or somebody is just taking all of it. The summary needs no order of its own: of a taker and a bringer at one word,
 * the order in which they come to the word is that in which they are seen at its bit. Who takes one slot of a word leaves the
 * bit alone.
 *
 * Invariants (kolk_shared_is_valid, while nobody is at work):
 *     I1  fresh <= usable <= max_capacity + slack
 *     I2  each slot below fresh is alive, or at home, or in one magazine, or in one set of those to be free later, or in the
 *         debug mode's quarantine; above, none is anywhere
 *     I3  a word that is not 0 has its bit in the summary
 *     I4  no magazine has more than `cache` entries, and cache has room for a word
 *     I5  nobody is in line
 *     I6  slots that are to be free later are of the last three epochs
 *     I7  zones and fills are as the debug mode left them */
#include "shared_inside.h"

#if __STDC_HOSTED__

#include "../diag/probes.h"
#include "../core/room.h"
#include "../os/lock.h"

/* Emit each function of shared.inl once. */
extern inline uint32_t *kolk_magazine_entry(kolk_magazine *magazine, uint32_t n);
extern inline void *kolk_local_alloc_sized(kolk_local *local, size_t stride);
extern inline void *kolk_local_alloc(kolk_local *local);
extern inline void kolk_local_free_slot(kolk_local *local, void *object, uintptr_t index);
extern inline void kolk_local_free(kolk_local *local, void *object);
extern inline void kolk_local_free_sized(kolk_local *local, void *object, size_t stride);
extern inline void *kolk_shared_get_sized(const kolk_shared *pool, kolk_handle handle, size_t stride);
extern inline void *kolk_shared_get(const kolk_shared *pool, kolk_handle handle);

/* ---- Leaving home ------------------------------------------------------------------------------------------------------ */

/* Commits more slots; true if there are more now. */
static KOLK_APART bool grow(kolk_shared *pool, uint32_t before) {
    if (before == slots_of(pool)) return false;
    kolk_lock_word(&pool->lock);
    uint32_t now = pool->depot.usable, wish = kolk_room_next_capacity(now, slots_of(pool), pool->stride);
    if (now == before && kolk_shared_commit(pool, wish)) {
        PROBE3(grow, name_of(pool), now, wish);
        kolk_depot_extend(&pool->depot, wish);
        if (!pool->debug) kolk_store(&pool->bound, wish, KOLK_RELAXED);
        now = wish;
    }
    kolk_unlock_word(&pool->lock);
    return now != before;
}

/* If there are none, each word was seen empty; if nobody has ended bringing slots home meanwhile, what is in them at the end is
 * of those who have begun, and still counts as theirs. */
uint64_t kolk_shared_fetch(kolk_shared *pool, uint32_t *place, bool one) {
    const uint64_t *counted = &pool->depot.returns;
    for (;;) {
        uint64_t returns = kolk_load(counted, KOLK_ACQUIRE); /* an old one is not that of the end */
        uint32_t end = usable(pool);
        uint64_t bits = kolk_depot_look(&pool->depot, place, one);
        if (!bits && grow(pool, end)) continue;
        if (!bits && pool->debug) bits = kolk_shared_take_quarantined(pool, place);
        if (bits || kolk_load(counted, KOLK_SEQ_CST) == returns) return bits;
    }
}

/* ---- Objects --------------------------------------------------------------------------------------------------------------- */

/* One slot of the depot, or of a word of it: the others fill the magazine, which is empty. */
static uint32_t take_from_depot(kolk_local *local) {
    kolk_shared *pool = local->pool;
    kolk_magazine *magazine = local->magazine;
    uint64_t bits = kolk_shared_fetch(pool, &magazine->next_word, kolk_depot_is_uncached(&pool->depot));
    uint64_t others = bits & (bits - 1);
    if (others) kolk_magazine_fill(magazine, others);
    kolk_magazine_set_bound(magazine);
    serve_waiting(pool);
    return bits ? kolk_depot_slot(&pool->depot, magazine->next_word, bits) : NO_SLOT;
}

uint32_t kolk_shared_take(kolk_local *local) {
    kolk_magazine *magazine = local->magazine;
    if (magazine->proving) return magazine->proving - 1;
    if (kolk_magazine_count(magazine)) return kolk_magazine_pop(magazine);
    uint32_t slot = take_from_depot(local);
    return slot == NO_SLOT && kolk_shared_end_epochs(local) ? take_from_depot(local) : slot;
}

void *kolk_shared_begin_life(kolk_local *local, uint32_t slot, const void *site) {
    kolk_shared *pool = local->pool;
    void *object = pool->debug ? kolk_shared_dress(local, slot, site) : plain_object_at(pool, slot);
    if (!object) return kolk_shared_fail_alloc(local);
    uint32_t life = life_of(pool, slot) + 1;
    if (pool->lives)
        kolk_store(&pool->lives[slot], life, KOLK_RELAXED);
    else
        kolk_store(&pool->short_lives[slot], (uint8_t)life, KOLK_RELAXED);
    return object;
}

void *kolk_shared_fail_alloc(const kolk_local *local) {
    uint64_t *failed = &local->magazine->failed;
    kolk_store(failed, *failed + 1, KOLK_RELAXED); /* partner: kolk_shared_stats */
    PROBE2(full, name_of(local->pool), local->pool->capacity);
    kolk_depot_go_uncached(&local->pool->depot);
    return NULL;
}

void *kolk_local_alloc_slow(kolk_local *local) {
    return kolk_shared_alloc(local, KOLK_NOW, SITE);
}

static bool end_life(const kolk_shared *pool, uintptr_t index) {
    uint32_t life = life_of(pool, index);
    if (!(life & 1)) return false;
    uint8_t short_life = (uint8_t)life;
    if (pool->lives) return kolk_compare_exchange(&pool->lives[index], &life, life + 1, KOLK_RELAXED, KOLK_RELAXED);
    return kolk_compare_exchange(&pool->short_lives[index], &short_life, (uint8_t)(short_life + 1), KOLK_RELAXED,
                                 KOLK_RELAXED);
}

uint32_t kolk_shared_end_life(const kolk_local *local, const void *object, const void *site) {
    const kolk_shared *pool = local->pool;
    uintptr_t index = pool ? slot_of(pool, object) : NO_SLOT;
    bool known = pool && is_alive(pool, index);
    /* Its zones, which are the same in every life: another thread may be freeing it, and be first. */
    if (known && pool->debug) kolk_shared_verify(pool, (uint32_t)index, false, site);
    if (!known || !end_life(pool, index)) {
        kolk_shared_fail_object(pool, object, "free", KOLK_DOUBLE_FREE, site);
        return NO_SLOT;
    }
    if (pool->debug) kolk_debug_end_life(pool->debug, (uint32_t)index, site);
    return (uint32_t)index;
}

/* Makes room in the magazine, before the thread has one slot more; true if it is to stay empty. */
static bool make_room(kolk_shared *pool, kolk_magazine *magazine) {
    bool uncached = kolk_depot_is_uncached(&pool->depot);
    uint32_t count = kolk_magazine_count(magazine), leave = 0;
    if (uncached)
        leave = count;
    else if (count == magazine->cache)
        leave = (count + 1) / 2;
    kolk_magazine_set_bound(magazine);
    if (leave) {
        kolk_magazine_put_oldest(magazine, leave);
        serve_waiting(pool);
    }
    return uncached;
}

void kolk_local_free_slow(kolk_local *local, void *object) {
    kolk_shared *pool = local->pool;
    kolk_magazine *magazine = local->magazine;
    if (!object) return;
    bool uncached = pool && make_room(pool, magazine);
    uint32_t slot = kolk_shared_end_life(local, object, SITE);
    if (slot == NO_SLOT) return;
    if (pool->debug) {
        kolk_shared_wipe(pool, slot);
    } else if (uncached) {
        kolk_depot_put(&pool->depot, slot);
    } else {
        kolk_magazine_push(magazine, slot);
    }
    if (uncached) serve_waiting(pool);
}

#else

typedef int kolk_shared_is_empty_here; /* a translation unit may not be */

#endif
