/* A full pool: on_full, what it may do, and the two ready-made hooks. */
#include "../help/test.h"

/* ---- A hook that does what the test asks ------------------------------------------------------------------------- */

typedef enum deed { NOTHING, FREE_ONE, FREE_TWO, CLEAR, RESERVE, ALLOC, FREE_AND_ALLOC } deed;

typedef struct hooked {
    kolk_pool pool;
    deed deed;
    int calls;
    void *object; /* for the hook to free */
    void *another;
    void *given; /* allocated by the hook */
    bool declines;
} hooked;

static bool on_full(kolk_pool *pool, size_t bytes, void *context) {
    hooked *h = (hooked *)context;
    assert_ptr_equal(pool, &h->pool);
    assert_int_equal(bytes, 8);
    assert_true(kolk_pool_is_valid(pool));
    h->calls++;
    if (h->deed == FREE_ONE || h->deed == FREE_TWO || h->deed == FREE_AND_ALLOC) kolk_pool_free(pool, h->object);
    if (h->deed == FREE_TWO) kolk_pool_free(pool, h->another);
    if (h->deed == CLEAR) kolk_pool_clear(pool);
    if (h->deed == RESERVE) assert_int_equal(kolk_pool_reserve(pool, 4), KOLK_ABOVE_MAX);
    if (h->deed == ALLOC || h->deed == FREE_AND_ALLOC) h->given = kolk_pool_alloc(pool);
    return !h->declines;
}

static void fill(hooked *h, kolk_reuse reuse, deed what) {
    *h = (hooked){.deed = what};
    make_pool(
        &h->pool,
        &(kolk_pool_desc){
            .name = "full", .object_size = 8, .capacity = 3, .reuse = reuse, .full.on_full = on_full, .context = h});
    for (int i = 0; i < 3; i++) assert_non_null(kolk_pool_alloc(&h->pool));
    assert_int_equal(h->calls, 0);
    h->object = kolk_pool_at(&h->pool, 1);
    h->another = kolk_pool_at(&h->pool, 2);
}

static void assert_counts(const hooked *h, int calls, uint32_t count, uint64_t failed, uint64_t evictions) {
    kolk_stats stats;
    kolk_pool_stats(&h->pool, &stats);
    assert_int_equal(h->calls, calls);
    assert_int_equal(stats.count, count);
    assert_int_equal(stats.failed, failed);
    assert_int_equal(stats.evictions, evictions);
    assert_true(kolk_pool_is_valid(&h->pool));
}

static void test_without_a_hook_alloc_gives_null(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_stats stats;
        make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 2, .reuse = orders[i]});
        void *objects[4] = {&pool, &pool, &pool, &pool};
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 4), 2);
        assert_null(kolk_pool_alloc(&pool));
        assert_null(kolk_pool_alloc_zeroed(&pool));
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 1), 0);
        assert_int_equal(kolk_pool_alloc_n(&pool, NULL, 0), 0);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.failed, 4);
        assert_int_equal(stats.evictions, 0);
        kolk_pool_deinit(&pool);
    }
}

static void test_what_the_hook_may_do(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        hooked h;
        fill(&h, orders[i], NOTHING);
        assert_null(kolk_pool_alloc(&h.pool));
        assert_null(kolk_pool_alloc(&h.pool)); /* each alloc calls the hook once */
        assert_counts(&h, 2, 3, 2, 0);
        kolk_pool_deinit(&h.pool);

        fill(&h, orders[i], FREE_ONE);
        assert_ptr_equal(kolk_pool_alloc(&h.pool), h.object);
        assert_counts(&h, 1, 3, 0, 1);
        kolk_pool_deinit(&h.pool);

        fill(&h, orders[i], FREE_TWO);
        assert_non_null(kolk_pool_alloc(&h.pool));
        assert_counts(&h, 1, 2, 0, 2);
        assert_non_null(kolk_pool_alloc(&h.pool)); /* not full, so the hook is not called */
        assert_counts(&h, 1, 3, 0, 2);
        kolk_pool_deinit(&h.pool);

        fill(&h, orders[i], CLEAR);
        assert_ptr_equal(kolk_pool_alloc(&h.pool), h.pool.slots);
        assert_counts(&h, 1, 1, 0, 3);
        kolk_pool_deinit(&h.pool);

        fill(&h, orders[i], RESERVE);
        assert_null(kolk_pool_alloc(&h.pool));
        assert_counts(&h, 1, 3, 1, 0);
        kolk_pool_deinit(&h.pool);
    }
}

static void test_alloc_inside_the_hook(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        hooked h;
        fill(&h, orders[i], ALLOC);
        assert_null(kolk_pool_alloc(&h.pool));
        assert_null(h.given);
        assert_counts(&h, 1, 3, 2, 0); /* it was not called again from within */
        kolk_pool_deinit(&h.pool);

        fill(&h, orders[i], FREE_AND_ALLOC);
        assert_null(kolk_pool_alloc(&h.pool)); /* the hook has used the slot that it freed */
        assert_ptr_equal(h.given, h.object);
        assert_int_equal(h.calls, 1);
        assert_true(kolk_pool_is_valid(&h.pool));
        kolk_pool_deinit(&h.pool);
    }
}

