/* wraps: help/system_calls.h */
/* The shared pool's memory (growth in place, sizes), its statistics and the typed pool. */
#include "../help/debug_test.h"

#include "watch/debug.h"

#include "../help/system_calls.h"
#include "shared_test.h"

static kolk_shared pool;

static kolk_shared_desc growing(kolk_generations generations) {
    return (kolk_shared_desc){.name = "growing",
                              .object_size = OBJECT,
                              .capacity = 100,
                              .max_capacity = 5000,
                              .max_threads = 3,
                              .cache = 20,
                              .generations = generations};
}

static void *stamped_by(kolk_shared_local *local, uint32_t number) {
    uint32_t *object = (uint32_t *)kolk_shared_alloc(local);
    if (object)
        for (size_t i = 0; i < OBJECT / sizeof *object; i++) object[i] = number;
    return object;
}

/* Objects do not move. The first 100, and as many as the other magazines can hold, need no further memory.
 * promise: "may be 0 if max_capacity is set", "the pool can grow to this, in place; 0" */
static void test_growth_in_place(void **state) {
    for (int none = 0; none < 2; none++) {
        kolk_shared_local locals[3];
        kolk_stats stats;
        kolk_shared_desc desc = growing(none ? KOLK_GENERATIONS_NONE : KOLK_GENERATIONS_RECYCLE);
        make_shared(&pool, &desc);
        for (int i = 0; i < 3; i++) make_local(&locals[i], &pool);
        void **objects = (void **)calloc(5041, sizeof *objects);
        assert_non_null(objects);
        refuse(1, true);
        for (uint32_t i = 0; i < 140; i++) assert_non_null(objects[i] = stamped_by(&locals[0], i));
        assert_int_equal(os.calls, 0);
        uint32_t got = 140; /* the rest of the last page can be used too */
        while ((objects[got] = stamped_by(&locals[1], got))) got++;
        assert_in_range(got * OBJECT, 140 * OBJECT, 140 * OBJECT + kolk_memory_page_());
        refuse(0, false);
        kolk_shared_stats(&pool, &stats);
        assert_true(stats.capacity == got - 40 && stats.max_capacity == 5000 && stats.peak == got && stats.failed == 1);
        uint64_t committed = stats.bytes_committed;
        assert_true(committed < stats.bytes_reserved && committed >= UINT64_C(140) * OBJECT);
        for (uint32_t i = got; i < 5040; i++) {
            objects[i] = stamped_by(&locals[i % 3], i);
            for (int n = 0; !objects[i] && n < 3; n++) { /* the last free slots are in magazines */
                assert_true(i >= 5000);
                objects[i] = stamped_by(&locals[n], i);
            }
            assert_non_null(objects[i]);
            if (i % 500 == 0) assert_true(kolk_shared_is_valid(&pool));
        }
        assert_null(kolk_shared_alloc(&locals[1]));
        kolk_shared_stats(&pool, &stats);
        assert_true(stats.capacity == 5000 && stats.count == 5040 && stats.peak == 5040 &&
                    stats.bytes_committed == stats.bytes_reserved);
        for (uint32_t i = 0; i < 5040; i++) {
            assert_true(is_stamped(objects[i], i));
            assert_true(kolk_shared_is_live(&pool, objects[i]));
            if (!none) assert_ptr_equal(kolk_shared_get(&pool, kolk_shared_handle_of(&pool, objects[i])), objects[i]);
            kolk_shared_free(&locals[0], objects[i]); /* other locals allocated most of them */
        }
        assert_int_equal(kolk_shared_count(&pool), 0);
        free(objects);
        end_shared(&pool);
    }
}

/* An object costs its stride, 5 bits, and 4 bytes for lives (1 byte without handles). The pool adds `slack` slots and
 * the magazines. promise: "An object costs ... are at most a quarter of max_capacity" */
static void test_bytes(void **state) {
    for (unsigned n = 0; n < 2 * 30; n++) {
        kolk_stats stats;
        make_shared(&pool, &(kolk_shared_desc){.object_size = n / 2 + 1,
                                               .capacity = 100000,
                                               .max_threads = 2,
                                               .generations = n % 2 ? KOLK_GENERATIONS_NONE : 0});
        kolk_shared_stats(&pool, &stats);
        uint64_t slots = 100192, at_least = slots * (n / 2 + 1) + slots * 5 / 8 + slots * (n % 2 ? 1 : 4);
        assert_int_equal(stats.bytes_reserved, stats.bytes_committed);
        assert_in_range(stats.bytes_committed, at_least, at_least + 8192);
        assert_int_equal((uintptr_t)pool.inside->records % 128, 0); /* no two threads share a cache line */
        assert_int_equal(pool.inside->record_size % 128, 0);
        end_shared(&pool);
    }
}

