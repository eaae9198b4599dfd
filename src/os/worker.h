/* worker.h: a thread of kolk's own. Not in freestanding builds. */
#ifndef KOLK_SRC_WORKER_H
#define KOLK_SRC_WORKER_H

#include <stdbool.h>
#include <stdint.h>

/* What a function that a worker runs returns: KOLK_WORK name(void *argument) { ... return 0; } */
#ifdef _WIN32
#define KOLK_WORK unsigned long __stdcall
#else
#define KOLK_WORK void *
#endif

/* Starts a thread, in which all signals are blocked. False: the system gives none. */
bool kolk_worker_start(uintptr_t *worker, KOLK_WORK (*work)(void *argument), void *argument);

/* Waits for its end. Once. No cancellation point. */
void kolk_worker_join(uintptr_t worker);

#endif
