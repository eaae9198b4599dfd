/* Iteration: cursors, runs, ranges, KOLK_EACH and KOLK_EACH_RUN. Each visits every live object once, in ascending order
 * of slots, whatever is freed or allocated meanwhile. */
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

/* promise: "A walk over ... NULL at the end", "kolk_cursor_next", "kolk_pool_each"; typed.h "Loops over each live
 * object of a pool, a shared ... removed; break, continue and return work"; README.md "a loop visits only live
 * objects" */
static void test_each_and_cursors(void **state) {
    for_each_pool(each_once);
}

/* A run is a group if all of it is in the pattern, and before `end`; else it is one object. */
static uint32_t length_of_run(uint32_t n, uint32_t slot, uint32_t end) {
    if (slot % KOLK_GROUP || end - slot < KOLK_GROUP) return 1;
    for (uint32_t i = 0; i < KOLK_GROUP; i++)
        if (!pattern(n, slot + i)) return 1;
    return KOLK_GROUP;
}

static void visit_runs(items *pool, uint32_t begin, uint32_t length, uint32_t slots, uint32_t n) {
    uint32_t slot = begin, end = length < slots - slot ? begin + length : slots, found = 0;
    kolk_cursor cursor = items_each_in(pool, begin, length);
    while ((slot = next_in_pattern(n, slot, end)) < end) {
        uint32_t first = slot;
        slot += length_of_run(n, slot, end);
        item *run = items_each_next_run(&cursor, &found);
        assert_ptr_equal(run, items_at(pool, first));
        assert_int_equal(found, slot - first);
        for (uint32_t i = 0; i < found; i++) {
            assert_int_equal(run[i].number, first + i);
            run[i].visits++;
        }
    }
    for (int i = 0; i < 2; i++) { /* the end is final */
        assert_null(items_each_next_run(&cursor, &found));
        assert_int_equal(found, 0);
    }
}

/* Walks over the same slots object by object. */
static void visit_objects(items *pool, uint32_t begin, uint32_t length, uint32_t slots, uint32_t n) {
    uint32_t end = length < slots - begin ? begin + length : slots, slot = next_in_pattern(n, begin, end);
    kolk_cursor cursor = items_each_in(pool, begin, length);
    for (item *each; (each = items_each_next(&cursor)); slot = next_in_pattern(n, slot + 1, end)) {
        assert_int_equal(each->number, slot);
        each->visits++;
    }
    assert_true(slot >= end);
}

static void all_visited_once(items *pool) {
    KOLK_EACH(items, each, pool) {
        assert_int_equal(each->visits, 1);
        each->visits = 0;
    }
}

/* Adjacent ranges, as threads might use, together visit each object once, wherever they are divided. */
static void ranges_visit_each_once(items *pool, uint32_t slots, uint32_t n) {
    static void (*const ways[])(items *, uint32_t, uint32_t, uint32_t, uint32_t) = {visit_runs, visit_objects};
    for (size_t way = 0; way < LENGTH_OF(ways); way++) {
        ways[way](pool, 0, slots, slots, n);
        all_visited_once(pool);
        ways[way](pool, 0, UINT32_MAX, slots, n);
        all_visited_once(pool);
        for (uint32_t cut = 0; cut <= slots; cut += slots > 200 ? 37 : 1) {
            ways[way](pool, 0, cut, slots, n);
            ways[way](pool, cut, slots + 5 - cut, slots, n);
            all_visited_once(pool);
        }
        for (uint32_t share = 1; share < 100; share += 11) {
            for (uint32_t begin = 0; begin < slots; begin += share) ways[way](pool, begin, share, slots, n);
            all_visited_once(pool);
        }
    }
    KOLK_EACH_RUN(items, run, length, pool)
        for (uint32_t i = 0; i < length; i++) run[i].visits++;
    all_visited_once(pool);
}

/* promise: "n neighbours ... returns NULL and sets", "kolk_cursor_next_run", "Begins a walk over n slots only"; typed.h
 * "the first of n ... freed; break, continue and return work" */
static void test_runs(void **state) {
    for_each_pool(ranges_visit_each_once);
}

static void test_where_there_is_no_run(void **state) {
    items pool;
    make_items(&pool, KOLK_REUSE_LIFO, 100, 1);
    static const struct {
        uint32_t at, length;
    } rows[] = {{0, 100}, {5, UINT32_MAX},          {0, 0},         {50, 0}, {51, UINT32_MAX}, {0, 50}, {99, 1},
                {100, 1}, {UINT32_MAX, UINT32_MAX}, {UINT32_MAX, 0}};
    for (size_t live = 0; live < 2; live++) {
        for (size_t i = 0; i < LENGTH_OF(rows); i++) {
            kolk_cursor cursor = items_each_in(&pool, rows[i].at, rows[i].length);
            uint32_t found = 1;
            if (live && i < 2) { /* the other ranges do not contain the live object */
                assert_ptr_equal(items_each_next_run(&cursor, &found), items_at(&pool, 50));
                assert_int_equal(found, 1);
            }
            assert_null(items_each_next_run(&cursor, &found));
            assert_int_equal(found, 0);
        }
        while (items_count(&pool) < 100) items_alloc(&pool);
        for (uint32_t i = 0; i < 100; i++)
            if (i != 50) items_free(&pool, items_at(&pool, i));
    }
    items_deinit(&pool);
}

