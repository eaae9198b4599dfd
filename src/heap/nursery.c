/* nursery.c: see nursery.h.
 *
 * A fork may interrupt another thread at any line. The child finds that the lock was taken, and mends the nursery at
 * its first call: the bits in the records are written in an order that makes each of them right at any time, and the
 * counts are counted again. The child may lose leaves that were on their way, which still count towards a limit, but
 * nothing else. */
#undef KOLK_EXTERN /* base.c emits the functions of base.inl, even if the program defines KOLK_EXTERN */
#include "kolk/base.inl"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/bits.h"
#include "../os/lock.h"
#include "nursery.h"
#include "seal.h"

#include <string.h>

#define MOST_SERVED 1024u   /* blocks of a class */
#define MOST_BYTES  262144u /* of a class, so larger classes get fewer blocks */
#define MOST_YOUNG  2048u   /* leaves of all runs together */
#define TRIM_PART   16u     /* a trim for room pays off when this part of the bytes was freed */
#define MARGIN      48u     /* bytes before the first block of a watched run, a multiple of KOLK_GRAIN_ */
#define GLANCE      64u     /* bytes of a freed block, and above the top, that each call looks at */
#define WATCHED     16u     /* blocks of a doubling that are watched */
#define WATCHED_OF  65536u  /* bytes of a doubling that are watched, so larger sizes get fewer blocks */
#define FEW_WATCHED 1u      /* but at least this many blocks */

/* By class: the size of a block in bytes, and how many blocks are served before the class is made. */
#define YOUNG_MOST(n) (MOST_BYTES / KOLK_OWN_SIZE_(n) < MOST_SERVED ? MOST_BYTES / KOLK_OWN_SIZE_(n) : MOST_SERVED)
#define YOUNG_ONE(n)                                                                                                   \
    { KOLK_OWN_SIZE_(n), YOUNG_MOST(n) }
#define YOUNG_FOUR(n) YOUNG_ONE(n), YOUNG_ONE(n + 1), YOUNG_ONE(n + 2), YOUNG_ONE(n + 3)
static const struct {
    uint32_t size, most;
} young_classes[KOLK_NURSERY_CLASSES_] = {YOUNG_FOUR(0u),  YOUNG_FOUR(4u),  YOUNG_FOUR(8u),  YOUNG_FOUR(12u),
                                          YOUNG_FOUR(16u), YOUNG_FOUR(20u), YOUNG_FOUR(24u), YOUNG_FOUR(28u),
                                          YOUNG_FOUR(32u), YOUNG_FOUR(36u)};

#define ALL_BITS (~UINT64_C(0))

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static inline unsigned grain_of(const void *at) {
    return (unsigned)((uintptr_t)at / KOLK_GRAIN_ % 64);
}

static inline uint64_t grain_bit(const void *at) {
    return UINT64_C(1) << grain_of(at);
}

static inline kolk_leaf_ *record_of(const void *at) {
    return kolk_leaf_record_(kolk_leaf_at_(at));
}

/* Other threads may read the bits meanwhile, so each word is written in one step. A thread that reads the live bit of a
 * block also reads the start behind the block, and the leaf's owner, as they were set before (partner: is_alive_in). */
static inline void mark_start(const void *at) {
    kolk_leaf_ *record = record_of(at);
    kolk_store_(&record->starts, record->starts | grain_bit(at), KOLK_RELAXED_);
}

static inline void unmark_start(const void *at) {
    kolk_leaf_ *record = record_of(at);
    kolk_store_(&record->starts, record->starts & ~grain_bit(at), KOLK_RELAXED_);
}

static inline void mark_alive(const void *at) {
    kolk_leaf_ *record = record_of(at);
    kolk_store_(&record->alive, record->alive | grain_bit(at), KOLK_RELEASE_);
}

/* Is this, which lies in the record's leaf, the start of a live block? */
static inline bool is_alive_in(const kolk_leaf_ *record, const void *at) {
    return (uintptr_t)at % KOLK_GRAIN_ == 0 && kolk_load_(&record->alive, KOLK_ACQUIRE_) & grain_bit(at);
}

static bool is_alive(const void *at) {
    return is_alive_in(record_of(at), at);
}

static inline uint32_t run_of(uint32_t leaf) {
    return leaf - kolk_load_(&kolk_leaf_record_(leaf)->back, KOLK_RELAXED_);
}

static inline uint32_t length_of(uint32_t run) {
    return kolk_load_(&kolk_leaf_record_(run)->length, KOLK_RELAXED_);
}

/* Where the first block of a run begins. */
static inline unsigned char *run_bottom(const kolk_nursery_ *nursery, uint32_t run) {
    return kolk_leaf_start_(run) + nursery->margin;
}

static unsigned char *run_end(uint32_t run) {
    return kolk_leaf_start_(run + length_of(run));
}

/* The size of a block or gap that ends in another leaf. */
static KOLK_NOINLINE_ size_t size_over_leaves(const void *start) {
    uint32_t leaf = kolk_leaf_at_(start), run = run_of(leaf);
    uint32_t end = run + kolk_load_(&kolk_leaf_record_(run)->length, KOLK_ACQUIRE_); /* partner: cut_run */
    uint64_t bits = 0;
    while (!bits && ++leaf < end) bits = kolk_load_(&kolk_leaf_record_(leaf)->starts, KOLK_RELAXED_);
    uintptr_t behind = (uintptr_t)kolk_leaf_start_(leaf);
    return behind + (bits ? kolk_bits_lowest_(bits) * KOLK_GRAIN_ : 0) - (uintptr_t)start;
}

