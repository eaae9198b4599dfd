/* The order of costs: evictions from a ranked pool are those from a pool that compares all objects. (Random operations
 * of all kinds: test_pool_model.c.) */
#include "../help/debug_test.h"

#include <math.h>

typedef struct voice {
    double loudness;
} voice;

KOLK_POOL_TYPE(voices, voice)

static double loudness(const void *object, void *context) {
    if (context) ++*(unsigned *)context;
    return ((const voice *)object)->loudness;
}

static voice *voice_of(voices *pool, double cost) {
    voice *v = voices_alloc(pool);
    assert_non_null(v);
    v->loudness = cost;
    return v;
}

/* ---- The same victims -------------------------------------------------------------------------------------------- */

/* Two pools in the same state; `ranked` keeps an order. */
typedef struct twins {
    voices plain, ranked;
    uint64_t random;
} twins;

static void begin_twins(twins *t, kolk_pool_desc desc, uint64_t seed) {
    desc.full.cost = loudness;
    desc.ages = true;
    assert_int_equal(voices_init(&t->plain, &desc), KOLK_OK);
    desc.full.ranked = true;
    desc.tag = 0;
    assert_int_equal(voices_init(&t->ranked, &desc), KOLK_OK);
    t->random = seed;
}

static double some_cost(uint64_t *random) {
    static const double odd[] = {0.0, -0.0, 1e-320, -1e-320, INFINITY, -INFINITY, NAN, -NAN, 1e308, -1e308};
    uint32_t choice = random_below(random, 40);
    if (choice < LENGTH_OF(odd)) return odd[choice];
    double number = random_below(random, 1000) / 8.0 - 60;
    return choice < 30 ? number : floor(number); /* some are equal */
}

static void twin_alloc(twins *t) {
    double cost = some_cost(&t->random);
    voice *a = voices_alloc(&t->plain), *b = voices_alloc(&t->ranked);
    assert_int_equal(a != NULL, b != NULL);
    if (!a) return;
    assert_int_equal(voices_index(&t->plain, a), voices_index(&t->ranked, b));
    a->loudness = b->loudness = cost;
}

static void twin_alloc_over(twins *t) {
    double cost = some_cost(&t->random);
    voice *a = voices_alloc_over(&t->plain, cost), *b = voices_alloc_over(&t->ranked, cost);
    assert_int_equal(a != NULL, b != NULL);
    if (!a) return;
    assert_int_equal(voices_index(&t->plain, a), voices_index(&t->ranked, b));
    a->loudness = b->loudness = cost;
}

static void twin_change(twins *t) {
    uint32_t slot = random_below(&t->random, t->plain.pool.capacity), choice = random_below(&t->random, 8);
    voice *a = voices_at(&t->plain, slot), *b = voices_at(&t->ranked, slot);
    if (!a) return;
    assert_non_null(b);
    if (choice == 0) {
        voices_free(&t->plain, a);
        voices_free(&t->ranked, b);
    } else if (choice < 3) {
        voices_protect(&t->plain, a, choice == 1);
        voices_protect(&t->ranked, b, choice == 1);
    } else {
        a->loudness = b->loudness = some_cost(&t->random);
        voices_recost(&t->ranked, b);
    }
}

static void twin_change_all(twins *t) {
    double factor = random_below(&t->random, 100) - 50.0;
    KOLK_EACH(voices, v, &t->plain) v->loudness *= factor;
    KOLK_EACH(voices, v, &t->ranked) v->loudness *= factor;
    voices_recost(&t->ranked, NULL);
}

static void twin_evict(twins *t) {
    bool evicted = kolk_pool_evict_cheapest(&t->plain.pool, 0, NULL);
    assert_int_equal(kolk_pool_evict_cheapest(&t->ranked.pool, 0, NULL), evicted);
}

