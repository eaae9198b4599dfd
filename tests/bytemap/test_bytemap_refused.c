// link: -Wl,--wrap=munmap
/* The system refuses: the n-th call fails, n = 1, 2, 3 ... until initialise succeeds; the pool is all zero, and nothing is
 * left behind. Pools on given arrays ask the system for nothing. */
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

/* Its own memory goes back whole, and once; others' never does. */
static void test_flush_gives_memory_back(void **state) {
    (void)state;
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

static void test_initialise_refused(void **state) {
    (void)state;
    for (unsigned nth = 1;; nth++) {
        kolk_bytemap pool = {0};
        released.calls = 0;
        refuse(nth, nth % 2);
        kolk_status status = kolk_bytemap_initialise(&pool, 1000, OBJECT_SIZE);
        unsigned calls = os.calls;
        refuse(0, false);
        if (status == KOLK_OK) {
            assert_true(nth == calls + 1 && nth > 2); /* reserve and commit */
            make_objects(&pool, 1000);
            kolk_bytemap_flush(&pool);
            break;
        }
        assert_int_equal(status, KOLK_NO_MEMORY);
        assert_int_equal(released.calls, nth - 1); /* what was reserved */
        assert_true(all_bytes_are(&pool, sizeof pool, 0));
        assert_int_equal(kolk_bytemap_initialise(&pool, 3, OBJECT_SIZE), KOLK_OK); /* as if nothing had been */
        kolk_bytemap_flush(&pool);
    }
}

static void test_nothing_to_refuse(void **state) {
    (void)state;
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
        assert_int_equal(kolk_bytemap_initialise(&pool, 0, OBJECT_SIZE), KOLK_OK); /* nor for no slots */
        kolk_bytemap_flush(&pool);
        refuse(0, false);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_flush_gives_memory_back),
        TEST(test_initialise_refused),
        TEST(test_nothing_to_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
