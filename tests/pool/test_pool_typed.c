/* The typed functions: each does the same as its untyped twin, with the type's size and alignment. Also tests types
 * declared separately from their definition, and several types in one pool. Code that must not compile is in
 * tests/compile. */
#include "../help/test.h"

/* 24 bytes on 64-bit machines, an odd number << 3: the constant stride is not a power of two. */
typedef struct ship {
    double x, y;
    uint32_t number;
} ship;

KOLK_POOL_TYPE(ships, ship)

/* Type names that the macros' own names might collide with. */
typedef struct object {
    int a;
} object;
typedef struct pool {
    int a;
} pool;
KOLK_POOL_TYPE(objects, object)
KOLK_POOL_TYPE(pools, pool)

/* The other kinds, for their names. */
KOLK_SLOTMAP_TYPE(ship_map, ship)
KOLK_BYTEMAP_TYPE(ship_bytes, ship)
#if KOLK_HOSTED
KOLK_QUEUE_TYPE(ship_queue, ship)
KOLK_SHARED_TYPE(shared_ships, ship)
KOLK_RESOURCE_TYPE(lent_ships, ship)
#endif

/* promise: typed.h "These are the functions ... follow from the type" */
static void test_every_typed_function(void **state) {
    ships fleet;
    notes taken;
    begin_notes(&taken);
    kolk_pool_desc desc = {.name = "fleet", .capacity = 4, .max_capacity = 100};
    assert_int_equal(ships_init(&fleet, &desc), KOLK_OK);
    assert_int_equal(fleet.pool.object_size, sizeof(ship));
    assert_int_equal(fleet.pool.stride, sizeof(ship));
    assert_int_equal(ships_reserve(&fleet, 10), KOLK_OK);
    assert_int_equal(ships_reserve(&fleet, 101), KOLK_ABOVE_MAX);
    assert_int_equal(ships_available(&fleet), 10);

    ship *first = ships_alloc(&fleet), *more[3];
    first->number = 1;
    assert_int_equal(ships_alloc_n(&fleet, more, 3), 3);
    ship *zeroed = ships_alloc_zeroed(&fleet);
    assert_true(all_bytes_are(zeroed, sizeof *zeroed, 0));
    assert_int_equal(ships_count(&fleet), 5);
    assert_int_equal(ships_index(&fleet, more[2]), 3);
    assert_ptr_equal(ships_at(&fleet, 3), more[2]);
    assert_null(ships_at(&fleet, 5));
    assert_true(ships_is_live(&fleet, first));
    assert_false(ships_is_live(&fleet, &first->y));

    ships_handle handle = ships_handle_of(&fleet, more[0]);
    assert_true(kolk_handle_equal(handle.untyped, kolk_pool_handle_of(&fleet.pool, more[0])));
    assert_ptr_equal(ships_get(&fleet, handle), more[0]);
    assert_true(ships_free_handle(&fleet, handle));
    assert_false(ships_free_handle(&fleet, handle));
    assert_null(ships_get(&fleet, handle));
    assert_ptr_equal(ships_alloc_at(&fleet, handle), more[0]); /* the old handle is valid again */
    assert_ptr_equal(ships_get(&fleet, handle), more[0]);
    assert_null(ships_alloc_at(&fleet, handle));

    uint32_t length, visited = 0;
    kolk_cursor cursor = ships_each_in(&fleet, 0, 3);
    assert_ptr_equal(ships_each_next_run(&cursor, &length), first);
    assert_int_equal(length, 1);
    KOLK_EACH_RUN(ships, run, n, &fleet) {
        assert_ptr_equal(run, first + visited);
        visited += n;
    }
    assert_int_equal(visited, 5);
    cursor = ships_each(&fleet);
    assert_ptr_equal(ships_each_next(&cursor), first);
    assert_ptr_equal(ships_each_next(&cursor), more[0]);

    ships_free(&fleet, first);
    ships_free(&fleet, NULL);
    assert_false(ships_is_live(&fleet, first));
    kolk_stats stats;
    ships_stats(&fleet, &stats);
    assert_string_equal(stats.name, "fleet");
    assert_int_equal(stats.object_size, sizeof(ship));
    assert_true(ships_is_valid(&fleet));
    ships_clear(&fleet);
    assert_int_equal(ships_count(&fleet), 0);
    assert_int_equal(ships_trim(&fleet), 0); /* the objects do not fill a whole page */
    assert_silent(&taken);
    ships_deinit(&fleet);
    assert_true(is_all_zero(&fleet.pool));
}

static void test_names_of_types(void **state) {
    objects some;
    pools others;
    assert_int_equal(objects_init(&some, &(kolk_pool_desc){.capacity = 2}), KOLK_OK);
    assert_int_equal(pools_init(&others, &(kolk_pool_desc){.capacity = 2}), KOLK_OK);
    objects_alloc(&some)->a = 1;
    pools_alloc(&others)->a = 2;
    KOLK_EACH(objects, each, &some) assert_int_equal(each->a, 1);
    KOLK_EACH(pools, each, &others) assert_int_equal(each->a, 2);
    objects_deinit(&some);
    pools_deinit(&others);
}

