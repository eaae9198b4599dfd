/* with: src wraps: resource/resource_clock.h kolk_makers_are_there_ kolk_makers_call_ */
/* A borrow that finds no resource first tries again for about a millisecond, if the last borrow of its key was brief.
 * The test's clock advances by a microsecond whenever the borrow lets other threads run; the test then plays these
 * threads. */
#include "../help/debug_test.h"

#include "resource/resource_inside.h"

#include "resource_steps.h"

enum { US = 1000, TRIED_US = 1022 }; /* nine pauses: 2 + 4 + ... + 512 us */

static unsigned yields;
static unsigned acts_at; /* others take their step at this yield; 0: never */
static int64_t joined;   /* when the borrow joined the waiters; 0: it has not */

static void count_yield(void) {
    kolk_resource_pool_stats now = stats(); /* the lock is free, and the borrow is not among the waiters */
    assert_int_equal(now.waiting, 0);
    if (++yields == acts_at) others_step();
}

static bool note_joined(kolk_deadline deadline) {
    if (stats().waiting == 0) return false; /* it is close that sleeps */
    joined = clock_ns;
    meanwhile = NULL;
    if (deadline.ns != KOLK_FOREVER.ns) clock_ns = deadline.ns;
    return false;
}

/* Begins a pool of one resource, which another borrower has after a borrow that took `last_ns`. */
static void begin_lent(kolk_resource_pool_desc desc, int64_t last_ns) {
    if (desc.max == 0) desc.max = 1;
    begin(desc);
    other = borrowed(NULL);
    clock_ns += last_ns;
    return_other();
    other = borrowed(NULL);
    yields = acts_at = 0;
    joined = 0;
    on_yield = count_yield;
    meanwhile = note_joined;
}

static void others_act_at(unsigned yield, void (*step)(void)) {
    acts_at = yield;
    others_step = step;
}

static void end_quietly(void) {
    on_yield = NULL;
    meanwhile = NULL;
    if (other.resource) return_other();
    end();
}

/* Whenever the resource comes back, one of the tries finds it. The borrow has not waited then.
 * promise: "Otherwise it first tries ... use the resource", "not those that found a resource when they tried again" */
static void test_it_gets_what_comes_back(void **state) {
    kolk_borrowed one;
    for (unsigned at = 1; at <= TRIED_US; at++) {
        begin_lent((kolk_resource_pool_desc){.max = 1}, 0);
        others_act_at(at, return_other);
        int64_t before = clock_ns;
        assert_int_equal(borrow_for(NULL, KOLK_FOREVER, &one), KOLK_OK);
        assert_int_equal(joined, 0);
        assert_int_equal(stats().waits, 0);
        assert_int_equal(stats().wait.max_ns, clock_ns - before);
        assert_true(clock_ns - before <= 2 * (int64_t)at * US + 2 * US); /* the pauses double */
        return_it(&one);
        end_quietly();
    }
}

/* After the last try it joins the waiters, and waits until its deadline. */
static void test_it_waits_after_the_last_try(void **state) {
    kolk_borrowed one;
    begin_lent((kolk_resource_pool_desc){.max = 1}, 4999);
    int64_t before = clock_ns;
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
    assert_int_equal(joined - before, TRIED_US * US);
    assert_int_equal(clock_ns - before, 5 * MS);
    assert_int_equal(stats().waits, 1);
    end_quietly();
}

static void lose_time(void) {
    clock_ns += MS - 1;
}

/* If others run for long on this processor, fewer tries take as long. */
static void test_long_pauses(void **state) {
    kolk_borrowed one;
    begin_lent((kolk_resource_pool_desc){.max = 1}, 0);
    others_act_at(1, lose_time);
    int64_t before = clock_ns;
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
    assert_int_equal(joined - before, MS - 1 + US);
    assert_int_equal(yields, 1);
    end_quietly();
}

/* promise: "A borrow that finds no resource waits at once if ... took 5 us or longer",
 * "waits at once, also if ... a sleep and a wake" */
