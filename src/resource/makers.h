/* makers.h: threads of the process that do chores when they are due. Each resource pool has one chore. As many makers
 * work at a time as there is work. One more is the lookout, which waits for the next chore; it exists from the first
 * chore to the last. Not in freestanding builds. */
#ifndef KOLK_SRC_MAKERS_H
#define KOLK_SRC_MAKERS_H

#include "kolk/base.h"

typedef struct kolk_chore {
    /* Sets `due` anew before any slow step. When the chore is due again while a maker works at it, another maker works
     * beside it. */
    void (*work)(struct kolk_chore *chore);
    KOLK_ALIGNAS(8) int64_t due; /* atomic: when it is due, by the clock of deadlines */
    struct kolk_chore *next;     /* this and the next are for the makers */
    uint32_t workers;            /* makers that work at it now */
} kolk_chore;

/* Adds a chore, which is done whenever it is due. False: the system has no thread left. */
bool kolk_makers_add(kolk_chore *chore);

/* Removes a chore; returns when no maker works at it. Not to be called in its work. */
void kolk_makers_remove(kolk_chore *chore);

/* Wakes the lookout, after a chore has become due earlier. */
void kolk_makers_call(void);

/* False: no maker will come soon, as all are at work and the system has no thread left. */
bool kolk_makers_are_there(void);

/* ---- A maker ----------------------------------------------------------------------------------------------------- */

typedef struct kolk_maker {
    uint32_t lock;
    uint32_t fd; /* the descriptor + 1; 0: not made yet */
    bool interrupted;
} kolk_maker;

/* The calling thread is a maker until it leaves. The struct is all zero before. */
void kolk_maker_enter(kolk_maker *maker);
void kolk_maker_leave(kolk_maker *maker);

/* The calling thread's maker; NULL: it is no maker. */
kolk_maker *kolk_maker_self(void);

/* Interrupts the maker's job, if its result is no longer wanted. Called when the job begins, and when that changes,
 * under the lock of the job's pool. */
void kolk_maker_set_interrupted(kolk_maker *maker, bool interrupted);

#endif
