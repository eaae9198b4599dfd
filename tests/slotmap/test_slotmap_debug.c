/* wraps: help/system_calls.h */
/* The debug mode of slot maps: the settings in force, `fill` and its check, `move` and kept pointers, sites, leaks, and
 * trace. */
#include "../help/debug_test.h"

#include "../help/system_calls.h"
#include "slotmap_test.h"
#include "snapshot_block.h"

static uint32_t flags_of(const kolk_slotmap *map) {
    kolk_stats stats;
    kolk_slotmap_stats(map, &stats);
    return stats.debug;
}

static void test_settings_in_force(void **state) {
    static _Alignas(8) unsigned char memory[1000];
    static const struct {
        const char *environment, *own;
        bool lent;
        uint32_t flags;
    } rows[] = {
        {NULL, "move", false, KOLK_DEBUG_MOVE},
        {NULL, "move,fill", true, KOLK_DEBUG_FILL}, /* objects cannot move out of the caller's memory */
        {"all,move,trace", "fill", false, KOLK_DEBUG_FILL | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE | KOLK_DEBUG_MOVE},
        {"move:other;sites:m*", "fill", false, KOLK_DEBUG_SITES},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        kolk_slotmap map;
        kolk_slotmap_desc desc = {.name = "map", .object_size = 8, .capacity = 8, .debug = rows[i].own};
        if (rows[i].lent) desc.memory = memory, desc.memory_size = sizeof memory;
        if (rows[i].environment) setenv("KOLK_DEBUG", rows[i].environment, 1);
        make_map(&map, &desc);
        unsetenv("KOLK_DEBUG");
        assert_int_equal(flags_of(&map), rows[i].flags);
        add_letter(&map, 'a');
        kolk_slotmap_clear(&map);
        end_map(&map);
    }
    kolk_pool pool; /* a pool's objects never move */
    make_pool(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 1, .debug = "move"});
    assert_int_equal(debug_flags(&pool), 0);
    end_pool(&pool);
}

/* A pointer is kept across a removal, and then written through. promise: "The map never stores its own data among" */
static void test_a_write_to_a_vacated_place(void **state) {
    kolk_slotmap map;
    reports kept;
    for (int seen_by = 0; seen_by < 3; seen_by++) {
        make_map(&map, &(kolk_slotmap_desc){.name = "bodies", .object_size = 12, .capacity = 4, .debug = "fill"});
        kolk_handle a = add_letter(&map, 'a'), b = add_letter(&map, 'b');
        unsigned char *second = (unsigned char *)kolk_slotmap_get(&map, b);
        assert_true(kolk_slotmap_remove(&map, a));
        assert_int_equal(letter_of(&map, b), 'b');
        assert_memory_equal(second, ((const uint32_t[]){0x1deadb0b, 0x1deadb0b, 0x1deadb0b}), 12);
        begin_reports(&kept);
        assert_true(kolk_slotmap_is_valid(&map));
        second[5] = 0x78;
        assert_false(kolk_slotmap_is_valid(&map));
        if (seen_by == 0) kolk_slotmap_add(&map, NULL);
        if (seen_by == 1) kolk_slotmap_clear(&map);
        if (seen_by == 2) kolk_slotmap_deinit(&map);
        assert_damage(&kept, KOLK_WRITE_AFTER_FREE, "bodies", second, 1, 5, 1,
                      "kolk: bodies: write after free to place 1: 78 written at byte 5 of it");
        assert_no_more(&kept);
        if (seen_by < 2) end_map(&map);
        assert_no_more(&kept); /* the damage was repaired */
    }
}

