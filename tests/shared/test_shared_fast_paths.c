/* wraps: kolk_shared_alloc_slow_ kolk_shared_free_slow_ kolk_shared_get_slow_ */
/* Checks that the fast paths are taken, by counting the calls from shared.inl to the slow paths. The slow paths could
 * do the same work, only slower, so no result of a call shows the difference. Without optimisation the compiler inlines
 * nothing; the calls then come from inside the library, where the linker cannot count them. */
#include "../help/test.h"

#include "shared_test.h"

typedef struct thing {
    double numbers[3];
} thing;

KOLK_SHARED_TYPE(things, thing)

enum { AT_ONCE = 20 };

static unsigned calls;

void *__real_kolk_shared_alloc_slow_(kolk_shared_local *local);
void __real_kolk_shared_free_slow_(kolk_shared_local *local, void *object);
void *__real_kolk_shared_get_slow_(const kolk_shared *pool, kolk_handle handle);
void *__wrap_kolk_shared_alloc_slow_(kolk_shared_local *local);
void __wrap_kolk_shared_free_slow_(kolk_shared_local *local, void *object);
void *__wrap_kolk_shared_get_slow_(const kolk_shared *pool, kolk_handle handle);

void *__wrap_kolk_shared_alloc_slow_(kolk_shared_local *local) {
    calls++;
    return __real_kolk_shared_alloc_slow_(local);
}

void __wrap_kolk_shared_free_slow_(kolk_shared_local *local, void *object) {
    calls++;
    __real_kolk_shared_free_slow_(local, object);
}

void *__wrap_kolk_shared_get_slow_(const kolk_shared *pool, kolk_handle handle) {
    calls++;
    return __real_kolk_shared_get_slow_(pool, handle);
}

/* With handles or without, a thread makes no call into the library while its magazine is neither empty nor full. */
static void test_alloc_free_and_get(void **state) {
    for (unsigned kind = 0; kind < 4; kind++) {
        bool typed = kind % 2, none = kind / 2;
        things pool;
        things_local local;
        thing *objects[AT_ONCE];
        kolk_shared_desc desc = {
            .capacity = 1000, .max_threads = 1, .cache = 100, .generations = none ? KOLK_GENERATIONS_NONE : 0};
        assert_int_equal(things_init(&pool, &desc), KOLK_OK);
        assert_int_equal(things_local_init(&local, &pool), KOLK_OK);
        for (int i = 0; i < AT_ONCE; i++) objects[i] = things_alloc(&local);
        calls = 0;
        for (int i = 0; i < AT_ONCE; i++) {
            if (typed)
                things_free(&local, objects[i]);
            else
                kolk_shared_free(&local.local, objects[i]);
        }
        for (int i = 0; i < AT_ONCE; i++)
            objects[i] = typed ? things_alloc(&local) : (thing *)kolk_shared_alloc(&local.local);
        assert_int_equal(calls, 0);
        for (int i = 0; i < AT_ONCE && !none; i++) {
            kolk_handle handle = kolk_shared_handle_of(&pool.pool, objects[i]);
            assert_ptr_equal(kolk_shared_get(&pool.pool, handle), objects[i]);
            assert_ptr_equal(kolk_shared_get_sized_(&pool.pool, handle, sizeof(thing)), objects[i]);
        }
        assert_int_equal(calls, 0);
        things_local_deinit(&local);
        things_deinit(&pool);
    }
}

static void test_that_calls_are_counted(void **state) {
    kolk_shared pool;
    kolk_shared_local local;
    make_shared(&pool, &(kolk_shared_desc){.object_size = sizeof(thing), .capacity = 1, .max_threads = 1});
    make_local(&local, &pool);
    calls = 0;
    void *object = kolk_shared_alloc_slow_(&local);
    assert_ptr_equal(kolk_shared_get_slow_(&pool, kolk_shared_handle_of(&pool, object)), object);
    kolk_shared_free_slow_(&local, object);
    assert_int_equal(calls, 3);
    end_shared(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alloc_free_and_get),
                                       cmocka_unit_test(test_that_calls_are_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
