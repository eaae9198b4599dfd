/* runs: slow sample:clang */
/* kolk_queue with up to 64 threads at work: every pushed item is popped or dropped exactly once, and each consumer gets
 * one producer's items in order. It runs on all cores and on one. In some runs the queue is closed, shut down, reopened
 * and cleared meanwhile; in others threads start and end all the time. KOLK_TEST_SEED and KOLK_TEST_OPS (items of a
 * run) may be set in the environment. */
#include "queue_test.h"

#ifndef OPERATIONS
#define OPERATIONS 1000
#endif

enum { MOST_PRODUCERS = 32, MOST_ITEMS = 20000, MOST_AT_ONCE = 5 };

typedef struct shape {
    unsigned producers, consumers;
    uint32_t capacity;
    bool disturbed;    /* the queue is ended and cleared at random */
    unsigned lifetime; /* calls of a thread before another one replaces it; 0: no limit */
} shape;

typedef struct run {
    shape shape;
    kolk_queue queue;
    uint32_t items; /* pushed by each producer */
    bool over;      /* no more pushes will come */
    uint32_t passed_on[MOST_PRODUCERS][MOST_ITEMS];
    uint32_t dropped;
} run;

/* A job on which one thread after another works. */
typedef struct job {
    worker worker;
    run *run;
    bool pushes;
    unsigned producer;
    uint32_t next;                     /* the next number to push */
    uint32_t expected[MOST_PRODUCERS]; /* the lowest number that the next pop may return */
    uint32_t popped;
    uint64_t random;
} job;

/* ---- Items ------------------------------------------------------------------------------------------------------- */

typedef struct item {
    uint32_t producer, number, check;
} item;

static item make_item(unsigned producer, uint32_t number) {
    return (item){producer, number, (producer * 7919 + number) * UINT32_C(2654435761)};
}

/* Records that the item was popped or dropped, which must happen only once. */
static void pass_on(run *r, const item *it) {
    REQUIRE(it->producer < r->shape.producers && it->number < r->items);
    REQUIRE(it->check == make_item(it->producer, it->number).check);
    REQUIRE(!__atomic_exchange_n(&r->passed_on[it->producer][it->number], 1, __ATOMIC_RELAXED));
}

static void drop(void *it, void *context) {
    pass_on((run *)context, (const item *)it);
    __atomic_fetch_add(&((run *)context)->dropped, 1, __ATOMIC_RELAXED);
    KOLK_CHAOS_HERE();
}

/* ---- Jobs -------------------------------------------------------------------------------------------------------- */

static kolk_deadline some_deadline(uint64_t *random) {
    switch (random_below(random, 8)) {
    case 0:
        return KOLK_NOW;
    case 1:
        return PAST;
    case 2:
        return (kolk_deadline){kolk_now_ns_() + random_below(random, 200000)};
    default:
        return KOLK_FOREVER;
    }
}

/* Checks the status of a call that did nothing. The caller then continues. */
static void check_refusal(const run *r, kolk_status status, kolk_deadline deadline, bool pushes) {
    if (status == KOLK_SHUTDOWN || (status == KOLK_CLOSED && pushes))
        REQUIRE(r->shape.disturbed);
    else if (status == KOLK_CLOSED)
        REQUIRE(r->shape.disturbed || __atomic_load_n(&r->over, __ATOMIC_ACQUIRE));
    else if (deadline.ns == KOLK_NOW.ns)
        REQUIRE(status == (pushes ? KOLK_FULL : KOLK_EMPTY));
    else
        REQUIRE(status == KOLK_TIMEOUT && kolk_now_ns_() >= deadline.ns);
    sched_yield();
}

static void push_some(job *j) {
    item items[MOST_AT_ONCE];
    size_t n = 1 + random_below(&j->random, MOST_AT_ONCE);
    bool as_array = random_below(&j->random, 4) == 0;
    if (!as_array) n = 1;
    if (n > j->run->items - j->next) n = j->run->items - j->next;
    for (size_t i = 0; i < n; i++) items[i] = make_item(j->producer, j->next + (uint32_t)i);
    kolk_deadline deadline = some_deadline(&j->random);
    size_t given = n;
    kolk_status status = as_array ? kolk_queue_push_n(&j->run->queue, items, &given, deadline)
                                  : kolk_queue_push(&j->run->queue, items, deadline);
    if (as_array) REQUIRE(status == KOLK_OK ? given > 0 && given <= n : given == 0);
    if (status == KOLK_OK)
        j->next += (uint32_t)given;
    else
        check_refusal(j->run, status, deadline, true);
    j->worker.done = j->next == j->run->items;
}

static void pop_some(job *j) {
    item items[MOST_AT_ONCE];
    bool as_array = random_below(&j->random, 4) == 0, over = __atomic_load_n(&j->run->over, __ATOMIC_ACQUIRE);
    size_t n = as_array ? MOST_AT_ONCE : 1;
    kolk_deadline deadline = some_deadline(&j->random);
    kolk_status status = as_array ? kolk_queue_pop_n(&j->run->queue, items, &n, deadline)
                                  : kolk_queue_pop(&j->run->queue, items, deadline);
    if (as_array) REQUIRE(status == KOLK_OK ? n > 0 && n <= MOST_AT_ONCE : n == 0);
    for (size_t i = 0; status == KOLK_OK && i < n; i++) {
        pass_on(j->run, &items[i]);
        REQUIRE(items[i].number >= j->expected[items[i].producer]);
        j->expected[items[i].producer] = items[i].number + 1;
        j->popped++;
    }
    if (status != KOLK_OK) check_refusal(j->run, status, deadline, false);
    j->worker.done = over && status == KOLK_CLOSED;
}

