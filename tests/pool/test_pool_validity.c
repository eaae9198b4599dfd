/* kolk_pool_is_valid finds each broken invariant of src/pool/pool.c. Each test overwrites one value of a valid pool, as
 * a stray write would, and restores it. */
#include "../help/test.h"

#include "last_life.h"

#include <kolk/budget.h>

#include <sys/mman.h>
#include <unistd.h>

static bool setup(void *object, void *context) {
    return true;
}

#define SLOTS  5000u
#define ISSUED 4200u /* not a multiple of 64, with two levels of summary words below the top one */

/* Makes a pool whose slots 7, 100 and 3000 are free; the others below ISSUED are alive. With `worn`, two of the three
 * free slots are worn out. */
static void make_sound(kolk_pool *pool, kolk_reuse reuse, bool hooks, bool worn) {
    kolk_pool_desc desc = {
        .name = "sound", .object_size = 8, .capacity = SLOTS, .max_capacity = SLOTS + 1, .reuse = reuse};
    if (hooks) desc.life.setup = setup;
    make_pool(pool, &desc);
    for (uint32_t i = 0; i < ISSUED; i++) assert_non_null(kolk_pool_alloc(pool));
    if (worn) be_in_last_life(pool, 100), be_in_last_life(pool, 3000);
    kolk_pool_free(pool, kolk_pool_at(pool, 7));
    kolk_pool_free(pool, kolk_pool_at(pool, 100));
    kolk_pool_free(pool, kolk_pool_at(pool, 3000));
    kolk_stats stats;
    kolk_pool_stats(pool, &stats);
    assert_int_equal(stats.worn_out, worn ? 2 : 0);
    assert_true(kolk_pool_is_valid(pool));
}

#define assert_seen(pool, what, value) assert_breaks(kolk_pool_is_valid, pool, what, value)

static void flip(uint64_t *words, uint32_t bit) {
    words[bit / 64] ^= UINT64_C(1) << bit % 64;
}

#define assert_flip_seen(pool, words, bit)                                                                             \
    do {                                                                                                               \
        flip(words, bit);                                                                                              \
        if (kolk_pool_is_valid(pool)) fail_msg("not seen: bit %u of %s", (unsigned)(bit), #words);                     \
        flip(words, bit);                                                                                              \
        assert_true(kolk_pool_is_valid(pool));                                                                         \
    } while (0)

/* promise: "Checks every invariant of src/pool/pool.c" */
static void test_counts_and_bounds(void **state) {
    for (unsigned n = 0; n < 12; n++) {
        kolk_pool pool;
        make_sound(&pool, orders[n % 3], n / 3 % 2, n / 6);
        assert_seen(&pool, pool.fresh, pool.fresh + 1);
        assert_seen(&pool, pool.fresh, pool.fresh - 1);
        assert_seen(&pool, pool.fresh, pool.fresh / 64 * 64);
        assert_seen(&pool, pool.capacity, ISSUED - 1);
        assert_seen(&pool, pool.max_capacity, SLOTS - 1);
        assert_seen(&pool, pool.bound, pool.bound - 1);
        assert_seen(&pool, pool.free_bound, pool.free_bound + 1);
        assert_seen(&pool, pool.aside, pool.aside + 1);
        assert_seen(&pool, pool.worn.count, pool.worn.count + 1);
        assert_seen(&pool, pool.floor, (kolk_slot_ *)(void *)pool.slots);
        if (pool.stack) assert_seen(&pool, pool.top, pool.top + 1);
        if (orders[n % 3] == KOLK_REUSE_LIFO) assert_seen(&pool, pool.top, pool.stack - 1);
        if (orders[n % 3] == KOLK_REUSE_FIFO) assert_seen(&pool, pool.peak, ISSUED - 4);
        if (n / 6) assert_seen(&pool, pool.aside, 1);
        kolk_pool_deinit(&pool);
    }
}

static void test_states(void **state) {
    for (unsigned n = 0; n < 12; n++) {
        kolk_pool pool;
        make_sound(&pool, orders[n % 3], n / 3 % 2, n / 6);
        static const uint32_t slots[] = {0, 7, 63, 64, 100, 3000, ISSUED - 1};
        for (size_t i = 0; i < LENGTH_OF(slots); i++)
            assert_seen(&pool, pool.states[slots[i]], pool.states[slots[i]] ^ KOLK_ALIVE_);
        assert_seen(&pool, pool.states[0], KOLK_ALIVE_); /* its generation is 0 */
        assert_seen(&pool, pool.states[ISSUED - 1], KOLK_ALIVE_);
        if (pool.ready) assert_flip_seen(&pool, pool.ready, 4);
        kolk_pool_deinit(&pool);
    }
}

/* promise: "Checks every invariant of src/pool/pool.c" */
static void test_pins(void **state) {
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "sound", .object_size = 8, .capacity = 3, .pins = true});
    for (uint32_t i = 0; i < 3; i++) kolk_pool_pin(&pool, kolk_pool_alloc(&pool));
    kolk_pool_free(&pool, kolk_pool_at(&pool, 1));
    assert_true(kolk_pool_is_valid(&pool));
    assert_seen(&pool, pool.pinned, 2);
    assert_seen(&pool, pool.pins[0], 0);
    assert_seen(&pool, pool.pins[0], pool.pins[1]);
    assert_seen(&pool, pool.pins[1], 1);
    assert_seen(&pool, pool.bound, 3);
    for (uint32_t i = 0; i < 3; i++) kolk_pool_unpin(&pool, pool.slots + (size_t)i * pool.stride);
    kolk_pool_deinit(&pool);
}

