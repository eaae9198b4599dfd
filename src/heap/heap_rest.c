/* heap_rest.c: returns to the system the pages that no thread has used for a while.
 *
 *     depot      free slots that were in use since the last sweep
 *     RESTING    free slots that were in the depot at the last sweep, and that no thread has taken since
 *     EDGE       the same, after a sweep that could not release all of their pages, because neighbours are in use
 *     GONE       free slots whose pages have all been released; they do not count towards a limit or budget
 *
 * A sweep releases the pages of resting slots, and makes all slots of the depot resting. A thread that finds no slot in
 * the depot takes a word of resting slots, then of edges, and then of gone slots, as far as the limit has the bytes.
 * Slots that were never used come last. So recently used slots are reused first, and the fast path of alloc does not
 * change.
 *
 * The sweep holds the lock of growth while it has slots in hand, because a thread that finds no slot takes that lock
 * and then searches again. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/block.h"
#include "../os/lock.h"
#include "../os/memory.h"

#define WORDS 64u /* words of 64 slots that a sweep has in hand at a time */

/* ---- Back to use ------------------------------------------------------------------------------------------------- */

static void put_all(kolk_depot_ *depot, uint32_t slot, uint64_t bits) {
    uint32_t in_word = kolk_depot_word_bits_(depot);
    uint64_t mask = ~UINT64_C(0) >> (64 - in_word);
    for (unsigned at = 0; at < 64; at += in_word)
        if (bits >> at & mask) kolk_depot_put_bits_(depot, (slot + at) >> depot->word_shift, bits >> at & mask);
    kolk_depot_count_return_(depot);
}

/* Counts gone slots again, which the calling thread has taken out of a word. Puts those back for which the limit has no
 * room, and returns the others. */
static uint64_t recount_gone(kolk_slot_store_ *store, uint32_t word, uint64_t bits) {
    uint32_t n = kolk_store_recount_(store, (uint32_t)kolk_bits_count_(bits));
    uint64_t counted = n ? kolk_bits_lowest_n_(bits, n) : 0;
    if (bits != counted) kolk_slot_set_put_(&store->sets[GONE], word, bits ^ counted);
    return counted;
}

uint64_t kolk_heap_rouse_(kolk_slot_store_ *store, uint32_t *word, uint32_t most) {
    uint64_t words = kolk_bits_words_(kolk_store_fresh_(store));
    for (unsigned n = 0; n < kolk_store_sets_(store); n++) {
        uint32_t found;
        for (kolk_slot_walk_ walk = kolk_slot_walk_from_(&store->sets[n], words, 0);
             kolk_slot_walk_next_(&walk, &found);) {
            uint64_t bits = kolk_slot_set_take_word_(&store->sets[n], found);
            if (!bits) continue;
            if (n == GONE && !(bits = recount_gone(store, found, bits))) return 0;
            put_all(&store->depot, found * 64, bits);
            return kolk_depot_search_(&store->depot, word, most);
        }
    }
    return 0;
}

/* ---- A sweep ----------------------------------------------------------------------------------------------------- */

/* Adjacent slots that have no object, counted from the first of the words. */
typedef struct free_run {
    uint32_t from, end;
    bool rests; /* at least one of them is resting, so the run has pages to release */
} free_run;

/* The free slots of some words, which the calling thread has taken. */
typedef struct slots_in_hand {
    uint64_t resting[WORDS], edge[WORDS], gone[WORDS];
} slots_in_hand;

static bool has_bit(const uint64_t *words, uint32_t n) {
    return words[n / 64] >> n % 64 & 1;
}

/* Releases the whole pages of a run, whose slots are counted from slot `first` on. */
static size_t discard_run(kolk_slot_store_ *store, uint32_t first, free_run run, slots_in_hand *hand, bool counts) {
    uint32_t from = first + run.from, end = first + run.end, more = 0;
    if (!run.rests) return 0;
    size_t bytes = kolk_store_discard_(store, &from, &end, counts);
    for (uint32_t at = from - first; at < end - first; at++) {
        more += !has_bit(hand->gone, at);
        hand->gone[at / 64] |= kolk_bits_at_(at);
    }
    kolk_store_uncount_(store, more);
    return bytes;
}