static void test_statistics(void **state) {
    kolk_shared_local one, other;
    kolk_stats stats;
    void *objects[14];
    make_shared(&pool,
                &(kolk_shared_desc){
                    .name = "jobs", .object_size = 9, .object_align = 8, .capacity = 10, .max_threads = 2, .cache = 4});
    make_local(&one, &pool);
    make_local(&other, &pool);
    for (int i = 0; i < 5; i++) objects[i] = kolk_shared_alloc(&one);
    kolk_shared_free(&other, objects[1]);
    kolk_shared_stats(&pool, &stats);
    const kolk_stats expected = {.name = "jobs",
                                 .kind = "shared",
                                 .object_size = 9,
                                 .stride = 16,
                                 .count = 4,
                                 .peak = 8, /* two words of 4 slots were fetched */
                                 .capacity = 10,
                                 .max_capacity = 10,
                                 .unused_bytes = UINT64_C(2) * 16,
                                 .bytes_reserved = pool.inside->store.block_size,
                                 .bytes_committed = pool.inside->store.block_size};
    assert_string_equal(stats.name, expected.name);
    assert_string_equal(stats.kind, expected.kind);
    stats.name = expected.name;
    stats.kind = expected.kind;
    assert_memory_equal(&stats, &expected, offsetof(kolk_stats, debug) + sizeof stats.debug);
    for (int i = 0; i < 9; i++) assert_non_null(kolk_shared_alloc(&one));
    assert_null(kolk_shared_alloc(&one));
    assert_non_null(kolk_shared_alloc(&other));
    assert_null(kolk_shared_alloc(&other));
    kolk_shared_local_deinit(&other); /* its failures remain in the statistics */
    kolk_shared_stats(&pool, &stats);
    assert_true(stats.count == 14 && stats.peak == 14 && stats.failed == 2 && stats.unused_bytes == 0);
    end_shared(&pool);
}

typedef struct point {
    double x, y, z;
} point;

KOLK_SHARED_TYPE(points, point)

/* promise: typed.h "which work as in shared.h ... and `messages_local.local`" */
static void test_the_typed_pool(void **state) {
    points all;
    points_local local;
    kolk_stats stats;
    assert_int_equal(points_init(&all, &(kolk_shared_desc){.object_size = 4, .capacity = 1}), KOLK_TYPE_MISMATCH);
    assert_int_equal(points_init(&all, &(kolk_shared_desc){.name = "points", .capacity = 10, .max_threads = 1}),
                     KOLK_OK);
    assert_int_equal(points_local_init(&local, &all), KOLK_OK);
    point *a = points_alloc(&local), *b = points_alloc(&local);
    *a = (point){1, 2, 3};
    points_handle of_a = points_handle_of(&all, a);
    assert_ptr_equal(points_get(&all, of_a), a);
    points_cursor cursor = points_each(&all);
    assert_true(points_is_live(&all, b) && points_each_next(&cursor) == a && points_each_next(&cursor) == b);
    points_free(&local, b);
    assert_false(points_is_live(&all, b));
    points_local_flush(&local);
    assert_int_equal(points_count(&all), 1);
    points_free(&local, a);
    assert_null(points_get(&all, of_a));
    points_stats(&all, &stats);
    assert_true(stats.object_size == sizeof(point) && stats.stride == sizeof(point) && stats.count == 0);
    for (int i = 0; i < 10; i++) assert_non_null(points_alloc(&local));
    assert_null(points_alloc(&local));
    assert_null(points_alloc_wait(&local, kolk_deadline_after(1)));
    assert_null(points_local_of_thread(&all)); /* this thread already has one */
    points_free_later(&local, a);
    points_offline(&local);
    points_online(&local);
    for (int i = 0; i < 3; i++) points_quiesce(&local);
    assert_ptr_equal(points_alloc_wait(&local, KOLK_FOREVER), a);
    points_shutdown(&all);
    assert_null(points_alloc_wait(&local, KOLK_FOREVER));
    points_reopen(&all);
    points_clear(&all);
    point *many[11];
    assert_int_equal(points_alloc_n(&local, many, 11), 10);
    points_free_n(&local, many, 9);
    a = many[9];
    assert_int_equal(points_count(&all), 1);
    points_local_deinit(&local);
    points_local *own = points_local_of_thread(&all);
    assert_non_null(own);
    points_free(own, a);
    assert_true(points_is_valid(&all));
    points_deinit(&all);
}

static int plain_again(void **state) {
    refuse(0, false);
    return plain_environment(state);
}

#define PLAIN_TEST(name) cmocka_unit_test_setup_teardown(name, plain_environment, plain_again)

int main(void) {
    const struct CMUnitTest tests[] = {
        PLAIN_TEST(test_growth_in_place),
        PLAIN_TEST(test_bytes),
        PLAIN_TEST(test_statistics),
        PLAIN_TEST(test_the_typed_pool),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
