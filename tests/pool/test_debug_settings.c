/* The settings of the debug mode in words: every word, lists, entries, globs, what is in force in the end, and what is
 * said of words that are not understood. */
#include "../help/debug_test.h"

#define FILL       KOLK_DEBUG_FILL
#define GUARD      KOLK_DEBUG_GUARD
#define QUARANTINE KOLK_DEBUG_QUARANTINE
#define SITES      KOLK_DEBUG_SITES
#define TRACE      KOLK_DEBUG_TRACE
#define BYPASS     KOLK_DEBUG_BYPASS

#define SLOTS 100u

/* Slots that wait before one is used again: as many as were freed, one after the other, before the first came back. */
static uint32_t slots_that_wait(kolk_pool *pool) {
    uint32_t n = 0;
    for (;; n++) {
        unsigned char *object = taken_from(pool);
        bool again = kolk_pool_index(pool, object) != n;
        give_back(pool, object);
        if (again) return n - 1;
    }
}

typedef struct row {
    const char *environment, *own;
    uint32_t flags, quarantine;
} row;

/* What is in force for a pool called "bullets" of 100 slots. */
static void check_row(const row *r) {
    kolk_pool pool;
    if (r->environment)
        setenv("KOLK_DEBUG", r->environment, 1);
    else
        unsetenv("KOLK_DEBUG");
    make_pool(&pool, &(kolk_pool_desc){.name = "bullets", .object_size = 8, .capacity = SLOTS, .debug = r->own});
    uint32_t flags = debug_flags(&pool), waits = slots_that_wait(&pool);
    if (flags != r->flags || waits != r->quarantine)
        fail_msg("KOLK_DEBUG=%s, debug = %s: flags %u, quarantine %u", r->environment ? r->environment : "(unset)",
                 r->own ? r->own : "NULL", flags, waits);
    end_pool(&pool);
}

static void test_words_of_a_descriptor(void **state) {
    (void)state;
    static const row rows[] = {
        {NULL, NULL, 0, 0},
        {NULL, "", 0, 0},
        {NULL, "   ", 0, 0},
        {NULL, "fill", FILL, 0},
        {NULL, "guard", GUARD, 0},
        {NULL, "sites", SITES, 0},
        {NULL, "trace", TRACE, 0},
        {NULL, "quarantine=1", QUARANTINE, 1},
        {NULL, "quarantine=64", QUARANTINE, 64},
        {NULL, "quarantine=0007", QUARANTINE, 7},
        {NULL, "all", FILL | GUARD | QUARANTINE | SITES, 64},
        {NULL, "fill,guard,quarantine=3,sites,trace", FILL | GUARD | QUARANTINE | SITES | TRACE, 3},
        {NULL, "trace,sites,quarantine=3,guard,fill", FILL | GUARD | QUARANTINE | SITES | TRACE, 3},
        {NULL, "all,trace", FILL | GUARD | QUARANTINE | SITES | TRACE, 64},
        {NULL, "all,quarantine=5", FILL | GUARD | QUARANTINE | SITES, 5},
        {NULL, "quarantine=5,all", FILL | GUARD | QUARANTINE | SITES, 5},
        {NULL, "  fill ,  guard  ", FILL | GUARD, 0},
        {NULL, ",,fill,,sites,", FILL | SITES, 0},
        {NULL, "fill,fill", FILL, 0},
        {NULL, "quarantine=3,quarantine=9", QUARANTINE, 9},
        /* as many as there are slots: the last of them is then taken from those that wait */
        {NULL, "quarantine=99", QUARANTINE, 99},
        {NULL, "quarantine=100", QUARANTINE, 99},
        {NULL, "quarantine=4294967295", QUARANTINE, 99},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) check_row(&rows[i]);
}

