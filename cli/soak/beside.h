/* cli/soak/beside.h: the heap's load of sizes on other allocators, each in a process of its own: how many bytes are in
 * memory for each byte that is alive. */
#ifndef SOAK_BESIDE_H
#define SOAK_BESIDE_H

#include "../measure.h"
#include "watch.h"

enum { BESIDE_KOLK, BESIDE_MALLOC, BESIDE_JEMALLOC, BESIDE_MIMALLOC, BESIDE_TCMALLOC, BESIDES };

enum { BESIDE_PERIOD = 48 }; /* cycles until the sizes come again; a cycle takes a second */

struct beside {
    const char *name;
    char why[120];                 /* it could not be run; empty: it could */
    uint64_t cycles, operations;   /* that were run */
    struct watch_series high, low; /* resident bytes by live bytes, against the cycle: at the rush, and behind it */
};

struct besides {
    struct cli_isolation children[BESIDES];
    uint32_t begun;
    int parent; /* the process that has begun them */
    uint64_t seed, ns;
    bool (*go_on)(void); /* asked now and then; false ends a child */
    struct beside each[BESIDES];
};

/* Lets all of them run for `ns`, beside what the caller does. False: a sentence was printed; end them then too. */
bool beside_begin(struct besides *besides);

/* Waits for them; in a hurry they are told to end, by SIGTERM, whose handler must make go_on say no. */
bool beside_end(struct besides *besides, bool hurry);

#endif
