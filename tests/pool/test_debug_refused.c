/* The system refuses memory to a pool in debug mode, whose own block needs some too: the n-th call fails, n = 1, 2, 3
 * ... until the operation succeeds; nothing is leaked, the pool is unchanged and valid, and works later. */
#include "../help/debug_test.h"

#include "../help/system_calls.h"

static const struct {
    const char *debug, *bypass;
} modes[] = {{"trace", "0"}, {"fill", "0"}, {"guard", "0"}, {"quarantine=50", "0"}, {"all", "0"}, {NULL, "1"}};

/* The first pool of a process brings the registry's memory; a refusal of that is none of these tests' business. */
static int make_first_pool(void **state) {
    kolk_pool pool;
    plain_environment(state);
    make_pool(&pool, &(kolk_pool_desc){.name = "first", .object_size = 8, .capacity = 1});
    end_pool(&pool);
    return 0;
}

static int plain_again(void **state) {
    refuse(0, false);
    return plain_environment(state);
}

static kolk_pool_desc desc_of(unsigned n, uint32_t capacity, uint32_t max_capacity) {
    unsigned mode = n / 6 % LENGTH_OF(modes);
    kolk_pool_desc desc = shape(n % 6, capacity, max_capacity);
    desc.debug = modes[mode].debug;
    setenv("KOLK_BYPASS", modes[mode].bypass, 1);
    return desc;
}

#define SHAPES (6 * LENGTH_OF(modes))

static void test_init_refused(void **state) {
    (void)state;
    if (address_space() == 0) print_message("no /proc/self/statm of its own: leaks are not looked for\n");
    for (unsigned n = 0; n < SHAPES * 4; n++) {
        kolk_pool_desc desc = desc_of(n, 100, n / SHAPES % 2 ? 5000 : 0);
        for (unsigned nth = 1;; nth++) {
            kolk_pool pool;
            memset(&pool, 0xff, sizeof pool);
            long before = address_space();
            refuse(nth, n / SHAPES / 2);
            kolk_status status = kolk_pool_init(&pool, &desc);
            unsigned calls = os.calls;
            refuse(0, false);
            if (status == KOLK_OK) {
                assert_int_equal(nth, calls + 1);
                assert_true(nth > (debug_flags(&pool) ? 5 : 2)); /* two blocks, or one, and their commits */
                end_pool(&pool);
                assert_int_equal(address_space(), before);
                break;
            }
            assert_int_equal(status, KOLK_NO_MEMORY);
            assert_true(is_all_zero(&pool));
            assert_int_equal(address_space(), before);
        }
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

static void check_refusal(operation *grow, unsigned n, bool for_ever) {
    kolk_pool_desc desc = desc_of(n, 50, 5000);
    for (unsigned nth = 1;; nth++) {
        kolk_pool pool;
        kolk_stats stats;
        make_pool(&pool, &desc);
        for (uint32_t i = 0; i < 50; i++) assert_non_null(stamped(&pool, i));
        kolk_pool before = pool;
        refuse(nth, for_ever);
        bool done = grow(&pool);
        unsigned calls = os.calls;
        refuse(0, false);
        assert_true(kolk_pool_is_valid(&pool));
        for (uint32_t i = 0; i < 50; i++) assert_true(is_stamped(kolk_pool_at(&pool, i), i));
        if (!done) {
            kolk_pool_stats(&pool, &stats);
            assert_int_equal(stats.failed, grow == by_reserve ? 0 : 1);
            pool.failed = 0;
            assert_memory_equal(&pool, &before, sizeof pool); /* nothing else has changed */
            assert_true(grow(&pool));                         /* and now it works */
            assert_true(kolk_pool_is_valid(&pool));
        }
        kolk_pool_clear(&pool); /* so that there are no leaks to list */
        end_pool(&pool);
        if (done && nth == calls + 1) return;
    }
}

static void test_growth_refused(void **state) {
    (void)state;
    operation *operations[] = {by_reserve, by_alloc, by_alloc_at};
    for (size_t i = 0; i < LENGTH_OF(operations); i++)
        for (unsigned n = 0; n < SHAPES * 2; n++) check_refusal(operations[i], n, n / SHAPES);
}

/* Growth comes before those that wait; if it is refused, the oldest of them is used, and no alloc has failed. */
static void test_growth_refused_while_slots_wait(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        kolk_stats stats;
        kolk_pool_desc desc = shape((unsigned)n, 3, 5000);
        desc.debug = "quarantine=2,fill";
        make_pool(&pool, &desc);
        for (uint32_t i = 0; i < 3; i++) assert_int_equal(kolk_pool_index(&pool, taken_from(&pool)), i);
        give_back(&pool, kolk_pool_at(&pool, 1));
        give_back(&pool, kolk_pool_at(&pool, 0));
        refuse(1, true);
        assert_int_equal(kolk_pool_index(&pool, taken_from(&pool)), 1);
        assert_int_equal(kolk_pool_index(&pool, taken_from(&pool)), 0);
        assert_null(kolk_pool_alloc(&pool));
        refuse(0, false);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.failed, 1);
        assert_int_equal(stats.capacity, 3);
        assert_int_equal(kolk_pool_index(&pool, taken_from(&pool)), 3);
        end_pool(&pool);
    }
}

/* Pages that the system keeps although it was asked to take them: what is in them is not verified any more. */
static void test_trim_refused(void **state) {
    (void)state;
    for (unsigned n = 0; n < SHAPES; n++) {
        kolk_pool pool;
        kolk_pool_desc desc = desc_of(n, 100, 0);
        make_pool(&pool, &desc);
        for (uint32_t i = 0; i < 100; i++) assert_non_null(stamped(&pool, i));
        for (uint32_t i = 0; i < 99; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
        refuse(1, true);
        assert_int_equal(kolk_pool_trim(&pool), 0);
        refuse(0, false);
        assert_true(kolk_pool_is_valid(&pool));
        assert_true(is_stamped(kolk_pool_at(&pool, 99), 99));
        for (uint32_t i = 0; i < 99; i++) taken_from(&pool);
        kolk_pool_clear(&pool);
        end_pool(&pool);
    }
}

/* More than there are slots need no room to wait. */
static void test_a_quarantine_that_is_larger_than_the_pool(void **state) {
    (void)state;
    kolk_pool pool;
    long before = address_space();
    make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 3, .debug = "quarantine=4294967295"});
    assert_true(address_space() - before < 64);
    end_pool(&pool);
    assert_int_equal(address_space(), before);
}

#define REFUSED_TEST(name) cmocka_unit_test_setup_teardown(name, plain_environment, plain_again)

int main(void) {
    const struct CMUnitTest tests[] = {
        REFUSED_TEST(test_init_refused),
        REFUSED_TEST(test_growth_refused),
        REFUSED_TEST(test_growth_refused_while_slots_wait),
        REFUSED_TEST(test_trim_refused),
        REFUSED_TEST(test_a_quarantine_that_is_larger_than_the_pool),
    };
    return cmocka_run_group_tests(tests, make_first_pool, NULL);
}
