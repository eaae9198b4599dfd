/* key.c: see key.h. */
#include "system.h"

#include "kolk/base.h"

#include "key.h"

#if KOLK_HOSTED

#ifdef _WIN32
#include <string.h>
#include <windows.h>

/* Windows declares this function in no header that mingw-w64 has. */
bool kolk_key_ends_late_(void) {
    BOOLEAN(WINAPI * shuts_down)(void);
    FARPROC found = GetProcAddress(GetModuleHandleA("ntdll.dll"), "RtlDllShutdownInProgress");
    memcpy(&shuts_down, &found, sizeof found);
    return found && shuts_down();
}

bool kolk_key_make_(uintptr_t *key, void(KOLK_AT_THREADS_END_ *end)(void *value)) {
    *key = FlsAlloc(end);
    return *key != FLS_OUT_OF_INDEXES;
}

void kolk_key_drop_(uintptr_t key) {
    FlsFree((DWORD)key);
}

void *kolk_key_get_(uintptr_t key) {
    return FlsGetValue((DWORD)key);
}

bool kolk_key_set_(uintptr_t key, void *value) {
    return FlsSetValue((DWORD)key, value);
}
#else
#include <pthread.h>

bool kolk_key_make_(uintptr_t *key, void (*end)(void *value)) {
    pthread_key_t made;
    if (pthread_key_create(&made, end) != 0) return false;
    *key = (uintptr_t)made;
    return true;
}

void kolk_key_drop_(uintptr_t key) {
    pthread_key_delete((pthread_key_t)key);
}

void *kolk_key_get_(uintptr_t key) {
    return pthread_getspecific((pthread_key_t)key);
}

bool kolk_key_set_(uintptr_t key, void *value) {
    return pthread_setspecific((pthread_key_t)key, value) == 0;
}
#endif

#endif
