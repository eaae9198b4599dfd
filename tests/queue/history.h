/* history.h: records the calls that threads make on one queue: each with its result, and with the times of its begin
 * and its end, which are distinct ticks of one counter. fifo_monitor.h and linearize.h judge such a history. */
#ifndef TESTS_HISTORY_H
#define TESTS_HISTORY_H

#include "../help/plain.h"

#define MOST_ITEMS_AT_ONCE 4u /* in one call, which may be a clear: so it limits the capacity too */

typedef enum deed { PUSH, POP, CLEAR, COUNT, CLOSE, SHUTDOWN, REOPEN } deed;

typedef struct event {
    deed deed;
    kolk_status status;                 /* of a push or pop */
    bool waits;                         /* without a deadline */
    uint32_t n;                         /* number of items; for COUNT, its result */
    uint32_t items[MOST_ITEMS_AT_ONCE]; /* the items of a history are distinct numbers, from 1 */
    uint64_t begin, end;
} event;

typedef struct history {
    uint32_t capacity; /* of the queue */
    size_t count;
    event *events; /* in any order */
} history;

/* ---- Recording --------------------------------------------------------------------------------------------------- */

static uint64_t ticks;

static inline uint64_t tick(void) {
    return __atomic_add_fetch(&ticks, 1, __ATOMIC_SEQ_CST);
}

/* Makes the call that the event describes (deed, items, n), and records the rest in it. Uses the array functions if n
 * is not 1, or if requested. */
static inline void record(kolk_queue *queue, event *e, kolk_deadline deadline, bool as_array) {
    size_t n = e->n;
    e->begin = tick();
    switch (e->deed) {
    case PUSH:
        e->status = as_array || n != 1 ? kolk_queue_push_n(queue, e->items, &n, deadline)
                                       : kolk_queue_push(queue, e->items, deadline);
        break;
    case POP:
        e->status = as_array || n != 1 ? kolk_queue_pop_n(queue, e->items, &n, deadline)
                                       : kolk_queue_pop(queue, e->items, deadline);
        break;
    case CLEAR:
        n = kolk_queue_clear(queue); /* the queue's destroy records the items */
        break;
    case COUNT:
        n = kolk_queue_count(queue);
        break;
    case CLOSE:
        kolk_queue_close(queue);
        break;
    case SHUTDOWN:
        kolk_queue_shutdown(queue);
        break;
    default:
        kolk_queue_reopen(queue);
    }
    e->end = tick();
    e->n = e->status == KOLK_OK ? (uint32_t)n : 0;
}

/* ---- For people -------------------------------------------------------------------------------------------------- */

static inline int compare_beginnings(const void *a, const void *b) {
    uint64_t x = ((const event *)a)->begin, y = ((const event *)b)->begin;
    return (x > y) - (x < y);
}

static inline void print_history(history *h) {
    static const char *const names[] = {"push", "pop", "clear", "count", "close", "shutdown", "reopen"};
    qsort(h->events, h->count, sizeof *h->events, compare_beginnings);
    fprintf(stderr, "capacity %u\n", h->capacity);
    for (size_t i = 0; i < h->count && i < 100; i++) {
        const event *e = &h->events[i];
        fprintf(stderr, "%6" PRIu64 " to %6" PRIu64 "  %s%s", e->begin, e->end, names[e->deed],
                e->waits ? ", waits" : "");
        for (uint32_t n = 0; e->deed <= CLEAR && n < e->n; n++) fprintf(stderr, " %u", e->items[n]);
        if (e->deed == COUNT) fprintf(stderr, " %u", e->n);
        fprintf(stderr, "%s%s\n", e->status ? ": " : "", e->status ? kolk_status_text(e->status) : "");
    }
}

#endif
