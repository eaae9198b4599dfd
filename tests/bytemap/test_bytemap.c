/* kolk_bytemap: the promises of bytemap.h about one pool's life, objects, handles and iteration, with a test for each.
 * Streams of operations are in test_bytemap_model.c. */
#include "bytemap_test.h"

/* ---- The life of a pool ------------------------------------------------------------------------------------------ */

/* promise: "afterwards all ... pool all zero" */
static void test_initialise(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 100);
    assert_int_equal(pool.count, 100);
    assert_int_equal(pool.first_free, -1);
    assert_int_equal(pool.object_size, OBJECT_SIZE);
    assert_true(pool.initialized_state);
    assert_true(all_bytes_are(pool.byte_map, 100, 0x80));
    assert_int_equal(kolk_bytemap_used_count(&pool), 0);
    assert_int_equal(kolk_bytemap_free_count(&pool), 100);
    kolk_bytemap_flush(&pool);
}

/* promise: "zero-initialised pool is valid and has 0 slots" */
static void test_zero_is_a_pool_of_no_slots(void **state) {
    notes taken;
    begin_notes(&taken);
    kolk_bytemap pool = {0};
    assert_true(kolk_bytemap_is_valid(&pool));
    assert_null(kolk_bytemap_get_slot(&pool, 0));
    assert_null(kolk_bytemap_get_at(&pool, 0));
    assert_null(kolk_bytemap_next(&pool, NULL));
    assert_int_equal(kolk_bytemap_next_handle(&pool, -1), -1);
    assert_int_equal(kolk_bytemap_used_count(&pool), 0);
    assert_int_equal(kolk_bytemap_free_count(&pool), 0);
    assert_null(kolk_bytemap_new_at(&pool, 1));
    assert_null(kolk_bytemap_new(&pool));
    kolk_bytemap_delete(&pool, NULL);
    kolk_bytemap_clear(&pool);
    assert_true(kolk_bytemap_is_valid(&pool));
    kolk_bytemap_flush(&pool);
    kolk_bytemap_flush(&pool);
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
    assert_silent(&taken);
}

static void test_a_pool_of_no_slots(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 0);
    assert_true(pool.initialized_state);
    assert_null(kolk_bytemap_new(&pool));
    assert_int_equal(pool.first_free, -1);
    assert_true(kolk_bytemap_is_valid(&pool));
    assert_int_equal(kolk_bytemap_initialise(&pool, 1, 1), KOLK_NOT_FLUSHED);
    kolk_bytemap_flush(&pool);
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
}

/* promise: "frees the arrays ... flush does nothing" */
static void test_flush(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 5);
    make_objects(&pool, 3);
    kolk_bytemap_flush(&pool);
    assert_int_equal(pool.first_free, 0); /* as in the games */
    assert_false(pool.initialized_state); /* unlike in the games */
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
    assert_null(kolk_bytemap_new(&pool));
    assert_int_equal(kolk_bytemap_initialise(&pool, 7, OBJECT_SIZE), KOLK_OK);
    assert_int_equal(handle_of_new(&pool), 1);
    assert_int_equal(pool.count, 7);
    kolk_bytemap_flush(&pool);
}

static void test_a_second_initialise(void **state) {
    owner theirs = some_owner;
    kolk_bytemap_view view = view_of(&theirs);
    kolk_bytemap pool, before;
    make_bytemap(&pool, 5);
    make_objects(&pool, 2);
    before = pool;
    assert_int_equal(kolk_bytemap_initialise(&pool, 9, OBJECT_SIZE), KOLK_NOT_FLUSHED);
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_NOT_FLUSHED);
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_NOT_FLUSHED);
    assert_memory_equal(&pool, &before, sizeof pool);
    kolk_bytemap_flush(&pool);
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
    assert_int_equal(kolk_bytemap_initialise(&pool, 9, OBJECT_SIZE), KOLK_NOT_FLUSHED);
    kolk_bytemap_flush(&pool);
}

