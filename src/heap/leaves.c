/* leaves.c: see leaves.h.
 *
 * Words of 64 leaves are used from the lowest addresses on. A run lies in one word, so that one compare-and-exchange
 * takes it. A search looks at a few words that have free leaves, from the one where a run was last taken or returned
 * on. If it finds no run there, it uses a new word. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/block.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../store/slot_set.h"
#include "ended.h"
#include "leaves.h"

#include <errno.h>
#include <stdlib.h>

#define MOST_LEAVES    (sizeof(void *) < 8 ? UINT32_C(1) << 16 : UINT32_C(1) << 24) /* 64 MiB or 16 GiB of addresses */
#define LEAST_LEAVES   256u
#define LEAVES_OF_WORD 64u   /* leaves that a word of the set stands for */
#define LOOKS          16u   /* words that a search looks at */
#define FIRST_SHEET    640u  /* bytes for the first sheet of free leaves in the page of the first records */
#define SPARE          4096u /* if fewer leaves are free, they keep their memory */

kolk_leaves_ kolk_leaves_all_;

static struct {
    kolk_slot_set_ free;
    void *range;
    size_t range_size;
    uint32_t lock;      /* held while more leaves are made usable */
    uint32_t most;      /* leaves that have addresses */
    uint32_t committed; /* leaves that may be used */
    uint32_t given;     /* about how many leaves were returned since the last trim */
    uint32_t hint;      /* the word where a search begins */
} leaves;

/* ---- Addresses --------------------------------------------------------------------------------------------------- */

/* The three parts of the range: the sizes in bytes that n leaves need. */
enum { FREE_WORDS, RECORDS, LEAVES, LEAF_PARTS };

static void measure_parts(uint32_t n, size_t sizes[LEAF_PARTS]) {
    sizes[FREE_WORDS] = (size_t)kolk_slot_set_size_(kolk_bits_words_(n));
    sizes[RECORDS] = n * sizeof(kolk_leaf_);
    sizes[LEAVES] = (size_t)n * KOLK_LEAF_;
}

/* The leaves begin at a multiple of this, so that the pages of a word can be released. */
static size_t part_unit(void) {
    size_t page = kolk_memory_page_(), word = LEAVES_OF_WORD * KOLK_LEAF_;
    return page > word ? page : word;
}

static bool reserve_range(uint32_t n) {
    size_t sizes[LEAF_PARTS], size = 2 * part_unit();
    measure_parts(n, sizes);
    for (unsigned p = 0; p < LEAF_PARTS; p++) size += (size_t)round_up(sizes[p], part_unit());
    unsigned char *range = (unsigned char *)kolk_memory_reserve_(size);
    if (!range) return false;
#if KOLK_MSVC_
    atexit(kolk_leaves_end_); /* the compiler has no destructors */
#endif
    leaves.range = range;
    leaves.range_size = size;
    leaves.most = n;
    unsigned char *at = range + round_up(sizes[FREE_WORDS], kolk_memory_page_()) + FIRST_SHEET;
    leaves.free = (kolk_slot_set_){(uint64_t *)(void *)at, KOLK_SHEET_};
    kolk_leaves_all_.records = (kolk_leaf_ *)(void *)at;
    kolk_leaves_all_.start = (uintptr_t)round_up((uintptr_t)at + sizes[RECORDS], part_unit());
    return true;
}

/* Other code needs addresses too, so all leaves together get a sixteenth of them at most. The system is asked for
 * them only once: a program that has allocated may have started a sandbox since then. */
static bool have_range(void) {
    if (leaves.range) return true;
    uint64_t share = kolk_memory_addresses_() / 16 / (KOLK_LEAF_ + sizeof(kolk_leaf_));
    for (uint32_t n = MOST_LEAVES; !leaves.range && n >= LEAST_LEAVES; n /= 2)
        if (n <= share || n == LEAST_LEAVES) reserve_range(n);
    return leaves.range;
}

static bool commit_between(uintptr_t from, uintptr_t end) {
    return from == end || kolk_memory_commit_((void *)from, end - from);
}

/* Makes at least one more word usable. So that this does not happen often, and little is committed in vain, the step is
 * a page of records, or an eighth of what there is. */
