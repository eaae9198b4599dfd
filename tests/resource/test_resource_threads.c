/* runs: slow sample */
/* The resource pool with 16 threads that want more resources than there are, of several keys, with deadlines from
 * KOLK_NOW to KOLK_FOREVER. Creates, validates and resets fail at random; borrows are discarded, or returned by another
 * thread; a maker ends idle and old resources; and one more thread evicts, resizes and pauses. No resource is used by
 * two threads or after its end, there are never more than max, no thread sleeps for ever, each resource is destroyed
 * once, and the statistics add up. It runs on all cores and on one. Reads KOLK_TEST_SEED and KOLK_TEST_OPS (operations
 * per run) from the environment. */
#include "resource_threads.h"

#ifndef OPERATIONS
#define OPERATIONS 10000
#endif

enum { MOST_THREADS = 16, MOST_HELD = 2 };

typedef struct shape {
    unsigned threads;
    uint32_t max, keys, min_idle, max_creating;
    kolk_reuse reuse;
    bool disturbed; /* another thread evicts, resizes and pauses */
    bool ages;      /* lifetimes, idle times and keepalive of a few milliseconds */
    bool by_ticks;  /* no makers: the threads call tick */
    bool is_sound;  /* nothing fails */
    bool is_closed; /* closed while all are at work */
} shape;

/* Returns how many creates may run at a time. If one takes longer than 100 ms, as on a busy machine, another key may
 * exceed max_creating; so may a create after an evict. */
static uint32_t most_creates(const shape *its) {
    return its->keys == 1 && !its->disturbed ? its->max_creating : its->max;
}

typedef struct run {
    factory things; /* the first member */
    shape shape;
    kolk_queue passed_on; /* borrows that another thread is to end */
    bool over;
} run;

/* A thread's work and its counts. */
typedef struct job {
    worker worker;
    run *run;
    uint32_t to_do, holds;
    kolk_borrowed held[MOST_HELD];
    uint64_t random;
    uint64_t borrowed, full, timeouts, failed, given_back, discarded;
} job;

/* ---- The functions ----------------------------------------------------------------------------------------------- */

static bool happens(uint32_t one_in) {
    static _Thread_local uint64_t random;
    if (!random) random = (uint64_t)kolk_now_ns_();
    return random_below(&random, one_in) == 0;
}

static void take_a_while(void) {
    if (happens(8))
        nap();
    else if (happens(2))
        sched_yield();
    KOLK_CHAOS_HERE();
}

/* The functions run without the pool's lock, so they may query the pool. */
static void ask_now_and_then(const factory *from) {
    if (happens(16)) REQUIRE(stats_of(from).waiting <= MOST_THREADS);
}

static bool create_at_random(factory *from, kolk_deadline deadline) {
    const run *r = (const run *)from;
    take_a_while();
    ask_now_and_then(from);
    return r->shape.is_sound || !happens(8);
}

