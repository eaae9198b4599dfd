/* runs: slow not:qemu wraps: help/no_sites.h */
/* Random operations on heaps of every shape, compared with model.h. Reads KOLK_TEST_SEED and KOLK_TEST_OPS (operations
 * in total) from the environment. promise: "Is this the start ... pointer is allowed" */
#include "../help/test.h"

#include "model.h"

#include "../help/model_drive.h"
#include "../help/no_sites.h"

static uint64_t failed, asked, bypassed;

static void add_up(const model *m) {
    failed += m->failed;
    asked += m->asked;
    bypassed += m->bypass;
}

/* promise: "the class and the slot ... pages from the system", "the first `size` bytes of the block are 0", "The same,
 * aligned ... not a power of two", "Frees n blocks ... stay alive" */
static void test_random_operations(void **state) {
    drive_models(20261122, does_a_part() ? 20000 : 200000, add_up);
    assert_true(sizeof(void *) < 8 || (failed > 0 && asked > 0 && bypassed > 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_random_operations, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
