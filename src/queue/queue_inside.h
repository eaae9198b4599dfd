/* queue_inside.h: declarations that the files of the queue share: ends, gates, tickets and cells. Each file calls only
 * files that are listed below it:
 *
 *     queue.c            the essay; push and pop, and their waiting
 *     queue_memory.c     init and deinit
 *     queue_ends.c       operations on both ends at once: close, shutdown, reopen, clear
 *     queue_waiters.c    threads and file descriptors that wait at an end
 *     queue_ask.c        count, statistics, and the check of all invariants */
#ifndef KOLK_SRC_QUEUE_INSIDE_H
#define KOLK_SRC_QUEUE_INSIDE_H

#undef KOLK_EXTERN /* base.c emits the functions of base.inl, even if the program defines KOLK_EXTERN */
#include "kolk/base.inl"
#include "kolk/queue.h"

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../core/wait_queue.h"

enum { PUSH = KOLK_QUEUE_WRITABLE, POP = KOLK_QUEUE_READABLE }; /* the ends */

/* The gate. Operations pass if OPEN is its only bit. */
#define OPEN    1u
#define HELD    2u /* only the first waiter may pass */
#define FROZEN  4u /* clear is reading both ends, so other threads must take the lock */
#define GATE    7u
#define TICKETS 3 /* the ticket is above these bits */

typedef struct cell {
    uint64_t turn;
    unsigned char item[];
} cell;

static inline cell *cell_of(const kolk_queue *queue, uint64_t ticket) {
    KOLK_ASSERT_((ticket & queue->mask) < queue->capacity);
    return (cell *)(void *)(queue->cells + (ticket & queue->mask) * queue->stride);
}

/* The ticket that is n after this one; n <= capacity. (With an outdated ticket, pass may have counted more cells; then
 * its compare-and-exchange fails, and the result is not used.) */
static inline uint64_t advanced(const kolk_queue *queue, uint64_t ticket, uint64_t n) {
    uint64_t number = (ticket & queue->mask) + n;
    return number < queue->capacity ? ticket + n : (ticket | queue->mask) + 1 + (number - queue->capacity);
}

/* The turn that an end waits for in a ticket's cell, and the turn that it leaves there. */
static inline uint64_t turn_before(const kolk_queue *queue, uint64_t ticket, int end) {
    return (ticket & ~queue->mask) + (end == POP);
}

static inline uint64_t turn_after(const kolk_queue *queue, uint64_t ticket, int end) {
    uint64_t lap = ticket & ~queue->mask;
    return end == PUSH ? lap + 1 : lap + queue->mask + 1;
}

static inline bool has_turn(const cell *it, uint64_t turn) {
    return kolk_load_(&it->turn, KOLK_ACQUIRE_) == turn; /* partner: the release in pass_cell at the other end */
}

static inline bool has_come_round(const kolk_queue *queue, uint64_t ticket, int end) {
    return has_turn(cell_of(queue, ticket), turn_before(queue, ticket, end));
}

/* Does the ticket of one end find nothing to take there, if the other end's ticket is `other`? */
static inline bool is_blocked(const kolk_queue *queue, int end, uint64_t ticket, uint64_t other) {
    return ticket == (end == PUSH ? other + queue->mask + 1 : other);
}

static inline uint64_t ticket_at(const kolk_queue *queue, int end) {
    return kolk_load_(&queue->ends[end].ticket, KOLK_SEQ_CST_) >> TICKETS;
}

/* Is there something to take? It may be gone by the time this returns. */
static inline bool has_something(const kolk_queue *queue, int end) {
    uint64_t ticket = ticket_at(queue, end);
    return !is_blocked(queue, end, ticket, ticket_at(queue, !end));
}

static inline size_t count_between(const kolk_queue *queue, uint64_t from, uint64_t to) {
    uint64_t cells = (to & queue->mask) - (from & queue->mask);
    return (size_t)((to & ~queue->mask) == (from & ~queue->mask) ? cells : cells + queue->capacity);
}

/* ---- queue_waiters.c --------------------------------------------------------------------------------------------- */

typedef struct kolk_queue_waiter_ {
    kolk_waiter_ link; /* must be first: links the waiter into the wait queue */
    bool holds;        /* this waiter has set HELD */
    int64_t since;     /* the time when it was first called and found nothing */
} kolk_queue_waiter_;

/* Call it with the queue before a hook, and with its result after the hook. A hook is known as such only until it
 * causes the call of another queue's hook. */
const kolk_queue *kolk_queue_set_hook_(const kolk_queue *queue);

/* Is the calling thread inside a hook of this queue? The second function reports that. */
bool kolk_queue_runs_hook_(const kolk_queue *queue);
bool kolk_queue_is_barred_(const kolk_queue *queue, const char *verb, const void *site);

/* Pauses while another thread is in the middle of an operation: briefly at first, longer if that thread seems to be
 * interrupted. Returns KOLK_IN_HOOK if it is the calling thread itself, and KOLK_MOVED, which is reported, if the
 * struct is not a queue. */
kolk_status kolk_queue_look_later_(const kolk_queue *queue, uint32_t *looks);

/* Adds a new waiter at the back, or lets a called one go back to sleep. Returns true if the waiter is the first one. */
bool kolk_queue_join_(kolk_queue_end_ *end, kolk_queue_waiter_ *me, bool is_new);

/* Removes the waiter, and calls the next one if there is more to take. */
void kolk_queue_leave_(kolk_queue *queue, int at, kolk_queue_waiter_ *me);

/* Records that the first waiter was called and found nothing, because another thread was faster. Once this has lasted
 * too long, the gate lets only the first waiter pass. (An ending calls all waiters. The waiters behind the first one
 * were not overtaken: they wait for the first.) */
void kolk_queue_mind_being_overtaken_(kolk_queue_end_ *end, kolk_queue_waiter_ *me);

/* Resets the file descriptor of an end, after a program that polls it has found nothing there. */
void kolk_queue_reset_fd_(kolk_queue *queue, int at);

/* Wakes all waiters at this end, because the queue has ended. */
void kolk_queue_wake_all_(kolk_queue_end_ *end);

/* Wakes the first waiter, unless one that was called is still on its way. */
void kolk_queue_call_next_(kolk_queue_end_ *end);

/* Calls a waiter at the other end, for which an operation has just left something. */
static inline void tell_waiters(kolk_queue *queue, int other) {
    if (KOLK_UNLIKELY_(kolk_load_(&queue->ends[other].asleep, KOLK_SEQ_CST_)))
        kolk_queue_call_next_(&queue->ends[other]);
}

/* ---- queue_ends.c ------------------------------------------------------------------------------------------------ */

/* Returns the reason why the gate of this end is closed. Returns KOLK_OK if it is open again, or if there are items
 * left to pop. (An earlier look may have seen a different ending.) */
kolk_status kolk_queue_look_under_lock_(kolk_queue *queue, int end);

/* Returns the status of a waiter that has waited at this end since the counts were `endings`: KOLK_OK if no ending has
 * released it. (If a close left items, a waiting pop still tries to get them. If other threads take them, the pop finds
 * the queue closed, or empty if it has been reopened.) */
kolk_status kolk_queue_ended_since_(const kolk_queue *queue, int end, uint64_t endings);

#endif
