/* runs: not:wine wraps: help/system_calls.h */
/* memory.h: the requests that pools make to the operating system, without a pool. */
#include "../help/test.h"

#include "os/memory.h"

#include "../help/system_calls.h"

static void test_reserve_commit_discard_release(void **state) {
    size_t page = kolk_memory_page_();
    assert_true(page >= 4096 && (page & (page - 1)) == 0);
    unsigned char *start = (unsigned char *)kolk_memory_reserve_(10 * page);
    assert_non_null(start);
    assert_int_equal((uintptr_t)start % page, 0);

    assert_true(kolk_memory_commit_(start + page + 100, 2 * page)); /* pages 1 to 3 */
    assert_true(all_bytes_are(start + page, 3 * page, 0));
    memset(start + page, 0xaa, 3 * page);
    assert_true(kolk_memory_commit_(start + page, 4 * page)); /* doing so again is harmless */
    assert_true(all_bytes_are(start + page, 3 * page, 0xaa));
    assert_true(all_bytes_are(start + 4 * page, page, 0));

    assert_int_equal(kolk_memory_discard_(start + page, 0, true), 0);
    assert_int_equal(kolk_memory_discard_(start + page, page - 1, true), 0); /* not a whole page */
    assert_int_equal(kolk_memory_discard_(start + page + 1, 2 * page - 2, true), 0);
    assert_true(all_bytes_are(start + page, 3 * page, 0xaa));
    assert_int_equal(kolk_memory_discard_(start + page + 1, 2 * page, true), page); /* page 2, which is wholly inside */
    assert_true(all_bytes_are(start + page, page, 0xaa));
    assert_true(all_bytes_are(start + 2 * page, page, 0)); /* it stays committed and reads as 0 */
    assert_true(all_bytes_are(start + 3 * page, page, 0xaa));
    kolk_memory_release_(start, 10 * page);
}

/* Uses more pages than one query to the system covers. */
static void test_discard_tells_what_was_resident(void **state) {
    size_t page = kolk_memory_page_(), pages = 1500;
    unsigned char *start = (unsigned char *)kolk_memory_reserve_(pages * page);
    assert_non_null(start);
    assert_true(kolk_memory_commit_(start, pages * page));
    assert_int_equal(kolk_memory_discard_(start, pages * page, true), 0); /* none was touched */
    static const size_t touched[] = {0, 1, 511, 512, 1023, 1024, 1499};
    for (size_t i = 0; i < LENGTH_OF(touched); i++) start[touched[i] * page] = 1;
    assert_int_equal(kolk_memory_discard_(start, pages * page, true), LENGTH_OF(touched) * page);
    assert_int_equal(kolk_memory_discard_(start, pages * page, true), 0);
    kolk_memory_release_(start, pages * page);
}

/* Trims both ends, then the rest. */
static void test_trim(void **state) {
    size_t page = kolk_memory_page_();
    unsigned char *start = (unsigned char *)kolk_memory_take_(10 * page, 10 * page);
    assert_non_null(start);
    memset(start, 0xaa, 10 * page);
    long before = address_space();
    assert_true(kolk_memory_trim_(start, 2 * page));
    assert_true(kolk_memory_trim_(start + 7 * page, 3 * page));
    assert_true(before == 0 || address_space() == before - 5);
    assert_true(all_bytes_are(start + 2 * page, 5 * page, 0xaa));
    kolk_memory_release_(start + 2 * page, 5 * page);
    assert_true(before == 0 || address_space() == before - 10);
}

