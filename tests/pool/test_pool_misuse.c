/* Misuse that is possible only with the core pool. Mistakes common to all kinds are in contracts/test_all_misuse.c. */
#include "../help/test.h"

#define SIZE 24

/* No O(1) check can find this mistake without a handle: the slot is alive again, and the stale pointer equals the new
 * one. promise: README.md "its handle gives NULL", "double free of a slot that is in use again" */
static void test_free_after_reuse_is_not_seen_by_pointer_but_by_handle(void **state) {
    kolk_pool pool;
    notes taken;
    make_pool(&pool, &(kolk_pool_desc){.name = "bullets", .object_size = SIZE, .capacity = 5});
    begin_notes(&taken);
    void *object = kolk_pool_alloc(&pool);
    kolk_handle handle = kolk_pool_handle_of(&pool, object);
    kolk_pool_free(&pool, object);
    void *again = kolk_pool_alloc(&pool);
    assert_ptr_equal(again, object);
    assert_false(kolk_pool_free_handle(&pool, handle)); /* the stale handle frees nothing */
    assert_true(kolk_pool_is_live(&pool, again));
    kolk_pool_free(&pool, object); /* the stale pointer frees the new object */
    assert_false(kolk_pool_is_live(&pool, again));
    assert_silent(&taken);
    kolk_pool_deinit(&pool);
}

static void test_alloc_at_of_bad_handles(void **state) {
    kolk_pool pool, other;
    make_pool(&pool, &(kolk_pool_desc){.name = "bullets", .object_size = SIZE, .capacity = 5});
    make_pool(&other, &(kolk_pool_desc){.name = "other", .object_size = SIZE, .capacity = 5});
    kolk_handle foreign = kolk_pool_handle_of(&other, kolk_pool_alloc(&other));
    assert_null(kolk_pool_alloc_at(&pool, foreign));
    assert_null(kolk_pool_alloc_at(&pool, (kolk_handle){0}));
    assert_int_equal(kolk_pool_count(&pool), 0);
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
    kolk_pool_deinit(&other);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_free_after_reuse_is_not_seen_by_pointer_but_by_handle),
        TEST(test_alloc_at_of_bad_handles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
