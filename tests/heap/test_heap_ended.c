/* runs: not:qemu not:wine 64-bits with: src wraps: heap/counted_memory.h kolk_now_ns_ */
/* The memory of ended heaps that the process keeps for the next ones. */
#include "../help/test.h"

#include "heap/heap_inside.h"

#include "../help/require.h"
#include "counted_memory.h"
#include "dies_at.h"
#include "heap_test.h"

#include <pthread.h>
#include <sys/resource.h>

#define MIB ((size_t)1 << 20)

enum { SIZE = 40960, MOST = 300 }; /* a size that only its class serves, and not the nursery */

static kolk_heap heap, other;
static size_t before; /* bytes that were reserved before the test */
static uint8_t shift; /* of the addresses of a class of the heaps that begin; 0: as usual */

int64_t __wrap_kolk_now_ns_(void);
static int64_t now;

int64_t __wrap_kolk_now_ns_(void) {
    return now;
}

static void begin_heap(kolk_heap *which) {
    assert_int_equal(kolk_heap_init(which, &(kolk_heap_desc){.name = "level"}), KOLK_OK);
    which->root->shift = shift;
}

static void fill(kolk_heap *which, unsigned char **blocks, unsigned n, size_t size) {
    for (unsigned i = 0; i < n; i++) {
        assert_non_null(blocks[i] = (unsigned char *)kolk_heap_alloc(which, size));
        memset(blocks[i], 0xaa, size);
    }
}

/* A heap with n live blocks of this size begins and ends. */
static void live_and_end(unsigned n, size_t size) {
    static unsigned char *blocks[MOST];
    begin_heap(&heap);
    fill(&heap, blocks, n, size);
    end_heap(&heap);
}

static int begin(void **state) {
    kolk_ended_expire_(INT64_MAX);
    memset(&memory, 0, sizeof memory);
    now = 100 * KOLK_ENDED_TIME_;
    begin_heap(&heap); /* reserves the leaves' addresses */
    end_heap(&heap);
    before = memory.held;
    shift = 0;
    return 0;
}

static bool keeps_any(void) {
    return memory.held != before;
}

/* ---- Reuse ------------------------------------------------------------------------------------------------------- */

/* promise: "when a heap with classes ends", "They stay accessible" */
static void test_the_next_heap_takes_them(void **state) {
    unsigned char *blocks[20], *again[20];
    begin_heap(&heap);
    fill(&heap, blocks, 20, SIZE);
    size_t alive = memory.held;
    end_heap(&heap);
    assert_true(keeps_any());
    for (unsigned turn = 0; turn < 3; turn++) {
        begin_heap(&heap);
        for (unsigned i = 0; i < 20; i++) {
            assert_non_null(again[i] = (unsigned char *)kolk_heap_alloc(&heap, SIZE));
            assert_ptr_equal(again[i], blocks[i]);
            assert_true(all_bytes_are(again[i], SIZE, 0xaa)); /* the same pages, in memory */
        }
        assert_int_equal(memory.held, alive);
        fill(&heap, again, 20, SIZE); /* more than there were */
        end_heap(&heap);
    }
}

/* With a different number of addresses, blocks and records would have other places. */
static void test_only_the_same_size(void **state) {
    shift = 27;
    live_and_end(1, SIZE);
    shift = 0;
    size_t held = memory.held;
    begin_heap(&heap);
    assert_non_null(kolk_heap_alloc(&heap, SIZE));
    assert_in_range(memory.held, held + heap.inside->space_size, SIZE_MAX);
    end_heap(&heap);
}

/* Some blocks have old pages, and others new ones. promise: "the first `size` bytes of the block are 0" */
static void test_zeroed_blocks(void **state) {
    for (size_t size = 1000; size <= KOLK_HEAP_LARGEST; size *= 3) {
        live_and_end(MOST, size);
        begin_heap(&heap);
        for (unsigned i = 0; i < 2 * MOST; i++) {
            void *zeroed = kolk_heap_alloc_zeroed(&heap, size);
            assert_true(zeroed && all_bytes_are(zeroed, size, 0));
            if (i < 9) kolk_heap_free(&heap, memset(zeroed, 0xaa, size));
        }
        end_heap(&heap);
        kolk_ended_expire_(INT64_MAX);
    }
}

