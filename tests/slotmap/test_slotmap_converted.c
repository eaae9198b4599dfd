/* kolk_slotmap_restore_converted: after random histories, a slot map of a larger or a smaller struct has the same
 * handles, valid and stale, in the same places, and goes on in the same way. (Blocks that it must refuse:
 * contracts/test_all_snapshots.c.) */
#include "../help/test.h"

#include "slotmap_test.h"
#include "snapshot_block.h"

#define SLOTS  40u
#define ISSUED 2000u

typedef struct old_ship {
    uint32_t number;
    unsigned char crew[7];
} old_ship;

typedef struct large_ship {
    uint64_t number;
    double fuel;
    uint16_t crew, added;
} large_ship;

typedef struct small_ship {
    uint16_t number;
} small_ship;

KOLK_SLOTMAP_TYPE(old_ships, old_ship)
KOLK_SLOTMAP_TYPE(large_ships, large_ship)
KOLK_SLOTMAP_TYPE(small_ships, small_ship)

typedef struct conversion {
    const kolk_slotmap *into;
    uint32_t calls;
} conversion;

static old_ship saved_ship(void *object, const void *saved, size_t saved_size, void *context) {
    conversion *now = (conversion *)context;
    old_ship from;
    assert_int_equal(saved_size, sizeof from);
    assert_true(all_bytes_are(object, now->into->object_size, 0));
    assert_int_equal(kolk_slotmap_index(now->into, object), now->calls);
    assert_true(kolk_slotmap_is_valid(now->into));
    now->calls++;
    memcpy(&from, saved, sizeof from);
    return from;
}

static void to_large(void *object, const void *saved, size_t saved_size, void *context) {
    old_ship from = saved_ship(object, saved, saved_size, context);
    *(large_ship *)object = (large_ship){.number = from.number, .crew = from.crew[0], .fuel = 1};
}

static void to_small(void *object, const void *saved, size_t saved_size, void *context) {
    *(small_ship *)object = (small_ship){(uint16_t)saved_ship(object, saved, saved_size, context).number};
}

static kolk_slotmap_desc desc_of(unsigned round) {
    static const char *const debugs[] = {NULL, "fill", "move", "fill,move,sites", NULL};
    return (kolk_slotmap_desc){.name = "fleet",
                               .capacity = round % 3 ? SLOTS : 1,
                               .max_capacity = SLOTS,
                               .debug = debugs[round % LENGTH_OF(debugs)]};
}

/* All handles that the old map has issued. */
static struct {
    old_ships_handle all[ISSUED];
    uint32_t count;
} issued;

static int by_number(const void *a, const void *b, void *context) {
    return (((const old_ship *)a)->number % 16 > ((const old_ship *)b)->number % 16) -
           (((const old_ship *)a)->number % 16 < ((const old_ship *)b)->number % 16);
}

static void take_random_steps(old_ships *map, uint64_t *random, uint32_t steps) {
    while (steps-- > 0) {
        uint32_t way = random_below(random, 100), count = old_ships_count(map);
        uint32_t place = count ? random_below(random, count) : 0;
        old_ships_handle handle;
        old_ship *ship = way < 55 ? old_ships_add(map, &handle) : NULL;
        if (ship) {
            *ship = (old_ship){.number = steps, .crew = {(unsigned char)steps}};
            if (issued.count < ISSUED) issued.all[issued.count++] = handle;
        }
        if (way >= 55 && way < 95 && count) {
            handle = old_ships_handle_of(map, old_ships_at(map, place));
            if (way % 8 == 0) map->map.cells[old_ships_slot(map, handle)].generation = UINT32_MAX; /* its last life */
            handle = old_ships_handle_of(map, old_ships_at(map, place));
            assert_true(old_ships_remove(map, handle));
        }
        if (way == 95) old_ships_clear(map);
        if (way > 95) old_ships_sort(map, by_number, NULL);
    }
    assert_true(old_ships_is_valid(map));
}

