/* clock.c: see clock.h. Scheduled tests have their own clock, in tests/help/schedule.h. */
#include "system.h"

#include "kolk/base.h"

#include "clock.h"

#if KOLK_HOSTED

#ifdef _WIN32
#include <windows.h>
#else
#include <time.h>
#endif

kolk_deadline kolk_deadline_after(int64_t milliseconds) {
    if (milliseconds <= 0) return KOLK_NOW;
    int64_t now = kolk_now_ns_();
    if (milliseconds > (INT64_MAX - now) / 1000000) return KOLK_FOREVER;
    return (kolk_deadline){now + milliseconds * 1000000};
}

#ifdef _WIN32
#define MS_BEFORE_1970 INT64_C(11644473600000) /* since 1601 */

int64_t kolk_unix_ms_(void) {
    FILETIME now; /* in units of 100 ns */
    GetSystemTimeAsFileTime(&now);
    return (int64_t)(((uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime) / 10000) - MS_BEFORE_1970;
}
#else
int64_t kolk_unix_ms_(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
#endif

#ifdef KOLK_SCHEDULED
#elif defined(_WIN32)
int64_t kolk_now_ns_(void) {
    LARGE_INTEGER count, frequency;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&frequency);
    return count.QuadPart / frequency.QuadPart * 1000000000 +
           count.QuadPart % frequency.QuadPart * 1000000000 / frequency.QuadPart;
}
#else
int64_t kolk_now_ns_(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
#endif

#endif
