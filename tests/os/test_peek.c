/* runs: sample:clang not:wine wraps: syscall */
/* Memory that may be unmapped: it is copied or reported as unreadable, by both kinds of system calls. */
#include "../help/test.h"

#include "os/memory.h"
#include "os/peek.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool only_by_pipe, without_pipe;
static unsigned pipes;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (size_t i = 0; i < LENGTH_OF(a); i++) a[i] = va_arg(arguments, long);
    va_end(arguments);
    pipes += number == SYS_pipe2;
    if ((number == SYS_process_vm_readv && only_by_pipe) || (number == SYS_pipe2 && without_pipe))
        return errno = EPERM, -1;
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static unsigned char from[3000], to[3000];

static void peek_at_all_there_is(void) {
    size_t page = kolk_memory_page_();
    for (size_t i = 0; i < sizeof from; i++) from[i] = (unsigned char)(i * 7);
    for (size_t size = 1; size <= sizeof from; size += 1 + size / 3) {
        memset(to, 0, sizeof to);
        errno = 77;
        assert_true(kolk_peek_(to, from, size));
        assert_memory_equal(to, from, size);
        assert_true(all_bytes_are(to + size, sizeof to - size, 0));
        assert_int_equal(errno, 77);
    }
    unsigned char *pages =
        (unsigned char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_true(kolk_peek_(to, pages + page - 100, 200));
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    assert_false(kolk_peek_(to, pages + page - 100, 200)); /* only a part of it can be read */
    assert_true(kolk_peek_(to, pages + page - 200, 200));
    assert_false(kolk_peek_(to, pages + page, 1));
    assert_int_equal(munmap(pages, 2 * page), 0);
    assert_false(kolk_peek_(to, pages, 8));
    assert_false(kolk_peek_(to, NULL, 8));
    assert_int_equal(errno, 77);
}

/* Words from 50 places, of which some cannot be read. */
static void peek_at_words(void) {
    enum { WORDS = 50 };
    static uintptr_t words[WORDS], seen[WORDS];
    const uintptr_t *places[WORDS];
    size_t page = kolk_memory_page_();
    unsigned char *pages =
        (unsigned char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    memset(pages, 0x11, page);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    for (unsigned lost = 1; lost < WORDS; lost += 1 + lost / 2) {
        for (unsigned n = 0; n < WORDS; n++) {
            words[n] = 1000 + n;
            places[n] = n % lost ? &words[n] : (const uintptr_t *)(void *)(pages + page - n % 2 * 8);
            seen[n] = 7;
        }
        errno = 77;
        kolk_peek_words_(seen, places, WORDS - 1);
        assert_int_equal(errno, 77);
        for (unsigned n = 0; n < WORDS - 1; n++)
            assert_int_equal(seen[n], n % lost ? 1000 + n : n % 2 ? UINTPTR_MAX / 15 : 0);
        assert_int_equal(seen[WORDS - 1], 7);
    }
    assert_int_equal(munmap(pages, 2 * page), 0);
}

static void test_by_the_system(void **state) {
    peek_at_all_there_is();
    peek_at_words();
}

/* Repeats it many times: no descriptor is left open. */
static void test_by_a_pipe(void **state) {
    only_by_pipe = true;
    pipes = 0;
    peek_at_all_there_is();
    peek_at_words();
    pipes = 0;
    for (unsigned n = 0; n < 3000; n++) assert_true(kolk_peek_(to, from, 8));
    assert_in_range(pipes, 3000, 4000);
    without_pipe = true;
    assert_false(kolk_peek_(to, from, 8)); /* nothing is known */
    only_by_pipe = without_pipe = false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_by_the_system, abort_on_failure),
        cmocka_unit_test_teardown(test_by_a_pipe, abort_on_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
