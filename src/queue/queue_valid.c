/* queue_valid.c: checks all invariants of the queue, numbered as in queue.c. */
#include "queue_inside.h"

#if KOLK_HOSTED

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