static bool is_good_at_random(factory *from, thing *it) {
    const run *r = (const run *)from;
    take_a_while();
    ask_now_and_then(from);
    return r->shape.is_sound || !happens(32);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static const char *const keys[] = {"", "a", "b", "c"};

/* Only a thread that holds nothing waits for ever, so that no thread waits for itself. */
static kolk_deadline some_deadline(job *j) {
    switch (random_below(&j->random, 8)) {
    case 0:
        return KOLK_NOW;
    case 1:
        return PAST;
    case 2:
    case 3:
        if (j->holds == 0) return KOLK_FOREVER;
        __attribute__((fallthrough));
    default:
        return (kolk_deadline){kolk_now_ns_() + (int64_t)random_below(&j->random, 5000000)};
    }
}

static void check_refusal(job *j, kolk_status status, kolk_deadline deadline, const kolk_borrowed *one) {
    REQUIRE(!one->resource && one->error.text[0]);
    if (status == KOLK_FULL) {
        REQUIRE(deadline.ns == KOLK_NOW.ns);
        j->full++;
    } else if (status == KOLK_TIMEOUT) {
        REQUIRE(deadline.ns != KOLK_NOW.ns && deadline.ns != KOLK_FOREVER.ns && kolk_now_ns_() >= deadline.ns);
        j->timeouts++;
    } else {
        REQUIRE(status == KOLK_NOT_CREATED || status == KOLK_CLOSED);
        REQUIRE(status == KOLK_CLOSED ? j->run->shape.is_closed : !j->run->shape.is_sound && one->error.code == 61);
        j->failed++;
    }
}

static void borrow_one(job *j) {
    kolk_borrowed *one = &j->held[j->holds];
    const char *key = keys[random_below(&j->random, j->run->shape.keys)];
    kolk_deadline deadline = some_deadline(j);
    kolk_borrow_desc desc = {.key = key, .deadline = deadline};
    kolk_status status = kolk_resource_borrow(&j->run->things.pool, &desc, one);
    if (status != KOLK_OK) {
        check_refusal(j, status, deadline, one);
        return;
    }
    thing *it = (thing *)one->resource;
    begin_use(it);
    REQUIRE(strcmp(it->key, key) == 0 && !one->error.text[0]);
    j->holds++;
    j->borrowed++;
}

static void end_borrow(job *j, kolk_borrowed *one) {
    bool discards = !j->run->shape.is_sound && random_below(&j->random, 16) == 0;
    end_use((thing *)one->resource);
    if (discards)
        kolk_resource_discard(&j->run->things.pool, one);
    else
        kolk_resource_give_back(&j->run->things.pool, one);
    REQUIRE(!one->resource);
    (*(discards ? &j->discarded : &j->given_back))++;
}

/* Ends one of the held borrows, or passes it on to another thread that will end it. */
static void end_one(job *j) {
    kolk_borrowed *one = &j->held[--j->holds];
    bool passes_on = random_below(&j->random, 8) == 0;
    if (!passes_on || kolk_queue_push(&j->run->passed_on, one, KOLK_NOW) != KOLK_OK) end_borrow(j, one);
}

/* Ends borrows that other threads have passed on. */
static void end_others(job *j) {
    kolk_borrowed one;
    while (kolk_queue_pop(&j->run->passed_on, &one, KOLK_NOW) == KOLK_OK) end_borrow(j, &one);
}

/* Before a thread may wait for ever, it ends the borrows passed on so far, because sleeping threads cannot end them. */
static void *work(void *argument) {
    job *j = (job *)argument;
    while (j->to_do--) {
        end_others(j);
        if (j->holds == MOST_HELD || (j->holds && random_below(&j->random, 3)))
            end_one(j);
        else
            borrow_one(j);
        if (j->holds) take_a_while();
        if (j->run->shape.by_ticks && happens(16)) kolk_resource_tick(&j->run->things.pool, KOLK_NOW);
    }
    while (j->holds) end_borrow(j, &j->held[--j->holds]);
    end_others(j);
    return NULL;
}

/* ---- The disturber ----------------------------------------------------------------------------------------------- */

static bool every_second(const char *key, const void *resource, bool in_use, void *context) {
    const thing *it = (const thing *)resource;
    if (!in_use) REQUIRE(strcmp(it->key, key) == 0); /* the key of a resource in use may change meanwhile */
    return happens(2);
}

static void *disturb(void *argument) {
    job *j = (job *)argument;
    kolk_resource_pool *pool = &j->run->things.pool;
    while (!kolk_load_(&j->run->over, KOLK_ACQUIRE_)) {
        switch (random_below(&j->random, 6)) {
        case 0:
            kolk_resource_evict(pool);
            break;
        case 1:
            REQUIRE(kolk_resource_evict_if(pool, every_second, NULL) <= j->run->shape.max);
            break;
        case 2:
            REQUIRE(kolk_resource_resize(
                        pool, 1 + j->run->shape.min_idle +
                                  random_below(&j->random, j->run->shape.max - j->run->shape.min_idle)) == KOLK_OK);
            break;
        case 3:
            kolk_resource_pause(pool);
            nap();
            kolk_resource_resume(pool);
            break;
        case 4:
            kolk_resource_tick(pool, KOLK_FOREVER);
            break;
        default:
            REQUIRE(kolk_resource_is_valid(pool));
            REQUIRE(stats_of(&j->run->things).creating <= most_creates(&j->run->shape));
        }
        if (random_below(&j->random, 2)) nap();
        end_others(j);
    }
    REQUIRE(kolk_resource_resize(pool, j->run->shape.max) == KOLK_OK);
    return NULL;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void add_up(const run *r, const job *all) {
    const factory *f = &r->things;
    kolk_resource_pool_stats stats = stats_of(f);
    assert_int_equal(stats.in_use + stats.idle + stats.creating + stats.waiting, 0);
    assert_int_equal(stats.borrows, all->borrowed);
    assert_int_equal(stats.borrows, all->given_back + all->discarded);
    assert_int_equal(stats.full, all->full);
    assert_int_equal(stats.timeouts, all->timeouts);
    assert_int_equal(stats.failed, all->failed);
    assert_int_equal(stats.created, f->created);
    assert_int_equal(stats.create_failures, f->failed);
    assert_int_equal(stats.discarded, all->discarded);
    assert_int_equal(stats.invalid, f->invalid);
    assert_int_equal(stats.unclean, f->unclean);
    assert_int_equal(stats.discarded + stats.invalid + stats.unclean + stats.expired + stats.unused + stats.evicted +
                         stats.replaced + stats.closed,
                     f->destroyed);
    assert_int_equal(stats.wait.count, stats.borrows);
    assert_int_equal(stats.use.count, stats.borrows);
    assert_int_equal(stats.create.count, stats.created);
    assert_true(stats.peak <= r->shape.max && stats.peak > 0);
    if (!r->shape.ages) assert_int_equal(stats.expired + stats.unused, 0);
    if (!r->shape.disturbed) assert_int_equal(stats.evicted, 0);
    if (r->shape.keys == 1) assert_int_equal(stats.replaced, 0);
}

/* After close, every resource that was made is destroyed. */
static void end_run(run *r, const job *jobs) {
    factory *f = &r->things;
    job all = {.run = r};
    assert_int_equal(kolk_resource_close(&f->pool, KOLK_FOREVER), KOLK_OK);
    assert_true(kolk_resource_is_valid(&f->pool));
    for (const job *each = jobs; each < jobs + r->shape.threads + 1; each++) {
        all.borrowed += each->borrowed;
        all.full += each->full;
        all.timeouts += each->timeouts;
        all.failed += each->failed;
        all.given_back += each->given_back;
        all.discarded += each->discarded;
    }
    assert_int_equal(f->there, 0);
    assert_int_equal(f->created, f->destroyed);
    assert_true(f->most_there <= r->shape.max);
    assert_true(f->most_creating <= most_creates(&r->shape));
    assert_int_equal(kolk_queue_count(&r->passed_on), 0);
    add_up(r, &all);
    end_things(f);
    kolk_queue_deinit(&r->passed_on);
}

static void run_one(shape its) {
    static run r;
    static job jobs[MOST_THREADS + 1];
    memset(&r, 0, sizeof r);
    if (its.threads == 0) its.threads = MOST_THREADS;
    if (its.max_creating == 0) its.max_creating = 2;
    r.shape = its;
    r.things.creates = create_at_random;
    r.things.validates = r.things.resets = is_good_at_random;
    make_things(&r.things, (kolk_resource_pool_desc){.max = its.max,
                                                     .min_idle = its.min_idle,
                                                     .max_creating = its.max_creating,
                                                     .reuse = its.reuse,
                                                     .validate_after_ms = its.is_sound ? 1 : -1,
                                                     .idle_timeout_ms = its.ages ? 5 : 0,
                                                     .max_lifetime_ms = its.ages ? 40 : 0,
                                                     .keepalive_ms = its.ages ? 3 : 0,
                                                     .no_housekeeper = its.by_ticks});
    assert_int_equal(
        kolk_queue_init(&r.passed_on, &(kolk_queue_desc){.item_size = sizeof(kolk_borrowed), .capacity = its.max}),
        KOLK_OK);
    for (unsigned i = 0; i <= its.threads; i++) {
        jobs[i] = (job){.run = &r, .to_do = (uint32_t)(operations / its.threads) + 1, .random = next_random(&seed)};
        if (i < its.threads) start_job(&jobs[i], work, false);
    }
    job *last = &jobs[its.threads];
    if (its.disturbed) start_job(last, disturb, false);
    if (its.is_closed) {
        EVENTUALLY(stats_of(&r.things).borrows > operations / 8);
        assert_int_equal(kolk_resource_close(&r.things.pool, KOLK_FOREVER), KOLK_OK);
    }
    for (unsigned i = 0; i < its.threads; i++) join_job(&jobs[i]);
    kolk_store_(&r.over, true, KOLK_RELEASE_);
    if (its.disturbed) join_job(last);
    end_others(last);
    end_run(&r, jobs);
}

/* promise: "discard or detach, which another thread may call too", "same time, except init and deinit" */
static void test_each_shape(void **state) {
    static const shape shapes[] = {
        {.max = 1, .keys = 1},
        {.max = 3, .keys = 1, .is_sound = true},
        {.max = 4, .keys = 3, .max_creating = 1},
        {.max = 8, .keys = 4, .reuse = KOLK_REUSE_FIFO, .min_idle = 2, .ages = true, .max_creating = 4},
        {.max = 3, .keys = 2, .ages = true, .by_ticks = true},
        {.max = 4, .keys = 3, .min_idle = 1, .ages = true, .disturbed = true},
        {.max = 8, .keys = 1, .min_idle = 3, .disturbed = true, .is_sound = true},
        {.max = 5, .keys = 4, .disturbed = true, .by_ticks = true, .reuse = KOLK_REUSE_FIFO},
        {.max = 4, .keys = 2, .min_idle = 1, .is_closed = true},
    };
    for (size_t i = 0; i < LENGTH_OF(shapes); i++) run_one(shapes[i]);
}

static void test_all_on_one_core(void **state) {
    static void (*const tests[])(void **state) = {test_each_shape};
    run_on_one_core(tests, LENGTH_OF(tests), state);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    begin_random_work(does_a_part() ? OPERATIONS / 30 : OPERATIONS);
    const struct CMUnitTest tests[] = {TEST(test_each_shape), TEST(test_all_on_one_core)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
