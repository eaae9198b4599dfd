/* runs: sample:clang not:qemu */
/* Tests each promise of heap.h in turn. Random work is in test_heap_model.c, threads are in test_heap_threads.c, and
 * large blocks on their own are in test_heap_large.c. */
#include "../help/test.h"

#include "heap/heap_fast.h"
#include "heap/heap_inside.h"
#include "heap_test.h"

#include <sys/mman.h>
#include <time.h>

static kolk_heap heap;

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

/* Sizes around those of kolk's own classes, and some larger ones. */
static size_t size_around(unsigned n) {
    size_t quarter = n / 3 % 4, doubling = n / 12;
    return ((size_t)16 << doubling) / 4 * (4 + quarter) + n % 3 - 1;
}

#define SIZES (12 * 16)

/* promise: "up to 64 bytes has at most 15 bytes more", "16 bytes; alloc_aligned gives any power of two", "Returns a
 * block ... set to KOLK_HEAP_NULL", "Returns how many bytes ... result is then 0" */
static void test_every_size(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    for (unsigned n = 0; n < SIZES; n++) {
        size_t size = size_around(n);
        unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, size);
        assert_non_null(block);
        size_t usable = kolk_heap_usable_size(&heap, block);
        assert_in_range(usable, size, SIZE_MAX);
        assert_int_equal((uintptr_t)block % 16, 0);
        if (size && size <= 64) assert_in_range(usable - size, 0, 15);
        if (size > 64 && size <= KOLK_HEAP_LARGEST) assert_in_range((usable - size) * 5, 0, usable);
        memset(block, 0xa5, usable);
        assert_true(kolk_heap_is_live(&heap, block));
        if (n % 2) kolk_heap_free(&heap, block);
    }
    end_heap(&heap);
}

/* A magazine that has slots serves all sizes of its class on the fast path. */
static void test_small_sizes_are_at_hand(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    for (size_t size = 0; size <= KOLK_HEAP_BY_SIZE_; size++) {
        uint32_t n = kolk_heap_class_for_(&heap, size);
        if (kolk_heap_near_(&heap)->magazines[n]->top == 0) assert_non_null(kolk_heap_alloc(&heap, size));
        const kolk_heap_thread_ *thread = kolk_heap_near_(&heap);
        uint32_t top = thread->magazines[n]->top;
        assert_non_null(take_at_hand(&heap, thread, size));
        assert_int_equal(thread->magazines[n]->top, top - 1);
    }
    end_heap(&heap);
}

static void test_too_large(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    void *block = kolk_heap_alloc(&heap, 1000);
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 4080, SIZE_MAX / 2, SIZE_MAX / 2 + 40, SIZE_MAX / 4 + 40};
    uint64_t tries = 0;
    for (unsigned n = 0; n < LENGTH_OF(sizes); n++) {
        for (unsigned less = 0; less < 40; less++) { /* rounded up, some of these wrap */
            size_t size = sizes[n] - less;
            assert_null(kolk_heap_alloc(&heap, size));
            assert_null(kolk_heap_alloc_zeroed(&heap, size));
            for (size_t align = 1; align != 0; align *= 2, tries++) {
                assert_null(kolk_heap_alloc_aligned(&heap, align, size));
                if (align > SIZE_MAX / 4) assert_null(kolk_heap_alloc_aligned(&heap, align, less)), tries++;
            }
            assert_null(kolk_heap_realloc(&heap, block, size));
            void *one = NULL;
            assert_int_equal(kolk_heap_alloc_n(&heap, size, &one, 1), 0);
            tries += 4;
        }
    }
    assert_true(kolk_heap_is_live(&heap, block));
    assert_int_equal(stats_of(&heap).failed, tries);
    end_heap(&heap);
}

/* ---- Realloc ----------------------------------------------------------------------------------------------------- */

/* promise: "It stays where ... alignment of alloc_aligned" */
static void test_resizing(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    void *block = kolk_heap_alloc(&heap, size_around(SIZES));
    for (unsigned n = SIZES; n-- > 1;) {
        size_t size = size_around(n);
        block = kolk_heap_realloc(&heap, block, size);
        assert_in_range(kolk_heap_usable_size(&heap, block), size, size <= 32 ? 64 : size * 2 + 8192);
    }
    kolk_heap_free(&heap, block);
    block = kolk_heap_alloc(&heap, 200);
    assert_ptr_equal(kolk_heap_realloc(&heap, block, 224), block); /* same class, so it stays */
    assert_ptr_equal(kolk_heap_realloc(&heap, block, 113), block); /* it stays, because it is more than half full */
    assert_ptr_not_equal(kolk_heap_realloc(&heap, block, 225), block);
    end_heap(&heap);
}

