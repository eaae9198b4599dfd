/* runs: not:wine wraps: help/system_calls.h */
/* kolk_pool_tick returns memory according to measured demand, in steps no larger than promised, and commits memory
 * ahead of demand. The tests measure resident memory and count system calls. (It changes nothing else:
 * test_pool_model.c.) */
#include "../help/debug_test.h"

#include "../help/system_calls.h"

#define MANY       4000u
#define TICK_SLOTS 64u

/* After TICKS_OF_A_SPIKE ticks, demand is still above half of its old value, as (63/64)^43 > 1/2. After TICKS_AT_MOST
 * ticks it is below. */
#define TICKS_OF_A_SPIKE 43u
#define TICKS_AT_MOST    60u

static size_t page(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns the slots of one step: those that the tick was given, rounded up to a multiple of 64 and to whole pages. */
static uint64_t step_of(const kolk_pool *pool, uint32_t slots) {
    uint64_t unit = 1;
    while (unit * pool->stride % page()) unit *= 2;
    if (unit < 64) unit = 64;
    return (slots + unit - 1) / unit * unit;
}

static void make_ticked(kolk_pool *pool, kolk_pool_desc desc) {
    desc.name = "ticked";
    if (!desc.object_size) desc.object_size = OBJECT;
    if (!desc.capacity && !desc.max_capacity) desc.capacity = MANY;
    make_pool(pool, &desc);
}

/* A spike of MANY objects. Each `rest`-th one stays alive (none if `rest` is 0). */
static void spike(kolk_pool *pool, void **objects, uint32_t rest) {
    for (uint32_t i = 0; i < MANY; i++) assert_non_null(objects[i] = stamped(pool, i));
    kolk_pool_tick(pool, TICK_SLOTS);
    for (uint32_t i = 0; i < MANY; i++)
        if (rest == 0 || i % rest) kolk_pool_free(pool, objects[i]);
}

/* ---- Returning memory -------------------------------------------------------------------------------------------- */

/* Returns how many pages hold a part of a live object. */
static size_t needed_pages(const kolk_pool *pool) {
    size_t pages = 0, next = 0;
    kolk_cursor cursor = kolk_pool_each(pool);
    for (void *object; (object = kolk_cursor_next(&cursor));) {
        size_t offset = (size_t)((unsigned char *)object - pool->slots);
        size_t first = offset / page(), last = (offset + pool->stride - 1) / page();
        if (first < next) first = next;
        if (last + 1 > first) pages += last + 1 - first;
        next = last + 1;
    }
    return pages;
}

static void give_back_a_spike(kolk_pool_desc desc, uint32_t rest, uint32_t slots) {
    static void *objects[MANY];
    kolk_pool pool;
    make_ticked(&pool, desc);
    spike(&pool, objects, rest);
    uint64_t step = step_of(&pool, slots);
    size_t before = resident(&pool), start = before, first_tick = 0;
    for (uint32_t tick = 1; tick <= TICKS_AT_MOST + MANY / step + 1; tick++) {
        refuse(0, false);
        size_t bytes = kolk_pool_tick(&pool, slots), now = resident(&pool);
        assert_true(bytes <= step * pool.stride && os.looked_at <= step * pool.stride);
        assert_int_equal(before - now, bytes);
        if (bytes && !first_tick) first_tick = tick;
        if (tick < TICKS_OF_A_SPIKE) assert_int_equal(bytes, 0); /* not yet */
        if (tick < TICKS_OF_A_SPIKE && !desc.max_capacity) assert_int_equal(os.calls, 0);
        before = now;
    }
    assert_true(kolk_pool_is_valid(&pool));
    assert_true(first_tick >= TICKS_OF_A_SPIKE && first_tick <= TICKS_AT_MOST);
    /* All pages are returned except those with live objects and partial ones at the end of the slots. */
    assert_true(before <= (needed_pages(&pool) + 2) * page());
    assert_true(start - before > (size_t)MANY * OBJECT / 2);
    assert_true(!rest || is_stamped(objects[0], 0));
    /* While demand stays low, there is nothing left to do, and demand fades to the live count. */
    for (int tick = 0; tick < 1000; tick++) assert_int_equal(kolk_pool_tick(&pool, slots), 0);
    refuse(0, false);
    for (int tick = 0; tick < 1000; tick++) assert_int_equal(kolk_pool_tick(&pool, slots), 0);
    assert_int_equal(os.calls, 0);
    end_pool(&pool);
}

static void test_memory_goes_back_in_steps(void **state) {
    static const uint32_t steps[] = {1, TICK_SLOTS, 600, 100000, UINT32_MAX};
    static const uint32_t rests[] = {0, 40};
    for (unsigned n = 0; n < 3 * LENGTH_OF(steps) * LENGTH_OF(rests); n++) {
        uint32_t slots = steps[n / 3 % LENGTH_OF(steps)], rest = rests[n / 3 / LENGTH_OF(steps)];
        give_back_a_spike((kolk_pool_desc){.reuse = orders[n % 3]}, rest, slots);
        if (n % 3 == 0) give_back_a_spike((kolk_pool_desc){.max_capacity = 2 * MANY}, rest, slots);
    }
    static const size_t sizes[] = {1024, 4096, 5000, 8192, 12288};
    for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
        give_back_a_spike((kolk_pool_desc){.object_size = sizes[i]}, 0, 1);
        give_back_a_spike((kolk_pool_desc){.object_size = sizes[i]}, 0, TICK_SLOTS);
        give_back_a_spike((kolk_pool_desc){.object_size = sizes[i]}, 500, TICK_SLOTS);
    }
}

