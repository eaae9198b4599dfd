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

static void test_all_ways_to_and_from_a_block(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        void *objects[5];
        make_bypassed(&pool, (kolk_pool_desc){.capacity = 8, .reuse = orders[n]});
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 5), 5);
        assert_int_equal(heap.count, 5);
        for (int i = 0; i < 5; i++) {
            assert_non_null(block_of(objects[i]));
            assert_int_equal(kolk_pool_index(&pool, objects[i]), i);
            assert_ptr_equal(kolk_pool_at(&pool, (uint32_t)i), objects[i]);
        }
        unsigned char *zeroed = (unsigned char *)kolk_pool_alloc_zeroed(&pool);
        assert_true(all_bytes_are(zeroed, 24, 0) && block_of(zeroed));
        kolk_handle handle = kolk_pool_handle_of(&pool, objects[3]);
        assert_ptr_equal(kolk_pool_get(&pool, handle), objects[3]);
        assert_true(kolk_pool_free_handle(&pool, handle));
        assert_false(kolk_pool_free_handle(&pool, handle));
        assert_null(kolk_pool_get(&pool, handle));
        assert_int_equal(heap.count, 5);
        objects[3] = kolk_pool_alloc_at(&pool, handle);
        assert_true(block_of(objects[3]) && kolk_pool_get(&pool, handle) == objects[3]);
        assert_int_equal(heap.count, 6);
        assert_null(kolk_pool_alloc_at(&pool, handle));
        kolk_handle beyond = {UINT64_C(4) << 32 | (7 ^ pool.tag)};
        void *at = kolk_pool_alloc_at(&pool, beyond);
        assert_true(at && block_of(at) && kolk_pool_at(&pool, 7) == at);
        assert_int_equal(heap.count, 7);
        assert_int_equal(kolk_pool_count(&pool), 7);
        assert_null(kolk_pool_at(&pool, 6));
        assert_int_equal(kolk_pool_index(&pool, taken_from(&pool)), 6); /* alloc_at skipped it, so it had no block */
        assert_int_equal(heap.count, 8);
        assert_null(kolk_pool_alloc(&pool));
        kolk_pool_trim(&pool);
        assert_true(kolk_pool_is_valid(&pool));
        for (int i = 0; i < 5; i++) assert_true(kolk_pool_is_live(&pool, objects[i]));
        end_bypassed(&pool);
    }
}

static void test_the_callers_memory_and_growth(void **state) {
    (void)state;
    _Alignas(16) static unsigned char memory[KOLK_POOL_BYTES(24, 8, 5)];
    kolk_pool pool;
    memset(memory, 0xee, sizeof memory);
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 5, .memory = memory, .memory_size = sizeof memory});
    for (uint32_t i = 0; i < 5; i++) assert_non_null(block_of(taken_from(&pool)));
    assert_true(all_bytes_are(memory, 5 * 24, 0xee)); /* the slots themselves are not touched */
    assert_false(kolk_pool_is_live(&pool, memory));
    end_bypassed(&pool);

    make_bypassed(&pool, (kolk_pool_desc){.object_size = 5000, .max_capacity = 100});
    void *first = taken_from(&pool);
    for (uint32_t i = 1; i < 100; i++) assert_non_null(block_of(taken_from(&pool)));
    assert_null(kolk_pool_alloc(&pool));
    assert_int_equal(heap.count, 100);
    assert_ptr_equal(kolk_pool_at(&pool, 0), first);
    end_bypassed(&pool);
}

/* malloc may reuse a dead slot's block for another object. A pointer to it then means the new object. */
static void test_a_place_that_malloc_uses_again(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 1000, .reuse = KOLK_REUSE_FIFO});
    unsigned again = 0;
    unsigned char *last = NULL;
    for (uint32_t i = 0; i < 1000; i++) { /* each in a different slot, but mostly at the same address */
        unsigned char *object = taken_from(&pool);
        assert_int_equal(kolk_pool_index(&pool, object), i);
        assert_true(kolk_pool_is_live(&pool, object));
        assert_ptr_equal(kolk_pool_get(&pool, kolk_pool_handle_of(&pool, object)), object);
        again += object == last;
        kolk_pool_free(&pool, moved(object, 4));
        assert_int_equal(taken.count, 1);
        assert_int_equal(taken.last.slot, i);
        taken.count = 0;
        give_back(&pool, object);
        last = object;
    }
    if (again == 0) print_message("malloc has given no place twice\n");
    for (uint32_t i = 0; i < 1000; i++) { /* the same slots again */
        unsigned char *object = taken_from(&pool);
        assert_int_equal(kolk_pool_index(&pool, object), i);
        if (i % 2) give_back(&pool, object);
    }
    assert_silent(&taken);
    assert_int_equal(kolk_pool_count(&pool), 500);
    end_bypassed(&pool);
}

/* ---- Contents that survive between lives ------------------------------------------------------------------------- */

