/* child.h: what tests/cmocka/cmocka.c calls of child.c. */
#ifndef TESTS_WINDOWS_CHILD_H
#define TESTS_WINDOWS_CHILD_H

#include <stdbool.h>
#include <stddef.h>

void begin_program(void);

/* Is the n-th test to be run? A child runs only one. */
bool begin_test(size_t n);
void end_test(void);

#endif
