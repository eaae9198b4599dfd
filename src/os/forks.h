/* forks.h: in which process does this code run? Not in freestanding builds.
 *
 * A process can come from another in four ways. In all of them, the child has only the thread that made it.
 *
 *     fork            copies the memory and runs the handlers of pthread_atfork, which lock.c uses to fork at a moment
 *                     when no other thread has the process's lock
 *     _Fork, clone    copy the memory too, but run no handlers: other threads may be anywhere. Among them may be
 *                     threads of kolk's own, which the program does not know
 *     vfork           shares the memory, and its parent's thread sleeps until the child calls exec or _exit, the only
 *     clone(CLONE_VM) functions that it may call. But the handlers of signals may run in it
 *
 * The fork count tells them apart: it is another one in each copy. Whatever belongs to one process (a thread of kolk's
 * own, a resource pool, the owner of a lock) notes the count, and is compared with the count of now. After fork, a
 * handler counts. After _Fork and clone, nobody does, so the next call of kolk_forks_now_ does: it looks at a page that
 * the system fills with zeros in each copy of the memory (MADV_WIPEONFORK). Systems without such pages are asked for
 * the process's number each time.
 *
 * Before kolk has a thread of its own, or a resource pool, there is nothing to notice: such a child may use kolk only
 * if its parent had no other thread, and then no lock is held. So the page is only made then (kolk_forks_watch_). */
#ifndef KOLK_SRC_FORKS_H
#define KOLK_SRC_FORKS_H

#include "../base/atomics.h"

/* The fork count that this process has noticed. Enough wherever kolk_forks_now_ was called before: under each lock of
 * lock.h except a brief one, and after an init. */
extern uint32_t kolk_fork_count_;
static inline uint32_t kolk_forks_(void) {
    return kolk_raw_load_(&kolk_fork_count_, KOLK_RELAXED_);
}

#define KOLK_FORKS_NOTICED_ 1u
extern uint32_t *kolk_fork_mark_; /* NULL: kolk_forks_watch_ was not called */
void kolk_forks_notice_(void);

/* The fork count, also of a child that no handler has seen. */
static inline uint32_t kolk_forks_now_(void) {
    const uint32_t *mark = kolk_raw_load_(&kolk_fork_mark_, KOLK_ACQUIRE_); /* partner: kolk_forks_watch_ */
    if (KOLK_UNLIKELY_(mark && kolk_raw_load_(mark, KOLK_ACQUIRE_) != KOLK_FORKS_NOTICED_)) kolk_forks_notice_();
    return kolk_forks_();
}

/* From now on, kolk_forks_now_ notices children that no handler has seen. Call it before anything exists that such a
 * child must not have. */
void kolk_forks_watch_(void);

/* In the handler of a signal: is this another process than the one that has the count kolk_forks_? Also true in a child
 * that shares its parent's memory. Changes nothing. kolk_forks_watch_ was called before. */
bool kolk_forks_are_others_(void);

/* From now on, `mend` is called once in each child that has a copy of the memory, when it is noticed. Call it before
 * main. */
void kolk_forks_tell_(void (*mend)(void));

#endif
