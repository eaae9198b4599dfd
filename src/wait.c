/* wait.c: the clock, the lock, the environment. With memory.c and sites.c the only file that knows the operating system. */
#if defined(__linux__) || defined(__APPLE__) || defined(__unix__)
#define _GNU_SOURCE /* clock_gettime, pthread_mutex_t, secure_getenv under -std=c11 */
#endif
#include "kolk/base.h"

#include "wait.h"

#if __STDC_HOSTED__

#include <stdlib.h>

#ifdef _WIN32
#include <windows.h>

static SRWLOCK lock = SRWLOCK_INIT;

void kolk_lock(void) {
    AcquireSRWLockExclusive(&lock);
}

void kolk_unlock(void) {
    ReleaseSRWLockExclusive(&lock);
}

const char *kolk_environment(const char *name) {
    return getenv(name);
}

static int64_t now_ns(void) {
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return count.QuadPart / frequency.QuadPart * 1000000000 +
           count.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart;
}
#else
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void kolk_lock(void) {
    pthread_mutex_lock(&lock);
}

void kolk_unlock(void) {
    pthread_mutex_unlock(&lock);
}

/* Before main: there is no moment when the lock is used and a fork does not know of it. */
__attribute__((constructor)) static void let_forks_wait(void) {
    pthread_atfork(kolk_lock, kolk_unlock, kolk_unlock);
}

const char *kolk_environment(const char *name) {
#ifdef __linux__
    return secure_getenv(name);
#else
    return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
#endif

kolk_deadline kolk_deadline_after(int64_t milliseconds) {
    if (milliseconds <= 0) return KOLK_NOW;
    int64_t now = now_ns();
    if (milliseconds > (INT64_MAX - now) / 1000000) return KOLK_FOREVER;
    return (kolk_deadline){now + milliseconds * 1000000};
}

#else

typedef int kolk_wait_is_empty_here; /* a translation unit may not be */

#endif
