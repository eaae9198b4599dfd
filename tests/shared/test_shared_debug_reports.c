/* wraps: help/no_sites.h */
/* The debug mode's reports for what only a shared pool has: waits, deferred frees, and a slot that stays with its
 * thread when a handler jumps out. The rest is in tests/contracts/test_all_reports.c. */
#include "../help/code_limits.h"
#include "../help/no_sites.h"

#include "shared_test.h"

struct thing {
    char bytes[12];
};
KOLK_SHARED_TYPE(things, struct thing)

LIMITS(look_up)
LIMITS(ask)

static things pool;
static things_local local;

ALLOCATES(spawn, kolk_shared_alloc(&local.local))
ALLOCATES(spawn_now, things_alloc_wait(&local, KOLK_NOW))
ALLOCATES(spawn_waiting, things_alloc_wait(&local, KOLK_FOREVER))

GIVES_BACK(vanish, kolk_shared_free(&local.local, object))
GIVES_BACK(vanish_later, things_free_later(&local, (struct thing *)object))

APART(look_up) static void look_up(kolk_handle handle) {
    assert_null(kolk_shared_get(&pool.pool, handle));
    AND_ON();
}

APART(ask) static void ask(void *object) {
    kolk_shared_handle_of(&pool.pool, object);
    AND_ON();
    kolk_shared_handle_of(&pool.pool, moved(object, 1));
    AND_ON();
}

static const struct {
    void *(*alloc)(void);
    const limits *in;
} allocs[] = {{spawn, &in_spawn}, {spawn_now, &in_spawn_now}, {spawn_waiting, &in_spawn_waiting}};

static const struct {
    void (*free)(void *object);
    const limits *in;
} frees[] = {{vanish, &in_vanish}, {vanish_later, &in_vanish_later}};

static void start(const char *debug) {
    kolk_shared_desc desc = {.name = "things", .capacity = 6, .max_threads = 2, .cache = 1, .debug = debug};
    assert_int_equal(things_init(&pool, &desc), KOLK_OK);
    assert_int_equal(things_local_init(&local, &pool), KOLK_OK);
}

static void end_things(void) {
    assert_true(things_is_valid(&pool));
    things_deinit(&pool);
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
}

/* ---- Sites ------------------------------------------------------------------------------------------------------- */

static void test_each_way_to_alloc_and_to_free(void **state) {
    for (unsigned n = 0; n < LENGTH_OF(allocs) * LENGTH_OF(frees) * LENGTH_OF(frees) * 3; n++) {
        unsigned a = n % LENGTH_OF(allocs), f = n / LENGTH_OF(allocs) % LENGTH_OF(frees);
        unsigned again = n / LENGTH_OF(allocs) / LENGTH_OF(frees) % LENGTH_OF(frees);
        unsigned way = n / LENGTH_OF(allocs) / LENGTH_OF(frees) / LENGTH_OF(frees);
        reports kept;
        begin_reports(&kept);
        setenv("KOLK_BYPASS", way == 2 ? "1" : "0", 1);
        start(way == 1 ? "all" : "sites");
        void *object = allocs[a].alloc();
        assert_true(object && things_is_valid(&pool));
        frees[f].free(object);
        frees[again].free(object);
        const report *now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_DOUBLE_FREE);
        assert_true(is_within(now->failure.alloc_site, allocs[a].in));
        assert_true(is_within(now->failure.free_site, frees[f].in));
        assert_true(is_within(now->failure.site, frees[again].in));
        assert_sentence(now, " by ", "kolk: things: double free of slot 0");
        assert_no_more(&kept);
        end_things();
    }
}

static void test_the_sites_of_a_write_after_free(void **state) {
    reports kept;
    begin_reports(&kept);
    start("sites,fill");
    char *object = (char *)spawn();
    for (unsigned a = 0; a < LENGTH_OF(allocs); a++) {
        vanish(object);
        object[2] = 0x55;
        assert_ptr_equal(allocs[a].alloc(), object);
        const report *now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_WRITE_AFTER_FREE);
        assert_true(is_within(now->failure.alloc_site, allocs[a ? a - 1 : 0].in));
        assert_true(is_within(now->failure.site, allocs[a].in));
    }
    vanish(object);
    assert_no_more(&kept);
    end_things();
}

static void test_the_site_of_other_failures(void **state) {
    for (int sites = 0; sites < 2; sites++) { /* failure.site is reported even without the setting */
        reports kept;
        begin_reports(&kept);
        start(sites ? "sites" : NULL);
        void *object = spawn();
        vanish(object);
        ask(object);
        for (int i = 0; i < 2; i++) {
            const report *now = next_report(&kept);
            assert_int_equal(now->failure.rule, i ? KOLK_INTERIOR_POINTER : KOLK_DEAD_OBJECT);
            assert_true(is_within(now->failure.site, &in_ask));
            assert_int_equal(now->failure.sites, sites);
        }
        look_up(kolk_handle_unpack(UINT64_C(1) << 32 | (pool.pool.tag ^ UINT32_C(1) << 31)));
        if (sites) assert_true(is_within(next_report(&kept)->failure.site, &in_look_up));
        assert_no_more(&kept);
        end_things();
    }
}

/* ---- Handlers ---------------------------------------------------------------------------------------------------- */

static struct {
    jmp_buf back;
    unsigned reports;
    uint32_t alive;
    bool jumps;
} scene;

static void set_scene(bool jumps, uint32_t alive) {
    scene.jumps = jumps;
    scene.alive = alive;
    scene.reports = 0;
}

