/* kolk_pool_renew: what a new object in an old slot means for handles, orders, hooks, the debug mode and other pools.
 * (Random renewals: test_pool_model.c. Sites: test_debug_sites.c. Hooks of all kinds: test_all_hooks.c.) */
#include "../help/debug_test.h"

#include "last_life.h"
#include "two.h"

static uint32_t life_of(const kolk_pool *pool, const void *object) {
    return (uint32_t)(kolk_pool_handle_of(pool, object).bits >> 32);
}

/* More lives than the low part of a generation counts. The free slots, and the next alloc, stay the same. */
static void test_lives_in_one_slot(void **state) {
    for (unsigned n = 0; n < LENGTH_OF(orders) * DEBUG_MODES * 2; n++) {
        kolk_pool pool;
        const char *debug = begin_debug_mode(n / LENGTH_OF(orders));
        bool moves = debug_modes[n / LENGTH_OF(orders) % DEBUG_MODES].bypass[0] == '1';
        make_pool(&pool, &(kolk_pool_desc){.name = "lives",
                                           .object_size = SIZE,
                                           .capacity = 4,
                                           .reuse = orders[n % LENGTH_OF(orders)],
                                           .ages = n / LENGTH_OF(orders) / DEBUG_MODES,
                                           .debug = debug});
        void *object = taken_from(&pool), *other = taken_from(&pool), *gone = taken_from(&pool);
        give_back(&pool, gone);
        for (uint32_t life = 2; life < 400; life++) {
            kolk_handle old = kolk_pool_handle_of(&pool, object);
            void *again = kolk_pool_renew(&pool, object);
            assert_true(moves ? again != NULL : again == object);
            object = again;
            assert_null(kolk_pool_get(&pool, old));
            assert_int_equal(life_of(&pool, object), life);
            assert_int_equal(kolk_pool_index(&pool, object), 0);
            assert_int_equal(kolk_pool_count(&pool), 2);
            assert_true(kolk_pool_is_live(&pool, object));
        }
        assert_int_equal(life_of(&pool, other), 1);
        assert_true(kolk_pool_is_valid(&pool));
        uint32_t slot = kolk_pool_index(&pool, kolk_pool_alloc(&pool));
        bool fresh = pool.reuse == KOLK_REUSE_FIFO || (pool.debug_flags & KOLK_DEBUG_QUARANTINE);
        assert_int_equal(slot, fresh ? 3 : 2);
        kolk_pool_clear(&pool);
        end_pool(&pool);
    }
}

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

typedef struct hooked {
    kolk_pool pool;
    unsigned setups, resets, others;
    void *freed, *renewed; /* what the next reset frees, and what it renews */
} hooked;

static bool count_setup(void *object, void *context) {
    ((hooked *)context)->setups++;
    return true;
}

static void count_reset(void *object, void *context) {
    hooked *h = (hooked *)context;
    void *freed = h->freed, *renewed = h->renewed;
    assert_false(kolk_pool_is_live(&h->pool, object));
    h->resets++;
    h->freed = h->renewed = NULL;
    if (freed) kolk_pool_free(&h->pool, freed);
    if (renewed) assert_int_equal(kolk_pool_renew(&h->pool, renewed) != NULL, renewed != object);
}

static bool count_full(kolk_pool *pool, size_t bytes, void *context) {
    ((hooked *)context)->others++;
    return false;
}

static void count_low(kolk_pool *pool, void *context) {
    ((hooked *)context)->others++;
}

