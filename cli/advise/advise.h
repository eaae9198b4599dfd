/* cli/advise/advise.h: the advice for one trace, and its forms: a table, JSON, a header. */
#ifndef CLI_ADVISE_H
#define CLI_ADVISE_H

#include "gain.h"

struct advised {
    struct verdict verdict;
    struct gain gain; /* not for ADVICE_LEAVE */
};

struct advisor {
    const char *name; /* of the trace */
    struct trace trace;
    struct sources sources;
    struct advised *advised; /* of sources with enough allocations, by falling gain; ADVICE_LEAVE last */
    size_t count;
    uint64_t few_allocations; /* of sources with too few for a pool */
};

/* A header for C11 and C++17; cli->path is its name. */
void header_write(const cli_context *cli, const struct advisor *advisor);

#endif
