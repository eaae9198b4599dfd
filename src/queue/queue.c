/* queue.c: a bounded queue between threads: push and pop. queue_inside.h lists the other files.
 *
 *     cells     | turn, item | turn, item | turn, item | ... | capacity |
 *     ticket    | lap ............................ | cell's number | gate |
 *
 * The two ends work alike: a push takes room and leaves an item; a pop takes an item and leaves room. An operation
 * takes the next ticket of its end, and the ticket determines the cell. The operation does its work in that cell, and
 * leaves the cell to the ticket with the same number at the other end:
 *
 *     end     finds the turn      does               leaves the turn
 *     push    lap                 copies the item in     lap + 1
 *     pop     lap + 1             copies it out          the next lap
 *
 * Laps are multiples of mask + 1, which is at least 2, so lap + 1 is never itself a lap. (In Vyukov's bounded queue of
 * 2010, the turns would not differ if there were a single cell: "taken" would equal "free in the next lap".) An
 * operation takes its ticket by one compare-and-exchange, and only when the ticket's cell has come round, which means
 * that the cell has the turn that the operation waits for. Cells come round in the order of tickets, so the order is
 * first in, first out. The cell numbers in tickets start again after `capacity` steps, so no division is needed and any
 * capacity works.
 *
 * There are two possible reasons why a pop's cell has not come round: the queue is empty, or a push has taken its
 * ticket but not yet set the turn. The other end's ticket shows which. The ends of an empty queue have the same ticket.
 * The ends of a full queue have tickets of the same cell, one lap apart. Tickets only advance, and never beyond these
 * limits, so EMPTY or FULL was true at the moment when the second ticket was read. If the reason is a push in progress,
 * the cell comes round soon, and the operation waits for it. Only this wait is not lock-free.
 *
 * Sleeping. A thread that finds nothing joins the wait queue of its end, sets `asleep`, looks once more, and sleeps. A
 * thread that has done its work reads the other end's `asleep` and, if it is set, calls the first waiter. The waiter
 * writes `asleep` and then reads the ticket; the other thread writes the ticket and then reads `asleep`. All four
 * operations are sequentially consistent, so at least one thread sees the other's write (Dekker). So no thread sleeps
 * while there is something to take, unless a waiter has been called. Only one waiter is called at a time. It takes
 * items or room, leaves the wait queue, sets `asleep` again if others are still in it, and calls the next waiter if
 * there is more to take. So an operation makes at most one system call, and none while a called waiter is on its way.
 * tests/models/queue.pml models this protocol for SPIN.
 *
 * Fairness. A thread that arrives and finds something takes it, even if others wait, because waiting for a sleeper
 * would cost a thread switch. A waiter that was called, found nothing, and still finds nothing a millisecond later
 * closes the gate halfway (HELD). Then only the first waiter, which is this one, may pass. The gate is in the lowest
 * bits of the ticket, which the compare-and-exchange reads anyway. So fairness and endings cost no extra branch in the
 * usual case.
 *
 * The end. A gate without OPEN lets no operation through. A thread that meets such a gate reads the reason under the
 * lock. close, shutdown, reopen and clear hold this lock, so no thread sees any of them half done. A waiter may sleep
 * through several endings, each followed by a reopen. So each end has two counts, in `endings`, of the endings that
 * release its waiters: shutdowns and closes. For pops, a close counts only if it left no item. A waiter
 * compares both counts with their values from the start of its wait. The counts only increase, so no ending hides
 * another (unless there are 2^32 of them during one wait).
 *
 * Invariants (kolk_queue_is_valid):
 *     I1  0 <= count <= capacity; the tickets' numbers are below capacity
 *     I2  cells from the pop's ticket up to the push's ticket have the turn lap + 1; all others have the next lap as
 *         their turn
 *     I3  OPEN is set at both ends; in a closed queue, only at the end of pops; after a shutdown, at neither end
 *     I4  no thread waits, FROZEN and HELD are not set, and the locks are free
 *     I5  `asleep` is set if and only if there is an fd that is not readable */
#include "queue_inside.h"

#if KOLK_HOSTED

#include "../core/probes.h"
#include "../core/begin.h"
#include "../core/looks.h"

#include <string.h>

static KOLK_NOINLINE_ void call_move(const kolk_queue *queue, void *to, void *from, bool in) {
    const kolk_queue *before = kolk_queue_set_hook_(queue);
    queue->move(to, from, in, queue->context);
    kolk_queue_set_hook_(before);
}

/* Copies `copied` bytes, or calls the hook if that is 0. Replaces a memcpy of 8 bytes: if gcc -flto sees that the
 * program's item is smaller, it warns about a memcpy, but not about this. */
