/* free_n frees as free does, object by object: in each order, in each debug mode, and with mistakes in the array. Each
 * way to free ends one generation. */
#include "../help/debug_test.h"

enum { MANY = 130 };

static void make(kolk_pool *pool, kolk_reuse reuse, const char *debug) {
    make_pool(pool, &(kolk_pool_desc){.name = "things",
                                      .object_size = 32,
                                      .capacity = MANY,
                                      .generations = KOLK_GENERATIONS_RECYCLE,
                                      .reuse = reuse,
                                      .debug = debug});
}

/* A twin in which free is called for each object hands out the same slots afterwards.
 * promise: "Frees n objects ... all the same" */
static void test_the_same_order_as_single_frees(void **state) {
    for (size_t mode = 0; mode < DEBUG_MODES; mode++)
        for (size_t order = 0; order < LENGTH_OF(orders); order++) {
            kolk_pool pool, twin;
            void *objects[MANY], *twins[MANY];
            const char *debug = begin_debug_mode(mode);
            make(&pool, orders[order], debug);
            make(&twin, orders[order], debug);
            assert_int_equal(kolk_pool_alloc_n(&pool, objects, MANY), MANY);
            assert_int_equal(kolk_pool_alloc_n(&twin, twins, MANY), MANY);
            for (uint32_t i = 0; i < MANY; i++)
                if (i % 3 == 0) objects[i] = twins[i] = NULL;
            kolk_pool_free_n(&pool, objects, MANY);
            for (uint32_t i = 0; i < MANY; i++) kolk_pool_free(&twin, twins[i]);
            assert_int_equal(kolk_pool_count(&pool), (MANY + 2) / 3);
            assert_true(kolk_pool_is_valid(&pool));
            for (uint32_t i = 0; i < MANY / 2; i++)
                assert_int_equal(kolk_pool_index(&pool, taken_from(&pool)), kolk_pool_index(&twin, taken_from(&twin)));
            kolk_pool_free_n(&pool, NULL, 0);
            kolk_pool_clear(&pool);
            kolk_pool_clear(&twin);
            end_pool(&pool);
            end_pool(&twin);
        }
}

static void test_mistakes_are_reported_and_the_others_are_freed(void **state) {
    for (size_t mode = 0; mode < DEBUG_MODES; mode++) {
        kolk_pool pool;
        notes taken;
        void *objects[5], *foreign = &pool;
        make(&pool, KOLK_REUSE_LIFO, begin_debug_mode(mode));
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 3), 3);
        objects[3] = objects[1];
        objects[4] = objects[0];
        begin_notes(&taken);
        kolk_pool_free_n(&pool, &objects[1], 4);
        assert_int_equal(taken.count, 1);
        assert_int_equal(taken.last.rule, KOLK_DOUBLE_FREE);
        assert_ptr_equal(taken.last.object, objects[1]);
        assert_int_equal(kolk_pool_count(&pool), 0);
        taken.count = 0;
        kolk_pool_free_n(&pool, &foreign, 1);
        assert_int_equal(taken.count, 1);
        assert_int_equal(taken.last.rule, KOLK_FOREIGN_POINTER);
        end_pool(&pool);
    }
}

static void free_one(kolk_pool *pool, void *object) {
    kolk_pool_free(pool, object);
}

static void free_n_of_one(kolk_pool *pool, void *object) {
    kolk_pool_free_n(pool, &object, 1);
}

static void free_by_handle(kolk_pool *pool, void *object) {
    assert_true(kolk_pool_free_handle(pool, kolk_pool_handle_of(pool, object)));
}

static void clear_one(kolk_pool *pool, void *object) {
    kolk_pool_clear(pool);
}

/* A slot's byte counts 128 lives. */
static void test_each_free_ends_one_generation(void **state) {
    static void (*const ways[])(kolk_pool *, void *) = {free_one, free_n_of_one, free_by_handle, clear_one};
    for (size_t mode = 0; mode < DEBUG_MODES; mode++)
        for (size_t n = 0; n < LENGTH_OF(orders) * LENGTH_OF(ways); n++) {
            kolk_pool pool;
            make_pool(&pool, &(kolk_pool_desc){.name = "thing",
                                               .object_size = 32,
                                               .capacity = 1,
                                               .reuse = orders[n % LENGTH_OF(orders)],
                                               .debug = begin_debug_mode(mode)});
            for (uint32_t life = 1; life <= 300; life++) {
                void *object = taken_from(&pool);
                kolk_handle handle = kolk_pool_handle_of(&pool, object);
                assert_int_equal(handle.bits >> 32, life);
                assert_ptr_equal(kolk_pool_get(&pool, handle), object);
                ways[n / LENGTH_OF(orders)](&pool, object);
                assert_null(kolk_pool_get(&pool, handle));
            }
            assert_true(kolk_pool_is_valid(&pool));
            end_pool(&pool);
        }
}

KOLK_POOL_TYPE(items, int);

static void test_typed(void **state) {
    items pool;
    int *objects[4];
    assert_int_equal(items_init(&pool, &(kolk_pool_desc){.capacity = 4}), KOLK_OK);
    assert_int_equal(items_alloc_n(&pool, objects, 4), 4);
    items_free_n(&pool, objects, 3);
    assert_int_equal(items_count(&pool), 1);
    items_free(&pool, objects[3]);
    items_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_the_same_order_as_single_frees),
        DEBUG_TEST(test_mistakes_are_reported_and_the_others_are_freed),
        DEBUG_TEST(test_each_free_ends_one_generation),
        DEBUG_TEST(test_typed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
