/* runs: long not:asan with: KOLK_GENERATION_MAX=7 */
/* A snapshot with a generation beyond the last possible one is forged. */
#include "../help/test.h"

#include "slotmap_test.h"
#include "snapshot_block.h"

static void test_generations_beyond_the_last(void **state) {
    kolk_slotmap map;
    setenv("KOLK_BYPASS", "0", 1);
    make_map(&map, &(kolk_slotmap_desc){.name = "worn", .object_size = 8, .capacity = 4});
    add_letter(&map, 'a');
    kolk_slotmap_remove(&map, add_letter(&map, 'b'));
    block taken = take_map_snapshot(&map);
    for (uint32_t slot = 0; slot < 2; slot++) {
        for (uint32_t generation = 0; generation < 10; generation++) {
            block forged = copy_of(taken);
            put_number(forged, MAP_HEADER + 4 * slot, generation);
            seal(forged);
            bool possible = generation >= 1 && generation <= 7; /* 0 means worn out, but no slot is */
            assert_int_equal(kolk_slotmap_restore(&map, forged.bytes, forged.size),
                             possible ? KOLK_OK : KOLK_FORGED_SNAPSHOT);
            assert_true(kolk_slotmap_is_valid(&map));
            free(forged.bytes);
        }
    }
    free(taken.bytes);
    end_map(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_generations_beyond_the_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
