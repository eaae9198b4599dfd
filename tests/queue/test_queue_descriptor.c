/* with: src wraps: help/system_calls.h kolk_memory_release_ */
/* kolk_queue's life: every broken rule of a descriptor has its own status and leaves the queue zeroed; every function
 * works on a zeroed queue; the queue allocates nothing after init. Also tests statistics. */
#include "queue_test.h"

#include "../help/system_calls.h"

static unsigned releases; /* how often memory was released */

void __real_kolk_memory_release_(void *start, size_t size);
void __wrap_kolk_memory_release_(void *start, size_t size);

void __wrap_kolk_memory_release_(void *start, size_t size) {
    releases++;
    __real_kolk_memory_release_(start, size);
}

/* ---- Broken rules ------------------------------------------------------------------------------------------------ */

/* 2^61 bytes: more than any system has. */
#if UINTPTR_MAX > UINT32_MAX
#define FAR_TOO_MUCH KOLK_NO_MEMORY
#else
#define FAR_TOO_MUCH KOLK_SIZE_OVERFLOW
#endif

static const struct row {
    kolk_status status;
    kolk_queue_desc desc;
} rows[] = {
    {KOLK_ZERO_SIZE, {.capacity = 4}},
    {KOLK_ZERO_SIZE, {.name = "none"}},
    {KOLK_ZERO_CAPACITY, {.item_size = 4}},
    {KOLK_SIZE_OVERFLOW, {.item_size = SIZE_MAX, .capacity = 1}},
    {KOLK_SIZE_OVERFLOW, {.item_size = SIZE_MAX - 8, .capacity = 1}},
    {KOLK_SIZE_OVERFLOW, {.item_size = SIZE_MAX - 15, .capacity = 2}},
    {KOLK_SIZE_OVERFLOW, {.item_size = INT32_MAX, .capacity = 1}},
    {KOLK_SIZE_OVERFLOW, {.item_size = (size_t)INT32_MAX + 1, .capacity = 1}},
    {KOLK_BAD_CAPACITY, {.item_size = 1, .capacity = (uint32_t)-1}},
    {KOLK_BAD_CAPACITY, {.item_size = 1, .capacity = (uint32_t)INT32_MAX + 1}},
    {FAR_TOO_MUCH, {.item_size = 1u << 30, .capacity = INT32_MAX}},
    {FAR_TOO_MUCH, {.item_size = INT32_MAX - 16, .capacity = INT32_MAX}},
    {KOLK_OK, {.item_size = 1, .capacity = 1}}, /* the closest descriptors that are valid */
    {KOLK_OK, {.item_size = 100000, .capacity = 3}},
    {KOLK_OK, {.item_size = 3, .capacity = 100001}},
};

static void test_each_broken_rule_has_its_status(void **state) {
    for (size_t i = 0; i < LENGTH_OF(rows); i++) {
        kolk_queue queue;
        memset(&queue, 0xff, sizeof queue);
        kolk_status status = kolk_queue_init(&queue, &rows[i].desc);
        if (status != rows[i].status) fail_msg("row %u: %s", (unsigned)i, kolk_status_text(status));
        if (status == KOLK_OK) kolk_queue_deinit(&queue);
        assert_true(all_bytes_are(&queue, sizeof queue, 0));
    }
    kolk_queue queue;
    memset(&queue, 0xff, sizeof queue);
    assert_int_equal(kolk_queue_init(&queue, NULL), KOLK_NO_DESCRIPTOR);
    assert_true(all_bytes_are(&queue, sizeof queue, 0));
}

/* A program may have been compiled with a larger or smaller struct, or with another ABI: init zeroes the program's
 * queue, and no byte beyond it. promise: "the queue is left all zero" */
static void test_another_abi(void **state) {
    struct {
        kolk_queue queue;
        unsigned char more[64];
    } both;
    const kolk_queue_desc desc = {.item_size = 8, .capacity = 4};
    const unsigned char *bytes = (const unsigned char *)&both;
    static const struct { int larger, abi; } others[] = {{0, KOLK_ABI + 1}, {8, KOLK_ABI}, {-8, KOLK_ABI}};
    for (size_t i = 0; i < LENGTH_OF(others); i++) {
        size_t size = (size_t)((ptrdiff_t)sizeof both.queue + others[i].larger);
        memset(&both, 0xff, sizeof both);
        assert_int_equal(kolk_queue_init_abi_(&both.queue, &desc, 0, size, (uint32_t)others[i].abi), KOLK_WRONG_ABI);
        assert_true(all_bytes_are(bytes, size, 0) && all_bytes_are(bytes + size, sizeof both - size, 0xff));
    }
}

static void test_nothing_is_allocated_after_init(void **state) {
    kolk_queue queue;
    make_queue(&queue, &(kolk_queue_desc){.name = "refused", .item_size = 8, .capacity = 1000});
    refuse(1, true);
    for (int i = 0; i < 1000; i++) assert_int_equal(kolk_queue_push(&queue, &(uint64_t){1}, KOLK_NOW), KOLK_OK);
    assert_int_equal(kolk_queue_clear(&queue), 1000);
    assert_int_equal(os.calls, 0);
    refuse(0, false);
    end_queue(&queue);
}

/* ---- The all-zero queue ------------------------------------------------------------------------------------------ */

