/* runs: slow not:qemu */
/* Threads use a shared pool whose objects own a buffer (setup, reset, teardown), with and without caches, with frees by
 * other threads, deferred frees, waits, setups that fail, and threads that come and go. Each buffer is made once and
 * freed once, and belongs to one thread at a time. Each life is reset once. Reads KOLK_TEST_SEED and KOLK_TEST_OPS
 * (operations per run) from the environment. */
#include "../help/threads.h"

#include "shared_test.h"

#ifndef OPERATIONS
#define OPERATIONS 60000
#endif

enum { MOST_THREADS = 8, SHELVES = 6, BUFFER = 48 };

typedef struct object {
    char *buffer;
    uint32_t owner;  /* 0 if none; HOOK within a hook */
    uint32_t births; /* how many lives it has had */
} object;

#define HOOK UINT32_MAX

typedef struct run {
    kolk_shared pool;
    bool later, fails;
    uintptr_t shelves[SHELVES]; /* objects for another thread */
    uint64_t set_ups, failures, resets, teardowns, births, frees, births_of_all;
} run;

typedef struct job {
    worker worker;
    run *run;
    uint32_t number, to_do;
    uint64_t random;
} job;

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
static void count(uint64_t *number) {
    __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

/* ---- Hooks: an object is in at most one at a time ---------------------------------------------------------------- */

static bool set_up(void *given, void *context) {
    run *r = (run *)context;
    object *it = (object *)given;
    if (r->fails && __atomic_fetch_add(&r->failures, 1, __ATOMIC_RELAXED) % 3 == 0) return false;
    *it = (object){.buffer = (char *)malloc(BUFFER)};
    REQUIRE(it->buffer);
    memset(it->buffer, 0, BUFFER);
    count(&r->set_ups);
    return true;
}

static void reset(void *given, void *context) {
    run *r = (run *)context;
    object *it = (object *)given;
    REQUIRE(it->owner == 0 && it->buffer[0] == 'x' && it->buffer[BUFFER - 1] == 'x');
    it->owner = HOOK;
    memset(it->buffer, 0, BUFFER);
    it->owner = 0;
    count(&r->resets);
}

static void tear_down(void *given, void *context) {
    run *r = (run *)context;
    object *it = (object *)given;
    r->births_of_all += it->births;
    free(it->buffer);
    it->buffer = NULL;
    r->teardowns++;
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static object *be_born(job *j, kolk_shared_local *local) {
    bool waits = random_below(&j->random, 4) == 0;
    object *it = (object *)(waits ? kolk_shared_alloc_wait(local, kolk_deadline_after(1)) : kolk_shared_alloc(local));
    if (!it) return NULL;
    REQUIRE(it->owner == 0 && it->buffer[0] == 0 && it->buffer[BUFFER - 1] == 0);
    it->owner = j->number;
    it->births++;
    memset(it->buffer, 'x', BUFFER);
    count(&j->run->births);
    return it;
}

static void die(job *j, kolk_shared_local *local, object *it) {
    if (!it) return;
    REQUIRE(it->buffer[0] == 'x' && it->buffer[BUFFER - 1] == 'x');
    it->owner = 0;
    count(&j->run->frees);
    if (j->run->later && random_below(&j->random, 3) == 0)
        kolk_shared_free_later(local, it);
    else
        kolk_shared_free(local, it);
}

/* Puts each new object on a shelf, and frees the one that was there. */
static void *work(void *given) {
    job *j = (job *)given;
    kolk_shared_local local;
    REQUIRE(kolk_shared_local_init(&local, &j->run->pool) == KOLK_OK);
    uint32_t now = j->to_do < 300 ? j->to_do : 300;
    for (uint32_t i = 0; i < now; i++) {
        uintptr_t *shelf = &j->run->shelves[random_below(&j->random, SHELVES)];
        object *it = be_born(j, &local);
        if (random_below(&j->random, 2)) it = (object *)__atomic_exchange_n(shelf, (uintptr_t)it, __ATOMIC_ACQ_REL);
        die(j, &local, it);
        if (random_below(&j->random, 8) == 0) kolk_shared_quiesce(&local);
    }
    j->to_do -= now;
    j->worker.done = j->to_do == 0;
    if (UNDER_TSAN || random_below(&j->random, 2)) kolk_shared_local_deinit(&local); /* other threads end without it */
    return NULL;
}

static void run_jobs(unsigned threads, uint32_t cache, bool later, bool fails, const char *debug) {
    static run r;
    job jobs[MOST_THREADS];
    memset(&r, 0, sizeof r);
    r.later = later;
    r.fails = fails;
    make_shared(&r.pool, &(kolk_shared_desc){.name = "buffers",
                                             .object_size = sizeof(object),
                                             .capacity = threads + SHELVES - 2,
                                             .max_threads = threads,
                                             .cache = cache,
                                             .life.setup = set_up,
                                             .life.reset = reset,
                                             .life.teardown = tear_down,
                                             .context = &r,
                                             .debug = debug});
    for (unsigned n = 0; n < threads; n++) {
        jobs[n] = (job){.run = &r, .number = n + 1, .to_do = (uint32_t)operations / threads, .random = seed + n};
        start_job(&jobs[n], work, true);
    }
    for (unsigned n = 0; n < threads; n++) REQUIRE(pthread_join(jobs[n].worker.thread, NULL) == 0);
    assert_true(kolk_shared_is_valid(&r.pool));
    uint32_t slots = all_slots(&r.pool);
    assert_int_equal(kolk_shared_count(&r.pool) + r.frees >= r.births, 1);
    for (unsigned n = 0; n < SHELVES; n++)
        if (r.shelves[n]) ((object *)r.shelves[n])->owner = 0;
    kolk_shared_deinit(&r.pool);
    assert_true(r.births > 0);
    assert_int_equal(r.resets, r.births); /* including objects on the shelves and retired objects */
    assert_int_equal(r.teardowns, r.set_ups);
    assert_int_equal(r.births_of_all, r.births); /* no object was set up again between its lives */
    assert_true(r.set_ups <= slots);
}

static void test_buffers(void **state) {
    static const uint32_t caches[] = {0, 1, 4, KOLK_NO_CACHE};
    for (unsigned n = 0; n < 8; n++)
        run_jobs(n % 3 ? 4 : MOST_THREADS, caches[n % 4], n & 1, n & 2, n / 4 ? "guard,sites" : NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_buffers)};
    begin_random_work(does_a_part() ? OPERATIONS / 6 : OPERATIONS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
