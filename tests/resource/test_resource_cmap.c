/* What drivers of databases expect of any pool of connections: the scenarios that the CMAP specification of MongoDB's
 * drivers has for them (Connection Monitoring and Pooling, its tests in cmap-format), each with its name there. On a
 * scripted clock where time matters, with threads where order does. */
#include "../help/threads.h"

#include "resource_steps.h"

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

typedef struct borrower {
    pthread_t thread;
    kolk_status status;
    kolk_borrow borrow;
    uint32_t turn; /* the how-many-th that was served */
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

/* pool-create, pool-create-max-size: a pool begins empty, and never has more than max. */
static void test_pool_create(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 3});
    assert_int_equal(NUMBER(f.calls[CREATE]), 0);
    kolk_borrow borrows[3], none;
    for (int i = 0; i < 3; i++) borrows[i] = borrowed(NULL);
    assert_int_equal(take_thing(&pool, NULL, KOLK_NOW, &none), KOLK_FULL);
    assert_int_equal(f.there, 3);
    for (int i = 0; i < 3; i++) return_it(&borrows[i]);
    end();
}

/* pool-create-min-size: the background makes as many as that, and again when some have gone. */
static void test_minimum_size(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 5, .min_idle = 3});
    tick();
    assert_int_equal(stats().idle, 3);
    kolk_borrow one = borrowed(NULL);
    discard_it(&one);
    assert_int_equal(stats().idle, 2);
    tick();
    assert_int_equal(stats().idle, 3);
    assert_int_equal(f.made, 4);
    kolk_resource_pool_evict(&pool);
    assert_int_equal(stats().idle, 0);
    tick();
    assert_int_equal(stats().idle, 3);
    end();
}

/* pool-create-min-size-error: what cannot be made is tried again, after a pause. */
static void test_minimum_size_error(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 5, .min_idle = 1});
    script_failures(&f, CREATE, 3);
    for (int i = 1; i <= 3; i++) {
        tick();
        assert_int_equal(f.calls[CREATE], i);
        tick();
        assert_int_equal(f.calls[CREATE], i); /* not at once */
        clock_ns += 5000 * MS;
    }
    tick();
    assert_int_equal(stats().idle, 1);
    assert_int_equal(stats().create_failures, 3);
    end();
}

/* pool-checkout-connection, pool-checkin: the same one again. */
static void test_checkout_and_checkin(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2});
    kolk_borrow one = borrowed(NULL);
    assert_int_equal(stats().in_use, 1);
    return_it(&one);
    assert_int_equal(stats().idle, 1);
    one = borrowed(NULL);
    assert_int_equal(number_of(&one), 1);
    return_it(&one);
    end();
}

/* pool-checkout-multiple: each gets its own. */
static void test_checkout_multiple(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 3});
    kolk_borrow borrows[3];
    bool seen[4] = {false};
    for (int i = 0; i < 3; i++) {
        borrows[i] = borrowed(NULL);
        assert_false(seen[number_of(&borrows[i])]);
        seen[number_of(&borrows[i])] = true;
    }
    for (int i = 0; i < 3; i++) return_it(&borrows[i]);
    end();
}

/* pool-checkout-no-idle: one that has been idle for too long is not lent after the background has seen it. */
static void test_no_idle(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1, .idle_timeout_ms = 10});
    kolk_borrow one = borrowed(NULL);
    return_it(&one);
    clock_ns += 10 * MS;
    tick();
    assert_int_equal(stats().unused, 1);
    one = borrowed(NULL);
    assert_int_equal(number_of(&one), 2);
    return_it(&one);
    end();
}

/* pool-checkout-no-stale: one from before a clear is never lent. */
static void test_no_stale(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1});
    kolk_borrow one = borrowed(NULL);
    return_it(&one);
    kolk_resource_pool_evict(&pool);
    assert_int_equal(f.calls[DESTROY], 1);
    one = borrowed(NULL);
    assert_int_equal(number_of(&one), 2);
    return_it(&one);
    end();
}

/* pool-checkin-destroy-stale: one that comes back after a clear ends, and a newer one stays. */
static void test_checkin_stale(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 2, .reset = reset_thing});
    kolk_borrow before = borrowed(NULL);
    kolk_resource_pool_evict(&pool);
    kolk_borrow after = borrowed(NULL);
    return_it(&before);
    return_it(&after);
    assert_int_equal(stats().evicted, 1);
    assert_int_equal(stats().idle, 1);
    assert_int_equal(f.calls[RESET], 1); /* not of what ends */
    after = borrowed(NULL);
    assert_int_equal(number_of(&after), 2);
    return_it(&after);
    end();
}

