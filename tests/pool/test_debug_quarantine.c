/* runs: sample:clang with: KOLK_GENERATION_MAX=3 */
/* The debug setting `quarantine`: which slots wait, which one is used next, and what takes slots out of quarantine.
 * Here slots wear out after three lives. */
#include "../help/debug_test.h"

static void make_waiting(kolk_pool *pool, kolk_pool_desc desc) {
    if (!desc.object_size) desc.object_size = 8;
    make_pool(pool, &desc);
}

static uint32_t slot_taken(kolk_pool *pool) {
    return kolk_pool_index(pool, taken_from(pool));
}

static void free_slot(kolk_pool *pool, uint32_t slot) {
    give_back(pool, kolk_pool_at(pool, slot));
}

static void take_all(kolk_pool *pool, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) assert_int_equal(slot_taken(pool), i);
}

#define assert_slots(pool, ...)                                                                                        \
    do {                                                                                                               \
        const uint32_t expected_[] = {__VA_ARGS__};                                                                    \
        for (size_t i_ = 0; i_ < LENGTH_OF(expected_); i_++) assert_int_equal(slot_taken(pool), expected_[i_]);        \
    } while (0)

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* promise: base.h "the 64 slots freed last are not used again" */
static void test_the_last_ones_wait(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_waiting(&pool, (kolk_pool_desc){.capacity = 9, .reuse = orders[n], .debug = "quarantine=3"});
        take_all(&pool, 9);
        const uint32_t freed[] = {4, 2, 7, 1, 5, 0};
        for (size_t i = 0; i < LENGTH_OF(freed); i++) free_slot(&pool, freed[i]);
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

static void test_slots_never_used_come_before_those_that_wait(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_waiting(&pool, (kolk_pool_desc){.capacity = 5, .reuse = orders[n], .debug = "quarantine=2"});
        assert_slots(&pool, 0);
        free_slot(&pool, 0);
        assert_slots(&pool, 1);
        free_slot(&pool, 1);
        assert_slots(&pool, 2);
        free_slot(&pool, 2); /* 0 leaves the quarantine; 1 and 2 stay in it */
        assert_slots(&pool, orders[n] == KOLK_REUSE_FIFO ? 3 : 0);
        kolk_stats stats;
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.peak, 1); /* although three slots were used */
        assert_int_equal(stats.unused_bytes, 4 * 8);
        end_pool(&pool);
    }
}

static void test_growth_comes_before_those_that_wait(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_waiting(&pool, (kolk_pool_desc){.object_size = 5000,
                                             .max_capacity = 40, /* grows to 13, 26 and 40 */
                                             .reuse = orders[n],
                                             .debug = "quarantine=100"});
        for (uint32_t i = 0; i < 40; i++) {
            assert_slots(&pool, i);
            free_slot(&pool, i);
            assert_int_equal(kolk_pool_count(&pool), 0);
            assert_true(kolk_pool_available(&pool) >= i + 1);
        }
        assert_int_equal(pool.capacity, 40);
        assert_slots(&pool, 0, 1, 2);
        free_slot(&pool, 1);
        assert_slots(&pool, 3);
        end_pool(&pool);
    }
}

/* The ring works with its end at any position, for several lengths. */
static void test_the_ring_goes_round(void **state) {
    (void)state;
    for (uint32_t length = 1; length <= 6; length++) {
        char text[40];
        kolk_pool pool;
        snprintf(text, sizeof text, "quarantine=%u", length);
        make_waiting(&pool,
                     (kolk_pool_desc){.capacity = length + 1, .generations = KOLK_GENERATIONS_NONE, .debug = text});
        for (uint32_t i = 0; i < 40; i++) {
            assert_slots(&pool, i % (length + 1));
            free_slot(&pool, i % (length + 1));
        }
        end_pool(&pool);
    }
}

static unsigned asked;

static bool on_full(kolk_pool *pool, size_t bytes, void *context) {
    (void)bytes, (void)context;
    asked++;
    assert_true(kolk_pool_is_valid(pool));
    free_slot(pool, 1); /* goes through the quarantine to the alloc that called the hook */
    return true;
}

static void test_on_full_is_asked_after_those_that_wait(void **state) {
    (void)state;
    kolk_pool pool;
    make_waiting(&pool, (kolk_pool_desc){.capacity = 3, .full.on_full = on_full, .debug = "quarantine=3"});
    asked = 0;
    take_all(&pool, 3);
    free_slot(&pool, 2);
    assert_slots(&pool, 2);
    assert_int_equal(asked, 0);
    assert_slots(&pool, 1);
    assert_int_equal(asked, 1);
    end_pool(&pool);
}

/* ---- What takes slots out ---------------------------------------------------------------------------------------- */

