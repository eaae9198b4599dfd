/* store_ask.c: queries about a store, reports of invalid pointers, and the check of the invariants listed in
 * store.h. */
#include "store.h"

#if KOLK_HOSTED

#include "../base/hash.h"
#include "../core/tools.h"
#include "../core/fail.h"
#include "../core/quarantine.h"

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

/* Returns the slot that this pointer points into, and sets *inside to the offset in the slot. Returns KOLK_NO_SLOT_ if
 * the pointer does not belong to this store. */
static uint32_t locate(const kolk_slot_store_ *store, const void *pointer, uint64_t *inside) {
    *inside = 0;
    if (store->objects) return kolk_store_search_bypassed_(store, pointer, inside);
    return kolk_locate_(store->slots, store->stride, kolk_store_usable_(store), pointer, inside);
}

/* Has the slot never been alive? With short lives, this may wrongly return false for a never-used slot that a thread
 * has just taken. */
static bool is_new(const kolk_slot_store_ *store, uint32_t slot) {
    return kolk_store_life_(store, slot) == 0 && (store->lives || slot >= kolk_store_fresh_(store));
}

void kolk_store_fail_object_(const kolk_slot_store_ *store, const void *object, const char *verb, kolk_status if_dead,
                             const void *site) {
    uint64_t inside;
    uint32_t slot = locate(store, object, &inside);
    kolk_failure failure = kolk_store_failure_(store, if_dead, slot, site);
    failure.object = object;
    if (slot != KOLK_NO_SLOT_ && is_new(store, slot)) failure.rule = KOLK_NEVER_ISSUED;
    kolk_fail_object_(failure, verb, "slot", inside);
}

/* ---- Walk -------------------------------------------------------------------------------------------------------- */

/* The walk sees what was written to an object before its life began, if that was in the second half of a take. */
static bool begins_life(const kolk_slot_store_ *store, uint32_t slot) {
    uint32_t life = store->lives ? kolk_load_(&store->lives[slot], KOLK_ACQUIRE_)        /* partners: */
                                 : kolk_load_(&store->short_lives[slot], KOLK_ACQUIRE_); /* kolk_shared_begin_ ... */
    return life & 1;
}

/* Returns the first slot from this one on that has a live object, or `end`. */
static uint32_t live_from(const kolk_slot_store_ *store, uint32_t slot, uint32_t end) {
    while (slot < end && !begins_life(store, slot)) slot++;
    return slot;
}