static void test_the_environment_takes_the_place_of_the_descriptor(void **state) {
    (void)state;
    static const row rows[] = {
        {"fill", NULL, FILL, 0},
        {"guard", "fill", GUARD, 0},
        {"quarantine=7", "quarantine=9,sites", QUARANTINE, 7},
        {"guard:bullets", "fill", GUARD, 0},
        {"guard:bombs", "fill", FILL, 0}, /* not where it does not match */
        {"guard:bombs", NULL, 0, 0},
        {":bullets", "fill", 0, 0}, /* none of all settings */
        {":bombs", "fill", FILL, 0},
        {"", "fill", FILL, 0}, /* set, but empty */
        {" ", "fill", FILL, 0},
        {";;", "fill", FILL, 0},
        {",", "fill", FILL, 0},
        {" , ; ,,", "fill", FILL, 0},
        {",:bullets", "fill", 0, 0},
        {"", NULL, 0, 0},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) check_row(&rows[i]);
}

static void test_several_entries(void **state) {
    (void)state;
    static const row rows[] = {
        {"fill;guard", NULL, FILL | GUARD, 0}, /* all that match together */
        {"fill:bul*;guard:*lets;sites:b", "trace", FILL | GUARD, 0},
        {"fill,guard:bombs;sites:bullets", "trace", SITES, 0},
        {"fill,quarantine=4:bombs;trace", "sites", TRACE, 0},
        {" fill : bullets ; guard : b* ", NULL, FILL | GUARD, 0},
        {";fill;;sites;", NULL, FILL | SITES, 0},
        {"quarantine=4:bullets;all:bombs", NULL, QUARANTINE, 4},
        {"quarantine=4:bombs;all:bullets", NULL, FILL | GUARD | QUARANTINE | SITES, 64},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) check_row(&rows[i]);
}

static void test_globs(void **state) {
    (void)state;
    static const struct {
        const char *glob, *name;
        bool matches;
    } cases[] = {
        {"bullets", "bullets", true},
        {"bullets", "bullet", false},
        {"bullet", "bullets", false},
        {"Bullets", "bullets", false},
        {"*", "bullets", true},
        {"*", "", true},
        {"**", "", true},
        {"***", "a", true},
        {"?", "a", true},
        {"?", "", false},
        {"?", "ab", false},
        {"??", "ab", true},
        {"?*", "", false},
        {"?*", "abc", true},
        {"*?", "a", true},
        {"b*", "bullets", true},
        {"b*", "b", true},
        {"b*", "abullets", false},
        {"*s", "bullets", true},
        {"*s", "bullets2", false},
        {"*ss", "sss", true},
        {"b*t*s", "bullets", true},
        {"b*t*s", "bulles", false},
        {"*a*b*c*", "xaxbxcx", true},
        {"*a*b*c*", "xaxcxbx", false},
        {"*ab", "aab", true},
        {"*ab", "abab", true},
        {"*ab*cd", "ababcacd", true},
        {"*ab?d", "abcabcd", true},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"b[u]*", "bullets", false}, /* no other character means anything */
        {"a.c", "abc", false},
        {"menu:items", "menu:items", true}, /* the first colon ends the settings */
        {"menu:*", "menu:items", true},
        {"*:*", "menu", false},
        {"a,b", "a,b", true},
        {"", "bullets", false},
        {"", "", true}, /* pools without a name, and only they */
        {"menu items", "menu items", true},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        char text[100];
        snprintf(text, sizeof text, "fill:%s", cases[i].glob);
        setenv("KOLK_DEBUG", text, 1);
        kolk_pool pool;
        make_pool(&pool, &(kolk_pool_desc){.name = cases[i].name, .object_size = 8, .capacity = 2, .debug = "sites"});
        if (debug_flags(&pool) != (cases[i].matches ? FILL : SITES)) fail_msg("%s, %s", cases[i].glob, cases[i].name);
        end_pool(&pool);
        if (*cases[i].name) continue;
        make_pool(&pool, &(kolk_pool_desc){.name = NULL, .object_size = 8, .capacity = 2, .debug = "sites"});
        assert_int_equal(debug_flags(&pool), cases[i].matches ? FILL : SITES);
        end_pool(&pool);
    }
}

/* ---- What a pool can't have --------------------------------------------------------------------------------------- */

static bool set_up(void *object, void *context) {
    (void)object, (void)context;
    return true;
}

static void hook(void *object, void *context) {
    (void)object, (void)context;
}