static void test_clear_ends_the_wait(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_waiting(&pool, (kolk_pool_desc){.capacity = 6, .reuse = orders[n], .debug = "quarantine=3"});
        for (int round = 0; round < 2; round++) {
            take_all(&pool, 6);
            free_slot(&pool, 4);
            free_slot(&pool, 3);
            kolk_pool_clear(&pool);
            assert_true(kolk_pool_is_valid(&pool));
            assert_int_equal(kolk_pool_count(&pool), 0);
        }
        take_all(&pool, 6);
        end_pool(&pool);
    }
}

static void test_trim_does_not(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_waiting(&pool, (kolk_pool_desc){
                                .object_size = 4096, .capacity = 6, .reuse = orders[n], .debug = "quarantine=2,fill"});
        take_all(&pool, 6);
        free_slot(&pool, 5);
        free_slot(&pool, 1);
        free_slot(&pool, 0);
        free_slot(&pool, 3); /* 0 and 3 are in quarantine */
        assert_int_equal(kolk_pool_trim(&pool), 4 * 4096);
        assert_true(kolk_pool_is_valid(&pool));
        if (orders[n] == KOLK_REUSE_FIFO)
            assert_slots(&pool, 5, 1);
        else
            assert_slots(&pool, 1, 5);
        assert_slots(&pool, 0, 3);
        assert_null(kolk_pool_alloc(&pool));
        end_pool(&pool);
    }
}

static void test_alloc_at_takes_any_of_them(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        for (uint32_t which = 0; which < 4; which++) {
            kolk_pool pool;
            make_waiting(&pool, (kolk_pool_desc){.capacity = 5, .reuse = orders[n], .debug = "quarantine=4"});
            take_all(&pool, 5);
            free_slot(&pool, 4); /* moves the ring's start past its end */
            for (uint32_t slot = 0; slot < 4; slot++) free_slot(&pool, slot);
            assert_slots(&pool, 4);
            free_slot(&pool, 4); /* 0 leaves; 1, 2, 3 and 4 are in quarantine */
            kolk_handle handle = {UINT64_C(2) << 32 | ((which + 1) ^ pool.tag)};
            assert_ptr_equal(kolk_pool_alloc_at(&pool, handle), pool.slots + (which + 1) * 8);
            assert_true(kolk_pool_is_valid(&pool));
            assert_int_equal(kolk_pool_count(&pool), 1);
            assert_ptr_equal(kolk_pool_get(&pool, handle), pool.slots + (which + 1) * 8);
            assert_null(kolk_pool_alloc_at(&pool, handle));
            assert_slots(&pool, 0);
            for (uint32_t slot = 1; slot < 5; slot++) /* the others keep their order */
                if (slot != which + 1) assert_slots(&pool, slot);
            assert_null(kolk_pool_alloc(&pool));
            end_pool(&pool);
        }
    }
}

static void test_reserve_with_a_ring_that_goes_round(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_waiting(
            &pool,
            (kolk_pool_desc){
                .object_size = 5000, .capacity = 4, .max_capacity = 30, .reuse = orders[n], .debug = "quarantine=2"});
        take_all(&pool, 4);
        for (uint32_t i = 0; i < 4; i++) free_slot(&pool, i); /* 2 and 3 are in quarantine */
        if (orders[n] == KOLK_REUSE_FIFO) {
            assert_int_equal(kolk_pool_reserve(&pool, 20), KOLK_OK);
            assert_true(kolk_pool_is_valid(&pool));
            for (uint32_t i = 4; i < 20; i++) assert_slots(&pool, i);
            assert_slots(&pool, 0, 1);
        } else {
            assert_slots(&pool, orders[n] == KOLK_REUSE_LIFO ? 1 : 0);
            assert_int_equal(kolk_pool_reserve(&pool, 20), KOLK_OK);
            assert_true(kolk_pool_is_valid(&pool));
            assert_slots(&pool, orders[n] == KOLK_REUSE_LIFO ? 0 : 1, 4, 5);
        }
        end_pool(&pool);
    }
}

/* ---- Worn-out slots ---------------------------------------------------------------------------------------------- */

static uint32_t worn(const kolk_pool *pool) {
    kolk_stats stats;
    kolk_pool_stats(pool, &stats);
    return stats.worn_out;
}

static void live_three_times(kolk_pool *pool, uint32_t slot) {
    for (int life = 0; life < 3; life++) {
        assert_slots(pool, slot);
        free_slot(pool, slot);
    }
}

