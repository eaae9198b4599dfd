/* lock.c: see lock.h.
 *
 * A fork copies the memory of all threads, but only the thread that forks continues in the child. A lock that another
 * thread held at that moment would stay locked in the child for ever. So
 *
 *     the process's lock    is taken by the forking thread before the copy and released after it, in both processes
 *     a lock of one word    names the process in which it was taken; in any other process it counts as free
 *     a brief lock          the same, and the child is told that another thread had it
 *
 * A child made by _Fork or clone, of which no handler knew, gets the same: forks.h tells how it is noticed. A brief
 * lock is asked for the process only if it is taken, so that it costs nothing more: a thread of such a child must not
 * be inside it when another one notices, and so base.h asks for a call of kolk before the child's second thread.
 *
 * forks.c and thread.c have fork handlers of their own. The handlers are independent, so their order does not
 * matter. */
#include "system.h"

#include "kolk/base.h"

#include "lock.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"
#include "clock.h"
#include "sleep.h"

/* ---- The process's lock ------------------------------------------------------------------------------------------ */

#ifdef _WIN32
#include <windows.h>

static SRWLOCK process_lock = SRWLOCK_INIT;

void kolk_lock_(void) {
    AcquireSRWLockExclusive(&process_lock);
}

void kolk_unlock_(void) {
    ReleaseSRWLockExclusive(&process_lock);
}

bool kolk_lock_unless_forking_(void) {
    kolk_lock_();
    return true;
}
#else
#include "signals.h"

/* The number of forks that this thread is currently inside: it can exceed 1, because the program's fork handlers may
 * fork again. While it is above 0, the thread has the lock, even in other fork handlers that run between ours. */
static _Thread_local unsigned forking;
static _Thread_local unsigned taken_by; /* the value of `forking` in the fork that took the lock; 0 if none did */
static uint32_t lock_is_forks;          /* true while a forking thread has the lock */

/* The address of the holder's `forking`, which is the same in a fork's child; NULL if the lock is free. A mutex would
 * not suffice: a signal handler may fork while its own thread is taking or releasing the lock, and must find out
 * whether that thread has it. */
static unsigned *holder;
static uint32_t asleep; /* set if a thread may be asleep on `turn`, which changes before each wake */
static uint32_t turn;

