/* The debug setting `guard`: red zones on both sides of each object. Tests where they lie and which pools have none;
 * every write into them is found, reported with its bytes, and repaired. */
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
    (void)state;
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
    (void)state;
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

/* 13 bytes aligned to 64: all bytes after the thirteenth are a red zone. */
static void test_the_first_byte_behind_a_size_that_is_no_multiple_of_its_alignment(void **state) {
    (void)state;
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
    (void)state;
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

static void test_zones_of_dead_objects(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        reports kept;
        begin_reports(&kept);
        make_guarded(&pool,
                     (kolk_pool_desc){.object_size = 6, .capacity = 2, .reuse = orders[n], .debug = "guard,fill"});
        unsigned char *object = taken_from(&pool), *other = taken_from(&pool);
        give_back(&pool, object);
        object[-1] = 1;
        object[0] = 2;
        object[6] = 3;
        assert_false(kolk_pool_is_valid(&pool));
        assert_ptr_equal(taken_from(&pool), object);
        assert_damage(&kept, KOLK_UNDERFLOW, "walls", object, 0, 1, 1,
                      "kolk: walls: underflow of slot 0: 01 written 1 byte before its start");
        assert_damage(&kept, KOLK_OVERFLOW, "walls", object, 0, 0, 1,
                      "kolk: walls: overflow of slot 0: 03 written 0 bytes behind its end");
        assert_damage(&kept, KOLK_WRITE_AFTER_FREE, "walls", object, 0, 0, 1,
                      "kolk: walls: write after free to slot 0: 02 written at byte 0 of it");
        assert_no_more(&kept);
        give_back(&pool, other);
        end_pool(&pool);
        assert_no_more(&kept);
    }
}

/* When the handler is called, the damage that it gets is already repaired. Each other damaged zone is reported on its
 * own. */
static unsigned calls;

static void look_at_the_pool(const kolk_failure *failure, void *context) {
    kolk_pool *pool = (kolk_pool *)context;
    calls++;
    assert_true(kolk_pool_is_valid(pool));
    assert_true(kolk_pool_is_live(pool, failure->object));
    assert_int_equal(kolk_pool_index(pool, failure->object), failure->slot);
    assert_ptr_equal(kolk_pool_at(pool, failure->slot), failure->object);
    assert_int_equal(kolk_pool_count(pool), 2);
    assert_ptr_equal(kolk_pool_get(pool, kolk_pool_handle_of(pool, failure->object)), failure->object);
    assert_ptr_equal(first_alive(pool), kolk_pool_at(pool, 0));
    assert_true(debug_flags(pool) & KOLK_DEBUG_GUARD);
}

static void test_it_is_put_right_before_the_handler_is_called(void **state) {
    (void)state;
    kolk_pool pool;
    make_guarded(&pool, (kolk_pool_desc){.object_size = 8, .capacity = 2});
    unsigned char *object = taken_from(&pool);
    taken_from(&pool);
    calls = 0;
    kolk_set_failure_handler(look_at_the_pool, &pool);
    object[8] = 1;
    kolk_pool_free(&pool, object);
    assert_int_equal(calls, 1);
    object = taken_from(&pool);
    object[-1] = 1;
    kolk_pool_deinit(&pool);
    assert_int_equal(calls, 2);
}

/* ---- Pointers into zones ----------------------------------------------------------------------------------------- */

static void test_pointers_into_zones_are_no_objects(void **state) {
    (void)state;
    kolk_pool pool;
    notes taken;
    begin_notes(&taken);
    make_guarded(&pool, (kolk_pool_desc){.object_size = 24, .capacity = 3});
    unsigned char *objects[3];
    for (int i = 0; i < 3; i++) objects[i] = taken_from(&pool);
    for (uint32_t inside = 1; inside < pool.stride; inside++) {
        char sentence[100];
        void *pointer = moved(objects[1], (ptrdiff_t)inside);
        snprintf(sentence, sizeof sentence, "kolk: walls: free of a pointer into slot 1, at byte %u of it", inside);
        kolk_pool_free(&pool, pointer);
        assert_noted(&taken, KOLK_INTERIOR_POINTER, "walls", pointer, 1, sentence);
        assert_false(kolk_pool_is_live(&pool, pointer));
    }
    assert_int_equal(kolk_pool_count(&pool), 3);
    end_pool(&pool);
    assert_silent(&taken);
}

/* ---- Iteration over objects with gaps between them --------------------------------------------------------------- */

