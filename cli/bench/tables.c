/* tables.c: the tables of single calls. visits.c has the other. */
#define _POSIX_C_SOURCE 200809L
#include "tables.h"

#include "../measure.h"
#include "../print.h"
#include "subjects.h"
#include "trials.h"

#include <stdlib.h>
#include <string.h>

enum { SUBJECTS_MOST = 16 };
_Static_assert(3 * SUBJECTS_MOST <= TRIALS_MOST, "each subject has up to three trials");

/* ---- Calls: all subjects side by side ---------------------------------------------------------------------------- */

/* The stands of all subjects, filled, except those with a problem. */
struct field {
    struct stand stands[SUBJECTS_MOST];
};

static void field_begin(struct field *field, uint32_t alive, json_t *results) {
    for (size_t n = 0; n < subject_count; n++) {
        struct stand *stand = &field->stands[n];
        if (stand_begin(stand, &subjects[n], alive))
            subjects[n].fill(stand);
        else
            results_leave_out(results, subjects[n].who, stand->problem);
    }
}

static void field_end(struct field *field) {
    for (size_t n = 0; n < subject_count; n++) {
        struct stand *stand = &field->stands[n];
        if (stand->problem) continue;
        subjects[n].empty(stand);
        stand_end(stand, &subjects[n]);
    }
}

static size_t add_trials(struct trial *trials, size_t count, struct field *field, const char *table, const char *where,
                         enum loop loop) {
    for (size_t n = 0; n < subject_count; n++) {
        if (field->stands[n].problem) continue;
        trials[count++] = (struct trial){.table = table,
                                         .where = where,
                                         .who = subjects[n].who,
                                         .run = subjects[n].loops[loop],
                                         .what = &field->stands[n],
                                         .operations = loop == LOOP_BURST ? BURST : 1};
    }
    return count;
}

/* Measures the loops that have a case. */
static void measure_loops(json_t *results, uint64_t *random, const char *table, uint32_t alive,
                          const char *const cases[LOOPS]) {
    struct field field;
    struct trial trials[TRIALS_MOST];
    size_t count = 0;
    field_begin(&field, alive, results);
    for (enum loop loop = 0; loop < LOOPS; loop++)
        if (cases[loop]) count = add_trials(trials, count, &field, table, cases[loop], loop);
    trials_run(trials, count, results, random);
    field_end(&field);
}

#define CASES(...) ((const char *const[LOOPS]){__VA_ARGS__})

static void measure_calls(json_t *results, uint64_t *random) {
    measure_loops(results, random, "calls", 100,
                  CASES([LOOP_REPLACE] = "100", [LOOP_WRITE] = "100, written", [LOOP_BURST] = "burst of 100"));
    measure_loops(results, random, "calls", 10000, CASES([LOOP_REPLACE] = "10,000", [LOOP_WRITE] = "10,000, written"));
    measure_loops(results, random, "calls", 1000000,
                  CASES([LOOP_REPLACE] = "1,000,000", [LOOP_WRITE] = "1,000,000, written"));
}

static void measure_recorded(json_t *results, uint64_t *random) {
    measure_loops(results, random, "recorded", 100, CASES([LOOP_RECORDED] = "100, recorded"));
    measure_loops(results, random, "recorded", 10000, CASES([LOOP_RECORDED] = "10,000, recorded"));
    measure_loops(results, random, "recorded", 1000000, CASES([LOOP_RECORDED] = "1,000,000, recorded"));
}

/* ---- Growth: one subject after another, as ten million objects take a gigabyte ----------------------------------- */

/* Whether the system has memory for so many objects. It is asked because Linux grants more than it has. */
static bool has_memory(uint64_t objects) {
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && kib == 0 && fgets(line, sizeof line, file)) sscanf(line, "MemAvailable: %llu", &kib);
    if (file) fclose(file);
    return kib == 0 || kib * 1024 > objects * 150;
}