/* A pointer to an object that was removed in place is written through, in its hole. */
static void test_a_write_to_a_hole(void **state) {
    kolk_slotmap map;
    reports kept;
    for (int seen_by = 0; seen_by < 5; seen_by++) {
        make_map(&map, &(kolk_slotmap_desc){.name = "bodies", .object_size = 12, .capacity = 2, .debug = "fill"});
        block empty = take_map_snapshot(&map);
        kolk_handle a = add_letter(&map, 'a'), b = add_letter(&map, 'b');
        unsigned char *first = (unsigned char *)kolk_slotmap_get(&map, a);
        assert_true(kolk_slotmap_remove_in_place(&map, a));
        assert_memory_equal(first, ((const uint32_t[]){0x1deadb0b, 0x1deadb0b, 0x1deadb0b}), 12);
        assert_true(kolk_slotmap_is_valid(&map));
        first[5] = 0x78;
        assert_false(kolk_slotmap_is_valid(&map));
        begin_reports(&kept);
        if (seen_by == 0) kolk_slotmap_add(&map, NULL);
        if (seen_by == 1) kolk_slotmap_settle(&map);
        if (seen_by == 2) kolk_slotmap_remove(&map, b);
        if (seen_by == 3) assert_int_equal(kolk_slotmap_restore(&map, empty.bytes, empty.size), KOLK_OK);
        if (seen_by == 4) kolk_slotmap_clear(&map);
        free(empty.bytes);
        assert_damage(&kept, KOLK_WRITE_AFTER_FREE, "bodies", first, 0, 5, 1,
                      "kolk: bodies: write after free to place 0: 78 written at byte 5 of it");
        assert_no_more(&kept);
        end_map(&map);
        assert_no_more(&kept); /* the damage was repaired */
    }
}

/* ---- move -------------------------------------------------------------------------------------------------------- */

/* Calls that may move every object. */
static int compare_letters(const void *a, const void *b, void *context) {
    return *(const char *)a - *(const char *)b;
}

static void moves_by_remove(kolk_slotmap *map) {
    kolk_slotmap_remove(map, kolk_slotmap_handle_of(map, kolk_slotmap_at(map, 2)));
}

static void moves_by_sort(kolk_slotmap *map) {
    kolk_slotmap_sort(map, compare_letters, NULL);
}

static void moves_by_restore(kolk_slotmap *map) {
    block taken = take_map_snapshot(map);
    assert_int_equal(kolk_slotmap_restore(map, taken.bytes, taken.size), KOLK_OK);
    free(taken.bytes);
}

static void moves_by_settle(kolk_slotmap *map) {
    kolk_slotmap_remove_in_place(map, kolk_slotmap_handle_of(map, kolk_slotmap_at(map, 2)));
    kolk_slotmap_settle(map);
}

static void (*const all_moves[])(kolk_slotmap *map) = {moves_by_remove, moves_by_sort, moves_by_restore,
                                                       moves_by_settle, kolk_slotmap_clear};
static unsigned way, wrong_handles;

static unsigned later; /* how many moves follow */

static void touch_a_kept_pointer(void) {
    kolk_slotmap map;
    make_map(&map, &(kolk_slotmap_desc){.name = "bodies", .object_size = 12, .max_capacity = 4, .debug = "move"});
    kolk_handle c = add_letter(&map, 'c');
    add_letter(&map, 'b'), add_letter(&map, 'a');
    char *kept = (char *)kolk_slotmap_get(&map, c);
    *(volatile char *)kept = 'd'; /* nothing has moved yet */
    all_moves[way](&map);
    for (unsigned i = 0; i < later; i++) { /* the pointer stays invalid for several moves */
        add_letter(&map, 'x');
        kolk_slotmap_remove(&map, kolk_slotmap_handle_of(&map, kolk_slotmap_at(&map, kolk_slotmap_count(&map) - 1)));
    }
    signal(SIGSEGV, SIG_DFL); /* removes cmocka's or a sanitizer's handler */
    *(volatile char *)kept = 'e';
}

/* promise: "`move` catches a program that keeps pointers"; base.h "each remove ... include this setting" */
static void test_move_catches_kept_pointers(void **state) {
    for (way = 0; way < LENGTH_OF(all_moves); way++) {
        for (later = 0; later <= 6; later++) {
            char text[2000];
            int status = run_apart(touch_a_kept_pointer, text, sizeof text);
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
        }
    }
}

static void test_clear_moves_too(void **state) {
    kolk_slotmap map;
    make_map(&map, &(kolk_slotmap_desc){.object_size = 12, .max_capacity = 4, .debug = "move"});
    add_letter(&map, 'a');
    void *before = kolk_slotmap_objects(&map);
    kolk_slotmap_clear(&map);
    assert_ptr_not_equal(kolk_slotmap_objects(&map), before);
    end_map(&map);
}

static void note_handle(const kolk_failure *failure, void *context) {
    notes *taken = (notes *)context;
    wrong_handles++;
    take_note(failure, taken);
}