/* Two errors that together leave every count unchanged. promise: "Checks every invariant of src/pool/pool.c" */
static void test_a_live_slot_for_a_free_one(void **state) {
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make_sound(&pool, orders[i], false, false);
        pool.states[7] ^= KOLK_ALIVE_;
        pool.states[8] ^= KOLK_ALIVE_;
        assert_false(kolk_pool_is_valid(&pool));
        pool.states[7] ^= KOLK_ALIVE_;
        pool.states[8] ^= KOLK_ALIVE_;
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

/* Wrong entries in the list of free slots: a live slot, a slot beyond fresh, and a slot that occurs twice. */
static void test_places(void **state) {
    for (size_t i = 0; i < 2; i++) {
        kolk_pool pool;
        make_sound(&pool, orders[i], false, false);
        assert_seen(&pool, pool.stack[1].index, 8);
        assert_seen(&pool, pool.stack[1].index, ISSUED);
        assert_seen(&pool, pool.stack[1].index, UINT32_MAX);
        assert_seen(&pool, pool.stack[1].index, pool.stack[0].index);
        if (orders[i] == KOLK_REUSE_FIFO) assert_seen(&pool, pool.first, 1);
        /* after an alloc_at, only the slots that were freed later are listed */
        uint32_t slot = pool.stack[1].index;
        assert_non_null(kolk_pool_alloc_at(&pool, kolk_handle_unpack(UINT64_C(9) << 32 | (slot ^ pool.tag))));
        kolk_pool_free(&pool, kolk_pool_at(&pool, 8));
        assert_true(pool.unlisted > 0 && kolk_pool_is_valid(&pool));
        assert_seen(&pool, pool.stack[pool.unlisted].index, 9);
        assert_seen(&pool, pool.stack[pool.unlisted].index, ISSUED);
        assert_seen(&pool, pool.unlisted, pool.unlisted + 2);
        assert_seen(&pool, pool.unlisted, 0);
        kolk_pool_deinit(&pool);
    }
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make_sound(&pool, orders[i], false, true);
        assert_int_equal(pool.worn.first, 100);
        assert_int_equal(pool.high[100], 3000);
        assert_seen(&pool, pool.worn.first, 8);
        assert_seen(&pool, pool.worn.first, ISSUED);
        assert_seen(&pool, pool.worn.first, 7);
        assert_seen(&pool, pool.worn.first, 3000);
        assert_seen(&pool, pool.worn.first, UINT32_MAX); /* must not be read */
        assert_seen(&pool, pool.high, NULL);
        assert_seen(&pool, pool.high[100], 8);
        assert_seen(&pool, pool.high[100], ISSUED);
        assert_seen(&pool, pool.high[100], 100);
        kolk_pool_deinit(&pool);
    }
}

static void test_holes_and_their_summaries(void **state) {
    kolk_pool pool;
    make_sound(&pool, KOLK_REUSE_LOWEST, false, false);
    assert_int_equal(pool.levels, 3);
    assert_flip_seen(&pool, pool.holes[0], 7);
    assert_flip_seen(&pool, pool.holes[0], 8);
    assert_flip_seen(&pool, pool.holes[0], 101);
    assert_flip_seen(&pool, pool.holes[1], 0);
    assert_flip_seen(&pool, pool.holes[1], 1);
    assert_flip_seen(&pool, pool.holes[1], 2);
    assert_flip_seen(&pool, pool.holes[1], 65);
    assert_flip_seen(&pool, pool.holes[2], 0);
    assert_flip_seen(&pool, pool.holes[2], 1);
    flip(pool.holes[0], 7); /* moves a hole within its word, so that the summaries stay right */
    flip(pool.holes[0], 8);
    assert_false(kolk_pool_is_valid(&pool));
    flip(pool.holes[0], 7);
    flip(pool.holes[0], 8);
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
}

