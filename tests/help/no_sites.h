// link: -Wl,--wrap=kolk_stack_text
/* no_sites.h: addresses of code are not put into words. That takes a thousand times as long as all else in random tests
 * and fuzzers, and is not what they try.
 *
 * Include plain.h first. */
#ifndef TESTS_NO_SITES_H
#define TESTS_NO_SITES_H

size_t __wrap_kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size);

size_t __wrap_kolk_stack_text(const void *const *stack, uint32_t depth, bool lines, char *text, size_t size) {
    (void)depth, (void)lines;
    snprintf(text, size, "%s", *stack ? "somewhere" : "");
    return *stack ? 1 : 0;
}

#endif
