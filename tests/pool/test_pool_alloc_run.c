/* alloc_run: the lowest neighbouring free slots, in every state of a pool, compared with a search slot by slot; what it
 * leaves unchanged if there are none; and its dealings with growth, headroom, hooks, worn-out slots and the debug
 * mode. */
#include "../help/debug_test.h"

#include "last_life.h"

enum { SLOTS = 300 };

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

/* The lowest slot from which on n slots are dead, below `end`; `end` if there is none. */
static uint32_t lowest_fit(const kolk_pool *pool, uint32_t n, uint32_t end) {
    uint32_t dead = 0;
    for (uint32_t slot = 0; slot < end; slot++) {
        dead = kolk_pool_at(pool, slot) ? 0 : dead + 1;
        if (dead == n) return slot + 1 - n;
    }
    return end;
}

/* Allocates a run, which must be where a search finds it. */
static void run_once(kolk_pool *pool, uint32_t n) {
    uint32_t first = lowest_fit(pool, n, SLOTS), count = kolk_pool_count(pool);
    unsigned char *run = (unsigned char *)kolk_pool_alloc_run(pool, n);
    assert_true(kolk_pool_is_valid(pool));
    if (first == SLOTS) {
        assert_null(run);
        assert_int_equal(kolk_pool_count(pool), count);
        return;
    }
    assert_ptr_equal(run, pool->slots + (size_t)first * pool->stride);
    assert_int_equal(kolk_pool_count(pool), count + n);
    for (uint32_t i = 0; i < n; i++) {
        void *object = run + (size_t)i * pool->stride;
        assert_int_equal(kolk_pool_index(pool, object), first + i);
        if (pool->high) assert_ptr_equal(kolk_pool_get(pool, kolk_pool_handle_of(pool, object)), object);
        memset(object, (int)(first + i), 24);
    }
}

/* Fills and empties pools at random, in runs of every length, with room for many words and with all of it in one. */
static void test_first_fit(void **state) {
    (void)state;
    uint64_t random = 1;
    for (unsigned round = 0; round < 20; round++) {
        kolk_pool pool;
        uint32_t longest = 1 + round * round;
        make_lowest(&pool, (kolk_pool_desc){.capacity = round % 2 ? SLOTS : 0,
                                            .max_capacity = SLOTS,
                                            .ages = round % 3 == 0,
                                            .generations = (kolk_generations)(round % 3)});
        for (unsigned step = 0; step < (does_a_part() ? 500 : 2000); step++) {
            uint32_t slot = random_below(&random, SLOTS);
            if (random_below(&random, 2) == 0) run_once(&pool, 1 + random_below(&random, longest));
            for (uint32_t left = random_below(&random, longest); left-- && slot < SLOTS; slot++)
                kolk_pool_free(&pool, kolk_pool_at(&pool, slot));
            assert_true(kolk_pool_is_valid(&pool));
        }
        kolk_pool_deinit(&pool);
    }
}

/* The free slots at the end of those that were used, and the slots after them, are one run. The lent memory is not
 * zero, so what has not been written yet looks like free slots. promise: "Allocates n ... alone, in any order" */
static void test_a_run_across_fresh(void **state) {
    (void)state;
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
    (void)state;
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
    (void)state;
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

/* promise: "Needs KOLK_REUSE_LOWEST ... caller (KOLK_LOWEST_MISSING)" */
static void test_other_orders_are_a_mistake(void **state) {
    (void)state;
    for (unsigned reuse = KOLK_REUSE_LIFO; reuse <= KOLK_REUSE_FIFO; reuse++) {
        kolk_pool pool;
        notes taken;
        make_pool(&pool, &(kolk_pool_desc){.name = "p", .object_size = 8, .capacity = 9, .reuse = (kolk_reuse)reuse});
        begin_notes(&taken);
        assert_null(kolk_pool_alloc_run(&pool, 2));
        assert_int_equal(taken.count, 1);
        assert_int_equal(taken.last.rule, KOLK_LOWEST_MISSING);
        assert_int_equal(kolk_pool_count(&pool), 0);
        assert_failed(&pool, 0);
        end_pool(&pool);
    }
}

/* ---- Options ----------------------------------------------------------------------------------------------------- */

/* promise: "It respects ... none is allocated" */
static void test_headroom(void **state) {
    (void)state;
    kolk_pool pool;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 4, .max_capacity = 20, .full.headroom = 3});
    assert_null(kolk_pool_alloc_run(&pool, 18));
    assert_non_null(kolk_pool_alloc_run(&pool, 10));
    assert_true(pool.capacity >= 13); /* the headroom is there */
    assert_non_null(kolk_pool_alloc_run(&pool, 7));
    assert_null(kolk_pool_alloc_run(&pool, 1));
    assert_failed(&pool, 2);
    assert_non_null(kolk_pool_alloc_urgent(&pool));
    end_pool(&pool);
}

