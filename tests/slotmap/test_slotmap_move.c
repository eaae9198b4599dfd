/* Slot maps whose objects the hook `move` moves: objects with their own address in them, through random histories and
 * sorts, and with the debug setting `move`. */
#include "../help/test.h"

#include "slotmap_test.h"

enum { MOST = 40 };

/* `self` is the address where the object was made, or NULL where there is none. */
typedef struct rooted {
    struct rooted *self;
    uint32_t number;
} rooted;

typedef struct mover {
    rooted aside;
    uint32_t moves, told;
} mover;

static void move_rooted(void *to, void *from, void *context) {
    mover *all = (mover *)context;
    rooted *target = to ? (rooted *)to : &all->aside, *source = from ? (rooted *)from : &all->aside;
    assert_ptr_equal(source->self, source);
    *target = (rooted){target, source->number};
    source->self = NULL;
    all->moves++;
}

static void end_rooted(void *object, void *context) {
    assert_ptr_equal(((rooted *)object)->self, object);
}

static void note_move(void *object, uint32_t from, uint32_t to, void *context) {
    ((mover *)context)->told++;
}

static int by_number(const void *a, const void *b, void *context) {
    return (((const rooted *)a)->number > ((const rooted *)b)->number) -
           (((const rooted *)a)->number < ((const rooted *)b)->number);
}

static void check(const kolk_slotmap *map, const kolk_handle *handles, const uint32_t *numbers, uint32_t n) {
    assert_true(kolk_slotmap_is_valid(map));
    assert_int_equal(kolk_slotmap_count(map), n);
    for (uint32_t i = 0; i < n; i++) {
        const rooted *object = (const rooted *)kolk_slotmap_get(map, handles[i]);
        assert_non_null(object);
        assert_ptr_equal(object->self, object);
        assert_int_equal(object->number, numbers[i]);
    }
}

static void follow(const char *debug) {
    mover all = {.moves = 0};
    kolk_slotmap map;
    kolk_handle handles[MOST];
    uint32_t numbers[MOST], n = 0;
    uint64_t seed = 1;
    make_map(&map, &(kolk_slotmap_desc){.object_size = sizeof(rooted),
                                        .max_capacity = MOST,
                                        .on_move = note_move,
                                        .on_remove = end_rooted,
                                        .move = move_rooted,
                                        .context = &all,
                                        .debug = debug});
    for (int step = 0; step < 2000; step++) {
        uint32_t drawn = (uint32_t)next_random(&seed);
        if (drawn % 50 == 0) {
            kolk_slotmap_sort(&map, by_number, NULL);
            for (uint32_t i = 1; i < n; i++)
                assert_true(by_number(kolk_slotmap_at(&map, i - 1), kolk_slotmap_at(&map, i), NULL) <= 0);
        } else if (drawn % 500 == 1) {
            kolk_slotmap_clear(&map);
            n = 0;
        } else if (drawn % 2 && n < MOST) {
            rooted *object = (rooted *)kolk_slotmap_add(&map, &handles[n]);
            assert_non_null(object);
            numbers[n] = drawn % 10;
            *object = (rooted){object, numbers[n++]};
        } else if (n > 0) {
            uint32_t i = drawn / 2 % n;
            assert_true(kolk_slotmap_remove(&map, handles[i]));
            handles[i] = handles[--n];
            numbers[i] = numbers[n];
        }
        check(&map, handles, numbers, n);
    }
    assert_true(all.moves > 0 && all.moves == all.told);
    end_map(&map);
}

/* promise: "makes the object ... comes back" */
static void test_each_move(void **state) {
    follow(NULL);
    follow("move");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_move)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
