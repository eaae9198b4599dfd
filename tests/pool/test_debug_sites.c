/* runs: not:asan not:qemu */
/* The debug setting `sites`: where an object was allocated, where it was freed and where a call failed, as addresses
 * within the calling functions. Also the list of live objects at deinit. */
#include "../help/code_limits.h"

struct thing {
    char bytes[12];
};
KOLK_POOL_TYPE(things, struct thing)

LIMITS(spawn_n)
LIMITS(explode_n)
LIMITS(sweep)
LIMITS(look_up)
LIMITS(ask)
LIMITS(finish)

static things pool;

ALLOCATES(fire, things_alloc(&pool))
ALLOCATES(spawn, kolk_pool_alloc(&pool.pool))
ALLOCATES(spawn_zeroed, things_alloc_zeroed(&pool))
ALLOCATES(respawn, things_renew(&pool, things_alloc(&pool)))
ALLOCATES(spawn_at, kolk_pool_alloc_at(&pool.pool, kolk_handle_unpack(UINT64_C(5) << 32 | pool.pool.tag)))
ALLOCATES(spawn_in, things_alloc_in(&pool, 0, 1))

APART(spawn_n) static void *spawn_n(void) {
    void *object = NULL;
    kolk_pool_alloc_n(&pool.pool, &object, 1);
    AND_ON();
    return object;
}

GIVES_BACK(explode, things_free(&pool, (struct thing *)object))
GIVES_BACK(vanish, kolk_pool_free(&pool.pool, object))
GIVES_BACK(vanish_handle, things_free_handle(&pool, things_handle_of(&pool, (struct thing *)object)))

APART(explode_n) static void explode_n(void *object) {
    struct thing *objects[] = {NULL, (struct thing *)object};
    things_free_n(&pool, objects, 2);
    AND_ON();
}

APART(sweep) static void sweep(void *object) {
    (void)object;
    things_clear(&pool);
    AND_ON();
}

APART(look_up) static void look_up(kolk_handle handle) {
    kolk_pool_get(&pool.pool, handle);
    AND_ON();
}

APART(ask) static void ask(void *object) {
    kolk_pool_index(&pool.pool, object);
    AND_ON();
    kolk_pool_handle_of(&pool.pool, object);
    AND_ON();
}

APART(finish) static void finish(void) {
    things_deinit(&pool);
    AND_ON();
}

static const struct {
    void *(*alloc)(void);
    const limits *in;
} allocs[] = {
    {fire, &in_fire},       {spawn, &in_spawn},       {spawn_n, &in_spawn_n},  {spawn_zeroed, &in_spawn_zeroed},
    {respawn, &in_respawn}, {spawn_at, &in_spawn_at}, {spawn_in, &in_spawn_in}};

static const struct {
    void (*free)(void *object);
    const limits *in;
} frees[] = {{explode, &in_explode},
             {vanish, &in_vanish},
             {vanish_handle, &in_vanish_handle},
             {explode_n, &in_explode_n},
             {sweep, &in_sweep}};

static void start(const char *debug) {
    assert_int_equal(things_init(&pool, &(kolk_pool_desc){.name = "things", .capacity = 20, .debug = debug}), KOLK_OK);
}

/* ---- The sites of a failure -------------------------------------------------------------------------------------- */

static void check_sites_of_a_double_free(const char *debug, unsigned a, unsigned f) {
    reports kept;
    begin_reports(&kept);
    start(debug);
    void *object = allocs[a].alloc();
    assert_true(object && things_is_valid(&pool));
    frees[f].free(object);
    assert_true(things_is_valid(&pool));
    assert_no_more(&kept);
    vanish(object);
    const report *now = next_report(&kept);
    assert_int_equal(now->failure.rule, KOLK_DOUBLE_FREE);
    assert_true(is_within(now->failure.alloc_site, allocs[a].in));
    assert_true(is_within(now->failure.free_site, frees[f].in));
    assert_true(is_within(now->failure.site, &in_vanish));
    assert_sentence(now, " by ", "kolk: things: double free of slot 0");
    assert_no_more(&kept);
    end_pool(&pool.pool);
}

static void test_each_way_to_alloc_and_to_free(void **state) {
    (void)state;
    for (unsigned a = 0; a < LENGTH_OF(allocs); a++) check_sites_of_a_double_free("sites", a, a % LENGTH_OF(frees));
    for (unsigned f = 0; f < LENGTH_OF(frees); f++) check_sites_of_a_double_free("all", f, f);
    setenv("KOLK_BYPASS", "1", 1);
    for (unsigned f = 0; f < LENGTH_OF(frees); f++) check_sites_of_a_double_free("sites", 4 - f, f);
}

