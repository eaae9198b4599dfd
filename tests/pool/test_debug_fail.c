/* runs: not:qemu */
/* KOLK_FAIL: forced failures, in which an alloc fails as if the pool were full: exactly every n-th alloc, or at random,
 * repeatable with a seed. Also tests which pools it applies to, how on_full and an overflow pool react, and how words
 * that are not understood are reported. */
#include "../help/debug_test.h"

#include <math.h>

#define SLOTS 50u

static void make_failing(kolk_pool *pool, const char *failures, kolk_pool_desc desc) {
    setenv("KOLK_FAIL", failures, 1);
    if (!desc.name) desc.name = "bullets";
    if (!desc.object_size) desc.object_size = 24;
    if (!desc.capacity) desc.capacity = SLOTS;
    make_pool(pool, &desc);
}

static double no_cost(const void *object, void *context) {
    return 0;
}

/* Allocates one object, in one of several ways. */
static void *alloc_somehow(kolk_pool *pool, unsigned way) {
    void *object = NULL;
    if (way == 0) return kolk_pool_alloc(pool);
    if (way == 1) return kolk_pool_alloc_zeroed(pool);
    if (way == 2) return kolk_pool_alloc_urgent(pool);
    if (way == 3) return kolk_pool_alloc_over(pool, -1); /* cheaper than any object, so nothing is evicted */
    return kolk_pool_alloc_n(pool, &object, 1) ? object : NULL;
}

#define WAYS 5u

/* ---- Every n-th alloc -------------------------------------------------------------------------------------------- */

static const struct {
    const char *debug, *bypass;
    uint32_t flags;
} modes[] = {
    {NULL, "0", KOLK_DEBUG_FAIL},
    {"fill,guard,quarantine=4", "0", KOLK_DEBUG_FAIL | KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE},
    {NULL, "1", KOLK_DEBUG_FAIL | KOLK_DEBUG_BYPASS},
};

/* promise: base.h "in pools whose ... entry applies" */
static void test_every_nth_exactly(void **state) {
    static const uint32_t periods[] = {1, 2, 3, 7, 10, 49, 1000};
    for (unsigned n = 0; n < 3 * LENGTH_OF(modes) * LENGTH_OF(periods); n++) {
        kolk_pool pool;
        kolk_stats stats;
        char setting[40];
        uint32_t period = periods[n / 3 / LENGTH_OF(modes)];
        snprintf(setting, sizeof setting, "bul*:every=%u", period);
        setenv("KOLK_BYPASS", modes[n / 3 % LENGTH_OF(modes)].bypass, 1);
        make_failing(&pool, setting,
                     (kolk_pool_desc){
                         .reuse = orders[n % 3], .full.cost = no_cost, .debug = modes[n / 3 % LENGTH_OF(modes)].debug});
        assert_int_equal(debug_flags(&pool), modes[n / 3 % LENGTH_OF(modes)].flags);
        uint32_t failed = 0;
        for (uint32_t asked = 1; asked <= 2100; asked++) {
            bool fails = asked % period == 0;
            void *object = alloc_somehow(&pool, asked % WAYS);
            assert_int_equal(object == NULL, fails);
            failed += fails;
            if (!object) continue;
            memset(object, (int)asked, 24);
            kolk_handle handle = kolk_pool_handle_of(&pool, object);
            assert_ptr_equal(kolk_pool_get(&pool, handle), object);
            give_back(&pool, object); /* frees are not counted */
        }
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.failed, failed);
        assert_int_equal(stats.count, 0);
        assert_int_equal(stats.evictions, 0);
        end_pool(&pool);
    }
}

/* Each object of an alloc_n counts, and the first failure ends the call. */
static void test_alloc_n(void **state) {
    kolk_pool pool;
    void *objects[20];
    make_failing(&pool, "*:every=10", (kolk_pool_desc){.name = "several"});
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 20), 9);
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 20), 9);
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 9), 9);
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 9), 0);
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 9), 9);
    assert_true(kolk_pool_is_valid(&pool));
    end_pool(&pool);
}

