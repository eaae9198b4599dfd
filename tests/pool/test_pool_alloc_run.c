/* alloc_run at the ends of what a pool has, in a pool of many levels, and with hooks and settings that the model lacks.
 * (Compared with a search slot by slot: test_pool_model.c.) */
#include "../help/debug_test.h"

static void make_lowest(kolk_pool *pool, kolk_pool_desc desc) {
    desc.name = "runs";
    if (!desc.object_size) desc.object_size = 24;
    desc.reuse = KOLK_REUSE_LOWEST;
    make_pool(pool, &desc);
}

static void assert_failed(const kolk_pool *pool, uint64_t failed) {
    kolk_stats stats;
    kolk_pool_stats(pool, &stats);
    assert_int_equal(stats.failed, failed);
}

/* ---- First fit --------------------------------------------------------------------------------------------------- */

/* The free slots at the end of those that were used, and the slots after them, are one run. The lent memory is not
 * zero, so what has not been written yet looks like free slots. promise: "Allocates n ... alone, in any order" */
static void test_a_run_across_fresh(void **state) {
    for (uint32_t used = 1; used < 140; used++) {
        kolk_pool pool;
        static _Alignas(8) unsigned char memory[KOLK_POOL_BYTES(24, 8, 140)];
        memset(memory, 0xff, sizeof memory);
        make_lowest(&pool, (kolk_pool_desc){.capacity = 140, .memory = memory, .memory_size = sizeof memory});
        for (uint32_t i = 0; i < used; i++) assert_non_null(kolk_pool_alloc(&pool));
        for (uint32_t i = used / 2; i < used; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
        assert_ptr_equal(kolk_pool_alloc_run(&pool, 140 - used), memory + (size_t)used / 2 * pool.stride);
        for (uint32_t i = used / 2; i < 140; i++)
            if (kolk_pool_at(&pool, i)) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
        assert_null(kolk_pool_alloc_run(&pool, 140 - used / 2 + 1));
        assert_ptr_equal(kolk_pool_alloc_run(&pool, 140 - used / 2), memory + (size_t)used / 2 * pool.stride);
        assert_null(kolk_pool_alloc(&pool));
        assert_failed(&pool, 2);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

/* A large pool has three levels of summary words, and a gap may be anywhere.
 * promise: "free take one step for each factor of 64", "Allocates n ... alone, in any order" */
static void test_many_levels(void **state) {
    enum { MANY = 9000 };
    kolk_pool pool;
    make_lowest(&pool, (kolk_pool_desc){.object_size = 8, .capacity = MANY});
    unsigned char *all = (unsigned char *)kolk_pool_alloc_run(&pool, MANY);
    assert_ptr_equal(all, pool.slots);
    assert_null(kolk_pool_alloc_run(&pool, 1));
    for (uint32_t at = 0; at + 130 < MANY; at += 997) {
        kolk_pool_free(&pool, all + at / 2 * 8); /* a shorter gap below */
        for (uint32_t i = 0; i < 130; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, at + i));
        assert_ptr_equal(kolk_pool_alloc_run(&pool, 130), all + at * 8);
        assert_true(kolk_pool_is_valid(&pool));
        while (kolk_pool_alloc(&pool)) {}
    }
    kolk_pool_deinit(&pool);
}

/* promise: "Returns NULL, and allocates nothing, if n is 0" */
static void test_nothing_and_too_much(void **state) {
    kolk_pool pool, none = {0};
    make_lowest(&pool, (kolk_pool_desc){.capacity = 10, .max_capacity = 20});
    assert_null(kolk_pool_alloc_run(&pool, 0));
    assert_failed(&pool, 0);
    assert_null(kolk_pool_alloc_run(&pool, 21));
    assert_null(kolk_pool_alloc_run(&pool, UINT32_MAX));
    assert_failed(&pool, 2);
    assert_int_equal(pool.fresh, 0);
    assert_int_equal(pool.capacity, 10);
    unsigned char *run = (unsigned char *)kolk_pool_alloc_run(&pool, 10);
    assert_int_equal(pool.capacity, 10);
    for (uint32_t i = 0; i < 10; i++) kolk_pool_free(&pool, run + (size_t)i * pool.stride);
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 20), run);
    assert_int_equal(pool.capacity, 20);
    kolk_pool_deinit(&pool);
    assert_null(kolk_pool_alloc_run(&pool, 1));
    assert_null(kolk_pool_alloc_run(&none, 1));
}

/* ---- Options ----------------------------------------------------------------------------------------------------- */

typedef struct calls {
    unsigned low, full, setups;
    kolk_pool *pool;
} calls;

static bool on_full(kolk_pool *pool, size_t bytes, void *context) {
    ((calls *)context)->full++;
    kolk_pool_clear(pool);
    return true;
}

