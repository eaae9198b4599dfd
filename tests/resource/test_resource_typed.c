/* Each typed function of kolk_resource_pool. Type errors are in tests/compile. */
#include "../help/test.h"

#ifdef __linux__
#include <poll.h>
#endif

typedef struct link {
    int number;
} link_to;

KOLK_RESOURCE_TYPE(links, link_to)

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    link_to **next = (link_to **)context;
    *resource = (*next)++;
    return true;
}

static bool is_second(const char *key, const void *resource, bool in_use, void *context) {
    assert_string_equal(key, "");
    return resource == context;
}

/* promise: typed.h "which work as in resource.h ... `connections.pool` and `borrowed.borrow`" */
static void test_every_typed_function(void **state) {
    link_to all[5] = {{1}, {2}, {3}, {4}, {5}}, *next = all;
    links pool;
    links_borrowed one, other;
    kolk_resource_pool_stats stats;
    kolk_resource_pool_desc desc = {
        .name = "links", .context = &next, .create = create, .max = 2, .no_housekeeper = true};
    assert_int_equal(links_init(&pool, &desc), KOLK_OK);
    assert_int_equal(links_borrow(&pool, NULL, &one), KOLK_OK);
    assert_int_equal(links_borrow(&pool, NULL, &other), KOLK_OK);
    link_to *first = links_resource_of(&one);
    assert_int_equal(first->number, 1);
    assert_int_equal(links_evict_if(&pool, is_second, &all[1]), 1);
    links_give_back(&pool, &other);
    links_discard(&pool, &one);
    assert_null(links_resource_of(&one));
    links_stats(&pool, &stats);
    assert_true(stats.discarded == 1 && stats.evicted == 1 && stats.idle == 0);

    assert_int_equal(links_borrow(&pool, NULL, &one), KOLK_OK);
    link_to *mine = links_detach(&pool, &one);
    assert_int_equal(mine->number, 3);
    links_pause(&pool);
    assert_int_equal(links_borrow(&pool, &(kolk_borrow_desc){.key = NULL}, &one), KOLK_FULL);
    links_resume(&pool);
    assert_int_equal(links_borrow(&pool, NULL, &one), KOLK_OK);
    links_give_back(&pool, &one);
    assert_true(links_evict_generation(&pool, &one));
    assert_false(links_evict_generation(&pool, &one));
    links_evict(&pool);
    assert_int_equal(links_resize(&pool, 1), KOLK_OK);
#ifdef __linux__
    struct pollfd waits = {.fd = links_fd(&pool), .events = POLLIN};
    assert_int_equal(links_borrow(&pool, &(kolk_borrow_desc){.key = NULL}, &one), KOLK_FULL);
    assert_int_equal(poll(&waits, 1, 0), 0);
    links_tick(&pool, KOLK_FOREVER);
    assert_int_equal(poll(&waits, 1, 0), 1);
    assert_int_equal(links_borrow(&pool, &(kolk_borrow_desc){.key = NULL}, &one), KOLK_OK);
    assert_int_equal(links_resource_of(&one)->number, 5);
    links_give_back(&pool, &one);
#endif
    assert_true(links_is_valid(&pool));
    assert_int_equal(links_close(&pool, KOLK_NOW), KOLK_OK);
    links_deinit(&pool);
    assert_null(pool.pool.inside);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_every_typed_function, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
