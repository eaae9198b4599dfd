/* If fewer than min_idle resources are idle, makers create more, even if other creates were running when that
 * happened. */
#include "../help/test.h"

#include "../help/threads.h"

#include "kolk/resource.h"
#include "os/clock.h"

static int gate; /* atomic: creates for the key "slow" return only when it is open */

static bool create_at_the_gate(void *context, const char *key, kolk_deadline deadline, void **resource,
                               kolk_error *error) {
    (void)deadline, (void)error;
    if (strcmp(key, "slow") == 0) __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    while (strcmp(key, "slow") == 0 && __atomic_load_n(&gate, __ATOMIC_ACQUIRE) != 2) nap();
    *resource = context;
    return true;
}

static bool has_no_key(const char *key, const void *resource, bool in_use, void *context) {
    (void)resource, (void)in_use, (void)context;
    return !*key;
}

static void *borrow_slowly(void *pool) {
    kolk_borrowed borrow;
    kolk_borrow_desc wish = {.key = "slow", .deadline = KOLK_FOREVER};
    REQUIRE(kolk_resource_borrow((kolk_resource_pool *)pool, &wish, &borrow) == KOLK_OK);
    kolk_resource_give_back((kolk_resource_pool *)pool, &borrow);
    return NULL;
}

static void await_created(kolk_resource_pool *pool, uint64_t count) {
    kolk_resource_pool_stats stats = {.created = 0};
    kolk_deadline late = kolk_deadline_after(60000);
    while (stats.created < count && kolk_now_ns_() < late.ns) {
        nap();
        kolk_resource_stats(pool, &stats);
    }
    assert_true(stats.created >= count);
}

static void test_refill_after_others_create(void **state) {
    (void)state;
    kolk_resource_pool pool;
    pthread_t borrower;
    kolk_resource_pool_desc desc = {
        .context = &pool, .create = create_at_the_gate, .max = 3, .min_idle = 1, .max_creating = 1};
    assert_int_equal(kolk_resource_init(&pool, &desc), KOLK_OK);
    await_created(&pool, 1);
    assert_int_equal(pthread_create(&borrower, NULL, borrow_slowly, &pool), 0);
    while (__atomic_load_n(&gate, __ATOMIC_ACQUIRE) != 1) nap();
    assert_int_equal(kolk_resource_evict_if(&pool, has_no_key, NULL), 1);
    for (int i = 0; i < 100; i++) nap(); /* a maker notices that it may not create */
    __atomic_store_n(&gate, 2, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(borrower, NULL), 0);
    await_created(&pool, 3);
    kolk_resource_deinit(&pool);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_refill_after_others_create, abort_on_failure)};
    return cmocka_run_group_tests_name("resource_refill", tests, NULL, NULL);
}
