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

static bool is_key_a(const char *key, const void *resource, bool in_use, void *context) {
    assert_int_not_equal(((const thing *)resource)->place, NOWHERE);
    ((unsigned *)context)[in_use]++;
    return strcmp(key, "a") == 0;
}

/* promise: "The same for each ... resources that are being created" */
static void test_evict_by_a_predicate(void **state) {
    (void)state;
    unsigned asked[2] = {0, 0};
    begin((kolk_resource_pool_desc){.max = 4});
    kolk_borrowed a = borrowed("a"), b = borrowed("b");
    make_idle(1, "c");
    kolk_borrowed second = borrowed("a");
    return_it(&second);
    assert_int_equal(kolk_resource_evict_if(&pool, is_key_a, asked), 2);
    assert_valid();
    assert_int_equal(asked[0], 2);
    assert_int_equal(asked[1], 2);
    assert_int_equal(stats().evicted, 1);
    return_it(&a);
    return_it(&b);
    assert_int_equal(stats().evicted, 2);
    assert_int_equal(stats().idle, 2);
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

/* promise: "Surplus resources ... min_idle, or KOLK_NO_MEMORY" */
static void test_resize(void **state) {
    (void)state;
    kolk_borrowed all[4], one;
    begin((kolk_resource_pool_desc){.max = 2, .min_idle = 1});
    all[0] = borrowed(NULL);
    all[1] = borrowed(NULL);
    f.max = 4;
    assert_int_equal(kolk_resource_resize(&pool, 4), KOLK_OK);
    all[2] = borrowed(NULL);
    all[3] = borrowed(NULL);
    return_it(&all[3]);
    assert_int_equal(kolk_resource_resize(&pool, 0), KOLK_BAD_MAX);
    assert_int_equal(kolk_resource_resize(&pool, KOLK_RESOURCE_MOST + 1), KOLK_BAD_MAX);
    assert_int_equal(kolk_resource_resize(&pool, 1), KOLK_OK);
    assert_valid();
    assert_int_equal(stats().idle, 0);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
    return_it(&all[0]);
    return_it(&all[1]);
    assert_int_equal(f.calls[DESTROY], 3);
    return_it(&all[2]);
    assert_int_equal(f.calls[DESTROY], 3);
    end();
}

static void close_now(void) {
    notes taken;
    begin_notes(&taken);
    assert_int_equal(kolk_resource_close(&pool, KOLK_NOW), KOLK_TIMEOUT);
    assert_int_equal(taken.count, 1);
}

static void test_close_turns_waiters_away(void **state) {
    (void)state;
    kolk_borrowed one;
    begin((kolk_resource_pool_desc){.max = 1});
    other = borrowed(NULL);
    others_do(close_now);
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_CLOSED);
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_CLOSED);
    notes taken;
    begin_notes(&taken);
    return_it(&other); /* this does not reopen the pool */
    assert_int_equal(taken.count, 1);
    assert_int_equal(stats().closed, 1);
    assert_int_equal(stats().idle, 0);
    assert_int_equal(kolk_resource_close(&pool, KOLK_NOW), KOLK_OK);
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

static void close_in_reset(void) {
    assert_int_equal(kolk_resource_close(&pool, KOLK_NOW), KOLK_TIMEOUT);
}

/* A resource that is being reset during close does not reopen the pool. */
static void test_close_while_a_resource_is_reset(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .reset = reset_thing});
    kolk_borrowed one = borrowed(NULL);
    next_call_does(RESET, close_in_reset);
    return_it(&one);
    assert_int_equal(stats().closed, 1);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_CLOSED);
    end();
}

static void evict_in_reset(void) {
    kolk_resource_evict(&pool);
}

/* After reset, the pool's state is checked again. */
static void test_evict_while_a_resource_is_reset(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .reset = reset_thing});
    kolk_borrowed one = borrowed(NULL);
    next_call_does(RESET, evict_in_reset);
    return_it(&one);
    assert_int_equal(stats().evicted, 1);
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
        DEBUG_TEST(test_evict_by_a_predicate),
        DEBUG_TEST(test_pause),
        DEBUG_TEST(test_resize),
        DEBUG_TEST(test_close_turns_waiters_away),
        DEBUG_TEST(test_close_waits_for_what_is_lent),
        DEBUG_TEST(test_close_while_a_resource_is_reset),
        DEBUG_TEST(test_evict_while_a_resource_is_reset),
        DEBUG_TEST(test_deinit_names_the_holders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
