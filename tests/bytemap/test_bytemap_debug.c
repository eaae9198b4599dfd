/* runs: not:qemu not:wine */
/* The debug mode of byte maps, of a pool's own and of a game's: what the game does to its pool by itself is no mistake.
 * (What all kinds promise is in contracts; test_bytemap_model.c has streams of operations in debug mode.) */
#include "../help/code_limits.h"

#define SLOTS 6
#define SIZE  12u

/* The game's pool, and the mod's hooks of the game's New and Delete. */
static struct {
    unsigned char objects[SLOTS][SIZE];
    uint8_t bytes[SLOTS];
    int32_t first_free;
} game;

static kolk_bytemap pool;
static reports kept;

ALLOCATES(hooked_new, kolk_bytemap_new(&pool))
ALLOCATES(hooked_new_at, kolk_bytemap_new_at(&pool, 3 << 8 | 9))
GIVES_BACK(hooked_delete, kolk_bytemap_delete(&pool, object))
GIVES_BACK(clears, kolk_bytemap_clear((kolk_bytemap *)object))
GIVES_BACK(ends, kolk_bytemap_flush((kolk_bytemap *)object))

LIMITS(sets)
APART(sets) static void sets(int32_t index, uint8_t byte) {
    assert_true(kolk_bytemap_set_byte(&pool, index, byte));
    AND_ON();
}

/* What the game does by itself. */
static void *own_new(int32_t slot) {
    assert_true(game.bytes[slot] & KOLK_BYTEMAP_FREE);
    game.bytes[slot] = (uint8_t)((game.bytes[slot] + 1) & 0x7f);
    game.first_free = slot;
    return memset(game.objects[slot], 0x11, SIZE);
}

static void own_delete(int32_t slot) {
    memset(game.objects[slot], 0x22, SIZE);
    game.bytes[slot] |= KOLK_BYTEMAP_FREE;
}

static void attach_to_game(const char *debug) {
    begin_reports(&kept);
    memset(&game, 0, sizeof game);
    memset(game.bytes, 0x80, sizeof game.bytes);
    game.first_free = -1;
    kolk_bytemap_view view = {.name = "peds",
                              .object_list = game.objects,
                              .byte_map = game.bytes,
                              .object_size = SIZE,
                              .count = SLOTS,
                              .cursor = &game.first_free,
                              .writable = true,
                              .debug = debug};
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
    assert_true(kolk_bytemap_is_valid(&pool));
}

static void make_own(const char *debug) {
    begin_reports(&kept);
    kolk_bytemap_view view = {.name = "peds", .object_size = SIZE, .count = SLOTS, .debug = debug};
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_OK);
    assert_true(kolk_bytemap_is_valid(&pool));
}

static void end_silently(void) {
    assert_true(kolk_bytemap_is_valid(&pool));
    ends(&pool);
    assert_no_more(&kept);
    assert_true(all_bytes_are(&pool, sizeof pool, 0));
}

static bool is_filled(const void *object, uint32_t pattern) {
    const unsigned char *bytes = (const unsigned char *)object, *wanted = (const unsigned char *)&pattern;
    for (size_t i = 0; i < SIZE; i++)
        if (bytes[i] != wanted[i % 4]) return false;
    return true;
}

static void assert_sites(const report *now, kolk_status rule, const limits *alloc, const limits *free) {
    assert_int_equal(now->failure.rule, rule);
    assert_true(alloc ? is_within(now->failure.alloc_site, alloc) : !now->failure.alloc_site);
    assert_true(free ? is_within(now->failure.free_site, free) : !now->failure.free_site);
}

