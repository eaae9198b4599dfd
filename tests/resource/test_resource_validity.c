/* with: src wraps: resource/resource_clock.h */
/* kolk_resource_is_valid finds each broken invariant of src/resource/resource.c: one value of a valid pool is
 * overwritten, as by a stray write, and restored. */
#include "../help/debug_test.h"

#include "resource/resource_inside.h"

#include "resource_steps.h"

#define assert_seen(what, value) assert_breaks(kolk_resource_is_valid, &pool, what, value)

static resource_entry *entry_of(const kolk_borrowed *borrow) {
    return kolk_entry_at_(pool.inside, number_of(borrow) - 1); /* no resource was destroyed before */
}

/* Begins a valid pool: one resource of "" is lent, two are idle. */
static kolk_borrowed begin_sound(void) {
    begin((kolk_resource_pool_desc){.max = 4});
    make_idle(3, NULL);
    return borrowed(NULL);
}

/* promise: "every invariant of src/resource/resource.c" */
static void test_lists_of_idle_ones(void **state) {
    kolk_borrowed lent = begin_sound();
    resource_key *key = pool.inside->no_key;
    resource_list *list = &pool.inside->lists[LIST_IDLE];
    resource_entry *newest = key->newest, *oldest = key->oldest;
    assert_ptr_equal(newest->line_older, oldest);
    assert_seen(key->idle, 1);
    assert_seen(key->idle, 3);
    assert_seen(key->newest, NULL);
    assert_seen(key->newest, oldest);
    assert_seen(key->oldest, newest);
    assert_seen(newest->line_newer, oldest);
    assert_seen(oldest->line_newer, NULL);
    assert_seen(newest->line_older, NULL);
    assert_seen(oldest->line_older, entry_of(&lent));
    assert_seen(list->newest, oldest);
    assert_seen(list->oldest, newest);
    assert_seen(list->oldest, NULL);
    assert_seen(list->count, 1);
    assert_seen(newest->newer, oldest);
    assert_seen(oldest->newer, NULL);
    assert_seen(newest->older, NULL);
    assert_seen(newest->in_time, true);
    return_it(&lent);
    end();
}

static void test_counts(void **state) {
    kolk_borrowed lent = begin_sound();
    kolk_resource_inside_ *inside = pool.inside;
    resource_key *key = inside->no_key;
    resource_entry *entry = entry_of(&lent);
    assert_seen(inside->lists[LIST_LENT].count, 0);
    assert_seen(inside->lists[LIST_LENT].count, 2);
    assert_seen(inside->creating, 1);
    assert_seen(inside->asked, 1);
    assert_seen(inside->going, 1);
    assert_seen(inside->jobs.creates, 1);
    assert_seen(inside->jobs.others, 1);
    assert_seen(inside->waiting, 1);
    assert_seen(inside->wanted, 1);
    assert_seen(inside->news, 1);
    assert_seen(inside->closed, true);
    assert_seen(key->users, 0);
    assert_seen(key->users, 2);
    assert_seen(key->entries, 2);
    assert_seen(key->making, 1);
    assert_seen(key->asked, 1);
    assert_seen(key->silent, 1);
    assert_seen(key->waiting, 1);
    assert_seen(key->wishes, 1);
    assert_seen(key->hungry, true);
    assert_seen(entry->state, RESOURCE_ENDING + 1);
    assert_seen(entry->state, RESOURCE_MAKING);
    assert_seen(entry->slot, 3);
    assert_seen(key->newest->state, RESOURCE_LENT);
    assert_seen(inside->entries.aside, inside->entries.aside + 1);
    assert_seen(inside->keys.pool.aside, inside->keys.pool.aside + 1);
    return_it(&lent);
    end();
}

static void break_while_it_creates(void) {
    kolk_resource_inside_ *inside = pool.inside;
    assert_int_equal(inside->creating, 1);
    assert_seen(inside->creating, 0);
    assert_seen(inside->creating, 2);
    assert_seen(inside->desc.max_creating, 0);
}