static void test_keep(void **state) {
    (void)state;
    kolk_pool pool;
    void *objects[3];
    notes taken;
    begin_notes(&taken);
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 3, .life.keep = true, .reuse = KOLK_REUSE_LOWEST});
    for (int i = 0; i < 3; i++) memset(objects[i] = taken_from(&pool), 'a' + i, 24);
    give_back(&pool, objects[1]);
    assert_int_equal(heap.count, 3); /* its block is kept for the slot's next life */
    kolk_pool_free(&pool, objects[1]);
    assert_noted(&taken, KOLK_DOUBLE_FREE, "blocks", objects[1], 1, "kolk: blocks: double free of slot 1");
    assert_ptr_equal(taken_from(&pool), objects[1]);
    kolk_pool_clear(&pool);
    kolk_pool_trim(&pool);
    assert_int_equal(heap.count, 3);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(taken_from(&pool), objects[i]);
        assert_true(all_bytes_are(objects[i], 24, (unsigned char)('a' + i)));
    }
    give_back(&pool, objects[0]);
    end_bypassed(&pool); /* including the dead object's block */
    assert_silent(&taken);
}

typedef struct hooks {
    unsigned set_up, reset, torn_down;
    bool fails;
} hooks;

static bool set_up(void *object, void *context) {
    hooks *h = (hooks *)context;
    if (h->fails) return false;
    memset(object, 0x66, 24);
    h->set_up++;
    return true;
}

static void reset(void *object, void *context) {
    assert_true(block_of(object) && all_bytes_are(object, 24, 0x66));
    ((hooks *)context)->reset++;
}

static void tear_down(void *object, void *context) {
    assert_true(block_of(object) && all_bytes_are(object, 24, 0x66));
    ((hooks *)context)->torn_down++;
}

static void test_setup_reset_and_teardown(void **state) {
    (void)state;
    kolk_pool pool;
    hooks h = {.fails = true};
    kolk_stats stats;
    make_bypassed(
        &pool,
        (kolk_pool_desc){
            .capacity = 3, .life.setup = set_up, .life.reset = reset, .life.teardown = tear_down, .context = &h});
    assert_null(kolk_pool_alloc(&pool));
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_stats(&pool, &stats);
    assert_int_equal(stats.failed, 1);
    h.fails = false;
    void *objects[3];
    for (int i = 0; i < 3; i++) objects[i] = taken_from(&pool);
    assert_int_equal(h.set_up, 3);
    give_back(&pool, objects[1]);
    assert_ptr_equal(taken_from(&pool), objects[1]);
    assert_int_equal(h.set_up, 3); /* once per slot */
    assert_int_equal(h.reset, 1);
    kolk_pool_clear(&pool);
    assert_int_equal(h.reset, 4);
    assert_int_equal(heap.count, 3);
    taken_from(&pool);
    end_bypassed(&pool);
    assert_int_equal(h.reset, 5);
    assert_int_equal(h.torn_down, 3);
}

static void reset_sees_the_block(void *object, void *context) {
    ++*(unsigned *)context;
    assert_non_null(block_of(object));
    assert_true(all_bytes_are(object, 24, 0x77));
}

static void test_reset_comes_before_the_block_is_freed(void **state) {
    (void)state;
    kolk_pool pool;
    unsigned resets = 0;
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 3, .life.reset = reset_sees_the_block, .context = &resets});
    for (int i = 0; i < 3; i++) memset(taken_from(&pool), 0x77, 24);
    give_back(&pool, kolk_pool_at(&pool, 1));
    assert_int_equal(heap.count, 2);
    kolk_pool_free(&pool, kolk_pool_at(&pool, 0));
    assert_int_equal(resets, 2);
    end_bypassed(&pool); /* deinit resets the live objects */
    assert_int_equal(resets, 3);
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

