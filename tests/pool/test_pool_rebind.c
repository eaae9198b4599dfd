/* kolk_pool_rebind: new hooks for an existing pool, and descriptors that it must refuse. */
#include "../help/debug_test.h"

typedef struct ship {
    uint32_t number, crew;
} ship;

typedef struct longer_ship {
    uint32_t number, crew, cargo;
} longer_ship;

KOLK_POOL_TYPE(ships, ship)
KOLK_POOL_TYPE(longer_ships, longer_ship)

/* What the hooks of the two versions of a module count. */
typedef struct calls {
    unsigned full, low, evicted, set_up, reset, torn_down, costs;
} calls;

static bool full(kolk_pool *pool, size_t bytes, void *context) {
    ((calls *)context)->full++;
    return kolk_pool_evict_cheapest(pool, bytes, context);
}

static void low(kolk_pool *pool, void *context) {
    ((calls *)context)->low++;
}

static double cost(const void *object, void *context) {
    ((calls *)context)->costs++;
    return ((const ship *)object)->crew;
}

static void evicted(void *object, void *context) {
    ((calls *)context)->evicted++;
}

static bool set_up(void *object, void *context) {
    ((calls *)context)->set_up++;
    *(ship *)object = (ship){0};
    return true;
}

static void reset(void *object, void *context) {
    ((calls *)context)->reset++;
}

static void tear_down(void *object, void *context) {
    ((calls *)context)->torn_down++;
}

static kolk_pool_desc all_hooks(calls *context) {
    return (kolk_pool_desc){.name = "fleet",
                            .capacity = 2,
                            .max_capacity = 4,
                            .full.low_water = 2,
                            .full.on_full = full,
                            .full.cost = cost,
                            .full.on_evict = evicted,
                            .full.on_low = low,
                            .life.setup = set_up,
                            .life.reset = reset,
                            .life.teardown = tear_down,
                            .context = context};
}

/* promise: "Replaces the hooks ... one of the init" */
static void test_the_same_descriptor_with_a_new_context(void **state) {
    for (int debug = 0; debug < 2; debug++) {
        calls before = {0}, after = {0};
        kolk_pool_desc desc = all_hooks(&before);
        desc.debug = debug ? "sites,quarantine=1" : NULL;
        ships fleet;
        assert_int_equal(ships_init(&fleet, &desc), KOLK_OK);
        ship *first = ships_alloc(&fleet);
        ships_handle handle = ships_handle_of(&fleet, first);
        ships_free(&fleet, ships_alloc(&fleet));
        calls at_rebind = before;

        desc.context = &after;
        assert_int_equal(ships_rebind(&fleet, &desc), KOLK_OK);
        assert_true(ships_is_valid(&fleet));
        assert_ptr_equal(ships_get(&fleet, handle), first);
        for (int n = 0; n < 5; n++) assert_non_null(ships_alloc(&fleet));
        ships_deinit(&fleet);
        assert_memory_equal(&before, &at_rebind, sizeof before);
        assert_true(after.full && after.low && after.evicted && after.set_up && after.reset && after.costs);
        assert_int_equal(after.set_up + before.set_up, after.torn_down);
    }
}

/* Without the fast paths' bounds, a new reset or on_low would be missed, and a hook that is gone would be called. */
static void test_hooks_that_come_and_go(void **state) {
    calls counted = {0};
    for (int order = KOLK_REUSE_LIFO; order <= KOLK_REUSE_LOWEST; order++) {
        kolk_pool pool;
        kolk_pool_desc plain = {.name = "plain", .object_size = 8, .capacity = 4, .reuse = (kolk_reuse)order},
                       more = plain;
        more.name = "hooked";
        more.full.headroom = 1;
        more.full.low_water = 3;
        more.full.on_low = low;
        more.life.reset = reset;
        more.context = &counted;
        assert_int_equal(kolk_pool_init(&pool, &plain), KOLK_OK);
        for (int turn = 0; turn < 3; turn++) {
            counted = (calls){0};
            void *objects[4];
            assert_int_equal(kolk_pool_alloc_n(&pool, objects, 4), turn % 2 ? 3 : 4);
            kolk_pool_free(&pool, objects[0]);
            kolk_pool_clear(&pool);
            assert_int_equal(counted.reset, turn % 2 ? 3 : 0);
            assert_int_equal(counted.low, turn % 2);
            kolk_stats stats;
            kolk_pool_stats(&pool, &stats);
            assert_string_equal(stats.name, turn % 2 ? "hooked" : "plain");
            assert_int_equal(kolk_pool_rebind(&pool, turn % 2 ? &plain : &more), KOLK_OK);
            assert_true(kolk_pool_is_valid(&pool));
        }
        kolk_pool_deinit(&pool);
    }
}

