/* with: src wraps: resource/resource_clock.h */
/* The order in which a resource pool without makers serves waiting threads, where it depends on more than who came
 * first. */
#include "../help/threads.h"

#include "resource_steps.h"

static uint32_t served;

typedef struct borrower {
    pthread_t thread;
    uint32_t place; /* in the order in which borrowers are served, from 1 */
    kolk_status status;
    kolk_borrowed borrow;
    const char *key;
} borrower;

static void *check_out(void *argument) {
    borrower *me = (borrower *)argument;
    me->status = take_thing(&pool, me->key, KOLK_FOREVER, &me->borrow);
    me->place = COUNT_UP(served);
    return NULL;
}

static void until_waiting(uint32_t n) {
    while (stats().waiting != n) nap();
}

static void until_creating(uint32_t n) {
    while (NUMBER(f.making) != n) nap();
}

static void start(borrower *one) {
    REQUIRE(pthread_create(&one->thread, NULL, check_out, one) == 0);
}

static void join(borrower *one) {
    REQUIRE(pthread_join(one->thread, NULL) == 0);
}

/* The borrower whose create failed gets the reason. The next waiter may then create, and is served. */
static void test_served_after_a_failed_create(void **state) {
    borrower fails = {0}, waits = {0};
    begin((kolk_resource_pool_desc){.max = 1});
    script_failures(&f, CREATE, 1);
    f.hangs[CREATE] = 1;
    start(&fails);
    until_creating(1);
    start(&waits);
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
    borrower makes = {.key = "a"}, first = {.key = "b"}, second = {.key = NULL};
    begin((kolk_resource_pool_desc){.max = 3, .max_creating = 1});
    kolk_borrowed one = borrowed(NULL);
    f.hangs[CREATE] = 1;
    start(&makes);
    until_creating(1);
    start(&first);
    until_waiting(1);
    start(&second);
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
    borrower makes = {.key = "a"}, unlucky = {.key = NULL}, later = {.key = NULL};
    begin((kolk_resource_pool_desc){.max = 3, .max_creating = 1, .validate = validate_thing, .validate_after_ms = -1});
    kolk_borrowed one = borrowed(NULL);
    return_it(&one);
    script_failures(&f, VALIDATE, 1);
    f.hangs[VALIDATE] = f.hangs[CREATE] = 1;
    start(&unlucky);
    while (NUMBER(f.calls[VALIDATE]) == 0) nap();
    start(&makes);
    until_creating(1);
    start(&later);
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

static borrower later;
static pthread_t main_thread;

/* While the first borrower tries, a second one comes, tries in vain too, and waits. */
static void let_later_wait(void) {
    if (!pthread_equal(pthread_self(), main_thread) || later.thread) return;
    start(&later);
    until_waiting(1);
}

static void *give_back_when_both_wait(void *unused) {
    until_waiting(2);
    give_thing(&pool, &other);
    return unused;
}

/* A borrower that has tried in vain waits in front of those that came later.
 * promise: "as soon as it waits, no borrow that came later gets a resource before it",
 * "passes the waiters that came later" */
static void test_tries_do_not_cost_the_turn(void **state) {
    pthread_t giver;
    borrower first = {0};
    tries_first = true;
    served = 0;
    later = (borrower){0};
    main_thread = pthread_self();
    begin((kolk_resource_pool_desc){.max = 1});
    other = borrowed(NULL);
    return_it(&other);
    other = borrowed(NULL);
    on_yield = let_later_wait;
    REQUIRE(pthread_create(&giver, NULL, give_back_when_both_wait, NULL) == 0);
    check_out(&first);
    REQUIRE(pthread_join(giver, NULL) == 0);
    assert_int_equal(first.status, KOLK_OK);
    assert_int_equal(first.place, 1);
    return_it(&first.borrow);
    join(&later);
    assert_int_equal(later.status, KOLK_OK);
    assert_int_equal(later.place, 2);
    return_it(&later.borrow);
    on_yield = NULL;
    tries_first = false;
    end();
}

int main(void) {
    END_IF_IT_HANGS();
    has_threads = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_served_after_a_failed_create, abort_on_failure),
        cmocka_unit_test_teardown(test_nobody_is_in_the_way, abort_on_failure),
        cmocka_unit_test_teardown(test_dead_one_does_not_cost_the_turn, abort_on_failure),
        cmocka_unit_test_teardown(test_tries_do_not_cost_the_turn, abort_on_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
