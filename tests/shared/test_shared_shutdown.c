/* Tests the end of waits for objects of a shared pool, by shutdown and reopen, and the statistics of waiters. All
 * orders of the steps are tested in test_shared_wait_schedules.c. */
#include "../help/child.h"
#include "../help/threads.h"

#include "shared_test.h"

enum { SLEEPERS = 4 };

typedef struct thing {
    uint64_t number;
} thing;

KOLK_SHARED_TYPE(things, thing)

typedef struct sleeper {
    things *pool;
    thing *object;
    kolk_deadline deadline;
    pthread_t thread;
} sleeper;

static kolk_stats stats_of(const things *pool) {
    kolk_stats stats;
    things_stats(pool, &stats);
    return stats;
}

static void *sleep_for_one(void *argument) {
    sleeper *me = (sleeper *)argument;
    things_local local;
    REQUIRE(things_local_init(&local, me->pool) == KOLK_OK);
    me->object = things_alloc_wait(&local, me->deadline);
    things_local_deinit(&local);
    return NULL;
}

static void start_sleeper(sleeper *one, things *pool) {
    uint32_t before = stats_of(pool).waiting;
    *one = (sleeper){.pool = pool, .deadline = KOLK_FOREVER};
    assert_int_equal(pthread_create(&one->thread, NULL, sleep_for_one, one), 0);
    while (stats_of(pool).waiting == before) nap();
}

static thing *woken(sleeper *one) {
    assert_int_equal(pthread_join(one->thread, NULL), 0);
    return one->object;
}

/* Makes a pool of one object, which the local holds. */
static thing *make_full(things *pool, things_local *local) {
    assert_int_equal(things_init(pool, &(kolk_shared_desc){.name = "things", .capacity = 1, .max_threads = 9}),
                     KOLK_OK);
    assert_int_equal(things_local_init(local, pool), KOLK_OK);
    thing *object = things_alloc(local);
    assert_non_null(object);
    return object;
}

static void nobody_waits_here(void *pool) {
    REQUIRE(stats_of((things *)pool).waiting == 0);
}

/* The child of a fork has none of its parent's waiters. */
static void test_nobody_waits_in_a_child(void **state) {
    (void)state;
    skip_on_windows(); /* no forks */
    things pool;
    things_local local;
    sleeper one;
    char text[300];
    thing *object = make_full(&pool, &local);
    start_sleeper(&one, &pool);
    int status = run_child(nobody_waits_here, &pool, text, sizeof text);
    if (status != 0) fail_msg("%s", text);
    assert_int_equal(stats_of(&pool).waiting, 1);
    things_free(&local, object);
    things_free(&local, woken(&one));
    things_deinit(&pool);
}

/* promise: "every alloc_wait ... still work", "`capacity` and `max_capacity` ... calls that have waited" */
static void test_all_who_wait_are_woken(void **state) {
    (void)state;
    things pool;
    things_local local;
    sleeper sleepers[SLEEPERS];
    thing *object = make_full(&pool, &local);
    assert_int_equal(stats_of(&pool).waits, 0);
    for (int i = 0; i < SLEEPERS; i++) start_sleeper(&sleepers[i], &pool);
    assert_int_equal(stats_of(&pool).waiting, SLEEPERS);
    EVENTUALLY(stats_of(&pool).waits == SLEEPERS); /* counted a moment later than `waiting` */
    things_shutdown(&pool);
    assert_int_equal(stats_of(&pool).waiting, 0);
    for (int i = 0; i < SLEEPERS; i++) assert_null(woken(&sleepers[i]));
    assert_int_equal(stats_of(&pool).failed, 0); /* these NULLs are not counted as failures of a full pool */
    things_free(&local, object);
    things_deinit(&pool);
}

static void test_what_goes_on(void **state) {
    (void)state;
    things pool;
    things_local local;
    thing *object = make_full(&pool, &local);
    for (int i = 0; i < 2; i++) things_shutdown(&pool);
    assert_null(things_alloc_wait(&local, KOLK_FOREVER));
    things_free(&local, object);
    assert_null(things_alloc_wait(&local, KOLK_FOREVER)); /* NULL even though an object is free */
    assert_null(things_alloc_wait(&local, kolk_deadline_after(100000)));
    object = things_alloc_wait(&local, KOLK_NOW); /* KOLK_NOW does not wait */
    assert_non_null(object);
    assert_int_equal(stats_of(&pool).failed, 0);
    assert_null(things_alloc(&local));
    assert_int_equal(stats_of(&pool).failed, 1);
    things_free(&local, object);
    object = things_alloc(&local);
    assert_non_null(object);
    things_free_later(&local, object);
    for (int i = 0; i < 3; i++) things_quiesce(&local);
    assert_non_null(things_alloc(&local));
    assert_int_equal(stats_of(&pool).waits, 0);
    things_deinit(&pool);
}

/* promise: "Undoes a shutdown ... still returns NULL" */
static void test_reopen(void **state) {
    (void)state;
    things pool;
    things_local local;
    sleeper one;
    thing *object = make_full(&pool, &local);
    for (int i = 0; i < 20; i++) {
        start_sleeper(&one, &pool);
        things_shutdown(&pool);
        things_reopen(&pool);
        things_free(&local, object); /* the sleeper was a waiter at the shutdown, however late it runs */
        assert_null(woken(&one));
        assert_non_null(object = things_alloc_wait(&local, KOLK_FOREVER));
        start_sleeper(&one, &pool);
        things_free(&local, object);
        assert_non_null(object = woken(&one));
    }
    assert_int_equal(stats_of(&pool).waits, 40);
    things_deinit(&pool);
}

static void test_the_all_zero_pool(void **state) {
    (void)state;
    kolk_shared pool;
    memset(&pool, 0, sizeof pool);
    kolk_shared_shutdown(&pool);
    kolk_shared_reopen(&pool);
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_waits_in_a_child),
        cmocka_unit_test(test_all_who_wait_are_woken),
        cmocka_unit_test(test_what_goes_on),
        cmocka_unit_test(test_reopen),
        cmocka_unit_test(test_the_all_zero_pool),
    };
    END_IF_IT_HANGS();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