/* ---- Bugs of the caller ------------------------------------------------------------------------------------------ */

/* promise: "free, realloc ... reported to the failure handler", "Frees a block ... caller and is reported" */
static void test_misuse(void **state) {
    kolk_heap other;
    notes taken;
    char local[100];
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    make_heap(&other, &(kolk_heap_desc){.name = "other"});
    void *first = kolk_heap_alloc(&heap, 100), *block = kolk_heap_alloc(&heap, 100);
    void *large = kolk_heap_alloc(&heap, 1000000), *others = kolk_heap_alloc(&other, 1000000);
    kolk_heap_free(&heap, block);
    begin_notes(&taken);
    for (int i = 0; i < 3; i++) {
        kolk_heap_free(&heap, block);
        assert_noted(&taken, KOLK_DOUBLE_FREE, "level/112", block, 1, "kolk: level/112: double free of slot 1");
        assert_int_equal(kolk_heap_usable_size(&heap, block), 0);
        assert_noted(&taken, KOLK_DEAD_OBJECT, "level/112", block, 1,
                     "kolk: level/112: usable_size of slot 1, which is free");
        assert_null(kolk_heap_realloc(&heap, block, 10));
        assert_noted(&taken, KOLK_DEAD_OBJECT, "level/112", block, 1,
                     "kolk: level/112: realloc of slot 1, which is free");
        kolk_heap_free(&heap, moved(first, 16));
        assert_noted(&taken, KOLK_INTERIOR_POINTER, "level/112", moved(first, 16), 0,
                     "kolk: level/112: free of a pointer into slot 0, at byte 16 of it");
        kolk_heap_free(&heap, moved(first, 112 * 100));
        assert_noted(&taken, KOLK_NEVER_ISSUED, "level/112", moved(first, 112 * 100), 100,
                     "kolk: level/112: free of slot 100, which was never handed out");
        kolk_heap_free(&heap, local);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "level", (void *)local, UINT32_MAX,
                     "kolk: level: free of a pointer that does not belong to this heap");
        kolk_heap_free(&heap, others);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "level", others, UINT32_MAX,
                     "kolk: level: free of a pointer that belongs to the heap other");
        kolk_heap_free(&heap, moved(large, 4096));
        assert_noted(&taken, KOLK_INTERIOR_POINTER, "level", moved(large, 4096), UINT32_MAX,
                     "kolk: level: free of a pointer into a large block, at byte 4096 of it");
        kolk_heap_free(&heap, moved(heap.inside, (ptrdiff_t)0));
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "level", (void *)heap.inside, UINT32_MAX,
                     "kolk: level: free of a pointer that does not belong to this heap");
        kolk_heap_free(&heap, NULL);
        assert_int_equal(kolk_heap_usable_size(&heap, NULL), 0);
        assert_silent(&taken);
        assert_true(kolk_heap_is_valid(&heap));
    }
    kolk_heap_free(&heap, large);
    kolk_heap_free(&heap, large);
    assert_noted(&taken, KOLK_FOREIGN_POINTER, "level", large, UINT32_MAX,
                 "kolk: level: free of a pointer that does not belong to this heap");
    assert_ptr_not_equal(kolk_heap_alloc(&heap, 100), first);
    end_heap(&heap);
    end_heap(&other);
}

