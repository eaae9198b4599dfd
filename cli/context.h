/* cli/context.h: the context that every verb of the kolk command gets, and the exit codes. */
#ifndef CLI_CONTEXT_H
#define CLI_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The exit codes. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,    /* a check failed, there is no memory, or the output cannot be written */
    CLI_USAGE = 2,     /* the command line was not understood */
    CLI_UNREADABLE = 3 /* an input file is missing, damaged or not what it should be */
};

/* Every verb gets this: the common options, and the stream for the result. */
typedef struct cli_context {
    bool json;        /* --json: the result as JSON, and nothing else */
    const char *path; /* -o FILE, or NULL; cli->out is written to this file */
    bool to_stdout;   /* -o -: the result goes to stdout, also of a verb that writes a file otherwise; path is NULL */
    uint64_t seed;    /* --seed N: the seed of all random numbers */
    FILE *out;        /* for the result, which is shown when the verb returns CLI_OK */
    bool color;       /* cli->out may contain colors: it goes to a terminal, and the user has not turned them off */
    bool terminal;    /* the result goes to a terminal and is not JSON, so a verb may animate on stdout */
    bool progress;    /* stderr is a terminal, so cli_progress shows something */
    int verdict;      /* the exit code once the result is shown, for a verb that can find that something is wrong */
} cli_context;

#endif