static void test_move_knows_pointers_of_before(void **state) {
    kolk_slotmap map;
    notes taken;
    make_map(&map, &(kolk_slotmap_desc){.name = "bodies", .object_size = 12, .capacity = 4, .debug = "move"});
    kolk_handle a = add_letter(&map, 'a'), b = add_letter(&map, 'b');
    char *second = (char *)kolk_slotmap_get(&map, b);
    kolk_slotmap_remove(&map, a);
    begin_notes(&taken);
    kolk_set_failure_handler(note_handle, &taken);
    assert_true(kolk_handle_is_null(kolk_slotmap_handle_of(&map, second)));
    assert_noted(&taken, KOLK_DEAD_OBJECT, "bodies", second, 1,
                 "kolk: bodies: handle of a pointer to place 1 from before a removal: keep handles");
    assert_int_equal(kolk_slotmap_index(&map, &map), UINT32_MAX);
    assert_noted(&taken, KOLK_FOREIGN_POINTER, "bodies", &map, NO_SLOT,
                 "kolk: bodies: index of a pointer that does not belong to this pool");
    assert_int_equal(wrong_handles, 2);
    assert_int_equal(letter_of(&map, b), 'b');
    end_map(&map);
}

static unsigned told[3]; /* moves to another place, only to another address, and others */

static void count_moves(void *object, uint32_t from, uint32_t to, void *context) {
    const kolk_slotmap *map = (const kolk_slotmap *)context;
    bool is_there = object == (char *)map->objects + (size_t)to * map->stride;
    told[!is_there ? 2 : from == to]++;
}

/* promise: "whose address has changed but not its place" */
static void test_on_move_hears_of_other_addresses(void **state) {
    kolk_slotmap map;
    kolk_slotmap_desc desc = {.object_size = 12, .max_capacity = 9, .debug = "move"};
    desc.on_move = count_moves;
    desc.context = &map;
    make_map(&map, &desc);
    kolk_handle a = add_letter(&map, 'a');
    for (int i = 0; i < 5; i++) add_letter(&map, 'b');
    kolk_slotmap_remove(&map, a);
    assert_int_equal(told[0], 1);
    assert_int_equal(told[1], 5);
    assert_int_equal(told[2], 0);
    end_map(&map);
}

/* Moves happen only as far as address space and memory allow. */
static void test_move_needs_memory(void **state) {
    kolk_slotmap map;
    kolk_slotmap_desc desc = {.object_size = 1 << 20, .max_capacity = UINT32_MAX / 4, .debug = "move"};
    kolk_status status = kolk_slotmap_init(&map, &desc);
    if (status == KOLK_OK) end_map(&map);
    if (sizeof(void *) == 8) { /* eight times this size overflows, perhaps to a small number */
        desc.max_capacity = (UINT32_C(1) << 31) + 1;
        desc.object_size = 1 << 30;
        assert_int_equal(kolk_slotmap_init(&map, &desc), KOLK_NO_MEMORY);
    }
    desc.max_capacity = 8;
    desc.object_size = 8;
    desc.capacity = 8;
    refuse(2, false); /* the first request is for the debug mode or for the block */
    status = kolk_slotmap_init(&map, &desc);
    refuse(0, false);
    if (status == KOLK_OK) end_map(&map);
    desc.debug = "fill,move";
    for (unsigned nth = 1; status != KOLK_OK || nth == 1; nth++) {
        refuse(nth, true);
        status = kolk_slotmap_init(&map, &desc);
        refuse(0, false);
        assert_true(status == KOLK_OK || (status == KOLK_NO_MEMORY && map_is_zero(&map)));
        if (status == KOLK_OK) end_map(&map);
    }
    desc.debug = "fill";
    refuse(1, false); /* refuses the debug mode's memory: a requested setting must not be left out */
    assert_int_equal(kolk_slotmap_init(&map, &desc), KOLK_NO_MEMORY);
    desc.debug = "move";
    refuse(1, false); /* refuses the blocks' address space */
    assert_int_equal(kolk_slotmap_init(&map, &desc), KOLK_OK);
    refuse(0, false);
    assert_int_equal(flags_of(&map), 0);
    kolk_handle a = add_letter(&map, 'a');
    add_letter(&map, 'b');
    void *before = kolk_slotmap_objects(&map);
    kolk_slotmap_remove(&map, a);
    assert_ptr_equal(kolk_slotmap_objects(&map), before);
    end_map(&map);
}

