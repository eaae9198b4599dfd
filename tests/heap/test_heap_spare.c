/* runs: not:qemu not:wine with: src wraps: heap/counted_memory.h kolk_now_ns_ */
/* The pages of freed large blocks that a heap keeps for the next ones. */
#include "../help/test.h"

#include "heap/heap_inside.h"

#include "counted_memory.h"
#include "dies_at.h"
#include "heap_test.h"

#define MIB ((size_t)1 << 20)

static kolk_spares_ spares;
static size_t page;

int64_t __wrap_kolk_now_ns_(void);
static int64_t now;

static int64_t hiding; /* how long the clock says that hiding pages takes, in ns */

int64_t __wrap_kolk_now_ns_(void) {
    int64_t read = now;
    now += hiding;
    return read;
}

static int begin(void **state) {
    page = kolk_memory_page_();
    memset(&spares, 0, sizeof spares);
    memset(&memory, 0, sizeof memory);
    now = 0;
    hiding = 0;
    return 0;
}

/* Maps `n` pages, and writes to each of them its number, counted from `first`. */
static unsigned char *mapped(size_t n, unsigned first) {
    unsigned char *start = (unsigned char *)kolk_memory_map_(n * page);
    assert_non_null(start);
    for (size_t i = 0; i < n; i++) start[i * page] = (unsigned char)(first + i);
    return start;
}

static void put(unsigned char *start, size_t pages, size_t most) {
    kolk_spares_put_(&spares, start, pages * page, false, most * page);
}

static unsigned char *taken(size_t pages) {
    return (unsigned char *)kolk_spares_take_(&spares, pages * page);
}

static void assert_kept(size_t pages) {
    assert_int_equal(kolk_spares_bytes_(&spares), pages * page);
}

/* For spares that were pieces of one mapping. */
static void end_pieces(void *mapping, size_t pages) {
    kolk_spares_expire_(&spares, INT64_MAX);
    assert_kept(0);
    kolk_memory_release_(mapping, pages * page);
}

static void end(void) {
    kolk_spares_expire_(&spares, INT64_MAX);
    assert_kept(0);
    assert_int_equal(memory.held, 0);
}

/* ---- Put and take ------------------------------------------------------------------------------------------------ */

static void test_pages_keep_their_contents(void **state) {
    unsigned char *start = mapped(3, 7);
    put(start, 3, 3);
    assert_kept(3);
    assert_ptr_equal(taken(3), start);
    for (unsigned i = 0; i < 3; i++) assert_int_equal(start[i * page], 7 + i);
    start[0] = 1; /* they can be written again */
    assert_kept(0);
    assert_null(taken(1));
    kolk_memory_release_(start, 3 * page);
    end();
}

static void test_spares_are_inaccessible(void **state) {
    unsigned char *start = mapped(2, 0);
    put(start, 2, 2);
    assert_true(dies_at(start + page));
    end();
}

static void test_the_smallest_that_is_large_enough(void **state) {
    unsigned char *gap = mapped(40, 0); /* pieces that are no neighbours */
    put(gap + 1 * page, 2, 40);
    put(gap + 10 * page, 6, 40);
    put(gap + 20 * page, 9, 40);
    assert_kept(17);
    assert_ptr_equal(taken(5), gap + 10 * page);
    assert_kept(12);
    assert_ptr_equal(taken(1), gap + 15 * page); /* the rest of it */
    assert_null(taken(10));
    assert_ptr_equal(taken(7), gap + 20 * page);
    assert_ptr_equal(taken(2), gap + 1 * page);
    end_pieces(gap, 40);
}

static void test_neighbours_become_one(void **state) {
    const unsigned turns[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < LENGTH_OF(turns); i++) {
        unsigned char *start = mapped(6, 0);
        for (unsigned n = 0; n < 3; n++) put(start + turns[i][n] * 2 * page, 2, 6);
        assert_kept(6);
        assert_ptr_equal(taken(6), start);
        for (unsigned n = 0; n < 6; n++) assert_int_equal(start[n * page], n);
        kolk_memory_release_(start, 6 * page);
    }
    end();
}

