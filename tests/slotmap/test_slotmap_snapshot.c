/* runs: sample wraps: help/no_sites.h help/system_calls.h */
/* Snapshots of slot maps: the published blocks, the effects of a restore, and the blocks that restore must refuse,
 * leaving the map unchanged. Random histories are those of model.h. */
#include "../help/debug_test.h"

#include "../help/system_calls.h"
#include "slotmap_test.h"
#include "snapshot_block.h"

#include "../help/no_sites.h"
#include "../help/published.h"

static kolk_status restore(kolk_slotmap *map, block from) {
    return kolk_slotmap_restore(map, from.bytes, from.size);
}

static kolk_handle handle_at(const kolk_slotmap *map, uint32_t place) {
    return kolk_slotmap_handle_of(map, kolk_slotmap_at(map, place));
}

static void remove_slot(kolk_slotmap *map, uint32_t slot) {
    assert_true(kolk_slotmap_remove(map, handle_at(map, map->cells[slot].place)));
}

/* Adds an object, which must get this slot, and removes it as if it had had the last life of its slot. */
static void wear_out(kolk_slotmap *map, uint32_t slot) {
    kolk_handle handle;
    assert_non_null(kolk_slotmap_add(map, &handle));
    assert_int_equal(kolk_slotmap_slot(map, handle), slot);
    map->cells[slot].generation = UINT32_MAX;
    remove_slot(map, slot);
    assert_true(kolk_slotmap_is_valid(map));
}

/* Asserts that both maps have the same objects in the same places, and that from now on they return the same
 * handles. */
static void assert_same(kolk_slotmap *map, kolk_slotmap *other, uint32_t adds) {
    assert_true(kolk_slotmap_is_valid(map) && kolk_slotmap_is_valid(other));
    for (uint32_t more = 0;; more++) {
        assert_int_equal(kolk_slotmap_count(map), kolk_slotmap_count(other));
        for (uint32_t place = 0; place < kolk_slotmap_count(map); place++) {
            kolk_handle handle = handle_at(map, place);
            assert_memory_equal(kolk_slotmap_at(map, place), kolk_slotmap_at(other, place), map->object_size);
            assert_ptr_equal(kolk_slotmap_get(other, handle), kolk_slotmap_at(other, place));
        }
        if (more == adds) return;
        kolk_handle one, same;
        void *object = kolk_slotmap_add(map, &one), *twin = kolk_slotmap_add(other, &same);
        assert_true(object && twin && kolk_handle_equal(one, same));
        memset(object, (int)more, map->object_size);
        memset(twin, (int)more, map->object_size);
    }
}

/* ---- The published blocks ---------------------------------------------------------------------------------------- */

static void make_vector(kolk_slotmap *map) {
    static const uint32_t removed[] = {3, 19, 0, 7, 5};
    make_map(map, &(kolk_slotmap_desc){.name = "vectors", .object_size = 3, .capacity = 70});
    for (unsigned char n = 0; n < 20; n++)
        memcpy(kolk_slotmap_add(map, NULL), (unsigned char[]){n, (unsigned char)(n + 1), (unsigned char)(n + 2)}, 3);
    for (size_t i = 0; i < LENGTH_OF(removed); i++) remove_slot(map, removed[i]);
    wear_out(map, 5);
    memcpy(kolk_slotmap_add(map, NULL), (unsigned char[]){1, 2, 3}, 3);
}

/* promise: "same byte order, whether 32-bit or 64-bit", "The block consists of 56 bytes, 8 for each" */
static void test_the_published_blocks(void **state) {
    kolk_slotmap map, other;
    make_vector(&map);
    block taken = take_map_snapshot(&map);
    block expected = published(is_little_endian() ? "little" : "big", "SLOTMAP");
    block foreign = published(is_little_endian() ? "big" : "little", "SLOTMAP");
    assert_int_equal(taken.size, expected.size);
    assert_memory_equal(taken.bytes, expected.bytes, taken.size);
    assert_int_equal(restore(&map, foreign), KOLK_OTHER_BYTE_ORDER);

    make_map(&other, &(kolk_slotmap_desc){.name = "vectors", .object_size = 3, .max_capacity = 1000});
    assert_int_equal(restore(&other, expected), KOLK_OK);
    assert_int_equal(other.worn, 1);
    block again = take_map_snapshot(&other); /* the capacity makes no difference */
    assert_true(equals(again, expected));
    assert_same(&map, &other, 40);

    block pools = published(is_little_endian() ? "little" : "big", "LIFO");
    assert_int_equal(restore(&other, pools), KOLK_NOT_A_SNAPSHOT);
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "vectors", .object_size = 3, .capacity = 70});
    assert_int_equal(kolk_pool_restore(&pool, taken.bytes, taken.size), KOLK_NOT_A_SNAPSHOT);
    kolk_pool_deinit(&pool);
    free(taken.bytes);
    free(expected.bytes);
    free(foreign.bytes);
    free(again.bytes);
    free(pools.bytes);
    end_map(&map);
    end_map(&other);
}

/* ---- What a restore does ----------------------------------------------------------------------------------------- */

typedef struct ship {
    uint32_t number;
    char name[12];
} ship;

KOLK_SLOTMAP_TYPE(ships, ship)

static void number_ship(void *object, const void *saved, size_t saved_size, void *context) {
    assert_int_equal(saved_size, sizeof(ship));
    memcpy(object, saved, saved_size);
    ((ship *)object)->number += *(const uint32_t *)context;
}

