/* runs: sample */
/* Rollbacks: a pool that is restored after operations that turned out to be wrong has the same future as a pool that
 * never made them: the same handles and the same hash, also if it has grown meanwhile. */
#include "../help/test.h"

#include "snapshot_block.h"

enum { SIZE = 4096, MOST = 400, HISTORIES = 300, FRAMES = 60 };

static uint64_t seed;

static int plain_environment(void **state) {
    unsetenv("KOLK_DEBUG");
    setenv("KOLK_BYPASS", "0", 1);
    return 0;
}

static void *any_object(kolk_pool *pool, uint64_t random) {
    uint32_t n = kolk_pool_count(pool);
    if (n == 0) return NULL;
    kolk_cursor cursor = kolk_pool_each(pool);
    for (uint32_t skip = (uint32_t)(random % n); skip-- > 0;) kolk_cursor_next(&cursor);
    return kolk_cursor_next(&cursor);
}

/* The results of a step are the handles that it made. */
static uint64_t add(uint64_t sum, kolk_pool *pool, void *object, uint64_t random) {
    if (!object) return sum * 3;
    memset(object, (int)(random % 256), SIZE);
    return (sum * 5 + kolk_pool_handle_of(pool, object).bits) * 7;
}

/* Does one thing to the pool, as the numbers say. Returns what came of it. */
static uint64_t step(kolk_pool *pool, uint64_t *random) {
    uint64_t drawn = next_random(random), how = next_random(random), sum = 1;
    uint32_t slot = (uint32_t)(drawn % MOST);
    void *objects[40], *object = any_object(pool, drawn);
    uint32_t n = kolk_pool_count(pool) ? (uint32_t)(drawn / 8 % 40) : 0;
    switch (how % 16) {
    case 0:
        n = kolk_pool_alloc_n(pool, objects, (uint32_t)(drawn % 40));
        for (uint32_t i = 0; i < n; i++) sum = add(sum, pool, objects[i], drawn + i);
        return sum;
    case 1:
    case 2:
        for (; n > 0; n--) kolk_pool_free(pool, any_object(pool, drawn * n));
        return sum;
    case 3:
        return add(sum, pool, kolk_pool_renew(pool, object), drawn);
    case 4:
        return how % 256 == 4 ? kolk_pool_clear(pool), sum : sum;
    case 5:
        return how % 64 == 5 ? add(sum, pool, kolk_pool_alloc_at_index(pool, slot), drawn) : sum;
    case 6:
        return how % 64 == 6 ? kolk_pool_reserve(pool, slot / 2), sum : sum;
    case 7:
        return how % 64 == 7 ? kolk_pool_trim(pool), sum : sum;
    case 8:
        return pool->reuse == KOLK_REUSE_FIFO ? 0 : kolk_pool_tick(pool, 64), sum; /* may grow FIFO in advance */
    case 9:
        return kolk_pool_free(pool, object), sum;
    case 10:
        return pool->ages && object ? kolk_pool_touch(pool, object), sum : sum;
    case 11:
        return pool->ages && object ? kolk_pool_protect(pool, object, drawn % 2), sum : sum;
    case 12:
        return object ? memset(object, (int)(drawn % 256), SIZE), sum : sum;
    default:
        return add(sum, pool, kolk_pool_alloc(pool), drawn);
    }
}

static uint64_t steps(kolk_pool *pool, uint64_t random, uint32_t n) {
    uint64_t sum = 0;
    while (n-- > 0) sum = sum * 11 + step(pool, &random);
    return sum;
}

static kolk_pool_desc random_desc(uint64_t random) {
    kolk_pool_desc desc = {.name = "rollback", .object_size = SIZE, .reuse = orders[random % 3]};
    desc.max_capacity = random / 3 % 3 ? MOST : 0;
    desc.capacity = desc.max_capacity ? (uint32_t)(random / 9 % 60) : 50;
    desc.ages = random / 1024 % 2;
    if (desc.ages && random / 2048 % 2) desc.full.on_full = kolk_pool_evict_oldest;
    desc.generations = random / 4096 % 4 ? KOLK_GENERATIONS_RECYCLE : KOLK_GENERATIONS_STRICT;
    desc.full.headroom = random / 16384 % 4 ? 0 : 5;
    if (random / 65536 % 8 == 0) desc.debug = "fill,quarantine=7";
    return desc;
}

