/* runs: slow not:qemu */
/* kolk_shared with 2 to 64 threads that want more objects than there are: they wait, for ever or for a while, give up,
 * free, retire and hand over objects, and come and go. No object has two owners, a thread finds what it wrote until it
 * frees the object, no thread sleeps for ever, and at the end no slot is lost. The test runs on all cores and on one.
 * Reads KOLK_TEST_SEED and KOLK_TEST_OPS (operations per run) from the environment. */
#include "../queue/queue_test.h"
#include "shared_test.h"

#ifndef OPERATIONS
#define OPERATIONS 100000
#endif

/* Under ThreadSanitizer each thread deinitialises its local: the tool does not know that a thread's writes happen
 * before the system reports that the thread is gone. */
#define WATCHED UNDER_TSAN

enum { MOST_THREADS = 64, MOST_HELD = 8 };

typedef struct shape {
    unsigned threads;
    uint32_t capacity, cache;
    bool later; /* some frees are deferred, so waits have deadlines, because a waiter does not quiesce */
    bool exact, grows;
    kolk_generations generations;
    unsigned lifetime; /* how many operations a thread does before another replaces it; 0: no limit */
} shape;

typedef struct object {
    uint32_t owner; /* its current owner; 0: none */
    uint32_t number, inverse;
} object;

typedef struct run {
    shape shape;
    kolk_shared pool;
    kolk_queue passed_on; /* object pointers, fewer than `capacity` */
} run;

/* A job, which threads do one after another. */
typedef struct job {
    worker worker;
    run *run;
    uint32_t number, holds, to_do, failed; /* number starts from 1 */
    object *held[MOST_HELD];
    uint64_t random;
} job;

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static void own_it(job *j, object *it) {
    if (!it) {
        j->failed++;
        return;
    }
    REQUIRE(it->owner == 0);
    it->owner = j->number;
    it->number = (uint32_t)next_random(&j->random);
    it->inverse = ~it->number;
    j->held[j->holds++] = it;
}

/* Removes one of the held objects and returns it. */
static object *let_go(job *j) {
    uint32_t at = random_below(&j->random, j->holds);
    object *it = j->held[at];
    j->held[at] = j->held[--j->holds];
    REQUIRE(it->owner == j->number && it->number == ~it->inverse);
    it->owner = 0;
    return it;
}

static void give_up_all(job *j, kolk_shared_local *local) {
    while (j->holds) kolk_shared_free(local, let_go(j));
}

/* Returns a deadline in up to 2 ms. It has often passed by the time an object is free. */
static kolk_deadline any_deadline(job *j) {
    return (kolk_deadline){kolk_now_ns_() + (int64_t)random_below(&j->random, 1u << random_below(&j->random, 22))};
}

/* A thread that waits for ever holds no objects. So waiters cannot block each other: all objects are free or held by
 * threads that continue. */
static void wait_for_one(job *j, kolk_shared_local *local) {
    bool for_ever = !j->run->shape.later && random_below(&j->random, 2);
    if (for_ever) give_up_all(j, local);
    if (j->run->shape.later) kolk_shared_offline(local);
    object *it = (object *)kolk_shared_alloc_wait(local, for_ever ? KOLK_FOREVER : any_deadline(j));
    if (j->run->shape.later) kolk_shared_online(local);
    REQUIRE(it || !for_ever);
    own_it(j, it);
}

static void pass_on_or_take_over(job *j, kolk_shared_local *local) {
    object *it;
    if (j->holds && random_below(&j->random, 2)) {
        it = let_go(j);
        if (kolk_queue_push(&j->run->passed_on, &it, KOLK_NOW) != KOLK_OK) kolk_shared_free(local, it);
    } else if (kolk_queue_pop(&j->run->passed_on, &it, KOLK_NOW) == KOLK_OK) {
        REQUIRE(it->owner == 0 && it->number == ~it->inverse);
        kolk_shared_free(local, it);
    }
}

static void work_once(job *j, kolk_shared_local *local) {
    uint32_t choice = random_below(&j->random, 64);
    bool room = j->holds < MOST_HELD;
    if (j->run->shape.later) kolk_shared_quiesce(local);
    if (choice == 0) {
        kolk_shared_local_flush(local);
    } else if (choice < 12) {
        pass_on_or_take_over(j, local);
    } else if (choice < 24 && room) {
        own_it(j, (object *)kolk_shared_alloc(local));
    } else if (choice < 40 && room) {
        wait_for_one(j, local);
    } else if (j->holds && j->run->shape.later && choice < 48) {
        kolk_shared_free_later(local, let_go(j));
    } else if (j->holds) {
        kolk_shared_free(local, let_go(j));
    }
}

