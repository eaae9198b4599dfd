/* tools.c: see tools.h. */
#include "tools.h"

#include "probes.h"
#include "watch.h"

#ifdef __has_include
#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#define HAS_VALGRIND 1
#endif
#endif
#ifndef HAS_VALGRIND
#define HAS_VALGRIND                             0
#define VALGRIND_MAKE_MEM_DEFINED(bytes, size)   0
#define VALGRIND_MAKE_MEM_NOACCESS(bytes, size)  0
#define VALGRIND_MAKE_MEM_UNDEFINED(bytes, size) 0
#endif

#if KOLK_TOOLS_

/* Functions of the sanitizers' public interface (sanitizer/asan_interface.h, lsan_interface.h, msan_interface.h), which
 * gcc and clang share. Each is NULL in a program without that sanitizer. */
#define WEAK __attribute__((weak))
extern WEAK void __asan_poison_memory_region(void const volatile *start, size_t size);
extern WEAK void __asan_unpoison_memory_region(void const volatile *start, size_t size);
extern WEAK void __lsan_do_leak_check(void);
extern WEAK void __lsan_register_root_region(const void *start, size_t size);
extern WEAK void __lsan_unregister_root_region(const void *start, size_t size);
extern WEAK void __msan_poison(const volatile void *start, size_t size);
extern WEAK void __msan_unpoison(const volatile void *start, size_t size);
extern WEAK void __msan_scoped_disable_interceptor_checks(void);
extern WEAK void __msan_scoped_enable_interceptor_checks(void);

static bool runs_under_memcheck(void) {
    char byte = 0;
    (void)byte;                                      /* where memcheck does not run, the macro is 0 */
    return VALGRIND_MAKE_MEM_DEFINED(&byte, 1) != 0; /* Valgrind's other tools return 0 */
}

bool kolk_tools_watch_malloc_(void) {
    return __asan_poison_memory_region || __lsan_do_leak_check || __msan_unpoison || runs_under_memcheck();
}

void kolk_tools_wrote_(const void *bytes, size_t size) {
    if (__msan_unpoison) __msan_unpoison(bytes, size);
}

void kolk_tools_copied_(const void *bytes, size_t size) {
    kolk_tools_wrote_(bytes, size);
    (void)VALGRIND_MAKE_MEM_DEFINED(bytes, size);
}

void kolk_tools_hide_(const void *bytes, size_t size) {
    if (__asan_poison_memory_region) __asan_poison_memory_region(bytes, size);
    if (__msan_poison) __msan_poison(bytes, size);
    (void)VALGRIND_MAKE_MEM_NOACCESS(bytes, size);
}

void kolk_tools_show_(const void *bytes, size_t size) {
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(bytes, size);
    if (__msan_poison) __msan_poison(bytes, size);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(bytes, size);
}

void kolk_tools_begin_libc_(void) {
    if (__msan_scoped_disable_interceptor_checks) __msan_scoped_disable_interceptor_checks();
}

void kolk_tools_end_libc_(void) {
    if (__msan_scoped_enable_interceptor_checks) __msan_scoped_enable_interceptor_checks();
}

void kolk_tools_add_root_(const void *start, size_t size) {
    if (__lsan_register_root_region) __lsan_register_root_region(start, size);
}

void kolk_tools_remove_root_(const void *start, size_t size) {
    if (__lsan_unregister_root_region) __lsan_unregister_root_region(start, size);
}

#endif

uint32_t kolk_features(void) {
    uint32_t features = 0;
#ifdef DTRACE_PROBE
    features |= KOLK_HAS_PROBES;
#endif
#if HAS_VALGRIND
    features |= KOLK_HAS_VALGRIND;
#endif
#if KOLK_HOSTED
    features |= KOLK_HAS_PAGES;
#endif
    if (kolk_watch_) features |= KOLK_HAS_DIAGNOSTICS;
    return features;
}
