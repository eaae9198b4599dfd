/* The soak test's parts: the slope and its interval, percentiles, and a load that detects faults. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "soak/report.h"

/* ---- The slope --------------------------------------------------------------------------------------------------- */

static void assert_near(double value, double wanted, double part) {
    if (fabs(value - wanted) > part * fabs(wanted) + 1e-9) fail_msg("%g is not %g", value, wanted);
}

static struct watch_slope slope_of(const double (*points)[2], size_t count) {
    struct watch_series series = {0};
    for (size_t n = 0; n < count; n++) watch_add(&series, points[n][0], points[n][1]);
    return watch_slope(&series);
}

/* Norris, one of NIST's statistical reference data sets: its certified slope and standard error. */
static void test_norris(void **state) {
    (void)state;
    static const double norris[][2] = {
        {0.2, 0.1},     {337.4, 338.8}, {118.2, 118.1}, {884.6, 888.0}, {10.1, 9.2},    {226.5, 228.1},
        {666.3, 668.5}, {996.3, 998.5}, {448.6, 449.1}, {777.0, 778.9}, {558.2, 559.2}, {0.4, 0.3},
        {0.6, 0.1},     {775.5, 778.1}, {666.9, 668.8}, {338.0, 339.3}, {447.5, 448.9}, {11.6, 10.8},
        {556.0, 557.7}, {228.1, 228.3}, {995.8, 998.0}, {887.6, 888.8}, {120.2, 119.6}, {0.3, 0.3},
        {0.3, 0.6},     {556.8, 557.6}, {339.1, 339.3}, {887.2, 888.0}, {999.0, 998.5}, {779.0, 778.9},
        {11.1, 10.2},   {118.3, 117.6}, {229.2, 228.9}, {669.1, 668.4}, {448.9, 449.2}, {0.5, 0.2}};
    struct watch_slope slope = slope_of(norris, sizeof norris / sizeof *norris);
    assert_true(slope.known);
    assert_near(slope.slope, 1.00211681802045, 1e-12);
    assert_near(slope.high - slope.slope, 2.0322445 * 0.429796848199937e-3, 1e-4); /* 34 degrees of freedom */
    assert_near(slope.slope - slope.low, slope.high - slope.slope, 1e-9);
}

static void test_student(void **state) {
    (void)state;
    static const double wanted[][2] = {{1, 12.7062}, {2, 4.3027},  {4, 2.7764},  {5, 2.5706},
                                       {7, 2.3646},  {10, 2.2281}, {30, 2.0423}, {1000, 1.9623}};
    for (size_t n = 0; n < sizeof wanted / sizeof *wanted; n++)
        assert_near(watch_student((uint64_t)wanted[n][0]), wanted[n][1], 1e-3);
    assert_true(isinf(watch_student(0)));
}

static void test_few_points_tell_nothing(void **state) {
    (void)state;
    static const double points[][2] = {{0, 1}, {1, 2}, {2, 3}}, same[][2] = {{1, 1}, {1, 2}, {1, 3}};
    assert_false(slope_of(points, 0).known);
    assert_false(slope_of(points, 2).known);
    assert_true(slope_of(points, 3).known);
    assert_false(slope_of(same, 3).known);
}

static void test_a_long_series_keeps_its_slope(void **state) {
    (void)state;
    static struct watch_series series;
    for (uint32_t n = 0; n < 100000; n++) watch_add(&series, n, 7 + 0.25 * n);
    assert_in_range(series.count, WATCH_POINTS / 2, WATCH_POINTS);
    assert_int_equal((uint64_t)series.count * series.per + series.part, 100000);
    assert_near(watch_slope(&series).slope, 0.25, 1e-9);
}

static enum report_result flat(double slope, double noise, uint32_t count) {
    struct watch_series series = {0};
    struct soak_random random = {3};
    for (uint32_t n = 0; n < count; n++)
        watch_add(&series, n, 1e7 + slope * n + noise * soak_below(&random, 1000) / 1000);
    return report_flat(&series, 10000000);
}

