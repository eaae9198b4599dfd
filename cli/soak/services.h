/* cli/soak/services.h: other things under load: a queue, a resource pool, and threads that start and end. */
#ifndef SOAK_SERVICES_H
#define SOAK_SERVICES_H

#include "store.h"

/* ---- A queue: items come out in the order in which they went in -------------------------------------------------- */

struct soak_queue {
    kolk_queue queue;
    uint64_t pushed, popped, refused;
    struct soak_problem problem;
};

bool soak_queue_begin(struct soak_queue *queue);
void soak_queue_turn(struct soak_queue *queue, struct soak_random *random);
bool soak_queue_check(struct soak_queue *queue);
void soak_queue_end(struct soak_queue *queue);

/* Returns true if a queue of this name is valid and its counts match the load's. Otherwise sets `problem`. */
bool soak_queue_agrees(const kolk_queue *queue, const char *name, uint64_t items, uint64_t refused,
                       struct soak_problem *problem);

/* ---- A resource pool, whose resources are numbers: creating one fails at times, and some go bad ------------------ */

enum { SOAK_BORROWS = 8 };

struct soak_resource {
    kolk_resource_pool pool;
    struct soak_random *random; /* the random numbers of the current turn */
    kolk_borrowed borrows[SOAK_BORROWS];
    uint32_t held;
    uint64_t lent, full, failed, created, destroyed, discarded, invalid;
    struct soak_problem problem;
};

bool soak_resource_begin(struct soak_resource *resource);
void soak_resource_turn(struct soak_resource *resource, struct soak_random *random);
bool soak_resource_check(struct soak_resource *resource);
void soak_resource_end(struct soak_resource *resource);

/* ---- Threads that allocate from the shared pool and the heap, and pass objects to each other by a queue ---------- */

struct soak_workers {
    kolk_queue queue;
    uint64_t born, allocs, handed, refused; /* `refused` counts the queue's refusals */
    struct soak_problem problem;
};

bool soak_workers_begin(struct soak_workers *workers);
void soak_workers_live(struct soak_workers *workers, struct soak_store *shared, struct soak_store *heap,
                       struct soak_random *random); /* some threads are born, work and die */
bool soak_workers_check(struct soak_workers *workers);
void soak_workers_end(struct soak_workers *workers);

#endif
