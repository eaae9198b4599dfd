/* budget.h: takes bytes from budgets, and gives them back. NULL is a budget without limit, which does not count. */
#ifndef KOLK_SRC_BUDGET_H
#define KOLK_SRC_BUDGET_H

#include "kolk/budget.h"

#include "../base/assert.h"
#include "../base/atomics.h"

#if KOLK_HOSTED

/* Returns by how many slots a pool of this stride grows by itself. It would like to grow by `slots`. The result may be
 * less, but is 0 only if `slots` is 0. */
uint32_t kolk_budget_step_(const kolk_budget *budget, uint32_t slots, uint32_t stride);

/* The bytes that are left in this budget and all of its parents. */
uint64_t kolk_budget_left_(const kolk_budget *budget);

/* Gives bytes back to this budget and its parents, up to `end` (NULL: all of them), but not to `end`. */
static inline void kolk_budget_give_up_to_(kolk_budget *budget, const kolk_budget *end, uint64_t bytes) {
    for (; budget != end; budget = budget->parent) kolk_fetch_sub_(&budget->used_, bytes, KOLK_RELAXED_);
}

static inline void kolk_budget_give_(kolk_budget *budget, uint64_t bytes) {
    kolk_budget_give_up_to_(budget, NULL, bytes);
}

/* Takes the requested bytes, or fewer if fewer are left, rounded down to a multiple of `unit`. Returns the bytes
 * taken. */
uint64_t kolk_budget_take_(kolk_budget *budget, uint64_t wish, uint64_t unit);

#else /* pools have the caller's memory there, which does not count */

static inline uint32_t kolk_budget_step_(const kolk_budget *budget, uint32_t slots, uint32_t stride) {
    (void)budget, (void)stride;
    return slots;
}

static inline void kolk_budget_give_(kolk_budget *budget, uint64_t bytes) {
    (void)budget, (void)bytes;
}

static inline uint64_t kolk_budget_take_(kolk_budget *budget, uint64_t wish, uint64_t unit) {
    (void)budget, (void)unit;
    return wish;
}

#endif

/* Takes all of these bytes, or none. */
static inline bool kolk_budget_take_all_(kolk_budget *budget, uint64_t bytes) {
    return bytes == 0 || kolk_budget_take_(budget, bytes, bytes) != 0;
}

#endif
