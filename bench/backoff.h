/* backoff.h: included before src/queue/queue.c. Turns the constants of src/core/looks.h into variables of
 * backoff.cc. */
#ifndef KOLK_BENCH_BACKOFF_H
#define KOLK_BENCH_BACKOFF_H

#include <stdint.h>

struct backoff {
    int64_t look_ns, spin_ns, shortest_ns;
};

#ifdef __cplusplus
extern "C" struct backoff backoff;
#else
extern struct backoff backoff;
#define LOOK_NS        backoff.look_ns
#define SPIN_NS        backoff.spin_ns
#define SHORTEST_PAUSE backoff.shortest_ns
#endif

#endif
