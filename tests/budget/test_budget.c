/* wraps: help/system_calls.h */
/* Budgets: what counts, in each kind of pool; what a pool does that has nothing left; marks; and random growth of many
 * pools in nested budgets. Also kolk_trim_all. */
#include "../help/debug_test.h"

#include "../help/system_calls.h"
#include "../help/threads.h"

#include <kolk/kolk.h>

typedef struct thing {
    char bytes[64];
} thing;

KOLK_POOL_TYPE(pools, thing)
KOLK_SLOTMAP_TYPE(maps, thing)
KOLK_SHARED_TYPE(shareds, thing)

static bool has_heaps; /* they reserve gigabytes, which emulators of machines record page by page */

/* ---- What counts ------------------------------------------------------------------------------------------------- */

/* promise: "bytes; 0: no limit, the budget only counts"; heap.h "The bytes of its blocks ... towards that one's" */
static void test_a_heap(void **state) {
    if (!has_heaps) skip();
    kolk_budget budget = {.limit = 1 << 20};
    kolk_heap heap = {0}, child = {0};
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.budget = &budget}), 0);
    assert_int_equal(kolk_budget_used(&budget), 0);
    size_t bytes = 0;
    for (size_t size = 16; kolk_heap_alloc(&heap, size); size = size < 5000 ? size + 16 : 16) bytes += size;
    assert_true(bytes > (1 << 20) / 2);
    assert_in_range(kolk_budget_used(&budget), bytes, 1 << 20);
    assert_true(kolk_heap_is_valid(&heap));
    assert_null(kolk_heap_alloc(&heap, 100000));
    kolk_heap_reset(&heap);
    assert_non_null(kolk_heap_alloc(&heap, 100));

    assert_int_equal(kolk_heap_init(&child, &(kolk_heap_desc){.parent = &heap, .budget = &budget}), KOLK_BAD_BUDGET);
    assert_int_equal(kolk_heap_init(&child, &(kolk_heap_desc){.parent = &heap}), KOLK_OK);
    uint64_t before = kolk_budget_used(&budget);
    assert_non_null(kolk_heap_alloc(&child, 100000)); /* its bytes count towards its parent's budget */
    assert_true(kolk_budget_used(&budget) >= before + 100000);
    kolk_heap_deinit(&child);
    assert_int_equal(kolk_budget_used(&budget), before);
    kolk_heap_deinit(&heap);
    assert_int_equal(kolk_budget_used(&budget), 0);
}

/* The caller's memory does not count. promise: "What counts ... you provide" */
static void test_memory_of_the_caller(void **state) {
    static KOLK_ALIGNAS(16) char space[10000];
    kolk_budget budget = {.limit = 1};
    kolk_pool pool;
    kolk_slotmap map;
    assert_int_equal(
        kolk_pool_init(
            &pool,
            &(kolk_pool_desc){.object_size = 16, .memory = space, .memory_size = sizeof space, .budget = &budget}),
        KOLK_OK);
    assert_non_null(kolk_pool_alloc(&pool));
    kolk_pool_deinit(&pool);
    assert_int_equal(
        kolk_slotmap_init(
            &map,
            &(kolk_slotmap_desc){.object_size = 16, .memory = space, .memory_size = sizeof space, .budget = &budget}),
        KOLK_OK);
    assert_non_null(kolk_slotmap_add(&map, NULL));
    kolk_slotmap_deinit(&map);
    assert_int_equal(kolk_budget_used(&budget), 0);
    kolk_heap heap = {0};
    kolk_heap_desc fixed = {.memory = space, .memory_size = sizeof space, .budget = &budget};
    assert_int_equal(kolk_heap_init(&heap, &fixed), KOLK_FIXED_HEAP);
}

/* ---- What a trim gives back -------------------------------------------------------------------------------------- */

enum { MANY = 20000 };

/* Takes all bytes that are left. */
static void take_the_rest(maps *rival, kolk_budget *budget) {
    uint32_t places = (uint32_t)((budget->limit - kolk_budget_used(budget)) / sizeof(thing));
    assert_int_equal(maps_init(rival, &(kolk_slotmap_desc){.capacity = places, .budget = budget}), KOLK_OK);
    assert_int_equal(kolk_budget_used(budget), budget->limit);
}

static void use_all_of(pools *pool, kolk_budget *budget, kolk_pool_desc desc) {
    *budget = (kolk_budget){.limit = MANY * sizeof(thing)};
    desc.capacity = MANY;
    desc.budget = budget;
    assert_int_equal(pools_init(pool, &desc), KOLK_OK);
    for (int i = 0; i < MANY; i++) memset(pools_alloc_urgent(pool), 1, sizeof(thing));
}

