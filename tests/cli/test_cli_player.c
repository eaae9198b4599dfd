/* wraps: cli/failing_malloc.h realloc */
/* Playing a trace: its counts, that it can run repeatedly, and that its check detects faulty allocators.
 *
 * The linker redirects the player's allocations to the functions below, which misbehave on demand. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failing_malloc.h"
#include "measure.h"
#include "replay/player.h"

/* ---- Faulty allocators ------------------------------------------------------------------------------------------- */

enum { RIGHT, SLOT_TWICE, SLOT_MISPLACED, SLOT_LOST, POOL_INVALID, REALLOC_FORGETS, REALLOC_FAILS };
static int wrong;

void *__wrap_realloc(void *object, size_t size) {
    if (wrong == REALLOC_FAILS) return NULL;
    object = __real_realloc(object, size);
    if (wrong == REALLOC_FORGETS) *(char *)object ^= 1;
    return object;
}

/* Some faults are put into the pools themselves. */
static void damage(struct player *player) {
    kolk_pool_reserve(&player->pools[2], 2);               /* growing needs the correct stride */
    if (wrong == SLOT_TWICE) player->pools[2].stride = 16; /* the second object begins in the middle of the first */
    if (wrong == SLOT_MISPLACED) player->pools[2].stride = 8;
    if (wrong == SLOT_LOST) player->pools[5].aside = 1;
    if (wrong == POOL_INVALID) player->pools[5].bound = 1;
}

/* ---- What is played ---------------------------------------------------------------------------------------------- */

static struct trace_problem problem;

static struct trace read_text(const char *text) {
    struct trace trace;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "rb");
    if (!trace_read(&trace, file, &problem)) fail_msg("%s", problem.text);
    fclose(file);
    return trace;
}

static void make_player(struct player *player, const char *text, enum player_supply supply) {
    struct trace trace = read_text(text);
    if (!player_init(player, &trace, supply, &problem)) fail_msg("%s", problem.text);
    trace_free(&trace);
}

/* Block 0 makes every kind of move: within a class, to another class, to malloc, within malloc, and back. */
static const char journey[] = "@ a + 0x10 0x19\n" /* class 2 */
                              "@ a + 0x20 0x20\n" /* class 2 */
                              "@ b + 0x30 0\n"    /* class 1: asks for 1 byte */
                              "@ b < 0x10\n@ b > 0x10 0x11\n"
                              "@ b < 0x10\n@ b > 0x50 0x400\n"
                              "@ c < 0x50\n@ c > 0x10 0x401\n"
                              "@ c < 0x10\n@ c > 0x50 0x4001\n"
                              "@ c < 0x50\n@ c > 0x10 0x18\n"
                              "@ e - 0x30\n"
                              "@ d + 0x40 0x1000\n"; /* three are left */

