/* runs: sample */
/* Snapshots: the published blocks, the effects of a restore, and the blocks that restore must refuse, leaving the pool
 * unchanged. */
#include "../help/test.h"

#include "snapshot_block.h"

#include "../help/published.h"

static const char *const order_names[] = {"LIFO", "FIFO", "LOWEST"};

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
    kolk_pool_desc desc = {.name = "vectors", .object_size = 3, .object_align = 4, .capacity = 70, .reuse = reuse};
    make_pool(pool, &desc);
    for (unsigned char n = 0; n < 67; n++)
        memcpy(kolk_pool_alloc(pool), (unsigned char[]){n, (unsigned char)(n + 1), (unsigned char)(n + 2)}, 3);
    for (size_t i = 0; i < LENGTH_OF(freed); i++) kolk_pool_free(pool, kolk_pool_at(pool, freed[i]));
    kolk_pool_free(pool, kolk_pool_alloc_at(pool, handle_of(pool, 5, UINT32_MAX)));
    memcpy(kolk_pool_alloc(pool), (unsigned char[]){1, 2, 3}, 3);
    assert_true(kolk_pool_is_valid(pool));
}

/* A block does not contain the bytes between two objects.
 * promise: "The block contains ... 32-bit or 64-bit", "these slots 1 bit, 4 bytes for generations" */
static void test_the_published_blocks(void **state) {
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

/* A restore into a pool with a larger or a just sufficient capacity succeeds; into a smaller one it fails. */
static void test_other_capacities(void **state) {
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

/* After a restore, ticks do not sweep beyond the slots that are then in use. */
static void test_a_tick_after_a_restore(void **state) {
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

/* ---- Blocks that are refused ------------------------------------------------------------------------------------- */

/* A small pool with live and free slots, and with worn-out slots if it has generations, its snapshot, and a byte-wise
 * copy of the pool. */
typedef struct small {
    kolk_pool pool, before;
    block memory_before;
    block taken;
} small;

enum { SHAPES = 9 }; /* of each order of reuse: a plain pool, one with ages, and one without generations */

static void make_small(small *s, unsigned shape) {
    kolk_pool_desc desc = {.name = "small", .object_size = 3, .capacity = 9, .reuse = orders[shape % 3]};
    desc.ages = shape / 3 == 1;
    desc.generations = shape / 3 == 2 ? KOLK_GENERATIONS_NONE : KOLK_GENERATIONS_RECYCLE;
    make_pool(&s->pool, &desc);
    void *objects[7];
    assert_int_equal(kolk_pool_alloc_n(&s->pool, objects, 7), 7);
    for (unsigned char n = 0; n < 7; n++) memset(objects[n], n, 3);
    for (uint32_t slot = 4; slot > 0; slot -= 2) {
        kolk_pool_free(&s->pool, objects[slot]);
        kolk_pool_free(&s->pool, kolk_pool_alloc_at(&s->pool, handle_of(&s->pool, slot, UINT32_MAX)));
    }
    for (unsigned n = 5; n < 7; n++) kolk_pool_free(&s->pool, objects[n]);
    kolk_pool_free(&s->pool, objects[0]);
    if (desc.ages) kolk_pool_touch(&s->pool, objects[1]);
    assert_int_equal(s->pool.worn.count, s->pool.high ? 2 : 0);
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

static void test_forged_bytes_and_numbers(void **state) {
    for (unsigned shape = 0; shape < SHAPES; shape++) {
        small s;
        make_small(&s, shape);
        /* accepts at least all changes to the contents of the 2 live objects */
        assert_true(forge_bytes(s.taken, try_forged, &s) > 255 * 2 * 3);
        forge_numbers(s.taken, HEADER, try_forged, &s);
        end_small(&s);
    }
}

/* ---- Pools that have no snapshots, or cannot restore one --------------------------------------------------------- */

static bool set_up(void *object, void *context) {
    return true;
}

static void tear_down(void *object, void *context) {}

/* (Within a hook: contracts/test_all_hooks.c.) promise: "Returns 0 if no snapshot is possible, because", "Writes the
 * block ... below kolk_pool_snapshot_size" */
static void test_hooks_that_stand_in_the_way(void **state) {
    kolk_pool_desc descs[] = {{0}, {.life.setup = set_up}, {.life.teardown = tear_down}};
    block taken = {NULL, 0};
    for (size_t n = 0; n < LENGTH_OF(descs); n++) {
        kolk_pool pool;
        descs[n].name = "hooks", descs[n].object_size = 8, descs[n].capacity = 1;
        make_pool(&pool, &descs[n]);
        if (n == 0) taken = take_snapshot(&pool);
        assert_int_equal(kolk_pool_snapshot_size(&pool), n ? 0 : taken.size);
        assert_int_equal(kolk_pool_snapshot(&pool, taken.bytes, taken.size), n ? 0 : taken.size);
        assert_int_equal(restore(&pool, taken), n ? KOLK_NO_SNAPSHOT : KOLK_OK);
        kolk_pool_deinit(&pool);
    }
    free(taken.bytes);
}

/* restore refuses a snapshot of a pool with a different name, tag, object size, order of reuse, kind of generations or
 * ages. promise: "if it has the same ... provide these slots" */
static void test_other_pools(void **state) {
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, plain_environment, plain_environment)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_published_blocks),
        TEST(test_other_capacities),
        TEST(test_a_capacity_that_nothing_proves),
        TEST(test_a_tick_after_a_restore),
        TEST(test_forged_bytes_and_numbers),
        TEST(test_hooks_that_stand_in_the_way),
        TEST(test_other_pools),
        TEST(test_debug_modes_understand_each_other),
        TEST(test_damage_and_sites),
        TEST(test_a_trim_after_a_restore),
        TEST(test_a_walk_that_restores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
