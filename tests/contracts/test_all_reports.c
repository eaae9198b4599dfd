/* runs: processes not:qemu not:wine wraps: help/no_sites.h */
/* The debug mode's reports, for every kind that has one: sites, damage, leaks at deinit and at exit, handlers that
 * inspect the pool or jump out, forced failures, and a profiler's events. */
#include "kinds.h"

#include "../help/no_sites.h"

#define SIZE 12u

static reports kept;

static const options small = {.object_size = SIZE, .capacity = 6};

static bool has_sites(void) {
    return stats_of_it().debug & KOLK_DEBUG_SITES;
}

static void begin_reporting(options with) {
    begin_it(with);
    begin_reports(&kept);
}

static void begin_with(uint32_t capacity, const char *debug) {
    begin_reporting((options){.object_size = SIZE, .capacity = capacity, .debug = debug});
}

static const report *assert_report(kolk_status rule, const char *by, const char *sentence) {
    const report *last = next_report(&kept);
    char whole[200];
    assert_int_equal(last->failure.rule, rule);
    assert_string_equal(last->pool, "it");
    snprintf(whole, sizeof whole, "kolk: it: %s", sentence);
    assert_sentence(last, by, whole);
    return last;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* The text that init was given is overwritten, and its memory is gone.
 * promise: base.h "Names are copied ... outlive the pool" */
static void test_a_name_whose_text_is_gone(void **state) {
    char *text = (char *)malloc(30);
    assert_non_null(text);
    strcpy(text, "it is in a module");
    begin_reporting((options){.name = text, .object_size = SIZE, .capacity = 6});
    memset(text, '!', 30);
    free(text);
    assert_string_equal(stats_of_it().name, "it is in a module");
    if (it->kind->can & FREES) {
        void *object = take_one();
        give_one(object);
        it->kind->give(it, object);
        assert_string_equal(next_report(&kept)->pool, "it is in a module");
    }
    end_it();
}

/* ---- Sites ------------------------------------------------------------------------------------------------------- */

static void test_the_sites_of_a_double_free(void **state) {
    begin_reporting(small);
    void *object = take_one();
    give_one(object);
    it->kind->give(it, object);
    const report *last = next_report(&kept);
    char text[100] = "kolk: it: ";
    snprintf(text + strlen(text), sizeof text - strlen(text), it->kind->double_free, 0u);
    assert_int_equal(last->failure.rule, KOLK_DOUBLE_FREE);
    assert_int_equal(last->failure.sites, has_sites());
    assert_true(is_within(last->failure.site, it->kind->in_give)); /* reported even without the setting */
    if (has_sites()) {
        assert_true(is_within(last->failure.alloc_site, it->kind->in_take));
        assert_true(is_within(last->failure.free_site, it->kind->in_give));
        assert_sentence(last, " by ", text);
    } else {
        assert_true(!last->failure.alloc_site && !last->failure.free_site);
        assert_string_equal(last->sentence, text); /* it contains no sites */
    }
    assert_no_more(&kept);
    end_it();
}

/* A write beyond the end of a live object is found when the object is freed. */
static void test_an_overflow(void **state) {
    begin_with(6, "sites,guard");
    unsigned char *object = (unsigned char *)take_one();
    object[SIZE] = 1;
    assert_false(it->kind->is_valid(it));
    give_one(object);
    const report *last =
        assert_report(KOLK_OVERFLOW, ", seen by ", "overflow of slot 0: 01 written 0 bytes behind its end");
    assert_true(is_within(last->failure.alloc_site, it->kind->in_take));
    assert_null(last->failure.free_site); /* it has not been freed yet */
    assert_true(is_within(last->failure.site, it->kind->in_give));
    end_it();
    assert_no_more(&kept);
}

/* A write after the free is found by the call that next checks the slot.
 * promise: README.md "Writes to freed objects", "seen by fire+0x51" */
static void test_a_write_after_free(void **state) {
    begin_with(1, "sites,fill");
    char text[100];
    snprintf(text, sizeof text, "write after free to %s 0: 55 written at byte 2 of it", it->kind->slot);
    for (int by_end = 0; by_end < 2; by_end++) {
        unsigned char *object = (unsigned char *)take_one();
        give_one(object);
        object[2] = 0x55;
        assert_false(it->kind->is_valid(it));
        if (by_end)
            it->kind->end(it);
        else
            assert_ptr_equal(take_one(), object);
        const report *last = assert_report(KOLK_WRITE_AFTER_FREE, ", seen by ", text);
        assert_true(is_within(last->failure.alloc_site, it->kind->in_take));
        assert_true(is_within(last->failure.free_site, it->kind->in_give));
        assert_true(is_within(last->failure.site, by_end ? it->kind->in_end : it->kind->in_take));
        assert_ptr_equal(last->failure.object, object);
        assert_int_equal(last->failure.offset, 2);
        assert_int_equal(last->failure.count, 1);
        if (!by_end) give_one(object);
        assert_no_more(&kept); /* the damage was repaired by the report */
    }
    assert_true(it_is_zero());
}

/* ---- Leaks ------------------------------------------------------------------------------------------------------- */

static void test_leaks_at_the_end(void **state) {
    begin_reporting(small);
    bool sites = has_sites();
    void *objects[3];
    for (int i = 0; i < 3; i++) objects[i] = take_one();
    give_one(objects[2]);
    end_it();
    if (sites) {
        const report *last = assert_report(KOLK_LEAK, " by ", "2 objects are still alive, the oldest in slot 0");
        assert_int_equal(last->failure.count, 2);
        assert_int_equal(last->failure.slot, 0);
        assert_true(is_within(last->failure.alloc_site, it->kind->in_take));
        assert_true(!last->failure.free_site && !last->failure.site);
    }
    assert_no_more(&kept);
    begin_reporting(small);
    give_one(take_one());
    end_it();
    if (it->kind->clear) {
        begin_reporting(small);
        take_one();
        it->kind->clear(it);
        end_it();
    }
    assert_no_more(&kept); /* no leaks */
}

static void leak_at_exit(void) {
    begin_it(small);
    give_one(take_one());
    take_one();
    exit(0);
}

static void leak_at_the_end(void) {
    begin_it(small);
    take_one();
    it->kind->end(it);
    exit(0);
}

/* The default handler prints the leaks once and returns. promise: base.h "The handler is called ... not abort" */
static void test_leaks_that_are_printed(void **state) {
    char text[2000];
    if (UNDER_ASAN && row_now->mode->flags & KOLK_DEBUG_BYPASS) skip(); /* ASan reports such leaks too */
    for (int by_exit = 0; by_exit < 2; by_exit++) {
        int status = run_apart(by_exit ? leak_at_exit : leak_at_the_end, text, sizeof text);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        static const char said[] = "kolk: it: 1 object is still alive, in slot ";
        if (!(row_now->mode->flags & KOLK_DEBUG_SITES)) {
            assert_string_equal(text, "");
            continue;
        }
        assert_memory_equal(text, said, strlen(said)); /* a site may follow */
        assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    }
}

/* ---- Handlers ---------------------------------------------------------------------------------------------------- */

static struct {
    jmp_buf out;
    unsigned reports;
    uint32_t alive;
} scene;

/* Checks that the pool is as it was before the failed call. */
static void look_around_and_jump(const kolk_failure *failure, void *context) {
    scene.reports++;
    assert_is_valid();
    assert_int_equal(count_of_it(), scene.alive);
    longjmp(scene.out, 1);
}

static void expect_a_jump(void) {
    scene.alive = count_of_it();
    scene.reports = 0;
    kolk_set_failure_handler(look_around_and_jump, NULL);
}

static void assert_jumped(void) {
    assert_int_equal(scene.reports, 1);
    assert_is_valid();
    assert_int_equal(count_of_it(), scene.alive); /* no object was taken or freed */
    kolk_set_failure_handler(NULL, NULL);
}

#define MUST_JUMP(call)                                                                                                \
    do {                                                                                                               \
        expect_a_jump();                                                                                               \
        if (setjmp(scene.out) == 0) {                                                                                  \
            call;                                                                                                      \
            fail_msg("no report: %s", #call);                                                                          \
        }                                                                                                              \
        assert_jumped();                                                                                               \
    } while (0)

static void test_a_jump_out_of_take(void **state) {
    static unsigned char *object;
    begin_with(1, "fill");
    object = (unsigned char *)take_one();
    give_one(object);
    object[0] = 0;
    MUST_JUMP(it->kind->take(it));
    assert_ptr_equal(take_one(), object); /* the damage was repaired */
    give_one(object);
    end_it();
}

static void test_a_jump_out_of_give_and_end(void **state) {
    static unsigned char *object;
    static int by_end; /* static, so that longjmp preserves it */
    for (by_end = 0; by_end < 2; by_end++) {
        begin_with(6, "guard,fill");
        object = (unsigned char *)take_one();
        take_one();
        object[by_end ? (ptrdiff_t)SIZE : -1] = 1;
        if (by_end)
            MUST_JUMP(it->kind->end(it));
        else
            MUST_JUMP(it->kind->give(it, object));
        memset(object, 1, SIZE); /* the object is still alive */
        assert_is_valid();
        give_one(object);
        end_it();
    }
}

/* A leak is reported only once, but another object that was allocated at the same site is reported. */
static void test_a_jump_out_of_the_list_of_leaks(void **state) {
    begin_it(small);
    for (int i = 0; i < 2; i++) take_one();
    MUST_JUMP(it->kind->end(it));
    take_one(); /* the pool still works */
    begin_reports(&kept);
    end_it();
    assert_report(KOLK_LEAK, " by ", "1 object is still alive, in slot 2");
    assert_no_more(&kept);
}

/* ---- Forced failures --------------------------------------------------------------------------------------------- */

static void test_every_nth_take_fails(void **state) {
    void *objects[30];
    uint32_t n = 0;
    setenv("KOLK_FAIL", "i?:every=3", 1);
    begin_reporting((options){.capacity = 30});
    unsetenv("KOLK_FAIL");
    assert_true(stats_of_it().debug & KOLK_DEBUG_FAIL);
    for (unsigned i = 1; i <= 30; i++) {
        void *object = it->kind->take(it);
        assert_int_equal(object == NULL, i % 3 == 0);
        assert_is_valid();
        if (object) objects[n++] = object;
    }
    assert_true(stats_of_it().failed == 10 && stats_of_it().count == 20);
    give_back_all(objects, n);
    assert_int_equal(stats_of_it().failed, 10);
    assert_no_more(&kept);
    end_it();
    setenv("KOLK_FAIL", "other:every=1", 1);
    begin_it(small);
    assert_false(stats_of_it().debug & KOLK_DEBUG_FAIL);
    give_one(take_one());
    end_it();
}

static void test_failures_by_chance(void **state) {
    uint64_t patterns[3] = {0};
    for (int run = 0; run < 3; run++) {
        setenv("KOLK_FAIL", run == 2 ? "*:chance=0.5,seed=2" : "*:chance=0.5,seed=1", 1);
        begin_reporting((options){.capacity = 64});
        for (int i = 0; i < 64; i++) patterns[run] = patterns[run] * 2 + (it->kind->take(it) == NULL);
        assert_in_range(__builtin_popcountll(patterns[run]), 10, 54);
        end_it(); /* some objects leak */
    }
    assert_true(patterns[0] == patterns[1] && patterns[0] != patterns[2]);
}

/* Forced failures alone do not enable the search for mistakes. */
static void test_failures_by_force_and_handles_of_other_pools(void **state) {
    setenv("KOLK_FAIL", "*:every=100", 1);
    begin_reporting(small);
    void *object = take_one();
    uint64_t bits = it->kind->handle(it, object).bits;
    assert_null(it->kind->get(it, kolk_handle_unpack(bits ^ UINT32_C(1) << 31)));
    assert_int_equal(stats_of_it().wrong_pool, 1);
    assert_no_more(&kept);
    end_it();
}

/* ---- Profilers --------------------------------------------------------------------------------------------------- */

static struct {
    const void *object; /* the object of the last event */
    unsigned allocs, frees;
} told;

static void on_alloc(const char *name, const void *object, size_t size, void *context) {
    assert_string_equal(name, "it");
    assert_true(context == &told && size == SIZE);
    told.object = object;
    told.allocs++;
}

static void on_free(const char *name, const void *object, void *context) {
    assert_string_equal(name, "it");
    assert_ptr_equal(context, &told);
    told.object = object;
    told.frees++;
}

static void assert_heard(const void *object, unsigned allocs, unsigned frees) {
    assert_ptr_equal(told.object, object);
    assert_true(told.allocs == allocs && told.frees == frees);
}

static void test_a_profiler_is_told(void **state) {
    memset(&told, 0, sizeof told);
    kolk_set_profiler(&(kolk_profiler){on_alloc, on_free, &told});
    begin_reporting(small);
    kolk_set_profiler(NULL);
    assert_true(stats_of_it().debug & KOLK_DEBUG_TRACE);
    void *a = take_one();
    assert_heard(a, 1, 0);
    void *b = take_one();
    assert_heard(b, 2, 0);
    give_one(b);
    assert_heard(b, 2, 1);
    if (it->kind->can & FREES) it->kind->give(it, b); /* a failed call is not an event */
    for (int i = 0; i < 9 && it->kind->take(it); i++) {}
    unsigned alive = count_of_it();
    assert_int_equal(told.allocs, alive + 1);
    assert_int_equal(told.frees, 1);
    end_it(); /* end frees live objects */
    assert_int_equal(told.frees, told.allocs);
    begin_it(small); /* initialised after the profiler was set */
    take_one();
    assert_int_equal(told.allocs, alive + 1);
    end_it();
}

int main(void) {
    const unsigned with_sites = IN(SITES) | IN(ALL_SETTINGS) | IN(BYPASS_AND_SITES);
    const contract contracts[] = {
        CONTRACT(test_a_name_whose_text_is_gone, 0, IN_EVERY_MODE),
        CONTRACT(test_the_sites_of_a_double_free, DEBUGS | FREES, IN_EVERY_MODE),
        CONTRACT(test_an_overflow, DEBUGS | FREES, IN(GUARD)),
        CONTRACT(test_a_write_after_free, DEBUGS, IN(FILL)),
        CONTRACT(test_leaks_at_the_end, DEBUGS, IN_EVERY_MODE),
        CONTRACT(test_leaks_that_are_printed, DEBUGS, IN_EVERY_MODE),
        CONTRACT(test_a_jump_out_of_take, DEBUGS, IN(FILL)),
        CONTRACT(test_a_jump_out_of_give_and_end, DEBUGS, IN(GUARD)),
        CONTRACT(test_a_jump_out_of_the_list_of_leaks, DEBUGS, with_sites),
        CONTRACT(test_every_nth_take_fails, DEBUGS, IN_EVERY_MODE),
        CONTRACT(test_failures_by_chance, DEBUGS, IN(PLAIN) | IN(BYPASS)),
        CONTRACT(test_failures_by_force_and_handles_of_other_pools, DEBUGS | HANDLES, IN(PLAIN)),
        CONTRACT(test_a_profiler_is_told, DEBUGS, IN_EVERY_MODE),
    };
    return run_contracts(contracts, LENGTH_OF(contracts), NULL, plain_environment);
}
