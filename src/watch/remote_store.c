/* remote_store.c: the statistics of a store of another process. See remote.h. */
#include "remote.h"

#if KOLK_REMOTE_

#define MOST_THREADS   (1u << 20)
#define MOST_MAGAZINES 4096u /* of one thread: a store of each heap's class */

/* Replaces a set by a copy of its first words. */
static bool copy_set(kolk_remote_ *remote, kolk_slot_set_ *set, uint64_t words) {
    if (words == 0) return true;
    if (set->step < KOLK_SHEET_ || set->step > KOLK_SHEET_ * (KOLK_STORE_SETS_ + 1)) return false;
    uint64_t numbers = (words - 1) / 64 * set->step + 1 + (words - 1) % 64 + 1; /* down to the last word */
    if (numbers > SIZE_MAX / 16) return false;
    uint64_t *copy =
        (uint64_t *)kolk_remote_copy_(remote, (const void *)((uintptr_t)set->end - (uintptr_t)numbers * sizeof *copy),
                                      (size_t)numbers * sizeof *copy);
    if (copy) set->end = copy + numbers;
    return copy != NULL;
}

static bool could_be_a_store(const kolk_slot_store_ *store) {
    return store->depot.word_shift <= 6 && store->n_free_sets <= KOLK_STORE_SETS_ &&
           store->n_sets <= KOLK_STORE_SETS_ && store->depot.fresh <= store->depot.slots &&
           store->slack <= store->depot.slots && store->depot.usable <= store->depot.slots;
}

static bool sum_up_sets(kolk_remote_ *remote, const kolk_slot_store_ *store, uint64_t *in_sets) {
    kolk_slot_store_ near = *store;
    uint32_t fresh = kolk_store_fresh_(store);
    if (!copy_set(remote, &near.depot.free, kolk_depot_words_(&near.depot, fresh))) return false;
    for (unsigned n = 0; n < kolk_store_free_sets_(&near); n++)
        if (!copy_set(remote, &near.sets[n], kolk_bits_words_(fresh))) return false;
    *in_sets = kolk_store_free_in_sets_(&near);
    return true;
}

/* Adds the keeper's magazine of this depot, if it has one. */
static bool sum_up_keeper(kolk_remote_ *remote, const kolk_keeper_ *keeper, const kolk_depot_ *depot,
                          kolk_magazines_sum_ *sum) {
    kolk_magazine_ magazine = {.next = (kolk_magazine_ *)keeper->magazines};
    for (unsigned n = 0; magazine.next; n++) {
        if (n == MOST_MAGAZINES || !kolk_remote_read_(remote, &magazine, magazine.next, sizeof magazine)) return false;
        if (magazine.depot != depot) continue;
        if (magazine.top > magazine.cache) return false;
        kolk_magazine_sum_up_(&magazine, sum);
        return true;
    }
    return true;
}

static bool sum_up_magazines(kolk_remote_ *remote, const kolk_slot_store_ *store, const kolk_depot_ *depot,
                             kolk_magazines_sum_ *sum) {
    kolk_keepers_ keepers;
    kolk_keeper_ keeper;
    if (!store->depot.keepers) return true;
    if (!kolk_remote_read_(remote, &keepers, store->depot.keepers, sizeof keepers)) return false;
    keeper.next = (kolk_keeper_ *)keepers.first;
    for (unsigned n = 0; keeper.next; n++) {
        if (n == MOST_THREADS || !kolk_remote_read_(remote, &keeper, keeper.next, sizeof keeper)) return false;
        if (!sum_up_keeper(remote, &keeper, depot, sum)) return false;
    }
    return true;
}

bool kolk_remote_store_(kolk_remote_ *remote, const kolk_slot_store_ *store, const kolk_slot_store_ *there,
                        const char *kind, kolk_stats *out) {
    uint64_t in_sets;
    kolk_magazines_sum_ in_magazines = {0, 0};
    if (!could_be_a_store(store) || !sum_up_sets(remote, store, &in_sets)) return false;
    if (!sum_up_magazines(remote, store, &there->depot, &in_magazines)) return false;
    kolk_store_sum_up_(store, in_sets, in_magazines, kind, out);
    if (store->objects)
        remote->blind = true; /* malloc has the objects */
    else
        kolk_remote_see_(remote, store->slots, (uint64_t)kolk_store_usable_(store) * store->stride);
    return true;
}

#endif
