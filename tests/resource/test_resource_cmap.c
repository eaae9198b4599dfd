/* with: src wraps: resource/resource_clock.h */
/* The behaviour that database drivers expect of any connection pool: the scenarios of the CMAP specification for
 * MongoDB's drivers (Connection Monitoring and Pooling, tests in cmap-format), under their names there. Tests of time
 * use a scripted clock, tests of order use threads. */
#include "../help/threads.h"

#include "resource_steps.h"

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

typedef struct borrower {
    pthread_t thread;
    kolk_status status;
    kolk_borrowed borrow;
    uint32_t turn; /* its place in the order of service */
    const char *key;
} borrower;

static uint32_t turns;

static void *check_out_and_in(void *argument) {
    borrower *me = (borrower *)argument;
    me->status = take_thing(&pool, me->key, KOLK_FOREVER, &me->borrow);
    if (me->status != KOLK_OK) return NULL;
    me->turn = COUNT_UP(turns);
    give_thing(&pool, &me->borrow);
    return NULL;
}

static void *check_out_only(void *argument) {
    borrower *me = (borrower *)argument;
    me->status = take_thing(&pool, me->key, KOLK_FOREVER, &me->borrow);
    return NULL;
}

static void until_waiting(uint32_t n) {
    while (stats().waiting != n) nap();
}

static void until_creating(uint32_t n) {
    while (NUMBER(f.making) != n) nap();
}

static void start(borrower *one, void *(*body)(void *)) {
    *one = (borrower){.key = one->key};
    REQUIRE(pthread_create(&one->thread, NULL, body, one) == 0);
}

static void join(borrower *one) {
    REQUIRE(pthread_join(one->thread, NULL) == 0);
}

/* ---- Checking out and in ----------------------------------------------------------------------------------------- */

/* pool-create, pool-create-max-size: a pool begins empty, and never exceeds max. */
static void test_pool_create(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 3});
    assert_int_equal(NUMBER(f.calls[CREATE]), 0);
    kolk_borrowed borrows[3], none;
    for (int i = 0; i < 3; i++) borrows[i] = borrowed(NULL);
    assert_int_equal(take_thing(&pool, NULL, KOLK_NOW, &none), KOLK_FULL);
    assert_int_equal(f.there, 3);
    for (int i = 0; i < 3; i++) return_it(&borrows[i]);
    end();
}

/* pool-create-min-size: background work creates min_idle resources, and replaces lost ones. */
static void test_minimum_size(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 5, .min_idle = 3});
    tick();
    assert_int_equal(stats().idle, 3);
    kolk_borrowed one = borrowed(NULL);
    discard_it(&one);
    assert_int_equal(stats().idle, 2);
    tick();
    assert_int_equal(stats().idle, 3);
    assert_int_equal(f.made, 4);
    kolk_resource_evict(&pool);
    assert_int_equal(stats().idle, 0);
    tick();
    assert_int_equal(stats().idle, 3);
    end();
}

/* pool-create-min-size-error: a failed create is repeated after a pause. */
static void test_minimum_size_error(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 5, .min_idle = 1});
    script_failures(&f, CREATE, 3);
    for (int i = 1; i <= 3; i++) {
        tick();
        assert_int_equal(f.calls[CREATE], i);
        tick();
        assert_int_equal(f.calls[CREATE], i); /* not repeated immediately */
        clock_ns += 5000 * MS;
    }
    tick();
    assert_int_equal(stats().idle, 1);
    assert_int_equal(stats().create_failures, 3);
    end();
}

/* pool-checkout-connection, pool-checkin: the same resource is lent again. */
static void test_checkout_and_checkin(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2});
    kolk_borrowed one = borrowed(NULL);
    assert_int_equal(stats().in_use, 1);
    return_it(&one);
    assert_int_equal(stats().idle, 1);
    one = borrowed(NULL);
    assert_int_equal(number_of(&one), 1);
    return_it(&one);
    end();
}