/* promise: "Writes the block ... `size` is below"; typed.h "which work as in slotmap.h ... map is `bodies.map`" */
static void test_by_the_typed_skin(void **state) {
    ships fleet;
    ships_handle first, second, third;
    assert_int_equal(ships_init(&fleet, &(kolk_slotmap_desc){.capacity = 4}), KOLK_OK);
    *ships_add(&fleet, &first) = (ship){.number = 1};
    block taken = new_block(ships_snapshot_size(&fleet));
    assert_int_equal(taken.size, 48 + 8 + sizeof(ship) + 8);
    assert_int_equal(ships_snapshot(&fleet, taken.bytes, taken.size), taken.size);
    assert_int_equal(ships_snapshot(&fleet, taken.bytes, taken.size - 1), 0);

    ships_get(&fleet, first)->number = 2;
    assert_true(ships_remove(&fleet, first));
    ships_add(&fleet, &second);
    ships_add(&fleet, &third);
    assert_int_equal(ships_restore(&fleet, taken.bytes, taken.size), KOLK_OK);
    assert_int_equal(ships_count(&fleet), 1);
    assert_int_equal(ships_get(&fleet, first)->number, 1);

    /* a handle made after the snapshot is stale until the map repeats the same steps */
    assert_null(ships_get(&fleet, second));
    assert_null(ships_get(&fleet, third));
    assert_true(ships_remove(&fleet, first));
    assert_null(ships_get(&fleet, second));
    ship *two = ships_add(&fleet, NULL);
    assert_ptr_equal(ships_get(&fleet, second), two);

    uint32_t more = 10;
    assert_int_equal(ships_restore_converted(&fleet, taken.bytes, taken.size, number_ship, &more), KOLK_OK);
    assert_int_equal(ships_get(&fleet, first)->number, 11);
    assert_true(ships_is_valid(&fleet));
    free(taken.bytes);
    ships_deinit(&fleet);
}

/* Maps without objects, and without slots. promise: "The block consists of 56 bytes, 8 for each" */
static void test_maps_without_objects(void **state) {
    kolk_slotmap map, empty = {0};
    make_map(&map, &(kolk_slotmap_desc){.name = "none", .object_size = 100, .capacity = 3});
    block fresh = take_map_snapshot(&map);
    assert_int_equal(fresh.size, 56);
    for (unsigned n = 0; n < 3; n++) add_letter(&map, 'a');
    remove_slot(&map, 1), remove_slot(&map, 2), remove_slot(&map, 0);
    block free_ones = take_map_snapshot(&map);
    assert_int_equal(free_ones.size, 56 + 3 * 8);
    assert_int_equal(restore(&map, fresh), KOLK_OK);
    assert_true(kolk_slotmap_is_valid(&map));
    assert_int_equal(kolk_slotmap_slot(&map, add_letter(&map, 'b')), 0);
    assert_int_equal(restore(&map, free_ones), KOLK_OK);
    assert_int_equal(kolk_slotmap_count(&map), 0);
    static const uint32_t order[] = {0, 2, 1};
    for (unsigned n = 0; n < 3; n++) assert_int_equal(kolk_slotmap_slot(&map, add_letter(&map, 'c')), order[n]);
    end_map(&map);

    block zero = take_map_snapshot(&empty); /* a zeroed map has a snapshot too */
    assert_int_equal(restore(&empty, zero), KOLK_OK);
    assert_true(kolk_slotmap_is_valid(&empty));
    assert_null(kolk_slotmap_add(&empty, NULL));
    free(fresh.bytes);
    free(free_ones.bytes);
    free(zero.bytes);
}

static void test_other_capacities(void **state) {
    kolk_slotmap map, other;
    kolk_slotmap_desc desc = {.name = "room", .object_size = 1000, .capacity = 10};
    make_map(&map, &desc);
    for (char n = 0; n < 6; n++) add_letter(&map, (char)('a' + n));
    kolk_handle last = handle_at(&map, 5);
    for (uint32_t slot = 0; slot < 5; slot++) remove_slot(&map, slot);
    block taken = take_map_snapshot(&map);
    static const struct {
        uint32_t capacity, max_capacity, then;
        kolk_status status;
    } rows[] = {
        {10, 0, 10, KOLK_OK}, {6, 0, 6, KOLK_OK},        {5, 0, 5, KOLK_ABOVE_MAX}, {0, 100, 6, KOLK_OK},
        {0, 6, 6, KOLK_OK},   {2, 6, 6, KOLK_OK},        {0, 5, 0, KOLK_ABOVE_MAX}, {1000000, 0, 1000000, KOLK_OK},
        {9, 10, 9, KOLK_OK},  {3, 5, 3, KOLK_ABOVE_MAX},
    };
    for (size_t n = 0; n < LENGTH_OF(rows); n++) {
        desc.capacity = rows[n].capacity;
        desc.max_capacity = rows[n].max_capacity;
        make_map(&other, &desc);
        if (rows[n].capacity) add_letter(&other, 'x');
        assert_int_equal(restore(&other, taken), rows[n].status);
        assert_true(kolk_slotmap_is_valid(&other));
        assert_int_equal(other.capacity, rows[n].then);
        assert_int_equal(letter_of(&other, last), rows[n].status == KOLK_OK ? 'f' : '-');
        assert_string_equal(letters(&other), rows[n].status == KOLK_OK ? "f" : rows[n].capacity ? "x" : "");
        end_map(&other);
    }
    free(taken.bytes);
    end_map(&map);
}