/* A tick of 0 slots never returns memory, but is harmless. promise: "Once demand ... work than that" */
static void test_no_slots(void **state) {
    static void *objects[MANY];
    kolk_pool pool;
    make_ticked(&pool, (kolk_pool_desc){.capacity = MANY - 7});
    for (uint32_t i = 0; i < MANY - 7; i++) objects[i] = stamped(&pool, i);
    for (uint32_t i = 0; i < MANY - 7; i++) kolk_pool_free(&pool, objects[i]);
    size_t before = resident(&pool);
    for (int tick = 0; tick < 300; tick++) {
        assert_int_equal(kolk_pool_tick(&pool, 0), 0);
        assert_true(pool.tick.sweep <= pool.fresh); /* a sweep never goes beyond the slots */
    }
    assert_int_equal(resident(&pool), before);
    size_t bytes = 0;
    for (int tick = 0; tick < 100; tick++) bytes += kolk_pool_tick(&pool, TICK_SLOTS);
    assert_int_equal(before - resident(&pool), bytes);
    assert_true(resident(&pool) <= 2 * page());
    end_pool(&pool);
}

/* If demand rises and falls but stays above half, no memory is returned and no system call is made.
 * promise: "Once demand ... work than that", "It is O(1) while nothing changes" */
static void test_hysteresis(void **state) {
    static void *objects[MANY];
    kolk_pool pool;
    make_ticked(&pool, (kolk_pool_desc){.capacity = MANY});
    spike(&pool, objects, 0);
    refuse(0, false);
    for (int round = 0; round < 30; round++) {
        for (uint32_t i = 0; i < MANY; i++) assert_non_null(objects[i] = kolk_pool_alloc(&pool));
        assert_int_equal(kolk_pool_tick(&pool, TICK_SLOTS), 0);
        for (uint32_t i = 0; i < MANY; i++) kolk_pool_free(&pool, objects[i]);
        for (uint32_t tick = 0; tick < TICKS_OF_A_SPIKE - 3; tick++)
            assert_int_equal(kolk_pool_tick(&pool, TICK_SLOTS), 0);
    }
    for (uint32_t i = 0; i < MANY * 3 / 5; i++) assert_non_null(kolk_pool_alloc(&pool));
    for (int tick = 0; tick < 1000; tick++) assert_int_equal(kolk_pool_tick(&pool, TICK_SLOTS), 0);
    assert_int_equal(os.calls, 0);
    end_pool(&pool);
}

