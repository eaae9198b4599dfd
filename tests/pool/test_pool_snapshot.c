/* runs: sample wraps: malloc */
/* Snapshots: the published blocks, the effects of a restore, and the blocks that restore must refuse, leaving the pool
 * unchanged. */
#include "../help/test.h"

#include "snapshot_block.h"

#include "../help/published.h"

static const char *const order_names[] = {"LIFO", "FIFO", "LOWEST"};

static uint32_t mallocs_left = UINT32_MAX;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size) {
    if (mallocs_left == 0) return NULL;
    if (mallocs_left != UINT32_MAX) mallocs_left--;
    return __real_malloc(size);
}

/* Runs before each test: under every tool, only the test's own settings are in force. */
static int plain_environment(void **state) {
    unsetenv("KOLK_DEBUG");
    setenv("KOLK_BYPASS", "0", 1);
    return abort_on_failure(state);
}

static kolk_handle handle_of(const kolk_pool *pool, uint32_t slot, uint32_t generation) {
    return kolk_handle_unpack((uint64_t)generation << 32 | (slot ^ pool->tag));
}

static kolk_status restore(kolk_pool *pool, block from) {
    return kolk_pool_restore(pool, from.bytes, from.size);
}

/* ---- The published blocks ---------------------------------------------------------------------------------------- */

static void make_vector(kolk_pool *pool, kolk_reuse reuse) {
    static const uint32_t freed[] = {3, 66, 0, 65, 5};
    make_pool(pool, &(kolk_pool_desc){.name = "vectors", .object_size = 3, .capacity = 70, .reuse = reuse});
    for (unsigned char n = 0; n < 67; n++)
        memcpy(kolk_pool_alloc(pool), (unsigned char[]){n, (unsigned char)(n + 1), (unsigned char)(n + 2)}, 3);
    for (size_t i = 0; i < LENGTH_OF(freed); i++) kolk_pool_free(pool, kolk_pool_at(pool, freed[i]));
    kolk_pool_free(pool, kolk_pool_alloc_at(pool, handle_of(pool, 5, UINT32_MAX)));
    memcpy(kolk_pool_alloc(pool), (unsigned char[]){1, 2, 3}, 3);
    assert_true(kolk_pool_is_valid(pool));
}

/* promise: "The block contains ... 32-bit or 64-bit", "these slots 1 bit, 4 bytes for generations" */
static void test_the_published_blocks(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool, other;
        make_vector(&pool, orders[i]);
        block taken = take_snapshot(&pool);
        block expected = published(is_little_endian() ? "little" : "big", order_names[i]);
        block foreign = published(is_little_endian() ? "big" : "little", order_names[i]);
        assert_int_equal(taken.size, expected.size);
        assert_memory_equal(taken.bytes, expected.bytes, taken.size);
        assert_int_equal(restore(&pool, foreign), KOLK_OTHER_BYTE_ORDER);

        make_pool(&other, &(kolk_pool_desc){.name = "vectors", .object_size = 3, .capacity = 1000, .reuse = orders[i]});
        assert_int_equal(restore(&other, expected), KOLK_OK);
        assert_true(kolk_pool_is_valid(&other));
        for (uint32_t slot = 0; slot < 70; slot++) {
            unsigned char *object = kolk_pool_at(&pool, slot), *same = kolk_pool_at(&other, slot);
            assert_true((object == NULL) == (same == NULL));
            if (!object) continue;
            assert_memory_equal(object, same, 3);
            assert_ptr_equal(kolk_pool_get(&other, kolk_pool_handle_of(&pool, object)), same);
        }
        free(taken.bytes);
        free(expected.bytes);
        free(foreign.bytes);
        kolk_pool_deinit(&pool);
        kolk_pool_deinit(&other);
    }
}

/* ---- What a restore does ----------------------------------------------------------------------------------------- */

typedef struct ship {
    uint32_t number;
    char name[12];
} ship;

KOLK_POOL_TYPE(ships, ship)

static void test_by_the_typed_skin(void **state) {
    (void)state;
    ships fleet;
    assert_int_equal(ships_init(&fleet, &(kolk_pool_desc){.name = "fleet", .capacity = 4}), KOLK_OK);
    ship *one = ships_alloc(&fleet);
    *one = (ship){.number = 1};
    ships_handle first = ships_handle_of(&fleet, one);
    block taken = new_block(ships_snapshot_size(&fleet));
    assert_int_equal(taken.size, 64 + 8 + 4 + sizeof(ship) + 4 + 8); /* no slot is free, so there are no links */
    assert_int_equal(ships_snapshot(&fleet, taken.bytes, taken.size), taken.size);
    assert_int_equal(ships_snapshot(&fleet, taken.bytes, taken.size - 1), 0);

    one->number = 2;
    ships_free(&fleet, one);
    ship *two = ships_alloc(&fleet);
    ships_handle second = ships_handle_of(&fleet, two);
    assert_null(ships_get(&fleet, first));
    assert_int_equal(ships_restore(&fleet, taken.bytes, taken.size), KOLK_OK);
    assert_int_equal(ships_count(&fleet), 1);
    assert_non_null(ships_get(&fleet, first));
    assert_int_equal(ships_get(&fleet, first)->number, 1);

    /* a handle made after the snapshot is stale until the pool repeats the same steps */
    assert_null(ships_get(&fleet, second));
    ships_free(&fleet, ships_get(&fleet, first));
    assert_null(ships_get(&fleet, second));
    two = ships_alloc(&fleet);
    assert_ptr_equal(ships_get(&fleet, second), two);
    free(taken.bytes);
    ships_deinit(&fleet);
}

