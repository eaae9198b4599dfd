/* cli/soak/load.h: the load of the soak test, cycle by cycle. */
#ifndef SOAK_LOAD_H
#define SOAK_LOAD_H

#include "services.h"

#include <stdatomic.h>

enum { SOAK_CYCLE = 1000000 }; /* operations per cycle */

struct soak_load {
    struct soak_store stores[SOAK_KINDS];
    struct soak_queue queue;
    struct soak_resource resource;
    struct soak_workers workers;
    struct soak_random random;
    uint64_t cycles;                  /* completed; the sizes of blocks depend on it */
    uint64_t misuses;                 /* mistakes made in this process */
    atomic_uint_fast64_t reports;     /* calls of the failure handler */
    uint64_t probe_every, next_probe; /* nanoseconds, 0: no probes; when the next one is due, by cli_now */
    uint64_t probes;                  /* probes in this process */
    struct watch_times *times;        /* where the times of the next cycle's operations go */
    struct soak_problem problem;      /* the first problem in any part of the load */
};

/* On failure returns false and sets `problem`. The caller must call soak_load_end in either case. Until then the load
 * owns the process's failure handler. */
bool soak_load_begin(struct soak_load *load, uint64_t seed);
void soak_load_end(struct soak_load *load);

/* Runs a cycle of SOAK_CYCLE operations, then all checks, and calls `tell` now and then. Returns false if something was
 * wrong. */
bool soak_load_cycle(struct soak_load *load, void (*tell)(void *context), void *context);

bool soak_load_check(struct soak_load *load); /* also called in each cycle */
void soak_load_probe(struct soak_load *load); /* probes the next fixed pool */

#endif