static void alloc_another(void *object, void *context) {
    assert_non_null(kolk_pool_alloc((kolk_pool *)context));
}

/* While a new reset hook runs, its slot is in no place. An alloc in the hook that needs one of the slots that alloc_at
 * has left unlisted does not take it. */
static void test_a_new_reset_after_alloc_at(void **state) {
    for (int order = KOLK_REUSE_LIFO; order <= KOLK_REUSE_LOWEST; order++) {
        kolk_pool pool;
        void *objects[10];
        kolk_pool_desc desc = {
            .object_size = 8, .capacity = 10, .reuse = (kolk_reuse)order, .debug = "", .context = &pool};
        assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_OK);
        assert_int_equal(kolk_pool_alloc_n(&pool, objects, 10), 10);
        for (int n = 1; n < 10; n++) kolk_pool_free(&pool, objects[n]);
        assert_non_null(kolk_pool_alloc_at(&pool, kolk_handle_unpack(UINT64_C(7) << 32 | (5 ^ pool.tag))));
        assert_int_equal(pool.unlisted, order == KOLK_REUSE_LOWEST ? 0 : 8);
        desc.life.reset = alloc_another;
        assert_int_equal(kolk_pool_rebind(&pool, &desc), KOLK_OK);
        for (int n = 0; n <= 5; n += 5) {
            kolk_pool_free(&pool, objects[n]);
            assert_true(kolk_pool_is_valid(&pool));
        }
        desc.life.reset = NULL;
        assert_int_equal(kolk_pool_rebind(&pool, &desc), KOLK_OK);
        while (kolk_pool_alloc(&pool)) assert_true(kolk_pool_is_valid(&pool));
        assert_int_equal(kolk_pool_count(&pool), 10);
        kolk_pool_clear(&pool);
        kolk_pool_deinit(&pool);
    }
}

/* The names that the profiler was told, and whether statistics list a name. */
typedef struct told {
    char last[20];
    bool listed;
} told;

static void note_alloc(const char *pool, const void *object, size_t size, void *context) {
    snprintf(((told *)context)->last, sizeof((told *)context)->last, "%s", pool);
}

static void look_for_second(const char *text, size_t length, void *context) {
    if (strstr(text, "second")) ((told *)context)->listed = true;
}

static void test_the_name_in_lists_and_reports(void **state) {
    static reports kept;
    kolk_pool pool;
    told heard = {{0}, false};
    char first[] = "first", second[] = "second";
    for (int named = 0; named < 2; named++) {
        kolk_pool_desc desc = {.name = named ? first : NULL, .object_size = 8, .capacity = 4, .debug = "sites"};
        kolk_set_profiler(&(kolk_profiler){.alloc = note_alloc, .context = &heard});
        assert_int_equal(kolk_pool_init(&pool, &desc), KOLK_OK);
        kolk_set_profiler(NULL);
        uint32_t tag = pool.tag;
        desc.name = second;
        assert_int_equal(kolk_pool_rebind(&pool, &desc), KOLK_OK);
        assert_int_equal(pool.tag, tag);
        assert_non_null(kolk_pool_alloc(&pool));
        assert_string_equal(heard.last, "second");
        heard.listed = false;
        kolk_stats_write(KOLK_STATS_JSON, look_for_second, &heard);
        assert_true(heard.listed);
        begin_reports(&kept);
        kolk_pool_deinit(&pool);
        assert_non_null(strstr(next_report(&kept)->sentence, "kolk: second: 1 object is still alive"));
        assert_no_more(&kept);
    }
}

