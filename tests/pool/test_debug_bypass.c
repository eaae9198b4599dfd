/* KOLK_BYPASS=1: each object is a block of malloc's of its own, for its life or, where contents live on, for the
 * pool's; everything else is as it is without. */
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
            assert_null(block_of(objects[2])); /* freed at once */
            assert_non_null(block_of(taken_from(&pool)));
            kolk_pool_clear(&pool);
            assert_int_equal(heap.count, 0);
            taken_from(&pool);
            end_bypassed(&pool); /* deinit frees what is alive */
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
        kolk_handle handle = kolk_pool_handle(&pool, objects[3]);
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
        assert_int_equal(kolk_pool_index(&pool, taken_from(&pool)), 6); /* passed over, and without a block till now */
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
    assert_true(all_bytes_are(memory, 5 * 24, 0xee)); /* its slots are not touched */
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

/* ---- Misuse ------------------------------------------------------------------------------------------------------ */

static int a_global;

static void test_misuse(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        notes taken;
        unsigned char *objects[3];
        begin_notes(&taken);
        make_bypassed(&pool, (kolk_pool_desc){.capacity = 4, .reuse = orders[n]});
        for (int i = 0; i < 3; i++) objects[i] = taken_from(&pool);
        give_back(&pool, objects[1]);
        assert_ptr_equal(kolk_pool_next(&pool, objects[1]), objects[2]); /* goes on from a dead object */
        assert_silent(&taken);
        void *foreign[] = {
            &a_global, &pool, pool.slots, moved(objects[2], -1), moved(objects[2], 24), (void *)1, (void *)UINTPTR_MAX};
        for (size_t i = 0; i < LENGTH_OF(foreign); i++) {
            kolk_pool_free(&pool, foreign[i]);
            assert_noted(&taken, KOLK_FOREIGN_POINTER, "blocks", foreign[i], NO_SLOT,
                         "kolk: blocks: free of a pointer that is not of this pool");
            assert_false(kolk_pool_is_live(&pool, foreign[i]));
            assert_null(kolk_pool_next(&pool, foreign[i]));
            assert_noted(&taken, KOLK_FOREIGN_POINTER, "blocks", foreign[i], NO_SLOT,
                         "kolk: blocks: next of a pointer that is not of this pool");
        }
        void *own = malloc(24);
        kolk_pool_free(&pool, own);
        assert_int_equal(taken.count, 1);
        assert_true(taken.last.rule == KOLK_FOREIGN_POINTER || own == objects[1]); /* its place may be used again */
        free(own);
        kolk_pool_free(&pool, NULL);
        assert_int_equal(kolk_pool_count(&pool), 2);
        assert_int_equal(heap.count, 2);
        kolk_set_failure_handler(NULL, NULL);
        end_bypassed(&pool);
    }
}

/* A dead slot's block may be another object by now: then that object is meant. */
static void test_a_place_that_malloc_uses_again(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 1000, .reuse = KOLK_REUSE_FIFO});
    unsigned again = 0;
    unsigned char *last = NULL;
    for (uint32_t i = 0; i < 1000; i++) { /* each in a slot of its own, mostly in one place */
        unsigned char *object = taken_from(&pool);
        assert_int_equal(kolk_pool_index(&pool, object), i);
        assert_true(kolk_pool_is_live(&pool, object));
        assert_ptr_equal(kolk_pool_get(&pool, kolk_pool_handle(&pool, object)), object);
        again += object == last;
        kolk_pool_free(&pool, moved(object, 4));
        assert_int_equal(taken.count, 1);
        assert_int_equal(taken.last.slot, i);
        taken.count = 0;
        give_back(&pool, object);
        last = object;
    }
    if (again == 0) print_message("malloc has given no place twice\n");
    for (uint32_t i = 0; i < 1000; i++) { /* and the slots again */
        unsigned char *object = taken_from(&pool);
        assert_int_equal(kolk_pool_index(&pool, object), i);
        if (i % 2) give_back(&pool, object);
    }
    assert_silent(&taken);
    assert_int_equal(kolk_pool_count(&pool), 500);
    end_bypassed(&pool);
}

/* ---- Contents that live on --------------------------------------------------------------------------------------- */

