/* runs: not:wine */
/* Self-tuning sizes: random operations on core pools, unusual names, every kind of invalid line, and unreadable files.
 * The tests for all kinds are in contracts/test_all_sizes.c. Each scenario runs this program again, since the
 * environment is read only once. */
#include "../help/test.h"

#include "sizes_test.h"

static void alloc(kolk_pool *pool, uint32_t n) {
    while (n-- > 0) kolk_pool_alloc(pool);
    assert_true(kolk_pool_is_valid(pool));
}

static void free_to(kolk_pool *pool, uint32_t n) {
    while (kolk_pool_count(pool) > n) kolk_pool_free(pool, first_alive(pool));
    assert_true(kolk_pool_is_valid(pool));
}

static uint32_t peak_of(const kolk_pool *pool) {
    kolk_stats stats;
    kolk_pool_stats(pool, &stats);
    return stats.peak;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static void play_odd_names(const char *argument) {
    static kolk_pool pools[8];
    static const char *const names[] = {"a = b", "c#", "d\n", "[e]", " f", "", "Schüsse", "g\x7f"};
    for (unsigned i = 0; i < 8; i++) {
        make_pool(&pools[i], &(kolk_pool_desc){.name = names[i], .object_size = 8, .capacity = 20});
        alloc(&pools[i], 3);
    }
    kolk_scene("of a = b");
    kolk_scene("with a ]");
    kolk_scene("with a #");
    kolk_scene("");
}

/* Only names that can be read back are written. */
static void test_odd_names(void **state) {
    static const char *const expected = HEAD "Schüsse = 3\na = b    = 3\n"
                                             "\n[of a = b]\nSchüsse = 3\na = b    = 3\n"
                                             "\n[with a ]]\nSchüsse = 3\na = b    = 3\n";
    assert_ending(run_scenario("odd names", "sizes", NULL), 0, expected);
    assert_ending(run_with("odd names", expected, NULL), 0, "");
}

/* The count of a GTA pool is up to its game, so it is not measured. */
static void play_bytemap(const char *argument) {
    kolk_bytemap pool;
    kolk_bytemap_view view = {.name = "peds", .count = 9, .object_size = 8};
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_OK);
    assert_non_null(kolk_bytemap_new(&pool));
    kolk_scene("scene");
    kolk_bytemap_flush(&pool);
}

static void test_bytemaps_take_no_part(void **state) {
    assert_ending(run_scenario("bytemap", "sizes", NULL), 0, HEAD);
}

/* Compares the peaks of random operations with peaks counted here. */
static void play_random(const char *argument) {
    uint64_t random = argument ? strtoull(argument, NULL, 0) : 0;
    for (unsigned stream = 0; stream < 60; stream++) {
        kolk_pool pool;
        uint32_t peak = 0, size;
        unsigned char block[4000];
        make_pool(&pool, &(kolk_pool_desc){.name = "random",
                                           .object_size = 8,
                                           .capacity = stream % 2 ? 0 : 40,
                                           .max_capacity = 40,
                                           .reuse = orders[stream % 3],
                                           .ages = stream % 5 == 4,
                                           .full.headroom = stream % 7 == 6 ? 5 : 0,
                                           .generations = stream / 3 % 2 ? KOLK_GENERATIONS_NONE : 0,
                                           .debug = stream / 6 % 4 == 3 ? "fill,quarantine=4" : NULL});
        size = (uint32_t)kolk_pool_snapshot(&pool, block, sizeof block);
        for (unsigned i = 0; i < 3000; i++) {
            uint32_t choice = random_below(&random, 1000), some = random_below(&random, 10);
            if (choice < 450)
                kolk_pool_alloc(&pool);
            else if (choice < 860 && kolk_pool_count(&pool))
                kolk_pool_free(&pool, first_alive(&pool));
            else if (choice < 900)
                alloc(&pool, some);
            else if (choice < 940)
                free_to(&pool, some);
            else if (choice < 945)
                kolk_pool_clear(&pool);
            else if (choice < 955)
                kolk_pool_trim(&pool);
            else if (choice < 965)
                size = (uint32_t)kolk_pool_snapshot(&pool, block, sizeof block);
            else if (choice < 970)
                assert_int_equal(kolk_pool_restore(&pool, block, size), KOLK_OK);
            else if (choice < 980)
                kolk_scene("scene"), peak = 0;
            if (choice < 450 || (choice >= 860 && choice < 900) || kolk_pool_count(&pool) > peak)
                peak = kolk_pool_count(&pool) > peak ? kolk_pool_count(&pool) : peak;
            assert_int_equal(peak_of(&pool), peak);
            assert_true(kolk_pool_is_valid(&pool));
        }
        kolk_pool_deinit(&pool);
    }
}