static bool try_lock(void) {
    unsigned *nobody = NULL;
    return __atomic_compare_exchange_n(&holder, &nobody, &forking, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* A waiter sets `asleep` before it tries once more, and give_lock frees the lock before it reads `asleep`. So the
 * waiter gets the lock or is woken. */
static void take_lock(void) {
    while (!try_lock()) {
        uint32_t seen = __atomic_load_n(&turn, __ATOMIC_SEQ_CST);
        __atomic_store_n(&asleep, 1, __ATOMIC_SEQ_CST);
        if (try_lock()) return;
        kolk_wait_(&turn, seen, KOLK_FOREVER);
    }
}

static void give_lock(void) {
    __atomic_store_n(&holder, NULL, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&asleep, __ATOMIC_SEQ_CST)) return;
    __atomic_store_n(&asleep, 0, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
    kolk_wake_(&turn, UINT32_MAX);
}

void kolk_lock_(void) {
    KOLK_UNSEEN_();
    if (forking > 0) return;
    kolk_forks_now_();
    take_lock();
}

void kolk_unlock_(void) {
    if (forking == 0) give_lock();
}

bool kolk_lock_unless_forking_(void) {
    KOLK_UNSEEN_();
    kolk_forks_now_();
    while (forking == 0 && !try_lock()) {
        if (kolk_load_(&lock_is_forks, KOLK_RELAXED_)) return false;
        kolk_yield_();
    }
    return true;
}

/* If the forking thread already has the lock, the fork comes from a signal handler. The interrupted function continues
 * in both processes and releases the lock in each. */
static void begin_fork(void) {
    sigset_t before = kolk_signals_off_();
    forking++;
    if (__atomic_load_n(&holder, __ATOMIC_RELAXED) != &forking) {
        take_lock();
        taken_by = forking;
    }
    kolk_store_(&lock_is_forks, 1, KOLK_RELAXED_);
    kolk_signals_restore_(before);
}

static void end_fork(void) {
    KOLK_ASSERT_(forking > 0);
    sigset_t before = kolk_signals_off_();
    if (forking == 1) kolk_store_(&lock_is_forks, 0, KOLK_RELAXED_);
    if (taken_by == forking) {
        taken_by = 0;
        give_lock();
    }
    forking--;
    kolk_signals_restore_(before);
}

/* In a child whose fork did not take the lock, a thread may have it that exists only in the parent, and may be forking.
 * This thread may have it too, if the child was made in a signal's handler. */
static void free_lost_lock(void) {
    if (__atomic_load_n(&holder, __ATOMIC_RELAXED) == &forking) return;
    kolk_raw_store_(&lock_is_forks, 0, KOLK_RELAXED_);
    __atomic_store_n(&holder, NULL, __ATOMIC_SEQ_CST);
}

/* Runs before main, so that the handlers are registered before the lock is in use. */
__attribute__((constructor)) static void let_forks_wait(void) {
    kolk_forks_tell_(free_lost_lock);
    pthread_atfork(begin_fork, end_fork, end_fork);
}
#endif

/* ---- A lock of one word: 0 free, 1 taken, 2 taken and a thread may sleep (Drepper, Futexes Are Tricky, 2011) --------
 *
 * The higher bits hold the fork count of the process that took the lock. */

#ifndef KOLK_SCHEDULED
#define LOCK_TRIES   10  /* with 560 pauses in all, some 10 us: a lock may be held during a wake */
#define FIRST_PAUSES 16u /* the first wait takes as long as a few short sections with the lock */
#define MOST_PAUSES  64u
#define SPINS        100
#else /* so that scheduled tests reach the sleep */
#define LOCK_TRIES   0
#define FIRST_PAUSES 1u
#define MOST_PAUSES  1u
#define SPINS        1
#endif

static bool is_unlocked(uint32_t word, uint32_t here) {
    return word == 0 || (word & ~UINT32_C(3)) != here;
}

/* The pauses get longer, so that a thread takes the lock several times in a row while the data is in its processor's
 * cache: processors that take turns wait for each cache line. */
static KOLK_NOINLINE_ void lock_taken_word(uint32_t *word, uint32_t here, uint32_t expected) {
    uint32_t pauses = FIRST_PAUSES;
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!is_unlocked(expected, here)) {
            expected = 0;
            kolk_pause_for_(pauses);
            if (pauses < MOST_PAUSES) pauses *= 2;
        }
        if (kolk_compare_exchange_(word, &expected, here | 1, KOLK_ACQUIRE_, KOLK_RELAXED_)) return;
    }
    while (!is_unlocked(kolk_exchange_(word, here | 2, KOLK_ACQUIRE_), here)) kolk_wait_(word, here | 2, KOLK_FOREVER);
}

void kolk_lock_word_(uint32_t *word) {
    uint32_t here = kolk_forks_now_() << 2, expected = 0;
    if (kolk_compare_exchange_(word, &expected, here | 1, KOLK_ACQUIRE_, KOLK_RELAXED_)) return;
    lock_taken_word(word, here, expected);
}

void kolk_unlock_word_(uint32_t *word) {
    uint32_t taken = kolk_exchange_(word, 0, KOLK_RELEASE_);
    KOLK_ASSERT_(taken & 3);
    if (taken & 2) kolk_wake_(word, 1);
}

/* ---- A brief lock ------------------------------------------------------------------------------------------------ */

#define BRIEF_NAP_NS 20000

bool kolk_lock_brief_slow_(uint32_t *word) {
    for (int i = 0;; i++) {
        uint32_t here = 2 * kolk_forks_now_(), seen = kolk_load_(word, KOLK_RELAXED_);
        if (seen == here + 1 && i < SPINS)
            kolk_pause_();
        else if (seen == here + 1)
            kolk_wait_(word, seen, (kolk_deadline){kolk_now_ns_() + BRIEF_NAP_NS});
        else if (kolk_compare_exchange_(word, &seen, here + 1, KOLK_ACQUIRE_, KOLK_RELAXED_))
            return seen % 2 == 0;
    }
}

#endif
