/* SPDX-License-Identifier: Zlib */
/* kolk/queue.h: a bounded blocking queue, first in, first out. Any number of threads push, and any number pop. A push
 * into a full queue waits for room, and a pop from an empty queue waits for an item, both until your deadline.
 *
 *     #include <kolk/kolk.h>
 *     #include <pthread.h>
 *     #include <stdio.h>
 *
 *     static kolk_queue jobs;                                         // all zero
 *
 *     static void *work(void *argument) {
 *         long sum = 0;
 *         for (int job; kolk_queue_pop(&jobs, &job, KOLK_FOREVER) == KOLK_OK;) sum += job;
 *         printf("%ld\n", sum);                                       // closed, and nothing is left: 5050
 *         return argument;
 *     }
 *
 *     int main(void) {
 *         kolk_queue_desc desc = {.name = "jobs", .item_size = sizeof(int), .capacity = 16};
 *         if (kolk_queue_init(&jobs, &desc) != KOLK_OK) return 1;
 *         pthread_t worker;
 *         if (pthread_create(&worker, NULL, work, NULL) != 0) return 1;
 *         for (int job = 1; job <= 100; job++) kolk_queue_push(&jobs, &job, KOLK_FOREVER);
 *         kolk_queue_close(&jobs);
 *         pthread_join(worker, NULL);
 *         kolk_queue_deinit(&jobs);
 *     }
 *
 * Cost      push and pop copy the item and do one atomic read-modify-write. They make no system call, unless they wait
 *           or wake another thread. push_n and pop_n do one read-modify-write for all of their items. A call that has
 *           to wait first polls for some 50 microseconds, at growing intervals, and then sleeps. init is O(1), apart
 *           from the system's work for fresh pages.
 * Memory    pages of the system. Each item of the capacity takes item_size, rounded up to 8, plus 8 bytes. Nothing is
 *           allocated after init.
 * Contents  bytes: push copies an item in, pop copies it out. Pass large objects as pointers or handles. With `move`,
 *           any objects whose alignment is 8 or less.
 * Threads   any number of threads may call any function at the same time, except init and deinit. Every operation
 *           except push_n, pop_n and stats is linearizable: its result is true at one moment during the call. So FULL
 *           and EMPTY are never spurious. push_n and pop_n act like several pushes or pops in a row, with none of
 *           another call in between. The queue is not lock-free: a call may have to wait for a thread that was
 *           interrupted in the middle of its own call. pthread_cancel does not end a wait: shutdown does.
 * Fairness  waiters are served in order of arrival. A call that finds room or an item immediately overtakes them. A
 *           waiter that has been overtaken for 1 millisecond closes the gate: later callers then queue behind it. Only
 *           calls that cannot wait still overtake it: those with KOLK_NOW, or whose deadline has passed.
 * Forks     a child may use a queue if no thread was inside a call on it at the fork. It shares the file descriptors
 *           with its parent.
 * Design    the essay in src/queue/queue.c. Not in freestanding builds.
 */
#ifndef KOLK_QUEUE_H
#define KOLK_QUEUE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

/* All but item_size and capacity may be 0. */
typedef struct kolk_queue_desc {
    const char *name KOLK_OR_0_;  /* for statistics; copied */
    size_t item_size KOLK_OR_0_;  /* bytes */
    uint32_t capacity KOLK_OR_0_; /* the exact number of items, from 1 */

    /* Called for each item that clear or deinit drops; may be NULL. See Hooks below. */
    void (*destroy)(void *item, void *context) KOLK_OR_0_;

    /* Moves an item, instead of a copy of its bytes. If `in` is true, a push moves the caller's item `from` into the
     * queue: it makes an item at `to`, where there is none. Otherwise a pop moves it out: it makes an item at the
     * caller's `to`, and ends the one at `from`. NULL: bytes are copied. It must return soon, because other threads may
     * wait for it. */
    void (*move)(void *to, void *from, bool in, void *context) KOLK_OR_0_;
    void *context KOLK_OR_0_; /* passed to both hooks */
} kolk_queue_desc;

/* Hooks must return. They should not use their own queue: a push or pop in a hook that would have to wait, be it only
 * for the item in the hook, returns KOLK_IN_HOOK; so does rebind. clear and deinit in a hook are bugs of the caller
 * (KOLK_IN_HOOK), and do nothing. A push in `destroy` during deinit returns KOLK_SHUTDOWN. */

