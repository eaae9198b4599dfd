/* runs: long once with: KOLK_CHAOS=1 */
/* Guarded blocks and threads: several threads use them at the same time, and the process forks before every atomic
 * operation of another thread's work on one. The child finds every live block, can allocate and free others, and loses
 * at most the block that was being moved. */
#include "../help/test.h"

#include "heap_forks.h"

enum { MINE = 20, THREADS = 4, HELD = 100 };

static kolk_heap heap;
static unsigned char *mine[MINE];
static void *theirs;

static bool is_guarded(const void *block) {
    return kolk_guarded_has_(&heap.inside->guarded, block);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static unsigned char *shared_blocks[HELD];

/* Exchanges its own block for another thread's, and checks that the block's bytes match its address. */
static void *pass_on(void *random) {
    unsigned rounds = does_a_part() ? 5000 : 50000;
    for (unsigned i = 0; i < rounds; i++) {
        size_t size = 16 + random_below((uint64_t *)random, 600);
        unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, size);
        REQUIRE(block);
        memset(block, (unsigned char)((uintptr_t)block >> 12), 16);
        unsigned char **place = &shared_blocks[random_below((uint64_t *)random, HELD)];
        block = __atomic_exchange_n(place, block, __ATOMIC_ACQ_REL);
        REQUIRE(!block || all_bytes_are(block, 16, (unsigned char)((uintptr_t)block >> 12)));
        if (block && size % 3 == 0) REQUIRE((block = (unsigned char *)kolk_heap_realloc(&heap, block, size)));
        kolk_heap_free(&heap, block);
    }
    return NULL;
}

static void test_threads(void **state) {
    uint64_t randoms[THREADS];
    make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = "fill,sample=3", .limit = 100 << 20});
    for (unsigned i = 0; i < THREADS; i++) randoms[i] = i;
    run_threads(THREADS, pass_on, randoms, sizeof *randoms);
    assert_true(kolk_heap_is_valid(&heap));
    assert_true(heap.inside->guarded.frees > 100);
    for (unsigned i = 0; i < HELD; i++) kolk_heap_free(&heap, shared_blocks[i]);
    assert_int_equal(stats_of(&heap).count, 0);
    end_heap(&heap);
}

/* If two threads free one block at the same time, exactly one is reported. */
static unsigned reported;

static void count_report(const kolk_failure *failure, void *context) {
    REQUIRE(failure->rule == KOLK_DOUBLE_FREE);
    reported++;
}

static void free_theirs(void) {
    kolk_heap_thread_of_(&heap);
    can_be_stopped = true;
    kolk_heap_free(&heap, theirs);
}

static void free_theirs_too(void) {
    kolk_heap_free(&heap, theirs);
}

static void test_two_frees(void **state) {
    bool more = true;
    for (step = 1; more; step++) {
        make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = "sample=1"});
        theirs = kolk_heap_alloc(&heap, 100);
        assert_true(is_guarded(theirs));
        reported = 0;
        kolk_set_failure_handler(count_report, NULL);
        more = stop_at_step(step, free_theirs, free_theirs_too);
        assert_int_equal(reported, more);
        end_heap(&heap);
    }
    assert_true(step > 4);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static void live_on(void *unused) {
    static void *blocks[KOLK_GUARDED_SLOTS_];
    unsigned n = 0, found = 0;
    for (unsigned i = 0; i < MINE; i++) {
        REQUIRE(is_guarded(mine[i]) && kolk_heap_usable_size(&heap, mine[i]) == 112);
        REQUIRE(all_bytes_are(mine[i], 112, (unsigned char)i));
    }
    for (; n < KOLK_GUARDED_SLOTS_; n++) {
        blocks[n] = kolk_heap_alloc(&heap, 5000);
        REQUIRE(blocks[n] && blocks[n] != theirs);
        memset(blocks[n], 0xee, 5000);
        found += is_guarded(blocks[n]);
    }
    REQUIRE(found >= KOLK_GUARDED_ALIVE_ - MINE - 1);
    while (n) kolk_heap_free(&heap, blocks[--n]);
    for (unsigned i = 0; i < MINE; i++) kolk_heap_free(&heap, mine[i]);
    REQUIRE(kolk_guarded_is_valid_(&heap.inside->guarded));
    kolk_heap_deinit(&heap);
}

static void fork_now(void) {
    assert_int_equal(fork_to(live_on), 0);
}

static void take_and_give(void) {
    kolk_heap_thread_of_(&heap);
    can_be_stopped = true;
    for (unsigned i = 0; i < 2; i++) {
        void *block = kolk_heap_alloc(&heap, 5000);
        REQUIRE(is_guarded(block));
        kolk_heap_free(&heap, block);
    }
}

static void test_forks(void **state) {
    bool more = true;
    unsigned apart = steps_apart();
    theirs = NULL;
    for (step = first_step(); more; step += apart) {
        make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = "sample=1"});
        for (unsigned i = 0; i < MINE; i++) memset(mine[i] = kolk_heap_alloc(&heap, 100), (int)i, 112);
        more = stop_at_step(step, take_and_give, fork_now);
        end_heap(&heap);
        if (step > 30) step += 20; /* the search for a free slot takes a step per slot */
    }
    print_message("%u steps\n", step);
    assert_true(step > 100);
}

int main(void) {
    END_IF_IT_HANGS();
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {TEST(test_threads), TEST(test_two_frees), TEST(test_forks)};
    return cmocka_run_group_tests(tests, make_semaphores, NULL);
}