/* Releases the whole pages of free slots in n words, which begin at this slot. */
static size_t discard_words(kolk_slot_store_ *store, uint32_t first, uint32_t n, slots_in_hand *hand, bool counts) {
    free_run run = {0, 0, false};
    size_t bytes = 0;
    for (uint32_t at = 0; at < n * 64; at++) {
        if (!has_bit(hand->resting, at) && !has_bit(hand->edge, at) && !has_bit(hand->gone, at)) {
            bytes += discard_run(store, first, run, hand, counts);
            run = (free_run){at + 1, at + 1, false};
        } else {
            run.end++;
            run.rests |= has_bit(hand->resting, at);
        }
    }
    return bytes + discard_run(store, first, run, hand, counts);
}

static uint64_t take_if_any(const kolk_slot_set_ *set, uint32_t word) {
    return kolk_load_(kolk_slot_set_word_(set, word), KOLK_RELAXED_) ? kolk_slot_set_take_word_(set, word) : 0;
}

/* Takes all free slots that the depot has in a word of 64 slots. */
static uint64_t take_from_depot_word(const kolk_depot_ *depot, uint32_t word) {
    uint32_t in_word = kolk_depot_word_bits_(depot), left = depot->slots - word * 64;
    uint64_t bits = 0;
    for (uint32_t at = 0; at < 64 && at < left; at += in_word)
        bits |= take_if_any(&depot->free, (word * 64 + at) >> depot->word_shift) << at;
    return bits;
}

static void put_if_any(const kolk_slot_set_ *set, uint32_t word, uint64_t bits) {
    if (bits) kolk_slot_set_put_(set, word, bits);
}

static size_t sweep_words(kolk_slot_store_ *store, uint32_t first, uint32_t n, bool counts) {
    slots_in_hand hand;
    kolk_lock_word_(&store->lock);
    for (uint32_t i = 0; i < n; i++) {
        hand.resting[i] = take_if_any(&store->sets[RESTING], first + i);
        hand.edge[i] = take_if_any(&store->sets[EDGE], first + i);
        hand.gone[i] = take_if_any(&store->sets[GONE], first + i);
    }
    size_t bytes = discard_words(store, first * 64, n, &hand, counts);
    for (uint32_t i = 0; i < n; i++) {
        put_if_any(&store->sets[GONE], first + i, hand.gone[i]);
        put_if_any(&store->sets[EDGE], first + i, (hand.resting[i] | hand.edge[i]) & ~hand.gone[i]);
        put_if_any(&store->sets[RESTING], first + i, take_from_depot_word(&store->depot, first + i));
    }
    kolk_depot_count_return_(&store->depot);
    kolk_unlock_word_(&store->lock);
    return bytes;
}

/* Puts slots whose memory comes from an ended heap, and that no thread has needed so far, into the depot. So they rest
 * like others. */
static void put_kept(kolk_slot_store_ *store, uint32_t kept) {
    uint64_t bits = 1;
    uint32_t word;
    kolk_lock_word_(&store->lock);
    while (bits && kolk_store_fresh_(store) < kept) {
        bits = kolk_depot_take_fresh_(&store->depot, &word, KOLK_WHOLE_WORD_);
        if (bits) kolk_depot_put_bits_(&store->depot, word, bits);
    }
    kolk_depot_count_return_(&store->depot);
    kolk_unlock_word_(&store->lock);
}

size_t kolk_heap_sweep_(kolk_heap_tray_ *tray, bool counts) {
    kolk_slot_store_ *store = &tray->store;
    if (store->debug) return 0;                      /* its fills would be lost */
    kolk_store_(&store->has_sets, 1, KOLK_RELEASE_); /* partner: kolk_store_sets_ */
    if (kolk_store_fresh_(store) < tray->kept) put_kept(store, tray->kept);
    uint32_t words = (uint32_t)kolk_bits_words_(kolk_load_(&store->depot.fresh, KOLK_ACQUIRE_));
    size_t bytes = 0;
    for (uint32_t first = 0; first < words; first += WORDS)
        bytes += sweep_words(store, first, words - first < WORDS ? words - first : WORDS, counts);
    return bytes;
}

#endif
