/* cli/soak/load.h: the load of the soak test, cycle by cycle. */
#ifndef SOAK_LOAD_H
#define SOAK_LOAD_H

#include "services.h"

#include <stdatomic.h>

enum { SOAK_CYCLE = 1000000 }; /* operations */

struct soak_load {
    struct soak_store stores[SOAK_KINDS];
    struct soak_queue queue;
    struct soak_resource resource;
    struct soak_database *database; /* NULL: not built in */
    struct soak_workers workers;
    struct soak_random random;
    uint64_t cycles;                  /* completed; they decide all the rest */
    uint64_t misuses;                 /* in this process */
    atomic_uint_fast64_t reports;     /* that the failure handler got */
    uint64_t probe_every, next_probe; /* nanoseconds; cli_now of the next one. 0: none */
    uint64_t probes;                  /* in this process */
    struct watch_times *times;        /* for the times of the next cycle's operations */
    struct soak_problem problem;      /* the first one, of all parts */
};

/* On failure returns false; see `problem`. Call soak_load_end in any case. Until then the load owns the process's
 * failure handler. */
bool soak_load_begin(struct soak_load *load, uint64_t seed);
void soak_load_end(struct soak_load *load);

/* Runs a cycle of SOAK_CYCLE operations, then all checks, and calls `tell` now and then. Returns false if something was
 * wrong. */
bool soak_load_cycle(struct soak_load *load, void (*tell)(void *context), void *context);

bool soak_load_check(struct soak_load *load); /* also called by each cycle */
void soak_load_probe(struct soak_load *load); /* of the next fixed pool */

#endif
