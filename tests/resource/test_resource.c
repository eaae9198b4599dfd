/* runs: sample:clang with: src wraps: resource/resource_clock.h */
/* The resource pool in one thread: each promise of resource.h that needs no other thread. */
#include "../help/debug_test.h"

#include "../help/listed.h"

#include "resource/resource_inside.h"

#include "resource_steps.h"

#include <setjmp.h>

/* ---- The descriptor ---------------------------------------------------------------------------------------------- */

/* promise: "All members ... time is KOLK_BAD_TIME", "It creates ... left all zero" */
static void test_descriptors_that_are_refused(void **state) {
    static const struct {
        kolk_resource_pool_desc desc;
        kolk_status status;
    } cases[] = {
        {{.max = 1}, KOLK_CREATE_MISSING},
        {{.create = create_thing, .max = KOLK_RESOURCE_MOST + 1}, KOLK_BAD_MAX},
        {{.create = create_thing, .min_idle = 11}, KOLK_BAD_MIN_IDLE},
        {{.create = create_thing, .max = 3, .min_idle = 4}, KOLK_BAD_MIN_IDLE},
        {{.create = create_thing, .reuse = KOLK_REUSE_LOWEST}, KOLK_BAD_REUSE},
        {{.create = create_thing, .idle_timeout_ms = -2}, KOLK_BAD_TIME},
        {{.create = create_thing, .max_lifetime_ms = -2}, KOLK_BAD_TIME},
        {{.create = create_thing, .keepalive_ms = -1000}, KOLK_BAD_TIME},
        {{.create = create_thing, .validate_after_ms = INT64_MIN}, KOLK_BAD_TIME},
        {{.create = create_thing, .leak_after_ms = -2}, KOLK_BAD_TIME},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        kolk_resource_pool none;
        memset(&none, 0xff, sizeof none);
        assert_int_equal(kolk_resource_init(&none, &cases[i].desc), cases[i].status);
        assert_null(none.inside);
    }
    kolk_resource_pool none;
    assert_int_equal(kolk_resource_init(&none, NULL), KOLK_NO_DESCRIPTOR);
    assert_int_equal(kolk_resource_init_abi_(&none, &cases[0].desc, sizeof none, KOLK_ABI + 1), KOLK_WRONG_ABI);
}

static void test_all_zero_is_closed(void **state) {
    kolk_resource_pool none = {.inside = NULL};
    kolk_borrowed borrow;
    kolk_resource_pool_stats all;
    assert_int_equal(kolk_resource_borrow(&none, NULL, &borrow), KOLK_CLOSED);
    assert_string_equal(borrow.error.text, "it is closed");
    assert_int_equal(kolk_resource_close(&none, KOLK_NOW), KOLK_OK);
    assert_int_equal(kolk_resource_resize(&none, 3), KOLK_CLOSED);
    assert_int_equal(kolk_resource_fd(&none), -1);
    kolk_resource_give_back(&none, &borrow);
    kolk_resource_tick(&none, KOLK_FOREVER);
    kolk_resource_evict(&none);
    assert_int_equal(kolk_resource_evict_if(&none, NULL, NULL), 0);
    kolk_resource_pause(&none);
    kolk_resource_resume(&none);
    kolk_resource_stats(&none, &all);
    assert_int_equal(all.max, 0);
    assert_true(kolk_resource_is_valid(&none));
    kolk_resource_deinit(&none);
}

/* promise: "The most resources at a time, for all ... At most 65,536", "idle resources are destroyed ... 0: 600,000" */
static void test_defaults(void **state) {
    kolk_borrowed all[11];
    begin((kolk_resource_pool_desc){.max = 0});
    for (int i = 0; i < 10; i++) all[i] = borrowed(NULL);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &all[10]), KOLK_FULL);
    int64_t before = clock_ns;
    assert_int_equal(kolk_resource_borrow(&pool, NULL, &all[10]), KOLK_TIMEOUT);
    assert_int_equal(clock_ns - before, 30000 * MS);
    for (int i = 0; i < 10; i++) return_it(&all[i]);
    pass(600000 - 1);
    tick();
    assert_int_equal(f.calls[DESTROY], 0);
    pass(1);
    tick();
    assert_int_equal(stats().unused, 10);
    assert_int_equal(kolk_resource_resize(&pool, KOLK_RESOURCE_MOST + 1), KOLK_BAD_MAX);
    end();
}

