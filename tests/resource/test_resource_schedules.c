/* runs: long once with: KOLK_SCHEDULED=1 wraps: resource/resource_schedule.h */
/* The resource pool in every order of the steps of two or three threads with a few preemptions and a surprise, then in
 * random orders: see schedule.h. The factory's functions have steps too, so that other threads run in the middle of
 * them.
 *
 * In each schedule: there are never more than max resources and never more than max_creating creates (the factory
 * checks both); no borrower gets a resource that is lent or destroyed; each waiter gets an answer; and in the end max
 * resources can be borrowed again, and none outlives the pool. The factory's own data are not atomic, so equivalent
 * schedules are not left out. */
#include "resource_schedule.h"

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */

static void borrow_twice(void *context) {
    borrow(context);
    borrow(context);
}

static void borrow_key_a_while(void *context) {
    borrow_and_give((state *)context, "k", kolk_deadline_after(1));
}

static void give_second(void *context) {
    state *s = (state *)context;
    give_thing(&s->pool, &s->lent[1]);
}

static void give_both(void *context) {
    give_first(context);
    give_second(context);
}

static void tick(void *context) {
    kolk_resource_tick(&((state *)context)->pool, KOLK_FOREVER);
}

static void tick_once(void *context) {
    kolk_resource_tick(&((state *)context)->pool, KOLK_NOW);
}

static void evict(void *context) {
    state *s = (state *)context;
    s->evicted = s->f.made;
    uint32_t clear = begin_clear(&s->f, s->evicted);
    kolk_resource_evict(&s->pool);
    end_clear(&s->f, clear);
}

/* When close returns, no resource is left. */
static void close_it(void *context) {
    state *s = (state *)context;
    s->closed = true;
    schedule_assert(kolk_resource_close(&s->pool, KOLK_FOREVER) == KOLK_OK);
    schedule_assert(s->f.there == 0 && s->f.making == 0);
}

static void close_a_while(void *context) {
    state *s = (state *)context;
    s->closed = true;
    uint32_t clear = begin_clear(&s->f, UINT32_MAX);
    kolk_status status = kolk_resource_close(&s->pool, kolk_deadline_after(1));
    schedule_assert(status == KOLK_TIMEOUT || (status == KOLK_OK && s->f.there == 0));
    end_clear(&s->f, clear);
}

static void resize_to_one(void *context) {
    schedule_assert(kolk_resource_resize(&((state *)context)->pool, 1) == KOLK_OK);
}

/* Sets the factory's limit to two before the pool's: see `grows`. */
static void resize_to_two(void *context) {
    state *s = (state *)context;
    s->f.max = 2;
    schedule_assert(kolk_resource_resize(&s->pool, 2) == KOLK_OK);
}

static bool wants_all(const char *key, const void *resource, bool in_use, void *context) {
    schedule_assert(resource && strlen(key) < THING_KEY);
    ((thing *)(uintptr_t)resource)->asked = true;
    (void)kolk_load_(&in_the_middle, KOLK_RELAXED_);
    return true;
}