/* Pools whose slots are all dead, and pools without slots. promise: "these slots 1 bit, 4 bytes for generations" */
static void test_pools_without_objects(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool, empty = {0};
        void *objects[3];
        make_pool(&pool, &(kolk_pool_desc){.name = "none", .object_size = 100, .capacity = 3, .reuse = orders[i]});
        block fresh = take_snapshot(&pool);
        assert_int_equal(fresh.size, 72);
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 3), 3);
        for (uint32_t n = 0; n < 3; n++) kolk_pool_free(&pool, objects[(n + 1) % 3]);
        block dead = take_snapshot(&pool);
        assert_int_equal(restore(&pool, fresh), KOLK_OK);
        assert_true(kolk_pool_is_valid(&pool));
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 3), 3);
        assert_ptr_equal(objects[0], pool.slots);
        assert_int_equal(restore(&pool, dead), KOLK_OK);
        assert_true(kolk_pool_is_valid(&pool));
        assert_int_equal(kolk_pool_count(&pool), 0);
        static const uint32_t first[] = {0, 1, 0};
        assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), first[i]);
        free(fresh.bytes);
        free(dead.bytes);
        kolk_pool_deinit(&pool);

        block zero = take_snapshot(&empty); /* a zeroed pool has a snapshot too */
        assert_int_equal(restore(&empty, zero), KOLK_OK);
        assert_true(kolk_pool_is_valid(&empty));
        assert_null(kolk_pool_alloc(&empty));
        free(zero.bytes);
    }
}

/* A restore into a pool with a larger or a just sufficient capacity succeeds; into a smaller one it fails. */
static void test_other_capacities(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool, other;
        kolk_pool_desc desc = {.name = "room", .object_size = 1000, .capacity = 10, .reuse = orders[i]};
        make_pool(&pool, &desc);
        void *objects[6];
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 6), 6);
        memset(objects[5], 0x77, 1000);
        kolk_handle handle = kolk_pool_handle_of(&pool, objects[5]);
        for (unsigned n = 0; n < 5; n++) kolk_pool_free(&pool, objects[n]);
        block taken = take_snapshot(&pool);
        static const struct {
            uint32_t capacity, max_capacity, then;
            kolk_status status;
        } rows[] = {
            {10, 0, 10, KOLK_OK},           {6, 0, 6, KOLK_OK},        {5, 0, 5, KOLK_ABOVE_MAX},
            {0, 100, 10, KOLK_OK},          {0, 6, 6, KOLK_OK},        {0, 5, 0, KOLK_ABOVE_MAX},
            {1000000, 0, 1000000, KOLK_OK}, {0, 1000000, 10, KOLK_OK}, {0, 10, 10, KOLK_OK},
        };
        for (size_t n = 0; n < LENGTH_OF(rows); n++) {
            desc.capacity = rows[n].capacity;
            desc.max_capacity = rows[n].max_capacity;
            make_pool(&other, &desc);
            assert_int_equal(restore(&other, taken), rows[n].status);
            assert_true(kolk_pool_is_valid(&other));
            assert_int_equal(other.capacity, rows[n].then);
            unsigned char *object = kolk_pool_get(&other, handle);
            assert_true((object != NULL) == (rows[n].status == KOLK_OK));
            assert_int_equal(kolk_pool_count(&other), object != NULL);
            if (object) assert_true(all_bytes_are(object, 1000, 0x77));
            kolk_pool_deinit(&other);
        }
        free(taken.bytes);
        kolk_pool_deinit(&pool);
    }
}

/* What a block says about the saved pool's capacity, its length does not prove. So the pool gets slots for what was
 * handed out, even if its budget has no bytes for more, and not more at a time than an alloc takes. */
static void test_a_capacity_that_nothing_proves(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_budget budget = {.limit = 6400};
        kolk_pool_desc desc = {.name = "room", .object_size = 64, .capacity = 1000, .reuse = orders[i]};
        make_pool(&pool, &desc);
        block nothing = take_snapshot(&pool);
        for (unsigned n = 0; n < 10; n++) assert_non_null(kolk_pool_alloc(&pool));
        block ten = take_snapshot(&pool);
        kolk_pool_deinit(&pool);

        desc.budget = &budget;
        desc.max_capacity = 1000;
        for (desc.capacity = 0; desc.capacity <= 20; desc.capacity += 10) {
            make_pool(&pool, &desc);
            assert_int_equal(restore(&pool, ten), KOLK_OK);
            assert_int_equal(kolk_pool_count(&pool), 10);
            assert_true(kolk_pool_is_valid(&pool));
            kolk_pool_deinit(&pool);
        }
        budget.limit = 640 * 64;
        desc.capacity = 0;
        make_pool(&pool, &desc);
        assert_int_equal(nothing.size, 72);
        assert_int_equal(restore(&pool, nothing), KOLK_OK);
        assert_true(budget.used_ <= 40 * 64); /* one step of growth */
        kolk_pool_deinit(&pool);
        free(nothing.bytes);
        free(ten.bytes);
    }
}

