/* A pool that grows in place, and a limit adjuster: it replaces a game's pool by a larger one of kolk's, and raises the
 * limit while the game, which has functions of its own, makes and deletes objects. */
#include "bytemap_test.h"

/* The game's struct, as in San Andreas; in 64 bits, as in San Andreas Unreal. */
typedef struct cpool {
    void *objects;
    uint8_t *bytes;
    int32_t count, first_free;
    bool owns_its_memory, unused;
} cpool;

#define LAYOUT (sizeof(void *) == 4 ? KOLK_BYTEMAP_SAN_ANDREAS : KOLK_BYTEMAP_SAN_ANDREAS_UNREAL)
#define OTHER  (sizeof(void *) == 4 ? KOLK_BYTEMAP_SAN_ANDREAS_UNREAL : KOLK_BYTEMAP_SAN_ANDREAS)

/* The game's New, Delete and GetAt. */
static void *game_new(cpool *game) {
    for (bool again = false;;) {
        if (++game->first_free == game->count) {
            game->first_free = again ? -1 : 0;
            if (again) return NULL;
            again = true;
        }
        uint8_t *byte = &game->bytes[game->first_free];
        if (!(*byte & 0x80)) continue;
        *byte = (uint8_t)((*byte + 1) & 0x7f);
        return (char *)game->objects + (size_t)game->first_free * OBJECT_SIZE;
    }
}

static void game_delete(cpool *game, int32_t index) {
    game->bytes[index] |= 0x80;
    if (index < game->first_free) game->first_free = index;
}

static void *game_at(const cpool *game, int32_t handle) {
    bool valid = game->bytes[handle >> 8] == (handle & 0xff);
    return valid ? (char *)game->objects + (size_t)(handle >> 8) * OBJECT_SIZE : NULL;
}

static void begin(kolk_bytemap *pool, int32_t count, int32_t max_count, const char *debug) {
    memset(pool, 0, sizeof *pool);
    kolk_bytemap_view view = {
        .name = "peds", .object_size = OBJECT_SIZE, .count = count, .max_count = max_count, .debug = debug};
    assert_int_equal(kolk_bytemap_initialise_with(pool, &view), KOLK_OK);
    assert_true(kolk_bytemap_is_valid(pool));
}

/* promise: bytemap.h "Raises count, and leaves ... of max_count) or KOLK_NO_MEMORY" */
static void test_reserve(void **state) {
    static const int32_t mosts[] = {60, 6000, KOLK_BYTEMAP_MAX_COUNT}; /* a page, some, and address space */
    for (size_t n = 0; n < 2 * LENGTH_OF(mosts); n++) {
        kolk_bytemap pool;
        int32_t most = mosts[n / 2];
        begin(&pool, n % 2 ? 0 : 7, most, n % 3 == 1 ? "fill" : NULL);
        const void *first = pool.object_list;
        for (int32_t count = pool.count;; count = count + 1 < most / 3 ? 3 * count + 1 : most) {
            assert_int_equal(kolk_bytemap_reserve(&pool, count), KOLK_OK);
            assert_int_equal(kolk_bytemap_reserve(&pool, count / 2), KOLK_OK); /* never fewer */
            assert_int_equal(pool.count, count);
            assert_true(kolk_bytemap_is_valid(&pool));
            if (count > 20000) break;
            for (int32_t i = pool.used; i < count; i++) memset(kolk_bytemap_new(&pool), (uint8_t)i, OBJECT_SIZE);
            assert_null(kolk_bytemap_new(&pool));
            if (count == most) break;
        }
        assert_int_equal(kolk_bytemap_reserve(&pool, most + 1), KOLK_ABOVE_MAX);
        assert_ptr_equal(pool.object_list, first);
        for (int32_t i = 0; i < pool.used; i++) {
            assert_ptr_equal(kolk_bytemap_get_at(&pool, i << 8 | 1), slot_of(&pool, i));
            assert_true(all_bytes_are(slot_of(&pool, i), OBJECT_SIZE, (uint8_t)i));
        }
        kolk_stats stats;
        kolk_bytemap_stats(&pool, &stats);
        assert_int_equal(stats.capacity, pool.count);
        assert_int_equal(stats.max_capacity, most);
        assert_int_equal(stats.bytes_reserved, (uint64_t)most * (OBJECT_SIZE + 1));
        assert_int_equal(stats.bytes_committed, (uint64_t)pool.count * (OBJECT_SIZE + 1));
        kolk_bytemap_flush(&pool);
        assert_int_equal(kolk_bytemap_reserve(&pool, 1), KOLK_ABOVE_MAX);
    }
}

