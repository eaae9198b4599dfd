/* queue_waiters.c: the threads that wait at an end of a queue, and the file descriptors that a program polls instead.
 * "Sleeping" and "Fairness" in queue.c explain how they are called. The short wait for a cell is also here. */
#include "queue_inside.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "../core/begin.h"
#include "../os/clock.h"
#include "../os/event.h"
#include "../os/lock.h"
#include "../os/sleep.h"

#define NAP_NS INT64_C(20000) /* between two looks at a cell whose turn is about to change */
#ifndef KOLK_SCHEDULED
#define OVERTAKEN_NS INT64_C(1000000) /* a waiter sets HELD after this time */
#define PATIENCE     200              /* looks at such a cell before the first nap */
#else
#define OVERTAKEN_NS INT64_C(0) /* scheduled tests try rare paths as often as others */
#define PATIENCE     2
#endif

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

static KOLK_THREAD_LOCAL_ const kolk_queue *hook_of; /* the queue whose hook the thread runs; NULL: none */

const kolk_queue *kolk_queue_set_hook_(const kolk_queue *queue) {
    const kolk_queue *before = hook_of;
    hook_of = queue;
    return before;
}

bool kolk_queue_runs_hook_(const kolk_queue *queue) {
    return hook_of == queue;
}

bool kolk_queue_is_barred_(const kolk_queue *queue, const char *verb, const void *site) {
    if (hook_of != queue) return false;
    kolk_failure failure = {.rule = KOLK_IN_HOOK, .slot = UINT32_MAX, .site = site, .no_debug = true};
    failure.pool = queue->name ? queue->name : "";
    kolk_fail_(failure, "%s in a hook of this queue", verb);
    return true;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

kolk_status kolk_queue_look_later_(const kolk_queue *queue, uint32_t *looks) {
    uint32_t nothing = 0;
    if (++*looks == 1 && hook_of == queue) return KOLK_IN_HOOK;
    if (*looks < PATIENCE)
        kolk_pause_();
    else if (*looks == PATIENCE && !kolk_is_home_(queue, queue->number, queue->name, NULL))
        return KOLK_MOVED;
    else
        kolk_wait_(&nothing, 0, (kolk_deadline){kolk_now_ns_() + NAP_NS});
    return KOLK_OK;
}

/* Updates `asleep`; the caller holds the end's lock. Accesses to `asleep` and to tickets are in one order; see
 * "Sleeping" in queue.c. */
static void show_asleep(kolk_queue_end_ *end) {
    bool waits = end->waiters.first || (end->fd && !end->fd_called);
    kolk_exchange_(&end->asleep, !end->called && waits, KOLK_SEQ_CST_);
}

/* Makes the end's file descriptor readable, if there is one. The caller holds the end's lock. */
static void set_fd(kolk_queue_end_ *end) {
    if (!end->fd || end->fd_called) return;
    end->fd_called = true;
    kolk_event_set_((int)end->fd - 1);
}

KOLK_NOINLINE_ void kolk_queue_call_next_(kolk_queue_end_ *end) {
    uint32_t *sleeps_on = NULL;
    kolk_lock_word_(&end->lock);
    if (!end->called && end->waiters.first) {
        end->called = end->waiters.first;
        sleeps_on = &end->called->woken;
        kolk_store_(sleeps_on, 1, KOLK_RELAXED_); /* relaxed, because the woken thread takes the lock again */
    } else if (!end->called) {
        set_fd(end);
    }
    show_asleep(end);
    kolk_unlock_word_(&end->lock);
    if (sleeps_on) kolk_wake_(sleeps_on, 1); /* the waiter may have returned already: see wait_queue.h */
}

bool kolk_queue_join_(kolk_queue_end_ *end, kolk_queue_waiter_ *me, bool is_new) {
    kolk_lock_word_(&end->lock);
    if (is_new) {
        kolk_waiter_join_(&end->waiters, &me->link);
        kolk_store_(&end->waits, end->waits + 1, KOLK_RELAXED_);
        kolk_store_(&end->waiting, end->waiting + 1, KOLK_RELAXED_);
    }
    kolk_store_(&me->link.woken, 0, KOLK_RELAXED_);
    if (end->called == &me->link) end->called = NULL;
    bool is_first = end->waiters.first == &me->link;
    show_asleep(end);
    kolk_unlock_word_(&end->lock);
    return is_first;
}

/* Is there an item or room for waiters, or has the queue ended? A file descriptor reports this. */
static bool has_news(const kolk_queue *queue, int end) {
    bool open = kolk_load_(&queue->ends[PUSH].ticket, KOLK_SEQ_CST_) & OPEN;
    return !open || has_something(queue, end);
}

void kolk_queue_leave_(kolk_queue *queue, int at, kolk_queue_waiter_ *me) {
    kolk_queue_end_ *end = &queue->ends[at];
    kolk_lock_word_(&end->lock);
    kolk_waiter_leave_(&end->waiters, &me->link);
    kolk_store_(&end->waiting, end->waiting - 1, KOLK_RELAXED_);
    if (end->called == &me->link) end->called = NULL;
    if (me->holds) kolk_fetch_and_(&end->ticket, ~(uint64_t)HELD, KOLK_SEQ_CST_);
    show_asleep(end);
    bool others = end->asleep;
    kolk_unlock_word_(&end->lock);
    if (others && has_news(queue, at)) kolk_queue_call_next_(end);
}

void kolk_queue_mind_being_overtaken_(kolk_queue_end_ *end, kolk_queue_waiter_ *me) {
    int64_t now = kolk_now_ns_();
    if (me->since == 0) me->since = now;
    if (me->holds || now - me->since < OVERTAKEN_NS) return;
    me->holds = true;
    kolk_fetch_or_(&end->ticket, HELD, KOLK_SEQ_CST_);
}

void kolk_queue_wake_all_(kolk_queue_end_ *end) {
    kolk_lock_word_(&end->lock);
    for (kolk_waiter_ *each = end->waiters.first; each; each = each->behind) kolk_waiter_wake_(each);
    set_fd(end);
    show_asleep(end);
    kolk_unlock_word_(&end->lock);
}

/* ---- Descriptors ------------------------------------------------------------------------------------------------- */

int kolk_queue_fd(kolk_queue *queue, kolk_queue_event event) {
    if (!queue->cells || (unsigned)event > KOLK_QUEUE_READABLE) return -1;
    kolk_queue_end_ *end = &queue->ends[event];
    kolk_lock_word_(&end->lock);
    bool is_new = !end->fd;
    if (is_new) kolk_store_(&end->fd, (uint32_t)(kolk_event_open_() + 1), KOLK_RELAXED_);
    int fd = (int)end->fd - 1;
    show_asleep(end);
    kolk_unlock_word_(&end->lock);
    if (is_new && has_news(queue, (int)event)) kolk_queue_call_next_(end);
    return fd;
}

void kolk_queue_reset_fd_(kolk_queue *queue, int at) {
    kolk_queue_end_ *end = &queue->ends[at];
    if (!kolk_load_(&end->fd, KOLK_RELAXED_)) return;
    kolk_lock_word_(&end->lock);
    if (end->fd_called) kolk_event_reset_((int)end->fd - 1);
    end->fd_called = false;
    show_asleep(end);
    kolk_unlock_word_(&end->lock);
    if (has_news(queue, at)) kolk_queue_call_next_(end);
}

#endif
