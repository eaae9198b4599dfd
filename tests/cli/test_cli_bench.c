/* kolk bench: the allocators and their loops work; the file of results keeps what was measured; the comparison finds a
 * change of kolk, and neither a change of the machine nor noise. */
#include "../help/test.h"

#include <math.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/results.h"
#include "bench/subjects.h"
#include "bench/tables.h"
#include "bench/trials.h"

/* ---- The allocators ---------------------------------------------------------------------------------------------- */

static void test_subjects(void **state) {
    (void)state;
    enum { ALIVE = 300 };
    unsigned there = 0;
    for (size_t n = 0; n < subject_count; n++) {
        const struct subject *subject = &subjects[n];
        struct stand stand;
        if (!stand_begin(&stand, subject, ALIVE)) {
            assert_true(strncmp(subject->who, "kolk", 4) != 0 && n != SUBJECT_MALLOC);
            assert_true(stand.problem && stand.problem[0]);
            continue;
        }
        there++;
        subject->fill(&stand);
        for (enum loop loop = 0; loop < LOOPS; loop++)
            for (unsigned at = 0; at < ALIGNMENTS; at++) subject->loops[loop][at](&stand, 1000);
        subject->empty(&stand);
        stand_end(&stand, subject);
    }
    assert_true(there >= subject_count - 3); /* all but the three mallocs from other packages */
}

static uint32_t peak_of(const kolk_pool *pool) {
    kolk_stats stats;
    kolk_pool_stats(pool, &stats);
    return (uint32_t)stats.peak;
}

/* What a pool is asked for: the loops leave as many objects alive as they found. */
static void test_loops_keep_the_number(void **state) {
    (void)state;
    const struct subject *subject = subjects;
    struct stand stand;
    while (strcmp(subject->who, "kolk untyped") != 0) subject++;
    assert_true(stand_begin(&stand, subject, 64));
    const kolk_pool *pool = stand.from;
    subject->fill(&stand);
    assert_int_equal(kolk_pool_count(pool), 64);
    for (uint32_t n = 0; n < 64; n++) assert_int_equal(stand.places[n]->words[7], n);
    subject->loops[LOOP_REPLACE][0](&stand, 500);
    subject->loops[LOOP_WRITE][0](&stand, 500);
    assert_int_equal(kolk_pool_count(pool), 64);
    assert_int_equal(peak_of(pool), 64);
    subject->loops[LOOP_BURST][0](&stand, 1);
    assert_int_equal(peak_of(pool), 64 + BURST);
    subject->empty(&stand);
    assert_int_equal(kolk_pool_count(pool), 0);
    stand_end(&stand, subject);
}

/* ---- Trials ------------------------------------------------------------------------------------------------------ */

static void count_times(uint64_t *sums, unsigned alignment, uint64_t times) {
    for (; times > 0; times--) {
        hide_memory();
        sums[alignment]++;
    }
}

static void count_0(void *sums, uint64_t times) {
    count_times(sums, 0, times);
}

static void count_1(void *sums, uint64_t times) {
    count_times(sums, 1, times);
}

static void count_2(void *sums, uint64_t times) {
    count_times(sums, 2, times);
}

static void count_3(void *sums, uint64_t times) {
    count_times(sums, 3, times);
}

static loop_function *const count[ALIGNMENTS] = {count_0, count_1, count_2, count_3};