/* Random allocs and frees, which depend only on the seed and the pool's state. Returns a hash of the handles. */
static uint64_t play(kolk_pool *pool, uint64_t seed, unsigned growth) {
    uint64_t hash = 1;
    for (unsigned n = 0; n < 60; n++) {
        uint32_t choice = random_below(&seed, 100), count = kolk_pool_count(pool);
        if (choice < 50 + growth) {
            void *object = kolk_pool_alloc(pool);
            if (object) hash = hash * 31 + kolk_pool_handle_of(pool, object).bits;
        } else if (count > 0) {
            uint32_t nth = random_below(&seed, count);
            kolk_cursor cursor = kolk_pool_each(pool);
            while (nth-- > 0) kolk_cursor_next(&cursor);
            kolk_pool_free(pool, kolk_cursor_next(&cursor));
        }
    }
    return hash;
}

/* After a restore, the same operations give the same handles, even if the pool has grown since the snapshot. */
static void test_rollback_after_growth(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        for (unsigned headroom = 0; headroom < 2; headroom++) {
            enum { FRAMES = 40 };
            kolk_pool pool, other;
            kolk_pool_desc desc = {.name = "rollback",
                                   .object_size = 2000,
                                   .capacity = 20,
                                   .max_capacity = 1000,
                                   .full.headroom = headroom * 3,
                                   .reuse = orders[i]};
            make_pool(&pool, &desc);
            make_pool(&other, &desc);
            block taken[FRAMES];
            uint64_t hashes[FRAMES];
            for (unsigned frame = 0; frame < FRAMES; frame++) {
                taken[frame] = take_snapshot(&pool);
                hashes[frame] = play(&pool, frame, 15);
            }
            assert_true(pool.capacity > 100);
            for (unsigned from = FRAMES; from-- > 0;) {
                assert_int_equal(restore(&pool, taken[from]), KOLK_OK);
                assert_int_equal(restore(&other, taken[from]), KOLK_OK);
                for (unsigned frame = from; frame < FRAMES && frame < from + 8; frame++) {
                    assert_true(kolk_pool_is_valid(&pool));
                    block again = take_snapshot(&pool);
                    if (desc.reuse == KOLK_REUSE_FIFO) assert_true(equals(again, taken[frame]));
                    free(again.bytes);
                    assert_int_equal(play(&pool, frame, 15), hashes[frame]);
                    assert_int_equal(play(&other, frame, 15), hashes[frame]);
                }
            }
            for (unsigned frame = 0; frame < FRAMES; frame++) free(taken[frame].bytes);
            kolk_pool_deinit(&pool);
            kolk_pool_deinit(&other);
        }
    }
}

/* What is held back comes into use by a reserve, by alloc_at, and when the ring is empty. */
static void test_slots_that_are_held_back(void **state) {
    (void)state;
    for (unsigned how = 0; how < 3; how++) {
        kolk_pool pool;
        kolk_pool_desc desc = {
            .name = "held", .object_size = 8, .capacity = 4, .max_capacity = 40, .reuse = KOLK_REUSE_FIFO};
        make_pool(&pool, &desc);
        void *objects[40];
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 4), 4);
        kolk_pool_free(&pool, objects[2]);
        block taken = take_snapshot(&pool);
        assert_int_equal(kolk_pool_reserve(&pool, 30), KOLK_OK);
        assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 4);
        assert_int_equal(restore(&pool, taken), KOLK_OK);
        assert_int_equal(pool.held_back, 26);
        assert_int_equal(kolk_pool_available(&pool), 27);
        if (how == 0) {
            assert_int_equal(kolk_pool_reserve(&pool, 10), KOLK_OK);
            assert_int_equal(pool.held_back, 20);
            assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 4);
        } else if (how == 1) {
            assert_non_null(kolk_pool_alloc_at(&pool, handle_of(&pool, 12, 1)));
            assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 13);
        } else {
            assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc(&pool)), 2);
            assert_int_equal(kolk_pool_alloc_n(&pool, objects, 40), 36);
            assert_int_equal(pool.capacity, 40);
        }
        assert_true(kolk_pool_is_valid(&pool));
        free(taken.bytes);
        kolk_pool_deinit(&pool);
    }
}

/* A restore brings back the order of births and the protected objects. promise: "A restore brings ... grown since" */
static void test_ages(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        void *objects[6];
        make_pool(&pool,
                  &(kolk_pool_desc){.name = "ages", .object_size = 8, .capacity = 8, .reuse = orders[i], .ages = true});
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 6), 6);
        kolk_pool_touch(&pool, objects[1]);
        kolk_pool_protect(&pool, objects[0], true);
        kolk_pool_free(&pool, objects[3]);
        block taken = take_snapshot(&pool);
        void *walked = kolk_pool_oldest(&pool); /* skips dead objects, which must not change the snapshot */
        assert_ptr_equal(walked, objects[2]);
        while ((walked = kolk_pool_newer(&pool, walked)) != NULL) {}
        block again = take_snapshot(&pool);
        assert_true(equals(taken, again));

        kolk_pool_clear(&pool);
        assert_int_equal(kolk_pool_alloc_n(&pool, (void *[8]){NULL}, 8), 8);
        assert_int_equal(restore(&pool, taken), KOLK_OK);
        assert_true(kolk_pool_is_valid(&pool));
        static const unsigned order[] = {2, 4, 5, 1};
        walked = kolk_pool_oldest(&pool);
        for (size_t n = 0; n < LENGTH_OF(order); n++, walked = kolk_pool_newer(&pool, walked))
            assert_ptr_equal(walked, objects[order[n]]);
        assert_null(walked);
        assert_true(kolk_pool_evict_oldest(&pool, 0, NULL));
        assert_false(kolk_pool_is_live(&pool, objects[2]));
        for (unsigned n = 0; n < 4; n++) assert_int_equal(kolk_pool_evict_oldest(&pool, 0, NULL), n < 3);
        assert_int_equal(kolk_pool_count(&pool), 1);
        assert_true(kolk_pool_is_live(&pool, objects[0])); /* it was not evicted, because it is protected */

        const struct {
            size_t at;
            uint32_t lie;
        } lies[] = {{AGED_AT, 3}, {AGED_AT, 5}, {AGED_AT, 6}, {LIVE_AT, 4}, {FIRST_AT, 1}};
        for (size_t n = 0; n < LENGTH_OF(lies); n++) {
            block forged = copy_of(taken);
            put_number(forged, lies[n].at, lies[n].lie);
            seal(forged);
            assert_int_equal(restore(&pool, forged), KOLK_FORGED_SNAPSHOT);
            assert_int_equal(kolk_pool_count(&pool), 1);
            free(forged.bytes);
        }
        free(taken.bytes);
        free(again.bytes);
        kolk_pool_deinit(&pool);
    }
}

