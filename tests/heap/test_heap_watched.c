/* runs: not:qemu not:wine */
/* The first blocks of malloc's heap: each write beyond one of them, or to a freed one, is reported once and repaired;
 * correct programs see ordinary blocks. */
#include "../help/test.h"

#include "../help/threads.h"
#include "dies_at.h"
#include "heap_test.h"
#include "os/memory.h"

enum { MOST = 200 };

static kolk_heap heap;
static notes taken;

static void begin(void) {
    assert_int_equal(kolk_heap_init_for_malloc_(&heap, &(kolk_heap_desc){.name = "watched"}), KOLK_OK);
    assert_non_null(heap.root->nursery.watch);
    begin_notes(&taken);
}

static void end(void) {
    kolk_set_failure_handler(NULL, NULL);
    end_heap(&heap);
}

/* Returns a watched block, whatever has been watched so far. */
static unsigned char *take(size_t size) {
    heap.root->nursery.watches = UINT32_MAX;
    unsigned char *block = (unsigned char *)kolk_heap_alloc_watched_(&heap, size, NULL);
    assert_non_null(block);
    return block;
}

/* ---- Correct programs -------------------------------------------------------------------------------------------- */

static struct {
    unsigned char *start;
    size_t size;
} blocks[MOST];

static void check_block(unsigned i) {
    size_t size = blocks[i].size;
    assert_true(all_bytes_are(blocks[i].start, size, (unsigned char)(i + 1)));
    assert_in_range(kolk_heap_usable_size(&heap, blocks[i].start), size,
                    2 * size + 64); /* after a realloc, it may be larger */
}

/* Blocks of all sizes, some of them not watched, come and go; realloc moves and shrinks them. */
static void test_model(void **state) {
    uint64_t random = 1;
    begin();
    for (unsigned step = 0; step < (SLOW ? 3000u : 30000u); step++) {
        unsigned i = random_below(&random, MOST);
        size_t size = random_below(&random, random_below(&random, 20) ? 600 : KOLK_WATCHED_LARGEST_);
        if (!blocks[i].start) {
            blocks[i].start = random_below(&random, 4) ? take(size) : (unsigned char *)kolk_heap_alloc(&heap, size);
        } else if (random_below(&random, 3)) {
            check_block(i);
            kolk_heap_free(&heap, blocks[i].start);
            blocks[i].start = NULL;
            continue;
        } else {
            size_t kept = size < blocks[i].size ? size : blocks[i].size;
            blocks[i].start = (unsigned char *)kolk_heap_realloc(&heap, blocks[i].start, size);
            assert_true(all_bytes_are(blocks[i].start, kept, (unsigned char)(i + 1)));
        }
        blocks[i].size = size;
        memset(blocks[i].start, (int)i + 1, size);
        if (step % 100 == 0) assert_true(kolk_heap_is_valid(&heap));
    }
    unsigned count = 0, seen = 0;
    for (unsigned i = 0; i < MOST; i++) count += blocks[i].start != NULL;
    for (void *at = NULL; (at = kolk_heap_next(&heap, at));) seen++;
    assert_int_equal(seen, count);
    for (unsigned i = 0; i < MOST; i++) {
        if (blocks[i].start) check_block(i);
        kolk_heap_free(&heap, blocks[i].start);
        blocks[i].start = NULL;
    }
    assert_int_equal(taken.count, 0);
    end();
}

/* Exactly what was asked for is usable, so what lies behind can be verified. */
static void test_sizes(void **state) {
    begin();
    for (size_t size = 0; size < 1000; size++) {
        unsigned char *block = take(size);
        assert_int_equal(kolk_heap_usable_size(&heap, block), size ? size : 1);
        assert_true((uintptr_t)block % 16 == 0);
        assert_true(kolk_heap_is_live(&heap, block));
        kolk_heap_free(&heap, block);
        assert_true(all_bytes_are(block, size, 0));
        assert_false(kolk_heap_is_live(&heap, block));
    }
    assert_int_equal(taken.count, 0);
    end();
}

/* A few blocks of each doubling are watched, and no others. */
static void test_how_many(void **state) {
    begin();
    for (size_t size = 1; size <= KOLK_HEAP_LARGEST; size *= 2) {
        unsigned count = 0;
        for (; kolk_heap_watches_(&heap, size); count++) assert_non_null(kolk_heap_alloc_watched_(&heap, size, NULL));
        assert_in_range(count, 1, 16);
    }
    assert_false(kolk_heap_watches_(&heap, KOLK_HEAP_LARGEST + 1));
    end();
    kolk_heap plain;
    assert_int_equal(kolk_heap_init(&plain, &(kolk_heap_desc){.name = "plain"}), KOLK_OK);
    assert_null(plain.root->nursery.watch);
    assert_false(kolk_heap_watches_(&plain, 100));
    end_heap(&plain);
}

