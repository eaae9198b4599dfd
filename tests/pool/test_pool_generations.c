/* with: KOLK_GENERATION_MAX=7 */
/* Slots whose generations are used up, after 7 lives in this build: RECYCLE reuses them, the oldest first, when the
 * pool would otherwise be full; STRICT never does. Also tests what clear, trim and alloc_at do with such slots. */
#include "../help/test.h"

#define LIVES KOLK_GENERATION_MAX

static void make(kolk_pool *pool, kolk_reuse reuse, kolk_generations generations, uint32_t capacity, uint32_t max) {
    make_pool(pool, &(kolk_pool_desc){.name = "worn",
                                      .object_size = 8,
                                      .capacity = capacity,
                                      .max_capacity = max,
                                      .reuse = reuse,
                                      .generations = generations});
}

static void assert_worn(const kolk_pool *pool, uint32_t worn, uint32_t recycled) {
    kolk_stats stats;
    kolk_pool_stats(pool, &stats);
    assert_int_equal(stats.worn_out, worn);
    assert_int_equal(stats.recycled, recycled);
    assert_true(kolk_pool_is_valid(pool));
}

static kolk_handle handle_of_slot(const kolk_pool *pool, uint32_t slot, uint32_t generation) {
    return kolk_handle_unpack((uint64_t)generation << 32 | (slot ^ pool->tag));
}

/* Uses up the slot's lives, from this generation on. */
static void wear_out(kolk_pool *pool, uint32_t slot, uint32_t generation) {
    for (; generation <= LIVES; generation++) {
        kolk_handle handle = handle_of_slot(pool, slot, generation);
        if (!kolk_pool_at(pool, slot)) assert_non_null(kolk_pool_alloc_at(pool, handle));
        assert_true(kolk_handle_equal(kolk_pool_handle_of(pool, kolk_pool_at(pool, slot)), handle));
        assert_true(kolk_pool_free_handle(pool, handle));
        assert_null(kolk_pool_get(pool, handle));
    }
}

static void test_generations_count_lives_from_1(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make(&pool, orders[i], KOLK_GENERATIONS_RECYCLE, 1, 0);
        for (uint32_t life = 1; life <= LIVES; life++) {
            void *object = kolk_pool_alloc(&pool);
            assert_int_equal(kolk_pool_handle_of(&pool, object).bits >> 32, life);
            assert_worn(&pool, 0, 0);
            kolk_pool_free(&pool, object);
        }
        assert_worn(&pool, 1, 0);
        void *object = kolk_pool_alloc(&pool);
        assert_int_equal(kolk_pool_handle_of(&pool, object).bits >> 32, 1);
        assert_worn(&pool, 0, 1);
        kolk_pool_deinit(&pool);
    }
}

/* promise: "A slot is worn ... used first"; base.h "its generations ... memory per slot" */
static void test_recycle_takes_the_oldest_when_otherwise_full(void **state) {
    (void)state;
    static const uint32_t order[] = {2, 0, 3, 1}; /* the order in which they wear out */
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make(&pool, orders[i], KOLK_GENERATIONS_RECYCLE, 6, 0);
        void *objects[6];
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 6), 6);
        for (size_t n = 0; n < LENGTH_OF(order); n++) wear_out(&pool, order[n], 1);
        assert_worn(&pool, 4, 0);
        assert_int_equal(kolk_pool_available(&pool), 4); /* worn-out slots can be reused */
        kolk_pool_free(&pool, objects[4]);
        assert_ptr_equal(kolk_pool_alloc(&pool), objects[4]); /* a slot that is not worn out comes first */
        assert_worn(&pool, 4, 0);
        for (uint32_t n = 0; n < LENGTH_OF(order); n++) {
            void *object = kolk_pool_alloc(&pool);
            assert_ptr_equal(object, objects[order[n]]);
            assert_int_equal(kolk_pool_handle_of(&pool, object).bits >> 32, 1);
            assert_worn(&pool, 3 - n, n + 1);
        }
        assert_null(kolk_pool_alloc(&pool));
        kolk_pool_deinit(&pool);
    }
}

static void test_recycle_grows_first(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        make(&pool, orders[i], KOLK_GENERATIONS_RECYCLE, 1, 3);
        kolk_pool_alloc(&pool);
        wear_out(&pool, 0, 1);
        assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 1);
        assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 2);
        assert_worn(&pool, 1, 0);
        assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 0);
        assert_worn(&pool, 0, 1);
        kolk_pool_deinit(&pool);
    }
}

