/* runs: processes not:qemu not:wine */
/* The words for the debug mode's settings, for every kind that has one: each word, lists, entries, globs, the resulting
 * settings (a kind may lack some of them), and the reports of words that are not understood. */
#include "kinds.h"

#define F  KOLK_DEBUG_FILL
#define G  KOLK_DEBUG_GUARD
#define Q  KOLK_DEBUG_QUARANTINE
#define S  KOLK_DEBUG_SITES
#define T  KOLK_DEBUG_TRACE
#define BY KOLK_DEBUG_BYPASS

#define SLOTS 100u

/* Returns the length of the quarantine: how many other slots are freed, one after the other, before the first is used
 * again. */
static uint32_t slots_that_wait(void) {
    for (uint32_t n = 0;; n++) {
        static void *first;
        void *object = take_one();
        bool again = n && object == first;
        if (n == 0) first = object;
        give_one(object);
        if (again) return n - 1;
    }
}

/* Returns the settings in force for a pool of this name. */
static uint32_t flags_of(const char *name, const char *debug) {
    begin_it((options){.name = name, .nameless = !name, .object_size = 8, .capacity = SLOTS, .debug = debug});
    uint32_t flags = stats_of_it().debug;
    end_it();
    return flags;
}

typedef struct setting {
    const char *environment, *own;
    uint32_t flags, quarantine;
} setting;

static void check(const setting *r) {
    if (r->environment)
        setenv("KOLK_DEBUG", r->environment, 1);
    else
        unsetenv("KOLK_DEBUG");
    begin_it((options){.name = "bullets", .object_size = 8, .capacity = SLOTS, .debug = r->own});
    uint32_t flags = stats_of_it().debug, waits = it->kind == &kinds[0] ? slots_that_wait() : r->quarantine;
    if (flags != (r->flags & it->kind->debug) || waits != r->quarantine)
        fail_msg("KOLK_DEBUG=%s, debug = %s: flags %u, quarantine %u", r->environment ? r->environment : "(unset)",
                 r->own ? r->own : "NULL", flags, waits);
    end_it();
}

/* promise: base.h "fill, guard, quarantine=64 and sites", "Slot maps have fill ... no settings" */
static void test_words_of_a_descriptor(void **state) {
    static const setting rows[] = {
        {NULL, NULL, 0, 0},
        {NULL, "", 0, 0},
        {NULL, "   ", 0, 0},
        {NULL, "fill", F, 0},
        {NULL, "guard", G, 0},
        {NULL, "sites", S, 0},
        {NULL, "sites=1", S, 0},
        {NULL, "sites=16", S, 0},
        {NULL, "trace", T, 0},
        {NULL, "quarantine=1", Q, 1},
        {NULL, "quarantine=64", Q, 64},
        {NULL, "quarantine=0007", Q, 7},
        {NULL, "all", F | G | Q | S, 64},
        {NULL, "fill,guard,quarantine=3,sites,trace", F | G | Q | S | T, 3},
        {NULL, "trace,sites,quarantine=3,guard,fill", F | G | Q | S | T, 3},
        {NULL, "all,trace", F | G | Q | S | T, 64},
        {NULL, "all,quarantine=5", F | G | Q | S, 5},
        {NULL, "quarantine=5,all", F | G | Q | S, 5},
        {NULL, "  fill ,  guard  ", F | G, 0},
        {NULL, ",,fill,,sites,", F | S, 0},
        {NULL, "fill,fill", F, 0},
        {NULL, "quarantine=3,quarantine=9", Q, 9},
        /* longer than the pool: its last alloc takes a slot from quarantine */
        {NULL, "quarantine=99", Q, 99},
        {NULL, "quarantine=100", Q, 99},
        {NULL, "quarantine=4294967295", Q, 99},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) check(&rows[i]);
}

/* promise: pool.h "KOLK_DEBUG in the environment replaces them"; slotmap.h "NULL: none, unless KOLK_DEBUG"; shared.h
 * "KOLK_DEBUG in the environment ... always uncached"; base.h "all pools if there is no GLOB; they replace" */
static void test_the_environment_takes_the_place_of_the_descriptor(void **state) {
    static const setting rows[] = {
        {"fill", NULL, F, 0},
        {"guard", "fill", G, 0},
        {"quarantine=7", "quarantine=9,sites", Q, 7},
        {"guard:bullets", "fill", G, 0},
        {"guard:bombs", "fill", F, 0}, /* an entry whose glob does not match has no effect */
        {"guard:bombs", NULL, 0, 0},
        {":bullets", "fill", 0, 0}, /* an entry without settings */
        {":bombs", "fill", F, 0},
        {"", "fill", F, 0}, /* the variable is set, but empty */
        {" ", "fill", F, 0},
        {";;", "fill", F, 0},
        {",", "fill", F, 0},
        {" , ; ,,", "fill", F, 0},
        {",:bullets", "fill", 0, 0},
        {"", NULL, 0, 0},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) check(&rows[i]);
}

