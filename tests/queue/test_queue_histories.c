/* runs: not:qemu */
/* Records the calls that real threads make to a queue in thousands of short windows, and searches for an order of each
 * window's calls that explains all results. The search itself is tested with histories by hand. KOLK_TEST_SEED and
 * KOLK_TEST_OPS (windows) may be set in the environment. */
#include "queue_test.h"

#include "linearize.h"

#ifndef WINDOWS
#define WINDOWS 5000
#endif

enum { THREADS = 3, CALLS = 4, WINDOWS_OF_A_QUEUE = 64 };

/* ---- The search -------------------------------------------------------------------------------------------------- */

typedef struct example {
    const char *what;
    bool is_right;
    event events[8];
} example;

#define PUSHED(item, begin, end)                                                                                       \
    { PUSH, KOLK_OK, false, 1, {item}, begin, end }
#define POPPED(item, begin, end)                                                                                       \
    { POP, KOLK_OK, false, 1, {item}, begin, end }
#define REFUSED(deed, status, begin, end)                                                                              \
    { deed, status, false, 0, {0}, begin, end }
#define DONE(deed, begin, end)                                                                                         \
    { deed, KOLK_OK, false, 0, {0}, begin, end }

static const example examples[] = {
    /* of a queue of 2 */
    {"in order", true, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(1, 5, 6), POPPED(2, 7, 8)}},
    {"reordered", false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(2, 5, 6), POPPED(1, 7, 8)}},
    {"pops that overlap", true, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(2, 5, 7), POPPED(1, 6, 8)}},
    {"pushes that overlap", true, {PUSHED(1, 1, 3), PUSHED(2, 2, 4), POPPED(2, 5, 6), POPPED(1, 7, 8)}},
    {"lost", false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(2, 5, 6)}},
    {"lost, then empty", false, {PUSHED(1, 1, 2), REFUSED(POP, KOLK_EMPTY, 3, 4)}},
    {"left", true, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(1, 5, 6)}},
    {"duplicated", false, {PUSHED(1, 1, 2), POPPED(1, 3, 5), POPPED(1, 4, 6)}},
    {"of nobody", false, {PUSHED(1, 1, 2), POPPED(2, 3, 4)}},
    {"of nobody yet", false, {POPPED(1, 1, 2), PUSHED(1, 3, 4)}},
    {"empty", true, {PUSHED(1, 1, 2), POPPED(1, 3, 5), REFUSED(POP, KOLK_EMPTY, 4, 6)}},
    {"spurious EMPTY", false, {PUSHED(1, 1, 2), REFUSED(POP, KOLK_EMPTY, 3, 4), POPPED(1, 5, 6)}},
    {"EMPTY behind a push that takes its time",
     false,
     {PUSHED(1, 1, 4), PUSHED(2, 2, 3), REFUSED(POP, KOLK_EMPTY, 5, 6), POPPED(1, 7, 8), POPPED(2, 9, 10)}},
    {"EMPTY with one item or another",
     false,
     {PUSHED(1, 1, 2), REFUSED(POP, KOLK_EMPTY, 4, 9), PUSHED(2, 3, 5), POPPED(1, 6, 7), POPPED(2, 10, 11)}},
    {"full", true, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), REFUSED(PUSH, KOLK_FULL, 5, 7), POPPED(1, 6, 8)}},
    {"spurious FULL", false, {PUSHED(1, 1, 2), REFUSED(PUSH, KOLK_FULL, 3, 4), POPPED(1, 5, 6)}},
    {"spurious FULL later",
     false,
     {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(1, 5, 6), REFUSED(PUSH, KOLK_FULL, 7, 9), POPPED(2, 8, 10)}},
    {"too many", false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), PUSHED(3, 5, 6), POPPED(1, 7, 8)}},
    {"closed, then the rest",
     true,
     {PUSHED(1, 1, 2), DONE(CLOSE, 3, 4), POPPED(1, 5, 6), REFUSED(POP, KOLK_CLOSED, 7, 8),
      REFUSED(PUSH, KOLK_CLOSED, 9, 10)}},
    {"an item after CLOSED",
     false,
     {PUSHED(1, 1, 2), DONE(CLOSE, 3, 4), REFUSED(POP, KOLK_CLOSED, 5, 6), POPPED(1, 7, 8)}},
    {"pushed after the end", false, {DONE(CLOSE, 1, 2), PUSHED(1, 3, 4), POPPED(1, 5, 6)}},
    {"pushed while it ends", true, {DONE(CLOSE, 1, 4), PUSHED(1, 2, 3), POPPED(1, 5, 6)}},
    {"EMPTY of a closed queue", false, {DONE(CLOSE, 1, 2), REFUSED(POP, KOLK_EMPTY, 3, 4)}},
    {"closed by nobody", false, {PUSHED(1, 1, 2), REFUSED(PUSH, KOLK_CLOSED, 3, 4)}},
    {"closed, then open", true, {DONE(CLOSE, 1, 2), DONE(REOPEN, 3, 4), PUSHED(1, 5, 6), POPPED(1, 7, 8)}},
    {"closed for ever", false, {DONE(CLOSE, 1, 2), DONE(REOPEN, 3, 4), REFUSED(PUSH, KOLK_CLOSED, 5, 6)}},
    {"popped after shutdown", false, {PUSHED(1, 1, 2), DONE(SHUTDOWN, 3, 4), POPPED(1, 5, 6)}},
    {"shut down", true, {PUSHED(1, 1, 2), DONE(SHUTDOWN, 3, 5), REFUSED(POP, KOLK_SHUTDOWN, 4, 6)}},
    {"one of a closed queue", false, {PUSHED(1, 1, 2), DONE(CLOSE, 3, 4), REFUSED(POP, KOLK_SHUTDOWN, 5, 6)}},
    {"dropped", true, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), {CLEAR, KOLK_OK, false, 2, {1, 2}, 5, 6}}},
    {"dropped and popped",
     false,
     {PUSHED(1, 1, 2), PUSHED(2, 3, 4), {CLEAR, KOLK_OK, false, 2, {1, 2}, 5, 6}, POPPED(1, 7, 8)}},
    {"one forgotten",
     false,
     {PUSHED(1, 1, 2), PUSHED(2, 3, 4), {CLEAR, KOLK_OK, false, 1, {2}, 5, 6}, REFUSED(POP, KOLK_EMPTY, 7, 8)}},
    {"a part", false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), {CLEAR, KOLK_OK, false, 1, {1}, 5, 6}}},
    {"an array", true, {{PUSH, KOLK_OK, false, 2, {1, 2}, 1, 2}, {POP, KOLK_OK, false, 2, {1, 2}, 3, 4}}},
    {"an array, reordered", false, {{PUSH, KOLK_OK, false, 2, {1, 2}, 1, 2}, {POP, KOLK_OK, false, 2, {2, 1}, 3, 4}}},
    {"one between",
     false,
     {{PUSH, KOLK_OK, false, 2, {1, 2}, 1, 3}, PUSHED(3, 2, 8), POPPED(1, 4, 5), POPPED(3, 6, 7), POPPED(2, 9, 10)}},
    {"counted", true, {PUSHED(1, 1, 2), {COUNT, KOLK_OK, false, 1, {0}, 3, 4}}},
    {"miscounted", false, {PUSHED(1, 1, 2), {COUNT, KOLK_OK, false, 2, {0}, 3, 4}}},
    {"waited in vain", false, {{POP, KOLK_EMPTY, true, 0, {0}, 1, 2}}},
    {"waited", true, {{POP, KOLK_OK, true, 1, {1}, 1, 4}, PUSHED(1, 2, 3)}},
};

