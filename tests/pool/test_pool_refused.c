/* wraps: help/system_calls.h */
/* The system refuses calls that only the core pool makes: those of trim, in every mode, and those of a full pool that
 * grows. Tests for all kinds are in contracts/test_all_refused.c. */
#include "../help/debug_test.h"

#include "../help/system_calls.h"

static void test_trim_refused(void **state) {
    for (unsigned n = 0; n < 6; n++) {
        for (unsigned nth = 1; nth <= 2; nth++) {
            kolk_pool pool;
            kolk_pool_desc desc = shape(n, 100, 0);
            make_pool(&pool, &desc);
            for (uint32_t i = 0; i < 100; i++) assert_non_null(stamped(&pool, i));
            for (uint32_t i = 1; i < 100; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
            size_t before = resident(&pool), page = (size_t)sysconf(_SC_PAGESIZE);
            refuse(nth, true);
            os.only_mincore = nth == 1;
            size_t bytes = kolk_pool_trim(&pool);
            refuse(0, false);
            size_t whole_pages = 100 * OBJECT / page * page - page;
            if (nth == 1) { /* residency is unknown, so all whole pages are counted */
                assert_int_equal(bytes, whole_pages);
                assert_int_equal(before - resident(&pool), whole_pages);
            } else { /* the system takes back no page */
                assert_int_equal(bytes, 0);
                assert_int_equal(resident(&pool), before);
            }
            assert_true(kolk_pool_is_valid(&pool));
            assert_true(is_stamped(kolk_pool_at(&pool, 0), 0));
            for (uint32_t i = 1; i < 100; i++) assert_non_null(stamped(&pool, i));
            kolk_pool_deinit(&pool);
        }
    }
}

static kolk_pool_desc desc_of(unsigned n, uint32_t capacity, uint32_t max_capacity) {
    kolk_pool_desc desc = shape(n % 6, capacity, max_capacity);
    desc.debug = begin_debug_mode(n / 6);
    return desc;
}

#define SHAPES (6 * DEBUG_MODES)

/* If the system does not take back pages that trim offers it, their contents are no longer verified. */
static void test_trim_refused_in_debug_mode(void **state) {
    for (unsigned n = 0; n < SHAPES; n++) {
        kolk_pool pool;
        kolk_pool_desc desc = desc_of(n, 100, 0);
        make_pool(&pool, &desc);
        for (uint32_t i = 0; i < 100; i++) assert_non_null(stamped(&pool, i));
        for (uint32_t i = 0; i < 99; i++) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
        refuse(1, true);
        assert_int_equal(kolk_pool_trim(&pool), 0);
        refuse(0, false);
        assert_true(kolk_pool_is_valid(&pool));
        assert_true(is_stamped(kolk_pool_at(&pool, 99), 99));
        for (uint32_t i = 0; i < 99; i++) taken_from(&pool);
        kolk_pool_clear(&pool);
        end_pool(&pool);
    }
}

/* Tests trap_full's sentence for a pool that may still grow. promise: "reports a bug ... handler returns" */
static void test_trap_full_when_memory_is_refused(void **state) {
    kolk_pool pool;
    notes taken;
    kolk_pool_desc desc = shape(0, 2, 100);
    desc.full.on_full = kolk_pool_trap_full;
    make_pool(&pool, &desc);
    begin_notes(&taken);
    assert_non_null(stamped(&pool, 0));
    assert_non_null(stamped(&pool, 1));
    assert_silent(&taken);
    refuse(1, true);
    assert_null(stamped(&pool, 2));
    assert_noted(&taken, KOLK_FULL, "refused", NULL, NO_SLOT,
                 "kolk: refused: full: all 2 slots are in use, and the system gives no memory for more");
    refuse(0, false);
    assert_non_null(stamped(&pool, 2));
    assert_silent(&taken);
    kolk_pool_deinit(&pool);
}

static bool reserve_and_alloc(kolk_pool *pool, size_t bytes, void *context) {
    refuse(0, false);
    assert_int_equal(kolk_pool_reserve(pool, 4), KOLK_OK);
    *(void **)context = kolk_pool_alloc(pool);
    return true;
}

/* If the hook leaves more objects alive than it found, that is not counted as an eviction. */
static void test_a_hook_that_finds_memory_and_uses_it(void **state) {
    for (unsigned n = 0; n < 6; n++) {
        kolk_pool pool;
        kolk_stats stats;
        void *given = NULL;
        kolk_pool_desc desc = shape(n, 2, 100);
        desc.full.on_full = reserve_and_alloc;
        desc.context = &given;
        make_pool(&pool, &desc);
        assert_non_null(stamped(&pool, 0));
        assert_non_null(stamped(&pool, 1));
        refuse(1, true);
        void *object = stamped(&pool, 3);
        assert_non_null(given);
        assert_non_null(object);
        assert_ptr_not_equal(object, given);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.count, 4);
        assert_int_equal(stats.evictions, 0);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
}

static int plain_again(void **state) {
    refuse(0, false);
    return plain_environment(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plain_again, plain_again)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_trim_refused),
        TEST(test_trim_refused_in_debug_mode),
        TEST(test_trap_full_when_memory_is_refused),
        TEST(test_a_hook_that_finds_memory_and_uses_it),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
