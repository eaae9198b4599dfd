/* wraps: backtrace kolk_stack_text */
/* no_sites.h: leaves out two slow steps: the search for sites on the stack, which takes a third of the time of random
 * tests, and the conversion of code addresses to words, which takes a thousand times as long as everything else. The
 * tests and fuzzers that include this file check neither.
 *
 * Include plain.h first. */
#ifndef TESTS_NO_SITES_H
#define TESTS_NO_SITES_H

size_t __real_kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size);
size_t __wrap_kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size);

/* The call of __real, which is never made, keeps a program that does not name this file after `wraps:` from linking. */
size_t __wrap_kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size) {
    if (!text) return __real_kolk_stack_text(stack, depth, lines, text, size);
    snprintf(text, size, "%s", *stack ? "somewhere" : "");
    return *stack ? 1 : 0;
}

int __wrap_backtrace(void **calls, int most);

int __wrap_backtrace(void **calls, int most) {
    (void)calls, (void)most;
    return 0;
}

#endif
