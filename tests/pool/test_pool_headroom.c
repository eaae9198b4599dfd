/* wraps: help/system_calls.h */
/* The last slots: headroom, which only urgent allocs take, and low_water, whose hook is called each time the pool runs
 * low. Compares with counts under random operations, and tests growing pools without system calls, and hooks within
 * hooks. Reads KOLK_TEST_SEED from the environment. */
#include "../help/debug_test.h"

#include "../help/system_calls.h"

#include <time.h>

static uint64_t seed;

/* ---- Headroom ---------------------------------------------------------------------------------------------------- */

enum { FIXED, GROWING, LENT, KINDS, SHAPES = 3 * KINDS * DEBUG_MODES };

#define SLOTS 20u

/* Makes a pool of up to SLOTS slots. `n` chooses the order of reuse, the kind of memory and the debug mode. */
static void make_shape(kolk_pool *pool, unsigned n, kolk_pool_desc desc) {
    static _Alignas(16) unsigned char memory[KOLK_POOL_BYTES(OBJECT, 8, SLOTS) + KOLK_POOL_AGE_BYTES(SLOTS)];
    unsigned kind = n / 3 % KINDS;
    desc.name = "shape";
    desc.object_size = OBJECT;
    desc.reuse = orders[n % 3];
    desc.debug = begin_debug_mode(n / 3 / KINDS);
    desc.capacity = kind == GROWING ? 0 : SLOTS;
    if (kind == GROWING) desc.max_capacity = SLOTS;
    if (kind == LENT) desc.memory = memory, desc.memory_size = sizeof memory;
    make_pool(pool, &desc);
}

/* A growing pool commits the headroom in advance, so urgent allocs make no system call, and succeed even when the
 * system refuses memory. promise: "Works like kolk_pool_alloc, but also ... call need not ask the system for memory" */
static void test_headroom_is_committed_ahead(void **state) {
    static const size_t sizes[] = {8, OBJECT, 30000, 100000};
    static const uint32_t headrooms[] = {1, 7, 100, 150};
    for (unsigned n = 0; n < 3 * LENGTH_OF(sizes) * LENGTH_OF(headrooms); n++) {
        kolk_pool pool;
        uint32_t headroom = headrooms[n / 3 / LENGTH_OF(sizes)];
        make_pool(&pool, &(kolk_pool_desc){.object_size = sizes[n / 3 % LENGTH_OF(sizes)],
                                           .max_capacity = 200,
                                           .reuse = orders[n % 3],
                                           .full.headroom = headroom});
        for (uint32_t i = 0; i < 50; i++) {
            taken_from(&pool);
            assert_true(kolk_pool_available(&pool) >= headroom);
        }
        refuse(1, true);
        for (uint32_t i = 0; i < headroom; i++) assert_non_null(kolk_pool_alloc_urgent(&pool));
        assert_int_equal(os.calls, 0);
        uint32_t spare = kolk_pool_available(&pool), before = kolk_pool_count(&pool);
        for (uint32_t i = 0; i < spare; i++) assert_non_null(kolk_pool_alloc_urgent(&pool));
        assert_null(kolk_pool_alloc_urgent(&pool));
        assert_null(kolk_pool_alloc(&pool));
        refuse(0, false);
        assert_int_equal(kolk_pool_count(&pool), before + spare);
        assert_true(kolk_pool_is_valid(&pool));
        while (kolk_pool_alloc(&pool)) {}
        assert_int_equal(kolk_pool_count(&pool), before + spare > 200 - headroom ? before + spare : 200 - headroom);
        end_pool(&pool);
    }
}

