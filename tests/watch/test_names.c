/* The copies of names: one for equal names, for all time, and within their bytes. */
#include "../help/test.h"

#include "watch/registry.h"

static void test_equal_names_have_one_copy(void **state) {
    char text[] = "bullets", same[] = "bullets", other[] = "bullet";
    const char *copy = kolk_names_keep_(text);
    assert_ptr_not_equal(copy, text);
    assert_ptr_equal(kolk_names_keep_(same), copy);
    assert_ptr_equal(kolk_names_keep_(copy), copy);
    assert_ptr_not_equal(kolk_names_keep_(other), copy);
    text[0] = same[0] = other[0] = 'B';
    assert_string_equal(copy, "bullets");
    assert_null(kolk_names_keep_(NULL));
    assert_string_equal(kolk_names_keep_(""), "");
}

static void test_names_of_all_lengths(void **state) {
    static char text[1200];
    const char *copies[70];
    for (size_t n = 0; n < LENGTH_OF(copies); n++) {
        memset(text, 'a' + (int)(n % 26), n * 16);
        text[n * 16] = 0;
        copies[n] = kolk_names_keep_(text);
        assert_ptr_not_equal(copies[n], text);
    }
    for (size_t n = 0; n < LENGTH_OF(copies); n++) {
        assert_int_equal(strlen(copies[n]), n * 16);
        for (size_t at = 0; at < n * 16; at++) assert_int_equal(copies[n][at], 'a' + (int)(n % 26));
    }
}

/* A program that gives each pool another name: once the bytes are used up, names stay where they are. */
static void test_too_many_names(void **state) {
    char text[100];
    static char huge[1 << 17];
    const char *first = kolk_names_keep_("the first of many");
    memset(huge, 'h', sizeof huge - 1);
    assert_ptr_equal(kolk_names_keep_(huge), huge);
    unsigned n = 0;
    do snprintf(text, sizeof text, "session %u of a program that numbers its pools", n);
    while (kolk_names_keep_(text) != text && ++n < 1000000);
    assert_true(n > 1000 && n < 10000);
    assert_ptr_equal(kolk_names_keep_("the first of many"), first);
    snprintf(text, sizeof text, "session %u of a program that numbers its pools", n - 1);
    assert_ptr_not_equal(kolk_names_keep_(text), text);
    kolk_pool pool;
    text[0] = 'S';
    make_pool(&pool, &(kolk_pool_desc){.name = text, .object_size = 8, .capacity = 2});
    kolk_stats stats;
    kolk_pool_stats(&pool, &stats);
    assert_ptr_equal(stats.name, text);
    kolk_pool_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_names_have_one_copy), cmocka_unit_test(test_names_of_all_lengths),
        cmocka_unit_test(test_too_many_names), /* the last, because it uses the bytes up */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
