/* Overflow pools and hooks: which hook is called when, evictions, low water, the headroom of both pools, and longjmp
 * out of a handler. */
#include "../help/debug_test.h"

#include "two.h"

#include "last_life.h"

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

typedef struct hooked {
    two t;
    void *object; /* for the hook to free, through the first pool */
    unsigned calls, second_calls;
    bool seen;
} hooked;

static bool free_it(kolk_pool *pool, size_t bytes, void *context) {
    hooked *h = (hooked *)context;
    assert_ptr_equal(pool, &h->t.first);
    assert_int_equal(bytes, pool->object_size);
    h->calls++;
    if (h->object) kolk_pool_free(pool, h->object);
    h->object = NULL;
    return true;
}

static void count_call(kolk_pool *pool, void *context) {
    hooked *h = (hooked *)context;
    assert_ptr_equal(pool, &h->t.second);
    h->second_calls++;
}

static bool count_full(kolk_pool *pool, size_t bytes, void *context) {
    count_call(pool, context);
    assert_int_equal(bytes, pool->object_size);
    return true;
}

static void evict_oldest(kolk_pool *pool, void *context) {
    kolk_pool_evict_oldest(pool, 0, context);
}

/* The overflow pool is tried before on_full, which may free an object of either pool. */
static void test_on_full_comes_after_the_overflow_pool(void **state) {
    for (unsigned n = 0; n < 2; n++) {
        hooked h = {.calls = 0};
        kolk_stats stats;
        make_two(&h.t, (kolk_pool_desc){.full.on_full = free_it, .context = &h},
                 (kolk_pool_desc){.full.on_full = count_full, .context = &h});
        void *objects[5];
        for (int i = 0; i < 5; i++) objects[i] = taken_from(&h.t.first);
        assert_int_equal(h.calls + h.second_calls, 0);
        h.object = objects[n ? 4 : 1];
        assert_ptr_equal(kolk_pool_alloc(&h.t.first), objects[n ? 4 : 1]);
        assert_int_equal(h.calls, 1);
        assert_int_equal(h.second_calls, 1);
        assert_counts(&h.t, 2, 3);
        kolk_pool_stats(&h.t.first, &stats);
        assert_int_equal(stats.failed, 0);
        assert_null(kolk_pool_alloc(&h.t.first));
        assert_int_equal(h.calls, 2);
        kolk_pool_stats(&h.t.first, &stats);
        assert_int_equal(stats.failed, 1);
        end_two(&h.t);
    }
}

/* alloc_n calls either pool's on_full only for its first object. Later, on_full might evict objects that alloc_n has
 * already taken. promise: "Allocates up ... may call on_full" */
static void test_alloc_n_evicts_nothing_that_it_has_given(void **state) {
    for (unsigned n = 0; n < 3; n++) {
        two t;
        void *objects[9];
        make_two(&t, (kolk_pool_desc){.reuse = orders[n]},
                 (kolk_pool_desc){.reuse = orders[n], .ages = true, .full.on_full = kolk_pool_evict_oldest});
        uint32_t given = kolk_pool_alloc_n(&t.first, objects, 9);
        for (uint32_t i = 0; i < given; i++)
            for (uint32_t j = 0; j < i; j++) assert_ptr_not_equal(objects[i], objects[j]);
        assert_int_equal(given, 5);
        assert_int_equal(kolk_pool_alloc_n(&t.first, objects, 9), 1); /* on_full is called for the first object */
        assert_non_null(kolk_pool_alloc(&t.first));
        assert_counts(&t, 2, 3);
        end_two(&t);
    }
}

/* The overflow pool calls on_low at its own low water, whichever function takes its objects. */
static void test_low_water_of_the_overflow_pool(void **state) {
    for (unsigned n = 0; n < 3; n++) {
        hooked h = {.calls = 0};
        void *objects[4];
        make_two(&h.t, (kolk_pool_desc){0},
                 (kolk_pool_desc){.reuse = orders[n], .full.low_water = 2, .full.on_low = count_call, .context = &h});
        assert_int_equal(kolk_pool_alloc_n(&h.t.first, objects, 2), 2);
        assert_int_equal(h.second_calls, 0);
        if (n == 0) { /* if alloc_n has not called it, the next alloc does */
            assert_int_equal(kolk_pool_alloc_n(&h.t.first, objects, 2), 2);
        } else {
            taken_from(&h.t.first);
            assert_int_equal(h.second_calls, 0);
        }
        taken_from(&h.t.first);
        assert_int_equal(h.second_calls, 1);
        end_two(&h.t);
    }
}

/* on_low does not evict objects that alloc_n has taken: alloc_n calls it before it takes objects of that pool. */
static void test_alloc_n_and_an_on_low_that_evicts(void **state) {
    for (unsigned n = 0; n < 3; n++) {
        two t;
        void *objects[9];
        make_two(
            &t, (kolk_pool_desc){.reuse = orders[n]},
            (kolk_pool_desc){
                .capacity = 6, .reuse = orders[n], .ages = true, .full.low_water = 3, .full.on_low = evict_oldest});
        uint32_t given = kolk_pool_alloc_n(&t.first, objects, 7);
        for (uint32_t i = 0; i < given; i++) {
            assert_true(kolk_pool_is_live(&t.first, objects[i]));
            for (uint32_t j = 0; j < i; j++) assert_ptr_not_equal(objects[i], objects[j]);
        }
        assert_int_equal(given, 7);
        end_two(&t);
    }
}

/* Evictions in the overflow pool, by age and by cost. */
static double cost_of(const void *object, void *context) {
    return *(const double *)object;
}

