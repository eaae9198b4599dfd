/* key.h: thread-local values with a destructor. Not in freestanding builds. */
#ifndef KOLK_SRC_KEY_H
#define KOLK_SRC_KEY_H

#include <stdbool.h>
#include <stdint.h>

#ifdef _WIN32
#define KOLK_AT_THREADS_END __stdcall
#else
#define KOLK_AT_THREADS_END
#endif

/* Makes a key, for which each thread has its own value, NULL at first. When a thread ends, `end` is called with its
 * value unless that is NULL. Returns false if the system has no more keys. */
bool kolk_key_make(uintptr_t *key, void(KOLK_AT_THREADS_END *end)(void *value));
void kolk_key_drop(uintptr_t key);

/* The calling thread's value. */
void *kolk_key_get(uintptr_t key);
bool kolk_key_set(uintptr_t key, void *value);

#endif
