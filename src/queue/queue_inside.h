/* queue_inside.h: what the files of the queue share: its ends, gates, tickets and cells. Each file calls only those
 * below it:
 *
 *     queue.c            the essay; push and pop, and how they wait
 *     queue_memory.c     init and deinit                     queue_valid.c   the predicate over all invariants
 *     queue_ends.c       both ends at once: close, shutdown, reopen, clear
 *     queue_waiters.c    the threads and the descriptors that wait at an end
 *     queue_ask.c        count and statistics */
#ifndef KOLK_SRC_QUEUE_INSIDE_H
#define KOLK_SRC_QUEUE_INSIDE_H

#undef KOLK_EXTERN /* the functions of base.inl are emitted in base.c, also in a program that is compiled with it */
#include "kolk/base.inl"
#include "kolk/queue.h"

#include "../core/assert.h"
#include "../core/atomics.h"
#include "../core/wait_queue.h"

enum { PUSH = KOLK_WRITABLE, POP = KOLK_READABLE }; /* the ends */

/* The gate. Operations pass if it is OPEN and nothing else. */
#define OPEN    1u
#define HELD    2u /* only the first waiter may pass */
#define FROZEN  4u /* clear looks at both ends: look under the lock */
#define GATE    7u
#define TICKETS 3 /* above these bits */

typedef struct cell {
    uint64_t turn;
    unsigned char item[];
} cell;

static inline cell *cell_of(const kolk_queue *queue, uint64_t ticket) {
    KOLK_ASSERT((ticket & queue->mask) < queue->capacity);
    return (cell *)(void *)(queue->cells + (ticket & queue->mask) * queue->stride);
}

/* n tickets on; n <= capacity. (Of a ticket that is not the end's any more, pass may count more: then nobody uses what
 * comes out.) */
static inline uint64_t advanced(const kolk_queue *queue, uint64_t ticket, uint64_t n) {
    uint64_t number = (ticket & queue->mask) + n;
    return number < queue->capacity ? ticket + n : (ticket | queue->mask) + 1 + (number - queue->capacity);
}

/* The turns at which an end finds a ticket's cell, and leaves it. */
static inline uint64_t turn_before(const kolk_queue *queue, uint64_t ticket, int end) {
    return (ticket & ~queue->mask) + (end == POP);
}

static inline uint64_t turn_after(const kolk_queue *queue, uint64_t ticket, int end) {
    uint64_t lap = ticket & ~queue->mask;
    return end == PUSH ? lap + 1 : lap + queue->mask + 1;
}

static inline bool has_turn(const cell *it, uint64_t turn) {
    return kolk_load(&it->turn, KOLK_ACQUIRE) == turn; /* partner: the release in pass_cell, of the other end */
}

static inline bool has_come_round(const kolk_queue *queue, uint64_t ticket, int end) {
    return has_turn(cell_of(queue, ticket), turn_before(queue, ticket, end));
}

/* Is there nothing for this ticket of an end, the other end having that one? */
static inline bool is_blocked(const kolk_queue *queue, int end, uint64_t ticket, uint64_t other) {
    return ticket == (end == PUSH ? other + queue->mask + 1 : other);
}

static inline uint64_t ticket_at(const kolk_queue *queue, int end) {
    return kolk_load(&queue->ends[end].ticket, KOLK_SEQ_CST) >> TICKETS;
}

/* Is there something to take? Perhaps not any more. */
static inline bool has_something(const kolk_queue *queue, int end) {
    uint64_t ticket = ticket_at(queue, end);
    return !is_blocked(queue, end, ticket, ticket_at(queue, !end));
}

static inline size_t count_between(const kolk_queue *queue, uint64_t from, uint64_t to) {
    uint64_t cells = (to & queue->mask) - (from & queue->mask);
    return (size_t)((to & ~queue->mask) == (from & ~queue->mask) ? cells : cells + queue->capacity);
}

/* ---- queue_waiters.c --------------------------------------------------------------------------------------------- */

typedef struct kolk_queue_waiter {
    kolk_waiter link; /* first: what is in the queue of waiters */
    bool holds;       /* has closed the gate halfway */
    int64_t since;    /* when it was called and found nothing, first */
} kolk_queue_waiter;

/* Another thread is in the middle of an operation: looks again soon, and if it seems to be interrupted, later. */
void kolk_queue_look_later(uint32_t *looks);

/* The waiter joins as the last one, or, having been called, goes back to sleep; is it the first? */
bool kolk_queue_join(kolk_queue_end *end, kolk_queue_waiter *me, bool is_new);

/* The waiter leaves, and what it left is the next one's. */
void kolk_queue_leave(kolk_queue *queue, int at, kolk_queue_waiter *me);

/* The first waiter was called and found nothing: another thread was faster. When that has lasted too long, the gate
 * lets only the first waiter pass. (An ending calls all waiters. But those behind the first were not overtaken: they
 * wait for it.) */
void kolk_queue_mind_being_overtaken(kolk_queue_end *end, kolk_queue_waiter *me);

/* A program that polls an end has found nothing there. */
void kolk_queue_reset_fd(kolk_queue *queue, int at);

/* Wakes all that wait at this end: the queue has ended. */
void kolk_queue_wake_all(kolk_queue_end *end);

/* Wakes the first waiter, unless a called one is on its way. */
void kolk_queue_call_next(kolk_queue_end *end);

/* After an operation: the other end has something new. */
static inline void tell_waiters(kolk_queue *queue, int other) {
    if (KOLK_UNLIKELY(kolk_load(&queue->ends[other].asleep, KOLK_SEQ_CST))) kolk_queue_call_next(&queue->ends[other]);
}

/* ---- queue_ends.c ------------------------------------------------------------------------------------------------ */

/* What a closed gate means at this end: KOLK_OK if it is open again, or if there are items left to pop. (What was seen
 * before may have been another ending.) */
kolk_status kolk_queue_look_under_lock(kolk_queue *queue, int end);

/* What a waiter gets that has waited at this end since `endings`: KOLK_OK if no ending has let it go. (A pop to which a
 * close left items goes on looking for them. If others take them, the queue is closed, or empty if it was reopened in
 * between.) */
kolk_status kolk_queue_ended_since(const kolk_queue *queue, int end, uint64_t endings);

#endif