/* Functions with a constant stride refuse the same pointers as the untyped ones. */
#if KOLK_HOSTED
static bool make_ship(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    *resource = context;
    return true;
}
#endif

/* A descriptor without a name gets the type's name. promise: typed.h "only pools of the same type share a tag" */
static void test_the_types_name(void **state) {
    kolk_stats stats;
    ships fleet;
    assert_int_equal(ships_init(&fleet, &(kolk_pool_desc){.capacity = 1}), KOLK_OK);
    ships_stats(&fleet, &stats);
    assert_string_equal(stats.name, "ships");
    ships_deinit(&fleet);
    ship_map map;
    assert_int_equal(ship_map_init(&map, &(kolk_slotmap_desc){.capacity = 1}), KOLK_OK);
    ship_map_stats(&map, &stats);
    assert_string_equal(stats.name, "ship_map");
    ship_map_deinit(&map);
    static ship_bytes bytes;
    assert_int_equal(ship_bytes_initialise(&bytes, 1), KOLK_OK);
    ship_bytes_stats(&bytes, &stats);
    assert_string_equal(stats.name, "ship_bytes");
    ship_bytes_flush(&bytes);
#if KOLK_HOSTED
    ship_queue queue;
    assert_int_equal(ship_queue_init(&queue, &(kolk_queue_desc){.capacity = 1}), KOLK_OK);
    ship_queue_stats(&queue, &stats);
    assert_string_equal(stats.name, "ship_queue");
    ship_queue_deinit(&queue);
    shared_ships shared;
    assert_int_equal(shared_ships_init(&shared, &(kolk_shared_desc){.capacity = 1}), KOLK_OK);
    shared_ships_stats(&shared, &stats);
    assert_string_equal(stats.name, "shared_ships");
    shared_ships_deinit(&shared);
    lent_ships lent;
    kolk_resource_pool_stats of_lent;
    assert_int_equal(lent_ships_init(&lent, &(kolk_resource_pool_desc){.create = make_ship, .no_housekeeper = true}),
                     KOLK_OK);
    lent_ships_stats(&lent, &of_lent);
    assert_string_equal(of_lent.name, "lent_ships");
    lent_ships_deinit(&lent);
#endif
}

static void test_misuse_of_a_typed_pool(void **state) {
    for (int reuse = 0; reuse < 3; reuse++) {
        ships fleet;
        notes taken;
        ship stranger;
        assert_int_equal(
            ships_init(&fleet, &(kolk_pool_desc){.name = "fleet", .capacity = 3, .reuse = (kolk_reuse)reuse}), KOLK_OK);
        ship *one = ships_alloc(&fleet), *two = ships_alloc(&fleet);
        begin_notes(&taken);
        for (size_t inside = 1; inside < sizeof(ship); inside++) {
            char sentence[100];
            ship *wrong = (ship *)moved(two, (ptrdiff_t)inside);
            ships_free(&fleet, wrong);
            snprintf(sentence, sizeof sentence, "kolk: fleet: free of a pointer into slot 1, at byte %u of it",
                     (unsigned)inside);
            assert_noted(&taken, KOLK_INTERIOR_POINTER, "fleet", wrong, 1, sentence);
        }
        ships_free(&fleet, &stranger);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "fleet", &stranger, NO_SLOT,
                     "kolk: fleet: free of a pointer that does not belong to this pool");
        ships_free(&fleet, two + 1);
        assert_noted(&taken, KOLK_NEVER_ISSUED, "fleet", two + 1, 2,
                     "kolk: fleet: free of slot 2, which was never handed out");
        ships_free(&fleet, one);
        assert_silent(&taken);
        ships_free(&fleet, one);
        assert_noted(&taken, KOLK_DOUBLE_FREE, "fleet", one, 0, "kolk: fleet: double free of slot 0");
        assert_true(ships_is_valid(&fleet));
        ships_deinit(&fleet);
    }
}

static void test_the_all_zero_typed_pool(void **state) {
    static ships fleet;
    notes taken;
    ship stranger;
    ships_handle handle = {{UINT64_C(1) << 32}};
    begin_notes(&taken);
    assert_null(ships_alloc(&fleet));
    assert_null(ships_get(&fleet, handle));
    ships_free(&fleet, NULL);
    KOLK_EACH(ships, each, &fleet) fail_msg("%p is in it", (void *)each);
    assert_silent(&taken);
    ships_free(&fleet, &stranger);
    assert_int_equal(taken.last.rule, KOLK_FOREIGN_POINTER);
}

/* promise: "For a typed pool, set object_size = sizeof(T)" */
static void test_size_and_alignment_are_the_types(void **state) {
    ships fleet;
    const kolk_pool_desc wrong[] = {
        {.object_size = sizeof(ship) + 1, .capacity = 1},
        {.object_size = 1, .capacity = 1},
        {.object_align = 2 * _Alignof(ship), .capacity = 1},
        {.object_align = 1, .capacity = 1},
    };
    for (size_t i = 0; i < LENGTH_OF(wrong); i++) {
        memset(&fleet, 0xff, sizeof fleet);
        assert_int_equal(ships_init(&fleet, &wrong[i]), KOLK_TYPE_MISMATCH);
        assert_true(is_all_zero(&fleet.pool));
    }
    kolk_pool_desc right = {.object_size = sizeof(ship), .object_align = _Alignof(ship), .capacity = 1};
    assert_int_equal(ships_init(&fleet, &right), KOLK_OK);
    ships_deinit(&fleet);
}

