/* runs: long with: KOLK_NO_FUTEX=1 wraps: clock_gettime */
/* Runs test_wait.c without the futex: a mutex and a condition variable, as on systems other than Linux. The real-time
 * clock is an hour ahead of the system's sleep clock, as if it were set back during every sleep: no sleep takes
 * longer. */
#include "test_wait.c" /* NOLINT(bugprone-suspicious-include): the same program with a different sleep */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
    int result = __real_clock_gettime(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += 3600;
    return result;
}
