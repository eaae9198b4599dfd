/* assert.h: KOLK_ASSERT_(condition) asserts a condition that is true unless kolk itself has a bug: a precondition of an
 * internal function, an index before its use, or an invariant that was broken for a moment and must hold again. It is
 * not for bugs of the caller, which every build reports (kolk_fail_).
 *
 * All tests and fuzzers compile the library with -DKOLK_ASSERTIONS=1. Then a false condition prints the file, the line
 * and the condition, and aborts. Otherwise the condition is not evaluated and costs nothing. */
#ifndef KOLK_SRC_ASSERT_H
#define KOLK_SRC_ASSERT_H

#include "kolk/base.h"

#ifndef KOLK_ASSERTIONS
#define KOLK_ASSERTIONS 0
#endif

#if KOLK_ASSERTIONS
#define KOLK_ASSERT_(condition) ((condition) ? (void)0 : kolk_assertion_failed_(#condition, __FILE__, __LINE__))
#else
#define KOLK_ASSERT_(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

/* Freestanding builds trap, because they cannot print. */
_Noreturn void kolk_assertion_failed_(const char *condition, const char *file, int line);

#endif