static bool commit_leaves(void) {
    uint32_t now = leaves.committed,
             step = (uint32_t)round_up(kolk_memory_page_() / sizeof(kolk_leaf_), LEAVES_OF_WORD);
    if (step < now / 8) step = now / 8 / LEAVES_OF_WORD * LEAVES_OF_WORD;
    if (step > leaves.most - now) step = leaves.most - now;
    if (step == 0) return false;
    size_t before[LEAF_PARTS], after[LEAF_PARTS];
    measure_parts(now, before);
    measure_parts(now + step, after);
    uintptr_t middle = (uintptr_t)leaves.free.end, start = kolk_leaves_all_.start;
    if (!commit_between(middle - after[FREE_WORDS], middle - before[FREE_WORDS]) ||
        !commit_between(middle + before[RECORDS], middle + after[RECORDS]) ||
        !commit_between(start + before[LEAVES], start + after[LEAVES]))
        return false;
    leaves.committed = now + step;
    return true;
}

/* Leaf 0 counts as used. */
static uint32_t used_leaves(void) {
    uint32_t fresh = kolk_load_(&kolk_leaves_all_.fresh, KOLK_ACQUIRE_);
    return fresh - (uint32_t)kolk_slot_set_count_(&leaves.free, fresh / LEAVES_OF_WORD);
}

