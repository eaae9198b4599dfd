/* kolk_bytemap from outside: pools attached to foreign arrays, handles looked up in several pools, comparison of two
 * moments, pools read from dumps, the typed skin, and the registry. */
#include "bytemap_test.h"

#include "watch/registry.h"

/* ---- Attached ---------------------------------------------------------------------------------------------------- */

/* promise: "where the cursor ... one above", "leaves the arrays ... leave the pool out" */
static void test_attach_reads(void **state) {
    owner theirs = some_owner;
    kolk_bytemap pool = {0};
    kolk_bytemap_view view = view_of(&theirs);
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
    assert_true(pool.initialized_state);
    assert_int_equal(pool.first_free, 4);
    assert_int_equal(kolk_bytemap_used_count(&pool), 2);
    assert_int_equal(kolk_bytemap_free_count(&pool), 4);
    assert_ptr_equal(kolk_bytemap_get_at(&pool, 0x107), theirs.objects[1]);
    assert_ptr_equal(kolk_bytemap_get_at(&pool, 0x400), theirs.objects[4]);
    assert_null(kolk_bytemap_get_at(&pool, 0x283));
    assert_ptr_equal(kolk_bytemap_get_slot(&pool, 4), theirs.objects[4]);
    assert_int_equal(kolk_bytemap_get_index(&pool, theirs.objects[2]), 0x283);
    assert_ptr_equal(kolk_bytemap_next(&pool, NULL), theirs.objects[1]);
    assert_ptr_equal(kolk_bytemap_next(&pool, theirs.objects[1]), theirs.objects[4]);
    assert_null(kolk_bytemap_next(&pool, theirs.objects[4]));
    theirs.bytes[0] = 1; /* the owner continues to use its pool */
    assert_int_equal(kolk_bytemap_used_count(&pool), 3);
    assert_int_equal(kolk_bytemap_next_handle(&pool, -1), 1);
    kolk_stats stats;
    kolk_bytemap_stats(&pool, &stats);
    assert_string_equal(stats.name, "theirs");
    assert_string_equal(stats.kind, "bytemap");
    assert_int_equal(stats.count, 3);
    assert_int_equal(stats.peak, 3);
    assert_int_equal(stats.capacity, 6);
    kolk_bytemap_flush(&pool);
    theirs.bytes[0] = 0x80;
    assert_memory_equal(&theirs, &some_owner, sizeof theirs); /* the rest is as it was */
}

/* promise: "`new`, new_at, `delete`, set_byte and `clear` may write", "leaves the arrays ... leave the pool out" */
static void test_attach_writes_when_asked(void **state) {
    owner theirs = some_owner, expected = some_owner;
    kolk_bytemap pool = {0};
    kolk_bytemap_view view = view_of(&theirs);
    view.writable = true;
    view.cursor = &theirs.first_free;
    view.first_free = 1; /* ignored, because there is a cursor */
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
    assert_ptr_equal(kolk_bytemap_new(&pool), theirs.objects[5]);
    expected.bytes[5] = 1;
    expected.first_free = 5;
    assert_memory_equal(&theirs, &expected, sizeof theirs);
    theirs.first_free = expected.first_free = 2; /* the owner may change it */
    assert_ptr_equal(kolk_bytemap_new(&pool), theirs.objects[3]);
    expected.bytes[3] = 0; /* 0xff: the seed was 127 */
    expected.first_free = 3;
    kolk_bytemap_delete(&pool, theirs.objects[1]);
    expected.bytes[1] = 0x87;
    expected.first_free = 1;
    assert_memory_equal(&theirs, &expected, sizeof theirs);
    assert_ptr_equal(kolk_bytemap_new_at(&pool, 0x210), theirs.objects[2]);
    expected.bytes[2] = 4;
    expected.first_free = 0;
    assert_memory_equal(&theirs, &expected, sizeof theirs);
    assert_int_equal(kolk_bytemap_used_count(&pool), 4);
    assert_int_equal(pool.used, 0); /* nothing is stored about foreign arrays */
    assert_int_equal(pool.peak, 0);
    assert_true(kolk_bytemap_set_byte(&pool, 5, 0x85));
    expected.bytes[5] = 0x85;
    assert_memory_equal(&theirs, &expected, sizeof theirs);
    assert_int_equal(kolk_bytemap_used_count(&pool), 3);
    assert_int_equal(pool.used, 0);
    kolk_bytemap_clear(&pool);
    memset(expected.bytes, 0x80, sizeof expected.bytes);
    assert_memory_equal(&theirs, &expected, sizeof theirs);
    assert_true(kolk_bytemap_is_valid(&pool));
    kolk_bytemap_flush(&pool);
    assert_memory_equal(&theirs, &expected, sizeof theirs);
}

