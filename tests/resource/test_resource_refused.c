/* runs: not:wine wraps: help/system_calls.h pthread_create */
/* The system refuses memory, or a thread, to a resource pool: the n-th call fails, n = 1, 2, 3 ... until the operation
 * succeeds; either that call alone, or it and all later ones. Nothing leaks, the pool is unchanged and valid, and works
 * later. */
#include "../help/system_calls.h"

#include "../help/threads.h"

#define THINGS 256
#include "resource_test.h"

enum { MANY = 250 }; /* of keys, or of resources */

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static bool refuses_threads;
static unsigned threads_asked_for;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    threads_asked_for++;
    return refuses_threads ? EAGAIN : __real_pthread_create(thread, attributes, body, argument);
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static kolk_resource_pool pool;
static factory f;

/* If there are makers, min_idle gives them work. */
static kolk_status init_it(uint32_t max, bool no_housekeeper) {
    memset(&f, 0, sizeof f);
    kolk_resource_pool_desc desc = factory_desc(
        &f, (kolk_resource_pool_desc){
                .name = "refused", .max = max, .min_idle = !no_housekeeper, .no_housekeeper = no_housekeeper});
    memset(&pool, 'x', sizeof pool);
    return kolk_resource_init(&pool, &desc);
}

static void end_it(void) {
    assert_true(kolk_resource_is_valid(&pool));
    kolk_resource_deinit(&pool);
    assert_null(pool.inside);
    assert_int_equal(f.there, 0);
}

static void check_init(bool for_ever, bool no_housekeeper) {
    for (unsigned nth = 1;; nth++) {
        long before = address_space();
        refuse(nth, for_ever);
        kolk_status status = init_it(MANY, no_housekeeper);
        unsigned calls = os.calls;
        refuse(0, false);
        if (status == KOLK_OK) {
            end_it();
            if (nth <= calls) continue; /* a refused call was retried with less */
            assert_true(calls >= 6);    /* the pool, its resources, its keys */
            return;
        }
        assert_int_equal(status, KOLK_NO_MEMORY);
        assert_null(pool.inside);
        assert_int_equal(address_space(), before);
    }
}

/* promise: "Never malloc", "It creates ... left all zero" */
static void test_init(void **state) {
    check_init(false, true);
    check_init(true, true);
    check_init(true, false);
}

static factory of_first;

/* Waits until a maker has done its work. */
static void until_kept(const kolk_resource_pool *kept) {
    while (stats_of(kept).idle == 0) nap();
}

static void test_no_thread(void **state) {
    assert_int_equal(init_it(1, false), KOLK_OK); /* the system keeps the stack of an ended thread */
    end_it();
    long before = address_space();
    refuses_threads = true;
    threads_asked_for = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(init_it(1, false), KOLK_NO_THREAD);
        assert_null(pool.inside);
        assert_int_equal(address_space(), before);
    }
    assert_int_equal(threads_asked_for, 3);
    assert_int_equal(init_it(1, true), KOLK_OK); /* this pool needs no thread */
    assert_int_equal(threads_asked_for, 3);
    end_it();
    refuses_threads = false;
    kolk_resource_pool first;
    make_resources(&first, &of_first, (kolk_resource_pool_desc){.name = "first", .min_idle = 1});
    until_kept(&first);
    refuses_threads = true; /* the existing thread serves all pools */
    assert_int_equal(init_it(1, false), KOLK_OK);
    until_kept(&pool);
    end_it();
    refuses_threads = false;
    kolk_resource_deinit(&first);
    assert_int_equal(of_first.there, 0);
}

/* ---- Borrows ----------------------------------------------------------------------------------------------------- */

static kolk_borrowed borrows[MANY];

