/* runs: slow not:asan */
/* Runs every sequence of up to 6 operations on slot maps of 1 to 3 objects, and compares with model.h: add, remove at
 * each place, the same in place, settle, remove the last removed object again, clear, sort. Each sequence runs from its
 * start, and is compared only after its last operation, because its prefixes are sequences too. Reads KOLK_TEST_LENGTH
 * (the length of the sequences) from the environment. promise: "Returns a new ... stores the null handle" */
#include "../help/test.h"

#include "model.h"

#ifndef LENGTH
#define LENGTH 6u
#endif
#define CHOICES 11u /* add, 3 places, stale, clear, sort, 3 places, settle */

static model m;
static kolk_handle removed; /* the last one removed */
static _Alignas(8) unsigned char memory[KOLK_SLOTMAP_BYTES(12, 4, 3)];

static void begin(uint32_t capacity, bool on_move) {
    memset(&m, 0, sizeof m);
    removed = (kolk_handle){0};
    begin_notes(&m.taken);
    m.what = "every sequence";
    m.desc = (kolk_slotmap_desc){.name = "all", .object_size = 12, .object_align = 4, .max_capacity = capacity};
    if (on_move) m.desc.on_move = model_moved;
    m.desc.context = &m;
    m.desc.capacity = m.capacity = capacity;
    m.desc.memory = memory;
    m.desc.memory_size = sizeof memory;
    model_assert(&m, kolk_slotmap_init(&m.map, &m.desc) == KOLK_OK);
}

/* Returns false if this operation is impossible here. */
static bool play(uint32_t choice) {
    m.step++;
    if (choice == 0) {
        model_add(&m, true);
    } else if (choice <= 3) {
        if (choice > m.count) return false;
        removed = m.live[choice - 1].handle;
        model_remove(&m, removed);
    } else if (choice == 4) {
        model_remove(&m, removed);
    } else if (choice == 5) {
        model_clear(&m);
    } else if (choice == 6) {
        model_sort(&m, true);
    } else if (choice <= 9) {
        if (choice - 6 > m.count) return false;
        removed = m.live[choice - 7].handle;
        model_remove_in_place(&m, removed);
    } else {
        model_settle(&m);
    }
    return true;
}

static void test_every_sequence(void **state) {
    uint64_t sequences = 0, length = number_from_environment("KOLK_TEST_LENGTH", LENGTH - does_a_part());
    setenv("KOLK_BYPASS", "0", 1);
    unsetenv("KOLK_DEBUG");
    for (uint32_t shape = 0; shape < 8; shape++) {
        if (shape % 4 == 0) continue;
        uint64_t end = 1;
        for (unsigned n = 0; n < length; n++) end *= CHOICES;
        for (uint64_t number = 0, skip = 1; number < end; number += skip) {
            begin(shape % 4, shape / 4);
            skip = end;
            uint64_t rest = number;
            for (unsigned n = 0; n < length; n++) {
                skip /= CHOICES;
                uint32_t choice = (uint32_t)(rest / skip);
                rest %= skip;
                if (!play(choice)) break; /* nor is any other sequence that begins like this possible */
                if (rest == 0) model_compare(&m);
            }
            sequences++;
            kolk_slotmap_deinit(&m.map);
        }
    }
    print_message("%" PRIu64 " sequences\n", sequences);
    assert_true(sequences > 1u << length);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_every_sequence, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
