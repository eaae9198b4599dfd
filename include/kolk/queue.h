/* kolk/queue.h: a bounded blocking queue: any number of threads push, any number pop, in one order, first in, first
 * out. A push into a full queue waits for room, a pop of an empty one for an item, both as long as you say.
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
 * Cost      push and pop copy the item and do one atomic read-modify-write, and no system call unless they wait or wake
 *           another thread. push_n and pop_n do one for all of their items. A call that has to wait looks again for
 *           some 50 microseconds, less and less often, and then sleeps. init is O(1), except for the system's fresh
 *           pages.
 * Memory    pages of the system: capacity times (item_size, rounded up to 8, and 8). Nothing is allocated after init.
 * Contents  bytes: an item is copied in by push and out by pop. Large things go through as pointers or handles.
 * Threads   any number may call anything at the same time, except init and deinit. Every operation except push_n, pop_n
 *           and stats is linearizable: what it answers is true at one moment of the call. So FULL and EMPTY are never
 *           spurious. push_n and pop_n are as many pushes and pops in a row, without another between. Not lock-free: a
 *           call may have to wait for a thread that was interrupted in the middle of another. pthread_cancel ends no
 *           wait: shutdown does.
 * Fairness  waiters are served first come, first served. A call that comes at the right moment need not wait, and
 *           passes them. A waiter that has been passed for 1 millisecond bars the gate: later callers wait behind it.
 *           Only calls that don't wait still pass: with KOLK_NOW, or when their deadline has come.
 * Forks     a child may use a queue if no thread was within a call of it when it was forked; file descriptors are its
 *           parent's too.
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
    const char *name;  /* for statistics; outlives the queue */
    size_t item_size;  /* bytes */
    uint32_t capacity; /* items, exactly; from 1 */

    /* What becomes of an item that clear or deinit drops; NULL: nothing. It may not use the queue. */
    void (*destroy)(void *item, void *context);
    void *context;
} kolk_queue_desc;

/* ---- Struct: nothing to read; ask the functions ------------------------------------------------------------------ */

/* The ends of the queue, which are alike: an item is to a pop what room is to a push. The parts that different threads
 * write are 128 bytes apart, so that processors don't take them from each other for nothing. */
typedef struct kolk_queue_end {
    KOLK_ALIGNAS(8) uint64_t ticket; /* of the next operation here, above the gate: see src/queue/queue.c */
    unsigned char apart[56];
    uint32_t failed;      /* operations that gave up */
    uint32_t was_blocked; /* one has found nothing to take */
    unsigned char apart_again[56];
    uint32_t asleep; /* a waiter sleeps at this end, and none has been called */
    uint32_t lock;   /* of the rest */
    uint32_t fd;     /* kolk_queue_fd's + 1; 0: none */
    uint32_t fd_called;
    kolk_wait_queue waiters;    /* which sleep, or were woken and have not left yet */
    struct kolk_waiter *called; /* the one of them that was woken */
    unsigned char apart_too[88];
} kolk_queue_end;

/* All zero is a queue that is shut down. Never copy or move it once initialised. */
typedef struct kolk_queue {
    unsigned char *cells;
    uint64_t mask; /* a ticket is a lap and, in these bits, a cell's number */
    uint32_t stride, item_size, capacity;
    uint32_t number; /* in the registry; 0: it is not there */
    uint32_t lock;   /* of close, shutdown, reopen and clear, and of: */
    uint32_t ending; /* KOLK_OK, KOLK_CLOSED or KOLK_SHUTDOWN */

    /* At each end, how often an ending let its waiters go: see src/queue/queue.c. */
    KOLK_ALIGNAS(8) uint64_t endings[2];
    size_t bytes; /* of all cells */
    const char *name;
    void (*destroy)(void *item, void *context);
    void *context;
    unsigned char apart[40];
    kolk_queue_end ends[2]; /* where items are pushed, where they are popped */
} kolk_queue;

/* ---- Life -------------------------------------------------------------------------------------------------------- */

/* Anything but KOLK_OK (a broken rule of the descriptor, or KOLK_NO_MEMORY) leaves it all zero. */
static inline kolk_status kolk_queue_init(kolk_queue *queue, const kolk_queue_desc *desc);

/* Destroys the items that are left, gives the memory back, leaves the queue all zero. No thread may be within a
 * call. */
KOLK_API void kolk_queue_deinit(kolk_queue *queue);