static void test_what_is_flat(void **state) {
    (void)state;
    assert_int_equal(flat(0, 4096, 100), REPORT_OK);
    assert_int_equal(flat(0, 0, 100), REPORT_OK);
    assert_int_equal(flat(2000, 100000, 100), REPORT_FAILED); /* 2 % in the time that was watched */
    assert_int_equal(flat(-2000, 100000, 100), REPORT_OK);
    assert_int_equal(flat(500, 0, 100), REPORT_OK); /* certain, but only half a percent */
    assert_int_equal(flat(2000, 0, 11), REPORT_NOT_JUDGED);
}

/* ---- Times ------------------------------------------------------------------------------------------------------- */

static void test_percentiles(void **state) {
    (void)state;
    static struct watch_times times;
    assert_near(watch_quantile(&times, 0.5), 0, 0);
    for (uint64_t ns = 1; ns <= 100000; ns++) watch_time(&times, ns);
    assert_near(watch_quantile(&times, 0.00001), 1, 0);
    assert_near(watch_quantile(&times, 0.0001), 10, 0);
    assert_near(watch_quantile(&times, 0.5), 50000, 1.0 / 16);
    assert_near(watch_quantile(&times, 0.9999), 99990, 1.0 / 16);
    watch_time(&times, UINT64_MAX);
    assert_near(watch_quantile(&times, 1), 0x1p64, 1.0 / 16);
}

/* ---- A load that finds faults ------------------------------------------------------------------------------------ */

static struct soak_load load;
static struct watch_times times;

static void begin(void) {
    setenv("KOLK_BYPASS", "0", 1);
    if (!soak_load_begin(&load, 7)) fail_msg("%s", load.problem.text);
    load.times = &times;
}

static void turn(size_t kind, uint32_t count, double level) {
    struct soak_wish wish = {&load.random, level, 0, &times};
    for (; count > 0; count--) soak_store_turn(&load.stores[kind], &wish);
}

static void misuse(size_t kind, uint32_t count) {
    uint64_t before = load.stores[kind].counts.misuses;
    for (; count > 0; count--) soak_store_misuse(&load.stores[kind], &load.random);
    load.misuses += load.stores[kind].counts.misuses - before;
}

static int end(void **state) {
    (void)state;
    soak_load_end(&load);
    return 0;
}

static void test_each_kind_is_as_the_load_knows(void **state) {
    (void)state;
    begin();
    for (size_t n = 0; n < SOAK_KINDS; n++) {
        turn(n, 20000, 0.5);
        misuse(n, 300);
        for (uint32_t probes = 3; load.stores[n].kind->fixed && probes > 0; probes--) soak_store_probe(&load.stores[n]);
        if (load.stores[n].kind->most < 4000) turn(n, 20000, 1);
        turn(n, 20000, 0);
        if (load.stores[n].problem.text[0]) fail_msg("%s", load.stores[n].problem.text);
    }
    if (!soak_load_check(&load)) fail_msg("%s", load.problem.text);
    assert_true(load.stores[0].counts.refused > 0);
}

static void assert_found(enum soak_claim claim, const char *sentence) {
    assert_false(soak_load_check(&load));
    assert_string_equal(load.problem.text, sentence);
    assert_int_equal(load.problem.claim, claim);
}

static void test_a_leak_is_found(void **state) {
    (void)state;
    uint64_t name;
    begin();
    turn(0, 10, 1);
    uint32_t alive = load.stores[0].count;
    assert_non_null(load.stores[0].kind->alloc(&load.stores[0], 48, &name));
    char sentence[100];
    snprintf(sentence, sizeof sentence, "soak.fixed: counts %u objects alive, and the load %u", alive + 1, alive);
    assert_found(SOAK_COUNTS, sentence);
}

static void test_a_refusal_that_nobody_knows_of_is_found(void **state) {
    (void)state;
    begin();
    turn(0, 10, 1);
    load.stores[0].counts.refused++;
    assert_found(SOAK_COUNTS, "soak.fixed: counts 0 allocs that gave NULL, and the load 1");
}