/* The memory for max resources is allocated at init. promise: "some 200 bytes per resource, 700 per key" */
static void test_resources_need_no_memory(void **state) {
    static const kolk_deadline deadlines[] = {{0}, {INT64_MAX}};
    for (unsigned n = 0; n < 2; n++) {
        assert_int_equal(init_it(MANY - 20, true), KOLK_OK);
        f.max = MANY;
        refuse(1, true);
        for (unsigned i = 0; i < MANY - 20; i++)
            assert_int_equal(take_thing(&pool, NULL, deadlines[n], &borrows[i]), KOLK_OK);
        assert_int_equal(take_thing(&pool, NULL, KOLK_NOW, &borrows[MANY - 1]), KOLK_FULL);
        assert_int_equal(os.calls, 0);
        refuse(0, false);
        assert_int_equal(kolk_resource_resize(&pool, MANY), KOLK_OK);
        refuse(1, true);
        for (unsigned i = MANY - 20; i < MANY; i++)
            assert_int_equal(take_thing(&pool, NULL, deadlines[n], &borrows[i]), KOLK_OK);
        for (unsigned i = 0; i < MANY; i++) give_thing(&pool, &borrows[i]);
        assert_int_equal(os.calls, 0);
        refuse(0, false);
        end_it();
    }
}

static void test_resize(void **state) {
    for (unsigned nth = 1;; nth++) {
        assert_int_equal(init_it(2, true), KOLK_OK);
        refuse(nth, false);
        kolk_status status = kolk_resource_resize(&pool, KOLK_RESOURCE_MOST);
        unsigned calls = os.calls;
        refuse(0, false);
        assert_int_equal(stats_of(&pool).max, status == KOLK_OK ? KOLK_RESOURCE_MOST : 2);
        f.max = KOLK_RESOURCE_MOST;
        end_it();
        if (status == KOLK_OK && nth == calls + 1) break;
        assert_int_equal(status, KOLK_NO_MEMORY);
    }
}

/* A new key may need memory. */
static void check_keys(unsigned nth, bool for_ever, unsigned *refused_ones) {
    char key[8];
    unsigned lent = 0;
    assert_int_equal(init_it(MANY, true), KOLK_OK);
    refuse(nth, for_ever);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "%u", i);
        kolk_status status = take_thing(&pool, key, KOLK_NOW, &borrows[lent]);
        assert_true(kolk_resource_is_valid(&pool));
        lent += status == KOLK_OK;
        if (status == KOLK_OK) continue;
        assert_int_equal(status, KOLK_NO_MEMORY);
        ++*refused_ones;
        assert_string_equal(borrows[lent].error.text, kolk_status_text(KOLK_NO_MEMORY));
        if (lent == 0) continue;
        snprintf(key, sizeof key, "%u", 0);
        give_thing(&pool, &borrows[0]); /* keys in use, and "", are still served */
        assert_int_equal(take_thing(&pool, key, KOLK_NOW, &borrows[0]), KOLK_OK);
    }
    kolk_borrowed more;
    assert_int_equal(take_thing(&pool, NULL, KOLK_NOW, &more), lent < MANY ? KOLK_OK : KOLK_FULL);
    if (lent < MANY) give_thing(&pool, &more);
    refuse(0, false);
    assert_int_equal(stats_of(&pool).failed, *refused_ones);
    for (unsigned i = 0; i < lent; i++) give_thing(&pool, &borrows[i]);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(key, sizeof key, "%u", i);
        assert_int_equal(take_thing(&pool, key, KOLK_NOW, &borrows[i]), KOLK_OK);
    }
    for (unsigned i = 0; i < MANY; i++) give_thing(&pool, &borrows[i]);
    end_it();
}

static void test_keys(void **state) {
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        unsigned refused_before = 0;
        for (unsigned nth = 1;; nth++) {
            unsigned refused_ones = 0;
            check_keys(nth, for_ever, &refused_ones);
            refused_before += refused_ones;
            if (nth > os.calls && refused_ones == 0) break;
            assert_true(nth < 100);
        }
        assert_true(!for_ever || refused_before > 0);
    }
}

static int set_up(void **state) {
    setenv("KOLK_BYPASS", "0", 1);
    return list_a_pool(state);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_init, accept_again),
        cmocka_unit_test_teardown(test_no_thread, accept_again),
        cmocka_unit_test_teardown(test_resources_need_no_memory, accept_again),
        cmocka_unit_test_teardown(test_resize, accept_again),
        cmocka_unit_test_teardown(test_keys, accept_again),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
