/* worker.c: see worker.h. */
#include "system.h"

#include "kolk/base.h"

#include "worker.h"

#if KOLK_HOSTED

#ifdef _WIN32
#include <windows.h>

bool kolk_worker_start_(uintptr_t *worker, KOLK_WORK_ (*work)(void *argument), void *argument) {
    *worker = (uintptr_t)CreateThread(NULL, 0, work, argument, 0, NULL);
    return *worker != 0;
}

void kolk_worker_join_(uintptr_t worker) {
    WaitForSingleObject((HANDLE)worker, INFINITE);
    CloseHandle((HANDLE)worker);
}
#else
#include "cancel.h"
#include "forks.h"
#include "signals.h"

bool kolk_worker_start_(uintptr_t *worker, KOLK_WORK_ (*work)(void *argument), void *argument) {
    pthread_t started;
    kolk_forks_watch_(); /* a child does not have this thread */
    sigset_t before = kolk_signals_off_();
    bool starts = pthread_create(&started, NULL, work, argument) == 0;
    kolk_signals_restore_(before);
    if (starts) *worker = (uintptr_t)started;
    return starts;
}

void kolk_worker_join_(uintptr_t worker) {
    int cancel = kolk_cancel_off_();
    pthread_join((pthread_t)worker, NULL);
    kolk_cancel_restore_(cancel);
}
#endif

#endif
