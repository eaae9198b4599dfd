/* store.c: free slots and lives; store.h has the essay. */
#include "store.h"

#if KOLK_HOSTED

#include "../core/probes.h"
#include "../core/block.h"
#include "../os/lock.h"
#include "../os/thread.h"

#include <string.h>

/* ---- Supply ------------------------------------------------------------------------------------------------------ */

/* Returns by how many slots the store would like to grow next. */
static uint32_t next_step(const kolk_slot_store_ *store, uint32_t now) {
    uint32_t extra = now == 0 ? store->slack : 0; /* capacity does not include these */
    return kolk_block_next_capacity_(now, store->depot.slots - extra, store->stride) + extra - now;
}

/* Commits more slots than the `before` usable ones. Returns true if more are usable now, even if another thread added
 * them. */
static KOLK_NOINLINE_ bool grow(kolk_slot_store_ *store, uint32_t before) {
    KOLK_ASSERT_(before <= store->depot.slots);
    if (before == store->depot.slots && !store->sweeps) return false;
    kolk_lock_word_(&store->lock);
    uint32_t now = store->depot.usable, made = now == before ? kolk_store_gain_(store, now, next_step(store, now)) : 0;
    if (made) {
        PROBE3(grow, store->name, now, now + made);
        now += made;
        kolk_depot_extend_(&store->depot, now);
    }
    kolk_unlock_word_(&store->lock);
    return now != before;
}

/* depot.h explains the proof that there is no free slot. It needs the number of usable slots from before the look: if
 * all slots were usable then, the look has covered them all. */
static uint64_t supply_any(kolk_slot_store_ *store, uint32_t *word, uint32_t most) {
    kolk_depot_ *depot = &store->depot;
    for (;;) {
        uint64_t returns = kolk_load_(&depot->returns, KOLK_ACQUIRE_); /* if stale, it differs from that at the end */
        uint32_t end = kolk_depot_usable_(depot);
        uint64_t bits = kolk_depot_search_(depot, word, most);
        if (!bits && store->more) bits = store->more(store, word, most);
        if (!bits) bits = kolk_depot_take_fresh_(depot, word, store->put_back ? 1 : most);
        if (!bits && grow(store, end)) continue;
        if (!bits && store->debug) bits = kolk_store_take_quarantined_(store, word);
        if (bits || kolk_load_(&depot->returns, KOLK_SEQ_CST_) == returns) return bits;
    }
}

/* Does more than one thread take whole words of this store, whose lives fill whole cache lines? */
static bool is_for_several(const kolk_slot_store_ *store, uint32_t most) {
    if (most != KOLK_WHOLE_WORD_ || kolk_depot_word_bits_(&store->depot) != KOLK_WHOLE_WORD_ || store->put_back)
        return false;
    const kolk_keeper_ *newest = kolk_keepers_first_(store->depot.keepers);
    return newest && newest->next;
}

uint64_t kolk_store_supply_(kolk_slot_store_ *store, uint32_t *word, uint32_t most) {
    if (!is_for_several(store, most)) return supply_any(store, word, most);
    uint32_t processor = kolk_processor_();
    uint64_t bits = kolk_depot_search_near_(&store->depot, word, processor);
    if (!bits) bits = supply_any(store, word, most);
    kolk_depot_note_taker_(&store->depot, *word, bits, processor);
    return bits;
}