/* The bytes of half of the slots, and at most one more page. */
static void assert_half_is_used(const kolk_budget *budget) {
    uint64_t half = budget->limit / 2;
    assert_in_range(kolk_budget_used(budget), half, half + (uint64_t)sysconf(_SC_PAGESIZE));
}

static void free_upper_half(pools *pool) {
    for (uint32_t slot = MANY / 2; slot < MANY; slot++) pools_free(pool, pools_at(pool, slot));
}

/* The slots that a trim has released are the last ones to be used, and only if the budget has bytes for them.
 * promise: "no longer counts, until it is needed again", "a reserve makes them count at once" */
static void test_trim_of_a_pool(void **state) {
    for (unsigned n = 0; n < 8; n++) {
        kolk_budget budget;
        pools pool;
        maps rival;
        use_all_of(&pool, &budget,
                   (kolk_pool_desc){.max_capacity = n & 1 ? 2 * MANY : 0,
                                    .reuse = n & 2 ? KOLK_REUSE_LOWEST : KOLK_REUSE_LIFO,
                                    .ages = n & 4,
                                    .debug = ""});
        uint32_t kept = 0;
        free_upper_half(&pool);
        assert_int_equal(kolk_budget_used(&budget), budget.limit);
        pools_trim(&pool);
        assert_half_is_used(&budget);
        take_the_rest(&rival, &budget);
        for (; pools_alloc(&pool); kept++) {} /* what is left in the last page */
        assert_in_range(kept, 0, (uint64_t)sysconf(_SC_PAGESIZE) / sizeof(thing));
        assert_true(kolk_pool_is_valid(&pool.pool));
        assert_int_equal(pools_available(&pool), MANY / 2 - kept);
        assert_int_equal(pools_reserve(&pool, MANY), KOLK_OVER_BUDGET);
        assert_int_equal(pools_reserve(&pool, MANY / 2), KOLK_OK);
        thing *object = pools_at(&pool, 7);
        pools_free(&pool, object);
        assert_ptr_equal(pools_alloc(&pool), object);
        assert_null(pools_alloc(&pool));
        maps_deinit(&rival);
        for (uint32_t i = MANY / 2 + kept; i < MANY; i++) {
            assert_non_null(object = pools_alloc(&pool));
            assert_int_equal(pools_index(&pool, object), i); /* the lowest first */
            memset(object, 2, sizeof(thing));
        }
        assert_int_equal(kolk_budget_used(&budget), budget.limit);
        assert_null(pools_alloc(&pool));
        assert_true(kolk_pool_is_valid(&pool.pool));
        pools_clear(&pool);
        pools_trim(&pool);
        assert_in_range(kolk_budget_used(&budget), 0, (uint64_t)sysconf(_SC_PAGESIZE));
        pools_deinit(&pool);
        assert_int_equal(kolk_budget_used(&budget), 0);
    }
}

/* FIFO uses every slot in its turn, but gives back those that it never used. A headroom must be there when it is
 * needed. promise: "Other memory ... release nothing" */
static void test_pools_that_keep_their_bytes(void **state) {
    kolk_budget budget;
    pools pool;
    maps rival;
    use_all_of(&pool, &budget, (kolk_pool_desc){.full.headroom = 1, .debug = ""});
    pools_clear(&pool);
    pools_trim(&pool);
    assert_int_equal(kolk_budget_used(&budget), budget.limit);
    pools_deinit(&pool);

    use_all_of(&pool, &budget, (kolk_pool_desc){.reuse = KOLK_REUSE_FIFO, .debug = ""});
    pools_clear(&pool);
    pools_trim(&pool);
    assert_int_equal(kolk_budget_used(&budget), budget.limit);
    pools_deinit(&pool);

    pools_init(&pool, &(kolk_pool_desc){.capacity = MANY, .reuse = KOLK_REUSE_FIFO, .budget = &budget, .debug = ""});
    for (int i = 0; i < MANY / 2; i++) pools_alloc(&pool);
    pools_trim(&pool);
    assert_half_is_used(&budget);
    take_the_rest(&rival, &budget);
    uint32_t count = MANY / 2;
    for (; pools_alloc(&pool); count++) {}
    pools_free(&pool, pools_at(&pool, 5));
    assert_int_equal(pools_index(&pool, pools_alloc(&pool)), 5); /* it has no other slot */
    maps_deinit(&rival);
    for (; count < MANY; count++) assert_int_equal(pools_index(&pool, pools_alloc(&pool)), count);
    assert_null(pools_alloc(&pool));
    pools_clear(&pool);
    pools_deinit(&pool);
}

