/* The debug setting `guard`: red zones on both sides of each object. Tests where they lie; every write into them is
 * found, reported with its bytes, and repaired. (In all states of a pool: test_pool_model.c.) */
#include "../help/debug_test.h"

#define ZONE 16u /* the least size */

static void make_guarded(kolk_pool *pool, kolk_pool_desc desc) {
    if (!desc.name) desc.name = "walls";
    if (!desc.debug) desc.debug = "guard";
    make_pool(pool, &desc);
    assert_true(debug_flags(pool) & KOLK_DEBUG_GUARD);
}

/* ---- Where the zones are ----------------------------------------------------------------------------------------- */

static void check_layout(size_t size, size_t align) {
    kolk_pool pool;
    kolk_stats stats;
    make_guarded(&pool, (kolk_pool_desc){.object_size = size, .object_align = align, .capacity = 5});
    kolk_pool_stats(&pool, &stats);
    assert_int_equal(stats.object_size, size);
    assert_true(stats.stride >= size + 2 * ZONE);
    unsigned char *last = NULL;
    for (uint32_t i = 0; i < 5; i++) {
        unsigned char *object = taken_from(&pool);
        assert_int_equal((uintptr_t)object % (align ? align : 1), 0);
        memset(object, (int)i, size); /* the whole size belongs to the object */
        assert_true(kolk_pool_is_valid(&pool));
        assert_int_equal(kolk_pool_index(&pool, object), i);
        if (last) assert_true(object == last + stats.stride && object >= last + size + 2 * ZONE);
        last = object;
    }
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(all_bytes_are(kolk_pool_at(&pool, i), size, (unsigned char)i));
        give_back(&pool, kolk_pool_at(&pool, i));
    }
    end_pool(&pool);
}

/* promise: base.h "red zones of 16 ... KOLK_EACH_RUN is one object" */
static void test_all_sizes_and_alignments(void **state) {
    for (size_t size = 1; size <= 300; size++) check_layout(size, 0);
    for (size_t align = 1; align <= 4096; align *= 2)
        for (size_t size = 1; size < 100; size += 14) check_layout(size, align);
    check_layout(4096, 4096);
    check_layout(5000, 4096);
}

/* ---- Damage ------------------------------------------------------------------------------------------------------ */

typedef enum seen_by { FREE, FREE_HANDLE, CLEAR, DEINIT, WAYS } seen_by;

static void see(kolk_pool *pool, seen_by way, void *object) {
    if (way == FREE) kolk_pool_free(pool, object);
    if (way == FREE_HANDLE) assert_true(kolk_pool_free_handle(pool, kolk_pool_handle_of(pool, object)));
    if (way == CLEAR) kolk_pool_clear(pool);
    if (way == DEINIT) kolk_pool_deinit(pool);
}

/* Makes three objects and damages one byte, at the offset `at` from the start of the middle one. */
static void damage_one_byte(kolk_reuse reuse, size_t size, ptrdiff_t at, seen_by way) {
    kolk_pool pool;
    reports kept;
    unsigned char *objects[3];
    char sentence[200];
    begin_reports(&kept);
    make_guarded(&pool, (kolk_pool_desc){.object_size = size, .capacity = 3, .reuse = reuse});
    for (int i = 0; i < 3; i++) objects[i] = taken_from(&pool);
    unsigned char *byte = (unsigned char *)moved(objects[1], at);
    *byte = 0x5a;
    assert_false(kolk_pool_is_valid(&pool));
    assert_no_more(&kept);
    see(&pool, way, objects[1]);
    if (at < 0) {
        snprintf(sentence, sizeof sentence, "kolk: walls: underflow of slot 1: 5a written %d byte%s before its start",
                 (int)-at, at == -1 ? "" : "s");
        assert_damage(&kept, KOLK_UNDERFLOW, "walls", objects[1], 1, (uint32_t)-at, 1, sentence);
    } else {
        snprintf(sentence, sizeof sentence, "kolk: walls: overflow of slot 1: 5a written %d byte%s behind its end",
                 (int)(at - (ptrdiff_t)size), at == (ptrdiff_t)size + 1 ? "" : "s");
        assert_damage(&kept, KOLK_OVERFLOW, "walls", objects[1], 1, (uint32_t)at - (uint32_t)size, 1, sentence);
    }
    assert_no_more(&kept);
    if (way == DEINIT) return;
    assert_true(kolk_pool_is_valid(&pool)); /* repaired, and the call succeeded */
    assert_false(kolk_pool_is_live(&pool, objects[1]));
    assert_int_equal(kolk_pool_count(&pool), way == CLEAR ? 0 : 2);
    for (int i = 0; i < 3; i++)
        if (kolk_pool_is_live(&pool, objects[i])) give_back(&pool, objects[i]);
    end_pool(&pool);
    assert_no_more(&kept);
}