static void test_settings_that_a_pool_cannot_have_are_not_in_force(void **state) {
    (void)state;
    const uint32_t all = FILL | GUARD | QUARANTINE | SITES;
    static _Alignas(16) unsigned char memory[500];
    const struct {
        kolk_pool_desc desc;
        uint32_t flags;
    } cases[] = {
        {{.capacity = 3}, all},
        {{.capacity = 3, .reset = hook}, all},
        {{.capacity = 3, .generations = KOLK_GENERATIONS_NONE}, all},
        {{.capacity = 3, .keep = true}, all - FILL},
        {{.capacity = 3, .setup = set_up}, all - FILL},
        {{.capacity = 3, .teardown = hook}, all - FILL},
        {{.memory = memory, .memory_size = sizeof memory}, all - GUARD},
        {{.memory = memory, .memory_size = sizeof memory, .keep = true}, all - FILL - GUARD},
        {{.capacity = 0}, all},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        for (unsigned environment = 0; environment < 2; environment++) {
            kolk_pool pool;
            kolk_pool_desc desc = cases[i].desc;
            desc.object_size = 8;
            if (environment)
                setenv("KOLK_DEBUG", "all", 1);
            else
                desc.debug = "all";
            make_pool(&pool, &desc);
            assert_int_equal(debug_flags(&pool), cases[i].flags);
            end_pool(&pool);
            unsetenv("KOLK_DEBUG");
        }
    }
}

static void test_bypass_settings(void **state) {
    (void)state;
    static const struct {
        const char *bypass, *debug;
        uint32_t flags;
    } cases[] = {
        {"0", NULL, 0},
        {"0", "all", FILL | GUARD | QUARANTINE | SITES},
        {"1", NULL, BYPASS},
        {"1", "all,trace", BYPASS | SITES | TRACE}, /* malloc's blocks are not ours to fill, to guard or to keep */
        {"1", "fill", BYPASS},
        {"", NULL, UNDER_ASAN ? BYPASS : 0}, /* the default: under AddressSanitizer */
        {NULL, NULL, UNDER_ASAN ? BYPASS : 0},
    };
    notes taken;
    begin_notes(&taken);
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        kolk_pool pool;
        if (cases[i].bypass)
            setenv("KOLK_BYPASS", cases[i].bypass, 1);
        else
            unsetenv("KOLK_BYPASS");
        make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 3, .debug = cases[i].debug});
        assert_int_equal(debug_flags(&pool), cases[i].flags);
        end_pool(&pool);
        assert_silent(&taken);
    }
}

static void test_the_environment_is_read_at_each_init(void **state) {
    (void)state;
    kolk_pool before, after;
    setenv("KOLK_DEBUG", "fill", 1);
    make_pool(&before, &(kolk_pool_desc){.object_size = 8, .capacity = 3});
    setenv("KOLK_DEBUG", "guard", 1);
    make_pool(&after, &(kolk_pool_desc){.object_size = 8, .capacity = 3});
    assert_int_equal(debug_flags(&before), FILL);
    assert_int_equal(debug_flags(&after), GUARD);
    end_pool(&before);
    end_pool(&after);
}

/* ---- What is not understood --------------------------------------------------------------------------------------- */

#define NOT_A_SETTING " is not a setting: fill, guard, quarantine=SLOTS, sites, move, trace, all"
#define NOT_A_NUMBER  " is not understood: quarantine=SLOTS takes a number from 1 to 4294967295"