/* Calls that choose the slot take its bytes too, and those of all slots before it. */
static void test_chosen_slots_after_a_trim(void **state) {
    kolk_budget budget;
    pools pool;
    maps rival;
    for (int n = 0; n < 2; n++) {
        use_all_of(&pool, &budget, (kolk_pool_desc){.reuse = n ? KOLK_REUSE_LOWEST : KOLK_REUSE_LIFO, .debug = ""});
        size_t size = pools_snapshot_size(&pool);
        void *block = malloc(size);
        assert_int_equal(pools_snapshot(&pool, block, size), size);
        kolk_handle handle = kolk_pool_handle_of(&pool.pool, pools_at(&pool, MANY * 3 / 4));
        free_upper_half(&pool);
        pools_trim(&pool);
        take_the_rest(&rival, &budget);
        assert_null(kolk_pool_alloc_at(&pool.pool, handle));
        if (n) assert_null(kolk_pool_alloc_run(&pool.pool, MANY / 4));
        assert_int_equal(pools_restore(&pool, block, size), KOLK_OVER_BUDGET);
        assert_int_equal(pools_count(&pool), MANY / 2);
        maps_deinit(&rival);
        if (n) {
            assert_non_null(kolk_pool_alloc_run(&pool.pool, MANY / 8));
            assert_non_null(pools_at(&pool, MANY / 8 * 5 - 1));
            assert_true(kolk_budget_used(&budget) >= budget.limit / 8 * 5);
        }
        assert_non_null(kolk_pool_alloc_at(&pool.pool, handle));
        assert_true(kolk_budget_used(&budget) >= budget.limit / 4 * 3);
        assert_true(kolk_pool_is_valid(&pool.pool));
        for (int i = 0; i < MANY / 100; i++) assert_non_null(pools_alloc(&pool));
        assert_true(kolk_pool_is_valid(&pool.pool));
        assert_int_equal(pools_restore(&pool, block, size), KOLK_OK);
        assert_int_equal(kolk_budget_used(&budget), budget.limit);
        assert_int_equal(pools_count(&pool), MANY);
        assert_true(kolk_pool_is_valid(&pool.pool));
        free(block);
        pools_clear(&pool);
        pools_deinit(&pool);
    }
}

static void test_trim_of_a_slot_map(void **state) {
    for (int grows = 0; grows < 2; grows++) {
        kolk_budget budget = {.limit = MANY * sizeof(thing)};
        maps map, rival;
        kolk_slotmap_desc desc = {
            .capacity = MANY, .max_capacity = grows ? 2 * MANY : 0, .budget = &budget, .debug = ""};
        assert_int_equal(maps_init(&map, &desc), KOLK_OK);
        for (int i = 0; i < MANY; i++) memset(maps_add(&map, NULL), 1, sizeof(thing));
        for (uint32_t count = MANY; count > MANY / 2; count--)
            assert_true(maps_remove(&map, maps_handle_of(&map, maps_at(&map, count / 2))));
        maps_trim(&map);
        assert_half_is_used(&budget);
        take_the_rest(&rival, &budget);
        while (maps_add(&map, NULL)) {}
        assert_true(maps_count(&map) < MANY * 3 / 4);
        assert_true(kolk_slotmap_is_valid(&map.map));
        assert_int_equal(maps_reserve(&map, MANY), KOLK_OVER_BUDGET);
        maps_remove(&map, maps_handle_of(&map, maps_at(&map, 3)));
        assert_non_null(maps_add(&map, NULL));
        assert_null(maps_add(&map, NULL));
        maps_deinit(&rival);
        while (maps_count(&map) < MANY) memset(maps_add(&map, NULL), 2, sizeof(thing));
        assert_int_equal(kolk_budget_used(&budget), budget.limit);
        assert_null(maps_add(&map, NULL));
        assert_true(kolk_slotmap_is_valid(&map.map));
        maps_clear(&map);
        maps_trim(&map);
        assert_in_range(kolk_budget_used(&budget), 0, (uint64_t)sysconf(_SC_PAGESIZE));
        maps_deinit(&map);
        assert_int_equal(kolk_budget_used(&budget), 0);
    }
}

/* The report of a full pool says that it is the budget. */
static void test_the_trap_after_a_trim(void **state) {
    kolk_budget budget;
    pools pool;
    maps rival;
    use_all_of(&pool, &budget, (kolk_pool_desc){.full.on_full = kolk_pool_trap_full, .debug = ""});
    free_upper_half(&pool);
    pools_trim(&pool);
    take_the_rest(&rival, &budget);
    reports kept;
    begin_reports(&kept);
    while (pools_alloc(&pool)) {}
    assert_non_null(
        strstr(next_report(&kept)->sentence, " of 20000 slots are in use, and the budget has no bytes for more"));
    assert_no_more(&kept);
    kolk_set_failure_handler(NULL, NULL);
    maps_deinit(&rival);
    pools_clear(&pool);
    pools_deinit(&pool);
}

/* ---- Nothing is left --------------------------------------------------------------------------------------------- */

