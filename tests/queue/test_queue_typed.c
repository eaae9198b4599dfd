/* The typed functions of kolk_queue: every one of them, with items that are structs, single bytes and pointers. Code
 * that must not compile is in tests/compile. */
#include "queue_test.h"

#ifdef __linux__
#include <poll.h>
#endif

typedef struct job {
    double weight;
    uint32_t number;
    char name[5];
} job;

typedef char letter;
typedef job *pointer;

KOLK_QUEUE_TYPE(jobs, job)
KOLK_QUEUE_TYPE(letters, letter)
KOLK_QUEUE_TYPE(pointers, pointer)

/* promise: typed.h "which work as in queue.h ... not objects" */
static void test_every_typed_function(void **state) {
    jobs queue;
    kolk_stats stats;
    assert_int_equal(jobs_init(&queue, &(kolk_queue_desc){.name = "jobs", .capacity = 3}), KOLK_OK);
    assert_int_equal(queue.queue.item_size, sizeof(job));

    const job one = {.weight = 1.5, .number = 1, .name = "one"};
    const jobs_item more[3] = {{.number = 2}, {.number = 3}, {.number = 4}};
    job got[3];
    size_t n = 3;
    assert_int_equal(jobs_push(&queue, &one, KOLK_FOREVER), KOLK_OK);
    assert_int_equal(jobs_push_n(&queue, more, &n, KOLK_NOW), KOLK_OK);
    assert_int_equal(n, 2);
    assert_int_equal(jobs_push(&queue, &one, KOLK_NOW), KOLK_FULL);
    assert_int_equal(jobs_push(&queue, &one, PAST), KOLK_TIMEOUT);
    assert_int_equal(jobs_count(&queue), 3);
    jobs_stats(&queue, &stats);
    assert_string_equal(stats.name, "jobs");
    assert_true(stats.object_size == sizeof(job) && stats.count == 3 && stats.failed == 2);

    assert_int_equal(jobs_pop(&queue, &got[0], KOLK_FOREVER), KOLK_OK);
    assert_memory_equal(got, &one, sizeof one);
    n = 3;
    assert_int_equal(jobs_pop_n(&queue, got, &n, KOLK_NOW), KOLK_OK);
    assert_true(n == 2 && got[0].number == 2 && got[1].number == 3);
    assert_int_equal(jobs_pop(&queue, got, KOLK_NOW), KOLK_EMPTY);

#ifdef __linux__
    struct pollfd readable = {.fd = jobs_fd(&queue, KOLK_QUEUE_READABLE), .events = POLLIN};
    assert_int_equal(poll(&readable, 1, 0), 0);
    assert_int_equal(jobs_push(&queue, &one, KOLK_NOW), KOLK_OK);
    assert_int_equal(poll(&readable, 1, 0), 1);
    assert_int_equal(jobs_clear(&queue), 1);
#endif

    assert_int_equal(jobs_push(&queue, &one, KOLK_NOW), KOLK_OK);
    jobs_close(&queue);
    assert_int_equal(jobs_push(&queue, &one, KOLK_FOREVER), KOLK_CLOSED);
    jobs_shutdown(&queue);
    assert_int_equal(jobs_pop(&queue, got, KOLK_FOREVER), KOLK_SHUTDOWN);
    jobs_reopen(&queue);
    assert_int_equal(jobs_clear(&queue), 1);
    assert_true(jobs_is_valid(&queue));
    jobs_deinit(&queue);
    assert_true(all_bytes_are(&queue, sizeof queue, 0));
}

static void test_small_items_and_pointers(void **state) {
    letters small;
    pointers large;
    job target = {.number = 7};
    assert_int_equal(letters_init(&small, &(kolk_queue_desc){.capacity = 26}), KOLK_OK);
    assert_int_equal(pointers_init(&large, &(kolk_queue_desc){.capacity = 1}), KOLK_OK);
    for (const char *c = "abcdefghijklmnopqrstuvwxyz"; *c; c++)
        assert_int_equal(letters_push(&small, c, KOLK_NOW), KOLK_OK);
    letter all[27] = {0};
    size_t n = 26;
    assert_int_equal(letters_pop_n(&small, all, &n, KOLK_NOW), KOLK_OK);
    assert_string_equal(all, "abcdefghijklmnopqrstuvwxyz");
    assert_int_equal(pointers_push(&large, &(pointer){&target}, KOLK_NOW), KOLK_OK);
    job *it = NULL;
    assert_int_equal(pointers_pop(&large, &it, KOLK_NOW), KOLK_OK);
    assert_ptr_equal(it, &target);
    letters_deinit(&small);
    pointers_deinit(&large);
}

/* If a descriptor gives a size, it must be the type's. promise: typed.h "which work as in queue.h ... not objects" */
static void test_the_size_is_the_types(void **state) {
    jobs queue;
    const size_t sizes[] = {1, sizeof(job) - 1, sizeof(job) + 1, 2 * sizeof(job), SIZE_MAX};
    for (size_t i = 0; i < LENGTH_OF(sizes); i++) {
        memset(&queue, 0xff, sizeof queue);
        kolk_queue_desc desc = {.item_size = sizes[i], .capacity = 1};
        assert_int_equal(jobs_init(&queue, &desc), KOLK_TYPE_MISMATCH);
        assert_true(all_bytes_are(&queue, sizeof queue, 0));
    }
    assert_int_equal(jobs_init(&queue, &(kolk_queue_desc){.item_size = sizeof(job), .capacity = 1}), KOLK_OK);
    jobs_deinit(&queue);
    assert_int_equal(jobs_init(&queue, &(kolk_queue_desc){0}), KOLK_ZERO_CAPACITY);
    assert_int_equal(jobs_init(&queue, NULL), KOLK_NO_DESCRIPTOR);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_every_typed_function),
        TEST(test_small_items_and_pointers),
        TEST(test_the_size_is_the_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
