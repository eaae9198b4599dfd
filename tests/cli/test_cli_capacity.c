/* The capacities of kolk advise, on runs that it has not seen: pools of these sizes, made for one run, are played with
 * the operations of others. No alloc may fail, and what the pools commit may be at most 1.15 times what the run needs
 * at its peak. The peak of the recording alone fails this test as a capacity, and so does a quarter more.
 *
 * Usage: test_cli_capacity [SEEN UNSEEN...]: prints the same for traces. "half" for UNSEEN stands for the trace SEEN,
 * of which the advice has then seen only the first half. */
#include "../help/test.h"

#include <stdlib.h>
#include <string.h>

#include "advise/advise.h"
#include "replay/load.h"

/* What pools did that were made for one run, in another. */
struct outcome {
    unsigned pools, growing;                   /* growing: that needed more than their capacity */
    uint64_t failures;                         /* allocs that returned NULL */
    double capacity, committed, touched, peak; /* bytes of slots; peak: that the run needs */
};

enum rule { RULE_ADVICE, RULE_PEAK, RULE_QUARTER };

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static char text[1 << 22];
static unsigned long address;

struct writer {
    size_t length;
    unsigned long alive[4096];
    unsigned count;
};

static void begin(struct writer *writer, const char *caller, unsigned size) {
    writer->alive[writer->count++] = ++address;
    writer->length += (size_t)sprintf(text + writer->length, "@ %s + 0x%lx 0x%x\n", caller, address, size); /* NOLINT */
}

static void end(struct writer *writer, const char *caller, unsigned which) {
    unsigned long gone = writer->alive[which];
    writer->alive[which] = writer->alive[--writer->count];
    writer->length += (size_t)sprintf(text + writer->length, "@ %s - 0x%lx\n", caller, gone); /* NOLINT */
}

/* Objects come and go at random, in groups of so many, about `mean` of them alive. */
static size_t wander(size_t length, const char *caller, unsigned size, unsigned mean, unsigned group, uint64_t *seed) {
    struct writer writer = {.length = length};
    for (unsigned n = 0; n < 8000; n += group) {
        bool ends = random_below(seed, 2 * mean) < writer.count;
        for (unsigned k = 0; k < group; k++) {
            if (!ends)
                begin(&writer, caller, size);
            else if (writer.count > 0)
                end(&writer, caller, (unsigned)random_below(seed, writer.count));
        }
    }
    return writer.length;
}

/* Objects gather, and are freed together but for a tenth, as by a collector of garbage. */
static size_t gather(size_t length, const char *caller, unsigned size, unsigned most, uint64_t *seed) {
    struct writer writer = {.length = length};
    for (unsigned n = 0; n < 40; n++) {
        unsigned now = most - (unsigned)random_below(seed, most / 8);
        while (writer.count < now) begin(&writer, caller, size);
        while (writer.count > now / 10) end(&writer, caller, (unsigned)random_below(seed, writer.count));
    }
    return writer.length;
}

static void read_run(struct advisor *advisor, uint64_t seed) {
    struct trace_problem problem;
    *advisor = (struct advisor){.name = "run"};
    size_t length = wander((size_t)sprintf(text, "= Start\n"), "list", 48, 500, 1, &seed); /* NOLINT */
    length = wander(length, "tree", 96, 40, 4, &seed);
    length = gather(length, "table", 32, 800, &seed);
    assert_true(length < sizeof text);
    FILE *file = fmemopen(text, length, "r");
    assert_non_null(file);
    assert_true(trace_read(&advisor->trace, file, &problem));
    fclose(file);
    assert_int_equal(advisor_judge(advisor), CLI_OK);
}

/* ---- Playing ----------------------------------------------------------------------------------------------------- */

static uint32_t capacity_by(enum rule rule, const struct verdict *verdict) {
    const struct source *source = verdict->source;
    uint64_t peak = verdict->advice == ADVICE_ARENA ? source->most_begun : source->peak;
    return rule == RULE_PEAK ? (uint32_t)peak : rule == RULE_QUARTER ? (uint32_t)(peak + peak / 4) : verdict->capacity;
}