/* promise: "frees the live ... all are protected", "With .full.ranked ... find the same object" */
static void test_the_same_victims(void **state) {
    for (uint64_t n = 0; n < 120; n += does_a_part() ? 7 : 1) {
        twins t;
        uint32_t most = n % 3 == 0 ? 1 + (uint32_t)n / 3 : n % 3 == 1 ? 150 : 700;
        begin_twins(&t,
                    (kolk_pool_desc){.capacity = n % 2 ? most : most / 2,
                                     .max_capacity = most,
                                     .reuse = orders[n % LENGTH_OF(orders)],
                                     .full.on_full = n % 4 ? kolk_pool_evict_cheapest : NULL},
                    n + 1);
        for (unsigned step = 0; step < 4 * most + 400; step++) {
            uint32_t choice = random_below(&t.random, 400);
            if (choice < 200)
                twin_alloc(&t);
            else if (choice < 220)
                twin_alloc_over(&t);
            else if (choice < 385)
                twin_change(&t);
            else if (choice < 395)
                twin_evict(&t);
            else if (choice < 399)
                twin_change_all(&t);
            else if (random_below(&t.random, 4) == 0)
                voices_clear(&t.plain), voices_clear(&t.ranked);
            if (step % 16 == 0) assert_true(voices_is_valid(&t.ranked));
            assert_int_equal(voices_count(&t.plain), voices_count(&t.ranked));
        }
        while (voices_count(&t.plain)) { /* the whole order, with those that were protected until now */
            KOLK_EACH(voices, v, &t.plain) voices_protect(&t.plain, v, false);
            KOLK_EACH(voices, v, &t.ranked) voices_protect(&t.ranked, v, false);
            twin_evict(&t);
            for (uint32_t slot = 0; slot < most; slot++)
                assert_int_equal(voices_at(&t.plain, slot) != NULL, voices_at(&t.ranked, slot) != NULL);
        }
        end_pool(&t.plain.pool);
        end_pool(&t.ranked.pool);
    }
}

/* ---- When the hook is called ------------------------------------------------------------------------------------- */

/* promise: "the cost of this live ... made at the first eviction" */
static void test_how_often_costs_are_asked_for(void **state) {
    voices pool;
    unsigned asked = 0;
    assert_int_equal(voices_init(&pool, &(kolk_pool_desc){.capacity = 500,
                                                          .full.cost = loudness,
                                                          .full.ranked = true,
                                                          .context = &asked,
                                                          .full.on_full = kolk_pool_evict_cheapest}),
                     KOLK_OK);
    for (unsigned n = 0; n < 500; n++) voice_of(&pool, n % 100);
    assert_int_equal(asked, 0); /* filling costs nothing */
    for (unsigned n = 0; n < 3; n++) {
        voice_of(&pool, 1000);
        assert_int_equal(asked, 500 + n); /* all, and then what is new */
    }
    voice *changed = voices_at(&pool, 499);
    changed->loudness = -1;
    voices_recost(&pool, changed);
    assert_int_equal(asked, 503);
    assert_ptr_equal(voice_of(&pool, 1000), changed);
    voices_recost(&pool, NULL);
    voices_recost(&pool, NULL);
    assert_int_equal(asked, 504); /* the voice that was new when this one was evicted */
    voice_of(&pool, 1000);
    assert_int_equal(asked, 1004);
    voices_clear(&pool);
    for (unsigned n = 0; n < 500; n++) voice_of(&pool, n);
    assert_int_equal(asked, 1004);
    assert_ptr_equal(voice_of(&pool, 1000), voices_at(&pool, 0));
    assert_int_equal(asked, 1504);
    end_pool(&pool.pool);
}

/* An order from which all objects have gone need not be made again. */
static void test_no_costs_of_protected_objects(void **state) {
    voices pool;
    unsigned asked = 0;
    assert_int_equal(
        voices_init(&pool,
                    &(kolk_pool_desc){
                        .capacity = 100, .full.cost = loudness, .ages = true, .full.ranked = true, .context = &asked}),
        KOLK_OK);
    assert_false(kolk_pool_evict_cheapest(&pool.pool, 0, NULL));
    for (unsigned n = 0; n < 100; n++) voices_protect(&pool, voice_of(&pool, n), true);
    for (unsigned turn = 0; turn < 3; turn++) {
        asked = 0;
        for (unsigned n = 0; n < 10; n++) {
            assert_null(voices_alloc_over(&pool, INFINITY));
            assert_false(kolk_pool_evict_cheapest(&pool.pool, 0, NULL));
        }
        assert_int_equal(asked, 0);
        assert_true(voices_is_valid(&pool));
        voices_protect(&pool, voices_at(&pool, 7 + turn), false);
        voice *v = voices_alloc_over(&pool, INFINITY);
        assert_ptr_equal(v, voices_at(&pool, 7 + turn));
        assert_int_equal(asked, 1);
        voices_protect(&pool, v, true);
        if (turn == 1) voices_recost(&pool, NULL);
    }
    end_pool(&pool.pool);
}

static void test_a_voice_too_quiet(void **state) {
    voices pool;
    assert_int_equal(voices_init(&pool, &(kolk_pool_desc){.capacity = 2, .full.cost = loudness, .full.ranked = true}),
                     KOLK_OK);
    voice *a = voice_of(&pool, 1), *b = voice_of(&pool, 2);
    assert_null(voices_alloc_over(&pool, 1));
    assert_ptr_equal(voices_alloc_over(&pool, 1.5), a);
    a->loudness = 3;
    assert_null(voices_alloc_over(&pool, 2));
    assert_ptr_equal(voices_alloc_over(&pool, NAN), b); /* not a number is the highest cost */
    b->loudness = -NAN;                                 /* its sign does not matter */
    assert_null(voices_alloc_over(&pool, 3));
    assert_ptr_equal(voices_alloc_over(&pool, INFINITY), a);
    a->loudness = -0.0;
    assert_null(voices_alloc_over(&pool, 0.0));
    assert_ptr_equal(voices_alloc_over(&pool, 1e-320), a);
    end_pool(&pool.pool);
}

