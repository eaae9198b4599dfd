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
static inline uint32_t kolk_magazine_count(const kolk_magazine *magazine) {
    return kolk_load(&magazine->top, KOLK_RELAXED);
}

/* Fills an empty magazine with these slots of its depot's word `next_word`. The lowest slot is popped first. */
void kolk_magazine_fill(kolk_magazine *magazine, uint64_t bits);

/* Puts the n oldest slots into the depot: all of them, or at least half. */
void kolk_magazine_put_oldest(kolk_magazine *magazine, uint32_t n);

static inline uint32_t kolk_magazine_pop(kolk_magazine *magazine) {
    KOLK_ASSERT(magazine->top > 0);
    uint32_t top = magazine->top - 1;
    kolk_store(&magazine->top, top, KOLK_RELAXED);
    return *kolk_magazine_entry(magazine, top);
}

static inline void kolk_magazine_push(kolk_magazine *magazine, uint32_t slot) {
    KOLK_ASSERT(magazine->top < magazine->cache);
    *kolk_magazine_entry(magazine, magazine->top) = slot;
    kolk_store(&magazine->top, magazine->top + 1, KOLK_RELEASE); /* so that a fork's child finds all of it */
}

/* Sets the bound by the depot's state. */
void kolk_magazine_set_bound(kolk_magazine *magazine);

/* Makes the depot uncached for a while, and lowers the bounds of all its magazines. */
void kolk_magazines_go_uncached(kolk_depot *depot);

#endif