/* promise: "A zero-initialised heap has no memory" */
static void test_all_zero(void **state) {
    kolk_heap zero = {0};
    notes taken;
    int local;
    begin_notes(&taken);
    assert_null(kolk_heap_alloc(&zero, 10));
    assert_null(kolk_heap_alloc(&zero, 10000));
    assert_null(kolk_heap_alloc_zeroed(&zero, 10));
    assert_null(kolk_heap_alloc_aligned(&zero, 64, 10));
    assert_null(kolk_heap_realloc(&zero, NULL, 10));
    assert_null(kolk_heap_next(&zero, NULL));
    assert_int_equal(kolk_heap_alloc_n(&zero, 5000, &(void *){NULL}, 1), 0);
    assert_int_equal(kolk_heap_trim(&zero), 0);
    kolk_heap_reset(&zero);
    kolk_heap_free(&zero, NULL);
    assert_silent(&taken);
    kolk_heap_free(&zero, &local);
    assert_noted(&taken, KOLK_FOREIGN_POINTER, "", (void *)&local, UINT32_MAX,
                 "kolk: a pool without a name: free of a pointer that does not belong to this heap");
    assert_true(kolk_heap_is_valid(&zero));
    kolk_heap_deinit(&zero);
}

/* ---- Walks, statistics, limits, trays ---------------------------------------------------------------------------- */

/* promise: "Returns the next ... NULL ends it", "bug of the caller; the result is NULL" */
static void test_walk(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    for (unsigned i = 1; i < SIZES; i++) assert_non_null(kolk_heap_alloc(&heap, size_around(i)));
    notes taken;
    begin_notes(&taken);
    void *into = moved(kolk_heap_next(&heap, NULL), 1);
    assert_null(kolk_heap_next(&heap, into));
    assert_true(taken.count == 1 && taken.last.rule == KOLK_INTERIOR_POINTER && taken.last.object == into);
    assert_string_equal(stats_of(&heap).kind, "heap");
    for (void *at = NULL; (at = kolk_heap_next(&heap, at));) kolk_heap_free(&heap, at); /* a walk goes on behind them */
    assert_int_equal(stats_of(&heap).count, 0);
    end_heap(&heap);
}

/* promise: "NULL: the heap's name, a slash, and the size", "the bytes that sampled allocs ... counts to 65,535",
 * "n == n_classes ... all have the heap's name" */
static void test_class_stats(void **state) {
    kolk_heap_class_stats of;
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    assert_false(kolk_heap_stats_of_class(&heap, 3, &of));
    assert_string_equal(of.stats.name, "level/64");
    assert_int_equal(of.stats.object_size, 64);
    for (int i = 0; i < 100; i++) assert_non_null(kolk_heap_alloc(&heap, 56));
    assert_true(kolk_heap_stats_of_class(&heap, 3, &of));
    assert_int_equal(of.stats.count, 100);
    assert_int_equal(of.given % 64, 0);
    assert_in_range(of.given, 64, 100 * 64);
    assert_int_equal(of.asked * 64, of.given * 56); /* all requests have the same size */
    assert_false(kolk_heap_stats_of_class(&heap, heap.n_classes, &of));
    kolk_heap_alloc(&heap, 1000000);
    assert_true(kolk_heap_stats_of_class(&heap, heap.n_classes, &of));
    assert_int_equal(of.stats.count, 1);
    assert_in_range(of.stats.bytes_committed, 1000000, 1010000);
    assert_false(kolk_heap_stats_of_class(&heap, heap.n_classes + 1, &of));
    end_heap(&heap);
}

static void test_class_names(void **state) {
    static const char *const names[][2] = {
        {"level", "level/262144"},
        {"a name of twenty ...", "a name of twenty .../262144"},
        {"a name that is much longer than those", "a name that is much longer than those"},
        {"", "/262144"},
        {NULL, ""},
    };
    for (unsigned n = 0; n < LENGTH_OF(names); n++) {
        kolk_heap_class_stats of;
        make_heap(&heap, &(kolk_heap_desc){.name = names[n][0]});
        assert_non_null(kolk_heap_alloc(&heap, KOLK_HEAP_LARGEST));
        assert_true(kolk_heap_stats_of_class(&heap, heap.n_classes - 1, &of));
        assert_string_equal(of.stats.name, names[n][1]);
        end_heap(&heap);
    }
}

