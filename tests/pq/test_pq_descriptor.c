/* The members of the resource pool's descriptor in that of the PostgreSQL adapter. */
#include "../help/test.h"

#include "../help/adapter.h"

#include <kolk/pq.h>

static kolk_pq db;

static kolk_status init(const kolk_resource_pool_desc *pool) {
    return kolk_pq_init(&db, &(kolk_pq_desc){.pool = *pool});
}

static void test_nothing_is_ignored(void **state) {
    (void)state;
    assert_nothing_is_ignored(init, KOLK_SET_BY_ADAPTER, " create destroy validate reset validate_after_ms ");
}

static void test_log_has_its_context(void **state) {
    (void)state;
    assert_log_has_its_context(init);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_ignored),
        cmocka_unit_test(test_log_has_its_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