static void test_trials(void **state) {
    (void)state;
    uint64_t sums[2][ALIGNMENTS] = {{0}}, random = 1;
    double samples[PASSES_MOST];
    json_t *results = results_new();
    struct trial trials[] = {
        {.table = "t", .where = "w", .who = "one", .run = count, .what = sums[0], .operations = 1},
        {.table = "t", .where = "w", .who = "ten", .run = count, .what = sums[1], .operations = 10},
    };
    trials_run(trials, 2, results, &random);
    for (unsigned n = 0; n < 2; n++) {
        for (unsigned at = 0; at < ALIGNMENTS; at++) /* each round has two runs, of which one is measured */
            assert_true(sums[n][at] >= 2 * TRIAL_ROUNDS / ALIGNMENTS * trials[n].times);
    }
    assert_int_equal(results_samples(results, "t", "w", "one", samples), 1);
    assert_true(samples[0] > 0);
    assert_int_equal(results_samples(results, "t", "w", "ten", samples), 1);
    assert_string_equal(json_object_iter_key(json_object_iter(
                            json_object_get(json_object_get(json_object_get(results, "tables"), "t"), "w"))),
                        "one"); /* as they were given, in whatever order they ran */
    json_decref(results);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static json_t *read_text(const char *text, const char **problem) {
    FILE *file = tmpfile();
    assert_non_null(file);
    fputs(text, file);
    rewind(file);
    json_t *results = results_read(file, problem);
    fclose(file);
    return results;
}

static void test_files(void **state) {
    (void)state;
    double samples[PASSES_MOST];
    const char *problem;
    json_t *results = results_new(), *more = results_new();
    results_add(results, "calls", "1 \"quoted\"", "kolk", 3.25);
    results_add(results, "calls", "1 \"quoted\"", "kolk", 3.5);
    results_add(results, "calls", "1 \"quoted\"", "malloc", 12345678);
    results_leave_out(results, "jemalloc", "it is not there");
    results_add(more, "calls", "1 \"quoted\"", "kolk", 4);
    results_add(more, "visits", "100 %", "kolk", 5);
    results_merge(results, more);
    json_decref(more);

    FILE *file = tmpfile();
    assert_non_null(file);
    results_write(results, file);
    json_decref(results);
    rewind(file);
    results = results_read(file, &problem);
    fclose(file);
    assert_non_null(results);
    assert_int_equal(results_samples(results, "calls", "1 \"quoted\"", "kolk", samples), 3);
    assert_true(samples[0] == 3.25 && samples[1] == 3.5 && samples[2] == 4);
    assert_int_equal(results_samples(results, "calls", "1 \"quoted\"", "malloc", samples), 1);
    assert_true(fabs(samples[0] / 12345678 - 1) < 0.001);
    assert_int_equal(results_samples(results, "visits", "100 %", "kolk", samples), 1);
    assert_int_equal(results_samples(results, "visits", "99 %", "kolk", samples), 0);
    assert_string_equal(json_string_value(json_object_get(json_object_get(results, "left_out"), "jemalloc")),
                        "it is not there");
    assert_string_equal(results_fact(results, "kolk"), KOLK_VERSION);
    assert_int_equal(strlen(results_fact(results, "date")), strlen("2026-01-31"));
    assert_string_equal(results_fact(results, "color"), "?");
    json_decref(results);
}

static void test_broken_files(void **state) {
    (void)state;
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"", "this is no result of kolk bench --json"},
        {"[1]", "this is no result of kolk bench --json"},
        {"{\"kolk_bench\": \"1\"}", "this is no result of kolk bench --json"},
        {"{\"kolk_bench\": 1, \"tables\": {\"calls\": {\"100\": {\"kolk\": [1]}}}",
         "this is no result of kolk bench --json"},
        {"{\"kolk_bench\": 2, \"tables\": {}}", "another version of kolk bench has written this"},
        {"{\"kolk_bench\": 1}", "this result of kolk bench is damaged"},
        {"{\"kolk_bench\": 1, \"tables\": []}", "this result of kolk bench is damaged"},
        {"{\"kolk_bench\": 1, \"tables\": {\"a\": 1}}", "this result of kolk bench is damaged"},
        {"{\"kolk_bench\": 1, \"tables\": {\"a\": {\"b\": 1}}}", "this result of kolk bench is damaged"},
        {"{\"kolk_bench\": 1, \"tables\": {\"a\": {\"b\": {\"c\": 1}}}}", "this result of kolk bench is damaged"},
        {"{\"kolk_bench\": 1, \"tables\": {\"a\": {\"b\": {\"c\": []}}}}", "this result of kolk bench is damaged"},
        {"{\"kolk_bench\": 1, \"tables\": {\"a\": {\"b\": {\"c\": [1, 0]}}}}", "this result of kolk bench is damaged"},
        {"{\"kolk_bench\": 1, \"tables\": {\"a\": {\"b\": {\"c\": [1, -1]}}}}", "this result of kolk bench is damaged"},
        {"{\"kolk_bench\": 1, \"tables\": {\"a\": {\"b\": {\"c\": [\"1\"]}}}}", "this result of kolk bench is damaged"},
    };
    const char *problem;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        assert_null(read_text(cases[n].text, &problem));
        assert_string_equal(problem, cases[n].problem);
    }
    json_t *results = read_text("{\"kolk_bench\": 1, \"tables\": {}}", &problem);
    assert_non_null(results);
    assert_string_equal(results_fact(results, "date"), "?");
    json_decref(results);
}

/* ---- The test of ranks ------------------------------------------------------------------------------------------- */

static void test_ranks(void **state) {
    (void)state;
    double low[PASSES_MOST], high[PASSES_MOST];
    for (unsigned n = 0; n < PASSES_MOST; n++) low[n] = n, high[n] = 1000 + n;
    assert_true(fabs(rank_test(low, 3, high, 3) - 2.0 / 20) < 1e-12);
    assert_true(fabs(rank_test(high, 3, low, 3) - 2.0 / 20) < 1e-12);
    assert_true(fabs(rank_test(low, 10, high, 10) - 2.0 / 184756) < 1e-15);
    assert_true(fabs(rank_test(low, 2, high, 7) - 2.0 / 36) < 1e-12);
    double p = rank_test(low, PASSES_MOST, high, PASSES_MOST);
    assert_true(p >= 0 && p < 1e-12);
    assert_true(rank_test(low, 5, low, 5) == 1);
    assert_true(rank_test(low, 0, high, 5) == 1);
    /* Two of the 25 pairs are in the wrong order. Of 252 orders, 1 + 1 + 2 have two or less. */
    double first[] = {1, 2, 3, 4, 7}, second[] = {5, 6, 8, 9, 10};
    assert_true(fabs(rank_test(first, 5, second, 5) - 2 * 4.0 / 252) < 1e-12);
    /* An equal pair counts as half of a wrong one, and half of one is taken for a whole one: 1 + 1 orders. */
    double equal[] = {1, 2, 3, 4, 5}, others[] = {5, 6, 7, 8, 9};
    assert_true(fabs(rank_test(equal, 5, others, 5) - 2 * 2.0 / 252) < 1e-12);
}

