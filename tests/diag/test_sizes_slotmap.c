/* Sizes that tune themselves, of slot maps: what KOLK_STATS=sizes measures, what KOLK_SIZES does to them. What both do
 * with the file, and with pools, is in test_sizes.c. */
#include "../help/test.h"

#include "sizes_test.h"
#include "../slotmap/slotmap_test.h"

static void add(kolk_slotmap *map, uint32_t n) {
    while (n-- > 0) kolk_slotmap_add(map, NULL);
    assert_true(kolk_slotmap_is_valid(map));
}

/* The first go, so that others move. */
static void remove_to(kolk_slotmap *map, uint32_t n) {
    while (kolk_slotmap_count(map) > n) kolk_slotmap_remove(map, kolk_slotmap_handle(map, kolk_slotmap_objects(map)));
    assert_true(kolk_slotmap_is_valid(map));
}

static kolk_stats stats_of(const kolk_slotmap *map) {
    kolk_stats stats;
    kolk_slotmap_stats(map, &stats);
    return stats;
}

static void ignore_move(void *object, uint32_t from, uint32_t to, void *context) {
    (void)object, (void)from, (void)to, (void)context;
}

/* ---- Measuring ---------------------------------------------------------------------------------------------------- */

/* Up to 5 before any scene, 3 to 7 in the first, 2 in the second, 4 after it: on every path of add and remove. */
static void play_scenes(const char *argument) {
    static kolk_slotmap maps[5], nameless;
    static const char *const names[] = {"plain", "hooked", "filled", "moved", "none"};
    static const char *const debug[] = {NULL, NULL, "fill", "move", NULL};
    (void)argument;
    for (unsigned i = 0; i < 5; i++)
        make_map(&maps[i], &(kolk_slotmap_desc){.name = names[i],
                                                .object_size = 8,
                                                .capacity = 20,
                                                .on_move = i == 1 ? ignore_move : NULL,
                                                .debug = debug[i]});
    make_map(&nameless, &(kolk_slotmap_desc){.object_size = 8, .capacity = 20});
    for (unsigned i = 0; i < 4; i++) add(&maps[i], 5), remove_to(&maps[i], 3);
    kolk_scene("first scene");
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(stats_of(&maps[i]).peak, 3);
        add(&maps[i], 4), remove_to(&maps[i], 1);
        assert_int_equal(stats_of(&maps[i]).peak, 7);
        assert_int_equal(stats_of(&maps[i]).unused_bytes, 13 * 8);
    }
    kolk_scene("second");
    for (unsigned i = 0; i < 4; i++) add(&maps[i], 1), kolk_slotmap_clear(&maps[i]), add(&maps[i], 1);
    kolk_scene(NULL);
    for (unsigned i = 0; i < 4; i++) add(&maps[i], 3);
    add(&nameless, 9), remove_to(&nameless, 2);
    assert_int_equal(stats_of(&nameless).peak, 9);
    kolk_slotmap_deinit(&maps[0]); /* the others are noted at exit */
}

static void test_peaks_of_each_scene(void **state) {
    (void)state;
    assert_ending(run_scenario("scenes", "sizes", NULL), 0,
                  HEAD "filled = 7\nhooked = 7\nmoved  = 7\n# none was never needed\nplain  = 7\n"
                       "\n[first scene]\nfilled = 7\nhooked = 7\nmoved  = 7\nplain  = 7\n"
                       "\n[second]\nfilled = 2\nhooked = 2\nmoved  = 2\nplain  = 2\n");
}

/* One name, two maps and a pool; what cannot grow has its whole life where it was born; who was full says so. */
static void play_lives(const char *argument) {
    kolk_slotmap a, b, fixed, grows;
    kolk_pool pool;
    (void)argument;
    make_map(&a, &(kolk_slotmap_desc){.name = "shared", .object_size = 8, .capacity = 9});
    make_map(&b, &(kolk_slotmap_desc){.name = "shared", .object_size = 16, .capacity = 9});
    make_pool(&pool, &(kolk_pool_desc){.name = "shared", .object_size = 16, .capacity = 9});
    add(&a, 2), add(&b, 4), kolk_pool_alloc(&pool);
    kolk_slotmap_deinit(&a);
    kolk_slotmap_deinit(&b);
    kolk_pool_deinit(&pool);
    kolk_scene("birth");
    make_map(&fixed, &(kolk_slotmap_desc){.name = "fixed", .object_size = 8, .capacity = 6});
    make_map(&grows, &(kolk_slotmap_desc){.name = "grows", .object_size = 8, .capacity = 1, .max_capacity = 100000});
    add(&fixed, 2), add(&grows, 2);
    kolk_scene("later");
    add(&fixed, 6), add(&grows, 3);
    kolk_slotmap_deinit(&fixed);
    kolk_slotmap_deinit(&grows);
}

