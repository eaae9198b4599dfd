/* worker.h: a thread of kolk's own. Not in freestanding builds. */
#ifndef KOLK_SRC_WORKER_H
#define KOLK_SRC_WORKER_H

#include <stdbool.h>
#include <stdint.h>

/* The return type of a worker's function: KOLK_WORK_ name(void *argument) { ... return 0; } */
#ifdef _WIN32
#define KOLK_WORK_ unsigned long __stdcall
#else
#define KOLK_WORK_ void *
#endif

/* Starts a thread, in which all signals are blocked. Returns false if the system cannot. */
bool kolk_worker_start_(uintptr_t *worker, KOLK_WORK_ (*work)(void *argument), void *argument);

/* Waits until the worker ends. Call it exactly once for each worker. It is not a cancellation point. */
void kolk_worker_join_(uintptr_t worker);

#endif
