/* thread.h: who a thread is, and whether it still runs. Not in freestanding builds. */
#ifndef KOLK_SRC_THREAD_H
#define KOLK_SRC_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The calling thread's number. No other living thread has it. A thread keeps its number through a fork. 0: unknown. */
uint32_t kolk_thread(void);

/* Has that thread ended, or stayed behind in a fork's parent? False where that is not known, if another thread has got
 * the number, and for as long as the system still has something of the thread: for a moment after its end, and for the
 * process's first thread until the process ends. */
bool kolk_thread_is_gone(uint32_t thread);

/* The same, but also true of what the system still has of an ended thread, if there is a /proc. Takes some microseconds
 * more. */
bool kolk_thread_has_ended(uint32_t thread);

/* The name that the system has for a thread of this process, cut to size; "" where it has none any more. Slow. */
void kolk_thread_name(uint32_t thread, char *name, size_t size);

/* The calling thread's, as it was when it asked first. Only the first time is slow. */
#define KOLK_THREAD_NAME 16 /* bytes, with the 0 */
const char *kolk_thread_own_name(void);

/* What the system calls a thread, also one that has ended. 0: unknown. */
uint32_t kolk_thread_system_number(uint32_t thread);

#endif