/* promise: bytemap.h "settings of the debug mode ... sets some"; base.h "Byte maps have fill, sites ... by itself" */
static void test_a_games_pool_with_hooks(void **state) {
    attach_to_game("fill,sites");
    unsigned char *ped = (unsigned char *)hooked_new();
    assert_ptr_equal(ped, game.objects[0]);
    assert_int_equal(game.bytes[0], 1);
    assert_true(is_filled(ped, 0xcdcdcdcd));
    hooked_delete(ped);
    assert_true(is_filled(ped, 0x1deadb0b));
    hooked_delete(ped);
    const report *now = next_report(&kept);
    assert_sites(now, KOLK_DOUBLE_FREE, &in_hooked_new, &in_hooked_delete);
    assert_sentence(now, " by ", "kolk: peds: delete of slot 0, which is free");
    ped[5] = 0x55;
    assert_false(kolk_bytemap_is_valid(&pool));
    for (int n = 0; n < SLOTS; n++) hooked_new(); /* the last of them is in slot 0 again */
    now = next_report(&kept);
    assert_sites(now, KOLK_WRITE_AFTER_FREE, &in_hooked_new, &in_hooked_delete);
    assert_true(is_within(now->failure.site, &in_hooked_new));
    assert_sentence(now, ", seen by ", "kolk: peds: write after free to slot 0: 55 written at byte 5 of it");
    assert_true(is_filled(ped, 0xcdcdcdcd));
    for (int n = 0; n < SLOTS; n++) hooked_delete(game.objects[n]);
    game.objects[4][0] = 0x66;
    ends(&pool);
    now = next_report(&kept);
    assert_sites(now, KOLK_WRITE_AFTER_FREE, &in_hooked_new, &in_hooked_delete);
    assert_true(is_within(now->failure.site, &in_ends));
    assert_no_more(&kept);
    assert_int_equal(game.bytes[0], 0x82);
}

/* The game makes and deletes objects by code that is not hooked, in slots that the debug mode has seen in another
 * state: it writes to them as it likes. */
static void test_what_a_game_does_by_itself(void **state) {
    attach_to_game("fill,sites");
    for (int32_t slot = 0; slot < SLOTS; slot++) assert_ptr_equal(hooked_new(), game.objects[slot]);
    for (int32_t slot = 0; slot < 4; slot++) hooked_delete(game.objects[slot]);
    own_new(0);
    own_new(1);
    own_delete(1);
    own_delete(4);
    assert_true(kolk_bytemap_is_valid(&pool));
    hooked_delete(game.objects[4]); /* twice, but the debug mode has not seen the first time */
    assert_sites(next_report(&kept), KOLK_DOUBLE_FREE, NULL, NULL);
    hooked_delete(game.objects[0]); /* only this was seen */
    hooked_delete(game.objects[0]);
    assert_sites(next_report(&kept), KOLK_DOUBLE_FREE, NULL, &in_hooked_delete);
    game.first_free = 0;
    assert_ptr_equal(hooked_new(), game.objects[1]);
    own_delete(5);
    own_new(5);
    hooked_delete(game.objects[1]);
    end_silently(); /* the object in slot 5 is the game's, not one that leaks */
    assert_int_equal(game.bytes[5], 2);
}

/* An object that was there before is the game's; what was made through kolk and is still there at flush is a leak, and
 * lives on. promise: bytemap.h "With the debug setting `sites`, first ... live on" */
static void test_leaks_in_a_games_pool(void **state) {
    attach_to_game("fill,sites=1");
    own_new(0);
    game.first_free = 0;
    hooked_new();
    hooked_new();
    hooked_new();
    own_delete(2);
    ends(&pool);
    const report *now = next_report(&kept);
    assert_sites(now, KOLK_LEAK, &in_hooked_new, NULL);
    assert_sentence(now, " by ", "kolk: peds: 2 objects are still alive, the oldest in slot 1");
    assert_no_more(&kept);
    static const uint8_t after[SLOTS] = {0x01, 0x01, 0x81, 0x01, 0x80, 0x80};
    assert_memory_equal(game.bytes, after, SLOTS);
    assert_true(is_filled(game.objects[1], 0xcdcdcdcd) && is_filled(game.objects[0], 0x11111111));
}

/* promise: bytemap.h "yours to change: a `new` that finds" */
static void test_who_holds_a_full_pool(void **state) {
    attach_to_game("sites=1");
    pool.trap_full = true;
    own_new(0);
    own_new(1);
    hooked_new_at();
    hooked_new();
    hooked_new();
    hooked_new();
    assert_null(hooked_new());
    const report *now = next_report(&kept);
    assert_int_equal(now->failure.rule, KOLK_FULL);
    char text[2100] = "kolk: peds: full: all 6 slots are in use"; /* the failed call is the one that made three */
    put_site(text, sizeof text, " by ", now->failure.site, NULL, 1);
    put_site(text, sizeof text, "; 3 from ", now->failure.site, NULL, 1);
    strcat(text, ", 1 from ");
    assert_int_equal(strncmp(now->sentence, text, strlen(text)), 0);
    assert_null(strstr(now->sentence + strlen(text), " from "));
    for (int32_t slot = 2; slot < SLOTS; slot++) hooked_delete(game.objects[slot]);
    end_silently();
}

