/* runs: not:qemu with: src wraps: heap/counted_memory.h */
/* The behaviour of a heap that has no room: the limit, the trays' initial capacity, and on_full. */
#include "../help/test.h"

#include "counted_memory.h"
#include "heap_test.h"

static kolk_heap heap;

/* ---- The limit --------------------------------------------------------------------------------------------------- */

/* The limit includes the trays' initial capacity. If that alone exceeds it, init fails.
 * promise: "blocks whose ... machine's memory" */
static void test_capacity_within_limit(void **state) {
    static const char *const settings[] = {NULL, "fill,guard,quarantine=3,sites"};
    static const kolk_heap_class trays[] = {{.size = 64, .capacity = 100}, {.size = 1024, .capacity = 50}};
    for (unsigned n = 0; n < LENGTH_OF(settings); n++) {
        kolk_heap_desc desc = {.classes = trays, .n_classes = 2, .debug = settings[n], .limit = 30000};
        assert_int_equal(kolk_heap_init(&heap, &desc), KOLK_NO_MEMORY);
        assert_true(all_bytes_are(&heap, sizeof heap, 0));
        desc.limit = 400000;
        make_heap(&heap, &desc);
        size_t given = 0;
        void *blocks[1000], *block;
        unsigned count = 0;
        while (count < LENGTH_OF(blocks) && (block = kolk_heap_alloc(&heap, count % 2 ? 1000 : 5000))) {
            given += kolk_heap_usable_size(&heap, block);
            blocks[count++] = block;
        }
        assert_in_range(given, 30000, desc.limit - 64 * 100);
        assert_int_equal(stats_of(&heap).count, count);
        while (count) kolk_heap_free(&heap, blocks[--count]);
        end_heap(&heap);
    }
}

/* ---- on_full ----------------------------------------------------------------------------------------------------- */

typedef struct room {
    void *last;
    size_t wish, allocates; /* allocates: how many bytes on_full allocates itself, which does not call it again */
    unsigned asked;
} room;

static bool free_last(kolk_heap *full, size_t size, void *context) {
    room *it = (room *)context;
    it->asked++;
    it->wish = size;
    if (it->allocates) assert_null(kolk_heap_alloc(full, it->allocates));
    if (!it->last) return false;
    kolk_heap_free(full, it->last);
    it->last = NULL;
    return true;
}

/* promise: "Called before ... heaps at a time" */
static void test_on_full(void **state) {
    static const kolk_heap_class tray = {.size = 100, .capacity = 2, .when_full = KOLK_HEAP_NULL};
    for (size_t allocates = 0; allocates <= 100; allocates += 100) {
        room it = {.allocates = allocates};
        make_heap(&heap, &(kolk_heap_desc){.classes = &tray, .n_classes = 1, .on_full = free_last, .context = &it});
        it.last = kolk_heap_alloc(&heap, 100);
        assert_non_null(kolk_heap_alloc(&heap, 100));
        assert_int_equal(it.asked, 0);
        void *was = it.last;
        assert_ptr_equal(kolk_heap_alloc(&heap, 100), was);
        assert_true(it.asked == 1 && it.wish == 100);
        assert_null(kolk_heap_alloc(&heap, 100));
        assert_true(it.asked == 2 && it.wish == 100);
        end_heap(&heap);
    }
}

/* Growing a large block calls on_full as well, and needs no room for a copy. */
static void test_realloc_asks(void **state) {
    room it = {.asked = 0};
    make_heap(&heap, &(kolk_heap_desc){.limit = 5 << 20, .on_full = free_last, .context = &it});
    unsigned char *block = (unsigned char *)kolk_heap_alloc(&heap, 2 << 20);
    it.last = kolk_heap_alloc(&heap, 2 << 20);
    memset(block, 7, 2 << 20);
    block = (unsigned char *)kolk_heap_realloc(&heap, block, 4 << 20);
    assert_non_null(block);
    assert_int_equal(it.asked, 1);
    assert_int_equal(it.wish, 4 << 20);
    assert_true(all_bytes_are(block, 2 << 20, 7));
    assert_null(kolk_heap_realloc(&heap, block, 6 << 20));
    assert_int_equal(it.asked, 2);
    assert_int_equal(kolk_heap_usable_size(&heap, block), 4 << 20);
    assert_int_equal(stats_of(&heap).failed, 1);
    end_heap(&heap);
}

/* If the system refuses a realloc of a large block, the realloc uses up nothing of the limit. */
static void test_realloc_refused(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.limit = 5 << 20});
    void *block = kolk_heap_alloc(&heap, 1 << 20);
    memory.no_resize = true;
    for (unsigned n = 0; n < 10; n++) {
        refuse_call(1);
        assert_null(kolk_heap_realloc(&heap, block, 3 << 20));
        assert_true(kolk_heap_is_valid(&heap));
    }
    refuse_call(0);
    assert_non_null(kolk_heap_realloc(&heap, block, 3 << 20));
    memory.no_resize = false;
    end_heap(&heap);
}