/* pool-checkout-multiple: each borrower gets a resource of its own. */
static void test_checkout_multiple(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 3});
    kolk_borrowed borrows[3];
    bool seen[4] = {false};
    for (int i = 0; i < 3; i++) {
        borrows[i] = borrowed(NULL);
        assert_false(seen[number_of(&borrows[i])]);
        seen[number_of(&borrows[i])] = true;
    }
    for (int i = 0; i < 3; i++) return_it(&borrows[i]);
    end();
}

/* pool-checkout-no-idle: a resource that was idle for too long is not lent once background work has checked it. */
static void test_no_idle(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .idle_timeout_ms = 10});
    kolk_borrowed one = borrowed(NULL);
    return_it(&one);
    clock_ns += 10 * MS;
    tick();
    assert_int_equal(stats().unused, 1);
    one = borrowed(NULL);
    assert_int_equal(number_of(&one), 2);
    return_it(&one);
    end();
}

/* pool-checkout-no-stale: a resource from before a clear is never lent. */
static void test_no_stale(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = borrowed(NULL);
    return_it(&one);
    kolk_resource_evict(&pool);
    assert_int_equal(f.calls[DESTROY], 1);
    one = borrowed(NULL);
    assert_int_equal(number_of(&one), 2);
    return_it(&one);
    end();
}

/* pool-checkin-destroy-stale: a resource returned after a clear is destroyed; a newer one stays. */
static void test_checkin_stale(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2, .reset = reset_thing});
    kolk_borrowed before = borrowed(NULL);
    kolk_resource_evict(&pool);
    kolk_borrowed after = borrowed(NULL);
    return_it(&before);
    return_it(&after);
    assert_int_equal(stats().evicted, 1);
    assert_int_equal(stats().idle, 1);
    assert_int_equal(f.calls[RESET], 1); /* no reset for the destroyed one */
    after = borrowed(NULL);
    assert_int_equal(number_of(&after), 2);
    return_it(&after);
    end();
}

