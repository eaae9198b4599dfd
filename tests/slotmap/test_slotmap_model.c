/* runs: slow sample wraps: help/no_sites.h */
/* Random operations on slot maps of every shape, compared with model.h. Reads KOLK_TEST_SEED and KOLK_TEST_OPS (the
 * total number of operations) from the environment.
 * promise: "a removal moves the last object into the hole ... every move", "a new object has the bytes ... moved as
 * bytes", "The map never stores its own data among", "called once ... place down", "Returns a new ... stores the null
 * handle", "Removes the object ... removal is harmless", "The same for the object at this place ... no such place",
 * "Removes all objects.", "The array of kolk_slotmap_count ... without growing", "Returns the handle ... result is
 * then UINT32_MAX", "place, or NULL if index >= count", "Returns the slot ... below max_capacity", "A restore brings
 * ... they did then", "snapshot is stale right after the restore", "Raises the capacity ... nothing has changed", "All
 * counters; O(1)"; README.md "objects packed in an array" */
#include "../help/test.h"

#include "model.h"

#include "../help/model_drive.h"
#include "../help/no_sites.h"

#ifndef OPERATIONS
#define OPERATIONS 1000000
#endif

static uint64_t worn, recycled;

static void add_up(const model *m) {
    worn += m->map.worn;
    recycled += m->map.recycled;
}

static void test_random_operations(void **state) {
    drive_models(20261121, does_a_part() ? OPERATIONS / 8 : OPERATIONS, add_up);
    if (KOLK_GENERATION_MAX < 100) assert_true(worn > 0 && recycled > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_random_operations, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
