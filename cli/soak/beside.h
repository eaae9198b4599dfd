/* cli/soak/beside.h: runs the heap's load on other allocators, each in its own process, and measures resident bytes per
 * live byte. */
#ifndef SOAK_BESIDE_H
#define SOAK_BESIDE_H

#include "../measure.h"
#include "watch.h"

enum { BESIDE_KOLK, BESIDE_MALLOC, BESIDE_JEMALLOC, BESIDE_MIMALLOC, BESIDE_TCMALLOC, BESIDES };

enum { BESIDE_PERIOD = 48 }; /* cycles until the sizes repeat; a cycle takes a second */

struct beside {
    const char *name;
    char why[120];                 /* why it could not be run; empty if it could */
    uint64_t cycles, operations;   /* how many were run */
    struct watch_series high, low; /* resident bytes per live byte against the cycle: at the rush and after it */
};

struct besides {
    struct cli_isolation children[BESIDES];
    uint32_t begun;
    uint64_t seed, ns;
    bool (*go_on)(void); /* called now and then; if it returns false, the child ends */
    struct beside each[BESIDES];
};

/* Starts all of them for `ns`; the caller continues at once. On failure prints a sentence and returns false. The caller
 * must call beside_end even then.
 * beside_end even then. */
bool beside_begin(struct besides *besides);

/* Waits for them. If `hurry`, it first sends SIGTERM, whose handler must make go_on return false. */
bool beside_end(struct besides *besides, bool hurry);

#endif
