/* runs: not:qemu */
/* Records the calls that real threads make to a queue, and checks them. Thousands of short windows are checked by a
 * search for an order and by the monitor, and a few long histories by the monitor alone. KOLK_TEST_SEED and
 * KOLK_TEST_OPS (windows) may be set in the environment. */
#include "queue_test.h"

#include "fifo_monitor.h"
#include "linearize.h"

#ifndef WINDOWS
#define WINDOWS 5000
#endif

enum { THREADS = 3, CALLS = 4, LONG_CALLS = 4000 };

/* ---- Threads and their calls ------------------------------------------------------------------------------------- */

typedef struct player {
    pthread_t thread;
    event *events;
    size_t count;
    kolk_deadline deadlines[LONG_CALLS]; /* of each call */
    bool as_array[LONG_CALLS];
} player;

static kolk_queue queue;
static player players[THREADS];
static uint32_t next_item; /* the last item planned; each is used once */
static uint32_t round_ready, round_done, round_number;
static bool is_over;

static _Thread_local event *clearing;
static _Thread_local uint32_t dropped;

static void note_dropped(void *item, void *context) {
    (void)context;
    if (!clearing) return; /* deinit */
    REQUIRE(dropped < MOST_ITEMS_AT_ONCE);
    clearing->items[dropped++] = *(uint32_t *)item;
}

/* Plans a call. A push gets its items here. */
static void plan(player *p, size_t i, deed what, uint32_t n, kolk_deadline deadline) {
    event *e = &p->events[i];
    *e = (event){.deed = what, .waits = deadline.ns == KOLK_FOREVER.ns && what <= POP, .n = what <= POP ? n : 0};
    for (uint32_t k = 0; what == PUSH && k < n; k++) e->items[k] = ++next_item;
    p->deadlines[i] = deadline;
    p->as_array[i] = n > 1 || next_item % 8 == 0;
}

static void play(player *p) {
    for (size_t i = 0; i < p->count; i++) {
        clearing = p->events[i].deed == CLEAR ? &p->events[i] : NULL;
        dropped = 0;
        record(&queue, &p->events[i], p->deadlines[i], p->as_array[i]);
        if (clearing) REQUIRE(clearing->n == dropped);
    }
    clearing = NULL;
}

/* Plays round after round. All threads begin each round as nearly at the same time as possible. */
static void *play_rounds(void *argument) {
    for (uint32_t number = 1;; number++) {
        while (__atomic_load_n(&round_number, __ATOMIC_ACQUIRE) != number) sched_yield();
        if (is_over) return NULL;
        __atomic_add_fetch(&round_ready, 1, __ATOMIC_ACQ_REL);
        for (int i = 0; __atomic_load_n(&round_ready, __ATOMIC_ACQUIRE) != THREADS; i++)
            if (i % 256 == 255) sched_yield();
        play((player *)argument);
        __atomic_add_fetch(&round_done, 1, __ATOMIC_RELEASE);
    }
}

static void start_players(size_t calls) {
    round_number = 0;
    is_over = false;
    for (unsigned i = 0; i < THREADS; i++) {
        players[i].events = (event *)calloc(calls, sizeof(event));
        assert_int_equal(pthread_create(&players[i].thread, NULL, play_rounds, &players[i]), 0);
    }
}

static void play_round(void) {
    round_ready = round_done = 0;
    __atomic_add_fetch(&round_number, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&round_done, __ATOMIC_ACQUIRE) != THREADS) sched_yield();
}

static void end_players(void) {
    is_over = true;
    __atomic_add_fetch(&round_number, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(players[i].thread, NULL);
        free(players[i].events);
    }
}

static void make_recorded(uint32_t capacity) {
    next_item = 0;
    ticks = 0;
    make_queue(&queue,
               &(kolk_queue_desc){.item_size = sizeof(uint32_t), .capacity = capacity, .destroy = note_dropped});
}

/* Collects all calls of the round; the caller frees the events. A push that passed only some of its items passed the
 * first ones. */
static history collect(uint32_t capacity) {
    history h = {.capacity = capacity};
    for (unsigned i = 0; i < THREADS; i++) h.count += players[i].count;
    h.events = (event *)malloc(h.count * sizeof(event));
    size_t n = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        memcpy(&h.events[n], players[i].events, players[i].count * sizeof(event));
        n += players[i].count;
    }
    return h;
}

/* ---- Short windows ----------------------------------------------------------------------------------------------- */

/* Plans a window of three threads with two to four calls each. There are three kinds of windows: calls that do not
 * wait; the same with endings; and calls that wait, beside one thread that does not and finally ends the queue, so that
 * the others return. */
