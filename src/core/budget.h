/* budget.h: a budget is the number of bytes that may still be taken, by any number of threads. NULL is an unlimited
 * budget. */
#ifndef KOLK_SRC_BUDGET_H
#define KOLK_SRC_BUDGET_H

#include "../base/assert.h"
#include "../base/atomics.h"

#include <stdint.h>

/* Takes the requested bytes, or fewer if fewer are left, rounded down to a multiple of `unit`. Returns the bytes
 * taken. */
static inline uint64_t kolk_budget_take_(uint64_t *budget, uint64_t wish, uint64_t unit) {
    KOLK_ASSERT_(unit != 0);
    if (!budget) return wish - wish % unit;
    uint64_t left = kolk_load_(budget, KOLK_RELAXED_), bytes;
    do {
        bytes = wish < left ? wish : left;
        bytes -= bytes % unit;
    } while (!kolk_compare_exchange_weak_(budget, &left, left - bytes, KOLK_RELAXED_, KOLK_RELAXED_));
    return bytes;
}

static inline void kolk_budget_give_(uint64_t *budget, uint64_t bytes) {
    if (budget) kolk_fetch_add_(budget, bytes, KOLK_RELAXED_);
}

#endif