/* promise: "it takes a block ... it returns NULL", "at most 2^30; rounded up to a multiple of 16" */
static void test_trays(void **state) {
    static const kolk_heap_class trays[] = {
        {.name = "pocket stuff", .size = 20, .capacity = 4, .when_full = KOLK_HEAP_NULL},
        {.name = "bags", .size = 500, .capacity = 2},
        {.size = 3000, .max_capacity = 3},
    };
    kolk_heap_class_stats of;
    make_heap(&heap, &(kolk_heap_desc){.name = "plane", .classes = trays, .n_classes = 3});
    assert_int_equal(heap.n_classes, 3);
    for (int i = 0; i < 4; i++) assert_int_equal(kolk_heap_usable_size(&heap, kolk_heap_alloc(&heap, 32)), 32);
    assert_null(kolk_heap_alloc(&heap, 1)); /* KOLK_HEAP_NULL is this class's policy */
    for (int i = 0; i < 2; i++) assert_int_equal(kolk_heap_usable_size(&heap, kolk_heap_alloc(&heap, 33)), 512);
    for (int i = 0; i < 3; i++) assert_int_equal(kolk_heap_usable_size(&heap, kolk_heap_alloc(&heap, 33)), 3008);
    assert_int_equal(kolk_heap_usable_size(&heap, kolk_heap_alloc(&heap, 33)) % 4096, 0); /* a large block */
    assert_true(kolk_heap_stats_of_class(&heap, 0, &of));
    assert_string_equal(of.stats.name, "pocket stuff");
    assert_int_equal(of.stats.count, 4);
    assert_true(kolk_heap_stats_of_class(&heap, 2, &of));
    assert_string_equal(of.stats.name, "plane/3008");
    end_heap(&heap);
}

/* promise: "in ascending ... class gets its own pages", "If the status ... takes no system call" */
static void test_bad_descriptors(void **state) {
    static const kolk_heap_class unsorted[] = {{.size = 100}, {.size = 30}}, same[] = {{.size = 17}, {.size = 32}};
    static const kolk_heap_class nothing[] = {{.size = 0}}, huge[] = {{.size = (size_t)2 << 30}};
    static const kolk_heap_class below[] = {{.size = 16, .capacity = 5, .max_capacity = 4}};
    static const kolk_heap_class wide[] = {{.size = 1 << 30, .max_capacity = 100}};
    static const struct {
        kolk_heap_desc desc;
        kolk_status status;
    } bad[] = {
        {{.classes = unsorted, .n_classes = 2}, KOLK_BAD_CLASSES},
        {{.classes = same, .n_classes = 2}, KOLK_BAD_CLASSES},
        {{.classes = same}, KOLK_BAD_CLASSES},
        {{.classes = same, .n_classes = 65}, KOLK_BAD_CLASSES},
        {{.classes = nothing, .n_classes = 1}, KOLK_ZERO_SIZE},
        {{.classes = huge, .n_classes = 1}, KOLK_SIZE_OVERFLOW},
        {{.classes = wide, .n_classes = 1}, sizeof(void *) < 8 ? KOLK_NO_MEMORY : KOLK_SIZE_OVERFLOW},
        {{.classes = below, .n_classes = 1}, KOLK_MAX_BELOW_CAPACITY},
    };
    for (unsigned n = 0; n < LENGTH_OF(bad); n++) {
        memset(&heap, 1, sizeof heap);
        assert_int_equal(kolk_heap_init(&heap, &bad[n].desc), bad[n].status);
        assert_true(all_bytes_are(&heap, sizeof heap, 0));
    }
    assert_int_equal(kolk_heap_init(&heap, NULL), KOLK_NO_DESCRIPTOR);
}

static void test_trim(void **state) {
    enum { BLOCKS = 10000 };
    static unsigned char *blocks[BLOCKS];
    for (unsigned every = 1; every <= BLOCKS; every *= 100) { /* every n-th block stays alive */
        make_heap(&heap, &(kolk_heap_desc){.name = "level"});
        for (unsigned i = 0; i < BLOCKS; i++) memset(blocks[i] = (unsigned char *)kolk_heap_alloc(&heap, 320), 7, 320);
        for (unsigned i = 0; i < BLOCKS; i++)
            if (i % every) kolk_heap_free(&heap, blocks[i]);
        size_t bytes = kolk_heap_trim(&heap);
        if (every == 1) assert_int_equal(bytes, 0);
        if (every > 1) assert_in_range(bytes, BLOCKS * 320 / 2, BLOCKS * 320);
        assert_true(kolk_heap_is_valid(&heap));
        for (unsigned i = 0; i < BLOCKS; i += every) assert_true(all_bytes_are(blocks[i], 320, 7));
        for (unsigned i = 0; i < BLOCKS; i++)
            if (i % every) memset(kolk_heap_alloc(&heap, 320), 9, 320);
        for (unsigned i = 0; i < BLOCKS; i += every) assert_true(all_bytes_are(blocks[i], 320, 7));
        end_heap(&heap);
    }
}