/* Measures one loop of one subject. The loop that refills begins with an empty stand. */
static void measure_size(json_t *results, uint64_t *random, const char *table, const struct subject *subject,
                         uint32_t alive, enum loop loop) {
    struct stand stand;
    cli_text where = cli_count(alive);
    if (!stand_begin(&stand, subject, alive)) {
        results_leave_out(results, subject->who, stand.problem);
        return;
    }
    if (loop != LOOP_REFILL) subject->fill(&stand);
    struct trial trial = {.table = table,
                          .where = where.text,
                          .who = subject->who,
                          .run = subject->loops[loop],
                          .what = &stand,
                          .operations = loop == LOOP_REFILL ? alive : 1};
    trials_run(&trial, 1, results, random);
    if (loop != LOOP_REFILL) subject->empty(&stand);
    stand_end(&stand, subject);
}

static void measure_growth(json_t *results, uint64_t *random, const char *table, enum loop loop) {
    static const char *const who[] = {"no allocator", "malloc", "the book's list", "kolk"};
    for (uint32_t alive = 100; alive <= 10000000; alive *= 10)
        if (has_memory(alive))
            for (size_t n = 0; n < sizeof who / sizeof *who; n++)
                measure_size(results, random, table, subject_named(who[n]), alive, loop);
        else
            results_leave_out(results, cli_count(alive).text, "the system has too little memory for so many objects");
}

static void measure_replace(json_t *results, uint64_t *random) {
    measure_growth(results, random, "replace", LOOP_WRITE);
}

static void measure_refill(json_t *results, uint64_t *random) {
    measure_growth(results, random, "refill", LOOP_REFILL);
}

/* ---- The slowest calls ------------------------------------------------------------------------------------------- */

enum { TIMED_ALIVE = 10000, TIMED_CALLS = 20000 };

struct timings {
    double allocs[TRIAL_ROUNDS * TIMED_CALLS], frees[TRIAL_ROUNDS * TIMED_CALLS];
};

static void add_quantiles(json_t *results, const char *who, double *values, const char *const names[4]) {
    static const double parts[] = {0.5, 0.99, 0.999, 0.9999};
    for (size_t n = 0; n < 4; n++) {
        double ns = cli_quantile(values, (size_t)TRIAL_ROUNDS * TIMED_CALLS, parts[n]);
        results_add(results, "slowest", names[n], who, ns > 0 ? ns : 1); /* a coarse clock may stand still */
    }
}

static void measure_slowest(json_t *results, uint64_t *random) {
    static const char *const allocs[] = {"alloc median", "alloc p99", "alloc p99.9", "alloc p99.99"};
    static const char *const frees[] = {"free median", "free p99", "free p99.9", "free p99.99"};
    struct field field;
    struct timings *all = calloc(subject_count, sizeof *all);
    if (!all) return;
    field_begin(&field, TIMED_ALIVE, results);
    for (size_t round = 0; round <= TRIAL_ROUNDS; round++) { /* the first warms up */
        size_t first = draw_below(random, subject_count);
        for (size_t turn = 0; turn < subject_count; turn++) {
            size_t n = (first + turn) % subject_count;
            size_t at = (round ? round - 1 : 0) * TIMED_CALLS;
            if (!field.stands[n].problem)
                subjects[n].time_each(&field.stands[n], all[n].allocs + at, all[n].frees + at, TIMED_CALLS);
        }
    }
    for (size_t n = 0; n < subject_count; n++) {
        if (field.stands[n].problem) continue;
        add_quantiles(results, subjects[n].who, all[n].allocs, allocs);
        add_quantiles(results, subjects[n].who, all[n].frees, frees);
    }
    field_end(&field);
    free(all);
}

/* ---- The tables -------------------------------------------------------------------------------------------------- */

const struct table tables[] = {
    {"calls", "One alloc and one free of 64 bytes, at random, by number of live objects", "malloc", measure_calls},
    {"recorded", "The same, where the random objects were recorded before", "malloc", measure_recorded},
    {"visits", "A visit to a live object of 32 bytes, by share of live ones among 1,000,000 slots", "packed array",
     measure_visits},
    {"slowest", "Single calls, with 10,000 live objects (no allocator: the clock itself)", "malloc", measure_slowest},
    {"replace", "One alloc, one free and 64 bytes written, at random, by number of live objects", "malloc",
     measure_replace},
    {"refill", "All objects allocated, written, and then freed in order, by their number", "malloc", measure_refill},
};
const size_t table_count = sizeof tables / sizeof *tables;
