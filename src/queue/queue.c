/* queue.c: a bounded queue between threads.
 *
 *     cells     | turn, item | turn, item | turn, item | ... | capacity |
 *     ticket    | lap ............................ | cell's number | gate |
 *
 * Room is to a push what an item is to a pop. So the queue has two ends that are alike. An operation at an end takes
 * the next ticket, which names a cell, does its work there, and leaves the cell to the other end's ticket of the same
 * number:
 *
 *     end     finds the turn      does               leaves the turn
 *     push    lap                 copies the item in     lap + 1
 *     pop     lap + 1             copies it out          the next lap
 *
 * A lap is counted in tickets, so laps are far apart. (Vyukov's bounded queue, 2010, has no phase: there, with one
 * cell, "taken" would be "free in the next lap".) An operation takes its ticket by one compare-and-exchange, and only
 * when the ticket's cell has come round. Cells come round in the order of tickets, so there is one order: first in,
 * first out. Tickets start again after `capacity` steps, which needs no division, and any capacity works.
 *
 * A cell that has not come round does not tell why: the queue may be empty, or a push may be between ticket and turn.
 * The other end's ticket tells. An empty queue has the same ticket at both ends, and a full one has tickets of the same
 * cell, a lap apart. Tickets only advance, and none passes these limits, so what they say was true when the second one
 * was read. So EMPTY and FULL are true. Otherwise the cell comes round in a moment, for which the operation waits: the
 * one thing here that is not lock-free.
 *
 * Sleeping. A thread that finds nothing joins the wait queue of its end, sets `asleep`, looks once more, and sleeps. A
 * thread that has done its work looks at the other end's `asleep`, and calls the first waiter if it is set. Each of the
 * two writes and then reads: the ticket, and `asleep`. All of these are in the one sequentially consistent order, so at
 * least one of the two sees the other (Dekker). So no thread sleeps while there is something to take and no waiter has
 * been called. One waiter is called at a time. It takes what it finds, leaves the wait queue, sets `asleep` again if
 * others are in it, and calls the next one if there is more. So a caller does one system call at most, and none while a
 * called waiter is on its way. tests/models/queue.pml is this protocol for SPIN.
 *
 * Fairness. A thread that comes and finds something takes it, even if others wait, since their turn costs a switch of
 * threads. A waiter that was called, found nothing, and still finds nothing a millisecond later closes the gate halfway
 * (HELD). Then only the first waiter passes, and that is this one. The gate is the lowest bits of the ticket, which the
 * compare-and-exchange reads anyway: neither fairness nor the end of the queue costs a branch on the usual way.
 *
 * The end. A gate without OPEN lets no operation through. What that means is told under the lock, which close,
 * shutdown, reopen and clear hold, so that no thread sees half of them. A waiter may sleep through any number of
 * endings, each with a reopen behind it. So `endings` of an end counts those that let its waiters go: every shutdown,
 * and every close, except that where items are popped only a close counts that left no item. A waiter compares both
 * counts with those it began with. A count never goes back, so no ending hides another (unless there are 2^32 of them
 * during one wait).
 *
 * Invariants (kolk_queue_is_valid):
 *     I1  0 <= count <= capacity; the tickets' numbers are below capacity
 *     I2  the turn of a cell from the pop's ticket to the push's is its lap + 1, of all others the lap that comes next
 *     I3  OPEN is set at both ends, or, closed, where items are popped, or, shut down, at none
 *     I4  no thread waits, FROZEN and HELD are not set, the locks are free
 *     I5  `asleep` is set if and only if there is an fd that is not readable */
#undef KOLK_EXTERN /* the functions of base.inl are emitted in base.c, also in a program that is compiled with it */
#include "kolk/base.inl"
#include "kolk/queue.h"

#if __STDC_HOSTED__

#include "../core/assert.h"
#include "../core/atomics.h"
#include "../core/wait_queue.h"
#include "../diag/begin.h"
#include "../diag/debug.h"
#include "../os/memory.h"
#include "../core/tools.h"
#include "../os/clock.h"
#include "../os/event.h"
#include "../os/lock.h"
#include "../os/sleep.h"

#include <string.h>

_Static_assert(sizeof(void *) != 8 || (sizeof(kolk_queue) == 640 && sizeof(kolk_queue_desc) == 40),
               "the layout has changed: raise KOLK_ABI");
