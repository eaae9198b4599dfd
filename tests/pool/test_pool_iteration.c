/* Iteration: cursors, runs, ranges of runs, KOLK_EACH. Each visits every live object once, in ascending order of slots,
 * whatever is freed or allocated meanwhile. */
#include "../help/test.h"

typedef struct item {
    uint32_t number;
    uint32_t visits;
} item;

KOLK_POOL_TYPE(items, item)

/* ---- Pools with a pattern of live slots -------------------------------------------------------------------------- */

#define PATTERNS 7u

static bool pattern(uint32_t n, uint32_t slot) {
    switch (n) {
    case 0:
        return true;
    case 1:
        return false;
    case 2:
        return slot % 2;
    case 3:
        return slot % 64 == 63;
    case 4:
        return slot % 64 == 0;
    case 5:
        return slot / 64 % 2;
    default:
        return slot * 2654435761u >> 31;
    }
}

/* Makes a pool of exactly this many slots, all of which were handed out. The pattern decides which are alive. */
static void make_items(items *pool, kolk_reuse reuse, uint32_t slots, uint32_t n) {
    assert_int_equal(items_init(pool, &(kolk_pool_desc){.name = "items", .capacity = slots, .reuse = reuse}), KOLK_OK);
    for (uint32_t i = 0; i < slots; i++) {
        item *one = items_alloc(pool);
        assert_non_null(one);
        *one = (item){.number = i};
    }
    for (uint32_t i = 0; i < slots; i++)
        if (!pattern(n, i)) items_free(pool, items_at(pool, i));
}

static const uint32_t lengths[] = {1, 2, 63, 64, 65, 127, 128, 129, 200, 1000};

/* Calls `visit` for pools of every length, pattern and order of reuse. */
static void for_each_pool(void (*visit)(items *pool, uint32_t slots, uint32_t n)) {
    for (size_t i = 0; i < LENGTH_OF(lengths); i++)
        for (uint32_t n = 0; n < PATTERNS; n++)
            for (size_t r = 0; r < LENGTH_OF(orders); r++) {
                items pool;
                make_items(&pool, orders[r], lengths[i], n);
                visit(&pool, lengths[i], n);
                assert_true(items_is_valid(&pool));
                items_deinit(&pool);
            }
}

/* ---- Each live object once, in ascending order ------------------------------------------------------------------- */

static uint32_t next_in_pattern(uint32_t n, uint32_t slot, uint32_t slots) {
    while (slot < slots && !pattern(n, slot)) slot++;
    return slot;
}

static void each_once(items *pool, uint32_t slots, uint32_t n) {
    uint32_t slot = next_in_pattern(n, 0, slots);
    KOLK_EACH(items, each, pool) {
        assert_int_equal(each->number, slot);
        slot = next_in_pattern(n, slot + 1, slots);
    }
    assert_int_equal(slot, slots);

    slot = next_in_pattern(n, 0, slots);
    kolk_cursor cursor = items_each(pool);
    for (item *each; (each = items_each_next(&cursor)); slot = next_in_pattern(n, slot + 1, slots))
        assert_int_equal(each->number, slot);
    assert_int_equal(slot, slots);
    assert_null(items_each_next(&cursor)); /* the end is final */
}

static void test_each_and_cursors(void **state) {
    (void)state;
    for_each_pool(each_once);
}

/* Checks that the runs of [begin, end) are right and as long as possible. */
static void visit_runs(items *pool, uint32_t begin, uint32_t end, uint32_t slots, uint32_t n) {
    item *run;
    uint32_t last_end = UINT32_MAX;
    for (uint32_t at = begin, length = end - begin; (run = items_next_run(pool, &at, &length));
         at += length, length = end - at) {
        assert_true(at >= begin && length > 0 && at + length <= end);
        assert_true(at != last_end); /* the previous run did not end too early */
        assert_ptr_equal(run, items_at(pool, at));
        for (uint32_t i = 0; i < length; i++) {
            assert_int_equal(run[i].number, at + i);
            run[i].visits++;
        }
        last_end = at + length;
        if (last_end < end && last_end < slots) assert_false(pattern(n, last_end));
    }
}