/* After a restore, ticks do not sweep beyond the slots that are then in use. */
static void test_a_tick_after_a_restore(void **state) {
    (void)state;
    kolk_pool pool;
    static void *objects[1000];
    make_pool(&pool, &(kolk_pool_desc){.name = "tick", .object_size = 1000, .capacity = 1, .max_capacity = 1000});
    block empty = take_snapshot(&pool);
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 1000), 1000);
    kolk_pool_tick(&pool, 64);
    for (unsigned n = 1; n < 1000; n++) kolk_pool_free(&pool, objects[n]);
    while (pool.tick.sweep == 0) kolk_pool_tick(&pool, 64); /* until a sweep is running */
    assert_true(pool.tick.sweep > 64);
    assert_int_equal(restore(&pool, empty), KOLK_OK);
    for (unsigned n = 0; n < 100; n++) {
        kolk_pool_tick(&pool, 64);
        assert_true(kolk_pool_is_valid(&pool) && pool.tick.sweep <= pool.fresh);
    }
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 1000), 1000);
    free(empty.bytes);
    kolk_pool_deinit(&pool);
}

static unsigned resets;

static void count_reset(void *object, void *context) {
    (void)object, (void)context;
    resets++;
}

/* A restore runs no hook, dead objects keep their contents, and counters continue. */
static void test_what_stays(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_stats stats;
        make_pool(&pool, &(kolk_pool_desc){.name = "stays",
                                           .object_size = 8,
                                           .capacity = 4,
                                           .reuse = orders[i],
                                           .life.keep = true,
                                           .life.reset = count_reset});
        uint64_t *one = kolk_pool_alloc(&pool);
        *one = 1;
        block taken = take_snapshot(&pool);
        uint64_t *more[4];
        assert_int_equal(kolk_pool_alloc_n(&pool, (void **)more, 4), 3);
        *more[0] = *more[1] = *more[2] = 2;
        *one = 3;
        resets = 0;
        assert_int_equal(restore(&pool, taken), KOLK_OK);
        assert_int_equal(resets, 0);
        assert_int_equal(*one, 1);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.count, 1);
        assert_int_equal(stats.peak, 4);
        assert_int_equal(stats.failed, 1);
        uint64_t *again = kolk_pool_alloc(&pool);
        assert_ptr_equal(again, more[0]);
        assert_int_equal(*again, 2); /* kept */
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.peak, 4);
        free(taken.bytes);
        kolk_pool_deinit(&pool);
    }
}

/* The peak equals fresh until a restore lowers fresh. From then on it is counted separately, and does not fall, not
 * even on the fast path. promise: "objects that are alive then ... its own snapshot" */
static void test_the_peak_goes_on(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_stats stats;
        void *objects[10];
        make_pool(&pool, &(kolk_pool_desc){.name = "peak", .object_size = 8, .capacity = 10, .reuse = orders[i]});
        block empty = take_snapshot(&pool);
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 5), 5);
        block five = take_snapshot(&pool);
        assert_int_equal(restore(&pool, empty), KOLK_OK);
        for (uint32_t n = 1; n <= 10; n++) {
            objects[n - 1] = kolk_pool_alloc(&pool);
            assert_true(kolk_pool_is_valid(&pool));
            kolk_pool_stats(&pool, &stats);
            assert_int_equal(stats.peak, n < 5 ? 5 : n);
            if (n == 7)
                for (unsigned round = 0; round < 2; round++) { /* the count falls and rises again */
                    for (unsigned k = 0; k < 7; k++) kolk_pool_free(&pool, objects[k]);
                    assert_true(kolk_pool_is_valid(&pool));
                    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 7), 7);
                    kolk_pool_stats(&pool, &stats);
                    assert_int_equal(stats.peak, 7);
                }
        }
        assert_int_equal(restore(&pool, five), KOLK_OK);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.peak, 10);
        kolk_pool_deinit(&pool);

        make_pool(&pool, &(kolk_pool_desc){.name = "peak", .object_size = 8, .capacity = 10, .reuse = orders[i]});
        assert_int_equal(restore(&pool, five), KOLK_OK);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.peak, 5);
        free(empty.bytes);
        free(five.bytes);
        kolk_pool_deinit(&pool);
    }
}

/* ---- Blocks that are refused ------------------------------------------------------------------------------------- */

