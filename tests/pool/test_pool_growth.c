/* runs: not:wine wraps: help/system_calls.h */
/* Growing pools: addresses that never change, reserve, and trim, measured by resident memory. */
#include "../help/test.h"

#include "../help/system_calls.h"

/* ---- Growth ------------------------------------------------------------------------------------------------------ */

/* promise: "the pool can grow to this; 0", "the pool grows ... ever changes"; README.md "Objects never move ...
 * Pointers stay valid", "Objects have no header" */
static void test_objects_never_move(void **state) {
    enum { N = 5000 };
    static void *objects[N];
    static kolk_handle handles[N];
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_stats stats, before = {0};
        unsigned steps = 0;
        make_pool(&pool, &(kolk_pool_desc){.object_size = OBJECT, .max_capacity = N, .reuse = orders[i]});
        const unsigned char *slots = pool.slots;
        for (uint32_t n = 0; n < N; n++) {
            objects[n] = stamped(&pool, n);
            assert_ptr_equal(objects[n], slots + (size_t)n * OBJECT);
            handles[n] = kolk_pool_handle_of(&pool, objects[n]);
            kolk_pool_stats(&pool, &stats);
            if (stats.capacity == before.capacity) continue;
            assert_true(stats.capacity > n && stats.capacity <= N);
            assert_true(stats.bytes_committed > before.bytes_committed);
            assert_true(stats.bytes_committed <= stats.bytes_reserved);
            assert_true(kolk_pool_is_valid(&pool));
            before = stats;
            steps++;
        }
        assert_true(steps > 3 && steps < 20);
        assert_null(stamped(&pool, N));
        assert_true(stats.bytes_reserved > (uint64_t)N * OBJECT);
        for (uint32_t n = 0; n < N; n++) {
            assert_true(is_stamped(objects[n], n));
            assert_ptr_equal(kolk_pool_get(&pool, handles[n]), objects[n]);
        }
        kolk_pool_deinit(&pool);
    }
}

/* Objects larger than the first step of growth. */
static void test_growth_by_large_objects(void **state) {
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.object_size = 100000, .max_capacity = 7});
    for (uint32_t n = 0; n < 7; n++) {
        unsigned char *object = (unsigned char *)kolk_pool_alloc(&pool);
        object[99999] = (unsigned char)n;
        assert_true(pool.capacity <= 2 * n + 1); /* it doubles at most */
    }
    assert_int_equal(pool.capacity, 7);
    kolk_pool_deinit(&pool);
}

/* (Of a ring that goes round: test_pool_model.c.) promise: "Raises the capacity ... nothing has changed" */
static void test_reserve(void **state) {
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make_pool(&pool,
                  &(kolk_pool_desc){.object_size = OBJECT, .capacity = 10, .max_capacity = 1000, .reuse = orders[i]});
        assert_int_equal(kolk_pool_reserve(&pool, 5), KOLK_OK);
        assert_int_equal(pool.capacity, 10);
        kolk_pool before = pool;
        assert_int_equal(kolk_pool_reserve(&pool, 1001), KOLK_ABOVE_MAX);
        assert_memory_equal(&before, &pool, sizeof pool);
        assert_int_equal(kolk_pool_reserve(&pool, 700), KOLK_OK);
        assert_int_equal(kolk_pool_available(&pool), 700);
        refuse(0, false);
        for (uint32_t n = 0; n < 700; n++) assert_non_null(stamped(&pool, n));
        assert_int_equal(os.calls, 0); /* reserve has already made all system calls */
        assert_non_null(stamped(&pool, 700));
        assert_true(os.calls > 0);
        assert_int_equal(kolk_pool_reserve(&pool, 1000), KOLK_OK);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);

        make_pool(&pool, &(kolk_pool_desc){.object_size = OBJECT, .capacity = 10, .reuse = orders[i]});
        assert_int_equal(kolk_pool_reserve(&pool, 10), KOLK_OK);
        assert_int_equal(kolk_pool_reserve(&pool, 11), KOLK_ABOVE_MAX);
        kolk_pool_deinit(&pool);
    }
}

/* ---- Trim -------------------------------------------------------------------------------------------------------- */

