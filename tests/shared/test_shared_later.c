/* Deferred free where the model test does not reach: all threads are offline, and sets with more slots than one
  * summary word covers. Readers in other threads are in test_shared_later_schedules.c, threads that end in
  * test_shared_death.c. */
#include "../help/test.h"

#include "shared_test.h"

static kolk_shared pool;
static kolk_shared_local locals[2];

static void set_up(uint32_t capacity, uint32_t cache) {
    make_shared(&pool, &(kolk_shared_desc){.object_size = 8, .capacity = capacity, .max_threads = 2, .cache = cache});
    for (int i = 0; i < 2; i++) make_local(&locals[i], &pool);
}

static void quiesce_all(void) {
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2; i++) kolk_shared_quiesce(&locals[i]);
    assert_true(kolk_shared_is_valid(&pool));
}

static void tear_down(void) {
    for (int i = 0; i < 2; i++) kolk_shared_local_deinit(&locals[i]);
    end_shared(&pool);
}

/* Allocates all slots through local 0. Returns how many. */
static uint32_t take_all(void **objects) {
    uint32_t n = 0;
    while ((objects[n] = kolk_shared_alloc(&locals[0]))) n++;
    return n;
}

/* With all locals offline, a retired slot stays retired until a local (perhaps a new one) comes online and quiesces, or
 * until an alloc needs the slot and finds no local online. promise: "offline states that ... new local is online" */
static void test_all_offline(void **state) {
    static const uint32_t caches[] = {1, 2, 5, 64, KOLK_NO_CACHE};
    for (unsigned n = 0; n < LENGTH_OF(caches) * 6; n++) {
        unsigned way = n % 3; /* a local comes online, a new local is made, neither */
        void *objects[20 + 64 + 1];
        set_up(20, caches[n / 6]);
        take_all(objects);
        for (int i = 0; i < 2; i++) kolk_shared_offline(&locals[i]);
        kolk_shared_free_later(&locals[0], objects[0]);
        quiesce_all();
        if (way == 0) kolk_shared_online(&locals[1]);
        if (way == 1) kolk_shared_local_deinit(&locals[1]);
        if (way == 1) make_local(&locals[1], &pool);
        if (way < 2) assert_null(kolk_shared_alloc(&locals[0]));
        if (way < 2) quiesce_all();
        void *got = n % 2 ? kolk_shared_alloc(&locals[0]) : kolk_shared_alloc_wait(&locals[0], KOLK_FOREVER);
        assert_ptr_equal(got, objects[0]);
        tear_down();
    }
}

/* Thousands of deferred frees, scattered over all slots and epochs.
 * promise: "States that the calling thread holds no" */
static void test_many(void **state) {
    enum { MANY = 20000 };
    static const uint32_t caches[] = {1, 5, 64};
    static void *all[MANY + 65];
    for (size_t c = 0; c < LENGTH_OF(caches); c++) {
        set_up(MANY, caches[c]);
        uint32_t n = take_all(all), freed = 0;
        assert_int_equal(n, all_slots(&pool));
        for (uint32_t i = 0; i < n; i += 1 + i % 7 * (i % 130), freed++) {
            kolk_shared_free_later(&locals[i % 2], all[i]);
            if (i % 1000 == 0) kolk_shared_quiesce(&locals[i / 1000 % 2]);
        }
        assert_int_equal(kolk_shared_count(&pool), n - freed);
        quiesce_all();
        assert_int_equal(take_all(all), freed);
        tear_down();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_all_offline), TEST(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
