/* cli/soak/state.h: saves a soak test to a file, so that another process can continue it. The file holds the counts and
 * statistics, the state of the random numbers, and snapshots of the kolk_pools with their objects. The other pools have
 * no snapshots. They begin empty, and fill up in the first cycle. */
#ifndef SOAK_STATE_H
#define SOAK_STATE_H

#include "load.h"

/* The part that is handed from one process to the next. */
struct soak_state {
    uint64_t seed;
    uint64_t ns;            /* total working time of all processes */
    uint64_t runs;          /* number of processes */
    uint64_t reports, born; /* reports to failure handlers; threads started */
    double watched;         /* millions of operations during which memory was watched */
    struct watch_sums resident;
    struct watch_times first; /* of the first tenth of the first process */
};

/* On failure returns false and sets `problem`. The file is replaced as a whole or not at all. */
bool soak_state_write(const char *path, const struct soak_state *state, struct soak_load *load,
                      struct soak_problem *problem);

/* Loads the state into a load that has just begun. On failure returns false and sets `problem`. */
bool soak_state_read(const char *path, struct soak_state *state, struct soak_load *load, struct soak_problem *problem);

#endif