/* pool-checkin-destroy-closed: a resource returned to a closed pool is destroyed. */
static void test_checkin_closed(void **state) {
    (void)state;
    static notes told;
    begin((kolk_resource_pool_desc){.max = 1, .reset = reset_thing});
    kolk_borrowed one = borrowed(NULL);
    begin_notes(&told);
    assert_int_equal(kolk_resource_close(&pool, KOLK_NOW), KOLK_TIMEOUT);
    assert_int_equal(told.last.rule, KOLK_LEAK);
    return_it(&one);
    assert_int_equal(f.calls[DESTROY], 1);
    assert_int_equal(f.calls[RESET], 0);
    assert_int_equal(kolk_resource_close(&pool, KOLK_NOW), KOLK_OK);
    end();
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* wait-queue-timeout: a wait ends after its deadline and not before, and does not delay later waiters. */
static void test_timeout(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = borrowed(NULL), none;
    int64_t deadline = clock_ns + 50 * MS;
    assert_int_equal(take_thing(&pool, NULL, (kolk_deadline){deadline}, &none), KOLK_TIMEOUT);
    assert_int_equal(clock_ns, deadline);
    assert_int_equal(stats().timeouts, 1);
    assert_int_equal(stats().waiting, 0);
    return_it(&one);
    one = borrowed(NULL);
    return_it(&one);
    end();
}

/* wait-queue-fairness: first come, first served. promise: "within a key, borrowers are served in order" */
static void test_fairness(void **state) {
    (void)state;
    enum { LINE = 8 };
    borrower line[LINE] = {{0}};
    begin((kolk_resource_pool_desc){.max = 1});
    has_threads = true;
    kolk_borrowed one = borrowed(NULL);
    turns = 0;
    for (uint32_t i = 0; i < LINE; i++) {
        start(&line[i], check_out_and_in);
        until_waiting(i + 1);
    }
    return_it(&one);
    for (uint32_t i = 0; i < LINE; i++) {
        join(&line[i]);
        assert_int_equal(line[i].status, KOLK_OK);
        assert_int_equal(line[i].turn, i + 1);
    }
    assert_int_equal(f.made, 1);
    end();
}

/* pool-checkout-custom-maxConnecting-is-enforced: at most maxConnecting creates run; the next starts when one is
 * done. promise: "The most creates ... 0: 2" */
static void test_maximum_connecting(void **state) {
    (void)state;
    enum { LINE = 5 };
    borrower line[LINE] = {{0}};
    begin((kolk_resource_pool_desc){.max = 10});
    has_threads = true;
    f.hangs[CREATE] = 1;
    for (uint32_t i = 0; i < LINE; i++) start(&line[i], check_out_only);
    until_creating(2);
    until_waiting(LINE - 2);
    assert_int_equal(stats().creating, 2);
    __atomic_store_n(&f.hangs[CREATE], 0, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < LINE; i++) join(&line[i]);
    assert_int_equal(f.most_making, 2);
    assert_int_equal(f.made, LINE);
    for (uint32_t i = 0; i < LINE; i++) return_it(&line[i].borrow);
    end();
}

/* pool-checkout-returned-connection-maxConnecting: a waiter for a create takes a returned resource instead. */
static void test_returned_while_connecting(void **state) {
    (void)state;
    borrower makes[2] = {{0}}, waits = {0};
    begin((kolk_resource_pool_desc){.max = 10});
    has_threads = true;
    kolk_borrowed one = borrowed(NULL);
    f.hangs[CREATE] = 1;
    for (int i = 0; i < 2; i++) start(&makes[i], check_out_only);
    until_creating(2);
    start(&waits, check_out_only);
    until_waiting(1);
    return_it(&one);
    join(&waits);
    assert_int_equal(number_of(&waits.borrow), 1);
    assert_int_equal(NUMBER(f.making), 2);
    __atomic_store_n(&f.hangs[CREATE], 0, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 2; i++) {
        join(&makes[i]);
        return_it(&makes[i].borrow);
    }
    return_it(&waits.borrow);
    end();
}

/* pool-checkout-maxConnecting-timeout: a borrower waits for its turn to create no longer than until its deadline. */
static void test_connecting_timeout(void **state) {
    (void)state;
    borrower makes = {0};
    kolk_borrowed none;
    begin((kolk_resource_pool_desc){.max = 10, .max_creating = 1});
    has_threads = true;
    f.hangs[CREATE] = 1;
    start(&makes, check_out_only);
    until_creating(1);
    assert_int_equal(take_thing(&pool, NULL, (kolk_deadline){clock_ns + 50 * MS}, &none), KOLK_TIMEOUT);
    assert_int_equal(NUMBER(f.calls[CREATE]), 1);
    __atomic_store_n(&f.hangs[CREATE], 0, __ATOMIC_SEQ_CST);
    join(&makes);
    return_it(&makes.borrow);
    end();
}

/* pool-checkout-error: the borrower whose create failed gets the reason. The next waiter may then create, and is
 * served. */
static void test_served_after_a_failed_create(void **state) {
    (void)state;
    borrower fails = {0}, waits = {0};
    begin((kolk_resource_pool_desc){.max = 1});
    has_threads = true;
    script_failures(&f, CREATE, 1);
    f.hangs[CREATE] = 1;
    start(&fails, check_out_only);
    until_creating(1);
    start(&waits, check_out_only);
    until_waiting(1);
    __atomic_store_n(&f.hangs[CREATE], 0, __ATOMIC_SEQ_CST);
    join(&fails);
    join(&waits);
    assert_int_equal(fails.status, KOLK_NOT_CREATED);
    assert_string_equal(fails.borrow.error.text, "create 1 fails");
    assert_int_equal(fails.borrow.error.code, 7);
    assert_int_equal(waits.status, KOLK_OK);
    return_it(&waits.borrow);
    end();
}

/* A returned resource skips a waiter that cannot use it because it waits for another key and may not create yet. */
static void test_nobody_is_in_the_way(void **state) {
    (void)state;
    borrower makes = {.key = "a"}, first = {.key = "b"}, second = {.key = NULL};
    begin((kolk_resource_pool_desc){.max = 3, .max_creating = 1});
    has_threads = true;
    kolk_borrowed one = borrowed(NULL);
    f.hangs[CREATE] = 1;
    start(&makes, check_out_only);
    until_creating(1);
    start(&first, check_out_only);
    until_waiting(1);
    start(&second, check_out_only);
    until_waiting(2);
    return_it(&one);
    join(&second);
    assert_int_equal(number_of(&second.borrow), 1);
    assert_int_equal(stats().waiting, 1);
    __atomic_store_n(&f.hangs[CREATE], 0, __ATOMIC_SEQ_CST);
    join(&makes);
    join(&first);
    return_it(&makes.borrow);
    return_it(&first.borrow);
    return_it(&second.borrow);
    end();
}

/* A borrower whose resource proved dead waits for another one, ahead of those that came later. */
static void test_dead_one_does_not_cost_the_turn(void **state) {
    (void)state;
    borrower makes = {.key = "a"}, unlucky = {.key = NULL}, later = {.key = NULL};
    begin((kolk_resource_pool_desc){.max = 3, .max_creating = 1, .validate = validate_thing, .validate_after_ms = -1});
    has_threads = true;
    kolk_borrowed one = borrowed(NULL);
    return_it(&one);
    script_failures(&f, VALIDATE, 1);
    f.hangs[VALIDATE] = f.hangs[CREATE] = 1;
    start(&unlucky, check_out_only);
    while (NUMBER(f.calls[VALIDATE]) == 0) nap();
    start(&makes, check_out_only);
    until_creating(1);
    start(&later, check_out_only);
    until_waiting(1);
    __atomic_store_n(&f.hangs[VALIDATE], 0, __ATOMIC_SEQ_CST);
    until_waiting(2);
    __atomic_store_n(&f.hangs[CREATE], 0, __ATOMIC_SEQ_CST);
    join(&makes);
    join(&unlucky);
    join(&later);
    assert_int_equal(number_of(&makes.borrow), 2);
    assert_int_equal(number_of(&unlucky.borrow), 3);
    assert_int_equal(number_of(&later.borrow), 4);
    return_it(&makes.borrow);
    return_it(&unlucky.borrow);
    return_it(&later.borrow);
    end();
}

/* ---- Clear and close --------------------------------------------------------------------------------------------- */

/* pool-clear-interrupting-pending-connections, as this pool does it: a resource being created during the clear is not
 * lent; its borrower gets one whose create began later. */
static void test_clear_while_connecting(void **state) {
    (void)state;
    borrower makes = {0};
    begin((kolk_resource_pool_desc){.max = 1});
    has_threads = true;
    f.hangs[CREATE] = 1;
    start(&makes, check_out_only);
    until_creating(1);
    kolk_resource_evict(&pool);
    __atomic_store_n(&f.hangs[CREATE], 0, __ATOMIC_SEQ_CST);
    join(&makes);
    assert_int_equal(makes.status, KOLK_OK);
    assert_int_equal(number_of(&makes.borrow), 2);
    assert_int_equal(stats().evicted, 1);
    return_it(&makes.borrow);
    end();
}

/* pool-clear-min-size: background work creates min_idle resources again. pool-clear-ready, -paused: a second call has
 * no effect. promise: "Idle ones are destroyed ... its borrower gets another one" */
static void test_clear(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 4, .min_idle = 2});
    tick();
    kolk_resource_pause(&pool);
    kolk_resource_evict(&pool);
    kolk_resource_evict(&pool);
    tick();
    assert_int_equal(f.made, 2); /* nothing is made while the pool is paused */
    kolk_resource_resume(&pool);
    tick();
    assert_int_equal(f.made, 4);
    assert_int_equal(stats().idle, 2);
    assert_int_equal(stats().evicted, 2);
    end();
}