/* pool-checkin-destroy-closed: what comes back to a closed pool ends. */
static void test_checkin_closed(void **state) {
    (void)state;
    static notes told;
    begin((kolk_resource_pool_desc){.max = 1, .reset = reset_thing});
    kolk_borrow one = borrowed(NULL);
    begin_notes(&told);
    assert_int_equal(kolk_resource_pool_close(&pool, KOLK_NOW), KOLK_TIMEOUT);
    assert_int_equal(told.last.rule, KOLK_LEAK);
    return_it(&one);
    assert_int_equal(f.calls[DESTROY], 1);
    assert_int_equal(f.calls[RESET], 0);
    assert_int_equal(kolk_resource_pool_close(&pool, KOLK_NOW), KOLK_OK);
    end();
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* wait-queue-timeout: after its deadline and not before; who waits behind it is not in its way. */
static void test_timeout(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 1});
    kolk_borrow one = borrowed(NULL), none;
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

/* wait-queue-fairness: first come, first served. */
static void test_fairness(void **state) {
    (void)state;
    enum { LINE = 8 };
    borrower line[LINE] = {{0}};
    begin((kolk_resource_pool_desc){.max = 1});
    has_threads = true;
    kolk_borrow one = borrowed(NULL);
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

/* pool-checkout-custom-maxConnecting-is-enforced: so many are made at a time, the next when one of them is done. */
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

/* pool-checkout-returned-connection-maxConnecting: one that waits for its turn to make takes what comes back before. */
static void test_returned_while_connecting(void **state) {
    (void)state;
    borrower makes[2] = {{0}}, waits = {0};
    begin((kolk_resource_pool_desc){.max = 10});
    has_threads = true;
    kolk_borrow one = borrowed(NULL);
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

/* pool-checkout-maxConnecting-timeout: it does not wait longer for its turn than until its deadline. */
static void test_connecting_timeout(void **state) {
    (void)state;
    borrower makes = {0};
    kolk_borrow none;
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

/* pool-checkout-error: the one that could not make gets the reason; the next in line, which waited for that place, is
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

/* Where one has no use for what comes back, as it waits for another key and may not make one yet, the next gets it. */
static void test_nobody_is_in_the_way(void **state) {
    (void)state;
    borrower makes = {.key = "a"}, first = {.key = "b"}, second = {.key = NULL};
    begin((kolk_resource_pool_desc){.max = 3, .max_creating = 1});
    has_threads = true;
    kolk_borrow one = borrowed(NULL);
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

/* One whose resource has proved dead has had its turn: it waits for another in front of those who came later. */
static void test_dead_one_does_not_cost_the_turn(void **state) {
    (void)state;
    borrower makes = {.key = "a"}, unlucky = {.key = NULL}, later = {.key = NULL};
    begin((kolk_resource_pool_desc){.max = 3, .max_creating = 1, .validate = validate_thing, .validate_after_ms = -1});
    has_threads = true;
    kolk_borrow one = borrowed(NULL);
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

/* pool-clear-interrupting-pending-connections, with this pool's manners: what is being made at the time of the clear is
 * not lent; its borrower gets one that was begun later. */
static void test_clear_while_connecting(void **state) {
    (void)state;
    borrower makes = {0};
    begin((kolk_resource_pool_desc){.max = 1});
    has_threads = true;
    f.hangs[CREATE] = 1;
    start(&makes, check_out_only);
    until_creating(1);
    kolk_resource_pool_evict(&pool);
    __atomic_store_n(&f.hangs[CREATE], 0, __ATOMIC_SEQ_CST);
    join(&makes);
    assert_int_equal(makes.status, KOLK_OK);
    assert_int_equal(number_of(&makes.borrow), 2);
    assert_int_equal(stats().evicted, 1);
    return_it(&makes.borrow);
    end();
}

/* pool-clear-min-size: the background fills up again. pool-clear-ready, -paused: twice does no harm. */
static void test_clear(void **state) {
    (void)state;
    begin((kolk_resource_pool_desc){.max = 4, .min_idle = 2});
    tick();
    kolk_resource_pool_pause(&pool);
    kolk_resource_pool_evict(&pool);
    kolk_resource_pool_evict(&pool);
    tick();
    assert_int_equal(f.made, 2); /* not while it is paused */
    kolk_resource_pool_resume(&pool);
    tick();
    assert_int_equal(f.made, 4);
    assert_int_equal(stats().idle, 2);
    assert_int_equal(stats().evicted, 2);
    end();
}

/* pool-clear-clears-waitqueue has no counterpart: a clear does not turn away those who wait; they get new ones. */
static void test_clear_keeps_the_line(void **state) {
    (void)state;
    borrower waits = {0};
    begin((kolk_resource_pool_desc){.max = 1});
    has_threads = true;
    kolk_borrow one = borrowed(NULL);
    start(&waits, check_out_only);
    until_waiting(1);
    kolk_resource_pool_evict(&pool);
    assert_int_equal(stats().waiting, 1);
    return_it(&one);
    join(&waits);
    assert_int_equal(waits.status, KOLK_OK);
    assert_int_equal(number_of(&waits.borrow), 2);
    return_it(&waits.borrow);
    end();
}

/* pool-ready, pool-start-state: a paused pool lends nothing until it is resumed, in the order in which they came. */
static void test_ready(void **state) {
    (void)state;
    borrower line[3] = {{0}};
    begin((kolk_resource_pool_desc){.max = 1});
    has_threads = true;
    kolk_resource_pool_pause(&pool);
    kolk_borrow none;
    assert_int_equal(take_thing(&pool, NULL, KOLK_NOW, &none), KOLK_FULL);
    turns = 0;
    for (uint32_t i = 0; i < 3; i++) {
        start(&line[i], check_out_and_in);
        until_waiting(i + 1);
    }
    assert_int_equal(NUMBER(f.calls[CREATE]), 0);
    kolk_resource_pool_resume(&pool);
    for (uint32_t i = 0; i < 3; i++) {
        join(&line[i]);
        assert_int_equal(line[i].turn, i + 1);
    }
    end();
}

/* pool-close, pool-close-destroy-conns, pool-checkout-closed: all that is idle ends, all that wait are turned away, and
 * so is who comes later. */
static void test_close(void **state) {
    (void)state;
    static notes told;
    borrower waits[2] = {{0}};
    begin((kolk_resource_pool_desc){.max = 2});
    has_threads = true;
    kolk_borrow one = borrowed(NULL), two = borrowed(NULL), none;
    for (uint32_t i = 0; i < 2; i++) {
        waits[i].key = i ? "k" : NULL;
        start(&waits[i], check_out_only);
        until_waiting(i + 1);
    }
    begin_notes(&told);
    assert_int_equal(kolk_resource_pool_close(&pool, (kolk_deadline){clock_ns + MS}), KOLK_TIMEOUT);
    assert_int_equal(told.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        join(&waits[i]);
        assert_int_equal(waits[i].status, KOLK_CLOSED);
    }
    assert_int_equal(take_thing(&pool, NULL, KOLK_FOREVER, &none), KOLK_CLOSED);
    return_it(&one);
    discard_it(&two);
    assert_int_equal(kolk_resource_pool_close(&pool, KOLK_FOREVER), KOLK_OK);
    assert_int_equal(stats().closed, 1);
    assert_int_equal(stats().failed, 3);
    end();
}

static uint32_t ended;

static void *deinit_it(void *unused) {
    kolk_resource_pool_deinit(&pool);
    COUNT_UP(ended);
    return unused;
}

/* pool-close, while the background makes one: it is awaited, and destroyed. */
static void test_close_while_the_background_works(void **state) {
    (void)state;
    static factory of_second;
    kolk_resource_pool second; /* so that the background's thread goes on */
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
    kolk_resource_pool_deinit(&second);
}

/* ---- No permit is lost ------------------------------------------------------------------------------------------- */

static kolk_borrow held; /* by another thread, which gives it back while one waits */
static uint64_t dice;
static uint64_t handed_over; /* how often, at the moment of the deadline */

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

/* Waits that time out, and waits that are served at the very moment of their deadline. */
static void test_timeouts_lose_nothing(void **state) {
    (void)state;
    uint64_t enough = number_from_environment("KOLK_TEST_OPS", does_a_part() ? 100000 : 1000000), timeouts = 0;
    dice = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", dice);
    begin((kolk_resource_pool_desc){.max = 1, .max_lifetime_ms = -1, .validate = validate_thing});
    held = borrowed(NULL);
    meanwhile = gives_back_too_late;
    for (uint64_t i = 0; timeouts < enough; i++) {
        kolk_borrow mine;
        if (random_below(&dice, 8) == 0 && f.written[VALIDATE] <= f.read[VALIDATE]) script_failures(&f, VALIDATE, 1);
        kolk_status status = take_thing(&pool, i % 3 ? NULL : "k", (kolk_deadline){clock_ns + MS}, &mine);
        assert_true(status == KOLK_OK || status == KOLK_TIMEOUT);
        timeouts += status == KOLK_TIMEOUT;
        if (status == KOLK_OK) held = mine;
        if (i % 1024 == 0) assert_true(kolk_resource_pool_is_valid(&pool));
        if (!held.resource) held = borrowed(NULL); /* there is one, whatever has happened */
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
