/* cancel.h: protects calls to the system from pthread_cancel. Not in freestanding builds.
 *
 * No function of kolk is a cancellation point. Where kolk calls a system function that is one, it does so between the
 * two calls below. No user function runs between them, except failure handlers at exit. */
#ifndef KOLK_SRC_CANCEL_H
#define KOLK_SRC_CANCEL_H

/* Returns the state to pass to kolk_cancel_restore_. */
int kolk_cancel_off_(void);
void kolk_cancel_restore_(int before);

#endif
