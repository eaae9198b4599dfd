/* runs: not:wine wraps: pthread_create */
/* The makers' thread: when it exists, what it does for its pools, and that it leaves nothing behind, neither when a
 * pool ends during its work, nor when many begin and end at once, nor at exit. The times are short, and no test depends
 * on how late an action is. */
#include "resource_threads.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>

#include "../help/child.h"
#include "resource/resource_inside.h"

#define MS INT64_C(1000000)

static factory things; /* zeroed before each test */

static int begin_test(void **state) {
    memset(&things, 0, sizeof things);
    return 0;
}

static int end_test(void **state) {
    if (!things.pool.inside) EVENTUALLY(count_makers() == 0); /* an ended thread may still be listed */
    return abort_on_failure(state);
}

static kolk_resource_pool_stats now(void) {
    return stats_of(&things);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static bool refuses_thread;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    if (refuses_thread) return refuses_thread = false, EAGAIN;
    return __real_pthread_create(thread, attributes, body, argument);
}

/* promise: "Makers are threads ... last pool" */
static void test_one_from_the_first_pool_to_the_last(void **state) {
    factory others = {0}, lonely = {0};
    EVENTUALLY(count_makers() == 0); /* main's first thread may still be listed */
    make_things(&lonely, (kolk_resource_pool_desc){.no_housekeeper = true, .min_idle = 1});
    assert_int_equal(count_makers(), 0);
    for (int turn = 0; turn < 3; turn++) {
        make_things(&things, (kolk_resource_pool_desc){.max = 2});
        assert_int_equal(count_makers(), 1);
        make_things(&others, (kolk_resource_pool_desc){.max = 2});
        assert_int_equal(count_makers(), 1);
        end_things(turn % 2 ? &things : &others);
        assert_int_equal(count_makers(), 1);
        end_things(turn % 2 ? &others : &things);
        EVENTUALLY(count_makers() == 0);
    }
    assert_int_equal(lonely.created, 0);
    end_things(&lonely);
}

/* promise: "If the system has no thread left" */
static void test_the_system_has_no_thread(void **state) {
    refuses_thread = true;
    assert_int_equal(init_things(&things, (kolk_resource_pool_desc){.min_idle = 1}), KOLK_NO_THREAD);
    assert_null(things.pool.inside);
    assert_false(refuses_thread);
    make_things(&things, (kolk_resource_pool_desc){.min_idle = 1});
    EVENTUALLY(now().idle == 1);
    end_things(&things);
}

static sigset_t plain_mask; /* the first thread's, before the first pool */
static uint32_t mask_was_full;

static bool look_at_mask(factory *from, kolk_deadline deadline) {
    sigset_t blocked;
    bool full = pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0;
    for (int number = 1; number < SIGRTMIN; number++) /* all but the two that cannot be blocked and glibc's own */
        full &= number == SIGKILL || number == SIGSTOP || number >= 32 || sigismember(&blocked, number);
    kolk_store_(&mask_was_full, full, KOLK_RELEASE_);
    return true;
}

/* promise: "Signals are blocked ... must return" */
static void test_its_signals_are_blocked(void **state) {
    sigset_t after;
    memset(&after, 0, sizeof after); /* the system writes only the first bytes */
    things.creates = look_at_mask;
    make_things(&things, (kolk_resource_pool_desc){.min_idle = 1});
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    EVENTUALLY(now().idle == 1);
    assert_true(kolk_load_(&mask_was_full, KOLK_ACQUIRE_));
    assert_memory_equal(&plain_mask, &after, sizeof after); /* this thread's mask is unchanged */
    end_things(&things);
}

/* ---- What it does ------------------------------------------------------------------------------------------------ */

static void test_it_makes_min_idle_ready(void **state) {
    kolk_borrowed all[3];
    make_things(&things, (kolk_resource_pool_desc){.max = 5, .min_idle = 3});
    EVENTUALLY(now().idle == 3);
    for (size_t i = 0; i < 3; i++) all[i] = borrow_thing(&things, NULL, KOLK_NOW);
    kolk_resource_discard(&things.pool, &all[0]);
    kolk_resource_discard(&things.pool, &all[1]);
    EVENTUALLY(now().idle == 3);
    kolk_resource_give_back(&things.pool, &all[2]);
    assert_int_equal(now().idle, 4);
    assert_int_equal(things.created, 6); /* after the discards max leaves room for one, and then for another */
    kolk_resource_evict(&things.pool);
    EVENTUALLY(now().idle == 3);
    assert_int_equal(now().evicted, 4);
    end_things(&things);
}