/* Storage should be all zero; other likely bytes are not mistaken for a pool. */
static void test_dirty_storage_is_no_pool(void **state) {
    kolk_bytemap pool, other;
    memset(&pool, 0xff, sizeof pool);
    assert_int_equal(kolk_bytemap_initialise(&pool, 3, OBJECT_SIZE), KOLK_OK);
    other = pool; /* a copy of a pool is not a pool */
    assert_false(kolk_bytemap_is_valid(&other));
    assert_int_equal(kolk_bytemap_initialise(&other, 3, OBJECT_SIZE), KOLK_OK);
    kolk_bytemap_flush(&pool);
    kolk_bytemap_flush(&other);
}

#define MOST ((size_t)PTRDIFF_MAX - 3 * 4096 - 2) /* pages for three arrays, of which two have a byte for the slot */

/* Which function refuses each descriptor: initialise_with, attach, or both. promise: "give both arrays, or neither" */
static void test_bad_descriptors(void **state) {
    static unsigned char objects[100];
    static uint8_t bytes[100];
    static const struct {
        kolk_bytemap_view view;
        kolk_status initialise, attach;
    } cases[] = {
        {{.object_list = objects, .byte_map = bytes, .count = 3}, KOLK_ZERO_SIZE, KOLK_ZERO_SIZE},
        {{.object_size = 1, .count = -1}, KOLK_BAD_COUNT, KOLK_BAD_COUNT},
        {{.object_size = 1, .count = INT32_MIN}, KOLK_BAD_COUNT, KOLK_BAD_COUNT},
        {{.object_size = 1, .count = KOLK_BYTEMAP_MAX_COUNT + 1}, KOLK_BAD_COUNT, KOLK_BAD_COUNT},
        {{.object_size = MOST + 1, .count = 1}, KOLK_SIZE_OVERFLOW, KOLK_SIZE_OVERFLOW},
        {{.object_size = MOST, .count = 1, .object_list = objects, .byte_map = bytes}, KOLK_OK, KOLK_OK},
        {{.object_size = PTRDIFF_MAX / 2, .count = 3}, KOLK_SIZE_OVERFLOW, KOLK_SIZE_OVERFLOW},
        {{.object_size = SIZE_MAX, .count = 3}, KOLK_SIZE_OVERFLOW, KOLK_SIZE_OVERFLOW},
        {{.object_size = 1, .count = 3, .object_list = objects}, KOLK_ARRAY_MISSING, KOLK_ARRAY_MISSING},
        {{.object_size = 1, .count = 3, .byte_map = bytes}, KOLK_ARRAY_MISSING, KOLK_ARRAY_MISSING},
        {{.object_size = 1, .count = 3}, KOLK_OK, KOLK_ARRAY_MISSING},
        {{.object_size = 1, .count = 0}, KOLK_OK, KOLK_OK},
        {{.object_size = SIZE_MAX, .count = 0}, KOLK_OK, KOLK_OK},
        {{.object_size = 1, .seeds = (kolk_bytemap_seeds)2}, KOLK_BAD_SEEDS, KOLK_BAD_SEEDS},
    };
    for (size_t i = 0; i < LENGTH_OF(cases); i++) {
        kolk_bytemap pool = {0};
        assert_int_equal(kolk_bytemap_initialise_with(&pool, &cases[i].view), cases[i].initialise);
        if (cases[i].initialise == KOLK_OK) kolk_bytemap_flush(&pool);
        assert_true(all_bytes_are(&pool, sizeof pool, 0));
        memset(&pool, 0xff, sizeof pool);
        assert_int_equal(kolk_bytemap_attach(&pool, &cases[i].view), cases[i].attach);
        if (cases[i].attach == KOLK_OK) kolk_bytemap_flush(&pool);
        assert_true(all_bytes_are(&pool, sizeof pool, 0));
    }
    kolk_bytemap pool;
    assert_int_equal(kolk_bytemap_initialise_with(&pool, NULL), KOLK_NO_DESCRIPTOR);
    kolk_bytemap_view view = {.object_size = 1, .count = 1};
    assert_int_equal(kolk_bytemap_init_abi_(&pool, &view, false, 0, 0, sizeof pool, KOLK_ABI + 1), KOLK_WRONG_ABI);
    assert_int_equal(kolk_bytemap_init_abi_(&pool, &view, false, 0, 0, sizeof pool - 8, KOLK_ABI), KOLK_WRONG_ABI);
}