static void test_what_trap_full_says(void **state) {
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    make_pool(
        &pool,
        &(kolk_pool_desc){
            .name = "boss", .object_size = 8, .capacity = 5, .full.headroom = 2, .full.on_full = kolk_pool_trap_full});
    for (int i = 0; i < 3; i++) assert_non_null(kolk_pool_alloc(&pool));
    assert_null(kolk_pool_alloc(&pool));
    assert_noted(&taken, KOLK_FULL, "boss", NULL, NO_SLOT,
                 "kolk: boss: full: of 5 slots, the last 2 are for urgent allocations only: raise .capacity");
    assert_non_null(kolk_pool_alloc_urgent(&pool));
    assert_non_null(kolk_pool_alloc_urgent(&pool));
    assert_silent(&taken);
    assert_null(kolk_pool_alloc_urgent(&pool));
    assert_noted(&taken, KOLK_FULL, "boss", NULL, NO_SLOT,
                 "kolk: boss: full: all 5 slots are in use: raise .capacity, or .max_capacity to let the pool grow");
    end_pool(&pool);
}

/* ---- Low water --------------------------------------------------------------------------------------------------- */

typedef struct low {
    kolk_pool pool;
    uint32_t calls;
    uint32_t frees; /* how many objects the hook frees */
    void *given;    /* allocated by the hook */
    bool allocs, clears;
    void *objects[SLOTS];
} low;

/* Called before the alloc: low_water slots are still left, and the alloc will take one of them. */
static void on_low(kolk_pool *pool, void *context) {
    low *l = (low *)context;
    assert_ptr_equal(pool, &l->pool);
    assert_true(kolk_pool_is_valid(pool));
    l->calls++;
    for (uint32_t i = 0; i < l->frees; i++) kolk_pool_free(pool, l->objects[i]);
    if (l->clears) kolk_pool_clear(pool);
    if (l->allocs) l->given = kolk_pool_alloc(pool);
}

static uint32_t slots_left(const kolk_pool *pool) {
    return pool->max_capacity - kolk_pool_count(pool);
}

/* The count rises and falls many times, through single allocs and frees. The hook is called when an alloc is about to
 * take one of the last low_water slots. It is called again only if more than low_water slots were free in between.
 * promise: "passed to the hooks in `full` and `life`", "out of max_capacity, first calls on_low" */
static void test_low_water_up_and_down(void **state) {
    static const uint32_t waters[] = {0, 1, 2, 5, SLOTS, UINT32_MAX}; /* 0, the default, means never */
    uint64_t random = seed;
    uint32_t times = 0;
    for (unsigned n = 0; n < SHAPES * LENGTH_OF(waters) * 3; n++) {
        low l = {.calls = 0};
        uint32_t water = waters[n / SHAPES % LENGTH_OF(waters)], headroom = n / SHAPES / LENGTH_OF(waters);
        make_shape(
            &l.pool, n % SHAPES,
            (kolk_pool_desc){.full.low_water = water, .full.on_low = on_low, .full.headroom = headroom, .context = &l});
        uint32_t count = 0, calls = 0, rising = 1;
        bool told = false;
        for (int step = 0; step < 400; step++) {
            if (random_below(&random, 32) == 0) rising = !rising;
            uint32_t left = SLOTS - count;
            if (random_below(&random, 4) < (rising ? 3u : 1u)) {
                bool urgent = random_below(&random, 2);
                bool gives = left > (urgent ? 0 : headroom);
                void *object = urgent ? kolk_pool_alloc_urgent(&l.pool) : kolk_pool_alloc(&l.pool);
                assert_int_equal(object != NULL, gives);
                if (gives) l.objects[count++] = object;
                bool is_low = water && left <= water;
                calls += is_low && !told;
                told = is_low;
            } else if (count) {
                uint32_t at = random_below(&random, count--);
                kolk_pool_free(&l.pool, l.objects[at]);
                l.objects[at] = l.objects[count];
            }
            assert_true(kolk_pool_is_valid(&l.pool));
            if (l.calls != calls)
                fail_msg("KOLK_TEST_SEED=%" PRIu64
                         ", shape %u, low_water %u, headroom %u, step %d, %u left: %u calls, not %u",
                         seed, n % SHAPES, water, headroom, step, left, l.calls, calls);
        }
        times += calls;
        kolk_pool_clear(&l.pool);
        end_pool(&l.pool);
    }
    assert_true(times > 1000);
}

