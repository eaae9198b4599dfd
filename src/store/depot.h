/* depot.h: free slots, and the threads that have them. A depot has the free slots that no thread has, and the slots
 * that were never used. A thread takes them into its magazine of this depot, a whole word at a time, and puts them
 * back.
 *
 *     slots      | 0 | 1 | 2 | ........... | fresh | ........... | usable | (not committed) | slots |
 *     free       1 bit a slot, in words, and a summary (slot_set.h)
 *     magazine   | oldest | ........... | newest | ............ |
 *                0    `leaving`        top                  cache
 *     keepers    first ---> | keeper | ---> | keeper | ---> NULL       a thread each, with its magazines
 *
 * To a depot, a slot is just a number, without an object, an address or a pool. A depot allocates nothing and reports
 * nothing, so that a heap that implements malloc can have depots too. Its owner provides zeroed memory for `free`, and
 * adds usable slots with kolk_depot_extend_.
 *
 * A magazine is a thread's own stack of free slots. Only its thread pushes and pops, without atomic read-modify-writes;
 * these are the fast paths in shared.inl. An empty magazine takes the slots of one word. A full one returns its oldest
 * half to the depot. Entries that belong to one word need only a single OR. If objects were freed in the order in which
 * they were allocated, up to 64 entries belong to one word; if they were freed in random order, some of them do.
 *
 * A word has no more slots than a magazine can hold, and only an empty magazine takes a word. So no thread ever has
 * more than `cache` free slots, even counting those on their way to or from its magazine.
 *
 * How to prove that there is no free slot. Scanning many words is not a snapshot. So a thread that has put slots here
 * then increments `returns`. Read `returns`, then look (kolk_depot_search_ and kolk_depot_take_fresh_). If the look
 * found nothing and `returns` has not changed, all words that were seen empty were still empty at the end of the look.
 * The exception is slots that a thread is in the middle of putting; these still count as that thread's own.
 *
 * Uncached. If a look finds no slot, the free slots are in other threads' magazines. The depot then goes uncached for a
 * while: magazines keep no slots, so each freed slot comes here, where all threads can find it. This period lasts for
 * as many returns as the depot has slots. Another failure extends it, but only if no more than half of it remains. The
 * depot is also uncached while threads wait. A depot without caches is uncached for ever. Only as many of its slots are
 * taken as get lives at once, and its summary bits stay set, because clearing one would briefly hide a slot that was
 * just put there.
 *
 * The lives of the slots of a word are neighbours in memory. If two threads use slots of the same word all the time,
 * the cache lines of its lives go back and forth between their processors, which takes longer than all the rest of
 * alloc and free. So an empty magazine first looks for free slots in the words of its former entries, which are still
 * there above `top`: a thread that has used some slots of a word is likely to use others too. Then it looks for words
 * that threads on its own processor took last, and if just a few other words have free slots, it takes slots that were
 * never used. Only then does it take slots of any word. Two threads that each replaced random ones of their 5,000
 * blocks, and then handed them on to new threads, took 0.6 times as long when a magazine went back to its former
 * entries, and three quarters of that with the processors' words. (Lives that were 8 bytes apart did not help; 64
 * bytes apart helped as much, but need far more memory. If a block went back to the thread that had allocated it, and
 * threads owned words, nearly no word was shared, but that took longer, and half as much memory again.)
 *
 * A slot is never in two places, even if the thread dies in the middle of a call, and even in a fork's child, where all
 * threads but one are dead. Slots on their way to the depot stay in their entries until they have arrived, and
 * `leaving` counts them. Such a child may lose a few slots.
 *
 * A free of a slot at or above `bound` leaves the fast path. `bound` is the number of usable slots, or 0 while the
 * depot is uncached: then no free takes the fast path, and no magazine keeps a slot. While the depot is cached, this
 * costs nothing.
 *
 * A keeper is the record of a thread. From the list of keepers, other threads learn which magazines a thread has. The
 * list only grows, at its front, and can be walked without a lock. A new thread takes over the keeper of a thread that
 * has ended. The owner of the list decides how many keepers it may have. A keeper never moves and is never freed, so a
 * thread may die at any moment without leaving dangling pointers. */
#ifndef KOLK_SRC_DEPOT_H
#define KOLK_SRC_DEPOT_H

#undef KOLK_EXTERN /* shared.c emits the functions of shared.inl, even if the program defines KOLK_EXTERN */
#include "kolk/shared.h"

#include "slot_set.h"

#define KOLK_TAKERS_ 64u /* as many words have a taker of their own */

/* The free slots that no thread has. Fields that different threads write are 128 bytes apart, to avoid false
 * sharing. */
