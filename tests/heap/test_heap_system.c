/* runs: not:qemu not:wine */
/* The heap and the system around it: little address space, tools that watch malloc, pages that are never touched. */
#include "../help/test.h"

#include "heap/heap_inside.h"
#include "os/memory.h"

#include "../help/child.h"
#include "heap_test.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

static kolk_heap heap;

/* ---- Little address space ---------------------------------------------------------------------------------------- */

/* Runs in a child that may have `more` further bytes of address space: an empty heap must leave a quarter of them
 * free. */
static int test_with_addresses(size_t more) {
    char text[100] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || !fgets(text, sizeof text, file)) return 1;
    size_t most = strtoul(text, NULL, 10) * kolk_memory_page_() + more;
    setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
    if (kolk_memory_addresses_() != most) return 2;
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = NULL}) != KOLK_OK) return 3;
    for (size_t size = 1; size <= 4 * KOLK_HEAP_LARGEST; size *= 2)
        if (!kolk_heap_alloc(&heap, size)) return 4;
    void *rest = kolk_memory_reserve_(more / 4);
    return rest ? 0 : 5;
}

static void test_few_addresses(void **state) {
    if (SLOW || emulator() || sizeof(void *) < 8) skip();
    for (size_t more = (size_t)64 << 20; more <= (size_t)4 << 30; more *= 2) {
        pid_t child = fork();
        if (child == 0) _exit(test_with_addresses(more));
        await_child(child);
    }
}

/* The reserved address space is as large as heap.h states.
 * promise: "16 GiB for the leaves ... GiB for kolk's own classes", "a class gets at most 2.2 times the limit" */
static void test_addresses(void **state) {
    if (SLOW || emulator() || sizeof(void *) < 8) skip();
    make_heap(&heap, &(kolk_heap_desc){.name = NULL});
    assert_in_range(heap.inside->space_size, 1, UINT64_C(416) << 30);
    end_heap(&heap);
    for (uint64_t limit = 1 << 20; limit <= 1 << 30; limit = limit * 5 / 4) {
        make_heap(&heap, &(kolk_heap_desc){.limit = limit});
        assert_in_range(heap.inside->space_size, heap.n_classes * limit, heap.n_classes * limit * 22 / 10);
        end_heap(&heap);
    }
}

/* ---- A heap that serves malloc ----------------------------------------------------------------------------------- */

static void test_for_malloc(void **state) {
    if (sizeof(void *) < 8) skip();
    setenv("KOLK_BYPASS", "1", 1);
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.name = "level"}), KOLK_OK);
    assert_int_equal(heap.n_classes, 0);
    for (unsigned n = 0; n < 100; n++) { /* it is zeroed, whatever malloc's memory held */
        unsigned char *zeroed = (unsigned char *)kolk_heap_alloc_zeroed(&heap, 1000);
        assert_true(zeroed && all_bytes_are(zeroed, 1000, 0));
        memset(zeroed, 0xee, 1000);
        if (n % 3) kolk_heap_free(&heap, zeroed);
    }
    kolk_heap_deinit(&heap);
    assert_int_equal(kolk_heap_init_for_malloc_(&heap, &(kolk_heap_desc){.name = "level"}), KOLK_OK);
    unsetenv("KOLK_BYPASS");
    leave_nursery(&heap);
    assert_int_not_equal(heap.n_classes, 0);
    assert_false(heap.inside->large.from_malloc);
    void *block = kolk_heap_alloc(&heap, 100);
    assert_true(kolk_heap_class_at_(&heap, block) < heap.n_classes);
    end_heap(&heap);
}

/* ---- Memory that is committed ------------------------------------------------------------------------------------ */

/* The size in bytes of all writable pages of this process: mlockall makes them resident, and core dumps contain
 * them. */
static size_t writable_bytes(void) {
    unsigned long size, resident, shared, text, library, data = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu %lu %lu %lu %lu", &size, &resident, &shared, &text, &library, &data), 6);
    fclose(file);
    return data * kolk_memory_page_();
}

/* Its blocks never come from malloc, not even under a tool. */
static void make_heap_for_malloc(void) {
    if (sizeof(void *) < 8) skip();
    assert_int_equal(kolk_heap_init_for_malloc_(&heap, &(kolk_heap_desc){.name = NULL}), KOLK_OK);
    leave_nursery(&heap);
}

/* A block of each class commits only the memory of a few blocks per class and of their metadata.
 * promise: "Memory is committed as it is used" */