/* ---- The comparison ---------------------------------------------------------------------------------------------- */

static uint64_t numbers;

/* A factor near 1: the sum of four uniform numbers, of which two thirds are within 5 % of 1; and one in ten passes is
 * disturbed. */
static double noise(void) {
    double sum = 0;
    for (unsigned n = 0; n < 4; n++) sum += (double)random_below(&numbers, 1000) / 1000 - 0.5;
    return 1 + 0.087 * sum + (random_below(&numbers, 10) == 0 ? 0.3 : 0);
}

/* Results of a machine that is `speed` times as slow, on which the kolk of one case, 3, takes `factor` times as long.
 * The load of the machine changes from pass to pass, for kolk and for malloc. */
static json_t *made_up(unsigned passes, double speed, double factor) {
    json_t *results = results_new();
    for (unsigned pass = 0; pass < passes; pass++)
        for (unsigned which = 0; which < 100; which++) {
            char where[16];
            double load = speed * (1 + 0.2 * random_below(&numbers, 100) / 100);
            snprintf(where, sizeof where, "%u", which);
            results_add(results, "calls", where, "malloc", 20 * load * noise());
            results_add(results, "calls", where, "kolk", 6 * load * noise() * (which == 3 ? factor : 1));
        }
    return results;
}

static struct comparisons compare_made_up(unsigned passes, double speed, double factor) {
    json_t *before = made_up(passes, 1, 1), *after = made_up(passes, speed, factor);
    struct comparisons found;
    assert_true(compare_results(&found, before, after));
    assert_int_equal(found.count, 100);
    assert_int_equal(found.alone, 0);
    json_decref(before);
    json_decref(after);
    return found;
}

static void test_comparison(void **state) {
    (void)state;
    numbers = UINT64_C(0x9e3779b97f4a7c15);
    unsigned alarms = 0, slower = 0, faster = 0;
    for (unsigned n = 0; n < 40; n++) {
        struct comparisons same = compare_made_up(10, 1 + n % 3, 1);
        alarms += same.improved + same.regressed > 0;
        comparisons_free(&same);
    }
    assert_true(alarms <= 2);
    for (unsigned n = 0; n < 20; n++) {
        struct comparisons worse = compare_made_up(10, 1, 1.8), better = compare_made_up(10, 2, 0.55);
        slower += worse.regressed == 1 && worse.improved == 0 && worse.all[0].word == VERDICT_REGRESSED;
        faster += better.improved == 1 && better.regressed == 0 && better.all[0].word == VERDICT_IMPROVED;
        comparisons_free(&worse);
        comparisons_free(&better);
    }
    assert_in_range(slower, 19, 20); /* a comparison in a hundred has a false alarm beside it */
    assert_in_range(faster, 19, 20);
}

/* Exact figures: two passes cannot show anything; a change of less than 3 % is none; and what only one of the results
 * has is counted. */
static json_t *exact(unsigned passes, double kolk) {
    json_t *results = results_new();
    for (unsigned pass = 0; pass < passes; pass++) {
        results_add(results, "calls", "100", "malloc", 20 + pass);
        results_add(results, "calls", "100", "kolk", (kolk + 0.001 * pass) * (20 + pass));
    }
    return results;
}

static struct comparisons compare_exact(unsigned passes, double kolk) {
    json_t *before = exact(passes, 1), *after = exact(passes, kolk);
    struct comparisons found;
    results_add(after, "calls", "1", "kolk", 1); /* without a yardstick */
    assert_true(compare_results(&found, before, after));
    assert_int_equal(found.count, 1);
    assert_int_equal(found.alone, 1);
    assert_true(fabs(found.all[0].change - (kolk - 1)) < 0.01);
    json_decref(before);
    json_decref(after);
    comparisons_free(&found);
    return found;
}

static void test_small_changes(void **state) {
    (void)state;
    assert_int_equal(compare_exact(10, 1.02).regressed, 0);
    assert_int_equal(compare_exact(10, 1.04).regressed, 1);
    assert_int_equal(compare_exact(10, 0.96).improved, 1);
    assert_int_equal(compare_exact(2, 3).regressed, 0);
    assert_int_equal(compare_exact(10, 3).regressed, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subjects),   cmocka_unit_test(test_loops_keep_the_number), cmocka_unit_test(test_trials),
        cmocka_unit_test(test_files),      cmocka_unit_test(test_broken_files),          cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_comparison), cmocka_unit_test(test_small_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