/* promise: "Releases whole ... budget no longer", "setup hook that could make the contents again" */
static void test_trim_gives_memory_back(void **state) {
    enum { N = 20000 };
    for (unsigned i = 0; i < 6; i++) { /* each order of reuse, fixed and growing */
        kolk_pool pool;
        kolk_pool_desc desc = {.object_size = OBJECT, .capacity = N, .reuse = orders[i % 3]};
        if (i >= 3) desc.capacity = 0, desc.max_capacity = N;
        make_pool(&pool, &desc);
        assert_int_equal(kolk_pool_trim(&pool), 0);
        kolk_handle kept[4];
        for (uint32_t n = 0; n < N; n++) {
            void *object = stamped(&pool, n);
            if (n % 5000 == 4999) kept[n / 5000] = kolk_pool_handle_of(&pool, object);
        }
        size_t full = resident(&pool);
        assert_true(full >= (size_t)N * OBJECT);
        assert_int_equal(kolk_pool_trim(&pool), 0); /* all objects are alive */
        for (uint32_t n = 0; n < N; n++)
            if (n % 5000 != 4999) kolk_pool_free(&pool, kolk_pool_at(&pool, n));
        assert_int_equal(resident(&pool), full); /* free returns no memory to the system */
        size_t given_back = kolk_pool_trim(&pool), left = resident(&pool);
        assert_int_equal(given_back, full - left); /* the returned size is right */
        assert_true(left <= 4 * 2 * (size_t)sysconf(_SC_PAGESIZE));
        assert_int_equal(kolk_pool_trim(&pool), 0);
        assert_int_equal(pool.capacity, N);
        for (uint32_t n = 0; n < 4; n++) {
            const void *object = kolk_pool_get(&pool, kept[n]);
            assert_non_null(object);
            assert_true(is_stamped(object, n * 5000 + 4999));
        }
        assert_true(kolk_pool_is_valid(&pool));
        for (uint32_t n = 0; n < N - 4; n++) { /* after a trim LIFO uses low slots first, as LOWEST does */
            void *object = stamped(&pool, n);
            assert_non_null(object);
            if (orders[i % 3] != KOLK_REUSE_FIFO) assert_true(kolk_pool_index(&pool, object) == n + n / 4999);
        }
        assert_null(stamped(&pool, 0));
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

/* trim also returns a last page whose end holds slots that were never handed out. */
static void test_trim_gives_the_last_page_back(void **state) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t slots = (uint32_t)(page / OBJECT);
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.object_size = OBJECT, .capacity = 3 * slots});
    for (uint32_t n = 0; n < slots + slots / 2; n++) assert_non_null(stamped(&pool, n));
    kolk_pool_clear(&pool);
    assert_int_equal(kolk_pool_trim(&pool), 2 * page); /* the third page was never touched */
    kolk_pool_deinit(&pool);
}

/* Returns whether the byte can be read, without touching it. */
static bool is_committed(const void *byte) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    bool readable = write(ends[1], byte, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return readable;
}

/* Only the memory that the capacity needs is committed; an access beyond it faults. */
static void test_what_is_reserved_is_not_committed(void **state) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned n = 0; n < 6; n++) {
        kolk_pool pool;
        kolk_stats stats;
        kolk_pool_desc desc = shape(n, 100, 5000);
        make_pool(&pool, &desc);
        for (uint32_t capacity = 100; capacity < 5000; capacity += 700) {
            assert_int_equal(kolk_pool_reserve(&pool, capacity), KOLK_OK);
            unsigned char *end = pool.slots + (size_t)capacity * OBJECT;
            assert_true(is_committed(end - 1));
            assert_false(is_committed(end + page));
            kolk_pool_stats(&pool, &stats);
            assert_true(stats.bytes_committed >= (uint64_t)capacity * OBJECT);
            assert_true(stats.bytes_committed <= (uint64_t)capacity * (OBJECT + 10) + 8 * page);
        }
        kolk_pool_deinit(&pool);
    }
}

/* A growing pool that fits into a few pages is committed as a whole at init, and makes no later system calls. */
static void test_a_small_growing_pool(void **state) {
    for (unsigned n = 0; n < 6; n++) {
        kolk_pool pool;
        kolk_stats stats;
        kolk_pool_desc desc = shape(n, 1, 10);
        refuse(0, false);
        make_pool(&pool, &desc);
        assert_int_equal(os.calls, 2); /* to reserve and to commit */
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.capacity, 1);
        assert_int_equal(stats.max_capacity, 10);
        assert_int_equal(stats.bytes_committed, stats.bytes_reserved);
        refuse(1, true);
        for (uint32_t i = 0; i < 10; i++) {
            assert_non_null(stamped(&pool, i));
            assert_true(kolk_pool_is_valid(&pool));
        }
        assert_null(stamped(&pool, 10));
        assert_int_equal(kolk_pool_reserve(&pool, 11), KOLK_ABOVE_MAX);
        assert_int_equal(os.calls, 0);
        for (uint32_t i = 0; i < 10; i++) assert_true(is_stamped(kolk_pool_at(&pool, i), i));
        refuse(0, false);
        kolk_pool_clear(&pool);
        kolk_pool_trim(&pool);
        assert_non_null(stamped(&pool, 0));
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);

        desc = shape(n, 1, (uint32_t)(4 * (size_t)sysconf(_SC_PAGESIZE) / OBJECT + 1)); /* it needs more pages */
        make_pool(&pool, &desc);
        refuse(0, false);
        assert_int_equal(kolk_pool_reserve(&pool, 2), KOLK_OK);
        assert_true(os.calls > 0);
        kolk_pool_deinit(&pool);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, accept_again)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_objects_never_move),
        TEST(test_growth_by_large_objects),
        TEST(test_reserve),
        TEST(test_trim_gives_memory_back),
        TEST(test_trim_gives_the_last_page_back),
        TEST(test_what_is_reserved_is_not_committed),
        TEST(test_a_small_growing_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
