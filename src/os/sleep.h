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

/* The same for a word of memory that several processes map (between.h). Linux only. */
#if defined(KOLK_SCHEDULED) || !defined(__linux__) || defined(KOLK_NO_FUTEX)
#define kolk_wait_between_ kolk_wait_
#define kolk_wake_between_ kolk_wake_
#else
bool kolk_wait_between_(uint32_t *word, uint32_t expected, kolk_deadline deadline);
void kolk_wake_between_(uint32_t *word, uint32_t n);
#endif

/* Lets other threads that wait for this processor run. Returns immediately if there are none. */
void kolk_yield_(void);

#endif
