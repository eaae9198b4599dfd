/* runs: sample:clang */
/* The debug setting `quarantine`: which slots wait, and which one is used next. (What takes slots out of quarantine:
 * test_pool_model.c.) */
#include "../help/debug_test.h"

#define assert_slots(pool, ...)                                                                                        \
    do {                                                                                                               \
        const uint32_t expected_[] = {__VA_ARGS__};                                                                    \
        for (size_t i_ = 0; i_ < LENGTH_OF(expected_); i_++)                                                           \
            assert_int_equal(kolk_pool_index(pool, taken_from(pool)), expected_[i_]);                                  \
    } while (0)

/* promise: base.h "the 64 slots freed last are not used again" */
static void test_the_last_ones_wait(void **state) {
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_pool(&pool,
                  &(kolk_pool_desc){.object_size = 8, .capacity = 9, .reuse = orders[n], .debug = "quarantine=3"});
        assert_slots(&pool, 0, 1, 2, 3, 4, 5, 6, 7, 8);
        const uint32_t freed[] = {4, 2, 7, 1, 5, 0};
        for (size_t i = 0; i < LENGTH_OF(freed); i++) give_back(&pool, kolk_pool_at(&pool, freed[i]));
        assert_int_equal(kolk_pool_count(&pool), 3);
        assert_int_equal(kolk_pool_available(&pool), 6);
        /* 1, 5 and 0 are in quarantine; 4, 2 and 7 have left it and follow the pool's order */
        if (orders[n] == KOLK_REUSE_LIFO) assert_slots(&pool, 7, 2, 4);
        if (orders[n] == KOLK_REUSE_FIFO) assert_slots(&pool, 4, 2, 7);
        if (orders[n] == KOLK_REUSE_LOWEST) assert_slots(&pool, 2, 4, 7);
        assert_slots(&pool, 1, 5, 0); /* the pool has no other slots, so it takes these, the oldest first */
        assert_null(kolk_pool_alloc(&pool));
        kolk_stats stats;
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.peak, 9);
        assert_int_equal(stats.count, 9);
        end_pool(&pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {DEBUG_TEST(test_the_last_ones_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
