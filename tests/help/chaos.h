/* chaos.h: in a program `with: KOLK_CHAOS=1` (docs/tests.md), each thread yields or sleeps at random before its
 * atomic operations. So an error that needs an interruption at one particular place appears within seconds, on two
 * cores or on one. Include it once. KOLK_CHAOS_HERE does the same in a test's own code, and is empty without chaos. */
#ifndef TESTS_CHAOS_H
#define TESTS_CHAOS_H

#include "plain.h"

#include "base/atomics.h"

#include <sched.h>
#include <time.h>

#ifdef KOLK_CHAOS
void kolk_chaos_(void) {
    static uint64_t threads;
    static _Thread_local uint64_t random;
    if (random == 0) random = __atomic_add_fetch(&threads, UINT64_C(0x632be59bd9b4e019), __ATOMIC_RELAXED);
    uint32_t choice = random_below(&random, 1024);
    if (choice == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1 + (long)random_below(&random, 50000)}, NULL);
    else if (choice < 32)
        sched_yield();
}

#define KOLK_CHAOS_HERE() kolk_chaos_()
#else
#define KOLK_CHAOS_HERE() ((void)0)
#endif

#endif