/* Whichever request for memory the system refuses, the map stays unchanged. */
static void test_no_memory(void **state) {
    static const char *const debugs[] = {NULL, "fill,sites", "move"};
    for (size_t i = 0; i < LENGTH_OF(debugs); i++) {
        kolk_slotmap map, small;
        kolk_slotmap_desc desc = {.name = "grows", .object_size = 100, .max_capacity = 100000, .debug = debugs[i]};
        make_map(&map, &desc);
        for (unsigned n = 0; n < 5000; n++) assert_non_null(kolk_slotmap_add(&map, NULL));
        memset(kolk_slotmap_objects(&map), 'z', (size_t)100 * 5000);
        block taken = take_map_snapshot(&map);
        kolk_slotmap_clear(&map);
        end_map(&map);
        make_map(&small, &desc);
        add_letter(&small, 'a');
        uint32_t capacity = small.capacity;
        unsigned nth = 1;
        for (kolk_status status = KOLK_NO_MEMORY; status != KOLK_OK; nth++) {
            refuse(nth, false);
            status = restore(&small, taken);
            refuse(0, false);
            assert_true(kolk_slotmap_is_valid(&small));
            if (status == KOLK_OK) break;
            assert_int_equal(status, KOLK_NO_MEMORY);
            assert_int_equal(small.capacity, capacity);
            assert_string_equal(letters(&small), "a");
        }
        assert_true(nth > 1);
        assert_int_equal(kolk_slotmap_count(&small), 5000);
        assert_true(all_bytes_are(kolk_slotmap_at(&small, 4999), 100, 'z'));
        kolk_slotmap_clear(&small);
        end_map(&small);
        free(taken.bytes);
    }
}

/* Worn-out slots come back in their order, and those that were worn out later are free again. */
static void test_worn_out_slots(void **state) {
    kolk_slotmap map, other;
    kolk_slotmap_desc desc = {.name = "worn", .object_size = 8, .capacity = 6};
    make_map(&map, &desc);
    for (unsigned n = 0; n < 6; n++) add_letter(&map, 'a');
    remove_slot(&map, 4), wear_out(&map, 4);
    remove_slot(&map, 1), wear_out(&map, 1);
    remove_slot(&map, 5);
    block two = take_map_snapshot(&map);
    wear_out(&map, 5);
    remove_slot(&map, 0), wear_out(&map, 0);
    block four = take_map_snapshot(&map);
    make_map(&other, &desc);
    for (unsigned round = 0; round < 2; round++) {
        kolk_slotmap *at = round ? &other : &map;
        assert_int_equal(restore(at, four), KOLK_OK);
        assert_true(kolk_slotmap_is_valid(at));
        assert_int_equal(at->worn, 4);
        static const uint32_t order[] = {4, 1, 5, 0};
        for (size_t n = 0; n < LENGTH_OF(order); n++) {
            kolk_handle handle = add_letter(at, 'b');
            assert_int_equal(handle.bits, UINT64_C(1) << 32 | (order[n] ^ at->tag));
        }
        assert_null(kolk_slotmap_add(at, NULL));
        assert_int_equal(restore(at, two), KOLK_OK);
        assert_int_equal(at->worn, 2);
        block again = take_map_snapshot(at);
        assert_true(equals(again, two));
        free(again.bytes);
        assert_int_equal(add_letter(at, 'c').bits, UINT64_C(2) << 32 | (5 ^ at->tag));
        wear_out(at, 4); /* the list goes on */
        assert_int_equal(at->worn, 2);
        assert_int_equal(at->worn_first, 1);
        assert_int_equal(at->worn_last, 4);
    }
    free(two.bytes);
    free(four.bytes);
    end_map(&map);
    end_map(&other);
}

/* The peak equals fresh until a restore lowers fresh. From then on it is counted, and does not fall. Other counters go
 * on. promise: "on_remove does ... not restored" */
static void test_counters_go_on(void **state) {
    kolk_slotmap map;
    kolk_stats stats;
    make_map(&map, &(kolk_slotmap_desc){.name = "peak", .object_size = 8, .capacity = 10});
    block empty = take_map_snapshot(&map);
    for (unsigned n = 0; n < 5; n++) add_letter(&map, 'a');
    block five = take_map_snapshot(&map);
    for (uint32_t slot = 0; slot < 3; slot++) remove_slot(&map, slot);
    block two_of_five = take_map_snapshot(&map);
    assert_int_equal(restore(&map, empty), KOLK_OK);
    for (uint32_t n = 1; n <= 10; n++) {
        add_letter(&map, 'a');
        kolk_slotmap_stats(&map, &stats);
        assert_int_equal(stats.peak, n < 5 ? 5 : n);
    }
    assert_null(kolk_slotmap_add(&map, NULL));
    assert_int_equal(restore(&map, five), KOLK_OK);
    kolk_slotmap_stats(&map, &stats);
    assert_int_equal(stats.peak, 10);
    assert_int_equal(stats.failed, 1);
    assert_int_equal(stats.capacity, 10);
    end_map(&map);
    make_map(&map, &(kolk_slotmap_desc){.name = "peak", .object_size = 8, .capacity = 10});
    assert_int_equal(restore(&map, five), KOLK_OK);
    kolk_slotmap_stats(&map, &stats);
    assert_int_equal(stats.peak, 5);
    end_map(&map);
    make_map(&map, &(kolk_slotmap_desc){.name = "peak", .object_size = 8, .capacity = 10});
    assert_int_equal(restore(&map, two_of_five), KOLK_OK);
    kolk_slotmap_stats(&map, &stats);
    assert_int_equal(stats.peak, 5); /* slots that were in use */
    end_map(&map);
    make_map(&map, &(kolk_slotmap_desc){.name = "peak", .object_size = 8, .capacity = 10});
    add_letter(&map, 'a'), add_letter(&map, 'b');
    assert_int_equal(restore(&map, empty), KOLK_OK);
    assert_int_equal(restore(&map, five), KOLK_OK); /* more than the peak so far, which is counted */
    assert_true(kolk_slotmap_is_valid(&map));
    kolk_slotmap_stats(&map, &stats);
    assert_int_equal(stats.peak, 5);
    free(empty.bytes);
    free(five.bytes);
    free(two_of_five.bytes);
    end_map(&map);
}

