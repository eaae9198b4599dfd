/* member.h: threads, as other threads see them that share depots with them: who has which magazines, and which epoch
 * each has come to.
 *
 *     members    first ---> | member | ---> | member | ---> | member | ---> NULL
 *                               |
 *                           magazines, each of one depot
 *
 * The list only grows, at its front, and a walk along it needs no lock. The member of a thread that has ended is taken
 * by the next thread; how many there may be is its owner's business. A member never moves and never goes, so a thread
 * may die at any moment and leave nothing that dangles. */
#ifndef KOLK_SRC_SHARED_MEMBER_H
#define KOLK_SRC_SHARED_MEMBER_H

#include "depot.h"

/* Both lists are read and extended in the one sequentially consistent order. So a thread that joins, and then reads
 * that its depot is cached or that an epoch goes on, is found by the thread that then lowers the bounds or ends the
 * epoch. */
static inline kolk_member *kolk_members_first(const kolk_members *members) {
    return (kolk_member *)kolk_load(&members->first, KOLK_SEQ_CST); /* partner: kolk_members_take */
}

static inline kolk_magazine *kolk_member_magazines(const kolk_member *member) {
    return (kolk_magazine *)kolk_load(&member->magazines, KOLK_SEQ_CST); /* partner: kolk_member_add */
}

/* The magazines of one depot, of which each member has at most one: the first one for NULL, then the next one; NULL at
 * the end. */
kolk_magazine *kolk_depot_next_magazine(const kolk_depot *depot, const kolk_magazine *magazine);

/* The same, without a look at the depot. */
kolk_magazine *kolk_members_next_magazine(const kolk_members *members, const kolk_depot *depot,
                                          const kolk_magazine *magazine);

/* The member's magazine of this depot; NULL: it has none. */
kolk_magazine *kolk_member_magazine(const kolk_member *member, const kolk_depot *depot);

/* Makes a member, the n-th of its list (from 0), zeroed; NULL: there may be no more. Under the lock of the list. */
typedef kolk_member *kolk_member_maker(void *context, uint32_t n);

/* Gives the calling thread a member that nobody has, or a new one; NULL if there may be no more. */
kolk_member *kolk_members_take(kolk_members *members, kolk_member_maker *make, void *context);

/* Nobody has the member any more. It is offline, and its magazines are empty. */
void kolk_members_give(kolk_members *members, kolk_member *member);

/* One more magazine for a member that is not listed yet, or is the calling thread's. */
void kolk_member_add(kolk_member *member, kolk_magazine *magazine);

/* Is it the calling thread's, whose number is `me`? Without the lock: another thread that takes it says first who it
 * is. */
static inline bool kolk_member_is_of(const kolk_member *member, uint32_t me) {
    return kolk_load(&member->taken, KOLK_ACQUIRE) && /* partner: kolk_members_take */
           kolk_load(&member->owner, KOLK_RELAXED) == me;
}

/* Has its thread, which is not the calling one, ended? `closely`: also if the system still knows it. */
bool kolk_member_is_dead(const kolk_member *member, uint32_t me, bool closely);

#endif