static void test_commits_as_it_is_used(void **state) {
    if (SLOW || emulator() || sizeof(void *) < 8) skip();
    make_heap_for_malloc();
    size_t before = writable_bytes(), blocks = 0, page = kolk_memory_page_();
    for (uint32_t n = 0; n < heap.n_classes; n++) {
        assert_non_null(kolk_heap_alloc(&heap, heap.inside->sizes[n]));
        blocks += kolk_heap_store_of_(&heap, (void *)(heap.base + ((uintptr_t)n << heap.class_shift)))->depot.usable *
                  (size_t)heap.inside->sizes[n];
    }
    assert_in_range(writable_bytes() - before, blocks, blocks + heap.n_classes * 3 * page);
    kolk_heap_trim(&heap); /* trim uses sets of free slots */
    assert_in_range(writable_bytes() - before, blocks, blocks + heap.n_classes * 3 * page);
    end_heap(&heap);
}

static uintptr_t page_with(const void *at) {
    return (uintptr_t)at / kolk_memory_page_();
}

/* The records of the first thousand blocks of a class, and of the thread's free ones, are in one page. With more
 * blocks, they grow in both directions. promise: "1 byte and 4 ... takes one page" */
static void test_metadata_share_a_page(void **state) {
    enum { MANY = 100000, SIZE = 16 };
    static void *blocks[MANY];
    make_heap_for_malloc();
    for (uint32_t n = 0; n < heap.n_classes; n++) {
        assert_non_null(kolk_heap_alloc(&heap, heap.inside->sizes[n]));
        const kolk_slot_store_ *store = &heap.inside->trays[n].store;
        uint32_t slots = store->depot.usable, last = (slots < 1000 ? slots : 1000) - 1;
        uintptr_t page = page_with(store->short_lives);
        assert_int_equal(page_with(&store->short_lives[last]), page);
        assert_int_equal(page_with(kolk_slot_set_word_(&store->depot.free, 0)), page);
        assert_int_equal(page_with(kolk_slot_set_word_(&store->depot.free, 63)), page);
        for (unsigned set = 0; set < CLASS_SETS; set++)
            assert_int_equal(page_with(kolk_slot_set_word_(&store->sets[set], 63)), page);
        uint64_t metadata = kolk_store_committed_(store) - (uint64_t)slots * store->stride;
        if (slots <= 1000)
            assert_in_range(metadata, 0, 3 * kolk_memory_page_()); /* slots share two pages with nobody */
    }
    for (int i = 0; i < MANY; i++) assert_non_null(blocks[i] = kolk_heap_alloc(&heap, SIZE));
    assert_true(kolk_heap_is_valid(&heap));
    for (int i = 0; i < MANY; i++) kolk_heap_free(&heap, blocks[i * 37 % MANY]);
    assert_true(kolk_heap_is_valid(&heap));
    kolk_heap_trim(&heap); /* all sets have been in use */
    const kolk_slot_store_ *store = &heap.inside->trays[0].store;
    uint64_t words = kolk_bits_words_(store->depot.fresh), gone = kolk_slot_set_count_(&store->sets[GONE], words);
    assert_true(gone >= MANY - MANY / 8);
    assert_true(gone + kolk_slot_set_count_(&store->sets[EDGE], words) >= MANY);
    for (int i = 0; i < MANY; i++) assert_non_null(blocks[i] = kolk_heap_alloc(&heap, SIZE));
    end_heap(&heap);
}

/* Returns how many bytes free leaves keep after most of 3,000 blocks of a nursery have been freed and the heap has
 * swept. The nursery keeps only the leaves with the other blocks. */
static size_t bytes_of_leaves_after_a_sweep(bool serves_malloc) {
    static void *blocks[3000];
    kolk_heap_desc desc = {.name = NULL};
    assert_int_equal(serves_malloc ? kolk_heap_init_for_malloc_(&heap, &desc) : kolk_heap_init(&heap, &desc), KOLK_OK);
    for (unsigned i = 0; i < LENGTH_OF(blocks); i++)
        memset(blocks[i] = kolk_heap_alloc(&heap, 100 + i % 300), 7, 100 + i % 300);
    for (unsigned i = 0; i < LENGTH_OF(blocks); i++)
        if (i % 100) kolk_heap_free(&heap, blocks[i]);
    leave_nursery(&heap);
    assert_in_range(heap.root->nursery.leaves, 500, 1000);
    heap.inside->swept = 0; /* the last sweep was long ago */
    for (unsigned i = 0; i < LENGTH_OF(blocks); i++) assert_non_null(blocks[i] = kolk_heap_alloc(&heap, 5000));
    assert_int_not_equal(heap.inside->swept, 0);
    assert_in_range(heap.root->nursery.leaves, 30, 100);
    size_t bytes = kolk_leaves_trim_(true);
    end_heap(&heap);
    return bytes;
}