/* A block does not contain the bytes between two objects. */
static void test_places_wider_than_objects(void **state) {
    kolk_slotmap map, other;
    kolk_slotmap_desc desc = {.name = "wide", .object_size = 12, .object_align = 16, .capacity = 20};
    make_map(&map, &desc);
    desc.object_align = 4;
    make_map(&other, &desc);
    for (int i = 0; i < 20; i++) memset(kolk_slotmap_add(&map, NULL), i, 12);
    remove_slot(&map, 7);
    block taken = take_map_snapshot(&map);
    assert_int_equal(taken.size, 48 + 20 * 8 + (19 * 12 + 4) + 8);
    for (uint32_t i = 0; i < 19; i++)
        assert_true(all_bytes_are(taken.bytes + MAP_HEADER + 20 * 8 + (size_t)12 * i, 12, i == 7 ? 19 : (uint8_t)i));
    assert_int_equal(restore(&other, taken), KOLK_OK);
    assert_same(&map, &other, 1);
    free(taken.bytes);
    end_map(&map);
    end_map(&other);
}

/* A walk whose body restores a snapshot visits the objects that are there then. */
static void test_a_walk_that_restores(void **state) {
    kolk_slotmap map;
    unsigned visited = 0;
    make_map(&map, &(kolk_slotmap_desc){.name = "walk", .object_size = 8, .capacity = 1000});
    for (unsigned n = 0; n < 100; n++) kolk_slotmap_add(&map, NULL);
    block hundred = take_map_snapshot(&map);
    for (unsigned n = 0; n < 900; n++) kolk_slotmap_add(&map, NULL);
    kolk_slotmap_cursor cursor = kolk_slotmap_each(&map);
    for (void *each; (each = kolk_slotmap_cursor_next(&cursor)); visited++) {
        assert_ptr_equal(each, kolk_slotmap_at(&map, visited));
        if (visited == 70) assert_int_equal(restore(&map, hundred), KOLK_OK);
    }
    assert_int_equal(visited, 100);
    free(hundred.bytes);
    end_map(&map);
}

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

static void move_bytes(void *to, void *from, void *context) {
    if (to && from) memcpy(to, from, 8);
}

static unsigned removed, told;

static void count_removed(void *object, void *context) {
    removed++;
}

static void count_told(void *object, uint32_t from, uint32_t to, void *context) {
    const kolk_slotmap *map = (const kolk_slotmap *)context;
    assert_int_equal(from, to);
    assert_int_equal(from, told++);
    assert_ptr_equal(object, kolk_slotmap_at(map, to));
    assert_int_equal(*(const char *)object, 'a' + (int)from); /* the object is there already */
}

static void test_hooks(void **state) {
    kolk_slotmap map;
    kolk_slotmap_desc desc = {.name = "hooks", .object_size = 8, .capacity = 9};
    make_map(&map, &desc);
    for (char n = 0; n < 3; n++) add_letter(&map, (char)('a' + n));
    block taken = take_map_snapshot(&map);
    end_map(&map);

    desc.move = move_bytes;
    make_map(&map, &desc);
    add_letter(&map, 'm');
    assert_int_equal(kolk_slotmap_snapshot_size(&map), 0);
    assert_int_equal(kolk_slotmap_snapshot(&map, taken.bytes, taken.size), 0);
    assert_int_equal(restore(&map, taken), KOLK_NO_SNAPSHOT);
    assert_int_equal(kolk_slotmap_restore_converted(&map, taken.bytes, taken.size, number_ship, NULL),
                     KOLK_NO_SNAPSHOT);
    assert_string_equal(letters(&map), "m");
    end_map(&map);

    desc.move = NULL;
    desc.on_remove = count_removed;
    desc.on_move = count_told;
    desc.context = &map;
    make_map(&map, &desc);
    for (char n = 0; n < 5; n++) add_letter(&map, 'x');
    removed = told = 0;
    assert_int_equal(restore(&map, taken), KOLK_OK);
    assert_int_equal(removed, 0);
    assert_int_equal(told, 3);
    assert_string_equal(letters(&map), "abc");
    kolk_slotmap_clear(&map);
    assert_int_equal(removed, 3);
    free(taken.bytes);
    end_map(&map);
}

/* ---- Blocks that are refused ------------------------------------------------------------------------------------- */

/* A small map with objects, free and worn-out slots, its snapshot, and a byte-wise copy of the map. The chain is 3, 1,
 * 6 (objects), 5, 0 (free), 4, 2 (worn out). */
typedef struct small {
    kolk_slotmap map, before;
    block memory_before;
    block taken;
} small;

static void make_small(small *s) {
    make_map(&s->map, &(kolk_slotmap_desc){.name = "small", .object_size = 3, .capacity = 9});
    for (unsigned char n = 0; n < 7; n++) memset(kolk_slotmap_add(&s->map, NULL), n, 3);
    remove_slot(&s->map, 4), wear_out(&s->map, 4);
    remove_slot(&s->map, 2), wear_out(&s->map, 2);
    remove_slot(&s->map, 0), remove_slot(&s->map, 5);
    uint32_t chain[] = {3, 1, 6, 5, 0};
    kolk_slotmap *map = &s->map;
    for (uint32_t place = 0; place < 5; place++) { /* any order is possible, after a sort */
        map->owners[place] = chain[place];
        map->cells[chain[place]].place = place;
    }
    assert_true(kolk_slotmap_is_valid(map));
    assert_int_equal(map->worn, 2);
    s->taken = take_map_snapshot(map);
    kolk_slotmap_add(map, NULL); /* so that a restore would be noticed */
    s->before = s->map;
    s->memory_before = new_block(map->block_size);
    memcpy(s->memory_before.bytes, map->block, map->block_size);
}

