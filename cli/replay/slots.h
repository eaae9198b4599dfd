/* cli/replay/slots.h: what would have happened with a pool of another capacity. The recorded allocations and frees of
 * one pool, which KOLK_RECORD_POOLS (kolk_record.h) has named, are repeated with a pool of kolk's. */
#ifndef CLI_SLOTS_H
#define CLI_SLOTS_H

#include "../context.h"
#include "trace.h"

/* Ages are counted in the pool's allocations. */
struct slots {
    char name[128];
    uint32_t capacity;
    bool evicts; /* evict_oldest */

    uint64_t recorded;      /* allocations, of which ... */
    uint32_t recorded_peak; /* ... at most so many were alive */
    uint64_t failed, evicted;
    uint64_t youngest, oldest; /* ages of the objects that were evicted */
    uint32_t peak;
};

/* Reads NAME=CAPACITY[,evict_oldest]. Returns false if it is something else. */
bool slots_parse(struct slots *slots, const char *text);

/* Returns CLI_OK, or prints a sentence and returns another code. `path` is the trace's name. */
int slots_run(struct slots *slots, const struct trace *trace, const char *path);

void slots_print(const cli_context *cli, const struct slots *slots, const char *path);

#endif
