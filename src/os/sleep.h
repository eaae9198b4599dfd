/* sleep.h: lets threads sleep on a word of memory, and wakes them. Not in freestanding builds. */
#ifndef KOLK_SRC_SLEEP_H
#define KOLK_SRC_SLEEP_H

#include "kolk/base.h"

/* Sleeps while *word is `expected`, until a wake or the deadline. Returns false if the deadline has passed and no wake
 * was used up by this thread. It may return true for no reason (a signal, a wake of another word), so callers loop.
 *
 * Comparing and falling asleep is one atomic step: a thread that changes the word and then wakes leaves no thread
 * asleep on the old value. It orders nothing else: a thread that must see writes from before the wake loads with
 * acquire. errno is kept. */
bool kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline);

/* Wakes at least n of the threads that sleep on the word, or all if there are fewer. Costs a system call. */
void kolk_wake_(uint32_t *word, uint32_t n);

/* Lets other threads run that wait for this processor. Returns at once if there are none. */
void kolk_yield_(void);

#endif