typedef struct kolk_depot_ {
    kolk_slot_set_ free;           /* a word has 1 << word_shift slots */
    struct kolk_keepers_ *keepers; /* the threads whose magazines it fills */
    uint32_t slots;                /* the most slots that it may have */
    uint32_t usable;               /* slots that are committed */
    uint32_t cache;                /* the most slots in one magazine; 0: slots are taken one by one */
    uint8_t word_shift;
    bool slow_free; /* no free takes the fast path */
    unsigned char pad0[128];
    uint32_t fresh;               /* slots from here on were never taken; only advances */
    uint8_t takers[KOLK_TAKERS_]; /* the processor that last took at least half of a word; words share these */
    unsigned char pad1[128];
    KOLK_ALIGNAS(8) uint64_t returns;        /* how often slots were put here */
    KOLK_ALIGNAS(8) uint64_t uncached_until; /* no magazine keeps slots until `returns` reaches this */
    KOLK_ALIGNAS(8) uint64_t lowered_until;  /* the same, but set once the bounds of all magazines are lowered */
    uint32_t waiting;                        /* threads that wait for slots */
    unsigned char pad2[128];
} kolk_depot_;

/* ---- Slots and words --------------------------------------------------------------------------------------------- */

static inline uint32_t kolk_depot_word_bits_(const kolk_depot_ *depot) {
    return 1u << depot->word_shift;
}

/* The number of words for the first n slots. */
static inline uint64_t kolk_depot_words_(const kolk_depot_ *depot, uint32_t n) {
    return ((uint64_t)n + kolk_depot_word_bits_(depot) - 1) >> depot->word_shift;
}

/* Return the lowest slot among these bits of a word, and the bit of a slot in its word. */
static inline uint32_t kolk_depot_slot_(const kolk_depot_ *depot, uint32_t word, uint64_t bits) {
    return (word << depot->word_shift) + kolk_bits_lowest_(bits);
}

