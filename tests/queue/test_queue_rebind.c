/* kolk_queue_rebind: a new destroy for an existing queue, and descriptors that it must refuse. */
#include "queue_test.h"

static void count(void *item, void *context) {
    ++*(unsigned *)context;
}

KOLK_QUEUE_TYPE(numbers, int)
KOLK_QUEUE_TYPE(long_numbers, int64_t)

/* promise: "replaces destroy ... KOLK_IN_HOOK or KOLK_MOVED" */
static void test_a_new_destroy(void **state) {
    unsigned before = 0, after = 0;
    numbers queue;
    kolk_queue_desc desc = {.name = "first", .capacity = 3, .destroy = count, .context = &before};
    assert_int_equal(numbers_init(&queue, &desc), KOLK_OK);
    assert_int_equal(numbers_push(&queue, &(int){7}, KOLK_NOW), KOLK_OK);
    desc.name = "second";
    desc.context = &after;
    assert_int_equal(numbers_rebind(&queue, &desc), KOLK_OK);
    kolk_stats stats;
    numbers_stats(&queue, &stats);
    assert_string_equal(stats.name, "second");
    numbers_deinit(&queue);
    assert_true(before == 0 && after == 1);
}

static void move_before(void *to, void *from, bool in, void *context) {
    memcpy(to, from, sizeof(int));
    ++*(unsigned *)context;
}

static void move_after(void *to, void *from, bool in, void *context) {
    *(int *)to = *(int *)from + 100;
    ++*(unsigned *)context;
}

static void test_a_new_move(void **state) {
    unsigned before = 0, after = 0;
    numbers queue;
    kolk_queue_desc desc = {.capacity = 3, .move = move_before, .context = &before};
    assert_int_equal(numbers_init(&queue, &desc), KOLK_OK);
    assert_int_equal(numbers_push(&queue, &(int){7}, KOLK_NOW), KOLK_OK);
    desc.move = move_after;
    desc.context = &after;
    assert_int_equal(numbers_rebind(&queue, &desc), KOLK_OK);
    int popped = 0;
    assert_int_equal(numbers_pop(&queue, &popped, KOLK_NOW), KOLK_OK);
    assert_true(popped == 107 && before == 1 && after == 1);
    numbers_deinit(&queue);
}

/* tests/contracts/test_all_rebinds.c has more of them. promise: "replaces destroy ... KOLK_IN_HOOK or KOLK_MOVED" */
static void test_what_is_refused(void **state) {
    numbers queue;
    assert_int_equal(numbers_init(&queue, &(kolk_queue_desc){.name = "own", .capacity = 3}), KOLK_OK);
    numbers before = queue;
    long_numbers *as_next = (long_numbers *)(void *)&queue;
    assert_int_equal(long_numbers_rebind(as_next, &(kolk_queue_desc){.capacity = 3}), KOLK_STRUCT_CHANGED);
    assert_int_equal(numbers_rebind(&queue, &(kolk_queue_desc){.item_size = 8}), KOLK_TYPE_MISMATCH);
    assert_int_equal(numbers_rebind(&queue, &(kolk_queue_desc){.capacity = 4}), KOLK_LAYOUT_CHANGED);
    assert_int_equal(kolk_queue_rebind_abi_(&queue.queue, &(kolk_queue_desc){0}, 0, sizeof queue, KOLK_ABI + 1),
                     KOLK_WRONG_ABI);
    assert_memory_equal(&queue, &before, sizeof queue);
    assert_int_equal(kolk_queue_rebind(&queue.queue, &(kolk_queue_desc){0}), KOLK_OK);
    numbers_deinit(&queue);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_destroy),
        cmocka_unit_test(test_a_new_move),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