/* ---- Borrowing --------------------------------------------------------------------------------------------------- */

/* The struct may be moved, even while a resource is lent. promise: "A zero-initialised ... may be moved" */
static void test_a_moved_pool(void **state) {
    begin((kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = borrowed(NULL), again;
    kolk_resource_pool moved_pool = pool;
    memset(&pool, 0xff, sizeof pool);
    give_thing(&moved_pool, &one);
    assert_int_equal(take_thing(&moved_pool, NULL, KOLK_NOW, &again), KOLK_OK);
    assert_int_equal(f.made, 1);
    give_thing(&moved_pool, &again);
    assert_true(kolk_resource_is_valid(&moved_pool));
    pool = moved_pool;
    end();
}

/* An init does not look at what the struct was before, so it reports nothing, and the first pool goes on.
 * promise: "If a pool is initialised ... list both" */
static void test_a_live_pool_is_initialised_again(void **state) {
    notes taken;
    begin((kolk_resource_pool_desc){.name = "lost", .max = 1});
    kolk_borrowed one = borrowed(NULL);
    kolk_resource_pool first = pool;
    begin_notes(&taken);
    assert_int_equal(
        kolk_resource_init(
            &pool,
            &(kolk_resource_pool_desc){.name = "lost", .context = &f, .create = create_thing, .no_housekeeper = true}),
        KOLK_OK);
    assert_true(pool.inside != first.inside);
    assert_string_equal(listed("resource"), "lost lost ");
    assert_silent(&taken);
    kolk_resource_deinit(&pool);
    pool = first; /* for the test only, so that nothing leaks */
    return_it(&one);
    end();
}

/* The times that 0 and -1 select, in the pool's own copy of its descriptor, which has nanoseconds.
 * promise: "see validate ... -1: before every borrow", "`log` receives borrows ... 1,000; -1: none", "Resources are
 * destroyed ... 0: 1,800,000" */
static void test_the_times_of_a_descriptor(void **state) {
    for (int64_t ms = -1; ms <= 1; ms++) {
        begin((kolk_resource_pool_desc){.idle_timeout_ms = ms,
                                        .max_lifetime_ms = ms,
                                        .keepalive_ms = ms,
                                        .validate_after_ms = ms,
                                        .leak_after_ms = ms,
                                        .create_timeout_ms = ms,
                                        .slow_borrow_ms = ms});
        const kolk_resource_pool_desc *desc = &pool.inside->desc;
        assert_int_equal(desc->max_creating, 2);
        assert_int_equal(desc->idle_timeout_ms, ms > 0 ? MS : ms < 0 ? INT64_MAX : 600000 * MS);
        assert_int_equal(desc->max_lifetime_ms, ms > 0 ? MS : ms < 0 ? INT64_MAX : 1800000 * MS);
        assert_int_equal(desc->keepalive_ms, ms > 0 ? MS : INT64_MAX);
        assert_int_equal(desc->validate_after_ms, ms > 0 ? MS : ms < 0 ? 0 : 500 * MS);
        assert_int_equal(desc->leak_after_ms, ms > 0 ? MS : INT64_MAX);
        assert_int_equal(desc->create_timeout_ms, ms > 0 ? MS : ms < 0 ? INT64_MAX : 10000 * MS);
        assert_int_equal(desc->slow_borrow_ms, ms > 0 ? MS : ms < 0 ? INT64_MAX : 1000 * MS);
        end();
    }
}

static bool create_nothing(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    return true;
}

static void never_destroy(void *context, void *resource) {
    fail();
}

/* A create that returns true but leaves the resource NULL counts as failed. */
static void test_a_create_that_gives_nothing(void **state) {
    kolk_resource_pool_desc desc = {
        .max = 1, .create = create_nothing, .destroy = never_destroy, .no_housekeeper = true};
    kolk_borrowed one;
    assert_int_equal(kolk_resource_init(&pool, &desc), KOLK_OK);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_NOT_CREATED);
    assert_string_equal(one.error.text, "create returned true, but left *resource NULL");
    assert_int_equal(stats().create_failures, 1);
    assert_int_equal(stats().created, 0);
    kolk_resource_deinit(&pool);
}

static void borrow_in_create(void) {
    kolk_borrowed one;
    assert_int_equal(stats().creating, 1); /* create runs without the lock, and is counted */
    assert_int_equal(borrow_for(NULL, in(100), &one), KOLK_IN_HOOK);
    assert_string_equal(one.error.text, "a function of the pool borrows from it, and would wait for itself");
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
}

/* promise: "if such a borrow would have to wait", "close was called ... KOLK_KEY_TOO_LONG, KOLK_NO_MEMORY" */
static void test_create_that_borrows_from_its_own_pool(void **state) {
    begin((kolk_resource_pool_desc){.max = 2, .max_creating = 1});
    next_call_does(CREATE, borrow_in_create);
    kolk_borrowed one = borrowed(NULL);
    return_it(&one);
    end();
}

static void test_deadlines_are_handed_on(void **state) {
    begin((kolk_resource_pool_desc){.max = 1, .validate = validate_thing, .validate_after_ms = -1});
    kolk_borrowed one;
    kolk_deadline deadline = in(70);
    assert_int_equal(borrow_for(NULL, deadline, &one), KOLK_OK);
    assert_int_equal(f.deadline_ns, deadline.ns);
    return_it(&one);
    deadline = in(90);
    pass(20);
    assert_int_equal(borrow_for(NULL, deadline, &one), KOLK_OK);
    assert_int_equal(f.deadline_ns, deadline.ns);
    return_it(&one);
    one = borrowed(NULL);
    assert_int_equal(f.deadline_ns, KOLK_NOW.ns);
    return_it(&one);
    end();
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* promise: "no resource was ready until the deadline" */
static void test_a_timeout_tells_who_has_them(void **state) {
    kolk_borrowed one;
    begin((kolk_resource_pool_desc){.max = 2});
    kolk_borrowed first = borrowed(NULL);
    other = borrowed(NULL);
    assert_int_equal(borrow_for(NULL, in(20), &one), KOLK_TIMEOUT);
    assert_string_equal(
        one.error.text,
        "2 of 2 in use (several by this thread itself), 0 being created, 0 waiting; the longest by the test for 20 ms");
    assert_int_equal(stats().timeouts, 1);
    discard_it(&other);
    f.always[CREATE].fails = true;
    assert_int_equal(borrow_for(NULL, in(20), &one), KOLK_NOT_CREATED);
    f.always[CREATE].fails = false;
    kolk_resource_resize(&pool, 1);
    pass(3000);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
    assert_string_equal(one.error.text,
                        "1 of 1 in use (one by this thread itself), 0 being created, 0 waiting; "
                        "the longest by the test for 3020 ms; 3000 ms ago a create failed: create 3 fails");
    assert_int_equal(one.error.code, 7);
    return_it(&first);
    end();
}

/* The second pool has no warnings. promise: "has to wait, while its thread ... and the others nothing" */
static void test_nested_borrows_are_reported(void **state) {
    notes taken;
    kolk_borrowed one;
    for (int warns = 1; warns >= 0; warns--) {
        begin((kolk_resource_pool_desc){.max = 1, .warn_nested = warns});
        kolk_resource_pause(&pool);
        begin_notes(&taken);
        assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
        kolk_resource_resume(&pool);
        kolk_borrowed first = borrowed(NULL);
        assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
        kolk_entry_at_(pool.inside, 0)->thread++; /* another thread's */
        assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
        kolk_entry_at_(pool.inside, 0)->thread--;
        assert_silent(&taken);
        assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
        assert_int_equal(taken.count, warns);
        if (warns) {
            assert_int_equal(taken.last.rule, KOLK_NESTED);
            assert_ptr_equal(taken.last.object, first.resource);
            assert_int_equal(taken.last.slot, 0);
            assert_string_equal(taken.pool, "db");
            assert_non_null(strstr(taken.sentence, "kolk: db: a resource was borrowed by the test in "));
            assert_non_null(strstr(taken.sentence, ", and 5 ms later the same thread has to wait for another one, "
                                                   "borrowed by the test"));
        }
        assert_int_equal(borrow_for("a", in(5), &one), KOLK_TIMEOUT);
        assert_int_equal(taken.count, warns);
        return_it(&first);
        end();
    }
}

/* A borrow that fails at once, because its key has no resource and the last create for it has failed for good. */
static void test_a_hopeless_borrow_is_not_nested(void **state) {
    notes taken;
    kolk_borrowed one;
    begin((kolk_resource_pool_desc){.max = 1, .min_idle = 1, .warn_nested = true});
    f.final = true;
    script_failures(&f, CREATE, 1);
    tick();
    other = borrowed("a");
    begin_notes(&taken);
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_NOT_CREATED);
    assert_silent(&taken);
    return_other();
    end();
}

static jmp_buf before_borrow;

static void leave_borrow(const kolk_failure *failure, void *context) {
    assert_int_equal(failure->rule, KOLK_NESTED);
    assert_int_equal(stats().waiting, 0);
    longjmp(before_borrow, 1);
}

/* If the handler leaves the borrow, it leaves nothing behind: no waiter, no key. promise: "before it waits, once per
 * pool" */
static void test_a_handler_leaves_a_nested_borrow(void **state) {
    kolk_borrowed one;
    begin((kolk_resource_pool_desc){.max = 1, .warn_nested = true});
    other = borrowed(NULL);
    kolk_set_failure_handler(leave_borrow, NULL);
    if (setjmp(before_borrow) == 0) {
        borrow_for("a", in(5), &one);
        fail();
    }
    assert_int_equal(stats().waiting, 0);
    assert_int_equal(kolk_pool_count(&pool.inside->keys.pool), 1);
    others_do(return_other);
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_OK);
    return_it(&one);
    end();
}

