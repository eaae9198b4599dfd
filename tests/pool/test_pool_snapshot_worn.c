/* runs: long not:asan with: KOLK_GENERATION_MAX=7 */
/* A snapshot with a generation beyond the last possible one is forged. */
#include "../help/test.h"

#include "snapshot_block.h"

static void test_generations_beyond_the_last(void **state) {
    kolk_pool pool;
    setenv("KOLK_BYPASS", "0", 1);
    make_pool(&pool, &(kolk_pool_desc){.name = "worn", .object_size = 8, .capacity = 4});
    void *objects[2];
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 2), 2);
    kolk_pool_free(&pool, objects[1]);
    block taken = take_snapshot(&pool);
    for (uint32_t slot = 0; slot < 2; slot++) {
        for (uint32_t generation = 0; generation < 10; generation++) {
            block forged = copy_of(taken);
            put_number(forged, HEADER + 8 + 4 * slot, generation);
            seal(forged);
            bool possible = generation >= 1 && generation <= 7; /* 0 means worn out, but no slot is */
            assert_int_equal(kolk_pool_restore(&pool, forged.bytes, forged.size),
                             possible ? KOLK_OK : KOLK_FORGED_SNAPSHOT);
            assert_true(kolk_pool_is_valid(&pool));
            free(forged.bytes);
        }
    }
    free(taken.bytes);
    kolk_pool_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_generations_beyond_the_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