/* A block of an ended heap is no block of the next one, which has its address. */
static void test_old_blocks_are_refused(void **state) {
    unsigned char *blocks[9];
    notes taken;
    begin_heap(&heap);
    fill(&heap, blocks, 9, SIZE);
    end_heap(&heap);
    begin_notes(&taken);
    begin_heap(&heap);
    for (unsigned makes_class = 0; makes_class < 2; makes_class++) {
        if (makes_class) assert_ptr_equal(kolk_heap_alloc(&heap, SIZE), blocks[0]);
        for (unsigned i = 1; i < 9; i++) {
            assert_false(kolk_heap_is_live(&heap, blocks[i]));
            kolk_heap_free(&heap, blocks[i]);
            kolk_heap_free(&heap, blocks[i] + 16);
            assert_int_equal(kolk_heap_usable_size(&heap, blocks[i]), 0);
            assert_null(kolk_heap_realloc(&heap, blocks[i], 1));
            assert_int_equal(taken.count, 4);
            taken.count = 0;
            assert_true(all_bytes_are(blocks[i], SIZE, 0xaa));
        }
    }
    assert_int_equal(stats_of(&heap).count, 1);
    end_heap(&heap);
    kolk_heap_free(&heap, blocks[0]); /* the heap is all zero */
    assert_noted(&taken, KOLK_FOREIGN_POINTER, "", blocks[0], UINT32_MAX,
                 "kolk: a pool without a name: free of a pointer that belongs to a heap that has ended");
    kolk_set_failure_handler(NULL, NULL);
}

/* The blocks of the ended heap were free, resting and gone. */
static void test_free_blocks(void **state) {
    unsigned char *blocks[MOST];
    begin_heap(&heap);
    fill(&heap, blocks, MOST, SIZE);
    for (unsigned i = 0; i < MOST; i += 2) kolk_heap_free(&heap, blocks[i]);
    kolk_heap_trim(&heap);
    for (unsigned i = 1; i < MOST; i += 4) kolk_heap_free(&heap, blocks[i]);
    end_heap(&heap);
    begin_heap(&heap);
    for (unsigned i = 0; i < MOST; i++) {
        assert_non_null(blocks[i] = (unsigned char *)kolk_heap_alloc(&heap, SIZE));
        memset(blocks[i], (int)i, SIZE);
    }
    for (unsigned i = 0; i < MOST; i++) assert_true(all_bytes_are(blocks[i], SIZE, (unsigned char)i));
    end_heap(&heap);
}

/* Pages that the heap has released before its end do not count. */
static void test_pages_that_are_gone(void **state) {
    static unsigned char *blocks[MOST];
    begin_heap(&heap);
    fill(&heap, blocks, MOST, MIB / 4);
    for (unsigned i = 1; i < MOST; i++) kolk_heap_free(&heap, blocks[i]);
    kolk_heap_trim(&heap);
    end_heap(&heap);
    assert_in_range(kolk_ended_expire_(INT64_MAX), MIB / 4, 2 * MIB);
}