/* Both maps have the same handles, and find them in the same places. */
static void assert_same_handles(const kolk_slotmap *old, const kolk_slotmap *new) {
    assert_true(kolk_slotmap_is_valid(old) && kolk_slotmap_is_valid(new));
    assert_int_equal(old->count, new->count);
    for (uint32_t n = 0; n < issued.count; n++) {
        const void *before = kolk_slotmap_get(old, issued.all[n].untyped);
        const void *now = kolk_slotmap_get(new, issued.all[n].untyped);
        assert_int_equal(before != NULL, now != NULL);
        if (now) assert_int_equal(kolk_slotmap_index(old, before), kolk_slotmap_index(new, now));
    }
    for (uint32_t place = 0; place < old->count; place++)
        assert_true(kolk_handle_equal(kolk_slotmap_handle_of(old, kolk_slotmap_at(old, place)),
                                      kolk_slotmap_handle_of(new, kolk_slotmap_at(new, place))));
}

/* Both maps do the same, and must give the same handles. */
static void go_on(kolk_slotmap *old, kolk_slotmap *new, uint64_t *random) {
    for (unsigned steps = 0; steps < 200; steps++) {
        kolk_handle one, same;
        if (random_below(random, 2)) {
            void *before = kolk_slotmap_add(old, &one), *now = kolk_slotmap_add(new, &same);
            assert_true(kolk_handle_equal(one, same));
            assert_int_equal(before != NULL, now != NULL);
            if (!now) continue;
            memset(before, 1, old->object_size);
            memset(now, 2, new->object_size);
        } else if (old->count) {
            one = kolk_slotmap_handle_of(old, kolk_slotmap_at(old, random_below(random, old->count)));
            assert_true(kolk_slotmap_remove(old, one));
            assert_true(kolk_slotmap_remove(new, one));
        }
    }
    assert_same_handles(old, new);
}

static void restore_large(const old_ships *old, block saved, const kolk_slotmap_desc *desc, large_ships *new,
                          uint64_t *random) {
    conversion now = {&new->map, 0};
    assert_int_equal(large_ships_init(new, desc), KOLK_OK);
    for (uint32_t n = random_below(random, SLOTS); n > 0; n--) /* what the restore replaces */
        *large_ships_add(new, NULL) = (large_ship){.number = 1};
    assert_int_equal(large_ships_restore(new, saved.bytes, saved.size), KOLK_OTHER_POOL);
    assert_int_equal(large_ships_restore_converted(new, saved.bytes, saved.size, to_large, &now), KOLK_OK);
    assert_int_equal(now.calls, old_ships_count(old));
    for (uint32_t place = 0; place < old_ships_count(old); place++) {
        const old_ship *before = old_ships_at(old, place);
        const large_ship *after = large_ships_at(new, place);
        assert_true(after->number == before->number && after->crew == before->crew[0] && after->fuel > 0);
    }
    assert_same_handles(&old->map, &new->map);
}

static void restore_small(const old_ships *old, block saved, const kolk_slotmap_desc *desc, small_ships *new) {
    conversion now = {&new->map, 0};
    assert_int_equal(small_ships_init(new, desc), KOLK_OK);
    assert_int_equal(small_ships_restore_converted(new, saved.bytes, saved.size, to_small, &now), KOLK_OK);
    assert_int_equal(now.calls, old_ships_count(old));
    for (uint32_t place = 0; place < old_ships_count(old); place++)
        assert_int_equal(small_ships_at(new, place)->number, old_ships_at(old, place)->number);
    assert_same_handles(&old->map, &new->map);
}

/* promise: "calls `convert` ... bytes of the block" */
static void test_random_histories(void **state) {
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 20261126), random = seed;
    uint32_t worn = 0;
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    for (unsigned round = 0; round < (does_a_part() ? 40 : 200); round++) {
        kolk_slotmap_desc desc = desc_of(round);
        old_ships old;
        large_ships large;
        small_ships small;
        issued.count = 0;
        assert_int_equal(old_ships_init(&old, &desc), KOLK_OK);
        take_random_steps(&old, &random, random_below(&random, 400));
        block saved = take_map_snapshot(&old.map);
        worn += old.map.worn;
        restore_large(&old, saved, &desc, &large, &random);
        restore_small(&old, saved, &desc, &small);
        if (round % 2)
            go_on(&old.map, &large.map, &random);
        else
            go_on(&old.map, &small.map, &random);
        old_ships_clear(&old);
        large_ships_clear(&large);
        small_ships_clear(&small);
        old_ships_deinit(&old);
        large_ships_deinit(&large);
        small_ships_deinit(&small);
        free(saved.bytes);
    }
    assert_true(worn > 0);
}

int main(void) {
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
