/* with: src wraps: resource/resource_clock.h */
/* The durations in the statistics of a resource pool. */
#include "../help/debug_test.h"

#include "resource/resource_inside.h"

#include "resource_steps.h"

static void test_percentiles(void **state) {
    begin((kolk_resource_pool_desc){.max = 1});
    for (int64_t ms = 1; ms <= 1000; ms++) {
        kolk_borrowed one = borrowed(NULL);
        pass(ms);
        return_it(&one);
    }
    kolk_times use = stats().use;
    assert_int_equal(use.count, 1000);
    assert_int_equal(use.sum_ns, 500500 * MS);
    assert_int_equal(use.max_ns, 1000 * MS);
    const struct {
        uint64_t got, exact;
    } all[] = {{use.p50_ns, 500 * MS}, {use.p90_ns, 900 * MS}, {use.p99_ns, 990 * MS}, {use.p999_ns, 999 * MS}};
    for (size_t i = 0; i < LENGTH_OF(all); i++)
        assert_true(all[i].got >= all[i].exact && all[i].got <= all[i].exact + all[i].exact / 8);
    assert_int_equal(stats().wait.p999_ns, 0);
    end();
}

/* Returns the reported value of the shorter of two times. */
static uint64_t p50_of(uint64_t ns) {
    resource_times times = {0};
    kolk_times all;
    kolk_times_add_(&times, INT64_MAX);
    kolk_times_add_(&times, (int64_t)ns);
    kolk_times_sum_up_(&times, &all);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.max_ns, INT64_MAX);
    assert_int_equal(all.p90_ns, INT64_MAX);
    return all.p50_ns;
}

/* There are eight buckets per octave. Each time is reported as the longest time of its bucket, so never as less than it
 * is. promise: "Percentiles are exact ... 2^35 ns" */
static void test_buckets(void **state) {
    for (uint64_t ns = 0; ns < 16; ns++) assert_int_equal(p50_of(ns), ns);
    for (unsigned shift = 1; shift < 37; shift++) {
        for (uint64_t eighth = 8; eighth < 16; eighth++) {
            uint64_t first = eighth << shift, last = ((eighth + 1) << shift) - 1;
            assert_int_equal(p50_of(first), last);
            assert_int_equal(p50_of(last), last);
        }
    }
}

/* In a histogram, each bound from 2^17 ns on is four times the one before. Its number counts all shorter times. */
static void test_bounds(void **state) {
    resource_times times = {0};
    kolk_times all;
    for (unsigned bound = 0; bound < KOLK_TIME_BOUNDS; bound++) {
        kolk_times_add_(&times, (INT64_C(1) << (17 + 2 * bound)) - 1);
        kolk_times_add_(&times, INT64_C(1) << (17 + 2 * bound));
    }
    kolk_times_sum_up_(&times, &all);
    for (unsigned bound = 0; bound < KOLK_TIME_BOUNDS; bound++) assert_int_equal(all.at_most[bound], 2 * bound + 1);
}

/* If the clock runs backwards, as on broken systems, the time counts as 0. */
static void test_times_of_nothing(void **state) {
    resource_times times = {0};
    kolk_times all;
    kolk_times_sum_up_(&times, &all);
    assert_int_equal(all.p50_ns, 0);
    kolk_times_add_(&times, -5);
    kolk_times_add_(&times, 0);
    kolk_times_add_(&times, 1);
    kolk_times_sum_up_(&times, &all);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.sum_ns, 1);
    assert_int_equal(all.max_ns, 1);
    assert_int_equal(all.p50_ns, 0);
    assert_int_equal(all.p999_ns, 1);
}

/* Times beyond 2^41 ns share one bucket, which is reported as the longest time. */
static void test_times_of_hours(void **state) {
    begin((kolk_resource_pool_desc){.max = 1});
    for (int64_t hours = 1; hours <= 4; hours++) {
        kolk_borrowed one = borrowed(NULL);
        pass(hours * 3600000);
        return_it(&one);
    }
    kolk_times use = stats().use;
    assert_int_equal(use.p50_ns, 4 * 3600000 * MS);
    assert_int_equal(use.max_ns, 4 * 3600000 * MS);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_percentiles),      DEBUG_TEST(test_buckets),        DEBUG_TEST(test_bounds),
        DEBUG_TEST(test_times_of_nothing), DEBUG_TEST(test_times_of_hours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
