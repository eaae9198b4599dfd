/* runs: not:wine with: src wraps: eventfd kolk_event_reset_ kolk_event_set_ */
/* kolk_queue_fd: how many system calls it makes, threads that sleep in poll and epoll, and a system that refuses
 * descriptors. When a descriptor is readable is in test_queue_model.c. */
#include "queue_test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

static unsigned opened, refused;
int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);

int __wrap_eventfd(unsigned value, int flags) {
    if (refused) return refused--, errno = EMFILE, -1;
    opened++;
    return __real_eventfd(value, flags);
}

static unsigned calls; /* system calls for an event */
void __real_kolk_event_set_(int fd);
void __wrap_kolk_event_set_(int fd);
void __real_kolk_event_reset_(int fd);
void __wrap_kolk_event_reset_(int fd);

void __wrap_kolk_event_set_(int fd) {
    calls++;
    __real_kolk_event_set_(fd);
}

void __wrap_kolk_event_reset_(int fd) {
    calls++;
    __real_kolk_event_reset_(fd);
}

static bool is_readable(int fd) {
    struct pollfd it = {.fd = fd, .events = POLLIN};
    int n = poll(&it, 1, 0);
    assert_true(n == 0 || (n == 1 && it.revents == POLLIN));
    return n;
}

typedef struct watched {
    kolk_queue queue;
    int fds[2];
} watched;

static void watch(watched *w, uint32_t capacity) {
    make_ints(&w->queue, capacity);
    for (int event = 0; event < 2; event++) {
        w->fds[event] = kolk_queue_fd(&w->queue, (kolk_queue_event)event);
        assert_true(w->fds[event] >= 0);
        assert_int_equal(kolk_queue_fd(&w->queue, (kolk_queue_event)event), w->fds[event]); /* the same each time */
    }
    assert_int_not_equal(w->fds[0], w->fds[1]);
}

#define assert_seen(w, writable, readable)                                                                             \
    do {                                                                                                               \
        assert_int_equal(is_readable((w)->fds[KOLK_QUEUE_WRITABLE]), writable);                                        \
        assert_int_equal(is_readable((w)->fds[KOLK_QUEUE_READABLE]), readable);                                        \
        assert_true(kolk_queue_is_valid(&(w)->queue));                                                                 \
    } while (0)

/* No system call is made if the event's state is already right. promise: "The descriptor ... not Linux" */
static void test_an_event_is_set_and_reset_once(void **state) {
    watched w;
    watch(&w, 2);
    calls = 0;
    for (int i = 0; i < 3; i++) assert_int_equal(pop_int(&w.queue), -KOLK_EMPTY); /* it was never readable */
    assert_int_equal(calls, 0);
    for (int i = 0; i < 2; i++) assert_int_equal(push_int(&w.queue, i), KOLK_OK); /* the first changes it */
    assert_int_equal(calls, 1);
    for (int i = 0; i < 3; i++) assert_int_equal(push_int(&w.queue, i), KOLK_FULL); /* the first changes it */
    assert_int_equal(calls, 2);
    for (int i = 0; i < 3; i++) kolk_queue_close(&w.queue); /* the first changes it */
    assert_int_equal(calls, 3);
    assert_seen(&w, true, true);
    end_queue(&w.queue);
}

static void test_a_late_one_knows_what_was(void **state) {
    kolk_queue queue;
    make_ints(&queue, 1);
    assert_int_equal(push_int(&queue, 1), KOLK_OK);
    opened = 0;
    int readable = kolk_queue_fd(&queue, KOLK_QUEUE_READABLE);
    assert_true(is_readable(readable));
    assert_false(is_readable(kolk_queue_fd(&queue, KOLK_QUEUE_WRITABLE)));
    assert_int_equal(opened, 2);
    assert_int_equal(fcntl(readable, F_GETFD), FD_CLOEXEC);
    assert_int_equal(kolk_queue_fd(&queue, (kolk_queue_event)2), -1); /* there is no such event */
    assert_int_equal(kolk_queue_fd(&queue, (kolk_queue_event)-1), -1);
    end_queue(&queue);
    assert_true(fcntl(readable, F_GETFD) == -1 && errno == EBADF);
}