static void plan_window(uint64_t *random) {
    unsigned kind = random_below(random, 3), pushes = 20 + random_below(random, 60);
    for (unsigned t = 0; t < THREADS; t++) {
        players[t].count = 2 + random_below(random, CALLS - 1);
        for (size_t i = 0; i < players[t].count; i++) {
            uint32_t choice = random_below(random, 100), n = random_below(random, 4) ? 1 : 1 + random_below(random, 3);
            kolk_deadline deadline = kind == 2 ? KOLK_FOREVER : random_below(random, 4) ? KOLK_NOW : PAST;
            deed what = random_below(random, 100) < pushes ? PUSH : POP;
            if (choice < 5) what = CLEAR;
            if (choice >= 5 && choice < 10) what = COUNT;
            if (choice >= 10 && choice < 25 && kind == 1) what = (deed)(CLOSE + random_below(random, 3));
            if (kind == 2 && t == 0) deadline = KOLK_NOW;
            plan(&players[t], i, what, n, deadline);
        }
    }
    if (kind == 2) plan(&players[0], players[0].count - 1, random_below(random, 2) ? CLOSE : SHUTDOWN, 0, KOLK_NOW);
}

/* promise: "Every operation ... never spurious", "queue, at one moment during the call"; README.md "items
 * that threads pass" */
static void test_short_windows(void **state) {
    (void)state;
    uint64_t random = seed, overlaps = 0, refusals = 0;
    start_players(CALLS);
    for (uint64_t n = 0; n < operations; n++) {
        uint32_t capacity = 1 + random_below(&random, 3);
        make_recorded(capacity);
        plan_window(&random);
        play_round();
        history h = collect(capacity);
        bool is_right = is_linearizable(&h);
        const char *wrong = monitor_history(&h);
        if (!is_right || wrong) {
            print_history(&h);
            fail_msg("window %" PRIu64 ": there is %s order, the monitor says: %s", n, is_right ? "an" : "no",
                     wrong ? wrong : "nothing");
        }
        for (size_t i = 0; i < h.count; i++) {
            overlaps += h.events[i].end != h.events[i].begin + 1;
            refusals += h.events[i].status != KOLK_OK;
        }
        assert_true(kolk_queue_is_valid(&queue));
        kolk_queue_deinit(&queue);
        free(h.events);
    }
    end_players();
    print_message("%" PRIu64 " windows; %" PRIu64 " calls overlapped others, %" PRIu64 " were refused\n", operations,
                  overlaps, refusals);
    assert_true(refusals);
#ifdef KOLK_CHAOS
    assert_true(overlaps);
#endif
}

/* ---- Long histories ---------------------------------------------------------------------------------------------- */

static void plan_long(uint32_t capacity, uint64_t *random) {
    for (unsigned t = 0; t < THREADS; t++) {
        bool pushes = t % 2;
        players[t].count = LONG_CALLS;
        for (size_t i = 0; i < LONG_CALLS; i++) {
            uint32_t choice = random_below(random, 1000);
            if (random_below(random, 64) == 0) pushes = !pushes;
            deed what = pushes ? PUSH : POP;
            if (choice < 5 && capacity <= MOST_ITEMS_AT_ONCE) what = CLEAR;
            if (t == 0 && choice >= 10 && choice < 40) what = choice < 15 ? CLOSE : choice < 18 ? SHUTDOWN : REOPEN;
            plan(&players[t], i, what, choice % 4 ? 1 : 1 + choice % 3,
                 choice % 8 ? KOLK_NOW : (kolk_deadline){kolk_now_ns_() + (int64_t)i * 500});
        }
    }
}

static void test_long_histories(void **state) {
    (void)state;
    static const uint32_t capacities[] = {1, 2, 3, 7, 64};
    uint64_t random = seed;
    start_players(LONG_CALLS);
    for (size_t n = 0; n < 2 * LENGTH_OF(capacities); n++) {
        uint32_t capacity = capacities[n / 2];
        make_recorded(capacity);
        plan_long(capacity, &random);
        play_round();
        history h = collect(capacity);
        const char *wrong = monitor_history(&h);
        if (wrong) fail_msg("%s", wrong);
        assert_true(kolk_queue_is_valid(&queue));
        kolk_queue_deinit(&queue);
        free(h.events);
    }
    end_players();
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    begin_random_work(WINDOWS);
    const struct CMUnitTest tests[] = {
        TEST(test_short_windows),
        TEST(test_long_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
