/* signals.h: blocks all signals of a thread temporarily. Not in freestanding builds, and not on Windows, which has no
 * signals. */
#ifndef KOLK_SRC_SIGNALS_H
#define KOLK_SRC_SIGNALS_H

#include <pthread.h>
#include <signal.h>

/* Returns the mask to pass to kolk_signals_restore_. A thread that is started in between has all signals blocked,
 * too. */
static inline sigset_t kolk_signals_off_(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    return before;
}

static inline void kolk_signals_restore_(sigset_t before) {
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#endif