/* promise: "NULL does nothing, and the result ... result is then NULL" */
static void test_hooks(void **state) {
    for (unsigned n = 0; n < LENGTH_OF(orders) * DEBUG_MODES; n++) {
        hooked h = {.setups = 0};
        notes taken;
        make_pool(&h.pool, &(kolk_pool_desc){.name = "hooked",
                                             .object_size = SIZE,
                                             .capacity = 3,
                                             .reuse = orders[n % LENGTH_OF(orders)],
                                             .full.low_water = 2,
                                             .full.on_low = count_low,
                                             .full.on_full = count_full,
                                             .life.setup = count_setup,
                                             .life.reset = count_reset,
                                             .context = &h,
                                             .debug = begin_debug_mode(n / LENGTH_OF(orders))});
        void *a = taken_from(&h.pool), *b = taken_from(&h.pool), *c = taken_from(&h.pool);
        kolk_handle of_b = kolk_pool_handle_of(&h.pool, b), of_c = kolk_pool_handle_of(&h.pool, c);
        h.others = 0;
        assert_non_null(a = kolk_pool_renew(&h.pool, a)); /* the pool is full */
        assert_int_equal(h.setups, 3);
        assert_int_equal(h.resets, 1);
        assert_int_equal(h.others, 0);
        h.freed = b, h.renewed = c;
        assert_non_null(a = kolk_pool_renew(&h.pool, a));
        assert_int_equal(h.resets, 4);
        assert_int_equal(kolk_pool_count(&h.pool), 2);
        assert_null(kolk_pool_get(&h.pool, of_b));
        assert_null(kolk_pool_get(&h.pool, of_c));
        assert_true(kolk_pool_is_valid(&h.pool));
        begin_notes(&taken);
        assert_null(kolk_pool_renew(&h.pool, NULL));
        assert_silent(&taken);
        h.renewed = a; /* its life is just ending */
        void *last = a;
        assert_non_null(a = kolk_pool_renew(&h.pool, a));
        assert_noted(&taken, KOLK_DEAD_OBJECT, "hooked", last, 0, "kolk: hooked: renew of slot 0, which is free");
        abort_on_failure(state);
        assert_int_equal(kolk_pool_count(&h.pool), 2);
        kolk_pool_clear(&h.pool);
        end_pool(&h.pool);
    }
}

/* A teardown hook may only free. */
static void renew_in_teardown(void *object, void *context) {
    assert_null(kolk_pool_renew((kolk_pool *)context, first_alive((kolk_pool *)context)));
}

