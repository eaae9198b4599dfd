/* runs: not:wine with: src wraps: kolk_resource_work_ pthread_create */
/* Creation and destruction: a create belongs to the pool, and no borrower, key or pool has to wait for the factory
 * calls of another. Here the factory's functions hang until they are released, so that their order is not left to
 * chance. */
#include "resource_threads.h"

#include <errno.h>
#include <poll.h>

#include "resource/resource_inside.h"

static factory things;   /* zeroed before each test */
static uint32_t hanging; /* calls that hang, or that hung until they were interrupted */

static int begin_test(void **state) {
    memset(&things, 0, sizeof things);
    is_in_create = may_go_on = hanging = 0;
    return 0;
}

static int end_test(void **state) {
    if (!things.pool.inside) EVENTUALLY(count_makers() == 0);
    return abort_on_failure(state);
}

static kolk_resource_pool_stats now(void) {
    return stats_of(&things);
}

static kolk_status try_for(factory *from, const char *key, kolk_deadline deadline, kolk_borrowed *one) {
    return kolk_resource_borrow(&from->pool, &(kolk_borrow_desc){.key = key, .deadline = deadline}, one);
}

static void give(kolk_borrowed *one) {
    kolk_resource_give_back(&things.pool, one);
}

static bool is_any_at_rest(void) {
    kolk_resource_inside_ *pool = things.pool.inside;
    kolk_resource_lock_(pool);
    bool rests = pool->resting.first;
    kolk_resource_settle_and_unlock_(pool);
    return rests;
}

static bool is_any_silent(void) {
    kolk_resource_inside_ *pool = things.pool.inside;
    kolk_resource_lock_(pool);
    bool silent = pool->no_key->silent > 0;
    kolk_resource_settle_and_unlock_(pool);
    return silent;
}

/* Leaves one resource idle and none lent. */
static void make_one_idle(const char *key) {
    kolk_borrowed one = borrow_thing(&things, key, KOLK_FOREVER);
    give(&one);
}

static void *borrow_for_ever(void *one) {
    *(kolk_borrowed *)one = borrow_thing(&things, NULL, KOLK_FOREVER);
    return NULL;
}

/* ---- Threads that are refused ------------------------------------------------------------------------------------ */

static uint32_t refuses_threads;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    if (kolk_load_(&refuses_threads, KOLK_ACQUIRE_)) return EAGAIN;
    return __real_pthread_create(thread, attributes, body, argument);
}

/* ---- Functions that hang ----------------------------------------------------------------------------------------- */

static void hang(void) {
    count_up(&hanging);
    EVENTUALLY(kolk_load_(&may_go_on, KOLK_ACQUIRE_));
    count_down(&hanging);
}

static bool hangs_in_create(factory *from, kolk_deadline deadline) {
    hang();
    return true;
}

/* Also for reset. */
static bool hangs_in_validate(factory *from, thing *it) {
    hang();
    return true;
}

