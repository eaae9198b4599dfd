/* wait_queue.h: threads that wait, in the order in which they came. A thread that has something to hand out gives it to
 * the first waiter.
 *
 *     queue        first ---> | waiter | <---> | waiter | <---> | waiter | <--- last
 *                             on the stack of the thread that sleeps on its word
 *
 * All functions except kolk_waiter_sleep_ are called under the owner's lock. A waiter ceases to exist when its thread
 * returns. So its last use is under that lock, or is the store that lets its thread return. The wake after this store
 * uses only the waiter's address: if another thread sleeps at the same address by then, it wakes spuriously and checks
 * again. */
#ifndef KOLK_SRC_WAIT_QUEUE_H
#define KOLK_SRC_WAIT_QUEUE_H

#include "kolk/base.h"

#include "../os/sleep.h"
#include "../base/assert.h"
#include "../base/atomics.h"

typedef struct kolk_waiter_ {
    uint32_t woken; /* the waiter's thread sleeps while this is 0 */
    struct kolk_waiter_ *before, *behind;
} kolk_waiter_;

/* Appends the waiter at the end. */
static inline void kolk_waiter_join_(kolk_wait_queue_ *queue, kolk_waiter_ *waiter) {
    KOLK_ASSERT_(!queue->first == !queue->last);
    KOLK_ASSERT_(waiter != queue->last);
    waiter->before = queue->last;
    waiter->behind = NULL;
    if (queue->last)
        queue->last->behind = waiter;
    else
        queue->first = waiter;
    queue->last = waiter;
}

/* Inserts the waiter at the front. */
static inline void kolk_waiter_join_front_(kolk_wait_queue_ *queue, kolk_waiter_ *waiter) {
    KOLK_ASSERT_(!queue->first == !queue->last);
    KOLK_ASSERT_(waiter != queue->first);
    waiter->before = NULL;
    waiter->behind = queue->first;
    if (queue->first)
        queue->first->before = waiter;
    else
        queue->last = waiter;
    queue->first = waiter;
}

/* Removes the waiter, which must be in the queue. */
static inline void kolk_waiter_leave_(kolk_wait_queue_ *queue, const kolk_waiter_ *waiter) {
    KOLK_ASSERT_(waiter == (waiter->before ? waiter->before->behind : queue->first));
    KOLK_ASSERT_(waiter == (waiter->behind ? waiter->behind->before : queue->last));
    if (waiter->before)
        waiter->before->behind = waiter->behind;
    else
        queue->first = waiter->behind;
    if (waiter->behind)
        waiter->behind->before = waiter->before;
    else
        queue->last = waiter->before;
}

/* Wakes a waiter. If it is in no queue, its thread may return immediately, and the waiter must not be used any more. */
static inline void kolk_waiter_wake_(kolk_waiter_ *waiter) {
    kolk_store_(&waiter->woken, 1, KOLK_RELEASE_); /* partner: the waiter's own load with acquire */
    kolk_wake_(&waiter->woken, 1);
}

/* Sleeps until a wake. Returns false if the deadline passes first. It may also return true spuriously. */
static inline bool kolk_waiter_sleep_(kolk_waiter_ *waiter, kolk_deadline deadline) {
    return kolk_wait_(&waiter->woken, 0, deadline);
}

#endif
