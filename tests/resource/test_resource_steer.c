/* with: src wraps: resource/resource_clock.h */
/* Calls that act on a whole resource pool: evict, pause, resize, close, deinit. */
#include "../help/debug_test.h"

#include "resource_steps.h"

static void evict_now(void) {
    kolk_resource_evict(&pool);
}

/* promise: "Idle ones are destroyed ... its borrower gets another one" */
static void test_evict(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 3});
    make_idle(2, NULL);
    kolk_borrowed one = borrowed(NULL);
    evict_now();
    assert_valid();
    assert_int_equal(stats().evicted, 1); /* the idle one */
    assert_true(is_there(&one));
    return_it(&one);
    assert_int_equal(stats().evicted, 2);
    next_call_does(CREATE, evict_now); /* its create begins before the evict and ends after it */
    one = borrowed(NULL);
    assert_int_equal(number_of(&one), 4);
    assert_int_equal(stats().evicted, 3);
    return_it(&one);
    end();
}

static void resume_now(void) {
    assert_int_equal(stats().waiting, 1);
    kolk_resource_resume(&pool);
}

/* promise: "no resource is ready ... created for the next borrow", "Between pause ... may come back" */
static void test_pause(void **state) {
    (void)state;
    kolk_borrowed one, used;
    begin((kolk_resource_pool_desc){.max = 2});
    make_idle(1, NULL);
    used = borrowed(NULL);
    kolk_resource_pause(&pool);
    return_it(&used);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
    assert_string_equal(one.error.text, "paused, 0 of 2 in use, 0 being created, 0 waiting");
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_TIMEOUT);
    others_do(resume_now);
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_OK);
    assert_int_equal(f.made, 1);
    return_it(&one);
    end();
}

/* promise: "every borrow that is waiting ... interrupts your functions", "KOLK_OK: no ... reported before" */
static void test_close_waits_for_what_is_lent(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2});
    make_idle(2, NULL);
    other = borrowed(NULL);
    others_do(return_other);
    assert_int_equal(kolk_resource_close(&pool, in(10)), KOLK_OK);
    assert_int_equal(f.calls[DESTROY], 2);
    end();
}

/* promise: "If the pool ... back is a bug, which is reported", "KOLK_OK: no ... reported before" */
static void test_deinit_names_the_holders(void **state) {
    (void)state;
    notes taken;
    begin((kolk_resource_pool_desc){.max = 2});
    other = borrowed(NULL);
    make_idle(1, NULL);
    begin_notes(&taken);
    pass(7);
    kolk_resource_deinit(&pool);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
    assert_non_null(strstr(taken.sentence, "by the test"));
    assert_non_null(strstr(taken.sentence, "after 7 ms"));
    assert_int_equal(f.calls[DESTROY], 1);
    assert_true(is_there(&other)); /* it stays with its borrower */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_evict),
        DEBUG_TEST(test_pause),
        DEBUG_TEST(test_close_waits_for_what_is_lent),
        DEBUG_TEST(test_deinit_names_the_holders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
