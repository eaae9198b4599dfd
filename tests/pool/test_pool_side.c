/* Side tables of pools, slot maps and shared pools.
 * promise: typed.h "Data beside the objects ... none of this" */
#include "../help/debug_test.h"

typedef struct thing {
    int a, b, c;
} thing;

typedef struct label {
    uint64_t stamp;
    char letter;
} label;

KOLK_POOL_TYPE(things, thing)
KOLK_SLOTMAP_TYPE(rows, thing)
KOLK_SHARED_TYPE(items, thing)
KOLK_SIDE_TYPE(labels, things, label)
KOLK_SIDE_TYPE(marks, rows, char)
KOLK_SIDE_TYPE(notices, items, label);

enum { SLOTS = 100, ENTRIES = 128, STEPS = 20000, HANDLES = 3 * SLOTS };

/* Random lives of objects and labels, compared with a list of all handles. */
static void test_a_label_lives_as_long_as_its_object(void **state) {
    static labels_entry memory[ENTRIES];
    static struct {
        things_handle handle;
        bool lives;
        uint64_t stamp; /* 0: no label */
    } all[HANDLES];
    things pool;
    kolk_pool_desc desc = {.capacity = SLOTS, .reuse = KOLK_REUSE_LOWEST, .tag = 0xabcdef01};
    assert_int_equal(things_init(&pool, &desc), KOLK_OK);
    labels beside = {&pool, memory, ENTRIES};
    uint64_t random = 1;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned n = random_below(&random, HANDLES);
        things_handle handle = all[n].handle;
        label *value = labels_get(&beside, handle);
        assert_true((value != NULL) == (all[n].stamp != 0));
        if (value) assert_int_equal(value->stamp, all[n].stamp);
        switch (random_below(&random, 4)) {
        case 0:
            assert_true(things_free_handle(&pool, handle) == all[n].lives);
            all[n].lives = false;
            all[n].stamp = 0;
            break;
        case 1:
            if (all[n].lives) break;
            thing *object = things_alloc(&pool);
            if (!object) break;
            all[n].handle = things_handle_of(&pool, object);
            all[n].lives = true;
            assert_null(labels_get(&beside, all[n].handle));
            break;
        case 2:
            value = labels_set(&beside, handle);
            assert_true((value != NULL) == all[n].lives);
            if (value && all[n].stamp) assert_int_equal(value->stamp, all[n].stamp);
            if (value) value->stamp = all[n].stamp = step + 1;
            break;
        default:
            if (all[n].lives) assert_true(labels_remove(&beside, handle) == (all[n].stamp != 0));
            all[n].stamp = 0;
        }
    }
    assert_null(labels_get(&beside, (things_handle){{0}}));
    assert_null(labels_set(&beside, (things_handle){{0}}));
    labels_remove(&beside, (things_handle){{memory[0].of.bits}});
    assert_false(labels_remove(&beside, (things_handle){{0}}));
    things_deinit(&pool);
}

static void test_a_slot_map_and_a_shared_pool(void **state) {
    static marks_entry entries[4];
    static notices_entry list[8];
    rows map;
    rows_handle a, b;
    assert_int_equal(rows_init(&map, &(kolk_slotmap_desc){.capacity = 4}), KOLK_OK);
    marks beside = {&map, entries, 4};
    assert_non_null(rows_add(&map, &a));
    assert_non_null(rows_add(&map, &b));
    *marks_set(&beside, a) = 'a';
    *marks_set(&beside, b) = 'b';
    assert_true(rows_remove(&map, a)); /* which moves the other object */
    assert_null(marks_get(&beside, a));
    assert_int_equal(*marks_get(&beside, b), 'b');
    rows_deinit(&map);

    items pool;
    items_local local;
    assert_int_equal(items_init(&pool, &(kolk_shared_desc){.capacity = 8}), KOLK_OK);
    assert_int_equal(items_local_init(&local, &pool), KOLK_OK);
    notices board = {&pool, list, 8};
    thing *object = items_alloc(&local);
    items_handle handle = items_handle_of(&pool, object);
    notices_set(&board, handle)->letter = 'x';
    assert_int_equal(notices_get(&board, handle)->letter, 'x');
    items_free(&local, object);
    assert_null(notices_get(&board, handle));
    items_local_deinit(&local);
    items_deinit(&pool);
}

/* With one entry for two slots, and in a pool without handles. */
static void test_too_few_entries(void **state) {
    labels_entry one[1] = {{.of = {0}}};
    things pool;
    assert_int_equal(things_init(&pool, &(kolk_pool_desc){.capacity = 2}), KOLK_OK);
    labels beside = {&pool, one, 1};
    things_handle a = things_handle_of(&pool, things_alloc(&pool)), b = things_handle_of(&pool, things_alloc(&pool));
    assert_non_null(labels_set(&beside, a));
    assert_null(labels_get(&beside, b));
    assert_false(labels_remove(&beside, b));
    assert_non_null(labels_set(&beside, b));
    assert_null(labels_get(&beside, a));
    assert_non_null(labels_get(&beside, b));
    things_deinit(&pool);
    assert_int_equal(things_init(&pool, &(kolk_pool_desc){.capacity = 2, .generations = KOLK_GENERATIONS_NONE}),
                     KOLK_OK);
    things_alloc(&pool);
    assert_null(labels_set(&beside, (things_handle){{UINT64_C(1) << 32 | pool.pool.tag}}));
    things_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_a_label_lives_as_long_as_its_object),
        DEBUG_TEST(test_a_slot_map_and_a_shared_pool),
        DEBUG_TEST(test_too_few_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
