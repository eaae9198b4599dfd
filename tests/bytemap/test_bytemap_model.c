/* runs: slow sample */
/* Compares kolk_bytemap with the model of tests/bytemap/model.h: random streams of operations, valid and not, on the
 * pool's own memory, on given and on attached memory, with and without debug mode; and all short sequences of
 * operations on small pools. Handles, cursor and bytes are compared after each step.
 *
 *     KOLK_TEST_SEED=n KOLK_TEST_OPS=n    another stream, a longer one */
#include "../help/test.h"

#include "steps.h"

#define OBJECT_SIZE 12u

typedef enum ground { OWN, GIVEN, ATTACHED, ATTACHED_WITH_CURSOR, GROUNDS } ground;

typedef struct pair {
    gta_pool model;
    kolk_bytemap pool;
    int32_t cursor; /* of the owner, for ATTACHED_WITH_CURSOR */
    unsigned char objects[GTA_SLOTS * OBJECT_SIZE];
    uint8_t bytes[GTA_SLOTS];
    notes taken;
} pair;

static void begin(pair *p, int32_t count, ground on, bool seed_of_handle, const char *debug) {
    memset(p, 0, sizeof *p);
    begin_notes(&p->taken);
    gta_initialise(&p->model, count);
    p->model.seed_of_handle = seed_of_handle;
    p->cursor = -1;
    memset(p->bytes, on == GIVEN ? 0x33 : 0x80, sizeof p->bytes);
    kolk_bytemap_view view = {
        .object_size = OBJECT_SIZE, .count = count, .first_free = -1, .writable = true, .debug = debug};
    view.seeds = seed_of_handle ? KOLK_BYTEMAP_SEED_OF_HANDLE : KOLK_BYTEMAP_SEED_ADVANCE;
    if (on == OWN) view.max_count = GTA_SLOTS;
    if (on != OWN) view.object_list = p->objects, view.byte_map = p->bytes;
    if (on == ATTACHED_WITH_CURSOR) view.cursor = &p->cursor;
    kolk_status status =
        on >= ATTACHED ? kolk_bytemap_attach(&p->pool, &view) : kolk_bytemap_initialise_with(&p->pool, &view);
    assert_int_equal(status, KOLK_OK);
}

static void compare_step(pair *p, step s, uint64_t seed, uint64_t number) {
    answer expected = step_model(&p->model, s), got = step_kolk(&p->pool, s, &p->taken.count);
    if (expected.handle != got.handle || expected.cursor != got.cursor || !same_bytes(&p->model, &p->pool))
        fail_msg("KOLK_TEST_SEED=%" PRIu64 ", step %" PRIu64
                 ": operation %d of %d on %d slots: %d, cursor %d, not %d, %d",
                 seed, number, (int)s.kind, (int)s.argument, (int)p->model.count, (int)got.handle, (int)got.cursor,
                 (int)expected.handle, (int)expected.cursor);
    assert_int_equal(kolk_bytemap_used_count(&p->pool), gta_used(&p->model));
    assert_true(kolk_bytemap_is_valid(&p->pool));
}

/* Returns a handle that is, was or may become valid, or some other number, which is usually close to the pool's
 * handles. */
static int32_t draw_handle(const pair *p, uint64_t *random) {
    uint32_t slots = (uint32_t)p->model.count + 2, how = random_below(random, 8);
    int32_t index = (int32_t)random_below(random, slots) - 1;
    if (how == 0) return (int32_t)next_random(random);
    if (how == 1 || index < 0 || index >= p->model.count) return index * 256 + (int32_t)random_below(random, 256);
    return gta_handle(&p->model, index) - (how == 2 && p->model.slots[index].seed > 0);
}

static void walk_both(const pair *p) {
    int32_t handle = -1;
    void *object = NULL;
    for (int i = 0; i < p->model.count; i++) {
        if (p->model.slots[i].free) continue;
        handle = kolk_bytemap_next_handle(&p->pool, handle);
        object = kolk_bytemap_next(&p->pool, object);
        assert_int_equal(handle, gta_handle(&p->model, i));
        assert_ptr_equal(object, kolk_bytemap_get_at(&p->pool, handle));
        assert_int_equal(kolk_bytemap_get_just_index(&p->pool, object), i);
    }
    assert_int_equal(kolk_bytemap_next_handle(&p->pool, handle), -1);
    assert_null(kolk_bytemap_next(&p->pool, object));
}

#define ROUNDS 80u /* half with small pools, half with pools of any size */

