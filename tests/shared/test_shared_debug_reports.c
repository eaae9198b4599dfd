/* wraps: help/no_sites.h */
/* The debug mode of a shared pool: sites, leaks, handlers that inspect the pool or jump out, forced failures,
 * profilers. */
#include "../help/code_limits.h"
#include "../help/no_sites.h"

#include "shared_test.h"

struct thing {
    char bytes[12];
};
KOLK_SHARED_TYPE(things, struct thing)

LIMITS(look_up)
LIMITS(ask)
LIMITS(finish)

static things pool;
static things_local local;

ALLOCATES(fire, things_alloc(&local))
ALLOCATES(spawn, kolk_shared_alloc(&local.local))
ALLOCATES(spawn_now, things_alloc_wait(&local, KOLK_NOW))
ALLOCATES(spawn_waiting, things_alloc_wait(&local, KOLK_FOREVER))

GIVES_BACK(explode, things_free(&local, (struct thing *)object))
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

APART(finish) static void finish(void) {
    things_deinit(&pool);
    AND_ON();
}

static const struct {
    void *(*alloc)(void);
    const limits *in;
} allocs[] = {{fire, &in_fire}, {spawn, &in_spawn}, {spawn_now, &in_spawn_now}, {spawn_waiting, &in_spawn_waiting}};

static const struct {
    void (*free)(void *object);
    const limits *in;
} frees[] = {{explode, &in_explode}, {vanish, &in_vanish}, {vanish_later, &in_vanish_later}};

static void start_with(kolk_shared_desc desc) {
    if (!desc.name) desc.name = "things";
    if (!desc.capacity) desc.capacity = 6;
    desc.max_threads = 2;
    if (!desc.cache) desc.cache = 1;
    assert_int_equal(things_init(&pool, &desc), KOLK_OK);
    assert_int_equal(things_local_init(&local, &pool), KOLK_OK);
}

static void start(const char *debug) {
    start_with((kolk_shared_desc){.debug = debug});
}

static void end_things(void) {
    assert_true(things_is_valid(&pool));
    finish();
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
}

static kolk_stats stats_now(void) {
    kolk_stats stats;
    things_stats(&pool, &stats);
    return stats;
}

/* ---- Sites ------------------------------------------------------------------------------------------------------- */

static void test_each_way_to_alloc_and_to_free(void **state) {
    (void)state;
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

static void test_sites_of_damage(void **state) {
    (void)state;
    reports kept;
    begin_reports(&kept);
    start("sites,fill,guard");
    char *object = (char *)fire();
    object[12] = 1;
    vanish(object);
    const report *now = next_report(&kept); /* the object is alive, so it has no free site */
    assert_int_equal(now->failure.rule, KOLK_OVERFLOW);
    assert_true(is_within(now->failure.alloc_site, &in_fire));
    assert_null(now->failure.free_site);
    assert_true(is_within(now->failure.site, &in_vanish));
    assert_sentence(now, ", seen by ", "kolk: things: overflow of slot 0: 01 written 0 bytes behind its end");
    for (unsigned a = 0; a < LENGTH_OF(allocs); a++) {
        object[2] = 0x55;
        assert_ptr_equal(allocs[a].alloc(), object);
        now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_WRITE_AFTER_FREE);
        assert_true(is_within(now->failure.alloc_site, a ? allocs[a - 1].in : &in_fire));
        assert_true(is_within(now->failure.free_site, &in_vanish));
        assert_true(is_within(now->failure.site, allocs[a].in));
        assert_sentence(now, ", seen by ", "kolk: things: write after free to slot 0: 55 written at byte 2 of it");
        vanish(object);
    }
    object[2] = 0x55;
    finish();
    now = next_report(&kept);
    assert_true(is_within(now->failure.site, &in_finish));
    assert_no_more(&kept);
}

