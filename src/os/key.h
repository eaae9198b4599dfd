/* key.h: thread-local values with a destructor. Not in freestanding builds. */
#ifndef KOLK_SRC_KEY_H
#define KOLK_SRC_KEY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef _WIN32
#define KOLK_AT_THREADS_END_ __stdcall
#else
#define KOLK_AT_THREADS_END_
#endif

/* Makes a key. Each thread has its own value for it, which is NULL at first. When a thread ends, `end` is called with
 * the thread's value, unless that is NULL. Returns false if the system has no more keys. */
bool kolk_key_make_(uintptr_t *key, void(KOLK_AT_THREADS_END_ *end)(void *value));
void kolk_key_drop_(uintptr_t key);

/* Must an `end` return at once? On Windows the end of the process calls it too, in the thread that called exit. The
 * system has stopped all other threads by then, so the locks that they held stay taken. */
#ifdef _WIN32
bool kolk_key_ends_late_(void);
#else
static inline bool kolk_key_ends_late_(void) {
    return false;
}
#endif

/* The calling thread's value. */
void *kolk_key_get_(uintptr_t key);
bool kolk_key_set_(uintptr_t key, void *value);

#endif
