/* runs: not:wine wraps: help/watched_malloc.h */
/* KOLK_BYPASS=1: each object is a malloc block, which lasts as long as the object, or as long as the pool if contents
 * survive between lives. Everything else works as without bypass. */
#include "../help/watched_malloc.h"

static void make_bypassed(kolk_pool *pool, kolk_pool_desc desc) {
    if (!desc.name) desc.name = "blocks";
    if (!desc.object_size) desc.object_size = 24;
    make_pool(pool, &desc);
    assert_true(debug_flags(pool) & KOLK_DEBUG_BYPASS);
    assert_int_equal(heap.count, 0);
}

static void end_bypassed(kolk_pool *pool) {
    end_pool(pool);
    assert_int_equal(heap.count, 0);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* promise: base.h "each object is a malloc ... places are in use" */
static void test_each_object_is_a_block_of_its_size(void **state) {
    (void)state;
    for (size_t align = 1; align <= 4096; align *= 2) {
        for (size_t size = 1; size < 200; size += 33) {
            kolk_pool pool;
            void *objects[4];
            make_bypassed(
                &pool,
                (kolk_pool_desc){.object_size = size, .object_align = align, .capacity = 4, .reuse = orders[size % 3]});
            for (uint32_t i = 0; i < 4; i++) {
                objects[i] = taken_from(&pool);
                assert_int_equal(heap.count, i + 1);
                const block *own = block_of(objects[i]);
                assert_non_null(own);
                assert_int_equal(own->size, size);
                assert_true(align <= _Alignof(max_align_t) || own->align == align);
                assert_int_equal((uintptr_t)objects[i] % align, 0);
                memset(objects[i], 1, size);
            }
            assert_null(kolk_pool_alloc(&pool));
            give_back(&pool, objects[2]);
            assert_int_equal(heap.count, 3);
            assert_null(block_of(objects[2])); /* its block was freed immediately */
            assert_non_null(block_of(taken_from(&pool)));
            kolk_pool_clear(&pool);
            assert_int_equal(heap.count, 0);
            taken_from(&pool);
            end_bypassed(&pool); /* deinit frees the live objects */
        }
    }
}

static void test_the_callers_memory(void **state) {
    (void)state;
    _Alignas(16) static unsigned char memory[KOLK_POOL_BYTES(24, 8, 5)];
    kolk_pool pool;
    memset(memory, 0xee, sizeof memory);
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 5, .memory = memory, .memory_size = sizeof memory});
    for (uint32_t i = 0; i < 5; i++) assert_non_null(block_of(taken_from(&pool)));
    assert_true(all_bytes_are(memory, 5 * 24, 0xee)); /* the slots themselves are not touched */
    assert_false(kolk_pool_is_live(&pool, memory));
    end_bypassed(&pool);
}

/* ---- malloc that fails ------------------------------------------------------------------------------------------- */

static void test_malloc_fails(void **state) {
    (void)state;
    for (size_t n = 0; n < 2 * LENGTH_OF(orders); n++) {
        kolk_pool pool;
        kolk_stats stats;
        void *objects[4];
        make_bypassed(&pool, (kolk_pool_desc){.capacity = 4, .reuse = orders[n % 3], .object_align = n >= 3 ? 64 : 0});
        heap.calls = 0;
        heap.refused_from = 3;
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 4), 2);
        assert_true(kolk_pool_is_valid(&pool));
        assert_null(kolk_pool_alloc(&pool));
        assert_null(kolk_pool_alloc_zeroed(&pool));
        kolk_handle handle = {UINT64_C(8) << 32 | (3 ^ pool.tag)};
        assert_null(kolk_pool_alloc_at(&pool, handle));
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.count, 2);
        assert_int_equal(stats.failed, 4);
        assert_null(kolk_pool_get(&pool, handle));
        assert_null(kolk_pool_renew(&pool, objects[0])); /* the old object is freed all the same */
        assert_int_equal(kolk_pool_count(&pool), 1);
        assert_null(kolk_pool_alloc(&pool)); /* a slot that once had a block */
        assert_int_equal(heap.count, 1);
        assert_true(kolk_pool_is_valid(&pool));
        heap.refused_from = 0;
        for (int i = 0; i < 3; i++) taken_from(&pool);
        assert_null(kolk_pool_alloc(&pool));
        assert_int_equal(heap.count, 4);
        end_bypassed(&pool);
    }
}

