/* with: src wraps: kolk_memory_commit_ */
/* A shared pool grows as far as memory permits: if the system refuses memory for all the slots of the next step, the
 * pool tries half of them, and so on, down to one. */
#include "../help/test.h"

#include "os/memory.h"
#include "shared_test.h"

enum { STRIDE = 1024, MOST = 5000 };

static kolk_shared pool;
static size_t most_bytes; /* how many bytes of slots the system provides, in whole pages */
static unsigned refusals;

bool __real_kolk_memory_commit_(void *start, size_t size);
bool __wrap_kolk_memory_commit_(void *start, size_t size);

bool __wrap_kolk_memory_commit_(void *start, size_t size) {
    uintptr_t at = (uintptr_t)start - (uintptr_t)pool.slots;
    if (at >= (size_t)MOST * STRIDE || at + size <= most_bytes) return __real_kolk_memory_commit_(start, size);
    refusals++;
    return false;
}

static uint32_t *objects[MOST];

static uint32_t take_all(kolk_shared_local *local, uint32_t from) {
    uint32_t n = from;
    while (n < MOST && (objects[n] = (uint32_t *)kolk_shared_alloc(local))) {
        *objects[n] = n;
        n++;
    }
    for (uint32_t i = 0; i < n; i++) assert_int_equal(*objects[i], i);
    return n;
}

static void test_smaller_steps(void **state) {
    const uint32_t in_page = (uint32_t)kolk_memory_page_() / STRIDE; /* whole pages are committed */
    static const uint32_t slots[] = {1, 63, 64, 65, 66, 100, 127, 128, 129, 500, 777, 1023, 2047, 4095};
    for (unsigned s = 0; s < LENGTH_OF(slots); s++) {
        const uint32_t expected = (slots[s] + in_page - 1) / in_page * in_page;
        kolk_shared_local local;
        kolk_stats stats;
        most_bytes = SIZE_MAX;
        refusals = 0;
        make_shared(
            &pool, &(kolk_shared_desc){.name = "grows", .object_size = STRIDE, .max_capacity = MOST, .max_threads = 1});
        make_local(&local, &pool);
        most_bytes = (size_t)expected * STRIDE;
        assert_int_equal(take_all(&local, 0), expected); /* every slot for which there is memory */
        assert_true(refusals > 0);
        assert_true(kolk_shared_is_valid(&pool));
        kolk_shared_stats(&pool, &stats);
        assert_int_equal(stats.capacity, expected);
        assert_int_equal(stats.failed, 1);
        kolk_shared_free(&local, objects[expected - 1]);
        assert_int_equal(take_all(&local, expected - 1), expected);
        most_bytes = SIZE_MAX;
        assert_int_equal(take_all(&local, expected), MOST);
        assert_true(kolk_shared_is_valid(&pool));
        kolk_shared_deinit(&pool);
    }
}

int main(void) {
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {TEST(test_smaller_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
