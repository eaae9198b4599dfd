/* wraps: syscall */
/* watched_syscall.h: before each call of syscall, calls watch_syscall, which the test defines. */
#ifndef TESTS_WATCHED_SYSCALL_H
#define TESTS_WATCHED_SYSCALL_H

#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static void watch_syscall(long number, long first);

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

long __wrap_syscall(long number, ...) {
    va_list more;
    va_start(more, number);
    long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long), d = va_arg(more, long);
    long e = va_arg(more, long), f = va_arg(more, long);
    va_end(more);
    watch_syscall(number, a);
    return __real_syscall(number, a, b, c, d, e, f);
}

#endif
