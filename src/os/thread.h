/* thread.h: a thread's number and name, and whether it still runs. Not in freestanding builds. */
#ifndef KOLK_SRC_THREAD_H
#define KOLK_SRC_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread's number. No other living thread has it. A thread keeps its number through a fork. 0 means
 * unknown. */
uint32_t kolk_thread_(void);

/* Has that thread ended, or does it exist only in a fork's parent? Returns false if that is unknown, if another thread
 * now has the number, or while the system still lists the thread. The system lists a thread for a moment after its end,
 * and the process's first thread until the process ends. */
bool kolk_thread_is_gone_(uint32_t thread);

/* The same, but if there is a /proc, also returns true for an ended thread that the system still lists. Takes a few
 * microseconds more. */
bool kolk_thread_has_ended_(uint32_t thread);

/* Copies the system's name of a thread of this process, cut to size; "" if the thread is gone. Slow. */
void kolk_thread_name_(uint32_t thread, char *name, size_t size);

/* Returns the name that the calling thread had when it first called this function. Only that call is slow. */
#define KOLK_THREAD_NAME_ 16 /* bytes, including the 0 */
const char *kolk_thread_own_name_(void);

/* The processor that runs the calling thread; a moment later another one may. Where the system does not tell, all
 * processors have the same number. Takes a few nanoseconds. */
uint32_t kolk_processor_(void);

/* The system's number of a thread, which may have ended. 0 means unknown. */
uint32_t kolk_thread_system_number_(uint32_t thread);

#endif
