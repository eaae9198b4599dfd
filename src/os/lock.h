/* lock.h: locks that stay usable after a fork. Not in freestanding builds.
 *
 * Both kinds are held only briefly. Neither is recursive. */
#ifndef KOLK_SRC_LOCK_H
#define KOLK_SRC_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* The one lock of the process. It is never held while user code runs, with one exception: a fork takes it, because
 * otherwise the child could find it locked by a thread that exists only in the parent. The program's fork handlers run
 * while the fork holds it; in the forking thread, kolk_lock_ and kolk_unlock_ do nothing until the fork is over. A
 * signal handler may fork while its thread is inside kolk_lock_ or kolk_unlock_, but must not use the lock in any other
 * way. */
void kolk_lock_(void);
void kolk_unlock_(void);

/* The same as kolk_lock_, for code that malloc runs. Returns false, without the lock, while another thread is forking:
 * that thread may be waiting for a thread that is inside malloc, because libc's fork locks all stdio files after it has
 * taken our lock. */
bool kolk_lock_unless_forking_(void);

/* A lock of one word, which is 0 at first. In a fork's child, a lock that was held before the fork is free. */
void kolk_lock_word_(uint32_t *word);
void kolk_unlock_word_(uint32_t *word);

/* The number of forks between the first process and this one. */
uint32_t kolk_forks_(void);

#endif