/* Another mapping follows the memory, so it has to move. */
static void test_resize(void **state) {
    size_t page = kolk_memory_page_();
    unsigned char *start = (unsigned char *)kolk_memory_take_(20 * page, 20 * page);
    assert_non_null(start);
    memset(start, 0xaa, 20 * page);
    long before = address_space();
    unsigned char *moved = (unsigned char *)kolk_memory_resize_(start, 10 * page, 1000 * page);
    assert_non_null(moved);
    assert_ptr_not_equal(moved, start);
    assert_true(before == 0 || address_space() == before + 990);
    assert_true(all_bytes_are(moved, 10 * page, 0xaa));
    assert_true(all_bytes_are(moved + 10 * page, 990 * page, 0));
    assert_true(all_bytes_are(start + 10 * page, 10 * page, 0xaa));
    assert_null(kolk_memory_resize_(moved, 1000 * page, SIZE_MAX / page * page - 1000 * page));
    memset(moved, 0xbb, 1000 * page);
    moved = (unsigned char *)kolk_memory_resize_(moved, 1000 * page, 3 * page);
    assert_non_null(moved);
    assert_true(all_bytes_are(moved, 3 * page, 0xbb));
    kolk_memory_release_(moved, 3 * page);
    kolk_memory_release_(start + 10 * page, 10 * page);
    assert_true(before == 0 || address_space() == before - 20);
}

static void test_discard_that_does_not_count(void **state) {
    size_t page = kolk_memory_page_();
    unsigned char *start = (unsigned char *)kolk_memory_take_(10 * page, 10 * page);
    assert_non_null(start);
    start[3 * page] = 1;
    refuse(0, false);
    assert_int_equal(kolk_memory_discard_(start + 1, 9 * page, false), 8 * page);
    assert_int_equal(os.looked_at, 0);
    assert_true(all_bytes_are(start, 10 * page, 0));
    kolk_memory_release_(start, 10 * page);
}

static void test_map(void **state) {
    size_t page = kolk_memory_page_();
    unsigned char *start = (unsigned char *)kolk_memory_map_(10 * page);
    assert_non_null(start);
    assert_true(all_bytes_are(start, 10 * page, 0));
    memset(start, 1, 10 * page);
    kolk_memory_decommit_(start + page, page);
    assert_true(kolk_memory_commit_(start + page, page));
    assert_true(all_bytes_are(start + page, page, 0));
    kolk_memory_release_(start, 10 * page);
    assert_null(kolk_memory_map_(SIZE_MAX - 1000000));
}

/* Is this byte in core dumps? -1: unknown. */
static int is_dumped(const void *byte) {
    char line[1000];
    unsigned long from, end;
    bool here = false;
    int dumped = -1;
    FILE *file = emulator() ? NULL : fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx ", &from, &end) == 2) here = (uintptr_t)byte >= from && (uintptr_t)byte < end;
        if (here && strncmp(line, "VmFlags:", 8) == 0) dumped = !strstr(line, " dd");
    }
    if (file) fclose(file);
    return dumped;
}

/* Large reserved memory that is not committed is not in core dumps. */
static void test_core_dumps(void **state) {
    size_t page = kolk_memory_page_(), much = (size_t)64 << 20;
    unsigned char *start = (unsigned char *)kolk_memory_reserve_(much);
    assert_non_null(start);
    if (is_dumped(start) >= 0) {
        assert_false(is_dumped(start));
        assert_true(kolk_memory_commit_(start + page, 3 * page));
        assert_false(is_dumped(start));
        assert_true(is_dumped(start + page));
        assert_true(is_dumped(start + 3 * page));
        assert_false(is_dumped(start + 4 * page));
        kolk_memory_decommit_(start + 2 * page, page);
        assert_true(is_dumped(start + page));
        assert_false(is_dumped(start + 2 * page));
        assert_true(is_dumped(start + 3 * page));
    }
    kolk_memory_release_(start, much);
}

static void test_more_than_there_is(void **state) {
    assert_null(kolk_memory_reserve_(SIZE_MAX - 1000000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reserve_commit_discard_release),
        cmocka_unit_test(test_discard_tells_what_was_resident),
        cmocka_unit_test(test_discard_that_does_not_count),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_core_dumps),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_more_than_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
