/* cancel.h: protects calls of the system from pthread_cancel. Not in freestanding builds.
 *
 * No call of kolk is a cancellation point. Where kolk calls a function of the system that is one, it does so between
 * these two calls. No function of the user runs there, except handlers at exit. */
#ifndef KOLK_SRC_CANCEL_H
#define KOLK_SRC_CANCEL_H

/* Returns the state that kolk_cancel_restore_ takes. */
int kolk_cancel_off_(void);
void kolk_cancel_restore_(int before);

#endif