/* A failed restore frees the blocks that it has allocated, even in a pool whose slots keep their blocks, and changes
 * nothing else. promise: "The whole block ... more capacity" */
static void test_malloc_fails_in_a_restore(void **state) {
    (void)state;
    for (uint32_t n = 0; n < 2 * 6; n++) {
        kolk_pool pool;
        unsigned char six[1000], one[1000], now[1000];
        uint32_t refused = 1 + n / 2;
        kolk_pool_desc desc = {.capacity = 8, .life.keep = n % 2};
        make_bypassed(&pool, desc);
        for (int i = 0; i < 7; i++) memset(taken_from(&pool), i, 24);
        kolk_pool_free(&pool, kolk_pool_at(&pool, 2));
        size_t size = kolk_pool_snapshot(&pool, six, sizeof six);
        assert_true(size > 0);
        end_bypassed(&pool);
        make_bypassed(&pool, desc);
        memset(taken_from(&pool), 0x11, 24);
        size_t size_of_one = kolk_pool_snapshot(&pool, one, sizeof one);
        heap.calls = 0;
        heap.refused_from = refused; /* five blocks are needed */
        assert_int_equal(kolk_pool_restore(&pool, six, size), refused <= 5 ? KOLK_NO_MEMORY : KOLK_OK);
        heap.refused_from = 0;
        assert_true(kolk_pool_is_valid(&pool));
        assert_int_equal(heap.count, refused <= 5 ? 1 : 6);
        assert_int_equal(kolk_pool_snapshot(&pool, now, sizeof now), refused <= 5 ? size_of_one : size);
        assert_memory_equal(now, refused <= 5 ? one : six, refused <= 5 ? size_of_one : size);
        end_bypassed(&pool);
    }
}

/* ---- Many objects ------------------------------------------------------------------------------------------------ */

#define MANY 3000u

typedef struct mine {
    unsigned char *object;
    kolk_handle handle;
    unsigned char stamp;
} mine;

static mine all[MANY];
static uint32_t alive;

static void check_all(kolk_pool *pool) {
    uint32_t count = 0;
    assert_true(kolk_pool_is_valid(pool));
    assert_int_equal(kolk_pool_count(pool), alive);
    assert_int_equal(heap.count, alive);
    for (uint32_t i = 0; i < alive; i++) {
        assert_true(kolk_pool_is_live(pool, all[i].object));
        assert_ptr_equal(kolk_pool_get(pool, all[i].handle), all[i].object);
        assert_ptr_equal(kolk_pool_at(pool, kolk_pool_index(pool, all[i].object)), all[i].object);
        assert_true(all_bytes_are(all[i].object, 24, all[i].stamp));
    }
    uint32_t last = 0;
    kolk_cursor cursor = kolk_pool_each(pool);
    for (void *each; (each = kolk_cursor_next(&cursor)); count++) {
        uint32_t slot = kolk_pool_index(pool, each);
        assert_true(count == 0 || slot > last);
        last = slot;
    }
    assert_int_equal(count, alive);
}

static void test_churn(void **state) {
    (void)state;
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 20261121), random = seed;
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        make_bypassed(&pool, (kolk_pool_desc){.max_capacity = MANY, .reuse = orders[n]});
        alive = 0;
        for (unsigned step = 0; step < (does_a_part() ? 20000 : 60000); step++) {
            bool grows = random_below(&random, 100) < (step / 4000 % 2 ? 35u : 65u); /* fills up, then empties again */
            if (grows && alive < MANY) {
                mine *now = &all[alive++];
                now->object = (unsigned char *)kolk_pool_alloc(&pool);
                assert_non_null(now->object);
                now->handle = kolk_pool_handle_of(&pool, now->object);
                now->stamp = (unsigned char)step;
                memset(now->object, now->stamp, 24);
            } else if (alive) {
                mine *gone = &all[random_below(&random, alive)];
                assert_true(all_bytes_are(gone->object, 24, gone->stamp));
                if (step % 2)
                    kolk_pool_free(&pool, gone->object);
                else
                    assert_true(kolk_pool_free_handle(&pool, gone->handle));
                assert_null(kolk_pool_get(&pool, gone->handle));
                *gone = all[--alive];
            }
            if (step % 2500 == 0) check_all(&pool);
            if (step == 30000) {
                kolk_pool_clear(&pool);
                alive = 0;
                check_all(&pool);
            }
        }
        check_all(&pool);
        end_bypassed(&pool);
    }
}

