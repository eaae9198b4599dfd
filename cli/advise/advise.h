/* cli/advise/advise.h: the advice for one trace, as a table, as JSON or as a header. */
#ifndef CLI_ADVISE_H
#define CLI_ADVISE_H

#include "share.h"

struct advised {
    struct verdict verdict;
    struct gain gain; /* unused for ADVICE_LEAVE */
};

struct advisor {
    const char *name; /* of the trace */
    struct trace trace;
    struct sources sources;
    struct advised *advised; /* the sources with enough allocations, largest gain first, ADVICE_LEAVE last */
    size_t count;
    uint64_t few_allocations; /* allocations of the sources that have too few for a pool */
    double program_ns;        /* processor time of the program; 0 if it is not known */
    const trace_op *zone;     /* the last operation on a block that may have an allocator in it; NULL: there is none */
    struct gain all;          /* of all pools together; only its samples and operations are set */
};

/* Chooses the pools, without their gains. Those with most allocations come first. If the result is not CLI_OK, a
 * sentence has been printed. */
int advisor_judge(struct advisor *advisor);

/* Makes the advice for advisor->trace. If the result is not CLI_OK, a sentence has been printed. */
int advisor_make(const cli_context *cli, struct advisor *advisor);
void advisor_free(struct advisor *advisor); /* the trace too */

/* Returns a sentence if the pools are not worth the work, which is then said first; else NULL. */
const char *advisor_warning(const struct advisor *advisor);

/* Writes the advice as an object. */
void advisor_write(cli_json *json, const char *key, const struct advisor *advisor);

/* Writes a header for C11 and C++17. cli->path is the name of its file. */
void header_write(const cli_context *cli, const struct advisor *advisor);

/* Writes what to change in the files of C in this folder: a list in lines that begin with "# ", then a diff. */
int patch_write(const cli_context *cli, const struct advisor *advisor, const char *folder);

#endif
