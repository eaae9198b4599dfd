/* A full pool: what trap_full says, hooks that jump out, and how often evict_cheapest asks for costs. (What else
 * on_full may do, and whom an eviction takes: test_pool_model.c.) */
#include "../help/test.h"

#include "last_life.h"

/* ---- trap_full --------------------------------------------------------------------------------------------------- */

/* promise: "reports a bug ... handler returns" */
static void test_trap_full(void **state) {
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

static void test_trap_full_names_worn_out_slots(void **state) {
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    make_pool(&pool, &(kolk_pool_desc){.name = "worn",
                                       .object_size = 8,
                                       .capacity = 2,
                                       .generations = KOLK_GENERATIONS_STRICT,
                                       .full.on_full = kolk_pool_trap_full});
    void *first = kolk_pool_alloc(&pool);
    be_in_last_life(&pool, 0);
    kolk_pool_free(&pool, first);
    assert_non_null(kolk_pool_alloc(&pool));
    assert_silent(&taken);
    assert_null(kolk_pool_alloc(&pool));
    assert_noted(&taken, KOLK_FULL, "worn", NULL, NO_SLOT,
                 "kolk: worn: full: 1 of 2 slots are worn out: raise .capacity, or take KOLK_GENERATIONS_RECYCLE");
    kolk_pool_deinit(&pool);
}

static void jump_out(const kolk_failure *failure, void *context) {
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

typedef struct hooked {
    kolk_pool pool;
    int calls;
    void *object; /* for the hook to free */
    jmp_buf back;
} hooked;

static bool jump_out_of_on_full(kolk_pool *pool, size_t bytes, void *context) {
    hooked *h = (hooked *)context;
    kolk_pool_free(pool, h->object);
    if (h->calls++ > 0) return true;
    longjmp(h->back, 1);
}

static bool a_hook_jumps_out(hooked *h) {
    if (setjmp(h->back) != 0) return true;
    kolk_pool_alloc(&h->pool);
    return false;
}

/* A hook must return. One that does not is not called again, and its pool goes on.
 * promise: "throws nevertheless is not called again" */
static void test_a_longjmp_out_of_on_full(void **state) {
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

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_trap_full),
        TEST(test_trap_full_names_worn_out_slots),
        TEST(test_a_longjmp_out_of_trap_full),
        TEST(test_a_longjmp_out_of_on_full),
        TEST(test_evict_cheapest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