static void test_lives_across_scenes(void **state) {
    (void)state;
    assert_ending(run_scenario("lives", "sizes", NULL), 0,
                  HEAD "fixed  = 6  # all in use, and more were asked for\ngrows  = 5\nshared = 4\n"
                       "\n[birth]\nfixed = 6  # all in use, and more were asked for\ngrows = 2\n"
                       "\n[later]\nfixed = 6  # all in use, and more were asked for\ngrows = 5\n");
}

/* Random operations, against peaks counted here. */
static void play_random(const char *argument) {
    uint64_t random = argument ? strtoull(argument, NULL, 0) : 0;
    for (unsigned stream = 0; stream < 30; stream++) {
        kolk_slotmap map;
        uint32_t peak = 0;
        make_map(&map, &(kolk_slotmap_desc){.name = "random",
                                            .object_size = 8,
                                            .capacity = stream % 2 ? 0 : 40,
                                            .max_capacity = 40,
                                            .debug = stream % 3 == 2 ? "fill" : NULL});
        for (unsigned i = 0; i < 3000; i++) {
            uint32_t choice = random_below(&random, 1000), place = random_below(&random, 40);
            if (choice < 500)
                kolk_slotmap_add(&map, NULL);
            else if (choice < 970 && place < kolk_slotmap_count(&map))
                kolk_slotmap_remove(&map, kolk_slotmap_handle(&map, kolk_slotmap_at(&map, place)));
            else if (choice >= 995)
                kolk_slotmap_clear(&map);
            else if (choice >= 985)
                kolk_scene("scene"), peak = 0;
            else if (choice >= 970)
                kolk_slotmap_trim(&map);
            if (kolk_slotmap_count(&map) > peak) peak = kolk_slotmap_count(&map);
            assert_int_equal(stats_of(&map).peak, peak);
            assert_true(kolk_slotmap_is_valid(&map));
        }
        kolk_slotmap_deinit(&map);
    }
}

static void test_random_peaks(void **state) {
    (void)state;
    char seed[30];
    snprintf(seed, sizeof seed, "%" PRIu64, number_from_environment("KOLK_TEST_SEED", 4711));
    print_message("KOLK_TEST_SEED=%s\n", seed);
    assert_ending(run_scenario("random", "sizes", seed), 0,
                  HEAD "random = 40  # all in use, and more were asked for\n"
                       "\n[scene]\nrandom = 40  # all in use, and more were asked for\n");
}

/* Without the settings a scene changes nothing. */
static void play_plain(const char *argument) {
    kolk_slotmap map;
    (void)argument;
    make_map(&map, &(kolk_slotmap_desc){.name = "plain", .object_size = 8, .capacity = 9});
    add(&map, 5), remove_to(&map, 2);
    kolk_scene("scene");
    assert_int_equal(stats_of(&map).peak, 5);
    kolk_slotmap_deinit(&map);
}

static void test_without_settings(void **state) {
    (void)state;
    assert_ending(run_scenario("plain", NULL, NULL), 0, "");
    assert_ending(run_scenario("plain", "1", NULL), 0,
                  "name   kind     size  alive  peak  capacity  failed  bytes\n"
                  "plain  slotmap     8      2     5         9       0    184\n");
}

/* A GTA pool's count is its game's business. */
static void play_bytemap(const char *argument) {
    kolk_bytemap pool;
    kolk_bytemap_view view = {.name = "peds", .count = 9, .object_size = 8};
    (void)argument;
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_OK);
    assert_non_null(kolk_bytemap_new(&pool));
    kolk_scene("scene");
    kolk_bytemap_flush(&pool);
}

static void test_bytemaps_take_no_part(void **state) {
    (void)state;
    assert_ending(run_scenario("bytemap", "sizes", NULL), 0, HEAD);
}

/* ---- Two runs, and a file that people have written ---------------------------------------------------------------- */

static void play_two_runs(const char *argument) {
    kolk_slotmap map, grows;
    kolk_scene("one");
    make_map(&map, &(kolk_slotmap_desc){.name = "map", .object_size = 8, .capacity = 100});
    make_map(&grows, &(kolk_slotmap_desc){.name = "grows", .object_size = 8, .capacity = 1, .max_capacity = 100000});
    if (argument) fprintf(stderr, "%u %u\n", map.capacity, grows.capacity);
    add(&map, 17), add(&grows, 30000);
    kolk_slotmap_deinit(&map);
    kolk_slotmap_deinit(&grows);
}

static void test_two_runs(void **state) {
    (void)state;
    char setting[120];
    snprintf(setting, sizeof setting, "sizes:%s", path);
    setenv("KOLK_SIZES", path, 1);
    assert_int_equal(unlink(path), 0);
    static const char *const expected = HEAD "grows = 30000\nmap   = 17\n\n[one]\ngrows = 30000\nmap   = 17\n";
    assert_ending(run_scenario("two runs", setting, NULL), 0, "");
    assert_string_equal(read_file(), expected);
    assert_ending(run_scenario("two runs", setting, "tell"), 0, "17 30000\n");
    assert_string_equal(read_file(), expected);
}