typedef struct calls {
    unsigned low, full, setups, resets, teardowns, failing; /* the n-th setup fails; 0: none */
    kolk_pool *pool;
} calls;

static bool on_full(kolk_pool *pool, size_t bytes, void *context) {
    (void)bytes;
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
    (void)state;
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

static bool set_up(void *object, void *context) {
    calls *called = (calls *)context;
    assert_false(kolk_pool_is_live(called->pool, object));
    if (++called->setups == called->failing) return false;
    memset(object, 7, 24);
    return true;
}

static void reset(void *object, void *context) {
    (void)object;
    ((calls *)context)->resets++;
}

static void tear_down(void *object, void *context) {
    assert_int_equal(*(unsigned char *)object, 7);
    ((calls *)context)->teardowns++;
}

static void test_a_setup_that_fails(void **state) {
    (void)state;
    for (unsigned failing = 1; failing <= 5; failing++) {
        calls called = {.failing = failing};
        kolk_pool pool;
        make_lowest(&pool, (kolk_pool_desc){.capacity = 6,
                                            .life.setup = set_up,
                                            .life.reset = reset,
                                            .life.teardown = tear_down,
                                            .context = &called});
        called.pool = &pool;
        assert_non_null(kolk_pool_alloc_run(&pool, 1) || failing == 1 ? &pool : NULL);
        void *run = kolk_pool_alloc_run(&pool, 4);
        assert_true(kolk_pool_is_valid(&pool));
        if (failing == 1) { /* the first alloc met it */
            assert_ptr_equal(run, pool.slots);
            assert_int_equal(kolk_pool_count(&pool), 4);
        } else {
            assert_null(run);
            assert_int_equal(kolk_pool_count(&pool), 1);
            assert_int_equal(called.setups, failing);
            assert_non_null(kolk_pool_alloc_run(&pool, 5));
            assert_int_equal(called.setups, 7); /* once for each slot, and once more for the one that failed */
        }
        assert_int_equal(called.resets, 0);
        assert_failed(&pool, 1);
        end_pool(&pool);
        assert_int_equal(called.teardowns, failing == 1 ? 4 : 6);
    }
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
    (void)state;
    calls called = {0};
    kolk_pool pool;
    called.pool = &pool;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 6, .life.setup = set_up_and_alloc, .context = &called});
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 4), pool.slots);
    assert_int_equal(kolk_pool_count(&pool), 4);
    end_pool(&pool);
}

static void test_ages_follow_the_run(void **state) {
    (void)state;
    kolk_pool pool;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 6, .ages = true});
    assert_non_null(kolk_pool_alloc_run(&pool, 6));
    kolk_pool_free(&pool, kolk_pool_at(&pool, 1));
    kolk_pool_free(&pool, kolk_pool_at(&pool, 2));
    assert_non_null(kolk_pool_alloc_run(&pool, 2));
    static const uint32_t born[] = {0, 3, 4, 5, 1, 2};
    void *object = kolk_pool_oldest(&pool);
    for (size_t i = 0; i < LENGTH_OF(born); i++, object = kolk_pool_newer(&pool, object))
        assert_int_equal(kolk_pool_index(&pool, object), born[i]);
    end_pool(&pool);
}

/* ---- The debug mode ---------------------------------------------------------------------------------------------- */

/* promise: "no neighbours: then n > 1 returns NULL" */
static void test_debug_modes(void **state) {
    (void)state;
    for (size_t mode = 0; mode < DEBUG_MODES; mode++) {
        kolk_pool pool;
        kolk_stats stats;
        const char *debug = begin_debug_mode(mode);
        make_lowest(&pool, (kolk_pool_desc){.capacity = 70, .debug = debug});
        bool apart = debug_flags(&pool) & (KOLK_DEBUG_GUARD | KOLK_DEBUG_BYPASS);
        void *one = kolk_pool_alloc_run(&pool, 1);
        assert_non_null(one);
        assert_int_equal(kolk_pool_index(&pool, one), 0);
        if (apart) assert_null(kolk_pool_alloc_run(&pool, 2));
        unsigned char *run = (unsigned char *)kolk_pool_alloc_run(&pool, 66);
        assert_true(!run == apart);
        assert_failed(&pool, apart ? 2 : 0);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.count, apart ? 1 : 67);
        assert_int_equal(stats.peak, stats.count);
        for (size_t i = 0; run && i < (size_t)66 * 24; i++)
            if (debug_flags(&pool) & KOLK_DEBUG_FILL) assert_int_equal(run[i], 0xcd);
        for (uint32_t i = 0; run && i < 66; i++) kolk_pool_free(&pool, run + (size_t)i * pool.stride);
        kolk_pool_free(&pool, one);
        end_pool(&pool);
    }
}