/* alloc_n and alloc_at cross low water as well: the hook is called once, by the next alloc at the latest. */
static void test_low_water_is_crossed_by_others(void **state) {
    for (unsigned n = 0; n < 3 * 3; n++) {
        low l = {.calls = 0};
        make_pool(&l.pool, &(kolk_pool_desc){.name = "low",
                                             .object_size = 8,
                                             .capacity = SLOTS,
                                             .reuse = orders[n % 3],
                                             .full.low_water = 6,
                                             .full.on_low = on_low,
                                             .context = &l});
        for (int round = 1; round <= 3; round++) {
            void *objects[SLOTS];
            if (n / 3 == 0) {
                assert_int_equal(kolk_pool_alloc_n(&l.pool, objects, SLOTS - 6), SLOTS - 6);
                assert_int_equal(l.calls, round - 1);
                assert_int_equal(kolk_pool_alloc_n(&l.pool, objects, 3), 3);
            } else if (n / 3 == 1) {
                assert_int_equal(kolk_pool_alloc_n(&l.pool, objects, SLOTS - 2), SLOTS - 2);
            } else {
                for (uint32_t slot = 0; slot < SLOTS - 4; slot++)
                    assert_non_null(
                        kolk_pool_alloc_at(&l.pool, kolk_handle_unpack(UINT64_C(1) << 32 | (slot ^ l.pool.tag))));
            }
            assert_non_null(kolk_pool_alloc(&l.pool));
            assert_int_equal(l.calls, round);
            assert_non_null(kolk_pool_alloc(&l.pool));
            assert_int_equal(l.calls, round);
            kolk_pool_clear(&l.pool);
        }
        end_pool(&l.pool);
    }
}

static bool find_memory(kolk_pool *pool, size_t bytes, void *context) {
    ++*(unsigned *)context;
    refuse(0, false); /* as if other parts of the program had freed memory */
    return true;
}

/* After on_full, the alloc tries once more, and the pool may then get memory to grow. */
static void test_a_hook_that_finds_memory_only(void **state) {
    for (unsigned n = 0; n < 3; n++) {
        kolk_pool pool;
        unsigned calls = 0;
        make_pool(&pool, &(kolk_pool_desc){.object_size = OBJECT,
                                           .capacity = 1,
                                           .max_capacity = 1000,
                                           .reuse = orders[n],
                                           .full.on_full = find_memory,
                                           .context = &calls});
        taken_from(&pool);
        refuse(1, true);
        taken_from(&pool);
        assert_int_equal(calls, 1);
        end_pool(&pool);
    }
}

static bool free_and_take(kolk_pool *pool, size_t bytes, void *context) {
    low *l = (low *)context;
    unsigned before = l->calls;
    for (int i = 0; i < 4; i++) kolk_pool_free(pool, l->objects[i]);
    for (int i = 0; i < 3; i++) l->objects[i] = taken_from(pool); /* the second alloc crosses low water again */
    assert_int_equal(l->calls, before);                           /* but no hook is called within a hook */
    return true;
}

/* Crossing low water within on_full calls no hook, and alloc_n of 0 objects does not cross it. */
static void test_low_water_in_hooks(void **state) {
    for (unsigned n = 0; n < SHAPES; n++) {
        low l = {.calls = 0};
        make_shape(
            &l.pool, n,
            (kolk_pool_desc){.full.low_water = 2, .full.on_low = on_low, .full.on_full = free_and_take, .context = &l});
        for (uint32_t i = 0; i < SLOTS - 2; i++) l.objects[i] = taken_from(&l.pool);
        assert_int_equal(kolk_pool_alloc_n(&l.pool, l.objects, 0), 0);
        assert_int_equal(l.calls, 0);
        for (uint32_t i = SLOTS - 2; i < SLOTS; i++) l.objects[i] = taken_from(&l.pool);
        assert_int_equal(l.calls, 1);
        l.objects[3] = taken_from(&l.pool);
        assert_int_equal(kolk_pool_count(&l.pool), SLOTS);
        assert_int_equal(l.calls, 1);
        kolk_pool_clear(&l.pool);
        end_pool(&l.pool);
    }
}

