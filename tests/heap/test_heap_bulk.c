/* runs: not:qemu */
/* alloc_n and free_n of heaps: blocks of one size, full classes, mistakes among the blocks,
 * the site in a report, sampling. (The model test has random operations.) */
#include "../help/code_limits.h"

#include "heap/heap_inside.h"
#include "heap_test.h"

#include <errno.h>
#include <setjmp.h>

enum { MOST = 5000 };

static kolk_heap heap;
static void *blocks[MOST];

static void use_all(size_t n, size_t size) {
    for (size_t i = 0; i < n; i++) {
        assert_true(kolk_heap_is_live(&heap, blocks[i]));
        assert_true((uintptr_t)blocks[i] % 16 == 0 && kolk_heap_usable_size(&heap, blocks[i]) >= size);
        memset(blocks[i], (int)(i % 251), size);
    }
    for (size_t i = 0; i < n; i++) assert_true(all_bytes_are(blocks[i], size, (unsigned char)(i % 251)));
    assert_int_equal(stats_of(&heap).count, n);
    assert_true(kolk_heap_is_valid(&heap));
}

static void assert_empty(void) {
    assert_int_equal(stats_of(&heap).count, 0);
    assert_true(kolk_heap_is_valid(&heap));
}

static void reverse(size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        void *other = blocks[i];
        blocks[i] = blocks[n - 1 - i];
        blocks[n - 1 - i] = other;
    }
}

/* Also in debug mode, with samples, and under tools, where these are loops.
 * promise: "Allocates up ... thread's cache" */
static void test_every_length(void **state) {
    (void)state;
    static const char *const settings[] = {NULL, "fill,guard,quarantine=9", "sample=50"};
    static const size_t sizes[] = {0, 1, 64, 100, 3000, 40000, 300000};
    static const size_t lengths[] = {0, 1, 2, 127, 128, 129, 256, 257, 1000, MOST};
    for (unsigned s = 0; s < 2 * LENGTH_OF(settings); s++) {
        setenv("KOLK_BYPASS", s % 2 ? "1" : "0", 1);
        make_heap(&heap, &(kolk_heap_desc){.name = "bulk", .debug = settings[s / 2]});
        for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
            for (size_t k = 0; k < LENGTH_OF(lengths); k++) {
                size_t n = lengths[k];
                if (n * sizes[i] > 5000000 || (s && n > 300)) continue;
                assert_int_equal(kolk_heap_alloc_n(&heap, sizes[i], blocks, n), n);
                use_all(n, sizes[i]);
                if (k % 2) reverse(n);
                errno = 5;
                kolk_heap_free_n(&heap, blocks, n);
                assert_int_equal(errno, 5);
                assert_empty();
            }
        }
        end_heap(&heap);
    }
    setenv("KOLK_BYPASS", "0", 1);
}

/* The magazine gets what is left of a word, and the last blocks of a long run. */
static void test_what_goes_through_the_magazine(void **state) {
    (void)state;
    make_heap(&heap, &(kolk_heap_desc){.name = "bulk"});
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 64));
    kolk_magazine_ *magazine = kolk_heap_near_(&heap)->magazines[heap.by_size[4]];
    assert_int_equal(magazine->cache, 256);
    assert_int_equal(magazine->top, 64);
    assert_int_equal(kolk_heap_alloc_n(&heap, 64, blocks, 1000), 1000);
    assert_int_equal(magazine->top, 24);
    kolk_heap_free_n(&heap, blocks, 1000);
    assert_int_equal(magazine->top, 128);
    kolk_heap_class_stats of;
    assert_true(kolk_heap_stats_of_class(&heap, heap.by_size[4], &of));
    assert_int_equal(of.asked, 2 * 64); /* the thread was at the depot twice */
    end_heap(&heap);
}

static unsigned asked;

static bool ask(kolk_heap *of, size_t size, void *context) {
    (void)of, (void)size, (void)context;
    asked++;
    return false;
}

static void test_full_classes(void **state) {
    (void)state;
    static const kolk_heap_class trays[] = {{.size = 64, .capacity = 500, .when_full = KOLK_HEAP_NEXT},
                                            {.size = 128, .capacity = 300, .when_full = KOLK_HEAP_NULL}};
    asked = 0;
    make_heap(&heap, &(kolk_heap_desc){.name = "bulk", .classes = trays, .n_classes = 2, .on_full = ask});
    assert_int_equal(kolk_heap_alloc_n(&heap, 64, blocks, 1000), 800);
    assert_int_equal(asked, 1);
    use_all(800, 64);
    assert_int_equal(stats_of(&heap).failed, 1);
    kolk_heap_free_n(&heap, blocks, 800); /* uncached */
    assert_int_equal(kolk_heap_alloc_n(&heap, 64, blocks, 800), 800);
    use_all(800, 64);
    kolk_heap_free_n(&heap, blocks, 800);
    assert_empty();
    end_heap(&heap);
}

/* ---- Mistakes ---------------------------------------------------------------------------------------------------- */

LIMITS(free_many)

APART(free_many) static void free_many(size_t n) {
    kolk_heap_free_n(&heap, blocks, n);
    AND_ON();
}

static void test_mistakes_among_blocks(void **state) {
    (void)state;
    static const char *const settings[] = {NULL, "sites", "sample=100"};
    for (size_t s = 0; s < LENGTH_OF(settings); s++) {
        reports kept;
        make_heap(&heap, &(kolk_heap_desc){.name = "bulk", .debug = settings[s]});
        assert_int_equal(kolk_heap_alloc_n(&heap, 64, blocks, 1000), 1000);
        void *const right[] = {blocks[300], blocks[500]};
        begin_reports(&kept);
        blocks[300] = moved(blocks[300], 16);
        blocks[500] = blocks[0];
        free_many(1000);
        const report *now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_INTERIOR_POINTER);
        assert_ptr_equal(now->failure.object, blocks[300]);
        assert_true(is_within(now->failure.site, &in_free_many));
        now = next_report(&kept);
        assert_int_equal(now->failure.rule, KOLK_DOUBLE_FREE);
        assert_ptr_equal(now->failure.object, blocks[0]);
        assert_true(is_within(now->failure.site, &in_free_many));
        assert_int_equal(stats_of(&heap).count, 2);
        assert_true(kolk_heap_is_valid(&heap));
        kolk_heap_free_n(&heap, right, 2);
        assert_no_more(&kept);
        end_heap(&heap);
    }
}

static jmp_buf out;

static void jump_out(const kolk_failure *failure, void *context) {
    (void)failure, (void)context;
    longjmp(out, 1);
}

static void test_the_handler_may_jump_out(void **state) {
    (void)state;
    make_heap(&heap, &(kolk_heap_desc){.name = "bulk"});
    assert_int_equal(kolk_heap_alloc_n(&heap, 64, blocks, 1000), 1000);
    static void *right;
    right = blocks[700];
    blocks[700] = blocks[0];
    kolk_set_failure_handler(jump_out, NULL);
    if (setjmp(out) == 0) {
        kolk_heap_free_n(&heap, blocks, 1000);
        fail_msg("%s", "nothing was reported");
    }
    kolk_set_failure_handler(NULL, NULL);
    assert_int_equal(stats_of(&heap).count, 300);
    assert_true(kolk_heap_is_valid(&heap));
    blocks[700] = right;
    kolk_heap_free_n(&heap, blocks + 700, 300);
    end_heap(&heap);
}

int main(void) {
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_what_goes_through_the_magazine),
        cmocka_unit_test(test_full_classes),
        cmocka_unit_test(test_mistakes_among_blocks),
        cmocka_unit_test(test_the_handler_may_jump_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