/* A heap that has had only large blocks has no pages for others. */
static void test_no_pages(void **state) {
    begin_heap(&heap);
    assert_non_null(kolk_heap_alloc(&heap, MIB));
    end_heap(&heap);
    assert_false(keeps_any());
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

/* promise: "at most 64 MiB of blocks, and of at most eight heaps" */
static void test_no_more_bytes_than_allowed(void **state) {
    _Static_assert(KOLK_ENDED_BYTES_ == 64 << 20 && KOLK_ENDED_ == 8, "");
    live_and_end(255, MIB / 4);
    assert_true(keeps_any());
    assert_int_equal(kolk_ended_expire_(INT64_MAX), 255 * MIB / 4);
    assert_false(keeps_any());
    live_and_end(257, MIB / 4);
    assert_false(keeps_any());
    unsigned char *blocks[MOST];
    begin_heap(&other);
    fill(&other, blocks, 100, MIB / 4);
    live_and_end(157, MIB / 4);
    size_t held = memory.held;
    assert_true(keeps_any());
    end_heap(&other);
    assert_in_range(memory.held, before + 1, held - 1);
    assert_int_equal(kolk_ended_expire_(INT64_MAX), 157 * MIB / 4);
}

static void test_no_more_heaps_than_allowed(void **state) {
    static kolk_heap heaps[KOLK_ENDED_ + 1];
    unsigned char *block;
    for (unsigned i = 0; i <= KOLK_ENDED_; i++) begin_heap(&heaps[i]);
    for (unsigned i = 0; i <= KOLK_ENDED_; i++) fill(&heaps[i], &block, 1, SIZE);
    for (unsigned i = 0; i <= KOLK_ENDED_; i++) end_heap(&heaps[i]);
    assert_int_equal(kolk_ended_expire_(INT64_MAX), KOLK_ENDED_ * SIZE);
    assert_false(keeps_any());
}

/* Begins a heap that never gets pages of others. */
static void begin_apart(void) {
    static const kolk_heap_class trays[] = {{.size = 64}};
    assert_int_equal(kolk_heap_init(&other, &(kolk_heap_desc){.classes = trays, .n_classes = 1}), KOLK_OK);
}

static void test_they_expire_when_another_begins(void **state) {
    live_and_end(1, SIZE);
    now += KOLK_ENDED_TIME_ - 1;
    begin_apart();
    end_heap(&other);
    assert_true(keeps_any());
    now += 1;
    begin_apart();
    end_heap(&other);
    assert_false(keeps_any());
}

static void test_they_expire_when_another_ends(void **state) {
    unsigned char *block;
    begin_heap(&other);
    fill(&other, &block, 1, SIZE);
    live_and_end(5, SIZE);
    now += KOLK_ENDED_TIME_;
    end_heap(&other);
    assert_int_equal(kolk_ended_expire_(INT64_MAX), SIZE); /* only that of `other` */
    assert_false(keeps_any());
}

static void test_they_expire_in_a_sweep(void **state) {
    begin_apart();
    live_and_end(1, SIZE);
    size_t held = memory.held;
    now += KOLK_ENDED_TIME_;
    for (unsigned i = 0; i < 10000; i++) assert_non_null(kolk_heap_alloc(&other, 64));
    assert_in_range(memory.held, before + 1, held - 1);
    end_heap(&other);
    assert_false(keeps_any());
}

/* A heap that begins gets even older ones: it needs them now. */
static void test_old_ones_are_taken(void **state) {
    live_and_end(1, SIZE);
    size_t held = memory.held;
    now += 5 * KOLK_ENDED_TIME_;
    begin_heap(&heap);
    assert_non_null(kolk_heap_alloc(&heap, SIZE));
    end_heap(&heap);
    assert_int_equal(memory.held, held);
}

/* promise: "Once no heap has needed half ... begins or ends"
 * If heaps need less than half of the pages for a second, these are released. */
static void test_pages_that_are_not_needed(void **state) {
    live_and_end(10, SIZE);
    now += KOLK_ENDED_TIME_ / 2;
    live_and_end(5, SIZE);
    now += KOLK_ENDED_TIME_ / 2;
    live_and_end(4, SIZE);
    assert_true(keeps_any());
    assert_int_equal(kolk_ended_expire_(INT64_MIN), 0);
    now += KOLK_ENDED_TIME_ / 2;
    live_and_end(4, SIZE);
    assert_false(keeps_any());
}

/* ---- Return ------------------------------------------------------------------------------------------------------ */

static size_t trim_other(void) {
    return kolk_heap_trim(&other);
}

static size_t trim_as_malloc(void) {
    return kolk_heap_trim_now_(&other, false);
}

/* promise: "until kolk_heap_trim or kolk_trim_all", "pages that were kept of freed ... heaps all count" */
static void test_trims(void **state) {
    size_t (*const trims[])(void) = {trim_other, trim_as_malloc, kolk_trim_all};
    for (unsigned grown = 0; grown < 2; grown++) {
        for (size_t i = 0; i < LENGTH_OF(trims); i++) {
            begin_heap(&other);
            if (grown) assert_non_null(kolk_heap_alloc(&other, SIZE));
            size_t held = memory.held;
            live_and_end(50, SIZE);
            assert_true(memory.held > held);
            assert_in_range(trims[i](), 50 * SIZE, SIZE_MAX);
            assert_int_equal(memory.held, held);
            end_heap(&other);
        }
    }
}

static void test_kolk_is_unloaded(void **state) {
    live_and_end(1, SIZE);
    kolk_leaves_end_();
    assert_int_equal(kolk_ended_expire_(INT64_MAX), 0);
}

/* Ends a heap with many pages, and begins one that needs only those of one block. */
static unsigned char *begin_small(void) {
    unsigned char *blocks[MOST], *block;
    begin_heap(&heap);
    fill(&heap, blocks, 100, MIB / 4);
    fill(&heap, blocks, 100, SIZE);
    end_heap(&heap);
    begin_heap(&heap);
    fill(&heap, &block, 1, SIZE);
    return block;
}

static void end_small(unsigned char *block) {
    assert_true(all_bytes_are(block, SIZE, 0xaa));
    for (unsigned i = 0; i < 120; i++) {
        unsigned char *zeroed = (unsigned char *)kolk_heap_alloc_zeroed(&heap, i % 2 ? SIZE : MIB / 4);
        assert_true(zeroed && all_bytes_are(zeroed, i % 2 ? SIZE : MIB / 4, 0));
        memset(zeroed, 0xbb, SIZE);
    }
    assert_true(all_bytes_are(block, SIZE, 0xaa));
    end_heap(&heap);
}

/* A heap has pages of an ended one that it does not need. */
static void test_a_heap_trims_what_it_took(void **state) {
    unsigned char *block = begin_small();
    assert_in_range(kolk_heap_trim(&heap), 99 * SIZE + 100 * MIB / 4, SIZE_MAX);
    assert_true(kolk_heap_is_valid(&heap));
    assert_int_equal(kolk_heap_trim(&heap), 0);
    end_small(block);
}

static void test_a_heap_sweeps_what_it_took(void **state) {
    unsigned char *block = begin_small();
    for (unsigned second = 0; second < 2; second++) {
        now += KOLK_ENDED_TIME_;
        for (unsigned i = 0; i < 10000; i++) assert_non_null(kolk_heap_alloc(&heap, 48));
    }
    assert_in_range(kolk_heap_trim(&heap), 0, MIB);
    end_small(block);
}

/* ---- Heaps that keep none ---------------------------------------------------------------------------------------- */

static void assert_apart(const kolk_heap_desc *desc) {
    unsigned char *block;
    live_and_end(10, SIZE);
    assert_int_equal(kolk_heap_init(&other, desc), KOLK_OK);
    fill(&other, &block, 1, SIZE);
    kolk_heap_free(&other, block);
    kolk_heap_deinit(&other);
    assert_true(dies_at(block));
    assert_int_equal(kolk_ended_expire_(INT64_MAX), 10 * SIZE); /* those of the first heap */
}

/* promise: "A heap with settings, with classes ... of its blocks crashes" */
static void test_heaps_apart(void **state) {
    static const kolk_heap_class trays[] = {{.size = 64}, {.size = SIZE}};
    static kolk_heap parent;
    kolk_budget budget = {.limit = 0};
    assert_apart(&(kolk_heap_desc){.limit = MIB});
    assert_apart(&(kolk_heap_desc){.budget = &budget});
    assert_apart(&(kolk_heap_desc){.classes = trays, .n_classes = 2});
    static const char *const settings[] = {"fill", "guard", "sites", "sample=100"};
    for (size_t i = 0; i < LENGTH_OF(settings); i++) assert_apart(&(kolk_heap_desc){.name = "l", .debug = settings[i]});
    assert_int_equal(kolk_heap_init(&parent, &(kolk_heap_desc){.limit = MIB}), KOLK_OK);
    assert_apart(&(kolk_heap_desc){.parent = &parent});
    assert_int_equal(kolk_budget_used(&parent.root->own), 0);
    kolk_heap_deinit(&parent);
}

/* A child that ends with its parent keeps its pages as others do. */
static void test_children_keep_them(void **state) {
    unsigned char *block;
    begin_heap(&heap);
    assert_int_equal(kolk_heap_init(&other, &(kolk_heap_desc){.parent = &heap}), KOLK_OK);
    fill(&other, &block, 1, SIZE);
    end_heap(&heap);
    assert_true(all_bytes_are(&other, sizeof other, 0));
    assert_int_equal(kolk_ended_expire_(INT64_MAX), SIZE);
}

static void end_with_few_addresses(void *unused) {
    setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)1 << 46, (rlim_t)1 << 46});
    live_and_end(1, SIZE);
    if (keeps_any()) abort();
}

