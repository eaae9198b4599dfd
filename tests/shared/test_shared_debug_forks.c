/* runs: long once with: KOLK_CHAOS=1 */
/* A process with a shared pool in debug mode forks while other threads are in the middle of alloc and free: at a random
 * moment, or before each step of one thread. The child finds no false damage, no slot twice, and no cyclic list. Reads
 * KOLK_TEST_OPS (random forks per run) from the environment. */
#include "../help/debug_test.h"

#include "forks.h"

enum { MOST = 100, TWICE = 1, REPORTED = 2 };

static uint32_t over, reported;

static void note_damage(const kolk_failure *failure, void *context) {
    __atomic_store_n(&reported, REPORTED, __ATOMIC_RELAXED);
}

/* Objects are long, so that threads spend most of their time filling them. */
static void *work(void *argument) {
    kolk_shared_local local;
    if (kolk_shared_local_init(&local, &pool) != KOLK_OK) abort();
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        void *one = kolk_shared_alloc(&local), *other = kolk_shared_alloc(&local);
        kolk_shared_free(&local, one);
        kolk_shared_free(&local, other);
    }
    kolk_shared_local_deinit(&local);
    return NULL;
}

/* Returns the child's exit code. */
static int look_at_all(void) {
    kolk_shared_local local;
    void *objects[MOST];
    int n = 0;
    if (kolk_shared_local_init(&local, &pool) != KOLK_OK) return 99;
    while (n < MOST && (objects[n] = kolk_shared_alloc(&local)) != NULL) n++;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (objects[i] == objects[k]) return TWICE;
    for (int i = 0; i < n; i++) kolk_shared_free(&local, objects[i]);
    kolk_shared_local_deinit(&local);
    kolk_shared_deinit(&pool);
    return (int)reported;
}

static void test_a_child_finds_no_damage(void **state) {
    static const char *const settings[] = {"fill", "fill,guard,quarantine=3", "quarantine=2"};
    uint64_t forks = number_from_environment("KOLK_TEST_OPS", 100);
    skip_if_emulated();
    for (size_t n = 0; n < LENGTH_OF(settings); n++) {
        pthread_t threads[2];
        make_shared(&pool,
                    &(kolk_shared_desc){
                        .object_size = 2000, .capacity = 20, .max_threads = 4, .cache = 1, .debug = settings[n]});
        over = reported = 0;
        kolk_set_failure_handler(note_damage, NULL);
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
        for (uint64_t i = 0; i < forks; i++) {
            pid_t child = fork();
            if (child == 0) _exit(look_at_all());
            await_child(child);
        }
        __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        assert_int_equal(reported, 0);
        end_shared(&pool);
    }
}

/* ---- A fork before each step ------------------------------------------------------------------------------------- */

static uint64_t seen;

static uint64_t sum_of(uint64_t sum, const void *start, size_t size) {
    const uint64_t *words = (const uint64_t *)start;
    for (size_t i = 0; i < size / 8; i++) sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return sum;
}

/* Returns a hash of everything that a child sees of the pool. The debug mode's own data fits into one page. */
static uint64_t sum_of_all(void) {
    return sum_of(sum_of(sum_of(1, &pool, sizeof pool), pool.inside->store.block, pool.inside->store.block_size),
                  pool.inside->store.debug, 4096);
}

/* Has anything changed since the last call? */
static bool has_changed_again(void) {
    uint64_t now = sum_of_all(), before = seen;
    seen = now;
    return now != before;
}

enum { CAPACITY = 12, SLOTS = CAPACITY + 2, LONG = 40 };

static void *objects[SLOTS];
static unsigned leaks;

static void hold(unsigned n) {
    while (held < n) {
        REQUIRE(objects[held] = kolk_shared_alloc(&others));
        memset(objects[held++], 1, LONG);
    }
}

static void drop(unsigned n) {
    while (n-- > 0) kolk_shared_free(&others, objects[--held]);
}

static void hold_some(void) {
    hold(5);
}

static void hold_all(void) {
    hold(SLOTS);
}

static void drop_some(void) {
    hold(7);
    drop(5);
}

static void drop_of_all(void) {
    hold_all();
    drop(3);
}

static void hold_two_more(void) {
    hold(held + 2);
}

static void drop_four(void) {
    drop(4);
}

static void come_and_go(void) {
    for (int i = 0; i < 2; i++) {
        hold(held + 3);
        drop(2);
    }
}

static void free_later(void) {
    for (int i = 0; i < 2; i++) kolk_shared_free_later(&others, objects[--held]);
    for (int i = 0; i < 5; i++) kolk_shared_quiesce(&others);
}

static void walk(void) {
    drop(1);
    kolk_shared_cursor cursor = kolk_shared_each(&pool);
    while (kolk_shared_cursor_next(&cursor)) {}
}