static void test_strict_never_uses_them_again(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_stats stats;
        make(&pool, orders[i], KOLK_GENERATIONS_STRICT, 4, 0);
        static kolk_handle handles[4 * LIVES];
        uint32_t lives = 0;
        for (void *object; (object = kolk_pool_alloc(&pool)); lives++) { /* until all lives are used up */
            handles[lives] = kolk_pool_handle_of(&pool, object);
            for (uint32_t n = 0; n < lives; n++) {
                assert_false(kolk_handle_equal(handles[n], handles[lives])); /* no handle occurs twice */
                assert_null(kolk_pool_get(&pool, handles[n]));
            }
            kolk_pool_free(&pool, object);
        }
        assert_int_equal(lives, 4 * LIVES);
        assert_worn(&pool, 4, 0);
        assert_int_equal(kolk_pool_count(&pool), 0);
        assert_int_equal(kolk_pool_available(&pool), 0); /* the worn-out slots are lost */
        kolk_pool_clear(&pool);
        kolk_pool_trim(&pool);
        assert_null(kolk_pool_alloc(&pool));
        for (uint32_t slot = 0; slot < 4; slot++)
            assert_null(kolk_pool_alloc_at(&pool, handle_of_slot(&pool, slot, 3)));
        assert_worn(&pool, 4, 0);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.failed, 2);
        kolk_pool_deinit(&pool);
    }
}

/* clear wears out slots that are in their last life, and leaves worn-out slots alone. */
static void test_clear_and_trim(void **state) {
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        kolk_pool pool;
        kolk_generations generations = i < 3 ? KOLK_GENERATIONS_RECYCLE : KOLK_GENERATIONS_STRICT;
        make(&pool, orders[i % 3], generations, 4, 0);
        void *objects[4];
        for (uint32_t life = 1; life <= LIVES; life++) {
            assert_int_equal(kolk_pool_alloc_n(&pool, objects, 3), 3); /* all slots but 3 */
            for (int n = 0; n < 3; n++) assert_int_equal(kolk_pool_index(&pool, objects[n]), n);
            if (life == LIVES) kolk_pool_free(&pool, objects[1]); /* wears out first */
            kolk_pool_clear(&pool);
            assert_int_equal(kolk_pool_count(&pool), 0);
            if (orders[i % 3] == KOLK_REUSE_FIFO && life == 1) { /* FIFO would take slot 3 next */
                assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 3);
                kolk_pool_clear(&pool);
            }
        }
        assert_worn(&pool, 3, 0);
        kolk_pool_clear(&pool);
        kolk_pool_trim(&pool);
        assert_worn(&pool, 3, 0);
        assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 3);
        static const uint32_t order[] = {1, 0, 2}; /* the order in which they wear out */
        for (int n = 0; n < 3; n++) {
            const void *object = kolk_pool_alloc(&pool);
            if (i < 3)
                assert_int_equal(kolk_pool_index(&pool, object), order[n]);
            else
                assert_null(object);
        }
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

/* alloc_at may take any worn-out slot: the first, one in the middle, and the last. */
static void test_alloc_at_a_worn_out_slot(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        for (uint32_t first = 0; first < 4; first++) {
            for (uint32_t second = 0; second < 4; second++) {
                if (first == second) continue;
                kolk_pool pool;
                make(&pool, orders[i], KOLK_GENERATIONS_RECYCLE, 4, 0);
                void *objects[4];
                assert_int_equal(kolk_pool_alloc_n(&pool, objects, 4), 4);
                for (uint32_t n = 0; n < 4; n++) wear_out(&pool, n, 1);
                assert_ptr_equal(kolk_pool_alloc_at(&pool, handle_of_slot(&pool, first, 5)), objects[first]);
                assert_worn(&pool, 3, 1);
                assert_ptr_equal(kolk_pool_alloc_at(&pool, handle_of_slot(&pool, second, LIVES)), objects[second]);
                assert_worn(&pool, 2, 2);
                assert_int_equal(kolk_pool_handle_of(&pool, objects[first]).bits >> 32, 5);
                kolk_pool_free(&pool, objects[second]); /* its last life, so it wears out last */
                assert_worn(&pool, 3, 2);
                for (uint32_t n = 0; n < 4; n++)
                    if (n != first && n != second) assert_ptr_equal(kolk_pool_alloc(&pool), objects[n]);
                assert_ptr_equal(kolk_pool_alloc(&pool), objects[second]);
                assert_null(kolk_pool_alloc(&pool));
                assert_worn(&pool, 0, 5);
                kolk_pool_deinit(&pool);
            }
        }
    }
}