/* promise: "An init whose capacity the budget does not" */
static void test_init_over_budget(void **state) {
    kolk_budget budget = {.limit = 999};
    pools pool;
    maps map;
    shareds shared;
    assert_int_equal(pools_init(&pool, &(kolk_pool_desc){.capacity = 16, .budget = &budget}), KOLK_OVER_BUDGET);
    assert_true(is_all_zero(&pool.pool));
    assert_int_equal(maps_init(&map, &(kolk_slotmap_desc){.capacity = 16, .budget = &budget}), KOLK_OVER_BUDGET);
    assert_int_equal(shareds_init(&shared, &(kolk_shared_desc){.capacity = 16, .budget = &budget}), KOLK_OVER_BUDGET);
    assert_int_equal(kolk_budget_used(&budget), 0);
    assert_string_equal(kolk_status_text(KOLK_OVER_BUDGET),
                        "the budget, or one that it is part of, has too few bytes left");
}

static double cost_of(const void *object, void *context) {
    return *(const char *)object;
}

/* A pool that has nothing left evicts, as a full pool does. promise: "A pool whose budget has nothing left is full" */
static void test_eviction(void **state) {
    kolk_budget budget = {.limit = 8 * sizeof(thing)};
    pools pool;
    kolk_pool_desc desc = {.max_capacity = 100,
                           .budget = &budget,
                           .full.on_full = kolk_pool_evict_cheapest,
                           .full.cost = cost_of,
                           .debug = ""};
    assert_int_equal(pools_init(&pool, &desc), 0);
    for (int i = 0; i < 20; i++) pools_alloc(&pool)->bytes[0] = (char)(i + 1);
    assert_int_equal(pools_count(&pool), 8);
    pools_clear(&pool);
    pools_deinit(&pool);
}

/* If one pool grows by itself, others still get something. promise: "most a sixteenth of what is left at a time" */
static void test_shares(void **state) {
    kolk_budget budget = {.limit = 1000 * sizeof(thing)};
    pools greedy;
    pools_init(&greedy, &(kolk_pool_desc){.capacity = 500, .max_capacity = 10000, .budget = &budget, .debug = ""});
    for (int i = 0; i < 501; i++) assert_non_null(pools_alloc(&greedy));
    assert_int_equal(kolk_budget_used(&budget), (500 + 500 / 16) * sizeof(thing));
    pools_deinit(&greedy);

    kolk_budget part = {.parent = &budget}; /* what is left in the outer one counts */
    pools_init(&greedy, &(kolk_pool_desc){.capacity = 500, .max_capacity = 10000, .budget = &part, .debug = ""});
    for (int i = 0; i < 501; i++) assert_non_null(pools_alloc(&greedy));
    assert_int_equal(kolk_budget_used(&budget), (500 + 500 / 16) * sizeof(thing));
    pools_deinit(&greedy);
}

/* Nor does a heap take everything. promise: "most a sixteenth of what is left at a time" */
static void test_shares_of_a_heap(void **state) {
    if (!has_heaps) skip();
    kolk_budget budget = {.limit = 1 << 20};
    kolk_heap heap = {0};
    static const kolk_heap_class tray = {.size = 64};
    kolk_heap_init(&heap, &(kolk_heap_desc){.budget = &budget, .classes = &tray, .n_classes = 1, .debug = ""});
    for (uint64_t used = 0; used < budget.limit / 2; used = kolk_budget_used(&budget)) {
        assert_non_null(kolk_heap_alloc(&heap, 64));
        assert_true(kolk_budget_used(&budget) - used <= (budget.limit - used) / 16);
    }
    kolk_heap_deinit(&heap);
}

/* If the system refuses memory, the bytes are given back. promise: "bytes; 0: on_mark ... mark again" */
static void test_refused_memory(void **state) {
    for (unsigned nth = 1; nth <= 12; nth++) { /* the last ones are refused only the growth */
        kolk_budget budget = {.limit = 1 << 24};
        pools pool;
        maps map;
        shareds shared;
        refuse(nth, true);
        kolk_status status =
            pools_init(&pool, &(kolk_pool_desc){.capacity = 1000, .max_capacity = 100000, .budget = &budget});
        refuse(0, false);
        assert_int_equal(kolk_budget_used(&budget), status ? 0 : 1000 * (uint64_t)pool.pool.stride);
        uint64_t before = kolk_budget_used(&budget);
        refuse(1, true);
        if (!status) assert_int_equal(pools_reserve(&pool, 100000), KOLK_NO_MEMORY);
        refuse(0, false);
        assert_int_equal(kolk_budget_used(&budget), before);
        pools_deinit(&pool);
        assert_int_equal(kolk_budget_used(&budget), 0);

        refuse(nth, true);
        status = maps_init(&map, &(kolk_slotmap_desc){.capacity = 1000, .max_capacity = 100000, .budget = &budget});
        refuse(0, false);
        assert_int_equal(kolk_budget_used(&budget), status ? 0 : 1000 * sizeof(thing));
        before = kolk_budget_used(&budget);
        refuse(1, true);
        if (!status) assert_int_equal(maps_reserve(&map, 100000), KOLK_NO_MEMORY);
        refuse(0, false);
        assert_int_equal(kolk_budget_used(&budget), before);
        maps_deinit(&map);
        assert_int_equal(kolk_budget_used(&budget), 0);

        refuse(nth, true);
        status = shareds_init(&shared, &(kolk_shared_desc){.capacity = 1000, .max_capacity = 9999, .budget = &budget});
        refuse(0, false);
        assert_true(status ? kolk_budget_used(&budget) == 0 : kolk_budget_used(&budget) >= 1000 * sizeof(thing));
        shareds_deinit(&shared);
        assert_int_equal(kolk_budget_used(&budget), 0);
    }
}