/* promise: "They are inaccessible ... the time on that." */
static void test_hiding_takes_a_part_of_the_time(void **state) {
    unsigned char *all = mapped(1000, 0);
    hiding = 1000000;
    unsigned hidden = 0;
    for (size_t n = 0; n < 1000; n++) {
        put(all + n * page, 1, 1000);
        hidden += dies_at(all + n * page);
        assert_ptr_equal(taken(1), all + n * page);
        all[n * page] = 1; /* it is accessible again */
    }
    assert_in_range(hidden, now / hiding / 32, now / hiding / 32 + 20 / 32 + 1);
    hiding = 0;
    now += 1000000000;
    put(all, 1, 1000);
    assert_true(dies_at(all));
    end_pieces(all, 1000);
}

/* A part of the spare is inaccessible. */
static void test_neighbours_of_which_one_is_hidden(void **state) {
    unsigned char *all = mapped(4, 3);
    put(all, 2, 4);
    assert_true(dies_at(all));
    spares.spent = INT64_MAX;
    put(all + 2 * page, 2, 4);
    assert_false(dies_at(all + 2 * page));
    assert_ptr_equal(taken(4), all);
    for (unsigned n = 0; n < 4; n++) assert_int_equal(all[n * page]++, 3 + n);
    kolk_spares_put_(&spares, all, 4 * page, true, 4 * page); /* as if a page were inaccessible already */
    assert_true(dies_at(all));
    spares.spent = 0;
    end();
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

static void test_no_more_bytes_than_allowed(void **state) {
    put(mapped(3, 0), 3, 5);
    now = 1;
    put(mapped(3, 0), 3, 5);
    assert_int_equal(memory.held, 3 * page);
    now = 2;
    put(mapped(2, 0), 2, 5);
    assert_kept(5);
    put(mapped(9, 0), 9, 5);
    put(mapped(1, 0), 1, 0);
    assert_kept(5);
    assert_int_equal(memory.held, 5 * page);
    put(mapped(1, 0), 1, 5); /* the one of 3 is the oldest */
    assert_kept(3);
    end();
}

static void test_the_oldest_makes_room(void **state) {
    unsigned char *all = mapped(1000, 0);
    for (size_t n = 0; n < KOLK_SPARES_; n++) {
        now = n == 5 ? 0 : (int64_t)n + 1;
        put(all + n * 10 * page, n == 5 ? 3 : 2, 1000);
    }
    now = 100;
    assert_kept(2 * KOLK_SPARES_ + 1);
    put(all + 500 * page, 1, 1000);
    assert_kept(2 * KOLK_SPARES_ - 1);
    put(all + 600 * page, 4, 1000);
    assert_kept(2 * KOLK_SPARES_ + 1);
    assert_int_equal(memory.held, 995 * page);
    end_pieces(all, 1000);
}

static void test_spares_expire(void **state) {
    unsigned char *all = mapped(40, 0);
    put(all, 3, 99);
    now = KOLK_SPARE_TIME_ - 1;
    put(all + 10 * page, 2, 99);
    assert_kept(5);
    now = KOLK_SPARE_TIME_;
    put(all + 20 * page, 1, 99);
    assert_kept(3);
    assert_int_equal(memory.held, 37 * page);
    assert_int_equal(kolk_spares_expire_(&spares, KOLK_SPARE_TIME_ - 1), 2 * page);
    assert_kept(1);
    end_pieces(all, 40);
}

static void test_pages_that_cannot_be_committed(void **state) {
    put(mapped(3, 0), 3, 3);
    refuse_call(1);
    assert_null(taken(1));
    assert_kept(2);
    assert_int_equal(memory.held, 2 * page);
    end();
}

/* ---- In a heap --------------------------------------------------------------------------------------------------- */

static uint64_t committed(kolk_heap *heap) {
    assert_true(kolk_heap_is_valid(heap));
    return stats_of(heap).bytes_committed;
}

static void test_a_heap_keeps_pages(void **state) {
    static kolk_heap heap;
    for (int limited = 0; limited < 2; limited++) {
        make_heap(&heap, &(kolk_heap_desc){.limit = limited ? 100 * MIB : 0});
        uint64_t before = committed(&heap);
        unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, 5 * MIB);
        memset(block, 0xaa, 5 * MIB);
        kolk_heap_free(&heap, block);
        assert_int_equal(committed(&heap) - before, limited ? 0 : 5 * MIB);
        unsigned char *again = (unsigned char *)kolk_heap_alloc(&heap, 4 * MIB);
        if (!limited) assert_ptr_equal(again, block);
        kolk_heap_free(&heap, again);
        again = (unsigned char *)kolk_heap_alloc_zeroed(&heap, 6 * MIB);
        for (size_t at = 0; at < 6 * MIB; at += page) assert_int_equal(again[at], 0);
        kolk_heap_free(&heap, again);
        kolk_heap_trim(&heap);
        assert_int_equal(committed(&heap), before);
        kolk_heap_deinit(&heap);
    }
}