/* promise: "The descriptor ... not Linux" */
static void test_only_when_asked_for_and_none_to_have(void **state) {
    kolk_queue queue;
    opened = 0;
    make_ints(&queue, 1);
    assert_true(push_int(&queue, 1) == KOLK_OK && push_int(&queue, 2) == KOLK_FULL && pop_int(&queue) == 1);
    assert_int_equal(opened, 0);
    refused = 2;
    assert_int_equal(kolk_queue_fd(&queue, KOLK_QUEUE_WRITABLE), -1);
    assert_int_equal(kolk_queue_fd(&queue, KOLK_QUEUE_READABLE), -1);
    assert_true(push_int(&queue, 1) == KOLK_OK && pop_int(&queue) == 1 && pop_int(&queue) == -KOLK_EMPTY);
    assert_true(kolk_queue_is_valid(&queue));
    assert_true(kolk_queue_fd(&queue, KOLK_QUEUE_READABLE) >= 0); /* this time one is available */
    assert_int_equal(opened, 1);
    end_queue(&queue);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { ITEMS = 3000 };

static void *produce(void *argument) {
    for (int i = 1; i <= ITEMS; i++) {
        REQUIRE(kolk_queue_push((kolk_queue *)argument, &i, KOLK_FOREVER) == KOLK_OK);
        if (i % 64 == 0) nap();
    }
    kolk_queue_close((kolk_queue *)argument);
    return NULL;
}

/* Uses the descriptor as the header describes: epoll without a time limit, then pop until EMPTY. No item is missed. */
static void test_a_loop_of_epoll(void **state) {
    kolk_queue queue;
    pthread_t thread;
    make_ints(&queue, 3);
    int epoll = epoll_create1(0), next = 1, item;
    struct epoll_event event = {.events = EPOLLIN};
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, kolk_queue_fd(&queue, KOLK_QUEUE_READABLE), &event), 0);
    assert_int_equal(pthread_create(&thread, NULL, produce, &queue), 0);
    kolk_status status = KOLK_OK;
    while (status != KOLK_CLOSED) {
        assert_int_equal(epoll_wait(epoll, &event, 1, -1), 1);
        while ((status = kolk_queue_pop(&queue, &item, KOLK_NOW)) == KOLK_OK) assert_int_equal(item, next++);
    }
    assert_int_equal(next, ITEMS + 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(epoll);
    end_queue(&queue);
}

static void *consume(void *argument) {
    for (int i = 1, item; i <= ITEMS; i++) {
        REQUIRE(kolk_queue_pop((kolk_queue *)argument, &item, KOLK_FOREVER) == KOLK_OK && item == i);
        if (i % 64 == 0) nap();
    }
    return NULL;
}

static void test_a_loop_of_poll_that_pushes(void **state) {
    kolk_queue queue;
    pthread_t thread;
    make_ints(&queue, 3);
    struct pollfd it = {.fd = kolk_queue_fd(&queue, KOLK_QUEUE_WRITABLE), .events = POLLIN};
    assert_int_equal(pthread_create(&thread, NULL, consume, &queue), 0);
    for (int i = 1; i <= ITEMS;) {
        assert_int_equal(poll(&it, 1, -1), 1);
        while (i <= ITEMS && push_int(&queue, i) == KOLK_OK) i++;
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    end_queue(&queue);
}

/* Pops with a deadline race with the ending: whatever the outcome, the ended queue is readable once all have
 * returned. promise: "It becomes ... pop KOLK_EMPTY" */
static void test_the_end_is_not_missed(void **state) {
    for (int n = 0; n < 300; n++) {
        watched w;
        caller callers[4];
        watch(&w, 1);
        assert_int_equal(pop_int(&w.queue), -KOLK_EMPTY);
        kolk_deadline soon = {kolk_now_ns_() + 300000};
        for (size_t i = 0; i < LENGTH_OF(callers); i++) {
            callers[i] = (caller){.queue = &w.queue, .end = KOLK_QUEUE_READABLE, .deadline = soon};
            if (i % 2) callers[i].deadline = KOLK_FOREVER;
            start(&callers[i]);
        }
        while (kolk_now_ns_() < soon.ns - 20000 + n * 200) sched_yield();
        kolk_queue_close(&w.queue);
        for (size_t i = 0; i < LENGTH_OF(callers); i++) joined(&callers[i]);
        assert_seen(&w, true, true);
        end_queue(&w.queue);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        TEST(test_an_event_is_set_and_reset_once),       TEST(test_a_late_one_knows_what_was),
        TEST(test_only_when_asked_for_and_none_to_have), TEST(test_a_loop_of_epoll),
        TEST(test_a_loop_of_poll_that_pushes),           TEST(test_the_end_is_not_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
