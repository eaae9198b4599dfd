/* runs: sample */
/* Deltas: what they bring back, how small they are, and what a damaged or forged one can do. */
#include "../help/test.h"

#include <kolk/snapshot.h>

#include "../pool/snapshot_block.h"

#include "../help/published.h"

enum { MORE = 96, DELTA_HEADER = 48 };

static block delta_of(block base, block now) {
    block made = new_block(now.size + MORE);
    size_t size = kolk_snapshot_delta(base.bytes, base.size, now.bytes, now.size, made.bytes, made.size);
    assert_true(size > 0);
    block exact = new_block(size);
    memcpy(exact.bytes, made.bytes, size);
    free(made.bytes);
    return exact;
}

/* Applies the delta to an exact room, and to one that is too small. */
static kolk_status apply(block base, block delta, block *out) {
    size_t size = 0;
    kolk_status status = kolk_snapshot_apply(base.bytes, base.size, delta.bytes, delta.size, NULL, &size);
    *out = new_block(size);
    if (status != KOLK_NO_ROOM && size > 0) return status;
    return kolk_snapshot_apply(base.bytes, base.size, delta.bytes, delta.size, out->bytes, &size);
}

/* Asserts that the delta brings `now` back. Returns its size. */
static size_t there_and_back(block base, block now) {
    block delta = delta_of(base, now), again;
    assert_int_equal(apply(base, delta, &again), KOLK_OK);
    assert_true(equals(again, now));
    size_t size = delta.size;
    free(delta.bytes);
    free(again.bytes);
    return size;
}

/* ---- Bytes of any kind ------------------------------------------------------------------------------------------- */

/* Pieces of all sizes, equal, similar and different, also empty ones. promise: snapshot.h "Writes what makes",
 * "now_size + 96 always suffices", "Makes the same `now` again", "A base of size 0 may be NULL" */
static void test_any_bytes(void **state) {
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL)), random = seed;
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    for (int n = 0; n < 20000; n++) {
        block base = new_block((size_t)(next_random(&random) % 70)),
              now = new_block((size_t)(next_random(&random) % 70));
        unsigned kinds = 1 + (unsigned)(next_random(&random) % 3);
        for (size_t i = 0; i < base.size; i++) base.bytes[i] = (unsigned char)(next_random(&random) % kinds);
        for (size_t i = 0; i < now.size; i++)
            now.bytes[i] = i < base.size && next_random(&random) % 8 ? base.bytes[i] : (unsigned char)(n % 251);
        there_and_back(base, now);
        there_and_back(now, now);
        free(base.bytes);
        free(now.bytes);
    }
    block nothing = new_block(0), one = new_block(1);
    unsigned char delta[200], out[1];
    size_t size = 1;
    one.bytes[0] = 7;
    size_t length = kolk_snapshot_delta(NULL, 0, one.bytes, 1, delta, sizeof delta);
    assert_int_equal(kolk_snapshot_apply(NULL, 0, delta, length, out, &size), KOLK_OK);
    assert_true(size == 1 && out[0] == 7);
    length = kolk_snapshot_delta(one.bytes, 1, NULL, 0, delta, sizeof delta);
    assert_int_equal(kolk_snapshot_apply(one.bytes, 1, delta, length, NULL, &size), KOLK_OK);
    assert_int_equal(size, 0);
    assert_int_equal(there_and_back(nothing, nothing), DELTA_HEADER + 8 + 8);
    there_and_back(nothing, one);
    there_and_back(one, nothing);
    free(one.bytes);
    free(nothing.bytes);
}

/* Nothing is written behind the room, whatever it is.
 * promise: snapshot.h "*size is the room there ... says how much" */
static void test_too_little_room(void **state) {
    block base = new_block(500), now = new_block(500);
    memset(base.bytes, 1, 500);
    for (size_t i = 0; i < 500; i++) now.bytes[i] = i % 20 ? 1 : (unsigned char)i;
    block right = delta_of(base, now);
    for (size_t room = 0; room <= right.size + 20; room++) {
        block delta = new_block(room);
        size_t size = kolk_snapshot_delta(base.bytes, base.size, now.bytes, now.size, delta.bytes, room);
        assert_int_equal(size, room < right.size ? 0 : right.size);
        if (size) assert_memory_equal(delta.bytes, right.bytes, size);
        free(delta.bytes);
    }
    for (size_t room = 0; room < now.size; room++) {
        block out = new_block(room);
        size_t size = room;
        assert_int_equal(kolk_snapshot_apply(base.bytes, base.size, right.bytes, right.size, out.bytes, &size),
                         KOLK_NO_ROOM);
        assert_int_equal(size, now.size);
        free(out.bytes);
    }
    free(base.bytes);
    free(now.bytes);
    free(right.bytes);
}