static void hangs_in_destroy(factory *from) {
    hang();
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

/* If a create takes longer than its borrower waits, its resource is ready for the next borrower.
 * promise: "discard and evict wait for no peer", "Lends a resource ... becomes idle" */
static void test_a_create_outlives_who_asked_for_it(void **state) {
    kolk_borrowed one;
    hold_creates(&things);
    make_things(&things, (kolk_resource_pool_desc){.max = 1});
    do { /* until a maker has begun in time */
        assert_int_equal(try_for(&things, NULL, kolk_deadline_after(2), &one), KOLK_TIMEOUT);
    } while (!kolk_load_(&is_in_create, KOLK_ACQUIRE_));
    assert_int_equal(try_for(&things, NULL, kolk_deadline_after(2), &one), KOLK_TIMEOUT);
    assert_non_null(strstr(one.error.text, "1 being created"));
    end_holding();
    EVENTUALLY(now().idle == 1);
    assert_int_equal(count_of(&things.created), 1);
    one = borrow_thing(&things, NULL, KOLK_NOW);
    give(&one);
    end_things(&things);
}

static bool notes_deadline(factory *from, kolk_deadline deadline) {
    int64_t left = deadline.ns - kolk_now_ns_();
    return left > INT64_C(3600000000000) && left <= INT64_C(7200000000000);
}

/* The pool's create_timeout_ms, not the borrower, sets the deadline of create.
 * promise: "The deadline is create_timeout_ms from now, or ... before the call", "The time limit ... -1: no limit" */
static void test_the_deadline_of_a_create(void **state) {
    kolk_borrowed one;
    things.creates = notes_deadline;
    make_things(&things, (kolk_resource_pool_desc){.max = 1, .create_timeout_ms = 7200000});
    one = borrow_thing(&things, NULL, kolk_deadline_after(60000));
    give(&one);
    end_things(&things);
}

static void test_a_borrow_with_now_lets_one_be_made(void **state) {
    kolk_borrowed one, none;
    make_things(&things, (kolk_resource_pool_desc){.max = 2});
    assert_int_equal(try_for(&things, NULL, KOLK_NOW, &one), KOLK_FULL);
    EVENTUALLY(now().idle == 1);
    one = borrow_thing(&things, NULL, KOLK_NOW);
    assert_int_equal(try_for(&things, NULL, KOLK_NOW, &none), KOLK_FULL);
    EVENTUALLY(now().idle == 1);
    kolk_borrowed two = borrow_thing(&things, NULL, KOLK_NOW);
    assert_int_equal(try_for(&things, NULL, KOLK_NOW, &none), KOLK_FULL); /* there is no room for a third */
    give(&one);
    give(&two);
    assert_int_equal(count_of(&things.created), 2);
    end_things(&things);
}

static uint32_t refusals; /* how many more creates fail */

static bool refuse_some(factory *from, kolk_deadline deadline) {
    uint32_t left = count_of(&refusals);
    if (left) count_down(&refusals);
    return !left;
}

static bool refuse_all(factory *from, kolk_deadline deadline) {
    return false;
}

/* A refused create is repeated as long as a borrower waits. promise: "10 ms at first, doubling up to 5 s" */
static void test_a_refusal_is_not_the_end(void **state) {
    refusals = 5;
    things.creates = refuse_some;
    make_things(&things, (kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER);
    assert_int_equal(now().create_failures, 5);
    give(&one);
    end_things(&things);
}

/* When no borrower waits any more, creates are no longer repeated. promise: "10 ms at first, doubling up to 5 s" */
static void test_the_last_reason_at_the_deadline(void **state) {
    kolk_borrowed one;
    things.creates = refuse_all;
    make_things(&things, (kolk_resource_pool_desc){.max = 1});
    do assert_int_equal(try_for(&things, NULL, kolk_deadline_after(30), &one), KOLK_TIMEOUT);
    while (one.error.code == 0); /* no create has failed so far */
    assert_int_equal(one.error.code, 61);
    assert_non_null(strstr(one.error.text, " ms ago a create failed: refused"));
    EVENTUALLY(now().creating == 0);
    EVENTUALLY((kolk_resource_tick(&things.pool, PAST), !is_any_at_rest()));
    uint64_t failures = now().create_failures;
    for (int i = 0; i < 50; i++) nap();
    assert_int_equal(now().create_failures, failures);
    end_things(&things);
}

/* While the server refuses creates, returned resources serve the waiters. */
static void test_a_return_serves_while_creates_are_refused(void **state) {
    make_things(&things, (kolk_resource_pool_desc){.max = 2});
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER), two;
    things.creates = refuse_all;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, borrow_for_ever, &two), 0);
    EVENTUALLY(now().create_failures > 1);
    give(&one);
    assert_int_equal(pthread_join(thread, NULL), 0);
    give(&two);
    assert_int_equal(now().failed, 0);
    end_things(&things);
}

