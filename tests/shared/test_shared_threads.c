/* runs: slow sample */
/* kolk_shared with 2 to 64 working threads: no object has two owners, the next owner finds what the last one wrote, and
 * every alloc succeeds as long as no more than `capacity` objects are wanted. Threads free objects that they get
 * through a queue, and another thread queries the pool meanwhile. The test runs on all cores and on one, and with
 * threads that come and go. Reads KOLK_TEST_SEED and KOLK_TEST_OPS (operations per run) from the environment. */
#include "../queue/queue_test.h"

#include "inside.h"

#ifndef OPERATIONS
#define OPERATIONS 150000
#endif

enum { MOST_THREADS = 64, MOST_HELD = 100 };

#define PASSED_ON UINT32_MAX /* the owner of objects in the queue */

typedef struct shape {
    unsigned threads;
    uint32_t each; /* how many objects a thread may hold */
    uint32_t cache;
    bool grows, exact;
    kolk_generations generations;
    unsigned lifetime; /* how many operations a thread does before another replaces it; 0: no limit */
} shape;

typedef struct object {
    uint64_t serial, check;
    uint32_t owner; /* its current owner; 0: none */
    unsigned char filling[44];
} object;

typedef struct run {
    shape shape;
    kolk_shared pool;
    kolk_queue passed_on; /* a queue of object pointers */
    bool over;
} run;

/* A job, on which threads work one after another. */
typedef struct job {
    worker worker;
    run *run;
    uint32_t number; /* starts from 1 */
    object *held[MOST_HELD];
    kolk_handle handles[MOST_HELD]; /* handles of the held objects */
    uint32_t holds, to_do;
    uint64_t serial, random;
} job;

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static void stamp(job *j, object *it) {
    REQUIRE(it->owner == 0); /* its previous owner has released it */
    it->owner = j->number;
    it->serial = (uint64_t)j->number << 32 | ++j->serial;
    it->check = ~it->serial * UINT64_C(0x9e3779b97f4a7c15);
    memset(it->filling, (int)(it->serial % 251), sizeof it->filling);
}

static void check(const object *it, uint32_t owner) {
    REQUIRE(it->owner == owner);
    REQUIRE(it->check == ~it->serial * UINT64_C(0x9e3779b97f4a7c15));
    REQUIRE(all_bytes_are(it->filling, sizeof it->filling, (unsigned char)(it->serial % 251)));
}

static bool has_handles(const run *r) {
    return r->shape.generations != KOLK_GENERATIONS_NONE;
}

static void take(job *j, kolk_shared_local *local) {
    object *it = (object *)kolk_shared_alloc(local);
    REQUIRE(it); /* no more than `capacity` objects are wanted */
    stamp(j, it);
    j->handles[j->holds] = (kolk_handle){0};
    if (has_handles(j->run)) j->handles[j->holds] = kolk_shared_handle_of(&j->run->pool, it);
    j->held[j->holds++] = it;
}

static void give(job *j, kolk_shared_local *local, object *it, uint32_t owner) {
    check(it, owner);
    REQUIRE(kolk_shared_is_live(&j->run->pool, it));
    it->owner = 0;
    kolk_shared_free(local, it);
}

static void take_many(job *j, kolk_shared_local *local, uint32_t n) {
    void *many[MOST_HELD];
    REQUIRE(kolk_shared_alloc_n(local, many, n) == n);
    for (uint32_t i = 0; i < n; i++) {
        stamp(j, (object *)many[i]);
        j->handles[j->holds] = (kolk_handle){0};
        if (has_handles(j->run)) j->handles[j->holds] = kolk_shared_handle_of(&j->run->pool, many[i]);
        j->held[j->holds++] = (object *)many[i];
    }
}

/* Frees the objects that were taken last. */
static void give_many(job *j, kolk_shared_local *local, uint32_t n) {
    void *many[MOST_HELD];
    for (uint32_t i = 0; i < n; i++) {
        object *it = j->held[j->holds - n + i];
        check(it, j->number);
        REQUIRE(kolk_shared_is_live(&j->run->pool, it));
        it->owner = 0;
        many[i] = it;
    }
    kolk_shared_free_n(local, many, n);
    j->holds -= n;
}