/* ---- Snapshots --------------------------------------------------------------------------------------------------- */

enum { OBJECT = 36, OBJECTS = 1000 };

static void fill(void *object, uint64_t *random) {
    for (size_t i = 0; i < OBJECT; i++) ((unsigned char *)object)[i] = (unsigned char)next_random(random);
}

static block two_blocks(const kolk_pool *pool, const kolk_slotmap *map) {
    block first = take_snapshot(pool), both = new_block(first.size + kolk_slotmap_snapshot_size(map) + 5);
    memcpy(both.bytes, first.bytes, first.size);
    size_t size = kolk_slotmap_snapshot(map, both.bytes + first.size, both.size - first.size - 5);
    assert_int_equal(first.size + size + 5, both.size);
    memcpy(both.bytes + first.size + size, "frame", 5);
    free(first.bytes);
    return both;
}

/* One object is changed, one dies and one is born: the delta has these bytes, and not those behind them. 100 bytes are
 * for the orders, the generations, the counts and the checksums. promise: snapshot.h "Objects of pools are compared ...
 * adds 4 bytes a slot", "The bytes are snapshots ... where the other piece has it" */
static void test_births_and_deaths(void **state) {
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        uint64_t random = 5;
        kolk_pool pool;
        kolk_slotmap map;
        void *objects[OBJECTS];
        kolk_handle handles[OBJECTS];
        kolk_pool_desc desc = {.name = "p", .object_size = OBJECT, .capacity = OBJECTS + 1, .reuse = orders[n]};
        assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_OK);
        assert_int_equal(kolk_slotmap_init(&map, &(kolk_slotmap_desc){.object_size = OBJECT, .capacity = OBJECTS + 1}),
                         KOLK_OK);
        for (int i = 0; i < OBJECTS; i++) {
            fill(objects[i] = kolk_pool_alloc(&pool), &random);
            fill(kolk_slotmap_add(&map, &handles[i]), &random);
        }
        kolk_pool_free(&pool, objects[50]);
        block base = two_blocks(&pool, &map), now;
        assert_int_equal(there_and_back(base, base), DELTA_HEADER + 8 + 8);

        fill(objects[700], &random);
        now = two_blocks(&pool, &map);
        assert_true(there_and_back(base, now) <= DELTA_HEADER + 100 + OBJECT);
        free(now.bytes);

        kolk_pool_free(&pool, objects[100]);
        now = two_blocks(&pool, &map);
        assert_true(there_and_back(base, now) <= DELTA_HEADER + 100 + OBJECT);
        assert_true(there_and_back(now, base) <= DELTA_HEADER + 100 + 2 * OBJECT); /* it is born */
        free(now.bytes);

        for (int i = 0; i < 3; i++)
            fill(kolk_pool_alloc(&pool),
                 &random); /* the last one has a slot that was never used, so all parts become longer */
        kolk_pool_free(&pool, objects[200]);
        fill(kolk_slotmap_add(&map, NULL), &random);
        assert_true(kolk_slotmap_remove(&map, handles[300]));
        now = two_blocks(&pool, &map);
        assert_true(there_and_back(base, now) <= DELTA_HEADER + 300 + 6 * OBJECT);
        assert_true(there_and_back(now, base) <= DELTA_HEADER + 300 + 6 * OBJECT);

        kolk_pool_clear(&pool);
        block none = two_blocks(&pool, &map);
        there_and_back(none, now);
        there_and_back(now, none);
        kolk_slotmap_clear(&map);
        free(base.bytes);
        free(now.bytes);
        free(none.bytes);
        kolk_pool_deinit(&pool);
        kolk_slotmap_deinit(&map);
    }
}

/* ---- Deltas that are refused ------------------------------------------------------------------------------------- */