static void wait_for_itself(void) {
    kolk_borrowed one;
    kolk_set_failure_handler(NULL, NULL);
    begin((kolk_resource_pool_desc){.max = 1, .warn_nested = true});
    other = borrowed(NULL);
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
}

/* promise: base.h "it does not abort" */
static void test_the_default_handler_only_prints_it(void **state) {
    char text[1000];
    assert_int_equal(run_apart(wait_for_itself, text, sizeof text), 0);
    assert_non_null(strstr(text, "kolk: db: a resource was borrowed by the test in "));
}

/* With `sites`, both places are named. promise: "The report names both borrows" */
static void test_a_nested_borrow_has_two_places(void **state) {
    skip_on_windows(); /* sites have no names there */
    notes taken;
    kolk_borrowed one;
    begin((kolk_resource_pool_desc){.max = 1, .warn_nested = true, .debug = "sites"});
    other = borrowed(NULL);
    begin_notes(&taken);
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
    char *first = strstr(taken.sentence, ") in take_thing+0x"), *later = strstr(taken.sentence, " ms later ");
    assert_true(first && later && first < later);
    assert_non_null(strstr(later, "borrowed by the test in take_thing+0x"));
    return_other();
    end();
}

/* ---- Giving back ------------------------------------------------------------------------------------------------- */

