/* kolk_queue with threads asleep at its ends: deadlines, all kinds of wake-ups, signals and forks. */
#include "queue_test.h"

#include <signal.h>
#include <sys/wait.h>

enum { SLEEPERS = 5 };

/* A queue of 3, and SLEEPERS threads asleep at one end of it: they push to the full queue, or pop from the empty
 * one. */
typedef struct crowd {
    kolk_queue queue;
    caller callers[SLEEPERS];
} crowd;

static void begin_crowd(crowd *c, kolk_queue_event end, kolk_deadline deadline) {
    make_ints(&c->queue, 3);
    if (end == KOLK_QUEUE_WRITABLE)
        for (int i = 0; i < 3; i++) assert_int_equal(push_int(&c->queue, i), KOLK_OK);
    for (int i = 0; i < SLEEPERS; i++) { /* the last one uses push_n or pop_n */
        c->callers[i] = (caller){.queue = &c->queue, .end = end, .deadline = deadline, .items = {100 + i, 200 + i}};
        if (i == SLEEPERS - 1) c->callers[i].n = 2;
        start_waiting_before(&c->callers[i], deadline);
    }
}

/* Joins the callers: none may have given up at its deadline. */
static void end_crowd(crowd *c, kolk_status expected) {
    kolk_stats stats;
    for (int i = 0; i < SLEEPERS; i++) assert_int_equal(joined(&c->callers[i]), expected);
    kolk_queue_stats(&c->queue, &stats);
    assert_int_equal(stats.failed, 0);
    if (expected) assert_int_equal(c->callers[SLEEPERS - 1].n, 0);
    end_queue(&c->queue);
}

/* ---- Served ------------------------------------------------------------------------------------------------------ */

/* First come, first served, because there is no other caller that could overtake.
 * promise: "waiters are served ... deadline has passed" */
static void test_in_the_order_in_which_they_came(void **state) {
    crowd c;
    begin_crowd(&c, KOLK_QUEUE_READABLE, KOLK_FOREVER);
    for (int i = 0; i < SLEEPERS; i++) {
        assert_int_equal(push_int(&c.queue, i), KOLK_OK);
        assert_int_equal(joined(&c.callers[i]), KOLK_OK);
        assert_int_equal(c.callers[i].items[0], i);
        assert_true(i == SLEEPERS - 1 || last_in_line(&c.queue, KOLK_QUEUE_READABLE));
    }
    assert_int_equal(c.callers[SLEEPERS - 1].n, 1); /* it asked for 2, but one is enough */
    end_queue(&c.queue);
    begin_crowd(&c, KOLK_QUEUE_WRITABLE, KOLK_FOREVER);
    for (int i = 0; i < SLEEPERS + 3; i++) {
        int item = pop_int(&c.queue);
        assert_int_equal(item, i < 3 ? i : 100 + i - 3);
        if (i < SLEEPERS) assert_int_equal(joined(&c.callers[i]), KOLK_OK);
    }
    assert_int_equal(pop_int(&c.queue), -KOLK_EMPTY);
    end_queue(&c.queue);
}

static void check_waits(const kolk_queue *queue, uint32_t waiting, uint64_t waits) {
    kolk_stats stats;
    kolk_queue_stats(queue, &stats);
    assert_int_equal(stats.waiting, waiting);
    assert_int_equal(stats.waits, waits);
}

