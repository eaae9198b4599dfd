/* runs: not:qemu */
/* A heap calls functions of the program that do not return: the failure handler may longjmp, and a thread may end in
 * on_full. */
#include "../help/test.h"

#include "../help/threads.h"
#include "heap_test.h"

static jmp_buf back;
static unsigned leaks;

static void leave_at_a_leak(const kolk_failure *failure, void *context) {
    assert_int_equal(failure->rule, KOLK_LEAK);
    leaks++;
    longjmp(back, 1);
}

/* If the handler leaves deinit by longjmp, nothing has changed. The next deinit reports the remaining leaks. */
static void test_leaving_deinit(void **state) {
    static kolk_heap heap;
    static unsigned char *blocks[3];
    make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = "sites,fill"});
    for (unsigned n = 0; n < 3; n++) blocks[n] = (unsigned char *)kolk_heap_alloc(&heap, (size_t)10 << 2 * n);
    kolk_set_failure_handler(leave_at_a_leak, NULL);
    if (setjmp(back)) {
        assert_true(kolk_heap_is_valid(&heap));
        for (unsigned n = 0; n < 3; n++) {
            assert_true(kolk_heap_is_live(&heap, blocks[n]));
            assert_true(all_bytes_are(blocks[n], (size_t)10 << 2 * n, 0xcd));
        }
    }
    kolk_heap_deinit(&heap); /* the handler leaves it three times */
    assert_int_equal(leaks, 3);
    assert_true(all_bytes_are(&heap, sizeof heap, 0));
}

/* Blocks that end with a child, or by a reset, are no leaks. promise: "With `sites` ... reset do not" */
static void test_ends_without_leaks(void **state) {
    kolk_heap parent, child;
    notes taken;
    begin_notes(&taken);
    make_heap(&parent, &(kolk_heap_desc){.name = "server", .debug = "all"});
    for (unsigned n = 0; n < 3; n++) {
        make_heap(&child, &(kolk_heap_desc){.name = "request", .debug = "all", .parent = &parent});
        assert_non_null(kolk_heap_alloc(&child, 100));
        if (n == 0) kolk_heap_deinit(&child);
        if (n == 1) kolk_heap_reset(&parent);
        assert_int_equal(taken.count, 0);
    }
    char *block = (char *)kolk_heap_alloc(&child, 100);
    kolk_heap_free(&child, block);
    block[0] = 1;
    assert_non_null(kolk_heap_alloc(&parent, 10));
    kolk_heap_deinit(&parent);
    assert_int_equal(taken.count, 2); /* the write after free, and the block of the parent */
    assert_int_equal(taken.last.rule, KOLK_LEAK);
}

/* Init reports a bad setting once, and the alloc that makes a class does not report it again. */
static void test_bad_setting(void **state) {
    kolk_heap heap;
    notes taken;
    begin_notes(&taken);
    make_heap(&heap, &(kolk_heap_desc){.name = "level", .debug = "fill,bogus"});
    assert_int_equal(taken.count, 1);
    assert_int_equal(taken.last.rule, KOLK_BAD_SETTING);
    assert_true(all_bytes_are(kolk_heap_alloc(&heap, 100), 100, 0xcd));
    assert_int_equal(taken.count, 1);
    end_heap(&heap);
}

static kolk_heap narrow;
static unsigned asked;

static bool end_thread(kolk_heap *heap, size_t size, void *context) {
    if (++asked == 1) pthread_exit(NULL);
    return false;
}

static void *overfill(void *unused) {
    while (kolk_heap_alloc(&narrow, 100)) {}
    return NULL;
}

/* After a thread has ended in on_full, the next thread takes over its record, and on_full is called for the next thread
 * too. promise: "Called before ... heaps at a time" */
static void test_ending_in_on_full(void **state) {
    static const kolk_heap_class tray = {.size = 100, .capacity = 3, .when_full = KOLK_HEAP_NULL};
    make_heap(&narrow, &(kolk_heap_desc){.classes = &tray, .n_classes = 1, .on_full = end_thread});
    run_thread(overfill, NULL);
    assert_int_equal(asked, 1);
    run_thread(overfill, NULL);
    assert_int_equal(asked, 2);
    end_heap(&narrow);
}

int main(void) {
    END_IF_IT_HANGS();
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {TEST(test_leaving_deinit), TEST(test_ends_without_leaks), TEST(test_bad_setting),
                                       TEST(test_ending_in_on_full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
