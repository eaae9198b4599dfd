/* runs: not:qemu */
/* kolk_heap_reset: all blocks end at once, and their memory serves new ones. */
#include "../help/debug_test.h"

#include "heap/heap_inside.h"

#include "../help/threads.h"
#include "heap_test.h"

#define MANY 3000u
#define MIB  ((size_t)1 << 20)

static kolk_heap heap;
static void *blocks[MANY];

static uint32_t alive(void) {
    assert_true(kolk_heap_is_valid(&heap));
    return stats_of(&heap).count;
}

static size_t size_of(uint32_t n) {
    return n % 500 == 1 ? MIB : n % 50 == 1 ? 100000 : n * 37 % 2000;
}

static void fill(void) {
    for (uint32_t n = 0; n < MANY; n++) {
        assert_non_null(blocks[n] = kolk_heap_alloc(&heap, size_of(n)));
        memset(blocks[n], 0xaa, size_of(n));
    }
}

static void reset(void) {
    kolk_heap_reset(&heap);
    assert_int_equal(alive(), 0);
    assert_null(kolk_heap_next(&heap, NULL));
    for (uint32_t n = 0; n < MANY; n++) assert_false(kolk_heap_is_live(&heap, blocks[n]));
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* In each debug mode, and with blocks that come from malloc.
 * promise: "Frees all blocks ... reported as a double free" */
static void test_again_and_again(void **state) {
    for (size_t mode = 0; mode < DEBUG_MODES; mode++) {
        make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = begin_debug_mode(mode)});
        for (uint32_t round = 0; round < 5; round++) {
            fill();
            assert_int_equal(alive(), MANY);
            for (uint32_t n = round; n < MANY; n += 5) kolk_heap_free(&heap, blocks[n]);
            reset();
        }
        fill();
        for (uint32_t n = 0; n < MANY; n++) kolk_heap_free(&heap, blocks[n]);
        assert_int_equal(alive(), 0);
        end_heap(&heap);
    }
}

static void test_memory_stays(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    for (uint32_t n = 0; n < MANY; n++) blocks[n] = kolk_heap_alloc(&heap, 64);
    kolk_stats before = stats_of(&heap);
    reset();
    for (uint32_t n = 0; n < MANY; n++) assert_non_null(kolk_heap_alloc(&heap, 64));
    kolk_stats after = stats_of(&heap);
    assert_int_equal(after.capacity, before.capacity); /* no class has grown */
    assert_int_equal(after.peak, before.peak);
    kolk_heap_reset(&heap);
    kolk_heap_trim(&heap); /* some slots rest, and some are gone */
    for (uint32_t n = 0; n < MANY; n++) assert_non_null(kolk_heap_alloc(&heap, 64));
    kolk_heap_reset(&heap);
    assert_int_equal(alive(), 0);
    end_heap(&heap);
}

/* A life is a byte that counts up to 255 and continues with 2. */
static void test_each_number_of_lives(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    for (unsigned lives = 0; lives < 300; lives++) {
        void *block = kolk_heap_alloc(&heap, 64);
        const kolk_slot_store_ *store = kolk_heap_store_of_(&heap, block);
        assert_true(kolk_store_life_(store, kolk_store_slot_of_(store, block)) & 1);
        kolk_heap_reset(&heap);
        uint32_t life = kolk_store_life_(store, kolk_store_slot_of_(store, block));
        assert_true(life >= 2 && life % 2 == 0);
        assert_int_equal(alive(), 0);
    }
    end_heap(&heap);
}

static void test_guarded_blocks(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = "sample=3"});
    for (int round = 0; round < 5; round++) {
        fill();
        reset();
    }
    end_heap(&heap);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 3, EACH = 500 };

static pthread_barrier_t barrier;

/* The threads' magazines have slots when the main thread resets the heap. */
static void *work(void *unused) {
    for (int round = 0; round < 20; round++) {
        void *mine[EACH];
        for (uint32_t n = 0; n < EACH; n++) {
            REQUIRE(mine[n] = kolk_heap_alloc(&heap, 16 + n % 5 * 16));
            *(void **)mine[n] = &mine[n];
            if (n % 3 == 0) {
                kolk_heap_free(&heap, mine[n]);
                mine[n] = NULL;
            }
        }
        for (uint32_t n = 0; n < EACH; n++) REQUIRE(!mine[n] || *(void **)mine[n] == &mine[n]); /* nobody else's */
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

static void test_threads(void **state) {
    pthread_t threads[THREADS];
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int n = 0; n < THREADS; n++) assert_int_equal(pthread_create(&threads[n], NULL, work, NULL), 0);
    for (int round = 0; round < 20; round++) {
        pthread_barrier_wait(&barrier);
        assert_int_equal(alive(), THREADS * (EACH - (EACH + 2) / 3));
        kolk_heap_reset(&heap);
        assert_int_equal(alive(), 0);
        pthread_barrier_wait(&barrier);
    }
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    pthread_barrier_destroy(&barrier);
    end_heap(&heap);
}

static void reset_in_a_child(void *unused) {
    kolk_heap_reset(&heap);
    REQUIRE(stats_of(&heap).count == 0 && kolk_heap_is_valid(&heap));
    for (uint32_t n = 0; n < MANY; n++) REQUIRE(kolk_heap_alloc(&heap, 64));
}

static void test_a_forks_child(void **state) {
    char text[1000];
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    fill();
    int status = run_child(reset_in_a_child, NULL, text, sizeof text);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) fail_msg("%s", text);
    assert_int_equal(alive(), MANY);
    reset();
    end_heap(&heap);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_again_and_again), DEBUG_TEST(test_memory_stays), DEBUG_TEST(test_each_number_of_lives),
        DEBUG_TEST(test_guarded_blocks),  DEBUG_TEST(test_threads),      DEBUG_TEST(test_a_forks_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