static void test_each_byte_of_the_zones(void **state) {
    static const size_t sizes[] = {1, 3, 8, 13, 16, 24, 100};
    for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
        ptrdiff_t size = (ptrdiff_t)sizes[i];
        for (ptrdiff_t distance = 0; distance < (ptrdiff_t)ZONE; distance++) {
            seen_by way = (seen_by)((size_t)distance % WAYS);
            damage_one_byte(orders[i % 3], sizes[i], -1 - distance, way);
            damage_one_byte(orders[(i + 1) % 3], sizes[i], size + distance, way);
        }
    }
}

/* After the free of a pinned object, its user writes behind it. The first report leaves the unpin, which is
 * repeated. */
static jmp_buf before_unpin;

static void leave_unpin(const kolk_failure *failure, void *context) {
    assert_int_equal(failure->rule, KOLK_OVERFLOW);
    longjmp(before_unpin, 1);
}

static void test_the_last_unpin_sees_it(void **state) {
    kolk_pool pool;
    reports kept;
    make_guarded(&pool, (kolk_pool_desc){.object_size = 8, .capacity = 1, .pins = true});
    unsigned char *object = taken_from(&pool);
    kolk_pool_pin(&pool, object);
    give_back(&pool, object);
    object[8] = 0x5a;
    kolk_set_failure_handler(leave_unpin, NULL);
    if (setjmp(before_unpin) == 0) {
        kolk_pool_unpin(&pool, object);
        fail();
    }
    assert_true(kolk_pool_is_valid(&pool));
    begin_reports(&kept);
    object[8] = 0x5a;
    kolk_pool_unpin(&pool, object);
    assert_damage(&kept, KOLK_OVERFLOW, "walls", object, 0, 0, 1,
                  "kolk: walls: overflow of slot 0: 5a written 0 bytes behind its end");
    give_back(&pool, taken_from(&pool));
    end_pool(&pool);
    assert_no_more(&kept);
}

/* 13 bytes aligned to 64: all bytes after the thirteenth are a red zone. */
static void test_the_first_byte_behind_a_size_that_is_no_multiple_of_its_alignment(void **state) {
    kolk_pool pool;
    reports kept;
    begin_reports(&kept);
    make_guarded(&pool, (kolk_pool_desc){.object_size = 13, .object_align = 64, .capacity = 2});
    unsigned char *object = taken_from(&pool), *next = taken_from(&pool);
    for (ptrdiff_t at = 13; at < next - object; at++) {
        *(unsigned char *)moved(object, at) ^= 1;
        assert_false(kolk_pool_is_valid(&pool));
        kolk_pool_clear(&pool);
        const report *now = next_report(&kept);
        bool behind = now->failure.rule == KOLK_OVERFLOW;
        assert_true(behind || now->failure.rule == KOLK_UNDERFLOW);
        if (at < 13 + (ptrdiff_t)ZONE) assert_true(behind);
        if (at >= next - object - (ptrdiff_t)ZONE) assert_false(behind);
        assert_ptr_equal(now->failure.object, behind ? object : next);
        assert_int_equal(now->failure.offset, behind ? at - 13 : next - object - at);
        assert_no_more(&kept);
        kept.count = kept.read = 0;
        assert_ptr_equal(taken_from(&pool), object);
        assert_ptr_equal(taken_from(&pool), next);
    }
    end_pool(&pool);
}

