/* Misuse that only GTA pools have; contracts/test_all_misuse.c has the misuse common to all kinds. Also tests that
 * is_valid detects each broken invariant of src/bytemap/bytemap.c. */
#include "bytemap_test.h"

#define SLOTS 5

/* Slots 0 to 3 were used, 2 and 3 are free again, and 4 was never used. */
typedef struct fixture {
    kolk_bytemap pool, before;
    unsigned char objects[SLOTS][OBJECT_SIZE];
    uint8_t bytes[SLOTS], bytes_before[SLOTS];
    notes taken;
} fixture;

static void set_up(fixture *f, const char *name) {
    memset(f, 0, sizeof *f);
    kolk_bytemap_view view = {
        .name = name, .object_list = f->objects, .byte_map = f->bytes, .object_size = OBJECT_SIZE, .count = SLOTS};
    assert_int_equal(kolk_bytemap_initialise_with(&f->pool, &view), KOLK_OK);
    make_objects(&f->pool, 4);
    kolk_bytemap_delete(&f->pool, f->objects[2]);
    kolk_bytemap_delete(&f->pool, f->objects[3]);
    begin_notes(&f->taken);
    f->before = f->pool;
    memcpy(f->bytes_before, f->bytes, sizeof f->bytes);
}

static void assert_unchanged(const fixture *f) {
    assert_memory_equal(&f->pool, &f->before, sizeof f->pool);
    assert_memory_equal(f->bytes, f->bytes_before, sizeof f->bytes);
    assert_true(kolk_bytemap_is_valid(&f->pool));
}

static void test_what_never_was_in_use(void **state) {
    fixture f;
    set_up(&f, "peds");
    kolk_bytemap_delete(&f.pool, f.objects[4]);
    assert_noted(&f.taken, KOLK_DOUBLE_FREE, "peds", f.objects[4], 4, "kolk: peds: delete of slot 4, which is free");
    assert_unchanged(&f);
    kolk_bytemap_flush(&f.pool);
    assert_int_equal(kolk_bytemap_get_index(&f.pool, f.objects), -1); /* a pool without slots has no objects */
    assert_int_equal(f.taken.count, 1);
}

/* The result and the cursor are those of a full pool that is not reported. */
static void test_trap_full(void **state) {
    fixture f;
    set_up(&f, "peds");
    f.pool.trap_full = true;
    make_objects(&f.pool, 3);
    assert_silent(&f.taken);
    assert_null(kolk_bytemap_new(&f.pool));
    assert_noted(&f.taken, KOLK_FULL, "peds", NULL, NO_SLOT, "kolk: peds: full: all 5 slots are in use");
    assert_int_equal(f.pool.first_free, -1);
    assert_int_equal(f.pool.failed, 1);
    assert_true(kolk_bytemap_is_valid(&f.pool));
    kolk_bytemap_flush(&f.pool);
    assert_false(f.pool.trap_full);
}

static void test_an_attached_pool_is_not_written(void **state) {
    owner theirs = some_owner;
    notes taken;
    begin_notes(&taken);
    kolk_bytemap pool = {0};
    kolk_bytemap_view view = view_of(&theirs);
    view.cursor = &theirs.first_free;
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
    kolk_bytemap before = pool;
#define SENTENCE(verb) "kolk: theirs: " verb " in a pool that was attached without .writable"
    assert_null(kolk_bytemap_new(&pool));
    assert_noted(&taken, KOLK_READ_ONLY, "theirs", NULL, NO_SLOT, SENTENCE("new"));
    assert_null(kolk_bytemap_new_at(&pool, 0));
    assert_noted(&taken, KOLK_READ_ONLY, "theirs", NULL, NO_SLOT, SENTENCE("new_at"));
    kolk_bytemap_delete(&pool, theirs.objects[1]);
    assert_noted(&taken, KOLK_READ_ONLY, "theirs", NULL, NO_SLOT, SENTENCE("delete"));
    assert_false(kolk_bytemap_set_byte(&pool, 1, 0x80));
    assert_noted(&taken, KOLK_READ_ONLY, "theirs", NULL, NO_SLOT, SENTENCE("set_byte"));
    kolk_bytemap_clear(&pool);
    assert_noted(&taken, KOLK_READ_ONLY, "theirs", NULL, NO_SLOT, SENTENCE("clear"));
    kolk_bytemap_delete(&pool, NULL);
    kolk_stats stats;
    kolk_bytemap_stats(&pool, &stats);
    assert_silent(&taken);
    assert_memory_equal(&pool, &before, sizeof pool);
    kolk_bytemap_flush(&pool);
    assert_memory_equal(&theirs, &some_owner, sizeof theirs);
}