static void a_player_counts_what_is_asked_for(void **state) {
    (void)state;
    struct player player;
    make_player(&player, journey, PLAYER_POOLS);
    assert_int_equal(player.count, 13); /* with the frees of the three blocks left */
    assert_int_equal(player.blocks, 3);
    assert_int_equal(player.allocations, 7);
    assert_int_equal(player.summit, 6);
    assert_int_equal(player.bytes, 0x4001 + 0x20 + 1);
    assert_int_equal(player.ops[4].keep, 0x11); /* grows */
    assert_int_equal(player.ops[7].keep, 0x18); /* shrinks */
    static const struct {
        size_t class;
        struct player_class expected; /* allocations, bytes, callers, peak */
    } rows[] = {
        {0, {2, 0x4001, 2, 1}}, {1, {1, 16, 1, 1}}, {2, {3, 64, 2, 2}}, {3, {0, 0, 0, 0}}, {64, {1, 1024, 1, 1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct player_class *class = &player.classes[rows[i].class];
        assert_int_equal(class->allocations, rows[i].expected.allocations);
        assert_int_equal(class->bytes, rows[i].expected.bytes);
        assert_int_equal(class->callers, rows[i].expected.callers);
        assert_int_equal(class->peak, rows[i].expected.peak);
    }
    assert_int_equal(player.callers, 4); /* the one that only frees does not count */
    player_deinit(&player);

    make_player(&player, journey, PLAYER_MALLOC);
    assert_int_equal(player.classes[0].allocations, 4);
    assert_int_equal(player.classes[0].bytes, 0x4001 + 0x20 + 1);
    assert_int_equal(player.classes[0].callers, 3);
    assert_int_equal(player.callers, 3);
    assert_int_equal(player.classes[0].peak, 3);
    player_deinit(&player);
}

static void a_player_runs_again_and_again(void **state) {
    (void)state;
    for (enum player_supply supply = PLAYER_POOLS; supply <= PLAYER_MALLOC; supply++) {
        struct player player;
        make_player(&player, journey, supply);
        for (uint64_t round = 0; round < 3; round++) {
            struct player_check check;
            assert_true(player_run(&player));
            player_check(&player, round, &check);
            assert_string_equal(check.problem.text, "");
            assert_int_equal(check.checked, 9); /* resizes and frees */
        }
        for (size_t i = 1; i < PLAYER_CLASSES; i++) {
            kolk_stats stats;
            kolk_pool_stats(&player.pools[i], &stats);
            assert_int_equal(stats.count, 0);
            assert_int_equal(stats.peak, supply == PLAYER_POOLS ? player.classes[i].peak : 0);
        }
        player_deinit(&player);
    }
}

/* ---- Faults are found -------------------------------------------------------------------------------------------- */

struct fault {
    enum player_supply supply;
    int kind;
};

/* Runs in a child process, as blocks alive when the check stops are leaked. */
static void check_journey(const void *input, void *result) {
    const struct fault *fault = input;
    struct player player;
    make_player(&player, journey, fault->supply);
    wrong = fault->kind;
    damage(&player);
    player_check(&player, 1, result);
}

static void assert_found(enum player_supply supply, int kind, const char *sentence) {
    struct player_check check;
    assert_true(cli_isolated(check_journey, &(struct fault){supply, kind}, &check, sizeof check));
    assert_string_equal(check.problem.text, sentence);
}

static void wrong_allocators_are_found(void **state) {
    (void)state;
    assert_found(PLAYER_POOLS, RIGHT, "");
    assert_found(PLAYER_POOLS, SLOT_TWICE, "operation 4, 25 bytes: something else wrote into the object");
    assert_found(PLAYER_POOLS, SLOT_MISPLACED, "operation 2, 32 bytes: the object is not aligned to 16 bytes");
    assert_found(PLAYER_POOLS, SLOT_LOST, "objects are left alive in a pool");
    assert_found(PLAYER_POOLS, POOL_INVALID, "a pool is not valid any more");
    assert_found(PLAYER_POOLS, REALLOC_FORGETS, "operation 7, 1025 bytes: the resized object lost its contents");
}

static void run_without_realloc(const void *input, void *result) {
    (void)input;
    struct player player;
    make_player(&player, journey, PLAYER_MALLOC);
    wrong = REALLOC_FAILS;
    *(bool *)result = player_run(&player);
}

static void realloc_of_malloc_is_checked_too(void **state) {
    (void)state;
    assert_found(PLAYER_MALLOC, REALLOC_FORGETS, "operation 4, 25 bytes: the resized object lost its contents");
    assert_found(PLAYER_MALLOC, REALLOC_FAILS, "operation 4, 25 bytes: there is no memory for the object");
    bool ran = true;
    assert_true(cli_isolated(run_without_realloc, NULL, &ran, sizeof ran));
    assert_false(ran);
}

static void too_large_a_trace_is_refused(void **state) {
    (void)state;
    struct trace trace = read_text("@ a + 0x10 0x10\n@ a + 0x20 0x7fffffffffff\n");
    struct player player;
    assert_false(player_init(&player, &trace, PLAYER_POOLS, &problem));
    assert_string_equal(problem.text,
                        "to replay it takes 128.0 TiB after 2 operations, which is more than half of this "
                        "machine's memory");
    assert_null(player.ops);
    trace_free(&trace);
}

static void no_memory_is_a_sentence(void **state) {
    (void)state;
    struct trace trace = read_text(journey);
    struct player player;
    unsigned long n = 0;
    bool made = false;
    while (!made) {
        allocations = 0;
        failing = ++n;
        made = player_init(&player, &trace, PLAYER_POOLS, &problem);
        failing = 0;
        if (!made) assert_string_equal(problem.text, "there is no memory to replay it");
    }
    assert_int_equal(n, 6);
    trace_free(&trace);

    struct player_check check;
    allocations = 0;
    failing = 1;
    player_check(&player, 1, &check);
    failing = 0;
    assert_string_equal(check.problem.text, "there is no memory to check it");
    player_deinit(&player);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_player_counts_what_is_asked_for), cmocka_unit_test(a_player_runs_again_and_again),
        cmocka_unit_test(wrong_allocators_are_found),        cmocka_unit_test(realloc_of_malloc_is_checked_too),
        cmocka_unit_test(too_large_a_trace_is_refused),      cmocka_unit_test(no_memory_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