/* on_low may do everything that on_full may. promise: "may do the same ... slots were free" */
static void test_what_the_hook_may_do(void **state) {
    for (unsigned n = 0; n < SHAPES; n++) {
        low l = {.frees = 2};
        make_shape(&l.pool, n, (kolk_pool_desc){.full.low_water = 3, .full.on_low = on_low, .context = &l});
        for (uint32_t i = 0; i < SLOTS - 3; i++) l.objects[i] = taken_from(&l.pool);
        assert_int_equal(l.calls, 0);
        taken_from(&l.pool);
        assert_int_equal(l.calls, 1);
        assert_int_equal(slots_left(&l.pool), 4);
        l.frees = 0;
        taken_from(&l.pool);
        taken_from(&l.pool);
        assert_int_equal(l.calls, 2);
        l.clears = true;
        kolk_pool_clear(&l.pool);
        for (uint32_t i = 0; i < SLOTS - 3; i++) taken_from(&l.pool);
        assert_int_equal(kolk_pool_count(&l.pool), SLOTS - 3);
        taken_from(&l.pool);
        assert_int_equal(kolk_pool_count(&l.pool), 1);
        assert_int_equal(l.calls, 3);
        l.clears = false;
        l.allocs = true;
        for (uint32_t i = 1; i < SLOTS - 3; i++) taken_from(&l.pool);
        void *object = taken_from(&l.pool); /* the hook allocates too, but is not called again for that */
        assert_int_equal(l.calls, 4);
        assert_non_null(l.given);
        assert_ptr_not_equal(l.given, object);
        assert_int_equal(slots_left(&l.pool), 1);
        kolk_pool_clear(&l.pool);
        end_pool(&l.pool);
    }
}

/* Low water is measured against all slots that the pool may grow to: it does not run low just because the system
 * refuses memory. promise: "out of max_capacity, first calls on_low" */
static void test_low_water_of_a_growing_pool(void **state) {
    for (unsigned n = 0; n < 3; n++) {
        low l = {.calls = 0};
        make_pool(&l.pool, &(kolk_pool_desc){.object_size = OBJECT,
                                             .max_capacity = 1000,
                                             .reuse = orders[n],
                                             .full.low_water = 10,
                                             .full.on_low = on_low,
                                             .context = &l});
        for (uint32_t i = 0; i < 100; i++) assert_non_null(kolk_pool_alloc(&l.pool));
        refuse(1, true);
        while (kolk_pool_alloc(&l.pool)) {}
        assert_true(os.calls > 0);
        refuse(0, false);
        assert_int_equal(l.calls, 0);
        while (kolk_pool_count(&l.pool) < 990) assert_non_null(kolk_pool_alloc(&l.pool));
        assert_int_equal(l.calls, 0);
        assert_non_null(kolk_pool_alloc(&l.pool));
        assert_int_equal(l.calls, 1);
        end_pool(&l.pool);
    }
}

int main(void) {
    seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_headroom_is_committed_ahead), DEBUG_TEST(test_what_trap_full_says),
        DEBUG_TEST(test_low_water_up_and_down),       DEBUG_TEST(test_low_water_is_crossed_by_others),
        DEBUG_TEST(test_low_water_in_hooks),          DEBUG_TEST(test_a_hook_that_finds_memory_only),
        DEBUG_TEST(test_what_the_hook_may_do),        DEBUG_TEST(test_low_water_of_a_growing_pool),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
