/* budget.h: a budget is the number of bytes that may still be taken, by any number of threads. A budget may be part of
 * another, which then has to have the bytes too. NULL is an unlimited budget. */
#ifndef KOLK_SRC_BUDGET_H
#define KOLK_SRC_BUDGET_H

#include "../base/assert.h"
#include "../base/atomics.h"

#include <stdint.h>

typedef struct kolk_budget_ {
    uint64_t left;           /* bytes */
    struct kolk_budget_ *of; /* the budget that this one is part of; NULL: none */
} kolk_budget_;

/* Gives bytes back to this budget and those that it is part of, up to `end` (NULL: all of them), but not to `end`. */
static inline void kolk_budget_give_up_to_(kolk_budget_ *budget, const kolk_budget_ *end, uint64_t bytes) {
    for (; budget != end; budget = budget->of) kolk_fetch_add_(&budget->left, bytes, KOLK_RELAXED_);
}

static inline void kolk_budget_give_(kolk_budget_ *budget, uint64_t bytes) {
    kolk_budget_give_up_to_(budget, NULL, bytes);
}

/* Takes from one budget only. */
static inline uint64_t kolk_budget_take_one_(kolk_budget_ *budget, uint64_t wish, uint64_t unit) {
    uint64_t left = kolk_load_(&budget->left, KOLK_RELAXED_), bytes;
    do {
        bytes = wish < left ? wish : left;
        bytes -= bytes % unit;
    } while (bytes && !kolk_compare_exchange_weak_(&budget->left, &left, left - bytes, KOLK_RELAXED_, KOLK_RELAXED_));
    return bytes;
}

/* Takes the requested bytes, or fewer if fewer are left, rounded down to a multiple of `unit`. Returns the bytes
 * taken. */
static inline uint64_t kolk_budget_take_(kolk_budget_ *budget, uint64_t wish, uint64_t unit) {
    KOLK_ASSERT_(unit != 0);
    uint64_t bytes = wish - wish % unit;
    for (kolk_budget_ *at = budget; at && bytes; at = at->of) {
        uint64_t got = kolk_budget_take_one_(at, bytes, unit);
        if (got < bytes) kolk_budget_give_up_to_(budget, at, bytes - got);
        bytes = got;
    }
    return bytes;
}

#endif
