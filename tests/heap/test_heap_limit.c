/* The behaviour of a heap that has no room: the limit, the trays' initial capacity, and on_full. */
#include "../help/test.h"

#include "counted_memory.h"
#include "heap_test.h"

/* ---- The limit --------------------------------------------------------------------------------------------------- */

/* The limit includes the trays' initial capacity. If that alone exceeds it, init fails. */
static void test_capacity_within_limit(void **state) {
    (void)state;
    static const char *const settings[] = {NULL, "fill,guard,quarantine=3,sites"};
    static const kolk_heap_class trays[] = {{.size = 64, .capacity = 100}, {.size = 1024, .capacity = 50}};
    for (unsigned n = 0; n < LENGTH_OF(settings); n++) {
        kolk_heap heap;
        kolk_heap_desc desc = {.classes = trays, .n_classes = 2, .debug = settings[n], .limit = 30000};
        kolk_stats stats;
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
        kolk_heap_stats(&heap, &stats);
        assert_int_equal(stats.count, count);
        while (count) kolk_heap_free(&heap, blocks[--count]);
        end_heap(&heap);
    }
}

/* ---- on_full ----------------------------------------------------------------------------------------------------- */

typedef struct room {
    void *last;
    size_t wish;
    unsigned asked;
} room;

static bool free_last(kolk_heap *heap, size_t size, void *context) {
    room *it = (room *)context;
    it->asked++;
    it->wish = size;
    if (!it->last) return false;
    kolk_heap_free(heap, it->last);
    it->last = NULL;
    return true;
}

/* Growing a large block calls on_full as well, and needs no room for a copy. */
static void test_realloc_asks(void **state) {
    (void)state;
    kolk_heap heap;
    kolk_stats stats;
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
    kolk_heap_stats(&heap, &stats);
    assert_int_equal(stats.failed, 1);
    end_heap(&heap);
}

/* If the system refuses a realloc of a large block, the realloc uses up nothing of the limit. */
static void test_realloc_refused(void **state) {
    (void)state;
    kolk_heap heap;
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

/* ---- errno ------------------------------------------------------------------------------------------------------- */

/* A free leaves errno unchanged, even if it makes a system call. */
static void test_free_leaves_errno(void **state) {
    (void)state;
    kolk_heap heap;
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

#define TEST(function) cmocka_unit_test_teardown(function, abort_on_failure)

int main(void) {
    setenv("KOLK_BYPASS", "0", 1); /* also under a tool that watches malloc */
    const struct CMUnitTest tests[] = {TEST(test_capacity_within_limit), TEST(test_realloc_asks),
                                       TEST(test_realloc_refused), TEST(test_free_leaves_errno)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