/* ---- The type's alignment ---------------------------------------------------------------------------------------- */

typedef struct vector {
    _Alignas(64) float lanes[12]; /* 48 bytes, rounded up to 64 */
} vector;

KOLK_POOL_TYPE(vectors, vector)

static void test_an_aligned_type(void **state) {
    static KOLK_POOL_STORAGE(vector, 5) storage;
    vectors pool_of_vectors;
    assert_int_equal(vectors_init(&pool_of_vectors,
                                  &(kolk_pool_desc){.capacity = 5, .memory = &storage, .memory_size = sizeof storage}),
                     KOLK_OK);
    for (int i = 0; i < 5; i++) {
        vector *v = vectors_alloc(&pool_of_vectors);
        assert_ptr_equal(v, storage.objects + i);
        assert_int_equal((uintptr_t)v % 64, 0);
    }
    vectors_deinit(&pool_of_vectors);
    /* the caller's memory must have the type's alignment, although it is larger than the type's size requires */
    kolk_pool_desc skewed = {.capacity = 2, .memory = (char *)&storage + 16, .memory_size = sizeof storage - 16};
    assert_int_equal(vectors_init(&pool_of_vectors, &skewed), KOLK_MEMORY_MISALIGNED);
}

/* ---- Declared in a header, defined in a .c file (here both are one file) ----------------------------------------- */

typedef struct particle particle; /* incomplete */
KOLK_POOL_DECLARE(particles, particle)

static uint32_t count_and_free_all(particles *all) { /* needs only the incomplete type */
    uint32_t count = 0;
    KOLK_EACH(particles, each, all) {
        assert_true(particles_is_live(all, each));
        assert_ptr_equal(particles_get(all, particles_handle_of(all, each)), each);
        particles_free(all, each);
        count++;
    }
    return count;
}

struct particle {
    uint8_t frames[11];
};
KOLK_POOL_DEFINE(particles, particle)

static void test_declared_before_it_is_defined(void **state) {
    particles all;
    assert_int_equal(particles_init(&all, &(kolk_pool_desc){.capacity = 100}), KOLK_OK);
    assert_int_equal(all.pool.stride, 11);
    for (int i = 0; i < 100; i++) particles_alloc(&all)->frames[10] = (uint8_t)i;
    assert_null(particles_alloc(&all));
    assert_int_equal(count_and_free_all(&all), 100);
    particle *some[5];
    assert_int_equal(particles_alloc_n(&all, some, 5), 5);
    assert_non_null(particles_alloc_zeroed(&all));
    particles_handle handle = particles_handle_of(&all, some[0]);
    particles_free(&all, some[0]);
    assert_ptr_equal(particles_alloc_at(&all, handle), some[0]);
    assert_int_equal(count_and_free_all(&all), 6);
    particles_deinit(&all);
}

/* ---- Several types in one pool ----------------------------------------------------------------------------------- */

struct circle {
    double radius;
};
struct label {
    char text[21];
};
union shape {
    struct circle circle;
    struct label label;
};

KOLK_POOL_TYPE(shapes, union shape)
KOLK_POOL_MEMBER(shapes, struct circle, circle)
KOLK_POOL_MEMBER(shapes, struct label, label)

/* promise: typed.h "has the size ... different type" */
static void test_members(void **state) {
    shapes all;
    assert_int_equal(shapes_init(&all, &(kolk_pool_desc){.capacity = 3}), KOLK_OK);
    assert_int_equal(all.pool.stride, sizeof(union shape)); /* the size of the largest type */
    struct circle *circle = shapes_alloc_circle(&all);
    struct label *label = shapes_alloc_label(&all);
    circle->radius = 2;
    memset(label->text, 'x', sizeof label->text);
    assert_true(circle->radius == 2);
    assert_ptr_equal((union shape *)circle + 1, label);
    assert_int_equal(shapes_count(&all), 2);
    assert_non_null(shapes_alloc_label(&all));
    assert_null(shapes_alloc_circle(&all));
    shapes_free_circle(&all, circle);
    shapes_free_label(&all, label);
    shapes_free_label(&all, NULL);
    assert_int_equal(shapes_count(&all), 1);
    assert_true(shapes_is_valid(&all));
    shapes_deinit(&all);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_every_typed_function),
        TEST(test_names_of_types),
        TEST(test_the_types_name),
        TEST(test_misuse_of_a_typed_pool),
        TEST(test_the_all_zero_typed_pool),
        TEST(test_size_and_alignment_are_the_types),
        TEST(test_an_aligned_type),
        TEST(test_declared_before_it_is_defined),
        TEST(test_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