/* A cursor outside the pool, as in a broken dump, wraps like one at the end. promise: "Its arrays ... reports it" */
static void test_any_cursor_will_do(void **state) {
    static const int32_t cursors[] = {-1, -2, 5, 6, 7, 1000, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < LENGTH_OF(cursors); i++) {
        for (int full = 0; full < 2; full++) {
            owner theirs = some_owner;
            if (full) memset(theirs.bytes, 1, sizeof theirs.bytes);
            kolk_bytemap pool = {0};
            kolk_bytemap_view view = view_of(&theirs);
            view.writable = true;
            view.first_free = cursors[i];
            assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
            assert_ptr_equal(kolk_bytemap_new(&pool), full ? NULL : theirs.objects[0]);
            assert_int_equal(pool.first_free, full ? -1 : 0);
            kolk_bytemap_flush(&pool);
        }
    }
}

/* ---- One handle in several pools --------------------------------------------------------------------------------- */

/* promise: "returns the object of a handle in ... pool, or n" */
static void test_find(void **state) {
    kolk_bytemap peds, vehicles, objects;
    const kolk_bytemap *const pools[] = {&peds, &vehicles, &objects};
    make_bytemap(&peds, 2);
    make_bytemap(&vehicles, 3);
    make_bytemap(&objects, 5);
    make_objects(&peds, 1);
    make_objects(&objects, 3);
    size_t which = 0;
    assert_ptr_equal(kolk_bytemap_find(pools, 3, 0x201, &which), slot_of(&objects, 2));
    assert_int_equal(which, 2);
    which = 0; /* all pools in which the handle is valid */
    assert_ptr_equal(kolk_bytemap_find(pools, 3, 1, &which), slot_of(&peds, 0));
    assert_int_equal(which, 0);
    which++;
    assert_ptr_equal(kolk_bytemap_find(pools, 3, 1, &which), slot_of(&objects, 0));
    assert_int_equal(which, 2);
    which++;
    assert_null(kolk_bytemap_find(pools, 3, 1, &which));
    assert_int_equal(which, 3);
    which = 0;
    assert_null(kolk_bytemap_find(pools, 3, -1, &which));
    assert_int_equal(which, 3);
    which = 0;
    assert_null(kolk_bytemap_find(NULL, 0, 1, &which));
    kolk_bytemap_flush(&peds);
    kolk_bytemap_flush(&vehicles);
    kolk_bytemap_flush(&objects);
}

/* ---- Two moments ------------------------------------------------------------------------------------------------- */

/* promise: "Finds the next ... under the same handle" */
static void test_compare(void **state) {
    static const uint8_t before[] = {0x80, 0x05, 0x05, 0x80, 0x05, 0x85, 0x00, 0x80};
    static const uint8_t after[] = {0x01, 0x85, 0x06, 0x80, 0x05, 0x86, 0x01, 0x00};
    static const kolk_bytemap_difference expected[] = {
        {1, 0, KOLK_BYTEMAP_BORN, -1, 0x001},        {2, 1, KOLK_BYTEMAP_DIED, 0x105, -1},
        {3, 2, KOLK_BYTEMAP_REPLACED, 0x205, 0x206}, {7, 6, KOLK_BYTEMAP_REPLACED, 0x600, 0x601},
        {8, 7, KOLK_BYTEMAP_BORN, -1, 0x700}, /* slot 5: an object was made and deleted */
    };
    kolk_bytemap_difference difference = {0};
    for (size_t i = 0; i < LENGTH_OF(expected); i++) {
        assert_true(kolk_bytemap_compare(before, after, 8, &difference));
        assert_memory_equal(&difference, &expected[i], sizeof difference);
    }
    assert_false(kolk_bytemap_compare(before, after, 8, &difference));
    assert_false(kolk_bytemap_compare(before, after, 8, &difference));
    difference.next = 0;
    assert_false(kolk_bytemap_compare(before, before, 8, &difference));
    difference.next = 0;
    assert_false(kolk_bytemap_compare(NULL, NULL, 0, &difference));
}