static void test_creates(void **state) {
    begin((kolk_resource_pool_desc){.max = 2});
    next_call_does(CREATE, break_while_it_creates);
    kolk_borrowed one = borrowed(NULL);
    return_it(&one);
    end();
}

/* Called while a borrower waits: with some of these values, it should have been served already. */
static void break_while_one_waits(void) {
    kolk_resource_inside_ *inside = pool.inside;
    assert_int_equal(inside->waiting, 1);
    assert_seen(inside->waiting, 0);
    assert_seen(inside->waiting, 2);
    if (inside->paused)
        assert_seen(inside->paused, false);
    else
        assert_seen(inside->max, inside->max + 1);
    if (!inside->lists[LIST_IDLE].count) assert_seen(inside->closed, true);
}

/* The same while no create is allowed. */
static void break_while_one_waits_for_what_is_idle(void) {
    uint32_t most = pool.inside->desc.max_creating;
    pool.inside->desc.max_creating = 0;
    assert_seen(pool.inside->paused, false);
    pool.inside->desc.max_creating = most;
    break_while_one_waits();
}

static void test_waiters(void **state) {
    kolk_borrowed none;
    kolk_borrowed lent = begin_sound(), two[2] = {borrowed(NULL), borrowed(NULL)}, last = borrowed(NULL);
    others_do(break_while_one_waits); /* there is no room */
    assert_int_equal(borrow_for(NULL, in(1), &none), KOLK_TIMEOUT);
    return_it(&lent);
    kolk_resource_pause(&pool);
    others_do(break_while_one_waits_for_what_is_idle);
    assert_int_equal(borrow_for(NULL, in(1), &none), KOLK_TIMEOUT);
    others_do(break_while_one_waits); /* it could replace another key's resource */
    assert_int_equal(borrow_for("k", in(1), &none), KOLK_TIMEOUT);
    kolk_resource_resume(&pool);
    for (int i = 0; i < 2; i++) return_it(&two[i]);
    return_it(&last);
    end();
}

static void break_order(void) {
    kolk_wait_queue_ *waiters = &pool.inside->no_key->waiters;
    resource_waiter *first = (resource_waiter *)(void *)waiters->first;
    resource_waiter *last = (resource_waiter *)(void *)waiters->last;
    assert_int_equal(pool.inside->waiting, 2);
    assert_seen(first->turn, 0);
    assert_seen(first->turn, last->turn);
    assert_seen(last->turn, first->turn - 1);
}

static void wait_behind(void) {
    kolk_borrowed none;
    others_do(break_order);
    assert_int_equal(borrow_for(NULL, in(1), &none), KOLK_TIMEOUT);
}

static void test_order_of_waiters(void **state) {
    kolk_borrowed none;
    begin((kolk_resource_pool_desc){.max = 1});
    other = borrowed(NULL);
    others_do(wait_behind);
    assert_int_equal(borrow_for(NULL, in(5), &none), KOLK_TIMEOUT);
    return_other();
    end();
}

/* One of "a" comes back, and its waiter has to let the one of "b", who came first, have the room: a maker will replace
 * the resource. */
static void give_back_in_anothers_turn(void) {
    return_other();
    assert_true(stats().idle == 1 && stats().waiting == 2);
    kolk_resource_work_(&pool.inside->chore);
}

static void wait_in_second_place(void) {
    kolk_borrowed none;
    others_do(give_back_in_anothers_turn);
    assert_int_equal(borrow_for("a", in(1), &none), KOLK_TIMEOUT);
}

static void test_anothers_turn(void **state) {
    kolk_borrowed one;
    begin((kolk_resource_pool_desc){.max = 1});
    other = borrowed("a");
    pool.inside->has_makers = true; /* this thread is the maker */
    others_do(wait_in_second_place);
    assert_int_equal(borrow_for("b", in(5), &one), KOLK_OK);
    return_it(&one);
    pool.inside->has_makers = false;
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_lists_of_idle_ones),
        DEBUG_TEST(test_counts),
        DEBUG_TEST(test_creates),
        DEBUG_TEST(test_waiters),
        DEBUG_TEST(test_order_of_waiters),
        DEBUG_TEST(test_anothers_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