static void test_sites_are_of_the_last_life(void **state) {
    (void)state;
    reports kept;
    begin_reports(&kept);
    start("sites,guard");
    void *object = fire();
    explode(object);
    assert_ptr_equal(spawn(), object);
    ((char *)object)[12] = 1;
    vanish(object);
    const report *now = next_report(&kept); /* the object is alive, so it has no free site */
    assert_int_equal(now->failure.rule, KOLK_OVERFLOW);
    assert_true(is_within(now->failure.alloc_site, &in_spawn));
    assert_null(now->failure.free_site);
    assert_true(is_within(now->failure.site, &in_vanish));
    assert_sentence(now, ", seen by ", "kolk: things: overflow of slot 0: 01 written 0 bytes behind its end");
    explode(object);
    now = next_report(&kept);
    assert_true(is_within(now->failure.alloc_site, &in_spawn));
    assert_true(is_within(now->failure.free_site, &in_vanish));
    assert_true(is_within(now->failure.site, &in_explode));
    end_pool(&pool.pool);
    assert_no_more(&kept);
}

/* A write after the free is found by the call that next checks the slot. */
static void test_sites_of_a_write_after_free(void **state) {
    (void)state;
    reports kept;
    start("sites,fill");
    for (unsigned n = 0; n < 2; n++) {
        begin_reports(&kept);
        char *object = (char *)fire();
        explode(object);
        object[2] = 0x55;
        if (n == 0)
            assert_ptr_equal(spawn(), object);
        else
            sweep(NULL);
        const report *now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_WRITE_AFTER_FREE);
        assert_true(is_within(now->failure.alloc_site, &in_fire));
        assert_true(is_within(now->failure.free_site, &in_explode));
        assert_true(is_within(now->failure.site, n == 0 ? &in_spawn : &in_sweep));
        assert_sentence(now, ", seen by ", "kolk: things: write after free to slot 0: 55 written at byte 2 of it");
        if (n == 0) explode(object);
        assert_no_more(&kept);
    }
    char *object = (char *)fire();
    vanish(object);
    object[2] = 0x55;
    finish();
    const report *now = next_report(&kept);
    assert_true(is_within(now->failure.free_site, &in_vanish));
    assert_true(is_within(now->failure.site, &in_finish));
    assert_no_more(&kept);
}

static void test_the_site_of_other_failures(void **state) {
    (void)state;
    static const char *const debug[] = {NULL, "sites"};
    for (size_t n = 0; n < LENGTH_OF(debug); n++) { /* failure.site is reported even without the setting */
        reports kept;
        begin_reports(&kept);
        start(debug[n]);
        void *object = fire();
        vanish(object);
        vanish(object);
        const report *now = next_report(&kept);
        assert_true(is_within(now->failure.site, &in_vanish));
        assert_true((now->failure.alloc_site != NULL) == (n == 1));
        assert_true((now->failure.free_site != NULL) == (n == 1));
        assert_int_equal(now->failure.sites, n == 1);
        if (n == 0) assert_string_equal(now->sentence, "kolk: things: double free of slot 0"); /* it has no sites */
        explode(moved(object, 1));
        now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_INTERIOR_POINTER);
        assert_true(is_within(now->failure.site, &in_explode));
        explode(&kept);
        now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_FOREIGN_POINTER);
        assert_true(is_within(now->failure.site, &in_explode));
        assert_null(now->failure.alloc_site);
        ask(object);
        for (int i = 0; i < 2; i++) {
            now = next_report(&kept);
            assert_int_equal(now->failure.rule, KOLK_DEAD_OBJECT);
            assert_true(is_within(now->failure.site, &in_ask));
        }
        if (n == 1) {
            look_up(kolk_handle_unpack(UINT64_C(1) << 32 | (pool.pool.tag ^ UINT32_C(1) << 31)));
            now = next_report(&kept);
            assert_int_equal(now->failure.rule, KOLK_WRONG_POOL);
            assert_true(is_within(now->failure.site, &in_look_up));
        }
        end_pool(&pool.pool);
        assert_no_more(&kept);
    }
}

static void test_the_site_of_a_full_pool(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(allocs) - 2; n++) { /* spawn_at and spawn_in do not ask */
        reports kept;
        begin_reports(&kept);
        assert_int_equal(things_init(&pool, &(kolk_pool_desc){.capacity = 1,
                                                              .full.on_full = kolk_pool_trap_full,
                                                              .debug = n % 2 ? NULL : "sites"}),
                         KOLK_OK);
        void *only = taken_from(&pool.pool);
        assert_null(allocs[n].alloc());
        const report *now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_FULL);
        assert_true(is_within(now->failure.site, allocs[n].in));
        give_back(&pool.pool, only);
        end_pool(&pool.pool);
    }
}

