/* fail.h: how a pool reports a bug of its caller. */
#ifndef KOLK_SRC_FAIL_H
#define KOLK_SRC_FAIL_H

#include "kolk/base.h"

#define KOLK_STACK_DEPTH 3  /* calls that a report names at each site, unless the setting says another number */
#define KOLK_STACK_MOST  16 /* ... and that the setting can say */

/* Return addresses that are needed to name `depth` calls, and a NULL. Some may be in functions of kolk's headers that
 * the compiler did not merge into their callers. */
#define KOLK_STACK_ROOM(depth) ((depth) + 4)

#define KOLK_SITE_WORDS (KOLK_HOSTED ? 512 : 1) /* bytes for the words about a site; they may be cut */

/* Puts the sentence "kolk: POOL: WHAT" together, WHAT being `format` with %s for a string and %u for a uint64_t, and
 * hands it to the handler; failure.sentence is filled here and lives for the call. */
void kolk_fail(kolk_failure failure, const char *format, ...);

/* Says what is wrong with failure.object, which the caller wants to `verb`. It points `inside` bytes behind the start
 * of failure.slot, or into no slot (UINT32_MAX); `noun` is what this kind of pool calls a slot. failure.rule is the
 * rule that a pointer to the start breaks: KOLK_NEVER_ISSUED, or the one about a free slot. Any other pointer breaks
 * another rule. */
void kolk_fail_object(kolk_failure failure, const char *verb, const char *noun, uint64_t inside);

/* Says that a handle is of another pool. */
void kolk_fail_handle(kolk_failure failure, kolk_handle handle);

#endif
