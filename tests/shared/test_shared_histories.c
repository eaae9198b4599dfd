/* runs: not:qemu */
/* Records the calls of real threads to a shared pool and judges them: no handle is alive twice, each free ends a life
 * that was allocated earlier, there are never more live objects than slots, and NULL is returned only if `capacity`
 * objects were alive at some moment during the call. The judge itself is tested with wrong histories. Reads
 * KOLK_TEST_SEED and KOLK_TEST_OPS (rounds) from the environment. */
#include "../queue/queue_test.h"

#include "inside.h"

#include "lives.h"

#ifndef ROUNDS
#define ROUNDS 150
#endif

enum { MOST_THREADS = 6, CALLS = 1000 };

/* ---- The judge --------------------------------------------------------------------------------------------------- */

/* Capacity 1, 3 slots: slot 0 lives and dies, then slot 1, then slot 0 again. One alloc fails in between. */
static const life_event right[] = {
    {.index = 0, .generation = 1, .begin = 1, .end = 2},
    {.index = 0, .generation = 1, .begin = 3, .end = 6, .frees = true},
    {.index = 1, .generation = 1, .begin = 4, .end = 5},
    {.failed = true, .begin = 7, .end = 8},
    {.index = 0, .generation = 3, .begin = 9, .end = 12},
    {.index = 1, .generation = 1, .begin = 10, .end = 11, .frees = true},
};

static const char *judge_with(size_t at, life_event instead, uint32_t capacity, uint32_t slots, size_t left_out) {
    life_event events[LENGTH_OF(right)];
    size_t count = 0;
    for (size_t i = 0; i < LENGTH_OF(right); i++)
        if (i != left_out) events[count++] = i == at ? instead : right[i];
    const char *wrong = judge_lives(
        &(life_history){.capacity = capacity, .slots = slots, .ticks = 20, .count = count, .events = events});
    return wrong ? wrong : "";
}

