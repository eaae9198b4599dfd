/* runs: not:qemu wraps: help/no_sites.h help/system_calls.h */
/* What a budget says is what the system has given, for every kind that counts: a model of takes, gives and returns of
 * memory, with refused requests and a rival for the bytes among them. After each operation the budgets' bytes are
 * compared with the slots' pages that are in memory, and at the end they are 0. */
#include "kinds.h"

#include "../help/no_sites.h"
#include "../help/system_calls.h"

#include "../../src/heap/heap_inside.h"

enum { OPERATIONS = 3000, MOST = 6000, SIZE = 200 };

static kolk_budget outer, budget;
static uint64_t rival; /* bytes that somebody else has taken from the budget */
static uint64_t random_state;
static void *objects[MOST];
static uint32_t taken;

static uint32_t draw(uint32_t n) {
    return random_below(&random_state, n);
}

/* ---- What there is ----------------------------------------------------------------------------------------------- */

static const kolk_slot_store_ *store_of_heap(void) {
    return strcmp(it->kind->member, "heap") == 0 ? &it->of.heap.inside->trays[0].store : NULL;
}

/* The slots' memory: where it begins, how many bytes of it are committed, and how many may be used without asking the
 * budget. */
static uint64_t span_of_it(uintptr_t *start, uint64_t *at_hand) {
    const kolk_slot_store_ *store = store_of_heap();
    kolk_stats stats = stats_of_it();
    uint64_t capacity = store ? store->depot.usable : stats.capacity, stride = store ? store->stride : stats.stride;
    uint64_t counted = store ? capacity - store->released : capacity;
    *start = (uintptr_t)(store ? store->slots : it->kind->slots(it));
    if (strcmp(it->kind->member, "pool") == 0) counted = it->of.pool.counted;
    if (strcmp(it->kind->member, "slotmap") == 0) counted = it->of.slotmap.counted;
    *at_hand = counted * stride;
    return capacity * stride;
}

/* How many bytes of the slots' pages are in memory. 0: unknown, because emulators may say that all pages are. */
static uint64_t bytes_in_memory(void) {
#ifdef _WIN32
    return 0;
#else
    if (emulator()) return 0;
    uintptr_t start, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint64_t at_hand, bytes = span_of_it(&start, &at_hand);
    uintptr_t from = start / page * page;
    size_t pages = (start + (size_t)bytes + page - 1 - from) / page, count = 0;
    unsigned char states[2048];
    assert_in_range(pages, 0, sizeof states);
    if (bytes) assert_int_equal(__real_mincore((void *)from, pages * page, states), 0);
    for (size_t n = 0; bytes && n < pages; n++) count += states[n] & 1;
    return count * page;
#endif
}

/* A page at the end of the slots counts in part. In a heap, so does one where slots that count again, a word of 64 of
 * them, border on others. */
