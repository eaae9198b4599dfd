/* workers.c: threads that start and end while the pools live on. Each allocates from the shared pool and from the heap,
 * and passes about half of its objects through a queue to other threads, which free them. Every second thread ends
 * without deinitialising its local, so the pool must reclaim the slots cached there. */
#include "services.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, STEPS = 1000 };

struct item {
    void *object;
    uint64_t mark;
    uint64_t of_heap;
};

struct worker {
    struct soak_workers *all;
    struct soak_store *shared, *heap;
    struct soak_random random;
    kolk_shared_local local;
    uint64_t allocs, handed, refused;
    bool leaves; /* ends without deinitialising its local */
    struct soak_problem problem;
};

static void release(struct worker *worker, const struct item *item) {
    if (memcmp(item->object, &item->mark, sizeof item->mark) != 0)
        soak_wrong(&worker->problem, SOAK_WHOLE, "%s: an object does not hold what another thread has written to it",
                   item->of_heap ? "soak.heap" : "soak.shared");
    if (item->of_heap)
        kolk_heap_free(&worker->heap->in.heap, item->object);
    else
        kolk_shared_free(&worker->local, item->object);
}

static void step(struct worker *worker) {
    struct item item = {.mark = soak_next(&worker->random), .of_heap = soak_below(&worker->random, 2)};
    uint32_t size = soak_size(&worker->random, item.mark % 100);
    item.object = item.of_heap ? kolk_heap_alloc(&worker->heap->in.heap, size) : kolk_shared_alloc(&worker->local);
    if (!item.object) {
        soak_wrong(&worker->problem, SOAK_ROOM, "%s: an alloc in a thread gave NULL",
                   item.of_heap ? "soak.heap" : "soak.shared");
        return;
    }
    worker->allocs++;
    memcpy(item.object, &item.mark, sizeof item.mark);
    bool handed = soak_below(&worker->random, 2) == 0;
    if (handed && kolk_queue_push(&worker->all->queue, &item, KOLK_NOW) != KOLK_OK) {
        worker->refused++;
        handed = false;
    }
    worker->handed += handed;
    if (!handed) release(worker, &item);
    if (soak_below(&worker->random, 2) == 0 && kolk_queue_pop(&worker->all->queue, &item, KOLK_NOW) == KOLK_OK)
        release(worker, &item);
}

static void *work(void *argument) {
    struct worker *worker = argument;
    kolk_status status = kolk_shared_local_init(&worker->local, &worker->shared->in.shared);
    if (status != KOLK_OK) {
        soak_wrong(&worker->problem, SOAK_ROOM, "soak.shared: a new thread gets no local: %s",
                   kolk_status_text(status));
        return NULL;
    }
    for (int n = 0; n < STEPS && !worker->problem.text[0]; n++) step(worker);
    if (!worker->leaves) kolk_shared_local_deinit(&worker->local);
    return NULL;
}

bool soak_workers_begin(struct soak_workers *workers) {
    kolk_queue_desc desc = {.name = "soak.handover", .item_size = sizeof(struct item), .capacity = 256};
    *workers = (struct soak_workers){0};
    kolk_status status = kolk_queue_init(&workers->queue, &desc);
    return status == KOLK_OK ||
           soak_wrong(&workers->problem, SOAK_SYSTEM, "soak.handover: %s", kolk_status_text(status));
}

static void add_up(struct soak_workers *workers, const struct worker *worker) {
    workers->born++;
    workers->allocs += worker->allocs;
    workers->handed += worker->handed;
    workers->refused += worker->refused;
    if (worker->problem.text[0]) soak_wrong(&workers->problem, worker->problem.claim, "%s", worker->problem.text);
}

void soak_workers_live(struct soak_workers *workers, struct soak_store *shared, struct soak_store *heap,
                       struct soak_random *random) {
    struct worker each[THREADS] = {{0}};
    pthread_t threads[THREADS];
    uint32_t count = 1 + soak_below(random, THREADS), born = 0;
    for (; born < count; born++) {
        each[born] = (struct worker){.all = workers, .shared = shared, .heap = heap, .leaves = born % 2 == 1};
        each[born].random.state = soak_next(random);
        if (pthread_create(&threads[born], NULL, work, &each[born]) == 0) continue;
        soak_wrong(&workers->problem, SOAK_SYSTEM, "the system provides no more threads");
        break;
    }
    for (uint32_t n = 0; n < born; n++) {
        pthread_join(threads[n], NULL);
        add_up(workers, &each[n]);
    }
    struct worker heir = {.all = workers, .shared = shared, .heap = heap, .local = shared->local};
    struct item item;
    while (kolk_queue_pop(&workers->queue, &item, KOLK_NOW) == KOLK_OK) release(&heir, &item);
    if (heir.problem.text[0]) soak_wrong(&workers->problem, heir.problem.claim, "%s", heir.problem.text);
}

bool soak_workers_check(struct soak_workers *workers) {
    return soak_queue_agrees(&workers->queue, "soak.handover", 0, workers->refused, &workers->problem);
}

void soak_workers_end(struct soak_workers *workers) {
    kolk_queue_deinit(&workers->queue);
}