/* promise: "the status of a borrow ... failure handler", "Does nothing ... reported as KOLK_WRONG_POOL" */
static void test_a_second_give_back_is_reported(void **state) {
    notes taken;
    begin((kolk_resource_pool_desc){.max = 2});
    kolk_borrowed first = borrowed(NULL), copy = first;
    return_it(&first);
    begin_notes(&taken);
    kolk_resource_give_back(&pool, &first);
    assert_noted(&taken, KOLK_DOUBLE_FREE, "db", NULL, 0, "kolk: db: resource 0 is given back a second time");
    other = borrowed(NULL); /* another borrower has it now */
    kolk_resource_discard(&pool, &copy);
    assert_noted(&taken, KOLK_DOUBLE_FREE, "db", NULL, 0, "kolk: db: resource 0 is given back a second time");
    assert_int_equal(stats().in_use, 1);
    return_it(&other);
    assert_silent(&taken);
    end();
    copy.handle = first.handle;
    kolk_resource_give_back(&pool, &copy); /* its pool is gone */
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_WRONG_POOL);
}

/* With `sites`, the report of a second give_back names the thread that returned the resource first, or its present
 * borrower. promise: "a resource pool ... last borrower" */
static void test_a_second_give_back_tells_of_the_first(void **state) {
    skip_on_windows(); /* sites have no names there */
    notes taken;
    char words[100];
    begin((kolk_resource_pool_desc){
        .max = 2, .debug = "sites", .validate = validate_thing, .keepalive_ms = 5, .idle_timeout_ms = 10});
    kolk_borrowed first = borrowed(NULL), copy = first;
    return_it(&first);
    begin_notes(&taken);
    kolk_resource_give_back(&pool, &copy);
    assert_true(taken.last.sites);
    assert_null(strstr(taken.sentence, "KOLK_DEBUG"));
    assert_non_null(strstr(taken.sentence, "kolk: db: resource 0 is given back a second time, after it was borrowed by "
                                           "the test in take_thing+0x"));
    snprintf(words, sizeof words, "(%d), by ", (int)getpid());
    assert_non_null(strstr(taken.sentence, " and given back in thread "));
    if (!emulator()) assert_non_null(strstr(taken.sentence, words)); /* an emulator's threads have other numbers */
    pass(5);
    tick(); /* in other pools, a maker does this in another thread */
    kolk_resource_give_back(&pool, &copy);
    assert_non_null(strstr(taken.sentence, " and given back, by "));
    other = borrowed(NULL);
    kolk_resource_give_back(&pool, &copy);
    assert_non_null(strstr(taken.sentence,
                           "kolk: db: resource 0 is given back a second time, now that it is borrowed by "
                           "the test in thread "));
    assert_non_null(strstr(taken.sentence, ") in take_thing+0x"));
    return_it(&other);
    kolk_resource_give_back(&pool, &copy); /* the entry's sites belong to another borrow now */
    assert_null(strstr(taken.sentence, "borrowed"));
    pass(10);
    tick();
    kolk_resource_give_back(&pool, &copy); /* it was destroyed */
    assert_int_equal(taken.count, 5);
    assert_null(strstr(taken.sentence, "borrowed"));
    end();
}