/* A small pool with live, free and worn-out slots, its snapshot, and a byte-wise copy of the pool. */
typedef struct small {
    kolk_pool pool, before;
    block memory_before;
    block taken;
} small;

static void make_small(small *s, kolk_reuse reuse) {
    make_pool(&s->pool, &(kolk_pool_desc){.name = "small", .object_size = 3, .capacity = 9, .reuse = reuse});
    void *objects[7];
    assert_int_equal(kolk_pool_alloc_n(&s->pool, objects, 7), 7);
    for (unsigned char n = 0; n < 7; n++) memset(objects[n], n, 3);
    kolk_pool_free(&s->pool, objects[4]);
    kolk_pool_free(&s->pool, kolk_pool_alloc_at(&s->pool, handle_of(&s->pool, 4, UINT32_MAX)));
    kolk_pool_free(&s->pool, objects[2]);
    kolk_pool_free(&s->pool, kolk_pool_alloc_at(&s->pool, handle_of(&s->pool, 2, UINT32_MAX)));
    for (unsigned n = 5; n < 7; n++) kolk_pool_free(&s->pool, objects[n]);
    kolk_pool_free(&s->pool, objects[0]);
    assert_int_equal(s->pool.worn.count, 2);
    s->taken = take_snapshot(&s->pool);
    kolk_pool_alloc(&s->pool); /* so that a restore would be noticed */
    s->before = s->pool;
    s->memory_before = new_block(s->pool.block_size);
    memcpy(s->memory_before.bytes, s->pool.block, s->pool.block_size);
}

static void end_small(small *s) {
    free(s->taken.bytes);
    free(s->memory_before.bytes);
    kolk_pool_deinit(&s->pool);
}

static void assert_refused(small *s, const unsigned char *bytes, size_t size, kolk_status status) {
    assert_int_equal(kolk_pool_restore(&s->pool, bytes, size), status);
    assert_memory_equal(&s->pool, &s->before, sizeof s->pool);
    assert_memory_equal(s->pool.block, s->memory_before.bytes, s->memory_before.size);
}

/* Restores a forged block with a correct checksum. The pool must then be valid and exactly in the block's state, or
 * else unchanged. Returns true if the block was accepted. */
static bool try_forged(void *context, block forged) {
    small *s = (small *)context;
    seal(forged);
    kolk_status status = restore(&s->pool, forged);
    if (status != KOLK_OK) {
        assert_memory_equal(&s->pool, &s->before, sizeof s->pool);
        assert_memory_equal(s->pool.block, s->memory_before.bytes, s->memory_before.size);
        assert_true(is_refusal(status));
        return false;
    }
    assert_true(kolk_pool_is_valid(&s->pool));
    block again = take_snapshot(&s->pool);
    put_number(again, CAPACITY_AT, number_in(forged, CAPACITY_AT));
    if (number_in(forged, QUARANTINED_AT) == 0) { /* slots in quarantine become free in this pool */
        seal(again);
        assert_true(equals(again, forged)); /* each state has only one block */
    }
    free(again.bytes);
    memcpy(s->pool.block, s->memory_before.bytes, s->memory_before.size);
    s->pool = s->before;
    return true;
}

static void test_forged_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        small s;
        make_small(&s, orders[i]);
        /* accepts at least all changes to the contents of the 2 live objects */
        assert_true(forge_bytes(s.taken, try_forged, &s) > 255 * 2 * 3);
        end_small(&s);
    }
}

static void test_forged_numbers(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        small s;
        make_small(&s, orders[i]);
        forge_numbers(s.taken, HEADER, try_forged, &s);
        end_small(&s);
    }
}

