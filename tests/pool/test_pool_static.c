/* runs: sample:clang */
/* KOLK_POOL_STATIC: pools that the compiler initialises, whose first alloc makes them, and their own functions. */
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
    assert_false(packets_is_live(pool, pool->pool.slots));
    KOLK_EACH(packets, each, pool) fail_msg("slot %u is visited", packets_index(pool, each));
    assert_true(kolk_pool_is_valid(&pool->pool));
}

KOLK_POOL_STATIC(packets, woken, PACKETS);

/* promise: typed.h "defines a static ... init does" */
static void test_its_first_alloc_makes_it(void **state) {
    is_asleep(&woken);
    struct packet *all[PACKETS];
    packets_handle handles[PACKETS];
    for (uint32_t n = 0; n < PACKETS; n++) {
        all[n] = packets_alloc(&woken);
        assert_ptr_equal(all[n], woken.pool.block + n * sizeof(struct packet));
        all[n]->number = n;
        handles[n] = packets_handle_of(&woken, all[n]);
    }
    assert_null(packets_alloc(&woken));
    assert_int_equal(packets_count(&woken), PACKETS);
    for (uint32_t n = 0; n < PACKETS; n++) assert_int_equal(packets_get(&woken, handles[n])->number, n);
    packets_free(&woken, all[5]);
    assert_null(packets_get(&woken, handles[5]));
    assert_ptr_equal(packets_alloc(&woken), all[5]);
    assert_true(kolk_pool_is_valid(&woken.pool));
    kolk_stats stats;
    packets_stats(&woken, &stats);
    assert_string_equal(stats.name, "packets");
    assert_int_equal(stats.capacity, PACKETS);
    assert_int_equal(stats.peak, PACKETS);
    packets_clear(&woken);
    packets_deinit(&woken);
    assert_null(packets_alloc(&woken)); /* it is all zero from now on */
    assert_int_equal(packets_init(&woken, &(kolk_pool_desc){.capacity = 1}), KOLK_OK);
    packets_deinit(&woken);
}

KOLK_POOL_STATIC(packets, zeroed, 2);
KOLK_POOL_STATIC(packets, urgent, 2);
KOLK_POOL_STATIC(packets, many, 2);
KOLK_POOL_STATIC(packets, at, 2);
KOLK_POOL_STATIC(packets, bound, 2);

static void test_every_call_that_makes_it(void **state) {
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
    assert_int_equal(packets_rebind(&bound, &(kolk_pool_desc){.name = "bound", .capacity = 2}), KOLK_OK);
    assert_int_equal(packets_available(&bound), 2);
    packets *pools[5] = {&zeroed, &urgent, &many, &at, &bound};
    for (size_t n = 0; n < 5; n++) {
        assert_true(kolk_pool_is_valid(&pools[n]->pool));
        packets_clear(pools[n]);
        packets_deinit(pools[n]);
    }
}

KOLK_POOL_STATIC(packets, same, 2);
KOLK_POOL_STATIC(packets, other, 2);

/* The init of a pool that overflows into it makes it too, because its tag must differ. */
static void test_an_overflow_pool(void **state) {
    packets pool;
    kolk_pool_desc desc = {.capacity = 1, .full.overflow = &same.pool};
    assert_int_equal(packets_init(&pool, &desc), KOLK_BAD_OVERFLOW);
    desc.name = "not packets";
    desc.full.overflow = &other.pool;
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

KOLK_POOL_STATIC(packets, asleep, 3);

static void test_other_calls_find_no_slots(void **state) {
    unsigned char block[80] = {0};
    assert_int_not_equal(packets_restore(&asleep, block, sizeof block), KOLK_OK);
    packets_clear(&asleep);
    packets_free(&asleep, NULL);
    is_asleep(&asleep);
    packets_deinit(&asleep);
    is_asleep(&asleep);
    assert_null(packets_alloc(&asleep));
}

KOLK_POOL_STATIC(words, numbers, 100);

static void test_small_objects(void **state) {
    uint32_t count = 0;
    for (uint64_t *word; (word = words_alloc(&numbers)); count++) *word = count;
    assert_int_equal(count, 100);
    uint64_t sum = 0;
    KOLK_EACH(words, word, &numbers) sum += *word;
    assert_int_equal(sum, 99 * 100 / 2);
    words_clear(&numbers);
    words_deinit(&numbers);
}

KOLK_POOL_STATIC(packets, own, PACKETS);
KOLK_POOL_STATIC(words, small, 13);

/* The pool's own functions do what those of its type do, whichever calls come in between.
 * promise: typed.h "do what bullets_alloc(&fired) and so on do" */
static void test_its_own_functions(void **state) {
    notes taken;
    begin_notes(&taken);
    packets_handle handles[PACKETS], before;
    assert_null(own_get((packets_handle){{UINT64_C(1) << 32}}));
    for (uint32_t n = 0; n < PACKETS; n++) {
        struct packet *packet = n % 2 ? packets_alloc(&own) : own_alloc();
        assert_ptr_equal(packet, packets_at(&own, n));
        packet->number = n;
        handles[n] = packets_handle_of(&own, packet);
    }
    assert_null(own_alloc());
    for (uint32_t n = 0; n < PACKETS; n++) assert_int_equal(own_get(handles[n])->number, n);
    for (uint32_t life = 0; life < 300; life++) { /* more than the low part of a generation counts */
        struct packet *packet = own_get(handles[7]);
        before = handles[7];
        life % 3 ? own_free(packet) : packets_free(&own, packet);
        assert_null(own_get(before));
        assert_null(packets_get(&own, before));
        assert_ptr_equal(life % 2 ? own_alloc() : packets_alloc(&own), packet);
        handles[7] = packets_handle_of(&own, packet);
        assert_ptr_equal(packets_get(&own, handles[7]), own_get(handles[7]));
    }
    assert_int_equal(taken.count, 0);
    struct packet *packet = own_get(handles[9]);
    own_free(packet);
    own_free(packet);
    assert_int_equal(taken.last.rule, KOLK_DOUBLE_FREE);
    own_free((struct packet *)(void *)&packet->bytes[4]);
    assert_int_equal(taken.count, 2);
    own_free(NULL);
    assert_int_equal(taken.count, 2);
    kolk_set_failure_handler(NULL, NULL);
    assert_int_equal(packets_count(&own), PACKETS - 1);
    assert_true(kolk_pool_is_valid(&own.pool));
    packets_clear(&own);
    packets_deinit(&own);

    for (uint64_t n = 0; n < 13; n++) *small_alloc() = n;
    assert_null(small_alloc());
    for (uint32_t n = 0; n < 13; n++) {
        assert_int_equal(*small_get(words_handle_of(&small, words_at(&small, n))), n);
        small_free(words_at(&small, n));
    }
    assert_int_equal(words_count(&small), 0);
    assert_true(kolk_pool_is_valid(&small.pool));
    words_deinit(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_its_first_alloc_makes_it),
                                       cmocka_unit_test(test_every_call_that_makes_it),
                                       cmocka_unit_test(test_an_overflow_pool),
                                       cmocka_unit_test(test_other_calls_find_no_slots),
                                       cmocka_unit_test(test_small_objects),
                                       cmocka_unit_test(test_its_own_functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