/* SetFreeAt and SetIdAt, as a mod uses them to bring a saved pool back, with the objects. */
static void test_bytes_that_are_set(void **state) {
    make_own("fill,sites");
    unsigned char *first = (unsigned char *)hooked_new(), *second = (unsigned char *)hooked_new();
    hooked_delete(second);
    sets(0, 0x81); /* frees the first, makes the second, and changes a seed */
    sets(1, 0x05);
    sets(2, 0x87);
    assert_true(is_filled(first, 0x1deadb0b));
    memset(first, 0x44, SIZE); /* the objects first, and then the bytes: nothing is reported */
    sets(0, 0x02);
    assert_int_equal(first[SIZE - 1], 0x44);
    sets(0, 0x81);
    for (int i = 0; i < SLOTS; i++) memset(pool.object_list + (size_t)i * SIZE, 0x33, SIZE);
    hooked_delete(first);
    assert_sites(next_report(&kept), KOLK_DOUBLE_FREE, &in_sets, &in_sets);
    hooked_delete(second);
    hooked_delete(second);
    assert_sites(next_report(&kept), KOLK_DOUBLE_FREE, &in_sets, &in_hooked_delete);
    while (hooked_new()) {}
    assert_int_equal(pool.used, SLOTS);
    kolk_bytemap_clear(&pool);
    end_silently();
}

static void test_own_pools(void **state) {
    make_own("fill,sites,guard,quarantine=3,move"); /* the last three are not for byte maps */
    assert_int_equal(pool.debug_flags, KOLK_DEBUG_FILL | KOLK_DEBUG_SITES);
    void *object = hooked_new_at();
    assert_ptr_equal(object, pool.object_list + 3 * SIZE);
    assert_true(is_filled(object, 0xcdcdcdcd));
    clears(&pool);
    assert_true(is_filled(object, 0x1deadb0b));
    ((char *)object)[1] = 1;
    clears(&pool);
    assert_sites(next_report(&kept), KOLK_WRITE_AFTER_FREE, &in_hooked_new_at, &in_clears);
    end_silently();
}

/* The slots of a pool with nothing in it, and a pool that must not be written to. */
static void test_pools_without_lives(void **state) {
    begin_reports(&kept);
    kolk_bytemap_view view = {.name = "none", .object_size = SIZE, .debug = "fill,sites"};
    assert_int_equal(kolk_bytemap_initialise_with(&pool, &view), KOLK_OK);
    assert_null(hooked_new());
    end_silently();
    view.object_list = game.objects, view.byte_map = game.bytes, view.count = SLOTS;
    assert_int_equal(kolk_bytemap_attach(&pool, &view), KOLK_OK);
    assert_int_equal(pool.debug_flags, 0);
    hooked_delete(game.objects[0]);
    const report *now = next_report(&kept);
    assert_int_equal(now->failure.rule, KOLK_READ_ONLY);
    assert_true(now->failure.no_debug);
    end_silently();
}

static void test_forced_failures(void **state) {
    setenv("KOLK_FAIL", "peds:every=2", 1);
    make_own(NULL);
    pool.trap_full = true;
    assert_non_null(hooked_new());
    assert_null(hooked_new());
    assert_string_equal(next_report(&kept)->sentence, "kolk: peds: full: KOLK_FAIL says so; 1 of 6 slots are in use");
    end_silently();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_a_games_pool_with_hooks), DEBUG_TEST(test_what_a_game_does_by_itself),
        DEBUG_TEST(test_leaks_in_a_games_pool),   DEBUG_TEST(test_who_holds_a_full_pool),
        DEBUG_TEST(test_bytes_that_are_set),      DEBUG_TEST(test_own_pools),
        DEBUG_TEST(test_pools_without_lives),     DEBUG_TEST(test_forced_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