static void compare(void) {
    uint64_t used = kolk_budget_used(&budget), at_hand, slack = 2 * (uint64_t)sysconf(_SC_PAGESIZE);
    uintptr_t start;
    assert_is_valid();
    if (store_of_heap()) slack += (store_of_heap()->depot.usable / 64 + 1) * (uint64_t)sysconf(_SC_PAGESIZE);
    span_of_it(&start, &at_hand);
    assert_int_equal(used, at_hand + rival);
    assert_int_equal(kolk_budget_used(&outer), used);
    assert_true(used <= budget.limit);
    assert_in_range(bytes_in_memory(), 0, at_hand + slack);
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

static void begin_accounts(uint64_t limit) {
    outer = (kolk_budget){.limit = 0};
    budget = (kolk_budget){.limit = limit, .parent = &outer};
    random_state = 1;
    rival = taken = 0;
    begin_it((options){.object_size = SIZE, .max_capacity = MOST, .budget = &budget});
    compare();
}

static void take_some(uint32_t n) {
    for (void *object; n-- && taken < MOST && (object = it->kind->take(it)); objects[taken++] = object)
        memset(object, 7, SIZE);
}

static void give_some(uint32_t n) {
    bool stay = it->kind->can & STAYS;
    for (; n-- && taken; taken--) {
        uint32_t at = stay ? draw(taken) : 0;
        it->kind->give(it, stay ? objects[at] : it->kind->first(it));
        objects[at] = objects[taken - 1];
    }
}

static void give_all(void) {
    it->kind->clear(it);
    taken = 0;
}

static void return_memory(void) {
    if (it->kind->trim) it->kind->trim(it);
    kolk_trim_all();
}

/* Somebody else takes up to all that is left, or gives it back. */
static void compete(void) {
    uint64_t most = budget.limit - kolk_budget_used(&budget);
    kolk_budget_give_(&budget, rival);
    rival = rival ? 0 : kolk_budget_take_(&budget, draw(2) ? most : most / 2, 1);
}

static void step_accounts(void) {
    uint32_t choice = draw(32);
    if (draw(8) == 0) refuse(1 + draw(3), draw(2));
    if (choice < 12)
        take_some(draw(500));
    else if (choice < 24)
        give_some(draw(500));
    else if (choice < 28)
        return_memory();
    else if (choice < 29)
        give_all();
    else if (choice < 30)
        compete();
    else if (it->kind->reserve)
        (void)it->kind->reserve(it, draw(MOST));
    refuse(0, false);
    compare();
}

/* promise: budget.h "What counts ... you provide", "no longer counts, until it is needed again" */
static void test_random_operations(void **state) {
    for (int n = 0; n < 3; n++) {
        begin_accounts(n == 0 ? UINT64_MAX / 2 : n == 1 ? 600000 : 50000);
        for (int left = does_a_part() ? OPERATIONS / 10 : OPERATIONS; left--;) step_accounts();
        give_all();
        end_it();
        assert_int_equal(kolk_budget_used(&budget), rival);
        assert_int_equal(kolk_budget_used(&outer), rival);
    }
}

/* A capacity beyond the limit is refused, whether it is asked for at once or by takes.
 * promise: budget.h "What counts ... you provide"; pool.h "the bytes of its slots count towards it"; slotmap.h "the
 * bytes of its slots count towards it"; shared.h "the bytes of its slots count towards it" */
static void test_limit(void **state) {
    begin_accounts(UINT64_MAX / 2);
    uint64_t stride = stats_of_it().stride;
    budget.limit = 100 * stride;
    if (it->kind->reserve) {
        assert_int_equal(it->kind->reserve(it, 90), KOLK_OK);
        assert_int_equal(it->kind->reserve(it, 101), KOLK_OVER_BUDGET);
        assert_int_equal(kolk_budget_used(&budget), 90 * stride);
    }
    take_some(MOST);
    assert_int_equal(taken, 100);
    assert_int_equal(kolk_budget_used(&budget), 100 * stride);
    give_all();
    end_it();
    assert_int_equal(kolk_budget_used(&budget), 0);
}

/* Shared pools have no trim, and FIFO uses every slot in its turn. */
static bool gives_bytes_back(void) {
    return it->kind->trim && it->kind->reuse != KOLK_REUSE_FIFO;
}

/* Memory that a trim has given back to the system no longer counts, and counts again when it is needed. */
static void test_what_trim_gives_back(void **state) {
    begin_accounts(600000);
    take_some(MOST);
    assert_true(taken * (uint64_t)SIZE > budget.limit / 2);
    uint64_t full = kolk_budget_used(&budget);
    for (int way = 0; way < 2; way++) {
        if (way) give_all();
        give_some(MOST);
        return_memory();
        compare();
        if (gives_bytes_back())
            assert_in_range(kolk_budget_used(&budget), 0, 2 * (uint64_t)sysconf(_SC_PAGESIZE));
        else
            assert_int_equal(kolk_budget_used(&budget), full);
        take_some(MOST);
        compare();
        assert_true(taken * (uint64_t)SIZE > budget.limit / 2);
    }
    give_all();
    end_it();
}

static int begin_group(void **state) {
    plain_environment(state);
    return list_a_pool(state);
}

int main(void) {
    static const contract contracts[] = {
        CONTRACT(test_random_operations, COUNTS | TAKES, IN(PLAIN)),
        CONTRACT(test_limit, COUNTS | TAKES | DEBUGS, IN(PLAIN)),
        CONTRACT(test_what_trim_gives_back, COUNTS | TAKES, IN(PLAIN)),
    };
    return run_contracts(contracts, LENGTH_OF(contracts), begin_group, plain_environment);
}
