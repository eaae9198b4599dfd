/* memory.h: what pools ask of the operating system, without a pool. */
#include "../help/test.h"

#include "os/memory.h"

static void test_reserve_commit_discard_release(void **state) {
    (void)state;
    size_t page = kolk_memory_page();
    assert_true(page >= 4096 && (page & (page - 1)) == 0);
    unsigned char *start = (unsigned char *)kolk_memory_reserve(10 * page);
    assert_non_null(start);
    assert_int_equal((uintptr_t)start % page, 0);

    assert_true(kolk_memory_commit(start + page + 100, 2 * page)); /* pages 1 to 3 */
    assert_true(all_bytes_are(start + page, 3 * page, 0));
    memset(start + page, 0xaa, 3 * page);
    assert_true(kolk_memory_commit(start + page, 4 * page)); /* again is harmless */
    assert_true(all_bytes_are(start + page, 3 * page, 0xaa));
    assert_true(all_bytes_are(start + 4 * page, page, 0));

    assert_int_equal(kolk_memory_discard(start + page, 0), 0);
    assert_int_equal(kolk_memory_discard(start + page, page - 1), 0); /* not a whole page */
    assert_int_equal(kolk_memory_discard(start + page + 1, 2 * page - 2), 0);
    assert_true(all_bytes_are(start + page, 3 * page, 0xaa));
    assert_int_equal(kolk_memory_discard(start + page + 1, 2 * page), page); /* page 2, which is wholly inside */
    assert_true(all_bytes_are(start + page, page, 0xaa));
    assert_true(all_bytes_are(start + 2 * page, page, 0)); /* it stays committed and reads as 0 */
    assert_true(all_bytes_are(start + 3 * page, page, 0xaa));
    kolk_memory_release(start, 10 * page);
}

/* More pages than the system is asked about at a time. */
static void test_discard_tells_what_was_resident(void **state) {
    (void)state;
    size_t page = kolk_memory_page(), pages = 1500;
    unsigned char *start = (unsigned char *)kolk_memory_reserve(pages * page);
    assert_non_null(start);
    assert_true(kolk_memory_commit(start, pages * page));
    assert_int_equal(kolk_memory_discard(start, pages * page), 0); /* none was touched */
    static const size_t touched[] = {0, 1, 511, 512, 1023, 1024, 1499};
    for (size_t i = 0; i < LENGTH_OF(touched); i++) start[touched[i] * page] = 1;
    assert_int_equal(kolk_memory_discard(start, pages * page), LENGTH_OF(touched) * page);
    assert_int_equal(kolk_memory_discard(start, pages * page), 0);
    kolk_memory_release(start, pages * page);
}

static void test_more_than_there_is(void **state) {
    (void)state;
    assert_null(kolk_memory_reserve(SIZE_MAX - 1000000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reserve_commit_discard_release),
        cmocka_unit_test(test_discard_tells_what_was_resident),
        cmocka_unit_test(test_more_than_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
