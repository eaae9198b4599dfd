/* budget.h: a number of bytes that any number of threads may still take. NULL is a budget without a limit. */
#ifndef KOLK_SRC_BUDGET_H
#define KOLK_SRC_BUDGET_H

#include "../base/assert.h"
#include "../base/atomics.h"

#include <stdint.h>

/* Takes the wished bytes, or fewer if fewer are left, rounded down to a multiple of `unit`. Returns the bytes taken. */
static inline uint64_t kolk_budget_take(uint64_t *budget, uint64_t wish, uint64_t unit) {
    KOLK_ASSERT(unit != 0);
    if (!budget) return wish - wish % unit;
    uint64_t left = kolk_load(budget, KOLK_RELAXED), bytes;
    do {
        bytes = wish < left ? wish : left;
        bytes -= bytes % unit;
    } while (!kolk_compare_exchange_weak(budget, &left, left - bytes, KOLK_RELAXED, KOLK_RELAXED));
    return bytes;
}

static inline void kolk_budget_give(uint64_t *budget, uint64_t bytes) {
    if (budget) kolk_fetch_add(budget, bytes, KOLK_RELAXED);
}

#endif
