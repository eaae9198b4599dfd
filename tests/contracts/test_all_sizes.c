/* runs: processes not:qemu not:wine */
/* Capacities from the last run, for every kind that KOLK_SIZES supports: what KOLK_STATS=sizes measures, and how the
 * next run starts with those capacities. Files with mistakes are tested in watch/test_sizes.c. The environment is read
 * once per process, so each case runs this program as a child. The child's argument begins with the number of the
 * kind. */
#include "kinds.h"

#include "../watch/sizes_test.h"

#undef TEST

static const kind *k; /* the kind that this program tests */

static void make(subject *s, options with) {
    if (!with.object_size) with.object_size = 8;
    s->kind = k;
    kolk_status status = k->init(s, &with);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    assert_true(k->is_valid(s));
}

static void take(subject *s, uint32_t n) {
    while (n-- > 0) k->take(s);
    assert_true(k->is_valid(s));
}

static kolk_stats stats_of(const subject *s) {
    kolk_stats stats;
    k->stats(s, &stats);
    return stats;
}

/* Frees the first objects until n are left, so that in kinds whose objects move, others move. */
static void give_to(subject *s, uint32_t n) {
    while (stats_of(s).count > n) k->give(s, k->first(s));
    assert_true(k->is_valid(s));
}

/* ---- Running a child for a kind ---------------------------------------------------------------------------------- */

/* The kind's number, and the argument. */
static const char *words_for(const char *argument) {
    static char words[100];
    snprintf(words, sizeof words, "%d %s", (int)(row_now->kind - kinds), argument ? argument : "");
    return words;
}

static ending run_kind(const char *name, const char *setting, const char *argument) {
    return run_scenario(name, setting, words_for(argument));
}

static ending run_kind_with(const char *name, const char *file, const char *argument) {
    return run_with(name, file, words_for(argument));
}

/* Sets `k` from the argument's number and returns the text after it. */
static const char *begin_program(const char *argument) {
    char *end;
    k = &kinds[strtoul(argument ? argument : "", &end, 10)];
    return *end && end[1] ? end + 1 : NULL;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

/* Up to 5 objects are alive before any scene, 3 to 7 in the first scene, 2 in the second, and 4 after it, with and
 * without settings that change the code path of `take` and `give`. */
static void play_scenes(const char *argument) {
    static subject all[6];
    static const char *const names[] = {"plain", "filled", "kept", "moved", "none"};
    static const char *const debug[] = {NULL, "fill", "quarantine=3", "move", NULL};
    begin_program(argument);
    for (unsigned i = 0; i < 5; i++) make(&all[i], (options){.name = names[i], .capacity = 20, .debug = debug[i]});
    make(&all[5], (options){.capacity = 20});
    for (unsigned i = 0; i < 4; i++) take(&all[i], 5), give_to(&all[i], 3);
    char first[] = "first scene";
    kolk_scene(first);
    memset(first, 'x', sizeof first - 1); /* the scene's name was copied */
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(stats_of(&all[i]).peak, 3);
        take(&all[i], 4), give_to(&all[i], 1);
        assert_int_equal(stats_of(&all[i]).peak, 7);
        assert_int_equal(stats_of(&all[i]).unused_bytes, 13 * stats_of(&all[i]).stride);
    }
    kolk_scene("second");
    for (unsigned i = 0; i < 4; i++) take(&all[i], 1), k->clear(&all[i]), take(&all[i], 1);
    kolk_scene(NULL);
    for (unsigned i = 0; i < 4; i++) take(&all[i], 3);
    take(&all[5], 9), give_to(&all[5], 2); /* a pool without a name is not recorded */
    assert_int_equal(stats_of(&all[5]).peak, 9);
    k->end(&all[0]); /* the other pools' peaks are recorded at exit */
}

/* promise: base.h "a number before ... maps are not", "Ends the current ... nothing without diagnostics" */
static void test_peaks_of_each_scene(void **state) {
    assert_ending(run_kind("scenes", "sizes", NULL), 0,
                  HEAD "filled = 7\nkept   = 7\nmoved  = 7\nplain  = 7\n"
                       "\n[first scene]\nfilled = 7\nkept   = 7\nmoved  = 7\nplain  = 7\n"
                       "\n[second]\nfilled = 2\nkept   = 2\nmoved  = 2\nplain  = 2\n");
}