/* ---- Marks ------------------------------------------------------------------------------------------------------- */

static unsigned marks_passed;
static uint64_t used_at_mark;

static void count_mark(kolk_budget *budget, void *context) {
    assert_ptr_equal(context, &marks_passed);
    used_at_mark = kolk_budget_used(budget);
    marks_passed++;
}

static void test_marks(void **state) {
    kolk_budget all = {.mark = 50 * sizeof(thing), .on_mark = count_mark, .context = &marks_passed};
    kolk_budget part = {.limit = 100 * sizeof(thing), .parent = &all};
    pools first, second;
    marks_passed = 0;
    pools_init(&first, &(kolk_pool_desc){.capacity = 50, .max_capacity = 1000, .budget = &part, .debug = ""});
    assert_int_equal(marks_passed, 0);
    assert_int_equal(pools_reserve(&first, 51), KOLK_OK);
    assert_int_equal(marks_passed, 1);
    assert_int_equal(used_at_mark, 51 * sizeof(thing));
    assert_int_equal(pools_reserve(&first, 60), KOLK_OK); /* it is above the mark already */
    assert_int_equal(marks_passed, 1);
    pools_deinit(&first);
    pools_init(&second, &(kolk_pool_desc){.capacity = 80, .budget = &all, .debug = ""});
    assert_int_equal(marks_passed, 2);
    assert_int_equal(kolk_budget_used(&part), 0);
    assert_int_equal(kolk_budget_used(&all), 80 * sizeof(thing));
    pools_deinit(&second);
    assert_int_equal(kolk_budget_used(&all), 0);
}

/* A budget that the outer one refuses takes nothing. promise: "The bytes count towards this other budget too" */
static void test_outer_limit(void **state) {
    kolk_budget all = {.limit = 30 * sizeof(thing)}, part = {.parent = &all};
    pools pool;
    assert_int_equal(pools_init(&pool, &(kolk_pool_desc){.capacity = 31, .budget = &part, .debug = ""}),
                     KOLK_OVER_BUDGET);
    assert_int_equal(kolk_budget_used(&part), 0);
    assert_int_equal(kolk_budget_used(&all), 0);
    assert_int_equal(pools_init(&pool, &(kolk_pool_desc){.capacity = 30, .budget = &part, .debug = ""}), KOLK_OK);
    assert_int_equal(kolk_budget_used(&part), 30 * sizeof(thing));
    pools_deinit(&pool);
}

/* ---- A limit that changes ---------------------------------------------------------------------------------------- */

/* promise: "nothing is taken away: pools keep ... on_mark is not called" */
static void test_a_limit_that_changes(void **state) {
    enum { SIZE = sizeof(thing) };
    kolk_budget all = {.mark = MANY / 4 * 3 * SIZE, .on_mark = count_mark, .context = &marks_passed};
    kolk_budget part = {.limit = MANY * SIZE, .parent = &all};
    pools pool, other;
    marks_passed = 0;
    assert_int_equal(
        pools_init(&pool, &(kolk_pool_desc){.capacity = MANY, .max_capacity = 2 * MANY, .budget = &part, .debug = ""}),
        KOLK_OK);
    for (int i = 0; i < MANY; i++) memset(pools_alloc(&pool), 1, SIZE);
    assert_int_equal(marks_passed, 1);
    kolk_budget *lowered[] = {&part, &all};
    for (int n = 0; n < 2; n++) {
        kolk_budget_set_limit(lowered[n], MANY / 2 * SIZE);
        assert_int_equal(kolk_budget_used(&part), MANY * SIZE);
        assert_int_equal(pools_count(&pool), MANY);
        assert_null(pools_alloc(&pool));
        thing *object = pools_at(&pool, 7);
        pools_free(&pool, object);
        assert_ptr_equal(pools_alloc(&pool), object);
        assert_int_equal(pools_reserve(&pool, MANY + 1), KOLK_OVER_BUDGET);
        assert_int_equal(pools_init(&other, &(kolk_pool_desc){.capacity = 1, .budget = &part}), KOLK_OVER_BUDGET);
        kolk_budget_set_limit(lowered[n], 0);
        assert_int_equal(pools_reserve(&pool, MANY), KOLK_OK);
    }
    for (uint32_t slot = MANY / 4; slot < MANY; slot++) pools_free(&pool, pools_at(&pool, slot));
    pools_trim(&pool);
    kolk_budget_set_limit(&all, MANY / 2 * SIZE);
    uint32_t count = pools_count(&pool);
    for (; pools_alloc(&pool); count++) {}
    assert_int_equal(count, MANY / 2);
    assert_int_equal(kolk_budget_used(&all), MANY / 2 * SIZE);
    assert_int_equal(marks_passed, 1);
    kolk_budget_set_limit(&all, MANY * SIZE);
    for (; pools_alloc(&pool); count++) {}
    assert_int_equal(count, MANY);
    assert_int_equal(marks_passed, 2);
    kolk_budget_set_limit(&all, 0);
    for (; pools_alloc(&pool); count++) {}
    assert_int_equal(count, 2 * MANY);
    assert_true(kolk_pool_is_valid(&pool.pool));
    pools_clear(&pool);
    pools_deinit(&pool);
    assert_int_equal(kolk_budget_used(&all), 0);
}

