/* kolk_queue_is_valid detects each broken invariant of src/queue/queue.c. The test simulates a stray write to one field
 * of a valid queue, and undoes it. */
#include "queue_test.h"

/* Makes a queue of 5 that holds `level` items after `place` others have passed. */
static void make_sound(kolk_queue *queue, int place, int level) {
    make_ints(queue, 5);
    for (int i = 0; i < place; i++) assert_true(push_int(queue, i) == KOLK_OK && pop_int(queue) == i);
    for (int i = 0; i < level; i++) assert_int_equal(push_int(queue, i), KOLK_OK);
    assert_true(kolk_queue_is_valid(queue));
}

#define assert_seen(queue, what, value) assert_breaks(kolk_queue_is_valid, queue, what, value)

/* As in src/queue/queue_inside.h: the lowest 3 bits are the gate's, then come the ticket's, of which 5 cells need 3. */
#define TICKET UINT64_C(8)
#define LAP    (8 * TICKET)

static uint64_t *turn_of(kolk_queue *queue, int cell) {
    return (uint64_t *)(void *)(queue->cells + (size_t)cell * queue->stride);
}

static void break_each(kolk_queue *queue) {
    uint64_t *push = &queue->ends[KOLK_QUEUE_WRITABLE].ticket, *pop = &queue->ends[KOLK_QUEUE_READABLE].ticket;
    assert_seen(queue, *push, *push + LAP); /* I1 */
    assert_seen(queue, *pop, *pop - LAP);
    assert_seen(queue, *pop, *pop + LAP);
    assert_seen(queue, *push, *push | 7 * TICKET); /* there is no such cell */
    assert_seen(queue, *pop, *pop | 7 * TICKET);
    for (int cell = 0; cell < 5; cell++) { /* I2 */
        uint64_t *turn = turn_of(queue, cell);
        assert_seen(queue, *turn, *turn + 1);
        assert_seen(queue, *turn, *turn - 1);
        assert_seen(queue, *turn, *turn + LAP / TICKET);
        assert_seen(queue, *turn, *turn ^ UINT64_C(1) << 63);
    }
    assert_seen(queue, *push, *push ^ 1); /* I3 */
    assert_seen(queue, *pop, *pop ^ 1);
    for (int end = 0; end < 2; end++) { /* I4, I5 */
        kolk_queue_end_ *at = &queue->ends[end];
        struct kolk_waiter_ *somebody = (struct kolk_waiter_ *)(void *)queue;
        assert_seen(queue, at->ticket, at->ticket | 2);
        assert_seen(queue, at->ticket, at->ticket | 4);
        assert_seen(queue, at->waiters.first, somebody);
        assert_seen(queue, at->waiters.last, somebody);
        assert_seen(queue, at->called, somebody);
        assert_seen(queue, at->lock, 1);
        assert_seen(queue, at->asleep, !at->asleep);
    }
    assert_seen(queue, queue->lock, 1);
}

static void test_tickets_turns_and_gates(void **state) {
    for (int n = 0; n < 12 * 6; n++) {
        kolk_queue queue;
        make_sound(&queue, n / 6, n % 6);
        break_each(&queue);
        kolk_queue_close(&queue);
        break_each(&queue);
        assert_seen(&queue, queue.ending, KOLK_OK); /* I3 */
        assert_seen(&queue, queue.ending, KOLK_SHUTDOWN);
        kolk_queue_shutdown(&queue);
        break_each(&queue);
        assert_seen(&queue, queue.ending, KOLK_OK);
        assert_seen(&queue, queue.ending, KOLK_CLOSED);
        kolk_queue_reopen(&queue);
        assert_seen(&queue, queue.ending, KOLK_CLOSED);
        end_queue(&queue);
    }
}

/* In a queue of one cell, both ends refer to a second cell, which would lie after the cells. It reads as 0, like a
 * fresh one. promise: "Checks every invariant of src/queue/queue.c" */
static void test_a_cell_that_is_not_there(void **state) {
    kolk_queue queue;
    make_ints(&queue, 1);
    for (int end = 0; end < 2; end++) queue.ends[end].ticket += TICKET;
    assert_false(kolk_queue_is_valid(&queue));
    for (int end = 0; end < 2; end++) queue.ends[end].ticket -= TICKET;
    end_queue(&queue);
}

/* The fields that state whether a descriptor must be signalled. */
static void test_descriptors(void **state) {
    kolk_queue queue;
    make_sound(&queue, 0, 2);
    if (kolk_queue_fd(&queue, KOLK_QUEUE_READABLE) < 0) skip();
    kolk_queue_end_ *end = &queue.ends[KOLK_QUEUE_READABLE];
    assert_seen(&queue, end->asleep, 1); /* it is readable */
    assert_seen(&queue, end->fd_called, 0);
    kolk_queue_clear(&queue);
    assert_int_equal(pop_int(&queue), -KOLK_EMPTY);
    assert_seen(&queue, end->asleep, 0);
    assert_seen(&queue, end->fd_called, 1);
    break_each(&queue);
    end_queue(&queue);
}

static void test_the_all_zero_queue(void **state) {
    kolk_queue queue = {0};
    assert_true(kolk_queue_is_valid(&queue));
    assert_seen(&queue, queue.capacity, 1);
    assert_seen(&queue, queue.ends[KOLK_QUEUE_WRITABLE].ticket, 1);
    assert_seen(&queue, queue.ends[KOLK_QUEUE_READABLE].ticket, 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_tickets_turns_and_gates),
        TEST(test_a_cell_that_is_not_there),
        TEST(test_descriptors),
        TEST(test_the_all_zero_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
