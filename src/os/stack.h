/* stack.h: the calls that a thread is in. Not in freestanding builds. */
#ifndef KOLK_SRC_STACK_H
#define KOLK_SRC_STACK_H

#include <stdbool.h>
#include <stddef.h>

/* Writes return addresses: `site`, which must not be NULL, and those of the calls around it, the innermost first, NULL
 * behind the last. That are `most` at most, the NULL included. Where the system can't tell, or does not find the site
 * on the stack, the site is all there is. The first walk may allocate: it is to be
 * made without a lock of kolk's. */
void kolk_stack_walk(const void *site, const void **frames, size_t most);

/* For a malloc that is called before the C library is ready: from now on, or no longer, the site is all there is. */
void kolk_stack_hold(bool hold);

#endif
