/* lock.h: locks that stay usable after a fork. Not in freestanding builds.
 *
 * All kinds are held only briefly. None is recursive. */
#ifndef KOLK_SRC_LOCK_H
#define KOLK_SRC_LOCK_H

#include "../base/atomics.h"
#include "forks.h"

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

/* A lock that is mostly held for some dozens of instructions, and seldom while a thread is inside the system. To
 * release it is a plain store, because it wakes nobody: a thread that has to wait for long takes naps. The word is
 * 2 * kolk_forks_() while the lock is free, and 1 more while it is taken. Init it with kolk_unlock_brief_.
 *
 * kolk_lock_brief_ returns false in a fork's child if another thread had the lock when the process forked. What it
 * protects may then be half done. */
bool kolk_lock_brief_slow_(uint32_t *lock);

/* Is this the process's only thread? Then nobody can take a lock between a load and a store. False: perhaps not. (The
 * GNU C Library Reference Manual, "Single-Threaded"; its malloc does the same.) */
#if defined(__GLIBC__) && defined(__ELF__) && !defined(KOLK_SCHEDULED)
extern char __libc_single_threaded __attribute__((weak)); /* glibc has it since version 2.32 */
#define KOLK_IS_ALONE_() (&__libc_single_threaded && __libc_single_threaded)
#else
#define KOLK_IS_ALONE_() false
#endif

static inline bool kolk_lock_brief_(uint32_t *lock) {
    uint32_t unlocked = 2 * kolk_forks_();
    if (KOLK_IS_ALONE_() && kolk_load_(lock, KOLK_RELAXED_) == unlocked) {
        kolk_store_(lock, unlocked + 1, KOLK_RELAXED_);
        return true;
    }
    if (kolk_compare_exchange_(lock, &unlocked, unlocked + 1, KOLK_ACQUIRE_, KOLK_RELAXED_)) return true;
    return kolk_lock_brief_slow_(lock);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static inline void kolk_unlock_brief_(uint32_t *lock) {
    kolk_store_(lock, 2 * kolk_forks_(), KOLK_RELEASE_); /* partner: the next kolk_lock_brief_ */
}

#endif