/* Free leaves keep their memory for other heaps, of which there are none beside malloc's. */
static void test_leaves_of_malloc(void **state) {
    if (SLOW || emulator() || sizeof(void *) < 8) skip();
    assert_in_range(bytes_of_leaves_after_a_sweep(false), 100 << 10, 4 << 20);
    assert_int_equal(bytes_of_leaves_after_a_sweep(true), 0);
}

/* ---- What a thread caches ---------------------------------------------------------------------------------------- */

/* Allocates and frees `count` blocks of a class. Returns how many free ones the thread cached at most. */
static uint32_t most_cached(uint32_t n, uint32_t count) {
    static void *blocks[2000];
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) assert_non_null(blocks[i] = kolk_heap_alloc(&heap, heap.inside->sizes[n]));
    for (uint32_t i = 0; i < count; i++) {
        kolk_heap_free(&heap, blocks[i]);
        uint32_t top = kolk_heap_near_(&heap)->magazines[n]->top;
        if (top > most) most = top;
    }
    return most;
}

/* The most bytes of free blocks that a thread caches, by class and of kolk's own classes together.
 * promise: "a thread caches at most 256 ... 64th of that" */
static void test_most_that_a_thread_caches(void **state) {
    uint64_t all = 0;
    make_heap_for_malloc();
    for (uint32_t n = 0; n < heap.n_classes; n++) {
        uint32_t size = heap.inside->sizes[n], most = most_cached(n, 2000);
        assert_in_range(most, 1, size <= 4096 && 65536 / size < 64 ? 64 : size < 65536 ? 65536 / size : 1);
        if (size <= 4096) assert_in_range(most, 64, 256);
        all += (uint64_t)most * size;
    }
    assert_in_range(all, 3 << 20, 4400000);
    end_heap(&heap);
}

/* Of a class with a max_capacity, a thread caches at most a 64th. */
static void test_most_that_a_thread_caches_of_a_tray(void **state) {
    static const kolk_heap_class trays[] = {{.size = 64, .max_capacity = 6400}, {.size = 80, .max_capacity = 100}};
    if (sizeof(void *) < 8) skip();
    setenv("KOLK_BYPASS", "0", 1);
    make_heap(&heap, &(kolk_heap_desc){.classes = trays, .n_classes = LENGTH_OF(trays)});
    for (uint32_t n = 0; n < heap.n_classes; n++)
        assert_int_equal(most_cached(n, n ? 100 : 2000), trays[n].max_capacity / 64);
    unsetenv("KOLK_BYPASS");
    end_heap(&heap);
}

/* ---- Pages that nobody touches ----------------------------------------------------------------------------------- */

static void test_large_zeroed_is_not_touched(void **state) {
    if (SLOW || emulator() || sizeof(void *) < 8) skip();
    make_heap(&heap, &(kolk_heap_desc){.name = NULL});
    size_t page = kolk_memory_page_(), size = 100 * page + KOLK_HEAP_LARGEST;
    unsigned char *block = (unsigned char *)kolk_heap_alloc_zeroed(&heap, size), states[1];
    assert_non_null(block);
    for (size_t at = 0; at < size; at += page) {
        assert_int_equal(mincore(block + at, page, states), 0);
        assert_int_equal(states[0] & 1, 0);
    }
    assert_true(all_bytes_are(block, size, 0));
    end_heap(&heap);
}

/* A zeroed alloc does not touch a block that was never used. It zeroes one that was. */
static void test_zeroed_is_not_touched(void **state) {
    enum { BLOCKS = 100 };
    if (SLOW || emulator() || sizeof(void *) < 8) skip();
    make_heap(&heap, &(kolk_heap_desc){.name = NULL});
    size_t page = kolk_memory_page_();
    for (size_t size = 17000; size <= KOLK_HEAP_LARGEST; size = size * 2 - 1000) {
        unsigned char *blocks[BLOCKS], states[2 * KOLK_HEAP_LARGEST / 4096];
        size_t touched = 0;
        for (unsigned i = 0; i < BLOCKS; i++) {
            blocks[i] = (unsigned char *)kolk_heap_alloc_zeroed(&heap, size);
            assert_non_null(blocks[i]);
            uintptr_t first = (uintptr_t)blocks[i] / page * page, end = (uintptr_t)blocks[i] + size;
            assert_int_equal(mincore((void *)first, end - first, states), 0);
            for (size_t n = 0; n < (end - first + page - 1) / page; n++) touched += states[n] & 1;
        }
        assert_int_equal(touched, 0);
        for (unsigned round = 0; round < 300; round++) { /* more lives than one byte counts */
            assert_true(all_bytes_are(blocks[0], size, 0));
            memset(blocks[0], 7, round % 50 ? 100 : size);
            kolk_heap_free(&heap, blocks[0]);
            blocks[0] = (unsigned char *)kolk_heap_alloc_zeroed(&heap, size);
        }
        for (unsigned i = 0; i < BLOCKS; i++) memset(blocks[i], 7, size);
        for (unsigned i = 0; i < BLOCKS; i++) kolk_heap_free(&heap, blocks[i]);
        for (unsigned i = 0; i < BLOCKS; i++) assert_true(all_bytes_are(kolk_heap_alloc_zeroed(&heap, size), size, 0));
    }
    end_heap(&heap);
}

