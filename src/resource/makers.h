/* makers.h: threads of the process that do chores when they are due. Each resource pool has one chore. There are as
 * many makers at work as there are jobs. One more maker, the lookout, waits for the next chore. There is a lookout from
 * the first chore to the last. Freestanding builds have no makers. */
#ifndef KOLK_SRC_MAKERS_H
#define KOLK_SRC_MAKERS_H

#include "kolk/base.h"

typedef struct kolk_chore_ {
    /* Sets `due` again before any slow step. If the chore is due again while a maker works on it, another maker works
     * on it at the same time. */
    void (*work)(struct kolk_chore_ *chore);
    KOLK_ALIGNAS(8) int64_t due; /* atomic: when it is due, by the clock of deadlines */
    struct kolk_chore_ *next;    /* the makers use this field and the next */
    uint32_t workers;            /* makers that work on it now */
} kolk_chore_;

/* Adds a chore, which is done whenever it is due. False: the system has no thread left. */
bool kolk_makers_add_(kolk_chore_ *chore);

/* Removes a chore; returns when no maker works on it. Must not be called from the chore's own work. */
void kolk_makers_remove_(kolk_chore_ *chore);

/* Wakes the lookout. Call it after setting a chore's `due` to an earlier time. */
void kolk_makers_call_(void);

/* False: no maker will come soon, because all are at work and the system has no thread left. */
bool kolk_makers_are_there_(void);

/* ---- A maker ----------------------------------------------------------------------------------------------------- */

typedef struct kolk_maker_ {
    uint32_t lock;
    uint32_t fd; /* the descriptor + 1; 0: not made yet */
    bool interrupted;
} kolk_maker_;

/* The calling thread is a maker from enter to leave. Before enter, the struct must be all zero. */
void kolk_maker_enter_(kolk_maker_ *maker);
void kolk_maker_leave_(kolk_maker_ *maker);

/* The calling thread's maker; NULL: the thread is not a maker. */
kolk_maker_ *kolk_maker_self_(void);

/* With `interrupted`, interrupts the maker's job, because its result is no longer wanted; otherwise undoes this. Call
 * it when the job begins and when this changes, under the lock of the job's pool. */
void kolk_maker_set_interrupted_(kolk_maker_ *maker, bool interrupted);

#endif