/* Each resource lives for at least nine tenths of max_lifetime_ms, and they do not all live equally long. */
static void test_it_ends_what_is_old(void **state) {
    enum { ALL = 16 };
    const int64_t hour = 3600000 * MS;
    int64_t least = INT64_MAX, most = 0;
    make_things(&things, (kolk_resource_pool_desc){.max = ALL, .min_idle = ALL, .max_lifetime_ms = hour / MS});
    EVENTUALLY(now().idle == ALL);
    kolk_resource_inside_ *pool = things.pool.inside;
    kolk_resource_lock_(pool);
    for (uint32_t slot = 0; slot < pool->slots; slot++) {
        const resource_entry *entry = kolk_entry_at_(pool, slot);
        int64_t lives = entry->expires - entry->proved;
        assert_true(lives > hour * 9 / 10 && lives <= hour);
        if (lives < least) least = lives;
        if (lives > most) most = lives;
    }
    kolk_resource_settle_and_unlock_(pool);
    assert_true(most - least > hour / 100); /* fails by chance once in 1e15 runs */
    end_things(&things);
    memset(&things, 0, sizeof things);
    int64_t begin = kolk_now_ns_();
    make_things(&things, (kolk_resource_pool_desc){.max = ALL, .min_idle = ALL, .max_lifetime_ms = 200});
    EVENTUALLY(now().expired > 0);
    assert_true(kolk_now_ns_() - begin >= 180 * MS);
    EVENTUALLY(now().expired >= ALL);
    end_things(&things);
}

/* ---- Leaks ------------------------------------------------------------------------------------------------------- */

static notes taken; /* written by the makers' thread; read after `told` is set */
static uint32_t told;

static void take_note_there(const kolk_failure *failure, void *context) {
    take_note(failure, context);
    kolk_fetch_add_(&told, 1, KOLK_RELEASE_); /* pairs with count_of */
}

static void *borrow_and_leak(void *out) {
    kolk_borrow_desc desc = {.deadline = KOLK_FOREVER, .who = "reader 3"};
    prctl(PR_SET_NAME, "leaky");
    REQUIRE(kolk_resource_borrow(&things.pool, &desc, (kolk_borrowed *)out) == KOLK_OK);
    EVENTUALLY(count_of(&told) == 1);
    for (int i = 0; i < 3; i++) { /* reported once, however often it looks */
        int64_t look_at = kolk_load_(&things.pool.inside->chore.due, KOLK_RELAXED_);
        EVENTUALLY(kolk_load_(&things.pool.inside->chore.due, KOLK_RELAXED_) != look_at);
    }
    REQUIRE(count_of(&told) == 1);
    return NULL;
}

static void test_it_reports_leaks_once(void **state) {
    kolk_borrowed one;
    const char *by = "a resource that was borrowed by reader 3 in thread leaky (";
    memset(&taken, 0, sizeof taken);
    told = 0;
    kolk_set_failure_handler(take_note_there, &taken);
    make_things(&things, (kolk_resource_pool_desc){.name = "db", .max = 1, .leak_after_ms = 5});
    run_thread(borrow_and_leak, &one);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
    assert_string_equal(taken.pool, "db");
    assert_ptr_equal(taken.last.object, one.resource);
    assert_non_null(strstr(taken.sentence, by));
    assert_non_null(strstr(taken.sentence, " is not given back after "));
    assert_int_equal(now().leaks, 1);
    kolk_resource_give_back(&things.pool, &one);
    assert_int_equal(taken.count, 2);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
    assert_non_null(strstr(taken.sentence, "the resource that was borrowed by reader 3 in thread leaky ("));
    if (!emulator()) assert_non_null(strstr(taken.sentence, ", ended) in ")); /* an emulator's threads end late */
    assert_non_null(strstr(taken.sentence, " is given back now, after "));
    one = borrow_thing(&things, NULL, KOLK_NOW); /* the next borrow is a new one */
    EVENTUALLY(count_of(&told) == 3);
    kolk_resource_give_back(&things.pool, &one);
    assert_int_equal(taken.count, 4);
    assert_int_equal(now().leaks, 2);
    end_things(&things);
}

