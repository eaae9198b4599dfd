/* stack.h: the calls that are active in a thread. Not in freestanding builds. */
#ifndef KOLK_SRC_STACK_H
#define KOLK_SRC_STACK_H

#include <stdbool.h>
#include <stddef.h>

/* Writes return addresses: first `site`, which must not be NULL, then those of its callers, the innermost first, then
 * NULL. It writes no more than `most` entries, including the NULL. If the stack cannot be walked or does not contain
 * the site, or if the site is in no file, it writes the site alone. The first walk may allocate, so the caller must
 * hold none of kolk's locks. */
void kolk_stack_walk_(const void *site, const void **frames, size_t most);

/* While `hold` is set, kolk_stack_walk_ writes the site alone. This is for a malloc that is called before the C library
 * is ready. */
void kolk_stack_hold_(bool hold);

#endif