/* Removes one of the held objects and returns it. */
static object *let_go(job *j, kolk_handle *handle) {
    uint32_t at = random_below(&j->random, j->holds);
    object *it = j->held[at];
    *handle = j->handles[at];
    j->held[at] = j->held[--j->holds];
    j->handles[at] = j->handles[j->holds];
    return it;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* The queue has room for one object per thread. These may be alive in addition to the objects that threads hold. */
static void pass_on_or_take_over(job *j, kolk_shared_local *local) {
    object *it;
    kolk_handle handle;
    if (random_below(&j->random, 2)) {
        if (kolk_queue_pop(&j->run->passed_on, &it, KOLK_NOW) == KOLK_OK) give(j, local, it, PASSED_ON);
    } else if (j->holds) {
        it = let_go(j, &handle);
        check(it, j->number);
        REQUIRE(!has_handles(j->run) || kolk_shared_get(&j->run->pool, handle) == it);
        it->owner = PASSED_ON;
        if (kolk_queue_push(&j->run->passed_on, &it, KOLK_NOW) != KOLK_OK) give(j, local, it, PASSED_ON);
    }
}

static void work_once(job *j, kolk_shared_local *local) {
    kolk_handle handle;
    uint32_t choice = random_below(&j->random, 64);
    if (choice == 0) {
        kolk_shared_local_flush(local);
    } else if (choice < 3) {
        take_many(j, local, random_below(&j->random, j->run->shape.each - j->holds + 1));
    } else if (choice < 5) {
        give_many(j, local, random_below(&j->random, j->holds + 1));
    } else if (choice < 24) {
        pass_on_or_take_over(j, local);
    } else if (choice < 44 && j->holds < j->run->shape.each) {
        take(j, local);
    } else if (j->holds) {
        object *it = let_go(j, &handle);
        give(j, local, it, j->number);
        REQUIRE(!has_handles(j->run) || !kolk_shared_get(&j->run->pool, handle));
    }
}

static void *work(void *argument) {
    job *j = (job *)argument;
    kolk_shared_local local;
    REQUIRE(kolk_shared_local_init(&local, &j->run->pool) == KOLK_OK);
    for (unsigned n = 0; j->to_do && (!j->run->shape.lifetime || n < j->run->shape.lifetime); n++, j->to_do--)
        work_once(j, &local);
    kolk_shared_local_deinit(&local);
    j->worker.done = !j->to_do;
    return NULL;
}

/* Queries the pool, in a thread without a local. */
static void *ask(void *argument) {
    job *j = (job *)argument;
    kolk_shared *pool = &j->run->pool;
    uint32_t slots = all_slots(pool);
    while (!__atomic_load_n(&j->run->over, __ATOMIC_ACQUIRE)) {
        kolk_stats stats;
        uint32_t seen = 0;
        REQUIRE(kolk_shared_count(pool) <= slots);
        kolk_shared_stats(pool, &stats);
        REQUIRE(stats.count <= slots && stats.peak >= stats.count && stats.capacity <= max_capacity_of(pool) &&
                stats.failed == 0);
        kolk_shared_cursor cursor = kolk_shared_each(pool);
        for (void *last = NULL, *at; (at = kolk_shared_cursor_next(&cursor)); last = at, seen++) REQUIRE(at > last);
        REQUIRE(seen <= slots);
        uint32_t index = random_below(&j->random, slots), generation = random_below(&j->random, 200);
        const unsigned char *of = pool->slots + (size_t)index * pool->stride;
        const void *got = kolk_shared_get(pool, kolk_handle_unpack((uint64_t)generation << 32 | (index ^ pool->tag)));
        REQUIRE(!got || (got == of && generation % 2));
        kolk_shared_is_live(pool, of); /* either answer is right */
        nap();
    }
    return NULL;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* Frees the objects that jobs still hold and those in the queue. */
static void free_the_rest(run *r, job *jobs) {
    kolk_shared_local local;
    object *it;
    REQUIRE(kolk_shared_local_init(&local, &r->pool) == KOLK_OK);
    uint32_t alive = kolk_shared_count(&r->pool), freed = 0;
    for (; kolk_queue_pop(&r->passed_on, &it, KOLK_NOW) == KOLK_OK; freed++) give(&jobs[0], &local, it, PASSED_ON);
    for (unsigned i = 0; i < r->shape.threads; i++)
        for (; jobs[i].holds; freed++) give(&jobs[i], &local, jobs[i].held[--jobs[i].holds], jobs[i].number);
    assert_int_equal(freed, alive);
    assert_int_equal(kolk_shared_count(&r->pool), 0);
    uint32_t slots = all_slots(&r->pool);
    for (uint32_t i = 0; i < slots; i++) assert_non_null(kolk_shared_alloc(&local)); /* no slot was lost */
    assert_null(kolk_shared_alloc(&local));
    kolk_shared_local_deinit(&local);
}

static void run_one(shape its) {
    static run r;
    static job jobs[MOST_THREADS], asking;
    memset(&r, 0, sizeof r);
    r.shape = its;
    uint32_t most = its.threads * (its.each + 2); /* each thread's own, one in the queue, and one being freed */
    kolk_shared_desc desc = {.name = "threads",
                             .object_size = sizeof(object),
                             .capacity = its.grows ? 1 : most,
                             .max_capacity = its.grows ? most + 5000 : 0, /* this takes several pages */
                             .max_threads = its.threads,
                             .cache = its.cache,
                             .generations = its.generations,
                             .exact = its.exact};
    assert_int_equal(kolk_shared_init(&r.pool, &desc), KOLK_OK);
    make_queue(&r.passed_on, &(kolk_queue_desc){.item_size = sizeof(object *), .capacity = its.threads});
    for (unsigned i = 0; i < its.threads; i++) {
        memset(&jobs[i], 0, sizeof jobs[i]);
        jobs[i].run = &r;
        jobs[i].number = i + 1;
        jobs[i].to_do = (uint32_t)(operations / its.threads) + 1;
        jobs[i].random = next_random(&seed);
        start_job(&jobs[i], work, its.lifetime);
    }
    asking = (job){.run = &r, .random = next_random(&seed)};
    start_job(&asking, ask, false);
    for (unsigned i = 0; i < its.threads; i++) {
        join_job(&jobs[i]);
        if (its.lifetime)
            assert_int_equal(jobs[i].worker.lives, (operations / its.threads + its.lifetime) / its.lifetime);
    }
    __atomic_store_n(&r.over, true, __ATOMIC_RELEASE);
    join_job(&asking);
    assert_true(kolk_shared_is_valid(&r.pool));
    free_the_rest(&r, jobs);
    assert_true(kolk_shared_is_valid(&r.pool));
    kolk_shared_deinit(&r.pool);
    end_queue(&r.passed_on);
}

/* promise: "An object may be freed by a different thread", "except init, deinit, clear and is_valid";
 * README.md "objects that several threads allocate" */
static void test_each_shape(void **state) {
    static const shape shapes[] = {
        {.threads = 2, .each = 1, .cache = 1},
        {.threads = 2, .each = 100, .cache = 64},
        {.threads = 3, .each = 20, .cache = 3, .exact = true},
        {.threads = 4, .each = 50, .generations = KOLK_GENERATIONS_NONE},
        {.threads = 4, .each = 100, .cache = 192, .grows = true},
        {.threads = 8, .each = 3, .cache = 2},
        {.threads = 8, .each = 100, .cache = 7, .grows = true, .generations = KOLK_GENERATIONS_NONE},
        {.threads = 16, .each = 30},
        {.threads = 64, .each = 10, .cache = 1},
        {.threads = 64, .each = 30, .cache = 5, .grows = true, .exact = true, .generations = KOLK_GENERATIONS_NONE},
    };
    for (size_t i = 0; i < LENGTH_OF(shapes); i++) run_one(shapes[i]);
}

static void test_births_and_deaths(void **state) {
    run_one((shape){.threads = 2, .each = 5, .cache = 2, .lifetime = 200});
    run_one((shape){.threads = 5, .each = 40, .cache = 16, .lifetime = 100});
    run_one((shape){.threads = 16, .each = 20, .lifetime = 100, .grows = true});
}

static void test_all_on_one_core(void **state) {
    static void (*const tests[])(void **state) = {test_each_shape, test_births_and_deaths};
    run_on_one_core(tests, LENGTH_OF(tests), state);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    begin_random_work(OPERATIONS);
    const struct CMUnitTest tests[] = {
        TEST(test_each_shape),
        TEST(test_births_and_deaths),
        TEST(test_all_on_one_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
