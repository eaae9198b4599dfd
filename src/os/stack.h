/* stack.h: the calls that a thread is in. Not in freestanding builds. */
#ifndef KOLK_SRC_STACK_H
#define KOLK_SRC_STACK_H

#include <stddef.h>

/* Writes return addresses: `site`, which must not be NULL, and those of the calls around it, the innermost first, NULL
 * behind the last. That are `most` at most, the NULL included. Where the system can't tell, or does not find the site
 * on the stack, the site is all there is. Takes no lock of kolk's. */
void kolk_stack_walk(const void *site, const void **frames, size_t most);

/* To be called before the first walk that may not allocate: glibc loads the unwinder then. */
void kolk_stack_prepare(void);

#endif
