/* kolk_set_profiler: the profiler gets every alloc and free, in order, but only of pools initialised while it is
 * set. */
#include "../help/debug_test.h"

typedef struct event {
    char kind; /* a: alloc, f: free */
    const char *pool;
    const void *object;
    size_t size;
} event;

typedef struct log {
    event events[600];
    unsigned count, read;
} log_of_events;

static void log_event(log_of_events *log, event now) {
    assert_true(log->count < LENGTH_OF(log->events));
    log->events[log->count++] = now;
}

static void on_alloc(const char *pool, const void *object, size_t size, void *context) {
    log_event((log_of_events *)context, (event){'a', pool, object, size});
}

static void on_free(const char *pool, const void *object, void *context) {
    log_event((log_of_events *)context, (event){'f', pool, object, 0});
}

#define assert_next(log, kind_, pool_, object_, size_)                                                                 \
    do {                                                                                                               \
        if ((log)->read == (log)->count) fail_msg("there is no further event");                                        \
        const event *now_ = &(log)->events[(log)->read++];                                                             \
        assert_int_equal(now_->kind, kind_);                                                                           \
        assert_string_equal(now_->pool, pool_);                                                                        \
        assert_ptr_equal(now_->object, object_);                                                                       \
        assert_int_equal(now_->size, size_);                                                                           \
    } while (0)
#define assert_quiet(log) assert_int_equal((log)->read, (log)->count)

static log_of_events seen;

static void start(void) {
    memset(&seen, 0, sizeof seen);
    kolk_set_profiler(&(kolk_profiler){on_alloc, on_free, &seen});
}

struct thing {
    char bytes[20];
};
KOLK_POOL_TYPE(things, struct thing)

/* promise: base.h "alloc and free do not use the fast path", "Pools that are initialised ... struct is copied",
 * "kolk_set_profiler" */
static void test_events_in_order(void **state) {
    for (int bypassed = 0; bypassed < 2; bypassed++) {
        start();
        setenv("KOLK_BYPASS", bypassed ? "1" : "0", 1);
        things pool;
        assert_int_equal(things_init(&pool, &(kolk_pool_desc){.name = "things", .capacity = 10}), KOLK_OK);
        assert_quiet(&seen);
        assert_true(debug_flags(&pool.pool) & KOLK_DEBUG_TRACE);
        struct thing *a = things_alloc(&pool);
        assert_next(&seen, 'a', "things", a, 20);
        struct thing *b = things_alloc_zeroed(&pool);
        assert_next(&seen, 'a', "things", b, 20);
        struct thing *old = a;
        a = things_renew(&pool, a);
        assert_next(&seen, 'f', "things", old, 0);
        assert_next(&seen, 'a', "things", a, 20);
        things_free(&pool, a);
        assert_next(&seen, 'f', "things", a, 0);
        struct thing *some[3];
        assert_int_equal(things_alloc_n(&pool, some, 3), 3);
        for (int i = 0; i < 3; i++) assert_next(&seen, 'a', "things", some[i], 20);
        things_handle handle = things_handle_of(&pool, some[1]);
        assert_true(things_free_handle(&pool, handle));
        assert_next(&seen, 'f', "things", some[1], 0);
        assert_false(things_free_handle(&pool, handle));
        struct thing *at = things_alloc_at(&pool, handle);
        assert_next(&seen, 'a', "things", at, 20);
        things_free(&pool, NULL);
        assert_ptr_equal(things_get(&pool, handle), at);
        assert_int_equal(things_count(&pool), 4);
        assert_quiet(&seen);
        const void *alive[4];
        for (uint32_t i = 0, n = 0; n < 4; i++)
            if (things_at(&pool, i)) alive[n++] = things_at(&pool, i);
        things_clear(&pool);
        for (int i = 0; i < 4; i++) assert_next(&seen, 'f', "things", alive[i], 0);
        assert_true(things_is_valid(&pool));
        end_pool(&pool.pool);
        assert_quiet(&seen);
    }
}

static bool set_up(void *object, void *context) {
    return *(bool *)context;
}

static void test_a_setup_that_fails_is_no_event(void **state) {
    for (int bypassed = 0; bypassed < 2; bypassed++) {
        kolk_pool pool;
        bool works = false;
        start();
        setenv("KOLK_BYPASS", bypassed ? "1" : "0", 1);
        make_pool(&pool,
                  &(kolk_pool_desc){
                      .name = "fails", .object_size = 8, .capacity = 2, .life.setup = set_up, .context = &works});
        assert_null(kolk_pool_alloc(&pool));
        assert_null(kolk_pool_alloc_at(&pool, kolk_handle_unpack(UINT64_C(1) << 32 | (1 ^ pool.tag))));
        assert_quiet(&seen);
        works = true;
        void *object = taken_from(&pool);
        assert_next(&seen, 'a', "fails", object, 8);
        assert_quiet(&seen);
        end_pool(&pool);
        assert_next(&seen, 'f', "fails", object, 0);
    }
}