static void on_low(kolk_pool *pool, void *context) {
    ((calls *)context)->low++;
    kolk_pool_free(pool, kolk_pool_at(pool, 4));
}

/* on_low may make room for the run; on_full and the overflow pool are left alone. */
static void test_hooks_of_a_full_pool(void **state) {
    calls called = {0};
    kolk_pool pool, spare;
    make_lowest(&spare, (kolk_pool_desc){.capacity = 10, .tag = 1});
    make_lowest(&pool, (kolk_pool_desc){.capacity = 8,
                                        .full.low_water = 2,
                                        .tag = 2,
                                        .full.on_low = on_low,
                                        .full.on_full = on_full,
                                        .full.overflow = &spare,
                                        .context = &called});
    assert_non_null(kolk_pool_alloc_run(&pool, 6));
    assert_int_equal(called.low, 0);
    kolk_pool_free(&pool, kolk_pool_at(&pool, 5));
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 4), pool.slots + (size_t)4 * pool.stride); /* on_low has freed slot 4 */
    assert_int_equal(called.low, 1);
    assert_null(kolk_pool_alloc_run(&pool, 1));
    assert_int_equal(called.full, 0);
    assert_int_equal(kolk_pool_count(&spare), 0);
    end_pool(&pool);
    end_pool(&spare);
}

/* Setup may allocate and free. It gets no slot of the run. */
static bool set_up_and_alloc(void *object, void *context) {
    calls *called = (calls *)context;
    memset(object, 7, 24);
    if (called->setups++ != 1) return true;
    unsigned char *other = (unsigned char *)kolk_pool_alloc(called->pool);
    assert_non_null(other);
    assert_true(kolk_pool_index(called->pool, other) >= 4);
    kolk_pool_free(called->pool, other);
    return true;
}

static void test_a_setup_that_allocates(void **state) {
    calls called = {0};
    kolk_pool pool;
    called.pool = &pool;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 6, .life.setup = set_up_and_alloc, .context = &called});
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 4), pool.slots);
    assert_int_equal(kolk_pool_count(&pool), 4);
    end_pool(&pool);
}

/* ---- The debug mode ---------------------------------------------------------------------------------------------- */

static void test_a_pool_that_was_moved(void **state) {
    kolk_pool pool, moved_one;
    notes taken;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 8, .debug = "fill"});
    moved_one = pool;
    begin_notes(&taken);
    assert_non_null(kolk_pool_alloc_run(&moved_one, 3));
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_MOVED);
    kolk_pool_clear(&moved_one);
    end_pool(&pool);
}

static void test_sites(void **state) {
    kolk_pool pool;
    notes taken;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 8, .debug = "sites"});
    unsigned char *run = (unsigned char *)kolk_pool_alloc_run(&pool, 2);
    begin_notes(&taken);
    for (uint32_t i = 0; i < 3; i++) kolk_pool_free(&pool, run + pool.stride);
    assert_int_equal(taken.count, 2);
    assert_non_null(taken.last.alloc_site);
    kolk_pool_free(&pool, run);
    end_pool(&pool);
}

static void test_failing_allocs(void **state) {
    kolk_pool pool;
    setenv("KOLK_FAIL", "runs:every=3", 1);
    make_lowest(&pool, (kolk_pool_desc){.capacity = 90});
    for (unsigned call = 1; call <= 9; call++) assert_true(!kolk_pool_alloc_run(&pool, 10) == (call % 3 == 0));
    assert_int_equal(kolk_pool_count(&pool), 60);
    end_pool(&pool);
}

/* ---- Worn-out slots, sites, types -------------------------------------------------------------------------------- */

KOLK_POOL_TYPE(cells, int);

static void test_typed(void **state) {
    cells pool;
    assert_int_equal(cells_init(&pool, &(kolk_pool_desc){.capacity = 80, .reuse = KOLK_REUSE_LOWEST}), KOLK_OK);
    int *row = cells_alloc_run(&pool, 80);
    assert_non_null(row);
    for (int i = 0; i < 80; i++) row[i] = i;
    for (int i = 0; i < 80; i++) assert_ptr_equal(cells_at(&pool, (uint32_t)i), &row[i]);
    int *objects[80];
    for (int i = 0; i < 80; i++) objects[i] = &row[i];
    cells_free_n(&pool, objects, 80);
    assert_int_equal(cells_count(&pool), 0);
    cells_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_a_run_across_fresh),
        DEBUG_TEST(test_many_levels),
        DEBUG_TEST(test_nothing_and_too_much),
        DEBUG_TEST(test_hooks_of_a_full_pool),
        DEBUG_TEST(test_a_setup_that_allocates),
        DEBUG_TEST(test_a_pool_that_was_moved),
        DEBUG_TEST(test_sites),
        DEBUG_TEST(test_failing_allocs),
        DEBUG_TEST(test_typed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