static void end_small(small *s) {
    free(s->taken.bytes);
    free(s->memory_before.bytes);
    end_map(&s->map);
}

static void assert_unchanged(const small *s) {
    assert_memory_equal(&s->map, &s->before, sizeof s->map);
    assert_memory_equal(s->map.block, s->memory_before.bytes, s->memory_before.size);
}

static void assert_refused(small *s, const unsigned char *bytes, size_t size, kolk_status status) {
    assert_int_equal(kolk_slotmap_restore(&s->map, bytes, size), status);
    assert_unchanged(s);
}

/* Restores a forged block with a correct checksum. The map must then be valid and exactly in the block's state, or else
 * unchanged. Returns true if the block was accepted. */
static bool try_forged(void *context, block forged) {
    small *s = (small *)context;
    seal(forged);
    kolk_status status = restore(&s->map, forged);
    if (status != KOLK_OK) {
        assert_unchanged(s);
        assert_true(is_refusal(status));
        return false;
    }
    assert_true(kolk_slotmap_is_valid(&s->map));
    block again = take_map_snapshot(&s->map);
    assert_true(equals(again, forged)); /* each state has only one block */
    free(again.bytes);
    memcpy(s->map.block, s->memory_before.bytes, s->memory_before.size);
    s->map = s->before;
    return true;
}

static void test_forged_bytes(void **state) {
    small s;
    make_small(&s);
    /* accepts at least all changes to the contents of the 3 objects */
    assert_true(forge_bytes(s.taken, try_forged, &s) > 255 * 3 * 3);
    end_small(&s);
}

static void test_forged_numbers(void **state) {
    small s;
    make_small(&s);
    forge_numbers(s.taken, MAP_HEADER + 14 * 4, try_forged, &s);
    end_small(&s);
}