/* The records of both nurseries count, and a block that waits is not alive. */
static void test_statistics(void **state) {
    begin();
    assert_int_equal(stats_of(&heap).bytes_committed, 2 * KOLK_LEAF_);
    kolk_heap_free(&heap, take(100));
    kolk_stats stats = stats_of(&heap);
    assert_true(stats.count == 0 && stats.peak == 1 && stats.capacity == 1);
    assert_int_equal(stats.bytes_committed, (2 + heap.root->nursery.watch->leaves) * KOLK_LEAF_);
    end();
}

/* A freed block is not the next one, also if that is smaller. */
static void test_no_reuse_at_once(void **state) {
    begin();
    for (size_t size = 2; size <= KOLK_HEAP_LARGEST; size = size * 5 / 4 + 1) {
        unsigned char *first = take(size);
        kolk_heap_free(&heap, first);
        unsigned char *next = take(size / 2), *third = take(size);
        assert_true(next != first && third != first);
        kolk_heap_free(&heap, next);
        kolk_heap_free(&heap, third);
    }
    assert_int_equal(taken.count, 0);
    end();
}

enum { THREADS = 4, SHARED = 40 };

static uintptr_t shared[SHARED];
static uint32_t threads_begun;

static void *exchange_blocks(void *unused) {
    uint64_t mine = kolk_fetch_add_(&threads_begun, 1, KOLK_RELAXED_) + 1;
    for (unsigned n = 0; n < (SLOW ? 500u : 5000u); n++) {
        size_t size = 16 + random_below(&mine, 2000);
        kolk_store_(&heap.root->nursery.watches, UINT32_MAX, KOLK_RELAXED_);
        unsigned char *block = (unsigned char *)kolk_heap_alloc_watched_(&heap, size, NULL);
        if (!block) abort();
        memset(block, (int)size, size);
        uintptr_t *place = &shared[random_below(&mine, SHARED)];
        unsigned char *other = (unsigned char *)kolk_exchange_(place, (uintptr_t)block, KOLK_ACQ_REL_);
        if (!other) continue;
        size_t usable = kolk_heap_usable_size(&heap, other);
        if (!all_bytes_are(other, usable, (unsigned char)usable)) abort();
        kolk_heap_free(&heap, other);
    }
    return NULL;
}

/* Each block is freed by any thread; nobody is suspected. */
static void test_threads(void **state) {
    begin();
    run_threads(THREADS, exchange_blocks, NULL, 0);
    for (unsigned n = 0; n < SHARED; n++) kolk_heap_free(&heap, (void *)shared[n]);
    assert_null(kolk_heap_next(&heap, NULL));
    assert_int_equal(taken.count, 0);
    end();
}

/* ---- Mistakes ---------------------------------------------------------------------------------------------------- */

static const size_t sizes[] = {0, 1, 8, 16, 24, 100, 1000, 4096, 20000, KOLK_WATCHED_LARGEST_};

static void assert_damage(kolk_status rule, const void *block, const char *sentence) {
    assert_noted(&taken, rule, "watched", block, UINT32_MAX, sentence);
    assert_true(kolk_heap_is_valid(&heap));
    kolk_heap_free(&heap, take(50));
    kolk_heap_free(&heap, take(50));
    assert_int_equal(taken.count, 0); /* it was repaired */
}

/* The next alloc finds what the newest block did, and the block's free what an older one did. */
static void test_overflow(void **state) {
    begin();
    for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
        for (unsigned way = 0; way < 4; way++) {
            char sentence[100];
            snprintf(sentence, sizeof sentence, "kolk: watched: overflow of a block of %zu bytes", sizes[i]);
            unsigned char *block = take(sizes[i]), *other = way < 2 ? NULL : take(30);
            if (way >= 2) kolk_heap_free(&heap, take(10));
            memset(block, 7, sizes[i]);
            size_t slack = kolk_own_size_(kolk_own_class_(sizes[i] + 8)) - sizes[i];
            size_t at = way % 2 && slack > 47 ? 39 : 0; /* as far behind as the pattern goes */
            block[sizes[i] + at] ^= 1;
            kolk_heap_free(&heap, way == 0 ? take(100) : way == 1 ? NULL : block);
            if (way == 1) kolk_heap_free(&heap, take(10));
            if (slack > 8) {
                assert_damage(KOLK_OVERFLOW, block, sentence);
            } else {
                assert_int_equal(taken.count, 1);
                assert_int_equal(taken.last.rule, KOLK_OVERFLOW);
                taken.count = 0;
            }
            if (way < 2) kolk_heap_free(&heap, block);
            kolk_heap_free(&heap, other);
        }
    }
    assert_int_equal(taken.count, 0);
    end();
}

static void test_underflow(void **state) {
    begin();
    for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
        for (unsigned with_neighbour = 0; with_neighbour < 2; with_neighbour++) {
            unsigned char *neighbour = with_neighbour ? take(40) : NULL, *block = take(sizes[i]);
            block[-1] ^= 1;
            kolk_heap_free(&heap, block);
            assert_int_equal(taken.count, 1);
            assert_int_equal(taken.last.rule, KOLK_UNDERFLOW);
            assert_ptr_equal(taken.last.object, block);
            taken.count = 0;
            kolk_heap_free(&heap, neighbour);
            kolk_heap_free(&heap, take(1));
            assert_true(kolk_heap_is_valid(&heap));
        }
    }
    assert_int_equal(taken.count, 0);
    end();
}