/* promise: "A zero-initialised queue is shut down" */
static void test_the_all_zero_queue_is_shut_down(void **state) {
    static const kolk_deadline deadlines[] = {{0}, {1}, {INT64_MAX}};
    static kolk_queue queue;
    int item = 7;
    kolk_stats stats;
    for (size_t i = 0; i < LENGTH_OF(deadlines) * 2; i++) {
        kolk_deadline deadline = deadlines[i / 2];
        size_t n = 3;
        assert_true(kolk_queue_is_valid(&queue));
        assert_int_equal(kolk_queue_push(&queue, &item, deadline), KOLK_SHUTDOWN);
        assert_int_equal(kolk_queue_pop(&queue, &item, deadline), KOLK_SHUTDOWN);
        assert_int_equal(kolk_queue_push_n(&queue, &item, &n, deadline), KOLK_SHUTDOWN);
        assert_int_equal(n, 0);
        n = 3;
        assert_int_equal(kolk_queue_pop_n(&queue, &item, &n, deadline), KOLK_SHUTDOWN);
        assert_int_equal(n, 0);
        assert_int_equal(item, 7);
        assert_int_equal(kolk_queue_count(&queue), 0);
        assert_int_equal(kolk_queue_clear(&queue), 0);
        kolk_queue_close(&queue);
        kolk_queue_shutdown(&queue);
        kolk_queue_reopen(&queue); /* there is nothing to open */
        assert_int_equal(kolk_queue_fd(&queue, KOLK_QUEUE_READABLE), -1);
        assert_int_equal(kolk_queue_fd(&queue, KOLK_QUEUE_WRITABLE), -1);
        kolk_queue_stats(&queue, &stats);
        assert_string_equal(stats.name, "");
        assert_string_equal(stats.kind, "queue");
        assert_true(stats.count + stats.peak + stats.capacity + stats.max_capacity + stats.failed == 0);
        assert_true(stats.bytes_reserved + stats.bytes_committed + stats.unused_bytes == 0);
        unsigned before = releases;
        kolk_queue_deinit(&queue);
        assert_int_equal(releases, before); /* there was nothing to release */
        assert_true(all_bytes_are(&queue, sizeof queue, 0));
    }
}

/* ---- Statistics -------------------------------------------------------------------------------------------------- */

/* promise: "Once a push ... KOLK_FULL or KOLK_TIMEOUT" */
static void test_statistics(void **state) {
    kolk_queue queue;
    kolk_stats stats;
    int items[9] = {0};
    make_queue(&queue, &(kolk_queue_desc){.name = "jobs", .item_size = 4, .capacity = 9});
    size_t n = 5;
    assert_int_equal(kolk_queue_push_n(&queue, items, &n, KOLK_NOW), KOLK_OK);
    kolk_queue_stats(&queue, &stats);
    const kolk_stats expected = {.name = "jobs",
                                 .kind = "queue",
                                 .object_size = 4,
                                 .stride = 16,
                                 .count = 5,
                                 .peak = 5,
                                 .capacity = 9,
                                 .max_capacity = 9,
                                 .unused_bytes = 4 * 16,
                                 .bytes_reserved = 9 * 16,
                                 .bytes_committed = 9 * 16};
    assert_string_equal(stats.name, expected.name);
    assert_string_equal(stats.kind, expected.kind);
    stats.name = expected.name;
    stats.kind = expected.kind;
    assert_memory_equal(&stats, &expected, offsetof(kolk_stats, debug) + sizeof stats.debug);
    assert_int_equal(pop_int(&queue), 0);
    assert_int_equal(kolk_queue_clear(&queue), 4);
    assert_int_equal(pop_int(&queue), -KOLK_EMPTY); /* EMPTY does not count as a failure: the queue was large enough */
    kolk_queue_stats(&queue, &stats);
    assert_true(stats.count == 0 && stats.failed == 0);
    for (int i = 0; i < 9; i++) assert_int_equal(push_int(&queue, i), KOLK_OK);
    assert_int_equal(push_int(&queue, 9), KOLK_FULL);
    assert_int_equal(kolk_queue_push(&queue, items, PAST), KOLK_TIMEOUT);
    n = 9;
    assert_int_equal(kolk_queue_push_n(&queue, items, &n, KOLK_NOW), KOLK_FULL);
    kolk_queue_close(&queue);
    assert_int_equal(push_int(&queue, 9), KOLK_CLOSED); /* does not count either */
    kolk_queue_clear(&queue);
    kolk_queue_stats(&queue, &stats);
    assert_true(stats.count == 0 && stats.peak == 9 && stats.failed == 3 && stats.unused_bytes == 0);
    end_queue(&queue);
}

/* The queue's memory is capacity * (item_size rounded up to a multiple of 8, + 8).
 * promise: "Each item of the capacity ... after init" */
static void test_bytes(void **state) {
    for (size_t size = 1; size < 40; size++) {
        kolk_queue queue;
        kolk_stats stats;
        make_queue(&queue, &(kolk_queue_desc){.item_size = size, .capacity = 1000});
        kolk_queue_stats(&queue, &stats);
        assert_int_equal(stats.bytes_committed, 1000 * ((size + 7) / 8 * 8 + 8));
        assert_string_equal(stats.name, "");
        end_queue(&queue);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, accept_again)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_each_broken_rule_has_its_status), TEST(test_another_abi), TEST(test_nothing_is_allocated_after_init),
        TEST(test_the_all_zero_queue_is_shut_down), TEST(test_statistics),  TEST(test_bytes),
    };
    return cmocka_run_group_tests(tests, list_a_pool, NULL);
}