/* promise: "So does any heap where addresses are limited" */
static void test_few_addresses(void **state) {
    char text[1000];
    int status = run_child(end_with_few_addresses, NULL, text, sizeof text);
    if (status) fail_msg("the child died: %s", text);
}

/* Settings that are made after the init concern the classes that are made afterwards. With red zones, fewer blocks fit
 * into few addresses than there were. */
static void test_settings_that_come_late(void **state) {
    static const char *const settings[] = {"fill,guard", "sites", "guard:level/40960"};
    for (size_t i = 0; i < LENGTH_OF(settings); i++) {
        unsigned char *blocks[90];
        notes taken;
        shift = i % 2 ? 0 : 22;
        live_and_end(99, SIZE);
        begin_heap(&heap);
        fill(&heap, blocks, 1, MIB / 4);
        setenv("KOLK_DEBUG", settings[i], 1);
        begin_notes(&taken);
        fill(&heap, blocks, LENGTH_OF(blocks), SIZE);
        assert_non_null(heap.inside->trays[kolk_heap_class_at_(&heap, blocks[0])].store.debug);
        assert_true(kolk_heap_is_valid(&heap));
        for (unsigned n = 0; n < LENGTH_OF(blocks); n += 2) kolk_heap_free(&heap, blocks[n]);
        assert_silent(&taken);
        unsetenv("KOLK_DEBUG");
        end_heap(&heap);
        kolk_set_failure_handler(NULL, NULL);
        assert_false(keeps_any());
        assert_true(dies_at(blocks[1]));
    }
}

