/* runs: slow */
/* debug.h alone, called as a pool with many threads calls it: each thread has its own slots, next to those of the
 * others. Also tests a count of lives that overflows size_t. Reads KOLK_TEST_SEED from the environment. */
#include "../queue/queue_test.h"

#include "base/atomics.h"
#include "watch/debug_inside.h" /* for its counters */

enum { THREADS = 4, SLOTS = 4 * 64, SIZE = 40, LIVES = SLOW ? 10000 : 100000, ROUNDS = LIVES / 50, FAIL_EVERY = 7 };

static uint32_t told_of_allocs, told_of_frees;

static void on_alloc(const char *pool, const void *object, size_t size, void *context) {
    (void)context;
    REQUIRE(strcmp(pool, "many") == 0 && object && size == SIZE);
    kolk_fetch_add_(&told_of_allocs, 1, KOLK_RELAXED_);
}

static void on_free(const char *pool, const void *object, void *context) {
    (void)context;
    REQUIRE(strcmp(pool, "many") == 0 && object);
    kolk_fetch_add_(&told_of_frees, 1, KOLK_RELAXED_);
}

static unsigned char memory[SLOTS * 128];

typedef struct house {
    kolk_debug *debug;
    uint32_t front, stride;
    uint32_t over;
    pthread_barrier_t gate;
    unsigned char *memory;
} house;

static void build(house *h, uint32_t flags) {
    *h = (house){.memory = memory};
    kolk_debug_desc_ desc = {
        .name = "many", .noun = "slot", .object_size = SIZE, .object_align = 8, .max_capacity = SLOTS};
    desc.settings = (kolk_settings_){.flags = flags, .fail_every = FAIL_EVERY};
    kolk_debug_settle_(&desc);
    h->front = desc.front;
    h->stride = desc.front + SIZE + desc.back;
    assert_true(h->stride <= 128);
    kolk_set_profiler(&(kolk_profiler){on_alloc, on_free, NULL});
    h->debug = kolk_debug_lay_out_(&desc);
    kolk_set_profiler(NULL);
    assert_non_null(h->debug);
    assert_true(kolk_debug_commit_(h->debug, SLOTS));
    told_of_allocs = told_of_frees = 0;
}

static unsigned char *object_in(house *h, uint32_t slot) {
    return h->memory + (size_t)slot * h->stride + h->front;
}

/* Addresses that serve as sites: one per thread for alloc and one for free. */
static const char sites[2][THREADS];

/* ---- Threads with their own slots -------------------------------------------------------------------------------- */

typedef struct job {
    house *house;
    uint32_t number;
    uint32_t failed;
    pthread_t thread;
} job;

/* A thread owns every THREADS-th slot, so that each neighbour of a slot belongs to another thread. */
static uint32_t random_slot_of(const job *j, uint64_t *random) {
    return random_below(random, SLOTS / THREADS) * THREADS + j->number;
}

static void *live_and_die(void *given) {
    job *j = (job *)given;
    house *h = j->house;
    uint64_t random = seed + j->number;
    const void *alloc_site = &sites[0][j->number], *free_site = &sites[1][j->number];
    for (uint32_t n = 0; n < LIVES; n++) {
        uint32_t slot = random_slot_of(j, &random);
        unsigned char *object = object_in(h, slot);
        kolk_failure failure = {.rule = KOLK_OK, .pool = "many", .slot = slot};
        j->failed += kolk_debug_fails_(h->debug);
        kolk_debug_verify_(h->debug, slot, object, false, failure); /* on damage, the handler would abort */
        REQUIRE(kolk_debug_prepare_(h->debug, slot, object) == object);
        kolk_debug_begin_life_(h->debug, slot, object, alloc_site);
        REQUIRE(all_bytes_are(object, SIZE, 0xcd));
        kolk_debug_sites_(h->debug, slot, &failure);
        REQUIRE(failure.alloc_site == alloc_site && !failure.free_site);
        memset(object, (int)n, SIZE);
        kolk_debug_verify_(h->debug, slot, object, true, failure);
        object[SIZE]++; /* a guard byte: it is checked because the slot is prepared */
        REQUIRE(!kolk_debug_is_intact_(h->debug, slot, object, true));
        object[SIZE]--;
        kolk_debug_end_life_(h->debug, slot, free_site);
        kolk_debug_wipe_(h->debug, slot, object);
        kolk_debug_sites_(h->debug, slot, &failure);
        REQUIRE(failure.alloc_site == alloc_site && failure.free_site == free_site);
        object[n % SIZE]++; /* NOLINT(clang-analyzer-unix.Malloc): wipe frees only what prepare got from malloc */
        REQUIRE(!kolk_debug_is_intact_(h->debug, slot, object, false));
        object[n % SIZE]--;
    }
    return NULL;
}