/* Plays the source's operations from a pool of the verdict. An arena frees all at once. */
static void play(const struct verdict *verdict, const struct source *source, enum rule rule, bool grows,
                 struct outcome *outcome) {
    kolk_pool pool;
    kolk_pool_desc desc = verdict_pool(verdict);
    uint32_t capacity = capacity_by(rule, verdict), peak = 0, alive = 0;
    struct verdict sized = *verdict;
    sized.capacity = desc.capacity = capacity;
    if (grows) desc.max_capacity = verdict_most(&sized);
    assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_OK);
    void **places = calloc(2 * source->allocations + 1, sizeof *places);
    assert_non_null(places);
    bool arena = verdict->advice == ADVICE_ARENA;
    uint32_t begun = 0;
    for (size_t i = 0; i < source->count; i++) {
        const struct source_op *op = &source->ops[i];
        if (!op->ends) {
            places[op->object] = kolk_pool_alloc(&pool);
            outcome->failures += !places[op->object];
            begun = alive == 0 ? 1 : begun + 1;
            alive++;
            uint32_t now = arena ? begun : alive;
            if (now > peak) peak = now;
            continue;
        }
        if (!arena) kolk_pool_free(&pool, places[op->object]);
        if (--alive == 0 && arena) kolk_pool_clear(&pool);
    }
    outcome->pools++;
    outcome->growing += peak > capacity;
    outcome->capacity += (double)capacity * pool.stride;
    outcome->committed += (double)pool.capacity * pool.stride;
    outcome->touched += (double)pool.fresh * pool.stride;
    outcome->peak += (double)peak * pool.stride;
    kolk_pool_clear(&pool);
    kolk_pool_deinit(&pool);
    free(places);
}

/* The source of the run that has the same place and size. */
static const struct source *same_source(const struct advisor *run, const struct source *source) {
    for (size_t i = 0; i < run->count; i++) {
        const struct source *other = run->advised[i].verdict.source;
        if (other->most == source->most && other->least == other->most && other->length == source->length &&
            memcmp(other->frames, source->frames, source->length) == 0)
            return other;
    }
    return NULL;
}

static void play_all(const struct advisor *seen, const struct advisor *unseen, enum rule rule, bool grows,
                     struct outcome *outcome) {
    for (size_t i = 0; i < seen->count; i++) {
        const struct verdict *verdict = &seen->advised[i].verdict;
        const struct source *source = verdict->advice == ADVICE_LEAVE ? NULL : same_source(unseen, verdict->source);
        if (source) play(verdict, source, rule, grows, outcome);
    }
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

enum { RUNS = 12 };

static struct advisor runs[RUNS], others[RUNS];

static int read_runs(void **state) {
    (void)state;
    for (unsigned n = 0; n < RUNS; n++) {
        read_run(&runs[n], n + 1);
        read_run(&others[n], n + 101);
    }
    return 0;
}

static int free_runs(void **state) {
    (void)state;
    for (unsigned n = 0; n < RUNS; n++) {
        advisor_free(&runs[n]);
        advisor_free(&others[n]);
    }
    return 0;
}

static struct outcome other_runs(enum rule rule, bool grows) {
    struct outcome outcome = {0};
    for (unsigned n = 0; n < RUNS; n++) play_all(&runs[n], &others[n], rule, grows, &outcome);
    assert_int_equal(outcome.pools, 3 * RUNS);
    return outcome;
}

static void test_other_runs(void **state) {
    struct outcome outcome = other_runs(RULE_ADVICE, true);
    assert_int_equal(outcome.failures, 0);
    assert_true(outcome.touched == outcome.peak); /* no page of a slot that the run did not need at its peak */
    assert_true(outcome.committed <= 1.15 * outcome.peak);
}

/* These runs are so much alike that not even a pool that cannot grow is full. */
static void test_fixed_pools(void **state) {
    assert_int_equal(other_runs(RULE_ADVICE, false).failures, 0);
}

/* The peak of objects that come and go at random, in groups of four, about 40 of them alive. */
static unsigned random_peak(uint64_t seed) {
    unsigned alive = 0, peak = 0;
    for (unsigned n = 0; n < 2000; n++) {
        if (random_below(&seed, 80) >= alive)
            alive += 4;
        else
            alive -= alive < 4 ? alive : 4;
        if (alive > peak) peak = alive;
    }
    return peak;
}

/* A tenth more is too little for a small pool that cannot grow: hence the roots. */
static void test_small_fixed_pools(void **state) {
    unsigned too_small = 0;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        unsigned seen = random_peak(2 * seed), unseen = random_peak(2 * seed + 1), tenth = seen + (seen + 9) / 10;
        assert_true(verdict_capacity(seen) >= unseen);
        assert_true(verdict_capacity(seen) <= 1.4 * seen);
        too_small += (tenth + 7) / 8 * 8 < unseen;
    }
    assert_true(too_small > 0);
}