/* Slots leave the quarantine only if the run does not fit elsewhere. */
static void test_quarantine(void **state) {
    (void)state;
    kolk_pool pool;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 12, .debug = "quarantine=3"});
    unsigned char *run = (unsigned char *)kolk_pool_alloc_run(&pool, 4);
    for (uint32_t i = 0; i < 3; i++) kolk_pool_free(&pool, run + (size_t)i * pool.stride);
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 8), run + (size_t)4 * pool.stride);
    assert_int_equal(pool.quarantined, 3);
    kolk_pool_free(&pool, run + (size_t)9 * pool.stride);
    assert_int_equal(pool.quarantined, 3); /* slot 0 has left it */
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 1), run);
    assert_int_equal(pool.quarantined, 3);
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 2), run + pool.stride);
    assert_int_equal(pool.quarantined, 0);
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 1), run + (size_t)9 * pool.stride);
    assert_null(kolk_pool_alloc_run(&pool, 1));
    end_pool(&pool);
}

static void test_a_quarantine_of_one(void **state) {
    (void)state;
    kolk_pool pool;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 2, .debug = "quarantine=1"});
    unsigned char *run = (unsigned char *)kolk_pool_alloc_run(&pool, 2);
    kolk_pool_free(&pool, run);
    assert_int_equal(pool.quarantined, 1);
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 1), run);
    assert_null(kolk_pool_alloc_run(&pool, 1));
    end_pool(&pool);
}

static void test_a_pool_that_was_moved(void **state) {
    (void)state;
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

static void test_a_stray_write_is_reported_once(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 8, .debug = "fill"});
    unsigned char *run = (unsigned char *)kolk_pool_alloc_run(&pool, 5);
    for (uint32_t i = 0; i < 5; i++) kolk_pool_free(&pool, run + (size_t)i * pool.stride);
    run[(size_t)4 * pool.stride] ^= 1;
    begin_notes(&taken);
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 3), run);
    assert_int_equal(taken.count, 0);
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 5), run + (size_t)3 * pool.stride);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_WRITE_AFTER_FREE);
    assert_int_equal(taken.last.slot, 4);
    end_pool(&pool);
}

static void test_sites(void **state) {
    (void)state;
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
    (void)state;
    kolk_pool pool;
    setenv("KOLK_FAIL", "runs:every=3", 1);
    make_lowest(&pool, (kolk_pool_desc){.capacity = 90});
    for (unsigned call = 1; call <= 9; call++) assert_true(!kolk_pool_alloc_run(&pool, 10) == (call % 3 == 0));
    assert_int_equal(kolk_pool_count(&pool), 60);
    end_pool(&pool);
}

/* ---- Worn-out slots, sites, types -------------------------------------------------------------------------------- */

static void test_worn_out_slots_are_left_out(void **state) {
    (void)state;
    kolk_pool pool;
    make_lowest(&pool, (kolk_pool_desc){.capacity = 6});
    unsigned char *run = (unsigned char *)kolk_pool_alloc_run(&pool, 6);
    be_in_last_life(&pool, 2);
    for (uint32_t i = 0; i < 6; i++) kolk_pool_free(&pool, run + (size_t)i * pool.stride);
    assert_int_equal(pool.worn.count, 1);
    assert_null(kolk_pool_alloc_run(&pool, 4));
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 3), run + (size_t)3 * pool.stride);
    assert_ptr_equal(kolk_pool_alloc_run(&pool, 2), run);
    end_pool(&pool);
}

KOLK_POOL_TYPE(cells, int);

static void test_typed(void **state) {
    (void)state;
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
        DEBUG_TEST(test_first_fit),
        DEBUG_TEST(test_a_run_across_fresh),
        DEBUG_TEST(test_many_levels),
        DEBUG_TEST(test_nothing_and_too_much),
        DEBUG_TEST(test_other_orders_are_a_mistake),
        DEBUG_TEST(test_headroom),
        DEBUG_TEST(test_hooks_of_a_full_pool),
        DEBUG_TEST(test_a_setup_that_fails),
        DEBUG_TEST(test_a_setup_that_allocates),
        DEBUG_TEST(test_ages_follow_the_run),
        DEBUG_TEST(test_debug_modes),
        DEBUG_TEST(test_quarantine),
        DEBUG_TEST(test_a_quarantine_of_one),
        DEBUG_TEST(test_a_pool_that_was_moved),
        DEBUG_TEST(test_a_stray_write_is_reported_once),
        DEBUG_TEST(test_sites),
        DEBUG_TEST(test_failing_allocs),
        DEBUG_TEST(test_worn_out_slots_are_left_out),
        DEBUG_TEST(test_typed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
