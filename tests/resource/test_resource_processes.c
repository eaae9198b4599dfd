/* runs: not:qemu not:wine */
/* Forks: a child cannot do anything with the resources of its parent's pools, whatever it calls, and can make pools of
 * its own, with its own makers. The parent is not affected. This also holds while other threads are in the middle of
 * calls. Not under ThreadSanitizer, which does not let a child start threads. */
#include "resource_threads.h"

#include "../help/child.h"

pid_t _Fork(void) __attribute__((weak)); /* NOLINT(readability-redundant-declaration): only since glibc 2.34 */

static factory things; /* the parent's */

/* Runs `what` in a child and returns the child's exit status. A silent one is made without pthread_atfork's handlers.
 */
static int in_child_made(bool silently, void (*what)(kolk_borrowed *inherited), kolk_borrowed *inherited) {
    int status;
    fflush(NULL);
    pid_t child = silently ? _Fork() : fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(300);
        what(inherited);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int in_child(void (*what)(kolk_borrowed *inherited), kolk_borrowed *inherited) {
    return in_child_made(false, what, inherited);
}

/* ---- What a child can do ----------------------------------------------------------------------------------------- */

static bool everything(const char *key, const void *resource, bool in_use, void *context) {
    return true;
}

/* The number of calls of the pool's functions so far. */
static uint64_t calls_of(const factory *from) {
    return (uint64_t)from->created + from->failed + from->destroyed + from->valid + from->invalid + from->clean +
           from->unclean;
}

/* Makes every call on the parent's pool; at the fork, another thread of the parent may have been inside such a call.
 * Nothing is created, validated, reset or destroyed. */
static void leave_parents_pool_alone(kolk_borrowed *inherited) {
    kolk_borrowed one;
    uint64_t before = calls_of(&things);
    REQUIRE(kolk_resource_borrow(&things.pool, NULL, &one) == KOLK_FORKED);
    REQUIRE(!one.resource && strcmp(one.error.text, kolk_status_text(KOLK_FORKED)) == 0);
    REQUIRE(kolk_resource_borrow(&things.pool, &(kolk_borrow_desc){.key = "a"}, &one) == KOLK_FORKED);
    kolk_resource_give_back(&things.pool, &one);
    one = *inherited;
    kolk_resource_discard(&things.pool, &one);
    REQUIRE(!one.resource);
    one = *inherited;
    REQUIRE(!kolk_resource_detach(&things.pool, &one) && !one.resource);
    kolk_resource_give_back(&things.pool, inherited);
    REQUIRE(!inherited->resource);
    kolk_resource_give_back(&things.pool, inherited); /* a second time */
    kolk_resource_evict(&things.pool);
    REQUIRE(kolk_resource_evict_if(&things.pool, everything, NULL) == 0);
    REQUIRE(kolk_resource_resize(&things.pool, 1) == KOLK_FORKED);
    kolk_resource_pause(&things.pool);
    kolk_resource_resume(&things.pool);
    kolk_resource_tick(&things.pool, KOLK_FOREVER);
    REQUIRE(kolk_resource_fd(&things.pool) == -1);
    REQUIRE(kolk_resource_close(&things.pool, KOLK_FOREVER) == KOLK_FORKED);
    REQUIRE(kolk_resource_borrow(&things.pool, NULL, &one) == KOLK_FORKED); /* the status does not change */
    kolk_resource_deinit(&things.pool);
    REQUIRE(!things.pool.inside);
    REQUIRE(calls_of(&things) == before);
}

static void *borrow_twice(void *of) {
    factory *mine = (factory *)of;
    for (int i = 0; i < 2; i++) {
        kolk_borrowed one = borrow_thing(mine, i ? "a" : NULL, KOLK_FOREVER);
        begin_use((thing *)one.resource);
        end_use((thing *)one.resource);
        kolk_resource_give_back(&mine->pool, &one);
    }
    return NULL;
}

/* Uses the child's own pool, with a maker and a waiting thread. */
static void live_by_own_pool(kolk_borrowed *unused) {
    static factory own;
    pthread_t thread;
    memset(&own, 0, sizeof own);
    REQUIRE(count_makers() == 0);
    make_things(&own, (kolk_resource_pool_desc){.max = 1, .min_idle = 1, .idle_timeout_ms = 5});
    REQUIRE(count_makers() >= 1);
    EVENTUALLY(stats_of(&own).idle == 1);
    kolk_borrowed one = borrow_thing(&own, NULL, KOLK_NOW);
    begin_use((thing *)one.resource);
    REQUIRE(pthread_create(&thread, NULL, borrow_twice, &own) == 0);
    EVENTUALLY(stats_of(&own).waiting == 1);
    end_use((thing *)one.resource);
    kolk_resource_give_back(&own.pool, &one);
    REQUIRE(pthread_join(thread, NULL) == 0);
    end_things(&own);
    EVENTUALLY(count_makers() == 0);
}

static void live_on(kolk_borrowed *inherited) {
    leave_parents_pool_alone(inherited);
    live_by_own_pool(NULL);
}

static void live_first_and_look_back(kolk_borrowed *inherited) {
    live_by_own_pool(NULL);
    leave_parents_pool_alone(inherited);
}

/* The child forks again, so that its own child inherits the child's pool. */
static void fork_again(kolk_borrowed *inherited) {
    leave_parents_pool_alone(inherited);
    memset(&things, 0, sizeof things);
    make_things(&things, (kolk_resource_pool_desc){.max = 2, .min_idle = 1});
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER), copy = one;
    int status;
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(300);
        live_on(&copy);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    kolk_resource_give_back(&things.pool, &one);
    end_things(&things);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

/* promise: "a child cannot ... do nothing"; pq.h "a child makes a pool of its own" */
static void test_a_child_and_its_parents_pool(void **state) {
    static void (*const lives[])(kolk_borrowed *) = {live_on, live_first_and_look_back, fork_again};
    for (size_t i = 0; i < (_Fork ? 4 : 2) * LENGTH_OF(lives); i++) {
        memset(&things, 0, sizeof things);
        bool ticks = i % 2, silently = i >= 2 * LENGTH_OF(lives);
        make_things(&things, (kolk_resource_pool_desc){.max = 4, .min_idle = 2, .no_housekeeper = ticks});
        if (ticks) kolk_resource_tick(&things.pool, KOLK_FOREVER);
        EVENTUALLY(stats_of(&things).idle == 2);
        int fd = kolk_resource_fd(&things.pool);
        assert_true(fd >= 0);
        kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER),
                      another = borrow_thing(&things, "a", KOLK_FOREVER);
        kolk_borrowed copy = one;
        assert_int_equal(in_child_made(silently, lives[i / 2 % LENGTH_OF(lives)], &copy), 0);
        begin_use((thing *)one.resource); /* it was not destroyed */
        end_use((thing *)one.resource);
        kolk_resource_give_back(&things.pool, &one);
        kolk_resource_discard(&things.pool, &another);
        one = borrow_thing(&things, NULL, KOLK_FOREVER);
        kolk_resource_give_back(&things.pool, &one);
        assert_int_equal(kolk_resource_fd(&things.pool), fd);
        end_things(&things);
    }
}

