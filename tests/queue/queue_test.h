/* queue_test.h: shared by the tests of kolk_queue: queues of ints, and threads that are known to wait at an end of a
 * queue. */
#ifndef TESTS_QUEUE_TEST_H
#define TESTS_QUEUE_TEST_H

#include "../help/threads.h"

#include "os/clock.h"
#include "os/event.h"
#include "os/lock.h"
#include "os/sleep.h"

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static const kolk_deadline PAST = {1}; /* a deadline that has passed, but is not KOLK_NOW */

static inline void make_queue(kolk_queue *queue, const kolk_queue_desc *desc) {
    kolk_status status = kolk_queue_init(queue, desc);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    assert_true(kolk_queue_is_valid(queue));
}

/* Initialises a queue of ints. */
static inline void make_ints(kolk_queue *queue, uint32_t capacity) {
    make_queue(queue, &(kolk_queue_desc){.name = "ints", .item_size = sizeof(int), .capacity = capacity});
}

static inline void end_queue(kolk_queue *queue) {
    assert_true(kolk_queue_is_valid(queue));
    kolk_queue_deinit(queue);
    assert_true(all_bytes_are(queue, sizeof *queue, 0));
}

static inline kolk_status push_int(kolk_queue *queue, int item) {
    return kolk_queue_push(queue, &item, KOLK_NOW);
}

/* Returns the item, or the negated status. */
static inline int pop_int(kolk_queue *queue) {
    int item = 0;
    kolk_status status = kolk_queue_pop(queue, &item, KOLK_NOW);
    return status == KOLK_OK ? item : -(int)status;
}

/* ---- Threads that wait ------------------------------------------------------------------------------------------- */

typedef struct caller {
    kolk_queue *queue;
    kolk_queue_event end; /* KOLK_QUEUE_WRITABLE pushes, KOLK_QUEUE_READABLE pops */
    kolk_status status;
    kolk_deadline deadline;
    int items[8];
    size_t n; /* 0: by push or pop, else by push_n or pop_n */
    pthread_t thread;
} caller;

static inline void *call(void *argument) {
    caller *me = (caller *)argument;
    if (me->end == KOLK_QUEUE_WRITABLE)
        me->status = me->n ? kolk_queue_push_n(me->queue, me->items, &me->n, me->deadline)
                           : kolk_queue_push(me->queue, me->items, me->deadline);
    else
        me->status = me->n ? kolk_queue_pop_n(me->queue, me->items, &me->n, me->deadline)
                           : kolk_queue_pop(me->queue, me->items, me->deadline);
    return NULL;
}

/* Returns the last waiter in line at an end, or NULL if no thread waits. */
static inline const void *last_in_line(kolk_queue *queue, int end) {
    kolk_lock_word_(&queue->ends[end].lock);
    const void *last = queue->ends[end].waiters.last;
    kolk_unlock_word_(&queue->ends[end].lock);
    return last;
}

static inline void start(caller *me) {
    assert_int_equal(pthread_create(&me->thread, NULL, call, me), 0);
}

/* Starts a call that must wait, and returns true once it is the last in line. Returns false if it is not by this
 * moment, which is the deadline of the first waiter to give up. */
static inline bool start_waiting_before(caller *me, kolk_deadline moment) {
    const void *before = last_in_line(me->queue, (int)me->end);
    start(me);
    while (last_in_line(me->queue, (int)me->end) == before && kolk_now_ns_() < moment.ns) nap();
    return kolk_now_ns_() < moment.ns;
}

static inline void start_waiting(caller *me) {
    assert_true(start_waiting_before(me, KOLK_FOREVER));
}

static inline kolk_status joined(caller *me) {
    assert_int_equal(pthread_join(me->thread, NULL), 0);
    return me->status;
}

#endif