/* Asks for the sites of other threads' slots, as a report does. */
static void *ask_for_sites(void *given) {
    house *h = (house *)given;
    uint64_t random = seed;
    while (!kolk_load_(&h->over, KOLK_RELAXED_)) {
        uint32_t slot = random_below(&random, SLOTS);
        kolk_failure failure = {.pool = "many"};
        kolk_debug_sites_(h->debug, slot, &failure);
        REQUIRE(!failure.alloc_site || failure.alloc_site == &sites[0][slot % THREADS]);
        REQUIRE(!failure.free_site || failure.free_site == &sites[1][slot % THREADS]);
    }
    return NULL;
}

static void test_each_thread_has_slots_of_its_own(void **state) {
    (void)state;
    static house h;
    build(&h, KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE | KOLK_DEBUG_FAIL);
    job jobs[THREADS];
    pthread_t asking;
    assert_int_equal(pthread_create(&asking, NULL, ask_for_sites, &h), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        jobs[i] = (job){.house = &h, .number = i};
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, live_and_die, &jobs[i]), 0);
    }
    uint32_t failed = 0;
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(jobs[i].thread, NULL), 0);
        failed += jobs[i].failed;
    }
    kolk_store_(&h.over, 1, KOLK_RELAXED_);
    assert_int_equal(pthread_join(asking, NULL), 0);

    assert_int_equal(failed, THREADS * LIVES / FAIL_EVERY); /* each failure was counted once */
    assert_int_equal(h.debug->births, THREADS * LIVES);
    assert_int_equal(told_of_allocs, THREADS * LIVES);
    assert_int_equal(told_of_frees, THREADS * LIVES);
    notes taken;
    begin_notes(&taken);
    kolk_debug_leaks_(h.debug, SLOTS);
    assert_int_equal(taken.count, 0);
    kolk_debug_unmake_(h.debug, SLOTS);
}

/* Prepares the thread's slots while the other threads prepare theirs. Then one thread checks that all slots are
 * prepared: damage to a zone is found only if the slot is prepared. */
static void *prepare_its_slots(void *given) {
    job *j = (job *)given;
    house *h = j->house;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&h->gate);
        for (uint32_t slot = j->number; slot < SLOTS; slot += THREADS)
            kolk_debug_prepare_(h->debug, slot, object_in(h, slot));
        pthread_barrier_wait(&h->gate);
        for (uint32_t slot = 0; j->number == 0 && slot < SLOTS; slot++) {
            object_in(h, slot)[SIZE]++;
            REQUIRE(!kolk_debug_is_intact_(h->debug, slot, object_in(h, slot), true));
        }
        if (j->number == 0) kolk_debug_lose_(h->debug, 0, SLOTS, false);
    }
    return NULL;
}

static void test_each_slot_is_prepared(void **state) {
    (void)state;
    static house h;
    build(&h, KOLK_DEBUG_GUARD);
    assert_int_equal(pthread_barrier_init(&h.gate, NULL, THREADS), 0);
    job jobs[THREADS];
    for (uint32_t i = 0; i < THREADS; i++) {
        jobs[i] = (job){.house = &h, .number = i};
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, prepare_its_slots, &jobs[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) assert_int_equal(pthread_join(jobs[i].thread, NULL), 0);
    pthread_barrier_destroy(&h.gate);
    kolk_debug_unmake_(h.debug, SLOTS);
}

/* ---- More births than can be counted ----------------------------------------------------------------------------- */

typedef struct listed {
    uint32_t count, slots[SLOTS];
} listed;

static void keep_slot(const kolk_failure *failure, void *context) {
    listed *list = (listed *)context;
    list->slots[list->count++] = failure->slot;
}

static void test_the_oldest_leak_comes_first_though_the_count_began_anew(void **state) {
    (void)state;
    static house h;
    build(&h, KOLK_DEBUG_SITES);
    h.debug->births = SIZE_MAX - 2;
    const uint32_t slots[] = {4, 9, 2, 7}; /* the count is 0 for the third and 1 for the fourth */
    for (unsigned i = 0; i < LENGTH_OF(slots); i++)
        kolk_debug_begin_life_(h.debug, slots[i], object_in(&h, slots[i]), &sites[0][i]);
    listed list = {.count = 0};
    kolk_set_failure_handler(keep_slot, &list);
    kolk_debug_leaks_(h.debug, SLOTS);
    assert_int_equal(list.count, LENGTH_OF(slots));
    assert_memory_equal(list.slots, slots, sizeof slots);
    kolk_debug_unmake_(h.debug, SLOTS);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    begin_random_work(0);
    const struct CMUnitTest tests[] = {TEST(test_each_thread_has_slots_of_its_own), TEST(test_each_slot_is_prepared),

                                       TEST(test_the_oldest_leak_comes_first_though_the_count_began_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
