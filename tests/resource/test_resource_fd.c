/* runs: not:wine wraps: eventfd */
/* kolk_resource_fd: when poll finds a resource pool readable. Each event after which a borrow with KOLK_NOW may succeed
 * makes it readable: with a maker, poll waits for it; with ticks, it is readable right after a tick. */
#include "resource_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "resource/resource_inside.h"

static bool refuses_event;
int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);

int __wrap_eventfd(unsigned value, int flags) {
    if (refuses_event) return refuses_event = false, errno = EMFILE, -1;
    return __real_eventfd(value, flags);
}

static factory things;
static int fd;
static bool by_ticks; /* no makers */

/* Makes a pool that an event loop watches. */
static void watch(kolk_resource_pool_desc desc) {
    memset(&things, 0, sizeof things);
    desc.no_housekeeper = by_ticks;
    make_things(&things, desc);
    fd = kolk_resource_fd(&things.pool);
    assert_true(fd >= 0);
    assert_int_equal(kolk_resource_fd(&things.pool), fd); /* each call returns the same one */
}

static bool is_readable(void) {
    struct pollfd it = {.fd = fd, .events = POLLIN};
    int n = poll(&it, 1, 0);
    assert_true(n == 0 || (n == 1 && it.revents == POLLIN));
    assert_true(kolk_resource_is_valid(&things.pool));
    return n;
}

/* Waits as an event loop does. With ticks, the pool must have called for makers; otherwise success would depend on
 * chance. */
static void await_readable(void) {
    struct pollfd it = {.fd = fd, .events = POLLIN};
    if (by_ticks && !is_readable()) assert_true(things.pool.inside->called);
    if (by_ticks) kolk_resource_tick(&things.pool, KOLK_FOREVER);
    assert_int_equal(poll(&it, 1, by_ticks ? 0 : 120000), 1);
    assert_int_equal(it.revents, POLLIN);
}

/* Lets a maker work, which must find nothing to offer. */
static void look_in_vain(void) {
    if (by_ticks) kolk_resource_tick(&things.pool, KOLK_FOREVER);
    for (int i = 0; i < 20; i++) nap();
    assert_false(is_readable());
}

static kolk_status try(const char *key, kolk_borrowed *one) {
    return kolk_resource_borrow(&things.pool, &(kolk_borrow_desc){.key = key}, one);
}

#define assert_full(key)                                                                                               \
    do {                                                                                                               \
        kolk_borrowed none_;                                                                                           \
        assert_int_equal(try(key, &none_), KOLK_FULL);                                                                 \
    } while (0)

static kolk_borrowed tried(const char *key) {
    kolk_borrowed one;
    assert_int_equal(try(key, &one), KOLK_OK);
    assert_string_equal(((thing *)one.resource)->key, key ? key : "");
    return one;
}

/* Borrows: the first attempt must find nothing, and the next succeed once the descriptor is readable. */
static kolk_borrowed awaited(const char *key) {
    assert_full(key);
    await_readable();
    return tried(key);
}

/* Borrows the resource that has been promised to this key since then. Returns false if the machine was so slow that the
 * promise has run out. */
static bool is_kept(const char *key, kolk_borrowed *one, int64_t since) {
    if (try(key, one) == KOLK_OK) return true;
    assert_true(kolk_now_ns_() - since >= PROMISE_NS);
    return false;
}

static void give(kolk_borrowed *one) {
    kolk_resource_give_back(&things.pool, one);
}

/* ---- Tests: each with makers, and by ticks ---------------------------------------------------------------- */

