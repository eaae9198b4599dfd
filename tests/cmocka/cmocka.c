/* cmocka.c: runs a program's tests one after another, and prints what failed. */
#include "cmocka.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- The tests of a program -------------------------------------------------------------------------------------- */

static jmp_buf end_of_test;
static enum { PASSED, FAILED, SKIPPED } result;

void print_message(const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    vprintf(format, rest);
    va_end(rest);
    fflush(stdout);
}

void skip(void) {
    result = SKIPPED;
    longjmp(end_of_test, 1);
}

void kolk_test_fails(const char *file, int line, const char *format, ...) {
    va_list rest;
    fprintf(stderr, "%s:%d: ", file, line);
    va_start(rest, format);
    vfprintf(stderr, format, rest);
    va_end(rest);
    fputc('\n', stderr);
    result = FAILED;
    longjmp(end_of_test, 1);
}

void kolk_test_true(bool holds, const char *what, const char *file, int line) {
    if (!holds) kolk_test_fails(file, line, "not so: %s", what);
}

void kolk_test_equal(uint64_t a, uint64_t b, bool equal, const char *what, const char *file, int line) {
    if ((a == b) != equal)
        kolk_test_fails(file, line, "not so: %s: 0x%llx, 0x%llx", what, (unsigned long long)a, (unsigned long long)b);
}

void kolk_test_bytes(const void *a, const void *b, size_t size, bool equal, const char *what, const char *file,
                     int line) {
    if ((memcmp(a, b, size) == 0) != equal) kolk_test_fails(file, line, "not so: %s", what);
}

void kolk_test_strings(const char *a, const char *b, bool equal, const char *what, const char *file, int line) {
    if ((strcmp(a, b) == 0) != equal) kolk_test_fails(file, line, "not so: %s: \"%s\", \"%s\"", what, a, b);
}

/* ---- Running them ------------------------------------------------------------------------------------------------ */

static bool passes(CMFixtureFunction fixture, void **state) {
    return !fixture || fixture(state) == 0;
}

static void run_test(const struct CMUnitTest *test, void **state) {
    result = PASSED;
    if (!passes(test->setup_func, state))
        result = FAILED;
    else if (setjmp(end_of_test) == 0)
        test->test_func(state);
    if (setjmp(end_of_test) == 0 && !passes(test->teardown_func, state)) result = FAILED;
}

int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                            CMFixtureFunction teardown) {
    static const char *const words[] = {"OK", "FAILED", "SKIPPED"};
    void *state = NULL;
    int failed = 0;
    kolk_test_begin_program();
    print_message("%s: %u tests\n", name, (unsigned)count); /* newlib may lack %zu */
    if (!passes(setup, &state)) return 1;
    for (size_t n = 0; n < count; n++) {
        if (!kolk_test_begins(n, tests[n].name)) continue;
        void *own = tests[n].initial_state ? tests[n].initial_state : state;
        print_message("[ RUN      ] %s\n", tests[n].name);
        run_test(&tests[n], &own);
        print_message("[ %-8s ] %s\n", words[result], tests[n].name);
        failed += result == FAILED;
        kolk_test_ends();
    }
    if (!passes(teardown, &state)) failed++;
    return failed;
}