/* If a create fails for good and no resource is lent, all waiters are refused.
 * promise: "But if error->final ... gives none", "create failed with error->final ... no_housekeeper: create failed" */
static void test_a_refusal_for_good(void **state) {
    kolk_borrowed one, two;
    things.creates = refuse_all;
    things.final = true;
    make_things(&things, (kolk_resource_pool_desc){.max = 2});
    for (int i = 0; i < 3; i++) {
        assert_int_equal(try_for(&things, NULL, KOLK_FOREVER, &one), KOLK_NOT_CREATED);
        assert_int_equal(one.error.code, 61);
        assert_string_equal(one.error.text, "refused");
        assert_true(one.error.final);
    }
    assert_int_equal(now().failed, 3);
    things.creates = NULL; /* as if the password had been corrected */
    kolk_resource_evict(&things.pool);
    assert_int_equal(try_for(&things, NULL, KOLK_FOREVER, &one), KOLK_OK);
    assert_false(one.error.final);
    things.creates = refuse_all;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, borrow_for_ever, &two), 0);
    EVENTUALLY(now().create_failures > 3);
    assert_int_equal(now().waiting, 1); /* the lent resource may still be returned */
    give(&one);
    assert_int_equal(pthread_join(thread, NULL), 0);
    give(&two);
    end_things(&things);
}

static bool has_no_key(const char *key, const void *resource, bool in_use, void *context) {
    return !*key;
}

static void *borrow_slowly(void *one) {
    *(kolk_borrowed *)one = borrow_thing(&things, "slow", KOLK_FOREVER);
    return NULL;
}

/* If fewer than min_idle resources are idle, makers create more, even if another create was running when that
 * happened. */
static void test_a_refill_after_another_create(void **state) {
    pthread_t thread;
    kolk_borrowed one;
    make_things(&things, (kolk_resource_pool_desc){.max = 3, .min_idle = 1, .max_creating = 1});
    EVENTUALLY(now().idle == 1);
    hold_creates(&things);
    assert_int_equal(pthread_create(&thread, NULL, borrow_slowly, &one), 0);
    await_create();
    assert_int_equal(kolk_resource_evict_if(&things.pool, has_no_key, NULL), 1);
    for (int i = 0; i < 100; i++) nap(); /* a maker notices that it may not create */
    end_holding();
    assert_int_equal(pthread_join(thread, NULL), 0);
    EVENTUALLY(count_of(&things.created) == 3);
    give(&one);
    end_things(&things);
}

/* ---- Who is not delayed ------------------------------------------------------------------------------------------ */

static void test_another_pool(void **state) {
    factory others = {0};
    things.creates = hangs_in_create;
    make_things(&things, (kolk_resource_pool_desc){.max = 4, .min_idle = 4});
    EVENTUALLY(count_of(&hanging) == 2);
    make_things(&others, (kolk_resource_pool_desc){.max = 2, .min_idle = 1, .idle_timeout_ms = 5});
    EVENTUALLY(stats_of(&others).idle == 1);
    kolk_borrowed one = borrow_thing(&others, NULL, KOLK_FOREVER), two = borrow_thing(&others, NULL, KOLK_FOREVER);
    kolk_resource_give_back(&others.pool, &one);
    kolk_resource_give_back(&others.pool, &two);
    EVENTUALLY(stats_of(&others).unused == 1);
    end_things(&others);
    end_holding();
    end_things(&things);
}

static bool hangs_for_dead(factory *from, kolk_deadline deadline) {
    if (kolk_load_(&from->most_there, KOLK_RELAXED_) <= 2) hang();
    return true;
}

static uint32_t slow_makers; /* makers take 30 ms before they work */

void __real_kolk_resource_work_(kolk_chore_ *chore);
void __wrap_kolk_resource_work_(kolk_chore_ *chore);
void __wrap_kolk_resource_work_(kolk_chore_ *chore) {
    if (kolk_load_(&slow_makers, KOLK_RELAXED_)) nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    __real_kolk_resource_work_(chore);
}

