/* runs: slow sample wraps: help/no_sites.h */
/* Random operations on shared pools of every shape, compared with model.h. Reads KOLK_TEST_SEED and KOLK_TEST_OPS (the
 * total number of operations) from the environment.
 * promise: "max_capacity objects can be alive at any time", "Is this the start ... pointer is allowed", "Returns the
 * local's free slots to the depot, and ... before the thread sleeps for long", "a new object ... except in debug mode",
 * "Returns an object, or NULL: see Capacity above", "Frees an object of the pool ... NULL does nothing", "Allocates up
 * ... local's cache", "Frees n objects ... not changed", "exact while no thread allocates or frees" */
#include "../help/test.h"

#include "model.h"

#include "../help/model_drive.h"
#include "../help/no_sites.h"

static uint64_t filled;

static void add_up(const model *m) {
    filled += m->failed;
}

static void test_random_operations(void **state) {
    drive_models(20261122, does_a_part() ? 60000 : 500000, add_up);
    assert_true(filled > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_random_operations, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