/* The handler may call const functions, which see the pool as it was before the failed call. */
static void look_around(const kolk_failure *failure, void *context) {
    scene.reports++;
    uint32_t count = 0;
    assert_true(things_is_valid(&pool));
    assert_int_equal(things_count(&pool), scene.alive);
    KOLK_EACH(things, each, &pool) {
        assert_ptr_equal(things_get(&pool, things_handle_of(&pool, each)), each);
        count++;
    }
    assert_int_equal(count, scene.alive);
    bool lives = failure->rule == KOLK_OVERFLOW || failure->rule == KOLK_UNDERFLOW;
    assert_int_equal(kolk_shared_is_live(&pool.pool, failure->object), lives);
    if (scene.jumps) longjmp(scene.back, 1);
}

static void *jumped(void *object) {
    return (void *)((uintptr_t)object | 1);
}

static void *alloc_or_jump(unsigned a) {
    if (setjmp(scene.back)) return jumped(NULL);
    return allocs[a].alloc();
}

/* If the handler jumps out of an alloc that found its slot's fill damaged, the slot stays with the local, whose next
 * alloc returns it. No other local gets the slot until this one returns its slots to the depot. */
static void test_a_jump_out_of_alloc(void **state) {
    for (unsigned n = 0; n < LENGTH_OF(allocs) * 4; n++) {
        unsigned a = n / 4;
        things_local other;
        setenv("KOLK_BYPASS", "0", 1);
        start(n % 2 ? "fill" : "fill,quarantine=4");
        assert_int_equal(things_local_init(&other, &pool), KOLK_OK);
        struct thing *objects[7];
        for (int i = 0; i < 7; i++) objects[i] = things_alloc(&local);
        things_free(&local, objects[3]);
        objects[3]->bytes[5] = 1;
        set_scene(true, 6);
        kolk_set_failure_handler(look_around, NULL);
        assert_ptr_equal(alloc_or_jump(a), jumped(NULL));
        assert_true(things_is_valid(&pool) && things_count(&pool) == 6 && !things_is_live(&pool, objects[3]));
        assert_null(things_alloc(&other)); /* it is in the first local's magazine */
        if (n & 2) {
            things_local_flush(&local);
            assert_true(things_is_valid(&pool));
            assert_ptr_equal(things_alloc(&other), objects[3]);
        } else {
            assert_ptr_equal(allocs[a].alloc(), objects[3]);
        }
        assert_int_equal(scene.reports, 1);
        assert_true(things_is_valid(&pool) && things_count(&pool) == 7);
        things_local_deinit(&other);
        end_things();
    }
}

/* A local that is deinitialised returns such a slot to the depot. */
static void test_a_jump_and_the_end_of_a_local(void **state) {
    start("fill,sites");
    struct thing *object = things_alloc(&local);
    things_free(&local, object);
    object->bytes[0] = 1;
    set_scene(true, 0);
    kolk_set_failure_handler(look_around, NULL);
    assert_ptr_equal(alloc_or_jump(0), jumped(NULL));
    things_local_deinit(&local);
    assert_true(things_is_valid(&pool) && things_count(&pool) == 0);
    assert_int_equal(things_local_init(&local, &pool), KOLK_OK);
    assert_ptr_equal(things_alloc(&local), object);
    things_free(&local, object);
    end_things();
}

/* At deinit such a slot is free and has no owner, so its fill is checked again. */
static void test_a_jump_and_the_end_of_the_pool(void **state) {
    start("fill");
    struct thing *object = things_alloc(&local);
    assert_non_null(things_alloc(&local));
    things_free(&local, object);
    object->bytes[0] = 1;
    set_scene(true, 1);
    kolk_set_failure_handler(look_around, NULL);
    assert_ptr_equal(alloc_or_jump(0), jumped(NULL));
    object->bytes[3] = 2;
    set_scene(false, 1);
    things_deinit(&pool);
    assert_int_equal(scene.reports, 1);
}

/* ---- Other ways in which a wait ends, and a free begins ---------------------------------------------------------- */

static void test_every_third_wait_fails(void **state) {
    setenv("KOLK_FAIL", "things:every=3", 1);
    start(NULL);
    for (unsigned i = 1; i <= 9; i++) assert_int_equal(spawn_waiting() == NULL, i % 3 == 0);
    end_things();
}

static unsigned frees_told;

static void on_alloc(const char *name, const void *object, size_t size, void *context) {}

static void on_free(const char *name, const void *object, void *context) {
    frees_told++;
}

/* The profiler gets a deferred free when no thread may read the object any more, or when the pool ends. */
static void test_the_profiler_is_told_later(void **state) {
    static const char *const settings[] = {NULL, "trace", "all"};
    for (size_t n = 0; n < LENGTH_OF(settings); n++) {
        frees_told = 0;
        kolk_set_profiler(&(kolk_profiler){on_alloc, on_free, NULL});
        start(settings[n]);
        kolk_set_profiler(NULL);
        vanish_later(spawn());
        assert_int_equal(frees_told, 0);
        for (int i = 0; i < 3; i++) things_quiesce(&local);
        assert_int_equal(frees_told, 1);
        vanish_later(spawn());
        end_things();
        assert_int_equal(frees_told, 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_each_way_to_alloc_and_to_free), DEBUG_TEST(test_the_sites_of_a_write_after_free),
        DEBUG_TEST(test_the_site_of_other_failures),    DEBUG_TEST(test_a_jump_out_of_alloc),
        DEBUG_TEST(test_a_jump_and_the_end_of_a_local), DEBUG_TEST(test_a_jump_and_the_end_of_the_pool),
        DEBUG_TEST(test_every_third_wait_fails),        DEBUG_TEST(test_the_profiler_is_told_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
