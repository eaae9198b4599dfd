/* kolk_shared_clear in situations that the model test does not reach: full pools, lives that wrap, threads that have
 * ended, hooks and the debug mode. */
#include "../help/debug_test.h"

#include "../help/threads.h"
#include "shared_test.h"

enum { SIZE = 24, MOST = 500 };

static kolk_shared pool;
static kolk_shared_local local;
static void *objects[MOST];

static void begin(kolk_shared_desc desc) {
    make_shared(&pool, &desc);
    make_local(&local, &pool);
}

#define KINDS 16u

static kolk_shared_desc some_desc(unsigned kind) {
    static const uint32_t caches[] = {KOLK_NO_CACHE, 3, 64, 100};
    return (kolk_shared_desc){.name = "jobs",
                              .object_size = SIZE,
                              .capacity = kind % 2 ? MOST : 0,
                              .max_capacity = MOST,
                              .max_threads = 3,
                              .cache = caches[kind % 4],
                              .generations = kind / 4 % 2 ? KOLK_GENERATIONS_NONE : 0,
                              .exact = kind / 8 % 2};
}

/* All of the capacity is there, once. */
static void assert_all_are_free(kolk_shared_local *by) {
    static bool seen[MOST + 200];
    memset(seen, 0, sizeof seen);
    assert_int_equal(kolk_shared_count(&pool), 0);
    assert_true(kolk_shared_is_valid(&pool));
    for (uint32_t i = 0; i < MOST; i++) {
        assert_non_null(objects[i] = kolk_shared_alloc(by));
        assert_false(seen[slot_of(&pool, objects[i])]);
        seen[slot_of(&pool, objects[i])] = true;
    }
    assert_true(kolk_shared_is_valid(&pool));
}

/* A pool that was full is uncached. After a clear, all slots are in the depot, and magazines keep slots again. */
static void test_a_full_pool_is_cached_again(void **state) {
    begin(some_desc(3));
    while (kolk_shared_alloc(&local)) {}
    assert_true(kolk_depot_is_uncached_(&pool.inside->store.depot));
    kolk_shared_clear(&pool);
    assert_false(kolk_depot_is_uncached_(&pool.inside->store.depot));
    void *object = kolk_shared_alloc(&local);
    uint32_t top = local.magazine->top;
    kolk_shared_free(&local, object);
    assert_int_equal(local.magazine->top, top + 1);
    end_shared(&pool);
}

/* Lives of one byte skip 0, and those of four begin anew. promise: "Frees all objects ... too, or may stay" */
static void test_lives_wrap(void **state) {
    for (unsigned kind = 1; kind <= 5; kind += 4) {
        begin(some_desc(kind));
        for (unsigned n = 0; n < 300; n++) {
            for (unsigned i = 0; i < 20; i++) assert_non_null(objects[i] = kolk_shared_alloc(&local));
            if (n == 200 && pool.lives) pool.lives[slot_of(&pool, objects[7])] = UINT32_MAX;
            kolk_shared_clear(&pool);
            for (unsigned i = 0; i < 20; i++) assert_false(kolk_shared_is_live(&pool, objects[i]));
            assert_int_equal(kolk_shared_count(&pool), 0);
            assert_true(kolk_shared_is_valid(&pool));
        }
        end_shared(&pool);
    }
}

/* The clear also finds the slots of threads that have ended, or have died in a fork while they put slots back. */
static void *fill_magazine(void *unused) {
    kolk_shared_local own;
    make_local(&own, &pool);
    void *object = kolk_shared_alloc(&own);
    assert_true(own.magazine->top > 1);
    own.magazine->leaving = 1;
    return object;
}

static void test_threads_that_have_ended(void **state) {
    for (unsigned kind = 2; kind < KINDS; kind += 4) {
        kolk_shared_desc desc = some_desc(kind);
        make_shared(&pool, &desc);
        run_thread(fill_magazine, NULL);
        kolk_shared_clear(&pool);
        assert_true(kolk_shared_is_valid(&pool));
        make_local(&local, &pool);
        assert_all_are_free(&local);
        end_shared(&pool);
    }
}

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

static struct calls {
    unsigned setups, resets, teardowns;
    bool fails;               /* setup */
    kolk_shared_local *local; /* for reset to allocate with; NULL: it does not */
} calls;

static bool set_up(void *object, void *context) {
    calls.setups += !calls.fails;
    return !calls.fails;
}

