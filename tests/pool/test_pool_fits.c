/* Without .capacity, a pool in the caller's memory has exactly as many slots as fit.
 * promise: "capacity slots that can be used without more memory ... always full" */
#include "../help/test.h"

/* Any address will do: init touches no object, and writes metadata only as slots are handed out. */
static void check_that_it_fits(const kolk_pool_desc *shape, void *memory, size_t size) {
    kolk_pool_desc desc = *shape;
    kolk_pool pool;
    desc.memory = memory;
    desc.memory_size = size;
    kolk_status status = kolk_pool_init(&pool, &desc);
    desc.memory = NULL;
    desc.memory_size = 0;
    desc.capacity = status == KOLK_OK ? pool.capacity : 0;
    if (status != KOLK_OK) assert_int_equal(status, KOLK_MEMORY_TOO_SMALL);
    if (status == KOLK_OK) assert_in_range(kolk_pool_memory_size(&desc), 1, size);
    if (status == KOLK_OK) kolk_pool_deinit(&pool);
    if (desc.capacity++ == KOLK_POOL_MOST) return; /* more would fit */
    assert_true(kolk_pool_memory_size(&desc) > size);
}

static void test_as_many_as_fit(void **state) {
    static const size_t object_sizes[] = {1, 2, 3, 8, 24, 60, 64, 1000, 4096, 70000, 3000000};
    enum { BYTES = 1 << 22 };
    uint64_t random = 1;
    void *memory = aligned_alloc(4096, BYTES);
    assert_non_null(memory);
    for (size_t i = 0; i < LENGTH_OF(object_sizes); i++) {
        for (int shape = 0; shape < 12; shape++) {
            kolk_pool_desc desc = {.object_size = object_sizes[i], .reuse = (kolk_reuse)(shape % 3)};
            if (shape / 3 % 2) desc.generations = KOLK_GENERATIONS_NONE;
            desc.ages = shape / 6;
            for (size_t size = 1; size < 400; size++) check_that_it_fits(&desc, memory, size);
            for (int n = 0; n < 200; n++)
                check_that_it_fits(&desc, memory, 1 + random_below(&random, (uint32_t)BYTES >> n % 20));
            check_that_it_fits(&desc, memory, BYTES);
        }
    }
    aligned_free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_many_as_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
