/* looks.h: when a thread that has found nothing pauses, when it yields, and when it should sleep. The times are made
 * up: they are long past, so no pause lasts. */
#include "../help/test.h"

#include "core/looks.h"

/* Looks once at the beginning of a wait and once after `waited` ns. Returns true if it yields. */
static bool yields_after(int64_t waited, uint32_t *in_vain) {
    kolk_looks_ looks = {.began = 0};
    assert_true(kolk_look_later_(&looks, in_vain, 1));
    assert_true(kolk_look_later_(&looks, in_vain, 1 + waited));
    kolk_end_looks_(&looks, in_vain);
    return looks.yields;
}

static void test_ends(void **state) {
    uint32_t in_vain = 0;
    kolk_looks_ looks = {.began = 0};
    assert_true(kolk_look_later_(&looks, &in_vain, 1));
    assert_true(kolk_look_later_(&looks, &in_vain, LOOK_NS));
    assert_false(kolk_look_later_(&looks, &in_vain, 1 + LOOK_NS));
}

static void test_halves(void **state) {
    uint32_t in_vain = 0;
    assert_false(yields_after(SPIN_NS - 1, &in_vain));
    for (uint32_t n = 0; n < MOST_HALVINGS; n++) {
        assert_int_equal(in_vain, n);
        assert_true(yields_after(SPIN_NS >> n, &in_vain));
    }
    assert_true(yields_after(SPIN_NS >> MOST_HALVINGS, &in_vain));
    assert_false(yields_after((SPIN_NS >> MOST_HALVINGS) - 1, &in_vain));
}

static void test_doubles(void **state) {
    uint32_t in_vain = NEW_ATTEMPT - 1;
    for (uint32_t n = MOST_HALVINGS; n-- > 0;) {
        assert_false(yields_after(0, &in_vain));
        assert_int_equal(in_vain, n);
    }
    assert_false(yields_after(0, &in_vain));
    assert_int_equal(in_vain, 0);
}

/* However often it yields in one wait. What other threads have counted since then stays. */
static void test_counts_once(void **state) {
    uint32_t in_vain = 2;
    kolk_looks_ looks = {.began = 0};
    assert_true(kolk_look_later_(&looks, &in_vain, 1));
    assert_true(kolk_look_later_(&looks, &in_vain, 1 + SPIN_NS));
    assert_int_equal(in_vain, 3);
    in_vain = 7;
    assert_true(kolk_look_later_(&looks, &in_vain, 1 + SPIN_NS));
    kolk_end_looks_(&looks, &in_vain);
    assert_int_equal(in_vain, 7);
}

static void test_tries_anew(void **state) {
    uint32_t in_vain = 0;
    for (uint32_t n = 1; n < NEW_ATTEMPT; n++) assert_true(yields_after(SPIN_NS, &in_vain));
    assert_int_equal(in_vain, NEW_ATTEMPT - 1);
    assert_true(yields_after(SPIN_NS, &in_vain));
    assert_int_equal(in_vain, 0);
}

/* A call that found something at once has not looked again, and says nothing about waits. */
static void test_no_wait(void **state) {
    uint32_t in_vain = 3;
    kolk_looks_ looks = {.began = 0};
    kolk_end_looks_(&looks, &in_vain);
    assert_int_equal(in_vain, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),        cmocka_unit_test(test_halves),     cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_counts_once), cmocka_unit_test(test_tries_anew), cmocka_unit_test(test_no_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