static void all_visited_once(items *pool) {
    KOLK_EACH(items, each, pool) {
        assert_int_equal(each->visits, 1);
        each->visits = 0;
    }
}

/* Adjacent ranges, as threads might use, together visit each object once, wherever they are divided. */
static void ranges_visit_each_once(items *pool, uint32_t slots, uint32_t n) {
    visit_runs(pool, 0, slots, slots, n);
    all_visited_once(pool);
    visit_runs(pool, 0, UINT32_MAX, slots, n);
    all_visited_once(pool);
    for (uint32_t cut = 0; cut <= slots + 1; cut += slots > 200 ? 37 : 1) {
        visit_runs(pool, 0, cut, slots, n);
        visit_runs(pool, cut, slots + 5, slots, n);
        all_visited_once(pool);
    }
    for (uint32_t share = 1; share < 100; share += 11) {
        for (uint32_t begin = 0; begin < slots; begin += share) visit_runs(pool, begin, begin + share, slots, n);
        all_visited_once(pool);
    }
}

static void test_runs(void **state) {
    (void)state;
    for_each_pool(ranges_visit_each_once);
}

static void test_where_there_is_no_run(void **state) {
    (void)state;
    items pool;
    make_items(&pool, KOLK_REUSE_LIFO, 100, 1);
    static const struct {
        uint32_t at, length;
    } rows[] = {{0, 100}, {0, 0}, {99, 1}, {100, 1}, {5, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}, {UINT32_MAX, 0}};
    for (int live = 0; live < 2; live++) {
        for (size_t i = 0; i < LENGTH_OF(rows); i++) {
            uint32_t at = rows[i].at, length = rows[i].length;
            item *run = items_next_run(&pool, &at, &length);
            if (live && (i == 0 || i == 4)) { /* the other ranges do not contain the live object */
                assert_ptr_equal(run, items_at(&pool, 50));
                assert_int_equal(at, 50);
                assert_int_equal(length, 1);
            } else {
                assert_null(run);
                assert_int_equal(length, 0);
            }
        }
        while (items_count(&pool) < 100) items_alloc(&pool);
        for (uint32_t i = 0; i < 100; i++)
            if (i != 50) items_free(&pool, items_at(&pool, i));
    }
    items_deinit(&pool);
}

/* ---- While the pool changes -------------------------------------------------------------------------------------- */

static void free_the_current(items *pool, uint32_t slots, uint32_t n) {
    uint32_t live = items_count(pool), visited = 0;
    (void)slots, (void)n;
    KOLK_EACH(items, each, pool) {
        visited++;
        items_free(pool, each);
    }
    assert_int_equal(visited, live);
    assert_int_equal(items_count(pool), 0);
}

/* An object freed before the walk reaches it is not visited; a live one is. */
static void free_the_one_after(items *pool, uint32_t slots, uint32_t n) {
    uint32_t slot = next_in_pattern(n, 0, slots);
    KOLK_EACH(items, each, pool) {
        assert_int_equal(each->number, slot);
        uint32_t victim = next_in_pattern(n, slot + 1, slots);
        if (victim < slots) items_free(pool, items_at(pool, victim));
        slot = next_in_pattern(n, victim + 1, slots);
    }
    assert_true(slot >= slots);
}

static void free_the_one_before(items *pool, uint32_t slots, uint32_t n) {
    uint32_t visited = 0, live = items_count(pool);
    item *before = NULL;
    (void)slots, (void)n;
    KOLK_EACH(items, each, pool) {
        visited++;
        items_free(pool, before);
        before = each;
    }
    assert_int_equal(visited, live);
    assert_int_equal(items_count(pool), live > 0);
}