/* Forges one number at a time. The chain of LIFO is 5, 6, 0, and the worn-out slots are 4, 2. */
static void test_lies(void **state) {
    (void)state;
    small s;
    make_small(&s, KOLK_REUSE_LIFO);
    const size_t live = HEADER, generations = live + 8, links = generations + 7 * 4;
    const struct {
        size_t at;
        uint32_t was, lie;
        kolk_status status;
    } rows[] = {
        {FIRST_AT, 6, 0, KOLK_FORGED_SNAPSHOT},                /* there is no chain */
        {FIRST_AT, 6, 7, KOLK_FORGED_SNAPSHOT},                /* too short */
        {FIRST_AT, 6, 2, KOLK_FORGED_SNAPSHOT},                /* begins with a live slot */
        {FIRST_AT, 6, 8, KOLK_FORGED_SNAPSHOT},                /* begins with a slot never handed out */
        {links + 4 * 2, 0, 6, KOLK_FORGED_SNAPSHOT},           /* an endless loop */
        {links + 4 * 6, 1, 6, KOLK_FORGED_SNAPSHOT},           /* a shorter loop, and a slot in no list */
        {links + 4 * 6, 1, 5, KOLK_FORGED_SNAPSHOT},           /* skips a slot */
        {links + 4 * 1, 0, 1, KOLK_FORGED_SNAPSHOT},           /* a live slot has a link */
        {generations + 4 * 1, 1, 0, KOLK_FORGED_SNAPSHOT},     /* a live slot that is worn out */
        {generations + 4 * 0, 2, 0, KOLK_FORGED_SNAPSHOT},     /* three slots would be worn out */
        {generations + 4 * 2, 0, 1, KOLK_FORGED_SNAPSHOT},     /* only one slot would be worn out */
        {LIVE_AT, 2, 1, KOLK_FORGED_SNAPSHOT},                 /* fewer than the live bits */
        {LIVE_AT, 2, 8, KOLK_FORGED_SNAPSHOT},                 /* more than the slots */
        {WORN_AT, 2, 6, KOLK_FORGED_SNAPSHOT},                 /* more than dead slots */
        {QUARANTINED_AT, 0, UINT32_MAX, KOLK_FORGED_SNAPSHOT}, /* more than dead slots */
        {QUARANTINED_AT, 0, 1, KOLK_FORGED_SNAPSHOT},          /* a worn-out slot would be in quarantine */
        {CAPACITY_AT, 9, 6, KOLK_FORGED_SNAPSHOT},             /* below fresh */
        {FRESH_AT, 7, 8, KOLK_FORGED_SNAPSHOT},                /* the block would have a different size */
        {AGED_AT, 0, 1, KOLK_FORGED_SNAPSHOT},                 /* this pool has no ages */
        {OBJECT_SIZE_AT, 3, 4, KOLK_OTHER_POOL},
        {TAG_AT, s.pool.tag, s.pool.tag ^ 1, KOLK_OTHER_POOL},
        {CAPACITY_AT, 9, UINT32_MAX, KOLK_OK}, /* a block may state more capacity than it needs */
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        block forged = copy_of(s.taken);
        assert_int_equal(number_in(forged, rows[i].at), rows[i].was);
        put_number(forged, rows[i].at, rows[i].lie);
        seal(forged);
        if (rows[i].status != KOLK_OK)
            assert_refused(&s, forged.bytes, forged.size, rows[i].status);
        else
            assert_true(try_forged(&s, forged));
        free(forged.bytes);
    }
    block forged = copy_of(s.taken); /* one live bit moves beyond fresh */
    forged.bytes[live + (is_little_endian() ? 0 : 7)] = 0x82;
    assert_int_equal(s.taken.bytes[live + (is_little_endian() ? 0 : 7)], 0x0a);
    seal(forged);
    assert_refused(&s, forged.bytes, forged.size, KOLK_FORGED_SNAPSHOT);
    free(forged.bytes);
    end_small(&s);
}

/* A pool without generations has no worn-out slots. */
static void test_a_lie_about_wear(void **state) {
    (void)state;
    kolk_pool pool;
    kolk_pool_desc desc = {.name = "none", .object_size = 8, .capacity = 4, .generations = KOLK_GENERATIONS_NONE};
    make_pool(&pool, &desc);
    void *first = kolk_pool_alloc(&pool);
    kolk_pool_alloc(&pool);
    kolk_pool_free(&pool, first);
    block taken = take_snapshot(&pool);
    assert_int_equal(restore(&pool, taken), KOLK_OK);
    put_number(taken, WORN_AT, 1);
    seal(taken);
    assert_int_equal(restore(&pool, taken), KOLK_FORGED_SNAPSHOT);
    assert_true(kolk_pool_is_valid(&pool));
    free(taken.bytes);
    kolk_pool_deinit(&pool);
}

/* A block does not contain the bytes between two objects. */
static void test_places_wider_than_objects(void **state) {
    (void)state;
    kolk_pool pool, other;
    kolk_pool_desc desc = {.name = "wide", .object_size = 12, .object_align = 16, .capacity = 20};
    make_pool(&pool, &desc);
    make_pool(&other, &desc);
    for (int i = 0; i < 20; i++) memset(kolk_pool_alloc(&pool), i, 12);
    kolk_pool_free(&pool, kolk_pool_at(&pool, 7));
    block taken = take_snapshot(&pool);
    for (uint32_t i = 0, n = 0; i < 20; i++)
        if (i != 7) assert_true(all_bytes_are(taken.bytes + HEADER + 8 + 4 * 20 + 4 * 20 + 12 * n++, 12, (uint8_t)i));
    assert_int_equal(restore(&other, taken), KOLK_OK);
    for (uint32_t i = 0; i < 20; i++)
        if (i != 7) assert_true(all_bytes_are(kolk_pool_at(&other, i), 12, (uint8_t)i));
    assert_null(kolk_pool_at(&other, 7));
    free(taken.bytes);
    kolk_pool_deinit(&pool);
    kolk_pool_deinit(&other);
}

/* ---- Pools that have no snapshots, or cannot restore one --------------------------------------------------------- */

static bool set_up(void *object, void *context) {
    (void)object, (void)context;
    return true;
}

static block for_hook;
static unsigned asked;

static bool ask_inside(kolk_pool *pool, size_t bytes, void *context) {
    (void)bytes, (void)context;
    asked++;
    assert_int_equal(kolk_pool_snapshot_size(pool), 0);
    assert_int_equal(kolk_pool_snapshot(pool, for_hook.bytes, for_hook.size), 0);
    assert_int_equal(restore(pool, for_hook), KOLK_IN_HOOK);
    return false;
}

