/* fail.h: how a pool reports a bug of its caller. */
#ifndef KOLK_SRC_FAIL_H
#define KOLK_SRC_FAIL_H

#include "kolk/base.h"

/* Puts the sentence "kolk: POOL: WHAT" together, WHAT being `format` with %s for a string and %u for a uint64_t, and
 * hands it to the handler; failure.sentence is filled here and lives for the call. */
void kolk_fail(kolk_failure failure, const char *format, ...);

#endif