/* Borrows of a slot are counted in 32 bits. The count skips 0, because it would give the null handle. */
static void test_borrows_beyond_count(void **state) {
    begin((kolk_resource_pool_desc){.max = 1});
    make_idle(1, NULL);
    kolk_entry_at_(pool.inside, 0)->borrows = UINT32_MAX - 1;
    for (unsigned i = 0; i < 3; i++) make_idle(1, NULL);
    assert_int_equal(kolk_entry_at_(pool.inside, 0)->borrows, 2);
    end();
}

static void test_a_borrow_of_another_pool_is_reported(void **state) {
    notes taken;
    kolk_resource_pool second;
    kolk_resource_pool_desc desc = {.name = "db", .context = &f, .create = create_thing, .no_housekeeper = true};
    begin((kolk_resource_pool_desc){.max = 2});
    assert_int_equal(kolk_resource_init(&second, &desc), KOLK_OK);
    kolk_borrowed one = borrowed(NULL);
    begin_notes(&taken);
    kolk_resource_give_back(&second, &one);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_WRONG_POOL);
    assert_true(kolk_handle_equal(taken.last.handle, one.handle));
    assert_int_equal(stats().in_use, 1);
    return_it(&one);
    kolk_resource_deinit(&second);
    end();
}

/* promise: "Ends a borrow, takes its resource ... or reports a bug" */
static void test_a_resource_is_taken_out(void **state) {
    notes taken;
    begin((kolk_resource_pool_desc){.max = 1, .reset = reset_thing});
    other = borrowed("a");
    kolk_borrowed copy = other, one;
    others_do(detach_other);
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_OK); /* it got the room */
    assert_int_equal(number_of(&one), 2);
    assert_int_equal(kolk_pool_count(&pool.inside->keys.pool), 1); /* the key "a" has gone */
    assert_int_equal(f.calls[DESTROY] + f.calls[RESET], 0);
    assert_true(stats().detached == 1 && stats().in_use == 1 && stats().use.count == 1);
    begin_notes(&taken);
    assert_null(kolk_resource_detach(&pool, &copy));
    assert_noted(&taken, KOLK_DOUBLE_FREE, "db", NULL, 0, "kolk: db: resource 0 is given back a second time");
    assert_null(kolk_resource_detach(&pool, &(kolk_borrowed){.resource = NULL}));
    kolk_resource_pool second;
    make_resources(&second, &f, (kolk_resource_pool_desc){.name = "second", .no_housekeeper = true});
    assert_null(kolk_resource_detach(&second, &one));
    assert_noted(&taken, KOLK_WRONG_POOL, "second", NULL, UINT32_MAX,
                 "kolk: second: what another pool has lent is given back to this one");
    kolk_resource_deinit(&second);
    assert_non_null(one.resource);
    other = one;
    others_do(detach_other);
    assert_int_equal(kolk_resource_close(&pool, in(10)), KOLK_OK);
    assert_true(f.calls[DESTROY] == 0 && stats().detached == 2 && stats().closed == 0);
    kolk_resource_deinit(&pool);
    assert_silent(&taken);
    assert_null(kolk_resource_detach(&pool, &copy));
    assert_int_equal(taken.last.rule, KOLK_WRONG_POOL);
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