/* The creates of one key hang and use up max_creating; after a while, other keys may exceed it. */
static void lend_beside_hanging_key(void) {
    kolk_borrowed one;
    pthread_t threads[2];
    things.creates = hangs_for_dead;
    make_things(&things, (kolk_resource_pool_desc){.max = 4});
    kolk_borrowed dead[2];
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, borrow_for_ever, &dead[i]), 0);
    EVENTUALLY(count_of(&hanging) == 2);
    one = borrow_thing(&things, "alive", KOLK_FOREVER);
    assert_int_equal(count_of(&hanging), 2);
    give(&one);
    end_holding();
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) give(&dead[i]);
    end_things(&things);
}

/* promise: "own key; after 100 ms other calls may run", "The most creates ... 0: 2" */
static void test_another_key(void **state) {
    lend_beside_hanging_key();
}

/* The lookout is asleep before the job begins; it must still notice when the job is late. */
static void test_another_key_and_a_slow_maker(void **state) {
    kolk_store_(&slow_makers, 1, KOLK_RELAXED_);
    lend_beside_hanging_key();
    kolk_store_(&slow_makers, 0, KOLK_RELAXED_);
}

/* Makers destroy resources, so give_back, discard, evict and borrow do not wait for that. */
static void test_nobody_waits_for_destroy(void **state) {
    kolk_borrowed all[4];
    things.destroys = hangs_in_destroy;
    make_things(&things, (kolk_resource_pool_desc){.max = 8});
    for (int i = 0; i < 4; i++) all[i] = borrow_thing(&things, NULL, KOLK_FOREVER);
    kolk_resource_discard(&things.pool, &all[0]);
    give(&all[1]);
    give(&all[2]);
    kolk_resource_evict(&things.pool);
    give(&all[3]);
    assert_int_equal(now().idle, 0);
    EVENTUALLY(count_of(&hanging) >= 2);
    assert_int_equal(count_of(&things.destroyed), 0);
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER); /* there is room for a fifth */
    give(&one);
    assert_int_equal(kolk_resource_close(&things.pool, kolk_deadline_after(2)), KOLK_TIMEOUT);
    end_holding();
    assert_int_equal(kolk_resource_close(&things.pool, KOLK_FOREVER), KOLK_OK);
    assert_int_equal(count_of(&things.destroyed), 5);
    end_things(&things);
}

/* A borrow that finds an expired resource does not wait for its destroy. */
static void test_a_borrow_that_meets_an_expired_one(void **state) {
    things.destroys = hangs_in_destroy;
    make_things(&things, (kolk_resource_pool_desc){.max = 2, .max_lifetime_ms = 3600000});
    make_one_idle(NULL);
    kolk_resource_inside_ *pool = things.pool.inside;
    kolk_resource_lock_(pool);
    pool->no_key->newest->expires = 0; /* as if it were that old */
    kolk_resource_settle_and_unlock_(pool);
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER);
    EVENTUALLY(count_of(&hanging) == 1);
    assert_int_equal(count_of(&things.created), 2);
    give(&one);
    end_holding();
    end_things(&things);
}

/* ---- Old ones ---------------------------------------------------------------------------------------------------- */

/* If an idle resource does not answer, the borrower gets a new one.
 * promise: "borrower need not wait for it: after 100 ms" */
static void test_a_silent_one_is_passed_over(void **state) {
    make_things(&things, (kolk_resource_pool_desc){.max = 2, .validate_after_ms = -1});
    make_one_idle(NULL);
    things.validates = hangs_in_validate;
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER);
    assert_int_equal(count_of(&things.created), 2);
    assert_int_equal(count_of(&hanging), 1);
    assert_int_equal(now().idle, 0);
    end_holding();
    EVENTUALLY(now().idle == 1); /* it answered in the end */
    things.validates = NULL;
    give(&one);
    end_things(&things);
}