static void test_examples(void **state) {
    for (size_t i = 0; i < LENGTH_OF(examples); i++) {
        example it = examples[i];
        history h = {.capacity = 2, .events = it.events};
        while (h.count < LENGTH_OF(it.events) && it.events[h.count].end) h.count++;
        if (is_linearizable(&h) != it.is_right) fail_msg("%s: there is %s order", it.what, it.is_right ? "no" : "an");
    }
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

static uint64_t ticks;

static uint64_t tick(void) {
    return __atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST);
}

/* Makes the call that the event describes (deed, items, n), and records the rest in it. Uses the array functions if n
 * is not 1, or if requested. */
static void record(kolk_queue *queue, event *e, kolk_deadline deadline, bool as_array) {
    size_t n = e->n;
    e->begin = tick();
    switch (e->deed) {
    case PUSH:
        e->status = as_array || n != 1 ? kolk_queue_push_n(queue, e->items, &n, deadline)
                                       : kolk_queue_push(queue, e->items, deadline);
        break;
    case POP:
        e->status = as_array || n != 1 ? kolk_queue_pop_n(queue, e->items, &n, deadline)
                                       : kolk_queue_pop(queue, e->items, deadline);
        break;
    case CLEAR:
        n = kolk_queue_clear(queue); /* the queue's destroy records the items */
        break;
    case COUNT:
        n = kolk_queue_count(queue);
        break;
    case CLOSE:
        kolk_queue_close(queue);
        break;
    case SHUTDOWN:
        kolk_queue_shutdown(queue);
        break;
    default:
        kolk_queue_reopen(queue);
    }
    e->end = tick();
    e->n = e->status == KOLK_OK ? (uint32_t)n : 0;
}

