/* kolk_pool_restore_converted: after random histories, a pool of another struct has the same handles, alive and dead,
 * and goes on in the same way. (Blocks that it must refuse: contracts/test_all_snapshots.c.) */
#include "../help/test.h"

#include "snapshot_block.h"

#define SLOTS  70u
#define ISSUED 4000u

typedef struct old_ship {
    uint32_t number;
    unsigned char crew[3];
} old_ship;

typedef struct new_ship {
    uint64_t number;
    double fuel;
    uint16_t crew, added;
} new_ship;

KOLK_POOL_TYPE(old_ships, old_ship)
KOLK_POOL_TYPE(new_ships, new_ship)

typedef struct conversion {
    const new_ships *into;
    unsigned calls;
} conversion;

static void convert(void *object, const void *saved, size_t saved_size, void *context) {
    conversion *now = context;
    old_ship from;
    new_ship *to = object;
    assert_int_equal(saved_size, sizeof from);
    assert_true(all_bytes_are(object, sizeof *to, 0));
    assert_true(new_ships_is_live(now->into, to));
    memcpy(&from, saved, sizeof from);
    to->number = from.number;
    to->crew = from.crew[0];
    to->fuel = 1;
    now->calls++;
}

static kolk_pool_desc desc_of(unsigned round) {
    static const char *const debugs[] = {NULL, "fill,quarantine=5", "fill,guard", NULL};
    return (kolk_pool_desc){.name = "fleet",
                            .capacity = round % 5 ? SLOTS : 1,
                            .max_capacity = SLOTS,
                            .reuse = (kolk_reuse)(round % 3),
                            .generations = (kolk_generations)(round / 3 % 3),
                            .ages = round / 9 % 2,
                            .debug = debugs[round / 18 % 4]};
}

/* All handles that the old pool has issued. */
static struct {
    old_ships_handle all[ISSUED];
    uint32_t count;
} issued;

/* Ends the last of all lives of a slot that is dead. */
static void wear_out(old_ships *pool, uint32_t slot) {
    kolk_handle last = kolk_handle_unpack((uint64_t)UINT32_MAX << 32 | (slot ^ pool->pool.tag));
    kolk_pool_free(&pool->pool, kolk_pool_alloc_at(&pool->pool, last));
}

static void allocate(old_ships *pool, uint32_t number) {
    old_ship *ship = old_ships_alloc(pool);
    if (!ship) return;
    *ship = (old_ship){.number = number, .crew = {(unsigned char)number}};
    if (pool->pool.high && issued.count < ISSUED) issued.all[issued.count++] = old_ships_handle_of(pool, ship);
}

static void take_random_steps(old_ships *pool, uint64_t *random, uint32_t steps) {
    bool ages = pool->pool.ages;
    while (steps-- > 0) {
        uint32_t slot = (uint32_t)(next_random(random) % SLOTS), way = (uint32_t)(next_random(random) % 100);
        old_ship *ship = old_ships_at(pool, slot);
        if (way < 55) allocate(pool, steps);
        if (way >= 55 && way < 90) old_ships_free(pool, ship);
        if (way >= 90 && way < 93 && !ship) wear_out(pool, slot);
        if (way >= 93 && way < 98 && ages && ship) old_ships_touch(pool, ship);
        if (way == 98 && ages && ship) old_ships_protect(pool, ship, true);
        if (way == 99 && next_random(random) % 20 == 0) old_ships_clear(pool);
    }
    assert_true(old_ships_is_valid(pool));
}

static void compare(const old_ships *old, const new_ships *new) {
    assert_int_equal(old_ships_count(old), new_ships_count(new));
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const old_ship *before = old_ships_at(old, slot);
        const new_ship *now = new_ships_at(new, slot);
        assert_int_equal(before != NULL, now != NULL);
        if (now) assert_true(now->number == before->number && now->crew == before->crew[0] && now->fuel > 0);
    }
    for (uint32_t n = 0; n < issued.count; n++) {
        new_ships_handle same = {issued.all[n].untyped};
        const old_ship *before = old_ships_get(old, issued.all[n]);
        const new_ship *now = new_ships_get(new, same);
        assert_int_equal(before ? old_ships_index(old, before) + 1 : 0, now ? new_ships_index(new, now) + 1 : 0);
    }
}

