/* lock.h: locks, which forks leave usable. Not in freestanding builds.
 *
 * Both kinds are held for moments. Neither is recursive. */
#ifndef KOLK_SRC_LOCK_H
#define KOLK_SRC_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The one lock of the process. It is never held while the user's code runs, with one exception: a fork takes it, so
 * that the child does not find it locked by a thread that the child does not have. Handlers of that fork run meanwhile;
 * in the forking thread, these two do nothing until the fork is over. */
void kolk_lock(void);
void kolk_unlock(void);

/* The same for what malloc does. False, and not locked: another thread is forking. That may wait for a thread that
 * waits for malloc: libc's fork takes the locks of its files when it has the process's lock. */
bool kolk_lock_unless_forking(void);

/* A lock of one word, which is 0 at first. In a fork's child it is free if another thread held it. */
void kolk_lock_word(uint32_t *word);
void kolk_unlock_word(uint32_t *word);

/* How many forks lie between this process and the first. */
uint32_t kolk_forks(void);

#endif