/* A failed restore frees the blocks that it has allocated, even in a pool whose slots keep their blocks. */
static void test_malloc_fails_in_a_restore(void **state) {
    (void)state;
    for (uint32_t refused = 1; refused <= 6; refused++) {
        kolk_pool pool;
        unsigned char bytes[1000];
        make_bypassed(&pool, (kolk_pool_desc){.capacity = 8, .life.keep = true});
        for (int i = 0; i < 7; i++) memset(taken_from(&pool), i, 24);
        kolk_pool_free(&pool, kolk_pool_at(&pool, 2));
        size_t size = kolk_pool_snapshot(&pool, bytes, sizeof bytes);
        assert_true(size > 0);
        end_bypassed(&pool);
        make_bypassed(&pool, (kolk_pool_desc){.capacity = 8, .life.keep = true});
        taken_from(&pool);
        heap.calls = 0;
        heap.refused_from = refused; /* five blocks are needed */
        assert_int_equal(kolk_pool_restore(&pool, bytes, size), refused <= 5 ? KOLK_NO_MEMORY : KOLK_OK);
        heap.refused_from = 0;
        assert_true(kolk_pool_is_valid(&pool));
        assert_int_equal(heap.count, refused <= 5 ? 1 : 6);
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

static void test_iteration(void **state) {
    (void)state;
    kolk_pool pool;
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 200});
    for (uint32_t i = 0; i < 200; i++) memcpy(taken_from(&pool), &i, sizeof i);
    for (uint32_t i = 0; i < 200; i++)
        if (i % 5 == 0 || (i >= 64 && i < 130)) kolk_pool_free(&pool, kolk_pool_at(&pool, i));
    uint32_t expected = 1, count = 0;
    kolk_cursor cursor = kolk_pool_each(&pool);
    for (void *each; (each = kolk_cursor_next(&cursor)); count++) {
        assert_ptr_equal(each, kolk_pool_at(&pool, expected));
        assert_memory_equal(each, &expected, sizeof expected);
        do expected++;
        while (expected % 5 == 0 || (expected >= 64 && expected < 130));
    }
    assert_int_equal(count, kolk_pool_count(&pool));
    uint32_t n; /* runs of one object each, within bounds */
    static const uint32_t runs[] = {61, 62, 63, 131, 132, 133, 134};
    cursor = kolk_pool_each_in(&pool, 60, 75);
    for (size_t i = 0; i < LENGTH_OF(runs); i++) {
        assert_ptr_equal(kolk_cursor_next_run(&cursor, &n), kolk_pool_at(&pool, runs[i]));
        assert_int_equal(n, 1);
    }
    assert_null(kolk_cursor_next_run(&cursor, &n));
    assert_int_equal(n, 0);
    cursor = kolk_pool_each(&pool); /* the walk frees all objects, the current one and others */
    for (void *each; (each = kolk_cursor_next(&cursor));) {
        kolk_cursor behind = cursor;
        kolk_pool_free(&pool, kolk_cursor_next(&behind));
        kolk_pool_free(&pool, each);
    }
    assert_int_equal(kolk_pool_count(&pool), 0);
    end_bypassed(&pool);
}

/* ---- Walks ------------------------------------------------------------------------------------------------------- */

/* The body of the walk frees the current object and allocates another. */
static void test_a_walk_that_frees_and_allocates(void **state) {
    (void)state;
    for (int how = AS_EVER; how <= NEVER; how++) {
        for (size_t n = 0; n < LENGTH_OF(orders); n++) {
            kolk_pool pool;
            use_places((places)how);
            make_bypassed(&pool, (kolk_pool_desc){.capacity = 20, .reuse = orders[n]});
            for (int i = 0; i < 10; i++) memcpy(taken_from(&pool), &i, sizeof i);
            int old = 0, new = 0, number;
            kolk_cursor cursor = kolk_pool_each(&pool);
            for (void *each; (each = kolk_cursor_next(&cursor));) {
                memcpy(&number, each, sizeof number);
                assert_true(number == -1 || number == old);
                if (number == -1) {
                    assert_true(++new <= 20);
                    continue;
                }
                old++;
                kolk_pool_free(&pool, each);
                void *another = kolk_pool_alloc(&pool);
                assert_non_null(another);
                memset(another, -1, 24);
            }
            assert_int_equal(old, 10);
            end_bypassed(&pool);
        }
    }
}

/* Visits all pairs of objects by two nested walks. In the middle of the inner walk, the outer walk's current object is
 * freed and its slot is used again. promise: "Any object ... not be visited" */
static void test_walks_over_pairs(void **state) {
    (void)state;
    enum { ALL = 200 };
    for (size_t order = 0; order < LENGTH_OF(orders); order++) {
        kolk_pool pool;
        use_places(AT_ONCE);
        make_bypassed(&pool, (kolk_pool_desc){.capacity = ALL, .reuse = orders[order]});
        for (int i = 0; i < ALL; i++) memset(kolk_pool_alloc(&pool), 0, 24);
        unsigned seen = 0;
        kolk_cursor outer = kolk_pool_each(&pool);
        for (unsigned char *one; (one = (unsigned char *)kolk_cursor_next(&outer));) {
            if (*one == 0xff) continue;
            seen++;
            unsigned left = 0, middle = (ALL - seen) / 2;
            for (kolk_cursor inner = outer; kolk_cursor_next(&inner);) {
                if (left++ != middle) continue;
                kolk_pool_free(&pool, one);
                memset(kolk_pool_alloc(&pool), 0xff, 24);
            }
            assert_true(left >= ALL - seen);
        }
        assert_int_equal(seen, ALL);
        end_bypassed(&pool);
    }
}

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

/* Runs several walks at the same time and abandons some. */
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
        BYPASS_TEST(test_all_ways_to_and_from_a_block),
        BYPASS_TEST(test_the_callers_memory_and_growth),
        BYPASS_TEST(test_a_place_that_malloc_uses_again),
        BYPASS_TEST(test_keep),
        BYPASS_TEST(test_setup_reset_and_teardown),
        BYPASS_TEST(test_reset_comes_before_the_block_is_freed),
        BYPASS_TEST(test_malloc_fails),
        BYPASS_TEST(test_malloc_fails_in_a_restore),
        BYPASS_TEST(test_churn),
        BYPASS_TEST(test_iteration),
        BYPASS_TEST(test_a_walk_that_frees_and_allocates),
        BYPASS_TEST(test_walks_over_pairs),
        BYPASS_TEST(test_walks_at_a_time),
        BYPASS_TEST(test_no_more_calls_than_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
