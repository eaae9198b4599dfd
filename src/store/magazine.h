/* magazine.h: a thread's own stack of free slots, filled from a depot. Only its thread pushes and pops, without an
 * atomic read-modify-write; those are the fast paths of shared.inl.
 *
 *     entries   | oldest | ........... | newest | ............ |
 *               0    `leaving`        top                  cache
 *
 * An empty magazine takes the slots of one word. A full one returns its oldest half to the depot. Neighbours that
 * belong to one word take a single OR, and as objects that went through a queue come back in order, most do.
 *
 * A slot is in one place at every moment, even if the thread dies in between, or in a fork's child, where all threads
 * but one are dead. Slots on their way to the depot stay in their entries until they are there, and `leaving` counts
 * them. A few may be lost to such a child; none is in two places.
 *
 * `bound` is the slot from which on free leaves the fast path. It is the number of usable slots, or 0 while the depot
 * is uncached: then no free takes the fast path, and no magazine keeps a slot. While the depot is cached, this costs
 * nothing. */
#ifndef KOLK_SRC_MAGAZINE_H
#define KOLK_SRC_MAGAZINE_H

#undef KOLK_EXTERN /* the functions of shared.inl are emitted in shared.c, also in a program compiled with it */
#include "kolk/shared.h"

#include "depot.h"

/* How many slots it has; its thread may be changing that. */
static inline uint32_t kolk_magazine_count_(const kolk_magazine_ *magazine) {
    return kolk_load_(&magazine->top, KOLK_RELAXED_);
}

/* Fills an empty magazine with these slots of its depot's word `next_word`. The lowest slot is popped first. */
void kolk_magazine_fill_(kolk_magazine_ *magazine, uint64_t bits);

/* Puts the n oldest slots into the depot: all of them, or at least half. */
void kolk_magazine_put_oldest_(kolk_magazine_ *magazine, uint32_t n);

static inline uint32_t kolk_magazine_pop_(kolk_magazine_ *magazine) {
    KOLK_ASSERT_(magazine->top > 0);
    uint32_t top = magazine->top - 1;
    kolk_store_(&magazine->top, top, KOLK_RELAXED_);
    return *kolk_magazine_entry_(magazine, top);
}

static inline void kolk_magazine_push_(kolk_magazine_ *magazine, uint32_t slot) {
    KOLK_ASSERT_(magazine->top < magazine->cache);
    *kolk_magazine_entry_(magazine, magazine->top) = slot;
    kolk_store_(&magazine->top, magazine->top + 1, KOLK_RELEASE_); /* so that a fork's child finds all of it */
}

/* Sets the bound by the depot's state. */
void kolk_magazine_set_bound_(kolk_magazine_ *magazine);

/* Makes the depot uncached for a while, and lowers the bounds of all its magazines. */
void kolk_magazines_go_uncached_(kolk_depot_ *depot);

#endif