/* ---- Dumps ------------------------------------------------------------------------------------------------------- */

/* Each game's struct of a pool: where its numbers are, and its size. Only some store first_free, the others the size of
 * an object; 0 if not. */
typedef struct game {
    kolk_bytemap_layout layout;
    size_t pointer, objects, bytes, count, first_free, object_size, length;
} game;

static const game games[] = {
    {KOLK_BYTEMAP_III, 4, 0, 4, 8, 0xc, 0, 0x10},
    {KOLK_BYTEMAP_VICE_CITY, 4, 0, 4, 8, 0xc, 0, 0x10},
    {KOLK_BYTEMAP_SAN_ANDREAS, 4, 0, 4, 8, 0xc, 0, 0x14},
    {KOLK_BYTEMAP_SAN_ANDREAS_UNREAL, 8, 0, 8, 0x10, 0x14, 0, 0x20},
    {KOLK_BYTEMAP_IV, 4, 0, 4, 8, 0, 0xc, 0x1c},
    {KOLK_BYTEMAP_V, 8, 0, 8, 0x10, 0, 0x14, 0x28},
    {KOLK_BYTEMAP_RDR3, 8, 8, 0x10, 0x18, 0, 0x1c, 0x30},
};

#define COUNT     5u
#define POINTER   0x00b74490u /* where the game keeps the pointer to its pool */
#define POOL_AT   0x11u       /* offsets in the region of the heap; odd, because dumps may be packed */
#define BYTES_AT  0x50u
#define OBJECT_AT 0x58u
#define REGION    (OBJECT_AT + COUNT * OBJECT_SIZE)

typedef struct dump {
    uint8_t statics[8], heap[REGION];
    kolk_bytemap_region regions[2];
} dump;

/* Where the game's heap is: in 64 bits, above all numbers of 32 bits. */
static uint64_t base_of(const game *of) {
    return of->pointer == 8 ? UINT64_C(0x1f70f2a3400) : 0x0f2a3400;
}

static void put_number(uint8_t *at, uint64_t number, size_t size) {
    for (size_t i = 0; i < size; i++) at[i] = (uint8_t)(number >> 8 * i);
}

/* Overwrites one number of the struct. */
static void put_in_struct(dump *d, size_t offset, uint64_t number, size_t size) {
    put_number(d->heap + POOL_AT + offset, number, size);
}

static void make_dump(dump *d, const game *of) {
    static const uint8_t bytes[COUNT] = {0x81, 0x02, 0x80, 0x7f, 0x80};
    memset(d, 0xee, sizeof *d);
    put_number(d->statics, base_of(of) + POOL_AT, of->pointer);
    put_in_struct(d, of->objects, base_of(of) + OBJECT_AT, of->pointer);
    put_in_struct(d, of->bytes, base_of(of) + BYTES_AT, of->pointer);
    put_in_struct(d, of->count, COUNT, 4);
    if (of->first_free) put_in_struct(d, of->first_free, 3, 4);
    if (of->object_size) put_in_struct(d, of->object_size, OBJECT_SIZE, 4);
    memcpy(d->heap + BYTES_AT, bytes, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) memset(d->heap + OBJECT_AT + i * OBJECT_SIZE, (int)i, OBJECT_SIZE);
    d->regions[0] = (kolk_bytemap_region){POINTER, d->statics, of->pointer};
    d->regions[1] = (kolk_bytemap_region){base_of(of), d->heap, sizeof d->heap};
}

/* The size that a caller gives: any, if the game stores it. */
static size_t size_for(const game *of) {
    return of->object_size ? 0 : OBJECT_SIZE;
}

/* promise: "Reads the pointer ... region contains it", "Its arrays ... reports it", "How a game's struct ... also V
 * Enhanced" */
