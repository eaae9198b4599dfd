// own: src/os/sleep.c KOLK_NO_FUTEX=1
// link: -Wl,--wrap=clock_gettime
/* test_wait.c without the futex: a mutex and a condition variable, as on systems other than Linux. The clock of the day
 * is an hour ahead of the one that the system's sleepers go by, as if it was set back in every sleep: nothing takes
 * longer for that. */
#include "test_wait.c" /* NOLINT(bugprone-suspicious-include): the same program over another sleep */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
    int result = __real_clock_gettime(clock, now);
    if (clock == CLOCK_REALTIME) now->tv_sec += 3600;
    return result;
}