/* A running sweep ends as soon as demand rises again; a later sweep starts from the beginning. */
static void test_demand_that_rises_again(void **state) {
    for (unsigned n = 0; n < 3; n++) {
        static void *objects[MANY];
        kolk_pool pool;
        make_ticked(&pool, (kolk_pool_desc){.reuse = orders[n]});
        for (int round = 0; round < 4; round++) {
            spike(&pool, objects, 0);
            size_t full = resident(&pool);
            while (kolk_pool_tick(&pool, TICK_SLOTS) == 0) {}
            assert_true(resident(&pool) < full);
            for (uint32_t i = 0; i < MANY; i++) assert_non_null(objects[i] = stamped(&pool, i));
            for (int tick = 0; tick < 100; tick++) assert_int_equal(kolk_pool_tick(&pool, TICK_SLOTS), 0);
            for (uint32_t i = 0; i < MANY; i++) assert_true(is_stamped(objects[i], i));
            /* A third stays alive, so that demand halves only once and one sweep must return everything. */
            for (uint32_t i = 0; i < MANY; i++)
                if (kolk_pool_index(&pool, objects[i]) >= MANY / 3) kolk_pool_free(&pool, objects[i]);
            for (int tick = 0; tick < 200; tick++) kolk_pool_tick(&pool, TICK_SLOTS);
            assert_true(resident(&pool) <= (needed_pages(&pool) + 2) * page());
            assert_true(kolk_pool_is_valid(&pool));
            kolk_pool_clear(&pool);
        }
        end_pool(&pool);
    }
}

/* ---- Nothing else changes ---------------------------------------------------------------------------------------- */

/* ---- Pools that return nothing, and hooks ------------------------------------------------------------------------ */

typedef struct counts {
    uint32_t set_up, torn_down;
} counts;

static bool count_setup(void *object, void *context) {
    memset(object, 0x5e, OBJECT);
    ((counts *)context)->set_up++;
    return true;
}

static void count_teardown(void *object, void *context) {
    assert_true(all_bytes_are(object, OBJECT, 0x5e));
    ((counts *)context)->torn_down++;
}

/* promise: "Returns the number of bytes released, which ... order of free slots" */
static void test_who_gives_nothing(void **state) {
    static _Alignas(16) unsigned char memory[KOLK_POOL_BYTES(OBJECT, 8, MANY)];
    const kolk_pool_desc descs[] = {{.life.keep = true},
                                    {.memory = memory, .memory_size = sizeof memory, .capacity = MANY}};
    for (size_t i = 0; i < LENGTH_OF(descs); i++) {
        static void *objects[MANY];
        kolk_pool pool;
        make_ticked(&pool, descs[i]);
        spike(&pool, objects, 0);
        refuse(0, false);
        for (int tick = 0; tick < 300; tick++) assert_int_equal(kolk_pool_tick(&pool, TICK_SLOTS), 0);
        assert_int_equal(os.calls, 0);
        for (uint32_t n = 0; n < MANY; n++) assert_true(is_stamped(objects[n], n));
        end_pool(&pool);
    }
}

/* A slot whose pages are returned is torn down, and set up again when it is needed. A tick tears down at most the
 * slots of one step. promise: "Once demand ... work than that" */
static void test_hooks(void **state) {
    for (unsigned n = 0; n < 3 * 2; n++) {
        static void *objects[MANY];
        kolk_pool pool;
        counts count = {0, 0};
        make_ticked(&pool, (kolk_pool_desc){.reuse = orders[n % 3],
                                            .life.keep = n / 3,
                                            .life.setup = count_setup,
                                            .life.teardown = count_teardown,
                                            .context = &count});
        for (uint32_t i = 0; i < MANY; i++) assert_non_null(objects[i] = kolk_pool_alloc(&pool));
        for (uint32_t i = 1; i < MANY; i++) kolk_pool_free(&pool, objects[i]);
        uint64_t step = step_of(&pool, TICK_SLOTS);
        size_t bytes = 0;
        for (int tick = 0; tick < 200; tick++) {
            uint32_t before = count.torn_down;
            size_t now = kolk_pool_tick(&pool, TICK_SLOTS);
            assert_true(count.torn_down - before <= step);
            assert_true(now == 0 || count.torn_down > before);
            bytes += now;
        }
        assert_true(bytes > (size_t)MANY * OBJECT / 2);
        assert_int_equal(count.set_up, MANY);
        assert_true(count.torn_down > MANY / 2 && count.torn_down < MANY);
        assert_true(kolk_pool_is_valid(&pool));
        assert_true(all_bytes_are(objects[0], OBJECT, 0x5e));
        for (uint32_t i = 1; i < MANY; i++) assert_true(all_bytes_are(kolk_pool_alloc(&pool), OBJECT, 0x5e));
        assert_int_equal(count.set_up, MANY + count.torn_down);
        end_pool(&pool);
        assert_int_equal(count.torn_down, count.set_up);
    }
}