/* While one resource is being validated, the borrower gets one that is returned. */
static void test_a_return_while_one_is_asked(void **state) {
    kolk_borrowed one, two;
    make_things(&things, (kolk_resource_pool_desc){.max = 2});
    one = borrow_thing(&things, NULL, KOLK_FOREVER);
    make_one_idle(NULL);
    kolk_resource_inside_ *pool = things.pool.inside;
    kolk_resource_lock_(pool);
    pool->no_key->newest->proved -= INT64_C(500000000); /* as if it had been idle for so long */
    kolk_resource_settle_and_unlock_(pool);
    things.validates = hangs_in_validate;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, borrow_for_ever, &two), 0);
    EVENTUALLY(count_of(&hanging) == 1);
    void *resource = one.resource;
    give(&one);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_ptr_equal(two.resource, resource);
    end_holding();
    give(&two);
    EVENTUALLY(now().idle == 2);
    end_things(&things);
}

static uint32_t looks;

static bool look_or_hang(factory *from, thing *it) {
    count_up(&looks);
    return true;
}

/* With `look`, a validation needs no other thread: the borrower does it itself.
 * promise: "With the deadline ... resource is good", "validate with KOLK_NOW before every borrow" */
static void test_a_look_before_each_borrow(void **state) {
    looks = 0;
    things.validates = look_or_hang;
    make_things(&things, (kolk_resource_pool_desc){.max = 1, .look = true, .validate_after_ms = 3600000});
    make_one_idle(NULL);
    assert_int_equal(looks, 0); /* it was made just now */
    for (uint32_t i = 1; i <= 3; i++) {
        kolk_borrowed one = borrow_thing(&things, NULL, i % 2 ? KOLK_NOW : KOLK_FOREVER);
        assert_int_equal(looks, i);
        give(&one);
    }
    end_things(&things);
}

/* ---- Giving up --------------------------------------------------------------------------------------------------- */

static void wait_for_interrupt(void) {
    struct pollfd it = {.fd = kolk_resource_interrupt_fd(), .events = POLLIN};
    count_up(&hanging);
    REQUIRE(it.fd >= 0 && it.fd == kolk_resource_interrupt_fd() && poll(&it, 1, -1) == 1);
}

static bool give_up_if_told(factory *from, kolk_deadline deadline) {
    REQUIRE(!kolk_resource_is_interrupted());
    wait_for_interrupt();
    REQUIRE(kolk_resource_is_interrupted());
    return false;
}

/* deinit interrupts a create that waits for a server. promise: "readable, for functions that don't poll" */
static void test_deinit_interrupts_a_create(void **state) {
    assert_int_equal(kolk_resource_interrupt_fd(), -1); /* this thread is no maker */
    assert_false(kolk_resource_is_interrupted());
    things.creates = give_up_if_told;
    make_things(&things, (kolk_resource_pool_desc){.max = 2, .min_idle = 2});
    EVENTUALLY(count_of(&hanging) == 2);
    end_things(&things);
}

static bool give_up_once(factory *from, kolk_deadline deadline) {
    return from->failed > 0 || give_up_if_told(from, deadline);
}

/* When all resources are evicted because the server was lost, running creates are interrupted, and waiters get new
 * resources. promise: "It becomes readable when the result ... or if the system has no descriptor left" */
static void test_evict_interrupts_a_create(void **state) {
    pthread_t thread;
    kolk_borrowed one;
    things.creates = give_up_once;
    make_things(&things, (kolk_resource_pool_desc){.max = 1});
    assert_int_equal(pthread_create(&thread, NULL, borrow_for_ever, &one), 0);
    EVENTUALLY(count_of(&hanging) == 1);
    kolk_resource_evict(&things.pool);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(count_of(&things.failed), 1);
    give(&one);
    end_things(&things);
}

static bool first_one_hangs(factory *from, kolk_deadline deadline) {
    if (count_of(&from->most_there) == 1) hang();
    return true;
}

