/* Tests the two judges of recorded histories: they must accept every history that a queue can produce, and reject each
 * planted error. */
#include "queue_test.h"

#include "fifo_monitor.h"
#include "linearize.h"

/* ---- Short histories, by hand ------------------------------------------------------------------------------------ */

typedef struct example {
    const char *what;
    bool is_right;
    bool unseen; /* wrong, but the monitor does not check for it */
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
    {"in order", true, false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(1, 5, 6), POPPED(2, 7, 8)}},
    {"reordered", false, false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(2, 5, 6), POPPED(1, 7, 8)}},
    {"pops that overlap", true, false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(2, 5, 7), POPPED(1, 6, 8)}},
    {"pushes that overlap", true, false, {PUSHED(1, 1, 3), PUSHED(2, 2, 4), POPPED(2, 5, 6), POPPED(1, 7, 8)}},
    {"lost", false, false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(2, 5, 6)}},
    {"lost, then empty", false, false, {PUSHED(1, 1, 2), REFUSED(POP, KOLK_EMPTY, 3, 4)}},
    {"left", true, false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(1, 5, 6)}},
    {"duplicated", false, false, {PUSHED(1, 1, 2), POPPED(1, 3, 5), POPPED(1, 4, 6)}},
    {"of nobody", false, false, {PUSHED(1, 1, 2), POPPED(2, 3, 4)}},
    {"of nobody yet", false, false, {POPPED(1, 1, 2), PUSHED(1, 3, 4)}},
    {"empty", true, false, {PUSHED(1, 1, 2), POPPED(1, 3, 5), REFUSED(POP, KOLK_EMPTY, 4, 6)}},
    {"spurious EMPTY", false, false, {PUSHED(1, 1, 2), REFUSED(POP, KOLK_EMPTY, 3, 4), POPPED(1, 5, 6)}},
    {"EMPTY behind a push that takes its time",
     false,
     false,
     {PUSHED(1, 1, 4), PUSHED(2, 2, 3), REFUSED(POP, KOLK_EMPTY, 5, 6), POPPED(1, 7, 8), POPPED(2, 9, 10)}},
    {"EMPTY with one item or another",
     false,
     false,
     {PUSHED(1, 1, 2), REFUSED(POP, KOLK_EMPTY, 4, 9), PUSHED(2, 3, 5), POPPED(1, 6, 7), POPPED(2, 10, 11)}},
    {"full", true, false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), REFUSED(PUSH, KOLK_FULL, 5, 7), POPPED(1, 6, 8)}},
    {"spurious FULL", false, false, {PUSHED(1, 1, 2), REFUSED(PUSH, KOLK_FULL, 3, 4), POPPED(1, 5, 6)}},
    {"spurious FULL later",
     false,
     false,
     {PUSHED(1, 1, 2), PUSHED(2, 3, 4), POPPED(1, 5, 6), REFUSED(PUSH, KOLK_FULL, 7, 9), POPPED(2, 8, 10)}},
    {"too many", false, false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), PUSHED(3, 5, 6), POPPED(1, 7, 8)}},
    {"closed, then the rest",
     true,
     false,
     {PUSHED(1, 1, 2), DONE(CLOSE, 3, 4), POPPED(1, 5, 6), REFUSED(POP, KOLK_CLOSED, 7, 8),
      REFUSED(PUSH, KOLK_CLOSED, 9, 10)}},
    {"an item after CLOSED",
     false,
     false,
     {PUSHED(1, 1, 2), DONE(CLOSE, 3, 4), REFUSED(POP, KOLK_CLOSED, 5, 6), POPPED(1, 7, 8)}},
    {"pushed after the end", false, false, {DONE(CLOSE, 1, 2), PUSHED(1, 3, 4), POPPED(1, 5, 6)}},
    {"pushed while it ends", true, false, {DONE(CLOSE, 1, 4), PUSHED(1, 2, 3), POPPED(1, 5, 6)}},
    {"EMPTY of a closed queue", false, true, {DONE(CLOSE, 1, 2), REFUSED(POP, KOLK_EMPTY, 3, 4)}},
    {"closed by nobody", false, false, {PUSHED(1, 1, 2), REFUSED(PUSH, KOLK_CLOSED, 3, 4)}},
    {"closed, then open", true, false, {DONE(CLOSE, 1, 2), DONE(REOPEN, 3, 4), PUSHED(1, 5, 6), POPPED(1, 7, 8)}},
    {"closed for ever", false, false, {DONE(CLOSE, 1, 2), DONE(REOPEN, 3, 4), REFUSED(PUSH, KOLK_CLOSED, 5, 6)}},
    {"popped after shutdown", false, false, {PUSHED(1, 1, 2), DONE(SHUTDOWN, 3, 4), POPPED(1, 5, 6)}},
    {"shut down", true, false, {PUSHED(1, 1, 2), DONE(SHUTDOWN, 3, 5), REFUSED(POP, KOLK_SHUTDOWN, 4, 6)}},
    {"one of a closed queue", false, false, {PUSHED(1, 1, 2), DONE(CLOSE, 3, 4), REFUSED(POP, KOLK_SHUTDOWN, 5, 6)}},
    {"dropped", true, false, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), {CLEAR, KOLK_OK, false, 2, {1, 2}, 5, 6}}},
    {"dropped and popped",
     false,
     false,
     {PUSHED(1, 1, 2), PUSHED(2, 3, 4), {CLEAR, KOLK_OK, false, 2, {1, 2}, 5, 6}, POPPED(1, 7, 8)}},
    {"one forgotten",
     false,
     false,
     {PUSHED(1, 1, 2), PUSHED(2, 3, 4), {CLEAR, KOLK_OK, false, 1, {2}, 5, 6}, REFUSED(POP, KOLK_EMPTY, 7, 8)}},
    {"a part", false, true, {PUSHED(1, 1, 2), PUSHED(2, 3, 4), {CLEAR, KOLK_OK, false, 1, {1}, 5, 6}}},
    {"an array", true, false, {{PUSH, KOLK_OK, false, 2, {1, 2}, 1, 2}, {POP, KOLK_OK, false, 2, {1, 2}, 3, 4}}},
    {"an array, reordered",
     false,
     true,
     {{PUSH, KOLK_OK, false, 2, {1, 2}, 1, 2}, {POP, KOLK_OK, false, 2, {2, 1}, 3, 4}}},
    {"one between",
     false,
     true,
     {{PUSH, KOLK_OK, false, 2, {1, 2}, 1, 3}, PUSHED(3, 2, 8), POPPED(1, 4, 5), POPPED(3, 6, 7), POPPED(2, 9, 10)}},
    {"counted", true, false, {PUSHED(1, 1, 2), {COUNT, KOLK_OK, false, 1, {0}, 3, 4}}},
    {"miscounted", false, true, {PUSHED(1, 1, 2), {COUNT, KOLK_OK, false, 2, {0}, 3, 4}}},
    {"waited in vain", false, true, {{POP, KOLK_EMPTY, true, 0, {0}, 1, 2}}},
    {"waited", true, false, {{POP, KOLK_OK, true, 1, {1}, 1, 4}, PUSHED(1, 2, 3)}},
};