/* The peak alone is too little, and a quarter more is more than 1.15 times what is needed: this shows that the bounds
 * above are not met by just any rule. */
static void test_naive_rules(void **state) {
    assert_true(other_runs(RULE_PEAK, false).failures > 0);
    struct outcome outcome = other_runs(RULE_QUARTER, true);
    assert_int_equal(outcome.failures, 0);
    assert_true(outcome.committed > 1.15 * outcome.peak);
}

/* The advice from the first half of a real recording, for the whole. */
static void load_half(struct advisor *seen, struct advisor *unseen, const char *path) {
    *seen = *unseen = (struct advisor){.name = ""};
    assert_int_equal(load_trace(&seen->trace, path, &seen->name), CLI_OK);
    assert_int_equal(load_trace(&unseen->trace, path, &unseen->name), CLI_OK);
    seen->trace.count /= 2;
    assert_int_equal(advisor_judge(seen), CLI_OK);
    assert_int_equal(advisor_judge(unseen), CLI_OK);
}

static void test_half_of_a_recording(void **state) {
    struct advisor seen, unseen;
    struct outcome outcome = {0};
    load_half(&seen, &unseen, NULL);
    play_all(&seen, &unseen, RULE_ADVICE, true, &outcome);
    assert_true(outcome.pools > 0);
    assert_int_equal(outcome.failures, 0);
    assert_true(outcome.touched == outcome.peak);
    advisor_free(&seen);
    advisor_free(&unseen);
}

/* ---- Traces that are given --------------------------------------------------------------------------------------- */

static void print_outcome(const char *name, const struct advisor *seen, const struct advisor *unseen) {
    static const char *const rules[] = {"advice", "peak", "quarter"};
    for (int rule = RULE_ADVICE; rule <= RULE_QUARTER; rule++) {
        struct outcome fixed = {0}, growing = {0};
        play_all(seen, unseen, (enum rule)rule, false, &fixed);
        play_all(seen, unseen, (enum rule)rule, true, &growing);
        printf("%s %s: %u pools, %u too small if fixed, %llu allocs fail if they grow; of the peak: capacity %.3f, ",
               name, rules[rule], fixed.pools, fixed.growing, (unsigned long long)growing.failures,
               growing.capacity / growing.peak);
        printf("committed %.3f, touched %.3f, %.0f bytes\n", growing.committed / growing.peak,
               growing.touched / growing.peak, growing.peak);
    }
}

static void measure(int count, char **paths) {
    for (int n = 2; n < count; n++) {
        struct advisor seen = {.name = ""}, unseen = {.name = ""};
        if (strcmp(paths[n], "half") == 0) {
            load_half(&seen, &unseen, paths[1]);
        } else {
            assert_int_equal(load_trace(&seen.trace, paths[1], &seen.name), CLI_OK);
            assert_int_equal(load_trace(&unseen.trace, paths[n], &unseen.name), CLI_OK);
            assert_int_equal(advisor_judge(&seen), CLI_OK);
            assert_int_equal(advisor_judge(&unseen), CLI_OK);
        }
        print_outcome(paths[n], &seen, &unseen);
        advisor_free(&seen);
        advisor_free(&unseen);
    }
}

int main(int count, char **arguments) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_runs),          cmocka_unit_test(test_fixed_pools),
        cmocka_unit_test(test_small_fixed_pools),   cmocka_unit_test(test_naive_rules),
        cmocka_unit_test(test_half_of_a_recording),
    };
    if (count > 2) {
        measure(count, arguments);
        return 0;
    }
    return cmocka_run_group_tests(tests, read_runs, free_runs);
}