/* ---- Walks ------------------------------------------------------------------------------------------------------- */

enum { WALKERS = 6, SLOTS = 40 };

/* Each walk must visit the objects that are alive during all of it, in ascending order of slots. */
typedef struct walker {
    bool on, due[SLOTS];
    kolk_cursor cursor;
    uint32_t from; /* the slot after that of its current object */
} walker;

static walker walkers[WALKERS];

static void free_slot(kolk_pool *pool, uint32_t slot) {
    for (unsigned n = 0; n < WALKERS; n++) walkers[n].due[slot] = false;
    kolk_pool_free(pool, kolk_pool_at(pool, slot));
}

static void go_on(const kolk_pool *pool, walker *one) {
    void *next = kolk_cursor_next(&one->cursor);
    uint32_t slot = next ? kolk_pool_index(pool, next) : SLOTS;
    assert_true(slot >= one->from && slot <= SLOTS);
    for (uint32_t i = one->from; i < slot; i++) assert_false(one->due[i]);
    one->on = next != NULL;
    one->from = slot + 1;
}

static void start(const kolk_pool *pool, walker *one) {
    *one = (walker){.on = true, .cursor = kolk_pool_each(pool)};
    for (uint32_t i = 0; i < SLOTS; i++) one->due[i] = kolk_pool_at(pool, i) != NULL;
    go_on(pool, one);
}

/* Runs several walks at the same time and abandons some. (In other modes: test_pool_iteration.c.) */
static void walk_about(kolk_pool *pool, uint64_t *random) {
    memset(walkers, 0, sizeof walkers);
    for (unsigned step = 0; step < (does_a_part() ? 2000 : 10000); step++) {
        walker *one = &walkers[random_below(random, WALKERS)];
        uint32_t choice = random_below(random, 100), slot = random_below(random, SLOTS);
        if (choice < 30)
            kolk_pool_alloc(pool);
        else if (choice < 45 && kolk_pool_at(pool, slot))
            free_slot(pool, slot);
        else if (choice < 60 && one->on && kolk_pool_at(pool, one->from - 1)) /* its current object */
            free_slot(pool, one->from - 1);
        else if (choice < 61)
            one->on = false;
        else if (one->on)
            go_on(pool, one);
        else
            start(pool, one);
    }
}

/* promise: "Any object ... not be visited" */
static void test_walks_at_a_time(void **state) {
    (void)state;
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 20261205), random = seed;
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    for (int how = AS_EVER; how <= NEVER; how++) {
        for (size_t n = 0; n < LENGTH_OF(orders); n++) {
            kolk_pool pool;
            use_places((places)how);
            make_bypassed(&pool, (kolk_pool_desc){.capacity = SLOTS, .reuse = orders[n]});
            walk_about(&pool, &random);
            end_bypassed(&pool);
        }
    }
}

/* malloc is called once per object, whatever addresses it returns, and walks do not call it. */
static void test_no_more_calls_than_objects(void **state) {
    (void)state;
    kolk_pool pool;
    use_places(AT_ONCE);
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 20, .reuse = KOLK_REUSE_FIFO});
    heap.calls = 0;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 10; i++) taken_from(&pool);
        kolk_cursor cursor = kolk_pool_each(&pool);
        for (void *each; (each = kolk_cursor_next(&cursor));) kolk_pool_free(&pool, each);
    }
    assert_int_equal(heap.calls, 50);
    end_bypassed(&pool);
}

#define BYPASS_TEST(name) cmocka_unit_test_setup_teardown(name, bypass, end_bypass)

int main(void) {
    const struct CMUnitTest tests[] = {
        BYPASS_TEST(test_each_object_is_a_block_of_its_size),
        BYPASS_TEST(test_the_callers_memory),
        BYPASS_TEST(test_malloc_fails),
        BYPASS_TEST(test_malloc_fails_in_a_restore),
        BYPASS_TEST(test_churn),
        BYPASS_TEST(test_walks_at_a_time),
        BYPASS_TEST(test_no_more_calls_than_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
