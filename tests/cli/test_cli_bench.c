/* kolk bench: the allocators and their loops work; the file of results keeps what was measured. */
#include "../help/test.h"

#include <math.h>
#include <string.h>

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

static void test_files(void **state) {
    (void)state;
    double samples[PASSES_MOST];
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
    results_write(&(cli_context){.out = file}, results);
    json_decref(results);
    rewind(file);
    results = json_loadf(file, 0, NULL);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subjects),
        cmocka_unit_test(test_loops_keep_the_number),
        cmocka_unit_test(test_trials),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