/* ---- Struct: read no field; call the functions instead ----------------------------------------------------------- */

/* One end of the queue. Both ends are alike: a pop takes an item as a push takes room. Fields that different threads
 * write are 128 bytes apart, to avoid false sharing. */
typedef struct kolk_queue_end_ {
    KOLK_ALIGNAS(8) uint64_t ticket; /* the next operation's ticket, and the gate below it: see src/queue/queue.c */
    unsigned char apart[56];
    uint32_t failed;      /* operations that failed */
    uint32_t was_blocked; /* an operation has found nothing to take */
    uint32_t in_vain;     /* how many of the last waits had to yield: see src/core/looks.h */
    unsigned char apart_again[52];
    uint32_t asleep; /* a waiter sleeps at this end, and none has been woken */
    uint32_t lock;   /* protects the fields below */
    uint32_t fd;     /* the descriptor of kolk_queue_fd + 1; 0: none */
    uint32_t fd_called;
    kolk_wait_queue_ waiters;       /* threads that sleep, or were woken and have not left yet */
    struct kolk_waiter_ *called;    /* the waiter that was woken */
    KOLK_ALIGNAS(8) uint64_t waits; /* how often a thread has joined `waiters` */
    uint32_t waiting;               /* threads in it */
    unsigned char apart_too[76];
} kolk_queue_end_;

/* A zero-initialised queue is shut down. Never copy or move a queue once it is initialised. */
typedef struct kolk_queue {
    unsigned char *cells;
    uint64_t mask; /* a ticket is a lap and, in these bits, a cell's number */
    uint32_t stride, item_size;
    uint32_t copied; /* how many bytes of an item push and pop copy: item_size, or 0 with `move` */
    uint32_t capacity;
    uint32_t number; /* number in the registry; 0: not registered */
    uint32_t lock;   /* taken by close, shutdown, reopen and clear; protects: */
    uint32_t ending; /* KOLK_OK, KOLK_CLOSED or KOLK_SHUTDOWN */

    /* For each end, how often an ending has released its waiters: see src/queue/queue.c. */
    KOLK_ALIGNAS(8) uint64_t endings[2];
    size_t bytes; /* of all cells */
    const char *name;
    void (*destroy)(void *item, void *context);
    void (*move)(void *to, void *from, bool in, void *context);
    void *context;
    unsigned char apart[24];
    kolk_queue_end_ ends[2]; /* [0] is for pushes, [1] for pops */
} kolk_queue;

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* If the status is not KOLK_OK (the descriptor breaks a rule, or KOLK_NO_MEMORY), the queue is left all zero. */
KOLK_FOLDED_INLINE_ kolk_status kolk_queue_init(kolk_queue *queue, const kolk_queue_desc *desc);

/* Destroys the remaining items, releases the memory, and leaves the queue all zero. No thread may be inside a call. */
KOLK_USES_(1) void kolk_queue_deinit(kolk_queue *queue);

/* For hot reload, as kolk_pool_rebind: replaces destroy, move, context and name. item_size and capacity must be 0, or
 * as they were at the init, and the queue must have `move` if and only if it had it at the init. Otherwise changes
 * nothing and returns KOLK_STRUCT_CHANGED, KOLK_LAYOUT_CHANGED, KOLK_IN_HOOK or KOLK_MOVED. No thread may be inside
 * clear or, if the queue has `move`, inside any call. */
KOLK_FOLDED_INLINE_ kolk_status kolk_queue_rebind(kolk_queue *queue, const kolk_queue_desc *desc);

/* ---- Items ------------------------------------------------------------------------------------------------------- */

/* Copies the item in or out. If the status is not KOLK_OK, nothing has happened:
 *
 *     KOLK_FULL, KOLK_EMPTY   there was no room or no item; only with the deadline KOLK_NOW, which never waits
 *     KOLK_TIMEOUT            there was still none at the deadline
 *     KOLK_CLOSED             close was called; a pop gets this only when no item is left
 *     KOLK_SHUTDOWN           shutdown was called
 *     KOLK_IN_HOOK            the call is in a hook of the queue, and would have to wait
 */
KOLK_USES_(1) kolk_status kolk_queue_push(kolk_queue *queue, const void *item, kolk_deadline deadline);
KOLK_USES_(1) kolk_status kolk_queue_pop(kolk_queue *queue, void *item, kolk_deadline deadline);