static void test_examples(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(examples); i++) {
        example it = examples[i];
        history h = {.capacity = 2, .events = it.events};
        while (h.count < LENGTH_OF(it.events) && it.events[h.count].end) h.count++;
        if (is_linearizable(&h) != it.is_right) fail_msg("%s: there is %s order", it.what, it.is_right ? "no" : "an");
        const char *wrong = monitor_history(&h);
        if (!wrong != (it.is_right || it.unseen))
            fail_msg("%s: the monitor says: %s", it.what, wrong ? wrong : "nothing");
    }
}

/* ---- Long histories, by chance ----------------------------------------------------------------------------------- */

/* Makes a history of a queue of 3: a sequence of calls, each with a random duration around its moment. */
static void make_history(history *h, size_t count, uint64_t stretch, uint64_t *random) {
    uint32_t next = 1, first = 1;
    kolk_status ending = KOLK_OK;
    *h = (history){.capacity = 3, .count = count, .events = (event *)calloc(count, sizeof(event))};
    for (size_t i = 0; i < count; i++) {
        event *e = &h->events[i];
        uint64_t moment = (i + 1) * 1000;
        e->deed =
            random_below(random, 100) < 98 ? (deed)random_below(random, 2) : (deed)(CLEAR + random_below(random, 5));
        if (ending) e->deed = random_below(random, 4) ? e->deed : REOPEN;
        e->begin =
            (moment - random_below(random, (uint32_t)stretch) % moment) * 2 * count + 2 * i; /* no two are the same */
        e->end = (moment + 1 + random_below(random, (uint32_t)stretch)) * 2 * count + 2 * i + 1;
        if (e->deed <= POP) {
            bool blocked = e->deed == PUSH ? next - first == 3 : next == first;
            e->status = ending == KOLK_SHUTDOWN                                 ? KOLK_SHUTDOWN
                        : ending == KOLK_CLOSED && (e->deed == PUSH || blocked) ? KOLK_CLOSED
                        : !blocked                                              ? KOLK_OK
                        : e->deed == PUSH                                       ? KOLK_FULL
                                                                                : KOLK_EMPTY;
            if (e->status == KOLK_OK) e->items[e->n++] = e->deed == PUSH ? next++ : first++;
        } else if (e->deed == CLEAR) {
            while (first != next) e->items[e->n++] = first++;
        } else if (e->deed == COUNT) {
            e->n = next - first;
        } else if (e->deed == CLOSE) {
            if (!ending) ending = KOLK_CLOSED;
        } else {
            ending = e->deed == REOPEN ? KOLK_OK : KOLK_SHUTDOWN;
        }
    }
}

