/* Quarantine is the only setting of the debug mode that changes the order in which slots are used. */
#include "../help/debug_test.h"

#include <kolk/slotmap.h>

enum { SLOTS = 50, STEPS = 2000 };

/* Returns a hash of the slots that allocs return, with frees at random between them. */
static uint64_t order_of_pool(kolk_reuse reuse, const char *debug) {
    kolk_pool pool;
    void *objects[SLOTS];
    uint32_t count = 0;
    uint64_t random = 9, order = 0;
    make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = SLOTS, .reuse = reuse, .debug = debug});
    for (unsigned step = 0; step < STEPS; step++) {
        if (count < SLOTS - 10 && (count == 0 || next_random(&random) % 2)) {
            objects[count] = kolk_pool_alloc(&pool);
            order = (order ^ kolk_pool_index(&pool, objects[count])) * UINT64_C(0x9e3779b97f4a7c15) + 1;
            memset(objects[count++], 1, 8);
        } else {
            uint32_t n = random_below(&random, count);
            kolk_pool_free(&pool, objects[n]);
            objects[n] = objects[--count];
        }
    }
    while (count) kolk_pool_free(&pool, objects[--count]);
    kolk_pool_deinit(&pool);
    return order;
}

static void test_pools(void **state) {
    static const char *const same[] = {"fill", "guard", "sites", "trace", "fill,guard,sites,trace"};
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        uint64_t release = order_of_pool(orders[n], NULL);
        for (size_t i = 0; i < LENGTH_OF(same); i++) assert_true(order_of_pool(orders[n], same[i]) == release);
        if (orders[n] != KOLK_REUSE_FIFO) { /* FIFO slots wait anyway */
            assert_false(order_of_pool(orders[n], "quarantine=4") == release);
            assert_false(order_of_pool(orders[n], "all") == release);
        }
        setenv("KOLK_BYPASS", "1", 1);
        assert_true(order_of_pool(orders[n], NULL) == release);
        setenv("KOLK_BYPASS", "0", 1);
    }
}

static uint64_t order_of_map(const char *debug) {
    kolk_slotmap map;
    kolk_handle handles[SLOTS];
    uint32_t count = 0;
    uint64_t random = 9, order = 0;
    kolk_slotmap_desc desc = {.object_size = 8, .capacity = SLOTS, .debug = debug};
    assert_int_equal(kolk_slotmap_init(&map, &desc), KOLK_OK);
    for (unsigned step = 0; step < STEPS; step++) {
        if (count < SLOTS && (count == 0 || next_random(&random) % 2)) {
            assert_non_null(kolk_slotmap_add(&map, &handles[count]));
            order = (order ^ handles[count++].bits) * UINT64_C(0x9e3779b97f4a7c15) + 1;
        } else {
            uint32_t n = random_below(&random, count);
            assert_true(kolk_slotmap_remove(&map, handles[n]));
            handles[n] = handles[--count];
        }
    }
    while (count) kolk_slotmap_remove(&map, handles[--count]);
    kolk_slotmap_deinit(&map);
    return order;
}

static void test_slot_maps(void **state) {
    static const char *const same[] = {"all", "fill", "sites", "trace", "move"};
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(same); i++) assert_true(order_of_map(same[i]) == order_of_map(NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pools, abort_on_failure),
        cmocka_unit_test_teardown(test_slot_maps, abort_on_failure),
    };
    setenv("KOLK_BYPASS", "0", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
