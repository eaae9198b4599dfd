/* heap_test.h: shared by the tests of the heap. Include test.h first. */
#ifndef TESTS_HEAP_TEST_H
#define TESTS_HEAP_TEST_H

#include "../../src/heap/heap_inside.h"

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

/* From now on, all blocks of the heap come from its classes: most tests are about these. */
static inline void leave_nursery(kolk_heap *heap) {
    kolk_nursery_close_(&heap->root->nursery);
    assert_non_null(kolk_heap_grow_(heap));
}

static inline void make_heap(kolk_heap *heap, const kolk_heap_desc *desc) {
    kolk_status status = kolk_heap_init(heap, desc);
    if (sizeof(void *) < 8) { /* there are no heaps on 32-bit machines */
        assert_int_equal(status, KOLK_NO_MEMORY);
        assert_true(all_bytes_are(heap, sizeof *heap, 0));
        skip();
    }
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    leave_nursery(heap);
    assert_true(kolk_heap_is_valid(heap));
}

static inline kolk_stats stats_of(const kolk_heap *heap) {
    kolk_stats stats;
    kolk_heap_stats(heap, &stats);
    return stats;
}

static inline void end_heap(kolk_heap *heap) {
    assert_true(kolk_heap_is_valid(heap));
    kolk_heap_deinit(heap);
    assert_true(all_bytes_are(heap, sizeof *heap, 0));
}

#endif
