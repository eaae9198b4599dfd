/* The system refuses: the n-th call fails, n = 1, 2, 3 ... until the operation succeeds, once and for ever; the pool is
 * unchanged and valid. */
#include "../help/test.h"

#include "../help/system_calls.h"

static void test_init_refused(void **state) {
    (void)state;
    for (unsigned n = 0; n < 6 * 2 * 2; n++) {
        kolk_pool_desc desc = shape(n % 6, 100, n / 6 % 2 ? 5000 : 0);
        for (unsigned nth = 1;; nth++) {
            kolk_pool pool;
            memset(&pool, 0xff, sizeof pool);
            refuse(nth, n / 12);
            kolk_status status = kolk_pool_init(&pool, &desc);
            unsigned calls = os.calls;
            refuse(0, false);
            if (status == KOLK_OK) {
                assert_true(nth == calls + 1 && nth > 2); /* reserve, and at least one commit */
                kolk_pool_deinit(&pool);
                break;
            }
            assert_int_equal(status, KOLK_NO_MEMORY);
            assert_true(is_all_zero(&pool));
        }
    }
}

/* A pool on the caller's memory asks the system for nothing. */
static void test_nothing_to_refuse(void **state) {
    (void)state;
    static _Alignas(16) unsigned char memory[KOLK_POOL_BYTES(OBJECT, 8, 9)];
    for (unsigned n = 0; n < 6; n++) {
        kolk_pool pool;
        kolk_pool_desc desc = shape(n, 9, 0);
        desc.memory = memory;
        desc.memory_size = sizeof memory;
        refuse(1, true);
        make_pool(&pool, &desc);
        for (uint32_t i = 0; i < 9; i++) assert_non_null(stamped(&pool, i));
        assert_null(kolk_pool_alloc(&pool));
        kolk_pool_clear(&pool);
        assert_int_equal(kolk_pool_trim(&pool), 0);
        kolk_pool_deinit(&pool);
        assert_int_equal(os.calls, 0);
    }
}

/* One operation that needs more memory. */
typedef bool operation(kolk_pool *pool);

static bool by_reserve(kolk_pool *pool) {
    return kolk_pool_reserve(pool, 3000) == KOLK_OK;
}

static bool by_alloc(kolk_pool *pool) {
    return kolk_pool_alloc(pool) != NULL;
}

static bool by_alloc_at(kolk_pool *pool) {
    return kolk_pool_alloc_at(pool, kolk_handle_unpack(UINT64_C(5) << 32 | (2000 ^ pool->tag))) != NULL;
}

static void grow_refused(operation *grow, unsigned n, bool for_ever) {
    kolk_pool_desc desc = shape(n, 50, 5000);
    kolk_stats stats;
    for (unsigned nth = 1;; nth++) {
        kolk_pool pool;
        make_pool(&pool, &desc);
        for (uint32_t i = 0; i < 50; i++) assert_non_null(stamped(&pool, i));
        kolk_pool before = pool;
        refuse(nth, for_ever);
        bool done = grow(&pool);
        unsigned calls = os.calls;
        refuse(0, false);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_stats(&pool, &stats);
        for (uint32_t i = 0; i < 50; i++) assert_true(is_stamped(kolk_pool_at(&pool, i), i));
        if (done && nth == calls + 1) {
            kolk_pool_deinit(&pool);
            return;
        }
        if (done) { /* it has asked for less, once more */
            assert_true(!for_ever && pool.capacity >= 51);
        } else {
            assert_int_equal(stats.failed, grow == by_reserve ? 0 : 1);
            pool.failed = 0;
            assert_memory_equal(&pool, &before, sizeof pool); /* nothing else has changed */
            assert_true(grow(&pool));                         /* and now it works */
            assert_true(kolk_pool_is_valid(&pool));
        }
        kolk_pool_deinit(&pool);
    }
}

static void test_growth_refused(void **state) {
    (void)state;
    operation *operations[] = {by_reserve, by_alloc, by_alloc_at};
    for (size_t i = 0; i < LENGTH_OF(operations); i++)
        for (unsigned n = 0; n < 6; n++) {
            grow_refused(operations[i], n, false);
            grow_refused(operations[i], n, true);
        }
}