/* The number of bytes of these blocks that are backed by physical memory. */
static size_t resident(unsigned char *const *blocks, size_t n, size_t size) {
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char state;
        assert_int_equal(mincore((void *)((uintptr_t)blocks[i] / 4096 * 4096), 4096, &state), 0);
        bytes += (state & 1) * size;
    }
    return bytes;
}

/* Makes the last sweep look old, and makes the thread leave the fast path often enough to look at the clock, so that it
 * sweeps. */
static void let_a_second_pass(void) {
    static void *others[5000];
    heap.inside->swept = 0;
    for (unsigned i = 0; i < LENGTH_OF(others); i++) assert_non_null(others[i] = kolk_heap_alloc(&heap, 5000));
    for (unsigned i = 0; i < LENGTH_OF(others); i++) kolk_heap_free(&heap, others[i]);
    assert_int_not_equal(heap.inside->swept, 0);
}

static void test_decay(void **state) {
    enum { BLOCKS = 10000, SIZE = 320 };
    static unsigned char *blocks[BLOCKS];
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    let_a_second_pass(); /* now the heap no longer grows in it */
    for (unsigned i = 0; i < BLOCKS; i++) memset(blocks[i] = (unsigned char *)kolk_heap_alloc(&heap, SIZE), 7, SIZE);
    for (unsigned i = 0; i < BLOCKS / 2; i++) kolk_heap_free(&heap, blocks[i]);
    assert_int_equal(resident(blocks, BLOCKS, SIZE), BLOCKS * SIZE);
    let_a_second_pass(); /* from now on the free blocks are resting */
    assert_int_equal(resident(blocks, BLOCKS, SIZE), BLOCKS * SIZE);
    let_a_second_pass();
    assert_in_range(resident(blocks, BLOCKS / 2, SIZE), 0, 8192); /* includes the magazine's; two pages are shared */
    for (unsigned i = BLOCKS / 2; i < BLOCKS; i++) assert_true(all_bytes_are(blocks[i], SIZE, 7));
    assert_true(kolk_heap_is_valid(&heap));

    for (unsigned i = 0; i < BLOCKS / 2; i++) /* resting blocks are reused before new ones */
        memset(blocks[i] = (unsigned char *)kolk_heap_alloc(&heap, SIZE), 8, SIZE);
    kolk_heap_class_stats of;
    assert_true(kolk_heap_stats_of_class(&heap, kolk_heap_class_for_(&heap, SIZE), &of));
    assert_int_equal(of.stats.object_size, SIZE);
    assert_in_range(of.stats.peak, BLOCKS, BLOCKS + 256);
    for (int i = 0; i < 3; i++) let_a_second_pass();
    for (unsigned i = 0; i < BLOCKS; i++) assert_true(all_bytes_are(blocks[i], SIZE, i < BLOCKS / 2 ? 8 : 7));
    end_heap(&heap);
}

/* Makes the last sweep look 20 ms old, and lets the class of this size grow. Returns whether the heap has swept. */
static bool growth_sweeps(size_t size, int64_t rest) {
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    uint64_t before = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - 20000000;
    heap.inside->swept = before;
    heap.inside->growth_rest = rest;
    for (unsigned i = 0; i < 2000 && heap.inside->swept == before; i++) assert_non_null(kolk_heap_alloc(&heap, size));
    return heap.inside->swept != before;
}

/* Blocks of one size are freed, and then the heap grows by blocks of another size.
 * promise: "That time is ... in a large heap." */
