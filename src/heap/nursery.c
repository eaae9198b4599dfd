/* nursery.c: see nursery.h.
 *
 * A fork may interrupt another thread at any line. The child finds the lock free, and mends the nursery at its first
 * call: the bits in the records are written in an order that makes each of them right at any time, and the counts are
 * counted again. The child may lose a block, or leaves that were on their way, but nothing else. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/bits.h"
#include "../os/lock.h"
#include "nursery.h"

#include <string.h>

#define MOST_SERVED 1024u   /* blocks of a class */
#define MOST_BYTES  262144u /* of a class, so larger classes get fewer blocks */
#define MOST_YOUNG  2048u   /* leaves of all runs together */

#define ALL_BITS (~UINT64_C(0))

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static unsigned grain_of(const void *at) {
    return (unsigned)((uintptr_t)at / KOLK_GRAIN_ % 64);
}

static uint64_t grain_bit(const void *at) {
    return UINT64_C(1) << grain_of(at);
}

static kolk_leaf_ *record_of(const void *at) {
    return kolk_leaf_record_(kolk_leaf_at_(at));
}

/* Other threads may read the bits meanwhile, so they are written as a whole. */
static void mark_start(const void *at) {
    kolk_leaf_ *record = record_of(at);
    kolk_store_(&record->starts, record->starts | grain_bit(at), KOLK_RELAXED_);
}

static void mark_alive(const void *at) {
    kolk_leaf_ *record = record_of(at);
    kolk_store_(&record->alive, record->alive | grain_bit(at), KOLK_RELAXED_);
}

static void mark_dead(const void *at) {
    kolk_leaf_ *record = record_of(at);
    kolk_store_(&record->alive, record->alive & ~grain_bit(at), KOLK_RELAXED_);
}

static bool is_alive(const void *at) {
    return (uintptr_t)at % KOLK_GRAIN_ == 0 && kolk_load_(&record_of(at)->alive, KOLK_RELAXED_) & grain_bit(at);
}

static uint32_t run_of(uint32_t leaf) {
    return leaf - kolk_load_(&kolk_leaf_record_(leaf)->back, KOLK_RELAXED_);
}

static uint32_t length_of(uint32_t run) {
    return kolk_load_(&kolk_leaf_record_(run)->length, KOLK_RELAXED_);
}

/* Where the block or gap that starts here ends. For a live block, this needs no lock. */
static unsigned char *block_end(const void *start) {
    uint32_t leaf = kolk_leaf_at_(start);
    uint64_t bits = kolk_load_(&kolk_leaf_record_(leaf)->starts, KOLK_RELAXED_) & (ALL_BITS - 1) << grain_of(start);
    if (!bits) {
        uint32_t run = run_of(leaf), end = run + length_of(run);
        do {
            if (++leaf == end) return kolk_leaf_start_(leaf);
            bits = kolk_load_(&kolk_leaf_record_(leaf)->starts, KOLK_RELAXED_);
        } while (!bits);
    }
    return kolk_leaf_start_(leaf) + kolk_bits_lowest_(bits) * KOLK_GRAIN_;
}

static size_t size_at(const void *start) {
    return (size_t)(block_end(start) - (const unsigned char *)start);
}

/* ---- Freed blocks ------------------------------------------------------------------------------------------------ */

/* Counts a freed block or a gap. Only if it has the size of a class can a new block take its place. */
static void count_freed(kolk_nursery_ *nursery, size_t size, int more) {
    uint32_t n = kolk_own_class_(size);
    if (n < KOLK_NURSERY_CLASSES_ && kolk_own_size_(n) == size) nursery->of.freed[n] += (uint32_t)more;
}

/* Calls count_freed for all that is free in a run, except for the rest of the newest run. */
static void count_run(kolk_nursery_ *nursery, uint32_t run, int more) {
    for (uint32_t leaf = run; leaf < run + length_of(run); leaf++) {
        const kolk_leaf_ *record = kolk_leaf_record_(leaf);
        for (uint64_t bits = record->starts & ~record->alive; bits; bits &= bits - 1) {
            unsigned char *at = kolk_leaf_start_(leaf) + kolk_bits_lowest_(bits) * KOLK_GRAIN_;
            if (at != nursery->top) count_freed(nursery, size_at(at), more);
        }
    }
}