static void test_waiters_are_counted(void **state) {
    for (int end = 0; end < 2; end++) {
        crowd c;
        int item = 0;
        begin_crowd(&c, (kolk_queue_event)end, KOLK_FOREVER);
        check_waits(&c.queue, SLEEPERS, SLEEPERS);
        assert_int_equal(end == KOLK_QUEUE_WRITABLE ? kolk_queue_pop(&c.queue, &item, KOLK_NOW)
                                                    : kolk_queue_push(&c.queue, &item, KOLK_NOW),
                         KOLK_OK);
        assert_int_equal(joined(&c.callers[0]), KOLK_OK);
        check_waits(&c.queue, SLEEPERS - 1, SLEEPERS);
        kolk_queue_shutdown(&c.queue);
        for (int i = 1; i < SLEEPERS; i++) assert_int_equal(joined(&c.callers[i]), KOLK_SHUTDOWN);
        check_waits(&c.queue, 0, SLEEPERS);
        assert_true(kolk_queue_is_valid(&c.queue));
        end_queue(&c.queue);
    }
}

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static void test_a_deadline_is_kept(void **state) {
    for (int end = 0; end < 2; end++) {
        crowd c;
        kolk_stats stats;
        kolk_deadline deadline = kolk_deadline_after(30);
        begin_crowd(&c, (kolk_queue_event)end, deadline);
        for (int i = 0; i < SLEEPERS; i++) {
            assert_int_equal(joined(&c.callers[i]), KOLK_TIMEOUT);
            assert_true(kolk_now_ns_() >= deadline.ns); /* never sooner */
        }
        assert_int_equal(c.callers[SLEEPERS - 1].n, 0);
        kolk_queue_stats(&c.queue, &stats);
        assert_int_equal(stats.failed, end == KOLK_QUEUE_WRITABLE ? SLEEPERS : 0);
        assert_int_equal(stats.count, end == KOLK_QUEUE_WRITABLE ? 3 : 0);
        end_queue(&c.queue);
    }
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void test_each_way_to_end_frees_all(void **state) {
    for (int n = 0; n < 2 * 2 * 2 * 2; n++) {
        crowd c;
        bool shut = n & 2, reopened = n & 4;
        begin_crowd(&c, (kolk_queue_event)(n & 1), n & 8 ? kolk_deadline_after(100000) : KOLK_FOREVER);
        shut ? kolk_queue_shutdown(&c.queue) : kolk_queue_close(&c.queue);
        if (reopened) kolk_queue_reopen(&c.queue); /* the waiters return nevertheless */
        end_crowd(&c, shut ? KOLK_SHUTDOWN : KOLK_CLOSED);
    }
}

/* Waiters return even if an item or a cell is there for them right after reopen.
 * promise: "Undoes close ... shutdown it returns KOLK_SHUTDOWN" */
static void test_reopened_with_something_to_take(void **state) {
    for (int shut = 0; shut < 2; shut++) {
        crowd c;
        begin_crowd(&c, KOLK_QUEUE_READABLE, KOLK_FOREVER);
        shut ? kolk_queue_shutdown(&c.queue) : kolk_queue_close(&c.queue);
        kolk_queue_reopen(&c.queue);
        for (int i = 0; i < 3; i++) assert_int_equal(push_int(&c.queue, i), KOLK_OK);
        end_crowd(&c, shut ? KOLK_SHUTDOWN : KOLK_CLOSED);
        begin_crowd(&c, KOLK_QUEUE_WRITABLE, KOLK_FOREVER);
        shut ? kolk_queue_shutdown(&c.queue) : kolk_queue_close(&c.queue);
        kolk_queue_reopen(&c.queue);
        assert_int_equal(kolk_queue_clear(&c.queue), 3);
        for (int i = 0; i < SLEEPERS; i++) assert_int_equal(joined(&c.callers[i]), shut ? KOLK_SHUTDOWN : KOLK_CLOSED);
        assert_int_equal(pop_int(&c.queue), -KOLK_EMPTY); /* no push succeeded */
        end_queue(&c.queue);
    }
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t signals_seen;

static void note_signal(int number) {
    signals_seen++;
}

/* Interrupts the caller by a signal, unless it has left the line. */
static void interrupt(const caller *it) {
    int before = signals_seen;
    assert_int_equal(pthread_kill(it->thread, SIGUSR1), 0);
    while (signals_seen == before && last_in_line(it->queue, (int)it->end)) nap();
}

/* A handler without SA_RESTART interrupts each system call: the sleep goes on, with the same deadline. If each
 * interruption started the time again, the call would never end. */
static void test_signals_disturb_nobody(void **state) {
    skip_on_windows();
    struct sigaction action = {.sa_handler = note_signal}, before;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    for (int end = 0; end < 2; end++) {
        kolk_queue queue;
        make_ints(&queue, 1);
        if (end == KOLK_QUEUE_WRITABLE) assert_int_equal(push_int(&queue, 0), KOLK_OK);
        caller it = {.queue = &queue, .end = (kolk_queue_event)end, .deadline = KOLK_FOREVER, .items = {5}};
        start_waiting(&it);
        for (int i = 0; i < 20; i++) interrupt(&it);
        assert_non_null(last_in_line(&queue, end)); /* still waits, without HELD, because it was not overtaken */
        assert_int_equal(__atomic_load_n(&queue.ends[end].ticket, __ATOMIC_SEQ_CST) % 8, 1);
        if (end == KOLK_QUEUE_WRITABLE)
            assert_int_equal(pop_int(&queue), 0);
        else
            assert_int_equal(push_int(&queue, 5), KOLK_OK);
        assert_int_equal(joined(&it), KOLK_OK);
        if (end == KOLK_QUEUE_WRITABLE) assert_int_equal(pop_int(&queue), 5);
        if (end == KOLK_QUEUE_WRITABLE) assert_int_equal(push_int(&queue, 0), KOLK_OK);

        it.deadline = kolk_deadline_after(50);
        start_waiting_before(&it, it.deadline);
        while (kolk_now_ns_() < it.deadline.ns && last_in_line(&queue, end)) interrupt(&it);
        assert_int_equal(joined(&it), KOLK_TIMEOUT);
        assert_true(kolk_now_ns_() >= it.deadline.ns);
        end_queue(&queue);
    }
    assert_true(signals_seen > 40);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static void use_with_threads(kolk_queue *queue) {
    caller it = {.queue = queue, .end = KOLK_QUEUE_READABLE, .deadline = KOLK_FOREVER};
    assert_int_equal(pop_int(queue), 1);
    assert_int_equal(pop_int(queue), -KOLK_EMPTY);
    start_waiting(&it);
    assert_int_equal(push_int(queue, 2), KOLK_OK);
    assert_int_equal(joined(&it), KOLK_OK);
    assert_int_equal(it.items[0], 2);
    assert_true(kolk_queue_is_valid(queue));
}

/* After the fork, parent and child each have their own queue. promise: "a child may ... descriptors with its parent" */
static void test_a_child_goes_on(void **state) {
    skip_on_windows();
    kolk_queue queue;
    int status;
    make_ints(&queue, 2);
    assert_int_equal(push_int(&queue, 1), KOLK_OK);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        END_IF_IT_HANGS();
        use_with_threads(&queue);
        kolk_queue_deinit(&queue);
        _exit(0);
    }
    use_with_threads(&queue);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    end_queue(&queue);
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_in_the_order_in_which_they_came),
        TEST(test_waiters_are_counted),
        TEST(test_a_deadline_is_kept),
        TEST(test_each_way_to_end_frees_all),
        TEST(test_reopened_with_something_to_take),
        TEST(test_signals_disturb_nobody),
        TEST(test_a_child_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