/* promise: "until a borrow returns KOLK_FULL again" */
static void test_it_stays_readable_until_there_is_none(void **state) {
    watch((kolk_resource_pool_desc){.max = 2});
    assert_false(is_readable()); /* no borrow was refused yet */
    kolk_borrowed one = awaited(NULL);
    assert_true(is_readable());
    assert_true(is_readable()); /* level-triggered: polling changes nothing */
    kolk_borrowed another = awaited(NULL);
    assert_full(NULL);
    assert_false(is_readable());
    assert_full(NULL);
    assert_false(is_readable());
    give(&one);
    assert_true(is_readable());
    give(&another);
    one = tried(NULL);
    another = tried(NULL);
    assert_true(is_readable());
    assert_full(NULL);
    assert_false(is_readable());
    kolk_resource_discard(&things.pool, &one); /* makes room */
    await_readable();
    one = tried(NULL);
    give(&one);
    give(&another);
    assert_int_equal(things.created, 3);
    end_things(&things);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

/* promise: "With no_housekeeper, from the first ... not Linux" */
static void test_borrows_now_create_before_the_first_call_only(void **state) {
    memset(&things, 0, sizeof things);
    make_things(&things, (kolk_resource_pool_desc){.no_housekeeper = true});
    kolk_borrowed one = tried(NULL);
    assert_true(kolk_resource_fd(&things.pool) >= 0);
    assert_full(NULL);
    assert_int_equal(things.created, 1);
    kolk_borrowed another = borrow_thing(&things, NULL, kolk_deadline_after(60000)); /* a borrow that waits */
    assert_int_equal(things.created, 2);
    give(&one);
    give(&another);
    end_things(&things);
}

static void test_keys(void **state) {
    watch((kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = awaited("a");
    assert_full("b");
    look_in_vain();
    give(&one);
    await_readable(); /* the idle one of "a" makes room */
    one = tried("b");
    give(&one);
    assert_int_equal(stats_of(&things).replaced, 1);
    one = awaited(NULL);
    assert_full("a");
    assert_full("b");
    look_in_vain();
    give(&one);
    await_readable(); /* for one of the two keys; the other is served when that one is returned */
    bool first_is_a = try("a", &one) == KOLK_OK;
    if (!first_is_a) one = tried("b");
    assert_full(first_is_a ? "b" : "a");
    give(&one);
    await_readable();
    one = tried(first_is_a ? "b" : "a");
    give(&one);
    end_things(&things);
}

/* One descriptor serves several event loops: a resource promised to one of them stays reserved if another loop looks
 * first. promise: "Several loops ... time to time" */
static void test_two_loops(void **state) {
    watch((kolk_resource_pool_desc){.max = 2});
    kolk_borrowed a = awaited("a"), b = awaited("b");
    assert_full("a");
    assert_full("b");
    look_in_vain();
    int64_t since = kolk_now_ns_();
    give(&a);
    await_readable();
    assert_full("b"); /* the second loop looks first */
    bool readable = is_readable();
    if (is_kept("a", &a, since)) {
        assert_true(readable);
        assert_full("b");
        assert_false(is_readable());
    }
    give(&a);
    give(&b);
    end_things(&things);
}

/* A failed create is reported once, to a borrow of its key. promise: "If a loop borrows ... KOLK_NOT_CREATED, once" */
static void test_a_failure_belongs_to_its_key(void **state) {
    kolk_borrowed one;
    watch((kolk_resource_pool_desc){.max = 2});
    things.fails_for = "bad";
    assert_full("bad");
    await_readable();
    assert_full("good");
    assert_int_equal(try("bad", &one), KOLK_NOT_CREATED);
    assert_string_equal(one.error.text, "refused");
    unsigned reported = 1; /* on a slow machine, the next create may have failed as well by now */
    while (try("bad", &one) == KOLK_NOT_CREATED) reported++;
    assert_true(reported <= __atomic_load_n(&things.failed, __ATOMIC_RELAXED));
    while (try("good", &one) == KOLK_FULL) await_readable();
    assert_non_null(one.resource);
    give(&one);
    end_things(&things);
}

/* A failed create that no borrow asked for is reported to no borrow. */
static void test_a_failure_of_what_is_kept(void **state) {
    memset(&things, 0, sizeof things);
    things.fails_for = "";
    make_things(&things, (kolk_resource_pool_desc){.max = 2, .min_idle = 1, .no_housekeeper = by_ticks});
    fd = kolk_resource_fd(&things.pool);
    if (by_ticks) kolk_resource_tick(&things.pool, KOLK_FOREVER);
    EVENTUALLY(stats_of(&things).create_failures > 0);
    assert_full(NULL);
    end_things(&things);
}

static bool create_together(factory *from, kolk_deadline deadline) {
    EVENTUALLY(count_of(&from->most_creating) >= (count_of(&from->created) < 3 ? 1 : 2));
    return true;
}

/* A loop that asks again and again gets several creates at the same time, not one after another.
 * promise: "If a loop borrows ... KOLK_NOT_CREATED, once" */
static void test_a_loop_that_needs_many(void **state) {
    kolk_borrowed all[12];
    by_ticks = false;
    watch((kolk_resource_pool_desc){.max = 12, .max_creating = 3});
    things.creates = create_together;
    for (int i = 0; i < 12;) {
        if (try(NULL, &all[i]) == KOLK_OK)
            i++;
        else
            await_readable();
    }
    assert_true(things.most_creating > 1);
    for (int i = 0; i < 12; i++) give(&all[i]);
    end_things(&things);
}

/* A resource promised to a loop is not given to another key right away. It is given away later if no loop asks for
 * it. promise: "Several loops ... time to time" */
static void test_a_promise_is_kept_for_a_while(void **state) {
    watch((kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = awaited("a");
    assert_full("b");
    int64_t since = kolk_now_ns_();
    give(&one);
    await_readable(); /* the resource of "b" is ready */
    assert_full("a");
    for (int i = 0; i < 20; i++) nap();
    if (is_kept("b", &one, since)) { /* another loop may have asked for it */
        assert_full("a");
        give(&one);
        await_readable(); /* the resource of "a" is ready, and no loop asks for it */
        EVENTUALLY((by_ticks ? kolk_resource_tick(&things.pool, KOLK_FOREVER) : (void)0, try("b", &one) == KOLK_OK));
    }
    give(&one);
    end_things(&things);
}

static void test_an_idle_one_of_the_key_is_enough(void **state) {
    watch((kolk_resource_pool_desc){.max = 3});
    kolk_borrowed one = awaited("a"), another = awaited("b");
    assert_full("a");
    give(&another);
    give(&one);
    await_readable();
    one = tried("a");
    give(&one);
    end_things(&things);
}

static uint32_t refusals; /* how many more creates fail */

static bool refuse_some(factory *from, kolk_deadline deadline) {
    if (!refusals) return true;
    refusals--;
    return false;
}

static void test_a_create_that_fails(void **state) {
    kolk_borrowed one;
    watch((kolk_resource_pool_desc){.max = 2});
    things.creates = refuse_some;
    refusals = 1;
    assert_full("a");
    await_readable();
    assert_int_equal(try("a", &one), KOLK_NOT_CREATED);
    assert_null(one.resource);
    assert_int_equal(one.error.code, 61);
    assert_string_equal(one.error.text, "refused");
    if (by_ticks) EVENTUALLY((kolk_resource_tick(&things.pool, KOLK_FOREVER), is_readable()));
    await_readable(); /* after a pause */
    one = tried("a");
    give(&one);
    assert_int_equal(stats_of(&things).failed, 1);
    assert_int_equal(stats_of(&things).create_failures, 1);
    end_things(&things);
}

static void test_close_makes_it_readable(void **state) {
    kolk_borrowed one, none;
    notes taken;
    for (int late = 0; late < 2; late++) {
        watch((kolk_resource_pool_desc){.max = 1});
        one = awaited(NULL);
        if (late) assert_full(NULL);
        if (late) assert_false(is_readable());
        begin_notes(&taken); /* close reports the present borrowers */
        assert_int_equal(kolk_resource_close(&things.pool, PAST), KOLK_TIMEOUT);
        for (int i = 0; i < 2; i++) {
            assert_true(is_readable());
            assert_int_equal(try(NULL, &none), KOLK_CLOSED);
        }
        give(&one);
        assert_int_equal(taken.count, 2);
        end_things(&things);
    }
}

static void test_pause(void **state) {
    watch((kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = awaited(NULL);
    kolk_resource_pause(&things.pool);
    assert_full(NULL);
    give(&one);
    assert_full(NULL); /* also with an idle one */
    look_in_vain();
    kolk_resource_resume(&things.pool);
    await_readable();
    one = tried(NULL);
    assert_int_equal(things.created, 1); /* the same one */
    kolk_resource_pause(&things.pool);
    kolk_resource_discard(&things.pool, &one);
    assert_full(NULL);
    look_in_vain();
    kolk_resource_resume(&things.pool); /* nothing is idle, but there is room */
    await_readable();
    one = tried(NULL);
    give(&one);
    end_things(&things);
}

static void test_resize(void **state) {
    watch((kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = awaited(NULL);
    assert_full(NULL);
    look_in_vain();
    assert_int_equal(kolk_resource_resize(&things.pool, 2), KOLK_OK);
    await_readable();
    kolk_borrowed another = tried(NULL);
    assert_int_equal(kolk_resource_resize(&things.pool, 1), KOLK_OK);
    assert_full(NULL);
    give(&another); /* one too many, so it is destroyed */
    assert_full(NULL);
    assert_false(is_readable());
    kolk_resource_evict(&things.pool);
    give(&one); /* it is destroyed as well, which makes room */
    await_readable();
    one = tried(NULL);
    give(&one);
    assert_int_equal(things.destroyed, 2);
    end_things(&things);
}

static void *borrow_other(void *one) {
    *(kolk_borrowed *)one = borrow_thing(&things, "other", KOLK_FOREVER);
    return NULL;
}

/* Another borrower's create uses up max_creating; when it is done, it is the event loop's turn. */
static void test_another_creates(void **state) {
    pthread_t thread;
    kolk_borrowed one, others;
    watch((kolk_resource_pool_desc){.max = 2, .max_creating = 1});
    hold_creates(&things);
    assert_int_equal(pthread_create(&thread, NULL, borrow_other, &others), 0);
    await_create();
    assert_full(NULL);
    look_in_vain();
    end_holding();
    assert_int_equal(pthread_join(thread, NULL), 0);
    await_readable();
    one = tried(NULL);
    give(&one);
    give(&others);
    end_things(&things);
}

static void *borrow_and_keep(void *one) {
    *(kolk_borrowed *)one = borrow_thing(&things, NULL, KOLK_FOREVER);
    return NULL;
}

/* Waiting threads are served before event loops. */
static void test_a_thread_waits(void **state) {
    pthread_t thread;
    kolk_borrowed others;
    watch((kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = awaited(NULL);
    assert_full(NULL);
    assert_int_equal(pthread_create(&thread, NULL, borrow_and_keep, &others), 0);
    EVENTUALLY(stats_of(&things).waiting == 1);
    give(&one);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_full(NULL);
    assert_false(is_readable());
    give(&others);
    await_readable();
    one = tried(NULL);
    give(&one);
    end_things(&things);
}

static void test_none_to_have(void **state) {
    memset(&things, 0, sizeof things);
    make_things(&things, (kolk_resource_pool_desc){.max = 1, .no_housekeeper = by_ticks});
    refuses_event = true;
    assert_int_equal(kolk_resource_fd(&things.pool), -1);
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER); /* the pool still works */
    assert_full(NULL);
    give(&one);
    fd = kolk_resource_fd(&things.pool);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    one = tried(NULL);
    give(&one);
    end_things(&things);
}

/* ---- An event loop beside threads -------------------------------------------------------------------------------- */

enum { THREADS = 4, HELD = 3 };

static int rounds;

static bool lasts(factory *from, thing *it) {
    if (it->key[0]) sched_yield();
    return true;
}

static void *borrow_and_give_back(void *number) {
    uint64_t random = (uintptr_t)number;
    for (int n = 0; n < rounds; n++) {
        kolk_borrowed one = borrow_thing(&things, random_below(&random, 2) ? "a" : NULL, KOLK_FOREVER);
        begin_use((thing *)one.resource);
        if (random_below(&random, 4) == 0) nap();
        end_use((thing *)one.resource);
        if (random_below(&random, 8))
            give(&one);
        else
            kolk_resource_discard(&things.pool, &one);
    }
    return NULL;
}

/* Works as resource.h advises: poll without a time limit, then borrow until KOLK_FULL. No opportunity is missed. */
static void *run_loop(void *key) {
    struct pollfd it = {.fd = fd, .events = POLLIN};
    kolk_borrowed held[HELD];
    int holds = 0;
    for (int n = 0; n < rounds;) {
        kolk_status status;
        while (holds < HELD && (status = try((const char *)key, &held[holds])) != KOLK_FULL) {
            if (status == KOLK_NOT_CREATED) continue;
            REQUIRE(status == KOLK_OK);
            begin_use((thing *)held[holds++].resource);
            n++;
        }
        if (holds == 0) REQUIRE(poll(&it, 1, 60000) == 1);
        while (holds > 0) {
            end_use((thing *)held[--holds].resource);
            give(&held[holds]);
        }
    }
    return NULL;
}

static void test_a_loop_and_threads(void **state) {
    pthread_t threads[THREADS];
    rounds = does_a_part() ? 60 : 1000;
    by_ticks = false;
    for (uint32_t max = 1; max <= 4; max++) {
        watch((kolk_resource_pool_desc){.max = max, .validate_after_ms = -1});
        things.validates = lasts;
        for (uintptr_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, borrow_and_give_back, (void *)(i + 1)), 0);
        run_loop(max % 2 ? (void *)(uintptr_t) "" : (void *)(uintptr_t) "b");
        for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(things.most_there <= max);
        end_things(&things);
    }
}

static int with_makers(void **state) {
    by_ticks = false;
    return 0;
}

static int with_ticks(void **state) {
    by_ticks = true;
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)
#define TWICE(name)                                                                                                    \
    cmocka_unit_test_setup_teardown(name, with_makers, abort_on_failure),                                              \
        cmocka_unit_test_setup_teardown(name, with_ticks, abort_on_failure)

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_borrows_now_create_before_the_first_call_only),
        TWICE(test_it_stays_readable_until_there_is_none),
        TWICE(test_keys),
        TWICE(test_two_loops),
        TWICE(test_a_failure_belongs_to_its_key),
        TWICE(test_a_failure_of_what_is_kept),
        TEST(test_a_loop_that_needs_many),
        TWICE(test_a_promise_is_kept_for_a_while),
        TWICE(test_an_idle_one_of_the_key_is_enough),
        TWICE(test_a_create_that_fails),
        TWICE(test_close_makes_it_readable),
        TWICE(test_pause),
        TWICE(test_resize),
        TWICE(test_another_creates),
        TWICE(test_a_thread_waits),
        TWICE(test_none_to_have),
        TEST(test_a_loop_and_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