struct thing {
    uint32_t number;
    char text[7];
};
KOLK_POOL_TYPE(things, struct thing)

static void test_runs_of_one(void **state) {
    (void)state;
    things pool;
    struct thing *objects[130];
    assert_int_equal(things_init(&pool, &(kolk_pool_desc){.capacity = 130, .debug = "guard"}), KOLK_OK);
    assert_true(pool.pool.stride > sizeof(struct thing));
    assert_int_equal(things_alloc_n(&pool, objects, 130), 130);
    for (uint32_t i = 0; i < 130; i++) objects[i]->number = i;
    for (uint32_t i = 0; i < 130; i += 3) things_free(&pool, objects[i]);
    uint32_t expected = 1;
    KOLK_EACH_RUN(things, run, n, &pool) {
        assert_int_equal(n, 1);
        assert_ptr_equal(run, objects[expected]);
        expected += expected % 3 == 1 ? 1 : 2;
    }
    assert_int_equal(expected, 130);
    uint32_t n;
    kolk_cursor cursor = things_each_in(&pool, 4, 2);
    assert_ptr_equal(things_each_next_run(&cursor, &n), objects[4]);
    assert_ptr_equal(things_each_next_run(&cursor, &n), objects[5]);
    assert_null(things_each_next_run(&cursor, &n));
    assert_int_equal(n, 0);
    expected = 1;
    KOLK_EACH(things, each, &pool) {
        assert_int_equal(each->number, expected);
        assert_ptr_equal(each, things_at(&pool, expected));
        assert_int_equal(things_index(&pool, each), expected);
        assert_ptr_equal(things_get(&pool, things_handle_of(&pool, each)), each);
        assert_true(things_is_live(&pool, each));
        expected += expected % 3 == 1 ? 1 : 2;
    }
    assert_int_equal(expected, 130);
    KOLK_EACH(things, each, &pool) things_free(&pool, each);
    assert_int_equal(things_count(&pool), 0);
    end_pool(&pool.pool);
}

/* ---- Typed pools: their functions assume a stride that is not the pool's ----------------------------------------- */

typedef struct cell cell;
KOLK_POOL_DECLARE(cells, cell)
struct cell {
    uint64_t number;
    char letter;
};
KOLK_POOL_DEFINE(cells, cell)

struct circle {
    float radius;
};
struct square {
    double side;
    char name[30];
};
union shape {
    struct circle circle;
    struct square square;
};
KOLK_POOL_TYPE(shapes, union shape)
KOLK_POOL_MEMBER(shapes, struct circle, circle)
KOLK_POOL_MEMBER(shapes, struct square, square)

