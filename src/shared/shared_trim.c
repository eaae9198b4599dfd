/* shared_trim.c: pages that nobody has used for a while go back to the system. For the classes of heaps.
 *
 *     depot     free slots that were in use since the last sweep
 *     resting   later[0]: free slots that were in the depot at the last sweep, and that nobody has asked for since
 *     gone      later[1]: free slots whose pages have been given back
 *
 * A sweep gives back what rests, and lets all that is in the depot rest. A thread that finds no slot in the depot
 * takes a word of those at rest, then of those that are gone, and then slots that were never used. So what is in use
 * stays in use, and an alloc's fast path knows nothing of it.
 *
 * The sweep holds the lock of growth while it has slots in hand: a thread that finds none comes to that lock, and looks
 * again. */
#include "shared_inside.h"

#if KOLK_HOSTED

#include "../core/room.h"
#include "../os/lock.h"
#include "../os/memory.h"

#define WORDS 64u /* of 64 slots, that a sweep has in hand at a time */

enum { RESTING, GONE };

/* ---- Back to use ------------------------------------------------------------------------------------------------- */

static void put_all(kolk_depot *depot, uint32_t slot, uint64_t bits) {
    uint32_t in_word = kolk_depot_word_bits(depot);
    uint64_t mask = ~UINT64_C(0) >> (64 - in_word);
    for (unsigned at = 0; at < 64; at += in_word)
        if (bits >> at & mask) kolk_depot_put_bits(depot, (slot + at) >> depot->word_shift, bits >> at & mask);
    kolk_depot_count_return(depot);
}

bool kolk_shared_rouse(kolk_shared *pool) {
    uint64_t words = kolk_bits_words(kolk_load(&pool->depot.fresh, KOLK_RELAXED));
    for (unsigned n = 0; n < later_sets(pool); n++) {
        uint32_t word;
        for (kolk_slot_walk walk = kolk_slot_walk_from(&pool->later[n], words, 0); kolk_slot_walk_next(&walk, &word);) {
            uint64_t bits = kolk_slot_set_take_word(&pool->later[n], word);
            if (!bits) continue;
            put_all(&pool->depot, word * 64, bits);
            return true;
        }
    }
    return false;
}

/* ---- A sweep ----------------------------------------------------------------------------------------------------- */

/* Slots side by side that have no object. */
typedef struct free_run {
    uint32_t from, end;
    bool rests; /* one of them is at rest: the others' pages are gone */
} free_run;

static size_t discard_run(const kolk_shared *pool, free_run run) {
    uint64_t page = kolk_memory_page();
    uintptr_t from = (uintptr_t)pool->slots + (uintptr_t)run.from * pool->stride;
    uintptr_t end = (uintptr_t)pool->slots + (uintptr_t)run.end * pool->stride;
    if (!run.rests || round_up(from, page) >= end / page * page) return 0;
    return kolk_memory_discard((void *)from, end - from);
}

static bool has_bit(const uint64_t *words, uint32_t n) {
    return words[n / 64] >> n % 64 & 1;
}

/* Gives back the whole pages of n words that begin at this slot, in all of which the thread has the slots. */
static size_t discard_words(const kolk_shared *pool, uint32_t slot, uint32_t n, const uint64_t *resting,
                            const uint64_t *gone) {
    free_run run = {slot, slot, false};
    size_t bytes = 0;
    for (uint32_t at = 0; at < n * 64; at++) {
        if (!has_bit(resting, at) && !has_bit(gone, at)) {
            bytes += discard_run(pool, run);
            run = (free_run){slot + at + 1, slot + at + 1, false};
        } else {
            run.end++;
            run.rests |= has_bit(resting, at);
        }
    }
    return bytes + discard_run(pool, run);
}

static uint64_t take_if_any(const kolk_slot_set *set, uint32_t word) {
    return kolk_load(kolk_slot_set_word(set, word), KOLK_RELAXED) ? kolk_slot_set_take_word(set, word) : 0;
}

/* All free slots that the depot has of a word of 64 slots. */
static uint64_t take_from_depot_word(const kolk_depot *depot, uint32_t word) {
    uint32_t in_word = kolk_depot_word_bits(depot), left = depot->slots - word * 64;
    uint64_t bits = 0;
    for (uint32_t at = 0; at < 64 && at < left; at += in_word)
        bits |= take_if_any(&depot->free, (word * 64 + at) >> depot->word_shift) << at;
    return bits;
}

static size_t sweep_words(kolk_shared *pool, uint32_t first, uint32_t n) {
    uint64_t resting[WORDS], gone[WORDS];
    kolk_lock_word(&pool->lock);
    for (uint32_t i = 0; i < n; i++) {
        resting[i] = take_if_any(&pool->later[RESTING], first + i);
        gone[i] = take_if_any(&pool->later[GONE], first + i);
    }
    size_t bytes = discard_words(pool, first * 64, n, resting, gone);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t used = take_from_depot_word(&pool->depot, first + i);
        if (resting[i] | gone[i]) kolk_slot_set_put(&pool->later[GONE], first + i, resting[i] | gone[i]);
        if (used) kolk_slot_set_put(&pool->later[RESTING], first + i, used);
    }
    kolk_depot_count_return(&pool->depot);
    kolk_unlock_word(&pool->lock);
    return bytes;
}

size_t kolk_shared_sweep(kolk_shared *pool) {
    if (pool->debug) return 0; /* its fills would be lost */
    uint32_t words = (uint32_t)kolk_bits_words(kolk_load(&pool->depot.fresh, KOLK_ACQUIRE));
    size_t bytes = 0;
    for (uint32_t first = 0; first < words; first += WORDS)
        bytes += sweep_words(pool, first, words - first < WORDS ? words - first : WORDS);
    return bytes;
}

#endif