/* pool-clear-clears-waitqueue has no counterpart: after a clear, waiters stay and get new resources. */
static void test_clear_keeps_the_line(void **state) {
    (void)state;
    borrower waits = {0};
    begin((kolk_resource_pool_desc){.max = 1});
    has_threads = true;
    kolk_borrowed one = borrowed(NULL);
    start(&waits, check_out_only);
    until_waiting(1);
    kolk_resource_evict(&pool);
    assert_int_equal(stats().waiting, 1);
    return_it(&one);
    join(&waits);
    assert_int_equal(waits.status, KOLK_OK);
    assert_int_equal(number_of(&waits.borrow), 2);
    return_it(&waits.borrow);
    end();
}

/* pool-ready, pool-start-state: a paused pool lends nothing. When resumed, it serves the waiters in their order. */
static void test_ready(void **state) {
    (void)state;
    borrower line[3] = {{0}};
    begin((kolk_resource_pool_desc){.max = 1});
    has_threads = true;
    kolk_resource_pause(&pool);
    kolk_borrowed none;
    assert_int_equal(take_thing(&pool, NULL, KOLK_NOW, &none), KOLK_FULL);
    turns = 0;
    for (uint32_t i = 0; i < 3; i++) {
        start(&line[i], check_out_and_in);
        until_waiting(i + 1);
    }
    assert_int_equal(NUMBER(f.calls[CREATE]), 0);
    kolk_resource_resume(&pool);
    for (uint32_t i = 0; i < 3; i++) {
        join(&line[i]);
        assert_int_equal(line[i].turn, i + 1);
    }
    end();
}

