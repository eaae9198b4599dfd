/* Phases: which traces have one, which function and which operations belong to it; and that its replay works. What is
 * saved is not asserted. */
#include "../help/test.h"

#include <stdlib.h>
#include <string.h>

#include "advise/whole.h"
#include "written.h"

static struct phase phase;

static void end(const char *caller, unsigned long block) {
    line("@ %s - 0x%lx\n", caller, block);
}

static void find(void) {
    read_lines();
    assert_true(phase_find(&phase, &trace));
}

static int set_up(void **state) {
    (void)state;
    line("= Start\n");
    line("= Call text text (text.c:2) < handle (handle.c:3) < serve (main.c:4) < main (main.c:9)\n");
    line("= Call node node (node.c:5) < handle (handle.c:6) < serve (main.c:4) < main (main.c:9)\n");
    line("= Call done done (node.c:7) < handle (handle.c:8) < serve (main.c:4) < main (main.c:9)\n");
    line("= Call late done (node.c:7) < idle (main.c:5) < main (main.c:9)\n");
    line("= Call log log (log.c:1) < main (main.c:8)\n");
    return 0;
}

static int clean_up(void **state) {
    (void)state;
    phase_free(&phase);
    forget_lines();
    return 0;
}

/* Requests of this many blocks. With an early free in each, and a resize. The last blocks are freed by `ender`. */
static void serve(unsigned requests, unsigned blocks, unsigned sizes, const char *ender) {
    unsigned long all[256];
    assert_true(blocks < 256);
    for (unsigned i = 0; i < requests; i++) {
        for (unsigned n = 0; n < blocks; n++) all[n] = begin(n % 2 ? "text" : "node", 16 + 8 * (n % sizes));
        end("done", all[0]);
        line("@ text < 0x%lx\n@ text > 0x%lx 0x%x\n", all[1], ++address, 16 + 8 * sizes - 8);
        all[1] = address;
        for (unsigned n = 1; n < blocks; n++) end(n + 1 < blocks ? "done" : ender, all[n]);
    }
}

static size_t count_of(enum phase_op kind) {
    size_t count = 0;
    for (size_t i = 0; i < trace.count; i++) count += phase.ops[i] == kind;
    return count;
}

static bool is_function(const char *name) {
    return phase.function && phase.length == strlen(name) && memcmp(phase.function, name, phase.length) == 0;
}

static void assert_no_phase(void) {
    find();
    assert_null(phase.function);
    assert_null(phase.ops);
    assert_false(phase_gains(&phase));
}

static void test_requests(void **state) {
    (void)state;
    begin("log", 512); /* lives to the end, so main has no phases */
    serve(20, 40, 10, "done");
    find();
    assert_true(is_function("handle"));
    assert_int_equal(phase.phases, 20);
    assert_int_equal(phase.blocks, 800);
    assert_int_equal(phase.together, 20 * 39);
    assert_int_equal(phase.least, 16);
    assert_int_equal(phase.most, 88);
    assert_int_equal(count_of(PHASE_END), 20);
    assert_int_equal(count_of(PHASE_LEFT), 20 * 38);
    assert_int_equal(count_of(PHASE_BLOCK), 20 * 42); /* 40 allocations, an early free and a resize */
    assert_int_equal(count_of(PHASE_NONE), 1);
    assert_memory_equal(phase.end, "done (node.c:7) < handle (handle.c:8)", phase.end_length);
    assert_int_equal(phase.end_length, strlen("done (node.c:7) < handle (handle.c:8)"));
}

/* The replay works on both sides, with blocks of malloc between those of the phases, and with numbers of blocks that
 * once were of a phase. */
static void test_replay(void **state) {
    (void)state;
    static const cli_context cli = {0};
    serve(20, 100, 20, "done");
    for (unsigned i = 0; i < 8; i++) begin("log", 64 + i);
    serve(20, 100, 20, "done");
    find();
    assert_true(is_function("handle"));
    assert_int_equal(whole_measure_phase(&cli, &trace, &phase), CLI_OK);
    assert_true(phase.gain.samples >= GAIN_LEAST);
    assert_int_equal(phase.gain.operations, trace.count + 8);
}

