/* queue_ends.c: the operations on both ends of a queue at once, under its lock: close, shutdown, reopen and clear. "The
 * end" in queue.c explains how calls notice an ending. */
#include "queue_inside.h"

#if KOLK_HOSTED

#include "../core/watch.h"
#include "../core/begin.h"
#include "../os/lock.h"

/* The units of the two counts in `endings`. The lower count is the one of shutdowns: even if it wraps, a waiter still
 * gets KOLK_SHUTDOWN. */
#define ONE_SHUTDOWN UINT64_C(1)
#define ONE_CLOSE    (UINT64_C(1) << 32)

KOLK_NOINLINE_ kolk_status kolk_queue_look_under_lock_(kolk_queue *queue, int end) {
    if (!kolk_is_home_(queue, queue->number, queue->name, NULL)) return KOLK_MOVED;
    if (!queue->cells) return KOLK_SHUTDOWN; /* an all-zero queue */
    kolk_lock_word_(&queue->lock);
    kolk_status ending = (kolk_status)queue->ending;
    if (ending == KOLK_CLOSED && end == POP && has_something(queue, POP)) ending = KOLK_OK;
    kolk_unlock_word_(&queue->lock);
    return ending;
}

kolk_status kolk_queue_ended_since_(const kolk_queue *queue, int end, uint64_t endings) {
    uint64_t now = kolk_load_(&queue->endings[end], KOLK_SEQ_CST_);
    if (now == endings) return KOLK_OK;
    return (now ^ endings) % ONE_CLOSE ? KOLK_SHUTDOWN : KOLK_CLOSED;
}

static void finish(kolk_queue *queue, kolk_status ending) {
    if (!queue->cells) return;
    kolk_lock_word_(&queue->lock);
    if (queue->ending != KOLK_SHUTDOWN) queue->ending = ending;
    uint64_t tail = kolk_fetch_and_(&queue->ends[PUSH].ticket, ~(uint64_t)OPEN, KOLK_SEQ_CST_) >> TICKETS;
    if (ending == KOLK_SHUTDOWN) kolk_fetch_and_(&queue->ends[POP].ticket, ~(uint64_t)OPEN, KOLK_SEQ_CST_);
    bool shut = queue->ending == KOLK_SHUTDOWN, drained = ticket_at(queue, POP) == tail;
    uint64_t one = shut ? ONE_SHUTDOWN : ONE_CLOSE;
    kolk_store_(&queue->endings[PUSH], queue->endings[PUSH] + one, KOLK_SEQ_CST_);
    if (shut || drained) kolk_store_(&queue->endings[POP], queue->endings[POP] + one, KOLK_SEQ_CST_);
    kolk_unlock_word_(&queue->lock);
    kolk_queue_wake_all_(&queue->ends[PUSH]);
    kolk_queue_wake_all_(&queue->ends[POP]);
}

void kolk_queue_close(kolk_queue *queue) {
    finish(queue, KOLK_CLOSED);
}

void kolk_queue_shutdown(kolk_queue *queue) {
    finish(queue, KOLK_SHUTDOWN);
}

void kolk_queue_reopen(kolk_queue *queue) {
    if (!queue->cells) return;
    kolk_lock_word_(&queue->lock);
    queue->ending = KOLK_OK;
    kolk_fetch_or_(&queue->ends[POP].ticket, OPEN, KOLK_SEQ_CST_);
    kolk_fetch_or_(&queue->ends[PUSH].ticket, OPEN, KOLK_SEQ_CST_);
    kolk_unlock_word_(&queue->lock);
}

/* Takes, in one step, all tickets of pops up to the ticket of the next push. Meanwhile the push's ticket is FROZEN. */
static size_t take_all(kolk_queue *queue, uint64_t *first) {
    kolk_queue_end_ *pops = &queue->ends[POP];
    kolk_lock_word_(&queue->lock);
    uint64_t tail = kolk_fetch_or_(&queue->ends[PUSH].ticket, FROZEN, KOLK_SEQ_CST_) >> TICKETS;
    uint64_t word = kolk_load_(&pops->ticket, KOLK_RELAXED_);
    while (
        !kolk_compare_exchange_(&pops->ticket, &word, tail << TICKETS | (word & GATE), KOLK_SEQ_CST_, KOLK_RELAXED_)) {}
    kolk_fetch_and_(&queue->ends[PUSH].ticket, ~(uint64_t)FROZEN, KOLK_SEQ_CST_);
    kolk_unlock_word_(&queue->lock);
    *first = word >> TICKETS;
    return count_between(queue, *first, tail);
}

KOLK_NOINLINE_ size_t kolk_queue_clear(kolk_queue *queue) {
    if (!queue->cells || kolk_queue_is_barred_(queue, "clear", SITE)) return 0;
    uint64_t ticket;
    size_t count = take_all(queue, &ticket);
    for (size_t i = 0; i < count; i++) {
        cell *there = cell_of(queue, ticket);
        for (uint32_t looks = 0; !has_come_round(queue, ticket, POP);)
            if (kolk_queue_look_later_(queue, &looks) != KOLK_OK) return i;
        KOLK_PLAIN_READ_(there->item, queue->item_size);
        const kolk_queue *before = kolk_queue_set_hook_(queue);
        if (queue->destroy) queue->destroy(there->item, queue->context);
        kolk_queue_set_hook_(before);
        kolk_store_(&there->turn, turn_after(queue, ticket, POP), KOLK_RELEASE_); /* partner: has_come_round */
        ticket = advanced(queue, ticket, 1);
    }
    if (count) tell_waiters(queue, PUSH);
    return count;
}

#endif