/* pool-close, pool-close-destroy-conns, pool-checkout-closed: idle resources are destroyed, and waiters and later
 * borrowers are refused. promise: "every borrow that is waiting ... interrupts your functions" */
static void test_close(void **state) {
    (void)state;
    static notes told;
    borrower waits[2] = {{0}};
    begin((kolk_resource_pool_desc){.max = 2});
    has_threads = true;
    kolk_borrowed one = borrowed(NULL), two = borrowed(NULL), none;
    for (uint32_t i = 0; i < 2; i++) {
        waits[i].key = i ? "k" : NULL;
        start(&waits[i], check_out_only);
        until_waiting(i + 1);
    }
    begin_notes(&told);
    assert_int_equal(kolk_resource_close(&pool, (kolk_deadline){clock_ns + MS}), KOLK_TIMEOUT);
    assert_int_equal(told.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        join(&waits[i]);
        assert_int_equal(waits[i].status, KOLK_CLOSED);
    }
    assert_int_equal(take_thing(&pool, NULL, KOLK_FOREVER, &none), KOLK_CLOSED);
    return_it(&one);
    discard_it(&two);
    assert_int_equal(kolk_resource_close(&pool, KOLK_FOREVER), KOLK_OK);
    assert_int_equal(stats().closed, 1);
    assert_int_equal(stats().failed, 3);
    end();
}

static uint32_t ended;

static void *deinit_it(void *unused) {
    kolk_resource_deinit(&pool);
    COUNT_UP(ended);
    return unused;
}

/* pool-close, while a resource is created in the background: close waits for it and destroys it. */
static void test_close_while_the_background_works(void **state) {
    (void)state;
    static factory of_second;
    kolk_resource_pool second; /* keeps the background's thread alive */
    pthread_t thread;
    memset(&f, 0, sizeof f);
    has_threads = true;
    f.hangs[CREATE] = 1;
    ended = 0;
    make_resources(&second, &of_second, (kolk_resource_pool_desc){.name = "second"});
    make_resources(&pool, &f, (kolk_resource_pool_desc){.min_idle = 1});
    until_creating(1);
    REQUIRE(pthread_create(&thread, NULL, deinit_it, NULL) == 0);
    for (int i = 0; i < 100; i++) nap();
    assert_int_equal(NUMBER(ended), 0);
    __atomic_store_n(&f.hangs[CREATE], 0, __ATOMIC_SEQ_CST);
    REQUIRE(pthread_join(thread, NULL) == 0);
    assert_int_equal(f.there, 0);
    kolk_resource_deinit(&second);
}

/* ---- No permit is lost ------------------------------------------------------------------------------------------- */