static const deed deeds[] = {
    {.name = "alloc of fresh slots", .prepare = hold_some, .act = hold_two_more},
    {.name = "alloc of slots that were used", .prepare = drop_some, .act = hold_two_more},
    {.name = "alloc when few are left", .prepare = drop_of_all, .act = hold_two_more},
    {.name = "free", .prepare = hold_some, .act = drop_four},
    {.name = "free of all", .prepare = hold_all, .act = drop_four},
    {.name = "alloc and free", .prepare = drop_some, .act = come_and_go},
    {.name = "free later", .prepare = hold_some, .act = free_later},
    {.name = "a walk", .prepare = hold_all, .act = walk},
};

static void note_leaks(const kolk_failure *failure, void *context) {
    if (failure->rule != KOLK_LEAK) fprintf(stderr, "%s\n", failure->sentence);
    REQUIRE(failure->rule == KOLK_LEAK);
    leaks += failure->count;
}

static unsigned count_alive(void) {
    unsigned alive = 0;
    for (unsigned slot = 0; slot < SLOTS; slot++) alive += pool.lives[slot] & 1;
    return alive;
}

static unsigned walk_through(bool frees) {
    unsigned n = 0;
    kolk_shared_cursor cursor = kolk_shared_each(&pool);
    for (void *each; (each = kolk_shared_cursor_next(&cursor)); n++) {
        REQUIRE(kolk_shared_get(&pool, kolk_shared_handle_of(&pool, each)) == each);
        if (frees) kolk_shared_free(&mine, each);
    }
    return n;
}

/* Allocates all free slots; none of them may have been alive. */
static unsigned take_all(unsigned alive) {
    void *taken[SLOTS + 1];
    unsigned n = 0;
    while ((taken[n] = kolk_shared_alloc(&mine)) != NULL) {
        for (unsigned i = 0; i < n; i++) REQUIRE(taken[i] != taken[n]);
        memset(taken[n++], 2, LONG);
        REQUIRE(n <= SLOTS);
    }
    REQUIRE(walk_through(false) == alive + n);
    for (unsigned i = 0; i < n; i++) kolk_shared_free(&mine, taken[i]);
    return n;
}

/* The child continues to use the pool, or deinitialises it immediately. */
static void live_on(uint32_t for_long) {
    unsigned alive = count_alive();
    signal(SIGSEGV, SIG_DFL); /* removes cmocka's handler */
    END_IF_IT_HANGS();
    kolk_set_failure_handler(note_leaks, NULL);
    if (for_long) {
        kolk_shared_local second;
        REQUIRE(kolk_shared_local_init(&second, &pool) == KOLK_OK); /* slots of the parent's threads are reclaimed */
        for (int i = 0; i < 10; i++) kolk_shared_quiesce(i % 2 ? &second : &mine);
        REQUIRE(walk_through(false) == alive);
        unsigned got = take_all(alive);
        REQUIRE(got + alive <= SLOTS && got + alive + 2 >= SLOTS);
        REQUIRE(take_all(alive) == got);
        REQUIRE(walk_through(true) == alive);
        REQUIRE(take_all(0) == got + alive);
        alive = 0;
    }
    kolk_shared_deinit(&pool);
    REQUIRE(leaks <= alive + 1);
    _exit(0);
}

static void fork_now(void) {
    assert_int_equal(fork_and_live(live_on, true), 0);
    assert_int_equal(fork_and_live(live_on, false), 0);
}

static void test_a_fork_before_each_step(void **state) {
    static const char *const settings[] = {"bypass", "fill,guard,quarantine=3", "quarantine=2", "sites"};
    skip_if_emulated();
    unsigned apart = steps_apart();
    for (size_t n = 0; n < (does_a_part() ? 2 : LENGTH_OF(settings)); n++) {
        bool bypass = strcmp(settings[n], "bypass") == 0;
        unsigned steps = 0;
        setting = settings[n];
        setenv("KOLK_BYPASS", bypass ? "1" : "0", 1);
        for (size_t i = 0; i < LENGTH_OF(deeds); i++) {
            bool more = true;
            current = &deeds[i];
            for (step = first_step(); more; step += apart, steps++) {
                make_shared(&pool, &(kolk_shared_desc){.object_size = LONG,
                                                       .capacity = CAPACITY,
                                                       .max_threads = 3,
                                                       .cache = 1,
                                                       .debug = bypass ? NULL : setting});
                make_local(&mine, &pool);
                kolk_shared_offline(&mine);
                seen = 0;
                more = fork_at_step(fork_now);
                kolk_set_failure_handler(note_damage, NULL); /* "sites" reports objects that are still alive */
                end_shared(&pool);
                kolk_set_failure_handler(NULL, NULL);
            }
        }
        print_message("%s: %u forks\n", setting, 2 * steps);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {DEBUG_TEST(test_a_child_finds_no_damage),
                                       DEBUG_TEST(test_a_fork_before_each_step)};
    has_changed = has_changed_again;
    return cmocka_run_group_tests(tests, make_semaphores, NULL);
}