/* ---- Where memory is short --------------------------------------------------------------------------------------- */

/* promise: "make way if the system refuses"
 * The system refuses one call; then the kept pages are released, and it is tried again. */
static void test_they_make_way(void **state) {
    begin_apart();
    size_t usual = other.class_shift;
    end_heap(&other);
    for (unsigned n = 1; n <= 3; n++) { /* the third one of an init reserves the addresses */
        live_and_end(1, SIZE);
        refuse_call(n);
        begin_apart();
        refuse_call(0);
        assert_int_equal(other.class_shift, usual);
        assert_int_equal(kolk_ended_expire_(INT64_MAX), 0);
        if (n < 3) end_heap(&other);
    }
    live_and_end(1, SIZE);
    refuse_call(1);
    assert_non_null(kolk_heap_alloc(&other, 50 * MIB));
    refuse_call(0);
    assert_int_equal(kolk_ended_expire_(INT64_MAX), 0);
    end_heap(&other);
    live_and_end(1, SIZE);
    begin_heap(&heap);
    refuse_call(1);
    assert_non_null(kolk_heap_alloc(&heap, SIZE)); /* its first class */
    refuse_call(0);
    assert_int_equal(kolk_ended_expire_(INT64_MAX), 0);
    end_heap(&heap);
}

/* Neither a limit nor a full class that refuses a block needs pages of others. */
static void test_limits_leave_them(void **state) {
    assert_int_equal(kolk_heap_init(&other, &(kolk_heap_desc){.limit = MIB}), KOLK_OK);
    live_and_end(3, SIZE);
    assert_null(kolk_heap_alloc(&other, 2 * MIB));
    while (kolk_heap_alloc(&other, SIZE)) {}
    assert_int_equal(kolk_ended_expire_(INT64_MAX), 3 * SIZE);
    end_heap(&other);
    static const kolk_heap_class trays[] = {{.size = SIZE, .capacity = 9, .when_full = KOLK_HEAP_NULL}};
    assert_int_equal(kolk_heap_init(&other, &(kolk_heap_desc){.classes = trays, .n_classes = 1}), KOLK_OK);
    live_and_end(3, SIZE);
    while (kolk_heap_alloc(&other, SIZE)) {}
    assert_int_equal(kolk_ended_expire_(INT64_MAX), 3 * SIZE);
    end_heap(&other);
}

