/* queue.c: a queue under load: numbers are pushed and popped at random. */
#include "services.h"

#include <inttypes.h>

bool soak_queue_begin(struct soak_queue *queue) {
    kolk_queue_desc desc = {.name = "soak.queue", .item_size = sizeof(uint64_t), .capacity = 256};
    *queue = (struct soak_queue){0};
    kolk_status status = kolk_queue_init(&queue->queue, &desc);
    return status == KOLK_OK || soak_wrong(&queue->problem, SOAK_SYSTEM, "soak.queue: %s", kolk_status_text(status));
}

void soak_queue_turn(struct soak_queue *queue, struct soak_random *random) {
    uint64_t item = queue->pushed;
    if (soak_below(random, 2) == 0) {
        kolk_status status = kolk_queue_push(&queue->queue, &item, KOLK_NOW);
        if (status == KOLK_OK) queue->pushed++;
        if (status == KOLK_FULL) queue->refused++;
        return;
    }
    if (kolk_queue_pop(&queue->queue, &item, KOLK_NOW) != KOLK_OK) return;
    if (item != queue->popped++)
        soak_wrong(&queue->problem, SOAK_WHOLE, "soak.queue: an item has come out of its order");
}

bool soak_queue_agrees(const kolk_queue *queue, const char *name, uint64_t items, uint64_t refused,
                       struct soak_problem *problem) {
    kolk_stats stats;
    kolk_queue_stats(queue, &stats);
    if (!kolk_queue_is_valid(queue)) soak_wrong(problem, SOAK_VALID, "%s: its is_valid says no", name);
    if (stats.count != items)
        soak_wrong(problem, SOAK_COUNTS, "%s: counts %u items, and the load %" PRIu64, name, stats.count, items);
    if (stats.failed != refused % (UINT64_C(1) << 32)) /* the queue counts in 32 bits */
        soak_wrong(problem, SOAK_COUNTS, "%s: counts %" PRIu64 " pushes that found no room, and the load %" PRIu64,
                   name, stats.failed, refused);
    return !problem->text[0];
}

bool soak_queue_check(struct soak_queue *queue) {
    return soak_queue_agrees(&queue->queue, "soak.queue", queue->pushed - queue->popped, queue->refused,
                             &queue->problem);
}

void soak_queue_end(struct soak_queue *queue) {
    kolk_queue_deinit(&queue->queue);
}