static event *find(history *h, deed what, kolk_status status, size_t from) {
    for (size_t i = from; i < h->count; i++)
        if (h->events[i].deed == what && h->events[i].status == status) return &h->events[i];
    return NULL;
}

/* Plants one error in a sound history, usually near its middle. */
static void plant(history *h, int error) {
    size_t middle = h->count / 2;
    event *pop = find(h, POP, KOLK_OK, middle), *later = find(h, POP, KOLK_OK, (size_t)(pop - h->events) + 40);
    event *push = find(h, PUSH, KOLK_OK, middle);
    uint32_t item = pop->items[0];
    switch (error) {
    case 0: /* reordered */
        pop->items[0] = later->items[0];
        later->items[0] = item;
        break;
    case 1: /* lost */
        pop->status = KOLK_EMPTY;
        pop->n = 0;
        break;
    case 2: /* duplicated */
        later->items[0] = item;
        break;
    case 3: /* never pushed */
        pop->items[0] = UINT32_MAX;
        break;
    case 4: /* pushed, but reported as refused */
        push->status = KOLK_FULL;
        push->n = 0;
        break;
    case 5: /* refused because of a close that had not happened yet */
        h->events[0] = (event){.deed = POP, .status = KOLK_CLOSED, .begin = 1, .end = 2};
        break;
    default: /* an item that all others overtook */
        pop->begin += (uint64_t)1000000 * 2 * h->count;
        pop->end += (uint64_t)1000000 * 2 * h->count;
    }
}

static void test_long_histories(void **state) {
    (void)state;
    for (unsigned n = 0; n < 60; n++) {
        history h;
        uint64_t random = seed + n;
        make_history(&h, 10000, n % 3 ? 3000 : 30, &random);
        const char *wrong = monitor_history(&h);
        if (wrong) fail_msg("a sound history: %s", wrong);
        plant(&h, (int)(n % 7));
        if (!monitor_history(&h)) fail_msg("planted error %u is not seen", n % 7);
        free(h.events);
    }
}

/* If the monitor rejects a history, the search must find no order. The converse need not hold, because the monitor does
 * not detect all errors. */
static void test_they_agree(void **state) {
    (void)state;
    unsigned sound = 0, refused = 0, unseen = 0;
    for (unsigned n = 0; n < 20000; n++) {
        history h;
        uint64_t random = seed + 1000 + n;
        make_history(&h, 6 + n % 8, 4000, &random);
        assert_true(is_linearizable(&h));
        assert_null(monitor_history(&h));
        event *a = &h.events[random_below(&random, (uint32_t)h.count)],
              *b = &h.events[random_below(&random, (uint32_t)h.count)];
        if (a->deed == POP && b->deed == POP) { /* exchange their results */
            event was = *a;
            *a = *b;
            a->begin = was.begin;
            a->end = was.end;
            was.begin = b->begin;
            was.end = b->end;
            *b = was;
        } else if (a->deed <= POP) {
            a->status = a->status ? KOLK_OK : a->deed == PUSH ? KOLK_FULL : KOLK_EMPTY;
            a->n = a->status ? 0 : 1;
            if (a->n) a->items[0] = 1 + random_below(&random, 12);
        }
        bool is_right = is_linearizable(&h);
        const char *wrong = monitor_history(&h);
        if (is_right && wrong && strcmp(wrong, "the history has an item twice") != 0) {
            print_history(&h);
            fail_msg("there is an order, and the monitor says: %s (KOLK_TEST_SEED=%" PRIu64 ")", wrong, seed);
        }
        is_right ? sound++ : wrong ? refused++ : unseen++;
        free(h.events);
    }
    print_message("%u sound, %u refused by both, %u by the search alone\n", sound, refused, unseen);
    assert_true(refused > 1000);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    begin_random_work(0);
    const struct CMUnitTest tests[] = {
        TEST(test_examples),
        TEST(test_long_histories),
        TEST(test_they_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