/* A byte counts a slot's lives. It wraps outside the fast path, and even then the slot does not count as never used. */
static void test_zeroed_after_many_lives(void **state) {
    if (sizeof(void *) < 8) skip();
    enum { SIZE = 20000 };
    make_heap(&heap, &(kolk_heap_desc){.name = NULL});
    for (unsigned lives = 1; lives < 300; lives += lives < 120 ? 17 : 1) {
        for (unsigned n = 0; n < lives; n++) {
            unsigned char *block = (unsigned char *)kolk_heap_alloc_aligned(&heap, 1, SIZE);
            assert_non_null(block);
            memset(block, 7, SIZE);
            kolk_heap_free_slow_(&heap, block, NULL);
        }
        unsigned char *zeroed = (unsigned char *)kolk_heap_alloc_zeroed(&heap, SIZE);
        assert_true(zeroed && all_bytes_are(zeroed, SIZE, 0));
        kolk_heap_free_slow_(&heap, zeroed, NULL);
    }
    end_heap(&heap);
}

/* ---- Blocks that shrink ------------------------------------------------------------------------------------------ */

static uint64_t large_bytes(void) {
    kolk_heap_class_stats of;
    assert_true(kolk_heap_stats_of_class(&heap, heap.n_classes, &of));
    return of.stats.bytes_committed;
}

/* A shrinking large block releases its surplus pages, however few, and lowers its share of the limit. */
static void test_large_gives_back_its_end(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.limit = 100 << 20});
    static const size_t sizes[] = {40 << 20, 39 << 20, (size_t)21 << 20, 30 << 20, 300000, 299999, 262144, 150000};
    size_t page = heap.n_classes ? kolk_memory_page_() : 1; /* in bypass, blocks have exactly their size */
    unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, sizes[0]);
    assert_non_null(block);
    for (size_t i = 1; i < LENGTH_OF(sizes); i++) {
        size_t least = sizes[i] < sizes[i - 1] ? sizes[i] : sizes[i - 1], bytes = (sizes[i] + page - 1) / page * page;
        memset(block, (int)i, sizes[i - 1]);
        block = (unsigned char *)kolk_heap_realloc(&heap, block, sizes[i]);
        assert_true(block && all_bytes_are(block, least, (unsigned char)i));
        assert_int_equal(kolk_heap_usable_size(&heap, block), bytes);
        assert_int_equal(large_bytes(), bytes);
        assert_int_equal(kolk_budget_used(&heap.root->own), bytes);
    }
    kolk_heap_free(&heap, block);
    assert_int_equal(large_bytes(), 0);
    end_heap(&heap);
}

int __asan_address_is_poisoned(const volatile void *byte) __attribute__((weak));

/* When a block from malloc shrinks, as under tools, the bytes beyond its new size are watched from then on. */
static void test_shrinks_under_a_tool(void **state) {
    setenv("KOLK_BYPASS", "1", 1);
    make_heap(&heap, &(kolk_heap_desc){.name = NULL});
    unsetenv("KOLK_BYPASS");
    unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, 100);
    assert_non_null(block);
    memset(block, 5, 100);
    for (size_t size = 99; size > 50; size -= 7) {
        block = (unsigned char *)kolk_heap_realloc(&heap, block, size);
        assert_true(block && all_bytes_are(block, size, 5));
        assert_int_equal(kolk_heap_usable_size(&heap, block), size);
        if (__asan_address_is_poisoned) assert_true(__asan_address_is_poisoned(block + size));
    }
    end_heap(&heap);
}

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_addresses),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_for_malloc),
        cmocka_unit_test(test_commits_as_it_is_used),
        cmocka_unit_test(test_metadata_share_a_page),
        cmocka_unit_test(test_leaves_of_malloc),
        cmocka_unit_test(test_most_that_a_thread_caches),
        cmocka_unit_test(test_most_that_a_thread_caches_of_a_tray),
        cmocka_unit_test(test_large_zeroed_is_not_touched),
        cmocka_unit_test(test_zeroed_is_not_touched),
        cmocka_unit_test(test_zeroed_after_many_lives),
        cmocka_unit_test(test_large_gives_back_its_end),
        cmocka_unit_test(test_shrinks_under_a_tool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
