/* runs: not:wine wraps: help/system_calls.h munmap */
/* Memory is released exactly once. Pools on given arrays, and attached pools, request no memory from the system.
 * Refusals are in contracts/test_all_refused.c. */
#include "bytemap_test.h"

#include "../help/system_calls.h"

static struct {
    unsigned calls;
    const void *start;
    size_t size;
} released;

int __real_munmap(void *start, size_t size);
int __wrap_munmap(void *start, size_t size);

int __wrap_munmap(void *start, size_t size) {
    released.calls++;
    released.start = start;
    released.size = size;
    return __real_munmap(start, size);
}

/* The pool's own memory is released as a whole and only once; foreign memory is never released. */
static void test_flush_gives_memory_back(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 1000);
    const void *start = pool.object_list;
    released.calls = 0;
    kolk_bytemap_flush(&pool);
    assert_int_equal(released.calls, 1);
    assert_ptr_equal(released.start, start);
    assert_int_equal(released.size, 1000 * (OBJECT_SIZE + 1));
    kolk_bytemap_flush(&pool);
    owner mine = some_owner;
    kolk_bytemap_view view = view_of(&mine);
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_OK);
    kolk_bytemap_flush(&pool);
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
    kolk_bytemap_flush(&pool);
    assert_int_equal(released.calls, 1);
}

/* A reserve that gets no memory changes nothing. */
static void test_refused_growth(void **state) {
    static const char *const settings[] = {NULL, "fill"};
    for (size_t n = 0; n < LENGTH_OF(settings); n++) {
        kolk_bytemap pool = {0};
        kolk_bytemap_view view = {.object_size = OBJECT_SIZE, .count = 10, .max_count = 50000, .debug = settings[n]};
        assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_OK);
        make_objects(&pool, 10);
        kolk_bytemap before = pool;
        for (unsigned nth = 1;; nth++) {
            refuse(nth, false);
            kolk_status status = kolk_bytemap_reserve(&pool, 40000);
            refuse(0, false);
            if (status == KOLK_OK && nth > 2) break;
            assert_int_equal(status, KOLK_NO_MEMORY);
            assert_memory_equal(&pool, &before, sizeof pool);
            assert_true(kolk_bytemap_is_valid(&pool));
        }
        make_objects(&pool, 40000 - 10);
        kolk_bytemap_flush(&pool);
    }
}

static void test_nothing_to_refuse(void **state) {
    owner mine = some_owner;
    kolk_bytemap_view view = view_of(&mine);
    for (int attach = 0; attach < 2; attach++) {
        kolk_bytemap pool = {0};
        view.name = NULL;
        view.writable = true;
        refuse(1, true);
        kolk_status status = attach ? kolk_bytemap_attach(&pool, &view) : kolk_bytemap_initialise_with(&pool, &view);
        assert_int_equal(status, KOLK_OK);
        while (kolk_bytemap_new(&pool)) {}
        kolk_bytemap_clear(&pool);
        kolk_bytemap_flush(&pool);
        assert_int_equal(kolk_bytemap_initialise(&pool, 0, OBJECT_SIZE), KOLK_OK); /* nor does a pool of no slots */
        kolk_bytemap_flush(&pool);
        refuse(0, false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_flush_gives_memory_back),
        TEST(test_refused_growth),
        TEST(test_nothing_to_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