static void test_keep(void **state) {
    (void)state;
    kolk_pool pool;
    void *objects[3];
    notes taken;
    begin_notes(&taken);
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 3, .keep = true, .reuse = KOLK_REUSE_LOWEST});
    for (int i = 0; i < 3; i++) memset(objects[i] = taken_from(&pool), 'a' + i, 24);
    give_back(&pool, objects[1]);
    assert_int_equal(heap.count, 3); /* its block waits for the slot's next life */
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
    end_bypassed(&pool); /* the dead one's block, too */
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
        &pool, (kolk_pool_desc){.capacity = 3, .setup = set_up, .reset = reset, .teardown = tear_down, .context = &h});
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
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 3, .reset = reset_sees_the_block, .context = &resets});
    for (int i = 0; i < 3; i++) memset(taken_from(&pool), 0x77, 24);
    give_back(&pool, kolk_pool_at(&pool, 1));
    assert_int_equal(heap.count, 2);
    kolk_pool_free(&pool, kolk_pool_at(&pool, 0));
    assert_int_equal(resets, 2);
    end_bypassed(&pool); /* deinit resets what is alive */
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
        give_back(&pool, objects[0]);
        assert_null(kolk_pool_alloc(&pool)); /* a slot that had a block before */
        assert_int_equal(heap.count, 1);
        assert_true(kolk_pool_is_valid(&pool));
        heap.refused_from = 0;
        for (int i = 0; i < 3; i++) taken_from(&pool);
        assert_null(kolk_pool_alloc(&pool));
        assert_int_equal(heap.count, 4);
        end_bypassed(&pool);
    }
}

/* A restore that fails undoes what it has begun: no block is left, also where slots keep theirs. */
static void test_malloc_fails_in_a_restore(void **state) {
    (void)state;
    for (uint32_t refused = 1; refused <= 6; refused++) {
        kolk_pool pool;
        unsigned char bytes[1000];
        make_bypassed(&pool, (kolk_pool_desc){.capacity = 8, .keep = true});
        for (int i = 0; i < 7; i++) memset(taken_from(&pool), i, 24);
        kolk_pool_free(&pool, kolk_pool_at(&pool, 2));
        size_t size = kolk_pool_snapshot(&pool, bytes, sizeof bytes);
        assert_true(size > 0);
        end_bypassed(&pool);
        make_bypassed(&pool, (kolk_pool_desc){.capacity = 8, .keep = true});
        taken_from(&pool);
        heap.calls = 0;
        heap.refused_from = refused; /* of the five that are needed */
        assert_int_equal(kolk_pool_restore(&pool, bytes, size), refused <= 5 ? KOLK_NO_MEMORY : KOLK_OK);
        heap.refused_from = 0;
        assert_true(kolk_pool_is_valid(&pool));
        assert_int_equal(heap.count, refused <= 5 ? 1 : 6);
        end_bypassed(&pool);
    }
}