/* A create that ignores the interruption delays no borrower. */
static void test_evict_and_a_create_that_goes_on(void **state) {
    pthread_t thread;
    kolk_borrowed one;
    things.creates = first_one_hangs;
    make_things(&things, (kolk_resource_pool_desc){.max = 2, .max_creating = 1});
    assert_int_equal(pthread_create(&thread, NULL, borrow_for_ever, &one), 0);
    EVENTUALLY(count_of(&hanging) == 1);
    kolk_resource_evict(&things.pool);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(count_of(&hanging), 1);
    end_holding();
    EVENTUALLY(count_of(&things.destroyed) == 1); /* its resource comes too late and is destroyed */
    give(&one);
    end_things(&things);
}

static bool validates_until_told(factory *from, thing *it) {
    wait_for_interrupt();
    return false;
}

/* A validate that is late is also interrupted. */
static void test_deinit_interrupts_a_validate(void **state) {
    kolk_borrowed none;
    things.validates = validates_until_told;
    make_things(&things, (kolk_resource_pool_desc){.max = 1, .validate_after_ms = -1});
    make_one_idle(NULL);
    EVENTUALLY(try_for(&things, NULL, kolk_deadline_after(2), &none) == KOLK_TIMEOUT && count_of(&hanging) == 1);
    EVENTUALLY((kolk_resource_tick(&things.pool, PAST), is_any_silent()));
    end_things(&things);
}

static void destroys_until_told(factory *from) {
    wait_for_interrupt();
}

/* Neither the makers nor deinit, which helps them to destroy, waits for a peer. */
static void test_deinit_interrupts_destroys(void **state) {
    kolk_borrowed all[8];
    things.destroys = destroys_until_told;
    make_things(&things, (kolk_resource_pool_desc){.max = 8});
    for (int i = 0; i < 8; i++) all[i] = borrow_thing(&things, NULL, KOLK_FOREVER);
    for (int i = 0; i < 8; i++) kolk_resource_discard(&things.pool, &all[i]);
    EVENTUALLY(count_of(&hanging) >= 2);
    end_things(&things);
}

/* All borrowers of one generation notice the same failover, but only the first one's call evicts that generation.
 * promise: "It evicts, and returns true, only" */
static void test_evict_once_for_all(void **state) {
    kolk_borrowed all[2];
    char too_long[1000];
    memset(too_long, 'k', sizeof too_long);
    too_long[sizeof too_long - 1] = 0;
    make_things(&things, (kolk_resource_pool_desc){.max = 4});
    for (int i = 0; i < 2; i++) all[i] = borrow_thing(&things, NULL, KOLK_FOREVER);
    assert_int_equal(all[0].generation, all[1].generation);
    kolk_borrowed failed = all[0];
    assert_int_equal(kolk_resource_borrow(&things.pool, &(kolk_borrow_desc){.key = too_long}, &failed),
                     KOLK_KEY_TOO_LONG);
    assert_int_equal(failed.generation, 0);
    assert_false(kolk_resource_evict_generation(&things.pool, failed.generation));
    assert_true(kolk_resource_evict_generation(&things.pool, all[0].generation));
    make_one_idle(NULL);
    assert_false(kolk_resource_evict_generation(&things.pool, all[1].generation));
    assert_int_equal(now().idle, 1); /* it belongs to the next generation */
    for (int i = 0; i < 2; i++) give(&all[i]);
    EVENTUALLY(count_of(&things.destroyed) == 2);
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_NOW);
    assert_int_not_equal(one.generation, all[1].generation);
    give(&one);
    assert_int_equal(now().evicted, 2);
    end_things(&things);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* If the only maker hangs and no thread can be made, borrowers create for themselves. */
