/* sleep.h: lets threads sleep on a word of memory, and wakes them. Not in freestanding builds. */
#ifndef KOLK_SRC_SLEEP_H
#define KOLK_SRC_SLEEP_H

#include "kolk/base.h"

/* Sleeps while *word is `expected`, until a wake or the deadline. Returns false if the deadline has passed and this
 * thread has used up no wake. It may return true spuriously (after a signal or a wake of another word), so callers
 * loop.
 *
 * Comparing and falling asleep is one atomic step: a thread that changes the word and then wakes the sleepers leaves no
 * thread asleep on the old value. It guarantees no other ordering: a thread that must see writes made before the wake
 * loads with acquire. errno is preserved. */
bool kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline);

/* Wakes at least n of the threads that sleep on the word, or all if there are fewer. Costs a system call. */
void kolk_wake_(uint32_t *word, uint32_t n);

/* Lets other threads that wait for this processor run. Returns immediately if there are none. */
void kolk_yield_(void);

#endif
