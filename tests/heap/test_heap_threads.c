/* runs: slow sample:clang not:qemu */
/* Many threads and heaps: blocks pass from thread to thread, threads come and go often, and blocks are freed in a
 * thread's last moments. In the end nothing is lost, and memory does not grow from round to round. */
#include "../help/test.h"

#include "../help/threads.h"
#include "heap_test.h"

enum { THREADS = 4 };

static kolk_heap heap;

/* ---- Stamped blocks ---------------------------------------------------------------------------------------------- */

typedef struct stamped {
    size_t size;
    unsigned char bytes[];
} stamped;

static stamped *take(uint64_t *random) {
    size_t size = random_below(random, 64) ? 16 + random_below(random, 600) : random_below(random, 400000) + 16;
    stamped *it = (stamped *)kolk_heap_alloc(&heap, size);
    REQUIRE(it);
    it->size = size;
    memset(it->bytes, (int)(size % 251), size - sizeof *it);
    return it;
}

static void give(stamped *it) {
    if (!it) return;
    REQUIRE(all_bytes_are(it->bytes, it->size - sizeof *it, (unsigned char)(it->size % 251)));
    memset(it, 0xdd, sizeof *it);
    kolk_heap_free(&heap, it);
}

/* Runs work in several threads, each with random numbers of its own. */
static void run_all(void *(*work)(void *random)) {
    uint64_t randoms[THREADS];
    for (unsigned n = 0; n < THREADS; n++) randoms[n] = next_random(&seed);
    run_threads(THREADS, work, randoms, sizeof *randoms);
}

/* ---- Blocks that others free ------------------------------------------------------------------------------------- */

#define PLACES 1000u

static stamped *places[PLACES];

/* Like the benchmark larson: a block that one thread puts into the array is taken out by another. */
static void *swap(void *argument) {
    uint64_t *random = (uint64_t *)argument;
    for (uint64_t i = 0; i < operations / THREADS; i++) {
        stamped *mine = random_below(random, 8) ? take(random) : NULL;
        give(__atomic_exchange_n(&places[random_below(random, PLACES)], mine, __ATOMIC_ACQ_REL));
    }
    return NULL;
}

/* Threads end after each round; the next ones reclaim their magazines. promise: "any number ... return to the depot" */
static void test_swapping(void **state) {
    uint64_t first = 0;
    make_heap(&heap, &(kolk_heap_desc){.name = "swapped"});
    for (unsigned round = 0; round < 6; round++) {
        run_all(swap);
        assert_true(kolk_heap_is_valid(&heap));
        for (unsigned n = 0; n < PLACES; n++) give(__atomic_exchange_n(&places[n], NULL, __ATOMIC_RELAXED));
        assert_int_equal(stats_of(&heap).count, 0);
        assert_true(kolk_heap_is_valid(&heap));
        if (round == 1) first = stats_of(&heap).bytes_committed;
        if (round > 1) assert_in_range(stats_of(&heap).bytes_committed, 0, first * 2);
    }
    end_heap(&heap);
}

/* ---- Threads that come and go ------------------------------------------------------------------------------------ */

static const kolk_heap_class tray = {.size = 128, .capacity = 1000, .when_full = KOLK_HEAP_NULL};

static void *use_shortly(void *argument) {
    void *blocks[50];
    size_t size = (size_t)argument;
    for (unsigned n = 0; n < LENGTH_OF(blocks); n++) REQUIRE(blocks[n] = kolk_heap_alloc(&heap, size));
    for (unsigned n = 0; n < LENGTH_OF(blocks); n++) kolk_heap_free(&heap, blocks[n]);
    return NULL;
}

static unsigned count_free(void) {
    static void *blocks[2000];
    unsigned n = 0;
    while (n < LENGTH_OF(blocks) && (blocks[n] = kolk_heap_alloc(&heap, 100))) n++;
    for (unsigned i = 0; i < n; i++) kolk_heap_free(&heap, blocks[i]);
    return n;
}

/* Returns 0 if the size of the process tells nothing: wine keeps the stacks of some threads that have ended. */
static size_t records(void) {
    size_t n = 0;
#ifdef _WIN32
    return n;
#endif
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%zu", &n) != 1) n = 0;
    if (file) fclose(file);
    return n;
}

static void test_short_lives(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "short", .classes = &tray, .n_classes = 1});
    size_t pages = 0;
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 1)); /* so that this thread has a record of its own */
    for (unsigned n = 0; n < 300; n++) {
        run_thread(use_shortly, (void *)(uintptr_t)128);
        if (n == 10) pages = records();
    }
    if (!SLOW && pages) assert_in_range(records(), 0, pages + 20);
    assert_int_equal(count_free(), 1000);
    end_heap(&heap);
}