static void evict_all_by_one(void *context) {
    state *s = (state *)context;
    s->evicted = (uint32_t)s->pool.inside->counts.created; /* evict_if skips those being made */
    s->f.asked_from = 2;                                   /* another key may replace the first */
    s->f.old = s->evicted;
    kolk_resource_evict_if(&s->pool, wants_all, s);
    s->f.sweeps++; /* but not clears: evict_if skips those being made */
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

#define VALIDATES .validate = validate_thing, .validate_after_ms = -1
#define RESETS    .reset = reset_thing
#define ONE       .max = 1, .max_creating = 1
#define TWO       .max = 2, .max_creating = 1

static void test_borrow(void **unused) {
    run("one for two", &(setting){.desc = {ONE}}, borrow_twice, borrow, NULL);
    run("one for two, at hand", &(setting){.desc = {ONE}, .idle = 1}, borrow_twice, borrow, NULL);
    run("two for two", &(setting){.desc = {TWO}}, borrow, borrow, NULL);
    run("one for three", &(setting){.desc = {ONE}}, borrow, borrow, borrow);
    run("two for three", &(setting){.desc = {TWO}}, borrow, borrow, borrow);
    run("two for three, one at hand", &(setting){.desc = {TWO}, .idle = 1}, borrow, borrow, borrow);
}

static void test_functions(void **unused) {
    static const setting dead = {.desc = {ONE, VALIDATES, RESETS}, .idle = 1, .validate_fails = 1};
    static const setting unclean = {.desc = {ONE, RESETS}, .idle = 1, .reset_fails = 1};
    static const setting two_dead = {.desc = {TWO, VALIDATES}, .idle = 2, .validate_fails = 2};
    run("dead", &dead, borrow, borrow, NULL);
    run("unclean", &unclean, borrow_twice, borrow, NULL);
    run("two dead", &two_dead, borrow, borrow, NULL);
    run("dead, for three", &dead, borrow, borrow, borrow);
    run("unclean, for three", &unclean, borrow, borrow, borrow);
}

static void test_failed_creates(void **unused) {
    may = MAY_FAIL;
    run("one create fails", &(setting){.desc = {ONE}, .create_fails = 1}, borrow, borrow, NULL);
    run("one create fails, for three", &(setting){.desc = {TWO}, .create_fails = 1}, borrow, borrow, borrow);
    run("two creates fail, for three", &(setting){.desc = {ONE}, .create_fails = 2}, borrow, borrow, borrow);
    run("dead, and no other", &(setting){.desc = {ONE, VALIDATES}, .idle = 1, .create_fails = 1, .validate_fails = 1},
        borrow, borrow, borrow);
}

static void test_deadlines(void **unused) {
    may = MAY_TIME_OUT;
    run("a while", &(setting){.desc = {ONE}, .lent = 1}, borrow_a_while, give_first, NULL);
    run("a while, discarded", &(setting){.desc = {ONE}, .lent = 1}, borrow_a_while, discard_first, NULL);
    run("two a while", &(setting){.desc = {ONE}, .lent = 1}, borrow_a_while, borrow_a_while, give_first);
    run("two a while, discarded", &(setting){.desc = {ONE}, .lent = 1}, borrow_a_while, borrow_a_while, discard_first);
    run("two a while, dead", &(setting){.desc = {ONE, VALIDATES}, .lent = 1, .validate_fails = 1}, borrow_a_while,
        borrow_a_while, give_first);
    run("a while, and for ever", &(setting){.desc = {ONE}, .lent = 1}, borrow_a_while, borrow, give_first);
    run("a while, both come back", &(setting){.desc = {TWO}, .lent = 2}, borrow_a_while, give_first, give_second);
}

static void test_now(void **unused) {
    may = MAY_BE_FULL;
    run("now", &(setting){.desc = {ONE}, .idle = 1}, borrow_now, borrow_now, NULL);
    run("now, to be made", &(setting){.desc = {TWO}}, borrow_now, borrow_now, borrow);
    run("now, dead", &(setting){.desc = {TWO, VALIDATES}, .idle = 2, .validate_fails = 1}, borrow_now, borrow, NULL);
}

static void test_come_back(void **unused) {
    run("both back, two wait", &(setting){.desc = {TWO, RESETS}, .lent = 2}, borrow, borrow, give_both);
    run("discarded, two wait", &(setting){.desc = {ONE}, .lent = 1}, borrow, borrow, discard_first);
    run("detached, two wait", &(setting){.desc = {ONE}, .lent = 1}, borrow, borrow, detach_first);
    run("one back, one unclean", &(setting){.desc = {TWO, RESETS}, .lent = 2, .reset_fails = 1}, borrow, give_first,
        give_second);
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static void take_and_keep(void *context) {
    state *s = (state *)context;
    kolk_borrowed borrow;
    borrow_one(s, NULL, KOLK_FOREVER, &borrow);
    kolk_store_(&s->told[0], 1, KOLK_RELEASE_);
    while (!kolk_load_(&s->told[1], KOLK_ACQUIRE_)) kolk_pause_();
    give_thing(&s->pool, &borrow);
}

/* A waiter behind the first one: it is served second. */
static void take_behind(void *context) {
    state *s = (state *)context;
    kolk_borrowed borrow;
    bool behind = until_asleep(s, 0);
    borrow_one(s, NULL, KOLK_FOREVER, &borrow);
    schedule_assert(!behind || kolk_load_(&s->told[1], KOLK_RELAXED_));
    give_thing(&s->pool, &borrow);
}

/* A newcomer borrows right after the give_back. It gets nothing before the first waiter has been served and has
 * returned the resource. */
static void give_to_both(void *context) {
    state *s = (state *)context;
    bool first = until_asleep(s, 0), second = until_asleep(s, 1);
    give_first(context);
    kolk_borrowed none;
    if (first && second) schedule_assert(take_thing(&s->pool, NULL, KOLK_NOW, &none) == KOLK_FULL);
    while (!kolk_load_(&s->told[0], KOLK_ACQUIRE_)) kolk_pause_();
    if (first && second) schedule_assert(take_thing(&s->pool, NULL, KOLK_NOW, &none) == KOLK_FULL);
    if (first && second) schedule_assert(s->served == 1);
    kolk_store_(&s->told[1], 1, KOLK_RELEASE_);
}

/* promise: "within a key, a resource that comes back ... gets a resource before it" */
static void test_first_come_first_served(void **unused) {
    static const setting settings[] = {{.desc = {ONE}, .lent = 1},
                                       {.desc = {ONE, RESETS}, .lent = 1},
                                       {.desc = {ONE, RESETS}, .lent = 1, .reset_fails = 1},
                                       {.desc = {ONE, VALIDATES}, .lent = 1, .validate_fails = 1},
                                       {.desc = {ONE}, .idle = 1, .lent = 1}}; /* they try first: see test_tries */
    for (unsigned i = 0; i < LENGTH_OF(settings); i++) {
        how = &settings[i];
        schedule_must_pass(
            &(schedule){.name = "first come",
                        .context = &own,
                        .begin = begin,
                        .threads = {{"first", take_and_keep}, {"second", take_behind}, {"third", give_to_both}},
                        .end = end,
                        .preemptions = does_a_part() ? 1 : 2,
                        .all_alike = true});
    }
}

/* The key's last borrow was brief, so a borrow that finds nothing tries once more before it waits. */
static void test_tries(void **unused) {
    static const setting brief = {.desc = {ONE}, .idle = 1, .lent = 1};
    static const setting cleaned = {.desc = {ONE, RESETS}, .idle = 1, .lent = 1, .reset_fails = 1};
    static const setting strict = {.desc = {ONE, .strict_order = true}, .idle = 1, .lent = 1};
    run("tries", &brief, borrow, borrow, give_first);
    run("tries, cleaned", &cleaned, borrow, borrow, give_first);
    run("tries, discarded", &brief, borrow, borrow, discard_first);
    run("tries, evict", &brief, borrow, evict, give_first);
    run("tries, resize", &brief, borrow, borrow, resize_to_two);
    run("tries, pause", &brief, borrow, pause_and_resume, give_first);
    run("tries, another key", &brief, borrow, borrow_key, give_first);
    run("strict order", &strict, borrow, borrow, give_first);
    may = MAY_BE_CLOSED;
    run("tries, close", &brief, borrow, close_it, give_first);
    may = MAY_TIME_OUT;
    run("tries, a while", &brief, borrow_a_while, borrow, give_first);
}

/* ---- Close ------------------------------------------------------------------------------------------------------- */

static const setting kept_well = {.desc = {ONE, .validate = validate_thing, .keepalive_ms = 10}, .idle = 1, .ages = 20};

static void test_close(void **unused) {
    may = MAY_BE_CLOSED;
    run("close, at hand", &(setting){.desc = {ONE, RESETS}, .idle = 1}, borrow, close_it, NULL);
    run("close, to be made", &(setting){.desc = {ONE}}, borrow, close_it, NULL);
    run("close, one waits", &(setting){.desc = {ONE, RESETS}, .lent = 1}, borrow, close_it, give_first);
    run("close, discarded", &(setting){.desc = {ONE}, .lent = 1}, borrow, close_it, discard_first);
    run("close, detached", &(setting){.desc = {ONE}, .lent = 1}, borrow, close_it, detach_first);
    run("close, dead", &(setting){.desc = {ONE, VALIDATES}, .idle = 1, .validate_fails = 1}, borrow, close_it, NULL);
    run("close, evicted", &(setting){.desc = {ONE}}, borrow, close_it, evict);
    run("close twice", &(setting){.desc = {TWO}, .idle = 1}, borrow, close_it, close_it);
    run("close, keys", &(setting){.desc = {ONE}, .idle = 1}, borrow_key, close_it, NULL);
    run("close, upkeep", &(setting){.desc = {TWO, .min_idle = 2}}, tick, close_it, borrow);
    may |= MAY_FAIL;
    run("close, a create fails", &(setting){.desc = {ONE}, .create_fails = 1}, borrow, close_it, borrow);
    allows_leaks = true;
    may |= MAY_TIME_OUT;
    run("close a while", &(setting){.desc = {TWO}, .lent = 1}, borrow_a_while, close_a_while, give_first);
    run("close a while, checked", &(setting){.desc = {ONE, VALIDATES}, .idle = 1}, borrow_a_while, close_a_while, NULL);
    run("close a while, kept", &kept_well, tick, close_a_while, NULL);
    run("close a while, lent", &(setting){.desc = {ONE}, .lent = 1}, borrow_a_while, close_a_while, NULL);
}

/* ---- Steering ---------------------------------------------------------------------------------------------------- */

static void test_evict(void **unused) {
    run("evict, at hand", &(setting){.desc = {ONE, RESETS}, .idle = 1}, borrow, evict, NULL);
    run("evict, to be made", &(setting){.desc = {ONE}}, borrow_twice, evict, NULL);
    run("evict, one waits", &(setting){.desc = {ONE, RESETS}, .lent = 1}, borrow, evict, give_first);
    run("evict, checked", &(setting){.desc = {ONE, VALIDATES}, .idle = 1}, borrow_twice, evict, NULL);
    run("evict, kept", &kept_well, tick, evict, borrow);
    run("evict all by one, kept", &kept_well, tick, evict_all_by_one, borrow);
    run("evict, validated", &(setting){.desc = {ONE, VALIDATES}, .idle = 1, .validate_fails = 1}, borrow, evict, NULL);
    run("evict all by one, at hand", &(setting){.desc = {TWO}, .idle = 2}, borrow, evict_all_by_one, NULL);
    run("evict all by one, lent", &(setting){.desc = {ONE}, .lent = 1}, borrow, evict_all_by_one, give_first);
    run("evict all by one, discarded", &(setting){.desc = {ONE}, .lent = 1}, borrow, evict_all_by_one, discard_first);
    run("evict all by one, lent again", &(setting){.desc = {ONE}, .lent = 1}, borrow_twice, evict_all_by_one,
        give_first);
    run("evict all by one, cleaned", &(setting){.desc = {ONE, RESETS}, .lent = 1}, give_first, evict_all_by_one, NULL);
    run("evict all by one, checked", &(setting){.desc = {ONE, VALIDATES}, .idle = 1}, borrow, evict_all_by_one, NULL);
    run("evict all by one, replaced", &(setting){.desc = {ONE}, .lent = 1}, borrow_key, evict_all_by_one, give_first);
}

static void test_resize(void **unused) {
    run("resize to one", &(setting){.desc = {TWO}, .idle = 2}, borrow, resize_to_one, borrow);
    run("resize to one, lent", &(setting){.desc = {TWO, RESETS}, .lent = 2}, give_both, resize_to_one, borrow);
    run("resize to two", &(setting){.desc = {ONE}, .lent = 1}, borrow, resize_to_two, NULL);
    run("resize to two, two wait", &(setting){.desc = {ONE}, .lent = 1}, borrow, borrow, resize_to_two);
    run("resize both ways", &(setting){.desc = {TWO}, .idle = 1}, resize_to_one, resize_to_two, borrow);
}

static void test_pause(void **unused) {
    run("pause, at hand", &(setting){.desc = {ONE}, .idle = 1}, borrow, pause_and_resume, NULL);
    run("pause, to be made", &(setting){.desc = {ONE}}, borrow, pause_and_resume, borrow);
    run("pause, one waits", &(setting){.desc = {ONE, RESETS}, .lent = 1}, borrow, pause_and_resume, give_first);
    run("pause, dead", &(setting){.desc = {ONE, VALIDATES}, .idle = 1, .validate_fails = 1}, borrow, pause_and_resume,
        borrow);
    may = MAY_TIME_OUT;
    run("pause, a while", &(setting){.desc = {ONE}, .idle = 1}, borrow_a_while, pause_and_resume, NULL);
}

/* ---- Upkeep ------------------------------------------------------------------------------------------------------ */

static void test_upkeep(void **unused) {
    static const setting unused_ones = {.desc = {TWO, .idle_timeout_ms = 10}, .idle = 2, .ages = 20};
    static const setting old = {.desc = {TWO, .max_lifetime_ms = 10}, .idle = 2, .ages = 20};
    static const setting kept = {
        .desc = {ONE, .validate = validate_thing, .keepalive_ms = 10}, .idle = 1, .validate_fails = 1, .ages = 20};
    static const setting few = {.desc = {TWO, .min_idle = 2}};
    run("unused", &unused_ones, borrow, tick, NULL);
    run("old", &old, borrow, tick, NULL);
    run("kept", &kept, borrow, tick, NULL);
    run("few", &few, borrow, tick, NULL);
    run("unused, two ticks", &unused_ones, tick_once, tick, borrow);
    run("kept, for three", &kept, borrow, tick, borrow);
    run("few, for three", &few, borrow, tick, borrow);
    run("few, two ticks", &few, tick, tick, borrow);
    run("few, evict", &few, tick, evict, borrow);
    static const setting failing = {.desc = {TWO, .min_idle = 2}, .create_fails = 1};
    may = MAY_FAIL;
    run("few, a create fails", &failing, borrow, tick, borrow);
    may = MAY_TIME_OUT;
    run("kept, a while", &kept, borrow_a_while, tick, borrow_a_while);
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static void test_keys(void **unused) {
    run("two keys for one", &(setting){.desc = {ONE}}, borrow, borrow_key, NULL);
    run("another key's at hand", &(setting){.desc = {ONE, RESETS}, .idle = 1}, borrow_key, borrow, NULL);
    run("both wait", &(setting){.desc = {ONE}, .lent = 1}, borrow_key, borrow, give_first);
    run("two for a key", &(setting){.desc = {TWO}, .idle = 2}, borrow_key, borrow_key, borrow);
    may = MAY_FAIL;
    run("another key's, a create fails", &(setting){.desc = {ONE}, .lent = 1, .create_fails = 1}, borrow_key, borrow,
        give_first);
    may = MAY_TIME_OUT;
    run("a key, a while", &(setting){.desc = {ONE}, .lent = 1}, borrow_key_a_while, borrow_a_while, give_first);
}

/* ---- Within the functions ---------------------------------------------------------------------------------------- */

/* Within a function, a borrow that would wait is refused; one that need not wait succeeds. */
static void borrow_within(factory *f, deed what) {
    kolk_borrowed borrow;
    kolk_resource_pool *pool = &own.pool;
    void (*during)(factory *, deed) = f->during;
    f->during = NULL;
    kolk_status status = take_thing(pool, NULL, KOLK_FOREVER, &borrow);
    schedule_assert(status == KOLK_OK || status == KOLK_IN_HOOK);
    if (status == KOLK_OK) give_thing(pool, &borrow);
    f->during = during;
}

static void test_within_functions(void **unused) {
    static const setting one = {.desc = {ONE, RESETS}, .idle = 1, .during = borrow_within};
    static const setting two = {.desc = {TWO, RESETS}, .idle = 1, .during = borrow_within};
    static const setting dead = {.desc = {TWO, VALIDATES}, .idle = 1, .validate_fails = 1, .during = borrow_within};
    run("within, one", &one, borrow, borrow, NULL);
    run("within, two", &two, borrow, borrow, NULL);
    run("within, dead", &dead, borrow, borrow, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_borrow, set_up),
        cmocka_unit_test_setup(test_functions, set_up),
        cmocka_unit_test_setup(test_failed_creates, set_up),
        cmocka_unit_test_setup(test_deadlines, set_up),
        cmocka_unit_test_setup(test_now, set_up),
        cmocka_unit_test_setup(test_come_back, set_up),
        cmocka_unit_test_setup(test_first_come_first_served, set_up),
        cmocka_unit_test_setup(test_tries, set_up),
        cmocka_unit_test_setup(test_close, set_up),
        cmocka_unit_test_setup(test_evict, set_up),
        cmocka_unit_test_setup(test_resize, set_up),
        cmocka_unit_test_setup(test_pause, set_up),
        cmocka_unit_test_setup(test_upkeep, set_up),
        cmocka_unit_test_setup(test_keys, set_up),
        cmocka_unit_test_setup(test_within_functions, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