static void test_several_entries(void **state) {
    static const setting rows[] = {
        {"fill;guard", NULL, F | G, 0}, /* all matching entries apply */
        {"fill:bul*;guard:*lets;sites:b", "trace", F | G, 0},
        {"fill,guard:bombs;sites:bullets", "trace", S, 0},
        {"fill,quarantine=4:bombs;trace", "sites", T, 0},
        {" fill : bullets ; guard : b* ", NULL, F | G, 0},
        {";fill;;sites;", NULL, F | S, 0},
        {"quarantine=4:bullets;all:bombs", NULL, Q, 4},
        {"quarantine=4:bombs;all:bullets", NULL, F | G | Q | S, 64},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) check(&rows[i]);
}

static void test_globs(void **state) {
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
        {"b[u]*", "bullets", false}, /* no other character is special */
        {"a.c", "abc", false},
        {"menu:items", "menu:items", true}, /* the first colon ends the settings */
        {"menu:*", "menu:items", true},
        {"*:*", "menu", false},
        {"a,b", "a,b", true},
        {"", "bullets", false},
        {"", "", true}, /* matches only pools without a name */
        {"menu items", "menu items", true},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        char text[100];
        snprintf(text, sizeof text, "fill:%s", cases[i].glob);
        setenv("KOLK_DEBUG", text, 1);
        uint32_t expected = (cases[i].matches ? F : S) & row_now->kind->debug;
        if (flags_of(cases[i].name, "sites") != expected) fail_msg("%s, %s", cases[i].glob, cases[i].name);
        if (!*cases[i].name) assert_int_equal(flags_of(NULL, "sites"), expected);
    }
}

static void test_bypass_settings(void **state) {
    static const struct {
        const char *bypass, *debug;
        uint32_t flags, without; /* `without`: of a kind that has no bypass */
    } cases[] = {
        {"0", NULL, 0, 0},
        {"0", "all", F | G | Q | S, F | S},
        {"1", NULL, BY, 0},
        {"1", "all,trace", BY | S | T, F | S | T}, /* malloc blocks are not filled, guarded or quarantined */
        {"1", "fill", BY, F},
        {"", NULL, UNDER_ASAN ? BY : 0, 0}, /* by default, bypass is on under AddressSanitizer */
        {NULL, NULL, UNDER_ASAN ? BY : 0, 0},
    };
    notes taken;
    begin_notes(&taken);
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        if (cases[i].bypass)
            setenv("KOLK_BYPASS", cases[i].bypass, 1);
        else
            unsetenv("KOLK_BYPASS");
        uint32_t has = row_now->kind->debug, flags = has & BY ? cases[i].flags & has : cases[i].without;
        assert_int_equal(flags_of("it", cases[i].debug), flags);
        assert_silent(&taken);
    }
}

/* promise: base.h "The environment ... reported at exit" */
static void test_the_environment_is_read_at_each_init(void **state) {
    setenv("KOLK_DEBUG", "trace", 1);
    begin_it((options){.object_size = 8, .capacity = 3});
    setenv("KOLK_DEBUG", "sites", 1);
    assert_int_equal(stats_of_it().debug, T);
    end_it();
    assert_int_equal(flags_of("it", NULL), S);
}

/* ---- Words that are not understood ------------------------------------------------------------------------------- */

#define NOT_A_SETTING " is not a setting: fill, guard, quarantine=SLOTS, sites, move, trace, sample=N, all"
#define NOT_A_NUMBER  " is not understood: quarantine=SLOTS takes a number from 1 to 4294967295"
#define NO_DEPTH      " is not understood: sites=CALLS takes a number from 1 to 16"
#define NO_SHARE      " is not understood: sample=N takes a number from 1 to 4294967295"

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
    {"sites=", "\"sites=\"" NO_DEPTH},
    {"sites=0", "\"sites=0\"" NO_DEPTH},
    {"sites=17", "\"sites=17\"" NO_DEPTH},
    {"quarantine=0", "\"quarantine=0\"" NOT_A_NUMBER},
    {"quarantine=-1", "\"quarantine=-1\"" NOT_A_NUMBER},
    {"quarantine=+1", "\"quarantine=+1\"" NOT_A_NUMBER},
    {"quarantine=3x", "\"quarantine=3x\"" NOT_A_NUMBER},
    {"quarantine=1 2", "\"quarantine=1 2\"" NOT_A_NUMBER},
    {"quarantine=1=2", "\"quarantine=1=2\"" NOT_A_NUMBER},
    {"quarantine=4294967296", "\"quarantine=4294967296\"" NOT_A_NUMBER},
    {"quarantine=18446744073709551617", "\"quarantine=18446744073709551617\"" NOT_A_NUMBER},
    {"sample", "\"sample\"" NO_SHARE},
    {"sample=0", "\"sample=0\"" NO_SHARE},
    {"sample=1/2", "\"sample=1/2\"" NO_SHARE},
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
    reports kept;
    begin_reports(&kept);
    for (size_t i = 0; i < LENGTH_OF(bad_words); i++) {
        char text[200];
        snprintf(text, sizeof text, "fill, %s,guard", bad_words[i].word);
        kept.count = kept.read = 0;
        for (unsigned n = 0; n < 2; n++) {
            assert_int_equal(flags_of("bombs", text),
                             (F | G) & row_now->kind->debug); /* the list's other settings still apply */
            assert_refused(&kept, "bombs", bad_words[i].sentence);
            assert_no_more(&kept);
        }
        for (unsigned n = 0; n < 2; n++) {
            flags_of(n ? "" : NULL, text);
            assert_refused(&kept, "a pool's .debug", bad_words[i].sentence);
        }
    }
}