/* ---- When the order is made anew --------------------------------------------------------------------------------- */

static double quietness(const void *object, void *context) {
    return -loudness(object, context);
}

static void test_another_cost_after_a_rebind(void **state) {
    voices pool;
    kolk_pool_desc desc = {
        .capacity = 3, .full.cost = loudness, .full.ranked = true, .full.on_full = kolk_pool_evict_cheapest};
    assert_int_equal(voices_init(&pool, &desc), KOLK_OK);
    voice *quiet = voice_of(&pool, 1), *loud = voice_of(&pool, 3);
    voice_of(&pool, 2);
    assert_ptr_equal(voice_of(&pool, 1), quiet);
    desc.full.cost = quietness;
    assert_int_equal(voices_rebind(&pool, &desc), KOLK_OK);
    assert_ptr_equal(voice_of(&pool, 3), loud);
    desc.full.ranked = false; /* 0 means: as it was */
    assert_int_equal(voices_rebind(&pool, &desc), KOLK_OK);
    assert_true(pool.pool.ranks);
    end_pool(&pool.pool);
}

static void test_a_restored_pool(void **state) {
    voices pool;
    assert_int_equal(voices_init(&pool, &(kolk_pool_desc){.capacity = 40, .full.cost = loudness, .full.ranked = true}),
                     KOLK_OK);
    for (unsigned n = 0; n < 40; n++) voice_of(&pool, n * 7 % 40);
    unsigned char block[2000];
    size_t size = voices_snapshot(&pool, block, sizeof block);
    assert_true(size > 0 && size == voices_snapshot_size(&pool));
    for (unsigned n = 0; n < 30; n++) assert_true(kolk_pool_evict_cheapest(&pool.pool, 0, NULL));
    assert_int_equal(voices_restore(&pool, block, size), KOLK_OK);
    for (unsigned n = 0; n < 40; n++) {
        assert_true(kolk_pool_evict_cheapest(&pool.pool, 0, NULL));
        KOLK_EACH(voices, v, &pool) assert_true(v->loudness > n);
        assert_true(voices_is_valid(&pool));
    }
    end_pool(&pool.pool);
}

/* ---- Other pools, and mistakes ----------------------------------------------------------------------------------- */

/* promise: "In a pool without .ranked, recost does nothing" */
static void test_recost_without_an_order(void **state) {
    voices pool, zero = {0};
    assert_int_equal(voices_init(&pool, &(kolk_pool_desc){.capacity = 2, .full.cost = loudness}), KOLK_OK);
    voice *a = voice_of(&pool, 2), *b = voice_of(&pool, 1);
    voices_recost(&pool, a);
    voices_recost(&pool, NULL);
    assert_true(kolk_pool_evict_cheapest(&pool.pool, 0, NULL) && !voices_is_live(&pool, b));
    voices_recost(&zero, NULL);
    assert_true(voices_is_valid(&zero) && is_all_zero(&zero.pool));
    end_pool(&pool.pool);
}

static void test_recost_of_what_is_no_object(void **state) {
    reports kept = {.count = 0};
    kolk_set_failure_handler(keep_report, &kept);
    voices pool;
    assert_int_equal(
        voices_init(&pool, &(kolk_pool_desc){.name = "v", .capacity = 2, .full.cost = loudness, .full.ranked = true}),
        KOLK_OK);
    voice *a = voice_of(&pool, 1);
    voices_free(&pool, a);
    voices_recost(&pool, a);
    voices_recost(&pool, (const voice *)(const void *)&pool);
    assert_int_equal(kept.count, 2);
    assert_int_equal(kept.all[0].failure.rule, KOLK_DEAD_OBJECT);
    assert_non_null(strstr(kept.all[0].sentence, "kolk: v: recost of slot 0, which is free"));
    assert_true(voices_is_valid(&pool));
    end_pool(&pool.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_the_same_victims),
        DEBUG_TEST(test_how_often_costs_are_asked_for),
        DEBUG_TEST(test_no_costs_of_protected_objects),
        DEBUG_TEST(test_a_voice_too_quiet),
        DEBUG_TEST(test_another_cost_after_a_rebind),
        DEBUG_TEST(test_a_restored_pool),
        DEBUG_TEST(test_recost_without_an_order),
        DEBUG_TEST(test_recost_of_what_is_no_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