uint32_t kolk_store_take_(kolk_slot_store_ *store, kolk_magazine_ *magazine) {
    if (magazine->proving) return magazine->proving - 1;
    if (kolk_magazine_count_(magazine)) return kolk_magazine_pop_(magazine);
    uint32_t most = kolk_depot_is_uncached_(&store->depot) ? 1 : KOLK_WHOLE_WORD_;
    kolk_magazine_go_back_(magazine);
    uint64_t bits = kolk_store_supply_(store, &magazine->next_word, most);
    uint64_t others = bits & (bits - 1); /* than the slot that is returned */
    if (others) kolk_magazine_fill_(magazine, others);
    kolk_magazine_set_bound_(magazine);
    return bits ? kolk_depot_slot_(&store->depot, magazine->next_word, bits) : KOLK_NO_SLOT_;
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

void kolk_store_begin_life_(kolk_slot_store_ *store, uint32_t slot, const void *object, const void *site) {
    if (store->debug) kolk_watch_->born(store->debug, slot, object, site);
    uint32_t life = kolk_store_life_(store, slot) + 1;
    KOLK_ASSERT_(slot < store->depot.slots);
    if (store->lives) /* partner of both: kolk_store_next_alive_ */
        kolk_store_(&store->lives[slot], life, KOLK_RELEASE_);
    else
        kolk_store_(&store->short_lives[slot], (uint8_t)life, KOLK_RELEASE_);
}

/* Returns false if the slot has no life, or another thread was first to end it. */
static KOLK_ALWAYS_INLINE_ bool end_life_in_slot(const kolk_slot_store_ *store, uintptr_t slot) {
    uint32_t life = kolk_store_life_(store, slot);
    if (!(life & 1)) return false;
    if (store->lives) return kolk_compare_exchange_(&store->lives[slot], &life, life + 1, KOLK_RELAXED_, KOLK_RELAXED_);
    uint8_t short_life = (uint8_t)life, after = life == UINT8_MAX ? 2 : (uint8_t)(life + 1); /* 0: never used */
    return kolk_compare_exchange_byte_(&store->short_lives[slot], &short_life, after);
}

uint32_t kolk_store_end_life_(const kolk_slot_store_ *store, const void *object, const void *site) {
    uintptr_t slot = kolk_store_slot_of_(store, object);
    bool known = kolk_store_is_alive_(store, slot);
    /* Verify only the red zones, which are the same in every life: another thread may be freeing the object too, and
     * get there first. */
    if (known && store->debug) kolk_store_verify_(store, (uint32_t)slot, false, site);
    if (!known || !end_life_in_slot(store, slot)) {
        kolk_store_fail_object_(store, object, "free", KOLK_DOUBLE_FREE, site);
        return KOLK_NO_SLOT_;
    }
    if (store->debug) kolk_watch_->dies(store->debug, (uint32_t)slot, site);
    return (uint32_t)slot;
}

void kolk_store_end_lives_(kolk_slot_store_ *store, const void *site) {
    if (!store->debug) return;
    for (uint32_t slot = 0; slot < store->depot.fresh; slot++) {
        if (!kolk_store_is_alive_(store, slot)) continue;
        void *object = kolk_store_object_(store, slot);
        kolk_store_end_life_(store, object, site);
        kolk_watch_->wiped(store->debug, slot, object);
    }
    kolk_watch_->unmade(store->debug, store->depot.fresh);
}

/* ---- Alloc and free ---------------------------------------------------------------------------------------------- */

void *kolk_store_fail_alloc_(kolk_slot_store_ *store, kolk_magazine_ *magazine) {
    kolk_store_(&magazine->failed, magazine->failed + 1, KOLK_RELAXED_); /* partner: kolk_store_stats_ */
    PROBE2(full, store->name, kolk_store_capacity_(store));
    kolk_magazines_go_uncached_(&store->depot);
    return NULL;
}

void *kolk_store_alloc_(kolk_slot_store_ *store, kolk_magazine_ *magazine, const void *site) {
    bool fails = store->debug && kolk_debug_fails_(store->debug);
    uint32_t slot = fails ? KOLK_NO_SLOT_ : kolk_store_take_(store, magazine);
    void *object = slot == KOLK_NO_SLOT_ ? NULL : kolk_store_prepare_(store, magazine, slot, site);
    if (!object) return kolk_store_fail_alloc_(store, magazine);
    kolk_store_begin_life_(store, slot, object, site);
    return object;
}

bool kolk_store_make_room_(kolk_slot_store_ *store, kolk_magazine_ *magazine, uint32_t n) {
    bool uncached = kolk_depot_is_uncached_(&store->depot);
    uint32_t count = kolk_magazine_count_(magazine), room = magazine->cache - count, leave = 0;
    if (uncached || n > magazine->cache)
        leave = count;
    else if (n > room)
        leave = n - room > (count + 1) / 2 ? n - room : (count + 1) / 2;
    kolk_magazine_set_bound_(magazine);
    if (leave) kolk_magazine_put_oldest_(magazine, leave);
    return uncached;
}

void kolk_store_free_(kolk_slot_store_ *store, kolk_magazine_ *magazine, void *object, const void *site) {
    bool uncached = !magazine || kolk_store_make_room_(store, magazine, 1);
    uint32_t slot = kolk_store_end_life_(store, object, site);
    if (slot != KOLK_NO_SLOT_) kolk_store_put_(store, magazine, slot, uncached);
}

/* ---- Many at once ------------------------------------------------------------------------------------------------ */

/* The fields of a store that a loop over objects reads, so that they stay in registers. */
typedef struct loop_fields {
    unsigned char *slots;
    uint32_t *lives;
    uint8_t *short_lives;
    uintptr_t inverse;
    size_t stride;
    unsigned shift;
} loop_fields;

static KOLK_ALWAYS_INLINE_ loop_fields loop_fields_of(const kolk_slot_store_ *store) {
    KOLK_ASSERT_(!store->debug);
    return (loop_fields){store->slots, store->lives, store->short_lives, store->inverse, store->stride, store->shift};
}

static KOLK_ALWAYS_INLINE_ void *begin_one_of_many(loop_fields of, size_t slot) {
    if (of.lives)
        kolk_store_(&of.lives[slot], kolk_load_(&of.lives[slot], KOLK_RELAXED_) + 1, KOLK_RELAXED_);
    else
        kolk_store_(&of.short_lives[slot], (uint8_t)(kolk_load_(&of.short_lives[slot], KOLK_RELAXED_) + 1),
                    KOLK_RELAXED_);
    return of.slots + slot * of.stride;
}

/* The fast path's way to end a life, which two threads may do at once. */
static KOLK_ALWAYS_INLINE_ bool end_one_of_many(loop_fields of, uintptr_t slot) {
    if (of.lives) {
        uint32_t life = kolk_load_(&of.lives[slot], KOLK_RELAXED_);
        if (KOLK_UNLIKELY_(!(life & 1))) return false;
        kolk_store_(&of.lives[slot], life + 1, KOLK_RELAXED_);
        return true;
    }
    uint8_t life = kolk_load_(&of.short_lives[slot], KOLK_RELAXED_);
    if (KOLK_UNLIKELY_(!(life & 1))) return false;
    kolk_store_(&of.short_lives[slot], life == UINT8_MAX ? 2 : (uint8_t)(life + 1), KOLK_RELAXED_);
    return true;
}

/* The lives begin before the slots leave the magazine, so a fork's child loses none: kolk_store_reclaim_ leaves out
 * entries that are alive. */
static uint32_t alloc_at_hand(loop_fields of, kolk_magazine_ *magazine, void **objects, uint32_t n) {
    uint32_t top = magazine->top, count = n < top ? n : top;
    const uint32_t *entry = kolk_magazine_entry_(magazine, top);
    for (uint32_t i = 0; i < count; i++) objects[i] = begin_one_of_many(of, *--entry);
    kolk_store_(&magazine->top, top - count, KOLK_RELAXED_);
    return count;
}

uint32_t kolk_store_alloc_n_(kolk_slot_store_ *store, kolk_magazine_ *magazine, void **objects, uint32_t n) {
    loop_fields of = loop_fields_of(store);
    uint32_t count = alloc_at_hand(of, magazine, objects, n);
    if (count == n) return n;
    while (count < n) {
        uint32_t most = kolk_depot_is_uncached_(&store->depot) ? n - count : KOLK_WHOLE_WORD_;
        uint64_t bits = kolk_store_supply_(store, &magazine->next_word, most);
        uint32_t first = magazine->next_word << store->depot.word_shift;
        if (!bits) break;
        for (; bits && count < n; bits &= bits - 1)
            objects[count++] = begin_one_of_many(of, first + kolk_bits_lowest_(bits));
        if (bits) kolk_magazine_fill_(magazine, bits);
    }
    kolk_magazine_set_bound_(magazine);
    return count;
}

/* Frees the first objects of an array into the depot, with one put for neighbours of the same word. Returns how many
 * entries it has dealt with. The caller is a fast path, or else `exactly` one of two simultaneous frees may succeed. */
static KOLK_ALWAYS_INLINE_ uint32_t free_into_depot(kolk_slot_store_ *store, void *const *objects, uint32_t n,
                                                    bool exactly) {
    loop_fields of = loop_fields_of(store);
    kolk_depot_ *depot = &store->depot;
    uint32_t usable = kolk_depot_usable_(depot), word = 0, at = 0, freed = 0;
    unsigned word_shift = depot->word_shift;
    uint64_t bits = 0;
    for (; at < n; at++) {
        uintptr_t slot = kolk_exact_slot_((uintptr_t)objects[at] - (uintptr_t)of.slots, of.shift, of.inverse);
        if (KOLK_UNLIKELY_(slot >= usable || !(exactly ? end_life_in_slot(store, slot) : end_one_of_many(of, slot)))) {
            if (!objects[at]) continue;
            break;
        }
        if (slot >> word_shift != word) {
            if (bits) kolk_depot_put_bits_(depot, word, bits);
            word = (uint32_t)(slot >> word_shift);
            bits = 0;
        }
        bits |= UINT64_C(1) << (slot & ((1u << word_shift) - 1));
        freed++;
    }
    if (bits) kolk_depot_put_bits_(depot, word, bits);
    if (freed) kolk_depot_count_returns_(depot, freed);
    return at;
}

/* Does the same into the magazine, which must have room. Ends when the depot goes uncached: the bound is 0 then. */
static KOLK_ALWAYS_INLINE_ uint32_t free_into_magazine(const kolk_slot_store_ *store, kolk_magazine_ *magazine,
                                                       void *const *objects, uint32_t n, bool exactly) {
    loop_fields of = loop_fields_of(store);
    uint32_t usable = kolk_depot_usable_(&store->depot), at = 0;
    for (; at < n; at++) {
        uintptr_t slot = kolk_exact_slot_((uintptr_t)objects[at] - (uintptr_t)of.slots, of.shift, of.inverse);
        uint32_t bound = kolk_load_(&magazine->bound, KOLK_RELAXED_);
        if (exactly) bound = kolk_depot_is_uncached_(&store->depot) ? 0 : usable; /* its fast path has no bound */
        if (KOLK_UNLIKELY_(slot >= bound || !(exactly ? end_life_in_slot(store, slot) : end_one_of_many(of, slot)))) {
            if (!objects[at]) continue;
            break;
        }
        kolk_magazine_push_(magazine, (uint32_t)slot);
    }
    return at;
}

/* A thread never has more than `cache` slots that are not counted yet: depot.h. */
uint32_t kolk_store_free_n_(kolk_slot_store_ *store, kolk_magazine_ *magazine, void *const *objects, uint32_t n) {
    bool uncached = kolk_store_make_room_(store, magazine, n), exactly = uncached || store->depot.slow_free;
    uint32_t most = magazine->cache ? magazine->cache : KOLK_WHOLE_WORD_, at = 0;
    uint32_t passes = uncached ? n : n > magazine->cache ? n - magazine->cache / 2 : 0;
    while (at < passes) {
        uint32_t part = passes - at < most ? passes - at : most;
        uint32_t done = exactly ? free_into_depot(store, objects + at, part, true)
                                : free_into_depot(store, objects + at, part, false);
        at += done;
        if (done < part) return at;
    }
    return at + (exactly ? free_into_magazine(store, magazine, objects + at, n - at, true)
                         : free_into_magazine(store, magazine, objects + at, n - at, false));
}

/* ---- All at once ------------------------------------------------------------------------------------------------- */

/* End the lives in n slots: add 1 to the odd ones, but 255 is followed by 2. */
static void end_long_lives(uint32_t *lives, uint32_t n) {
    for (uint32_t slot = 0; slot < n; slot++) lives[slot] += lives[slot] & 1;
}

#if !KOLK_MSVC_
/* Sixteen lives that one instruction of most processors handles; elsewhere the compiler makes several of it. */
typedef uint8_t sixteen_lives __attribute__((vector_size(16)));
#endif

static void end_short_lives(uint8_t *lives, uint32_t n) {
    uint32_t at = 0;
#if !KOLK_MSVC_
    for (sixteen_lives some; n - at >= sizeof some; at += (uint32_t)sizeof some) {
        memcpy(&some, lives + at, sizeof some);
        some = (some + (some & 1)) | ((sixteen_lives)(some == UINT8_MAX) & 2);
        memcpy(lives + at, &some, sizeof some);
    }
#endif
    for (; at < n; at++) lives[at] = lives[at] == UINT8_MAX ? 2 : (uint8_t)(lives[at] + (lives[at] & 1));
}

/* In a reset no other thread takes or returns slots, but statistics may be read. */
static void empty_set(const kolk_slot_set_ *set, uint64_t words) {
    for (uint64_t word = 0; word < words; word++) {
        kolk_store_(kolk_slot_set_word_(set, word), 0, KOLK_RELAXED_);
        kolk_store_(kolk_slot_set_summary_(set, word), 0, KOLK_RELAXED_);
    }
}

/* Puts the first n slots into the depot, which may have some of them already, except those of a set. */
static void put_first(kolk_depot_ *depot, uint32_t n, const kolk_slot_set_ *except) {
    uint32_t in_word = kolk_depot_word_bits_(depot);
    for (uint32_t slot = 0; slot < n; slot += in_word) {
        uint32_t count = n - slot < in_word ? n - slot : in_word, word = slot >> depot->word_shift;
        KOLK_ASSERT_(count >= 1 && count <= 64);
        uint64_t *summary = kolk_slot_set_summary_(&depot->free, word), bits = ~UINT64_C(0) >> (64 - count);
        if (except) bits &= ~(*kolk_slot_set_word_(except, slot / 64) >> slot % 64);
        kolk_store_(kolk_slot_set_word_(&depot->free, word), bits, KOLK_RELAXED_);
        if (bits) kolk_store_(summary, *summary | kolk_bits_at_(word), KOLK_RELAXED_);
    }
    kolk_depot_count_returns_(depot, n); /* which may end a period in which it was uncached */
}

void kolk_store_reset_(kolk_slot_store_ *store, const void *site) {
    uint32_t fresh = kolk_store_fresh_(store), slot = 0;
    if (store->debug) {
        for (void *object; (object = kolk_store_next_alive_(store, &slot, fresh)); slot++)
            kolk_store_free_(store, NULL, object, site);
        return;
    }
    for (kolk_magazine_ *magazine = NULL; (magazine = kolk_keepers_next_magazine_(&store->depot, magazine));) {
        kolk_store_(&magazine->top, 0, KOLK_RELAXED_);
        kolk_store_(&magazine->leaving, 0, KOLK_RELAXED_); /* in a fork's child, its thread may have died in a put */
    }
    const kolk_slot_set_ *stays = NULL; /* released slots have no memory: they stay in the last set of free slots */
    if (kolk_load_(&store->released, KOLK_RELAXED_)) stays = &store->sets[kolk_store_free_sets_(store) - 1];
    for (unsigned n = 0; n < kolk_store_free_sets_(store); n++)
        if (&store->sets[n] != stays) empty_set(&store->sets[n], kolk_bits_words_(fresh));
    if (store->lives)
        end_long_lives(store->lives, fresh);
    else
        end_short_lives(store->short_lives, fresh);
    put_first(&store->depot, fresh, stays);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

kolk_magazine_ *kolk_store_add_magazine_(kolk_slot_store_ *store, kolk_keeper_ *keeper, void *memory) {
    kolk_magazine_ *magazine = (kolk_magazine_ *)memory;
    *magazine = (kolk_magazine_){
        .slots = store->slots,
        .lives = store->lives,
        .short_lives = store->short_lives,
        .inverse = store->inverse,
        .stride = store->stride,
        .shift = store->shift,
        .cache = store->depot.cache,
        .depot = &store->depot,
    };
    kolk_magazine_begin_entries_(magazine);
    kolk_keeper_add_(keeper, magazine);
    return magazine;
}

/* Puts back the slot whose fill was being verified, if there is one. */
static void put_proving(kolk_slot_store_ *store, kolk_magazine_ *magazine) {
    uint32_t proving = magazine->proving;
    kolk_store_(&magazine->proving, 0, KOLK_RELAXED_); /* first, as in kolk_store_reclaim_ */
    if (proving && store->put_back)
        store->put_back(store, proving - 1);
    else if (proving)
        kolk_depot_put_(&store->depot, proving - 1);
}

void kolk_store_flush_(kolk_slot_store_ *store, kolk_magazine_ *magazine) {
    kolk_magazine_put_oldest_(magazine, kolk_magazine_count_(magazine));
    put_proving(store, magazine);
}

/* A fork may interrupt this anywhere, and the child then reclaims the magazine again. So each slot leaves the magazine
 * before it is put into the depot. An entry may be the slot of a live object, because other threads may see alloc's two
 * stores (to `top` and to the life) in either order. */
void kolk_store_reclaim_(kolk_slot_store_ *store, kolk_magazine_ *magazine) {
    uint32_t fresh = kolk_load_(&store->depot.fresh, KOLK_ACQUIRE_);
    while (magazine->leaving < magazine->top) {
        uint32_t slot = *kolk_magazine_entry_(magazine, magazine->leaving);
        kolk_store_(&magazine->leaving, magazine->leaving + 1, KOLK_RELAXED_);
        if (slot < fresh && !(kolk_store_life_(store, slot) & 1)) kolk_depot_put_(&store->depot, slot);
    }
    /* The fill of this slot may be half written. */
    if (magazine->proving) kolk_watch_->lost(store->debug, magazine->proving - 1, magazine->proving, false);
    put_proving(store, magazine);
    kolk_store_(&magazine->top, 0, KOLK_RELEASE_); /* in this order */
    kolk_store_(&magazine->leaving, 0, KOLK_RELEASE_);
}

#endif