static void test_read(void **state) {
    for (const game *of = games; of < games + LENGTH_OF(games); of++) {
        dump d, before;
        make_dump(&d, of);
        before = d;
        uint64_t address, beyond = 77; /* the region has all bytes but one */
        assert_int_equal(kolk_bytemap_follow(d.regions, 2, POINTER, of->layout, &address), KOLK_OK);
        assert_int_equal(address, base_of(of) + POOL_AT);
        assert_int_equal(kolk_bytemap_follow(d.regions, 2, POINTER + 1, of->layout, &beyond), KOLK_OUTSIDE);
        assert_int_equal(beyond, 77);
        kolk_bytemap_view view;
        assert_int_equal(kolk_bytemap_read(d.regions, 2, address, of->layout, size_for(of), &view), KOLK_OK);
        assert_int_equal(view.count, COUNT);
        assert_int_equal(view.first_free, of->first_free ? 3 : -1);
        assert_ptr_equal(view.object_list, d.heap + OBJECT_AT);
        assert_ptr_equal(view.byte_map, d.heap + BYTES_AT);
        assert_int_equal(view.object_size, OBJECT_SIZE);
        assert_false(view.writable);
        assert_null(view.cursor);
        assert_null(view.name);
        kolk_bytemap pool = {0};
        assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
        assert_int_equal(kolk_bytemap_used_count(&pool), 2);
        assert_int_equal(kolk_bytemap_next_handle(&pool, -1), 0x102);
        assert_int_equal(kolk_bytemap_next_handle(&pool, 0x102), 0x37f);
        assert_true(all_bytes_are(kolk_bytemap_get_at(&pool, 0x37f), OBJECT_SIZE, 3));
        assert_true(kolk_bytemap_is_valid(&pool));
        kolk_bytemap_flush(&pool);
        assert_memory_equal(&d, &before, sizeof d);
    }
}

static kolk_status read_it(const dump *d, const game *of) {
    kolk_bytemap_view view, before;
    memset(&view, 0x77, sizeof view);
    before = view;
    kolk_status status = kolk_bytemap_read(d->regions, 2, base_of(of) + POOL_AT, of->layout, size_for(of), &view);
    if (status != KOLK_OK) assert_memory_equal(&view, &before, sizeof view);
    return status;
}

/* Tries every size of the region: the struct and each array must be wholly inside it, or they are refused.
 * promise: "Reads the pointer ... region contains it", "Its arrays ... reports it" */
static void test_read_at_the_ends_of_regions(void **state) {
    for (const game *of = games; of < games + LENGTH_OF(games); of++) {
        for (size_t size = 0; size <= REGION; size++) {
            dump d;
            make_dump(&d, of);
            d.regions[1].size = size;
            assert_int_equal(read_it(&d, of), size < REGION ? KOLK_OUTSIDE : KOLK_OK);
            put_in_struct(&d, of->count, 0, 4); /* without arrays the struct is enough */
            assert_int_equal(read_it(&d, of), size < POOL_AT + of->length ? KOLK_OUTSIDE : KOLK_OK);
            put_in_struct(&d, of->count, 1, 4); /* the byte map, and one object after it */
            assert_int_equal(read_it(&d, of), size < OBJECT_AT + OBJECT_SIZE ? KOLK_OUTSIDE : KOLK_OK);
            put_in_struct(&d, of->objects, base_of(of) + POOL_AT, of->pointer); /* the object before it */
            assert_int_equal(read_it(&d, of), size < BYTES_AT + 1 ? KOLK_OUTSIDE : KOLK_OK);
        }
        for (uint32_t skipped = 0; skipped <= POOL_AT + 1; skipped++) { /* and at the start */
            dump d;
            make_dump(&d, of);
            d.regions[1] = (kolk_bytemap_region){base_of(of) + skipped, d.heap + skipped, REGION - skipped};
            assert_int_equal(read_it(&d, of), skipped > POOL_AT ? KOLK_OUTSIDE : KOLK_OK);
        }
    }
}