/* promise: "Returns 0 if no snapshot is possible, because", "Writes the block ... below kolk_pool_snapshot_size" */
static void test_hooks_that_stand_in_the_way(void **state) {
    (void)state;
    kolk_pool_desc desc = {.name = "hooks", .object_size = 8, .capacity = 1};
    kolk_pool pool;
    make_pool(&pool, &desc);
    kolk_pool_alloc(&pool);
    for_hook = take_snapshot(&pool);
    kolk_pool_deinit(&pool);
    for (unsigned n = 0; n < 2; n++) {
        kolk_pool_desc other = desc;
        if (n == 0) other.life.setup = set_up;
        if (n == 1) other.life.teardown = count_reset;
        make_pool(&pool, &other);
        assert_int_equal(kolk_pool_snapshot_size(&pool), 0);
        assert_int_equal(kolk_pool_snapshot(&pool, for_hook.bytes, for_hook.size), 0);
        assert_int_equal(restore(&pool, for_hook), KOLK_NO_SNAPSHOT);
        kolk_pool_deinit(&pool);
    }
    desc.full.on_full = ask_inside;
    make_pool(&pool, &desc);
    kolk_pool_alloc(&pool);
    asked = 0;
    assert_null(kolk_pool_alloc(&pool));
    assert_int_equal(asked, 1);
    assert_int_equal(restore(&pool, for_hook), KOLK_OK);
    free(for_hook.bytes);
    kolk_pool_deinit(&pool);
}

/* restore refuses a snapshot of a pool with a different name, tag, object size, order of reuse, kind of generations or
 * ages. promise: "if it has the same ... provide these slots" */
static void test_other_pools(void **state) {
    (void)state;
    const kolk_pool_desc desc = {.name = "one", .object_size = 8, .capacity = 4};
    kolk_pool_desc others[7];
    for (size_t i = 0; i < LENGTH_OF(others); i++) others[i] = desc;
    others[0].name = "another";
    others[1].tag = 5;
    others[2].object_size = 9;
    others[3].reuse = KOLK_REUSE_LOWEST;
    others[4].generations = KOLK_GENERATIONS_STRICT;
    others[5].generations = KOLK_GENERATIONS_NONE;
    others[6].ages = true;
    kolk_pool pool, other;
    make_pool(&pool, &desc);
    kolk_pool_alloc(&pool);
    block taken = take_snapshot(&pool);
    for (size_t i = 0; i < LENGTH_OF(others); i++) {
        make_pool(&other, &others[i]);
        assert_int_equal(restore(&other, taken), KOLK_OTHER_POOL);
        assert_int_equal(kolk_pool_count(&other), 0);
        block back = take_snapshot(&other);
        assert_int_equal(restore(&pool, back), KOLK_OTHER_POOL);
        assert_int_equal(kolk_pool_count(&pool), 1);
        free(back.bytes);
        kolk_pool_deinit(&other);
    }
    free(taken.bytes);
    kolk_pool_deinit(&pool);
}

/* ---- The debug mode ---------------------------------------------------------------------------------------------- */

/* Blocks do not depend on what the debug mode puts around objects, and can be restored in a different debug mode. */
static void test_debug_modes_understand_each_other(void **state) {
    (void)state;
    static const char *const debugs[] = {NULL, "fill,guard,sites", "trace", "quarantine=2", "quarantine=1", "BYPASS"};
    for (size_t i = 0; i < 3 * LENGTH_OF(debugs) * LENGTH_OF(debugs); i++) {
        const char *from = debugs[i / 3 % LENGTH_OF(debugs)], *to = debugs[i / 3 / LENGTH_OF(debugs)];
        kolk_pool_desc desc = {.name = "modes", .object_size = 5, .capacity = 8, .reuse = orders[i % 3]};
        kolk_pool pool, other;
        bool bypass = from && strcmp(from, "BYPASS") == 0;
        setenv("KOLK_BYPASS", bypass ? "1" : "0", 1);
        desc.debug = bypass ? NULL : from;
        make_pool(&pool, &desc);
        unsigned char *objects[5];
        assert_int_equal(kolk_pool_alloc_n(&pool, (void **)objects, 5), 5);
        for (unsigned char n = 0; n < 5; n++) memset(objects[n], n + 1, 5);
        kolk_handle last = kolk_pool_handle_of(&pool, objects[4]);
        for (unsigned n = 1; n < 4; n++) kolk_pool_free(&pool, objects[n]);
        block taken = take_snapshot(&pool);

        bypass = to && strcmp(to, "BYPASS") == 0;
        setenv("KOLK_BYPASS", bypass ? "1" : "0", 1);
        desc.debug = bypass ? NULL : to;
        make_pool(&other, &desc);
        for (unsigned n = 0; n < 7; n++) memset(kolk_pool_alloc(&other), 0xee, 5);
        assert_int_equal(restore(&other, taken), KOLK_OK);
        assert_true(kolk_pool_is_valid(&other));
        assert_int_equal(kolk_pool_count(&other), 2);
        assert_true(all_bytes_are(kolk_pool_at(&other, 0), 5, 1));
        assert_true(all_bytes_are(kolk_pool_get(&other, last), 5, 5));
        for (unsigned n = 0; n < 6; n++) assert_non_null(kolk_pool_alloc(&other));
        assert_null(kolk_pool_alloc(&other));
        assert_true(kolk_pool_is_valid(&other));
        kolk_pool_clear(&pool);
        kolk_pool_clear(&other);
        assert_true(kolk_pool_is_valid(&other));
        free(taken.bytes);
        kolk_pool_deinit(&pool);
        kolk_pool_deinit(&other);
    }
}