/* A small pool of before and after, and the delta. */
typedef struct change {
    kolk_pool pool;
    block base, now, delta;
} change;

static void begin_change(change *c) {
    unsigned char *objects[6];
    assert_int_equal(kolk_pool_init(&c->pool, &(kolk_pool_desc){.name = "d", .object_size = 3, .capacity = 8}),
                     KOLK_OK);
    for (int i = 0; i < 6; i++) memset(objects[i] = kolk_pool_alloc(&c->pool), i, 3);
    kolk_pool_free(&c->pool, objects[1]);
    c->base = take_snapshot(&c->pool);
    objects[4][1] = 77;
    kolk_pool_free(&c->pool, objects[2]);
    c->now = take_snapshot(&c->pool);
    c->delta = delta_of(c->base, c->now);
}

static void end_change(change *c) {
    kolk_pool_clear(&c->pool);
    kolk_pool_deinit(&c->pool);
    free(c->base.bytes);
    free(c->now.bytes);
    free(c->delta.bytes);
}

/* promise: snapshot.h "KOLK_OTHER_BASE: the delta was made against other bytes", "as for a restore" */
static void test_damage_and_other_bases(void **state) {
    change c;
    block out;
    size_t others = 0;
    begin_change(&c);
    for (size_t at = 0; at < c.base.size; at++) {
        c.base.bytes[at] ^= 4;
        kolk_status status = apply(c.base, c.delta, &out);
        assert_int_equal(status, equals(out, c.now) ? KOLK_OK : KOLK_OTHER_BASE); /* if this byte does not go on */
        others += status != KOLK_OK;
        free(out.bytes);
        c.base.bytes[at] ^= 4;
    }
    assert_true(others > c.base.size / 2 && others < c.base.size);
    block longer = new_block(c.base.size + 8);
    memcpy(longer.bytes, c.base.bytes, c.base.size);
    assert_int_equal(apply(longer, c.delta, &out), KOLK_OTHER_BASE);
    free(out.bytes);
    free(longer.bytes);
    for (size_t at = 0; at < c.delta.size; at++) {
        kolk_status status = at < BYTE_ORDER_AT ? KOLK_NOT_A_SNAPSHOT
                             : at < FORMAT_AT   ? KOLK_OTHER_BYTE_ORDER
                             : at < SIZE_AT     ? KOLK_OTHER_VERSION
                                                : KOLK_DAMAGED_SNAPSHOT;
        for (unsigned bit = 1; bit < 256; bit *= 2) {
            c.delta.bytes[at] ^= (unsigned char)bit;
            assert_int_equal(apply(c.base, c.delta, &out), status);
            free(out.bytes);
            c.delta.bytes[at] ^= (unsigned char)bit;
        }
    }
    for (size_t size = 0; size < c.delta.size; size++) {
        block cut = new_block(size);
        memcpy(cut.bytes, c.delta.bytes, size);
        assert_int_equal(apply(c.base, cut, &out), size < DELTA_HEADER ? KOLK_NOT_A_SNAPSHOT : KOLK_DAMAGED_SNAPSHOT);
        free(out.bytes);
        free(cut.bytes);
    }
    assert_int_equal(apply(c.base, c.base, &out), KOLK_NOT_A_SNAPSHOT);
    free(out.bytes);
    end_change(&c);
}

/* Does what a program does with a delta from elsewhere. Returns true if the pool accepts what it makes. */
static bool try_delta(void *context, block forged) {
    change *c = (change *)context;
    block out;
    seal(forged);
    kolk_status status = apply(c->base, forged, &out);
    bool restored = false;
    if (status == KOLK_OK)
        restored = kolk_pool_restore(&c->pool, out.bytes, out.size) == KOLK_OK;
    else
        assert_true(status == KOLK_OTHER_BASE || status == KOLK_FORGED_SNAPSHOT || is_refusal(status));
    assert_true(kolk_pool_is_valid(&c->pool));
    free(out.bytes);
    return restored;
}

/* With the right checksum, each byte and many pairs of numbers; and then with the hash of what the operations make,
 * too. promise: snapshot.h "Whatever their bytes are ... proves the snapshot" */