/* Wrong values in each field: a view accepts only values whose memory exists in the dump. */
static void test_read_of_wrong_numbers(void **state) {
    static const uint32_t counts[] = {KOLK_BYTEMAP_MAX_COUNT + 1, INT32_MAX, 0x80000000, UINT32_MAX};
    for (const game *of = games; of < games + LENGTH_OF(games); of++) {
        const uint64_t base = base_of(of), last = POINTER + of->pointer - 1; /* one byte is there */
        const uint64_t addresses[] = {0,
                                      1,
                                      base - 1,
                                      base + REGION,
                                      last,
                                      UINT32_MAX,
                                      UINT64_MAX,
                                      UINT32_MAX - OBJECT_SIZE,
                                      UINT64_MAX - OBJECT_SIZE};
        dump d;
        kolk_bytemap_view view;
        for (size_t i = 0; i < LENGTH_OF(addresses); i++) {
            make_dump(&d, of);
            put_in_struct(&d, of->objects, addresses[i], of->pointer);
            assert_int_equal(read_it(&d, of), KOLK_OUTSIDE);
            make_dump(&d, of);
            put_in_struct(&d, of->bytes, addresses[i], of->pointer);
            assert_int_equal(read_it(&d, of), KOLK_OUTSIDE);
            make_dump(&d, of);
            assert_int_equal(kolk_bytemap_read(d.regions, 2, addresses[i], of->layout, OBJECT_SIZE, &view),
                             KOLK_OUTSIDE);
            uint64_t number = 77;
            assert_int_equal(kolk_bytemap_follow(d.regions, 2, addresses[i], of->layout, &number), KOLK_OUTSIDE);
            assert_int_equal(number, 77);
        }
        for (size_t i = 0; i < LENGTH_OF(counts); i++) {
            make_dump(&d, of);
            put_in_struct(&d, of->count, counts[i], 4);
            assert_int_equal(read_it(&d, of), KOLK_BAD_COUNT);
        }
        make_dump(&d, of);
        put_in_struct(&d, of->count, KOLK_BYTEMAP_MAX_COUNT, 4);
        assert_int_equal(read_it(&d, of), KOLK_OUTSIDE);
    }
}

/* A region may end where the addresses end, and then nothing behind it is in it. */
static void test_read_at_the_last_address(void **state) {
    const game *of = &games[KOLK_BYTEMAP_V];
    dump d;
    uint64_t out;
    make_dump(&d, of);
    d.regions[0].address = UINT64_MAX - 7;
    assert_int_equal(kolk_bytemap_follow(d.regions, 2, UINT64_MAX - 7, of->layout, &out), KOLK_OK);
    assert_int_equal(out, base_of(of) + POOL_AT);
    assert_int_equal(kolk_bytemap_follow(d.regions, 2, UINT64_MAX - 6, of->layout, &out), KOLK_OUTSIDE);
    d.regions[0].size = SIZE_MAX; /* a size that is wrong does not make lower addresses part of the region */
    assert_int_equal(kolk_bytemap_follow(d.regions, 1, UINT64_MAX - 8, of->layout, &out), KOLK_OUTSIDE);
    assert_int_equal(kolk_bytemap_follow(d.regions, 1, 0, of->layout, &out), KOLK_OUTSIDE);
}

/* Sizes of objects, from the caller or the game, and layouts. */
static void test_read_refuses(void **state) {
    const game *iii = &games[KOLK_BYTEMAP_III], *iv = &games[KOLK_BYTEMAP_IV];
    const uint64_t at = base_of(iii) + POOL_AT;
    const kolk_bytemap_layout none = (kolk_bytemap_layout)(KOLK_BYTEMAP_RDR3 + 1);
    kolk_bytemap_view view;
    uint64_t address;
    dump d;
    make_dump(&d, iii);
    assert_int_equal(kolk_bytemap_read(d.regions, 2, at, none, OBJECT_SIZE, &view), KOLK_BAD_LAYOUT);
    assert_int_equal(kolk_bytemap_follow(d.regions, 2, POINTER, none, &address), KOLK_BAD_LAYOUT);
    assert_int_equal(kolk_bytemap_read(d.regions, 2, at, KOLK_BYTEMAP_III, 0, &view), KOLK_ZERO_SIZE);
    assert_int_equal(kolk_bytemap_read(d.regions, 2, at, KOLK_BYTEMAP_III, SIZE_MAX, &view), KOLK_SIZE_OVERFLOW);
    assert_int_equal(kolk_bytemap_read(d.regions, 2, at, KOLK_BYTEMAP_III, INT32_MAX, &view), KOLK_OUTSIDE);
    assert_int_equal(kolk_bytemap_read(NULL, 0, 0, KOLK_BYTEMAP_III, OBJECT_SIZE, &view), KOLK_OUTSIDE);
    put_in_struct(&d, iii->first_free, 999, 4); /* the cursor is taken as it is */
    assert_int_equal(read_it(&d, iii), KOLK_OK);
    make_dump(&d, iv);
    put_in_struct(&d, iv->object_size, 0, 4);
    assert_int_equal(read_it(&d, iv), KOLK_ZERO_SIZE);
    put_in_struct(&d, iv->object_size, UINT32_MAX, 4);
    assert_int_equal(read_it(&d, iv), KOLK_SIZE_OVERFLOW);
}