static uint32_t helper; /* the number of the last thread that only borrowed or gave back */

static void *only_borrow(void *out) {
    prctl(PR_SET_NAME, "nameless");
    helper = kolk_thread_();
    *(kolk_borrowed *)out = borrow_thing(&things, NULL, KOLK_FOREVER);
    return NULL;
}

/* The number of an ended thread is always known, but its name only if the pool looks for leaks. */
static void test_the_name_of_an_ended_thread(void **state) {
    skip_if_emulated(); /* an emulator's threads have other numbers and names */
    kolk_borrowed one;
    for (int keeps = 0; keeps < 2; keeps++) {
        memset(&taken, 0, sizeof taken);
        kolk_set_failure_handler(take_note, &taken);
        make_things(&things, (kolk_resource_pool_desc){.max = 1, .debug = keeps ? "sites" : NULL});
        run_thread(only_borrow, &one);
        await_thread_end(helper);
        assert_int_equal(kolk_resource_close(&things.pool, KOLK_NOW), KOLK_TIMEOUT);
        assert_int_equal(taken.count, 1);
        assert_true((strstr(taken.sentence, " in thread nameless (") != NULL) == keeps);
        assert_non_null(strstr(taken.sentence, keeps ? ", ended) in " : " (ended) in "));
        kolk_resource_give_back(&things.pool, &one);
        end_things(&things);
    }
}

static void *only_give_back(void *borrow) {
    helper = kolk_thread_();
    kolk_resource_give_back(&things.pool, (kolk_borrowed *)borrow);
    return NULL;
}