_Static_assert(sizeof(void *) != 8 || (offsetof(kolk_queue, ends) == 128 && sizeof(kolk_queue_end) == 256 &&
                                       offsetof(kolk_queue_end, asleep) == 128),
               "what different threads write is 128 bytes apart");

enum { PUSH = KOLK_WRITABLE, POP = KOLK_READABLE }; /* the ends */

/* The gate. Operations pass if it is OPEN and nothing else. */
#define OPEN    1u
#define HELD    2u /* only the first waiter may pass */
#define FROZEN  4u /* clear looks at both ends: look under the lock */
#define GATE    7u
#define TICKETS 3 /* above these bits */

/* The two counts in `endings`. Shutdowns are the lower one: a waiter that sees it wrap gets KOLK_SHUTDOWN all the
 * same. */
#define ONE_SHUTDOWN UINT64_C(1)
#define ONE_CLOSE    (UINT64_C(1) << 32)

#define CELL_HEAD 8              /* bytes of the turn */
#define NAP_NS    INT64_C(20000) /* between two looks at a cell that is on its way */
#ifndef KOLK_SCHEDULED
#define OVERTAKEN_NS INT64_C(1000000) /* for so long, then HELD */
#define PATIENCE     200              /* looks at a cell that is on its way, then naps */
#else
#define OVERTAKEN_NS INT64_C(0) /* in scheduled tests what is rare is tried as often as the rest */
#define PATIENCE     2
#define LOOK_NS      INT64_C(0)
#endif
#ifndef LOOK_NS                /* bench/backoff.cc tries others, for these three */
#define LOOK_NS INT64_C(50000) /* look again for so long before joining the waiters */
#endif
#ifndef SHORTEST_PAUSE
#define SHORTEST_PAUSE 200 /* nanoseconds between two looks; doubled each time */
#define LONGEST_PAUSE  800 /* then give way between two looks */
#endif

/* ---- Tickets and cells ------------------------------------------------------------------------------------------- */

typedef struct cell {
    uint64_t turn;
    unsigned char item[];
} cell;

static cell *cell_of(const kolk_queue *queue, uint64_t ticket) {
    KOLK_ASSERT((ticket & queue->mask) < queue->capacity);
    return (cell *)(void *)(queue->cells + (ticket & queue->mask) * queue->stride);
}

/* n tickets on; n <= capacity. (Of a ticket that is not the end's any more, pass may count more: then nobody uses what
 * comes out.) */
static uint64_t advanced(const kolk_queue *queue, uint64_t ticket, uint64_t n) {
    uint64_t number = (ticket & queue->mask) + n;
    return number < queue->capacity ? ticket + n : (ticket | queue->mask) + 1 + (number - queue->capacity);
}

/* The turns at which an end finds a ticket's cell, and leaves it. */
static uint64_t turn_before(const kolk_queue *queue, uint64_t ticket, int end) {
    return (ticket & ~queue->mask) + (end == POP);
}

static uint64_t turn_after(const kolk_queue *queue, uint64_t ticket, int end) {
    uint64_t lap = ticket & ~queue->mask;
    return end == PUSH ? lap + 1 : lap + queue->mask + 1;
}

static inline bool has_turn(const cell *it, uint64_t turn) {
    return kolk_load(&it->turn, KOLK_ACQUIRE) == turn; /* partner: the release in pass_cell, of the other end */
}

static bool has_come_round(const kolk_queue *queue, uint64_t ticket, int end) {
    return has_turn(cell_of(queue, ticket), turn_before(queue, ticket, end));
}

/* Is there nothing for this ticket of an end, the other end having that one? */
static bool is_blocked(const kolk_queue *queue, int end, uint64_t ticket, uint64_t other) {
    return ticket == (end == PUSH ? other + queue->mask + 1 : other);
}

static uint64_t ticket_at(const kolk_queue *queue, int end) {
    return kolk_load(&queue->ends[end].ticket, KOLK_SEQ_CST) >> TICKETS;
}

/* Is there something to take? Perhaps not any more. */
static bool has_something(const kolk_queue *queue, int end) {
    uint64_t ticket = ticket_at(queue, end);
    return !is_blocked(queue, end, ticket, ticket_at(queue, !end));
}

static size_t count_between(const kolk_queue *queue, uint64_t from, uint64_t to) {
    uint64_t cells = (to & queue->mask) - (from & queue->mask);
    return (size_t)((to & ~queue->mask) == (from & ~queue->mask) ? cells : cells + queue->capacity);
}