/* The same for an array of *n items. Waits for the first item, then moves as many as it can without waiting again, and
 * sets *n to their number, which is 0 if the status is not KOLK_OK. The items are adjacent in the queue. */
KOLK_USES_(1) kolk_status kolk_queue_push_n(kolk_queue *queue, const void *items, size_t *n, kolk_deadline deadline);
KOLK_USES_(1) kolk_status kolk_queue_pop_n(kolk_queue *queue, void *items, size_t *n, kolk_deadline deadline);

/* Returns the number of items in the queue, at one moment during the call. */
KOLK_API_ size_t kolk_queue_count(const kolk_queue *queue);

/* Drops all items, as if by a single pop_n, and returns how many there were. Calls that wait for room get it. */
KOLK_USES_(1) size_t kolk_queue_clear(kolk_queue *queue);

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* Ends pushes: every push that is waiting or is called later returns KOLK_CLOSED. Pops still work until no item is
 * left. */
KOLK_USES_(1) void kolk_queue_close(kolk_queue *queue);

/* Ends pushes and pops: every push or pop that is waiting or is called later returns KOLK_SHUTDOWN. Items stay. */
KOLK_USES_(1) void kolk_queue_shutdown(kolk_queue *queue);

/* Undoes close and shutdown. A call that was waiting at a close or shutdown still returns KOLK_CLOSED or KOLK_SHUTDOWN,
 * even if the queue is reopened, and closed or shut down again, before its thread runs. After both a close and a
 * shutdown it returns KOLK_SHUTDOWN. There are two exceptions. If items were left at a close, a waiting pop continues
 * to wait if other pops take them. A call that was polling at the very moment of the close or shutdown may take an item
 * or room that appears after the reopen. */
KOLK_USES_(1) void kolk_queue_reopen(kolk_queue *queue);

/* ---- Other functions --------------------------------------------------------------------------------------------- */

typedef enum kolk_queue_event {
    KOLK_QUEUE_WRITABLE = 0, /* there is room */
    KOLK_QUEUE_READABLE      /* there is an item */
} kolk_queue_event;

/* Returns a file descriptor (eventfd) for poll, epoll and io_uring. It becomes readable when there is room (or an
 * item), or when the queue is closed or shut down. It stays readable until a push returns KOLK_FULL (or a pop
 * KOLK_EMPTY), so push (or pop) with KOLK_NOW until then. The descriptor belongs to the queue, and deinit closes it;
 * don't read from it. The first call makes it; from then on each push and pop updates it. Returns -1 if the system has
 * no descriptor left, or is not Linux. */
KOLK_USES_(1) int kolk_queue_fd(kolk_queue *queue, kolk_queue_event event);

/* Counters, as for the other members. Once a push has found the queue full, `peak` is the capacity; until then it is
 * the count. `failed` counts the pushes that returned KOLK_FULL or KOLK_TIMEOUT. */
KOLK_API_ void kolk_queue_stats(const kolk_queue *queue, kolk_stats *out);

/* Checks every invariant of src/queue/queue.c, for tests; no thread may be inside a call. */
KOLK_API_ bool kolk_queue_is_valid(const kolk_queue *queue);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

KOLK_HOSTED_("queues")
kolk_status kolk_queue_init_abi_(kolk_queue *queue, const kolk_queue_desc *desc, size_t type_size, size_t queue_size,
                                 uint32_t abi);

KOLK_NAMED_(kolk_queue_desc_named_, kolk_queue_desc)

KOLK_FOLDED_INLINE_ kolk_status kolk_queue_init(kolk_queue *queue, const kolk_queue_desc *desc) {
    return kolk_queue_init_abi_(queue, desc, 0, sizeof *queue, KOLK_ABI);
}

KOLK_API_ kolk_status kolk_queue_rebind_abi_(kolk_queue *queue, const kolk_queue_desc *desc, size_t type_size,
                                             size_t queue_size, uint32_t abi);

KOLK_FOLDED_INLINE_ kolk_status kolk_queue_rebind(kolk_queue *queue, const kolk_queue_desc *desc) {
    return kolk_queue_rebind_abi_(queue, desc, 0, sizeof *queue, KOLK_ABI);
}

#ifdef __cplusplus
}
#endif
#endif
