/* The demo: mistakes are reported, the spell has as many sparkles as were asked for, all ways to store them hold the
 * same, and the pictures fit on paper. */
#include "../help/test.h"

#include <unistd.h>

#include "cli.h"
#include "demo/sparkles.h"

/* ---- The spell --------------------------------------------------------------------------------------------------- */

struct outcome {
    uint64_t checksum;
    kolk_stats stats;
};

static struct outcome cast(uint32_t count, uint64_t seed) {
    struct outcome outcome = {0};
    struct spell spell;
    sparkles pool;
    uint32_t births = 0;
    assert_int_equal(sparkles_init(&pool, &(kolk_pool_desc){.name = "sparkles", .capacity = count}), KOLK_OK);
    assert_true(spell_begin(&spell, count, seed));
    while (spell.frame < FRAMES) {
        uint32_t born = spell_wave(&spell);
        sparkles_create(&pool, spell.born, born);
        births += born;
        outcome.checksum += sparkles_animate(&pool);
        assert_true(sparkles_is_valid(&pool));
    }
    sparkles_stats(&pool, &outcome.stats);
    assert_true(births >= count + outcome.stats.failed);
    spell_end(&spell);
    sparkles_deinit(&pool);
    return outcome;
}

static void test_peak_is_what_was_asked_for(void **state) {
    assert_int_equal(cast(20000, 1).stats.peak, 20000);
    assert_int_equal(cast(1, 1).stats.peak, 1);
}

static void test_seed_decides(void **state) {
    uint64_t checksum = cast(500, 1).checksum;
    assert_int_equal(cast(500, 1).checksum, checksum);
    assert_int_not_equal(cast(500, 2).checksum, checksum);
}

static void test_checksum_mixes_all(void **state) {
    struct sparkle a = {.frames_left = 3, .x = 0.5, .y = -0.25}, b = {.frames_left = 3, .x = -0.25, .y = 0.5}, c = a;
    assert_int_not_equal(sparkle_checksum(&a), sparkle_checksum(&b));
    c.frames_left = 2;
    assert_int_not_equal(sparkle_checksum(&a), sparkle_checksum(&c));
    c = a;
    c.x = 0.5000000000000001;
    assert_int_not_equal(sparkle_checksum(&a), sparkle_checksum(&c));
}

/* ---- What is shown ----------------------------------------------------------------------------------------------- */

static char path[] = "/tmp/kolk-test-demo-XXXXXX", printed[16384];

/* Runs kolk demo, which fails if the ways to store the sparkles do not end with the same. */
static void demo(const char *count, const char *option) {
    static const cli_verb *const verbs[] = {&cli_demo, NULL};
    const char *argv[] = {"kolk", "demo", "-o", path, "-n", count, option, NULL};
    assert_int_equal(cli_run(verbs, option ? 7 : 6, (char **)(uintptr_t)argv), CLI_OK);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
    fclose(file);
}

static void assert_printed(const char *part) {
    if (!strstr(printed, part)) fail_msg("'%s' is not in:\n%s", part, printed);
}

static void test_what_is_told(void **state) {
    static const char *const lines[] = {
        "  frees a sparkle again            kolk: sparkles: double free of slot 0\n",
        "  frees the middle of another      kolk: sparkles: free of a pointer into slot 0, at byte 4 of it\n",
        "  frees what is no sparkle         kolk: sparkles: free of a pointer that does not belong to this pool\n",
        "  keeps the handle of the first    it gives NULL, though another lives in that slot\n",
        "  has changed nothing by all that  the pool is whole\n",
        "  capacity 1,000  failed ",
        "\nUp to 1,000 sparkles, ",
        "\nkolk ",
        "  1.00\n",
        "\nthe chapter's pool ",
        "\nmalloc ",
    };
    demo("1000", NULL);
    for (size_t n = 0; n < LENGTH_OF(lines); n++) assert_printed(lines[n]);
}

/* One sparkle, in a pool of one slot: it is drawn in one place of the sky, and its slot everywhere below. */
static void test_pictures(void **state) {
    demo("1", NULL);
    assert_printed("\nalive 1  peak 1  capacity 1  failed ");
    const char *picture = strstr(printed, "\nalive 1  ");
    enum { COLUMNS = 78, ROWS = 21, SKY = 18 };
    const char *first = picture - ROWS * (COLUMNS + 1) + 1;
    size_t drawn = 0, slots = 0;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t column = 0; column < COLUMNS; column++)
            *(row < SKY ? &drawn : &slots) += first[row * (COLUMNS + 1) + column] != ' ';
    assert_int_equal(drawn, 1);
    assert_int_equal(slots, (ROWS - SKY) * COLUMNS);
}

static void test_json(void **state) {
    demo("100", "--json");
    assert_memory_equal(printed, "{", 1);
    assert_printed("\"malloc\": ");
    assert_printed("\"the chapter's pool\": ");
    assert_printed("\"kolk\": ");
}

int main(void) {
    int file = mkstemp(path);
    if (file < 0) return 1;
    close(file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peak_is_what_was_asked_for),
        cmocka_unit_test(test_seed_decides),
        cmocka_unit_test(test_checksum_mixes_all),
        cmocka_unit_test(test_what_is_told),
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_json),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