static void *work(void *argument) {
    job *j = (job *)argument;
    for (unsigned n = 0; !j->worker.done && (!j->run->shape.lifetime || n < j->run->shape.lifetime); n++) {
        if (j->pushes)
            push_some(j);
        else
            pop_some(j);
    }
    return NULL;
}

/* Ends, reopens and clears the queue until all items are pushed, and leaves it open. */
static void *disturb(void *argument) {
    job *j = (job *)argument;
    kolk_queue *queue = &j->run->queue;
    while (!__atomic_load_n(&j->run->over, __ATOMIC_ACQUIRE)) {
        switch (random_below(&j->random, 6)) {
        case 0:
            kolk_queue_close(queue);
            break;
        case 1:
            kolk_queue_shutdown(queue);
            break;
        case 2:
            j->popped += (uint32_t)kolk_queue_clear(queue);
            break;
        default:
            REQUIRE(kolk_queue_count(queue) <= j->run->shape.capacity);
        }
        if (random_below(&j->random, 2)) kolk_queue_reopen(queue);
        if (random_below(&j->random, 2)) nap();
    }
    kolk_queue_reopen(queue);
    return NULL;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void start_jobs(job *jobs, unsigned n, const job *like, void *(*function)(void *)) {
    for (unsigned i = 0; i < n; i++) {
        jobs[i] = *like;
        jobs[i].producer = i;
        jobs[i].random = next_random(&seed);
        start_job(&jobs[i], function, function == work && like->run->shape.lifetime);
    }
}

static void join_jobs(const job *jobs, unsigned n) {
    for (unsigned i = 0; i < n; i++) join_job(&jobs[i]);
}

static void run_one(shape its) {
    static run r;
    static job producers[MOST_PRODUCERS], consumers[MOST_PRODUCERS], disturber;
    uint32_t popped = 0;
    memset(&r, 0, sizeof r);
    r.shape = its;
    r.items = (uint32_t)(operations / its.producers) + 1;
    if (r.items > MOST_ITEMS) r.items = MOST_ITEMS;
    make_queue(
        &r.queue,
        &(kolk_queue_desc){
            .name = "threads", .item_size = sizeof(item), .capacity = its.capacity, .destroy = drop, .context = &r});
    start_jobs(producers, its.producers, &(job){.run = &r, .pushes = true}, work);
    start_jobs(consumers, its.consumers, &(job){.run = &r}, work);
    if (its.disturbed) start_jobs(&disturber, 1, &(job){.run = &r}, disturb);
    join_jobs(producers, its.producers);
    __atomic_store_n(&r.over, true, __ATOMIC_RELEASE);
    if (its.disturbed) join_jobs(&disturber, 1);
    kolk_queue_close(&r.queue);
    join_jobs(consumers, its.consumers);
    for (unsigned i = 0; i < its.consumers; i++) popped += consumers[i].popped;
    assert_int_equal(popped + r.dropped, its.producers * r.items);
    assert_int_equal(r.dropped, its.disturbed ? disturber.popped : 0);
    for (unsigned i = 0; i < its.producers; i++)
        for (unsigned k = 0; k < r.items; k++) assert_int_equal(r.passed_on[i][k], 1);
    assert_int_equal(kolk_queue_count(&r.queue), 0);
    end_queue(&r.queue);
}

static const uint32_t capacities[] = {1, 2, 3, 64};

/* promise: "same time, except init and deinit", "pop_n act like several pushes or pops in a row" */
static void test_each_shape(void **state) {
    static const shape shapes[] = {{.producers = 1, .consumers = 1},  {.producers = 1, .consumers = 3},
                                   {.producers = 3, .consumers = 1},  {.producers = 2, .consumers = 2},
                                   {.producers = 4, .consumers = 4},  {.producers = 8, .consumers = 8},
                                   {.producers = 32, .consumers = 32}};
    for (size_t i = 0; i < LENGTH_OF(shapes) * LENGTH_OF(capacities); i++) {
        shape each = shapes[i / LENGTH_OF(capacities)];
        each.capacity = capacities[i % LENGTH_OF(capacities)];
        run_one(each);
    }
}

static void test_ended_and_cleared_at_random(void **state) {
    static const unsigned sides[] = {1, 2, 4, 8};
    for (size_t i = 0; i < LENGTH_OF(sides) * LENGTH_OF(capacities); i++) {
        unsigned side = sides[i / LENGTH_OF(capacities)];
        run_one((shape){side, side, capacities[i % LENGTH_OF(capacities)], .disturbed = true});
    }
}

static void test_births_and_deaths(void **state) {
    for (unsigned i = 0; i < 2 * LENGTH_OF(capacities); i++)
        run_one((shape){3, 3, capacities[i / 2], .disturbed = i % 2, .lifetime = 10});
}

static void test_all_on_one_core(void **state) {
    static void (*const tests[])(void **state) = {test_each_shape, test_ended_and_cleared_at_random};
    run_on_one_core(tests, LENGTH_OF(tests), state);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    begin_random_work(OPERATIONS);
    const struct CMUnitTest tests[] = {
        TEST(test_each_shape),
        TEST(test_ended_and_cleared_at_random),
        TEST(test_births_and_deaths),
        TEST(test_all_on_one_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