/* Blocks one after the other, each too large for the pages of those before: all of these together would be more than
 * the heap ever had at a time. promise: "Pages of freed ... keeps none" */
static void test_no_more_bytes_than_ever(void **state) {
    static kolk_heap heap;
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    uint64_t before = committed(&heap);
    for (size_t size = MIB; size <= 9 * MIB; size = 2 * size + MIB / 4) {
        kolk_heap_free(&heap, kolk_heap_alloc(&heap, size));
        assert_in_range(committed(&heap) - before, MIB, size < 4 * MIB ? 4 * MIB : size);
    }
    kolk_heap_deinit(&heap);
}

/* If the system refuses memory, the spare pages are released first. promise: "Pages of freed ... keeps none" */
static void test_spares_make_way(void **state) {
    static kolk_heap heap;
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 5 * MIB));
    assert_int_equal(kolk_spares_bytes_(&heap.inside->large.spares), 5 * MIB);
    refuse_call(1);
    void *block = kolk_heap_alloc(&heap, 50 * MIB);
    assert_non_null(block);
    assert_int_equal(kolk_spares_bytes_(&heap.inside->large.spares), 0);
    refuse_call(1);
    assert_null(kolk_heap_alloc(&heap, 50 * MIB)); /* nothing is left to release */
    refuse_call(0);
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 5 * MIB));
    memory.no_resize = true;
    refuse_call(1);
    assert_non_null(kolk_heap_realloc(&heap, block, 60 * MIB));
    memory.no_resize = false;
    kolk_heap_deinit(&heap);
}

#define SPARES_TEST(name) cmocka_unit_test_setup_teardown(name, begin, abort_on_failure)

int main(void) {
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {
        SPARES_TEST(test_pages_keep_their_contents),
        SPARES_TEST(test_spares_are_inaccessible),
        SPARES_TEST(test_the_smallest_that_is_large_enough),
        SPARES_TEST(test_neighbours_become_one),
        SPARES_TEST(test_hiding_takes_a_part_of_the_time),
        SPARES_TEST(test_neighbours_of_which_one_is_hidden),
        SPARES_TEST(test_no_more_bytes_than_allowed),
        SPARES_TEST(test_the_oldest_makes_room),
        SPARES_TEST(test_spares_expire),
        SPARES_TEST(test_pages_that_cannot_be_committed),
        SPARES_TEST(test_a_heap_keeps_pages),
        SPARES_TEST(test_no_more_bytes_than_ever),
        SPARES_TEST(test_spares_make_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
