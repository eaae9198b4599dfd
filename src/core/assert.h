/* assert.h: KOLK_ASSERT(condition) says what must be true as long as kolk itself has no bug: a precondition of an
 * internal function, an index before its use, an invariant that was broken for a moment. A caller's bug is no matter
 * for it: that is reported in every build (KOLK_CHECKS, kolk_fail).
 *
 * It costs nothing, and the condition is not evaluated, unless the library is compiled with -DKOLK_ASSERTIONS=1, as it
 * is in all tests and fuzzers. Then a condition that is false prints the file, the line and the condition, and
 * aborts. */
#ifndef KOLK_SRC_ASSERT_H
#define KOLK_SRC_ASSERT_H

#include "kolk/base.h"

#ifndef KOLK_ASSERTIONS
#define KOLK_ASSERTIONS 0
#endif

#if KOLK_ASSERTIONS
#define KOLK_ASSERT(condition) ((condition) ? (void)0 : kolk_assertion_failed(#condition, __FILE__, __LINE__))
#else
#define KOLK_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

/* In freestanding builds it traps: there is nothing to print with. */
_Noreturn void kolk_assertion_failed(const char *condition, const char *file, int line);

#endif