static void test_no_more_threads(void **state) {
    pthread_t thread;
    kolk_borrowed one, two;
    things.creates = first_one_hangs;
    make_things(&things, (kolk_resource_pool_desc){.max = 2});
    kolk_store_(&refuses_threads, 1, KOLK_RELEASE_);
    assert_int_equal(__real_pthread_create(&thread, NULL, borrow_for_ever, &one), 0);
    EVENTUALLY(count_of(&hanging) == 1);
    assert_false(kolk_makers_are_there_());
    two = borrow_thing(&things, NULL, KOLK_FOREVER);
    kolk_store_(&refuses_threads, 0, KOLK_RELEASE_);
    end_holding();
    assert_int_equal(pthread_join(thread, NULL), 0);
    give(&one);
    give(&two);
    assert_int_equal(count_of(&things.created), 2);
    end_things(&things);
}

/* Makers without work end, except one. promise: "Makers are threads ... last pool" */
static void test_makers_end(void **state) {
    things.creates = hangs_in_create;
    make_things(&things, (kolk_resource_pool_desc){.max = 8, .min_idle = 8, .max_creating = 8});
    EVENTUALLY(count_of(&hanging) == 8);
    assert_true(count_makers() >= 9);
    end_holding();
    EVENTUALLY(now().idle == 8);
    EVENTUALLY(count_makers() == 1);
    end_things(&things);
}

static void *borrow_to_be_cancelled(void *argument) {
    kolk_borrowed one = borrow_thing(&things, NULL, KOLK_FOREVER);
    give(&one); /* its reset would be a cancellation point */
    pthread_testcancel();
    return NULL;
}

/* If a thread is cancelled in a function of the pool, the function still completes, and no work is lost. */
static void test_cancelled_threads(void **state) {
    for (int creates = 0; creates < 2; creates++) {
        pthread_t thread;
        void *result;
        begin_test(NULL);
        if (creates)
            things.creates = hangs_in_create;
        else
            things.resets = hangs_in_validate;
        make_things(&things, (kolk_resource_pool_desc){.max = 1, .no_housekeeper = true});
        assert_int_equal(pthread_create(&thread, NULL, borrow_to_be_cancelled, NULL), 0);
        EVENTUALLY(count_of(&hanging) == 1);
        assert_int_equal(pthread_cancel(thread), 0);
        for (int i = 0; i < 20; i++) nap();
        end_holding();
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, PTHREAD_CANCELED);
        assert_int_equal(now().idle, 1);
        assert_int_equal(now().creating, 0);
        end_things(&things);
    }
}

/* ---- The events that a pool reports ------------------------------------------------------------------------------ */

typedef struct told {
    uint32_t counts[3];
    kolk_status status;
    char words[600];
} told;

static told heard; /* written by one thread at a time */

static void hear(void *context, const kolk_resource_event *event) {
    heard.status = event->status;
    snprintf(heard.words, sizeof heard.words, "%s/%s/%s: %s", event->pool, event->key, event->who, event->error->text);
    if (event->kind != KOLK_RESOURCE_CREATE_FAILED) REQUIRE(event->ns > 0);
    REQUIRE(stats_of(&things).max == 1); /* the pool's lock is free */
    count_up(&heard.counts[event->kind]);
}