static void test_forged_deltas(void **state) {
    change c;
    begin_change(&c);
    assert_true(forge_bytes(c.delta, try_delta, &c) >= c.delta.size - 8); /* each byte's own value */
    forge_numbers(c.delta, DELTA_HEADER, try_delta, &c);
    uint64_t random = 1;
    for (int n = 0; n < 200000; n++) {
        block forged = copy_of(c.delta);
        for (int i = 0; i < 3; i++)
            forged.bytes[DELTA_HEADER + next_random(&random) % (forged.size - 8 - DELTA_HEADER)] =
                (unsigned char)(next_random(&random) % (n % 2 ? 256 : 8));
        try_delta(&c, forged);
        free(forged.bytes);
    }
    end_change(&c);
}

/* An operation that is right up to one of its limits, and the same beyond it. */
static void test_the_limits_of_operations(void **state) {
    static const struct {
        unsigned char operations[16];
        size_t size, now;
        kolk_status status;
    } rows[] = {
        {{4, 0, 0}, 8, 4, KOLK_OK},                             /* all of the base */
        {{5, 0, 0}, 8, 5, KOLK_FORGED_SNAPSHOT},                /* and more */
        {{4, 0, 0}, 8, 3, KOLK_FORGED_SNAPSHOT},                /* than there is room for */
        {{0, 2, 4, 7, 7}, 8, 2, KOLK_OK},                       /* the bytes of the delta */
        {{0, 0, 5}, 8, 0, KOLK_FORGED_SNAPSHOT},                /* more gone than there are */
        {{0, 5, 4, 7, 7, 7, 7, 7}, 8, 5, KOLK_OK},              /* up to its end */
        {{0, 6, 4, 7, 7, 7, 7, 7}, 8, 6, KOLK_FORGED_SNAPSHOT}, /* beyond it */
        {{0, 2, 4, 7, 7, 1}, 8, 2, KOLK_FORGED_SNAPSHOT},       /* no zeros at the end */
        {{4, 0, 0}, 16, 4, KOLK_FORGED_SNAPSHOT},               /* too many of them */
        {{2, 0, 0}, 8, 2, KOLK_FORGED_SNAPSHOT},                /* the base is not used up */
        {{0x84, 0x80, 0, 0, 0}, 8, 4, KOLK_OK},                 /* a long 4 */
        {{0x84, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0}, 16, 4, KOLK_FORGED_SNAPSHOT}, /* too long */
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}, 8, 4, KOLK_FORGED_SNAPSHOT},           /* without an end */
    };
    block base = new_block(4), out;
    memset(base.bytes, 7, 4);
    for (size_t n = 0; n < LENGTH_OF(rows); n++) {
        block result = new_block(rows[n].now), forged = new_block(DELTA_HEADER + rows[n].size + 8);
        memset(result.bytes, 7, result.size);
        block right = delta_of(base, result);
        memcpy(forged.bytes, right.bytes, DELTA_HEADER); /* with the hash of sevens */
        memcpy(forged.bytes + DELTA_HEADER, rows[n].operations, rows[n].size);
        put_number(forged, SIZE_AT + (is_little_endian() ? 0 : 4), (uint32_t)forged.size);
        seal(forged);
        kolk_status status = apply(base, forged, &out);
        if (status != rows[n].status) fail_msg("row %zu: %s", n, kolk_status_text(status));
        free(result.bytes);
        free(right.bytes);
        free(forged.bytes);
        free(out.bytes);
    }
    free(base.bytes);
}

/* A forged block as base or now gives a delta that is right, perhaps a large one. */
static bool try_block_as_base(void *context, block forged) {
    const change *c = (const change *)context;
    there_and_back(forged, c->now);
    there_and_back(c->now, forged);
    return true;
}

static void test_forged_blocks(void **state) {
    change c;
    begin_change(&c);
    forge_bytes(c.base, try_block_as_base, &c);
    end_change(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_bytes),         cmocka_unit_test(test_too_little_room),
        cmocka_unit_test(test_births_and_deaths), cmocka_unit_test(test_damage_and_other_bases),
        cmocka_unit_test(test_forged_deltas),     cmocka_unit_test(test_the_limits_of_operations),
        cmocka_unit_test(test_forged_blocks),
    };
    setenv("KOLK_BYPASS", "0", 1);
    unsetenv("KOLK_DEBUG");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