/* ---- sites, trace ------------------------------------------------------------------------------------------------ */

static jmp_buf out_of_handler;

static void note_and_jump(const kolk_failure *failure, void *context) {
    take_note(failure, context);
    longjmp(out_of_handler, 1);
}

/* Damage is reported before any change: a handler that jumps out of the report leaves the map unchanged. */
static void test_deinit_may_be_jumped_out_of(void **state) {
    static kolk_slotmap map;
    static notes taken;
    make_map(&map, &(kolk_slotmap_desc){.name = "bodies", .object_size = 12, .capacity = 9, .debug = "sites,fill"});
    add_letter(&map, 'a');
    kolk_slotmap_remove(&map, add_letter(&map, 'b'));
    uint32_t number = map.number;
    ((unsigned char *)kolk_slotmap_objects(&map))[12] = 1;
    begin_notes(&taken);
    kolk_set_failure_handler(note_and_jump, &taken);
    if (setjmp(out_of_handler) == 0) {
        kolk_slotmap_deinit(&map);
        fail_msg("%s", "no report");
    }
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_WRITE_AFTER_FREE);
    assert_int_equal(map.number, number);
    assert_true(kolk_slotmap_is_valid(&map)); /* the damage was repaired */
    assert_string_equal(letters(&map), "a");
    begin_notes(&taken);
    kolk_slotmap_deinit(&map);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
}

static void test_wrong_pool_is_reported(void **state) {
    kolk_slotmap map, other;
    reports kept;
    make_map(&map, &(kolk_slotmap_desc){.name = "one", .object_size = 1, .capacity = 9, .debug = "move"});
    make_map(&other, &(kolk_slotmap_desc){.name = "other", .object_size = 1, .capacity = 9});
    kolk_handle handle = add_letter(&other, 'a');
    begin_reports(&kept);
    assert_null(kolk_slotmap_get(&map, handle));
    assert_false(kolk_slotmap_remove(&map, handle));
    for (int n = 0; n < 2; n++) {
        const report *now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_WRONG_POOL);
        assert_true(kolk_handle_equal(now->failure.handle, handle));
    }
    assert_no_more(&kept);
    end_map(&other);
    end_map(&map);
}

/* ---- KOLK_BYPASS=1 ----------------------------------------------------------------------------------------------- */

/* Bypass changes only the reports to memory tools. */
static void test_bypass_tells_tools_of_every_place(void **state) {
    static const char *const settings[] = {NULL, "move", "fill"};
    for (size_t i = 0; i < LENGTH_OF(settings); i++) {
        kolk_slotmap map;
        setenv("KOLK_BYPASS", "1", 1);
        make_map(&map, &(kolk_slotmap_desc){.object_size = 12, .max_capacity = 4, .debug = settings[i]});
        assert_int_equal(flags_of(&map),
                         KOLK_DEBUG_BYPASS | (i == 1 ? KOLK_DEBUG_MOVE : 0)); /* tools see more than `fill` would */
        kolk_handle a = add_letter(&map, 'a'), b = add_letter(&map, 'b'), c = add_letter(&map, 'c');
        assert_true(kolk_slotmap_remove(&map, a));
        assert_string_equal(letters(&map), "cb");
        assert_false(kolk_slotmap_remove(&map, a));
        assert_int_equal(letter_of(&map, b), 'b');
        add_letter(&map, 'd'), add_letter(&map, 'e');
        assert_null(kolk_slotmap_add(&map, NULL));
        assert_string_equal(letters(&map), "cbde");
        assert_int_equal(letter_of(&map, c), 'c');
        kolk_slotmap_clear(&map);
        add_letter(&map, 'f');
        end_map(&map);
    }
}

static int plain_and_accept(void **state) {
    refuse(0, false);
    return plain_environment(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, plain_and_accept, plain_and_accept)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_settings_in_force),
        TEST(test_a_write_to_a_vacated_place),
        TEST(test_a_write_to_a_hole),
        TEST(test_move_catches_kept_pointers),
        TEST(test_clear_moves_too),
        TEST(test_move_knows_pointers_of_before),
        TEST(test_on_move_hears_of_other_addresses),
        TEST(test_move_needs_memory),
        TEST(test_deinit_may_be_jumped_out_of),
        TEST(test_wrong_pool_is_reported),
        TEST(test_bypass_tells_tools_of_every_place),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