/* The size of the block or gap that starts here, in the record's leaf. For a live block, this needs no lock. */
static inline size_t size_in(const kolk_leaf_ *record, const void *start) {
    uint64_t bits = kolk_load_(&record->starts, KOLK_RELAXED_) >> grain_of(start) >> 1;
    return bits ? (kolk_bits_lowest_(bits) + 1) * (size_t)KOLK_GRAIN_ : size_over_leaves(start);
}

static size_t size_at(const void *start) {
    return size_in(record_of(start), start);
}

/* The last start in this run at or before the address; NULL: there is none. */
static unsigned char *start_at_or_before(uint32_t run, const unsigned char *at) {
    uint32_t leaf = kolk_leaf_at_(at);
    uint64_t bits = kolk_load_(&kolk_leaf_record_(leaf)->starts, KOLK_RELAXED_) & ALL_BITS >> (63 - grain_of(at));
    while (!bits && leaf > run) bits = kolk_load_(&kolk_leaf_record_(--leaf)->starts, KOLK_RELAXED_);
    if (!bits) return NULL;
    return kolk_leaf_start_(leaf) + kolk_bits_highest_(bits) * KOLK_GRAIN_;
}

/* The first live block of a run, or the first free start, from this address on; NULL: there is none. */
static unsigned char *next_in_run(uint32_t run, const unsigned char *from, bool alive) {
    uint64_t from_here_on = ALL_BITS << grain_of(from);
    for (uint32_t leaf = kolk_leaf_at_(from), end = run + length_of(run); leaf < end; leaf++) {
        const kolk_leaf_ *record = kolk_leaf_record_(leaf);
        uint64_t bits = (alive ? record->alive : record->starts & ~record->alive) & from_here_on;
        if (bits) return kolk_leaf_start_(leaf) + kolk_bits_lowest_(bits) * KOLK_GRAIN_;
        from_here_on = ALL_BITS;
    }
    return NULL;
}

/* ---- Counts ------------------------------------------------------------------------------------------------------ */

/* The peak is only noted when blocks are to be freed. */
static inline void note_peak(kolk_young_ *young) {
    if (KOLK_UNLIKELY_(young->alive > young->peak))
        young->peak = young->alive < UINT16_MAX ? (uint16_t)young->alive : UINT16_MAX;
}

static inline void set_waiting_class(kolk_nursery_ *nursery, size_t size) {
    nursery->waiting_class = (uint8_t)kolk_own_class_(size);
}

/* ---- Freed blocks ------------------------------------------------------------------------------------------------ */

/* Counts a freed block or a gap. Only if it has the size of a class can a new block take its place. */
static void count_freed(kolk_nursery_ *nursery, size_t size, int more) {
    uint32_t n = kolk_own_class_(size);
    if (n < KOLK_NURSERY_CLASSES_ && kolk_own_size_(n) == size) nursery->of[n].freed += (uint32_t)more;
}

/* The first freed block or gap of a run from this address on; NULL: there is none. The rest of the newest run is not a
 * gap. */
static unsigned char *next_freed(const kolk_nursery_ *nursery, uint32_t run, const unsigned char *from) {
    unsigned char *at = next_in_run(run, from, false);
    return at == nursery->top && run == nursery->newest ? NULL : at;
}

/* Calls count_freed for all that is free in a run. */
static void count_run(kolk_nursery_ *nursery, uint32_t run, int more) {
    const unsigned char *at = kolk_leaf_start_(run);
    for (; (at = next_freed(nursery, run, at)); at += KOLK_GRAIN_) count_freed(nursery, size_at(at), more);
}

static unsigned char *find_in_run(const kolk_nursery_ *nursery, uint32_t run, unsigned char *from, size_t size) {
    unsigned char *at = from;
    while ((at = next_freed(nursery, run, at)) && size_at(at) != size) at += KOLK_GRAIN_;
    return at;
}