/* For pools with the same name, the greatest peak is recorded. A pool that cannot grow records the peak of its whole
 * life under its first scene. A pool that was full is marked. */
static void play_lives(const char *argument) {
    subject a, b, grows;
    kolk_pool pool;
    begin_program(argument);
    make(&a, (options){.name = "shared", .capacity = 9});
    make(&b, (options){.name = "shared", .object_size = 16, .capacity = 9});
    make_pool(&pool, &(kolk_pool_desc){.name = "shared", .object_size = 16, .capacity = 9});
    take(&a, 2), take(&b, 3), kolk_pool_alloc(&pool);
    k->end(&a);
    k->end(&b);
    kolk_pool_deinit(&pool);
    kolk_scene("birth");
    make(&a, (options){.name = "fixed", .capacity = 6});
    make(&grows, (options){.name = "grows", .capacity = 1, .max_capacity = 100000});
    take(&a, 2), take(&grows, 2);
    kolk_scene("later");
    take(&a, 3), take(&grows, 3);
    give_to(&a, 1), give_to(&grows, 1);
    kolk_scene("birth"); /* for the second time; the greater peak is recorded */
    kolk_scene("full");
    take(&a, 6), give_to(&a, 4);
    kolk_scene("calm");
    k->end(&a);
    k->end(&grows);
    kolk_scene("nobody");
}

static void test_lives_across_scenes(void **state) {
    assert_ending(run_kind("lives", "sizes", NULL), 0,
                  HEAD "fixed  = 6  # all in use, and more were asked for\ngrows  = 5\nshared = 3\n"
                       "\n[birth]\nfixed = 6  # all in use, and more were asked for\ngrows = 2\n"
                       "\n[later]\nfixed = 5\ngrows = 5\n"
                       "\n[full]\nfixed = 6  # all in use, and more were asked for\ngrows = 1\n"
                       "\n[calm]\nfixed = 4\ngrows = 1\n");
}

/* Does random operations, and compares the peaks with those counted here. */
static void play_random(const char *argument) {
    const char *seed = begin_program(argument);
    uint64_t random = seed ? strtoull(seed, NULL, 0) : 0;
    for (unsigned stream = 0; stream < 12; stream++) {
        subject s;
        uint32_t peak = 0;
        make(&s, (options){.name = "random",
                           .capacity = stream % 2 ? 0 : 40,
                           .max_capacity = 40,
                           .debug = stream % 3 == 2 ? "fill,quarantine=4" : NULL});
        for (unsigned i = 0; i < 2000; i++) {
            uint32_t choice = random_below(&random, 1000), count = stats_of(&s).count;
            if (choice < 500)
                k->take(&s);
            else if (choice < 970 && count)
                k->give(&s, k->first(&s));
            else if (choice >= 995)
                k->clear(&s);
            else if (choice >= 985)
                kolk_scene("scene"), peak = 0;
            else if (choice >= 970)
                k->trim(&s);
            if (stats_of(&s).count > peak) peak = stats_of(&s).count;
            assert_int_equal(stats_of(&s).peak, peak);
            assert_true(k->is_valid(&s));
            if (choice == 600) take(&s, 60);
            if (choice == 600) peak = 40;
        }
        k->end(&s);
    }
}

static void test_random_peaks(void **state) {
    char seed[30];
    snprintf(seed, sizeof seed, "%" PRIu64, number_from_environment("KOLK_TEST_SEED", 4711));
    print_message("KOLK_TEST_SEED=%s\n", seed);
    assert_ending(run_kind("random", "sizes", seed), 0,
                  HEAD "random = 40  # all in use, and more were asked for\n"
                       "\n[scene]\nrandom = 40  # all in use, and more were asked for\n");
}

