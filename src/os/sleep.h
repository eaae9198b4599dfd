/* sleep.h: threads that sleep on a word of memory, and how they are woken. Not in freestanding builds. */
#ifndef KOLK_SRC_SLEEP_H
#define KOLK_SRC_SLEEP_H

#include "kolk/base.h"

/* Sleeps while *word is `expected`, until a wake or the deadline. False: the deadline has passed, and no wake was spent
 * on this thread. True: anything else, also for no reason (a signal, a wake of another word), so callers loop.
 *
 * Sleeping is atomic to wakes of the word: a thread that changes the word and then wakes leaves no thread asleep on the
 * old value. It orders nothing else: to see what was written before the wake, load with acquire. errno stays as it
 * is. */
bool kolk_wait(uint32_t *word, uint32_t expected, kolk_deadline deadline);

/* Wakes n threads that sleep on the word, or all if there are fewer, and perhaps more than n. A system call. */
void kolk_wake(uint32_t *word, uint32_t n);

/* Lets other threads run that wait for this processor. Returns soon if there are none. */
void kolk_yield(void);

#endif
