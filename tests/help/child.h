/* child.h: runs a function in a child process and keeps what it prints to stderr; children that end with the test.
 * Include test.h first. */
#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include "test.h"

#include <signal.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

/* A fork whose child is killed when the thread that forked ends. Else a child that waits for ever, as for more work of
 * a test that has crashed, would keep the test's output open, and whoever reads it waiting. An exec keeps this. Linux
 * only. */
static inline pid_t fork_dependent(void) {
#ifdef __linux__
    pid_t parent = getpid(), child = fork();
    if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)) _exit(1);
    return child;
#else
    return fork();
#endif
}

/* Waits until a child ends, which must exit with 0. */
static inline void await_child(pid_t child) {
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Runs `body` in a child, copies its stderr to `text`, and returns its wait status. */
#ifndef _WIN32 /* it has run_child of tests/windows/child.c */
static inline int run_child(void (*body)(void *context), void *context, char *text, size_t size) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork_dependent();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        signal(SIGABRT, SIG_DFL); /* removes cmocka's handlers, which would continue with the next test */
        signal(SIGSEGV, SIG_DFL);
        body(context);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    ssize_t got;
    while (length + 1 < size && (got = read(ends[0], text + length, size - 1 - length)) > 0) length += (size_t)got;
    text[length] = 0;
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}
#endif

static inline void call_body(void *body) {
    (*(void (**)(void))body)();
}

static inline int run_apart(void (*body)(void), char *text, size_t size) {
    return run_child(call_body, (void *)&body, text, size);
}

#endif