/* Without KOLK_STATS and KOLK_SIZES a scene changes nothing. */
static void play_plain(const char *argument) {
    subject s;
    begin_program(argument);
    make(&s, (options){.name = "plain", .capacity = 9});
    take(&s, 5), give_to(&s, 2);
    kolk_scene("scene");
    assert_int_equal(stats_of(&s).peak, 5);
    kolk_scene(NULL);
    k->end(&s);
}

/* promise: base.h "Without these settings nothing costs more", "Ends the current ... nothing without diagnostics" */
static void test_without_settings(void **state) {
    char line[100];
    assert_ending(run_kind("plain", NULL, NULL), 0, "");
    ending ended = run_kind("plain", "1", NULL);
    snprintf(line, sizeof line, "\nplain  %s     8      2     5         9       0    ", row_now->kind->member);
    assert_non_null(strstr(ended.text, line));
}

/* ---- Two runs, and a file written by hand ------------------------------------------------------------------------ */

static void play_two_runs(const char *argument) {
    subject fixed, grows;
    const char *tell = begin_program(argument);
    kolk_scene("one");
    make(&fixed, (options){.name = "fixed", .capacity = 100});
    make(&grows, (options){.name = "grows", .capacity = 1, .max_capacity = 100000});
    if (tell) fprintf(stderr, "%u %u\n", stats_of(&fixed).capacity, stats_of(&grows).capacity);
    take(&fixed, 17), take(&grows, 30000);
    if (tell) fprintf(stderr, "%u %u\n", stats_of(&fixed).capacity, stats_of(&grows).capacity);
    k->end(&fixed);
    k->end(&grows);
}

/* The same file is read at the start and written at the end; before the first run it need not exist.
 * promise: base.h "a run with KOLK_STATS=sizes:FILE ... same file" */
static void test_two_runs(void **state) {
    char setting[120];
    snprintf(setting, sizeof setting, "sizes:%s", path);
    setenv("KOLK_SIZES", path, 1);
    unlink(path);
    static const char *const expected = HEAD "fixed = 17\ngrows = 30000\n\n[one]\nfixed = 17\ngrows = 30000\n";
    assert_ending(run_kind("two runs", setting, NULL), 0, "");
    assert_string_equal(read_file(), expected);
    assert_ending(run_kind("two runs", setting, "tell"), 0, "17 30000\n17 30000\n");
    assert_string_equal(read_file(), expected);
}

/* Prints the capacities of pools made before any scene, and of pools made in the scene that the argument names. */
static void play_tell(const char *argument) {
    static subject all[2][4];
    static _Alignas(16) unsigned char memory[2][1000];
    options with[4] = {{.name = "fixed", .capacity = 10},
                       {.name = "grows", .capacity = 10, .max_capacity = 20},
                       {.name = "lent", .capacity = 8},
                       {.name = "zero", .max_capacity = 1}};
    const char *scene = begin_program(argument);
    for (unsigned round = 0; round < 2; round++) {
        if (round) kolk_scene(scene);
        for (unsigned i = 0; i < 4; i++) {
            if (i == 2) with[i].memory = memory[round], with[i].memory_size = sizeof memory[round];
            make(&all[round][i], with[i]);
            take(&all[round][i], 100);
            assert_int_equal(stats_of(&all[round][i]).count, stats_of(&all[round][i]).max_capacity);
            fprintf(stderr, "%s %u%s", with[i].name, stats_of(&all[round][i]).max_capacity, i < 3 ? ", " : "\n");
        }
    }
}

/* promise: base.h "init gives ... line, and ignored" */
static void test_capacities(void **state) {
    static const struct {
        const char *file, *said;
    } rows[] = {
        {"", "fixed 10, grows 20, lent 8, zero 1\nfixed 10, grows 20, lent 8, zero 1\n"},
        {"fixed = 3\ngrows = 21\nlent = 1\nzero = 2",
         "fixed 3, grows 21, lent 8, zero 2\nfixed 3, grows 21, lent 8, zero 2\n"},
        {"fixed = 5\n[scene]\nzero = 50\ngrows = 2\n",
         "fixed 5, grows 20, lent 8, zero 1\n" BAD
         "3: zero keeps 1 slots and cannot have 50: more capacity was requested than max_capacity allows\n"
         "fixed 5, grows 20, lent 8, zero 50\n"},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++)
        assert_ending(run_kind_with("tell", rows[i].file, "scene"), 0, rows[i].said);
    ending ended = run_kind_with("tell", "lent = 9\n", "scene");
    assert_non_null(strstr(ended.text, BAD "1: lent keeps 8 slots and cannot have 9: it is on the caller's memory\n"));
    assert_non_null(strstr(ended.text, "lent 8, zero 1\nfixed 10"));
}