static int compare_beginnings(const void *a, const void *b) {
    uint64_t x = ((const event *)a)->begin, y = ((const event *)b)->begin;
    return (x > y) - (x < y);
}

static void print_history(history *h) {
    static const char *const names[] = {"push", "pop", "clear", "count", "close", "shutdown", "reopen"};
    qsort(h->events, h->count, sizeof *h->events, compare_beginnings);
    fprintf(stderr, "capacity %u\n", h->capacity);
    for (size_t i = 0; i < h->count && i < 100; i++) {
        const event *e = &h->events[i];
        fprintf(stderr, "%6" PRIu64 " to %6" PRIu64 "  %s%s", e->begin, e->end, names[e->deed],
                e->waits ? ", waits" : "");
        for (uint32_t n = 0; e->deed <= CLEAR && n < e->n; n++) fprintf(stderr, " %u", e->items[n]);
        if (e->deed == COUNT) fprintf(stderr, " %u", e->n);
        fprintf(stderr, "%s%s\n", e->status ? ": " : "", e->status ? kolk_status_text(e->status) : "");
    }
}

/* ---- Threads and their calls ------------------------------------------------------------------------------------- */

typedef struct player {
    pthread_t thread;
    event *events;
    size_t count;
    kolk_deadline deadlines[CALLS]; /* of each call */
    bool as_array[CALLS];
} player;

static kolk_queue queue;
static player players[THREADS];
static uint32_t next_item; /* the last item planned; each is used once */
static uint32_t round_ready, round_done, round_number;
static bool is_over;

static _Thread_local event *clearing;
static _Thread_local uint32_t dropped;

static void note_dropped(void *item, void *context) {
    if (!clearing) return; /* between two windows */
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

static void start_players(void) {
    static event events[THREADS][CALLS];
    for (unsigned i = 0; i < THREADS; i++) {
        players[i].events = events[i];
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
    for (unsigned i = 0; i < THREADS; i++) pthread_join(players[i].thread, NULL);
}

static history collect(uint32_t capacity) {
    static event events[THREADS * CALLS];
    history h = {.capacity = capacity, .events = events};
    for (unsigned i = 0; i < THREADS; i++) {
        memcpy(&events[h.count], players[i].events, players[i].count * sizeof(event));
        h.count += players[i].count;
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
    uint64_t random = seed, overlaps = 0, refusals = 0;
    uint32_t capacity = 0;
    start_players();
    for (uint64_t n = 0; n < operations; n++) {
        if (n % WINDOWS_OF_A_QUEUE == 0) {
            kolk_queue_deinit(&queue);
            capacity = 1 + random_below(&random, MOST_ITEMS_AT_ONCE);
            make_queue(&queue, &(kolk_queue_desc){
                                   .item_size = sizeof(uint32_t), .capacity = capacity, .destroy = note_dropped});
        }
        next_item = 0;
        ticks = 0;
        plan_window(&random);
        play_round();
        history h = collect(capacity);
        if (!is_linearizable(&h)) {
            print_history(&h);
            fail_msg("window %" PRIu64 ": there is no order", n);
        }
        for (size_t i = 0; i < h.count; i++) {
            overlaps += h.events[i].end != h.events[i].begin + 1;
            refusals += h.events[i].status != KOLK_OK;
        }
        assert_true(kolk_queue_is_valid(&queue));
        kolk_queue_reopen(&queue); /* the next window begins with an empty, open queue, somewhere in its ring */
        kolk_queue_clear(&queue);
    }
    kolk_queue_deinit(&queue);
    end_players();
    print_message("%" PRIu64 " windows; %" PRIu64 " calls overlapped others, %" PRIu64 " were refused\n", operations,
                  overlaps, refusals);
    assert_true(refusals);
#ifdef KOLK_CHAOS
    assert_true(overlaps);
#endif
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    begin_random_work(WINDOWS);
    const struct CMUnitTest tests[] = {
        TEST(test_examples),
        TEST(test_short_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
