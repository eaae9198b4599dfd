/* magazine.h: a thread's own stack of free slots, filled from a depot. Only its own thread pushes and pops, without
 * atomic read-modify-writes; these are the fast paths in shared.inl.
 *
 *     entries   | oldest | ........... | newest | ............ |
 *               0    `leaving`        top                  cache
 *
 * An empty magazine takes the slots of one word. A full one returns its oldest half to the depot. Entries that belong
 * to one word need only a single OR. If objects were freed in the order in which they were allocated, up to 64 entries
 * belong to one word; if they were freed in random order, some of them do.
 *
 * The lives of the slots of a word are neighbours in memory. If two threads use slots of the same word all the time,
 * the cache lines of its lives go back and forth between their processors, which takes longer than all the rest of
 * alloc and free. So an empty magazine first looks for free slots in the words of its former entries, which are still
 * there above `top`: a thread that has used some slots of a word is likely to use others too. Only if there are none
 * does it search all words. Two threads that each replaced random ones of their 5,000 blocks, and then handed them on
 * to new threads, took 0.6 times as long with this. (Lives that were 8 bytes apart did not help; 64 bytes apart helped
 * as much, but need far more memory.)
 *
 * A slot is never in two places, even if the thread dies in the middle of a call, and even in a fork's child, where all
 * threads but one are dead. Slots on their way to the depot stay in their entries until they have arrived, and
 * `leaving` counts them. Such a child may lose a few slots.
 *
 * A free of a slot at or above `bound` leaves the fast path. `bound` is the number of usable slots, or 0 while the
 * depot is uncached: then no free takes the fast path, and no magazine keeps a slot. While the depot is cached, this
 * costs nothing. */
#ifndef KOLK_SRC_MAGAZINE_H
#define KOLK_SRC_MAGAZINE_H

#undef KOLK_EXTERN /* shared.c emits the functions of shared.inl, even if the program defines KOLK_EXTERN */
#include "kolk/shared.h"

#include "depot.h"

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

#endif