/* ---- Random work: many pools in two budgets, the inner one part of the outer one --------------------------------- */

enum { POOLS = 12 };

/* promise: "The bytes that are taken ... threads may call it at any time" */
static void test_random_growth(void **state) {
    kolk_budget budgets[2] = {{.limit = 4000 * sizeof(thing)}, {.limit = 2500 * sizeof(thing), .parent = &budgets[0]}};
    pools all[POOLS] = {{{0}}};
    uint64_t random = seed;
    for (uint64_t n = 0; n < operations; n++) {
        uint64_t most[2];
        for (int b = 0; b < 2; b++) {
            if (random_below(&random, 20) == 0) kolk_budget_set_limit(&budgets[b], random_below(&random, 6000) * 64);
            most[b] = budgets[b].limit ? budgets[b].limit : UINT64_MAX;
            if (most[b] < kolk_budget_used(&budgets[b])) most[b] = kolk_budget_used(&budgets[b]);
        }
        pools *pool = &all[random_below(&random, POOLS)];
        uint32_t inner = (uint32_t)(pool - all) % 2, wish = random_below(&random, 1500);
        if (!pool->pool.stride)
            pools_init(pool,
                       &(kolk_pool_desc){
                           .capacity = wish % 100 + 1, .max_capacity = 2000, .budget = &budgets[inner], .debug = ""});
        else if (random_below(&random, 4) == 0)
            pools_deinit(pool);
        else if (random_below(&random, 2))
            pools_reserve(pool, wish);
        else
            for (uint32_t i = 0; i < wish && pools_alloc(pool);) i++;
        uint64_t slots[2] = {0, 0};
        for (int p = 0; p < POOLS; p++) slots[p % 2] += all[p].pool.capacity;
        assert_int_equal(kolk_budget_used(&budgets[1]), slots[1] * sizeof(thing));
        assert_int_equal(kolk_budget_used(&budgets[0]), (slots[0] + slots[1]) * sizeof(thing));
        for (int b = 0; b < 2; b++) assert_true(kolk_budget_used(&budgets[b]) <= most[b]);
    }
    for (int p = 0; p < POOLS; p++) pools_deinit(&all[p]);
    assert_int_equal(kolk_budget_used(&budgets[0]), 0);
}

/* Threads with a shared pool and a heap, and one that makes and ends pools and changes the limit, have one budget. */
enum { HIGHEST = 1 << 21 };
static kolk_budget common = {.limit = HIGHEST};
static shareds common_pool;
static kolk_heap common_heap;

static void *work_in_common(void *unused) {
    shareds_local local;
    void *blocks[50];
    uint64_t random = seed;
    REQUIRE(shareds_local_init(&local, &common_pool) == KOLK_OK);
    for (uint64_t n = 0; n < operations / 10; n++) {
        thing *one = shareds_alloc(&local), *other = shareds_alloc(&local);
        uint32_t count = random_below(&random, 50), size = 1 + random_below(&random, 5000);
        for (uint32_t i = 0; has_heaps && i < count; i++) blocks[i] = kolk_heap_alloc(&common_heap, size);
        REQUIRE(kolk_budget_used(&common) <= HIGHEST);
        for (uint32_t i = 0; has_heaps && i < count; i++) kolk_heap_free(&common_heap, blocks[i]);
        shareds_free(&local, one);
        shareds_free(&local, other);
    }
    shareds_local_deinit(&local);
    return unused;
}

