// link: -Wl,--wrap=kolk_now_ns,--wrap=kolk_wait
/* resource_clock.h: a clock that goes only when the test says so, or a function of the factory takes its time; and
 * sleep that takes none: the one thread of such a test finds in `meanwhile` what others do while it sleeps. */
#ifndef TESTS_RESOURCE_CLOCK_H
#define TESTS_RESOURCE_CLOCK_H

#include "resource_test.h"

#include "os/clock.h"
#include "os/sleep.h"

/* What happens while the thread sleeps until the deadline. True: it is woken, for whatever reason. NULL: nothing. */
static bool (*meanwhile)(kolk_deadline deadline);

/* Others wake a thread that sleeps for ever. */
static bool has_threads;

int64_t __wrap_kolk_now_ns(void);
bool __real_kolk_wait(uint32_t *word, uint32_t expected, kolk_deadline deadline);
bool __wrap_kolk_wait(uint32_t *word, uint32_t expected, kolk_deadline deadline);

int64_t __wrap_kolk_now_ns(void) {
    return NUMBER(clock_ns);
}

bool __wrap_kolk_wait(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    if (NUMBER(*word) != expected) return true;
    if (meanwhile) return meanwhile(deadline);
    if (deadline.ns == KOLK_FOREVER.ns) {
        INSIST(has_threads);
        return __real_kolk_wait(word, expected, deadline);
    }
    if (NUMBER(clock_ns) < deadline.ns) __atomic_store_n(&clock_ns, deadline.ns, __ATOMIC_SEQ_CST);
    return false;
}

#endif