/* ---- Room that has been made ------------------------------------------------------------------------------------- */

static void *cached[20000];
static unsigned n_cached, n_asked;

static bool free_oldest(kolk_heap *full, size_t size, void *context) {
    n_asked++;
    if (!n_cached) return false;
    kolk_heap_free(full, cached[0]);
    memmove(cached, cached + 1, --n_cached * sizeof *cached);
    return true;
}

static bool free_all_cached(kolk_heap *full, size_t size, void *context) {
    n_asked++;
    while (n_cached) kolk_heap_free(full, cached[--n_cached]);
    return true;
}

static void begin_cache(uint64_t limit, bool (*on_full)(kolk_heap *, size_t, void *)) {
    if (sizeof(void *) < 8) skip();
    n_cached = n_asked = 0;
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.name = "cache", .limit = limit, .on_full = on_full}), 0);
}

static void cache_one(size_t size) {
    void *block = kolk_heap_alloc(&heap, size);
    assert_non_null(block);
    cached[n_cached++] = block;
}

/* Once on_full has freed a block of the size, or all blocks, the alloc succeeds, wherever the freed blocks lay. */
static void test_alloc_after_on_full(void **state) {
    for (uint64_t limit = 4096; limit <= 1 << 20; limit *= 4) {
        begin_cache(limit, free_oldest);
        for (unsigned n = 0; n < 5000; n++) cache_one(1024);
        assert_true(n_asked > 0);
        end_heap(&heap);
        begin_cache(limit, free_all_cached);
        for (unsigned n = 0; n < 15000; n++) cache_one(64 + n % 500);
        assert_true(n_asked > 0);
        end_heap(&heap);
    }
}

/* The memory of free blocks is there for blocks of other sizes, without a trim and without on_full. */
static void test_room_for_other_sizes(void **state) {
    begin_cache(8 << 20, NULL);
    for (int way = 0; way < 3; way++) {
        while (n_cached < 7000) cache_one(1000);
        if (way == 0)
            free_all_cached(&heap, 0, NULL);
        else if (way == 1)
            kolk_heap_free_n(&heap, cached, n_cached);
        else
            kolk_heap_reset(&heap);
        n_cached = 0;
        while (n_cached < 2300) cache_one(3000);
        assert_true(kolk_heap_is_valid(&heap));
        free_all_cached(&heap, 0, NULL);
    }
    end_heap(&heap);
}

/* The same for another heap, once this one is trimmed. promise: "Releases whole ... backed by memory" */
static void test_room_for_siblings(void **state) {
    kolk_heap root, work;
    kolk_budget budget = {.limit = 0};
    if (sizeof(void *) < 8) skip();
    assert_int_equal(kolk_heap_init(&root, &(kolk_heap_desc){.limit = 8 << 20, .budget = &budget}), KOLK_OK);
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.parent = &root}), KOLK_OK);
    assert_int_equal(kolk_heap_init(&work, &(kolk_heap_desc){.parent = &root}), KOLK_OK);
    for (int by_all = 0; by_all < 2; by_all++) {
        unsigned got = 0;
        while (kolk_heap_alloc(&heap, 1000)) got++;
        assert_true(got > 7000);
        kolk_heap_reset(&heap);
        if (by_all)
            kolk_trim_all();
        else
            kolk_heap_trim(&heap);
        assert_in_range(kolk_budget_used(&budget), 0, 300000); /* edges, and a run of the nursery's leaves */
        for (got = 0; kolk_heap_alloc(&work, 3000);) got++;
        assert_true(got > 2300);
        kolk_heap_reset(&work);
        kolk_heap_trim(&work);
    }
    assert_true(kolk_heap_is_valid(&root));
    kolk_heap_deinit(&root);
    assert_int_equal(kolk_budget_used(&budget), 0);
}

/* on_full is called, too, if the heap gets no memory or no addresses for its classes. */
static void test_on_full_without_classes(void **state) {
    begin_cache(0, free_oldest);
    assert_non_null(kolk_heap_alloc(&heap, 16));
    memory.none = true;
    assert_null(kolk_heap_alloc(&heap, 1 << 20));
    memory.none = false;
    assert_int_equal(n_asked, 1);
    end_heap(&heap);
}

static kolk_heap nested[20];
static unsigned depth, deepest;