static inline uint64_t kolk_depot_bit_(const kolk_depot_ *depot, uint32_t slot) {
    return UINT64_C(1) << (slot & (kolk_depot_word_bits_(depot) - 1));
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Initialises a zeroed depot of up to `slots` slots, for magazines of `cache` entries (0: magazines keep no slots). The
 * caller must provide the memory of `free` before it puts the first slot. */
void kolk_depot_begin_(kolk_depot_ *depot, struct kolk_keepers_ *keepers, uint32_t slots, uint32_t cache);

/* Lets threads take slots below `usable` from now on. Only one thread at a time may call this. */
static inline void kolk_depot_extend_(kolk_depot_ *depot, uint32_t usable) {
    kolk_store_(&depot->usable, usable, KOLK_RELEASE_); /* partner: kolk_depot_usable_ */
}

static inline uint32_t kolk_depot_usable_(const kolk_depot_ *depot) {
    return kolk_load_(&depot->usable, KOLK_ACQUIRE_); /* partner: kolk_depot_extend_, once the slots are committed */
}

/* ---- Put and take ------------------------------------------------------------------------------------------------ */

/* Puts slots of one word. After all its puts, the caller calls kolk_depot_count_return_ once. */
static inline void kolk_depot_put_bits_(kolk_depot_ *depot, uint32_t word, uint64_t bits) {
    kolk_slot_set_put_(&depot->free, word, bits);
}

static inline void kolk_depot_count_returns_(kolk_depot_ *depot, uint32_t n) {
    kolk_fetch_add_(&depot->returns, n, KOLK_SEQ_CST_); /* partners: the proof, and kolk_depot_is_uncached_ */
}

static inline void kolk_depot_count_return_(kolk_depot_ *depot) {
    kolk_depot_count_returns_(depot, 1);
}

/* Puts one slot, and counts it. */
static inline void kolk_depot_put_(kolk_depot_ *depot, uint32_t slot) {
    KOLK_ASSERT_(slot < depot->slots);
    kolk_depot_put_bits_(depot, slot >> depot->word_shift, kolk_depot_bit_(depot, slot));
    kolk_depot_count_return_(depot);
}

/* For `most` below: all free slots of a word. */
#define KOLK_WHOLE_WORD_ 64u

/* Looks once for the free slots of one word, or for `most` of them. The search begins at *word. Returns the slots'
 * bits, and sets *word to the index of the word that contains them. Returns 0 if it found none; the text above explains
 * what that proves. */
uint64_t kolk_depot_search_(kolk_depot_ *depot, uint32_t *word, uint32_t most);

/* Does the same for slots that were never used. */
uint64_t kolk_depot_take_fresh_(kolk_depot_ *depot, uint32_t *word, uint32_t most);

/* Looks for the free slots of a word that this processor took last. If other processors took a few words last that have
 * free slots, takes slots that were never used, so that those stay theirs. Returns 0 if there are neither, which proves
 * nothing. */
uint64_t kolk_depot_search_near_(kolk_depot_ *depot, uint32_t *word, uint32_t processor);

/* Notes that this processor took slots of a word, if they are at least half of its slots. */
void kolk_depot_note_taker_(kolk_depot_ *depot, uint32_t word, uint64_t bits, uint32_t processor);

/* ---- Uncached ---------------------------------------------------------------------------------------------------- */

static inline bool kolk_depot_is_uncached_(const kolk_depot_ *depot) {
    return kolk_load_(&depot->waiting, KOLK_SEQ_CST_) ||
           kolk_load_(&depot->uncached_until, KOLK_SEQ_CST_) > kolk_load_(&depot->returns, KOLK_SEQ_CST_);
}

/* Raises *at to `number` if it is lower. NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static inline void kolk_atomic_max_(uint64_t *at, uint64_t number) {
    uint64_t before = kolk_load_(at, KOLK_SEQ_CST_);
    while (before < number)
        if (kolk_compare_exchange_weak_(at, &before, number, KOLK_SEQ_CST_, KOLK_SEQ_CST_)) return;
}

/* ---- Magazines --------------------------------------------------------------------------------------------------- */

/* The number of slots in it, which its thread may be changing. */
static inline uint32_t kolk_magazine_count_(const kolk_magazine_ *magazine) {
    return kolk_load_(&magazine->top, KOLK_RELAXED_);
}

/* Sets next_word to a word of former entries, if one of those that it looks at is not empty. */
void kolk_magazine_go_back_(kolk_magazine_ *magazine);

/* Fills an empty magazine with these slots of its depot's word `next_word`. The lowest slot is popped first. */
void kolk_magazine_fill_(kolk_magazine_ *magazine, uint64_t bits);

/* Puts the n oldest slots into the depot; n must be at least half of the slots. */
void kolk_magazine_put_oldest_(kolk_magazine_ *magazine, uint32_t n);

/* Marks the entries that were never used. */
void kolk_magazine_begin_entries_(kolk_magazine_ *magazine);

static inline uint32_t kolk_magazine_pop_(kolk_magazine_ *magazine) {
    KOLK_ASSERT_(magazine->top > 0);
    uint32_t top = magazine->top - 1;
    kolk_store_(&magazine->top, top, KOLK_RELAXED_);
    return *kolk_magazine_entry_(magazine, top);
}

static inline void kolk_magazine_push_(kolk_magazine_ *magazine, uint32_t slot) {
    KOLK_ASSERT_(magazine->top < magazine->cache);
    *kolk_magazine_entry_(magazine, magazine->top) = slot;
    kolk_store_(&magazine->top, magazine->top + 1, KOLK_RELEASE_); /* so that a fork's child finds the whole entry */
}

/* Sets the bound according to the depot's state. */
void kolk_magazine_set_bound_(kolk_magazine_ *magazine);

/* Makes the depot uncached for a while, and lowers the bounds of all its magazines. */
void kolk_magazines_go_uncached_(kolk_depot_ *depot);

/* ---- Keepers ----------------------------------------------------------------------------------------------------- */

/* The record of a thread, which may be gone. It has one or more magazines. */
typedef struct kolk_keeper_ {
    uint32_t owner;      /* the thread; 0: unknown */
    uint8_t taken;       /* 1: a thread has it */
    uintptr_t magazines; /* the first kolk_magazine_ */
    struct kolk_keeper_ *next;
} kolk_keeper_;

/* A list that only grows: a keeper that is released stays in it. */
typedef struct kolk_keepers_ {
    uintptr_t first; /* a kolk_keeper_ */
    uint32_t lock;   /* for taking and releasing keepers */
} kolk_keepers_;

/* Both lists, of keepers and of magazines, are read and extended by sequentially consistent operations. So if a thread
 * joins, and then reads that its depot is cached or that an epoch has not ended, the thread that later lowers the
 * bounds or ends the epoch finds the new thread. */
static inline kolk_keeper_ *kolk_keepers_first_(const kolk_keepers_ *keepers) {
    return (kolk_keeper_ *)kolk_load_(&keepers->first, KOLK_SEQ_CST_); /* partner: kolk_keepers_list_ */
}

static inline kolk_magazine_ *kolk_keeper_magazines_(const kolk_keeper_ *keeper) {
    return (kolk_magazine_ *)kolk_load_(&keeper->magazines, KOLK_SEQ_CST_); /* partner: kolk_keeper_add_ */
}

/* Walks over the magazines of one depot; each keeper has at most one of them. Pass NULL to begin; NULL is returned at
 * the end. */
kolk_magazine_ *kolk_keepers_next_magazine_(const kolk_depot_ *depot, const kolk_magazine_ *magazine);

/* Returns the keeper's magazine of this depot, or NULL if it has none. */
kolk_magazine_ *kolk_keeper_magazine_(const kolk_keeper_ *keeper, const kolk_depot_ *depot);

/* For an owner that holds the list's lock: add a new keeper to the list; take a keeper that no thread has, for the
 * calling thread; and release a keeper, whose magazines are empty, so that another thread may take it. */
void kolk_keepers_list_(kolk_keepers_ *keepers, kolk_keeper_ *keeper);
void kolk_keeper_take_(kolk_keeper_ *keeper);
static inline void kolk_keeper_release_(kolk_keeper_ *keeper) {
    kolk_store_(&keeper->taken, 0, KOLK_RELAXED_);
}

/* Adds a magazine to a keeper that is not listed yet, or belongs to the calling thread. */
void kolk_keeper_add_(kolk_keeper_ *keeper, kolk_magazine_ *magazine);

/* Has the keeper's thread ended? False if it is the calling thread, `me`. With `closely`, even a thread that the system
 * still lists may count as ended. */
bool kolk_keeper_is_dead_(const kolk_keeper_ *keeper, uint32_t me, bool closely);

#endif
