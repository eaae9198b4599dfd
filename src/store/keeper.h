/* keeper.h: the records of threads that share depots. Other threads read there which magazines each has.
 *
 *     keepers    first ---> | keeper | ---> | keeper | ---> | keeper | ---> NULL
 *                               |
 *                           magazines, each of one depot
 *
 * The list only grows, at its front, and a walk along it needs no lock. The next thread takes the keeper of a thread
 * that has ended. The owner of the list decides how many keepers there may be. A keeper never moves and is never freed,
 * so a thread may die at any moment without leaving dangling pointers. */
#ifndef KOLK_SRC_KEEPER_H
#define KOLK_SRC_KEEPER_H

#include "magazine.h"

/* The record of a thread, or of a thread that is gone. It has one magazine or several. */
typedef struct kolk_keeper {
    uint32_t owner;      /* the thread; 0: unknown */
    uint8_t taken;       /* 1: a thread has it */
    uintptr_t magazines; /* the first kolk_magazine */
    struct kolk_keeper *next;
} kolk_keeper;

/* A list that only grows: a keeper that is released stays in it. */
typedef struct kolk_keepers {
    uintptr_t first; /* a kolk_keeper */
    uint32_t lock;   /* for taking and releasing keepers */
} kolk_keepers;

/* Both lists are read and extended in the one sequentially consistent order. If a thread joins, and then reads that its
 * depot is cached or that an epoch goes on, the thread that later lowers the bounds or ends the epoch finds it. */
static inline kolk_keeper *kolk_keepers_first(const kolk_keepers *keepers) {
    return (kolk_keeper *)kolk_load(&keepers->first, KOLK_SEQ_CST); /* partner: kolk_keepers_list */
}

static inline kolk_magazine *kolk_keeper_magazines(const kolk_keeper *keeper) {
    return (kolk_magazine *)kolk_load(&keeper->magazines, KOLK_SEQ_CST); /* partner: kolk_keeper_add */
}

/* A walk over the magazines of one depot, of which each keeper has at most one. NULL begins the walk, and NULL ends
 * it. */
kolk_magazine *kolk_keepers_next_magazine(const kolk_depot *depot, const kolk_magazine *magazine);

/* Returns the keeper's magazine of this depot; NULL: it has none. */
kolk_magazine *kolk_keeper_magazine(const kolk_keeper *keeper, const kolk_depot *depot);

/* Makes a zeroed keeper, the n-th of its list (from 0); NULL: the list is full. Called under the lock of the list. */
typedef kolk_keeper *kolk_keeper_maker(void *context, uint32_t n);

/* Takes a keeper that no thread has, or a new one, for the calling thread; NULL if the list is full. */
kolk_keeper *kolk_keepers_take(kolk_keepers *keepers, kolk_keeper_maker *make, void *context);

/* Releases a keeper, whose magazines are empty, so that another thread may take it. */
void kolk_keepers_give(kolk_keepers *keepers, kolk_keeper *keeper);

/* The steps of these two functions, for an owner that holds the list's lock: list a new keeper, take one that no thread
 * has, release it. */
void kolk_keepers_list(kolk_keepers *keepers, kolk_keeper *keeper);
void kolk_keeper_take(kolk_keeper *keeper);
static inline void kolk_keeper_release(kolk_keeper *keeper) {
    kolk_store(&keeper->taken, 0, KOLK_RELAXED);
}

/* Adds a magazine to a keeper that is not listed yet, or belongs to the calling thread. */
void kolk_keeper_add(kolk_keeper *keeper, kolk_magazine *magazine);

/* Has its thread, other than the calling one, ended? `closely`: a thread that the system still lists may have ended
 * too. */
bool kolk_keeper_is_dead(const kolk_keeper *keeper, uint32_t me, bool closely);

#endif
