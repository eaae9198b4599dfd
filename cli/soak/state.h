/* cli/soak/state.h: a soak test as a file, to be gone on with by another process. It holds the counts and statistics,
 * the state of the random numbers, and the kolk_pools with what is alive in them, as snapshots. The other pools have
 * none: they begin empty, and fill up in the first cycle. */
#ifndef SOAK_STATE_H
#define SOAK_STATE_H

#include "load.h"

/* What goes on from process to process. */
struct soak_state {
    uint64_t seed;
    uint64_t ns;            /* that all processes have worked */
    uint64_t runs;          /* processes */
    uint64_t reports, born; /* that failure handlers got; threads */
    double watched;         /* millions of operations in which memory was watched */
    struct watch_sums resident;
    struct watch_times first; /* of the first tenth of the first process */
};

/* False: it could not be written, and `problem` says why. The file is replaced at once, or not at all. */
bool soak_state_write(const char *path, const struct soak_state *state, struct soak_load *load,
                      struct soak_problem *problem);

/* Into a load that has just begun. False: see `problem`. */
bool soak_state_read(const char *path, struct soak_state *state, struct soak_load *load, struct soak_problem *problem);

#endif