/* promise: "a borrow succeeded ... failed, with `error`", "Receives events, without any lock held" */
static void test_a_log(void **state) {
    kolk_borrowed one, none;
    kolk_borrow_desc desc = {.key = "k", .who = "reader 3", .deadline = kolk_deadline_after(60000)};
    memset(&heard, 0, sizeof heard);
    refusals = 1;
    things.creates = refuse_some;
    make_things(&things, (kolk_resource_pool_desc){.name = "db", .max = 1, .log = hear, .slow_borrow_ms = 3600000});
    EVENTUALLY(kolk_resource_borrow(&things.pool, &desc, &one) == KOLK_OK);
    assert_int_equal(heard.counts[KOLK_RESOURCE_CREATE_FAILED], 1);
    desc.deadline = kolk_deadline_after(5);
    assert_int_equal(kolk_resource_borrow(&things.pool, &desc, &none), KOLK_TIMEOUT);
    assert_int_equal(heard.counts[KOLK_RESOURCE_BORROW_FAILED], 1);
    assert_int_equal(heard.status, KOLK_TIMEOUT);
    assert_non_null(strstr(heard.words, "db/k/reader 3: 1 of 1 in use"));
    desc.deadline = KOLK_NOW;
    assert_int_equal(kolk_resource_borrow(&things.pool, &desc, &none), KOLK_FULL);
    give(&one);
    assert_int_equal(kolk_resource_borrow(&things.pool, &desc, &one), KOLK_OK);
    assert_int_equal(heard.counts[KOLK_RESOURCE_BORROW_FAILED], 1);
    assert_int_equal(heard.counts[KOLK_RESOURCE_SLOW_BORROW], 0);
    give(&one);
    pthread_t thread;
    kolk_borrowed two;
    one = borrow_thing(&things, NULL, KOLK_FOREVER);
    things.pool.inside->desc.slow_borrow_ms = 1; /* here in nanoseconds */
    assert_int_equal(pthread_create(&thread, NULL, borrow_for_ever, &two), 0);
    EVENTUALLY(now().waiting == 1);
    give(&one);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(heard.counts[KOLK_RESOURCE_SLOW_BORROW], 1);
    give(&two);
    end_things(&things);
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

typedef struct borrower {
    pthread_t thread;
    const char *key;
    kolk_borrowed borrow;
    uint32_t turn;
} borrower;

static uint32_t turns;

static void *borrow_in_turn(void *argument) {
    borrower *me = (borrower *)argument;
    me->borrow = borrow_thing(&things, me->key, KOLK_FOREVER);
    me->turn = count_up(&turns);
    give(&me->borrow);
    return NULL;
}

/* A returned resource goes to the key that has waited longest, not always to the resource's own key.
 * promise: "key that comes back is destroyed to make room" */
static void test_keys_take_turns(void **state) {
    borrower line[] = {{.key = "b"}, {.key = "a"}, {.key = "b"}, {.key = "a"}};
    turns = 0;
    make_things(&things, (kolk_resource_pool_desc){.max = 1});
    kolk_borrowed one = borrow_thing(&things, "a", KOLK_FOREVER);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&line[i].thread, NULL, borrow_in_turn, &line[i]), 0);
        EVENTUALLY(now().waiting == i + 1);
    }
    give(&one);
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_join(line[i].thread, NULL), 0);
    assert_int_equal(line[0].turn, 1);
    assert_true(now().replaced >= 1);
    end_things(&things);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void) {
    END_IF_IT_HANGS();
    remember_threads();
    const struct CMUnitTest tests[] = {
        TEST(test_a_create_outlives_who_asked_for_it),
        TEST(test_the_deadline_of_a_create),
        TEST(test_a_borrow_with_now_lets_one_be_made),
        TEST(test_a_refusal_is_not_the_end),
        TEST(test_the_last_reason_at_the_deadline),
        TEST(test_a_return_serves_while_creates_are_refused),
        TEST(test_a_refusal_for_good),
        TEST(test_a_refill_after_another_create),
        TEST(test_another_pool),
        TEST(test_another_key),
        TEST(test_another_key_and_a_slow_maker),
        TEST(test_nobody_waits_for_destroy),
        TEST(test_a_borrow_that_meets_an_expired_one),
        TEST(test_a_silent_one_is_passed_over),
        TEST(test_a_return_while_one_is_asked),
        TEST(test_a_look_before_each_borrow),
        TEST(test_deinit_interrupts_a_create),
        TEST(test_deinit_interrupts_a_validate),
        TEST(test_deinit_interrupts_destroys),
        TEST(test_evict_interrupts_a_create),
        TEST(test_evict_and_a_create_that_goes_on),
        TEST(test_evict_once_for_all),
        TEST(test_no_more_threads),
        TEST(test_makers_end),
        TEST(test_cancelled_threads),
        TEST(test_a_log),
        TEST(test_keys_take_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
