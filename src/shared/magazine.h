/* magazine.h: a thread's own stack of free slots, filled from a depot. Only its thread pushes and pops, without an
 * atomic read-modify-write; those are the fast paths of shared.inl.
 *
 *     entries   | oldest | ........... | newest | ............ |
 *               0    `leaving`        top                  cache
 *
 * An empty magazine takes the slots of one word. A full one puts its oldest half back, and neighbours that are of one
 * word go by one OR: objects that went through a queue come back in order, so that is most of them.
 *
 * A slot is in one place at every moment, even if the thread dies in between, or in a fork's child, where all threads
 * but one are dead. Slots on their way stay in their entries until they are in the depot, and `leaving` says which have
 * begun. A few may be lost to such a child; none is in two places.
 *
 * `bound` is the slot from which on free leaves the fast path. It is the number of usable slots, or 0 while the depot
 * is uncached: then no free takes the fast path, and no magazine keeps a slot. That costs nothing while it is not
 * needed. */
#ifndef KOLK_SRC_SHARED_MAGAZINE_H
#define KOLK_SRC_SHARED_MAGAZINE_H

#include "depot.h"

/* How many slots it has; its owner may be at work. */
static inline uint32_t kolk_magazine_count(const kolk_magazine *magazine) {
    return kolk_load(&magazine->top, KOLK_RELAXED);
}

/* Fills an empty magazine with these slots of its depot's word `next_word`, so that the lowest is the next to be
 * popped. */
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

/* Sets the bound to what the depot's state asks for. */
void kolk_magazine_set_bound(kolk_magazine *magazine);

/* The depot is uncached from now on, for a while, and the bounds of all its magazines are lowered. */
void kolk_depot_go_uncached(kolk_depot *depot);

#endif