static const struct {
    const char *word, *sentence;
} bad_words[] = {
    {"fil", "\"fil\"" NOT_A_SETTING},
    {"Fill", "\"Fill\"" NOT_A_SETTING},
    {"fills", "\"fills\"" NOT_A_SETTING},
    {"fill guard", "\"fill guard\"" NOT_A_SETTING},
    {"fill=1", "\"fill=1\"" NOT_A_SETTING},
    {"fill=", "\"fill=\"" NOT_A_SETTING},
    {"all=64", "\"all=64\"" NOT_A_SETTING},
    {"=", "\"=\"" NOT_A_SETTING},
    {"bypass", "\"bypass\"" NOT_A_SETTING},
    {"quarantines=3", "\"quarantines=3\"" NOT_A_SETTING},
    {"quarantine", "\"quarantine\"" NOT_A_NUMBER},
    {"quarantine=", "\"quarantine=\"" NOT_A_NUMBER},
    {"quarantine=0", "\"quarantine=0\"" NOT_A_NUMBER},
    {"quarantine=-1", "\"quarantine=-1\"" NOT_A_NUMBER},
    {"quarantine=+1", "\"quarantine=+1\"" NOT_A_NUMBER},
    {"quarantine=3x", "\"quarantine=3x\"" NOT_A_NUMBER},
    {"quarantine=1 2", "\"quarantine=1 2\"" NOT_A_NUMBER},
    {"quarantine=1=2", "\"quarantine=1=2\"" NOT_A_NUMBER},
    {"quarantine=4294967296", "\"quarantine=4294967296\"" NOT_A_NUMBER},
    {"quarantine=18446744073709551617", "\"quarantine=18446744073709551617\"" NOT_A_NUMBER},
    {"a word that is longer than the sixty-three characters which are quoted",
     "\"a word that is longer than the sixty-three characters which are\"" NOT_A_SETTING},
};

static void assert_refused(reports *kept, const char *of, const char *sentence) {
    char whole[300];
    const report *now = next_report(kept);
    snprintf(whole, sizeof whole, "kolk: %s: %s", of, sentence);
    assert_string_equal(now->sentence, whole);
    assert_int_equal(now->failure.rule, KOLK_BAD_SETTING);
    assert_int_equal(now->failure.slot, UINT32_MAX);
    assert_null(now->failure.object);
}

static void test_bad_words_of_a_descriptor_are_said_each_time(void **state) {
    (void)state;
    reports kept;
    begin_reports(&kept);
    for (size_t i = 0; i < LENGTH_OF(bad_words); i++) {
        char text[200];
        snprintf(text, sizeof text, "fill, %s,guard", bad_words[i].word);
        kept.count = kept.read = 0;
        for (unsigned n = 0; n < 2; n++) {
            kolk_pool pool;
            make_pool(&pool, &(kolk_pool_desc){.name = "bombs", .object_size = 8, .capacity = 3, .debug = text});
            assert_refused(&kept, "bombs", bad_words[i].sentence);
            assert_no_more(&kept);
            assert_int_equal(debug_flags(&pool), FILL | GUARD); /* it is ignored, what is beside it is not */
            end_pool(&pool);
        }
        for (unsigned n = 0; n < 2; n++) {
            kolk_pool nameless;
            make_pool(&nameless,
                      &(kolk_pool_desc){.name = n ? "" : NULL, .object_size = 8, .capacity = 3, .debug = text});
            assert_refused(&kept, "a pool's .debug", bad_words[i].sentence);
            end_pool(&nameless);
        }
    }
}

static void test_several_bad_words(void **state) {
    (void)state;
    reports kept;
    kolk_pool pool;
    begin_reports(&kept);
    make_pool(&pool,
              &(kolk_pool_desc){.name = "bombs", .object_size = 8, .capacity = 3, .debug = "x,quarantine=,fill,y"});
    assert_refused(&kept, "bombs", "\"x\"" NOT_A_SETTING);
    assert_refused(&kept, "bombs", "\"quarantine=\"" NOT_A_NUMBER);
    assert_refused(&kept, "bombs", "\"y\"" NOT_A_SETTING);
    assert_no_more(&kept);
    assert_int_equal(debug_flags(&pool), FILL);
    end_pool(&pool);
    /* The environment's settings are taken instead: the others are not looked at. */
    setenv("KOLK_DEBUG", "guard", 1);
    make_pool(&pool, &(kolk_pool_desc){.name = "bombs", .object_size = 8, .capacity = 3, .debug = "x"});
    assert_no_more(&kept);
    assert_int_equal(debug_flags(&pool), GUARD);
    end_pool(&pool);
}

/* What is wrong in the environment is said once in the life of a process, so each case is a process of its own. */

static const char *variable = "KOLK_DEBUG", *environment;

