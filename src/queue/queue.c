/* queue.c: a bounded queue between threads: push and pop. The other files of the queue are named in queue_inside.h.
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
#include "queue_inside.h"

#if KOLK_HOSTED

#include "../os/clock.h"

#include <string.h>

#ifdef KOLK_SCHEDULED /* in scheduled tests what is rare is tried as often as the rest */
#define LOOK_NS INT64_C(0)
#endif
#ifndef LOOK_NS                /* bench/backoff.cc tries others, for these three */
#define LOOK_NS INT64_C(50000) /* look again for so long before joining the waiters */
#endif
#ifndef SHORTEST_PAUSE
#define SHORTEST_PAUSE 200 /* nanoseconds between two looks; doubled each time */
#define LONGEST_PAUSE  800 /* then give way between two looks */
#endif

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
static KOLK_ALWAYS_INLINE kolk_status pass(kolk_queue *queue, int end, void *items, size_t *n, size_t most,
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
                kolk_status ending = kolk_queue_look_under_lock(queue, end);
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
            tell_waiters(queue, !end);
            return KOLK_OK;
        }
        uint64_t now = kolk_load(&here->ticket, KOLK_RELAXED);
        if (now == word) {
            uint64_t other = kolk_load(&queue->ends[!end].ticket, KOLK_SEQ_CST);
            if (is_blocked(queue, end, ticket, other >> TICKETS)) {
                if (end == PUSH || (other & OPEN)) return KOLK_FULL;
                kolk_status ending = kolk_queue_look_under_lock(queue, end);
                if (ending != KOLK_OK) return ending;
            } else {
                kolk_queue_look_later(&looks);
            }
            now = kolk_load(&here->ticket, KOLK_RELAXED);
        }
        word = now;
    }
}

/* One look of a call that waits since `endings`. */
static kolk_status look_again(kolk_queue *queue, int end, void *items, size_t *n, size_t most, bool may_pass_held,
                              uint64_t endings) {
    kolk_status status = kolk_queue_ended_since(queue, end, endings);
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

static KOLK_NOINLINE kolk_status wait_at_end(kolk_queue *queue, int at, void *items, size_t *n, size_t most,
                                             uint64_t endings, kolk_deadline deadline) {
    kolk_queue_end *end = &queue->ends[at];
    kolk_queue_waiter me = {.since = 0};
    bool in_time = true;
    kolk_status status = KOLK_FULL;
    for (bool is_new = true; status == KOLK_FULL; is_new = false) {
        bool is_first = kolk_queue_join(end, &me, is_new);
        if (is_first && !is_new && in_time) kolk_queue_mind_being_overtaken(end, &me);
        status = look_again(queue, at, items, n, most, is_first || !in_time, endings); /* a time-out has to be true */
        if (status != KOLK_FULL) break;
        if (!in_time) status = KOLK_TIMEOUT;
        while (in_time && !kolk_load(&me.link.woken, KOLK_RELAXED)) in_time = kolk_waiter_sleep(&me.link, deadline);
    }
    kolk_queue_leave(queue, at, &me);
    return status;
}

/* For what could not be done at once: looks for a while, then waits; then says why not. */
static KOLK_NOINLINE kolk_status wait_for(kolk_queue *queue, int end, void *items, size_t *n, size_t most,
                                          kolk_deadline deadline) {
    uint64_t endings = kolk_load(&queue->endings[end], KOLK_SEQ_CST);
    kolk_status status = KOLK_FULL;
    uint32_t *was_blocked = &queue->ends[end].was_blocked;
    if (!kolk_load(was_blocked, KOLK_RELAXED)) kolk_store(was_blocked, 1, KOLK_RELAXED);
    if (deadline.ns != KOLK_NOW.ns) {
        status = look_for_a_while(queue, end, items, n, most, endings, deadline);
        if (status == KOLK_FULL) status = wait_at_end(queue, end, items, n, most, endings, deadline);
        kolk_status ending =
            kolk_queue_ended_since(queue, end, endings); /* also one that came and went during the last look */
        if (status != KOLK_OK && ending != KOLK_OK) status = ending;
    } else if (end == POP) {
        status = KOLK_EMPTY;
    }
    if (status == KOLK_FULL || status == KOLK_EMPTY || status == KOLK_TIMEOUT) {
        kolk_fetch_add(&queue->ends[end].failed, 1, KOLK_RELAXED);
        kolk_queue_reset_fd(queue, end);
    }
    return status;
}

static KOLK_ALWAYS_INLINE kolk_status pass_or_wait(kolk_queue *queue, int end, void *items, size_t *n, size_t most,
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

#endif
