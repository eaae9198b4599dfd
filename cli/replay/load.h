/* cli/replay/load.h: loads the trace of a verb that takes [TRACE]. */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "../context.h"
#include "trace.h"

#define LOAD_HELP                                                                                                      \
    "TRACE is what kolk record writes, or glibc's mtrace, plain or compressed by zstd; - is\n"                         \
    "stdin. Without it, a recording of SQLite is taken that is built in.\n"

/* Reads the file, or the built-in trace if path is NULL, and sets `name` to the trace's name. If the trace cannot be
 * read or has no allocation, prints a sentence and returns another code than CLI_OK. The caller must call trace_free in
 * every case. */
int load_trace(struct trace *trace, const char *path, const char **name);

/* Prints how many operations were left out, if any. */
void load_print_left_out(const cli_context *cli, const struct trace *trace);

#endif