static void reset(void *object, void *context) {
    calls.resets++;
    if (calls.local && calls.resets == 3) assert_non_null(kolk_shared_alloc(calls.local));
}

static void tear_down(void *object, void *context) {
    calls.teardowns++;
}

static void test_hooks(void **state) {
    for (unsigned n = 0; n < 8; n++) {
        bool makes = n & 1, resets = n & 2;
        kolk_shared_desc desc = some_desc(3);
        if (n & 4) desc.cache = KOLK_NO_CACHE;
        desc.life.setup = makes ? set_up : NULL;
        desc.life.teardown = makes ? tear_down : NULL;
        desc.life.reset = resets ? reset : NULL;
        memset(&calls, 0, sizeof calls);
        begin(desc);
        for (unsigned i = 0; i < 40; i++) assert_non_null(objects[i] = kolk_shared_alloc(&local));
        calls.fails = true;
        if (makes) assert_null(kolk_shared_alloc(&local)); /* this slot stays as it is */
        calls.fails = false;
        for (unsigned i = 0; i < 6; i++) kolk_shared_free(&local, objects[i]);
        for (unsigned i = 6; i < 10; i++) kolk_shared_free_later(&local, objects[i]);
        assert_int_equal(calls.resets, resets ? 6 : 0);
        kolk_shared_clear(&pool);
        assert_int_equal(calls.resets, resets ? 40 : 0);
        assert_int_equal(kolk_shared_count(&pool), 0);
        assert_true(kolk_shared_is_valid(&pool));
        kolk_shared_clear(&pool);
        assert_int_equal(calls.resets, resets ? 40 : 0);
        assert_int_equal(calls.teardowns, 0);
        assert_all_are_free(&local);
        kolk_shared_clear(&pool);
        unsigned ready = calls.setups;
        end_shared(&pool);
        if (makes) assert_int_equal(calls.teardowns, ready);
    }
}

static void test_a_reset_that_allocates(void **state) {
    kolk_shared_desc desc = some_desc(3);
    desc.life.reset = reset;
    memset(&calls, 0, sizeof calls);
    calls.local = &local;
    begin(desc);
    for (unsigned i = 0; i < 40; i++) assert_non_null(kolk_shared_alloc(&local));
    kolk_shared_clear(&pool);
    assert_true(kolk_shared_is_valid(&pool));
    assert_int_equal(kolk_shared_count(&pool) + calls.resets, 41);
    kolk_shared_clear(&pool);
    assert_int_equal(kolk_shared_count(&pool), 0);
    end_shared(&pool);
}

/* ---- The debug mode ---------------------------------------------------------------------------------------------- */

static void test_debug_modes(void **state) {
    for (size_t mode = 0; mode < DEBUG_MODES; mode++) {
        notes taken;
        kolk_shared_desc desc = some_desc(3);
        desc.debug = begin_debug_mode(mode);
        begin(desc);
        for (unsigned i = 0; i < 40; i++) {
            assert_non_null(objects[i] = kolk_shared_alloc(&local));
            memset(objects[i], 0x55, SIZE);
        }
        for (unsigned i = 6; i < 10; i++) kolk_shared_free_later(&local, objects[i]);
        kolk_stats stats;
        kolk_shared_stats(&pool, &stats);
        bool guards = stats.debug & KOLK_DEBUG_GUARD;
        if (guards) ((unsigned char *)objects[20])[SIZE] ^= 1;
        begin_notes(&taken);
        kolk_shared_clear(&pool);
        assert_int_equal(taken.count, guards);
        if (guards) assert_int_equal(taken.last.rule, KOLK_OVERFLOW);
        if (guards) assert_non_null(taken.last.site);
        assert_int_equal(kolk_shared_count(&pool), 0);
        assert_true(kolk_shared_is_valid(&pool));
        for (unsigned i = 0; i < 40 && (stats.debug & KOLK_DEBUG_FILL); i++)
            assert_true(has_dead_fill(objects[i], SIZE));
        for (unsigned i = 0; i < MOST; i++) assert_non_null(kolk_shared_alloc(&local));
        kolk_shared_clear(&pool);
        end_shared(&pool);
        assert_int_equal(taken.count, guards);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_a_full_pool_is_cached_again), DEBUG_TEST(test_lives_wrap),
        DEBUG_TEST(test_threads_that_have_ended),     DEBUG_TEST(test_hooks),
        DEBUG_TEST(test_a_reset_that_allocates),      DEBUG_TEST(test_debug_modes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