static void test_evictions_in_the_overflow_pool(void **state) {
    two t;
    kolk_stats stats;
    make_two(&t, (kolk_pool_desc){.full.cost = cost_of},
             (kolk_pool_desc){.ages = true, .full.on_full = kolk_pool_evict_oldest});
    double *objects[5];
    for (int i = 0; i < 5; i++) *(objects[i] = (double *)(void *)taken_from(&t.first)) = i;
    assert_ptr_equal(kolk_pool_alloc(&t.first), objects[2]);
    *objects[2] = 9;
    kolk_pool_stats(&t.second, &stats);
    assert_int_equal(stats.evictions, 1);
    assert_null(kolk_pool_alloc_over(&t.first, 0)); /* the second pool has no cost hook, so it evicts nothing */
    assert_ptr_equal(kolk_pool_alloc_over(&t.first, 0.5), objects[0]);
    assert_counts(&t, 2, 3);
    end_two(&t);
}

/* If an eviction frees no slot because the slot is worn out, the alloc does not take the overflow pool's headroom. */
static void test_headroom_of_the_overflow_pool(void **state) {
    two t;
    make_two(
        &t,
        (kolk_pool_desc){.generations = KOLK_GENERATIONS_STRICT, .ages = true, .full.on_full = kolk_pool_evict_oldest},
        (kolk_pool_desc){.full.headroom = 3});
    taken_from(&t.first), taken_from(&t.first);
    be_in_last_life(&t.first, 0);
    assert_null(kolk_pool_alloc(&t.first));
    assert_counts(&t, 1, 0);
    assert_non_null(kolk_pool_alloc_urgent(&t.first));
    assert_counts(&t, 1, 1);
    end_two(&t);
}

/* If on_full frees a slot of the overflow pool, the alloc does not take the first pool's headroom. */
static void test_headroom_of_the_first_pool(void **state) {
    for (unsigned n = 0; n < 3; n++) {
        hooked h = {.calls = 0};
        make_two(&h.t,
                 (kolk_pool_desc){
                     .capacity = 4, .full.headroom = 2, .reuse = orders[n], .full.on_full = free_it, .context = &h},
                 (kolk_pool_desc){.capacity = 1});
        for (int i = 0; i < 3; i++) taken_from(&h.t.first);
        assert_counts(&h.t, 2, 1);
        h.object = kolk_pool_at(&h.t.second, 0);
        assert_non_null(kolk_pool_alloc(&h.t.first));
        assert_int_equal(h.calls, 1);
        assert_counts(&h.t, 2, 1);
        end_two(&h.t);
    }
}

static void jump_out(const kolk_failure *failure, void *context) {
    longjmp(*(jmp_buf *)context, 1);
}

static bool alloc_n_jumps_out(kolk_pool *pool, void **objects) {
    jmp_buf back;
    kolk_set_failure_handler(jump_out, &back);
    if (setjmp(back) != 0) return true;
    kolk_pool_alloc_n(pool, objects, 9);
    return false;
}

/* A handler jumps out of the overflow pool's trap: both pools remain usable. */
static void test_a_longjmp_out_of_the_overflow_pool(void **state) {
    hooked h = {.calls = 0};
    void *objects[9];
    make_two(&h.t, (kolk_pool_desc){.full.on_full = free_it, .context = &h},
             (kolk_pool_desc){.full.on_full = kolk_pool_trap_full});
    for (int round = 0; round < 2; round++) {
        alloc_n_jumps_out(&h.t.first, objects); /* either jumps out or takes five objects without a report */
        abort_on_failure(NULL);
        assert_true(kolk_pool_is_valid(&h.t.first) && kolk_pool_is_valid(&h.t.second));
        assert_counts(&h.t, 2, 3);
        h.calls = 0;
        h.object = kolk_pool_at(&h.t.first, 0);
        notes taken;
        begin_notes(&taken);
        assert_non_null(kolk_pool_alloc(&h.t.first)); /* now the trap's handler returns, and on_full is called */
        abort_on_failure(NULL);
        assert_int_equal(h.calls, 1);
        assert_int_equal(taken.last.rule, KOLK_FULL);
        kolk_pool_clear(&h.t.first);
        kolk_pool_clear(&h.t.second);
    }
    end_two(&h.t);
}

static bool alloc_jumps_out(kolk_pool *pool) {
    jmp_buf back;
    kolk_set_failure_handler(jump_out, &back);
    if (setjmp(back) != 0) return true;
    kolk_pool_alloc(pool);
    return false;
}

static void test_a_longjmp_out_of_an_alloc(void **state) {
    hooked h = {.calls = 0};
    make_two(&h.t, (kolk_pool_desc){.full.on_full = free_it, .context = &h},
             (kolk_pool_desc){.full.on_full = kolk_pool_trap_full});
    for (int i = 0; i < 5; i++) taken_from(&h.t.first);
    for (int i = 0; i < 3; i++) assert_true(alloc_jumps_out(&h.t.first));
    abort_on_failure(NULL);
    kolk_pool_free(&h.t.first, kolk_pool_at(&h.t.second, 0));
    assert_non_null(kolk_pool_alloc(&h.t.first));
    assert_counts(&h.t, 2, 3);
    end_two(&h.t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_on_full_comes_after_the_overflow_pool),
        DEBUG_TEST(test_alloc_n_evicts_nothing_that_it_has_given),
        DEBUG_TEST(test_low_water_of_the_overflow_pool),
        DEBUG_TEST(test_alloc_n_and_an_on_low_that_evicts),
        DEBUG_TEST(test_evictions_in_the_overflow_pool),
        DEBUG_TEST(test_headroom_of_the_overflow_pool),
        DEBUG_TEST(test_headroom_of_the_first_pool),
        DEBUG_TEST(test_a_longjmp_out_of_the_overflow_pool),
        DEBUG_TEST(test_a_longjmp_out_of_an_alloc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