static void test_it_waits_at_once(void **state) {
    kolk_borrowed one;
    const struct {
        kolk_resource_pool_desc desc;
        int64_t last_ns;
        const char *key;
    } rows[] = {{{.strict_order = true}, 0, NULL},
                {{.max = 1}, 5000, NULL}, /* the last borrow was not brief */
                {{.max = 1}, 0, "another"}};
    for (unsigned i = 0; i < LENGTH_OF(rows); i++) {
        begin_lent(rows[i].desc, rows[i].last_ns);
        int64_t before = clock_ns;
        assert_int_equal(borrow_for(rows[i].key, in(5), &one), KOLK_TIMEOUT);
        assert_int_equal(joined, before);
        assert_int_equal(yields, 0);
        end_quietly();
    }
}

/* A key whose last resource had to make room for another key's needs a new one. */
static void test_it_waits_at_once_without_resources(void **state) {
    kolk_borrowed one;
    begin_lent((kolk_resource_pool_desc){.max = 1}, 0);
    return_other();
    other = borrowed("another");
    assert_int_equal(stats().replaced, 1);
    int64_t before = clock_ns;
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
    assert_int_equal(joined, before);
    end_quietly();
}

/* The tries end with the deadline; with KOLK_NOW there are none. */
static void test_deadlines(void **state) {
    kolk_borrowed one;
    for (int64_t us = -1; us <= TRIED_US; us += us < 20 ? 1 : 111) {
        begin_lent((kolk_resource_pool_desc){.max = 1}, 0);
        kolk_deadline deadline = {clock_ns + us * US};
        assert_int_equal(borrow_for(NULL, deadline, &one), KOLK_TIMEOUT);
        assert_int_equal(yields, us < 0 ? 0 : us);
        assert_int_equal(stats().timeouts, 1);
        end_quietly();
    }
    begin_lent((kolk_resource_pool_desc){.max = 1}, 0);
    assert_int_equal(borrow_for(NULL, KOLK_NOW, &one), KOLK_FULL);
    assert_int_equal(yields, 0);
    end_quietly();
}

/* ---- With makers ------------------------------------------------------------------------------------------------- */

bool __wrap_kolk_makers_are_there_(void);
void __wrap_kolk_makers_call_(void);

bool __wrap_kolk_makers_are_there_(void) {
    return true;
}

void __wrap_kolk_makers_call_(void) {}

/* Makers create and validate for those that wait, so a borrow does not try if they can do something for it. In this
 * test, they do nothing. */
static void wait_for_makers(void) {
    kolk_borrowed one;
    pool.inside->has_makers = true;
    int64_t before = clock_ns;
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
    assert_int_equal(joined, before);
    assert_int_equal(yields, 0);
    pool.inside->has_makers = false;
    tick();
    end_quietly();
}

static void test_room_for_another_resource(void **state) {
    begin_lent((kolk_resource_pool_desc){.max = 2}, 0);
    wait_for_makers();
}

static void test_an_idle_resource_of_another_key(void **state) {
    begin_lent((kolk_resource_pool_desc){.max = 2}, 0);
    make_idle(1, "another");
    wait_for_makers();
}

/* The resource proves dead, so the borrow waits in front of all others.
 * promise: "A borrow whose resource proves dead keeps its turn" */
static void test_after_a_dead_one(void **state) {
    begin_lent((kolk_resource_pool_desc){.max = 2, .validate = validate_thing, .look = true}, 0);
    make_idle(1, NULL);
    script_failures(&f, VALIDATE, 1);
    wait_for_makers();
}

/* ---- What others do meanwhile ------------------------------------------------------------------------------------ */

static void pause_it(void) {
    kolk_resource_pause(&pool);
}

static void close_now(void) {
    kolk_resource_close(&pool, KOLK_NOW);
}

static void grow(void) {
    f.max = 2;
    assert_int_equal(kolk_resource_resize(&pool, 2), KOLK_OK);
}

static void discard_other(void) {
    discard_it(&other);
}

/* A borrow that waits has its part in what happens next, so the tries end as soon as more may happen than that a
 * resource comes back. */
