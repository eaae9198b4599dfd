/* budget.c: see budget.h and trim.h. */
#include "budget.h"
#include "trim.h"

uint32_t kolk_trims_;
uintptr_t kolk_trim_heaps_;

#if KOLK_HOSTED

size_t kolk_trim_all(void) {
    kolk_fetch_add_(&kolk_trims_, 1, KOLK_RELAXED_);
    size_t (*trim)(void) = (size_t(*)(void))kolk_raw_load_(&kolk_trim_heaps_, KOLK_RELAXED_);
    return trim ? trim() : 0;
}

#define SHARE 16u /* one step of growth takes at most this part of what is left */

uint64_t kolk_budget_used(const kolk_budget *budget) {
    return kolk_load_(&budget->used_, KOLK_RELAXED_);
}

void kolk_budget_set_limit(kolk_budget *budget, uint64_t limit) {
    kolk_store_(&budget->limit, limit, KOLK_RELAXED_);
}

static uint64_t left_of(const kolk_budget *budget, uint64_t used) {
    uint64_t limit = kolk_load_(&budget->limit, KOLK_RELAXED_);
    if (!limit) return UINT64_MAX - used;
    return limit > used ? limit - used : 0;
}

uint64_t kolk_budget_left_(const kolk_budget *budget) {
    uint64_t least = UINT64_MAX;
    for (const kolk_budget *at = budget; at; at = at->parent) {
        uint64_t left = left_of(at, kolk_budget_used(at));
        if (left < least) least = left;
    }
    return least;
}

uint32_t kolk_budget_step_(const kolk_budget *budget, uint32_t slots, uint32_t stride) {
    for (const kolk_budget *at = budget; at; at = at->parent) {
        uint64_t most = left_of(at, kolk_load_(&at->used_, KOLK_RELAXED_)) / SHARE / stride;
        if (most < slots) slots = most ? (uint32_t)most : 1;
    }
    return slots;
}

/* Takes from one budget only. */
static uint64_t take_from(kolk_budget *budget, uint64_t wish, uint64_t unit) {
    uint64_t used = kolk_load_(&budget->used_, KOLK_RELAXED_), bytes;
    do {
        uint64_t left = left_of(budget, used);
        bytes = wish < left ? wish : left;
        bytes -= bytes % unit;
    } while (bytes && !kolk_compare_exchange_weak_(&budget->used_, &used, used + bytes, KOLK_RELAXED_, KOLK_RELAXED_));
    bool passes = budget->mark && used <= budget->mark && used + bytes > budget->mark;
    if (passes && budget->on_mark) budget->on_mark(budget, budget->context);
    return bytes;
}

uint64_t kolk_budget_take_(kolk_budget *budget, uint64_t wish, uint64_t unit) {
    KOLK_ASSERT_(unit != 0);
    uint64_t bytes = wish - wish % unit;
    for (kolk_budget *at = budget; at && bytes; at = at->parent) {
        uint64_t got = take_from(at, bytes, unit);
        if (got < bytes) kolk_budget_give_up_to_(budget, at, bytes - got);
        bytes = got;
    }
    return bytes;
}

#endif