/* A zeroed pool stays closed. */
static void look_at_none(kolk_borrowed *unused) {
    factory none = {0};
    kolk_borrowed one;
    REQUIRE(kolk_resource_borrow(&none.pool, NULL, &one) == KOLK_CLOSED);
    kolk_resource_deinit(&none.pool);
}

static void test_a_child_and_no_pool(void **state) {
    assert_int_equal(in_child(look_at_none, NULL), 0);
    assert_int_equal(in_child(live_by_own_pool, NULL), 0);
}

/* Makes and ends a pool at the address of the pool that the parent's maker is working on. */
static void live_briefly(kolk_borrowed *inherited) {
    const void *before = things.pool.inside;
    leave_parents_pool_alone(inherited);
    memset(&things, 0, sizeof things);
    make_things(&things, (kolk_resource_pool_desc){.max = 1});
    bool same = things.pool.inside == before;
    end_things(&things);
    live_by_own_pool(NULL);
    _exit(same ? 0 : 1);
}

static void test_a_fork_while_a_maker_creates(void **state) {
    memset(&things, 0, sizeof things);
    hold_creates(&things);
    make_things(&things, (kolk_resource_pool_desc){.min_idle = 1});
    await_create();
    kolk_borrowed none = {0};
    int status = in_child(live_briefly, &none);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 1) print_message("the system gave another address\n");
    assert_true(WEXITSTATUS(status) <= 1);
    end_holding();
    EVENTUALLY(stats_of(&things).idle == 1);
    end_things(&things);
}