static void test_a_pause_ends_the_tries(void **state) {
    kolk_borrowed one;
    begin_lent((kolk_resource_pool_desc){.max = 1}, 0);
    others_act_at(3, pause_it);
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
    assert_int_equal(yields, 6);
    assert_int_not_equal(joined, 0);
    kolk_resource_resume(&pool);
    end_quietly();
}

static void test_a_close_ends_the_tries(void **state) {
    notes taken;
    kolk_borrowed one;
    begin_notes(&taken);
    begin_lent((kolk_resource_pool_desc){.max = 1}, 0);
    others_act_at(3, close_now);
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_CLOSED);
    assert_int_equal(yields, 6);
    assert_int_equal(joined, 0);
    assert_int_equal(taken.count, 1); /* the leak */
    end_quietly();
}

/* The borrow creates a resource as soon as there is room for one. */
static void test_room_ends_the_tries(void **state) {
    kolk_borrowed one;
    void (*const steps[])(void) = {grow, detach_other, discard_other};
    for (unsigned i = 0; i < LENGTH_OF(steps); i++) {
        begin_lent((kolk_resource_pool_desc){.max = 1}, 0);
        others_act_at(3, steps[i]);
        assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_OK);
        assert_int_equal(number_of(&one), 2);
        assert_int_equal(yields, 6);
        return_it(&one);
        on_yield = NULL;
        if (other.resource) return_other();
        kolk_resource_deinit(&pool);
    }
}

static void borrow_again(void) {
    kolk_borrowed one;
    assert_int_equal(borrow_for(NULL, KOLK_FOREVER, &one), KOLK_IN_HOOK);
}

/* In one of the pool's functions, a borrow does not try. */
static void test_no_tries_within_functions(void **state) {
    begin_lent((kolk_resource_pool_desc){.max = 1, .reset = reset_thing}, 0);
    next_call_does(RESET, borrow_again);
    return_other();
    assert_int_equal(yields, 0);
    end_quietly();
}

/* A nested borrow is reported before the first try. */
static void see_report(const kolk_failure *failure, void *context) {
    assert_int_equal(failure->rule, KOLK_NESTED);
    assert_int_equal(yields, 0);
    ++*(unsigned *)context;
}

static void test_nested_borrows_are_reported_first(void **state) {
    kolk_borrowed one;
    unsigned count = 0;
    begin_lent((kolk_resource_pool_desc){.max = 1, .warn_nested = true}, 0);
    kolk_set_failure_handler(see_report, &count);
    assert_int_equal(borrow_for(NULL, in(5), &one), KOLK_TIMEOUT);
    assert_int_equal(count, 1);
    assert_int_not_equal(yields, 0);
    end_quietly();
}

int main(void) {
    END_IF_IT_HANGS();
    tries_first = true;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_it_gets_what_comes_back, abort_on_failure),
        cmocka_unit_test_teardown(test_it_waits_after_the_last_try, abort_on_failure),
        cmocka_unit_test_teardown(test_long_pauses, abort_on_failure),
        cmocka_unit_test_teardown(test_it_waits_at_once, abort_on_failure),
        cmocka_unit_test_teardown(test_it_waits_at_once_without_resources, abort_on_failure),
        cmocka_unit_test_teardown(test_deadlines, abort_on_failure),
        cmocka_unit_test_teardown(test_room_for_another_resource, abort_on_failure),
        cmocka_unit_test_teardown(test_an_idle_resource_of_another_key, abort_on_failure),
        cmocka_unit_test_teardown(test_after_a_dead_one, abort_on_failure),
        cmocka_unit_test_teardown(test_a_pause_ends_the_tries, abort_on_failure),
        cmocka_unit_test_teardown(test_a_close_ends_the_tries, abort_on_failure),
        cmocka_unit_test_teardown(test_room_ends_the_tries, abort_on_failure),
        cmocka_unit_test_teardown(test_no_tries_within_functions, abort_on_failure),
        cmocka_unit_test_teardown(test_nested_borrows_are_reported_first, abort_on_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
