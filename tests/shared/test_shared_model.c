/* Random operations on shared pools of every shape against the model of model.h. KOLK_TEST_SEED and KOLK_TEST_OPS
 * (operations in total) may be set in the environment. */
#include "../help/test.h"

#define sharedmodel_fail(m, format, ...)                                                                               \
    fail_msg("%s, operation %" PRIu64 ": " format, (m)->what, (m)->step, __VA_ARGS__)
#include "model.h"

#include "../help/no_sites.h"

static uint32_t draw_random(void *state) {
    return (uint32_t)(next_random((uint64_t *)state) >> 32);
}

static void test_random_operations(void **state) {
    (void)state;
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 20261122);
    uint64_t operations = number_from_environment("KOLK_TEST_OPS", does_a_part() ? 60000 : 500000);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
    setenv("KOLK_BYPASS", "0", 1);
    unsetenv("KOLK_DEBUG");
    uint64_t filled = 0, done = 0;
    for (uint64_t run = 0; done < operations; run++) {
        static sharedmodel m;
        char what[60];
        uint64_t random = seed + run;
        snprintf(what, sizeof what, "KOLK_TEST_SEED=%" PRIu64, seed + run);
        memset(&m, 0, sizeof m);
        m.draw = draw_random;
        m.context = &random;
        m.what = what;
        sharedmodel_init(&m);
        uint32_t length = 1 + sharedmodel_draw(&m, 2000);
        for (uint32_t i = 0; i < length; i++) sharedmodel_step(&m);
        filled += m.failed;
        done += length;
        sharedmodel_deinit(&m);
    }
    assert_true(filled > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_random_operations, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
