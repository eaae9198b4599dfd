/* key.c: see key.h. */
#include "system.h"

#include "kolk/base.h"

#include "key.h"

#if KOLK_HOSTED

#ifdef _WIN32
#include "../base/atomics.h"

#include <string.h>
#include <windows.h>

static uintptr_t shuts_down; /* RtlDllShutdownInProgress, which no header of mingw-w64 declares; 0: it is not there */

/* It is found before there is a key. The function for a thread's end must not look for it: that takes the lock of the
 * loader, and may be called under the lock of all keys, while another thread that ends has the two the other way
 * round. */
static void find_shuts_down(void) {
    FARPROC found = GetProcAddress(GetModuleHandleA("ntdll.dll"), "RtlDllShutdownInProgress");
    uintptr_t address = 0;
    memcpy(&address, &found, sizeof found);
    kolk_store_(&shuts_down, address, KOLK_RELEASE_);
}

bool kolk_key_ends_late_(void) {
    uintptr_t address = kolk_load_(&shuts_down, KOLK_ACQUIRE_);
    BOOLEAN(WINAPI * function)(void);
    memcpy(&function, &address, sizeof function);
    return address && function();
}

bool kolk_key_make_(uintptr_t *key, void(KOLK_AT_THREADS_END_ *end)(void *value)) {
    find_shuts_down();
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