static void init_pools_in_this_environment(void) {
    static const char *const names[] = {"bullets", "bombs", "bullets"};
    setenv(variable, environment, 1); /* with the default handler, which prints and goes on */
    for (size_t i = 0; i < LENGTH_OF(names); i++) {
        kolk_pool pool;
        if (kolk_pool_init(&pool, &(kolk_pool_desc){.name = names[i], .object_size = 8, .capacity = 3}) != KOLK_OK)
            fprintf(stderr, "init failed\n");
        fprintf(stderr, "%u ", (unsigned)debug_flags(&pool));
        kolk_pool_deinit(&pool);
    }
}

static void assert_prints(const char *settings, const char *expected) {
    char text[1000];
    environment = settings;
    int status = run_apart(init_pools_in_this_environment, text, sizeof text);
    assert_string_equal(text, expected);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_bad_words_of_the_environment_are_said_once(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(bad_words); i++) {
        char text[200], expected[400];
        snprintf(text, sizeof text, "%s,fill", bad_words[i].word);
        snprintf(expected, sizeof expected, "kolk: KOLK_DEBUG: %s\n1 1 1 ", bad_words[i].sentence);
        assert_prints(text, expected);
    }
    assert_prints("fill", "1 1 1 ");
    /* Also in an entry for other pools, all of them at once. */
    assert_prints("fill:bullets;guards:bombs;quarantine=:x",
                  "kolk: KOLK_DEBUG: \"guards\"" NOT_A_SETTING "\n"
                  "kolk: KOLK_DEBUG: \"quarantine=\"" NOT_A_NUMBER "\n1 0 1 ");
}

static void test_bad_words_for_bypass_are_said_once(void **state) {
    (void)state;
    static const char *const words[] = {"2", "yes", "01", " 1", "-1"};
    variable = "KOLK_BYPASS";
    for (size_t i = 0; i < LENGTH_OF(words); i++) {
        char expected[200];
        unsigned flags = UNDER_ASAN ? BYPASS : 0; /* as if it were not set */
        snprintf(expected, sizeof expected, "kolk: KOLK_BYPASS: \"%s\" is neither 0 nor 1\n%u %u %u ", words[i], flags,
                 flags, flags);
        assert_prints(words[i], expected);
    }
    variable = "KOLK_DEBUG";
}

/* The same by this program's own handler. */
static void test_a_bad_word_for_bypass_is_a_failure(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    setenv("KOLK_BYPASS", "maybe", 1);
    make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 3});
    assert_noted(&taken, KOLK_BAD_SETTING, "KOLK_BYPASS", NULL, NO_SLOT,
                 "kolk: KOLK_BYPASS: \"maybe\" is neither 0 nor 1");
    kolk_pool_deinit(&pool);
    make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 3});
    assert_silent(&taken);
    kolk_pool_deinit(&pool);
    kolk_set_failure_handler(NULL, NULL);
}

/* It is read at each init, so it may be wrong later than at the first one. */
static void init_pools_before_it_is_wrong(void) {
    kolk_pool pool;
    if (kolk_pool_init(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 3}) != KOLK_OK) _exit(1);
    kolk_pool_deinit(&pool);
    init_pools_in_this_environment();
}

static void test_bad_words_that_come_later(void **state) {
    (void)state;
    char text[500];
    environment = "fil";
    run_apart(init_pools_before_it_is_wrong, text, sizeof text);
    assert_string_equal(text, "kolk: KOLK_DEBUG: \"fil\"" NOT_A_SETTING "\n0 0 0 ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_bad_words_of_the_environment_are_said_once), /* first: a process reads it carefully once */
        DEBUG_TEST(test_bad_words_for_bypass_are_said_once),
        DEBUG_TEST(test_a_bad_word_for_bypass_is_a_failure),
        DEBUG_TEST(test_bad_words_that_come_later),
        DEBUG_TEST(test_words_of_a_descriptor),
        DEBUG_TEST(test_the_environment_takes_the_place_of_the_descriptor),
        DEBUG_TEST(test_several_entries),
        DEBUG_TEST(test_globs),
        DEBUG_TEST(test_settings_that_a_pool_cannot_have_are_not_in_force),
        DEBUG_TEST(test_bypass_settings),
        DEBUG_TEST(test_the_environment_is_read_at_each_init),
        DEBUG_TEST(test_bad_words_of_a_descriptor_are_said_each_time),
        DEBUG_TEST(test_several_bad_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