static void refuse(kolk_pool *pool, const kolk_pool_desc *desc, kolk_status with) {
    kolk_pool before = *pool;
    assert_int_equal(kolk_pool_rebind(pool, desc), with);
    assert_memory_equal(pool, &before, sizeof before);
    assert_true(kolk_pool_is_valid(pool));
}

/* tests/contracts/test_all_rebinds.c has more of them. promise: "KOLK_IN_HOOK if a hook is running; KOLK_MOVED" */
static void test_what_is_refused(void **state) {
    kolk_pool pool;
    kolk_pool_desc own = {.name = "own", .object_size = 16, .capacity = 4, .max_capacity = 8};
    assert_int_equal(kolk_pool_init(&pool, &own), KOLK_OK);
    refuse(&pool, &(kolk_pool_desc){.object_align = 3}, KOLK_BAD_ALIGN);
    refuse(&pool, &(kolk_pool_desc){.capacity = 5, .max_capacity = 8}, KOLK_LAYOUT_CHANGED);
    refuse(&pool, &(kolk_pool_desc){.max_capacity = 9}, KOLK_LAYOUT_CHANGED);
    refuse(&pool, &(kolk_pool_desc){.pins = true}, KOLK_LAYOUT_CHANGED);
    refuse(&pool, &(kolk_pool_desc){.full.headroom = 9}, KOLK_BAD_HEADROOM);
    refuse(&pool, &(kolk_pool_desc){.full.on_full = kolk_pool_evict_cheapest}, KOLK_COST_MISSING);
    refuse(&pool, &(kolk_pool_desc){.full.on_full = kolk_pool_evict_oldest}, KOLK_AGES_MISSING);
    assert_int_equal(kolk_pool_rebind(&pool, &(kolk_pool_desc){.capacity = 4}), KOLK_OK);
    assert_int_equal(kolk_pool_rebind(&pool, &(kolk_pool_desc){.capacity = 2}), KOLK_OK);
    assert_int_equal(pool.capacity, 4);
    assert_int_equal(kolk_pool_reserve(&pool, 7), KOLK_OK);
    assert_int_equal(kolk_pool_rebind(&pool, &own), KOLK_OK);
    assert_int_equal(kolk_pool_rebind(&pool, &(kolk_pool_desc){0}), KOLK_OK);
    assert_null(pool.name);
    assert_int_equal(kolk_pool_rebind_abi_(&pool, &own, 0, 0, sizeof pool, KOLK_POOL_ABI_ + 1), KOLK_WRONG_ABI);
    assert_int_equal(kolk_pool_rebind_abi_(&pool, &own, 0, 0, sizeof pool + 8, KOLK_POOL_ABI_), KOLK_WRONG_ABI);
    kolk_pool_deinit(&pool);
    refuse(&pool, &own, KOLK_STRUCT_CHANGED);
    refuse(&pool, &(kolk_pool_desc){0}, KOLK_ZERO_SIZE);
}

static void test_a_struct_that_has_changed(void **state) {
    ships fleet;
    assert_int_equal(ships_init(&fleet, &(kolk_pool_desc){.capacity = 4}), KOLK_OK);
    longer_ships *as_next = (longer_ships *)(void *)&fleet;
    assert_int_equal(longer_ships_rebind(as_next, &(kolk_pool_desc){.capacity = 4}), KOLK_STRUCT_CHANGED);
    assert_string_equal(fleet.pool.name, "ships");
    assert_int_equal(ships_rebind(&fleet, &(kolk_pool_desc){.object_size = 4}), KOLK_TYPE_MISMATCH);
    ships_deinit(&fleet);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_the_same_descriptor_with_a_new_context),
        DEBUG_TEST(test_hooks_that_come_and_go),
        DEBUG_TEST(test_a_new_reset_after_alloc_at),
        DEBUG_TEST(test_the_name_in_lists_and_reports),
        DEBUG_TEST(test_what_is_refused),
        DEBUG_TEST(test_a_struct_that_has_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
