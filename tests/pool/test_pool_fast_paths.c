/* wraps: kolk_pool_alloc_slow_ kolk_pool_at_slow_ kolk_pool_free_slow_ kolk_pool_get_slow_ kolk_pool_handle_slow_ */
/* wraps: kolk_pool_index_slow_ kolk_pool_is_live_slow_ kolk_pool_renew_slow_ */
/* Checks that the fast paths are taken, by counting the calls from pool.inl to the slow paths. The slow paths could do
 * the same work, only slower, so no result of a call shows the difference. Without optimisation the compiler inlines
 * nothing; the calls then come from inside the library, where the linker cannot count them. */
#include "../help/test.h"

typedef struct thing {
    double numbers[3];
} thing;

KOLK_POOL_TYPE(things, thing)

#define SLOTS 100u

static unsigned calls;

void *__real_kolk_pool_alloc_slow_(kolk_pool *pool);
void __real_kolk_pool_free_slow_(kolk_pool *pool, void *object);
void *__real_kolk_pool_renew_slow_(kolk_pool *pool, void *object);
void *__real_kolk_pool_get_slow_(const kolk_pool *pool, kolk_handle handle);
kolk_handle __real_kolk_pool_handle_slow_(const kolk_pool *pool, const void *object);
bool __real_kolk_pool_is_live_slow_(const kolk_pool *pool, const void *object);
uint32_t __real_kolk_pool_index_slow_(const kolk_pool *pool, const void *object);
void *__real_kolk_pool_at_slow_(const kolk_pool *pool, uint32_t index);
void *__wrap_kolk_pool_alloc_slow_(kolk_pool *pool);
void __wrap_kolk_pool_free_slow_(kolk_pool *pool, void *object);
void *__wrap_kolk_pool_renew_slow_(kolk_pool *pool, void *object);
void *__wrap_kolk_pool_get_slow_(const kolk_pool *pool, kolk_handle handle);
kolk_handle __wrap_kolk_pool_handle_slow_(const kolk_pool *pool, const void *object);
bool __wrap_kolk_pool_is_live_slow_(const kolk_pool *pool, const void *object);
uint32_t __wrap_kolk_pool_index_slow_(const kolk_pool *pool, const void *object);
void *__wrap_kolk_pool_at_slow_(const kolk_pool *pool, uint32_t index);

void *__wrap_kolk_pool_alloc_slow_(kolk_pool *pool) {
    calls++;
    return __real_kolk_pool_alloc_slow_(pool);
}

void __wrap_kolk_pool_free_slow_(kolk_pool *pool, void *object) {
    calls++;
    __real_kolk_pool_free_slow_(pool, object);
}

void *__wrap_kolk_pool_renew_slow_(kolk_pool *pool, void *object) {
    calls++;
    return __real_kolk_pool_renew_slow_(pool, object);
}

void *__wrap_kolk_pool_get_slow_(const kolk_pool *pool, kolk_handle handle) {
    calls++;
    return __real_kolk_pool_get_slow_(pool, handle);
}

kolk_handle __wrap_kolk_pool_handle_slow_(const kolk_pool *pool, const void *object) {
    calls++;
    return __real_kolk_pool_handle_slow_(pool, object);
}

bool __wrap_kolk_pool_is_live_slow_(const kolk_pool *pool, const void *object) {
    calls++;
    return __real_kolk_pool_is_live_slow_(pool, object);
}

uint32_t __wrap_kolk_pool_index_slow_(const kolk_pool *pool, const void *object) {
    calls++;
    return __real_kolk_pool_index_slow_(pool, object);
}

void *__wrap_kolk_pool_at_slow_(const kolk_pool *pool, uint32_t index) {
    calls++;
    return __real_kolk_pool_at_slow_(pool, index);
}

