/* runs: slow */
/* A shared pool in debug mode with 2 to 16 working threads: objects are allocated, waited for, passed on, freed by
 * other threads, and retired while others read them. No report is false, the profiler gets each life once, and at the
 * end no slot is lost. The test runs with fill, guard, quarantine and sites, and with objects from malloc, which
 * AddressSanitizer watches. In another test two threads free one object at the same time. Reads KOLK_TEST_SEED and
 * KOLK_TEST_OPS (operations per run) from the environment. */
#include "../queue/queue_test.h"

#include "shared_test.h"

#ifndef OPERATIONS
#define OPERATIONS 20000
#endif

enum { MOST_THREADS = 16, EACH = 6, PUBLISHED = 4, SIZE = 40 };

typedef struct object {
    uint64_t serial, check;
    unsigned char filling[SIZE - 16];
} object;

static struct {
    kolk_shared pool;
    uintptr_t passed[MOST_THREADS]; /* objects that any thread may take over */
    uintptr_t published[PUBLISHED]; /* objects that any thread may read */
    uint32_t allocs, frees, failed; /* allocs and frees: counted by the profiler; failed: NULLs */
} run;

static void on_alloc(const char *name, const void *it, size_t size, void *context) {
    REQUIRE(strcmp(name, "threads") == 0 && it && size == sizeof(object));
    __atomic_fetch_add(&run.allocs, 1, __ATOMIC_RELAXED);
}

