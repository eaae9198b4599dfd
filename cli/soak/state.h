/* cli/soak/state.h: a soak test in a file, for another process to continue. It holds the counts and statistics, the
 * state of the random numbers, and snapshots of the kolk_pools with their objects. The other pools have no snapshots:
 * they begin empty, and fill up in the first cycle. */
#ifndef SOAK_STATE_H
#define SOAK_STATE_H

#include "load.h"

/* The part that passes from process to process. */
struct soak_state {
    uint64_t seed;
    uint64_t ns;            /* that all processes have worked */
    uint64_t runs;          /* processes */
    uint64_t reports, born; /* that failure handlers got; threads */
    double watched;         /* millions of operations while memory was watched */
    struct watch_sums resident;
    struct watch_times first; /* of the first tenth of the first process */
};

/* On failure returns false; see `problem`. The file is replaced at once, or not at all. */
bool soak_state_write(const char *path, const struct soak_state *state, struct soak_load *load,
                      struct soak_problem *problem);

/* Loads into a load that has just begun. On failure returns false; see `problem`. */
bool soak_state_read(const char *path, struct soak_state *state, struct soak_load *load, struct soak_problem *problem);

#endif
