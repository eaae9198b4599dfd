/* makers.h: threads of the process that do chores when they are due. Each resource pool has one chore. As many makers
 * work at a time as there is work. One more is the lookout, which waits for the next chore; it exists from the first
 * chore to the last. Not in freestanding builds. */
#ifndef KOLK_SRC_MAKERS_H
#define KOLK_SRC_MAKERS_H

#include "kolk/base.h"

typedef struct kolk_chore_ {
    /* Sets `due` anew before any slow step. When the chore is due again while a maker works at it, another maker works
     * beside it. */
    void (*work)(struct kolk_chore_ *chore);
    KOLK_ALIGNAS(8) int64_t due; /* atomic: when it is due, by the clock of deadlines */
    struct kolk_chore_ *next;    /* this and the next are for the makers */
    uint32_t workers;            /* makers that work at it now */
} kolk_chore_;

/* Adds a chore, which is done whenever it is due. False: the system has no thread left. */
bool kolk_makers_add_(kolk_chore_ *chore);

/* Removes a chore; returns when no maker works at it. Not to be called in its work. */
void kolk_makers_remove_(kolk_chore_ *chore);

/* Wakes the lookout, after a chore has become due earlier. */
void kolk_makers_call_(void);

/* False: no maker will come soon, as all are at work and the system has no thread left. */
bool kolk_makers_are_there_(void);

/* ---- A maker ----------------------------------------------------------------------------------------------------- */

typedef struct kolk_maker_ {
    uint32_t lock;
    uint32_t fd; /* the descriptor + 1; 0: not made yet */
    bool interrupted;
} kolk_maker_;

/* The calling thread is a maker until it leaves. The struct is all zero before. */
void kolk_maker_enter_(kolk_maker_ *maker);
void kolk_maker_leave_(kolk_maker_ *maker);

/* The calling thread's maker; NULL: it is no maker. */
kolk_maker_ *kolk_maker_self_(void);

/* Interrupts the maker's job, if its result is no longer wanted. Called when the job begins, and when that changes,
 * under the lock of the job's pool. */
void kolk_maker_set_interrupted_(kolk_maker_ *maker, bool interrupted);

#endif