/* ---- Last moments ------------------------------------------------------------------------------------------------ */

static pthread_key_t last_key;
static unsigned rounds_left, freed_late;

typedef struct late {
    void *blocks[8];
    unsigned rounds;
} late;

/* Runs after kolk's own destructor, in as many rounds as the system makes. Each time it uses the heap and frees one
 * block. */
static void free_late(void *argument) {
    late *it = (late *)argument;
    for (unsigned n = 0; n < 20; n++) {
        void *block = kolk_heap_alloc(&heap, 128);
        REQUIRE(block);
        kolk_heap_free(&heap, block);
    }
    kolk_heap_free(&heap, it->blocks[--it->rounds]);
    __atomic_add_fetch(&freed_late, 1, __ATOMIC_RELAXED);
    if (it->rounds > rounds_left) REQUIRE(pthread_setspecific(last_key, it) == 0);
}

static void *end_with_blocks(void *argument) {
    late *it = (late *)argument;
    for (unsigned n = 0; n < 8; n++) REQUIRE(it->blocks[n] = kolk_heap_alloc(&heap, 128));
    it->rounds = 8;
    REQUIRE(pthread_setspecific(last_key, it) == 0);
    return NULL;
}

/* After its last round of destructors a thread leaves blocks in magazines. The next thread reclaims them. */
static void test_last_moments(void **state) {
    late late_ones = {.rounds = 0};
    if (UNDER_TSAN) skip(); /* TSan considers a thread ended before its last round of destructors */
    make_heap(&heap, &(kolk_heap_desc){.name = "late", .classes = &tray, .n_classes = 1});
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 1)); /* so that kolk's key is the older one */
    assert_int_equal(pthread_key_create(&last_key, free_late), 0);
    for (rounds_left = 7; rounds_left-- > 0;) {
        run_thread(end_with_blocks, &late_ones);
        while (late_ones.rounds) kolk_heap_free(&heap, late_ones.blocks[--late_ones.rounds]);
    }
    assert_in_range(freed_late, 12, 100);
    for (unsigned n = 0; n < 3; n++) {
        usleep(1000); /* the system may still list the last thread */
        run_thread(use_shortly, (void *)(uintptr_t)128);
    }
    assert_int_equal(count_free(), 1000);
    assert_true(kolk_heap_is_valid(&heap));
    assert_int_equal(pthread_key_delete(last_key), 0);
    end_heap(&heap);
}

/* ---- Many heaps -------------------------------------------------------------------------------------------------- */

enum { HEAPS = 30 }; /* more than a thread's near heaps */

static kolk_heap many[HEAPS];

static void *use_many(void *argument) {
    uint64_t *random = (uint64_t *)argument;
    static _Thread_local unsigned char *blocks[HEAPS];
    for (uint64_t i = 0; i < operations / THREADS / 4; i++) {
        unsigned n = random_below(random, HEAPS);
        if (blocks[n]) {
            REQUIRE(all_bytes_are(blocks[n], 100, (unsigned char)n));
            REQUIRE(!kolk_heap_is_live(&many[(n + 1) % HEAPS], blocks[n]));
            kolk_heap_free(&many[n], blocks[n]);
            blocks[n] = NULL;
        } else {
            REQUIRE(blocks[n] = (unsigned char *)kolk_heap_alloc(&many[n], 100));
            memset(blocks[n], (int)n, 100);
        }
    }
    for (unsigned n = 0; n < HEAPS; n++) kolk_heap_free(&many[n], blocks[n]);
    return NULL;
}

static void *make_and_end(void *argument) {
    uint64_t *random = (uint64_t *)argument;
    for (uint64_t i = 0; i < operations / THREADS / 200; i++) {
        kolk_heap own;
        REQUIRE(kolk_heap_init(&own, &(kolk_heap_desc){.name = "own"}) == KOLK_OK);
        leave_nursery(&own);
        unsigned char *block = (unsigned char *)kolk_heap_alloc(&own, 1 + random_below(random, 10000));
        REQUIRE(block);
        block[0] = 1;
        if (i % 2) kolk_heap_free(&own, block);
        kolk_heap_deinit(&own);
    }
    return use_many(argument);
}

static void test_many_heaps(void **state) {
    for (unsigned n = 0; n < HEAPS; n++) make_heap(&many[n], &(kolk_heap_desc){.name = "many"});
    run_all(make_and_end);
    for (unsigned n = 0; n < HEAPS; n++) {
        assert_int_equal(stats_of(&many[n]).count, 0);
        end_heap(&many[n]);
    }
}

int main(void) {
    begin_random_work(does_a_part() ? 100000 : 1000000);
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {
        TEST(test_swapping),
        TEST(test_short_lives),
        TEST(test_last_moments),
        TEST(test_many_heaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
