/* begin.c: what the unit tests need on a device. Work is shortened, as with KOLK_TEST_EFFORT=quick, and pages come from
 * malloc: a device has none, so that pools whose descriptor names no memory have some here. */
#define _GNU_SOURCE /* setenv */

#include "cmocka.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

#ifdef __arm__
void _mainCRTStartup(void); /* newlib's */
static void trapped(void) {
    _Exit(99);
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {
    0x22000000,         (uintptr_t)_mainCRTStartup, (uintptr_t)trapped, (uintptr_t)trapped,
    (uintptr_t)trapped, (uintptr_t)trapped,         (uintptr_t)trapped,
};
#endif

void kolk_test_begin_program(void) {}

/* Before main, which may ask for the effort. */
__attribute__((constructor)) static void shorten(void) {
    setenv("KOLK_TEST_EFFORT", "quick", 1);
    setenv("KOLK_TEST_OPS_AT_MOST", "2000", 1);
}

/* LEFT_OUT has the names of tests, each followed by a space: tests/device/tests.sh says why. */
bool kolk_test_begins(size_t n, const char *name) {
    (void)n;
    const char *at = LEFT_OUT;
    for (size_t length = strlen(name); *at; at += strcspn(at, " ") + 1)
        if (strncmp(at, name, length) == 0 && at[length] == ' ') return false;
    return true;
}

void kolk_test_ends(void) {}

/* ---- What the C libraries lack ----------------------------------------------------------------------------------- */

unsigned alarm(unsigned seconds);
unsigned alarm(unsigned seconds) {
    return seconds;
}

long sysconf(int name);
long sysconf(int name) {
    (void)name;
    return PAGE;
}

int pipe(int ends[2]);
int pipe(int ends[2]) {
    ends[0] = ends[1] = -1;
    errno = ENOSYS;
    return -1;
}

int dup2(int from, int to);
int dup2(int from, int to) {
    (void)from, (void)to;
    errno = ENOSYS;
    return -1;
}

#ifdef __arm__ /* newlib has memalign */
int posix_memalign(void **start, size_t align, size_t size) {
    *start = memalign(align, size);
    return *start ? 0 : ENOMEM;
}
#endif

/* ---- Pages: the library's src/os/memory.c is linked with --wrap -------------------------------------------------- */

__attribute__((weak)) bool kolk_test_refuses(void); /* tests/help/system_calls.h */
void *__wrap_kolk_memory_reserve_(size_t size);
bool __wrap_kolk_memory_commit_(void *start, size_t size);
void __wrap_kolk_memory_release_(void *start, size_t size);

void *__wrap_kolk_memory_reserve_(size_t size) {
    if (kolk_test_refuses && kolk_test_refuses()) return NULL;
    size_t bytes = (size + PAGE - 1) / PAGE * PAGE;
    void *start = bytes < size ? NULL : aligned_alloc(PAGE, bytes);
    return start ? memset(start, 0, bytes) : NULL;
}

bool __wrap_kolk_memory_commit_(void *start, size_t size) {
    (void)start, (void)size;
    return !kolk_test_refuses || !kolk_test_refuses();
}

void __wrap_kolk_memory_release_(void *start, size_t size) {
    (void)size;
    free(start);
}