/* FNV-1a maps both keys to 0x4ba954fb. promise: "Up to 255 bytes; NULL" */
static void test_keys_with_the_same_hash(void **state) {
    begin((kolk_resource_pool_desc){.max = 2});
    kolk_borrowed one = borrowed("gwfac"), other_one = borrowed("16wuc");
    return_it(&one);
    one = borrowed("gwfac");
    assert_int_equal(number_of(&one), 1);
    return_it(&other_one);
    return_it(&one);
    end();
}

static void test_keys_have_255_bytes(void **state) {
    char key[257];
    kolk_borrowed one;
    kolk_borrow_desc desc = {.key = key, .deadline = KOLK_NOW, .who = NULL};
    begin((kolk_resource_pool_desc){.max = 1});
    memset(key, 'k', sizeof key);
    key[256] = 0;
    assert_int_equal(kolk_resource_borrow(&pool, &desc, &one), KOLK_KEY_TOO_LONG);
    key[255] = 0;
    assert_int_equal(kolk_resource_borrow(&pool, &desc, &one), KOLK_OK);
    kolk_resource_give_back(&pool, &one);
    end();
}

/* ---- The pool as a whole: evict, pause, close, deinit ------------------------------------------------------------ */

static void evict_now(void) {
    kolk_resource_evict(&pool);
}

/* promise: "Idle ones are destroyed ... its borrower gets another one" */
static void test_evict(void **state) {
    begin((kolk_resource_pool_desc){.max = 3});
    make_idle(2, NULL);
    kolk_borrowed one = borrowed(NULL);
    evict_now();
    assert_valid();
    assert_int_equal(stats().evicted, 1); /* the idle one */
    assert_true(is_there(&one));
    return_it(&one);
    assert_int_equal(stats().evicted, 2);
    next_call_does(CREATE, evict_now); /* its create begins before the evict and ends after it */
    one = borrowed(NULL);
    assert_int_equal(number_of(&one), 4);
    assert_int_equal(stats().evicted, 3);
    return_it(&one);
    end();
}

static void resume_now(void) {
    assert_int_equal(stats().waiting, 1);
    kolk_resource_resume(&pool);
}

/* promise: "no resource is ready ... created for the next borrow", "Between pause ... may come back" */
static void test_pause(void **state) {
    kolk_borrowed one, used;
    begin((kolk_resource_pool_desc){.max = 2});
    make_idle(1, NULL);
    used = borrowed(NULL);
    kolk_resource_pause(&pool);
    return_it(&used);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
    assert_string_equal(one.error.text, "paused, 0 of 2 in use, 0 being created, 0 waiting");
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_TIMEOUT);
    others_do(resume_now);
    assert_int_equal(borrow_for(NULL, in(10), &one), KOLK_OK);
    assert_int_equal(f.made, 1);
    return_it(&one);
    end();
}