/* Every slot is alive, but one is marked as a hole as well. The counts of dead and of free slots agree, as both are
 * 0. */
static void test_a_hole_too_many(void **state) {
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "full", .object_size = 8, .capacity = 70, .reuse = KOLK_REUSE_LOWEST});
    for (uint32_t i = 0; i < 70; i++) assert_non_null(kolk_pool_alloc(&pool));
    assert_int_equal(pool.levels, 2);
    assert_true(kolk_pool_is_valid(&pool));
    flip(pool.holes[0], 3);
    flip(pool.holes[1], 0);
    assert_false(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
}

/* Counts that contradict each other, although their sum is right, are found before they cause a read beyond the stack
 * or ring of free slots, where an inaccessible page lies. promise: "Checks every invariant of src/pool/pool.c" */
static void test_counts_that_lead_outside(void **state) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages =
        (unsigned char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    for (size_t i = 0; i < 2; i++) {
        kolk_pool pool;
        kolk_pool_desc desc = {.name = "wall", .object_size = 8, .capacity = 10, .reuse = orders[i]};
        desc.memory_size = kolk_pool_memory_size(&desc);
        desc.memory = pages + page - desc.memory_size;
        make_pool(&pool, &desc);
        assert_ptr_equal(pool.stack + 10, pages + page);
        for (uint32_t n = 0; n < 10; n++) assert_non_null(kolk_pool_alloc(&pool));
        kolk_pool_clear(&pool);
        assert_true(kolk_pool_is_valid(&pool));
        if (orders[i] == KOLK_REUSE_LIFO) { /* -1 entries on the stack */
            pool.top = pool.stack - 1;
            pool.aside = 11;
        } else { /* -1 entries in the ring */
            pool.top = pool.floor = pool.stack + 10;
            pool.aside = 0;
            pool.worn.count = 1;
        }
        assert_int_equal(kolk_pool_count(&pool), 0);
        assert_false(kolk_pool_is_valid(&pool));
        memset(&pool, 0, sizeof pool);
    }
    assert_int_equal(munmap(pages, 2 * page), 0);
}

/* Options that lower the bounds of the fast paths: ages, hooks, headroom and low water (I4). */
static void no_hook(kolk_pool *pool, void *context) {}

static double no_cost(const void *object, void *context) {
    return 0;
}

static void test_floors(void **state) {
    static const kolk_pool_desc descs[] = {{.full.headroom = 5},
                                           {.full.low_water = 5, .full.on_low = no_hook},
                                           {.full.headroom = 2, .full.low_water = 4, .full.on_low = no_hook},
                                           {.ages = true},
                                           {.ages = true, .full.headroom = 5},
                                           {.full.ranked = true, .full.cost = no_cost},
                                           {.life.setup = setup},
                                           {0}};
    for (size_t i = 0; i < LENGTH_OF(descs); i++) {
        for (size_t n = 0; n < LENGTH_OF(orders); n++) {
            kolk_pool pool;
            kolk_pool_desc desc = descs[i];
            desc.object_size = 8;
            desc.capacity = 100;
            desc.reuse = orders[n];
            make_pool(&pool, &desc);
            void *objects[95];
            assert_int_equal(kolk_pool_alloc_n(&pool, objects, 95), 95);
            for (uint32_t k = 0; k < 95; k += 2) kolk_pool_free(&pool, objects[k]);
            assert_true(kolk_pool_is_valid(&pool));
            assert_seen(&pool, pool.floor, pool.floor - 1);
            assert_seen(&pool, pool.order_floor, pool.order_floor - 1);
            assert_seen(&pool, pool.floor, NULL);
            assert_seen(&pool, pool.order_floor, NULL);
            assert_seen(&pool, pool.aside_floor, pool.aside_floor - 1);
            kolk_pool_deinit(&pool);
        }
    }
}

/* The order of births (I9): the dead slots 7, 100 and 3000 are still in it, but the protected slot 8 is not. */
static void make_aged(kolk_pool *pool, kolk_reuse reuse) {
    make_pool(pool,
              &(kolk_pool_desc){.name = "aged", .object_size = 8, .capacity = SLOTS, .reuse = reuse, .ages = true});
    for (uint32_t i = 0; i < ISSUED; i++) assert_non_null(kolk_pool_alloc(pool));
    kolk_pool_free(pool, kolk_pool_at(pool, 7));
    kolk_pool_free(pool, kolk_pool_at(pool, 100));
    kolk_pool_free(pool, kolk_pool_at(pool, 3000));
    kolk_pool_protect(pool, kolk_pool_at(pool, 8), true);
    assert_true(kolk_pool_is_valid(pool));
}