/* ---- Many -------------------------------------------------------------------------------------------------------- */

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
    for (void *each = NULL; (each = kolk_pool_next(pool, each)); count++) {
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
            bool grows = random_below(&random, 100) < (step / 4000 % 2 ? 35u : 65u); /* fills up, and empties again */
            if (grows && alive < MANY) {
                mine *now = &all[alive++];
                now->object = (unsigned char *)kolk_pool_alloc(&pool);
                assert_non_null(now->object);
                now->handle = kolk_pool_handle(&pool, now->object);
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
    uint32_t at = 60, n = 75; /* runs of one, within bounds */
    static const uint32_t runs[] = {61, 62, 63, 131, 132, 133, 134};
    for (size_t i = 0; i < LENGTH_OF(runs); i++, at += n, n = 135 - at) {
        assert_ptr_equal(kolk_pool_next_run(&pool, &at, &n), kolk_pool_at(&pool, runs[i]));
        assert_int_equal(at, runs[i]);
        assert_int_equal(n, 1);
    }
    assert_null(kolk_pool_next_run(&pool, &at, &n));
    assert_int_equal(n, 0);
    cursor = kolk_pool_each(&pool); /* while it visits them all are freed, the current one and others */
    for (void *each; (each = kolk_cursor_next(&cursor));) {
        void *next = kolk_pool_next(&pool, each);
        if (next) kolk_pool_free(&pool, next);
        kolk_pool_free(&pool, each);
    }
    assert_int_equal(kolk_pool_count(&pool), 0);
    end_bypassed(&pool);
}

/* ---- Walks by kolk_pool_next ------------------------------------------------------------------------------------- */

/* Frees the current object and allocates another in its body. */
static void test_a_walk_that_frees_and_allocates(void **state) {
    (void)state;
    for (int how = AS_EVER; how <= NEVER; how++) {
        for (size_t n = 0; n < LENGTH_OF(orders); n++) {
            kolk_pool pool;
            notes taken;
            begin_notes(&taken);
            use_places((places)how);
            make_bypassed(&pool, (kolk_pool_desc){.capacity = 20, .reuse = orders[n]});
            for (int i = 0; i < 10; i++) memcpy(taken_from(&pool), &i, sizeof i);
            int old = 0, new = 0, number;
            for (void *each = NULL; (each = kolk_pool_next(&pool, each));) {
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
            assert_silent(&taken);
            end_bypassed(&pool);
        }
    }
}

/* However long the walks within are, to their ends or broken off, before the current object is freed or afterwards. */
static void test_a_walk_within_a_walk(void **state) {
    (void)state;
    enum { ALL = 40 };
    for (unsigned n = 0; n < 4 * LENGTH_OF(orders); n++) {
        kolk_pool pool;
        notes taken;
        bool before = n & 1, ends = n & 2;
        begin_notes(&taken);
        use_places(AT_ONCE);
        make_bypassed(&pool, (kolk_pool_desc){.capacity = 2 * ALL, .reuse = orders[n / 4]});
        for (int i = 0; i < ALL; i++) memset(kolk_pool_alloc(&pool), i, 24);
        int old = 0;
        for (unsigned char *each = NULL; (each = (unsigned char *)kolk_pool_next(&pool, each));) {
            if (*each == 0xff) continue; /* a new one */
            assert_int_equal(*each, old++);
            if (before) kolk_pool_free(&pool, each);
            for (int walks = 0; walks < (ends ? 30 : 20); walks++) {
                unsigned left = ends ? UINT32_MAX : 35;
                for (void *other = NULL; left-- > 0 && (other = kolk_pool_next(&pool, other));) {}
            }
            if (!before) kolk_pool_free(&pool, each);
            memset(kolk_pool_alloc(&pool), 0xff, 24);
            memset(kolk_pool_alloc(&pool), 0xff, 24);
        }
        assert_int_equal(old, ALL);
        assert_silent(&taken);
        end_bypassed(&pool);
    }
}

/* All pairs of objects, by a walk that goes on from the other's current object; that one is freed, and its slot used
 * again, in the middle of the walk within. */
static void test_walks_over_pairs(void **state) {
    (void)state;
    enum { ALL = 200 };
    for (size_t order = 0; order < LENGTH_OF(orders); order++) {
        kolk_pool pool;
        notes taken;
        begin_notes(&taken);
        use_places(AT_ONCE);
        make_bypassed(&pool, (kolk_pool_desc){.capacity = ALL, .reuse = orders[order]});
        for (int i = 0; i < ALL; i++) memset(kolk_pool_alloc(&pool), 0, 24);
        unsigned seen = 0;
        for (void *one = NULL; (one = kolk_pool_next(&pool, one));) {
            unsigned char *number = (unsigned char *)one;
            if (*number == 0xff) continue;
            seen++;
            unsigned left = 0, middle = (ALL - seen) / 2;
            for (void *other = one; (other = kolk_pool_next(&pool, other));) {
                if (left++ != middle) continue;
                kolk_pool_free(&pool, one);
                memset(kolk_pool_alloc(&pool), 0xff, 24);
            }
            assert_true(left >= ALL - seen);
        }
        assert_int_equal(seen, ALL);
        assert_silent(&taken);
        end_bypassed(&pool);
    }
}

enum { WALKERS = 6, SLOTS = 40 };

/* Each walk must visit the objects that are alive from its begin to its end, in ascending order of slots. */
typedef struct walker {
    bool on, due[SLOTS];
    void *at;
    uint32_t from;   /* the slot behind it */
    unsigned others; /* that have begun since it went on */
} walker;

static walker walkers[WALKERS];

static void free_slot(kolk_pool *pool, uint32_t slot) {
    for (unsigned n = 0; n < WALKERS; n++) walkers[n].due[slot] = false;
    kolk_pool_free(pool, kolk_pool_at(pool, slot));
}

static void *ask(const kolk_pool *pool, const walker *one) {
    void *next = kolk_pool_next(pool, one->at);
    uint32_t slot = next ? kolk_pool_index(pool, next) : SLOTS;
    assert_true(slot >= one->from && slot <= SLOTS);
    for (uint32_t i = one->from; i < slot; i++) assert_false(one->due[i]);
    return next;
}

static void go_on(const kolk_pool *pool, walker *one) {
    one->at = ask(pool, one);
    one->on = one->at != NULL;
    one->others = 0;
    if (one->on) one->from = kolk_pool_index(pool, one->at) + 1;
}

static void start(const kolk_pool *pool, walker *one) {
    for (unsigned n = 0; n < WALKERS; n++)
        if (walkers[n].on && ++walkers[n].others > 20)
            go_on(pool, &walkers[n]); /* see REMEMBERED in src/diag/debug_inside.h */
    *one = (walker){.on = true};
    for (uint32_t i = 0; i < SLOTS; i++) one->due[i] = kolk_pool_at(pool, i) != NULL;
    go_on(pool, one);
}

/* Several at a time, some of which are broken off; or one, which also asks and stays where it is. */
static void walk_about(kolk_pool *pool, unsigned most, uint64_t *random) {
    memset(walkers, 0, sizeof walkers);
    for (unsigned step = 0; step < (does_a_part() ? 2000 : 10000); step++) {
        walker *one = &walkers[random_below(random, most)];
        uint32_t choice = random_below(random, 100), slot = random_below(random, SLOTS);
        if (choice < 30)
            kolk_pool_alloc(pool);
        else if (choice < 45 && kolk_pool_at(pool, slot))
            free_slot(pool, slot);
        else if (choice < 60 && one->on && kolk_pool_at(pool, one->from - 1)) /* where it stands */
            free_slot(pool, one->from - 1);
        else if (choice < 70 && one->on && most == 1)
            ask(pool, one);
        else if (choice < 71)
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
            for (unsigned most = 1; most <= WALKERS; most += WALKERS - 1) {
                kolk_pool pool;
                use_places((places)how);
                make_bypassed(&pool, (kolk_pool_desc){.capacity = SLOTS, .reuse = orders[n]});
                walk_about(&pool, most, &random);
                end_bypassed(&pool);
            }
        }
    }
}

/* A pool that nobody walks through calls malloc once an object, at whatever address that gives it. */
static void test_no_more_calls_than_objects(void **state) {
    (void)state;
    kolk_pool pool;
    void *objects[10];
    use_places(AT_ONCE);
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 20, .reuse = KOLK_REUSE_FIFO});
    heap.calls = 0;
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 10; i++) objects[i] = taken_from(&pool);
        for (int i = 0; i < 10; i++) kolk_pool_free(&pool, objects[i]);
    }
    assert_int_equal(heap.calls, 50);
    end_bypassed(&pool);
}