#define assert_same(a, b)                                                                                              \
    if ((a) != (b)) fail_msg("KOLK_TEST_SEED=%" PRIu64 ": frame %u: " #a " differs", seed, frame)

/* The last frames again and again: only the last time are their steps the right ones.
 * promise: pool.h "A restored pool has the hash", "Every handle that was valid" */
static void test_the_same_future(void **state) {
    seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    print_message("KOLK_TEST_SEED=%" PRIu64 "\n", seed);
    for (unsigned n = 0; n < (does_a_part() ? HISTORIES / 10 : HISTORIES); n++, seed++) {
        uint64_t random = seed;
        kolk_pool right, rolled;
        kolk_pool_desc desc = random_desc(next_random(&random));
        assert_int_equal(kolk_pool_init(&right, &desc), KOLK_OK);
        assert_int_equal(kolk_pool_init(&rolled, &desc), KOLK_OK);
        for (unsigned frame = 0; frame < FRAMES; frame++) {
            uint64_t wrong = next_random(&random), good = next_random(&random);
            if (wrong % 3 == 0) {
                uint64_t hash = kolk_pool_hash(&rolled, NULL, NULL);
                block before = take_snapshot(&rolled);
                steps(&rolled, wrong, (uint32_t)(wrong / 4 % 50));
                assert_int_equal(kolk_pool_restore(&rolled, before.bytes, before.size), KOLK_OK);
                assert_same(kolk_pool_hash(&rolled, NULL, NULL), hash);
                free(before.bytes);
            }
            assert_same(steps(&right, good, 20), steps(&rolled, good, 20));
            assert_same(kolk_pool_hash(&right, NULL, NULL), kolk_pool_hash(&rolled, NULL, NULL));
            assert_true(kolk_pool_is_valid(&right) && kolk_pool_is_valid(&rolled));
        }
        kolk_pool_clear(&right);
        kolk_pool_clear(&rolled);
        kolk_pool_deinit(&right);
        kolk_pool_deinit(&rolled);
    }
}

static uint64_t first_byte(const void *object, void *context) {
    return *(const unsigned char *)object;
}

/* promise: pool.h "The same kolk gives the same hash on every machine"; slotmap.h "The same kolk gives the same hash on
 * every machine" */
static void test_published_hashes(void **state) {
    static const uint64_t expected[] = {UINT64_C(0x9cd68b1e0116c9a6), UINT64_C(0x148c7c2c4fb05fed),
                                        UINT64_C(0x4c85e078ae4fcc4c)};
    kolk_slotmap map;
    kolk_handle handles[5];
    for (size_t n = 0; n < LENGTH_OF(orders); n++) {
        kolk_pool pool;
        kolk_pool_desc desc = {.name = "h", .object_size = 5, .capacity = 9, .reuse = orders[n], .ages = true};
        assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_OK);
        for (int i = 0; i < 6; i++) memset(kolk_pool_alloc(&pool), i + 1, 5);
        for (uint32_t i = 0; i < 6; i += 2) assert_true(kolk_pool_free_at(&pool, i));
        memset(kolk_pool_alloc(&pool), 77, 5);
        uint64_t hash = kolk_pool_hash(&pool, first_byte, NULL);
        if (hash != expected[n]) fail_msg("%zu: %#" PRIx64, n, hash);
        kolk_pool_clear(&pool);
        kolk_pool_deinit(&pool);
    }
    assert_int_equal(kolk_slotmap_init(&map, &(kolk_slotmap_desc){.name = "h", .object_size = 5, .capacity = 9}),
                     KOLK_OK);
    for (int i = 0; i < 5; i++) memset(kolk_slotmap_add(&map, &handles[i]), i + 1, 5);
    assert_true(kolk_slotmap_remove(&map, handles[1]));
    uint64_t hash = kolk_slotmap_hash(&map, first_byte, NULL);
    if (hash != UINT64_C(0x68ad9420bbe7f0fc)) fail_msg("%#" PRIx64, hash);
    kolk_slotmap_clear(&map);
    kolk_slotmap_deinit(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_the_same_future, plain_environment),
        cmocka_unit_test_setup(test_published_hashes, plain_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