/* If the hook returns false, the alloc fails although an object was freed. The next alloc takes its slot without
 * calling the hook. promise: "may make room ... call it again" */
static void test_a_hook_that_declines(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        hooked h;
        fill(&h, orders[i], FREE_ONE);
        h.declines = true;
        assert_null(kolk_pool_alloc(&h.pool));
        assert_counts(&h, 1, 2, 1, 1);
        assert_ptr_equal(kolk_pool_alloc(&h.pool), h.object);
        assert_counts(&h, 1, 3, 1, 1);
        kolk_pool_deinit(&h.pool);
    }
}

/* promise: "the pool can grow to this; 0", "An alloc that finds ... tries in this order" */
static void test_the_hook_is_asked_after_growing(void **state) {
    (void)state;
    hooked h = {.deed = NOTHING};
    make_pool(&h.pool, &(kolk_pool_desc){.object_size = 8, .max_capacity = 5, .full.on_full = on_full, .context = &h});
    for (int i = 0; i < 5; i++) assert_non_null(kolk_pool_alloc(&h.pool));
    assert_int_equal(h.calls, 0);
    assert_null(kolk_pool_alloc(&h.pool));
    assert_int_equal(h.calls, 1);
    kolk_pool_deinit(&h.pool);
}

/* ---- trap_full --------------------------------------------------------------------------------------------------- */

/* promise: "reports a bug ... handler returns" */
static void test_trap_full(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    make_pool(&pool, &(kolk_pool_desc){
                         .name = "voices", .object_size = 8, .capacity = 2, .full.on_full = kolk_pool_trap_full});
    assert_non_null(kolk_pool_alloc(&pool));
    assert_non_null(kolk_pool_alloc(&pool));
    assert_silent(&taken);
    for (int i = 0; i < 2; i++) {
        assert_null(kolk_pool_alloc(&pool));
        assert_noted(
            &taken, KOLK_FULL, "voices", NULL, NO_SLOT,
            "kolk: voices: full: all 2 slots are in use: raise .capacity, or .max_capacity to let the pool grow");
    }
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
    /* The other sentence, for a pool that may grow but gets no memory, is tested in test_pool_refused.c. */
}

static void jump_out(const kolk_failure *failure, void *context) {
    (void)failure;
    longjmp(*(jmp_buf *)context, 1);
}

static bool alloc_jumps_out(kolk_pool *pool) {
    jmp_buf back;
    kolk_set_failure_handler(jump_out, &back);
    if (setjmp(back) != 0) return true;
    kolk_pool_alloc(pool);
    return false;
}

/* promise: "throw only out of the ready-made hooks" */
static void test_a_longjmp_out_of_trap_full(void **state) {
    (void)state;
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 1, .full.on_full = kolk_pool_trap_full});
    void *object = kolk_pool_alloc(&pool);
    for (int i = 0; i < 3; i++) {
        assert_true(alloc_jumps_out(&pool)); /* each time */
        assert_true(kolk_pool_is_valid(&pool));
    }
    kolk_pool_free(&pool, object);
    assert_ptr_equal(kolk_pool_alloc(&pool), object);
    kolk_pool_deinit(&pool);
}

static bool jump_out_of_on_full(kolk_pool *pool, size_t bytes, void *context) {
    (void)bytes;
    hooked *h = (hooked *)context;
    kolk_pool_free(pool, h->object);
    if (h->calls++ > 0) return true;
    longjmp(*(jmp_buf *)h->another, 1);
}

static bool a_hook_jumps_out(hooked *h) {
    jmp_buf back;
    h->another = back;
    if (setjmp(back) != 0) return true;
    kolk_pool_alloc(&h->pool);
    return false;
}

/* A hook must return. One that does not is not called again, and its pool goes on.
 * promise: "throws nevertheless is not called again" */
static void test_a_longjmp_out_of_on_full(void **state) {
    (void)state;
    hooked h = {.calls = 0};
    make_pool(&h.pool,
              &(kolk_pool_desc){.object_size = 8, .capacity = 1, .full.on_full = jump_out_of_on_full, .context = &h});
    h.object = kolk_pool_alloc(&h.pool);
    assert_true(a_hook_jumps_out(&h));
    assert_ptr_equal(kolk_pool_alloc(&h.pool), h.object);
    for (int i = 0; i < 3; i++) assert_null(kolk_pool_alloc(&h.pool));
    assert_int_equal(h.calls, 1);
    assert_true(kolk_pool_is_valid(&h.pool));
    kolk_pool_deinit(&h.pool);
}

/* ---- evict_cheapest ---------------------------------------------------------------------------------------------- */