static void test_freeing_meanwhile(void **state) {
    (void)state;
    for_each_pool(free_the_current);
    for_each_pool(free_the_one_after);
    for_each_pool(free_the_one_before);
}

/* Objects allocated during the walk may be visited or not. Older ones are visited once, and the walk ends. */
static void alloc_meanwhile(items *pool, uint32_t slots, uint32_t n) {
    uint32_t visited = 0, live = items_count(pool);
    (void)n;
    KOLK_EACH(items, each, pool) {
        if (each->visits++) continue;
        visited += each->number < slots;
        item *another = items_alloc(pool);
        if (another) *another = (item){.number = slots, .visits = 1};
    }
    assert_int_equal(visited, live);
}

static void clear_meanwhile(items *pool, uint32_t slots, uint32_t n) {
    uint32_t visited = 0, live = items_count(pool);
    (void)slots, (void)n;
    KOLK_EACH(items, each, pool) {
        visited++;
        items_clear(pool);
    }
    assert_int_equal(visited, live > 0);
}

static void test_allocating_and_clearing_meanwhile(void **state) {
    (void)state;
    for_each_pool(alloc_meanwhile);
    for_each_pool(clear_meanwhile);
}

static void test_growing_meanwhile(void **state) {
    (void)state;
    items pool;
    assert_int_equal(items_init(&pool, &(kolk_pool_desc){.capacity = 10, .max_capacity = 100000}), KOLK_OK);
    for (uint32_t i = 0; i < 10; i++) *items_alloc(&pool) = (item){.number = i};
    uint32_t visited = 0;
    KOLK_EACH(items, each, &pool) {
        if (each->number >= 10) continue;
        visited++;
        for (int i = 0; i < 9000; i++) *items_alloc(&pool) = (item){.number = 10};
    }
    assert_int_equal(visited, 10);
    assert_int_equal(items_count(&pool), 90010);
    items_deinit(&pool);
}

/* ---- break, continue and return in the loop ---------------------------------------------------------------------- */

static uint32_t number_of_the_first_above(items *pool, uint32_t least) {
    KOLK_EACH(items, each, pool) {
        if (each->number > least) return each->number; /* leaves both loops of the macro */
    }
    return UINT32_MAX;
}

static void test_break_continue_return_and_nesting(void **state) {
    (void)state;
    items pool;
    make_items(&pool, KOLK_REUSE_LIFO, 200, 0);
    uint32_t visited = 0;
    KOLK_EACH(items, each, &pool) {
        visited++;
        if (each->number == 70) break; /* ends the whole walk, not only one word of live bits */
    }
    assert_int_equal(visited, 71);

    visited = 0;
    KOLK_EACH(items, each, &pool) {
        if (each->number % 2) continue;
        visited++;
    }
    assert_int_equal(visited, 100);

    assert_int_equal(number_of_the_first_above(&pool, 64), 65);
    assert_int_equal(number_of_the_first_above(&pool, 199), UINT32_MAX);

    visited = 0;
    KOLK_EACH(items, a, &pool)
        KOLK_EACH(items, b, &pool) visited += a->number < b->number;
    assert_int_equal(visited, 200 * 199 / 2);

    visited = 0;
    KOLK_EACH(items, a, &pool) {
        KOLK_EACH(items, b, &pool) {
            if (b == a) break; /* ends only the inner walk */
            visited++;
        }
    }
    assert_int_equal(visited, 200 * 199 / 2);

    if (visited)
        KOLK_EACH(items, each, &pool) items_free(&pool, each);
    else
        fail(); /* KOLK_EACH is one statement */
    assert_int_equal(items_count(&pool), 0);
    items_deinit(&pool);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_and_cursors),
        TEST(test_runs),
        TEST(test_where_there_is_no_run),
        TEST(test_freeing_meanwhile),
        TEST(test_allocating_and_clearing_meanwhile),
        TEST(test_growing_meanwhile),
        TEST(test_break_continue_return_and_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