static void test_a_declared_and_defined_type(void **state) {
    (void)state;
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

static void test_members_of_a_union(void **state) {
    (void)state;
    shapes pool;
    assert_int_equal(shapes_init(&pool, &(kolk_pool_desc){.capacity = 2, .debug = "guard,fill,quarantine=1"}), KOLK_OK);
    struct circle *circle = shapes_alloc_circle(&pool);
    struct square *square = shapes_alloc_square(&pool);
    assert_true(circle && square && shapes_is_valid(&pool));
    assert_true(all_bytes_are(square, sizeof(union shape), 0xcd));
    memset(square, 1, sizeof *square);
    circle->radius = 2;
    assert_true(shapes_is_valid(&pool));
    shapes_free_square(&pool, square);
    shapes_free_circle(&pool, circle);
    assert_int_equal(shapes_count(&pool), 0);
    assert_true(shapes_is_valid(&pool));
    assert_ptr_equal(shapes_alloc_circle(&pool), square); /* the circle is in quarantine */
    end_pool(&pool.pool);
}

/* ---- The caller's memory, trim, reserve -------------------------------------------------------------------------- */

static void test_the_callers_memory_has_no_zones(void **state) {
    (void)state;
    _Alignas(16) static unsigned char memory[KOLK_POOL_BYTES(24, 8, 5)];
    kolk_pool pool;
    kolk_stats stats;
    make_pool(
        &pool,
        &(kolk_pool_desc){
            .object_size = 24, .capacity = 5, .memory = memory, .memory_size = sizeof memory, .debug = "guard,trace"});
    kolk_pool_stats(&pool, &stats);
    assert_int_equal(stats.debug, KOLK_DEBUG_TRACE);
    assert_int_equal(stats.stride, 24);
    void *objects[5];
    assert_int_equal(kolk_pool_alloc_n(&pool, objects, 5), 5);
    memset(memory, 0x33, 5 * 24); /* all of it */
    assert_true(kolk_pool_is_valid(&pool));
    kolk_cursor cursor = kolk_pool_each(&pool);
    for (size_t i = 0; i < 5; i++) assert_ptr_equal(kolk_cursor_next(&cursor), moved(memory, (ptrdiff_t)i * 24));
    assert_null(kolk_cursor_next(&cursor));
    end_pool(&pool);
}

static bool set_up(void *object, void *context) {
    ++*(unsigned *)context;
    memset(object, 0x44, 700);
    return true;
}

static void tear_down(void *object, void *context) {
    --*(unsigned *)context;
    assert_true(all_bytes_are(object, 700, 0x44));
}

static void test_trim_and_growth(void **state) {
    (void)state;
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        reports kept;
        void *objects[300];
        unsigned ready = 0;
        begin_reports(&kept);
        make_guarded(&pool, (kolk_pool_desc){.object_size = 700,
                                             .max_capacity = 300,
                                             .reuse = orders[n],
                                             .life.setup = set_up,
                                             .life.teardown = tear_down,
                                             .context = &ready});
        assert_int_equal(kolk_pool_reserve(&pool, 10), KOLK_OK);
        for (uint32_t i = 0; i < 300; i++) {
            objects[i] = taken_from(&pool);
            assert_true(all_bytes_are(objects[i], 700, 0x44));
        }
        assert_null(kolk_pool_alloc(&pool));
        assert_int_equal(ready, 300);
        for (uint32_t i = 0; i < 300; i++)
            if (i != 150) kolk_pool_free(&pool, objects[i]);
        assert_int_equal(ready, 300);
        assert_true(kolk_pool_is_valid(&pool));
        assert_true(kolk_pool_trim(&pool) > 0);
        assert_true(kolk_pool_is_valid(&pool));
        assert_true(ready >= 1 && ready < 10); /* only slots that share pages with the live one */
        assert_true(all_bytes_are(objects[150], 700, 0x44));
        for (uint32_t i = 0; i < 299; i++) assert_true(all_bytes_are(taken_from(&pool), 700, 0x44));
        assert_int_equal(ready, 300);
        ((unsigned char *)objects[0])[700] = 1; /* it has red zones again */
        kolk_pool_clear(&pool);
        assert_damage(&kept, KOLK_OVERFLOW, "walls", objects[0], 0, 0, 1,
                      "kolk: walls: overflow of slot 0: 01 written 0 bytes behind its end");
        end_pool(&pool);
        assert_no_more(&kept);
        assert_int_equal(ready, 0);
    }
}

static void test_slots_that_alloc_at_has_passed_over(void **state) {
    (void)state;
    kolk_pool pool;
    reports kept;
    begin_reports(&kept);
    make_guarded(&pool, (kolk_pool_desc){.object_size = 8, .capacity = 10});
    unsigned char *object =
        (unsigned char *)kolk_pool_alloc_at(&pool, kolk_handle_unpack(UINT64_C(3) << 32 | (5 ^ pool.tag)));
    assert_non_null(object);
    assert_true(kolk_pool_is_valid(&pool));
    assert_ptr_equal(taken_from(&pool), pool.slots);
    object[-1] = 7;
    kolk_pool_clear(&pool);
    assert_damage(&kept, KOLK_UNDERFLOW, "walls", object, 5, 1, 1,
                  "kolk: walls: underflow of slot 5: 07 written 1 byte before its start");
    end_pool(&pool);
    assert_no_more(&kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_all_sizes_and_alignments),
        DEBUG_TEST(test_each_byte_of_the_zones),
        DEBUG_TEST(test_the_first_byte_behind_a_size_that_is_no_multiple_of_its_alignment),
        DEBUG_TEST(test_many_bytes_and_both_sides_of_an_object),
        DEBUG_TEST(test_zones_of_dead_objects),
        DEBUG_TEST(test_it_is_put_right_before_the_handler_is_called),
        DEBUG_TEST(test_pointers_into_zones_are_no_objects),
        DEBUG_TEST(test_runs_of_one),
        DEBUG_TEST(test_a_declared_and_defined_type),
        DEBUG_TEST(test_members_of_a_union),
        DEBUG_TEST(test_the_callers_memory_has_no_zones),
        DEBUG_TEST(test_trim_and_growth),
        DEBUG_TEST(test_slots_that_alloc_at_has_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