/* promise: bytemap.h "what reserve may raise count to, if the pool ... 0: count" */
static void test_what_cannot_grow(void **state) {
    owner mine = some_owner;
    kolk_bytemap pool = {0};
    kolk_bytemap_view view = view_of(&mine);
    view.max_count = 7;
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_CANNOT_GROW);
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_CANNOT_GROW);
    view.max_count = 5;
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_MAX_BELOW_CAPACITY);
    view.max_count = -1;
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_BAD_COUNT);
    view.max_count = KOLK_BYTEMAP_MAX_COUNT + 1;
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_BAD_COUNT);
    view.max_count = 6;
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
    assert_int_equal(kolk_bytemap_reserve(&pool, 7), KOLK_ABOVE_MAX);
    kolk_bytemap_flush(&pool);
}

/* promise: bytemap.h "Gives the pool to a game ... count = 140, .max_count = 5000" */
static void test_a_limit_adjuster(void **state) {
    for (int mode = 0; mode < 2; mode++) {
        cpool game = {&game, (uint8_t *)&game, 3, 2, true, true}; /* its own arrays, which have no objects yet */
        kolk_bytemap pool;
        begin(&pool, 4, 9000, mode ? "fill" : NULL);
        assert_int_equal(kolk_bytemap_export(&pool, LAYOUT, &game), KOLK_OK);
        assert_true(game.objects == pool.object_list && game.bytes == pool.byte_map && game.count == 4);
        assert_true(game.first_free == -1 && !game.owns_its_memory && game.unused);
        assert_true(kolk_bytemap_is_valid(&pool));

        char *first = (char *)game_new(&game), *second = (char *)kolk_bytemap_new(&pool);
        assert_ptr_equal(second, first + OBJECT_SIZE); /* both use the same cursor */
        assert_non_null(game_new(&game));
        kolk_bytemap_delete(&pool, first);
        assert_ptr_equal(kolk_bytemap_new(&pool), first + 3 * OBJECT_SIZE); /* the slot at the cursor waits */
        game_delete(&game, 1);
        while (game_new(&game)) {}
        assert_int_equal(kolk_bytemap_used_count(&pool), 4);
        assert_null(kolk_bytemap_new(&pool));

        assert_int_equal(kolk_bytemap_reserve(&pool, 8000), KOLK_OK);
        assert_int_equal(game.count, 4); /* until */
        assert_int_equal(kolk_bytemap_export(&pool, LAYOUT, &game), KOLK_OK);
        assert_int_equal(game.count, 8000);
        assert_ptr_equal(game.objects, first);
        assert_ptr_equal(game_at(&game, 0 << 8 | 2), first); /* handles from before are valid */
        assert_ptr_equal(kolk_bytemap_get_at(&pool, 1 << 8 | 2), second);
        assert_ptr_equal(game_new(&game), first + 4 * OBJECT_SIZE);
        while (game_new(&game)) {}
        assert_int_equal(kolk_bytemap_used_count(&pool), 8000);
        assert_true(kolk_bytemap_is_valid(&pool));

        kolk_bytemap_flush(&pool);
        assert_int_equal(kolk_bytemap_export(&pool, LAYOUT, &game), KOLK_OK);
        assert_true(!game.objects && !game.bytes && game.count == 0);
        assert_true(all_bytes_are(&pool, sizeof pool, 0));
    }
}

/* The struct of III and Vice City has no flags, so nothing behind it is written. */
static void test_layouts_of_a_game(void **state) {
    kolk_bytemap pool;
    begin(&pool, 4, 0, NULL);
    cpool game, before;
    memset(&game, 0x55, sizeof game);
    before = game;
    const kolk_bytemap_layout bad[] = {OTHER, KOLK_BYTEMAP_IV, KOLK_BYTEMAP_V, KOLK_BYTEMAP_RDR3,
                                       (kolk_bytemap_layout)7};
    for (size_t n = 0; n < LENGTH_OF(bad); n++) {
        assert_int_equal(kolk_bytemap_export(&pool, bad[n], &game), KOLK_BAD_LAYOUT);
        assert_memory_equal(&game, &before, sizeof game);
        assert_false(pool.attached);
    }
    kolk_status status = kolk_bytemap_export(&pool, KOLK_BYTEMAP_VICE_CITY, &game);
    assert_int_equal(status, sizeof(void *) == 4 ? KOLK_OK : KOLK_BAD_LAYOUT);
    assert_int_equal(((unsigned char *)&game)[2 * sizeof(void *) + 8], 0x55);
    kolk_bytemap_flush(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_reserve),
        TEST(test_what_cannot_grow),
        TEST(test_a_limit_adjuster),
        TEST(test_layouts_of_a_game),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