static void leave(void) {
    exit(0);
}

/* Resources that the parent has lent are not leaks of the child, whose exit would report leaks. */
static void test_a_child_that_exits(void **state) {
    char text[1000];
    memset(&things, 0, sizeof things);
    make_things(&things, (kolk_resource_pool_desc){.debug = "sites"});
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER);
    assert_int_equal(run_apart(leave, text, sizeof text), 0);
    assert_null(strstr(text, "kolk:"));
    kolk_resource_give_back(&things.pool, &one);
    end_things(&things);
}

/* ---- In the middle of everything --------------------------------------------------------------------------------- */

enum { THREADS = 6 };

static bool ends;

static bool lasts(factory *from, thing *it) {
    sched_yield();
    return true;
}

/* Borrows, waits, discards, evicts, and begins and ends pools, so that the makers' list changes. */
static void *work(void *number) {
    uint64_t random = (uintptr_t)number;
    while (!kolk_load_(&ends, KOLK_ACQUIRE_)) {
        kolk_borrowed one;
        kolk_borrow_desc desc = {.key = random_below(&random, 3) ? NULL : "a", .deadline = kolk_deadline_after(2)};
        if (kolk_resource_borrow(&things.pool, &desc, &one) == KOLK_OK) {
            begin_use((thing *)one.resource);
            end_use((thing *)one.resource);
            if (random_below(&random, 8))
                kolk_resource_give_back(&things.pool, &one);
            else
                kolk_resource_discard(&things.pool, &one);
        }
        if (random_below(&random, 16) == 0) kolk_resource_evict(&things.pool);
        if (random_below(&random, 8)) continue;
        factory other = {0};
        make_things(&other, (kolk_resource_pool_desc){.max = 1});
        end_things(&other);
    }
    return NULL;
}

static void test_forks_while_others_are_at_work(void **state) {
    pthread_t threads[THREADS];
    int forks = does_a_part() ? 60 : 600;
    kolk_store_(&ends, false, KOLK_RELAXED_);
    memset(&things, 0, sizeof things);
    things.resets = lasts;
    make_things(&things, (kolk_resource_pool_desc){.max = 3, .min_idle = 1, .idle_timeout_ms = 5});
    kolk_borrowed mine = borrow_thing(&things, NULL, KOLK_FOREVER);
    begin_use((thing *)mine.resource);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
    for (int n = 0; n < forks; n++) {
        kolk_borrowed copy = mine;
        assert_int_equal(in_child(n % 2 ? live_on : live_first_and_look_back, &copy), 0);
    }
    kolk_store_(&ends, true, KOLK_RELEASE_);
    for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    end_use((thing *)mine.resource);
    kolk_resource_give_back(&things.pool, &mine);
    assert_int_equal(kolk_resource_close(&things.pool, KOLK_FOREVER), KOLK_OK);
    end_things(&things);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    END_IF_IT_HANGS();
    remember_threads();
    if (UNDER_ASAN) { /* its own locks may stay held for ever in a fork's child */
        print_message("left out: under AddressSanitizer threads may hang that the child of such a fork starts\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        TEST(test_a_child_and_its_parents_pool),   TEST(test_a_child_and_no_pool),
        TEST(test_a_fork_while_a_maker_creates),   TEST(test_a_child_that_exits),
        TEST(test_forks_while_others_are_at_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