/* A handle has 31 bits without its sign, and 8 of them are the byte. */
static void test_the_greatest_count(void **state) {
    kolk_bytemap pool = {0};
    int32_t last = KOLK_BYTEMAP_MAX_COUNT - 1;
    assert_int_equal(kolk_bytemap_initialise(&pool, KOLK_BYTEMAP_MAX_COUNT, 1), KOLK_OK);
    pool.first_free = last - 1;
    assert_true(kolk_bytemap_is_valid(&pool));
    assert_int_equal(handle_of_new(&pool), 0x7fffff01);
    assert_ptr_equal(kolk_bytemap_get_at(&pool, 0x7fffff01), slot_of(&pool, last));
    kolk_bytemap_delete(&pool, slot_of(&pool, last));
    assert_int_equal(kolk_bytemap_get_index(&pool, slot_of(&pool, last)), 0x7fffff81);
    pool.seeds = KOLK_BYTEMAP_SEED_OF_HANDLE;
    assert_ptr_equal(kolk_bytemap_new_at(&pool, 0x7fffff7f), slot_of(&pool, last));
    assert_int_equal(kolk_bytemap_next_handle(&pool, -1), 0x7fffff7f);
    assert_int_equal(kolk_bytemap_next_handle(&pool, 0x7fffff7f), -1);
    kolk_bytemap_delete(&pool, slot_of(&pool, last));
    assert_int_equal(pool.byte_map[last], 0xff);
    assert_null(kolk_bytemap_get_at(&pool, -1)); /* the null handle, whatever the last byte is */
    assert_null(kolk_bytemap_new_at(&pool, -1));
    kolk_bytemap_flush(&pool);
}

/* promise: "give both arrays, or neither", "or your own arrays, which flush does not free" */
static void test_given_arrays(void **state) {
    struct {
        unsigned char objects[5][OBJECT_SIZE];
        uint8_t bytes[5], behind;
    } mine;
    memset(&mine, 0x55, sizeof mine);
    kolk_bytemap pool = {0};
    kolk_bytemap_view view = {
        .name = "mine", .object_list = mine.objects, .byte_map = mine.bytes, .object_size = OBJECT_SIZE, .count = 5};
    int32_t cursor = 3;
    view.first_free = 3; /* this field is for attach */
    view.cursor = &cursor;
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_OK);
    assert_true(all_bytes_are(mine.bytes, 5, 0x80));
    assert_int_equal(pool.first_free, -1);
    assert_ptr_equal(kolk_bytemap_new(&pool), mine.objects[0]);
    make_objects(&pool, 4);
    assert_null(kolk_bytemap_new(&pool));
    assert_true(kolk_bytemap_is_valid(&pool));
    kolk_bytemap_flush(&pool);
    assert_true(all_bytes_are(mine.bytes, 5, 1)); /* neither freed nor cleared */
    assert_true(all_bytes_are(mine.objects, sizeof mine.objects, 0x55));
    assert_int_equal(mine.behind, 0x55);
    assert_int_equal(cursor, 3);
}

/* promise: "all slots become ... first_free does not change" */
static void test_clear(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 5);
    make_objects(&pool, 3);
    int32_t first_free = pool.first_free;
    kolk_bytemap_clear(&pool);
    assert_true(all_bytes_are(pool.byte_map, 5, 0x80)); /* the seeds are 0 */
    assert_int_equal(pool.first_free, first_free);      /* unchanged */
    assert_int_equal(kolk_bytemap_used_count(&pool), 0);
    assert_int_equal(handle_of_new(&pool), 0x301);
    make_objects(&pool, 2);
    assert_non_null(kolk_bytemap_get_at(&pool, 1)); /* an old handle has come back to life */
    kolk_bytemap_flush(&pool);
}

/* All bytes in all slots: what is free, what is in use and the peak follow, the cursor and the objects do not change.
 * promise: "SetFreeAt and SetIdAt in one ... and changes nothing, if", "-1 to count - 1: `new` begins after it" */
