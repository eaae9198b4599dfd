/* cancel.h: pthread_cancel. Not in freestanding builds.
 *
 * No call of kolk is a cancellation point. Where kolk calls the system in a way that would be one, it does so between
 * these two. No function of the user runs there, except handlers at exit. */
#ifndef KOLK_SRC_CANCEL_H
#define KOLK_SRC_CANCEL_H

/* Returns what kolk_cancel_restore needs. */
int kolk_cancel_off(void);
void kolk_cancel_restore(int before);

#endif