#if !KOLK_MSVC_
__attribute__((destructor))
#endif
void kolk_leaves_end_(void) {
    kolk_ended_expire_(INT64_MAX);
    if (!leaves.range || used_leaves() > 1) return;
    kolk_store_(&kolk_leaves_all_.fresh, 0, KOLK_RELEASE_);
    kolk_memory_release_(leaves.range, leaves.range_size);
    leaves.range = NULL;
    leaves.committed = 0;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* The lowest bit of a word at which n neighbouring bits are set; 64: there is none. (Hacker's Delight 6-2, Warren 2013,
 * for a length that is known: each step doubles the length of the runs that are still marked.) */
static unsigned find_bits(uint64_t bits, uint32_t n) {
    for (uint32_t have = 1; have < n && bits;) {
        uint32_t more = n - have < have ? n - have : have;
        bits &= bits >> more;
        have += more;
    }
    return bits ? kolk_bits_lowest_(bits) : LEAVES_OF_WORD;
}

static uint64_t run_bits(uint32_t first, uint32_t n) {
    KOLK_ASSERT_(n >= 1 && n <= LEAVES_OF_WORD && first % LEAVES_OF_WORD + n <= LEAVES_OF_WORD);
    return (~UINT64_C(0) >> (LEAVES_OF_WORD - n)) << first % LEAVES_OF_WORD;
}

/* Takes n neighbouring leaves of a word. Returns the first one; 0: there are none. */
static uint32_t take_in_word(uint32_t word, uint32_t n) {
    uint64_t *at = kolk_slot_set_word_(&leaves.free, word), bits = kolk_load_(at, KOLK_RELAXED_);
    for (unsigned bit; (bit = find_bits(bits, n)) < LEAVES_OF_WORD;)
        if (kolk_compare_exchange_(at, &bits, bits ^ run_bits(bit, n), KOLK_ACQ_REL_, KOLK_RELAXED_))
            return word * LEAVES_OF_WORD + bit;
    return 0;
}

/* A word that has become empty keeps its bit in the summary until a search for one leaf finds it. */
static void note_empty(uint32_t word) {
    uint64_t bits = kolk_slot_set_take_word_(&leaves.free, word);
    if (bits) kolk_slot_set_put_(&leaves.free, word, bits);
}

/* Where the next search begins. Most threads find it right, and then do not write to a word that all of them read. */
static void set_hint(uint32_t word) {
    if (kolk_load_(&leaves.hint, KOLK_RELAXED_) != word) kolk_store_(&leaves.hint, word, KOLK_RELAXED_);
}

static uint32_t search(uint32_t n) {
    uint32_t words = kolk_load_(&kolk_leaves_all_.fresh, KOLK_ACQUIRE_) / LEAVES_OF_WORD, word, looks = LOOKS;
    kolk_slot_walk_ walk = kolk_slot_walk_from_(&leaves.free, words, kolk_load_(&leaves.hint, KOLK_RELAXED_));
    while (looks-- && kolk_slot_walk_next_(&walk, &word)) {
        uint32_t first = take_in_word(word, n);
        if (first) {
            set_hint(word);
            return first;
        }
        if (kolk_load_(kolk_slot_set_word_(&leaves.free, word), KOLK_RELAXED_) == 0) note_empty(word);
    }
    return 0;
}

/* Adds a word that was never used to the free leaves. */
static bool use_word(void) {
    uint32_t fresh = kolk_leaves_all_.fresh;
    if (!have_range() || (fresh == leaves.committed && !commit_leaves())) return false;
    kolk_store_(&kolk_leaves_all_.fresh, fresh + LEAVES_OF_WORD, KOLK_RELEASE_); /* partner: kolk_leaf_of_ */
    kolk_slot_set_put_(&leaves.free, fresh / LEAVES_OF_WORD,
                       ~UINT64_C(0) << (fresh ? 0 : 1)); /* leaf 0 is never taken */
    set_hint(fresh / LEAVES_OF_WORD);
    return true;
}

uint32_t kolk_leaves_take_(uint32_t n) {
    KOLK_ASSERT_(n >= 1 && n <= KOLK_LEAF_RUN_);
    uint32_t first = search(n);
    if (!first) {
        kolk_lock_word_(&leaves.lock);
        while (!(first = search(n)) && use_word()) {}
        kolk_unlock_word_(&leaves.lock);
    }
    return first;
}

uint32_t kolk_leaf_alone_(void) {
    uint32_t leaf = kolk_leaves_take_(1);
    if (!leaf) return 0;
    kolk_store_(&kolk_leaf_record_(leaf)->next, 0, KOLK_RELAXED_);
    kolk_store_(&kolk_leaf_record_(leaf)->length, 1, KOLK_RELAXED_); /* it has been used: see wipe_leaves */
    kolk_store_(&kolk_leaf_record_(leaf)->owner, 0, KOLK_RELEASE_);  /* partner: is_root */
    return leaf;
}

/* ---- Return ------------------------------------------------------------------------------------------------------ */

/* Releases the whole pages of a word's free leaves. If only `all` its leaves together are worth a system call, a word
 * with other leaves keeps its memory. */
static size_t discard_word(uint32_t word, bool counts, bool all) {
    uint64_t whole = word ? ~UINT64_C(0) : ~UINT64_C(1), page = kolk_memory_page_() / KOLK_LEAF_;
    uint64_t seen = kolk_load_(kolk_slot_set_word_(&leaves.free, word), KOLK_RELAXED_);
    if (all ? seen != whole
            : find_bits(seen, (uint32_t)(page < LEAVES_OF_WORD ? page : LEAVES_OF_WORD)) == LEAVES_OF_WORD)
        return 0;
    uint64_t bits = kolk_slot_set_take_word_(&leaves.free, word);
    size_t bytes = 0;
    for (unsigned at = 0, end; at < LEAVES_OF_WORD && bits >> at; at = end) {
        at += kolk_bits_lowest_(bits >> at);
        uint64_t used = ~bits >> at;
        end = used ? at + kolk_bits_lowest_(used) : LEAVES_OF_WORD;
        bytes += kolk_memory_discard_(kolk_leaf_start_(word * LEAVES_OF_WORD + at), (end - at) * KOLK_LEAF_, counts);
    }
    if (bits) kolk_slot_set_put_(&leaves.free, word, bits);
    return bytes;
}

static size_t discard_words_of_leaves(bool counts, bool all) {
    uint32_t words = kolk_load_(&kolk_leaves_all_.fresh, KOLK_ACQUIRE_) / LEAVES_OF_WORD;
    size_t bytes = 0;
    for (uint32_t word = 0; word < words; word++) bytes += discard_word(word, counts, all);
    return bytes;
}

size_t kolk_leaves_trim_(bool counts) {
    return discard_words_of_leaves(counts, false);
}

/* Trims if a quarter of all leaves were returned since the last time, and more are free than used. To count the used
 * ones takes long, so that is not done again before enough leaves were returned to change the answer, or a 64th of all.
 * If two threads count at the same moment, one of them may not be counted. */
static void trim_seldom(uint32_t n) {
    uint32_t fresh = kolk_load_(&kolk_leaves_all_.fresh, KOLK_RELAXED_), quarter = fresh / 4;
    uint32_t given = kolk_load_(&leaves.given, KOLK_RELAXED_) + n;
    bool is_time = fresh > SPARE && given >= quarter;
    uint32_t used = is_time ? used_leaves() : fresh, unused = fresh - used;
    bool trims = unused > SPARE && unused > used;
    if (is_time && !trims) {
        uint32_t more = used > unused ? (used - unused) / 2 : 0;
        if (more < fresh / 64) more = fresh / 64;
        given = more < quarter ? quarter - more : 0;
    }
    kolk_store_(&leaves.given, trims ? 0 : given, KOLK_RELAXED_);
    if (!trims) return;
    int before = errno; /* a free must preserve it */
    discard_words_of_leaves(false, true);
    errno = before;
}

void kolk_leaves_give_(uint32_t first, uint32_t n) {
    kolk_slot_set_put_(&leaves.free, first / LEAVES_OF_WORD, run_bits(first, n));
    set_hint(first / LEAVES_OF_WORD);
    trim_seldom(n);
}

#endif
