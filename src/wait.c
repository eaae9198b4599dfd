/* wait.c: the clock. With memory.c the only file that knows the operating system. */
#if defined(__linux__) || defined(__unix__)
#define _GNU_SOURCE /* clock_gettime under -std=c11 */
#endif
#include "kolk/base.h"

#if __STDC_HOSTED__

#ifdef _WIN32
#include <windows.h>

static int64_t now_ns(void) {
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return count.QuadPart / frequency.QuadPart * 1000000000 +
           count.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart;
}
#else
#include <time.h>

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
