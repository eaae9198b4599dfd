/* runs: slow */
/* Random operations on a queue by one thread, compared with a model made from the header alone: the result of each
 * call, the items, the count, the destroyed items and the file descriptors. KOLK_TEST_SEED and KOLK_TEST_OPS
 * (operations in total) may be set in the environment.
 * promise: "Copies the item ... nothing has happened", "a bounded blocking ... your deadline", "the exact number of
 * items, from 1", "Waits for the first ... adjacent in the queue", "there was no room or no item; only", "there was
 * still none at the deadline", "close was called ... shutdown was called", "Ends pushes: every ... until no item is
 * left", "Ends pushes and pops ... Items stay" */
#include "queue_test.h"

#ifndef _WIN32
#include <poll.h>
#endif

#define MOST 9u /* items in a queue */

typedef struct model {
    kolk_queue queue;
    uint64_t random;
    uint32_t items[MOST], count, capacity, next;
    uint32_t destroyed[MOST], destructions;
    kolk_status ending;
    bool was_full, watched[2], shown[2];
    uint32_t failed;
} model;

static void destroy(void *item, void *context) {
    model *m = (model *)context;
    assert_true(m->destructions < MOST);
    m->destroyed[m->destructions++] = *(uint32_t *)item;
}

/* The result required of the next push or pop of an array of `n`. */
static kolk_status expected(const model *m, int end, kolk_deadline deadline, size_t n) {
    bool blocked = m->count == (end == KOLK_QUEUE_WRITABLE ? m->capacity : 0);
    if (n == 0) return KOLK_OK;
    if (m->ending == KOLK_SHUTDOWN) return KOLK_SHUTDOWN;
    if (m->ending == KOLK_CLOSED && (end == KOLK_QUEUE_WRITABLE || blocked)) return KOLK_CLOSED;
    if (!blocked) return KOLK_OK;
    return deadline.ns ? KOLK_TIMEOUT : end == KOLK_QUEUE_WRITABLE ? KOLK_FULL : KOLK_EMPTY;
}

/* A call that gives up makes the descriptor of its own end unready. A call that succeeds makes that of the other end
 * ready. */
static void show(model *m, int end, kolk_status status) {
    bool gave_up = status == KOLK_TIMEOUT || status == KOLK_FULL || status == KOLK_EMPTY;
    if (gave_up) m->shown[end] = false;
    if (gave_up && end == KOLK_QUEUE_WRITABLE) m->was_full = true, m->failed++;
    if (status == KOLK_OK) m->shown[!end] = true;
}

static void push_some(model *m, kolk_deadline deadline, size_t n, bool as_array) {
    uint32_t items[MOST + 2];
    for (size_t i = 0; i < LENGTH_OF(items); i++) items[i] = m->next + (uint32_t)i;
    kolk_status status = expected(m, KOLK_QUEUE_WRITABLE, deadline, n);
    size_t most = m->capacity - m->count, done = status ? 0 : n < most ? n : most;
    size_t given = n;
    assert_int_equal(as_array ? kolk_queue_push_n(&m->queue, items, &given, deadline)
                              : kolk_queue_push(&m->queue, items, deadline),
                     status);
    if (as_array) assert_int_equal(given, done);
    for (size_t i = 0; i < done; i++) m->items[m->count++] = m->next++;
    if (n) show(m, KOLK_QUEUE_WRITABLE, status);
}

static void remove_first(model *m, size_t n) {
    m->count -= (uint32_t)n;
    memmove(m->items, m->items + n, m->count * sizeof *m->items);
}

static void pop_some(model *m, kolk_deadline deadline, size_t n, bool as_array) {
    uint32_t items[MOST + 2];
    kolk_status status = expected(m, KOLK_QUEUE_READABLE, deadline, n);
    size_t done = status ? 0 : n < m->count ? n : m->count;
    size_t given = n;
    memset(items, 0xff, sizeof items);
    assert_int_equal(as_array ? kolk_queue_pop_n(&m->queue, items, &given, deadline)
                              : kolk_queue_pop(&m->queue, items, deadline),
                     status);
    if (as_array) assert_int_equal(given, done);
    assert_memory_equal(items, m->items, done * sizeof *items);
    assert_true(
        all_bytes_are(items + done, (LENGTH_OF(items) - done) * sizeof *items, 0xff)); /* nothing else is written */
    remove_first(m, done);
    if (n) show(m, KOLK_QUEUE_READABLE, status);
}

