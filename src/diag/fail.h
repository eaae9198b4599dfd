/* fail.h: how a pool reports a bug of its caller. */
#ifndef KOLK_SRC_FAIL_H
#define KOLK_SRC_FAIL_H

#include "kolk/base.h"

#define KOLK_STACK_DEPTH_ 3  /* calls that a report names at each site, unless sites=N sets a different number */
#define KOLK_STACK_MOST_  16 /* ... and the greatest N */

/* The number of return addresses needed to name `depth` calls, plus a NULL. Some of the addresses may be in functions
 * of kolk's headers that the compiler did not merge into their callers. */
#define KOLK_STACK_ROOM_(depth) ((depth) + 4)

#define KOLK_SITE_WORDS_ (KOLK_HOSTED ? 512 : 1) /* bytes for the text of a site, which may be cut */

/* Builds the sentence "kolk: POOL: WHAT" and calls the handler with it. WHAT is `format`, with %s for a string and %u
 * for a uint64_t. failure.sentence is set here and is valid during that call. */
void kolk_fail_(kolk_failure failure, const char *format, ...);

/* Reports why the caller cannot `verb` failure.object. It points `inside` bytes behind the start of failure.slot, or
 * into no slot if failure.slot is UINT32_MAX; `noun` is this kind of pool's word for a slot. failure.rule is the rule
 * that is broken if the pointer is the slot's start: KOLK_NEVER_ISSUED, or the rule about a free slot. For any other
 * pointer, this function sets the rule. */
void kolk_fail_object_(kolk_failure failure, const char *verb, const char *noun, uint64_t inside);

/* Reports that a handle belongs to another pool. */
void kolk_fail_handle_(kolk_failure failure, kolk_handle handle);

#endif