static inline void move_item(const kolk_queue *queue, void *to, void *from, size_t copied, int end) {
#if !KOLK_MSVC_
    typedef struct __attribute__((may_alias, packed)) eight {
        uint64_t bytes;
    } eight;
    if (copied == 8) {
        *(eight *)to = *(const eight *)from;
        return;
    }
#endif
    if (copied)
        memcpy(to, from, copied);
    else
        call_move(queue, to, from, end == PUSH);
}

static inline void pass_cell(const kolk_queue *queue, cell *there, uint64_t turn, void *item, size_t copied, int end) {
    if (end == PUSH) {
        KOLK_PLAIN_WRITE_(there->item, copied);
        move_item(queue, there->item, item, copied, PUSH);
    } else {
        KOLK_PLAIN_READ_(there->item, copied);
        move_item(queue, item, there->item, copied, POP);
    }
    kolk_store_(&there->turn, turn, KOLK_RELEASE_); /* partner: has_turn */
}

/* A walk through the ring, for push_n and pop_n. This costs less for each cell than finding the cell by its ticket. The
 * walk has copies of the queue's fields, because the compiler must assume that a write to an item may change the
 * queue's struct. */
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
    if (KOLK_UNLIKELY_(it->at == it->last)) {
        it->at = it->first;
        it->turn += it->lap;
    } else {
        it->at += it->stride;
    }
}

/* Counts the cells that have come round, from the ticket's cell on, up to `most`. */
static inline size_t come_round(const kolk_queue *queue, uint64_t ticket, size_t most, int end) {
    size_t count = 0;
    for (walk it = walk_from(queue, ticket, turn_before(queue, ticket, end)); count < most; count++, go_on(&it))
        if (!has_turn((cell *)(void *)it.at, it.turn)) break;
    return count;
}

static inline void pass_cells(const kolk_queue *queue, uint64_t ticket, unsigned char *items, size_t n, int end) {
    size_t size = queue->item_size, copied = queue->copied;
    for (walk it = walk_from(queue, ticket, turn_after(queue, ticket, end)); n > 0; n--, items += size, go_on(&it))
        pass_cell(queue, (cell *)(void *)it.at, it.turn, items, copied, end);
}

/* Passes up to `most` items, and sets *n to the number of items passed. If *n is 0, returns the reason. At either end,
 * KOLK_FULL means that there is nothing to take. */
static KOLK_ALWAYS_INLINE_ kolk_status pass(kolk_queue *queue, int end, void *items, size_t *n, size_t most,
                                            bool may_pass_held) {
    kolk_queue_end_ *here = &queue->ends[end];
    uint32_t looks = 0;
    uint64_t word = kolk_load_(&here->ticket, KOLK_RELAXED_);
    *n = 0;
    for (;;) {
        if (KOLK_UNLIKELY_((word & GATE) != OPEN)) {
            if ((word & GATE) == (OPEN | HELD)) {
                if (!may_pass_held) return KOLK_FULL;
            } else {
                kolk_status ending = kolk_queue_look_under_lock_(queue, end);
                if (ending != KOLK_OK) return ending;
                word = kolk_load_(&here->ticket, KOLK_RELAXED_);
                continue;
            }
        }
        uint64_t ticket = word >> TICKETS;
        size_t count = come_round(queue, ticket, most, end);
        if (count > 0) {
            uint64_t taken = advanced(queue, ticket, count) << TICKETS | (word & GATE);
            if (!kolk_compare_exchange_weak_(&here->ticket, &word, taken, KOLK_SEQ_CST_, KOLK_RELAXED_)) continue;
            KOLK_ASSERT_(count <= queue->capacity); /* a cell comes round again only after the ticket has advanced */
            pass_cells(queue, ticket, (unsigned char *)items, count, end);
            *n = count;
            tell_waiters(queue, !end);
            return KOLK_OK;
        }
        uint64_t now = kolk_load_(&here->ticket, KOLK_RELAXED_);
        if (now == word) {
            uint64_t other = kolk_load_(&queue->ends[!end].ticket, KOLK_SEQ_CST_);
            if (is_blocked(queue, end, ticket, other >> TICKETS)) {
                if (end == PUSH || (other & OPEN)) return KOLK_FULL;
                kolk_status ending = kolk_queue_look_under_lock_(queue, end);
                if (ending != KOLK_OK) return ending;
            } else {
                kolk_status none = kolk_queue_look_later_(queue, &looks);
                if (none != KOLK_OK) return none;
            }
            now = kolk_load_(&here->ticket, KOLK_RELAXED_);
        }
        word = now;
    }
}