/* An attached dump may be written to, and then works as a pool. promise: "Its arrays ... reports it" */
static void test_a_dump_goes_on(void **state) {
    dump d;
    kolk_bytemap_view view;
    kolk_bytemap pool = {0};
    const game *of = &games[KOLK_BYTEMAP_SAN_ANDREAS];
    make_dump(&d, of);
    assert_int_equal(kolk_bytemap_read(d.regions, 2, base_of(of) + POOL_AT, of->layout, OBJECT_SIZE, &view), KOLK_OK);
    view.writable = true;
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
    assert_int_equal(handle_of_new(&pool), 0x401);
    assert_int_equal(handle_of_new(&pool), 0x002);
    assert_int_equal(d.heap[BYTES_AT + 4], 1);
    assert_int_equal(d.heap[POOL_AT + 12], 3); /* the pool has a cursor of its own */
    kolk_bytemap_flush(&pool);
}

/* ---- The typed skin ---------------------------------------------------------------------------------------------- */

typedef struct ped {
    double x;
    int32_t health;
} ped;

typedef struct cop {
    ped base;
    double suspicion;
} cop;

KOLK_BYTEMAP_TYPE(peds, ped)

/* promise: typed.h "Its slots may be larger than the type", "object_size may be 0 or more than the type's" */
static void test_every_typed_function(void **state) {
    static peds pool;
    assert_int_equal(peds_initialise(&pool, 3), KOLK_OK);
    assert_int_equal(pool.pool.object_size, sizeof(ped));
    ped *first = peds_new(&pool), *second = peds_new_at(&pool, 0x155);
    assert_int_equal(peds_get_index(&pool, second), 0x101);
    assert_int_equal(peds_get_just_index(&pool, second), 1);
    assert_ptr_equal(peds_get_slot(&pool, 0), first);
    assert_ptr_equal(peds_get_at(&pool, 0x101), second);
    assert_ptr_equal(peds_next(&pool, first), second);
    assert_int_equal(peds_next_handle(&pool, 1), 0x101);
    assert_int_equal(peds_used_count(&pool), 2);
    peds_delete(&pool, first);
    assert_int_equal(peds_free_count(&pool), 2);
    assert_true(peds_set_byte(&pool, 0, 0x81));
    assert_true(peds_is_valid(&pool));
    kolk_stats stats;
    peds_stats(&pool, &stats);
    assert_int_equal(stats.count, 1);
    peds_clear(&pool);
    assert_int_equal(peds_used_count(&pool), 0);
    peds_flush(&pool);
    peds_object *none = peds_new(&pool);
    assert_null(none);
}

/* As in the games, whose slots have the size of the widest derived type. */
static void test_slots_wider_than_their_type(void **state) {
    static cop cops[4];
    static uint8_t bytes[4];
    peds pool = {0};
    kolk_bytemap_view view = {.object_list = cops, .byte_map = bytes, .object_size = sizeof(cop), .count = 4};
    assert_int_equal(peds_initialise_with(&pool, &view), KOLK_OK);
    assert_ptr_equal(peds_new(&pool), &cops[0]);
    assert_ptr_equal(peds_new(&pool), &cops[1]);
    peds_flush(&pool);
    assert_int_equal(peds_attach(&pool, &view), KOLK_OK);
    assert_ptr_equal(peds_get_slot(&pool, 1), &cops[1]);
    assert_int_equal(peds_used_count(&pool), 2);
    peds_flush(&pool);
    view.object_size = 0;
    assert_int_equal(peds_attach(&pool, &view), KOLK_OK);
    assert_ptr_equal(peds_get_slot(&pool, 1), (unsigned char *)cops + sizeof(ped));
    peds_flush(&pool);
    view.object_size = _Alignof(ped);
    assert_int_equal(peds_attach(&pool, &view), KOLK_TYPE_MISMATCH);
    view.object_size = sizeof(ped) + 1;
    assert_int_equal(peds_initialise_with(&pool, &view), KOLK_TYPE_MISMATCH);
    view.object_size = sizeof(ped);
    view.object_list = moved(cops, 1);
    assert_int_equal(peds_attach(&pool, &view), KOLK_MEMORY_MISALIGNED);
}

