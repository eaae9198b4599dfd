/* Random operations on slot maps of every shape against the model of model.h. KOLK_TEST_SEED and
 * KOLK_TEST_OPS (operations in total) may be set in the environment. */
#include "../help/test.h"

#define slotmodel_fail(m, format, ...) fail_msg("%s, operation %" PRIu64 ": " format, (m)->what, (m)->step, __VA_ARGS__)
#include "model.h"

#include "../help/no_sites.h"

#ifndef OPERATIONS
#define OPERATIONS 1000000
#endif

static uint32_t draw_random(void *state) {
    return (uint32_t)(next_random((uint64_t *)state) >> 32);
}

static void test_random_operations(void **state) {
    (void)state;
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 20261121);
    uint64_t operations = number_from_environment("KOLK_TEST_OPS", does_a_part() ? OPERATIONS / 8 : OPERATIONS);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
    setenv("KOLK_BYPASS", "0", 1);
    unsetenv("KOLK_DEBUG");
    uint64_t worn = 0, recycled = 0, done = 0;
    for (uint64_t run = 0; done < operations; run++) {
        static slotmodel m;
        char what[60];
        uint64_t random = seed + run;
        snprintf(what, sizeof what, "KOLK_TEST_SEED=%" PRIu64, seed + run);
        memset(&m, 0, sizeof m);
        m.draw = draw_random;
        m.context = &random;
        m.what = what;
        slotmodel_init(&m);
        uint32_t length = 1 + slotmodel_draw(&m, 2000);
        for (uint32_t i = 0; i < length; i++) slotmodel_step(&m);
        worn += m.map.worn;
        recycled += m.map.recycled;
        done += length;
        slotmodel_deinit(&m);
    }
    if (KOLK_GENERATION_MAX < 100) assert_true(worn > 0 && recycled > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_random_operations, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