/* A cursor may change from runs to objects and back. */
static void runs_and_objects_in_turn(items *pool, uint32_t slots, uint32_t n) {
    uint32_t slot = 0, found;
    kolk_cursor cursor = items_each(pool);
    for (item *run; (run = items_each_next_run(&cursor, &found)) != NULL;) {
        assert_int_equal(run->number, next_in_pattern(n, slot, slots));
        slot = run->number + found;
        item *each = items_each_next(&cursor);
        if (!each) break;
        assert_int_equal(each->number, next_in_pattern(n, slot, slots));
        slot = each->number + 1;
    }
    assert_int_equal(next_in_pattern(n, slot, slots), slots);
}

static void test_runs_and_objects_in_turn(void **state) {
    for_each_pool(runs_and_objects_in_turn);
}

/* ---- While the pool changes -------------------------------------------------------------------------------------- */

/* Frees the current run and, in the next group, the objects behind its end and the last one. */
static void free_by_runs(items *pool, uint32_t slots, uint32_t n) {
    uint32_t visited = 0, freed = 0, live = items_count(pool);
    KOLK_EACH_RUN(items, run, length, pool) {
        uint32_t end = run->number + length, last = end | (KOLK_GROUP - 1);
        for (uint32_t i = 0; i < length; i++, visited++) {
            assert_true(items_is_live(pool, &run[i]));
            items_free(pool, &run[i]);
        }
        uint32_t victims[] = {end, end + 1, last};
        for (size_t i = 0; i < LENGTH_OF(victims); i++) {
            item *victim = victims[i] < slots ? items_at(pool, victims[i]) : NULL;
            freed += victim != NULL;
            items_free(pool, victim);
        }
    }
    assert_int_equal(visited + freed, live);
    assert_int_equal(items_count(pool), 0);
}

/* Makes holes in the rest of the group, or in the next one, which then is no run. */
static void divide_the_next_run(items *pool, uint32_t slots, uint32_t n) {
    uint32_t next = 0;
    KOLK_EACH_RUN(items, run, length, pool) {
        for (uint32_t i = 0; i < length; i++) assert_true(items_is_live(pool, &run[i]));
        for (; next < run->number; next++) assert_null(items_at(pool, next));
        next = run->number + length;
        for (uint32_t slot = next; slot < (next | (KOLK_GROUP - 1)) && slot < slots; slot += 3)
            items_free(pool, items_at(pool, slot));
    }
    for (; next < slots; next++) assert_null(items_at(pool, next));
}

/* (By object instead of by run: test_pool_model.c.) promise: "Any object ... not be visited", "current run may be freed
 * too" */
static void test_freeing_meanwhile(void **state) {
    for_each_pool(free_by_runs);
    for_each_pool(divide_the_next_run);
}

/* Objects allocated during the walk may be visited or not. Older ones are visited once, and the walk ends. */
static void alloc_meanwhile(items *pool, uint32_t slots, uint32_t n) {
    uint32_t visited = 0, live = items_count(pool);
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
    KOLK_EACH(items, each, pool) {
        visited++;
        items_clear(pool);
    }
    assert_int_equal(visited, live > 0);
}

static void test_allocating_and_clearing_meanwhile(void **state) {
    for_each_pool(alloc_meanwhile);
    for_each_pool(clear_meanwhile);
}

static void test_growing_meanwhile(void **state) {
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

static uint32_t end_of_the_first_run(items *pool) {
    KOLK_EACH_RUN(items, run, n, pool) return run->number + n;
    return 0;
}

static void test_break_continue_return_and_nesting(void **state) {
    items pool;
    make_items(&pool, KOLK_REUSE_LIFO, 200, 0);
    uint32_t runs = 0;
    KOLK_EACH_RUN(items, run, n, &pool) {
        runs++;
        if (run->number == KOLK_GROUP) break; /* ends the whole walk */
    }
    assert_int_equal(runs, 2);
    KOLK_EACH_RUN(items, run, n, &pool) {
        if (n == KOLK_GROUP) continue;
        runs++;
    }
    assert_int_equal(runs, 2 + 200 % KOLK_GROUP);
    assert_int_equal(end_of_the_first_run(&pool), KOLK_GROUP);

    uint32_t visited = 0;
    KOLK_EACH(items, each, &pool) {
        visited++;
        if (each->number == 70) break; /* ends the whole walk, not only one group */
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
        TEST(test_each_and_cursors),      TEST(test_runs),
        TEST(test_where_there_is_no_run), TEST(test_runs_and_objects_in_turn),
        TEST(test_freeing_meanwhile),     TEST(test_allocating_and_clearing_meanwhile),
        TEST(test_growing_meanwhile),     TEST(test_break_continue_return_and_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
