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

/* What points to the waiter behind this one, and to the one before this one. NULL is the end of the queue. */
static inline kolk_waiter_ **kolk_waiter_behind_(kolk_wait_queue_ *queue, kolk_waiter_ *waiter) {
    return waiter ? &waiter->behind : &queue->first;
}

static inline kolk_waiter_ **kolk_waiter_before_(kolk_wait_queue_ *queue, kolk_waiter_ *waiter) {
    return waiter ? &waiter->before : &queue->last;
}

/* Inserts the waiter behind the given one, or at the front. */
static inline void kolk_waiter_insert_(kolk_wait_queue_ *queue, kolk_waiter_ *waiter, kolk_waiter_ *before) {
    KOLK_ASSERT_(!queue->first == !queue->last);
    KOLK_ASSERT_(waiter != before);
    KOLK_ASSERT_(waiter != *kolk_waiter_behind_(queue, before));
    waiter->before = before;
    waiter->behind = *kolk_waiter_behind_(queue, before);
    *kolk_waiter_behind_(queue, before) = *kolk_waiter_before_(queue, waiter->behind) = waiter;
}

static inline void kolk_waiter_join_(kolk_wait_queue_ *queue, kolk_waiter_ *waiter) {
    kolk_waiter_insert_(queue, waiter, queue->last);
}

/* Removes the waiter, which must be in the queue. */
static inline void kolk_waiter_leave_(kolk_wait_queue_ *queue, const kolk_waiter_ *waiter) {
    KOLK_ASSERT_(waiter == *kolk_waiter_behind_(queue, waiter->before));
    KOLK_ASSERT_(waiter == *kolk_waiter_before_(queue, waiter->behind));
    *kolk_waiter_behind_(queue, waiter->before) = waiter->behind;
    *kolk_waiter_before_(queue, waiter->behind) = waiter->before;
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