static unsigned char *find_in_run(const kolk_nursery_ *nursery, uint32_t run, size_t size) {
    for (uint32_t leaf = run; leaf < run + length_of(run); leaf++) {
        const kolk_leaf_ *record = kolk_leaf_record_(leaf);
        for (uint64_t bits = record->starts & ~record->alive; bits; bits &= bits - 1) {
            unsigned char *at = kolk_leaf_start_(leaf) + kolk_bits_lowest_(bits) * KOLK_GRAIN_;
            if (size_at(at) == size && at != nursery->top) return at;
        }
    }
    return NULL;
}

/* Takes the place of a freed block of class n. */
static unsigned char *take_freed(kolk_nursery_ *nursery, uint32_t n) {
    size_t size = kolk_own_size_(n);
    if (nursery->of.freed[n] == 0) return NULL;
    unsigned char *found = nursery->hint ? find_in_run(nursery, run_of(nursery->hint), size) : NULL;
    for (uint32_t run = nursery->newest; run && !found; run = kolk_leaf_record_(run)->next)
        found = find_in_run(nursery, run, size);
    KOLK_ASSERT_(found);
    nursery->of.freed[n]--;
    return found;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void clear_run(uint32_t run, uint32_t length) {
    for (uint32_t leaf = run; leaf < run + length; leaf++) {
        kolk_store_(&kolk_leaf_record_(leaf)->alive, 0, KOLK_RELAXED_);
        kolk_store_(&kolk_leaf_record_(leaf)->starts, 0, KOLK_RELAXED_);
    }
}

/* Makes an empty run the place for new blocks. */
static void begin_rest(kolk_nursery_ *nursery, uint32_t run) {
    nursery->top = kolk_leaf_start_(run);
    nursery->end = nursery->top + length_of(run) * KOLK_LEAF_;
    mark_start(nursery->top);
}

/* What is left of the newest run becomes a gap. */
static void end_rest(kolk_nursery_ *nursery) {
    if (nursery->top) count_freed(nursery, (size_t)(nursery->end - nursery->top), 1);
    nursery->top = nursery->end = NULL;
}

static void link_run(kolk_nursery_ *nursery, uint32_t run, uint32_t length) {
    clear_run(run, length);
    for (uint32_t at = 0; at < length; at++) {
        kolk_leaf_ *record = kolk_leaf_record_(run + at);
        kolk_store_(&record->back, (uint8_t)at, KOLK_RELAXED_);
        kolk_store_(&record->owner, nursery->owner, KOLK_RELAXED_);
    }
    kolk_leaf_ *first = kolk_leaf_record_(run);
    kolk_store_(&first->length, (uint8_t)length, KOLK_RELAXED_);
    first->living = 0;
    first->before = 0;
    first->next = nursery->newest;
    if (first->next) kolk_leaf_record_(first->next)->before = run;
    kolk_store_(&nursery->newest, run, KOLK_RELEASE_); /* a fork's child finds it complete, or not at all */
    nursery->leaves += length;
}

static void unlink_run(kolk_nursery_ *nursery, uint32_t run) {
    kolk_leaf_ *first = kolk_leaf_record_(run);
    if (first->before)
        kolk_store_(&kolk_leaf_record_(first->before)->next, first->next, KOLK_RELEASE_);
    else
        kolk_store_(&nursery->newest, first->next, KOLK_RELEASE_);
    if (first->next) kolk_leaf_record_(first->next)->before = first->before;
    if (run_of(nursery->hint) == run) nursery->hint = 0;
    nursery->leaves -= first->length;
}

/* Returns a run's leaves. The records keep the owner, so that another free of a block that was there is known to be a
 * double free. */
static void give_run(const kolk_nursery_ *nursery, uint32_t run) {
    uint32_t length = length_of(run);
    clear_run(run, length);
    kolk_leaves_give_(run, length);
    kolk_budget_give_(nursery->budget, (uint64_t)length * KOLK_LEAF_);
}

/* Adds a run that has room for `size` bytes, and as many leaves as there are already if possible: so a heap has few
 * runs, and a small one has little that it does not need. */
static bool add_run(kolk_nursery_ *nursery, size_t size) {
    uint32_t least = (uint32_t)((size + KOLK_LEAF_ - 1) / KOLK_LEAF_), wish = nursery->leaves;
    if (wish > KOLK_LEAF_RUN_) wish = KOLK_LEAF_RUN_;
    if (wish < least) wish = least;
    uint64_t bytes = (uint64_t)wish * KOLK_LEAF_;
    if (kolk_budget_take_(nursery->budget, bytes, bytes) == 0) {
        wish = least;
        bytes = (uint64_t)wish * KOLK_LEAF_;
        if (kolk_budget_take_(nursery->budget, bytes, bytes) == 0) return false;
    }
    uint32_t run = kolk_leaves_take_(wish);
    if (!run) {
        kolk_budget_give_(nursery->budget, bytes);
        return false;
    }
    end_rest(nursery);
    link_run(nursery, run, wish);
    begin_rest(nursery, run);
    return true;
}

/* The newest run stays, and is used from its start again. */
static void empty_run(kolk_nursery_ *nursery, uint32_t run) {
    count_run(nursery, run, -1);
    if (run != nursery->newest) {
        unlink_run(nursery, run);
        give_run(nursery, run);
        return;
    }
    clear_run(run, length_of(run));
    begin_rest(nursery, run);
}

/* ---- After a fork ------------------------------------------------------------------------------------------------ */

/* Counts again what is in a run. */
static void recount_run(kolk_nursery_ *nursery, uint32_t run) {
    kolk_leaf_ *first = kolk_leaf_record_(run);
    first->living = 0;
    nursery->leaves += first->length;
    for (uint32_t leaf = run; leaf < run + first->length; leaf++) {
        for (uint64_t bits = kolk_leaf_record_(leaf)->alive; bits; bits &= bits - 1) {
            uint32_t n = kolk_own_class_(size_at(kolk_leaf_start_(leaf) + kolk_bits_lowest_(bits) * KOLK_GRAIN_));
            KOLK_ASSERT_(n < KOLK_NURSERY_CLASSES_);
            nursery->of.alive[n]++;
            first->living++;
        }
    }
    count_run(nursery, run, 1);
}

static void recount(kolk_nursery_ *nursery) {
    memset(nursery->of.alive, 0, sizeof nursery->of.alive);
    memset(nursery->of.freed, 0, sizeof nursery->of.freed);
    nursery->leaves = 0;
    for (uint32_t run = nursery->newest; run; run = kolk_leaf_record_(run)->next) recount_run(nursery, run);
}

/* Another thread may have been at work when the process forked. The rest of the newest run becomes a gap. */
static void mend(kolk_nursery_ *nursery) {
    nursery->hint = 0;
    nursery->top = nursery->end = NULL;
    for (uint32_t run = nursery->newest, before = 0; run; before = run, run = kolk_leaf_record_(run)->next) {
        kolk_leaf_record_(run)->before = before;
        mark_start(kolk_leaf_start_(run));
    }
    recount(nursery);
    nursery->forks = kolk_forks_();
}

static void lock_nursery(kolk_nursery_ *nursery) {
    kolk_lock_word_(&nursery->lock);
    if (nursery->forks != kolk_forks_()) mend(nursery);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* Places a block at the top of the newest run. The start behind it is set first, and before the block is alive: so its
 * size is right from the first moment. */
static unsigned char *take_top(kolk_nursery_ *nursery, size_t align, size_t size) {
    unsigned char *top = nursery->top;
    if (!top) return NULL;
    unsigned char *at = top + (-(uintptr_t)top & (align - 1));
    if ((size_t)(nursery->end - top) < (size_t)(at - top) + size) return NULL;
    if (at + size != nursery->end) {
        mark_start(at + size);
        nursery->top = at + size;
    } else {
        nursery->top = nursery->end = NULL;
    }
    if (at == top) return at;
    mark_start(at);
    count_freed(nursery, (size_t)(at - top), 1);
    return at;
}

static unsigned char *take_place(kolk_nursery_ *nursery, size_t align, uint32_t n) {
    size_t size = kolk_own_size_(n);
    unsigned char *at = align <= KOLK_GRAIN_ ? take_freed(nursery, n) : NULL;
    if (!at) at = take_top(nursery, align, size);
    if (!at && add_run(nursery, size)) at = take_top(nursery, align, size);
    return at;
}

static bool serves(const kolk_nursery_ *nursery, uint32_t n) {
    return nursery->of.served[n] < MOST_SERVED && nursery->of.served[n] * kolk_own_size_(n) < MOST_BYTES &&
           nursery->leaves < MOST_YOUNG;
}

void *kolk_nursery_alloc_(kolk_nursery_ *nursery, size_t align, size_t size, bool anyway) {
    if (nursery->is_closed || size > KOLK_NURSERY_LARGEST_ || align > KOLK_LEAF_) return NULL;
    uint32_t n = kolk_own_class_(size);
    KOLK_ASSERT_(n < KOLK_NURSERY_CLASSES_);
    lock_nursery(nursery);
    unsigned char *block = anyway || serves(nursery, n) ? take_place(nursery, align, n) : NULL;
    if (block) {
        uint32_t run = run_of(kolk_leaf_at_(block));
        mark_alive(block);
        kolk_leaf_record_(run)->living++;
        nursery->of.alive[n]++;
        nursery->of.served[n]++;
    }
    kolk_unlock_word_(&nursery->lock);
    return block;
}

static void end_life_of(kolk_nursery_ *nursery, const void *block) {
    uint32_t leaf = kolk_leaf_at_(block), run = run_of(leaf);
    size_t size = size_at(block);
    mark_dead(block);
    nursery->of.alive[kolk_own_class_(size)]--;
    count_freed(nursery, size, 1);
    nursery->hint = leaf;
    if (--kolk_leaf_record_(run)->living == 0) empty_run(nursery, run);
}

bool kolk_nursery_free_(kolk_nursery_ *nursery, const void *block) {
    if (!kolk_nursery_has_(nursery, block)) return false;
    lock_nursery(nursery);
    bool is_live = kolk_nursery_has_(nursery, block) && is_alive(block);
    if (is_live) end_life_of(nursery, block);
    kolk_unlock_word_(&nursery->lock);
    return is_live;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

void kolk_nursery_begin_(kolk_nursery_ *nursery, kolk_budget_ *budget) {
    static uint32_t owners;
    nursery->owner = kolk_fetch_add_(&owners, 1, KOLK_RELAXED_) + 1;
    if (nursery->owner == 0) nursery->owner = kolk_fetch_add_(&owners, 1, KOLK_RELAXED_) + 1;
    nursery->forks = kolk_forks_();
    nursery->budget = budget;
}

/* Returns all runs of a list, which the nursery no longer has: a fork's child must not find a run in two places. */
static void give_runs(const kolk_nursery_ *nursery, uint32_t run) {
    while (run) {
        uint32_t next = kolk_leaf_record_(run)->next;
        give_run(nursery, run);
        run = next;
    }
}

void kolk_nursery_reset_(kolk_nursery_ *nursery) {
    uint32_t newest = nursery->newest;
    if (!newest) return;
    kolk_leaf_ *first = kolk_leaf_record_(newest);
    uint32_t others = first->next;
    kolk_store_(&first->next, 0, KOLK_RELEASE_);
    give_runs(nursery, others);
    clear_run(newest, first->length);
    first->before = 0;
    first->living = 0;
    memset(&nursery->of, 0, sizeof nursery->of);
    nursery->leaves = first->length;
    nursery->hint = 0;
    nursery->forks = kolk_forks_();
    begin_rest(nursery, newest);
}

void kolk_nursery_end_(kolk_nursery_ *nursery) {
    uint32_t newest = nursery->newest;
    kolk_store_(&nursery->newest, 0, KOLK_RELEASE_);
    give_runs(nursery, newest);
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

size_t kolk_nursery_size_of_(const kolk_nursery_ *nursery, const void *block) {
    return kolk_nursery_has_(nursery, block) && is_alive(block) ? size_at(block) : 0;
}

/* The last start in this run at or before the address. */
static unsigned char *start_at_or_before(uint32_t run, const unsigned char *at) {
    uint32_t leaf = kolk_leaf_at_(at);
    uint64_t bits = kolk_leaf_record_(leaf)->starts & ALL_BITS >> (63 - grain_of(at));
    while (!bits && leaf > run) bits = kolk_leaf_record_(--leaf)->starts;
    if (!bits) return NULL;
    return kolk_leaf_start_(leaf) + (63 - (unsigned)__builtin_clzll(bits)) * KOLK_GRAIN_;
}

void *kolk_nursery_locate_(kolk_nursery_ *nursery, const void *at) {
    unsigned char *start = NULL;
    lock_nursery(nursery);
    if (kolk_nursery_has_(nursery, at))
        start = start_at_or_before(run_of(kolk_leaf_at_(at)), (const unsigned char *)at);
    bool is_live = start && is_alive(start);
    kolk_unlock_word_(&nursery->lock);
    return is_live ? start : NULL;
}

/* The first live block of a run from this address on. */
static unsigned char *first_alive(uint32_t run, uintptr_t from) {
    for (uint32_t leaf = run; leaf < run + length_of(run); leaf++) {
        uint64_t bits = kolk_leaf_record_(leaf)->alive;
        for (; bits; bits &= bits - 1) {
            unsigned char *at = kolk_leaf_start_(leaf) + kolk_bits_lowest_(bits) * KOLK_GRAIN_;
            if ((uintptr_t)at >= from) return at;
        }
    }
    return NULL;
}

void *kolk_nursery_next_(kolk_nursery_ *nursery, const void *above) {
    unsigned char *lowest = NULL;
    lock_nursery(nursery);
    for (uint32_t run = nursery->newest; run; run = kolk_leaf_record_(run)->next) {
        uintptr_t start = (uintptr_t)kolk_leaf_start_(run), end = start + length_of(run) * KOLK_LEAF_;
        if (end <= (uintptr_t)above || (lowest && start > (uintptr_t)lowest)) continue;
        unsigned char *found = first_alive(run, (uintptr_t)above + 1);
        if (found && (!lowest || found < lowest)) lowest = found;
    }
    kolk_unlock_word_(&nursery->lock);
    return lowest;
}

bool kolk_nursery_count_(kolk_nursery_ *nursery, kolk_nursery_counts_ *out) {
    memset(out, 0, sizeof *out);
    if (kolk_load_(&nursery->newest, KOLK_RELAXED_) == 0) return false;
    lock_nursery(nursery);
    *out = nursery->of;
    kolk_unlock_word_(&nursery->lock);
    return true;
}

static bool is_run_valid(const kolk_nursery_ *nursery, uint32_t run, uint32_t before) {
    const kolk_leaf_ *first = kolk_leaf_record_(run);
    uint32_t living = 0;
    if (first->before != before || first->length == 0 || first->length > KOLK_LEAF_RUN_) return false; /* N1 */
    if (!(first->starts & 1)) return false;                                                            /* N2 */
    for (uint32_t leaf = run; leaf < run + first->length; leaf++) {
        const kolk_leaf_ *record = kolk_leaf_record_(leaf);
        if (record->owner != nursery->owner || record->back != leaf - run) return false; /* N1 */
        if (record->alive & ~record->starts) return false;                               /* N2 */
        living += (uint32_t)__builtin_popcountll(record->alive);
    }
    return living == first->living; /* N3 */
}

static bool are_counts_right(kolk_nursery_ *nursery) {
    kolk_nursery_ counted = *nursery;
    recount(&counted);
    return counted.leaves == nursery->leaves &&
           memcmp(counted.of.alive, nursery->of.alive, sizeof counted.of.alive) == 0 &&
           memcmp(counted.of.freed, nursery->of.freed, sizeof counted.of.freed) == 0;
}

bool kolk_nursery_is_valid_(kolk_nursery_ *nursery) {
    uint32_t before = 0;
    for (uint32_t run = nursery->newest; run; run = kolk_leaf_record_(run)->next) {
        if (!is_run_valid(nursery, run, before)) return false;
        before = run;
    }
    if (nursery->top && block_end(nursery->top) != nursery->end) return false; /* N2 */
    return are_counts_right(nursery);                                          /* N3 */
}

#endif