/* The stored name is the borrower's, although another thread returned the resource. */
static void test_the_name_of_a_thread_that_gave_back(void **state) {
    skip_if_emulated(); /* an emulator's threads have other numbers and names */
    kolk_borrowed one, copy;
    memset(&taken, 0, sizeof taken);
    kolk_set_failure_handler(take_note, &taken);
    make_things(&things, (kolk_resource_pool_desc){.max = 1, .debug = "sites"});
    run_thread(only_borrow, &one);
    copy = one;
    run_thread(only_give_back, &copy);
    await_thread_end(helper);
    kolk_resource_give_back(&things.pool, &one);
    assert_int_equal(taken.count, 1);
    assert_non_null(strstr(taken.sentence, " and given back in thread "));
    assert_non_null(strstr(taken.sentence, " (ended), by "));
    assert_null(strstr(taken.sentence, "nameless"));
    end_things(&things);
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

static uint32_t has_ended;

static void *deinit_things(void *unused) {
    kolk_resource_deinit(&things.pool);
    kolk_store_(&has_ended, 1, KOLK_RELEASE_);
    return unused;
}

/* deinit waits for the maker; the resource that it just made is destroyed; another pool is not affected. */
static void test_a_pool_ends_while_it_is_in_its_create(void **state) {
    for (int with_another = 0; with_another < 2; with_another++) {
        pthread_t thread;
        factory others = {0};
        memset(&things, 0, sizeof things);
        has_ended = 0;
        hold_creates(&things);
        make_things(&things, (kolk_resource_pool_desc){.max = 3, .min_idle = 2});
        await_create();
        if (with_another) make_things(&others, (kolk_resource_pool_desc){.max = 3, .min_idle = 1});
        assert_int_equal(pthread_create(&thread, NULL, deinit_things, NULL), 0);
        for (int i = 0; i < 20; i++) nap();
        assert_int_equal(kolk_load_(&has_ended, KOLK_ACQUIRE_), 0);
        end_holding();
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(things.created > 0);
        assert_int_equal(things.created, things.destroyed);
        if (!with_another) continue;
        EVENTUALLY(stats_of(&others).idle == 1);
        end_things(&others);
    }
}

static void *end_others(void *others) {
    end_things(others);
    return NULL;
}

/* The last pool of the list ends while its maker is still in a create for a pool that is ending. The next pool gets new
 * makers, whose work does not end the wait of that deinit. promise: "It returns when none ... only with `sites`" */
static void test_two_makers_at_work(void **state) {
    pthread_t going, last;
    factory others = {0}, next = {0};
    memset(&things, 0, sizeof things);
    has_ended = 0;
    hold_creates(&things);
    make_things(&others, (kolk_resource_pool_desc){.max = 3});
    make_things(&things, (kolk_resource_pool_desc){.max = 3, .min_idle = 2});
    await_create();
    assert_int_equal(pthread_create(&going, NULL, deinit_things, NULL), 0);
    for (int i = 0; i < 20; i++) nap();
    assert_int_equal(pthread_create(&last, NULL, end_others, &others), 0);
    for (int i = 0; i < 20; i++) nap();
    make_things(&next, (kolk_resource_pool_desc){.max = 3, .min_idle = 1});
    EVENTUALLY(stats_of(&next).idle == 1);
    for (int i = 0; i < 20; i++) nap();
    assert_int_equal(kolk_load_(&has_ended, KOLK_ACQUIRE_), 0);
    end_holding();
    assert_int_equal(pthread_join(going, NULL), 0);
    assert_int_equal(pthread_join(last, NULL), 0);
    assert_int_equal(things.created, things.destroyed);
    end_things(&next);
}

enum { THREADS = 8 };

static void *begin_and_end_pools(void *rounds) {
    for (uintptr_t n = (uintptr_t)rounds; n; n--) {
        factory mine = {0};
        make_things(&mine, (kolk_resource_pool_desc){.max = 2, .min_idle = n % 2, .idle_timeout_ms = 1});
        kolk_borrowed one = borrow_thing(&mine, n % 3 ? "" : "a", KOLK_FOREVER);
        if (n % 4 == 0) EVENTUALLY(stats_of(&mine).idle == n % 2);
        kolk_resource_give_back(&mine.pool, &one);
        end_things(&mine);
    }
    return NULL;
}

static void test_pools_begin_and_end_at_once(void **state) {
    pthread_t threads[THREADS];
    uintptr_t rounds = does_a_part() ? 50 : 500;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, begin_and_end_pools, (void *)rounds), 0);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
}

/* Leaves pools that are not deinitialised, with a maker at work: exit must not wait. */
static void leave_it_running(void) {
    static factory idle;
    END_IF_IT_HANGS();
    make_things(&idle, (kolk_resource_pool_desc){.max = 3, .min_idle = 2, .idle_timeout_ms = 1, .keepalive_ms = 1});
    EVENTUALLY(stats_of(&idle).created >= 2);
    memset(&things, 0, sizeof things);
    hold_creates(&things);
    make_things(&things, (kolk_resource_pool_desc){.min_idle = 1});
    await_create();
    exit(3);
}

static void test_exit_while_it_runs(void **state) {
    char text[1000];
    int status = run_apart(leave_it_running, text, sizeof text);
    assert_string_equal(text, "");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 3);
}

static void *do_nothing(void *unused) {
    return unused;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void) {
    END_IF_IT_HANGS();
    pthread_sigmask(SIG_SETMASK, NULL, &plain_mask);
    remember_threads();
    run_thread(do_nothing, NULL);
    const struct CMUnitTest tests[] = {
        TEST(test_one_from_the_first_pool_to_the_last),
        TEST(test_the_system_has_no_thread),
        TEST(test_its_signals_are_blocked),
        TEST(test_it_makes_min_idle_ready),
        TEST(test_it_ends_what_is_old),
        TEST(test_it_reports_leaks_once),
        TEST(test_the_name_of_an_ended_thread),
        TEST(test_the_name_of_a_thread_that_gave_back),
        TEST(test_a_pool_ends_while_it_is_in_its_create),
        TEST(test_two_makers_at_work),
        TEST(test_pools_begin_and_end_at_once),
        TEST(test_exit_while_it_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