/* Allocates in this heap, which calls no on_full, and in the next one, which does. */
static bool ask_next(kolk_heap *full, size_t size, void *context) {
    assert_null(kolk_heap_alloc(full, size));
    if (++depth > deepest) deepest = depth;
    if (depth < LENGTH_OF(nested)) assert_null(kolk_heap_alloc(&nested[depth], size));
    depth--;
    return false;
}

static void test_on_full_of_many_heaps(void **state) {
    if (sizeof(void *) < 8) skip();
    for (unsigned n = 0; n < LENGTH_OF(nested); n++) {
        kolk_heap_desc desc = {.limit = 2000, .on_full = ask_next};
        assert_int_equal(kolk_heap_init(&nested[n], &desc), KOLK_OK);
    }
    for (int times = 0; times < 2; times++) {
        deepest = 0;
        assert_null(kolk_heap_alloc(&nested[0], 5000));
        assert_in_range(deepest, 8, LENGTH_OF(nested));
        assert_int_equal(depth, 0);
    }
    for (unsigned n = 0; n < LENGTH_OF(nested); n++) kolk_heap_deinit(&nested[n]);
}

/* ---- Near the limit ---------------------------------------------------------------------------------------------- */

/* Frees and allocates blocks of a size many times, when the limit has no room for a class. */
static void replace_many(kolk_heap *in) {
    void *blocks[150];
    for (unsigned n = 0; n < LENGTH_OF(blocks); n++) assert_non_null(blocks[n] = kolk_heap_alloc(in, 64));
    for (unsigned n = 0; n < 5000; n++) {
        kolk_heap_free(in, blocks[n * 7 % LENGTH_OF(blocks)]);
        assert_non_null(blocks[n * 7 % LENGTH_OF(blocks)] = kolk_heap_alloc(in, 64));
    }
    assert_true(kolk_heap_is_valid(in));
}

static void test_no_class_without_room(void **state) {
    kolk_heap child;
    if (sizeof(void *) < 8) skip();
    for (uint64_t limit = 16384; limit < 18000; limit += 500) {
        assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.limit = limit}), KOLK_OK);
        replace_many(&heap);
        while (kolk_heap_alloc(&heap, 64)) {}
        assert_null(kolk_heap_alloc(&heap, 5000));
        assert_null(heap.inside);
        end_heap(&heap);
    }
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.limit = 220000}), KOLK_OK);
    assert_int_equal(kolk_heap_init(&child, &(kolk_heap_desc){.parent = &heap}), KOLK_OK);
    assert_non_null(kolk_heap_alloc(&heap, 180000));
    replace_many(&child);
    assert_null(child.inside);
    kolk_heap_deinit(&heap);
}

/* ---- errno ------------------------------------------------------------------------------------------------------- */

/* A free leaves errno unchanged, even if it makes a system call. promise: "Frees a block ... caller and is reported" */
static void test_free_leaves_errno(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = NULL});
    void *large = kolk_heap_alloc(&heap, 1 << 20), *little = kolk_heap_alloc(&heap, 20);
    errno = ERANGE;
    kolk_heap_free(&heap, large);
    assert_int_equal(errno, ERANGE);
    kolk_heap_free(&heap, little);
    kolk_heap_free(&heap, NULL);
    assert_int_equal(errno, ERANGE);
    end_heap(&heap);
}

/* Nor does a free of many blocks, which sweeps now and then. */
static void test_free_n_leaves_errno(void **state) {
    enum { MANY = 300, CALLS = 200 };
    static void *blocks[CALLS][MANY];
    make_heap(&heap, &(kolk_heap_desc){.name = NULL});
    assert_int_equal(kolk_heap_alloc_n(&heap, 64, &blocks[0][0], CALLS * MANY), CALLS * MANY);
    for (unsigned n = 0; n < CALLS; n++) {
        heap.inside->swept = 0; /* long ago */
        errno = ERANGE;
        kolk_heap_free_n(&heap, blocks[n], MANY);
        assert_int_equal(errno, ERANGE);
    }
    assert_true(heap.inside->trays[3].store.released > 0); /* it has called the system */
    end_heap(&heap);
}

int main(void) {
    setenv("KOLK_BYPASS", "0", 1); /* also under a tool that watches malloc */
    const struct CMUnitTest tests[] = {TEST(test_capacity_within_limit), TEST(test_on_full),
                                       TEST(test_realloc_asks),          TEST(test_realloc_refused),
                                       TEST(test_alloc_after_on_full),   TEST(test_room_for_other_sizes),
                                       TEST(test_room_for_siblings),     TEST(test_on_full_without_classes),
                                       TEST(test_on_full_of_many_heaps), TEST(test_no_class_without_room),
                                       TEST(test_free_leaves_errno),     TEST(test_free_n_leaves_errno)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