/* Memory for one slot more, but not for twice as many: the pool takes what it gets. */
static void test_growth_takes_what_it_gets(void **state) {
    (void)state;
    kolk_pool pool;
    kolk_pool_desc desc = shape(0, 50, 5000);
    make_pool(&pool, &desc);
    for (uint32_t i = 0; i < 50; i++) assert_non_null(stamped(&pool, i));
    refuse(1, false);
    assert_non_null(stamped(&pool, 50));
    assert_int_equal(pool.capacity, 51);
    refuse(0, false);
    assert_non_null(stamped(&pool, 51));
    assert_true(pool.capacity > 60);
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
}

static void test_trim_refused(void **state) {
    (void)state;
    for (unsigned n = 0; n < 6; n++) {
        for (unsigned nth = 1; nth <= 2; nth++) {
            kolk_pool pool;
            kolk_pool_desc desc = shape(n, 100, 0);
            make_pool(&pool, &desc);
            for (uint32_t i = 0; i < 100; i++) assert_non_null(stamped(&pool, i));
            for (uint32_t i = 1; i < 100; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
            size_t before = resident(&pool), page = (size_t)sysconf(_SC_PAGESIZE);
            refuse(nth, true);
            os.only_mincore = nth == 1;
            size_t bytes = kolk_pool_trim(&pool);
            refuse(0, false);
            size_t whole_pages = 100 * OBJECT / page * page - page;
            if (nth == 1) { /* the system does not tell what was resident: all whole pages count */
                assert_int_equal(bytes, whole_pages);
                assert_int_equal(before - resident(&pool), whole_pages);
            } else { /* it takes nothing back */
                assert_int_equal(bytes, 0);
                assert_int_equal(resident(&pool), before);
            }
            assert_true(kolk_pool_is_valid(&pool));
            assert_true(is_stamped(kolk_pool_at(&pool, 0), 0));
            for (uint32_t i = 1; i < 100; i++) assert_non_null(stamped(&pool, i));
            kolk_pool_deinit(&pool);
        }
    }
}

/* The other sentence of trap_full. */
static void test_trap_full_when_memory_is_refused(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    kolk_pool_desc desc = shape(0, 2, 100);
    desc.on_full = kolk_pool_trap_full;
    make_pool(&pool, &desc);
    begin_notes(&taken);
    assert_non_null(stamped(&pool, 0));
    assert_non_null(stamped(&pool, 1));
    assert_silent(&taken);
    refuse(1, true);
    assert_null(stamped(&pool, 2));
    assert_noted(&taken, KOLK_FULL, "refused", NULL, NO_SLOT,
                 "kolk: refused: full: all 2 slots are in use, and the system gives no memory for more");
    refuse(0, false);
    assert_non_null(stamped(&pool, 2));
    assert_silent(&taken);
    kolk_pool_deinit(&pool);
}

static void reserve_and_alloc(kolk_pool *pool, void *context) {
    refuse(0, false);
    assert_int_equal(kolk_pool_reserve(pool, 4), KOLK_OK);
    *(void **)context = kolk_pool_alloc(pool);
}

/* After this hook more are alive than before it, which is no eviction. */
static void test_a_hook_that_finds_memory_and_uses_it(void **state) {
    (void)state;
    for (unsigned n = 0; n < 6; n++) {
        kolk_pool pool;
        kolk_stats stats;
        void *given = NULL;
        kolk_pool_desc desc = shape(n, 2, 100);
        desc.on_full = reserve_and_alloc;
        desc.context = &given;
        make_pool(&pool, &desc);
        assert_non_null(stamped(&pool, 0));
        assert_non_null(stamped(&pool, 1));
        refuse(1, true);
        void *object = stamped(&pool, 3);
        assert_non_null(given);
        assert_non_null(object);
        assert_ptr_not_equal(object, given);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.count, 4);
        assert_int_equal(stats.evictions, 0);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, accept_again)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_init_refused),
        TEST(test_nothing_to_refuse),
        TEST(test_growth_refused),
        TEST(test_growth_takes_what_it_gets),
        TEST(test_trim_refused),
        TEST(test_trap_full_when_memory_is_refused),
        TEST(test_a_hook_that_finds_memory_and_uses_it),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