/* ---- Waiters ----------------------------------------------------------------------------------------------------- */

typedef struct queue_waiter {
    kolk_waiter link; /* first: what is in the queue of waiters */
    bool holds;       /* has closed the gate halfway */
    int64_t since;    /* when it was called and found nothing, first */
} queue_waiter;

/* Under the end's lock. All looks at `asleep` are in one order with those at tickets: see Sleeping. */
static void show_asleep(kolk_queue_end *end) {
    bool waits = end->waiters.first || (end->fd && !end->fd_called);
    kolk_exchange(&end->asleep, !end->called && waits, KOLK_SEQ_CST);
}

/* Wakes the first waiter, unless a called one is on its way. */
static KOLK_APART void call_next(kolk_queue_end *end) {
    uint32_t *sleeps_on = NULL;
    kolk_lock_word(&end->lock);
    if (!end->called && end->waiters.first) {
        end->called = end->waiters.first;
        sleeps_on = &end->called->woken;
        kolk_store(sleeps_on, 1, KOLK_RELAXED); /* whoever wakes takes the lock again */
    } else if (!end->called && end->fd && !end->fd_called) {
        end->fd_called = true;
        kolk_event_set((int)end->fd - 1);
    }
    show_asleep(end);
    kolk_unlock_word(&end->lock);
    if (sleeps_on) kolk_wake(sleeps_on, 1); /* it may have returned: see wait_queue.h */
}

/* After an operation: the other end has something new. */
static inline void tell(kolk_queue *queue, int other) {
    if (KOLK_UNLIKELY(kolk_load(&queue->ends[other].asleep, KOLK_SEQ_CST))) call_next(&queue->ends[other]);
}

/* The waiter joins as the last one, or, having been called, goes back to sleep; is it the first? */
static bool join_end(kolk_queue_end *end, queue_waiter *me, bool is_new) {
    kolk_lock_word(&end->lock);
    if (is_new) kolk_waiter_join(&end->waiters, &me->link);
    kolk_store(&me->link.woken, 0, KOLK_RELAXED);
    if (end->called == &me->link) end->called = NULL;
    bool is_first = end->waiters.first == &me->link;
    show_asleep(end);
    kolk_unlock_word(&end->lock);
    return is_first;
}

/* Is there an item or room for waiters, or has the queue ended? This is what a file descriptor tells. */
static bool has_news(const kolk_queue *queue, int end) {
    bool open = kolk_load(&queue->ends[PUSH].ticket, KOLK_SEQ_CST) & OPEN;
    return !open || has_something(queue, end);
}

/* The waiter leaves, and what it left is the next one's. */
static void leave_end(kolk_queue *queue, int at, queue_waiter *me) {
    kolk_queue_end *end = &queue->ends[at];
    kolk_lock_word(&end->lock);
    kolk_waiter_leave(&end->waiters, &me->link);
    if (end->called == &me->link) end->called = NULL;
    if (me->holds) kolk_fetch_and(&end->ticket, ~(uint64_t)HELD, KOLK_SEQ_CST);
    show_asleep(end);
    bool others = end->asleep;
    kolk_unlock_word(&end->lock);
    if (others && has_news(queue, at)) call_next(end);
}

/* The first waiter was called and found nothing: another thread was faster. When that has lasted too long, the gate
 * lets only the first waiter pass. (An ending calls all waiters. But those behind the first were not overtaken: they
 * wait for it.) */
static void mind_being_overtaken(kolk_queue_end *end, queue_waiter *me) {
    int64_t now = kolk_now_ns();
    if (me->since == 0) me->since = now;
    if (me->holds || now - me->since < OVERTAKEN_NS) return;
    me->holds = true;
    kolk_fetch_or(&end->ticket, HELD, KOLK_SEQ_CST);
}

