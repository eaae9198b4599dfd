/* cmocka.h: the part of cmocka that our tests use, for systems without cmocka: Windows (mingw-w64) and devices. */
#ifndef TESTS_CMOCKA_H
#define TESTS_CMOCKA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*CMUnitTestFunction)(void **state);
typedef int (*CMFixtureFunction)(void **state);

struct CMUnitTest {
    const char *name;
    CMUnitTestFunction test_func;
    CMFixtureFunction setup_func;
    CMFixtureFunction teardown_func;
    void *initial_state;
};

#define cmocka_unit_test_setup_teardown(test, setup, teardown)                                                         \
    { #test, test, setup, teardown, NULL }
#define cmocka_unit_test_setup(test, setup)       cmocka_unit_test_setup_teardown(test, setup, NULL)
#define cmocka_unit_test_teardown(test, teardown) cmocka_unit_test_setup_teardown(test, NULL, teardown)
#define cmocka_unit_test(test)                    cmocka_unit_test_setup_teardown(test, NULL, NULL)

/* Returns the number of tests that failed. */
int _cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                            CMFixtureFunction teardown);
#define cmocka_run_group_tests(tests, setup, teardown) cmocka_run_group_tests_name(#tests, tests, setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                                      \
    _cmocka_run_group_tests(name, tests, sizeof(tests) / sizeof *(tests), setup, teardown)

__attribute__((format(gnu_printf, 1, 2))) void print_message(const char *format, ...);
__attribute__((noreturn)) void skip(void);
__attribute__((noreturn, format(gnu_printf, 3, 4))) void kolk_test_fails(const char *file, int line, const char *format,
                                                                         ...);

#define fail_msg(...) kolk_test_fails(__FILE__, __LINE__, __VA_ARGS__)
#define fail()        fail_msg("fail")

/* What a system adds, in tests/windows/child.c and tests/device/begin.c: what runs before the first test, decides
 * whether the n-th test runs here, and runs after each test. */
void kolk_test_begin_program(void);
bool kolk_test_begins(size_t n, const char *name);
void kolk_test_ends(void);

/* As in cmocka, the arguments are converted without a warning: tests compare numbers of all types. */
void kolk_test_true(bool holds, const char *what, const char *file, int line);
void kolk_test_equal(uint64_t a, uint64_t b, bool equal, const char *what, const char *file, int line);
void kolk_test_bytes(const void *a, const void *b, size_t size, bool equal, const char *what, const char *file,
                     int line);
void kolk_test_strings(const char *a, const char *b, bool equal, const char *what, const char *file, int line);

#define KOLK_HERE(what)                  what, __FILE__, __LINE__
#define assert_true(what)                kolk_test_true(!!(uint64_t)(uintptr_t)((what)), KOLK_HERE(#what))
#define assert_false(what)               kolk_test_true(!(uint64_t)(uintptr_t)((what)), KOLK_HERE("not " #what))
#define assert_null(what)                assert_false(what)
#define assert_non_null(what)            assert_true(what)
#define assert_int_equal(a, b)           kolk_test_equal((uint64_t)(a), (uint64_t)(b), true, KOLK_HERE(#a " == " #b))
#define assert_int_not_equal(a, b)       kolk_test_equal((uint64_t)(a), (uint64_t)(b), false, KOLK_HERE(#a " != " #b))
#define assert_ptr_equal(a, b)           assert_int_equal((uintptr_t)(a), (uintptr_t)(b))
#define assert_ptr_not_equal(a, b)       assert_int_not_equal((uintptr_t)(a), (uintptr_t)(b))
#define assert_string_equal(a, b)        kolk_test_strings(a, b, true, KOLK_HERE(#a " == " #b))
#define assert_string_not_equal(a, b)    kolk_test_strings(a, b, false, KOLK_HERE(#a " != " #b))
#define assert_memory_equal(a, b, n)     kolk_test_bytes(a, b, n, true, KOLK_HERE(#a " == " #b))
#define assert_memory_not_equal(a, b, n) kolk_test_bytes(a, b, n, false, KOLK_HERE(#a " != " #b))
#define assert_in_range(a, low, high)                                                                                  \
    do {                                                                                                               \
        uint64_t in_range_ = (uint64_t)(a);                                                                            \
        if (in_range_ < (uint64_t)(low) || in_range_ > (uint64_t)(high))                                               \
            fail_msg("%s is %llu", #a " in " #low " to " #high, (unsigned long long)in_range_);                        \
    } while (0)

#endif