void *kolk_store_next_alive_(const kolk_slot_store_ *store, uint32_t *slot, uint32_t end) {
    void *object = NULL;
    if (store->objects) kolk_store_lock_debug_(store);
    *slot = live_from(store, *slot, end);
    if (*slot < end) object = store->objects ? (void *)~store->objects[*slot] : kolk_store_plain_object_(store, *slot);
    if (store->objects) kolk_store_unlock_debug_(store);
    return object;
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

uint64_t kolk_store_free_in_sets_(const kolk_slot_store_ *store) {
    uint32_t fresh = kolk_store_fresh_(store);
    uint64_t count = kolk_slot_set_count_(&store->depot.free, kolk_depot_words_(&store->depot, fresh));
    for (unsigned n = 0; n < kolk_store_free_sets_(store); n++)
        count += kolk_slot_set_count_(&store->sets[n], kolk_bits_words_(fresh));
    return count + kolk_load_(&store->quarantined, KOLK_RELAXED_);
}

void kolk_magazine_sum_up_(const kolk_magazine_ *magazine, kolk_magazines_sum_ *sum) {
    sum->free += kolk_magazine_count_(magazine) + (kolk_load_(&magazine->proving, KOLK_RELAXED_) != 0);
    sum->failed += kolk_load_(&magazine->failed, KOLK_RELAXED_);
}

static kolk_magazines_sum_ sum_of_magazines(const kolk_slot_store_ *store) {
    kolk_magazines_sum_ sum = {0, 0};
    for (const kolk_magazine_ *magazine = NULL; (magazine = kolk_keepers_next_magazine_(&store->depot, magazine));)
        kolk_magazine_sum_up_(magazine, &sum);
    return sum;
}

static uint32_t count_without(const kolk_slot_store_ *store, uint64_t free) {
    uint32_t fresh = kolk_store_fresh_(store);
    return free < fresh ? (uint32_t)(fresh - free) : 0;
}

uint32_t kolk_store_count_(const kolk_slot_store_ *store) {
    return count_without(store, kolk_store_free_in_sets_(store) + sum_of_magazines(store).free);
}

void kolk_store_sum_up_(const kolk_slot_store_ *store, uint64_t in_sets, kolk_magazines_sum_ in_magazines,
                        const char *kind, kolk_stats *out) {
    uint32_t fresh = kolk_store_fresh_(store), capacity = kolk_store_capacity_(store);
    uint32_t count = count_without(store, in_sets + in_magazines.free), taken = fresh < capacity ? fresh : capacity;
    *out = (kolk_stats){
        .name = kolk_raw_load_(&store->name, KOLK_RELAXED_),
        .kind = kind,
        .object_size = store->object_size,
        .stride = store->stride,
        .count = count,
        .peak = count > taken ? count : taken,
        .capacity = capacity,
        .max_capacity = store->depot.slots - store->slack,
        .unused_bytes = (uint64_t)(capacity - taken) * store->stride,
        .bytes_reserved = store->block_size,
        .bytes_committed = kolk_store_committed_(store),
        .failed = in_magazines.failed,
        .debug = store->debug_flags,
    };
}

void kolk_store_stats_(const kolk_slot_store_ *store, const char *kind, kolk_stats *out) {
    uint64_t in_sets = kolk_store_free_in_sets_(store);
    kolk_store_sum_up_(store, in_sets, sum_of_magazines(store), kind, out);
}

/* ---- Invariants -------------------------------------------------------------------------------------------------- */

/* The slots found so far: their number, and a sum of hashes that identifies the set. */
typedef struct slot_sum {
    uint64_t slots, mixed;
} slot_sum;

static void add_slot(slot_sum *found, uint64_t slot) {
    found->slots++;
    found->mixed += kolk_mixed_(slot);
}

/* Adds all slots of a set that uses this many bits of each word. Returns false if a slot is not below `end`, or if a
 * non-empty word is not in the summary. */
static bool add_set(slot_sum *found, const kolk_slot_set_ *set, uint64_t words, uint32_t bits, uint32_t end) {
    for (uint64_t word = 0; word < words; word++) {
        uint64_t left = *kolk_slot_set_word_(set, word);
        if (left && !(*kolk_slot_set_summary_(set, word) & kolk_bits_at_(word))) return false; /* I3 */
        for (; left; left &= left - 1) {
            if (kolk_bits_lowest_(left) >= bits || word * bits + kolk_bits_lowest_(left) >= end) return false; /* I2 */
            add_slot(found, word * bits + kolk_bits_lowest_(left));
        }
    }
    return true;
}

static bool add_magazine(slot_sum *found, kolk_magazine_ *magazine, uint32_t cache, uint32_t end) {
    if (kolk_magazine_count_(magazine) > cache || magazine->leaving) return false; /* I4 */
    for (uint32_t at = 0; at < magazine->top; at++) {
        add_slot(found, *kolk_magazine_entry_(magazine, at)); /* I2: a slot not below `end` makes the sums differ */
    }
    if (magazine->proving > end) return false; /* I2 */
    if (magazine->proving) add_slot(found, magazine->proving - 1);
    return true;
}

static bool is_released_right(const kolk_slot_store_ *store) {
    unsigned sets = kolk_store_free_sets_(store);
    if (store->released == 0) return true;
    return sets &&
           kolk_slot_set_count_(&store->sets[sets - 1], kolk_bits_words_(store->depot.usable)) == store->released;
}

bool kolk_store_is_valid_(const kolk_slot_store_ *store) {
    const kolk_depot_ *depot = &store->depot;
    uint32_t fresh = depot->fresh;
    slot_sum all = {0, 0}, found = {0, 0};
    if (fresh > depot->usable || depot->usable > depot->slots) return false;       /* I1 */
    if (depot->cache && kolk_depot_word_bits_(depot) > depot->cache) return false; /* I4 */
    for (uint32_t i = 0; i < depot->usable; i++) {
        uint32_t life = kolk_store_life_(store, i);
        if (i >= fresh && life) return false; /* I2 */
        if (i < fresh) add_slot(&all, i);
        if (life & 1) add_slot(&found, i);
    }
    if (!add_set(&found, &depot->free, kolk_depot_words_(depot, depot->usable), kolk_depot_word_bits_(depot), fresh))
        return false;
    for (unsigned n = 0; n < kolk_store_free_sets_(store); n++)
        if (!add_set(&found, &store->sets[n], kolk_bits_words_(depot->usable), 64, fresh)) return false;
    for (kolk_magazine_ *magazine = NULL; (magazine = kolk_keepers_next_magazine_(depot, magazine));)
        if (!add_magazine(&found, magazine, depot->cache, fresh)) return false;
    for (uint32_t n = 0; n < store->quarantined; n++) add_slot(&found, *kolk_quarantined_(store->debug, n));
    if (store->debug && !kolk_store_is_intact_(store)) return false; /* I5 */
    if (!is_released_right(store)) return false;                     /* I6 */
    return found.slots == all.slots && found.mixed == all.mixed;     /* I2 */
}

#endif