static void test_a_stray_write_is_found(void **state) {
    (void)state;
    begin();
    turn(4, 10, 1);
    *(char *)load.stores[4].kind->find(&load.stores[4], load.stores[4].book[3].name) ^= 1;
    assert_found(SOAK_WHOLE, "soak.bytemap: an object does not hold what was written to it");
}

static void test_a_lost_object_is_found(void **state) {
    (void)state;
    begin();
    turn(3, 10, 1);
    kolk_slotmap_remove(&load.stores[3].in.slotmap, (kolk_handle){load.stores[3].book[0].name});
    assert_found(SOAK_WHOLE, "soak.slotmap: an object that was not freed is not found by its name");
}

static void test_a_lost_slot_is_found(void **state) {
    (void)state;
    uint64_t name;
    begin();
    turn(0, 10, 1);
    uint32_t alive = load.stores[0].count;
    load.stores[0].kind->alloc(&load.stores[0], 48, &name);
    soak_store_probe(&load.stores[0]);
    char sentence[100];
    snprintf(sentence, sizeof sentence, "soak.fixed: with %u of 2000 objects alive, only %u more were to be had", alive,
             2000 - alive - 1);
    assert_found(SOAK_ROOM, sentence);
}

static void test_a_broken_invariant_is_found(void **state) {
    (void)state;
    begin();
    turn(1, 10, 1);
    load.stores[1].in.pool.aside++;
    assert_found(SOAK_VALID, "soak.lowest: its is_valid says no");
    load.stores[1].in.pool.aside--;
}

static void test_a_mistake_that_is_not_reported_is_found(void **state) {
    (void)state;
    begin();
    load.misuses++;
    assert_found(SOAK_REPORTS, "of 1 mistakes, 0 were reported");
}

static void test_wrong_services_are_found(void **state) {
    (void)state;
    uint64_t item = 9;
    begin();
    kolk_queue_push(&load.queue.queue, &item, KOLK_NOW);
    assert_found(SOAK_COUNTS, "soak.queue: counts 1 items, and the load 0");
    soak_load_end(&load);
    begin();
    load.resource.created++;
    assert_found(SOAK_COUNTS, "soak.resource: creations: it counts 0, and the load 1");
    soak_load_end(&load);
    begin();
    load.workers.refused++;
    assert_found(SOAK_COUNTS, "soak.handover: counts 0 pushes that found no room, and the load 1");
}

static void nothing(void *context) {
    (void)context;
}

static void test_a_cycle_goes_by_the_seed(void **state) {
    (void)state;
    uint64_t after[2];
    for (int n = 0; n < 2; n++) {
        begin();
        if (!soak_load_cycle(&load, nothing, NULL)) fail_msg("%s", load.problem.text);
        assert_int_equal(load.cycles, 1);
        assert_true(load.workers.born > 0 && load.stores[2].counts.restores == 1);
        after[n] = load.random.state + load.stores[2].counts.allocs + load.stores[6].counts.frees;
        if (n == 0) soak_load_end(&load);
    }
    assert_int_equal(after[0], after[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norris),
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_few_points_tell_nothing),
        cmocka_unit_test(test_a_long_series_keeps_its_slope),
        cmocka_unit_test(test_what_is_flat),
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test_teardown(test_each_kind_is_as_the_load_knows, end),
        cmocka_unit_test_teardown(test_a_leak_is_found, end),
        cmocka_unit_test_teardown(test_a_refusal_that_nobody_knows_of_is_found, end),
        cmocka_unit_test_teardown(test_a_stray_write_is_found, end),
        cmocka_unit_test_teardown(test_a_lost_object_is_found, end),
        cmocka_unit_test_teardown(test_a_lost_slot_is_found, end),
        cmocka_unit_test_teardown(test_a_broken_invariant_is_found, end),
        cmocka_unit_test_teardown(test_a_mistake_that_is_not_reported_is_found, end),
        cmocka_unit_test_teardown(test_wrong_services_are_found, end),
        cmocka_unit_test_teardown(test_a_cycle_goes_by_the_seed, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
