/* runs: long once with: KOLK_CHAOS=1 */
/* While another thread works with objects that are set up once, the process forks before each of that thread's atomic
 * operations, and in the middle of each hook. The child continues to use the pool, then deinitialises it. Each object
 * that was set up is torn down once; one whose setup was interrupted is left alone. */
#include "../help/test.h"

#include "forks.h"

enum { THREADS = 2, CAPACITY = 20, MOST = 40 };

/* The stage of each slot. */
static enum { NEVER_MADE, IN_SETUP, MADE, IN_RESET, TORN_DOWN } stages[MOST];
static enum { DEAD, ALIVE, BETWEEN } lives[MOST]; /* BETWEEN: dead, but not yet reset */
static void *objects[MOST];

static bool set_up(void *object, void *unused) {
    uint32_t slot = slot_of(&pool, object);
    REQUIRE(stages[slot] == NEVER_MADE);
    stages[slot] = IN_SETUP;
    kolk_chaos_();
    stages[slot] = MADE;
    return true;
}

static void reset(void *object, void *unused) {
    uint32_t slot = slot_of(&pool, object);
    REQUIRE(stages[slot] == MADE && lives[slot] != DEAD);
    stages[slot] = IN_RESET;
    kolk_chaos_();
    stages[slot] = MADE;
    lives[slot] = DEAD;
}

static void tear_down(void *object, void *unused) {
    uint32_t slot = slot_of(&pool, object);
    REQUIRE(stages[slot] == MADE || stages[slot] == IN_RESET);
    REQUIRE(lives[slot] != ALIVE || stages[slot] == IN_RESET);
    stages[slot] = TORN_DOWN;
}

static void *take(kolk_shared_local *local) {
    void *object = kolk_shared_alloc(local);
    if (!object) return NULL;
    REQUIRE(stages[slot_of(&pool, object)] == MADE);
    lives[slot_of(&pool, object)] = ALIVE;
    return object;
}

static uint32_t count(int stage) {
    uint32_t n = 0;
    for (uint32_t slot = 0; slot < MOST; slot++) n += (int)stages[slot] == stage;
    return n;
}

/* The other thread may have been stopped after a setup but before it recorded that the slot is ready, or after the end
 * of a life but before the reset. Only that one slot misses its teardown or its reset. */
static void live_on(uint32_t unused) {
    void *some[MOST];
    uint32_t n = 0, in_setup = count(IN_SETUP);
    END_IF_IT_HANGS();
    while ((some[n] = take(&mine))) n++;
    REQUIRE(n + held + 1 >= CAPACITY);
    while (n--) kolk_shared_free(&mine, some[n]);
    REQUIRE(some[0] = take(&mine));
    uint32_t half_dead = 0;
    for (uint32_t slot = 0; slot < all_slots(&pool); slot++) {
        bool ends = lives[slot] == ALIVE && stages[slot] == MADE &&
                    !kolk_shared_is_live(&pool, pool.slots + slot * pool.stride);
        half_dead += ends;
        if (ends) lives[slot] = BETWEEN;
    }
    REQUIRE(half_dead <= 1);
    kolk_shared_deinit(&pool);
    REQUIRE(count(IN_SETUP) == in_setup);
    REQUIRE(count(MADE) + count(IN_RESET) + in_setup <= 1);
    REQUIRE(count(TORN_DOWN) >= CAPACITY - 1);
    _exit(0);
}

static void fork_now(void) {
    assert_int_equal(fork_and_live(live_on, 0), 0);
}

/* ---- Actions of the other thread --------------------------------------------------------------------------------- */

static void hold_some(void) {
    while (held < 5) REQUIRE(objects[held++] = take(&others));
}

static void take_one(void) {
    objects[held] = take(&others);
    held += objects[held] != NULL;
}

static void drop_one(void) {
    kolk_shared_free(&others, objects[--held]);
}

static void drop_one_later(void) {
    kolk_shared_free_later(&others, objects[--held]);
    for (int i = 0; i < 4; i++) {
        kolk_shared_quiesce(&mine); /* safe, because this local's thread is idle */
        kolk_shared_quiesce(&others);
    }
}

static void drop_and_end(void) {
    drop_one();
    kolk_shared_local_deinit(&others);
}

static const deed deeds[] = {
    {"setup", NULL, take_one, false, false},
    {"setup of one more", hold_some, take_one, false, false},
    {"reset", hold_some, drop_one, false, false},
    {"reset after free_later", hold_some, drop_one_later, false, false},
    {"deinit of a local", hold_some, drop_and_end, false, false},
};

static void fork_everywhere(const deed *what, uint32_t cache) {
    bool more = true;
    current = what;
    for (step = 1; more; step++) {
        memset(stages, 0, sizeof stages);
        memset(lives, 0, sizeof lives);
        make_shared(&pool, &(kolk_shared_desc){.name = "forks",
                                               .object_size = 16,
                                               .capacity = CAPACITY,
                                               .max_threads = THREADS,
                                               .cache = cache,
                                               .life.setup = set_up,
                                               .life.reset = reset,
                                               .life.teardown = tear_down});
        assert_true(all_slots(&pool) <= MOST);
        make_local(&mine, &pool);
        more = fork_at_step(fork_now);
        kolk_shared_deinit(&pool);
        assert_int_equal(count(IN_SETUP) + count(MADE) + count(IN_RESET), 0);
    }
    print_message("%s, cache %u: %u forks\n", what->name, cache, step - 2);
    assert_true(step > 5);
}

/* promise: "A fork's child ... torn down" */
static void test_each_step(void **state) {
    static const uint32_t caches[] = {0, 1, 5};
    for (size_t i = 0; i < LENGTH_OF(deeds); i++)
        for (size_t c = 0; c < LENGTH_OF(caches); c++) fork_everywhere(&deeds[i], caches[c]);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {TEST(test_each_step)};
    return cmocka_run_group_tests(tests, make_semaphores, NULL);
}