/* The debug mode distinguishes pages that it has filled from pages that were returned. */
static void test_debug_modes(void **state) {
    for (unsigned n = 0; n < 3 * (DEBUG_MODES - 1); n++) {
        static void *objects[MANY];
        kolk_pool pool;
        make_ticked(&pool, (kolk_pool_desc){.reuse = orders[n % 3], .debug = begin_debug_mode(1 + n / 3)});
        spike(&pool, objects, 400);
        size_t bytes = 0;
        for (int tick = 0; tick < 200; tick++) {
            bytes += kolk_pool_tick(&pool, TICK_SLOTS);
            if (tick % 40 == 0) assert_true(kolk_pool_is_valid(&pool));
        }
        assert_int_equal(bytes > (size_t)MANY * OBJECT / 2, n / 3 < 3);
        for (uint32_t i = 0; i < MANY; i += 400) assert_true(is_stamped(objects[i], i));
        while (kolk_pool_count(&pool) < MANY) assert_non_null(kolk_pool_alloc(&pool));
        end_pool(&pool);
    }
}

/* ---- Growing ----------------------------------------------------------------------------------------------------- */

/* With 20 more objects per frame, no alloc makes a system call, and the capacity is never more than an eighth and one
 * step ahead of the count.
 * promise: "If demand nearly fills a pool that can grow" */
static void test_growth_ahead(void **state) {
    for (unsigned n = 0; n < 3; n++) {
        kolk_pool pool;
        make_ticked(&pool, (kolk_pool_desc){.reuse = orders[n], .capacity = 200, .max_capacity = MANY});
        while (kolk_pool_count(&pool) < MANY) {
            refuse(1, true);
            for (int i = 0; i < 20; i++) assert_non_null(kolk_pool_alloc(&pool));
            assert_int_equal(os.calls, 0);
            refuse(0, false);
            uint32_t before = pool.capacity;
            assert_int_equal(kolk_pool_tick(&pool, TICK_SLOTS), 0);
            assert_true(pool.capacity <= before + TICK_SLOTS && pool.capacity <= MANY);
            assert_true(pool.capacity <= kolk_pool_count(&pool) + pool.capacity / 8 + TICK_SLOTS + 200);
            assert_true(kolk_pool_is_valid(&pool));
        }
        assert_int_equal(pool.capacity, MANY);
        refuse(0, false);
        for (int tick = 0; tick < 50; tick++) kolk_pool_tick(&pool, TICK_SLOTS);
        assert_int_equal(os.calls, 0);
        end_pool(&pool);
    }
}

/* Growth never exceeds the slots that the tick was given, and an unused pool does not grow. */
static void test_growth_by_no_more_than_is_needed(void **state) {
    static const uint32_t steps[] = {0, 1, 10, UINT32_MAX};
    for (size_t i = 0; i < LENGTH_OF(steps); i++) {
        kolk_pool pool;
        make_ticked(&pool, (kolk_pool_desc){.max_capacity = MANY});
        for (int tick = 0; tick < 10; tick++) kolk_pool_tick(&pool, steps[i]);
        assert_int_equal(pool.capacity, 0);
        assert_non_null(kolk_pool_alloc(&pool));
        while (kolk_pool_available(&pool)) kolk_pool_alloc(&pool);
        uint32_t before = pool.capacity, more = MANY - before;
        kolk_pool_tick(&pool, steps[i]);
        assert_int_equal(pool.capacity, before + (more < steps[i] ? more : steps[i]));
        end_pool(&pool);
    }
}

/* Demand is the maximum of the count and of new peaks; it fades by 1/64 per tick down to 0. When it reaches 7/8 of the
 * capacity, the pool grows. promise: "It grows the pool ... 1/64 per tick" */
