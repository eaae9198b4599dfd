/* housekeeper.h: one thread of the process, which does chores when they are due. It is started for the first and ends
 * with the last. Not in freestanding builds. */
#ifndef KOLK_SRC_HOUSEKEEPER_H
#define KOLK_SRC_HOUSEKEEPER_H

#include "kolk/base.h"

typedef struct kolk_chore {
    void (*work)(struct kolk_chore *chore); /* sets `due` anew; may be slow */
    KOLK_ALIGNAS(8) int64_t due;            /* atomic: when it is to be done, by the clock of deadlines */
    struct kolk_chore *next;                /* these two are the housekeeper's */
    bool is_being_done;                     /* at this moment */
} kolk_chore;

/* From now on the chore is done when it is due. False: the system gives no thread. */
bool kolk_housekeeper_add(kolk_chore *chore);

/* No more; returns when nothing is being done for it. Not within its work. */
void kolk_housekeeper_remove(kolk_chore *chore);

/* A chore has become due earlier. */
void kolk_housekeeper_call(void);

#endif