/* Tells the capacities of maps: in no scene, in that of the argument, and what those have then that were there. */
static void play_tell(const char *argument) {
    static kolk_slotmap maps[4], others[4];
    static KOLK_SLOTMAP_STORAGE(double, 8) memory[2];
    kolk_slotmap_desc descs[4] = {
        {.name = "fixed", .capacity = 10},
        {.name = "grows", .capacity = 10, .max_capacity = 20},
        {.name = "lent", .capacity = 8},
        {.name = "zero"},
    };
    for (unsigned round = 0; round < 2; round++) {
        kolk_slotmap *at = round ? others : maps;
        if (round) kolk_scene(argument);
        for (unsigned i = 0; i < 4; i++) {
            descs[i].object_size = 8;
            if (i == 2) descs[i].memory = &memory[round], descs[i].memory_size = sizeof memory[round];
            make_map(&at[i], &descs[i]);
            add(&at[i], 100);
            assert_int_equal(kolk_slotmap_count(&at[i]), at[i].max_capacity);
            kolk_slotmap_clear(&at[i]);
        }
        for (unsigned i = 0; i < 4; i++)
            fprintf(stderr, "%s %u%s", descs[i].name, at[i].max_capacity, i < 3 ? ", " : "\n");
    }
}

static void test_capacities(void **state) {
    (void)state;
    static const struct {
        const char *file, *said;
    } rows[] = {
        {"", "fixed 10, grows 20, lent 8, zero 0\nfixed 10, grows 20, lent 8, zero 0\n"},
        {"fixed = 3\ngrows = 21\nlent = 1\nzero = 2",
         "fixed 3, grows 21, lent 8, zero 2\nfixed 3, grows 21, lent 8, zero 2\n"},
        {"fixed = 5\n[scene]\nzero = 50\ngrows = 2\n",
         "fixed 5, grows 20, lent 8, zero 0\n" BAD
         "3: zero keeps 0 slots and cannot have 50: more capacity is asked for than max_capacity\n"
         "fixed 5, grows 20, lent 8, zero 50\n"},
        {"lent = 9\n", BAD "1: lent keeps 8 slots and cannot have 9: it is on the caller's memory\n"
                           "fixed 10, grows 20, lent 8, zero 0\nfixed 10, grows 20, lent 8, zero 0\n"},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++)
        assert_ending(run_with("tell", rows[i].file, "scene"), 0, rows[i].said);
}

/* A map that is there when a scene begins has room for what the scene says, and no more to commit. */
static void play_scene_reserves(const char *argument) {
    kolk_slotmap map;
    (void)argument;
    make_map(&map, &(kolk_slotmap_desc){.name = "map", .object_size = 8, .max_capacity = 100000});
    kolk_handle handle = add_letter(&map, 'a');
    kolk_scene("scene");
    fprintf(stderr, "%u %c\n", map.capacity, letter_of(&map, handle));
    kolk_scene("other");
    fprintf(stderr, "%u\n", map.capacity);
    end_map(&map);
}

static void test_a_scene_reserves(void **state) {
    (void)state;
    assert_ending(run_with("scene reserves", "map = 10\n[scene]\nmap = 50000\n[other]\nmap = 5\n", NULL), 0,
                  "50000 a\n50000\n");
}

/* More than the address space holds: the program's own capacity is good enough. */
static void play_too_many(const char *argument) {
    kolk_slotmap map;
    (void)argument;
    make_map(&map, &(kolk_slotmap_desc){.name = "large", .object_size = 1u << 30, .capacity = 0, .max_capacity = 1});
    fprintf(stderr, "%u to %u\n", map.capacity, map.max_capacity);
    kolk_slotmap_deinit(&map);
    assert_int_equal(kolk_slotmap_init(&map, &(kolk_slotmap_desc){.name = "bad", .capacity = 1}), KOLK_ZERO_SIZE);
    assert_true(map_is_zero(&map));
}

static void test_more_than_there_is_room_for(void **state) {
    (void)state;
    ending it = run_with("too many", "large = 4294967295\nbad = 3\n", NULL);
    const char *why = strstr(it.text, "cannot have 4294967295: ");
    assert_non_null(why); /* which of two reasons depends on the machine */
    assert_non_null(strstr(why, "\n0 to 1\n"));
    assert_null(strstr(why, "bad"));
    assert_int_equal(it.status, 0);
}

int main(int argc, char **argv) {
    static const scenario scenarios[] = {
        {"scenes", play_scenes},     {"lives", play_lives},
        {"random", play_random},     {"plain", play_plain},
        {"bytemap", play_bytemap},   {"two runs", play_two_runs},
        {"tell", play_tell},         {"scene reserves", play_scene_reserves},
        {"too many", play_too_many},
    };
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {
        TEST(test_peaks_of_each_scene), TEST(test_lives_across_scenes),   TEST(test_random_peaks),
        TEST(test_without_settings),    TEST(test_bytemaps_take_no_part), TEST(test_two_runs),
        TEST(test_capacities),          TEST(test_a_scene_reserves),      TEST(test_more_than_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