static void test_the_order_of_births(void **state) {
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make_aged(&pool, orders[i]);
        kolk_age_ *ages = pool.ages; /* indexed by slot + 1 */
        assert_int_equal(ages[0].newer, 1);
        assert_int_equal(ages[0].older, ISSUED);
        assert_int_equal(ages[8].newer, 10); /* the dead slot is in the order, but the protected one is not */
        assert_seen(&pool, ages[0].newer, 0);
        assert_seen(&pool, ages[0].newer, 2);
        assert_seen(&pool, ages[0].newer, ISSUED + 1);
        assert_seen(&pool, ages[0].newer, UINT32_MAX);
        assert_seen(&pool, ages[0].older, 0);
        assert_seen(&pool, ages[0].older, ISSUED - 1);
        assert_seen(&pool, ages[1].newer, 3); /* skips a slot */
        assert_seen(&pool, ages[1].newer, 1); /* an endless loop */
        assert_seen(&pool, ages[1000].newer, 500);
        assert_seen(&pool, ages[1000].newer, 0);
        assert_seen(&pool, ages[1000].older, 998);
        assert_seen(&pool, ages[ISSUED].newer, 1);
        assert_seen(&pool, ages[ISSUED].newer, ISSUED + 1);
        assert_seen(&pool, ages[9].newer, 10); /* it has a neighbour that does not point back */
        assert_seen(&pool, ages[9].older, 8);
        /* a ring that is closed in both directions, but slots outside it point into it */
        kolk_age_ first = ages[0], third = ages[3];
        ages[0].newer = 3;
        ages[3].older = 0;
        assert_false(kolk_pool_is_valid(&pool));
        ages[0] = first;
        ages[3] = third;
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

/* The order of costs (I10): all costs are equal, so the slots are in their own order. */
static void test_the_order_of_costs(void **state) {
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "ranked",
                                       .object_size = 8,
                                       .capacity = 100,
                                       .ages = true,
                                       .full.ranked = true,
                                       .full.cost = no_cost});
    for (uint32_t i = 0; i < 90; i++) assert_non_null(kolk_pool_alloc(&pool));
    kolk_pool_protect(&pool, kolk_pool_at(&pool, 0), true);
    assert_true(kolk_pool_evict_cheapest(&pool, 0, NULL));
    kolk_pool_free(&pool, kolk_pool_at(&pool, 7));
    assert_true(kolk_pool_is_valid(&pool));
    assert_int_equal(pool.ranking, 90); /* the dead slots 1 and 7 are still in it, but the protected one is not */
    assert_seen(&pool, pool.ranking, 89);
    assert_seen(&pool, pool.ranking, 92);
    assert_seen(&pool, pool.ranks[0].slot, 0);
    assert_seen(&pool, pool.ranks[0].slot, 90);
    assert_seen(&pool, pool.ranks[0].slot, UINT32_MAX);
    assert_seen(&pool, pool.ranks[1].price, pool.ranks[1].price + 1);
    assert_seen(&pool, pool.ranks[50].price, 0);
    assert_seen(&pool, pool.ranks[50].place, 0);
    assert_seen(&pool, pool.ranks[50].place, UINT32_MAX);
    assert_seen(&pool, pool.ranks[0].place, 88);
    kolk_pool_deinit(&pool);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

static void test_slots_that_do_not_count(void **state) {
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make_sound(&pool, orders[i], false, false);
        assert_seen(&pool, pool.counted, SLOTS + 1);
        assert_seen(&pool, pool.counted, ISSUED - 1);
        kolk_pool_deinit(&pool);
    }
    kolk_pool pool;
    kolk_budget budget = {.limit = 0};
    make_pool(&pool, &(kolk_pool_desc){.object_size = 64, .capacity = SLOTS, .budget = &budget});
    for (uint32_t i = 0; i < ISSUED; i++) assert_non_null(kolk_pool_alloc(&pool));
    for (uint32_t i = 2000; i < ISSUED; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
    kolk_pool_trim(&pool);
    assert_in_range(pool.counted, 2000, ISSUED - 2);
    assert_true(kolk_pool_is_valid(&pool));
    kolk_slot_ first = pool.stack[0];
    pool.stack[0] = pool.stack[1]; /* all are there, but in another order */
    pool.stack[1] = first;
    assert_false(kolk_pool_is_valid(&pool));
    pool.stack[1] = pool.stack[0];
    pool.stack[0] = first;
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_counts_and_bounds),
        TEST(test_states),
        TEST(test_pins),
        TEST(test_pins),
        TEST(test_a_live_slot_for_a_free_one),
        TEST(test_places),
        TEST(test_holes_and_their_summaries),
        TEST(test_a_hole_too_many),
        TEST(test_counts_that_lead_outside),
        TEST(test_floors),
        TEST(test_the_order_of_births),
        TEST(test_the_order_of_costs),
        TEST(test_slots_that_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