static void *make_pools(void *unused) {
    for (uint64_t n = 0; n < operations / 10; n++) {
        pools pool = {{0}};
        pools_init(&pool, &(kolk_pool_desc){.capacity = 1000, .max_capacity = 9000, .budget = &common});
        for (int i = 0; i < 2000 && pools_alloc(&pool);) i++;
        REQUIRE(kolk_budget_used(&common) <= HIGHEST);
        pools_clear(&pool);
        pools_deinit(&pool);
        kolk_trim_all();
        kolk_budget_set_limit(&common, n % 4 == 3 ? HIGHEST / 4 : HIGHEST);
    }
    return unused;
}

/* promise: "different threads may have the same budget", "Any thread ... all heaps", "at any time and in any thread" */
static void test_threads(void **state) {
    pthread_t threads[3];
    assert_int_equal(shareds_init(&common_pool, &(kolk_shared_desc){.max_capacity = 5000, .budget = &common}), 0);
    if (has_heaps) assert_int_equal(kolk_heap_init(&common_heap, &(kolk_heap_desc){.budget = &common}), 0);
    for (int t = 0; t < 3; t++) pthread_create(&threads[t], NULL, t < 2 ? work_in_common : make_pools, NULL);
    for (int t = 0; t < 3; t++) pthread_join(threads[t], NULL);
    shareds_deinit(&common_pool);
    kolk_heap_deinit(&common_heap);
    assert_int_equal(kolk_budget_used(&common), 0);
}

/* ---- kolk_trim_all ----------------------------------------------------------------------------------------------- */

static void use_a_lot(kolk_heap *heap) {
    static void *blocks[20000];
    for (size_t i = 0; i < LENGTH_OF(blocks); i++) assert_non_null(blocks[i] = kolk_heap_alloc(heap, 200));
    for (size_t i = 0; i < LENGTH_OF(blocks); i++) memset(blocks[i], 1, 200);
    for (size_t i = 0; i < LENGTH_OF(blocks); i++) kolk_heap_free(heap, blocks[i]);
}

/* promise: "Heaps give ... next tick", "given back by now had been backed by memory" */
static void test_trim_all_heaps(void **state) {
    kolk_heap heaps[3] = {{0}};
    kolk_trim_all(); /* what the other tests have left */
    assert_int_equal(kolk_trim_all(), 0);
    if (!has_heaps) skip();
    for (int h = 0; h < 3; h++) kolk_heap_init(&heaps[h], &(kolk_heap_desc){.name = h ? "more" : NULL});
    for (int h = 0; h < 2; h++) use_a_lot(&heaps[h]);
    void *live = kolk_heap_alloc(&heaps[2], 100);
    memset(live, 7, 100);
    assert_true(kolk_trim_all() > 2 * 20000 * 150);
    assert_true(kolk_trim_all() < 1 << 20);
    assert_int_equal(((char *)live)[99], 7);
    use_a_lot(&heaps[2]);
    for (int h = 0; h < 3; h++) assert_true(kolk_heap_is_valid(&heaps[h]));
    for (int h = 0; h < 3; h++) kolk_heap_deinit(&heaps[h]);
    assert_true(kolk_trim_all() > 20000 * 150); /* the pages of the last one were kept */
    assert_int_equal(kolk_trim_all(), 0);
}

/* The nurseries of small heaps, the leaves that ended heaps have left, and what the calling thread has cached. */
static void test_trim_all_small_heaps(void **state) {
    enum { HEAPS = SLOW_CALLS ? 5 : 50, BLOCKS = 240, SIZE = 1024, CACHED = 60, LARGE = 4096 };
    static kolk_heap heaps[HEAPS];
    static char *blocks[BLOCKS];
    if (!has_heaps) skip();
    for (int h = 0; h < HEAPS; h++) {
        kolk_heap_init(&heaps[h], &(kolk_heap_desc){.name = h % 2 ? "small" : NULL});
        for (int n = 0; n < BLOCKS; n++) memset(blocks[n] = kolk_heap_alloc(&heaps[h], SIZE), h, SIZE);
        for (int n = 0; n < BLOCKS; n++)
            if (n % 48) kolk_heap_free(&heaps[h], blocks[n]);
    }
    assert_true(kolk_trim_all() > HEAPS * BLOCKS * SIZE / 10 * 8);
    for (int h = 0; h < HEAPS; h++) {
        unsigned count = 0;
        for (const char *at = NULL; (at = kolk_heap_next(&heaps[h], at)); count++)
            assert_true(at[0] == h && at[SIZE - 1] == h);
        assert_int_equal(count, BLOCKS / 48);
        assert_true(kolk_heap_is_valid(&heaps[h]));
        for (int n = 0; n < BLOCKS; n++) memset(kolk_heap_alloc(&heaps[h], SIZE), 1, SIZE);
    }
    for (int h = 0; h < HEAPS; h++) kolk_heap_deinit(&heaps[h]);
    kolk_trim_all();
    kolk_heap_init(&heaps[0], &(kolk_heap_desc){.name = "ends"});
    for (int n = 0; n < BLOCKS; n++) memset(kolk_heap_alloc(&heaps[0], SIZE), 1, SIZE);
    kolk_heap_deinit(&heaps[0]);
    assert_true(kolk_trim_all() > BLOCKS * SIZE / 10 * 8);
    assert_int_equal(kolk_trim_all(), 0);

    static const kolk_heap_class tray = {.size = LARGE};
    kolk_heap_init(&heaps[0], &(kolk_heap_desc){.classes = &tray, .n_classes = 1});
    for (int n = 0; n < CACHED; n++) memset(blocks[n] = kolk_heap_alloc(&heaps[0], LARGE), 1, LARGE);
    for (int n = 0; n < CACHED; n++) kolk_heap_free(&heaps[0], blocks[n]);
    assert_true(kolk_trim_all() > (CACHED - 2) * LARGE);
    kolk_heap_deinit(&heaps[0]);
}

