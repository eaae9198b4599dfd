/* wait_queue.h: threads that wait, in the order in which they came. A thread that has something to hand out gives it to
 * the first waiter.
 *
 *     queue        first ---> | waiter | <---> | waiter | <---> | waiter | <--- last
 *                             on the stack of the thread that sleeps on its word
 *
 * All functions but kolk_waiter_sleep are called under the owner's lock. A waiter dies when its thread returns. So its
 * last use is under that lock, or is the store that lets its thread return. The wake after this store only passes the
 * address on: if another thread sleeps at the same address by then, it wakes for no reason and checks again. */
#ifndef KOLK_SRC_WAIT_QUEUE_H
#define KOLK_SRC_WAIT_QUEUE_H

#include "kolk/base.h"

#include "../os/sleep.h"
#include "../base/assert.h"
#include "../base/atomics.h"

typedef struct kolk_waiter {
    uint32_t woken; /* the waiter's thread sleeps while this is 0 */
    struct kolk_waiter *before, *behind;
} kolk_waiter;

/* Appends the waiter as the last one. */
static inline void kolk_waiter_join(kolk_wait_queue *queue, kolk_waiter *waiter) {
    KOLK_ASSERT(!queue->first == !queue->last);
    KOLK_ASSERT(waiter != queue->last);
    waiter->before = queue->last;
    waiter->behind = NULL;
    if (queue->last)
        queue->last->behind = waiter;
    else
        queue->first = waiter;
    queue->last = waiter;
}

/* Inserts the waiter as the first one. */
static inline void kolk_waiter_join_front(kolk_wait_queue *queue, kolk_waiter *waiter) {
    KOLK_ASSERT(!queue->first == !queue->last);
    KOLK_ASSERT(waiter != queue->first);
    waiter->before = NULL;
    waiter->behind = queue->first;
    if (queue->first)
        queue->first->before = waiter;
    else
        queue->last = waiter;
    queue->first = waiter;
}

/* Removes the waiter, which must be in the queue. */
static inline void kolk_waiter_leave(kolk_wait_queue *queue, const kolk_waiter *waiter) {
    KOLK_ASSERT(waiter == (waiter->before ? waiter->before->behind : queue->first));
    KOLK_ASSERT(waiter == (waiter->behind ? waiter->behind->before : queue->last));
    if (waiter->before)
        waiter->before->behind = waiter->behind;
    else
        queue->first = waiter->behind;
    if (waiter->behind)
        waiter->behind->before = waiter->before;
    else
        queue->last = waiter->before;
}

/* Wakes a waiter. If it is in no queue, its thread may return at once, and the waiter must not be used any more. */
static inline void kolk_waiter_wake(kolk_waiter *waiter) {
    kolk_store(&waiter->woken, 1, KOLK_RELEASE); /* partner: the waiter's own load with acquire */
    kolk_wake(&waiter->woken, 1);
}

/* Sleeps until a wake. Returns false if the deadline has passed before. It may also return true for no reason. */
static inline bool kolk_waiter_sleep(kolk_waiter *waiter, kolk_deadline deadline) {
    return kolk_wait(&waiter->woken, 0, deadline);
}

#endif