/* In a walk's step, malloc may give nothing but the place where the walk stands. */
static void test_malloc_fails_in_a_walk(void **state) {
    (void)state;
    kolk_pool pool;
    use_places(AT_ONCE);
    make_bypassed(&pool, (kolk_pool_desc){.capacity = 4, .reuse = KOLK_REUSE_FIFO});
    for (int i = 0; i < 3; i++) taken_from(&pool);
    void *each = kolk_pool_next(&pool, NULL), *second = kolk_pool_at(&pool, 1);
    kolk_pool_free(&pool, each);
    heap.calls = 0;
    heap.refused_from = 2;
    assert_null(kolk_pool_alloc(&pool));
    assert_int_equal(heap.count, 2);
    heap.refused_from = 0;
    for (int i = 0; i < 2; i++) taken_from(&pool);
    assert_ptr_equal(kolk_pool_next(&pool, each), second);
    end_bypassed(&pool);
}

#define BYPASS_TEST(name) cmocka_unit_test_setup_teardown(name, bypass, end_bypass)

int main(void) {
    const struct CMUnitTest tests[] = {
        BYPASS_TEST(test_each_object_is_a_block_of_its_size),
        BYPASS_TEST(test_all_ways_to_and_from_a_block),
        BYPASS_TEST(test_the_callers_memory_and_growth),
        BYPASS_TEST(test_misuse),
        BYPASS_TEST(test_a_place_that_malloc_uses_again),
        BYPASS_TEST(test_keep),
        BYPASS_TEST(test_setup_reset_and_teardown),
        BYPASS_TEST(test_reset_comes_before_the_block_is_freed),
        BYPASS_TEST(test_malloc_fails),
        BYPASS_TEST(test_malloc_fails_in_a_restore),
        BYPASS_TEST(test_churn),
        BYPASS_TEST(test_iteration),
        BYPASS_TEST(test_a_walk_that_frees_and_allocates),
        BYPASS_TEST(test_a_walk_within_a_walk),
        BYPASS_TEST(test_walks_over_pairs),
        BYPASS_TEST(test_walks_at_a_time),
        BYPASS_TEST(test_no_more_calls_than_objects),
        BYPASS_TEST(test_malloc_fails_in_a_walk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