/* A request that has begun when the recording ends. */
static void test_last_request(void **state) {
    (void)state;
    static const cli_context cli = {0};
    begin("log", 512);
    serve(20, 40, 10, "done");
    for (unsigned n = 0; n < 30; n++) begin("text", 16 + 8 * n);
    find();
    assert_true(is_function("handle"));
    assert_int_equal(phase.blocks, 800);
    assert_int_equal(whole_measure_phase(&cli, &trace, &phase), CLI_OK);
}

static void test_bounds(void **state) {
    static const struct {
        unsigned requests, blocks, sizes;
        bool has_phases;
    } rows[] = {{8, 32, 3, true}, {7, 32, 3, false}, {8, 31, 3, false}, {8, 32, 2, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_up(state);
        begin("log", 512);
        serve(rows[i].requests, rows[i].blocks, rows[i].sizes, "done");
        find();
        assert_int_equal(is_function("handle"), rows[i].has_phases);
        clean_up(state);
    }
}

static void test_end_elsewhere(void **state) {
    (void)state;
    begin("log", 512);
    serve(20, 40, 10, "late");
    assert_no_phase();
}

/* One block of each request is kept until a later one. */
static void test_kept_blocks(void **state) {
    (void)state;
    unsigned long kept = begin("node", 24), all[40];
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned n = 0; n < 40; n++) all[n] = begin("text", 16 + 8 * n);
        end("done", kept);
        kept = all[i % 40];
        for (unsigned n = 0; n < 40; n++)
            if (all[n] != kept) end("done", all[n]);
    }
    assert_no_phase();
}

/* Blocks that come and go one by one, under one that lives as long as its request: nothing ends together. */
static void test_single_blocks(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        unsigned long first = begin("text", 16);
        for (unsigned n = 0; n < 80; n++) end("done", begin("node", 16 + 8 * n));
        end("done", first);
    }
    assert_no_phase();
}

/* A few large requests among small ones. */
static void test_uneven_requests(void **state) {
    (void)state;
    begin("log", 512);
    for (unsigned i = 0; i < 4; i++) {
        serve(1, 200, 10, "done");
        serve(3, 8, 4, "done");
    }
    assert_no_phase();
    assert_true(trace.count > 4 * 224);
}

static void test_several_threads(void **state) {
    (void)state;
    begin("log", 512);
    serve(10, 40, 10, "done");
    line("= Thread 2\n");
    serve(10, 40, 10, "done");
    assert_no_phase();
}

/* Requests that make a small part of the allocations. */
static void test_small_part(void **state) {
    (void)state;
    begin("log", 512);
    serve(10, 40, 10, "done");
    for (unsigned i = 0; i < 4000; i++) begin("log", 16 + i % 100);
    assert_no_phase();
}

static void test_no_stacks(void **state) {
    (void)state;
    length = 0;
    line("= Start\n");
    for (unsigned i = 0; i < 20; i++) {
        unsigned long all[40];
        for (unsigned n = 0; n < 40; n++) all[n] = begin("prog:(handle+0x10)[0x1000]", 16 + 8 * n);
        for (unsigned n = 0; n < 40; n++) end("prog:(handle+0x10)[0x1000]", all[n]);
    }
    assert_no_phase();
}

static void test_gains(void **state) {
    (void)state;
    static const struct {
        double first, repeated;
        bool gains;
    } rows[] = {{1, 1, true}, {1, -1, true}, {-1, 1, true}, {-1, -1, false}, {0, 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct phase one = {.function = "f", .length = 1, .gain = {.samples = 1}};
        one.gain.first[0] = rows[i].first;
        one.gain.repeated[0] = rows[i].repeated;
        assert_int_equal(phase_gains(&one), rows[i].gains);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, clean_up)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_requests),        TEST(test_replay),      TEST(test_last_request),  TEST(test_bounds),
        TEST(test_end_elsewhere),   TEST(test_kept_blocks), TEST(test_single_blocks), TEST(test_uneven_requests),
        TEST(test_several_threads), TEST(test_small_part),  TEST(test_no_stacks),     TEST(test_gains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
