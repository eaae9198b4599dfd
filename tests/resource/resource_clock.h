/* wraps: kolk_now_ns_ kolk_wait_ kolk_yield_ */
/* resource_clock.h: a clock that advances only when the test or a function of the factory advances it, and a sleep that
 * takes no real time: while the only thread sleeps, `meanwhile` plays the other threads. */
#ifndef TESTS_RESOURCE_CLOCK_H
#define TESTS_RESOURCE_CLOCK_H

#include "resource_test.h"

#include "os/clock.h"
#include "os/sleep.h"

/* Called when the thread sleeps until the deadline. Returns true if the thread is woken, for whatever reason. NULL:
 * nothing happens. */
static bool (*meanwhile)(kolk_deadline deadline);

/* Called when the thread yields, which takes a microsecond. NULL: nothing happens. */
static void (*on_yield)(void);

/* True if there are other real threads, which wake threads that sleep for ever. */
static bool has_threads;

int64_t __wrap_kolk_now_ns_(void);
bool __real_kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline);
bool __wrap_kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline);
void __wrap_kolk_yield_(void);

int64_t __wrap_kolk_now_ns_(void) {
    return NUMBER(clock_ns);
}

bool __wrap_kolk_wait_(uint32_t *word, uint32_t expected, kolk_deadline deadline) {
    if (NUMBER(*word) != expected) return true;
    if (meanwhile) return meanwhile(deadline);
    if (deadline.ns == KOLK_FOREVER.ns) {
        INSIST(has_threads);
        return __real_kolk_wait_(word, expected, deadline);
    }
    if (NUMBER(clock_ns) < deadline.ns) __atomic_store_n(&clock_ns, deadline.ns, __ATOMIC_SEQ_CST);
    return false;
}

void __wrap_kolk_yield_(void) {
    __atomic_add_fetch(&clock_ns, 1000, __ATOMIC_SEQ_CST);
    if (on_yield) on_yield();
}

#endif