/* Forges one number at a time. promise: "if it has the same ... untrusted source" */
static void test_lies(void **state) {
    small s;
    make_small(&s);
    const size_t generations = MAP_HEADER, links = generations + 7 * 4;
    const struct {
        size_t at;
        uint32_t was, lie;
        kolk_status status;
    } rows[] = {
        {MAP_FIRST_AT, 4, 0, KOLK_FORGED_SNAPSHOT},        /* there is no chain */
        {MAP_FIRST_AT, 4, 2, KOLK_FORGED_SNAPSHOT},        /* too short */
        {MAP_FIRST_AT, 4, 8, KOLK_FORGED_SNAPSHOT},        /* begins with a slot that never had an object */
        {MAP_FIRST_AT, 4, 5, KOLK_FORGED_SNAPSHOT},        /* begins with a worn-out slot */
        {links + 4 * 2, 0, 4, KOLK_FORGED_SNAPSHOT},       /* an endless loop */
        {links + 4 * 6, 6, 4, KOLK_FORGED_SNAPSHOT},       /* a shorter loop, and slots in no list */
        {links + 4 * 3, 2, 7, KOLK_FORGED_SNAPSHOT},       /* skips a slot */
        {links + 4 * 4, 3, 0, KOLK_FORGED_SNAPSHOT},       /* ends before the last slot */
        {links + 4 * 4, 3, 5, KOLK_FORGED_SNAPSHOT},       /* the same worn-out slot again and again */
        {links + 4 * 6, 6, 10, KOLK_FORGED_SNAPSHOT},      /* goes beyond fresh */
        {generations + 4 * 1, 1, 0, KOLK_FORGED_SNAPSHOT}, /* an object in a worn-out slot */
        {generations + 4 * 0, 2, 0, KOLK_FORGED_SNAPSHOT}, /* three slots would be worn out */
        {generations + 4 * 2, 0, 1, KOLK_FORGED_SNAPSHOT}, /* only one slot would be worn out */
        {MAP_COUNT_AT, 3, 2, KOLK_FORGED_SNAPSHOT},        /* the block would have a different size */
        {MAP_COUNT_AT, 3, 6, KOLK_FORGED_SNAPSHOT},        /* more than the slots that are not worn out */
        {MAP_COUNT_AT, 3, UINT32_MAX, KOLK_FORGED_SNAPSHOT},
        {MAP_WORN_AT, 2, 1, KOLK_FORGED_SNAPSHOT},
        {MAP_WORN_AT, 2, 3, KOLK_FORGED_SNAPSHOT},
        {MAP_WORN_AT, 2, 5, KOLK_FORGED_SNAPSHOT}, /* count + worn > fresh */
        {MAP_WORN_AT, 2, 8, KOLK_FORGED_SNAPSHOT}, /* more than all slots */
        {MAP_WORN_AT, 2, UINT32_MAX, KOLK_FORGED_SNAPSHOT},
        {MAP_FRESH_AT, 7, 8, KOLK_FORGED_SNAPSHOT}, /* the block would have a different size */
        {MAP_FRESH_AT, 7, 6, KOLK_FORGED_SNAPSHOT},
        {OBJECT_SIZE_AT, 3, 4, KOLK_OTHER_POOL},
        {TAG_AT, s.map.tag, s.map.tag ^ 1, KOLK_OTHER_POOL},
        {generations + 4 * 1, 1, UINT32_MAX, KOLK_OK}, /* its last life */
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
    end_small(&s);
}

/* Blocks whose sizes, chain and generations agree, although count exceeds the slots that are not worn out, or worn
 * exceeds all slots. promise: "if it has the same ... untrusted source" */
static void test_objects_without_slots(void **state) {
    static const uint32_t lies[][3] = {{0, 3, 0}, {1, 2, 1}, {0, 2, UINT32_MAX}, {0, 2, UINT32_MAX - 5}};
    for (size_t i = 0; i < LENGTH_OF(lies); i++) {
        kolk_slotmap map;
        make_map(&map, &(kolk_slotmap_desc){.name = "more", .object_size = 8, .capacity = 4});
        add_letter(&map, 'a'), add_letter(&map, 'b');
        if (lies[i][0]) remove_slot(&map, 1), wear_out(&map, 1);
        block taken = take_map_snapshot(&map), forged = new_block(MAP_HEADER + 2 * 8 + lies[i][1] * 8 + 8);
        memset(forged.bytes, 0, forged.size);
        memcpy(forged.bytes, taken.bytes, taken.size - 8);
        put_number(forged, SIZE_AT + (is_little_endian() ? 0 : 4), (uint32_t)forged.size);
        put_number(forged, MAP_COUNT_AT, lies[i][1]);
        put_number(forged, MAP_WORN_AT, lies[i][2]);
        seal(forged);
        assert_int_equal(restore(&map, forged), KOLK_FORGED_SNAPSHOT);
        assert_string_equal(letters(&map), lies[i][0] ? "a" : "ab");
        free(taken.bytes);
        free(forged.bytes);
        end_map(&map);
    }
}

/* promise: "if it has the same ... untrusted source", "KOLK_FORGED_SNAPSHOT, KOLK_OTHER_POOL" */
static void test_other_maps(void **state) {
    const kolk_slotmap_desc desc = {.name = "one", .object_size = 8, .capacity = 4};
    kolk_slotmap_desc others[] = {desc, desc, desc, desc};
    others[0].name = "another";
    others[1].tag = 5;
    others[2].object_size = 9;
    others[3].object_size = 7;
    kolk_slotmap map, other;
    make_map(&map, &desc);
    add_letter(&map, 'a');
    block taken = take_map_snapshot(&map);
    for (size_t i = 0; i < LENGTH_OF(others); i++) {
        make_map(&other, &others[i]);
        assert_int_equal(restore(&other, taken), KOLK_OTHER_POOL);
        assert_int_equal(kolk_slotmap_count(&other), 0);
        block back = take_map_snapshot(&other);
        assert_int_equal(restore(&map, back), KOLK_OTHER_POOL);
        assert_string_equal(letters(&map), "a");
        free(back.bytes);
        end_map(&other);
    }
    free(taken.bytes);
    end_map(&map);
}

/* ---- The debug mode ---------------------------------------------------------------------------------------------- */

/* Makes a map in the n-th debug mode. */
static void make_debugged(kolk_slotmap *map, size_t n) {
    static const char *const settings[] = {NULL, "fill", "fill,sites", "move", "fill,move", "trace", NULL, "move"};
    setenv("KOLK_BYPASS", n >= 6 ? "1" : "0", 1);
    make_map(map, &(kolk_slotmap_desc){.name = "modes", .object_size = 5, .max_capacity = 8, .debug = settings[n]});
}

/* Blocks do not depend on the debug mode, and can be restored in a different one. */
static void test_debug_modes_understand_each_other(void **state) {
    for (size_t i = 0; i < 8 * 8 * 3; i++) {
        kolk_slotmap map, other;
        uint32_t before = i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : 7;
        make_debugged(&map, i / 3 % 8);
        for (char n = 0; n < 6; n++) add_letter(&map, (char)('a' + n));
        kolk_handle last = handle_at(&map, 5);
        for (uint32_t slot = 1; slot < 4; slot++) remove_slot(&map, slot);
        block taken = take_map_snapshot(&map);
        make_debugged(&other, i / 24);
        for (uint32_t n = 0; n < before; n++) add_letter(&other, 'x');
        for (unsigned round = 0; round < 10; round++) { /* enough to reuse the blocks of the setting `move` */
            assert_int_equal(restore(&other, taken), KOLK_OK);
            assert_true(kolk_slotmap_is_valid(&other));
            assert_string_equal(letters(&other), letters(&map));
            assert_int_equal(letter_of(&other, last), 'f');
            if (round % 2) remove_slot(&other, 0), remove_slot(&other, 4);
            if (round % 3 == 1) add_letter(&other, 'y');
        }
        assert_int_equal(restore(&other, taken), KOLK_OK);
        for (unsigned n = 0; n < 5; n++) assert_true(kolk_handle_equal(add_letter(&map, 'z'), add_letter(&other, 'z')));
        assert_null(kolk_slotmap_add(&other, NULL));
        assert_true(kolk_slotmap_is_valid(&other));
        kolk_slotmap_clear(&map);
        kolk_slotmap_clear(&other);
        free(taken.bytes);
        end_map(&map);
        end_map(&other);
    }
}

/* Damage is reported before a restore overwrites it. Objects that only the block has get the call of restore as their
 * site, and objects that the map has too keep their own. */
static void test_damage_and_sites(void **state) {
    static reports kept;
    kolk_slotmap map;
    make_map(&map, &(kolk_slotmap_desc){.name = "damage", .object_size = 4, .capacity = 4, .debug = "fill,sites"});
    add_letter(&map, 'a');
    kolk_handle b = add_letter(&map, 'b');
    block before = take_map_snapshot(&map);
    kolk_slotmap_remove(&map, b);
    begin_reports(&kept);
    ((char *)kolk_slotmap_objects(&map))[5] = 'x';
    assert_int_equal(restore(&map, before), KOLK_OK);
    const report *now = next_report(&kept);
    assert_int_equal(now->failure.rule, KOLK_WRITE_AFTER_FREE);
    assert_int_equal(now->failure.slot, 1);
    assert_true(now->failure.alloc_site && now->failure.site && now->failure.sites);
    assert_no_more(&kept);
    assert_string_equal(letters(&map), "ab");

    kolk_slotmap_deinit(&map);
    const report *first = next_report(&kept), *second = next_report(&kept); /* two sites: the add and the restore */
    assert_true(first->failure.rule == KOLK_LEAK && second->failure.rule == KOLK_LEAK);
    assert_int_equal(first->failure.count, 1);
    assert_int_equal(second->failure.count, 1);
    assert_ptr_not_equal(first->failure.alloc_site, second->failure.alloc_site);
    assert_no_more(&kept);

    make_map(&map, &(kolk_slotmap_desc){.name = "damage", .object_size = 4, .capacity = 4, .debug = "sites"});
    block empty = take_map_snapshot(&map);
    add_letter(&map, 'a'), add_letter(&map, 'b');
    assert_int_equal(restore(&map, empty), KOLK_OK);
    kolk_slotmap_deinit(&map); /* the restore has ended both lives */
    assert_no_more(&kept);
    free(before.bytes);
    free(empty.bytes);
}

/* All objects that this function adds have the same site. */
KOLK_NOINLINE_ static void add_or_remove(kolk_slotmap *map, uint64_t *random) {
    uint32_t count = kolk_slotmap_count(map);
    if (random_below(random, 3))
        kolk_slotmap_add(map, NULL);
    else if (count)
        kolk_slotmap_remove(map, handle_at(map, random_below(random, count)));
}

/* Lives that the map and the block have go on, with their sites; the others end, or begin by the restore. */
static void test_lives(void **state) {
    static reports kept;
    uint64_t random = number_from_environment("KOLK_TEST_SEED", 20261126);
    for (unsigned round = 0; round < 300; round++) {
        kolk_slotmap map, other;
        kolk_slotmap_desc desc = {.name = "lives", .object_size = 4, .max_capacity = 12};
        desc.debug = round % 2 ? "sites" : "sites,fill,move";
        make_map(&map, &desc);
        make_map(&other, &desc);
        for (uint32_t n = random_below(&random, 40); n > 0; n--) add_or_remove(&map, &random);
        for (uint32_t n = random_below(&random, 40); n > 0; n--) add_or_remove(&other, &random);
        uint32_t both = 0, all = map.count;
        for (uint32_t slot = 0; slot < map.fresh && slot < other.fresh; slot++)
            both += map.cells[slot].place < map.count && other.cells[slot].place < other.count;
        block taken = take_map_snapshot(&map);
        begin_reports(&kept);
        assert_int_equal(restore(&other, taken), KOLK_OK);
        assert_no_more(&kept);
        kolk_slotmap_clear(&map);
        end_map(&map);
        kolk_slotmap_deinit(&other); /* reports all lives by their sites, the oldest first */
        if (both) assert_int_equal(next_report(&kept)->failure.count, both);
        if (all > both) assert_int_equal(next_report(&kept)->failure.count, all - both);
        assert_no_more(&kept);
        free(taken.bytes);
    }
}

/* Restored objects leave fills behind, like others. */
static void test_fills_behind_restored_objects(void **state) {
    kolk_slotmap map;
    kolk_slotmap_desc desc = {.name = "behind", .object_size = 12, .capacity = 4, .debug = "fill"};
    make_map(&map, &desc);
    add_letter(&map, 'a'), add_letter(&map, 'b');
    block two = take_map_snapshot(&map);
    end_map(&map);
    for (uint32_t place = 0; place < 2; place++) {
        make_map(&map, &desc);
        assert_int_equal(restore(&map, two), KOLK_OK);
        kolk_slotmap_clear(&map);
        unsigned char *object = (unsigned char *)kolk_slotmap_objects(&map) + (size_t)place * map.stride;
        assert_true(has_dead_fill(object, 12));
        *object ^= 1;
        assert_false(kolk_slotmap_is_valid(&map));
        *object ^= 1;
        end_map(&map);
    }
    free(two.bytes);
}

/* Vacated places are filled, and a write to one is found. */
static void test_fills(void **state) {
    reports kept;
    kolk_slotmap map;
    make_map(&map, &(kolk_slotmap_desc){.name = "fills", .object_size = 12, .capacity = 8, .debug = "fill"});
    add_letter(&map, 'a');
    block one = take_map_snapshot(&map);
    for (unsigned n = 0; n < 5; n++) add_letter(&map, 'b');
    block six = take_map_snapshot(&map);
    unsigned char *objects = (unsigned char *)kolk_slotmap_objects(&map);
    for (unsigned n = 0; n < 4; n++) remove_slot(&map, n + 1);
    assert_int_equal(restore(&map, six), KOLK_OK);
    for (uint32_t n = 0; n < 4; n++) remove_slot(&map, n);
    assert_int_equal(restore(&map, one), KOLK_OK);
    begin_reports(&kept);
    assert_true(kolk_slotmap_is_valid(&map));
    assert_true(has_dead_fill(objects + 12, 12) && has_dead_fill(objects + 24, 12));
    assert_int_equal(restore(&map, six), KOLK_OK);
    remove_slot(&map, 5);
    objects[5 * 12 + 3] ^= 1;
    assert_false(kolk_slotmap_is_valid(&map));
    assert_int_equal(restore(&map, one), KOLK_OK);
    assert_int_equal(next_report(&kept)->failure.slot, 5);
    assert_no_more(&kept);

    /* places that count as never used are not checked: a trim may discard them */
    for (unsigned n = 1; n < 8; n++) memset(objects + (size_t)12 * n, 0, 12);
    assert_true(kolk_slotmap_is_valid(&map));
    for (unsigned n = 1; n < 8; n++) add_letter(&map, 'c');
    kolk_slotmap_clear(&map);
    assert_no_more(&kept);
    free(one.bytes);
    free(six.bytes);
    end_map(&map);
}

/* Damage is reported before any change: a handler that jumps out of the report leaves the map unchanged. */
static jmp_buf out_of_handler;

static void jump_out(const kolk_failure *failure, void *context) {
    longjmp(out_of_handler, 1);
}

static void test_a_restore_may_be_jumped_out_of(void **state) {
    static kolk_slotmap map;
    static block empty;
    make_map(&map, &(kolk_slotmap_desc){.name = "jump", .object_size = 12, .capacity = 9, .debug = "fill"});
    empty = take_map_snapshot(&map);
    add_letter(&map, 'a');
    kolk_slotmap_remove(&map, add_letter(&map, 'b'));
    ((unsigned char *)kolk_slotmap_objects(&map))[12] = 1;
    kolk_set_failure_handler(jump_out, NULL);
    if (setjmp(out_of_handler) == 0) {
        restore(&map, empty);
        fail_msg("%s", "no report");
    }
    assert_string_equal(letters(&map), "a");
    free(empty.bytes);
    end_map(&map);
}

/* With `move`, a restore gives all objects other addresses, before they are converted and on_move is called. */
static void note_address(void *object, const void *saved, size_t saved_size, void *context) {
    memcpy(object, saved, saved_size);
    *(void **)context = object;
}

/* promise: "Returns 0 if no snapshot is possible, because", "KOLK_FORGED_SNAPSHOT, KOLK_OTHER_POOL" */
static void test_move(void **state) {
    kolk_slotmap map;
    void *converted = NULL;
    make_map(&map, &(kolk_slotmap_desc){.object_size = 12, .max_capacity = 4, .debug = "move"});
    add_letter(&map, 'a');
    block taken = take_map_snapshot(&map);
    void *before = kolk_slotmap_objects(&map);
    assert_int_equal(restore(&map, taken), KOLK_OK);
    assert_ptr_not_equal(kolk_slotmap_objects(&map), before);
    assert_string_equal(letters(&map), "a");
    before = kolk_slotmap_objects(&map);
    assert_int_equal(kolk_slotmap_restore_converted(&map, taken.bytes, taken.size, note_address, &converted), KOLK_OK);
    assert_ptr_not_equal(kolk_slotmap_objects(&map), before);
    assert_ptr_equal(kolk_slotmap_objects(&map), converted);
    free(taken.bytes);
    end_map(&map);
}

static int alive; /* by the profiler's calls */
static const void *alive_at[8];

/* Asserts that there are no two objects at one address, and that what ends has begun. */
static void hear_alloc(const char *pool, const void *object, size_t size, void *context) {
    assert_true(alive < 8);
    for (int n = 0; n < alive; n++) assert_ptr_not_equal(alive_at[n], object);
    alive_at[alive++] = object;
}

static void hear_free(const char *pool, const void *object, void *context) {
    int n = 0;
    while (n < alive && alive_at[n] != object) n++;
    assert_true(n < alive);
    alive_at[n] = alive_at[--alive];
}

static void test_profilers_hear_of_lives(void **state) {
    static const kolk_profiler profiler = {.alloc = hear_alloc, .free = hear_free};
    kolk_slotmap map;
    alive = 0;
    kolk_set_profiler(&profiler);
    make_map(&map, &(kolk_slotmap_desc){.name = "trace", .object_size = 12, .max_capacity = 8, .debug = "trace"});
    block none = take_map_snapshot(&map);
    add_letter(&map, 'a'), add_letter(&map, 'b'), add_letter(&map, 'c');
    block three = take_map_snapshot(&map);
    remove_slot(&map, 0), remove_slot(&map, 1);
    add_letter(&map, 'd'), add_letter(&map, 'e'), add_letter(&map, 'f');
    assert_int_equal(alive, 4);
    assert_int_equal(restore(&map, three), KOLK_OK);
    assert_int_equal(alive, 3);
    assert_int_equal(restore(&map, none), KOLK_OK);
    assert_int_equal(alive, 0);
    assert_int_equal(restore(&map, three), KOLK_OK);
    assert_int_equal(alive, 3);
    free(none.bytes);
    free(three.bytes);
    end_map(&map);
    assert_int_equal(alive, 0);
}

static int plain_and_accept(void **state) {
    refuse(0, false);
    return plain_environment(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plain_and_accept, plain_and_accept)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_the_published_blocks),
        TEST(test_by_the_typed_skin),
        TEST(test_maps_without_objects),
        TEST(test_other_capacities),
        TEST(test_no_memory),
        TEST(test_worn_out_slots),
        TEST(test_counters_go_on),
        TEST(test_places_wider_than_objects),
        TEST(test_a_walk_that_restores),
        TEST(test_hooks),
        TEST(test_forged_bytes),
        TEST(test_forged_numbers),
        TEST(test_lies),
        TEST(test_objects_without_slots),
        TEST(test_other_maps),
        TEST(test_debug_modes_understand_each_other),
        TEST(test_damage_and_sites),
        TEST(test_lives),
        TEST(test_fills_behind_restored_objects),
        TEST(test_fills),
        TEST(test_a_restore_may_be_jumped_out_of),
        TEST(test_move),
        TEST(test_profilers_hear_of_lives),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