static void test_worn_out_slots_come_after_those_that_wait(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_waiting(&pool, (kolk_pool_desc){.capacity = 1, .reuse = orders[n], .debug = "quarantine=1"});
        live_three_times(&pool, 0);
        assert_int_equal(worn(&pool), 1);
        assert_slots(&pool, 0); /* its generations start again */
        assert_int_equal(worn(&pool), 0);
        end_pool(&pool);

        make_waiting(&pool, (kolk_pool_desc){.capacity = 3, .reuse = orders[n], .debug = "quarantine=3"});
        take_all(&pool, 3);
        for (int life = 0; life < 2; life++) { /* slot 1 wears out, the others do not */
            free_slot(&pool, 1);
            assert_slots(&pool, 1);
        }
        free_slot(&pool, 1);
        assert_int_equal(worn(&pool), 1);
        free_slot(&pool, 2);
        free_slot(&pool, 0);
        assert_int_equal(kolk_pool_available(&pool), 3);
        assert_slots(&pool, 2, 0, 1);
        assert_null(kolk_pool_alloc(&pool));
        end_pool(&pool);
    }
}

static void test_strict_worn_out_slots_never_come_back(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        for (int cleared = 0; cleared < 2; cleared++) {
            kolk_pool pool;
            make_waiting(&pool, (kolk_pool_desc){.capacity = 3,
                                                 .reuse = orders[n],
                                                 .generations = KOLK_GENERATIONS_STRICT,
                                                 .debug = "quarantine=2,fill,guard"});
            take_all(&pool, 3);
            for (int life = 0; life < 2; life++) {
                free_slot(&pool, 1);
                assert_slots(&pool, 1);
            }
            free_slot(&pool, 1);
            free_slot(&pool, 0);
            assert_int_equal(kolk_pool_available(&pool), 1);
            assert_null(kolk_pool_alloc_at(&pool, kolk_handle_unpack(UINT64_C(1) << 32 | (1 ^ pool.tag))));
            if (cleared) {
                kolk_pool_clear(&pool);
                assert_true(kolk_pool_is_valid(&pool));
                assert_slots(&pool, 0, 2);
            } else {
                assert_slots(&pool, 0);
            }
            assert_null(kolk_pool_alloc(&pool));
            assert_int_equal(worn(&pool), 1);
            assert_int_equal(kolk_pool_available(&pool), 0);
            end_pool(&pool);
        }
    }
}

/* Damage to a worn-out object is found as well. */
static void test_a_write_to_a_worn_out_object(void **state) {
    (void)state;
    kolk_pool pool;
    reports kept;
    begin_reports(&kept);
    make_waiting(&pool, (kolk_pool_desc){.name = "worn",
                                         .capacity = 1,
                                         .generations = KOLK_GENERATIONS_STRICT,
                                         .debug = "quarantine=2,fill"});
    live_three_times(&pool, 0);
    assert_int_equal(worn(&pool), 1);
    pool.slots[2] = 1;
    kolk_pool_deinit(&pool);
    const report *now = next_report(&kept);
    assert_string_equal(now->sentence, "kolk: worn: write after free to slot 0: 01 written at byte 2 of it");
    assert_int_equal(now->failure.rule, KOLK_WRITE_AFTER_FREE);
    assert_no_more(&kept);
}

/* ---- Damage to slots in quarantine ------------------------------------------------------------------------------- */

static void test_damage_while_they_wait(void **state) {
    (void)state;
    kolk_pool pool;
    reports kept;
    begin_reports(&kept);
    make_waiting(&pool, (kolk_pool_desc){.name = "wait", .capacity = 2, .debug = "quarantine=2,fill"});
    take_all(&pool, 2);
    unsigned char *object = (unsigned char *)kolk_pool_at(&pool, 1);
    free_slot(&pool, 1);
    free_slot(&pool, 0);
    object[1] = 1;
    assert_false(kolk_pool_is_valid(&pool));
    assert_ptr_equal(taken_from(&pool), object); /* the oldest one in quarantine */
    assert_damage(&kept, KOLK_WRITE_AFTER_FREE, "wait", object, 1, 1, 1,
                  "kolk: wait: write after free to slot 1: 01 written at byte 1 of it");
    end_pool(&pool);
    assert_no_more(&kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_the_last_ones_wait),
        DEBUG_TEST(test_slots_never_used_come_before_those_that_wait),
        DEBUG_TEST(test_growth_comes_before_those_that_wait),
        DEBUG_TEST(test_the_ring_goes_round),
        DEBUG_TEST(test_on_full_is_asked_after_those_that_wait),
        DEBUG_TEST(test_clear_ends_the_wait),
        DEBUG_TEST(test_trim_does_not),
        DEBUG_TEST(test_alloc_at_takes_any_of_them),
        DEBUG_TEST(test_reserve_with_a_ring_that_goes_round),
        DEBUG_TEST(test_worn_out_slots_come_after_those_that_wait),
        DEBUG_TEST(test_strict_worn_out_slots_never_come_back),
        DEBUG_TEST(test_a_write_to_a_worn_out_object),
        DEBUG_TEST(test_damage_while_they_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