/* Both pools do the same, and must give the same slots and handles. */
static void go_on(old_ships *old, new_ships *new, uint64_t *random) {
    for (unsigned steps = 0; steps < 300; steps++) {
        uint32_t slot = (uint32_t)(next_random(random) % SLOTS);
        if (old->pool.ages && next_random(random) % 8 == 0) {
            const old_ship *oldest = old_ships_oldest(old);
            const new_ship *same = new_ships_oldest(new);
            assert_int_equal(oldest ? old_ships_index(old, oldest) + 1 : 0, same ? new_ships_index(new, same) + 1 : 0);
        } else if (next_random(random) % 2) {
            old_ship *before = old_ships_alloc(old);
            new_ship *now = new_ships_alloc(new);
            assert_int_equal(before != NULL, now != NULL);
            if (!now) continue;
            assert_int_equal(old_ships_index(old, before), new_ships_index(new, now));
            if (!old->pool.high) continue;
            assert_int_equal(old_ships_handle_of(old, before).untyped.bits, new_ships_handle_of(new, now).untyped.bits);
        } else if (old_ships_at(old, slot)) {
            old_ships_free(old, old_ships_at(old, slot));
            new_ships_free(new, new_ships_at(new, slot));
        }
    }
    assert_true(old_ships_is_valid(old) && new_ships_is_valid(new));
}

/* promise: "calls `convert` ... becomes valid" */
static void test_random_histories(void **state) {
    uint64_t seed = number_from_environment("KOLK_TEST_SEED", 20261126), random = seed;
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    for (unsigned round = 0; round < (does_a_part() ? 72 : 720); round++) {
        kolk_pool_desc desc = desc_of(round);
        old_ships old;
        new_ships new;
        conversion now = {&new, 0};
        issued.count = 0;
        assert_int_equal(old_ships_init(&old, &desc), KOLK_OK);
        take_random_steps(&old, &random, (unsigned)(next_random(&random) % 400));
        assert_int_equal(old_ships_reserve(&old, SLOTS), KOLK_OK);
        block saved = take_snapshot(&old.pool);

        assert_int_equal(new_ships_init(&new, &desc), KOLK_OK);
        while (next_random(&random) % 30) (void)new_ships_alloc_zeroed(&new); /* what the restore replaces */
        assert_int_equal(new_ships_restore(&new, saved.bytes, saved.size), KOLK_OTHER_POOL);
        assert_int_equal(new_ships_restore_converted(&new, saved.bytes, saved.size, convert, &now), KOLK_OK);
        assert_int_equal(now.calls, old_ships_count(&old));
        assert_true(new_ships_is_valid(&new));
        compare(&old, &new);
        go_on(&old, &new, &random);
        new_ships_deinit(&new);
        old_ships_deinit(&old);
        free(saved.bytes);
    }
}

static void snapshot_within(void *object, const void *saved, size_t saved_size, void *context) {
    const kolk_pool *pool = context;
    assert_int_equal(kolk_pool_snapshot_size(pool), 0);
}

static void test_convert_is_a_hook(void **state) {
    old_ships pool;
    assert_int_equal(old_ships_init(&pool, &(kolk_pool_desc){.capacity = 8}), KOLK_OK);
    *old_ships_alloc(&pool) = (old_ship){.number = 3};
    block saved = take_snapshot(&pool.pool);
    assert_int_equal(old_ships_restore_converted(&pool, saved.bytes, saved.size, snapshot_within, &pool.pool), KOLK_OK);
    assert_int_equal(kolk_pool_snapshot_size(&pool.pool), saved.size);
    free(saved.bytes);
    old_ships_deinit(&pool);
}

int main(void) {
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_histories),
        cmocka_unit_test(test_convert_is_a_hook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
