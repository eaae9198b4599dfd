/* kolk_slotmap_rebind: new hooks for an existing map, and descriptors that it must refuse. */
#include "../help/test.h"

#include "slotmap_test.h"

typedef struct calls {
    unsigned moves, removals, copies;
} calls;

static void count_move(void *object, uint32_t from, uint32_t to, void *context) {
    ((calls *)context)->moves++;
}

static void count_removal(void *object, void *context) {
    ((calls *)context)->removals++;
}

static void count_copy(void *to, void *from, void *context) {
    memcpy(to, from, 8);
    ((calls *)context)->copies++;
}

/* Without the fast path's bound, a hook that is new would be missed. */
static void test_hooks_that_come_and_go(void **state) {
    kolk_slotmap map;
    calls counted[2] = {{0}};
    kolk_slotmap_desc plain = {.name = "plain", .object_size = 8, .capacity = 2, .max_capacity = 8}, hooked = plain;
    hooked.name = "hooked";
    hooked.on_move = count_move;
    hooked.on_remove = count_removal;
    hooked.move = count_copy;
    make_map(&map, &plain);
    kolk_handle kept = add_letter(&map, 'k');
    for (int turn = 0; turn < 4; turn++) {
        hooked.context = &counted[turn / 2];
        assert_int_equal(kolk_slotmap_rebind(&map, turn % 2 ? &hooked : &plain), KOLK_OK);
        kolk_handle a = add_letter(&map, 'a'), b = add_letter(&map, 'b');
        assert_true(kolk_slotmap_remove(&map, a) && kolk_slotmap_remove(&map, b));
        assert_string_equal(letters(&map), "k");
        assert_int_equal(letter_of(&map, kept), 'k');
        kolk_stats stats;
        kolk_slotmap_stats(&map, &stats);
        assert_string_equal(stats.name, turn % 2 ? "hooked" : "plain");
    }
    for (int n = 0; n < 2; n++)
        assert_true(counted[n].moves == 1 && counted[n].copies == 1 && counted[n].removals == 2);
    end_map(&map);
    assert_int_equal(counted[1].removals, 3);
}

static void refuse(kolk_slotmap *map, const kolk_slotmap_desc *desc, kolk_status with) {
    kolk_slotmap before = *map;
    assert_int_equal(kolk_slotmap_rebind(map, desc), with);
    assert_memory_equal(map, &before, sizeof before);
}

typedef struct body {
    int x;
} body;

typedef struct wider_body {
    int x, y;
} wider_body;

KOLK_SLOTMAP_TYPE(bodies, body)
KOLK_SLOTMAP_TYPE(wider_bodies, wider_body)

/* tests/contracts/test_all_rebinds.c has more of them. promise: "replaces the hooks ... KOLK_IN_HOOK or KOLK_MOVED" */
static void test_what_is_refused(void **state) {
    kolk_slotmap map;
    kolk_slotmap_desc own = {.object_size = 16, .capacity = 4};
    make_map(&map, &own);
    assert_int_equal(kolk_slotmap_rebind(&map, &(kolk_slotmap_desc){0}), KOLK_OK);
    refuse(&map, &(kolk_slotmap_desc){.capacity = 5}, KOLK_LAYOUT_CHANGED);
    refuse(&map, &(kolk_slotmap_desc){.max_capacity = 5}, KOLK_LAYOUT_CHANGED);
    assert_int_equal(kolk_slotmap_rebind_abi_(&map, &own, 0, 0, sizeof map, KOLK_ABI + 1), KOLK_WRONG_ABI);
    end_map(&map);

    bodies typed;
    assert_int_equal(bodies_init(&typed, &(kolk_slotmap_desc){.capacity = 2}), KOLK_OK);
    assert_int_equal(bodies_rebind(&typed, &(kolk_slotmap_desc){.capacity = 2}), KOLK_OK);
    wider_bodies *as_next = (wider_bodies *)(void *)&typed;
    assert_int_equal(wider_bodies_rebind(as_next, &(kolk_slotmap_desc){.capacity = 2}), KOLK_STRUCT_CHANGED);
    bodies_deinit(&typed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hooks_that_come_and_go),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