/* Allocs that fail because the pool is really full count as well. */
static void test_a_full_pool(void **state) {
    kolk_pool pool;
    make_failing(&pool, "*:every=3", (kolk_pool_desc){.capacity = 1});
    void *object = taken_from(&pool);
    assert_null(kolk_pool_alloc(&pool));
    kolk_pool_free(&pool, object);
    assert_null(kolk_pool_alloc(&pool)); /* the third alloc */
    assert_non_null(kolk_pool_alloc(&pool));
    end_pool(&pool);
}

/* ---- At random --------------------------------------------------------------------------------------------------- */

#define TRIES 40000u

static uint32_t failures_by_chance(const char *setting, uint8_t *which) {
    kolk_pool pool;
    uint32_t failed = 0;
    make_failing(&pool, setting, (kolk_pool_desc){.capacity = 1});
    for (uint32_t i = 0; i < TRIES; i++) {
        void *object = kolk_pool_alloc(&pool);
        which[i] = object == NULL;
        failed += which[i];
        kolk_pool_free(&pool, object);
    }
    end_pool(&pool);
    return failed;
}

static void test_by_chance(void **state) {
    static uint8_t first[TRIES], again[TRIES], other[TRIES];
    static const struct {
        const char *text;
        double chance;
    } chances[] = {{"0", 0},     {"0.0", 0}, {"0.01", 0.01},     {"0.25", 0.25}, {".5", 0.5},       {"0.50", 0.5},
                   {"0.9", 0.9}, {"1", 1},   {"1.000000000", 1}, {"1.", 1},      {"0.000000001", 0}};
    for (size_t i = 0; i < LENGTH_OF(chances); i++) {
        char setting[60];
        double expected = chances[i].chance * TRIES, spread = 6 * sqrt(expected * (1 - chances[i].chance));
        for (unsigned seed = 0; seed < (does_a_part() ? 4 : 12); seed++) {
            if (seed) /* 0: without a seed */
                snprintf(setting, sizeof setting, "*:chance=%s,seed=%u", chances[i].text, seed * seed * seed);
            else
                snprintf(setting, sizeof setting, "*:chance=%s", chances[i].text);
            uint32_t failed = failures_by_chance(setting, first);
            assert_true(fabs(failed - expected) <= spread + (expected < 1));
            assert_int_equal(failures_by_chance(setting, again), failed); /* the same in every run */
            assert_memory_equal(first, again, sizeof first);
            if (seed && spread > 0) assert_memory_not_equal(first, other, sizeof first);
            memcpy(other, first, sizeof other);
        }
    }
    /* the order of the words does not matter */
    failures_by_chance("*:seed=7,chance=0.3", first);
    failures_by_chance(" * : chance=0.3 , seed=7 ", again);
    assert_memory_equal(first, again, sizeof first);
}

/* ---- Which pools ------------------------------------------------------------------------------------------------- */

/* Returns the number of the first alloc that fails, or 0 if none of many fails. */
static uint32_t first_failure(const char *failures, const char *name) {
    kolk_pool pool;
    uint32_t n = 1;
    setenv("KOLK_FAIL", failures, 1);
    make_pool(&pool, &(kolk_pool_desc){.name = name, .object_size = 8, .capacity = 1});
    for (void *object; n < 100 && (object = kolk_pool_alloc(&pool)); n++) kolk_pool_free(&pool, object);
    assert_int_equal(debug_flags(&pool), n < 100 ? KOLK_DEBUG_FAIL : 0);
    end_pool(&pool);
    return n < 100 ? n : 0;
}