static void test_set_byte(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 3);
    memset(pool.object_list, 0x5a, 3 * OBJECT_SIZE);
    for (int32_t round = 0; round < 3 * 256; round++) {
        int32_t index = round % 3;
        assert_true(kolk_bytemap_set_byte(&pool, index, (uint8_t)round));
        assert_int_equal(pool.byte_map[index], (uint8_t)round);
        assert_ptr_equal(kolk_bytemap_get_at(&pool, index * 256 + round % 256),
                         round & 0x80 ? NULL : slot_of(&pool, index));
        assert_true(kolk_bytemap_is_valid(&pool)); /* counts the used slots */
        assert_int_equal(pool.first_free, -1);
    }
    assert_int_equal(pool.peak, 3);
    uint8_t before[3];
    memcpy(before, pool.byte_map, 3);
    assert_false(kolk_bytemap_set_byte(&pool, -1, 0));
    assert_false(kolk_bytemap_set_byte(&pool, 3, 0));
    assert_false(kolk_bytemap_set_byte(&pool, INT32_MIN, 0));
    assert_memory_equal(pool.byte_map, before, 3);
    assert_true(all_bytes_are(pool.object_list, sizeof before * OBJECT_SIZE, 0x5a));
    kolk_bytemap_clear(&pool);
    pool.first_free = 1;
    assert_int_equal(handle_of_new(&pool), 0x201);
    kolk_bytemap_flush(&pool);
}

/* promise: "a new object ... data in a slot" */
static void test_contents_are_left_alone(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 1);
    void *object = kolk_bytemap_new(&pool);
    memset(object, 0x5a, OBJECT_SIZE);
    kolk_bytemap_delete(&pool, object);
    assert_true(all_bytes_are(object, OBJECT_SIZE, 0x5a));
    assert_ptr_equal(kolk_bytemap_new(&pool), object);
    kolk_bytemap_clear(&pool);
    assert_ptr_equal(kolk_bytemap_new(&pool), object);
    assert_true(all_bytes_are(object, OBJECT_SIZE, 0x5a));
    kolk_bytemap_flush(&pool);
}

/* ---- Handles and indices ----------------------------------------------------------------------------------------- */

/* promise: "returns the object of a handle, or ... find another object" */
static void test_get_at_knows_every_handle(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 3);
    make_objects(&pool, 3);
    kolk_bytemap_delete(&pool, slot_of(&pool, 1));
    for (int32_t handle = -0x400; handle < 0x400; handle++) {
        void *expected = handle == 0x001 ? slot_of(&pool, 0) : handle == 0x201 ? slot_of(&pool, 2) : NULL;
        assert_ptr_equal(kolk_bytemap_get_at(&pool, handle), expected);
    }
    int32_t of_free = kolk_bytemap_get_index(&pool, slot_of(&pool, 1));
    assert_int_equal(of_free, 0x181);
    assert_null(kolk_bytemap_get_at(&pool, of_free)); /* the games return the free slot */
    assert_null(kolk_bytemap_get_at(&pool, INT32_MAX));
    assert_null(kolk_bytemap_get_at(&pool, INT32_MIN));
    kolk_bytemap_flush(&pool);
}

/* Sizes with every shift, and odd ones: slots are object_size apart, and no other byte is the start of a slot.
 * promise: "system (freestanding builds return KOLK_NO_MEMORY) ... only with .writable", "return the index ... result
 * is then -1" */
static void test_every_size(void **state) {
    notes taken;
    begin_notes(&taken);
    for (size_t size = 1; size <= 70; size++) {
        kolk_bytemap pool = {0};
        assert_int_equal(kolk_bytemap_initialise(&pool, 9, size), KOLK_OK);
        make_objects(&pool, 9);
        for (size_t offset = 0; offset < 9 * size; offset++) {
            int32_t expected = offset % size ? -1 : (int32_t)(offset / size);
            assert_int_equal(kolk_bytemap_get_just_index(&pool, pool.object_list + offset), expected);
        }
        assert_int_equal(taken.count, 9 * (size - 1));
        taken.count = 0;
        kolk_bytemap_flush(&pool);
    }
}

/* ---- Walking, counting ------------------------------------------------------------------------------------------- */