/* A pool that ticks is trimmed by the next tick, once. */
static void test_trim_all_pools(void **state) {
    pools pool;
    enum { COUNT = 10000 };
    pools_init(&pool, &(kolk_pool_desc){.capacity = COUNT, .debug = ""});
    pools_tick(&pool, 64); /* it has now seen the calls that the tests before have made */
    for (int i = 0; i < COUNT; i++) memset(pools_alloc(&pool), 1, sizeof(thing));
    size_t full = resident(&pool.pool);
    pools_clear(&pool);
    pools_tick(&pool, 64);
    assert_true(resident(&pool.pool) > full / 2); /* a tick alone gives back little, and not yet */
    kolk_trim_all();
    kolk_trim_all();
    assert_true(resident(&pool.pool) > full / 2); /* no other thread may trim it */
    size_t bytes = pools_tick(&pool, 64);
    assert_true(bytes > full / 2);
    assert_true(resident(&pool.pool) < full / 2);
    assert_true(kolk_pool_is_valid(&pool.pool));
    for (int i = 0; i < COUNT; i++) memset(pools_alloc(&pool), 1, sizeof(thing));
    pools_clear(&pool);
    pools_tick(&pool, 64);
    assert_true(resident(&pool.pool) > full / 2);
    pools_deinit(&pool);
}

static unsigned prepared, torn_down;

static bool prepare(void *object, void *context) {
    return ++prepared;
}

static void tear_down(void *object, void *context) {
    torn_down++;
}

/* A request is not for pools that are made after it: their first tick neither ends set-ups nor changes the order. */
static void test_trim_all_before_the_init(void **state) {
    enum { COUNT = 1000 };
    for (int n = 0; n < 2; n++) {
        kolk_trim_all();
        pools pool;
        thing *all[COUNT];
        prepared = torn_down = 0;
        assert_int_equal(pools_init(&pool, &(kolk_pool_desc){.capacity = COUNT,
                                                             .life.setup = n ? prepare : NULL,
                                                             .life.teardown = n ? tear_down : NULL}),
                         KOLK_OK);
        for (int i = 0; i < COUNT; i++) all[i] = pools_alloc(&pool);
        for (int i = 0; i < COUNT; i++) pools_free(&pool, all[i]);
        pools_tick(&pool, 1);
        assert_ptr_equal(pools_alloc(&pool), all[COUNT - 1]);
        assert_true(prepared == (n ? COUNT : 0) && torn_down == 0);
        pools_clear(&pool);
        pools_deinit(&pool);
    }
}

int main(void) {
    has_heaps = sizeof(void *) == 8 && !emulator();
    begin_random_work(1000);
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_a_heap),
        DEBUG_TEST(test_memory_of_the_caller),
        DEBUG_TEST(test_trim_of_a_pool),
        DEBUG_TEST(test_pools_that_keep_their_bytes),
        DEBUG_TEST(test_chosen_slots_after_a_trim),
        DEBUG_TEST(test_trim_of_a_slot_map),
        DEBUG_TEST(test_the_trap_after_a_trim),
        DEBUG_TEST(test_init_over_budget),
        DEBUG_TEST(test_eviction),
        DEBUG_TEST(test_shares),
        DEBUG_TEST(test_shares_of_a_heap),
        DEBUG_TEST(test_refused_memory),
        DEBUG_TEST(test_marks),
        DEBUG_TEST(test_outer_limit),
        DEBUG_TEST(test_a_limit_that_changes),
        DEBUG_TEST(test_random_growth),
        DEBUG_TEST(test_threads),
        DEBUG_TEST(test_trim_all_heaps),
        DEBUG_TEST(test_trim_all_small_heaps),
        DEBUG_TEST(test_trim_all_pools),
        DEBUG_TEST(test_trim_all_before_the_init),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