static double loudness(const void *object, void *context) {
    ++*(int *)context;
    return *(const double *)object;
}

static void start_voices(kolk_pool *pool, kolk_reuse reuse, int *asked, const double *volumes, uint32_t n) {
    make_pool(pool, &(kolk_pool_desc){.name = "voices",
                                      .object_size = sizeof(double),
                                      .capacity = n,
                                      .reuse = reuse,
                                      .full.on_full = kolk_pool_evict_cheapest,
                                      .full.cost = loudness,
                                      .context = asked});
    for (uint32_t i = 0; i < n; i++) *(double *)kolk_pool_alloc(pool) = volumes[i];
}

/* promise: "returns the cost of losing an object", "frees the live ... all are protected" */
static void test_evict_cheapest(void **state) {
    (void)state;
    static const double volumes[] = {5, 3, 1, 2, 1}; /* slots 2 and 4 are equally quiet: slot 2 is the lower */
    static const uint32_t order[] = {2, 4, 3, 1, 0};
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_stats stats;
        int asked = 0;
        start_voices(&pool, orders[i], &asked, volumes, 5);
        assert_int_equal(asked, 0);
        for (uint32_t n = 0; n < 5; n++) {
            kolk_handle old = kolk_pool_handle_of(&pool, kolk_pool_at(&pool, order[n]));
            double *voice = (double *)kolk_pool_alloc(&pool);
            assert_int_equal(kolk_pool_index(&pool, voice), order[n]);
            assert_null(kolk_pool_get(&pool, old));
            *voice = 10;
            assert_int_equal(asked, 5 * (n + 1)); /* once per live object */
            kolk_pool_stats(&pool, &stats);
            assert_int_equal(stats.evictions, n + 1);
            assert_int_equal(stats.count, 5);
            assert_int_equal(stats.failed, 0);
            assert_true(kolk_pool_is_valid(&pool));
        }
        kolk_pool_deinit(&pool);
    }
}

static void test_evict_cheapest_with_costs_below_zero(void **state) {
    (void)state;
    static const double volumes[] = {-1, -5, -3};
    kolk_pool pool;
    int asked = 0;
    start_voices(&pool, KOLK_REUSE_LIFO, &asked, volumes, 3);
    assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 1);
    kolk_pool_deinit(&pool);
}

/* Like any function, the hook can be called directly: it frees one object if there is any. */
static void test_evict_cheapest_by_hand(void **state) {
    (void)state;
    static const double volumes[] = {2, 1};
    kolk_pool pool;
    int asked = 0;
    start_voices(&pool, KOLK_REUSE_LIFO, &asked, volumes, 2);
    assert_true(kolk_pool_evict_cheapest(&pool, 0, &asked));
    assert_null(kolk_pool_at(&pool, 1));
    assert_true(kolk_pool_evict_cheapest(&pool, 0, &asked));
    assert_false(kolk_pool_evict_cheapest(&pool, 0, &asked));
    assert_int_equal(kolk_pool_count(&pool), 0);
    kolk_pool_deinit(&pool);
}

/* Each object that alloc_n returns is alive and returned once, although the pool is full and the cheapest object is
 * evicted: on_full is called for the first object only. promise: "Allocates up ... may call on_full" */
static void test_alloc_n_with_evictions(void **state) {
    (void)state;
    static const double volumes[] = {0, 1, 2, 3};
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        for (uint32_t room = 0; room <= 4; room++) {
            kolk_pool pool;
            void *objects[6];
            int asked = 0;
            start_voices(&pool, orders[i], &asked, volumes, 4);
            for (uint32_t slot = 0; slot < room; slot++) kolk_pool_free(&pool, kolk_pool_at(&pool, slot));
            uint32_t given = kolk_pool_alloc_n(&pool, objects, 6);
            assert_int_equal(given, room ? room : 1);
            assert_int_equal(asked, room ? 0 : 4);
            for (uint32_t n = 0; n < given; n++) {
                assert_true(kolk_pool_is_live(&pool, objects[n]));
                for (uint32_t k = 0; k < n; k++) assert_ptr_not_equal(objects[k], objects[n]);
            }
            assert_true(kolk_pool_is_valid(&pool));
            assert_int_equal(kolk_pool_alloc_n(&pool, objects, 1), 1); /* the next call calls the hook again */
            kolk_pool_deinit(&pool);
        }
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_without_a_hook_alloc_gives_null),
        TEST(test_what_the_hook_may_do),
        TEST(test_alloc_inside_the_hook),
        TEST(test_a_hook_that_declines),
        TEST(test_the_hook_is_asked_after_growing),
        TEST(test_trap_full),
        TEST(test_a_longjmp_out_of_trap_full),
        TEST(test_a_longjmp_out_of_on_full),
        TEST(test_evict_cheapest),
        TEST(test_evict_cheapest_with_costs_below_zero),
        TEST(test_evict_cheapest_by_hand),
        TEST(test_alloc_n_with_evictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
