/* fail.h: how a pool reports a bug of its caller. */
#ifndef KOLK_SRC_FAIL_H
#define KOLK_SRC_FAIL_H

#include "kolk/base.h"

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
