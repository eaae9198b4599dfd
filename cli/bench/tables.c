/* tables.c: the table of calls. visits.c has the other. */
#define _POSIX_C_SOURCE 200809L
#include "tables.h"

#include "subjects.h"
#include "trials.h"

enum { SUBJECTS_MOST = 16 };
_Static_assert(3 * SUBJECTS_MOST <= TRIALS_MOST, "each subject has up to three trials");

/* Measures the loops that have a name in `cases`, of all allocators, with so many objects alive. */
static void measure_loops(json_t *results, uint64_t *random, uint32_t alive, const char *const cases[LOOPS]) {
    struct stand stands[SUBJECTS_MOST];
    struct trial trials[TRIALS_MOST];
    size_t count = 0;
    for (size_t n = 0; n < subject_count; n++) {
        if (stand_begin(&stands[n], &subjects[n], alive))
            subjects[n].fill(&stands[n]);
        else
            results_leave_out(results, subjects[n].who, stands[n].problem);
    }
    for (enum loop loop = 0; loop < LOOPS; loop++) {
        for (size_t n = 0; n < subject_count && cases[loop]; n++) {
            if (stands[n].problem) continue;
            trials[count++] = (struct trial){.table = "calls",
                                             .where = cases[loop],
                                             .who = subjects[n].who,
                                             .run = subjects[n].loops[loop],
                                             .what = &stands[n],
                                             .operations = loop == LOOP_BURST ? BURST : 1};
        }
    }
    trials_run(trials, count, results, random);
    for (size_t n = 0; n < subject_count; n++) {
        if (stands[n].problem) continue;
        subjects[n].empty(&stands[n]);
        stand_end(&stands[n], &subjects[n]);
    }
}

#define CASES(...) ((const char *const[LOOPS]){__VA_ARGS__})

static void measure_calls(json_t *results, uint64_t *random) {
    measure_loops(results, random, 100,
                  CASES([LOOP_REPLACE] = "100", [LOOP_WRITE] = "100, written", [LOOP_BURST] = "burst of 100"));
    measure_loops(results, random, 10000, CASES([LOOP_REPLACE] = "10,000", [LOOP_WRITE] = "10,000, written"));
    measure_loops(results, random, 1000000, CASES([LOOP_REPLACE] = "1,000,000", [LOOP_WRITE] = "1,000,000, written"));
}

const struct table tables[] = {
    {"calls", "One alloc and one free of 64 bytes, at random, by number of live objects", measure_calls},
    {"visits", "A visit to a live object of 32 bytes, by share of live ones among 1,000,000 slots", measure_visits},
};
const size_t table_count = sizeof tables / sizeof *tables;
