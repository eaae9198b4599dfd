/* wait.h: what several threads need of the operating system, and the process's environment. Not in freestanding
 * builds. */
#ifndef KOLK_SRC_WAIT_H
#define KOLK_SRC_WAIT_H

#include "kolk/base.h"

/* The one lock of the process. Not recursive; held for moments, and never while the user's code runs. A fork waits for
 * it, so that the child does not find it locked by a thread that it has not got; the thread that forks has it meanwhile, and
 * may lock it all the same, in handlers of the user's. */
void kolk_lock(void);
void kolk_unlock(void);

/* No call of kolk is a cancellation point: what would be one is done between these two (pthread_cancel). Nothing of the
 * user runs there, but a handler at exit. `before` is what off gave. */
int kolk_cancel_off(void);
void kolk_cancel_restore(int before);

/* Does the program run with more rights than the user who starts it (set-user-ID, capabilities of its file)? Then that
 * user's environment decides nothing. Always false on Windows. */
bool kolk_has_more_rights(void);

/* A variable of the environment, or NULL; always NULL in a program with more rights: kolk's variables name files to be
 * written. */
const char *kolk_environment(const char *name);

/* Nanoseconds of the clock that deadlines go by: monotonic, from any start. */
int64_t kolk_now_ns(void);

/* Sleeps while *word is expected, until a wake or the deadline. False when the deadline has passed and no wake was
 * spent on this thread; else true, also for no reason (a signal, a wake of other words), so callers loop. The look at
 * *word is atomic to wakes of it: who changes the word, then wakes, leaves nobody asleep on the old value. It orders
 * nothing else: what was written before the wake is seen after a load with acquire. */
bool kolk_wait(uint32_t *word, uint32_t expected, kolk_deadline deadline);

/* Wakes n threads that sleep on the word, or all if there are fewer, and perhaps more than n. A system call. */
void kolk_wake(uint32_t *word, uint32_t n);

/* Lets others run who wait for this processor; soon over if nobody does. */
void kolk_yield(void);

/* The calling thread's number, which no other living thread has: also that which it had before a fork. 0: unknown. */
uint32_t kolk_thread(void);

/* Has that thread ended, or not come along through a fork? False if it is not known, if another thread got the number, and
 * for as long as the system still has something of it: for a moment after its end, and, if it is the process's first one, until
 * the process ends. */
bool kolk_thread_is_gone(uint32_t thread);

/* The same without the last exception, for some microseconds more: if there is a /proc. */
bool kolk_thread_has_ended(uint32_t thread);

/* How many forks lie between this process and the first. */
uint32_t kolk_forks(void);

/* A value for each thread; `end` is called with it when a thread ends, if it is not NULL. False: there are no more. */
#ifdef _WIN32
#define KOLK_AT_THREADS_END __stdcall
#else
#define KOLK_AT_THREADS_END
#endif
bool kolk_key_make(uintptr_t *key, void(KOLK_AT_THREADS_END *end)(void *value));
void kolk_key_drop(uintptr_t key);
void *kolk_key_get(uintptr_t key);
bool kolk_key_set(uintptr_t key, void *value);

/* A lock of one word, 0 at first; held for moments. In a fork's child it is free if another thread had it. */
void kolk_lock_word(uint32_t *word);
void kolk_unlock_word(uint32_t *word);

/* A file descriptor that is readable from set until reset, for poll and its like; -1: the system has none. */
int kolk_event_open(void);
void kolk_event_set(int fd);
void kolk_event_reset(int fd);
void kolk_event_close(int fd);

#endif