/* promise: "every borrow that is waiting ... interrupts your functions", "KOLK_OK: no ... reported before" */
static void test_close_waits_for_what_is_lent(void **state) {
    begin((kolk_resource_pool_desc){.max = 2});
    make_idle(2, NULL);
    other = borrowed(NULL);
    others_do(return_other);
    assert_int_equal(kolk_resource_close(&pool, in(10)), KOLK_OK);
    assert_int_equal(f.calls[DESTROY], 2);
    end();
}

/* promise: "If the pool ... back is a bug, which is reported", "KOLK_OK: no ... reported before" */
static void test_deinit_names_the_holders(void **state) {
    notes taken;
    begin((kolk_resource_pool_desc){.max = 2});
    other = borrowed(NULL);
    make_idle(1, NULL);
    begin_notes(&taken);
    pass(7);
    kolk_resource_deinit(&pool);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
    assert_non_null(strstr(taken.sentence, "by the test"));
    assert_non_null(strstr(taken.sentence, "after 7 ms"));
    assert_int_equal(f.calls[DESTROY], 1);
    assert_true(is_there(&other)); /* it stays with its borrower */
}

/* ---- The environment --------------------------------------------------------------------------------------------- */

static void test_forced_failures(void **state) {
    kolk_borrowed one;
    setenv("KOLK_FAIL", "db:every=2", 1);
    begin((kolk_resource_pool_desc){.max = 4});
    one = borrowed(NULL);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &other), KOLK_NOT_CREATED);
    assert_string_equal(other.error.text, "KOLK_FAIL makes it fail");
    assert_int_equal(f.made, 1);
    return_it(&one);
    end();
}

static void test_sites(void **state) {
    skip_on_windows(); /* sites have no names there */
    notes taken;
    setenv("KOLK_DEBUG", "sites,fill,guard:db", 1);
    begin((kolk_resource_pool_desc){.max = 1, .leak_after_ms = 10});
    kolk_borrowed one = borrowed(NULL);
    begin_notes(&taken);
    pass(10);
    tick();
    assert_int_equal(taken.count, 1);
    if (!emulator()) assert_non_null(strstr(taken.sentence, " in take_thing"));
    return_it(&one);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_descriptors_that_are_refused),
        DEBUG_TEST(test_all_zero_is_closed),
        DEBUG_TEST(test_defaults),
        DEBUG_TEST(test_the_times_of_a_descriptor),
        DEBUG_TEST(test_a_moved_pool),
        DEBUG_TEST(test_a_live_pool_is_initialised_again),
        DEBUG_TEST(test_a_create_that_gives_nothing),
        DEBUG_TEST(test_create_that_borrows_from_its_own_pool),
        DEBUG_TEST(test_deadlines_are_handed_on),
        DEBUG_TEST(test_a_timeout_tells_who_has_them),
        DEBUG_TEST(test_nested_borrows_are_reported),
        DEBUG_TEST(test_a_hopeless_borrow_is_not_nested),
        DEBUG_TEST(test_a_handler_leaves_a_nested_borrow),
        DEBUG_TEST(test_the_default_handler_only_prints_it),
        DEBUG_TEST(test_a_nested_borrow_has_two_places),
        DEBUG_TEST(test_a_second_give_back_is_reported),
        DEBUG_TEST(test_a_second_give_back_tells_of_the_first),
        DEBUG_TEST(test_borrows_beyond_count),
        DEBUG_TEST(test_a_borrow_of_another_pool_is_reported),
        DEBUG_TEST(test_a_resource_is_taken_out),
        DEBUG_TEST(test_keys_with_the_same_hash),
        DEBUG_TEST(test_keys_have_255_bytes),
        DEBUG_TEST(test_evict),
        DEBUG_TEST(test_pause),
        DEBUG_TEST(test_close_waits_for_what_is_lent),
        DEBUG_TEST(test_deinit_names_the_holders),
        DEBUG_TEST(test_forced_failures),
        DEBUG_TEST(test_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