/* ---- Broken invariants ------------------------------------------------------------------------------------------- */

#define assert_seen(what, value) assert_breaks(kolk_bytemap_is_valid, pool, what, value)

static void break_what_all_have(kolk_bytemap *pool) {
    assert_seen(pool->count, -1);
    assert_seen(pool->count, KOLK_BYTEMAP_MAX_COUNT + 1);
    assert_seen(pool->self, NULL);
    assert_seen(pool->self, pool + 1);
    assert_seen(pool->object_list, NULL);
    assert_seen(pool->byte_map, NULL);
    assert_seen(pool->object_size, 0);
    assert_seen(pool->object_size, OBJECT_SIZE + 1);
    assert_seen(pool->object_size, 2 * OBJECT_SIZE);
    assert_seen(pool->shift, 0);
    assert_seen(pool->shift, 1);
    assert_seen(pool->shift, 3);
    assert_seen(pool->inverse, pool->inverse + 1);
    assert_seen(pool->initialized_state, false);
    assert_seen(pool->bound, pool->bound + 1);
    assert_seen(pool->bound, pool->bound - 1);
}

/* promise: "Checks every ... cursor too" */
static void test_broken_invariants(void **state) {
    kolk_bytemap own, *pool = &own;
    make_bytemap(pool, 20);
    make_objects(pool, 12);
    for (int32_t i = 0; i < 4; i++) kolk_bytemap_delete(pool, slot_of(pool, 3 * i));
    assert_true(kolk_bytemap_is_valid(pool));
    break_what_all_have(pool);
    assert_seen(pool->count, 21);
    assert_seen(pool->count, 7);
    assert_seen(pool->first_free, -2);
    assert_seen(pool->first_free, 20);
    assert_seen(pool->used, 7);
    assert_seen(pool->used, 9);
    assert_seen(pool->peak, 7);
    assert_seen(pool->peak, 21);
    assert_seen(pool->byte_map, pool->byte_map + 1);
    uint8_t copy[20];
    memcpy(copy, pool->byte_map, sizeof copy);
    assert_seen(pool->byte_map, copy); /* the same bytes at another address */
    for (int32_t i = 0; i < 20; i++) assert_seen(pool->byte_map[i], pool->byte_map[i] ^ 0x80);
    kolk_bytemap_flush(pool);

    assert_seen(pool->count, 1);
    assert_seen(pool->bound, 1);
    assert_seen(pool->used, 1);
    assert_seen(pool->first_free, 1);
    assert_seen(pool->first_free, -2);
    unsigned char something;
    assert_seen(pool->object_list, &something);
    assert_seen(pool->byte_map, &something);
}

static void test_broken_invariants_of_attached_pools(void **state) {
    owner theirs = some_owner;
    kolk_bytemap attached = {0}, *pool = &attached;
    kolk_bytemap_view view = view_of(&theirs);
    assert_int_equal(kolk_bytemap_attach(pool, &view), KOLK_OK);
    break_what_all_have(pool);
    assert_seen(pool->first_free, 6);
    assert_seen(pool->first_free, -2);
    assert_seen(pool->block, &theirs);
    pool->used = pool->peak = 99; /* not checked */
    assert_true(kolk_bytemap_is_valid(pool));
    pool->used = pool->peak = 0;
    kolk_bytemap_flush(pool);
    view.cursor = &theirs.first_free;
    assert_int_equal(kolk_bytemap_attach(pool, &view), KOLK_OK);
    assert_seen(theirs.first_free, 6);
    assert_seen(theirs.first_free, -2);
    kolk_bytemap_flush(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_never_was_in_use),
        TEST(test_trap_full),
        TEST(test_an_attached_pool_is_not_written),
        TEST(test_broken_invariants),
        TEST(test_broken_invariants_of_attached_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
