/* KOLK_POOL_STATIC: pools that the compiler initialises, whose first alloc makes them. */
#include "../help/test.h"

#include "kolk/kolk.h"

struct packet {
    uint32_t number;
    unsigned char bytes[28];
};
KOLK_POOL_TYPE(packets, struct packet)
KOLK_POOL_TYPE(words, uint64_t)

enum { PACKETS = 70 };

static void is_asleep(const packets *pool) {
    assert_int_equal(packets_count(pool), 0);
    assert_int_equal(packets_available(pool), 0);
    assert_null(packets_get(pool, (packets_handle){{UINT64_C(1) << 32}}));
    assert_false(packets_is_live(pool, pool->pool.desc.memory));
    KOLK_EACH(packets, each, pool) fail_msg("slot %u is visited", packets_index(pool, each));
    assert_true(kolk_pool_is_valid(&pool->pool));
}

static void test_its_first_alloc_makes_it(void **state) {
    (void)state;
    KOLK_POOL_STATIC(packets, pool, PACKETS);
    is_asleep(&pool);
    struct packet *all[PACKETS];
    packets_handle handles[PACKETS];
    for (uint32_t n = 0; n < PACKETS; n++) {
        all[n] = packets_alloc(&pool);
        assert_ptr_equal(all[n], (unsigned char *)pool.pool.desc.memory + n * sizeof(struct packet));
        all[n]->number = n;
        handles[n] = packets_handle_of(&pool, all[n]);
    }
    assert_null(packets_alloc(&pool));
    assert_int_equal(packets_count(&pool), PACKETS);
    for (uint32_t n = 0; n < PACKETS; n++) assert_int_equal(packets_get(&pool, handles[n])->number, n);
    packets_free(&pool, all[5]);
    assert_null(packets_get(&pool, handles[5]));
    assert_ptr_equal(packets_alloc(&pool), all[5]);
    assert_true(kolk_pool_is_valid(&pool.pool));
    kolk_stats stats;
    packets_stats(&pool, &stats);
    assert_string_equal(stats.name, "packets");
    assert_int_equal(stats.capacity, PACKETS);
    assert_int_equal(stats.peak, PACKETS);
    packets_clear(&pool);
    packets_deinit(&pool);
    assert_null(packets_alloc(&pool)); /* it is all zero from now on */
    assert_int_equal(packets_init(&pool, &(kolk_pool_desc){.capacity = 1}), KOLK_OK);
    packets_deinit(&pool);
}

static void test_every_call_that_makes_it(void **state) {
    (void)state;
    KOLK_POOL_STATIC(packets, zeroed, 2);
    KOLK_POOL_STATIC(packets, urgent, 2);
    KOLK_POOL_STATIC(packets, many, 2);
    KOLK_POOL_STATIC(packets, at, 2);
    assert_non_null(packets_alloc_zeroed(&zeroed));
    assert_non_null(packets_alloc_urgent(&urgent));
    struct packet *two[3];
    assert_int_equal(packets_alloc_n(&many, two, 3), 2);
    struct packet *first = packets_alloc(&urgent);
    assert_non_null(first);
    packets_handle handle = packets_handle_of(&urgent, first);
    struct packet *same = packets_alloc_at(&at, handle); /* pools of one name have one tag */
    assert_non_null(same);
    assert_ptr_equal(packets_get(&at, handle), same);
    KOLK_POOL_STATIC(packets, bound, 2);
    assert_int_equal(packets_rebind(&bound, &(kolk_pool_desc){.name = "bound", .capacity = 2}), KOLK_OK);
    assert_int_equal(packets_available(&bound), 2);
    packets *pools[5] = {&zeroed, &urgent, &many, &at, &bound};
    for (size_t n = 0; n < 5; n++) {
        assert_true(kolk_pool_is_valid(&pools[n]->pool));
        packets_clear(pools[n]);
        packets_deinit(pools[n]);
    }
}

/* The init of a pool that overflows into it makes it too, because its tag must differ. */
static void test_an_overflow_pool(void **state) {
    (void)state;
    KOLK_POOL_STATIC(packets, same, 2);
    KOLK_POOL_STATIC(packets, other, 2);
    packets pool;
    kolk_pool_desc desc = {.capacity = 1, .overflow = &same.pool};
    assert_int_equal(packets_init(&pool, &desc), KOLK_BAD_OVERFLOW);
    desc.name = "not packets";
    desc.overflow = &other.pool;
    assert_int_equal(packets_init(&pool, &desc), KOLK_OK);
    struct packet *a = packets_alloc(&pool), *b = packets_alloc(&pool);
    assert_true(a && b && !packets_is_live(&other, a));
    assert_ptr_equal(packets_get(&pool, packets_handle_of(&pool, a)), a);
    assert_ptr_equal(packets_get(&pool, packets_handle_of(&pool, b)), b);
    packets_clear(&pool);
    packets_deinit(&pool);
    packets *pools[2] = {&same, &other};
    for (size_t n = 0; n < 2; n++) {
        assert_true(kolk_pool_is_valid(&pools[n]->pool));
        packets_clear(pools[n]);
        packets_deinit(pools[n]);
    }
}

static void test_other_calls_find_no_slots(void **state) {
    (void)state;
    KOLK_POOL_STATIC(packets, pool, 3);
    unsigned char block[80] = {0};
    assert_int_not_equal(packets_restore(&pool, block, sizeof block), KOLK_OK);
    packets_clear(&pool);
    packets_free(&pool, NULL);
    is_asleep(&pool);
    packets_deinit(&pool);
    is_asleep(&pool);
    assert_null(packets_alloc(&pool));
}

KOLK_POOL_STATIC(words, outside, 100); /* at file scope */

static void test_small_objects_outside_of_functions(void **state) {
    (void)state;
    uint32_t count = 0;
    for (uint64_t *word; (word = words_alloc(&outside)); count++) *word = count;
    assert_int_equal(count, 100);
    uint64_t sum = 0;
    KOLK_EACH(words, word, &outside) sum += *word;
    assert_int_equal(sum, 99 * 100 / 2);
    words_clear(&outside);
    words_deinit(&outside);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_its_first_alloc_makes_it), cmocka_unit_test(test_every_call_that_makes_it),
        cmocka_unit_test(test_an_overflow_pool), cmocka_unit_test(test_other_calls_find_no_slots),
        cmocka_unit_test(test_small_objects_outside_of_functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