/* A reset hook calls alloc_at for the dying slot itself. This fails, because the slot is not yet free or worn out. */
static void want_it_back(void *object, void *context) {
    kolk_pool *pool = (kolk_pool *)context;
    uint32_t slot = (uint32_t)((size_t)((unsigned char *)object - pool->slots) / pool->stride);
    assert_null(kolk_pool_alloc_at(pool, handle_of_slot(pool, slot, 1)));
}

static void test_alloc_at_a_slot_that_is_dying(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_pool_desc desc = {
            .object_size = 8, .capacity = 4, .reuse = orders[i], .life.reset = want_it_back, .context = &pool};
        make_pool(&pool, &desc);
        for (uint32_t worn = 0; worn < 4; worn++) {
            wear_out(&pool, worn, 1);
            assert_worn(&pool, worn + 1, 0);
        }
        kolk_pool_deinit(&pool);
    }
}

static void test_generations_that_cannot_be(void **state) {
    (void)state;
    kolk_pool pool;
    make(&pool, KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE, 4, 0);
    static const uint32_t impossible[] = {0, LIVES + 1, 1000, UINT32_MAX};
    for (size_t n = 0; n < LENGTH_OF(impossible); n++) {
        assert_null(kolk_pool_alloc_at(&pool, handle_of_slot(&pool, 0, impossible[n])));
        assert_null(kolk_pool_get(&pool, handle_of_slot(&pool, 0, impossible[n])));
    }
    assert_non_null(kolk_pool_alloc_at(&pool, handle_of_slot(&pool, 0, LIVES)));
    assert_int_equal(kolk_pool_count(&pool), 1);
    kolk_pool_deinit(&pool);
}

/* For the promised 2^n - 1 lives of a slot, a handle never finds an object other than its own. */
static void test_handles_within_the_promise(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        enum { SLOTS = 5 };
        kolk_pool pool;
        make(&pool, orders[i], KOLK_GENERATIONS_RECYCLE, SLOTS, 0);
        struct {
            kolk_handle handle;
            uint64_t number;
        } given[SLOTS * LIVES];
        uint64_t random = i;
        uint32_t lives = 0;
        kolk_stats stats = {0};
        while (!stats.recycled) { /* the promise ends when a slot is recycled */
            uint64_t *object = random_below(&random, 2) ? (uint64_t *)kolk_pool_alloc(&pool) : NULL;
            kolk_pool_stats(&pool, &stats);
            if (!object) {
                kolk_pool_free(&pool, kolk_pool_at(&pool, random_below(&random, SLOTS)));
            } else if (!stats.recycled) {
                *object = lives;
                given[lives].handle = kolk_pool_handle_of(&pool, object);
                given[lives].number = lives;
                lives++;
            }
            for (uint32_t n = 0; n < lives && !stats.recycled; n++) {
                const uint64_t *found = (const uint64_t *)kolk_pool_get(&pool, given[n].handle);
                assert_true(!found || *found == given[n].number);
            }
        }
        assert_true(lives > SLOTS * 3 && lives <= SLOTS * LIVES);
        kolk_pool_deinit(&pool);
    }
}

static void test_trap_full_names_worn_out_slots(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    make_pool(&pool, &(kolk_pool_desc){.name = "worn",
                                       .object_size = 8,
                                       .capacity = 2,
                                       .generations = KOLK_GENERATIONS_STRICT,
                                       .full.on_full = kolk_pool_trap_full});
    wear_out(&pool, 0, 1);
    assert_non_null(kolk_pool_alloc(&pool));
    assert_silent(&taken);
    assert_null(kolk_pool_alloc(&pool));
    assert_noted(&taken, KOLK_FULL, "worn", NULL, NO_SLOT,
                 "kolk: worn: full: 1 of 2 slots are worn out: raise .capacity, or take KOLK_GENERATIONS_RECYCLE");
    kolk_pool_deinit(&pool);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_generations_count_lives_from_1),
        TEST(test_recycle_takes_the_oldest_when_otherwise_full),
        TEST(test_recycle_grows_first),
        TEST(test_strict_never_uses_them_again),
        TEST(test_clear_and_trim),
        TEST(test_alloc_at_a_worn_out_slot),
        TEST(test_alloc_at_a_slot_that_is_dying),
        TEST(test_generations_that_cannot_be),
        TEST(test_handles_within_the_promise),
        TEST(test_trap_full_names_worn_out_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
