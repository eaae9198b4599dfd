/* keeper.h: the records of the threads that share depots. From these records, other threads learn which magazines a
 * thread has.
 *
 *     keepers    first ---> | keeper | ---> | keeper | ---> | keeper | ---> NULL
 *                               |
 *                           magazines, each of one depot
 *
 * The list only grows, at its front, and can be walked without a lock. A new thread takes over the keeper of a thread
 * that has ended. The owner of the list decides how many keepers it may have. A keeper never moves and is never freed,
 * so a thread may die at any moment without leaving dangling pointers. */
#ifndef KOLK_SRC_KEEPER_H
#define KOLK_SRC_KEEPER_H

#include "magazine.h"

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

/* Makes a zeroed keeper, the n-th of its list (counted from 0). Returns NULL if the list is full. Called with the
 * list's lock held. */
typedef kolk_keeper_ *kolk_keeper_maker_(void *context, uint32_t n);

/* Takes a keeper for the calling thread: one that no thread has, or a new one. Returns NULL if the list is full. */
kolk_keeper_ *kolk_keepers_take_(kolk_keepers_ *keepers, kolk_keeper_maker_ *make, void *context);

/* Releases a keeper, whose magazines are empty, so that another thread may take it. */
void kolk_keepers_give_(kolk_keepers_ *keepers, kolk_keeper_ *keeper);

/* The steps of these two functions, for an owner that holds the list's lock: add a new keeper to the list, take a
 * keeper that no thread has, and release a keeper. */
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