static void test_only_pools_that_are_initialised_while_it_is_set(void **state) {
    kolk_pool before, during, after;
    make_pool(&before, &(kolk_pool_desc){.name = "before", .object_size = 8, .capacity = 3});
    start();
    make_pool(&during, &(kolk_pool_desc){.name = "during", .object_size = 8, .capacity = 3});
    kolk_set_profiler(NULL);
    make_pool(&after, &(kolk_pool_desc){.name = "after", .object_size = 8, .capacity = 3});
    assert_int_equal(debug_flags(&before), 0);
    assert_int_equal(debug_flags(&during), KOLK_DEBUG_TRACE);
    assert_int_equal(debug_flags(&after), 0);
    taken_from(&before);
    taken_from(&after);
    assert_quiet(&seen);
    void *object = taken_from(&during); /* still reported to the first profiler */
    assert_next(&seen, 'a', "during", object, 8);
    give_back(&during, object);
    assert_next(&seen, 'f', "during", object, 0);
    end_pool(&before);
    end_pool(&during);
    end_pool(&after);
    assert_quiet(&seen);
}

static void test_it_is_copied(void **state) {
    static log_of_events other;
    memset(&other, 0, sizeof other);
    memset(&seen, 0, sizeof seen);
    kolk_pool first, second;
    kolk_profiler profiler = {on_alloc, on_free, &seen};
    kolk_set_profiler(&profiler);
    profiler.context = NULL; /* the caller's struct was copied */
    make_pool(&first, &(kolk_pool_desc){.name = "first", .object_size = 8, .capacity = 3});
    kolk_set_profiler(&(kolk_profiler){on_alloc, on_free, &other});
    make_pool(&second, &(kolk_pool_desc){.object_size = 9, .capacity = 3});
    void *object = taken_from(&first), *another = taken_from(&second);
    assert_next(&seen, 'a', "first", object, 8);
    assert_quiet(&seen);
    assert_next(&other, 'a', "", another, 9);
    assert_quiet(&other);
    end_pool(&first);
    end_pool(&second);
}

static void test_either_function_may_be_missing(void **state) {
    kolk_pool pool;
    memset(&seen, 0, sizeof seen);
    kolk_set_profiler(&(kolk_profiler){.alloc = on_alloc, .context = &seen});
    make_pool(&pool, &(kolk_pool_desc){.name = "half", .object_size = 8, .capacity = 3});
    void *object = taken_from(&pool);
    give_back(&pool, object);
    end_pool(&pool);
    assert_next(&seen, 'a', "half", object, 8);
    assert_quiet(&seen);
    kolk_set_profiler(&(kolk_profiler){.free = on_free, .context = &seen});
    make_pool(&pool, &(kolk_pool_desc){.name = "half", .object_size = 8, .capacity = 3});
    object = taken_from(&pool);
    assert_quiet(&seen);
    give_back(&pool, object);
    assert_next(&seen, 'f', "half", object, 0);
    end_pool(&pool);
    kolk_set_profiler(&(kolk_profiler){.context = &seen}); /* both functions are NULL: no profiler */
    make_pool(&pool, &(kolk_pool_desc){.name = "none", .object_size = 8, .capacity = 3});
    assert_int_equal(debug_flags(&pool), 0);
    taken_from(&pool);
    end_pool(&pool);
    assert_quiet(&seen);
}

static double cost(const void *object, void *context) {
    return *(const unsigned char *)object;
}

static void test_evictions_and_other_settings(void **state) {
    kolk_pool pool;
    start();
    make_pool(&pool, &(kolk_pool_desc){.name = "evicts",
                                       .object_size = 5,
                                       .capacity = 2,
                                       .full.on_full = kolk_pool_evict_cheapest,
                                       .full.cost = cost,
                                       .debug = "all"});
    unsigned char *objects[2];
    for (int i = 0; i < 2; i++) {
        objects[i] = taken_from(&pool);
        assert_next(&seen, 'a', "evicts", objects[i], 5);
        objects[i][0] = (unsigned char)(9 - i);
    }
    assert_ptr_equal(taken_from(&pool), objects[1]);
    assert_next(&seen, 'f', "evicts", objects[1], 0);
    assert_next(&seen, 'a', "evicts", objects[1], 5);
    assert_quiet(&seen);
    kolk_pool_clear(&pool);
    end_pool(&pool);
}

/* There are as many frees as allocs, and each object's allocs and frees alternate. */
static void test_events_balance(void **state) {
    static const char *const settings[] = {"trace", "fill,guard", "quarantine=5", "all"};
    for (size_t n = 0; n < LENGTH_OF(settings) * 3; n++) {
        kolk_pool pool;
        uint64_t random = n;
        start();
        make_pool(&pool, &(kolk_pool_desc){
                             .object_size = 8, .capacity = 20, .reuse = orders[n % 3], .debug = settings[n / 3]});
        bool live[20] = {false};
        for (int step = 0; step < 250; step++) {
            void *object = kolk_pool_at(&pool, random_below(&random, 20));
            if (object)
                give_back(&pool, object);
            else if (kolk_pool_available(&pool))
                taken_from(&pool);
        }
        kolk_pool_clear(&pool);
        for (; seen.read < seen.count; seen.read++) {
            const event *now = &seen.events[seen.read];
            size_t slot = (size_t)((const unsigned char *)now->object - pool.slots) / pool.stride;
            assert_true(slot < 20 && live[slot] == (now->kind == 'f'));
            live[slot] = now->kind == 'a';
        }
        for (int i = 0; i < 20; i++) assert_false(live[i]);
        assert_true(seen.count >= 200);
        end_pool(&pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_events_in_order),
        DEBUG_TEST(test_a_setup_that_fails_is_no_event),
        DEBUG_TEST(test_only_pools_that_are_initialised_while_it_is_set),
        DEBUG_TEST(test_it_is_copied),
        DEBUG_TEST(test_either_function_may_be_missing),
        DEBUG_TEST(test_evictions_and_other_settings),
        DEBUG_TEST(test_events_balance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