static void test_several_bad_words(void **state) {
    reports kept;
    begin_reports(&kept);
    assert_int_equal(flags_of("bombs", "x,quarantine=,fill,y"), F & row_now->kind->debug);
    assert_refused(&kept, "bombs", "\"x\"" NOT_A_SETTING);
    assert_refused(&kept, "bombs", "\"quarantine=\"" NOT_A_NUMBER);
    assert_refused(&kept, "bombs", "\"y\"" NOT_A_SETTING);
    assert_no_more(&kept);
    /* The environment's settings replace the descriptor's, which are not read. */
    setenv("KOLK_DEBUG", "sites", 1);
    assert_int_equal(flags_of("bombs", "x"), S);
    assert_no_more(&kept);
}

/* Mistakes in the environment are reported once per process, so each case runs in its own process. */

static const char *variable = "KOLK_DEBUG", *environment;

static void init_in_this_environment(void) {
    static const char *const names[] = {"bullets", "bombs", "bullets"};
    setenv(variable, environment, 1); /* reported by the default handler, which prints and returns */
    for (size_t i = 0; i < LENGTH_OF(names); i++) {
        if (init_it((options){.name = names[i], .object_size = 8, .capacity = 3}) != KOLK_OK)
            fprintf(stderr, "init failed\n");
        fprintf(stderr, "%u ", (unsigned)stats_of_it().debug);
        it->kind->end(it);
    }
}