/* Damage is reported before a restore overwrites it. Restored objects have the call of restore as their site. */
static void test_damage_and_sites(void **state) {
    (void)state;
    static notes taken;
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "damage", .object_size = 4, .capacity = 4, .debug = "fill,guard,sites"});
    unsigned char *object = kolk_pool_alloc(&pool), *dead = kolk_pool_alloc(&pool);
    memset(object, 1, 4);
    block before = take_snapshot(&pool);
    kolk_pool_free(&pool, dead);
    begin_notes(&taken);
    object[4] ^= 1;
    dead[0] ^= 1;
    assert_int_equal(restore(&pool, before), KOLK_OK);
    assert_int_equal(taken.count, 2);
    assert_int_equal(taken.last.rule, KOLK_WRITE_AFTER_FREE);
    assert_int_equal(taken.last.slot, 1);
    assert_true(taken.last.alloc_site && taken.last.site && taken.last.sites);
    assert_true(kolk_pool_is_valid(&pool));

    begin_notes(&taken);
    kolk_pool_free(&pool, object);
    kolk_pool_free(&pool, dead);
    assert_int_equal(restore(&pool, before), KOLK_OK);
    kolk_pool_deinit(&pool);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
    assert_int_equal(taken.last.count, 2); /* both have the same site, the restore */
    free(before.bytes);
}

/* After a restore some slots count as never handed out, and a trim may discard their red zones. A later alloc must not
 * report that as damage. */
static void test_a_trim_after_a_restore(void **state) {
    (void)state;
    static notes taken;
    kolk_pool pool;
    void *objects[64];
    make_pool(&pool, &(kolk_pool_desc){.name = "trim", .object_size = 1000, .capacity = 64, .debug = "fill,guard"});
    block empty = take_snapshot(&pool);
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 64), 64);
    begin_notes(&taken);
    assert_int_equal(restore(&pool, empty), KOLK_OK);
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 2), 2);
    kolk_pool_free(&pool, objects[1]);
    assert_true(kolk_pool_trim(&pool) > 0);
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 63), 63);
    assert_true(kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
    assert_silent(&taken);
    free(empty.bytes);
}

/* If a walk's body restores a snapshot, the walk continues over the restored objects, in place or in malloc blocks.
 * promise: "A walk that continues after a restore visits" */
static void test_a_walk_that_restores(void **state) {
    (void)state;
    for (unsigned bypass = 0; bypass < 2; bypass++) {
        kolk_pool pool;
        void *objects[1000];
        unsigned visited = 0;
        setenv("KOLK_BYPASS", bypass ? "1" : "0", 1);
        make_pool(&pool, &(kolk_pool_desc){.name = "walk", .object_size = 8, .capacity = 1000});
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 100), 100);
        block hundred = take_snapshot(&pool);
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 900), 900);
        kolk_cursor cursor = kolk_pool_each(&pool);
        for (void *each; (each = kolk_cursor_next(&cursor)); visited++) {
            assert_true(kolk_pool_is_live(&pool, each));
            if (visited == 70) assert_int_equal(restore(&pool, hundred), KOLK_OK);
        }
        assert_int_equal(visited, 100);
        assert_true(kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
        free(hundred.bytes);
    }
}

/* Whichever malloc call of a restore fails, the pool stays unchanged. promise: "The whole block ... more capacity" */
static void test_bypass_without_memory(void **state) {
    (void)state;
    setenv("KOLK_BYPASS", "1", 1);
    for (unsigned keep = 0; keep < 2; keep++) {
        kolk_pool pool;
        make_pool(&pool, &(kolk_pool_desc){.name = "malloc", .object_size = 40, .capacity = 8, .life.keep = keep});
        void *objects[7];
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 7), 7);
        for (int n = 0; n < 7; n++) memset(objects[n], n, 40);
        kolk_pool_free(&pool, objects[2]); /* so slot 2 needs no block */
        block six = take_snapshot(&pool), one;
        kolk_pool_deinit(&pool);

        make_pool(&pool, &(kolk_pool_desc){.name = "malloc", .object_size = 40, .capacity = 8, .life.keep = keep});
        memset(kolk_pool_alloc(&pool), 0x11, 40);
        one = take_snapshot(&pool);
        uint32_t n = 0;
        for (kolk_status status = KOLK_NO_MEMORY; status == KOLK_NO_MEMORY; n++) {
            mallocs_left = n;
            status = restore(&pool, six);
            mallocs_left = UINT32_MAX;
            assert_true(kolk_pool_is_valid(&pool));
            block now = take_snapshot(&pool);
            assert_true(equals(now, status == KOLK_OK ? six : one));
            free(now.bytes);
        }
        assert_int_equal(n, 6);
        assert_int_equal(restore(&pool, one), KOLK_OK);
        assert_true(all_bytes_are(kolk_pool_at(&pool, 0), 40, 0x11));
        free(six.bytes);
        free(one.bytes);
        kolk_pool_deinit(&pool);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plain_environment, plain_environment)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_published_blocks),
        TEST(test_by_the_typed_skin),
        TEST(test_pools_without_objects),
        TEST(test_other_capacities),
        TEST(test_a_capacity_that_nothing_proves),
        TEST(test_rollback_after_growth),
        TEST(test_slots_that_are_held_back),
        TEST(test_ages),
        TEST(test_a_tick_after_a_restore),
        TEST(test_what_stays),
        TEST(test_the_peak_goes_on),
        TEST(test_forged_bytes),
        TEST(test_forged_numbers),
        TEST(test_lies),
        TEST(test_a_lie_about_wear),
        TEST(test_places_wider_than_objects),
        TEST(test_hooks_that_stand_in_the_way),
        TEST(test_other_pools),
        TEST(test_debug_modes_understand_each_other),
        TEST(test_damage_and_sites),
        TEST(test_a_trim_after_a_restore),
        TEST(test_a_walk_that_restores),
        TEST(test_bypass_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