static void test_which_pools(void **state) {
    static const struct {
        const char *failures, *name;
        uint32_t first;
    } rows[] = {
        {"bullets:every=3", "bullets", 3},
        {"bullets:every=3", "bullet", 0},
        {"bullets:every=3", "bullets2", 0},
        {"bullets:every=3", "", 0},
        {"bullets:every=3", NULL, 0},
        {"*:every=3", NULL, 3},
        {"*:every=3", "", 3},
        {"bul*:every=3", "bullets", 3},
        {"*lets:every=3", "bullets", 3},
        {"?ullet?:every=3", "bullets", 3},
        {"?ullet?:every=3", "bullet", 0},
        {"b*t*:every=3", "bullets", 3},
        {" bullets : every=3 ", "bullets", 3},
        {"bombs:every=2;bullets:every=3", "bullets", 3},
        {"bombs:every=2;bullets:every=3", "bombs", 2},
        {"bombs:every=2;bullets:every=3", "boats", 0},
        {"bul*:every=2;bullets:every=3;*:every=4", "bullets", 2}, /* the first matching entry applies */
        {"bullets:every=3;*:every=4", "bullets", 3},
        {"bullets:every=3;*:every=4", "bombs", 4},
        {"bullets:every=5,seed=9", "bullets", 5},
        {";;bullets:every=3;", "bullets", 3},
        {"bullets:every=0003", "bullets", 3},
        {"bullets:every=99", "bullets", 99},
        {"bullets:;*:every=4", "bullets", 0}, /* even if it has no settings */
        {"bullets:;*:every=4", "bombs", 4},
        {"", "bullets", 0},
        {";", "bullets", 0},
        {"  ", "bullets", 0},
    };
    notes taken;
    begin_notes(&taken);
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        uint32_t first = first_failure(rows[i].failures, rows[i].name);
        if (taken.count) fail_msg("%s: %s", rows[i].failures, taken.sentence);
        if (first != rows[i].first)
            fail_msg("%s, pool %s: %u", rows[i].failures, rows[i].name ? rows[i].name : "NULL", first);
    }
}

/* A pool can be exempted by an entry of its own. promise: base.h "in pools whose ... entry applies" */
static void test_which_pools_not(void **state) {
    kolk_pool pool;
    make_failing(&pool, "bullets:chance=0;*:every=1", (kolk_pool_desc){.name = "bullets"});
    for (uint32_t i = 0; i < SLOTS; i++) taken_from(&pool);
    end_pool(&pool);
}

/* KOLK_FAIL is read at each init, like KOLK_DEBUG, but a descriptor cannot set it. */
static void test_the_environment_is_read_at_each_init(void **state) {
    kolk_pool failing, sound;
    notes taken;
    begin_notes(&taken);
    setenv("KOLK_DEBUG", "fill:bul*", 1);
    make_failing(&failing, "*:every=2", (kolk_pool_desc){.debug = "guard"});
    assert_int_equal(debug_flags(&failing), KOLK_DEBUG_FAIL | KOLK_DEBUG_FILL);
    unsetenv("KOLK_FAIL");
    make_pool(&sound, &(kolk_pool_desc){.name = "bullets", .object_size = 8, .capacity = 9});
    assert_int_equal(debug_flags(&sound), KOLK_DEBUG_FILL);
    for (int i = 0; i < 4; i++) {
        assert_non_null(kolk_pool_alloc(&sound));
        assert_int_equal(kolk_pool_alloc(&failing) == NULL, i % 2);
    }
    end_pool(&failing);
    end_pool(&sound);
    assert_silent(&taken);
    unsetenv("KOLK_DEBUG");
    make_pool(&sound, &(kolk_pool_desc){.name = "bullets", .object_size = 8, .capacity = 9, .debug = "every=1"});
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_BAD_SETTING);
    assert_int_equal(debug_flags(&sound), 0);
    end_pool(&sound);
}

/* ---- on_full and overflow ---------------------------------------------------------------------------------------- */

typedef struct hooked {
    kolk_pool pool;
    void *object; /* for the hook to free */
    void *given;  /* allocated by the hook */
    unsigned calls;
    bool allocs;
} hooked;

static bool on_full(kolk_pool *pool, size_t bytes, void *context) {
    hooked *h = (hooked *)context;
    assert_true(kolk_pool_is_valid(pool));
    h->calls++;
    if (h->object) kolk_pool_free(pool, h->object);
    if (h->allocs) h->given = kolk_pool_alloc(pool);
    h->object = NULL;
    return true;
}

static void test_on_full_is_asked(void **state) {
    hooked h = {.calls = 0};
    kolk_stats stats;
    make_failing(&h.pool, "*:every=2", (kolk_pool_desc){.full.on_full = on_full, .context = &h});
    void *object = taken_from(&h.pool);
    assert_null(kolk_pool_alloc(&h.pool)); /* the pool is full, and the hook frees nothing */
    assert_int_equal(h.calls, 1);
    assert_non_null(kolk_pool_alloc(&h.pool));
    assert_int_equal(h.calls, 1);
    h.object = object;
    assert_non_null(kolk_pool_alloc(&h.pool)); /* the fourth alloc: the hook has made room */
    assert_int_equal(h.calls, 2);
    kolk_pool_stats(&h.pool, &stats);
    assert_int_equal(stats.failed, 1);
    assert_int_equal(stats.evictions, 1);
    assert_int_equal(stats.count, 2);
    assert_true(kolk_pool_is_valid(&h.pool));
    end_pool(&h.pool);
}

