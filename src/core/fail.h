/* fail.h: how a pool reports a bug of its caller. */
#ifndef KOLK_SRC_FAIL_H
#define KOLK_SRC_FAIL_H

#include "kolk/base.h"

/* Puts the sentence "kolk: POOL: WHAT" together, WHAT being `format` with %s for a string and %u for a uint64_t, and
 * hands it to the handler; failure.sentence is filled here and lives for the call. */
void kolk_fail(kolk_failure failure, const char *format, ...);

/* Says what is wrong with failure.object, of which the caller wants the `verb`. It is in failure.slot, this many bytes
 * behind its start, or in none (UINT32_MAX) and foreign. failure.rule is the one that a slot's start breaks:
 * KOLK_NEVER_ISSUED, or what a free slot's does; a pointer that is no slot's start breaks another. */
void kolk_fail_object(kolk_failure failure, const char *verb, uint64_t inside);

#endif