/* promise: "used slots in ascending ... not be visited", "Returns the next ... result is then NULL" */
static void test_walking_while_deleting(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 30);
    make_objects(&pool, 30);
    int32_t expected = 0;
    for (void *each = NULL; (each = kolk_bytemap_next(&pool, each)) != NULL; expected += 3) {
        assert_ptr_equal(each, slot_of(&pool, expected));
        kolk_bytemap_delete(&pool, each); /* deletes the current object, and two later ones */
        kolk_bytemap_delete(&pool, kolk_bytemap_get_slot(&pool, expected + 1));
        kolk_bytemap_delete(&pool, kolk_bytemap_get_slot(&pool, expected + 2));
    }
    assert_int_equal(expected, 30);
    assert_int_equal(kolk_bytemap_used_count(&pool), 0);
    make_objects(&pool, 30);
    expected = 0;
    for (int32_t h = -1; (h = kolk_bytemap_next_handle(&pool, h)) != -1; expected++) {
        assert_int_equal(h, expected << 8 | 2);
        kolk_bytemap_delete(&pool, kolk_bytemap_get_at(&pool, h));
    }
    assert_int_equal(expected, 30);
    kolk_bytemap_flush(&pool);
}

/* promise: "Returns the handle ... -1 ends it" */
static void test_walking_by_any_handle_ends(void **state) {
    kolk_bytemap pool;
    make_bytemap(&pool, 3);
    make_objects(&pool, 3);
    assert_int_equal(kolk_bytemap_next_handle(&pool, 0x055), 0x101); /* a stale handle: only its slot matters */
    static const int32_t beyond[] = {0x201, 0x300, INT32_MAX, -2, INT32_MIN};
    for (size_t i = 0; i < LENGTH_OF(beyond); i++) assert_int_equal(kolk_bytemap_next_handle(&pool, beyond[i]), -1);
    kolk_bytemap_flush(&pool);
}

/* promise: "peak of an attached pool is its present count", "kolk_bytemap_free_count", "kolk_bytemap_used_count" */
static void test_stats(void **state) {
    kolk_bytemap pool = {0};
    kolk_bytemap_view view = {.name = "peds", .object_size = OBJECT_SIZE, .count = 10};
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_OK);
    make_objects(&pool, 7);
    for (int32_t i = 0; i < 4; i++) kolk_bytemap_delete(&pool, slot_of(&pool, i));
    make_objects(&pool, 1);
    kolk_stats stats;
    kolk_bytemap_stats(&pool, &stats);
    assert_string_equal(stats.name, "peds");
    assert_string_equal(stats.kind, "bytemap");
    assert_int_equal(stats.object_size, OBJECT_SIZE);
    assert_int_equal(stats.stride, OBJECT_SIZE);
    assert_int_equal(stats.count, 4);
    assert_int_equal(stats.peak, 7);
    assert_int_equal(stats.capacity, 10);
    assert_int_equal(stats.max_capacity, 10);
    assert_int_equal(stats.unused_bytes, 3 * OBJECT_SIZE);
    assert_int_equal(stats.bytes_reserved, 10 * (OBJECT_SIZE + 1));
    assert_int_equal(stats.bytes_committed, 10 * (OBJECT_SIZE + 1));
    assert_int_equal(stats.failed, 0);
    assert_int_equal(stats.evictions + stats.wrong_pool + stats.worn_out + stats.recycled + stats.debug, 0);
    make_objects(&pool, 6);
    assert_null(kolk_bytemap_new(&pool));
    assert_null(kolk_bytemap_new(&pool));
    kolk_bytemap_clear(&pool); /* does not reset counters */
    kolk_bytemap_stats(&pool, &stats);
    assert_int_equal(stats.failed, 2);
    assert_int_equal(stats.peak, 10);
    assert_int_equal(stats.count, 0);
    assert_int_equal(kolk_bytemap_free_count(&pool), 10);
    kolk_bytemap_flush(&pool);
    kolk_bytemap_stats(&pool, &stats);
    assert_string_equal(stats.name, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_initialise),
        TEST(test_zero_is_a_pool_of_no_slots),
        TEST(test_a_pool_of_no_slots),
        TEST(test_flush),
        TEST(test_a_second_initialise),
        TEST(test_dirty_storage_is_no_pool),
        TEST(test_bad_descriptors),
        TEST(test_the_greatest_count),
        TEST(test_given_arrays),
        TEST(test_clear),
        TEST(test_set_byte),
        TEST(test_contents_are_left_alone),
        TEST(test_get_at_knows_every_handle),
        TEST(test_every_size),
        TEST(test_walking_while_deleting),
        TEST(test_walking_by_any_handle_ends),
        TEST(test_stats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