static void test_in_a_teardown(void **state) {
    kolk_pool pool;
    notes taken;
    kolk_pool_desc desc = {.name = "torn", .object_size = 4096, .capacity = 9, .context = &pool};
    desc.life.teardown = renew_in_teardown;
    make_pool(&pool, &desc);
    for (int i = 0; i < 9; i++) taken_from(&pool);
    for (uint32_t i = 1; i < 9; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
    begin_notes(&taken);
    kolk_pool_trim(&pool);
    assert_true(taken.count > 0);
    assert_int_equal(taken.last.rule, KOLK_IN_HOOK);
    assert_string_equal(taken.sentence, "kolk: torn: renew in a hook of this pool, which may only free");
    kolk_pool_clear(&pool);
    end_pool(&pool);
}

/* ---- The debug mode ---------------------------------------------------------------------------------------------- */

static void free_it(const kolk_failure *failure, void *context) {
    kolk_pool_free((kolk_pool *)context, (void *)(uintptr_t)failure->object);
}

/* If the handler of a report of damage frees the object, the new one is that of an alloc. */
static void test_a_handler_that_frees_the_object(void **state) {
    for (unsigned n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_pool(&pool,
                  &(kolk_pool_desc){
                      .name = "freed", .object_size = SIZE, .capacity = 1, .reuse = orders[n], .debug = "guard"});
        unsigned char *object = taken_from(&pool);
        object[SIZE] = 1;
        kolk_set_failure_handler(free_it, &pool);
        assert_ptr_equal(kolk_pool_renew(&pool, object), object);
        assert_int_equal(kolk_pool_count(&pool), 1);
        assert_int_equal(life_of(&pool, object), 2);
        end_pool(&pool);
    }
}

/* ---- Slots that wear out, and overflow pools --------------------------------------------------------------------- */

/* `spare`: another slot is free. promise: "it may be at another ... old object is freed" */
static void test_a_last_life(void **state) {
    for (unsigned n = 0; n < LENGTH_OF(orders) * DEBUG_MODES * 8; n++) {
        kolk_pool pool;
        kolk_stats stats;
        bool strict = n & 1, spare = n & 2, ages = n & 4;
        make_pool(&pool, &(kolk_pool_desc){.name = "worn",
                                           .object_size = SIZE,
                                           .capacity = 2 + spare,
                                           .reuse = orders[n / 8 % LENGTH_OF(orders)],
                                           .ages = ages,
                                           .generations = strict ? KOLK_GENERATIONS_STRICT : KOLK_GENERATIONS_RECYCLE,
                                           .debug = begin_debug_mode(n / 8 / LENGTH_OF(orders))});
        void *object = taken_from(&pool);
        taken_from(&pool);
        be_in_last_life(&pool, 0);
        kolk_handle old = kolk_pool_handle_of(&pool, object);
        void *again = kolk_pool_renew(&pool, object);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(again != NULL, spare || !strict);
        assert_null(kolk_pool_get(&pool, old));
        assert_int_equal(stats.count, again ? 2 : 1);
        assert_int_equal(stats.failed, again ? 0 : 1);
        assert_int_equal(stats.worn_out, spare || strict ? 1 : 0);
        if (again) assert_int_equal(kolk_pool_index(&pool, again), spare ? 2 : 0);
        if (again) assert_int_equal(life_of(&pool, again), 1);
        kolk_pool_clear(&pool);
        end_pool(&pool);
    }
}

static void test_an_object_of_the_overflow_pool(void **state) {
    for (size_t mode = 0; mode < DEBUG_MODES; mode++) {
        two t;
        const char *debug = begin_debug_mode(mode);
        make_two(&t, (kolk_pool_desc){.debug = debug}, (kolk_pool_desc){.debug = debug});
        void *first = taken_from(&t.first);
        taken_from(&t.first);
        void *over = taken_from(&t.first);
        give_back(&t.first, first);
        assert_counts(&t, 1, 1);
        kolk_handle old = kolk_pool_handle_of(&t.first, over);
        over = kolk_pool_renew(&t.first, over); /* it stays there, although the first pool has a free slot */
        assert_true(kolk_pool_is_live(&t.second, over));
        assert_null(kolk_pool_get(&t.first, old));
        assert_counts(&t, 1, 1);
        be_in_last_life(&t.second, 0);
        over = kolk_pool_renew(&t.first, over); /* the alloc in its place tries the first pool first */
        assert_counts(&t, 2, 0);
        kolk_pool_clear(&t.first);
        end_two(&t);
    }
}

static two *overflowing;
static void *in_second;

static double renew_by_the_first_pool(const void *object, void *context) {
    assert_null(kolk_pool_renew(&overflowing->first, in_second));
    return 0;
}

/* Neither a pool whose hook runs may renew objects, nor another pool the objects of such a pool. */
static void test_in_hooks_of_both_pools(void **state) {
    for (size_t n = 0; n < 2 * DEBUG_MODES; n++) {
        two t;
        notes taken;
        const char *debug = begin_debug_mode(n / 2);
        kolk_pool_desc desc = {.debug = debug}, costing = {.debug = debug, .full.cost = renew_by_the_first_pool};
        if (n % 2)
            make_two(&t, costing, desc);
        else
            make_two(&t, desc, costing);
        taken_from(&t.first);
        taken_from(&t.first);
        in_second = taken_from(&t.first);
        overflowing = &t;
        begin_notes(&taken);
        kolk_pool *evicting = n % 2 ? &t.first : &t.second;
        assert_true(kolk_pool_evict_cheapest(evicting, 0, NULL));
        assert_int_equal(taken.count, n % 2 ? 2 : 1);
        assert_int_equal(taken.last.rule, KOLK_IN_HOOK);
        assert_string_equal(taken.sentence,
                            n % 2 ? "kolk: first: renew in a hook of this pool, which must not change it"
                                  : "kolk: second: renew in a hook of this pool, which must not change it");
        abort_on_failure(state);
        kolk_pool_clear(&t.first);
        kolk_pool_clear(&t.second);
        end_two(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_lives_in_one_slot),
        DEBUG_TEST(test_hooks),
        DEBUG_TEST(test_in_a_teardown),
        DEBUG_TEST(test_a_last_life),
        DEBUG_TEST(test_a_handler_that_frees_the_object),
        DEBUG_TEST(test_an_object_of_the_overflow_pool),
        DEBUG_TEST(test_in_hooks_of_both_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