static void test_the_site_of_other_failures(void **state) {
    (void)state;
    for (int sites = 0; sites < 2; sites++) { /* failure.site is reported even without the setting */
        reports kept;
        begin_reports(&kept);
        start(sites ? "sites" : NULL);
        void *object = fire();
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

/* ---- Objects that are still alive -------------------------------------------------------------------------------- */

static void assert_leak(reports *kept, uint32_t count, uint32_t slot, const limits *in, const char *sentence) {
    const report *now = next_report(kept);
    assert_int_equal(now->failure.rule, KOLK_LEAK);
    assert_int_equal(now->failure.count, count);
    assert_int_equal(now->failure.slot, slot);
    assert_true(is_within(now->failure.alloc_site, in));
    assert_true(!now->failure.free_site && !now->failure.site);
    assert_sentence(now, " by ", sentence);
}

static void test_leaks_at_deinit(void **state) {
    (void)state;
    for (int bypassed = 0; bypassed < 2; bypassed++) {
        reports kept;
        begin_reports(&kept);
        setenv("KOLK_BYPASS", bypassed ? "1" : "0", 1);
        start("sites=1");
        void *gone = fire(), *later = fire();
        spawn(), spawn_waiting(), fire(), spawn();
        explode(gone);
        vanish_later(later); /* it is retired, so it is not a leak */
        void *youngest = spawn_waiting();
        things_cursor cursor = things_each(&pool);
        assert_ptr_equal(things_each_next(&cursor), youngest); /* the object in slot 0 */
        finish();
        assert_leak(&kept, 2, 2, &in_spawn, "kolk: things: 2 objects are still alive, the oldest in slot 2");
        assert_leak(&kept, 2, 3, &in_spawn_waiting, "kolk: things: 2 objects are still alive, the oldest in slot 3");
        assert_leak(&kept, 1, 4, &in_fire, "kolk: things: 1 object is still alive, in slot 4");
        assert_no_more(&kept);
        assert_true(all_bytes_are(&pool, sizeof pool, 0));
    }
}

static void leak_at_exit(void) {
    start("sites");
    fire();
    vanish_later(fire());
    exit(0);
}

static void free_twice_by_no_local(void) {
    start("fill");
    kolk_shared_local none;
    memset(&none, 0, sizeof none);
    kolk_shared empty;
    memset(&empty, 0, sizeof empty);
    kolk_shared_local_init(&none, &empty);
    kolk_shared_free(&none, fire());
}

static void assert_begins(const char *text, const char *beginning) {
    if (strncmp(text, beginning, strlen(beginning)) != 0) assert_string_equal(text, beginning);
}

static void test_what_a_program_prints(void **state) {
    (void)state;
    char text[2000];
    int status = run_apart(leak_at_exit, text, sizeof text);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_begins(text, "kolk: things: 1 object is still alive, in slot 0");
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    run_apart(free_twice_by_no_local, text, sizeof text);
    assert_begins(text, "kolk: a pool without a name: free through a local that is of no pool");
    assert_null(strstr(text, "KOLK_DEBUG")); /* debug mode is already on, so the text does not recommend it */
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
    (void)context;
    scene.reports++;
    uint32_t count = 0;
    assert_true(things_is_valid(&pool));
    assert_int_equal(things_count(&pool), scene.alive);
    assert_int_equal(stats_now().count, scene.alive);
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
    (void)state;
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
    (void)state;
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
    (void)state;
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
    finish();
    assert_int_equal(scene.reports, 1);
}

static bool frees_or_jumps(unsigned f, void *object) {
    if (setjmp(scene.back)) return true;
    if (f < LENGTH_OF(frees))
        frees[f].free(object);
    else
        finish();
    return false;
}

static void test_a_jump_out_of_free_and_deinit(void **state) {
    (void)state;
    for (unsigned f = 0; f <= LENGTH_OF(frees); f++) {
        start("fill,guard,quarantine=2");
        char *object = (char *)fire();
        kolk_handle handle = kolk_shared_handle_of(&pool.pool, object);
        spawn();
        object[f % 2 ? 12 : -1] = 1;
        set_scene(true, 2);
        kolk_set_failure_handler(look_around, NULL);
        assert_true(frees_or_jumps(f, object));
        assert_true(things_is_valid(&pool) && things_count(&pool) == 2);
        assert_ptr_equal(kolk_shared_get(&pool.pool, handle), object); /* the object is still alive */
        memset(object, 1, 12);
        assert_false(frees_or_jumps(f, object));
        assert_int_equal(scene.reports, 1);
        if (f < LENGTH_OF(frees)) {
            assert_null(kolk_shared_get(&pool.pool, handle));
            assert_true(frees_or_jumps(f, (scene.alive = 1, object))); /* jumps out of a double free */
            assert_true(things_is_valid(&pool) && things_count(&pool) == 1);
            end_things();
        }
        assert_true(all_bytes_are(&pool, sizeof pool, 0));
    }
}

/* ---- Forced failures --------------------------------------------------------------------------------------------- */

static void test_every_nth_alloc_fails(void **state) {
    (void)state;
    for (unsigned n = 0; n < 4 * LENGTH_OF(allocs); n++) {
        setenv("KOLK_FAIL", "things:every=3", 1);
        setenv("KOLK_BYPASS", n & 1 ? "1" : "0", 1);
        start_with((kolk_shared_desc){.capacity = 70, .debug = n & 2 ? "quarantine=4" : NULL});
        for (unsigned i = 1; i <= 90; i++) { /* a forced failure ends its wait immediately */
            assert_int_equal(allocs[n / 4].alloc() == NULL, i % 3 == 0);
            assert_true(things_is_valid(&pool));
        }
        assert_true(stats_now().failed == 30 && stats_now().count == 60);
        assert_true(stats_now().debug & KOLK_DEBUG_FAIL);
        KOLK_EACH(things, each, &pool) vanish(each);
        assert_true(things_count(&pool) == 0 && stats_now().failed == 30);
        end_things();
        setenv("KOLK_FAIL", "other:every=1", 1);
        start(NULL);
        assert_non_null(allocs[n / 4].alloc());
        end_things();
    }
}

/* ---- Profilers --------------------------------------------------------------------------------------------------- */

static struct {
    const void *objects[20];
    int alive[20], allocs, frees;
} told;

static int *told_of(const char *name, const void *object) {
    assert_string_equal(name, "things");
    int at = 0;
    while (told.objects[at] && told.objects[at] != object) at++;
    told.objects[at] = object;
    return &told.alive[at];
}

static void on_alloc(const char *name, const void *object, size_t size, void *context) {
    assert_true(context == &told && size == 12);
    assert_int_equal(++*told_of(name, object), 1);
    told.allocs++;
}

static void on_free(const char *name, const void *object, void *context) {
    assert_ptr_equal(context, &told);
    assert_int_equal(--*told_of(name, object), 0);
    told.frees++;
}

static void test_the_profiler_is_told(void **state) {
    (void)state;
    static const char *const settings[] = {NULL, "trace", "all"};
    for (size_t n = 0; n < LENGTH_OF(settings); n++) {
        memset(&told, 0, sizeof told);
        kolk_set_profiler(&(kolk_profiler){on_alloc, on_free, &told});
        start(settings[n]);
        kolk_set_profiler(NULL);
        assert_true(stats_now().debug & KOLK_DEBUG_TRACE);
        void *objects[4];
        for (int i = 0; i < 4; i++) {
            objects[i] = allocs[i].alloc();
            assert_int_equal(told.allocs, i + 1);
        }
        explode(objects[0]);
        vanish(objects[1]);
        assert_int_equal(told.frees, 2);
        vanish_later(objects[2]); /* the profiler gets this free when no thread may read the object any more */
        assert_int_equal(told.frees, 2);
        for (int i = 0; i < 3; i++) things_quiesce(&local);
        assert_int_equal(told.frees, 3);
        vanish_later(fire());
        kolk_set_failure_handler(look_around, NULL);
        set_scene(false, 1); /* with `all`, one object leaks */
        end_things();
        assert_true(told.allocs == 5 && told.frees == 5); /* with objects alive or retired at the end */
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_each_way_to_alloc_and_to_free), DEBUG_TEST(test_sites_of_damage),
        DEBUG_TEST(test_the_site_of_other_failures),    DEBUG_TEST(test_leaks_at_deinit),
        DEBUG_TEST(test_what_a_program_prints),         DEBUG_TEST(test_a_jump_out_of_alloc),
        DEBUG_TEST(test_a_jump_and_the_end_of_a_local), DEBUG_TEST(test_a_jump_and_the_end_of_the_pool),
        DEBUG_TEST(test_a_jump_out_of_free_and_deinit), DEBUG_TEST(test_every_nth_alloc_fails),
        DEBUG_TEST(test_the_profiler_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
