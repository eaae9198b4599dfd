/* kolk_shared_rebind: new hooks for an existing pool, and descriptors that it must refuse. */
#include "../help/debug_test.h"

typedef struct calls {
    unsigned set_up, reset, torn_down;
} calls;

static bool set_up(void *object, void *context) {
    ((calls *)context)->set_up++;
    return true;
}

static void reset(void *object, void *context) {
    ((calls *)context)->reset++;
}

static void tear_down(void *object, void *context) {
    ((calls *)context)->torn_down++;
}

static void test_new_hooks(void **state) {
    calls before = {0}, after = {0};
    kolk_shared pool;
    kolk_shared_local local;
    kolk_shared_desc desc = {.name = "first",
                             .object_size = 8,
                             .capacity = 4,
                             .max_threads = 2,
                             .cache = 2,
                             .life.setup = set_up,
                             .life.reset = reset,
                             .life.teardown = tear_down,
                             .context = &before};
    assert_int_equal(kolk_shared_init(&pool, &desc), KOLK_OK);
    assert_int_equal(kolk_shared_local_init(&local, &pool), KOLK_OK);
    void *first = kolk_shared_alloc(&local);
    kolk_handle handle = kolk_shared_handle_of(&pool, first);
    desc.name = "second";
    desc.context = &after;
    assert_int_equal(kolk_shared_rebind(&pool, &desc), KOLK_OK);
    assert_ptr_equal(kolk_shared_get(&pool, handle), first);
    kolk_shared_free(&local, first);
    assert_int_equal(after.reset, 1);
    kolk_stats stats;
    kolk_shared_stats(&pool, &stats);
    assert_string_equal(stats.name, "second");
    assert_true(kolk_shared_is_valid(&pool));
    kolk_shared_local_deinit(&local);
    kolk_shared_deinit(&pool);
    assert_true(before.reset == 0 && before.torn_down == 0);
    assert_int_equal(before.set_up + after.set_up, after.torn_down);
}

typedef struct ship {
    int crew;
} ship;

typedef struct longer_ship {
    int crew, cargo;
} longer_ship;

KOLK_SHARED_TYPE(ships, ship)
KOLK_SHARED_TYPE(longer_ships, longer_ship)

/* tests/contracts/test_all_rebinds.c has more of them. promise: "replaces the hooks ... Locals stay usable" */
static void test_what_is_refused(void **state) {
    kolk_shared pool;
    kolk_shared_desc own = {.object_size = 16, .max_capacity = 64};
    assert_int_equal(kolk_shared_init(&pool, &own), KOLK_OK);
    assert_int_equal(kolk_shared_rebind(&pool, &(kolk_shared_desc){0}), KOLK_OK);
    assert_int_equal(kolk_shared_rebind(&pool, &(kolk_shared_desc){.capacity = 65}), KOLK_LAYOUT_CHANGED);
    assert_int_equal(kolk_shared_rebind(&pool, &(kolk_shared_desc){.max_capacity = 65}), KOLK_LAYOUT_CHANGED);
    assert_int_equal(kolk_shared_rebind(&pool, &(kolk_shared_desc){.budget = &(kolk_budget){0}}), KOLK_LAYOUT_CHANGED);
    assert_int_equal(kolk_shared_rebind_abi_(&pool, &own, 0, 0, sizeof pool, KOLK_ABI + 1), KOLK_WRONG_ABI);
    kolk_shared_deinit(&pool);
    assert_int_equal(kolk_shared_rebind(&pool, &own), KOLK_STRUCT_CHANGED);

    ships fleet;
    assert_int_equal(ships_init(&fleet, &(kolk_shared_desc){.capacity = 2}), KOLK_OK);
    assert_int_equal(ships_rebind(&fleet, &(kolk_shared_desc){.capacity = 2}), KOLK_OK);
    longer_ships *as_next = (longer_ships *)(void *)&fleet;
    assert_int_equal(longer_ships_rebind(as_next, &(kolk_shared_desc){.capacity = 2}), KOLK_STRUCT_CHANGED);
    ships_deinit(&fleet);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_new_hooks),
        DEBUG_TEST(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