/* A program that polls an end has found nothing there. */
static void reset_fd(kolk_queue *queue, int at) {
    kolk_queue_end *end = &queue->ends[at];
    if (!kolk_load(&end->fd, KOLK_RELAXED)) return;
    kolk_lock_word(&end->lock);
    if (end->fd_called) kolk_event_reset((int)end->fd - 1);
    end->fd_called = false;
    show_asleep(end);
    kolk_unlock_word(&end->lock);
    if (has_news(queue, at)) call_next(end);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* What a closed gate means at this end: KOLK_OK if it is open again, or if there are items left to pop. (What was seen
 * before may have been another ending.) */
static KOLK_APART kolk_status look_under_lock(kolk_queue *queue, int end) {
    if (!queue->cells) return KOLK_SHUTDOWN; /* all zero */
    kolk_lock_word(&queue->lock);
    kolk_status ending = (kolk_status)queue->ending;
    if (ending == KOLK_CLOSED && end == POP && has_something(queue, POP)) ending = KOLK_OK;
    kolk_unlock_word(&queue->lock);
    return ending;
}

/* What a waiter gets that has waited at this end since `endings`: KOLK_OK if no ending has let it go. (A pop to which a
 * close left items goes on looking for them. If others take them, the queue is closed, or empty if it was reopened in
 * between.) */
static kolk_status ended_since(const kolk_queue *queue, int end, uint64_t endings) {
    uint64_t now = kolk_load(&queue->endings[end], KOLK_SEQ_CST);
    if (now == endings) return KOLK_OK;
    return (now ^ endings) % ONE_CLOSE ? KOLK_SHUTDOWN : KOLK_CLOSED;
}

static void wake_all(kolk_queue_end *end) {
    kolk_lock_word(&end->lock);
    for (kolk_waiter *each = end->waiters.first; each; each = each->behind) kolk_waiter_wake(each);
    if (end->fd && !end->fd_called) {
        end->fd_called = true;
        kolk_event_set((int)end->fd - 1);
    }
    show_asleep(end);
    kolk_unlock_word(&end->lock);
}

static void finish(kolk_queue *queue, kolk_status ending) {
    if (!queue->cells) return;
    kolk_lock_word(&queue->lock);
    if (queue->ending != KOLK_SHUTDOWN) queue->ending = ending;
    uint64_t tail = kolk_fetch_and(&queue->ends[PUSH].ticket, ~(uint64_t)OPEN, KOLK_SEQ_CST) >> TICKETS;
    if (ending == KOLK_SHUTDOWN) kolk_fetch_and(&queue->ends[POP].ticket, ~(uint64_t)OPEN, KOLK_SEQ_CST);
    bool shut = queue->ending == KOLK_SHUTDOWN, drained = ticket_at(queue, POP) == tail;
    uint64_t one = shut ? ONE_SHUTDOWN : ONE_CLOSE;
    kolk_store(&queue->endings[PUSH], queue->endings[PUSH] + one, KOLK_SEQ_CST);
    if (shut || drained) kolk_store(&queue->endings[POP], queue->endings[POP] + one, KOLK_SEQ_CST);
    kolk_unlock_word(&queue->lock);
    wake_all(&queue->ends[PUSH]);
    wake_all(&queue->ends[POP]);
}

void kolk_queue_close(kolk_queue *queue) {
    finish(queue, KOLK_CLOSED);
}

void kolk_queue_shutdown(kolk_queue *queue) {
    finish(queue, KOLK_SHUTDOWN);
}

void kolk_queue_reopen(kolk_queue *queue) {
    if (!queue->cells) return;
    kolk_lock_word(&queue->lock);
    queue->ending = KOLK_OK;
    kolk_fetch_or(&queue->ends[POP].ticket, OPEN, KOLK_SEQ_CST);
    kolk_fetch_or(&queue->ends[PUSH].ticket, OPEN, KOLK_SEQ_CST);
    kolk_unlock_word(&queue->lock);
}

/* ---- Passing items ----------------------------------------------------------------------------------------------- */

/* Another thread is in the middle of an operation: looks again soon, and if it seems to be interrupted, later. */
static void look_later(uint32_t *looks) {
    uint32_t nothing = 0;
    if (++*looks < PATIENCE)
        kolk_pause();
    else
        kolk_wait(&nothing, 0, (kolk_deadline){kolk_now_ns() + NAP_NS});
}

/* Where gcc -flto sees the program's item, it warns of a memcpy of 8 bytes to a smaller one, but not of this. */
static inline void copy(void *to, const void *from, size_t size) {
    typedef struct __attribute__((may_alias, packed)) eight {
        uint64_t bytes;
    } eight;
    if (size == 8)
        *(eight *)to = *(const eight *)from;
    else
        memcpy(to, from, size);
}

static inline void pass_cell(cell *there, uint64_t turn, void *item, size_t size, int end) {
    if (end == PUSH) {
        KOLK_PLAIN_WRITE(there->item, size);
        copy(there->item, item, size);
    } else {
        KOLK_PLAIN_READ(there->item, size);
        copy(item, there->item, size);
    }
    kolk_store(&there->turn, turn, KOLK_RELEASE); /* partner: has_turn */
}

/* A walk through the ring, for push_n and pop_n: this is less work for each cell than finding it by its ticket. It
 * copies what it needs from the queue, since the compiler must assume that an item which is copied lies in the queue's
 * struct. */
typedef struct walk {
    unsigned char *at, *last, *first;
    size_t stride;
    uint64_t turn, lap;
} walk;

static inline walk walk_from(const kolk_queue *queue, uint64_t ticket, uint64_t turn) {
    return (walk){.at = (unsigned char *)cell_of(queue, ticket),
                  .last = queue->cells + queue->bytes - queue->stride,
                  .first = queue->cells,
                  .stride = queue->stride,
                  .turn = turn,
                  .lap = queue->mask + 1};
}

static inline void go_on(walk *it) {
    if (KOLK_UNLIKELY(it->at == it->last)) {
        it->at = it->first;
        it->turn += it->lap;
    } else {
        it->at += it->stride;
    }
}

/* How many cells have come round, from the ticket's cell on; at most `most`. */
static inline size_t come_round(const kolk_queue *queue, uint64_t ticket, size_t most, int end) {
    size_t count = 0;
    for (walk it = walk_from(queue, ticket, turn_before(queue, ticket, end)); count < most; count++, go_on(&it))
        if (!has_turn((cell *)(void *)it.at, it.turn)) break;
    return count;
}

static inline void pass_cells(const kolk_queue *queue, uint64_t ticket, unsigned char *items, size_t n, int end) {
    size_t size = queue->item_size;
    for (walk it = walk_from(queue, ticket, turn_after(queue, ticket, end)); n > 0; n--, items += size, go_on(&it))
        pass_cell((cell *)(void *)it.at, it.turn, items, size, end);
}

/* Passes up to `most` items, and says in *n how many; 0 with the reason why not. KOLK_FULL means, at either end, that
 * there is nothing to take. */
static KOLK_WITHIN kolk_status pass(kolk_queue *queue, int end, void *items, size_t *n, size_t most,
                                    bool may_pass_held) {
    kolk_queue_end *here = &queue->ends[end];
    uint32_t looks = 0;
    uint64_t word = kolk_load(&here->ticket, KOLK_RELAXED);
    *n = 0;
    for (;;) {
        if (KOLK_UNLIKELY((word & GATE) != OPEN)) {
            if ((word & GATE) == (OPEN | HELD)) {
                if (!may_pass_held) return KOLK_FULL;
            } else {
                kolk_status ending = look_under_lock(queue, end);
                if (ending != KOLK_OK) return ending;
                word = kolk_load(&here->ticket, KOLK_RELAXED);
                continue;
            }
        }
        uint64_t ticket = word >> TICKETS;
        size_t count = come_round(queue, ticket, most, end);
        if (count > 0) {
            uint64_t taken = advanced(queue, ticket, count) << TICKETS | (word & GATE);
            if (!kolk_compare_exchange_weak(&here->ticket, &word, taken, KOLK_SEQ_CST, KOLK_RELAXED)) continue;
            KOLK_ASSERT(count <= queue->capacity); /* cells come round again only after the ticket has gone on */
            pass_cells(queue, ticket, (unsigned char *)items, count, end);
            *n = count;
            tell(queue, !end);
            return KOLK_OK;
        }
        uint64_t now = kolk_load(&here->ticket, KOLK_RELAXED);
        if (now == word) {
            uint64_t other = kolk_load(&queue->ends[!end].ticket, KOLK_SEQ_CST);
            if (is_blocked(queue, end, ticket, other >> TICKETS)) {
                if (end == PUSH || (other & OPEN)) return KOLK_FULL;
                kolk_status ending = look_under_lock(queue, end);
                if (ending != KOLK_OK) return ending;
            } else {
                look_later(&looks);
            }
            now = kolk_load(&here->ticket, KOLK_RELAXED);
        }
        word = now;
    }
}

/* One look of a call that waits since `endings`. */
static kolk_status look_again(kolk_queue *queue, int end, void *items, size_t *n, size_t most, bool may_pass_held,
                              uint64_t endings) {
    kolk_status status = ended_since(queue, end, endings);
    return status == KOLK_OK ? pass(queue, end, items, n, most, may_pass_held) : status;
}

/* Looks again, less and less often, so that the other side gets several cache lines ahead. If that takes long, the
 * other side may be waiting for this processor, so it gives way between two looks. */
static kolk_status look_for_a_while(kolk_queue *queue, int end, void *items, size_t *n, size_t most, uint64_t endings,
                                    kolk_deadline deadline) {
    int64_t now = kolk_now_ns(), begin = now, pause = SHORTEST_PAUSE;
    kolk_status status = KOLK_FULL;
    while (status == KOLK_FULL && now - begin < LOOK_NS && now < deadline.ns) {
        if (pause <= LONGEST_PAUSE) {
            for (int64_t until = now + pause; now < until; now = kolk_now_ns()) kolk_pause();
            pause *= 2;
        } else {
            kolk_yield();
            now = kolk_now_ns();
        }
        status = look_again(queue, end, items, n, most, false, endings);
    }
    return status;
}

static KOLK_APART kolk_status wait_at_end(kolk_queue *queue, int at, void *items, size_t *n, size_t most,
                                          uint64_t endings, kolk_deadline deadline) {
    kolk_queue_end *end = &queue->ends[at];
    queue_waiter me = {.since = 0};
    bool in_time = true;
    kolk_status status = KOLK_FULL;
    for (bool is_new = true; status == KOLK_FULL; is_new = false) {
        bool is_first = join_end(end, &me, is_new);
        if (is_first && !is_new && in_time) mind_being_overtaken(end, &me);
        status = look_again(queue, at, items, n, most, is_first || !in_time, endings); /* a time-out has to be true */
        if (status != KOLK_FULL) break;
        if (!in_time) status = KOLK_TIMEOUT;
        while (in_time && !kolk_load(&me.link.woken, KOLK_RELAXED)) in_time = kolk_waiter_sleep(&me.link, deadline);
    }
    leave_end(queue, at, &me);
    return status;
}

/* For what could not be done at once: looks for a while, then waits; then says why not. */
static KOLK_APART kolk_status wait_for(kolk_queue *queue, int end, void *items, size_t *n, size_t most,
                                       kolk_deadline deadline) {
    uint64_t endings = kolk_load(&queue->endings[end], KOLK_SEQ_CST);
    kolk_status status = KOLK_FULL;
    uint32_t *was_blocked = &queue->ends[end].was_blocked;
    if (!kolk_load(was_blocked, KOLK_RELAXED)) kolk_store(was_blocked, 1, KOLK_RELAXED);
    if (deadline.ns != KOLK_NOW.ns) {
        status = look_for_a_while(queue, end, items, n, most, endings, deadline);
        if (status == KOLK_FULL) status = wait_at_end(queue, end, items, n, most, endings, deadline);
        kolk_status ending = ended_since(queue, end, endings); /* also one that came and went during the last look */
        if (status != KOLK_OK && ending != KOLK_OK) status = ending;
    } else if (end == POP) {
        status = KOLK_EMPTY;
    }
    if (status == KOLK_FULL || status == KOLK_EMPTY || status == KOLK_TIMEOUT) {
        kolk_fetch_add(&queue->ends[end].failed, 1, KOLK_RELAXED);
        reset_fd(queue, end);
    }
    return status;
}

static KOLK_WITHIN kolk_status pass_or_wait(kolk_queue *queue, int end, void *items, size_t *n, size_t most,
                                            kolk_deadline deadline) {
    kolk_status status = pass(queue, end, items, n, most, deadline.ns == KOLK_NOW.ns);
    return KOLK_UNLIKELY(status == KOLK_FULL) ? wait_for(queue, end, items, n, most, deadline) : status;
}

kolk_status kolk_queue_push(kolk_queue *queue, const void *item, kolk_deadline deadline) {
    size_t n;
    return pass_or_wait(queue, PUSH, (void *)(uintptr_t)item, &n, 1, deadline);
}

kolk_status kolk_queue_pop(kolk_queue *queue, void *item, kolk_deadline deadline) {
    size_t n;
    return pass_or_wait(queue, POP, item, &n, 1, deadline);
}

kolk_status kolk_queue_push_n(kolk_queue *queue, const void *items, size_t *n, kolk_deadline deadline) {
    return *n ? pass_or_wait(queue, PUSH, (void *)(uintptr_t)items, n, *n, deadline) : KOLK_OK;
}

kolk_status kolk_queue_pop_n(kolk_queue *queue, void *items, size_t *n, kolk_deadline deadline) {
    return *n ? pass_or_wait(queue, POP, items, n, *n, deadline) : KOLK_OK;
}

/* ---- All items --------------------------------------------------------------------------------------------------- */

size_t kolk_queue_count(const kolk_queue *queue) {
    uint64_t head, tail, again = ticket_at(queue, POP);
    do {
        head = again;
        tail = ticket_at(queue, PUSH);
        again = ticket_at(queue, POP);
    } while (again != head);
    return count_between(queue, head, tail);
}

/* Takes all tickets of pop up to the push's in one step; the push's is FROZEN for that time. */
static size_t take_all(kolk_queue *queue, uint64_t *first) {
    kolk_queue_end *pops = &queue->ends[POP];
    kolk_lock_word(&queue->lock);
    uint64_t tail = kolk_fetch_or(&queue->ends[PUSH].ticket, FROZEN, KOLK_SEQ_CST) >> TICKETS;
    uint64_t word = kolk_load(&pops->ticket, KOLK_RELAXED);
    while (!kolk_compare_exchange(&pops->ticket, &word, tail << TICKETS | (word & GATE), KOLK_SEQ_CST, KOLK_RELAXED)) {}
    kolk_fetch_and(&queue->ends[PUSH].ticket, ~(uint64_t)FROZEN, KOLK_SEQ_CST);
    kolk_unlock_word(&queue->lock);
    *first = word >> TICKETS;
    return count_between(queue, *first, tail);
}

size_t kolk_queue_clear(kolk_queue *queue) {
    if (!queue->cells) return 0;
    uint64_t ticket;
    size_t count = take_all(queue, &ticket);
    for (size_t i = 0; i < count; i++) {
        cell *there = cell_of(queue, ticket);
        for (uint32_t looks = 0; !has_come_round(queue, ticket, POP);) look_later(&looks);
        KOLK_PLAIN_READ(there->item, queue->item_size);
        if (queue->destroy) queue->destroy(there->item, queue->context);
        kolk_store(&there->turn, turn_after(queue, ticket, POP), KOLK_RELEASE); /* partner: has_come_round */
        ticket = advanced(queue, ticket, 1);
    }
    if (count) tell(queue, PUSH);
    return count;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

void kolk_queue_stats(const kolk_queue *queue, kolk_stats *out) {
    uint32_t count = (uint32_t)kolk_queue_count(queue), capacity = queue->capacity;
    uint32_t peak = kolk_load(&queue->ends[PUSH].was_blocked, KOLK_RELAXED) ? capacity : count;
    *out = (kolk_stats){
        .name = queue->name ? queue->name : "",
        .kind = "queue",
        .object_size = queue->item_size,
        .stride = queue->stride,
        .count = count,
        .peak = peak,
        .capacity = capacity,
        .max_capacity = capacity,
        .unused_bytes = (uint64_t)(capacity - peak) * queue->stride,
        .bytes_reserved = queue->bytes,
        .bytes_committed = queue->bytes,
        .failed = kolk_load(&queue->ends[PUSH].failed, KOLK_RELAXED),
    };
    kolk_tools_wrote(out, sizeof *out);
}

static void list_queue_stats(const void *queue, kolk_stats *out) {
    kolk_queue_stats((const kolk_queue *)queue, out);
}

static kolk_status check(size_t item_size, uint32_t capacity) {
    if (item_size == 0) return KOLK_ZERO_SIZE;
    if (capacity == 0) return KOLK_ZERO_CAPACITY;
    if (item_size > INT32_MAX - 2 * CELL_HEAD || capacity > INT32_MAX) return KOLK_SIZE_OVERFLOW;
    if (capacity > PTRDIFF_MAX / (item_size + 2 * CELL_HEAD)) return KOLK_SIZE_OVERFLOW;
    return KOLK_OK;
}

static uint64_t mask_of(uint32_t capacity) {
    uint64_t unit = 2; /* so that a lap and the next are apart */
    while (unit < capacity) unit *= 2;
    return unit - 1;
}

kolk_status kolk_queue_init_type(kolk_queue *queue, const kolk_queue_desc *desc, size_t type_size, size_t queue_size,
                                 uint32_t abi) {
    static const kolk_kind kind = {list_queue_stats, NULL, NULL};
    kolk_status status = kolk_begin(queue, queue_size, sizeof *queue, abi, desc);
    if (status != KOLK_OK) return status;
    if (type_size && desc->item_size && desc->item_size != type_size) return KOLK_TYPE_MISMATCH;
    size_t item_size = type_size ? type_size : desc->item_size;
    status = check(item_size, desc->capacity);
    if (status != KOLK_OK) return status;
    uint32_t stride = (uint32_t)KOLK_ROUND_UP(CELL_HEAD + item_size, 8);
    size_t bytes = (size_t)desc->capacity * stride;
    void *cells = kolk_memory_take(bytes, bytes); /* reads as 0, the turns of the first lap */
    if (!cells) return KOLK_NO_MEMORY;
    *queue = (kolk_queue){.cells = (unsigned char *)cells,
                          .mask = mask_of(desc->capacity),
                          .stride = stride,
                          .item_size = (uint32_t)item_size,
                          .capacity = desc->capacity,
                          .bytes = bytes,
                          .name = desc->name,
                          .destroy = desc->destroy,
                          .context = desc->context,
                          .ends = {{.ticket = OPEN}, {.ticket = OPEN}}};
    kolk_tools_add_root(cells, bytes);
    return kolk_enlist(queue, sizeof *queue, &queue->number, &kind);
}

void kolk_queue_deinit(kolk_queue *queue) {
    if (!queue->cells) return;
    kolk_registry_remove(queue->number);
    kolk_queue_clear(queue);
    for (int end = PUSH; end <= POP; end++)
        if (queue->ends[end].fd) kolk_event_close((int)queue->ends[end].fd - 1);
    kolk_tools_remove_root(queue->cells, queue->bytes);
    kolk_memory_release(queue->cells, queue->bytes);
    memset(queue, 0, sizeof *queue);
}

/* ---- Others ------------------------------------------------------------------------------------------------------ */

int kolk_queue_fd(kolk_queue *queue, kolk_queue_event event) {
    if (!queue->cells || (unsigned)event > KOLK_READABLE) return -1;
    kolk_queue_end *end = &queue->ends[event];
    kolk_lock_word(&end->lock);
    bool is_new = !end->fd;
    if (is_new) kolk_store(&end->fd, (uint32_t)(kolk_event_open() + 1), KOLK_RELAXED);
    int fd = (int)end->fd - 1;
    show_asleep(end);
    kolk_unlock_word(&end->lock);
    if (is_new && has_news(queue, (int)event)) call_next(end);
    return fd;
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

static bool end_is_valid(const kolk_queue *queue, int at) {
    const kolk_queue_end *end = &queue->ends[at];
    bool open = end->ticket & OPEN, ended = queue->ending == KOLK_SHUTDOWN || (at == PUSH && queue->ending);
    if (open == ended) return false; /* I3 */
    if ((end->ticket & (HELD | FROZEN)) || end->waiters.first || end->waiters.last || end->called)
        return false;                                                                         /* I4 */
    if (end->lock || (end->ticket >> TICKETS & queue->mask) >= queue->capacity) return false; /* I4, I1 */
    return end->asleep == (uint32_t)(end->fd && !end->fd_called);                             /* I5 */
}

bool kolk_queue_is_valid(const kolk_queue *queue) {
    if (!queue->cells) return queue->capacity == 0 && queue->ends[PUSH].ticket == 0 && queue->ends[POP].ticket == 0;
    if (queue->lock || !end_is_valid(queue, PUSH) || !end_is_valid(queue, POP)) return false;
    uint64_t head = ticket_at(queue, POP), tail = ticket_at(queue, PUSH);
    size_t count = count_between(queue, head, tail);
    if (tail - head > queue->mask + 1 || count > queue->capacity) return false; /* I1 */
    for (uint64_t n = 0, ticket = head; n < queue->capacity; n++, ticket = advanced(queue, ticket, 1)) {
        if (!has_come_round(queue, ticket, n < count ? POP : PUSH)) return false; /* I2 */
    }
    return true;
}

#else

typedef int kolk_queue_is_empty_here; /* a translation unit may not be */

#endif
