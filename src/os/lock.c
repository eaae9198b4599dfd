/* lock.c: see lock.h.
 *
 * A fork copies the memory of all threads, but only the thread that forks goes on in the child. A lock that another
 * thread had at that moment would stay locked there for ever. So
 *
 *     the process's lock    is taken by the fork itself before it copies, and given back after it, in both processes
 *     a lock of one word    says in which process it was taken; one that was taken in another process is free here
 *
 * sleep.c and thread.c see to forks on their own. The order of these handlers does not matter: none needs another's. */
#include "system.h"

#include "kolk/base.h"

#include "lock.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../core/atomics.h"
#include "sleep.h"

/* ---- The process's lock ------------------------------------------------------------------------------------------ */

#ifdef _WIN32
#include <windows.h>

static SRWLOCK process_lock = SRWLOCK_INIT;

void kolk_lock(void) {
    AcquireSRWLockExclusive(&process_lock);
}

void kolk_unlock(void) {
    ReleaseSRWLockExclusive(&process_lock);
}

bool kolk_lock_unless_forking(void) {
    kolk_lock();
    return true;
}

uint32_t kolk_forks(void) {
    return 0;
}
#else
#include <pthread.h>
#include <signal.h>

static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
/* How many forks this thread is in the middle of: a handler of the program's may fork again. It has the lock then, also
 * in handlers that run within ours. */
static _Thread_local unsigned forking;
static uint32_t lock_is_forks; /* a thread that forks has the lock */
static uint32_t forks;

void kolk_lock(void) {
    KOLK_UNSEEN();
    if (forking == 0) pthread_mutex_lock(&process_lock);
}

void kolk_unlock(void) {
    if (forking == 0) pthread_mutex_unlock(&process_lock);
}

bool kolk_lock_unless_forking(void) {
    KOLK_UNSEEN();
    while (forking == 0 && pthread_mutex_trylock(&process_lock) != 0) {
        if (kolk_load(&lock_is_forks, KOLK_RELAXED)) return false;
        kolk_yield();
    }
    return true;
}

uint32_t kolk_forks(void) {
    return __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

/* A signal's handler may fork, too. It must not find the lock taken by its own thread while forking is 0. */
static void begin_fork(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    kolk_lock();
    forking++;
    kolk_store(&lock_is_forks, 1, KOLK_RELAXED);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void end_fork(void) {
    sigset_t all, before;
    KOLK_ASSERT(forking > 0);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    if (--forking == 0) kolk_store(&lock_is_forks, 0, KOLK_RELAXED);
    kolk_unlock();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void go_on_in_child(void) {
    forks++;
    end_fork();
}

/* Runs before main, so that no fork misses a lock that is in use. */
__attribute__((constructor)) static void let_forks_wait(void) {
    pthread_atfork(begin_fork, end_fork, go_on_in_child);
}
#endif

/* ---- A lock of one word: 0 free, 1 taken, 2 taken and a thread may sleep (Drepper, Futexes Are Tricky, 2011) --------
 *
 * The bits above say in which process, by its count of forks. */

#ifndef KOLK_SCHEDULED
#define SPINS 100
#else
#define SPINS 1 /* so that scheduled tests come to sleep */
#endif

static bool is_unlocked(uint32_t word, uint32_t here) {
    return word == 0 || (word & ~UINT32_C(3)) != here;
}

void kolk_lock_word(uint32_t *word) {
    uint32_t here = kolk_forks() << 2, expected = 0;
    for (int i = 0; i < SPINS; i++) { /* it is held for moments */
        if (kolk_compare_exchange(word, &expected, here | 1, KOLK_ACQUIRE, KOLK_RELAXED)) return;
        if (is_unlocked(expected, here)) continue;
        expected = 0;
        kolk_pause();
    }
    while (!is_unlocked(kolk_exchange(word, here | 2, KOLK_ACQUIRE), here)) kolk_wait(word, here | 2, KOLK_FOREVER);
}

void kolk_unlock_word(uint32_t *word) {
    uint32_t taken = kolk_exchange(word, 0, KOLK_RELEASE);
    KOLK_ASSERT(taken & 3);
    if (taken & 2) kolk_wake(word, 1);
}

#endif