static kolk_borrowed held; /* held by another thread, which returns it while a borrower waits */
static uint64_t dice;
static uint64_t handed_over; /* how often a hand-over came at the moment of the deadline */

static bool gives_back_too_late(kolk_deadline deadline) {
    uint32_t choice = random_below(&dice, 4);
    meanwhile = NULL;
    if (choice == 0 && held.resource) return_it(&held);
    if (choice == 1 && held.resource) discard_it(&held);
    meanwhile = gives_back_too_late;
    handed_over += choice < 2;
    clock_ns = deadline.ns;
    return false;
}

/* Some waits time out, others are served at the very moment of their deadline. */
static void test_timeouts_lose_nothing(void **state) {
    (void)state;
    uint64_t enough = number_from_environment("KOLK_TEST_OPS", does_a_part() ? 100000 : 1000000), timeouts = 0;
    dice = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", dice);
    begin((kolk_resource_pool_desc){.max = 1, .max_lifetime_ms = -1, .validate = validate_thing});
    held = borrowed(NULL);
    meanwhile = gives_back_too_late;
    for (uint64_t i = 0; timeouts < enough; i++) {
        kolk_borrowed mine;
        if (random_below(&dice, 8) == 0 && f.written[VALIDATE] <= f.read[VALIDATE]) script_failures(&f, VALIDATE, 1);
        kolk_status status = take_thing(&pool, i % 3 ? NULL : "k", (kolk_deadline){clock_ns + MS}, &mine);
        assert_true(status == KOLK_OK || status == KOLK_TIMEOUT);
        timeouts += status == KOLK_TIMEOUT;
        if (status == KOLK_OK) held = mine;
        if (i % 1024 == 0) assert_true(kolk_resource_is_valid(&pool));
        if (!held.resource) held = borrowed(NULL); /* a resource is available, whatever has happened */
        assert_int_equal(f.there, 1);
    }
    assert_int_equal(stats().timeouts, timeouts);
    assert_true(handed_over > enough / 4);
    meanwhile = NULL;
    return_it(&held);
    end();
}

static int tear_down(void **state) {
    has_threads = false;
    meanwhile = NULL;
    return abort_on_failure(state);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pool_create, tear_down),
        cmocka_unit_test_teardown(test_minimum_size, tear_down),
        cmocka_unit_test_teardown(test_minimum_size_error, tear_down),
        cmocka_unit_test_teardown(test_checkout_and_checkin, tear_down),
        cmocka_unit_test_teardown(test_checkout_multiple, tear_down),
        cmocka_unit_test_teardown(test_no_idle, tear_down),
        cmocka_unit_test_teardown(test_no_stale, tear_down),
        cmocka_unit_test_teardown(test_checkin_stale, tear_down),
        cmocka_unit_test_teardown(test_checkin_closed, tear_down),
        cmocka_unit_test_teardown(test_timeout, tear_down),
        cmocka_unit_test_teardown(test_fairness, tear_down),
        cmocka_unit_test_teardown(test_maximum_connecting, tear_down),
        cmocka_unit_test_teardown(test_returned_while_connecting, tear_down),
        cmocka_unit_test_teardown(test_connecting_timeout, tear_down),
        cmocka_unit_test_teardown(test_served_after_a_failed_create, tear_down),
        cmocka_unit_test_teardown(test_nobody_is_in_the_way, tear_down),
        cmocka_unit_test_teardown(test_dead_one_does_not_cost_the_turn, tear_down),
        cmocka_unit_test_teardown(test_clear_while_connecting, tear_down),
        cmocka_unit_test_teardown(test_clear, tear_down),
        cmocka_unit_test_teardown(test_clear_keeps_the_line, tear_down),
        cmocka_unit_test_teardown(test_ready, tear_down),
        cmocka_unit_test_teardown(test_close, tear_down),
        cmocka_unit_test_teardown(test_close_while_the_background_works, tear_down),
        cmocka_unit_test_teardown(test_timeouts_lose_nothing, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