/* If a pool exists when a scene begins, the scene's capacity is reserved for it, so it need not grow later. */
static void play_scene_reserves(const char *argument) {
    subject s;
    begin_program(argument);
    make(&s, (options){.name = "it", .max_capacity = 100000});
    char *object = (char *)k->take(&s);
    *object = 'a';
    kolk_scene("scene");
    fprintf(stderr, "%u %c\n", stats_of(&s).capacity, *object);
    kolk_scene("other");
    fprintf(stderr, "%u\n", stats_of(&s).capacity);
    k->end(&s);
}

static void test_a_scene_reserves(void **state) {
    assert_ending(run_kind_with("scene reserves", "it = 10\n[scene]\nit = 50000\n[other]\nit = 5\n", NULL), 0,
                  "50000 a\n50000\n");
}

/* If the file asks for more than the address space holds, the program's own capacity is used. */
static void play_too_many(const char *argument) {
    static unsigned char memory[8];
    subject s;
    begin_program(argument);
    make(&s, (options){.name = "large", .object_size = 1u << 30, .max_capacity = 1});
    fprintf(stderr, "%u to %u\n", stats_of(&s).capacity, stats_of(&s).max_capacity);
    k->end(&s);
    assert_int_equal(k->init(&s, &(options){.name = "bad", .capacity = 1}), KOLK_ZERO_SIZE);
    assert_true(all_bytes_are(&s.of, k->size, 0));
    options small = {.name = "bad", .object_size = 1, .capacity = 1, .memory = memory, .memory_size = 1};
    assert_int_not_equal(k->init(&s, &small), KOLK_OK);
    assert_true(all_bytes_are(&s.of, k->size, 0));
}

static void test_more_than_there_is_room_for(void **state) {
    ending ended = run_kind_with("too many", "large = 2147483647\nbad = 3\n", NULL);
    const char *why = strstr(ended.text, BAD "1: large keeps 0 slots and cannot have 2147483647: ");
    assert_non_null(why); /* the reason is one of two, depending on the machine */
    why += strlen(BAD "1: large keeps 0 slots and cannot have 2147483647: ");
    assert_true(strncmp(why, "the system provides no more memory\n", 32) == 0 || strstr(why, "the address space\n"));
    assert_non_null(strstr(why, "\n0 to 1\n"));
    assert_null(strstr(why, "bad"));
    assert_int_equal(ended.status, 0);
}

static int forget_path(void **state) {
    unsetenv("KOLK_SIZES");
    return plain_environment(state);
}

int main(int argc, char **argv) {
    static const scenario scenarios[] = {
        {"scenes", play_scenes},     {"lives", play_lives},
        {"random", play_random},     {"plain", play_plain},
        {"two runs", play_two_runs}, {"tell", play_tell},
        {"too many", play_too_many}, {"scene reserves", play_scene_reserves},
    };
    RUN_SCENARIO(scenarios);
    static const contract contracts[] = {
        CONTRACT(test_peaks_of_each_scene, SIZES, IN(PLAIN)),
        CONTRACT(test_lives_across_scenes, SIZES, IN(PLAIN)),
        CONTRACT(test_random_peaks, SIZES, IN(PLAIN)),
        CONTRACT(test_without_settings, SIZES, IN(PLAIN)),
        CONTRACT(test_two_runs, SIZES, IN(PLAIN)),
        CONTRACT(test_capacities, SIZES, IN(PLAIN)),
        CONTRACT(test_a_scene_reserves, SIZES, IN(PLAIN)),
        CONTRACT(test_more_than_there_is_room_for, SIZES, IN(PLAIN)),
    };
    return run_contracts(contracts, LENGTH_OF(contracts), make_path_for_all, forget_path);
}