/* Takes the place of a freed block of class n, which exists. */
static KOLK_NOINLINE_ unsigned char *take_freed(kolk_nursery_ *nursery, uint32_t n) {
    kolk_young_ *young = &nursery->of[n];
    size_t size = kolk_own_size_(n);
    uint32_t leaf = young->hint / 64;
    unsigned char *hint = kolk_leaf_start_(leaf) + young->hint % 64 * KOLK_GRAIN_;
    unsigned char *found = leaf ? find_in_run(nursery, run_of(leaf), hint, size) : NULL;
    for (uint32_t run = nursery->newest; run && !found; run = kolk_leaf_record_(run)->next)
        found = find_in_run(nursery, run, kolk_leaf_start_(run), size);
    KOLK_ASSERT_(found);
    young->freed--;
    young->hint = kolk_leaf_at_(found) * 64 + grain_of(found);
    return found;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* Makes the seals of a watched run zero, which has only free blocks: then all of it reads as 0. */
static KOLK_NOINLINE_ void wipe_seals(uint32_t run) {
    unsigned char *at = kolk_leaf_start_(run);
    memset(at, 0, MARGIN);
    for (; (at = next_in_run(run, at, false)); at += KOLK_GRAIN_) kolk_seal_wipe_(at + size_at(at));
}

/* Makes leaves read as 0, except those that do: they were never used, or a watched run has wiped them. */
static KOLK_NOINLINE_ void wipe_leaves(const kolk_nursery_ *nursery, uint32_t first, uint32_t n) {
    for (uint32_t leaf = first; leaf < first + n; leaf++) {
        const kolk_leaf_ *record = kolk_leaf_record_(leaf);
        bool is_fresh = record->length == 0 && record->back == 0;
        if (!is_fresh && record->owner != nursery->owner) memset(kolk_leaf_start_(leaf), 0, KOLK_LEAF_);
    }
}

static void clear_run(uint32_t run) {
    for (uint32_t leaf = run, end = run + length_of(run); leaf < end; leaf++) {
        kolk_store_(&kolk_leaf_record_(leaf)->alive, 0, KOLK_RELAXED_);
        kolk_store_(&kolk_leaf_record_(leaf)->starts, 0, KOLK_RELAXED_);
    }
}

static void link_run(kolk_nursery_ *nursery, uint32_t run, uint32_t length) {
    for (uint32_t at = 0; at < length; at++) {
        kolk_leaf_ *record = kolk_leaf_record_(run + at);
        KOLK_ASSERT_(!record->starts && !record->alive);
        kolk_store_(&record->back, (uint8_t)at, KOLK_RELAXED_);
        kolk_store_(&record->owner, nursery->owner, KOLK_RELAXED_);
    }
    kolk_leaf_ *first = kolk_leaf_record_(run);
    kolk_store_(&first->length, (uint8_t)length, KOLK_RELAXED_);
    first->before = 0;
    kolk_store_(&first->next, nursery->newest, KOLK_RELAXED_); /* is_root may read it */
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
    for (uint32_t n = 0; n < KOLK_NURSERY_CLASSES_; n++) nursery->of[n].hint = 0; /* it may lie in this run */
    nursery->leaves -= first->length;
}

/* Returns a run's leaves. The records keep the owner, so that another free of a block that was there is known to be a
 * double free. */
static void give_run(const kolk_nursery_ *nursery, uint32_t run) {
    uint32_t length = length_of(run);
    if (KOLK_UNLIKELY_(nursery->margin)) wipe_seals(run);
    clear_run(run);
    kolk_leaves_give_(run, length);
    kolk_budget_give_(nursery->budget, (uint64_t)length * KOLK_LEAF_);
}

static void unlink_and_give(kolk_nursery_ *nursery, uint32_t run) {
    unlink_run(nursery, run);
    give_run(nursery, run);
}

/* Returns a run if it has no live block. */
static KOLK_NOINLINE_ void return_if_empty(kolk_nursery_ *nursery, uint32_t run) {
    if (next_in_run(run, kolk_leaf_start_(run), true)) return;
    count_run(nursery, run, -1);
    unlink_and_give(nursery, run);
}

/* Cuts a run into two at a leaf that no block reaches from below. A fork's child may find that the first run has its
 * old length still: mend shortens it. */
static void cut_run(uint32_t run, uint32_t at) {
    kolk_leaf_ *first = kolk_leaf_record_(run), *second = kolk_leaf_record_(at);
    uint32_t end = run + length_of(run);
    KOLK_ASSERT_(run < at && at < end);
    mark_start(kolk_leaf_start_(at));
    kolk_store_(&second->length, (uint8_t)(end - at), KOLK_RELAXED_);
    for (uint32_t leaf = at; leaf < end; leaf++)
        kolk_store_(&kolk_leaf_record_(leaf)->back, (uint8_t)(leaf - at), KOLK_RELEASE_);
    kolk_store_(&second->next, first->next, KOLK_RELAXED_);
    second->before = run;
    if (second->next) kolk_leaf_record_(second->next)->before = at;
    kolk_store_(&first->next, at, KOLK_RELEASE_);
    kolk_store_(&first->length, (uint8_t)(at - run), KOLK_RELEASE_); /* partner: size_over_leaves */
}

/* The first leaf behind the live blocks that follow the one at `at` without a free leaf between them. */
static uint32_t leaf_behind(uint32_t run, const unsigned char *at) {
    for (;;) {
        const unsigned char *behind = at + size_at(at);
        uint32_t leaf = kolk_leaf_at_(behind - 1) + 1;
        at = behind == run_end(run) ? NULL : next_in_run(run, behind, true);
        if (!at || kolk_leaf_at_(at) > leaf) return leaf;
    }
}

/* Returns those leaves of a run that no live block touches. */
static void trim_run(kolk_nursery_ *nursery, uint32_t run) {
    const unsigned char *at;
    count_run(nursery, run, -1);
    while ((at = next_in_run(run, kolk_leaf_start_(run), true))) {
        uint32_t first = kolk_leaf_at_(at), end = run + length_of(run), behind;
        if (first != run) {
            cut_run(run, first);
            unlink_and_give(nursery, run);
            run = first;
        }
        behind = leaf_behind(run, at);
        if (behind != end) cut_run(run, behind);
        count_run(nursery, run, 1);
        if (behind == end) return;
        run = behind;
    }
    unlink_and_give(nursery, run);
}

/* ---- The top of the newest run ----------------------------------------------------------------------------------- */

static KOLK_NOINLINE_ void seal_margin(uint32_t run) {
    kolk_seal_(kolk_leaf_start_(run), MARGIN, 0);
}

/* Makes an empty run the place for new blocks. */
static inline void begin_rest(kolk_nursery_ *nursery, uint32_t run) {
    nursery->top = run_bottom(nursery, run);
    nursery->end = run_end(run);
    if (KOLK_UNLIKELY_(nursery->margin)) seal_margin(run);
    mark_start(nursery->top);
}

/* Moves the top down to a start. */
static inline void lower_top(kolk_nursery_ *nursery, unsigned char *start) {
    if (nursery->top != nursery->end) unmark_start(nursery->top);
    nursery->top = start;
}

static KOLK_NOINLINE_ void wipe_seal_at(unsigned char *end) {
    kolk_seal_wipe_(end);
}

/* Moves the top down to the end of the last live block (N2). */
static void lower_top_over_gaps(kolk_nursery_ *nursery) {
    const unsigned char *bottom = run_bottom(nursery, nursery->newest);
    while (nursery->top != bottom) {
        unsigned char *below = start_at_or_before(nursery->newest, nursery->top - 1);
        if (is_alive(below)) break;
        count_freed(nursery, (size_t)(nursery->top - below), -1);
        if (KOLK_UNLIKELY_(nursery->margin)) wipe_seal_at(nursery->top); /* what lies below ends there */
        lower_top(nursery, below);
    }
}

/* Finds the top of a newest run that had none so far. */
static void find_top(kolk_nursery_ *nursery) {
    nursery->top = nursery->end = nursery->newest ? run_end(nursery->newest) : NULL;
    if (nursery->newest) lower_top_over_gaps(nursery);
}

/* Returns the newest run if it is empty. */
static void return_newest_if_empty(kolk_nursery_ *nursery) {
    uint32_t run = nursery->newest;
    if (!run || nursery->top != run_bottom(nursery, run)) return;
    unlink_and_give(nursery, run);
    find_top(nursery);
}

/* Adds a run that has room for `size` bytes, and as many leaves as there are already if possible: so a heap has few
 * runs, and a small one has little that it does not need. */
static KOLK_NOINLINE_ bool add_run(kolk_nursery_ *nursery, size_t size) {
    uint32_t least = (uint32_t)((nursery->margin + size + KOLK_LEAF_ - 1) / KOLK_LEAF_), wish = nursery->leaves;
    if (wish < nursery->wish) wish = nursery->wish;
    if (wish > KOLK_LEAF_RUN_) wish = KOLK_LEAF_RUN_;
    if (wish < least) wish = least;
    return_newest_if_empty(nursery);
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
    if (nursery->top != nursery->end) count_freed(nursery, (size_t)(nursery->end - nursery->top), 1);
    if (KOLK_UNLIKELY_(nursery->margin)) {
        if (nursery->top != nursery->end) kolk_seal_(nursery->top, (size_t)(nursery->end - nursery->top), 0);
        wipe_leaves(nursery, run, wish);
    }
    link_run(nursery, run, wish);
    begin_rest(nursery, run);
    return true;
}

static KOLK_NOINLINE_ void leave_gap(kolk_nursery_ *nursery, unsigned char *start, size_t size) {
    mark_start(start + size);
    count_freed(nursery, size, 1);
}

/* Places a block at the top. The start behind it is set first, and before the block is alive: so its size is right from
 * the first moment. */
KOLK_ALWAYS_INLINE_ static unsigned char *take_top(kolk_nursery_ *nursery, size_t align, size_t size) {
    unsigned char *top = nursery->top;
    size_t gap = -(uintptr_t)top & (align - 1);
    if ((size_t)(nursery->end - top) < gap + size) return NULL;
    nursery->top = top + gap + size;
    if (nursery->top != nursery->end) mark_start(nursery->top);
    if (KOLK_UNLIKELY_(gap != 0)) leave_gap(nursery, top, gap); /* not in a watched nursery */
    return top + gap;
}

/* ---- After a fork ------------------------------------------------------------------------------------------------ */

/* Counts again what is in a run. */
static void recount_run(kolk_nursery_ *nursery, uint32_t run) {
    const unsigned char *at = kolk_leaf_start_(run);
    nursery->leaves += length_of(run);
    for (; (at = next_in_run(run, at, true)); at += KOLK_GRAIN_) {
        uint32_t n = kolk_own_class_(size_at(at));
        KOLK_ASSERT_(n < KOLK_NURSERY_CLASSES_);
        nursery->of[n].alive++;
    }
    count_run(nursery, run, 1);
}

static void recount(kolk_nursery_ *nursery) {
    for (uint32_t n = 0; n < KOLK_NURSERY_CLASSES_; n++) nursery->of[n].alive = nursery->of[n].freed = 0;
    nursery->leaves = 0;
    for (uint32_t run = nursery->newest; run; run = kolk_leaf_record_(run)->next) recount_run(nursery, run);
}

/* Another thread was at work when the process forked. */
static KOLK_NOINLINE_ void mend(kolk_nursery_ *nursery) {
    uint32_t newest = nursery->newest;
    for (uint32_t run = newest, before = 0; run; before = run, run = kolk_leaf_record_(run)->next) {
        kolk_leaf_ *first = kolk_leaf_record_(run);
        first->before = before;
        if (first->next > run && first->next < run + first->length) /* it was being cut */
            kolk_store_(&first->length, (uint8_t)(first->next - run), KOLK_RELAXED_);
        for (uint32_t at = 0; at < first->length; at++)
            kolk_store_(&kolk_leaf_record_(run + at)->back, (uint8_t)at, KOLK_RELAXED_);
        mark_start(run_bottom(nursery, run));
    }
    /* The other thread may have written a part of a seal, or wiped a part of a block. */
    nursery->trusts = nursery->margin != 0;
    nursery->newborn = NULL;
    if (nursery->waiting) set_waiting_class(nursery, size_at(nursery->waiting));
    for (uint32_t n = 0; n < KOLK_NURSERY_CLASSES_; n++) nursery->of[n].hint = 0;
    nursery->top = nursery->end = NULL;
    recount(nursery);
    find_top(nursery);
    for (uint32_t run = newest, next; run; run = next) {
        next = kolk_leaf_record_(run)->next;
        if (run != newest) return_if_empty(nursery, run);
    }
}

KOLK_ALWAYS_INLINE_ static void lock_nursery(kolk_nursery_ *nursery) {
    if (KOLK_UNLIKELY_(!kolk_lock_brief_(&nursery->lock))) mend(nursery);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* Takes a place in a new run. */
static KOLK_NOINLINE_ unsigned char *take_in_new_run(kolk_nursery_ *nursery, size_t align, size_t size, bool anyway) {
    if (nursery->leaves >= MOST_YOUNG && !anyway) return NULL;
    return add_run(nursery, size) ? take_top(nursery, align, size) : NULL;
}

KOLK_ALWAYS_INLINE_ static unsigned char *take_place(kolk_nursery_ *nursery, size_t align, uint32_t n, bool anyway) {
    kolk_young_ *young = &nursery->of[n];
    size_t size = young_classes[n].size;
    if (KOLK_UNLIKELY_(young->served >= young_classes[n].most)) {
        if (!anyway) return NULL;
        young->served--; /* the alloc that goes on with it counts up again */
    }
    if (KOLK_UNLIKELY_(young->freed && align <= KOLK_GRAIN_)) return take_freed(nursery, n);
    unsigned char *at = take_top(nursery, align, size);
    return KOLK_UNLIKELY_(!at) ? take_in_new_run(nursery, align, size, anyway) : at;
}

KOLK_ALWAYS_INLINE_ static void begin_life_of(kolk_nursery_ *nursery, uint32_t n, const unsigned char *block) {
    mark_alive(block);
    nursery->of[n].alive++;
    nursery->of[n].served++;
}

void *kolk_nursery_alloc_(kolk_nursery_ *nursery, size_t align, size_t size, bool anyway) {
    uint32_t n = kolk_own_class_(size);
    if (n >= nursery->classes || align > KOLK_LEAF_) return NULL;
    lock_nursery(nursery);
    unsigned char *block = take_place(nursery, align, n, anyway);
    if (block) begin_life_of(nursery, n, block);
    kolk_unlock_brief_(&nursery->lock);
    return block;
}

KOLK_ALWAYS_INLINE_ static void end_life_of(kolk_nursery_ *nursery, kolk_leaf_ *record, uint32_t leaf,
                                            unsigned char *block) {
    size_t size = size_in(record, block);
    uint64_t alive = record->alive & ~grain_bit(block);
    uint32_t run = leaf - record->back;
    kolk_young_ *young = &nursery->of[kolk_own_class_(size)];
    kolk_store_(&record->alive, alive, KOLK_RELAXED_);
    note_peak(young);
    young->alive--;
    if (block + size == nursery->top && run == nursery->newest) {
        lower_top(nursery, block);
        lower_top_over_gaps(nursery);
        return;
    }
    young->freed++;
    young->hint = leaf * 64 + grain_of(block);
    if (run != nursery->newest && !alive) return_if_empty(nursery, run);
}

bool kolk_nursery_free_(kolk_nursery_ *nursery, const void *block) {
    uint32_t leaf = kolk_leaf_of_(block);
    kolk_leaf_ *record = kolk_leaf_record_(leaf);
    if (!leaf || kolk_load_(&record->owner, KOLK_RELAXED_) != nursery->owner) return false;
    lock_nursery(nursery);
    bool is_live = is_alive_in(record, block) && kolk_load_(&record->owner, KOLK_RELAXED_) == nursery->owner;
    if (is_live) end_life_of(nursery, record, leaf, (unsigned char *)(uintptr_t)block);
    kolk_unlock_brief_(&nursery->lock);
    return is_live;
}

/* ---- Watched blocks ---------------------------------------------------------------------------------------------- */

/* The bytes that were asked for a block or gap; UINT64_MAX: its seal is broken. */
static uint64_t asked_of(const unsigned char *start) {
    size_t size = size_at(start), slack = kolk_seal_slack_(start + size);
    return slack && slack <= size ? size - slack : UINT64_MAX;
}

static KOLK_NOINLINE_ void note_damage(const kolk_nursery_ *nursery, kolk_status rule, const unsigned char *block,
                                       kolk_damage_ *damage) {
    if (nursery->trusts || damage->rule != KOLK_OK) return;
    *damage = (kolk_damage_){rule, block, asked_of(block)};
}

/* Verifies the seal at a block's end, and repairs it. */
static void verify_end(const kolk_nursery_ *nursery, unsigned char *block, size_t size, kolk_damage_ *damage) {
    if (kolk_seal_is_whole_(block + size)) return;
    note_damage(nursery, KOLK_OVERFLOW, block, damage);
    uint64_t asked = asked_of(block);
    kolk_seal_(block, size, asked == UINT64_MAX ? size - KOLK_SEAL_ : (size_t)asked);
}

static KOLK_NOINLINE_ void note_damaged_start(const kolk_nursery_ *nursery, unsigned char *block,
                                              kolk_damage_ *damage) {
    uint32_t run = run_of(kolk_leaf_at_(block));
    unsigned char *before = start_at_or_before(run, block - 1);
    if (before && kolk_seal_slack_(block)) {
        verify_end(nursery, before, (size_t)(block - before), damage);
        return;
    }
    note_damage(nursery, KOLK_UNDERFLOW, block, damage);
    if (!before)
        seal_margin(run); /* it has no start */
    else
        kolk_seal_(before, (size_t)(block - before), (size_t)(block - before) - KOLK_SEAL_);
}

/* Verifies the seal before a block, and repairs it. A write beyond the end of the block there first changes the
 * pattern, and a write before the start of this one the seal. */
static inline void verify_start(const kolk_nursery_ *nursery, unsigned char *block, kolk_damage_ *damage) {
    if (!kolk_seal_is_whole_(block)) note_damaged_start(nursery, block, damage);
}

/* Verifies that the first bytes of a freed block read as 0, `most` of them, and repairs them. */
static void verify_freed(const kolk_nursery_ *nursery, unsigned char *block, size_t size, size_t most,
                         kolk_damage_ *damage) {
    size_t slack = kolk_seal_slack_(block + size), asked = size - slack;
    if (!slack || kolk_seal_reads_as_0_(block, asked < most ? asked : most)) return;
    memset(block, 0, asked);
    note_damage(nursery, KOLK_WRITE_AFTER_FREE, block, damage);
}

/* Verifies the first bytes above the top: a write far behind the last block changes them. */
static void verify_rest(const kolk_nursery_ *nursery, kolk_damage_ *damage) {
    size_t rest = (size_t)(nursery->end - nursery->top), looks = rest < GLANCE ? rest : GLANCE;
    if (kolk_seal_reads_as_0_(nursery->top, looks)) return;
    memset(nursery->top, 0, looks);
    const unsigned char *last = start_at_or_before(nursery->newest, nursery->top - 1);
    if (last) note_damage(nursery, is_alive(last) ? KOLK_OVERFLOW : KOLK_WRITE_AFTER_FREE, last, damage);
}

static void glance(const kolk_nursery_ *nursery, kolk_damage_ *damage) {
    unsigned char *newborn = nursery->newborn, *waiting = nursery->waiting;
    if (newborn) {
        verify_end(nursery, newborn, size_at(newborn), damage);
        verify_start(nursery, newborn, damage);
    }
    if (waiting) verify_freed(nursery, waiting, size_at(waiting), GLANCE, damage);
    verify_rest(nursery, damage);
}

typedef struct watched_nursery {
    kolk_nursery_ nursery;
    uint8_t counts[KOLK_NURSERY_DOUBLINGS_]; /* by doubling: how many blocks were watched */
} watched_nursery;

/* Threads that count at the same moment may lose a count, and watch a few more. */
void kolk_nursery_count_watched_(kolk_nursery_ *nursery, size_t size) {
    unsigned doubling = kolk_bits_highest_(size | 1);
    uint32_t most = WATCHED_OF >> doubling;
    if (most < FEW_WATCHED) most = FEW_WATCHED;
    if (most > WATCHED) most = WATCHED;
    uint8_t *at = &((watched_nursery *)nursery->watch)->counts[doubling];
    uint8_t count = (uint8_t)(kolk_load_(at, KOLK_RELAXED_) + 1);
    kolk_store_(at, count, KOLK_RELAXED_);
    if (count >= most) kolk_fetch_and_(&nursery->watches, ~(UINT32_C(1) << doubling), KOLK_RELAXED_);
}

static unsigned char *take_watched(kolk_nursery_ *watch, uint32_t n, size_t asked, kolk_damage_ *damage) {
    const unsigned char *top = watch->top;
    size_t size = young_classes[n].size;
    glance(watch, damage);
    unsigned char *block = take_place(watch, 1, n, true);
    if (!block) return NULL;
    if (watch->top == top) { /* it takes a freed block's place */
        verify_freed(watch, block, size, SIZE_MAX, damage);
        kolk_seal_wipe_(block + size);
    }
    kolk_seal_(block, size, asked);
    begin_life_of(watch, n, block);
    watch->newborn = block;
    return block;
}

void *kolk_nursery_alloc_watched_(const kolk_nursery_ *nursery, size_t size, kolk_damage_ *damage) {
    kolk_nursery_ *watch = nursery->watch;
    if (size > KOLK_WATCHED_LARGEST_) return NULL;
    lock_nursery(watch);
    unsigned char *block = take_watched(watch, kolk_own_class_(size + KOLK_SEAL_), size, damage);
    kolk_unlock_brief_(&watch->lock);
    return block;
}

/* Makes the place of a freed block free. */
static void release_place(kolk_nursery_ *nursery, unsigned char *block, kolk_damage_ *damage) {
    uint32_t leaf = kolk_leaf_at_(block);
    size_t size = size_at(block);
    verify_end(nursery, block, size, damage);
    verify_freed(nursery, block, size, SIZE_MAX, damage);
    if (block + size == nursery->top && run_of(leaf) == nursery->newest) kolk_seal_wipe_(block + size);
    end_life_of(nursery, record_of(block), leaf, block);
}

/* Ends a life. The place of the block that was freed before it becomes free. */
static void end_watched(kolk_nursery_ *nursery, const kolk_leaf_ *record, unsigned char *block, kolk_damage_ *damage) {
    size_t size = size_in(record, block);
    unsigned char *before = nursery->waiting;
    verify_end(nursery, block, size, damage);
    verify_start(nursery, block, damage);
    set_waiting_class(nursery, size);
    kolk_raw_store_(&nursery->waiting, block, KOLK_RELEASE_); /* a fork's child finds that its life has ended, or not */
    if (nursery->newborn == block) nursery->newborn = NULL;
    memset(block, 0, size - kolk_seal_slack_(block + size));
    if (before) release_place(nursery, before, damage);
    glance(nursery, damage);
}

bool kolk_nursery_free_watched_(const kolk_nursery_ *nursery, const void *block, kolk_damage_ *damage) {
    kolk_nursery_ *watch = nursery->watch;
    if (!watch || !kolk_nursery_has_(watch, block)) return false;
    lock_nursery(watch);
    const kolk_leaf_ *record = record_of(block);
    bool is_live = is_alive_in(record, block) && block != watch->waiting && kolk_nursery_has_(watch, block);
    if (is_live) end_watched(watch, record, (unsigned char *)(uintptr_t)block, damage);
    kolk_unlock_brief_(&watch->lock);
    return is_live;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

void kolk_nursery_watch_(kolk_nursery_ *nursery) {
    _Static_assert(sizeof(watched_nursery) <= KOLK_LEAF_, "a leaf is too small");
    _Static_assert(KOLK_WATCHED_LARGEST_ + KOLK_SEAL_ == KOLK_NURSERY_LARGEST_, "a class is too small");
    uint32_t leaf = nursery->budget ? 0 : kolk_leaf_alone_();
    if (!leaf) return;
    kolk_nursery_ *watch = (kolk_nursery_ *)(void *)kolk_leaf_start_(leaf);
    memset(watch, 0, sizeof(watched_nursery));
    kolk_nursery_begin_(watch, NULL);
    watch->margin = MARGIN;
    nursery->watches = (UINT32_C(1) << KOLK_NURSERY_DOUBLINGS_) - 1;
    nursery->watch_owner = watch->owner;
    nursery->watch = watch;
}

void kolk_nursery_begin_(kolk_nursery_ *nursery, kolk_budget *budget) {
    static uint32_t owners;
    nursery->owner = kolk_fetch_add_(&owners, 1, KOLK_RELAXED_) + 1;
    if (nursery->owner == 0) nursery->owner = kolk_fetch_add_(&owners, 1, KOLK_RELAXED_) + 1;
    nursery->classes = KOLK_NURSERY_CLASSES_;
    nursery->budget = budget;
    kolk_unlock_brief_(&nursery->lock);
}

void kolk_nursery_end_(kolk_nursery_ *nursery) {
    uint32_t run = nursery->newest;
    kolk_store_(&nursery->newest, 0, KOLK_RELEASE_); /* first: a fork's child must not find a run in two places */
    for (uint32_t next; run; run = next) {
        next = kolk_leaf_record_(run)->next;
        give_run(nursery, run);
    }
    if (!nursery->watch) return;
    kolk_nursery_end_(nursery->watch);
    kolk_leaves_give_(kolk_leaf_at_(nursery->watch), 1);
}

static void reset_runs(kolk_nursery_ *nursery) {
    uint32_t newest = nursery->newest;
    if (kolk_leaf_record_(newest)->next) {
        nursery->wish = nursery->leaves;
        nursery->leaves = 0;
        nursery->top = nursery->end = NULL;
        kolk_nursery_end_(nursery);
        return;
    }
    clear_run(newest);
    kolk_leaf_record_(newest)->before = 0;
    nursery->leaves = length_of(newest);
    begin_rest(nursery, newest);
}

/* Takes the lock because another thread may be trimming all heaps. */
void kolk_nursery_reset_(kolk_nursery_ *nursery) {
    KOLK_ASSERT_(!nursery->watch);
    lock_nursery(nursery);
    for (uint32_t n = 0; n < KOLK_NURSERY_CLASSES_; n++) {
        note_peak(&nursery->of[n]);
        nursery->of[n] = (kolk_young_){.peak = nursery->of[n].peak};
    }
    if (nursery->newest) reset_runs(nursery);
    kolk_unlock_brief_(&nursery->lock);
}

/* The rest of the newest run becomes a gap before, and is found again afterwards. */
static void trim_runs(kolk_nursery_ *nursery) {
    KOLK_ASSERT_(nursery->margin == 0);
    if (nursery->top != nursery->end) count_freed(nursery, (size_t)(nursery->end - nursery->top), 1);
    nursery->top = nursery->end = NULL;
    for (uint32_t run = nursery->newest, next; run; run = next) {
        next = kolk_leaf_record_(run)->next;
        trim_run(nursery, run);
    }
    for (uint32_t n = 0; n < KOLK_NURSERY_CLASSES_; n++) nursery->of[n].hint = 0;
    find_top(nursery);
}

void kolk_nursery_trim_(kolk_nursery_ *nursery) {
    lock_nursery(nursery);
    trim_runs(nursery);
    kolk_unlock_brief_(&nursery->lock);
}

static uint32_t bytes_of_freed(const kolk_nursery_ *nursery) {
    uint32_t bytes = 0;
    for (uint32_t n = 0; n < KOLK_NURSERY_CLASSES_; n++) bytes += nursery->of[n].freed * kolk_own_size_(n);
    return bytes;
}

bool kolk_nursery_trim_for_room_(kolk_nursery_ *nursery) {
    lock_nursery(nursery);
    uint32_t leaves = nursery->leaves, freed = bytes_of_freed(nursery);
    if (nursery->trimmed > freed) nursery->trimmed = freed;
    if (freed - nursery->trimmed > leaves * (KOLK_LEAF_ / TRIM_PART)) {
        trim_runs(nursery);
        nursery->trimmed = bytes_of_freed(nursery);
    }
    bool has_returned = nursery->leaves < leaves;
    kolk_unlock_brief_(&nursery->lock);
    return has_returned;
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

/* Without the lock: if another thread is just cutting the run, the leaf belongs to another run afterwards. */
size_t kolk_nursery_size_of_(const kolk_nursery_ *nursery, const void *block) {
    uint32_t leaf = kolk_leaf_of_(block), run;
    size_t size;
    if (!kolk_nursery_has_(nursery, block) || !is_alive(block)) return 0;
    do {
        run = run_of(leaf);
        size = size_at(block);
    } while (run_of(leaf) != run);
    const kolk_nursery_ *watch = nursery->watch;
    if (kolk_load_(&kolk_leaf_record_(leaf)->owner, KOLK_RELAXED_) != nursery->watch_owner) return size;
    if (block == kolk_raw_load_(&watch->waiting, KOLK_RELAXED_)) return 0;
    size_t slack = kolk_seal_slack_((const unsigned char *)block + size);
    return slack < size ? size - (slack ? slack : KOLK_SEAL_) : 1;
}

void *kolk_nursery_locate_(kolk_nursery_ *nursery, const void *at) {
    unsigned char *start = NULL;
    if (nursery->watch && kolk_nursery_has_(nursery->watch, at)) nursery = nursery->watch;
    lock_nursery(nursery);
    if (kolk_nursery_has_(nursery, at))
        start = start_at_or_before(run_of(kolk_leaf_at_(at)), (const unsigned char *)at);
    bool is_live = start && is_alive(start) && start != nursery->waiting && kolk_nursery_has_(nursery, start) &&
                   (size_t)((const unsigned char *)at - start) < size_at(start); /* its leaf may have been returned */
    kolk_unlock_brief_(&nursery->lock);
    return is_live ? start : NULL;
}

void *kolk_nursery_next_(kolk_nursery_ *nursery, const void *above) {
    unsigned char *lowest = NULL;
    lock_nursery(nursery);
    for (uint32_t run = nursery->newest; run; run = kolk_leaf_record_(run)->next) {
        unsigned char *from = kolk_leaf_start_(run);
        if (run_end(run) <= (const unsigned char *)above || (lowest && from > lowest)) continue;
        if (from <= (const unsigned char *)above)
            from = (unsigned char *)((uintptr_t)above / KOLK_GRAIN_ * KOLK_GRAIN_ + KOLK_GRAIN_);
        unsigned char *found = next_in_run(run, from, true);
        if (found && found == nursery->waiting) found = next_in_run(run, found + KOLK_GRAIN_, true);
        if (found && (!lowest || found < lowest)) lowest = found;
    }
    kolk_unlock_brief_(&nursery->lock);
    unsigned char *watched = nursery->watch ? (unsigned char *)kolk_nursery_next_(nursery->watch, above) : NULL;
    return watched && (!lowest || watched < lowest) ? watched : lowest;
}

/* Adds the counts of a nursery. */
static void add_counts(kolk_nursery_ *nursery, kolk_nursery_counts_ *out) {
    lock_nursery(nursery);
    out->leaves += nursery->leaves;
    for (uint32_t n = 0; n < KOLK_NURSERY_CLASSES_; n++) {
        out->of[n].alive += nursery->of[n].alive;
        out->of[n].freed += nursery->of[n].freed;
        note_peak(&nursery->of[n]);
        uint32_t peaks = (uint32_t)out->of[n].peak + nursery->of[n].peak;
        out->of[n].peak = peaks < UINT16_MAX ? (uint16_t)peaks : UINT16_MAX;
    }
    if (nursery->waiting) {
        out->of[nursery->waiting_class].alive--;
        out->of[nursery->waiting_class].freed++;
    }
    kolk_unlock_brief_(&nursery->lock);
}

void kolk_nursery_count_(kolk_nursery_ *nursery, kolk_nursery_counts_ *out) {
    memset(out, 0, sizeof *out);
    add_counts(nursery, out);
    if (!nursery->watch) return;
    add_counts(nursery->watch, out);
    out->leaves++; /* the one that the watched nursery itself is in */
}

static bool is_run_valid(const kolk_nursery_ *nursery, uint32_t run, uint32_t before) {
    const kolk_leaf_ *first = kolk_leaf_record_(run);
    if (first->before != before || first->length == 0 || first->length > KOLK_LEAF_RUN_) return false; /* N1 */
    if (!(first->starts & grain_bit(run_bottom(nursery, run)))) return false;                          /* N2 */
    for (uint32_t leaf = run; leaf < run + first->length; leaf++) {
        const kolk_leaf_ *record = kolk_leaf_record_(leaf);
        if (record->owner != nursery->owner || record->back != leaf - run) return false; /* N1 */
        if (record->alive & ~record->starts) return false;                               /* N2 */
    }
    return run == nursery->newest || next_in_run(run, kolk_leaf_start_(run), true); /* N3 */
}

static bool is_top_valid(const kolk_nursery_ *nursery) {
    uint32_t run = nursery->newest;
    unsigned char *bottom = run_bottom(nursery, run), *last = start_at_or_before(run, nursery->end - 1);
    if (nursery->end != run_end(run)) return false;
    if (nursery->top == nursery->end) return is_alive(last);
    return last == nursery->top && !is_alive(last) && (last == bottom || is_alive(start_at_or_before(run, last - 1)));
}

bool kolk_nursery_is_valid_(kolk_nursery_ *nursery) {
    uint32_t before = 0;
    if (nursery->watch && !kolk_nursery_is_valid_(nursery->watch)) return false;
    for (uint32_t run = nursery->newest; run; run = kolk_leaf_record_(run)->next) {
        if (!is_run_valid(nursery, run, before)) return false;
        before = run;
    }
    if (nursery->newest && !is_top_valid(nursery)) return false; /* N2 */
    kolk_nursery_ counted = *nursery;
    recount(&counted);
    return counted.leaves == nursery->leaves && memcmp(counted.of, nursery->of, sizeof counted.of) == 0; /* N3 */
}

#endif