/* The margin before a run's first block is verified as a whole. */
static void test_underflow_of_the_first(void **state) {
    for (int at = -40; at < 0; at++) {
        begin();
        unsigned char *block = take(100);
        block[at < -8 ? at - 8 : at] ^= 1;
        take(10);
        assert_noted(&taken, KOLK_UNDERFLOW, "watched", block, UINT32_MAX,
                     "kolk: watched: underflow of a block of 100 bytes");
        end();
    }
}

static void test_write_after_free(void **state) {
    begin();
    for (size_t i = 1; i < LENGTH_OF(sizes); i++) {
        char sentence[100];
        snprintf(sentence, sizeof sentence, "kolk: watched: write after free to a block of %zu bytes", sizes[i]);
        unsigned char *block = take(sizes[i]);
        kolk_heap_free(&heap, block);
        *block = 1;
        kolk_heap_free(&heap, take(10)); /* the next alloc looks at its first bytes */
        assert_damage(KOLK_WRITE_AFTER_FREE, block, sentence);
        block = take(sizes[i]);
        unsigned char *above = take(10);
        kolk_heap_free(&heap, block);
        block[sizes[i] - 1] = 1;
        kolk_heap_free(&heap, above); /* the next free looks at all of them */
        assert_damage(KOLK_WRITE_AFTER_FREE, block, sentence);
    }
    end();
}

/* A block that has taken a freed one's place is verified when it takes it. */
static void test_write_before_reuse(void **state) {
    begin();
    unsigned char *block = take(100), *above = take(100);
    kolk_heap_free(&heap, block);
    kolk_heap_free(&heap, take(500));
    block[50] = 1;
    assert_ptr_equal(take(100), block);
    assert_damage(KOLK_WRITE_AFTER_FREE, block, "kolk: watched: write after free to a block of 100 bytes");
    kolk_heap_free(&heap, block);
    kolk_heap_free(&heap, above);
    end();
}

static void test_far_behind(void **state) {
    begin();
    unsigned char *block = take(8);
    block[40] = 1; /* beyond the block's end, where nothing was placed yet */
    kolk_heap_free(&heap, block);
    assert_damage(KOLK_OVERFLOW, block, "kolk: watched: overflow of a block of 8 bytes");
    end();
}

static void test_double_free(void **state) {
    begin();
    for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
        unsigned char *block = take(sizes[i]);
        kolk_heap_free(&heap, block);
        for (unsigned n = 0; n < 3; n++) {
            kolk_heap_free(&heap, block);
            assert_noted(&taken, KOLK_DOUBLE_FREE, "watched", block, UINT32_MAX,
                         "kolk: watched: double free of a block");
            kolk_heap_free(&heap, take(sizes[i] + 100 * n));
        }
        block = take(sizes[i]);
        kolk_heap_free(&heap, block + 1);
        assert_noted(&taken, KOLK_INTERIOR_POINTER, "watched", block + 1, UINT32_MAX,
                     "kolk: watched: free of a pointer into a block, at byte 1 of it");
        kolk_heap_free(&heap, block);
    }
    end();
}

/* ---- Blocks with pages of their own ------------------------------------------------------------------------------ */

static void test_apart(void **state) {
    size_t page = kolk_memory_page_();
    begin();
    for (size_t size = KOLK_WATCHED_LARGEST_ + 1; size <= KOLK_HEAP_LARGEST; size = size * 3 / 2) {
        unsigned char *block = take(size), *end_of_it = block + kolk_heap_usable_size(&heap, block);
        assert_in_range(end_of_it - block, size, size + 15);
        assert_true(all_bytes_are(block, size, 0));
        assert_true(dies_at(end_of_it) && dies_at(block - page));
        memset(block, 7, size);
        assert_true(kolk_heap_is_valid(&heap));
        block = (unsigned char *)kolk_heap_realloc(&heap, block, size + 5000);
        assert_true(all_bytes_are(block, size, 7));
        kolk_heap_free(&heap, block);
        block = take(size);
        kolk_heap_free(&heap, block);
        assert_true(dies_at(block) && dies_at(block + size - 1));
        kolk_heap_free(&heap, block);
        assert_int_equal(taken.count, 1);
        taken.count = 0;
    }
    end();
}

int main(void) {
    if (sizeof(void *) < 8) return 0; /* there are no heaps on 32-bit machines */
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_how_many),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_no_reuse_at_once),
        cmocka_unit_test(test_threads),
        TEST(test_overflow),
        TEST(test_underflow),
        TEST(test_underflow_of_the_first),
        TEST(test_write_after_free),
        TEST(test_write_before_reuse),
        TEST(test_far_behind),
        TEST(test_double_free),
        TEST(test_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