/* An alloc inside the hook may be forced to fail as well, and does not call the hook again. */
static void test_an_alloc_inside_the_hook(void **state) {
    hooked h = {.calls = 0, .allocs = true};
    make_failing(&h.pool, "*:every=1", (kolk_pool_desc){.full.on_full = on_full, .context = &h});
    assert_null(kolk_pool_alloc(&h.pool));
    assert_null(h.given);
    assert_int_equal(h.calls, 1);
    assert_int_equal(kolk_pool_count(&h.pool), 0);
    end_pool(&h.pool);
}

static void test_ready_made_hooks(void **state) {
    kolk_pool pool;
    kolk_stats stats;
    make_failing(&pool, "*:every=1", (kolk_pool_desc){.ages = true, .full.on_full = kolk_pool_evict_oldest});
    assert_null(kolk_pool_alloc(&pool)); /* there is no object to evict */
    end_pool(&pool);
    make_failing(&pool, "*:every=4", (kolk_pool_desc){.ages = true, .full.on_full = kolk_pool_evict_oldest});
    void *oldest = taken_from(&pool), *second = taken_from(&pool);
    taken_from(&pool);
    kolk_handle handle = kolk_pool_handle_of(&pool, oldest);
    assert_non_null(kolk_pool_alloc(&pool));
    assert_null(kolk_pool_get(&pool, handle));
    assert_ptr_equal(kolk_pool_oldest(&pool), second);
    kolk_pool_stats(&pool, &stats);
    assert_int_equal(stats.evictions, 1);
    assert_int_equal(stats.count, 3);
    end_pool(&pool);
}

/* trap_full reports that the failure was forced. */
static void test_trap_full(void **state) {
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    make_failing(&pool, "*:every=2", (kolk_pool_desc){.full.on_full = kolk_pool_trap_full, .max_capacity = 2 * SLOTS});
    taken_from(&pool);
    assert_null(kolk_pool_alloc(&pool));
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_FULL);
    assert_string_equal(taken.pool, "bullets");
    assert_string_equal(taken.sentence, "kolk: bullets: full: KOLK_FAIL says so; 1 of 50 slots are in use");
    while (kolk_pool_count(&pool) < 2 * SLOTS) kolk_pool_alloc(&pool);
    begin_notes(&taken);
    assert_null(kolk_pool_alloc(&pool)); /* the pool really is full now */
    assert_string_equal(taken.sentence,
                        "kolk: bullets: full: all 100 slots are in use: raise .capacity, or .max_capacity "
                        "to let the pool grow");
    end_pool(&pool);
}

static void test_the_overflow_pool_takes_over(void **state) {
    kolk_pool first, second;
    kolk_stats stats;
    make_failing(&second, "bullets:every=2", (kolk_pool_desc){.name = "second", .tag = 2, .capacity = 2});
    make_failing(&first, "bullets:every=2", (kolk_pool_desc){.tag = 1, .full.overflow = &second});
    for (int i = 0; i < 4; i++) taken_from(&first);
    assert_int_equal(kolk_pool_count(&first), 2);
    assert_int_equal(kolk_pool_count(&second), 2);
    taken_from(&first);
    assert_null(kolk_pool_alloc(&first)); /* forced, and the second pool is full */
    kolk_pool_stats(&first, &stats);
    assert_int_equal(stats.failed, 1);
    end_pool(&first);
    end_pool(&second);
}

/* ---- Words that are not understood ------------------------------------------------------------------------------- */

#define NOT_UNDERSTOOD " is not understood: every=N and seed=N from 1, chance=0.01 up to 1"

static const char *environment;