static void test_the_measure(void **state) {
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 64), random = seed;
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    static void *objects[MANY];
    kolk_pool pool;
    make_ticked(&pool, (kolk_pool_desc){.object_size = 8, .capacity = 100, .max_capacity = MANY});
    uint32_t count = 0, demand = 0, peak = 0, seen = 0, capacity = 100;
    for (int tick = 0; tick < 20000; tick++) {
        uint32_t wanted = count;
        if (random_below(&random, 40) == 0) wanted = random_below(&random, pool.capacity + 1);
        for (; count > wanted; count--) kolk_pool_free(&pool, objects[count - 1]);
        for (; count < wanted; count++) assert_non_null(objects[count] = kolk_pool_alloc(&pool));
        if (peak < count) peak = count;
        for (uint32_t n = random_below(&random, 3); n > 0 && random_below(&random, 100) == 0;
             n--) { /* a peak between two ticks */
            if (count == pool.capacity) break;
            kolk_pool_free(&pool, kolk_pool_alloc(&pool));
            if (peak < count + 1) peak = count + 1;
        }
        demand = (uint32_t)((uint64_t)demand * 63 / 64);
        if (demand < count) demand = count;
        if (seen < peak) demand = peak;
        seen = peak;
        if (demand && demand >= capacity - capacity / 8) capacity = capacity + 3 < MANY ? capacity + 3 : MANY;
        kolk_pool_tick(&pool, 3);
        if (pool.tick.demand != demand) fail_msg("tick %d: demand is %u, not %u", tick, pool.tick.demand, demand);
        if (pool.capacity != capacity) fail_msg("tick %d: capacity is %u, not %u", tick, pool.capacity, capacity);
    }
    assert_true(capacity > 200);
    end_pool(&pool);
}

/* ---- The system refuses ------------------------------------------------------------------------------------------ */

static void test_growth_refused(void **state) {
    for (unsigned n = 0; n < 6; n++) {
        for (unsigned nth = 1;; nth++) {
            kolk_pool pool;
            kolk_pool_desc desc = shape(n, 50, 5000);
            make_pool(&pool, &desc);
            for (uint32_t i = 0; i < 50; i++) assert_non_null(stamped(&pool, i));
            refuse(nth, true);
            assert_int_equal(kolk_pool_tick(&pool, TICK_SLOTS), 0);
            bool done = nth == os.calls + 1;
            refuse(0, false);
            assert_int_equal(pool.capacity, done ? 50 + TICK_SLOTS : 50);
            assert_true(kolk_pool_is_valid(&pool));
            assert_int_equal(kolk_pool_tick(&pool, TICK_SLOTS), 0); /* tries again */
            assert_int_equal(pool.capacity, 50 + TICK_SLOTS);
            for (uint32_t i = 0; i < 50; i++) assert_true(is_stamped(kolk_pool_at(&pool, i), i));
            assert_true(kolk_pool_is_valid(&pool));
            end_pool(&pool);
            if (done) break;
        }
    }
}

static void test_giving_back_refused(void **state) {
    for (unsigned n = 0; n < 6; n++) {
        static void *objects[MANY];
        kolk_pool pool;
        make_ticked(&pool, (kolk_pool_desc){.reuse = orders[n % 3]});
        spike(&pool, objects, 0);
        size_t before = resident(&pool), bytes = 0;
        refuse(n / 3 ? 2 : 1, true); /* madvise, or mincore too (then all pages count as resident): none is returned */
        for (int tick = 0; tick < 200; tick++) bytes += kolk_pool_tick(&pool, TICK_SLOTS);
        assert_true(os.calls > 0);
        refuse(0, false);
        assert_int_equal(bytes, before - resident(&pool));
        assert_true(kolk_pool_is_valid(&pool));
        for (uint32_t i = 0; i < MANY; i++) assert_non_null(objects[i] = stamped(&pool, i));
        kolk_pool_tick(&pool, TICK_SLOTS);
        for (uint32_t i = 0; i < MANY; i++) kolk_pool_free(&pool, objects[i]);
        for (int tick = 0; tick < 200; tick++) kolk_pool_tick(&pool, TICK_SLOTS);
        assert_true(resident(&pool) <= 2 * page()); /* the next attempt succeeds */
        end_pool(&pool);
    }
}

static int end_of_test(void **state) {
    plain_environment(state);
    return accept_again(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plain_environment, end_of_test)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_memory_goes_back_in_steps),
        TEST(test_no_slots),
        TEST(test_hysteresis),
        TEST(test_demand_that_rises_again),
        TEST(test_who_gives_nothing),
        TEST(test_hooks),
        TEST(test_debug_modes),
        TEST(test_growth_ahead),
        TEST(test_growth_by_no_more_than_is_needed),
        TEST(test_the_measure),
        TEST(test_growth_refused),
        TEST(test_giving_back_refused),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