/* The system refuses more memory for a class that is not full. */
static void test_a_class_that_cannot_grow(void **state) {
    static const kolk_heap_class trays[] = {{.size = SIZE, .max_capacity = 99, .when_full = KOLK_HEAP_NULL}};
    assert_int_equal(kolk_heap_init(&other, &(kolk_heap_desc){.classes = trays, .n_classes = 1}), KOLK_OK);
    live_and_end(3, SIZE);
    refuse_call(1);
    assert_non_null(kolk_heap_alloc(&other, SIZE)); /* the class is made */
    assert_int_equal(kolk_ended_expire_(INT64_MAX), 0);
    refuse_call(0);
    live_and_end(3, SIZE);
    unsigned n = 1;
    for (size_t held = memory.held; memory.held == held && n < 99; n++) {
        refuse_call(1);
        assert_non_null(kolk_heap_alloc(&other, SIZE));
    }
    assert_in_range(n, 2, 98);
    refuse_call(0);
    end_heap(&other);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void *begin_and_end(void *number) {
    unsigned char mine = (unsigned char)(uintptr_t)number;
    for (unsigned turn = 0; turn < 300; turn++) {
        kolk_heap own;
        unsigned char *blocks[30];
        REQUIRE(kolk_heap_init(&own, &(kolk_heap_desc){.name = "own"}) == KOLK_OK);
        for (unsigned i = 0; i < 30; i++) {
            REQUIRE(blocks[i] = (unsigned char *)kolk_heap_alloc_zeroed(&own, 33000 + turn % 7 * 5000));
            REQUIRE(all_bytes_are(blocks[i], 33000, 0));
            memset(blocks[i], mine, 33000);
        }
        for (unsigned i = 0; i < 30; i++) REQUIRE(all_bytes_are(blocks[i], 33000, mine));
        kolk_heap_deinit(&own);
        if (turn % 50 == mine) kolk_trim_all();
    }
    return NULL;
}

static void test_threads(void **state) {
    pthread_t threads[3];
    for (uintptr_t n = 0; n < 3; n++) assert_int_equal(pthread_create(&threads[n], NULL, begin_and_end, (void *)n), 0);
    for (unsigned n = 0; n < 3; n++) pthread_join(threads[n], NULL);
}

#define ENDED_TEST(name) cmocka_unit_test_setup_teardown(name, begin, abort_on_failure)

int main(void) {
    END_IF_IT_HANGS();
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {
        ENDED_TEST(test_the_next_heap_takes_them),
        ENDED_TEST(test_only_the_same_size),
        ENDED_TEST(test_zeroed_blocks),
        ENDED_TEST(test_old_blocks_are_refused),
        ENDED_TEST(test_free_blocks),
        ENDED_TEST(test_no_pages),
        ENDED_TEST(test_pages_that_are_gone),
        ENDED_TEST(test_no_more_bytes_than_allowed),
        ENDED_TEST(test_no_more_heaps_than_allowed),
        ENDED_TEST(test_they_expire_when_another_begins),
        ENDED_TEST(test_they_expire_when_another_ends),
        ENDED_TEST(test_they_expire_in_a_sweep),
        ENDED_TEST(test_old_ones_are_taken),
        ENDED_TEST(test_pages_that_are_not_needed),
        ENDED_TEST(test_trims),
        ENDED_TEST(test_kolk_is_unloaded),
        ENDED_TEST(test_a_heap_trims_what_it_took),
        ENDED_TEST(test_a_heap_sweeps_what_it_took),
        ENDED_TEST(test_heaps_apart),
        ENDED_TEST(test_children_keep_them),
        ENDED_TEST(test_few_addresses),
        ENDED_TEST(test_settings_that_come_late),
        ENDED_TEST(test_they_make_way),
        ENDED_TEST(test_limits_leave_them),
        ENDED_TEST(test_a_class_that_cannot_grow),
        ENDED_TEST(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
