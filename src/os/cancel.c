/* cancel.c: see cancel.h. Windows and Android have no cancellation. */
#include "system.h"

#include "kolk/base.h"

#include "cancel.h"

#if KOLK_HOSTED

#ifndef _WIN32
#include <pthread.h>
#endif

#ifdef PTHREAD_CANCEL_DISABLE
int kolk_cancel_off_(void) {
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

void kolk_cancel_restore_(int before) {
    int off;
    pthread_setcancelstate(before, &off);
}
#else
int kolk_cancel_off_(void) {
    return 0;
}

void kolk_cancel_restore_(int before) {
    (void)before;
}
#endif

#endif