static void test_growth_sweeps(void **state) {
    enum { BLOCKS = 10000, SIZE = 320 };
    static unsigned char *blocks[BLOCKS];
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, KOLK_HEAP_LARGEST + 1));
    heap.inside->large.spares.all[0].since -= 20000000;
    for (unsigned i = 0; i < BLOCKS; i++) memset(blocks[i] = (unsigned char *)kolk_heap_alloc(&heap, SIZE), 7, SIZE);
    for (unsigned i = 0; i < BLOCKS; i++) kolk_heap_free(&heap, blocks[i]);
    assert_false(growth_sweeps(5000, INT64_MAX));
    assert_true(growth_sweeps(6000, 0));
    assert_in_range(heap.inside->growth_rest, 32, INT64_MAX);
    assert_int_equal(resident(blocks, BLOCKS, SIZE), BLOCKS * SIZE);
    assert_true(growth_sweeps(7000, 0));
    assert_in_range(resident(blocks, BLOCKS, SIZE), 0, 512 * SIZE); /* those in the magazine, and their pages */
    for (size_t n = 0; n < KOLK_SPARES_; n++) assert_int_equal(heap.inside->large.spares.all[n].start, 0);
    assert_true(kolk_heap_is_valid(&heap));
    end_heap(&heap);
}

/* ---- Debug settings ---------------------------------------------------------------------------------------------- */

static void test_debug_settings(void **state) {
    notes taken;
    make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = "fill,guard,quarantine=4,sites"});
    unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, 48);
    assert_true(all_bytes_are(block, 48, 0xcd));
    begin_notes(&taken);
    block[48] = 1;
    kolk_heap_free(&heap, block);
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_OVERFLOW);
    assert_true(has_dead_fill(block, 48));
    block[5] = 1;
    for (int i = 0; i < 10; i++) kolk_heap_free(&heap, kolk_heap_alloc(&heap, 48));
    assert_int_equal(taken.count, 2);
    assert_int_equal(taken.last.rule, KOLK_WRITE_AFTER_FREE);
    assert_non_null(kolk_heap_alloc(&heap, 48));
    kolk_heap_deinit(&heap);
    assert_int_equal(taken.count, 3);
    assert_int_equal(taken.last.rule, KOLK_LEAK);
}

/* A heap with settings has its classes from its init on. promise: "KOLK_DEBUG or KOLK_FAIL is set, has no nursery" */
static void test_settings_leave_out_the_nursery(void **state) {
    if (sizeof(void *) < 8) skip();
    static const char *const variables[] = {NULL, NULL, "KOLK_DEBUG", "KOLK_FAIL"};
    for (size_t n = 0; n < LENGTH_OF(variables); n++) {
        if (variables[n]) setenv(variables[n], n == 2 ? "fill:level*" : "level*:every=1000", 1);
        kolk_heap_desc desc = {.name = "level", .debug = n == 1 ? "fill" : NULL};
        assert_int_equal(kolk_heap_init(&heap, &desc), KOLK_OK);
        assert_int_equal(heap.inside != NULL, n > 0);
        assert_non_null(kolk_heap_alloc(&heap, 10));
        kolk_heap_deinit(&heap);
        if (variables[n]) unsetenv(variables[n]);
    }
}

/* KOLK_DEBUG may name a class. promise: "KOLK_DEBUG may name a class" */
static void test_settings_of_a_class(void **state) {
    if (sizeof(void *) < 8) skip();
    setenv("KOLK_DEBUG", "fill:level/64", 1);
    make_heap(&heap, &(kolk_heap_desc){.name = "level"});
    const unsigned char *filled = (const unsigned char *)kolk_heap_alloc(&heap, 64);
    const unsigned char *other = (const unsigned char *)kolk_heap_alloc(&heap, 80);
    assert_true(all_bytes_are(filled, 64, 0xcd));
    assert_true(all_bytes_are(other, 80, 0));
    end_heap(&heap);
    unsetenv("KOLK_DEBUG");
}

int main(void) {
    setenv("KOLK_BYPASS", "0", 1); /* also under a tool that watches malloc */
    const struct CMUnitTest tests[] = {
        TEST(test_every_size),
        TEST(test_small_sizes_are_at_hand),
        TEST(test_too_large),
        TEST(test_resizing),
        TEST(test_misuse),
        TEST(test_all_zero),
        TEST(test_walk),
        TEST(test_class_stats),
        TEST(test_class_names),
        TEST(test_trays),
        TEST(test_bad_descriptors),
        TEST(test_trim),
        TEST(test_decay),
        TEST(test_growth_sweeps),
        TEST(test_debug_settings),
        TEST(test_settings_leave_out_the_nursery),
        TEST(test_settings_of_a_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
