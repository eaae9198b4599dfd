/* code_limits.h: for the tests of the debug setting `sites`: functions whose first and last address are known, so that
 * a test can check in which of them a return address lies; and the words for a site in a report. Include it first. */
#ifndef TESTS_CODE_LIMITS_H
#define TESTS_CODE_LIMITS_H

#include "debug_test.h"

/* APART(name) puts a function into a section of its own. LIMITS(name) names the section's limits, which the linker
 * defines. AND_ON after a call keeps the compiler from turning the call into a jump, which would return elsewhere. */
#define APART(name) __attribute__((noinline, section(#name "_code")))
#define AND_ON()    __asm__ volatile("")

typedef struct limits {
    const char *start, *stop;
} limits;

#define LIMITS(name)                                                                                                   \
    extern const char __start_##name##_code[], __stop_##name##_code[];                                                 \
    static const limits in_##name = {__start_##name##_code, __stop_##name##_code};

/* Define such functions and their limits. ALLOCATES returns the result of `call`; in GIVES_BACK, `call` uses the
 * argument `object`. */
#define ALLOCATES(name, call)                                                                                          \
    LIMITS(name)                                                                                                       \
    APART(name) static void *name(void) {                                                                              \
        void *object = call;                                                                                           \
        AND_ON();                                                                                                      \
        return object;                                                                                                 \
    }
#define GIVES_BACK(name, call)                                                                                         \
    LIMITS(name)                                                                                                       \
    APART(name) static void name(void *object) {                                                                       \
        call;                                                                                                          \
        AND_ON();                                                                                                      \
    }

static inline bool is_within(const void *site, const limits *in) {
    return (uintptr_t)site > (uintptr_t)in->start && (uintptr_t)site <= (uintptr_t)in->stop;
}

/* Appends the words for the site, as they are in a sentence. */
static inline void put_site(char *sentence, size_t size, const char *before, const void *site, const void *const *stack,
                            uint32_t depth) {
    char words[512];
    const void *const alone[] = {site, NULL};
    size_t length = strlen(sentence);
    if (!site) return;
    if (stack && *stack) assert_ptr_equal(*stack, site);
    kolk_stack_text(stack && *stack ? stack : alone, depth, true, words, sizeof words);
    if (!*words) return;
    snprintf(sentence + length, size - length, "%s%s", before, words);
}

static inline void assert_sentence(const report *now, const char *by, const char *without_sites) {
    char expected[2100];
    const kolk_failure *failure = &now->failure;
    snprintf(expected, sizeof expected, "%s", without_sites);
    put_site(expected, sizeof expected, by, failure->site, now->stack, failure->depth);
    put_site(expected, sizeof expected, "; allocated by ", failure->alloc_site, failure->alloc_stack, failure->depth);
    put_site(expected, sizeof expected, failure->alloc_site ? ", freed by " : "; freed by ", failure->free_site,
             failure->free_stack, failure->depth);
    assert_string_equal(now->sentence, expected);
    assert_true(now->failure.sites);
}

#endif