/* ---- Items ------------------------------------------------------------------------------------------------------- */

/* Copies the item in, or out. KOLK_OK, or nothing has happened:
 *
 *     KOLK_FULL, KOLK_EMPTY   there was no room, no item; only with the deadline KOLK_NOW, which never waits for one
 *     KOLK_TIMEOUT            nor until the deadline
 *     KOLK_CLOSED             close was called; in a pop, moreover nothing is left
 *     KOLK_SHUTDOWN           shutdown was called
 */
KOLK_API kolk_status kolk_queue_push(kolk_queue *queue, const void *item, kolk_deadline deadline);
KOLK_API kolk_status kolk_queue_pop(kolk_queue *queue, void *item, kolk_deadline deadline);

/* The same with an array: as many of *n as are possible at once, at least one, which is waited for. *n becomes how
 * many: 0 if the status is not KOLK_OK. They are neighbours in the queue. */
KOLK_API kolk_status kolk_queue_push_n(kolk_queue *queue, const void *items, size_t *n, kolk_deadline deadline);
KOLK_API kolk_status kolk_queue_pop_n(kolk_queue *queue, void *items, size_t *n, kolk_deadline deadline);

/* Items in the queue, at one moment of the call. */
KOLK_API size_t kolk_queue_count(const kolk_queue *queue);

/* Drops all items, as if by one pop of all; returns how many. Calls that wait for room go on. */
KOLK_API size_t kolk_queue_clear(kolk_queue *queue);

/* ---- The end ----------------------------------------------------------------------------------------------------- */

/* No more pushes: each push, now or later, gets KOLK_CLOSED. Pops go on until nothing is left. */
KOLK_API void kolk_queue_close(kolk_queue *queue);

/* Stop: each call that waits, now or later, gets KOLK_SHUTDOWN. Items stay. */
KOLK_API void kolk_queue_shutdown(kolk_queue *queue);

/* After either: as before. A call that was waiting at a close or shutdown still gets KOLK_CLOSED or KOLK_SHUTDOWN,
 * however often the queue is reopened and ended again before its thread runs; after both, KOLK_SHUTDOWN. There are two
 * exceptions. A pop that was waiting when close left items waits on if others take them. A call that was looking at
 * that very moment may take what comes after reopen. */
KOLK_API void kolk_queue_reopen(kolk_queue *queue);

/* ---- Others ------------------------------------------------------------------------------------------------------ */

typedef enum kolk_queue_event {
    KOLK_WRITABLE = 0, /* there is room */
    KOLK_READABLE      /* there is an item */
} kolk_queue_event;

/* A file descriptor (eventfd) for poll, epoll, io_uring, which becomes readable, whichever the event, when the event is
 * true or the queue has ended. It stays so until a push or pop gives KOLK_FULL or KOLK_EMPTY: so ask with KOLK_NOW
 * until then. It belongs to the queue, and deinit closes it; don't read it. The first call makes it, and from then on
 * each push (or pop) keeps it right. -1: the system has none to give, or is not Linux. */
KOLK_API int kolk_queue_fd(kolk_queue *queue, kolk_queue_event event);

/* Counters, as of the family: count; capacity; peak is capacity once a push has found the queue full, count before;
 * failed are pushes that gave FULL or TIMEOUT. */
KOLK_API void kolk_queue_stats(const kolk_queue *queue, kolk_stats *out);

/* Checks every invariant of src/queue/queue.c, for tests; no thread may be within a call. */
KOLK_API bool kolk_queue_is_valid(const kolk_queue *queue);

/* ---- Inside ------------------------------------------------------------------------------------------------------ */

KOLK_API kolk_status kolk_queue_init_type(kolk_queue *queue, const kolk_queue_desc *desc, size_t type_size,
                                          size_t queue_size, uint32_t abi);

/* For typed queues: the descriptor, or, if it has no name, a copy that has the type's. */
static inline const kolk_queue_desc *kolk_queue_desc_named(const kolk_queue_desc *desc, const char *name,
                                                           kolk_queue_desc *named) {
    if (!desc || desc->name) return desc;
    *named = *desc;
    named->name = name;
    return named;
}

static inline kolk_status kolk_queue_init(kolk_queue *queue, const kolk_queue_desc *desc) {
    return kolk_queue_init_type(queue, desc, 0, sizeof *queue, KOLK_ABI);
}

#ifdef __cplusplus
}
#endif
#endif
