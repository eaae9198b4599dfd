/* child.c: run_child on Windows, which has no fork: the child is the same program, started anew. It runs the parent's
 * test up to the same call of run_child, and there runs the body. Calls before that one return what they returned in
 * the parent. */
#include "cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#include "posix.h"

static struct {
    size_t test;    /* the test that is running */
    unsigned calls; /* of run_child in this test */
    bool is_child;
    size_t in_test;   /* the child's body is run in this test ... */
    unsigned at_call; /* ... by this call */
    int stderr_then;  /* of a child: its stderr, which is closed until the body runs */
    int results;      /* of a parent: the file of all results of this test, which is the child's stdin */
} child = {.results = -1};

#define VARIABLE "KOLK_TEST_CHILD"

/* Ends the program, because a child cannot be run. */
static void give_up(const char *call) {
    fprintf(stderr, "no child: %s: %s (error %lu)\n", call, strerror(errno), GetLastError());
    abort();
}

/* In a child, nothing is printed before the body runs. */
void kolk_test_begin_program(void) {
    end_at_crashes();
    const char *text = getenv(VARIABLE);
    if (!text || !*text) return;
    char *rest;
    child.is_child = true;
    child.in_test = strtoul(text, &rest, 10);
    child.at_call = (unsigned)strtoul(rest, NULL, 10);
    child.stderr_then = dup(2);
    int nothing = open("NUL", O_WRONLY);
    dup2(nothing, 1);
    dup2(nothing, 2);
    setmode(0, O_BINARY);
    unsetenv(VARIABLE);
}

static void end_child(void (*body)(void *context), void *context) {
    fflush(NULL);
    dup2(child.stderr_then, 2);
    body(context);
    _exit(0);
}

static void read_result(int *status, char *text, size_t size) {
    size_t length = 0;
    if (read(0, status, sizeof *status) != sizeof *status || read(0, &length, sizeof length) != sizeof length) abort();
    if (length >= size || read(0, text, (unsigned)length) != (int)length) abort();
    text[length] = 0;
}

static void write_result(int status, const char *text) {
    size_t length = strlen(text);
    lseek(child.results, 0, SEEK_END);
    write(child.results, &status, sizeof status);
    write(child.results, &length, sizeof length);
    write(child.results, text, (unsigned)length);
}

static int moved_to(int number, int other) {
    int before = dup(number);
    dup2(other, number);
    return before;
}

static void restore(int number, int before) {
    dup2(before, number);
    close(before);
}

/* Starts the program with its stderr in a pipe, and returns the end to read from. */
static int start(intptr_t *process) {
    int ends[2];
    char place[40];
    if (_pipe(ends, 65536, O_BINARY | O_NOINHERIT) != 0) give_up("_pipe");
    snprintf(place, sizeof place, "%zu %u", child.test, child.calls);
    setenv(VARIABLE, place, 1);
    lseek(child.results, 0, SEEK_SET);
    fflush(NULL);
    int in = moved_to(0, child.results), err = moved_to(2, ends[1]);
    *process = _spawnl(_P_NOWAIT, _pgmptr, _pgmptr, NULL);
    restore(0, in);
    restore(2, err);
    close(ends[1]);
    unsetenv(VARIABLE);
    if (*process == -1) give_up("_spawnl");
    return ends[0];
}

int run_child(void (*body)(void *context), void *context, char *text, size_t size) {
    int status = 0;
    child.calls++;
    if (child.is_child && child.calls == child.at_call) end_child(body, context);
    if (child.is_child) {
        read_result(&status, text, size);
        return status;
    }
    if (child.results < 0) child.results = open(tempnam(NULL, "kolk"), O_RDWR | O_CREAT | O_BINARY | O_TEMPORARY, 0600);
    intptr_t process;
    int from = start(&process), got;
    size_t length = 0;
    while (length + 1 < size && (got = read(from, text + length, (unsigned)(size - 1 - length))) > 0)
        length += (size_t)got;
    text[length] = 0;
    close(from);
    _cwait(&status, process, 0);
    status = status & KOLK_SIGNAL ? status & 0x7f : status << 8;
    write_result(status, text);
    return status;
}

bool kolk_test_begins(size_t n, const char *name) {
    (void)name;
    child.test = n;
    child.calls = 0;
    return !child.is_child || n == child.in_test;
}

void kolk_test_ends(void) {
    if (child.results >= 0) close(child.results);
    child.results = -1;
}