static void clear(model *m) {
    m->destructions = 0;
    assert_int_equal(kolk_queue_clear(&m->queue), m->count);
    assert_int_equal(m->destructions, m->count);
    assert_memory_equal(m->destroyed, m->items, m->count * sizeof *m->items);
    if (m->count) m->shown[KOLK_QUEUE_WRITABLE] = true;
    m->count = 0;
}

static void end_it(model *m, kolk_status ending) {
    ending == KOLK_CLOSED ? kolk_queue_close(&m->queue) : kolk_queue_shutdown(&m->queue);
    if (m->ending != KOLK_SHUTDOWN) m->ending = ending;
    m->shown[KOLK_QUEUE_WRITABLE] = m->shown[KOLK_QUEUE_READABLE] = true;
}

#ifdef _WIN32
static void watch(model *m, int event) {
    assert_int_equal(kolk_queue_fd(&m->queue, (kolk_queue_event)event), -1);
}

static void compare_shown(const model *m) {}
#else
static void watch(model *m, int event) {
    if (!m->watched[event]) {
        bool blocked = m->count == (event == KOLK_QUEUE_WRITABLE ? m->capacity : 0);
        m->shown[event] = m->ending || !blocked;
    }
    m->watched[event] = true;
    assert_true(kolk_queue_fd(&m->queue, (kolk_queue_event)event) >= 0);
}

static void compare_shown(model *m) {
    for (int event = 0; event < 2; event++) {
        if (!m->watched[event]) continue;
        struct pollfd it = {.fd = kolk_queue_fd(&m->queue, (kolk_queue_event)event), .events = POLLIN};
        assert_int_equal(poll(&it, 1, 0), m->shown[event]);
    }
}
#endif

static void compare(model *m) {
    kolk_stats stats;
    assert_true(kolk_queue_is_valid(&m->queue));
    assert_int_equal(kolk_queue_count(&m->queue), m->count);
    compare_shown(m);
    kolk_queue_stats(&m->queue, &stats);
    assert_int_equal(stats.count, m->count);
    assert_int_equal(stats.failed, m->failed);
    assert_int_equal(stats.peak, m->was_full ? m->capacity : m->count);
}

static void operate(model *m, bool filling) {
    static const kolk_deadline deadlines[] = {{0}, {0}, {1}, {1000000}, {-1}, {INT64_MIN}}; /* all have passed */
    kolk_deadline deadline = deadlines[random_below(&m->random, LENGTH_OF(deadlines))];
    uint32_t choice = random_below(&m->random, 1000);
    size_t n = random_below(&m->random, m->capacity + 4);
    if (n == m->capacity + 3) n = SIZE_MAX;
    if (choice < 900) {
        bool as_array = choice % 2;
        if (as_array && n == 0) deadline = KOLK_FOREVER; /* a call with an array of no items never waits */
        if ((choice % 16 < 10) == filling)
            push_some(m, deadline, as_array ? n : 1, as_array);
        else
            pop_some(m, deadline, as_array ? n : 1, as_array);
    } else if (choice < 910) {
        clear(m);
    } else if (choice < 930) {
        end_it(m, choice < 920 ? KOLK_CLOSED : KOLK_SHUTDOWN);
    } else if (choice < 990) {
        kolk_queue_reopen(&m->queue);
        m->ending = KOLK_OK;
    } else if (choice < 992) {
        watch(m, (int)(choice % 2));
    }
}

static void run_one(uint32_t capacity, uint64_t random, uint64_t steps) {
    model m = {.random = random, .capacity = capacity, .next = 1};
    make_queue(
        &m.queue,
        &(kolk_queue_desc){
            .name = "model", .item_size = sizeof(uint32_t), .capacity = capacity, .destroy = destroy, .context = &m});
    bool filling = true;
    for (uint64_t i = 0; i < steps; i++) {
        if (random_below(&m.random, 32) == 0) filling = !filling;
        operate(&m, filling);
        compare(&m);
    }
    clear(&m);
    end_queue(&m.queue);
}

static void test_against_the_model(void **state) {
    enum { QUEUES = 8 };
    for (uint64_t n = 0; n < MOST * QUEUES; n++)
        run_one((uint32_t)(n % MOST) + 1, seed + n * UINT64_C(0x632be59bd9b4e019), operations / (MOST * QUEUES));
}

int main(void) {
    begin_random_work(200000);
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_against_the_model, abort_on_failure)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