static void init_pools_in_this_environment(void) {
    static const char *const names[] = {"bullets", "bombs", "bullets"};
    setenv("KOLK_FAIL", environment, 1); /* reported by the default handler, which prints and returns */
    for (size_t i = 0; i < LENGTH_OF(names); i++) {
        kolk_pool pool;
        if (kolk_pool_init(&pool, &(kolk_pool_desc){.name = names[i], .object_size = 8, .capacity = 3}) != KOLK_OK)
            fprintf(stderr, "init failed\n");
        unsigned n = 1;
        while (n < 9 && kolk_pool_alloc(&pool)) kolk_pool_clear(&pool), n++;
        fprintf(stderr, "%u ", n % 9);
        kolk_pool_deinit(&pool);
    }
    unsetenv("KOLK_FAIL"); /* otherwise names that no pool has are reported at exit */
    exit(0);               /* exit, so that coverage includes this process */
}

/* Mistakes in the environment are reported once per process, so each case runs in its own process. */
static void assert_prints(const char *failures, const char *expected) {
    char text[1000];
    environment = failures;
    int status = run_apart(init_pools_in_this_environment, text, sizeof text);
    if (strcmp(text, expected) != 0) fail_msg("KOLK_FAIL=%s: %s, not %s", failures, text, expected);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void test_bad_words_are_said_once(void **state) {
    static const char *const words[] = {"every",
                                        "every=",
                                        "every=0",
                                        "every=-1",
                                        "every=+1",
                                        "every=3x",
                                        "every=1.5",
                                        "every=1 2",
                                        "every=1=2",
                                        "Every=3",
                                        "every =3",
                                        "every=4294967296",
                                        "chance",
                                        "chance=",
                                        "chance=.",
                                        "chance=..5",
                                        "chance=1.1",
                                        "chance=2",
                                        "chance=1.0000000001",
                                        "chance=-0",
                                        "chance=1e-3",
                                        "chance=0x1",
                                        "chance=0.5%",
                                        "chance=50%",
                                        "chance= 0.5",
                                        "chance=0.5.5",
                                        "seed",
                                        "seed=",
                                        "seed=0",
                                        "seed=-1",
                                        "seed=4294967296",
                                        "fill",
                                        "fail",
                                        "=",
                                        "always",
                                        "every=18446744073709551617"};
    for (size_t i = 0; i < LENGTH_OF(words); i++) {
        char failures[200], expected[400];
        snprintf(failures, sizeof failures, "bullets:%s,every=3", words[i]);
        snprintf(expected, sizeof expected, "kolk: KOLK_FAIL: \"%s\"" NOT_UNDERSTOOD "\n3 0 3 ", words[i]);
        assert_prints(failures, expected); /* the bad word is ignored, the other settings apply */
        snprintf(failures, sizeof failures, "x:%s;bombs:every=2", words[i]);
        snprintf(expected, sizeof expected, "kolk: KOLK_FAIL: \"%s\"" NOT_UNDERSTOOD "\n0 2 0 ", words[i]);
        assert_prints(failures, expected); /* also in entries for other pools */
    }
    assert_prints("bullets:every=3", "3 0 3 ");
    assert_prints("bullets:every=x,seed=y;bombs:chance=z", "kolk: KOLK_FAIL: \"every=x\"" NOT_UNDERSTOOD "\n"
                                                           "kolk: KOLK_FAIL: \"seed=y\"" NOT_UNDERSTOOD "\n"
                                                           "kolk: KOLK_FAIL: \"chance=z\"" NOT_UNDERSTOOD "\n0 0 0 ");
    assert_prints("bullets:a word that is longer than the sixty-three characters which are quoted",
                  "kolk: KOLK_FAIL: \"a word that is longer than the sixty-three characters which are\"" NOT_UNDERSTOOD
                  "\n0 0 0 ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_bad_words_are_said_once), /* first: a process checks the environment thoroughly only once */
        DEBUG_TEST(test_every_nth_exactly),
        DEBUG_TEST(test_alloc_n),
        DEBUG_TEST(test_a_full_pool),
        DEBUG_TEST(test_by_chance),
        DEBUG_TEST(test_which_pools),
        DEBUG_TEST(test_which_pools_not),
        DEBUG_TEST(test_the_environment_is_read_at_each_init),
        DEBUG_TEST(test_on_full_is_asked),
        DEBUG_TEST(test_an_alloc_inside_the_hook),
        DEBUG_TEST(test_ready_made_hooks),
        DEBUG_TEST(test_trap_full),
        DEBUG_TEST(test_the_overflow_pool_takes_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