/* Tries once more, for a call that has been waiting since the counts were `endings`. */
static kolk_status look_again(kolk_queue *queue, int end, void *items, size_t *n, size_t most, bool may_pass_held,
                              uint64_t endings) {
    kolk_status status = kolk_queue_ended_since_(queue, end, endings);
    return status == KOLK_OK ? pass(queue, end, items, n, most, may_pass_held) : status;
}

static kolk_status look_for_a_while(kolk_queue *queue, int end, void *items, size_t *n, size_t most, uint64_t endings,
                                    kolk_deadline deadline) {
    uint32_t *in_vain = &queue->ends[end].in_vain;
    kolk_looks_ looks = {.began = 0};
    kolk_status status = KOLK_FULL;
    while (status == KOLK_FULL) {
        int64_t now = kolk_now_ns_();
        if (now >= deadline.ns || !kolk_look_later_(&looks, in_vain, now)) break;
        status = look_again(queue, end, items, n, most, false, endings);
    }
    kolk_end_looks_(&looks, in_vain);
    return status;
}

static KOLK_NOINLINE_ kolk_status wait_at_end(kolk_queue *queue, int at, void *items, size_t *n, size_t most,
                                              uint64_t endings, kolk_deadline deadline) {
    kolk_queue_end_ *end = &queue->ends[at];
    kolk_queue_waiter_ me = {.since = 0};
    bool in_time = true;
    kolk_status status = KOLK_FULL;
    PROBE2(wait, kolk_probe_name_(queue->name), at == PUSH ? "push" : "pop");
    for (bool is_new = true; status == KOLK_FULL; is_new = false) {
        bool is_first = kolk_queue_join_(end, &me, is_new);
        if (is_first && !is_new && in_time) kolk_queue_mind_being_overtaken_(end, &me);
        status = look_again(queue, at, items, n, most, is_first || !in_time, endings); /* no false time-out */
        if (status != KOLK_FULL) break;
        if (!in_time) status = KOLK_TIMEOUT;
        while (in_time && !kolk_load_(&me.link.woken, KOLK_RELAXED_)) in_time = kolk_waiter_sleep_(&me.link, deadline);
    }
    kolk_queue_leave_(queue, at, &me);
    PROBE3(waited, kolk_probe_name_(queue->name), at == PUSH ? "push" : "pop", status);
    return status;
}

/* Continues an operation that found nothing: tries for a while, then waits. If it fails, returns the reason. */
static KOLK_NOINLINE_ kolk_status wait_for(kolk_queue *queue, int end, void *items, size_t *n, size_t most,
                                           kolk_deadline deadline) {
    uint64_t endings = kolk_load_(&queue->endings[end], KOLK_SEQ_CST_);
    kolk_status status = KOLK_FULL;
    uint32_t *was_blocked = &queue->ends[end].was_blocked;
    if (!kolk_load_(was_blocked, KOLK_RELAXED_)) kolk_store_(was_blocked, 1, KOLK_RELAXED_);
    if (deadline.ns != KOLK_NOW.ns) {
        if (!kolk_is_home_(queue, queue->number, queue->name, NULL)) return KOLK_MOVED; /* it might wait for ever */
        if (kolk_queue_runs_hook_(queue)) return KOLK_IN_HOOK;
        status = look_for_a_while(queue, end, items, n, most, endings, deadline);
        if (status == KOLK_FULL) status = wait_at_end(queue, end, items, n, most, endings, deadline);
        kolk_status ending =
            kolk_queue_ended_since_(queue, end, endings); /* even if it was ended and reopened during the last try */
        if (status != KOLK_OK && ending != KOLK_OK) status = ending;
    } else if (end == POP) {
        status = KOLK_EMPTY;
    }
    if (status == KOLK_FULL || status == KOLK_EMPTY || status == KOLK_TIMEOUT) {
        kolk_fetch_add_(&queue->ends[end].failed, 1, KOLK_RELAXED_);
        kolk_queue_reset_fd_(queue, end);
        if (status == KOLK_FULL) PROBE2(full, kolk_probe_name_(queue->name), queue->capacity);
        if (status == KOLK_EMPTY) PROBE1(empty, kolk_probe_name_(queue->name));
    }
    return status;
}

static KOLK_ALWAYS_INLINE_ kolk_status pass_or_wait(kolk_queue *queue, int end, void *items, size_t *n, size_t most,
                                                    kolk_deadline deadline) {
    kolk_status status = pass(queue, end, items, n, most, deadline.ns == KOLK_NOW.ns);
    return KOLK_UNLIKELY_(status == KOLK_FULL) ? wait_for(queue, end, items, n, most, deadline) : status;
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

#endif