/* ---- The registry ------------------------------------------------------------------------------------------------ */

static const char *listed(void) {
    static char names[1000];
    size_t length = 0;
    kolk_records_ records = {0};
    kolk_registry_collect_(&records);
    names[0] = 0;
    for (const kolk_record_ *at = records.first; at; at = at->next)
        length += (size_t)snprintf(names + length, sizeof names - length, "%s %s %u/%u ", at->stats.kind,
                                   at->stats.name, (unsigned)at->stats.count, (unsigned)at->stats.capacity);
    kolk_records_release_(&records);
    return names;
}

static void test_named_pools_are_listed(void **state) {
    owner theirs = some_owner;
    kolk_bytemap peds_pool = {0}, attached = {0}, nameless;
    kolk_bytemap_view own = {.name = "peds", .object_size = OBJECT_SIZE, .count = 140}, foreign = view_of(&theirs);
    assert_int_equal(kolk_bytemap_initialise_with(&peds_pool, &own), KOLK_OK);
    assert_int_equal(kolk_bytemap_attach(&attached, &foreign), KOLK_OK);
    make_bytemap(&nameless, 3);
    make_objects(&peds_pool, 17);
    assert_int_equal(strlen(listed()), strlen("bytemap peds 17/140 bytemap theirs 2/6 ")); /* in any order */
    assert_non_null(strstr(listed(), "bytemap peds 17/140 "));
    assert_non_null(strstr(listed(), "bytemap theirs 2/6 "));
    uint32_t number = attached.number;
    kolk_bytemap_flush(&attached);
    assert_string_equal(listed(), "bytemap peds 17/140 ");
    assert_int_equal(kolk_bytemap_attach(&attached, &foreign), KOLK_OK);
    assert_int_equal(attached.number % (1u << 20), number % (1u << 20)); /* the number was released */
    kolk_bytemap_flush(&attached);
    kolk_bytemap_flush(&peds_pool);
    kolk_bytemap_flush(&nameless);
    assert_string_equal(listed(), "");
    assert_memory_equal(&theirs, &some_owner, sizeof theirs);
}

static void keep_text(const char *text, size_t length, void *context) {
    char *all = (char *)context;
    size_t before = strlen(all);
    assert_true(before + length < 1000);
    memcpy(all + before, text, length);
    all[before + length] = 0;
}

/* The same statistics as KOLK_STATS writes at exit. */
static void test_statistics_in_words(void **state) {
    owner theirs = some_owner;
    kolk_bytemap attached = {0};
    kolk_bytemap_view view = view_of(&theirs);
    char text[1000] = "";
    assert_int_equal(kolk_bytemap_attach(&attached, &view), KOLK_OK);
    kolk_stats_write(KOLK_STATS_TEXT, keep_text, text);
    assert_string_equal(text, "name    kind     size  alive  peak  capacity  failed  bytes\n"
                              "theirs  bytemap    12      2     2         6       0     78\n");
    kolk_bytemap_flush(&attached);
    assert_memory_equal(&theirs, &some_owner, sizeof theirs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_attach_reads),
        TEST(test_attach_writes_when_asked),
        TEST(test_any_cursor_will_do),
        TEST(test_find),
        TEST(test_compare),
        TEST(test_read),
        TEST(test_read_at_the_ends_of_regions),
        TEST(test_read_of_wrong_numbers),
        TEST(test_read_at_the_last_address),
        TEST(test_read_refuses),
        TEST(test_a_dump_goes_on),
        TEST(test_every_typed_function),
        TEST(test_slots_wider_than_their_type),
        TEST(test_named_pools_are_listed),
        TEST(test_statistics_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