static void test_random_peaks(void **state) {
    char seed[30];
    snprintf(seed, sizeof seed, "%" PRIu64, number_from_environment("KOLK_TEST_SEED", 4711));
    print_message("KOLK_TEST_SEED=%s\n", seed);
    assert_ending(run_scenario("random", "sizes", seed), 0,
                  HEAD "random = 40  # all in use, and more were asked for\n"
                       "\n[scene]\nrandom = 40  # all in use, and more were asked for\n");
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Prints the capacities of pools made outside scenes, then of pools made in the argument's scene, and then again of
 * some of the first ones. */
static void play_tell(const char *argument) {
    static kolk_pool pools[5], others[5], nameless;
    static KOLK_POOL_STORAGE(double, 8) memory[2];
    kolk_pool_desc descs[5] = {
        {.name = "fixed", .capacity = 10}, {.name = "grows", .capacity = 10, .max_capacity = 20},
        {.name = "lent", .capacity = 8},   {.name = "zero", .max_capacity = 1},
        {.name = "other", .capacity = 10},
    };
    make_pool(&nameless, &(kolk_pool_desc){.object_size = 8, .capacity = 10});
    assert_int_equal(nameless.capacity, 10);
    for (unsigned round = 0; round < 2; round++) {
        kolk_pool *at = round ? others : pools;
        for (unsigned i = 0; i < 5; i++) {
            descs[i].object_size = 8;
            if (i == 2) descs[i].memory = &memory[round], descs[i].memory_size = sizeof memory[round];
            kolk_status status = kolk_pool_init(&at[i], &descs[i]);
            if (status != KOLK_OK) fprintf(stderr, "init: %s\n", kolk_status_text(status));
            assert_true(kolk_pool_is_valid(&at[i]));
        }
        for (unsigned i = 0; i < 5; i++) {
            fprintf(stderr, "%s%s %u", i ? ", " : "", descs[i].name, at[i].capacity);
            if (at[i].max_capacity != at[i].capacity) fprintf(stderr, " to %u", at[i].max_capacity);
        }
        fprintf(stderr, "\n");
        if (!argument) break;
        if (round == 0) kolk_scene(argument);
    }
    if (argument) fprintf(stderr, "%u %u %u\n", pools[0].capacity, pools[1].capacity, pools[2].capacity);
}

#define PLAIN "fixed 10, grows 10 to 20, lent 8, zero 0 to 1, other 10\n"

static void test_capacities(void **state) {
    static const struct {
        const char *file, *scene, *said;
    } rows[] = {
        {"", NULL, PLAIN},
        {"# nothing\n\n  \t\n", NULL, PLAIN},
        {"fixed = 3\ngrows=15\nlent = 8\nzero = 2", NULL, "fixed 3, grows 15 to 20, lent 8, zero 2, other 10\n"},
        {"\xef\xbb\xbf"
         "fixed = 30 # more\r\n\tgrows = 21\t\r\nlent = 1\r\n",
         NULL, "fixed 30, grows 21, lent 8, zero 0 to 1, other 10\n"},
        {"fixed = 5\n[boss fight]\nfixed = 50\nother = 7\n", "boss fight",
         "fixed 5, grows 10 to 20, lent 8, zero 0 to 1, other 10\n" BAD
         "3: fixed keeps 5 slots and cannot have 50: more capacity was requested than max_capacity allows\n"
         "fixed 50, grows 10 to 20, lent 8, zero 0 to 1, other 7\n5 10 8\n"},
        {"[ boss fight ]\ngrows = 15\n[boss fight]\nother = 2\n", "boss fight",
         PLAIN "fixed 10, grows 15 to 20, lent 8, zero 0 to 1, other 2\n10 15 8\n"},
        {"grows = 12\n[boss fight]\ngrows = 3\n", "boss fight",
         "fixed 10, grows 12 to 20, lent 8, zero 0 to 1, other 10\n"
         "fixed 10, grows 3 to 20, lent 8, zero 0 to 1, other 10\n10 12 8\n"},
        {"fixed = 5\n[one]\nfixed = 3\n[two]\nfixed = 4\n", "one",
         "fixed 5, grows 10 to 20, lent 8, zero 0 to 1, other 10\n"
         "fixed 3, grows 10 to 20, lent 8, zero 0 to 1, other 10\n5 10 8\n"
         "kolk: KOLK_SIZES: FILE:4: no scene was called \"two\"\n"},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++)
        assert_ending(run_with("tell", rows[i].file, rows[i].scene), 0, rows[i].said);
}

static void test_lines_that_are_wrong(void **state) {
    static const struct {
        const char *file, *said;
    } rows[] = {
        {"fixed\n", BAD "1: \"fixed\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" PLAIN},
        {"\n = 7 # seven", BAD "2: \"= 7\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" PLAIN},
        {"[]\n[ab\n[c] d\n", BAD "1: \"[]\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" BAD
                                 "2: \"[ab\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" BAD
                                 "3: \"[c] d\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" PLAIN},
        {"[a] = 3\n", BAD "1: \"[a] = 3\" is not understood: POOL = SLOTS, [SCENE] or # COMMENT\n" PLAIN},
        {"fixed =\n", BAD "1: \"\" is no number of slots: 1 to 4294967295\n" PLAIN},
        {"fixed = 0\n", BAD "1: \"0\" is no number of slots: 1 to 4294967295\n" PLAIN},
        {"fixed = -1\n", BAD "1: \"-1\" is no number of slots: 1 to 4294967295\n" PLAIN},
        {"fixed = 12 slots\n", BAD "1: \"12 slots\" is no number of slots: 1 to 4294967295\n" PLAIN},
        {"fixed = 4294967296\n", BAD "1: \"4294967296\" is no number of slots: 1 to 4294967295\n" PLAIN},
        {"fixed = 3\n#\nfixed = 4\n",
         BAD "3: \"fixed\" is there already, in line 1\nfixed 3, grows 10 to 20, lent 8, zero 0 to 1, other 10\n"},
        {"fixd = 3\n", PLAIN BAD "1: no pool was called \"fixd\"\n"},
        {"[scene]\nfixd = 3\n", PLAIN BAD "1: no scene was called \"scene\"\n"},
        {"lent = 9\n", BAD "1: lent keeps 8 slots and cannot have 9: it is on the caller's memory\n" PLAIN},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) assert_ending(run_with("tell", rows[i].file, NULL), 0, rows[i].said);
    assert_ending(
        run_with("tell", "[s]\nnobody = 1\nlent = 9\nfixed = 11\n", "s"), 0,
        PLAIN BAD
        "4: fixed keeps 10 slots and cannot have 11: more capacity was requested than max_capacity allows\n" BAD
        "3: lent keeps 8 slots and cannot have 9: more capacity was requested than max_capacity allows\n"
        "fixed 11, grows 10 to 20, lent 8, zero 0 to 1, other 10\n10 10 8\n" BAD "2: no pool was called \"nobody\"\n");
}

static void test_a_file_that_cannot_be_read(void **state) {
    setenv("KOLK_SIZES", "/nowhere/at/all", 1);
    assert_ending(run_scenario("tell", NULL, NULL), 0, "kolk: KOLK_SIZES: \"/nowhere/at/all\" cannot be read\n" PLAIN);
    setenv("KOLK_SIZES", "/", 1);
    assert_ending(run_scenario("tell", NULL, NULL), 0, "kolk: KOLK_SIZES: \"/\" cannot be read\n" PLAIN);
    setenv("KOLK_SIZES", "", 1);
    assert_ending(run_scenario("tell", NULL, NULL), 0, PLAIN);
}

int main(int argc, char **argv) {
    static const scenario scenarios[] = {
        {"odd names", play_odd_names},
        {"random", play_random},
        {"bytemap", play_bytemap},
        {"tell", play_tell},
    };
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {
        TEST(test_odd_names),  TEST(test_bytemaps_take_no_part), TEST(test_random_peaks),
        TEST(test_capacities), TEST(test_lines_that_are_wrong),  TEST(test_a_file_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