/* What the report of a full pool must say of these live objects: they are listed by the leaks. */
static const char *holders_by_leaks(reports *kept) {
    static char text[1600];
    const report *by[4];
    for (size_t n = 0; n < LENGTH_OF(by); n++) by[n] = next_report(kept);
    text[0] = 0;
    for (uint32_t count = 5; count > 1; count--) {
        for (size_t n = 0; n < LENGTH_OF(by); n++) {
            char words[520];
            if (by[n]->failure.count != count) continue;
            snprintf(words, sizeof words, "%s%u", count < 5 ? ", " : "", count);
            strcat(text, words);
            put_site(text, sizeof text, " from ", by[n]->failure.alloc_site, NULL, 1);
        }
    }
    return text;
}

/* promise: base.h "For KOLK_FULL, with ... otherwise NULL", pool.h "reports a bug ... of its objects" */
static void test_who_holds_a_full_pool(void **state) {
    (void)state;
    reports kept;
    begin_reports(&kept);
    kolk_pool_desc desc = {.name = "things", .capacity = 11, .full.on_full = kolk_pool_trap_full, .debug = "sites=1"};
    assert_int_equal(things_init(&pool, &desc), KOLK_OK);
    void *gone = spawn_at();
    for (int n = 0; n < 2; n++) spawn_n();
    for (int n = 0; n < 3; n++) spawn_zeroed();
    for (int n = 0; n < 5; n++) fire();
    vanish(gone);
    spawn();
    assert_null(fire());
    const report *now = next_report(&kept);
    const char *behind = strstr(now->sentence, "; "); /* behind the site of the alloc that failed */
    assert_int_equal(now->failure.rule, KOLK_FULL);
    assert_non_null(now->failure.holders);
    char sentence[2100];
    snprintf(sentence, sizeof sentence, "%s", behind ? behind : "nothing");
    finish();
    char expected[1602];
    snprintf(expected, sizeof expected, "; %s", holders_by_leaks(&kept));
    assert_string_equal(sentence, expected);
    assert_no_more(&kept);
    desc.debug = "fill";
    assert_int_equal(things_init(&pool, &desc), KOLK_OK);
    for (int n = 0; n < 12; n++) fire();
    assert_null(next_report(&kept)->failure.holders);
    finish();
}

/* ---- Objects that are still alive -------------------------------------------------------------------------------- */

static void assert_leak(reports *kept, uint32_t count, uint32_t slot, const limits *in, const char *sentence) {
    const report *now = next_report(kept);
    assert_int_equal(now->failure.rule, KOLK_LEAK);
    assert_string_equal(now->pool, "things");
    assert_int_equal(now->failure.count, count);
    assert_int_equal(now->failure.slot, slot);
    assert_true(is_within(now->failure.alloc_site, in));
    assert_null(now->failure.free_site);
    assert_null(now->failure.site);
    assert_sentence(now, " by ", sentence);
}

/* promise: base.h "for KOLK_WRONG_POOL ... alloc_site have leaked", "Objects that are still ... reports none" */
static void test_leaks_are_grouped_by_site_the_oldest_first(void **state) {
    (void)state;
    for (int bypassed = 0; bypassed < 2; bypassed++) {
        reports kept;
        begin_reports(&kept);
        setenv("KOLK_BYPASS", bypassed ? "1" : "0", 1);
        start("sites=1");
        void *gone[3];
        for (int i = 0; i < 3; i++) gone[i] = fire();
        for (int i = 0; i < 3; i++) explode(gone[i]); /* 2 is next, then 1 and 0 */
        assert_int_equal(things_index(&pool, spawn()), 2);
        assert_int_equal(things_index(&pool, fire()), 1);
        assert_int_equal(things_index(&pool, spawn()), 0);
        assert_int_equal(things_index(&pool, spawn_n()), 3);
        for (int i = 0; i < 3; i++) fire();
        vanish(things_at(&pool, 5));
        assert_true(things_is_valid(&pool));
        finish();
        assert_leak(&kept, 2, 2, &in_spawn, "kolk: things: 2 objects are still alive, the oldest in slot 2");
        assert_leak(&kept, 3, 1, &in_fire, "kolk: things: 3 objects are still alive, the oldest in slot 1");
        assert_leak(&kept, 1, 3, &in_spawn_n, "kolk: things: 1 object is still alive, in slot 3");
        assert_no_more(&kept);
        assert_true(is_all_zero(&pool.pool));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_each_way_to_alloc_and_to_free), DEBUG_TEST(test_sites_are_of_the_last_life),
        DEBUG_TEST(test_sites_of_a_write_after_free),   DEBUG_TEST(test_the_site_of_other_failures),
        DEBUG_TEST(test_the_site_of_a_full_pool),       DEBUG_TEST(test_leaks_are_grouped_by_site_the_oldest_first),
        DEBUG_TEST(test_who_holds_a_full_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