static void on_free(const char *name, const void *it, void *context) {
    REQUIRE(strcmp(name, "threads") == 0 && it);
    __atomic_fetch_add(&run.frees, 1, __ATOMIC_RELAXED);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

typedef struct job {
    worker worker;
    kolk_shared_local local;
    object *held[EACH];
    uint32_t holds, to_do;
    uint64_t serial, random;
} job;

static void stamp(job *j, object *it) {
    it->serial = ++j->serial;
    it->check = ~it->serial * UINT64_C(0x9e3779b97f4a7c15);
    memset(it->filling, (int)(it->serial % 251), sizeof it->filling);
}

static void check(const object *it) {
    REQUIRE(it->check == ~it->serial * UINT64_C(0x9e3779b97f4a7c15));
    REQUIRE(all_bytes_are(it->filling, sizeof it->filling, (unsigned char)(it->serial % 251)));
}

static object *exchange(uintptr_t *at, const object *by) { /* NOLINT(readability-non-const-parameter): written */
    return (object *)__atomic_exchange_n(at, (uintptr_t)by, __ATOMIC_ACQ_REL);
}

static void take(job *j) {
    bool waits = random_below(&j->random, 3) == 0;
    kolk_deadline deadline = kolk_deadline_after(1);
    deadline.ns -= 900000 + random_below(&j->random, 100000); /* leaves at most a tenth of a millisecond */
    object *it = (object *)(waits ? kolk_shared_alloc_wait(&j->local, deadline) : kolk_shared_alloc(&j->local));
    if (!it) {
        __atomic_fetch_add(&run.failed, 1, __ATOMIC_RELAXED);
        return;
    }
    REQUIRE(kolk_shared_is_live(&run.pool, it));
    stamp(j, it);
    j->held[j->holds++] = it;
}

static void give(job *j, object *it, bool later) {
    check(it);
    kolk_handle handle = kolk_shared_handle_of(&run.pool, it);
    REQUIRE(kolk_shared_get(&run.pool, handle) == it);
    if (later)
        kolk_shared_free_later(&j->local, it);
    else
        kolk_shared_free(&j->local, it);
    REQUIRE(!kolk_shared_get(&run.pool, handle));
}

static void work_once(job *j) {
    uint32_t choice = random_below(&j->random, 16);
    if (choice < 6) {
        if (j->holds < EACH) take(j);
    } else if (choice < 9 && j->holds) {
        give(j, j->held[--j->holds], false);
    } else if (choice < 11 && j->holds) { /* frees the object that lay there */
        object *it = exchange(&run.passed[random_below(&j->random, MOST_THREADS)], j->held[--j->holds]);
        if (it) give(j, it, false);
    } else if (choice < 12 && j->holds) {
        object *it = exchange(&run.published[random_below(&j->random, PUBLISHED)], j->held[--j->holds]);
        if (it) give(j, it, true);
    } else if (choice < 15) { /* another thread may retire it, but it can be read until this thread quiesces */
        uintptr_t it = __atomic_load_n(&run.published[random_below(&j->random, PUBLISHED)], __ATOMIC_ACQUIRE);
        if (it) check((const object *)it);
    }
    kolk_shared_quiesce(&j->local);
}

static void *work(void *argument) {
    job *j = (job *)argument;
    REQUIRE(kolk_shared_local_init(&j->local, &run.pool) == KOLK_OK);
    for (; j->to_do; j->to_do--) {
        work_once(j);
        if (j->to_do % 256) continue;
        kolk_shared_local_deinit(&j->local); /* continues with a new local */
        REQUIRE(kolk_shared_local_init(&j->local, &run.pool) == KOLK_OK);
    }
    kolk_shared_local_deinit(&j->local);
    return NULL;
}

static void free_the_rest(job *jobs, unsigned threads) {
    job rest = {.holds = 0};
    kolk_shared_local *local = &rest.local;
    make_local(local, &run.pool);
    for (unsigned i = 0; i < threads; i++)
        while (jobs[i].holds) give(&rest, jobs[i].held[--jobs[i].holds], i % 2);
    for (unsigned i = 0; i < MOST_THREADS; i++) kolk_shared_free(local, exchange(&run.passed[i], NULL));
    for (unsigned i = 0; i < PUBLISHED; i++) kolk_shared_free(local, exchange(&run.published[i], NULL));
    for (unsigned i = 0; i < 4; i++) kolk_shared_quiesce(local);
    assert_true(kolk_shared_is_valid(&run.pool));
    assert_int_equal(kolk_shared_count(&run.pool), 0);
    assert_int_equal(run.allocs, run.frees); /* each life was reported once */
    kolk_stats stats;
    kolk_shared_stats(&run.pool, &stats);
    assert_int_equal(stats.failed, run.failed);
    for (uint32_t i = 0; i < all_slots(&run.pool); i++) assert_non_null(kolk_shared_alloc(local));
    assert_null(kolk_shared_alloc(local));
    kolk_shared_cursor cursor = kolk_shared_each(&run.pool);
    for (void *each; (each = kolk_shared_cursor_next(&cursor));) kolk_shared_free(local, each);
}

static void run_one(unsigned threads, const char *debug, bool bypassed, bool no_room) {
    static job jobs[MOST_THREADS];
    memset(&run, 0, sizeof run);
    setenv("KOLK_BYPASS", bypassed ? "1" : "0", 1);
    kolk_set_profiler(&(kolk_profiler){on_alloc, on_free, NULL});
    make_shared(&run.pool, &(kolk_shared_desc){.name = "threads",
                                               .object_size = sizeof(object),
                                               .capacity = no_room ? threads * 2 : 1,
                                               .max_capacity = no_room ? 0 : 6000,
                                               .max_threads = threads,
                                               .cache = 3,
                                               .debug = debug});
    kolk_set_profiler(NULL);
    for (unsigned i = 0; i < threads; i++) {
        jobs[i] = (job){.random = next_random(&seed), .to_do = (uint32_t)(operations / threads)};
        jobs[i].serial = (uint64_t)(i + 1) << 32;
        start_job(&jobs[i], work, false);
    }
    for (unsigned i = 0; i < threads; i++) join_job(&jobs[i]);
    free_the_rest(jobs, threads);
    end_shared(&run.pool);
}

static void test_many_threads(void **state) {
    static const char *const settings[] = {"fill,guard,quarantine=8,sites", "fill,quarantine=3", "all", "trace"};
    for (unsigned threads = 2, n = 0; threads <= MOST_THREADS; threads *= 2)
        for (int no_room = 0; no_room < 2; no_room++, n++) {
            run_one(threads, settings[n % 4], false, no_room);
            run_one(threads, "sites", true, no_room);
        }
}

/* ---- Two threads free one object --------------------------------------------------------------------------------- */

static struct {
    object *it;
    uint32_t double_frees, others;
    pthread_barrier_t gate;
} twins;

static void count_report(const kolk_failure *failure, void *context) {
    __atomic_fetch_add(failure->rule == KOLK_DOUBLE_FREE ? &twins.double_frees : &twins.others, 1, __ATOMIC_RELAXED);
}

static void *free_it(void *argument) {
    kolk_shared_local local;
    uint32_t rounds = *(const uint32_t *)argument;
    REQUIRE(kolk_shared_local_init(&local, &run.pool) == KOLK_OK);
    for (uint32_t i = 0; i < rounds; i++) {
        pthread_barrier_wait(&twins.gate);
        kolk_shared_free(&local, twins.it);
        pthread_barrier_wait(&twins.gate);
    }
    kolk_shared_local_deinit(&local);
    return NULL;
}

/* In debug mode exactly one of the two frees is reported, even without .exact, and nothing else is. */
static void test_two_threads_free_one_object(void **state) {
    static const char *const settings[] = {"fill", "fill,quarantine=2", "trace"};
    for (unsigned n = 0; n < 4; n++) {
        kolk_shared_local local;
        pthread_t threads[2];
        uint32_t rounds = (uint32_t)operations / 8;
        setenv("KOLK_BYPASS", n == 3 ? "1" : "0", 1);
        make_shared(&run.pool, &(kolk_shared_desc){.object_size = 500,
                                                   .capacity = 3,
                                                   .max_threads = 3,
                                                   .generations = n == 2 ? KOLK_GENERATIONS_NONE : 0,
                                                   .debug = n == 3 ? NULL : settings[n]});
        make_local(&local, &run.pool);
        twins.double_frees = twins.others = 0;
        pthread_barrier_init(&twins.gate, NULL, 3);
        kolk_set_failure_handler(count_report, NULL);
        for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&threads[i], NULL, free_it, &rounds), 0);
        for (uint32_t i = 0; i < rounds; i++) {
            REQUIRE((twins.it = (object *)kolk_shared_alloc(&local)) != NULL);
            pthread_barrier_wait(&twins.gate);
            pthread_barrier_wait(&twins.gate);
        }
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        assert_int_equal(twins.double_frees, rounds);
        assert_int_equal(twins.others, 0);
        assert_int_equal(kolk_shared_count(&run.pool), 0);
        pthread_barrier_destroy(&twins.gate);
        end_shared(&run.pool);
        kolk_set_failure_handler(NULL, NULL);
    }
}

int main(void) {
    unsetenv("KOLK_DEBUG");
    unsetenv("KOLK_FAIL");
    begin_random_work(does_a_part() ? OPERATIONS / 4 : OPERATIONS);
    const struct CMUnitTest tests[] = {
        TEST(test_many_threads),
        TEST(test_two_threads_free_one_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