/* promise: "2^32 - 1 lives of a slot instead of 128", "A handle is (index << 8) ... slot ever has", "seed + 1, as in
 * `New` ... games do this", "returns the object in the handle's ... use or does not exist", "returns the object in a
 * used ... index is allowed" */
static void test_random_streams(void **state) {
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 20);
    uint64_t operations = number_from_environment("KOLK_TEST_OPS", does_a_part() ? 40000 : 400000);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
    uint64_t random = seed;
    for (unsigned round = 0; round < ROUNDS; round++) {
        static pair p;
        int32_t count = round < ROUNDS / 2 ? (int32_t)round / 4 : (int32_t)random_below(&random, GTA_SLOTS + 1);
        begin(&p, count, (ground)(round % GROUNDS), random_below(&random, 2), round % 3 ? NULL : "fill");
        uint32_t growth = 0; /* how many of 10 operations make an object rather than delete one */
        for (uint64_t n = 0; n < operations / ROUNDS; n++) {
            if (n % 200 == 0) growth = random_below(&random, 11);
            step s = {.kind = random_below(&random, 10) < growth ? STEP_NEW : STEP_DELETE};
            if (random_below(&random, 3) == 0) s.kind = (step_kind)random_below(&random, STEP_CLEAR);
            if (random_below(&random, 500) == 0) s.kind = STEP_CLEAR;
            s.argument = draw_handle(&p, &random);
            if (s.kind == STEP_DELETE || s.kind == STEP_GET_SLOT)
                s.argument = (int32_t)random_below(&random, (uint32_t)count + 2) - 1;
            compare_step(&p, s, seed, n);
            if (n % 50 == 0) walk_both(&p);
        }
        kolk_bytemap_flush(&p.pool);
    }
}

/* Every sequence of 6 operations on pools of 0 to 3 slots; each slot is made and deleted, by pointer and by handle. */
static void every_sequence(pair *p, unsigned depth) {
    if (depth == 0) return;
    int32_t count = p->model.count;
    for (int32_t n = 0; n < 2 + 2 * count; n++) {
        step s = {.kind = STEP_NEW};
        if (n == 1) s.kind = STEP_CLEAR;
        if (n >= 2) s = (step){n < 2 + count ? STEP_DELETE : STEP_NEW_AT, (n - 2) % (count ? count : 1)};
        if (s.kind == STEP_NEW_AT) s.argument = s.argument << 8 | 5;
        gta_pool model = p->model;
        kolk_bytemap pool = p->pool;
        uint8_t bytes[GTA_SLOTS];
        memcpy(bytes, p->bytes, sizeof bytes);
        compare_step(p, s, 0, depth);
        every_sequence(p, depth - 1);
        p->model = model;
        p->pool = pool; /* in its old place again */
        memcpy(p->bytes, bytes, sizeof bytes);
    }
}

static void test_every_short_sequence(void **state) {
    for (int32_t count = 0; count <= 3; count++) {
        for (int seeds = 0; seeds < 2; seeds++) {
            static pair p;
            begin(&p, count, GIVEN, seeds, NULL);
            every_sequence(&p, does_a_part() ? 4 : 6);
            kolk_bytemap_flush(&p.pool);
        }
    }
}

/* Full pools with one hole, for all positions of cursor and hole: covers both passes, and the boundaries of groups of
 * eight bytes. promise: "GTA trilogy (III, Vice City, San Andreas)", "looks at the slots ... first_free to -1" */
static void test_every_cursor_and_hole(void **state) {
    for (int32_t count = 1; count <= 20; count++) {
        for (int32_t cursor = -1; cursor < count; cursor++) {
            for (int32_t hole = -1; hole < count; hole++) {
                static pair p;
                begin(&p, count, GIVEN, false, NULL);
                for (int32_t i = 0; i < count; i++) compare_step(&p, (step){STEP_NEW, 0}, 0, 0);
                if (hole >= 0) compare_step(&p, (step){STEP_DELETE, hole}, 0, 1);
                p.model.first_free = p.pool.first_free = cursor;
                compare_step(&p, (step){STEP_NEW, 0}, 0, 2);
                compare_step(&p, (step){STEP_NEW, 0}, 0, 3); /* full */
                compare_step(&p, (step){STEP_NEW, 0}, 0, 4); /* with the cursor at -1 */
                kolk_bytemap_flush(&p.pool);
            }
        }
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_random_streams),
        TEST(test_every_short_sequence),
        TEST(test_every_cursor_and_hole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