static void test_the_judge(void **state) {
    static const struct {
        const char *wrong;
        size_t at;
        life_event instead;
    } rows[] = {
        {"", 0, {.index = 0, .generation = 1, .begin = 1, .end = 2}},
        {"a slot that the pool has not got", 4, {.index = 3, .generation = 1, .begin = 9, .end = 12}},
        {"a generation that no life has", 4, {.index = 0, .generation = 2, .begin = 9, .end = 12}},
        {"a free without an allocation", 5, {.index = 1, .generation = 3, .begin = 10, .end = 11, .frees = true}},
        {"one life is allocated twice", 2, {.index = 0, .generation = 1, .begin = 4, .end = 5}},
        {"one life is freed twice", 5, {.index = 0, .generation = 1, .begin = 10, .end = 11, .frees = true}},
        {"a free before its allocation", 1, {.index = 0, .generation = 1, .begin = 0, .end = 6, .frees = true}},
        {"a slot's first life is not its first", 4, {.index = 2, .generation = 3, .begin = 9, .end = 12}},
        {"a slot is allocated while it is alive", 1, {.index = 2, .generation = 1, .begin = 3, .end = 6}},
        {"a slot's next life is not the next", 4, {.index = 0, .generation = 5, .begin = 9, .end = 12}},
        {"a slot is allocated before its last life ends", 4, {.index = 0, .generation = 3, .begin = 1, .end = 2}},
        {"NULL, though fewer than capacity were alive all the time", 3, {.failed = true, .begin = 0, .end = 0}},
        {"NULL, though fewer than capacity were alive all the time", 3, {.failed = true, .begin = 13, .end = 14}},
    };
    for (size_t i = 0; i < LENGTH_OF(rows); i++)
        assert_string_equal(judge_with(rows[i].at, rows[i].instead, 1 + (i == LENGTH_OF(rows) - 1), 3, SIZE_MAX),
                            rows[i].wrong);
    assert_string_equal(judge_with(SIZE_MAX, right[0], 3, 3, SIZE_MAX),
                        "NULL, though fewer than capacity were alive all the time");
    assert_string_equal(judge_with(SIZE_MAX, right[0], 1, 2, 1), "a slot is allocated while it is alive");
    life_event three[] = {{.index = 0, .generation = 1, .begin = 0, .end = 1},
                          {.index = 1, .generation = 1, .begin = 2, .end = 3},
                          {.index = 2, .generation = 1, .begin = 4, .end = 5}};
    life_history h = {.capacity = 1, .slots = 3, .ticks = 6, .count = 3, .events = three};
    assert_null(judge_lives(&h));
    h.slots = 2;
    three[2] = (life_event){.index = 1, .generation = 3, .begin = 4, .end = 5};
    assert_string_equal(judge_lives(&h), "a slot is allocated while it is alive");
    assert_null(judge_numbers(&(life_history){.slots = 3, .ticks = 6, .count = 3, .events = three}));
    assert_string_equal(judge_numbers(&h), "more are alive than there are slots");
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

typedef struct player {
    pthread_t thread;
    life_event events[CALLS];
    size_t count;
    void *held[CALLS];
    uint32_t holds, most_held;
    uint64_t random;
} player;

static kolk_shared pool;
static kolk_queue passed_on; /* objects for other threads to free */
static player players[MOST_THREADS];
static uint64_t ticks;
static uint32_t not_ready; /* how many threads are not yet ready; all start as nearly as possible at the same moment */

static uint64_t tick(void) {
    return __atomic_fetch_add(&ticks, 1, __ATOMIC_SEQ_CST);
}

static uint64_t ticks_so_far(void) {
    return __atomic_load_n(&ticks, __ATOMIC_SEQ_CST);
}

static void name_life(life_event *e, kolk_handle handle) {
    e->index = (uint32_t)handle.bits ^ pool.tag;
    e->generation = (uint32_t)(handle.bits >> 32);
}

static void take(player *p, kolk_shared_local *local) {
    life_event *e = &p->events[p->count++];
    e->begin = tick();
    void *object = kolk_shared_alloc(local);
    e->end = tick();
    e->failed = !object;
    if (!object) return;
    name_life(e, kolk_shared_handle_of(&pool, object));
    p->held[p->holds++] = object;
    *(uint64_t *)object = (uint64_t)(uintptr_t)object + e->generation;
}

static void give(player *p, kolk_shared_local *local, void *object) {
    life_event *e = &p->events[p->count++];
    e->frees = true;
    name_life(e, kolk_shared_handle_of(&pool, object));
    REQUIRE(*(uint64_t *)object == (uint64_t)(uintptr_t)object + e->generation);
    e->begin = tick();
    kolk_shared_free(local, object);
    e->end = tick();
}

static void play_once(player *p, kolk_shared_local *local) {
    void *object;
    uint32_t choice = random_below(&p->random, 32);
    if (choice == 0) {
        kolk_shared_local_flush(local);
    } else if (choice == 1) {
        kolk_shared_local_deinit(local);
        REQUIRE(kolk_shared_local_init(local, &pool) == KOLK_OK);
    } else if (choice == 2) {
        kolk_stats stats;
        kolk_shared_stats(&pool, &stats);
        REQUIRE(stats.failed <= ticks_so_far() / 2);
    } else if (choice < 8) {
        if (kolk_queue_pop(&passed_on, &object, KOLK_NOW) == KOLK_OK) give(p, local, object);
    } else if (choice < 20 && p->holds < p->most_held) {
        take(p, local);
    } else if (p->holds) {
        uint32_t at = random_below(&p->random, p->holds);
        object = p->held[at];
        p->held[at] = p->held[--p->holds];
        if (choice % 4 || kolk_queue_push(&passed_on, &object, KOLK_NOW) != KOLK_OK) give(p, local, object);
    }
}

static void *play(void *argument) {
    player *p = (player *)argument;
    kolk_shared_local local;
    REQUIRE(kolk_shared_local_init(&local, &pool) == KOLK_OK);
    __atomic_sub_fetch(&not_ready, 1, __ATOMIC_ACQ_REL);
    for (int i = 0; __atomic_load_n(&not_ready, __ATOMIC_ACQUIRE); i++)
        if (i % 256 == 255) sched_yield();
    while (p->count < CALLS) play_once(p, &local);
    kolk_shared_local_deinit(&local);
    return NULL;
}

/* Collects the events of all threads; the caller frees them. */
static life_history collect(unsigned threads) {
    life_history h = {.capacity = max_capacity_of(&pool), .slots = all_slots(&pool), .ticks = ticks};
    h.events = (life_event *)malloc((size_t)threads * CALLS * sizeof(life_event));
    assert_non_null(h.events);
    for (unsigned i = 0; i < threads; i++) {
        memcpy(&h.events[h.count], players[i].events, players[i].count * sizeof(life_event));
        h.count += players[i].count;
    }
    return h;
}

static void play_round(uint64_t *random, uint64_t *overlaps, uint64_t *refusals) {
    unsigned threads = 2 + random_below(random, MOST_THREADS - 1);
    uint32_t wanted = 1 + random_below(random, 8), alive = 0, failed = 0;
    kolk_shared_desc desc = {.name = "histories",
                             .object_size = random_below(random, 8) ? 8 : 8192,
                             .max_threads = threads,
                             .cache = 1 + random_below(random, 5),
                             .exact = random_below(random, 4) == 0};
    desc.capacity = 1 + random_below(random, threads * wanted);
    if (desc.object_size > 8) { /* a growing pool */
        desc.max_capacity = desc.capacity;
        desc.capacity = 1;
    }
    assert_int_equal(kolk_shared_init(&pool, &desc), KOLK_OK);
    make_queue(&passed_on, &(kolk_queue_desc){.item_size = sizeof(void *), .capacity = 1 + random_below(random, 4)});
    ticks = 0;
    not_ready = threads;
    for (unsigned i = 0; i < threads; i++) {
        memset(&players[i], 0, sizeof players[i]);
        players[i].most_held = wanted;
        players[i].random = next_random(random);
        assert_int_equal(pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
    }
    for (unsigned i = 0; i < threads; i++) assert_int_equal(pthread_join(players[i].thread, NULL), 0);
    life_history h = collect(threads);
    const char *wrong = judge_lives(&h);
    if (wrong)
        fail_msg("%s (%u threads, capacity %u, cache %u)", wrong, threads, (unsigned)desc.capacity,
                 (unsigned)desc.cache);
    for (size_t i = 0; i < h.count; i++) {
        *overlaps += h.events[i].end != h.events[i].begin + 1;
        failed += h.events[i].failed;
    }
    *refusals += failed;
    for (unsigned i = 0; i < threads; i++) alive += players[i].holds;
    kolk_stats stats;
    kolk_shared_stats(&pool, &stats);
    assert_int_equal(stats.count, alive + kolk_queue_count(&passed_on));
    assert_int_equal(stats.failed, failed);
    free(h.events);
    assert_true(kolk_shared_is_valid(&pool));
    kolk_shared_deinit(&pool);
    kolk_queue_deinit(&passed_on);
}

/* promise: "system had no memory for the pool to grow", "Returns an object, or NULL: see Capacity above" */
static void test_histories(void **state) {
    uint64_t overlaps = 0, refusals = 0;
    for (uint64_t n = 0; n < operations; n++) play_round(&seed, &overlaps, &refusals);
    print_message("%" PRIu64 " calls overlapped others, %" PRIu64 " gave NULL\n", overlaps, refusals);
    assert_true(refusals);
#ifdef KOLK_CHAOS
    assert_true(overlaps);
#endif
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    begin_random_work(ROUNDS);
    const struct CMUnitTest tests[] = {TEST(test_the_judge), TEST(test_histories)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