static void test_many_bytes_and_both_sides_of_an_object(void **state) {
    kolk_pool pool;
    reports kept;
    begin_reports(&kept);
    make_guarded(&pool, (kolk_pool_desc){.object_size = 8, .capacity = 3});
    unsigned char *objects[3];
    for (int i = 0; i < 3; i++) objects[i] = taken_from(&pool);
    memset(moved(objects[1], -5), 0, 5 + 8 + 16);
    assert_false(kolk_pool_is_valid(&pool));
    give_back(&pool, objects[1]);
    assert_damage(&kept, KOLK_UNDERFLOW, "walls", objects[1], 1, 5, 5,
                  "kolk: walls: underflow of slot 1: 00 00 00 00 00 written 5 bytes before its start");
    assert_damage(&kept, KOLK_OVERFLOW, "walls", objects[1], 1, 0, 16,
                  "kolk: walls: overflow of slot 1: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 written 0 bytes "
                  "behind its end");
    assert_no_more(&kept);
    /* a write from the first object across the second into the third one's zone damages the zones of the first and the
     * third */
    uint32_t between = pool.stride - 8;
    memset(moved(objects[1], 0), 0, 8); /* it is dead and not filled, so this is not damage */
    memset(moved(objects[0], 4), 0, 4 + between - ZONE);
    memset(moved(objects[2], -3), 0x11, 1);
    memset(moved(objects[2], -1), 0x22, 1);
    assert_false(kolk_pool_is_valid(&pool));
    kolk_pool_clear(&pool);
    assert_damage(&kept, KOLK_OVERFLOW, "walls", objects[0], 0, 0, between - ZONE,
                  "kolk: walls: overflow of slot 0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 written 0 bytes "
                  "behind its end");
    const report *last = next_report(&kept);
    assert_int_equal(last->failure.rule, KOLK_UNDERFLOW);
    assert_int_equal(last->failure.slot, 2);
    assert_int_equal(last->failure.offset, 3); /* the damaged byte farthest from the object */
    assert_int_equal(last->failure.count, 2);
    assert_no_more(&kept);
    end_pool(&pool);
}

/* ---- Typed pools: their functions assume a stride that is not the pool's ----------------------------------------- */

typedef struct cell cell;
KOLK_POOL_DECLARE(cells, cell)
struct cell {
    uint64_t number;
    char letter;
};
KOLK_POOL_DEFINE(cells, cell)

static void test_a_declared_and_defined_type(void **state) {
    cells pool;
    reports kept;
    cell *objects[10];
    begin_reports(&kept);
    assert_int_equal(cells_init(&pool, &(kolk_pool_desc){.name = "cells", .capacity = 10, .debug = "guard,fill"}),
                     KOLK_OK);
    assert_true(pool.pool.stride > sizeof(cell));
    for (uint64_t i = 0; i < 10; i++) {
        objects[i] = cells_alloc(&pool);
        *objects[i] = (cell){i, 'x'};
        assert_true(cells_is_valid(&pool));
    }
    for (uint32_t i = 0; i < 10; i++) {
        cells_handle handle = cells_handle_of(&pool, objects[i]);
        assert_ptr_equal(cells_get(&pool, handle), objects[i]);
        assert_int_equal(cells_index(&pool, objects[i]), i);
        assert_int_equal(objects[i]->number, i);
        if (i % 2) cells_free(&pool, objects[i]);
        assert_true(cells_is_valid(&pool));
        assert_int_equal(cells_is_live(&pool, objects[i]), i % 2 == 0);
        assert_ptr_equal(cells_get(&pool, handle), i % 2 ? NULL : objects[i]);
    }
    assert_int_equal(cells_count(&pool), 5);
    assert_ptr_equal(cells_alloc_zeroed(&pool), objects[9]);
    assert_int_equal(objects[9]->number, 0);
    ((char *)objects[9])[sizeof(cell)] = 'y';
    cells_free(&pool, objects[9]);
    assert_damage(&kept, KOLK_OVERFLOW, "cells", objects[9], 9, 0, 1,
                  "kolk: cells: overflow of slot 9: 79 written 0 bytes behind its end");
    assert_true(cells_is_valid(&pool));
    cells_deinit(&pool);
    assert_no_more(&kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_all_sizes_and_alignments),
        DEBUG_TEST(test_the_last_unpin_sees_it),
        DEBUG_TEST(test_each_byte_of_the_zones),
        DEBUG_TEST(test_the_first_byte_behind_a_size_that_is_no_multiple_of_its_alignment),
        DEBUG_TEST(test_many_bytes_and_both_sides_of_an_object),
        DEBUG_TEST(test_a_declared_and_defined_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
