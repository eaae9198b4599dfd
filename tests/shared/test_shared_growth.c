// link: -Wl,--wrap=kolk_memory_commit
/* A shared pool grows as far as there is memory: when the system has none for all slots that it wants next, it takes
 * half of them, and so on, down to one. */
#include "../help/test.h"

#include "os/memory.h"
#include "shared_test.h"

enum { STRIDE = 1024, MOST = 5000 };

static size_t most_bytes; /* of a region that the system has */
static unsigned refusals;

bool __real_kolk_memory_commit(void *start, size_t size);
bool __wrap_kolk_memory_commit(void *start, size_t size);

bool __wrap_kolk_memory_commit(void *start, size_t size) {
    if (size <= most_bytes) return __real_kolk_memory_commit(start, size);
    refusals++;
    return false;
}

static uint32_t *objects[MOST];

static uint32_t take_all(kolk_local *local, uint32_t from) {
    uint32_t n = from;
    while (n < MOST && (objects[n] = (uint32_t *)kolk_local_alloc(local))) {
        *objects[n] = n;
        n++;
    }
    for (uint32_t i = 0; i < n; i++) assert_int_equal(*objects[i], i);
    return n;
}

static void test_smaller_steps(void **state) {
    (void)state;
    static const uint32_t slots[] = {1, 63, 64, 65, 66, 100, 127, 128, 129, 500, 777, 1023, 2047, 4095};
    for (unsigned s = 0; s < LENGTH_OF(slots); s++) {
        kolk_shared pool;
        kolk_local local;
        kolk_stats stats;
        most_bytes = SIZE_MAX;
        refusals = 0;
        make_shared(
            &pool, &(kolk_shared_desc){.name = "grows", .object_size = STRIDE, .max_capacity = MOST, .max_threads = 1});
        make_local(&local, &pool);
        most_bytes = (size_t)slots[s] * STRIDE + STRIDE / 2;
        assert_int_equal(take_all(&local, 0), slots[s]); /* the last one, too */
        assert_true(refusals > 0);
        assert_true(kolk_shared_is_valid(&pool));
        kolk_shared_stats(&pool, &stats);
        assert_int_equal(stats.capacity, slots[s]);
        assert_int_equal(stats.failed, 1);
        kolk_local_free(&local, objects[slots[s] - 1]);
        assert_int_equal(take_all(&local, slots[s] - 1), slots[s]);
        most_bytes = SIZE_MAX;
        assert_int_equal(take_all(&local, slots[s]), MOST);
        assert_true(kolk_shared_is_valid(&pool));
        kolk_shared_deinit(&pool);
    }
}

int main(void) {
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_smaller_steps, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
