/* with: src wraps: resource/resource_clock.h */
/* A maker's work for a resource pool, done by kolk_resource_tick: each of its time limits, on the scripted clock. */
#include "../help/debug_test.h"

#include "resource/resource_inside.h"

#include "resource_steps.h"

/* A successful create ends the backoff: the pause after the next failure is at most 10 ms again. */
static void test_backoff_begins_anew(void **state) {
    int64_t longest = 0;
    begin((kolk_resource_pool_desc){.max = 1, .min_idle = 1});
    for (int i = 0; i < 20; i++) {
        script_failures(&f, CREATE, 1);
        tick();
        int64_t pause = pool.inside->no_key->retry_at - clock_ns;
        assert_in_range(pause, 1, 10 * MS);
        if (i > 0 && longest < pause) longest = pause;
        clock_ns += pause;
        tick();
        kolk_borrowed one = borrowed(NULL);
        discard_it(&one);
    }
    assert_int_equal(f.made, 20);
    assert_true(longest > MS);
    end();
}

static void test_times_beyond_the_clock_are_never(void **state) {
    const int64_t never = INT64_MAX / MS;
    begin((kolk_resource_pool_desc){.max = 2,
                                    .validate = validate_thing,
                                    .idle_timeout_ms = never,
                                    .max_lifetime_ms = never,
                                    .keepalive_ms = never,
                                    .validate_after_ms = never,
                                    .leak_after_ms = never});
    make_idle(2, NULL);
    kolk_borrowed one = borrowed(NULL);
    pass(INT64_C(100) * 365 * 24 * 3600 * 1000);
    tick();
    return_it(&one);
    make_idle(2, NULL);
    assert_int_equal(f.made, 2);
    assert_int_equal(f.calls[VALIDATE], 0);
    end();
}

static const char *failing_key;

static bool create_all_but_one(void *context, const char *key, kolk_deadline deadline, void **resource,
                               kolk_error *error) {
    if (strcmp(key, failing_key) != 0) return create_thing(context, key, deadline, resource, error);
    snprintf(error->text, sizeof error->text, "never");
    return false;
}

/* Failing creates for min_idle do not delay an event loop's key, nor vice versa. */
static void test_a_key_that_fails_stops_no_other(void **state) {
    skip_on_windows(); /* no descriptors */
    static const char *const failing[] = {"", "a"};
    kolk_borrowed one;
    for (size_t i = 0; i < LENGTH_OF(failing); i++) {
        failing_key = failing[i];
        memset(&f, 0, sizeof f);
        kolk_resource_pool_desc desc = factory_desc(&f, (kolk_resource_pool_desc){.max = 4, .min_idle = 1});
        desc.create = create_all_but_one;
        desc.no_housekeeper = true;
        assert_int_equal(kolk_resource_init(&pool, &desc), KOLK_OK);
        assert_true(kolk_resource_fd(&pool) >= 0);
        for (int tries = 0; tries < 3; tries++) {
            borrow_for("a", KOLK_NOW, &one);
            if (one.resource) return_it(&one);
            tick();
            pass(5000);
        }
        assert_int_equal(f.made, 1);
        end();
    }
}

/* promise: "A borrow that lasts ... thread has ended", "destroys resources ... does one step" */
static void test_leaks(void **state) {
    skip_on_windows(); /* sites have no names there */
    notes taken;
    begin((kolk_resource_pool_desc){.max = 1, .leak_after_ms = 2000});
    kolk_borrowed one = borrowed(NULL);
    begin_notes(&taken);
    pass(1999);
    tick();
    assert_silent(&taken);
    pass(1);
    tick();
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
    assert_int_equal(taken.last.count, 1);
    assert_ptr_equal(taken.last.object, one.resource);
    const char *by = "kolk: db: a resource that was borrowed by the test in thread test_resource";
    if (!emulator()) assert_non_null(strstr(taken.sentence, by)); /* an emulator's own threads have other names */
    assert_non_null(strstr(taken.sentence, " is not given back after 2000 ms"));
    tick();
    assert_int_equal(taken.count, 1); /* reported once */
    pass(500);
    return_it(&one);
    assert_int_equal(taken.count, 2);
    assert_int_equal(taken.last.count, 0);
    assert_non_null(strstr(taken.sentence, " is given back now, after 2500 ms"));
    one = borrowed(NULL);
    return_it(&one);
    assert_int_equal(taken.count, 2);
    one = borrowed(NULL);
    pass(2000);
    tick();
    assert_int_equal(taken.count, 3);
    detach_thing(&pool, &one);
    assert_int_equal(taken.count, 4);
    assert_non_null(strstr(taken.sentence, " is taken out of the pool now, after 2000 ms"));
    assert_int_equal(stats().leaks, 2);
    kolk_resource_deinit(&pool);
}

/* A maker looks again after an eighth of the shortest time limit, but at least 10 ms and at most 30 s, or when it may
 * create again after a failure. */
static void test_the_next_look(void **state) {
    const struct {
        int64_t idle_ms, lifetime_ms, keepalive_ms, leak_ms, look_ms;
    } all[] = {{0, 0, 0, 0, 30000},      {8000, 0, 0, 0, 1000},   {9000, 8000, 0, 0, 1000}, {9000, 0, 8000, 0, 1000},
               {9000, 0, 0, 8000, 1000}, {-1, -1, -1, -1, 30000}, {88, 0, 0, 0, 11},        {79, 0, 0, 0, 10}};
    for (size_t i = 0; i < LENGTH_OF(all); i++) {
        begin((kolk_resource_pool_desc){.max = 1,
                                        .idle_timeout_ms = all[i].idle_ms,
                                        .max_lifetime_ms = all[i].lifetime_ms,
                                        .keepalive_ms = all[i].keepalive_ms,
                                        .leak_after_ms = all[i].leak_ms});
        tick();
        kolk_borrowed one = borrowed(NULL);
        discard_it(&one); /* no resource is missing then */
        assert_int_equal(pool.inside->chore.due, clock_ns + all[i].look_ms * MS);
        end();
    }
    begin((kolk_resource_pool_desc){.max = 1, .min_idle = 1, .idle_timeout_ms = 80});
    f.always[CREATE].fails = true;
    bool retries = false, looks_before = false;
    for (int i = 0; i < 100; i++) {
        tick(); /* may create; then due immediately, because an entry was freed */
        tick();
        int64_t due = pool.inside->chore.due, retry_at = pool.inside->no_key->retry_at;
        assert_int_equal(due, retry_at < clock_ns + 10 * MS ? retry_at : clock_ns + 10 * MS);
        *(due == retry_at ? &retries : &looks_before) = true;
        clock_ns = due;
    }
    assert_true(retries);
    assert_true(looks_before);
    f.always[CREATE].fails = false;
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_backoff_begins_anew),
        DEBUG_TEST(test_times_beyond_the_clock_are_never),
        DEBUG_TEST(test_a_key_that_fails_stops_no_other),
        DEBUG_TEST(test_leaks),
        DEBUG_TEST(test_the_next_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
