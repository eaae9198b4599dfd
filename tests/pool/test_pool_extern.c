/* A program compiled with KOLK_EXTERN: every call goes to the library, as calls from other languages do, and the
 * library has every function that is otherwise inline. */
#define KOLK_EXTERN
#include "../help/test.h"

typedef struct ship {
    double x, y;
    uint32_t number;
} ship;

KOLK_POOL_TYPE(ships, ship)

static void test_calls_into_the_library(void **state) {
    ships fleet;
    assert_int_equal(ships_init(&fleet, &(kolk_pool_desc){.name = "fleet", .capacity = 100}), KOLK_OK);
    for (uint32_t i = 0; i < 100; i++) {
        ship *one = ships_alloc(&fleet);
        assert_non_null(one);
        one->number = i;
        assert_int_equal(ships_index(&fleet, one), i);
        assert_true(ships_is_live(&fleet, one));
        ships_handle old = ships_handle_of(&fleet, one);
        assert_ptr_equal(ships_get(&fleet, old), one);
        assert_ptr_equal(ships_renew(&fleet, one), one);
        assert_null(ships_get(&fleet, old));
    }
    assert_null(ships_alloc(&fleet));
    assert_int_equal(ships_available(&fleet), 0);
    KOLK_EACH(ships, each, &fleet) {
        if (each->number % 2) ships_free(&fleet, each);
    }
    assert_int_equal(ships_count(&fleet), 50);
    assert_null(ships_at(&fleet, 1));
    uint32_t expected = 0;
    kolk_cursor cursor = ships_each(&fleet);
    for (ship *each; (each = ships_each_next(&cursor)); expected += 2) assert_int_equal(each->number, expected);
    assert_int_equal(expected, 100);
    expected = 20;
    cursor = ships_each_in(&fleet, 20, 9);
    uint32_t n;
    for (ship *run; (run = ships_each_next_run(&cursor, &n)); expected += 2) {
        assert_int_equal(run->number, expected);
        assert_int_equal(n, 1);
    }
    assert_int_equal(expected, 30);
    assert_true(ships_is_valid(&fleet));
    ships_deinit(&fleet);
}

static void test_misuse_by_calls(void **state) {
    ships fleet;
    notes taken;
    begin_notes(&taken);
    assert_int_equal(ships_init(&fleet, &(kolk_pool_desc){.name = "fleet", .capacity = 2}), KOLK_OK);
    ship *one = ships_alloc(&fleet), foreign;
    ship *volatile dead = one; /* volatile, so that the compiler does not detect the double free */
    assert_true(ships_is_live(&fleet, one));
    assert_false(ships_is_live(&fleet, &foreign));
    assert_silent(&taken);
    ships_free(&fleet, one);
    ships_free(&fleet, dead);
    assert_noted(&taken, KOLK_DOUBLE_FREE, "fleet", dead, 0, taken.sentence);
    assert_int_equal(ships_index(&fleet, dead), UINT32_MAX);
    assert_noted(&taken, KOLK_DEAD_OBJECT, "fleet", dead, 0, "kolk: fleet: index of slot 0, which is free");
    assert_int_equal(ships_handle_of(&fleet, dead).untyped.bits, 0);
    assert_noted(&taken, KOLK_DEAD_OBJECT, "fleet", dead, 0, "kolk: fleet: handle of slot 0, which is free");
    assert_true(ships_is_valid(&fleet));
    ships_deinit(&fleet);
    assert_silent(&taken);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_calls_into_the_library, abort_on_failure),
        cmocka_unit_test_teardown(test_misuse_by_calls, abort_on_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