static void *work(void *argument) {
    job *j = (job *)argument;
    kolk_shared_local local;
    REQUIRE(kolk_shared_local_init(&local, &j->run->pool) == KOLK_OK);
    for (unsigned n = 0; j->to_do && (!j->run->shape.lifetime || n < j->run->shape.lifetime); n++, j->to_do--)
        work_once(j, &local);
    if (!j->to_do) give_up_all(j, &local);
    if (j->number % 2 || !j->run->shape.lifetime || WATCHED)
        kolk_shared_local_deinit(&local); /* other threads end without it */
    j->worker.done = !j->to_do;
    return NULL;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* Checks that only the objects in the queue are alive, and that each free slot can be allocated once. */
static void count_slots(run *r, uint64_t failed) {
    kolk_shared_local local;
    kolk_stats stats;
    object *it;
    assert_true(kolk_shared_is_valid(&r->pool));
    kolk_shared_stats(&r->pool, &stats);
    assert_int_equal(stats.failed, failed);
    assert_int_equal(stats.count, kolk_queue_count(&r->passed_on));
    make_local(&local, &r->pool);
    while (kolk_queue_pop(&r->passed_on, &it, KOLK_NOW) == KOLK_OK) kolk_shared_free(&local, it);
    for (int i = 0; i < 4; i++) kolk_shared_quiesce(&local);
    for (uint32_t i = 0; i < all_slots(&r->pool); i++) {
        it = (object *)kolk_shared_alloc_wait(&local, kolk_deadline_after(100000));
        assert_non_null(it);
        assert_int_equal(it->owner, 0);
        it->owner = 1;
    }
    assert_null(kolk_shared_alloc_wait(&local, PAST));
    kolk_shared_local_deinit(&local);
    assert_int_equal(kolk_shared_count(&r->pool), all_slots(&r->pool));
    end_shared(&r->pool);
    end_queue(&r->passed_on);
}

static void run_one(shape its) {
    static run r;
    static job jobs[MOST_THREADS];
    uint64_t failed = 0;
    memset(&r, 0, sizeof r);
    r.shape = its;
    kolk_shared_desc desc = {.name = "wait",
                             .object_size = its.grows ? 4096 : sizeof(object),
                             .capacity = its.grows ? 1 : its.capacity,
                             .max_capacity = its.capacity,
                             .max_threads = its.threads * (its.lifetime ? 2 : 1), /* dead threads are reclaimed late */
                             .cache = its.cache,
                             .generations = its.generations,
                             .exact = its.exact};
    make_shared(&r.pool, &desc);
    make_queue(&r.passed_on,
               &(kolk_queue_desc){.item_size = sizeof(object *), .capacity = its.capacity > 4 ? its.capacity / 4 : 1});
    for (unsigned i = 0; i < its.threads; i++) {
        jobs[i] = (job){.run = &r,
                        .number = i + 1,
                        .to_do = (uint32_t)(operations / its.threads) + 1,
                        .random = next_random(&seed)};
        start_job(&jobs[i], work, its.lifetime);
    }
    for (unsigned i = 0; i < its.threads; i++) {
        join_job(&jobs[i]);
        failed += jobs[i].failed;
    }
    count_slots(&r, failed);
}

static void test_each_shape(void **state) {
    static const shape shapes[] = {
        {.threads = 2, .capacity = 2, .cache = 1},
        {.threads = 2, .capacity = 3, .cache = 2, .later = true},
        {.threads = 3, .capacity = 2, .cache = 2, .exact = true},
        {.threads = 4, .capacity = 4, .cache = 64},
        {.threads = 4, .capacity = 8, .cache = 1, .later = true, .generations = KOLK_GENERATIONS_NONE},
        {.threads = 8, .capacity = 5, .cache = 2, .generations = KOLK_GENERATIONS_NONE},
        {.threads = 8, .capacity = 20, .cache = 7, .grows = true},
        {.threads = 16, .capacity = 10, .cache = 3, .later = true, .exact = true},
        {.threads = 64, .capacity = 20, .cache = 1},
        {.threads = 64, .capacity = 100, .cache = 2, .grows = true, .later = true},
    };
    for (size_t i = 0; i < LENGTH_OF(shapes); i++) run_one(shapes[i]);
}

static void test_births_and_deaths(void **state) {
    run_one((shape){.threads = 2, .capacity = 2, .cache = 2, .lifetime = 100});
    run_one((shape){.threads = 5, .capacity = 4, .cache = 16, .lifetime = 50});
    run_one((shape){.threads = 8, .capacity = 20, .lifetime = 50, .grows = true});
}

static void test_all_on_one_core(void **state) {
    static void (*const tests[])(void **state) = {test_each_shape, test_births_and_deaths};
    run_on_one_core(tests, LENGTH_OF(tests), state);
}

int main(void) {
    begin_random_work(OPERATIONS);
    const struct CMUnitTest tests[] = {TEST(test_each_shape), TEST(test_births_and_deaths), TEST(test_all_on_one_core)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
