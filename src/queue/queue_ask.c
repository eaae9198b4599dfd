/* queue_ask.c: a queue's count, its statistics, and the check of all invariants. */
#include "queue_inside.h"

#if KOLK_HOSTED

#include "../core/tools.h"

size_t kolk_queue_count(const kolk_queue *queue) {
    uint64_t head, tail, again = ticket_at(queue, POP);
    do {
        head = again;
        tail = ticket_at(queue, PUSH);
        again = ticket_at(queue, POP);
    } while (again != head);
    return count_between(queue, head, tail);
}

static void add_waits(const kolk_queue_end_ *end, kolk_stats *out) {
    out->waits += kolk_load_(&end->waits, KOLK_RELAXED_);
    out->waiting += kolk_load_(&end->waiting, KOLK_RELAXED_);
}

void kolk_queue_stats(const kolk_queue *queue, kolk_stats *out) {
    uint32_t count = (uint32_t)kolk_queue_count(queue), capacity = queue->capacity;
    uint32_t peak = kolk_load_(&queue->ends[PUSH].was_blocked, KOLK_RELAXED_) ? capacity : count;
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
        .failed = kolk_load_(&queue->ends[PUSH].failed, KOLK_RELAXED_),
    };
    add_waits(&queue->ends[PUSH], out);
    add_waits(&queue->ends[POP], out);
    kolk_tools_wrote_(out, sizeof *out);
}

/* ---- Invariants, numbered as in queue.c -------------------------------------------------------------------------- */

static bool end_is_valid(const kolk_queue *queue, int at) {
    const kolk_queue_end_ *end = &queue->ends[at];
    bool open = end->ticket & OPEN, ended = queue->ending == KOLK_SHUTDOWN || (at == PUSH && queue->ending);
    if (open == ended) return false; /* I3 */
    if ((end->ticket & (HELD | FROZEN)) || end->waiters.first || end->waiters.last || end->called || end->waiting)
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

#endif