static void assert_prints(const char *settings, const char *said, uint32_t first, uint32_t second) {
    char text[1000], expected[1000];
    environment = settings;
    snprintf(expected, sizeof expected, "%s%u %u %u ", said, (unsigned)first, (unsigned)second, (unsigned)first);
    int status = run_apart(init_in_this_environment, text, sizeof text);
    assert_string_equal(text, expected);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_bad_words_of_the_environment_are_said_once(void **state) {
    uint32_t fills = F & row_now->kind->debug;
    for (size_t i = 0; i < LENGTH_OF(bad_words); i++) {
        char text[200], said[400];
        snprintf(text, sizeof text, "%s,fill", bad_words[i].word);
        snprintf(said, sizeof said, "kolk: KOLK_DEBUG: %s\n", bad_words[i].sentence);
        assert_prints(text, said, fills, fills);
    }
    assert_prints("fill", "", fills, fills);
    /* All bad words are reported together, including those in entries for other pools. */
    assert_prints("fill:bullets;guards:bombs;quarantine=:x",
                  "kolk: KOLK_DEBUG: \"guards\"" NOT_A_SETTING "\n"
                  "kolk: KOLK_DEBUG: \"quarantine=\"" NOT_A_NUMBER "\n",
                  fills, 0);
}

#define NO_SAMPLE "\"sample=7\" has no effect: only heaps have guarded blocks"

/* Settings for all pools, or for a glob, may be meant for heaps. promise: base.h "In another pool's `debug`" */
static void test_only_heaps_have_samples(void **state) {
    reports kept;
    uint32_t fills = F & row_now->kind->debug;
    assert_prints("sample=7", "", 0, 0);
    assert_prints("sample=7:b*", "", 0, 0);
    assert_prints("sample=7,fill:bullets", "kolk: bullets: " NO_SAMPLE "\n", fills, 0);
    begin_reports(&kept);
    for (unsigned n = 0; n < 2; n++) {
        assert_int_equal(flags_of("bombs", "fill,sample=7"), fills);
        assert_refused(&kept, "bombs", NO_SAMPLE);
    }
    setenv("KOLK_DEBUG", "fill", 1);
    assert_int_equal(flags_of("bombs", "sample=7"), fills);
    assert_no_more(&kept);
}

static void test_bad_words_for_bypass_are_said_once(void **state) {
    static const char *const words[] = {"2", "yes", "01", " 1", "-1"};
    variable = "KOLK_BYPASS";
    for (size_t i = 0; i < LENGTH_OF(words); i++) {
        char said[200];
        uint32_t flags = UNDER_ASAN ? BY : 0; /* as if the variable were unset */
        snprintf(said, sizeof said, "kolk: KOLK_BYPASS: \"%s\" is neither 0 nor 1\n", words[i]);
        assert_prints(words[i], said, flags, flags);
    }
    variable = "KOLK_DEBUG";
}

static void print_failure(const kolk_failure *failure, void *context) {
    fprintf(stderr, "%s, rule %d, of %s", failure->sentence, failure->rule, failure->pool);
}

static void init_with_a_handler(void) {
    kolk_set_failure_handler(print_failure, NULL);
    setenv("KOLK_BYPASS", "maybe", 1);
    for (int i = 0; i < 2; i++) {
        if (init_it((options){.capacity = 3}) != KOLK_OK) _exit(1);
        it->kind->end(it);
    }
}

/* The same, but with a failure handler that the program has set. */
static void test_a_bad_word_for_bypass_is_a_failure(void **state) {
    char text[500], expected[500];
    run_apart(init_with_a_handler, text, sizeof text);
    snprintf(expected, sizeof expected, "kolk: KOLK_BYPASS: \"maybe\" is neither 0 nor 1, rule %d, of KOLK_BYPASS",
             KOLK_BAD_SETTING);
    assert_string_equal(text, expected);
}

/* The environment is read at each init, so a mistake may appear after the first init. */
static void init_before_it_is_wrong(void) {
    if (init_it((options){.capacity = 3}) != KOLK_OK) _exit(1);
    it->kind->end(it);
    init_in_this_environment();
}

static void test_bad_words_that_come_later(void **state) {
    char text[500];
    environment = "fil";
    run_apart(init_before_it_is_wrong, text, sizeof text);
    assert_string_equal(text, "kolk: KOLK_DEBUG: \"fil\"" NOT_A_SETTING "\n0 0 0 ");
}

/* What an init was told in texts remains true once the texts are gone. */
static void test_texts_are_copied(void **state) {
    char *texts[] = {strdup("a name"), row_now->mode->debug ? strdup(row_now->mode->debug) : NULL};
    begin_it((options){.name = texts[0], .object_size = 8, .capacity = 4, .debug = texts[1]});
    const kolk_stats before = stats_of_it();
    for (size_t n = 0; n < LENGTH_OF(texts); n++) {
        if (texts[n]) memset(texts[n], 'x', strlen(texts[n]) + 1);
        free(texts[n]);
    }
    assert_string_equal(stats_of_it().name, "a name");
    assert_int_equal(stats_of_it().debug, before.debug);
    if (it->kind->can & TAKES) give_one(take_one());
    assert_string_equal(stats_of_it().name, "a name");
    end_it();
}

int main(void) {
    static const contract contracts[] = {
        /* first: a process checks the environment thoroughly only once */
        CONTRACT(test_bad_words_of_the_environment_are_said_once, DEBUGS, IN(PLAIN)),
        CONTRACT(test_bad_words_for_bypass_are_said_once, DEBUGS, IN(PLAIN)),
        CONTRACT(test_a_bad_word_for_bypass_is_a_failure, DEBUGS, IN(PLAIN)),
        CONTRACT(test_bad_words_that_come_later, DEBUGS, IN(PLAIN)),
        CONTRACT(test_words_of_a_descriptor, DEBUGS, IN(PLAIN)),
        CONTRACT(test_the_environment_takes_the_place_of_the_descriptor, DEBUGS, IN(PLAIN)),
        CONTRACT(test_several_entries, DEBUGS, IN(PLAIN)),
        CONTRACT(test_globs, DEBUGS, IN(PLAIN)),
        CONTRACT(test_bypass_settings, DEBUGS, IN(PLAIN)),
        CONTRACT(test_the_environment_is_read_at_each_init, DEBUGS, IN(PLAIN)),
        CONTRACT(test_bad_words_of_a_descriptor_are_said_each_time, DEBUGS, IN(PLAIN)),
        CONTRACT(test_several_bad_words, DEBUGS, IN(PLAIN)),
        CONTRACT(test_only_heaps_have_samples, DEBUGS, IN(PLAIN)),
        CONTRACT(test_texts_are_copied, 0, IN_EVERY_MODE),
    };
    return run_contracts(contracts, LENGTH_OF(contracts), NULL, plain_environment);
}
