/* posix.h: the functions of POSIX that our tests use and that mingw-w64 lacks. */
#ifndef TESTS_WINDOWS_POSIX_H
#define TESTS_WINDOWS_POSIX_H

#include <malloc.h>
#include <process.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>

#define SIGUSR1      10
#define SIGALRM      14
#define KOLK_SIGNAL  0x40000000 /* in the exit code of a program that a signal ended: the rest is the signal's number */
#define _SC_PAGESIZE 1

#define aligned_alloc(align, size) _aligned_malloc(size, align)
#define aligned_free               _aligned_free

#define sigjmp_buf          jmp_buf /* of signals, there are only those that abort and raise call */
#define sigsetjmp(to, mask) setjmp(to)
#define siglongjmp          longjmp

struct sigaction {
    void (*sa_handler)(int signal);
};
int sigaction(int signal_number, const struct sigaction *now, struct sigaction *before);

/* These fail: tests that need them call skip_on_windows. */
pid_t fork(void);
pid_t vfork(void);
pid_t waitpid(pid_t child, int *status, int options);
int unshare(int what);
#define CLONE_NEWPID 0

/* Runs `body` in a child, copies its stderr to `text`, and returns its wait status: see child.c. */
int run_child(void (*body)(void *context), void *context, char *text, size_t size);

int setenv(const char *name, const char *value, int replaces);
int unsetenv(const char *name);
long sysconf(int name);
unsigned alarm(unsigned seconds);

/* From now on, runs the process's threads on only one processor, or on all again. */
bool use_one_core(bool only_one);

/* Makes a program that crashes or aborts end at once, with KOLK_SIGNAL in its exit code: without a dialog, and without
 * a debugger. */
void end_at_crashes(void);

#endif