/* Queries about a live or a dead object, the same for every pool. */
static void ask(const kolk_pool *pool, void *object, uint32_t index, kolk_handle handle, bool live) {
    calls = 0;
    if (live) assert_ptr_equal(kolk_pool_get(pool, handle), object);
    if (live) assert_true(kolk_handle_equal(kolk_pool_handle_of(pool, object), handle));
    if (live) assert_int_equal(kolk_pool_index(pool, object), index);
    assert_true(kolk_pool_is_live(pool, object) == live);
    assert_ptr_equal(kolk_pool_at(pool, index), live ? object : NULL);
    assert_int_equal(calls, 0);
}

/* promise: "no system call, no lock", "While an object of a pool is pinned ... otherwise inline"; typed.h "each
 * function ... stride is a constant" */
static void test_alloc_and_free(void **state) {
    for (unsigned way = 0; way < 4; way++) {
        things all;
        thing *objects[SLOTS];
        kolk_pool_desc desc = {.name = "fast", .capacity = SLOTS};
        if (way % 2) desc.generations = KOLK_GENERATIONS_NONE;
        desc.pins = way / 2;
        assert_int_equal(things_init(&all, &desc), KOLK_OK);
        for (unsigned i = 0; i < SLOTS; i++) objects[i] = things_alloc(&all);
        for (unsigned typed = 0; typed < 2; typed++) {
            calls = 0;
            for (unsigned i = 0; i < SLOTS; i++) {
                if (typed)
                    things_free(&all, objects[i]);
                else
                    kolk_pool_free(&all.pool, objects[i]);
            }
            assert_int_equal(kolk_pool_count(&all.pool), 0);
            for (unsigned i = 0; i < SLOTS; i++)
                objects[i] = typed ? things_alloc(&all) : (thing *)kolk_pool_alloc(&all.pool);
            for (unsigned i = 0; i < SLOTS; i++)
                assert_ptr_equal(typed ? things_renew(&all, objects[i]) : kolk_pool_renew(&all.pool, objects[i]),
                                 objects[i]);
            assert_int_equal(kolk_pool_count(&all.pool), SLOTS);
            assert_int_equal(calls, 0);
        }
        if (desc.pins) {
            things_pin(&all, objects[0]);
            kolk_pool_free(&all.pool, objects[1]);
            assert_int_equal(calls, 1);
            things_unpin(&all, objects[0]);
        }
        things_deinit(&all);
    }
}

static void test_questions(void **state) {
    for (int reuse = KOLK_REUSE_LIFO; reuse <= KOLK_REUSE_LOWEST; reuse++) {
        kolk_pool pool;
        make_pool(&pool,
                  &(kolk_pool_desc){
                      .name = "asked", .object_size = sizeof(thing), .capacity = SLOTS, .reuse = (kolk_reuse)reuse});
        for (unsigned i = 0; i < SLOTS; i++) {
            void *object = kolk_pool_alloc(&pool);
            uint32_t index = kolk_pool_index(&pool, object);
            kolk_handle handle = kolk_pool_handle_of(&pool, object);
            ask(&pool, object, index, handle, true);
            if (i % 3) continue;
            kolk_pool_free(&pool, object);
            ask(&pool, object, index, handle, false);
        }
        kolk_pool_deinit(&pool);
    }
}

static void test_that_calls_are_counted(void **state) {
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "slow", .object_size = sizeof(thing), .capacity = 1});
    calls = 0;
    void *object = kolk_pool_alloc_slow_(&pool);
    kolk_handle handle = kolk_pool_handle_slow_(&pool, object);
    assert_ptr_equal(kolk_pool_get_slow_(&pool, handle), object);
    assert_true(kolk_pool_is_live_slow_(&pool, object));
    assert_ptr_equal(kolk_pool_renew_slow_(&pool, object), object);
    kolk_pool_free_slow_(&pool, object);
    assert_int_equal(calls, 6);
    kolk_pool_deinit(&pool);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_alloc_and_free), TEST(test_questions),
                                       TEST(test_that_calls_are_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
