/* queue_ask.c: a queue's count, and its statistics. */
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

#endif
