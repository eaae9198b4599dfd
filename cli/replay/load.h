/* cli/replay/load.h: the trace of a verb that takes [TRACE]. */
#ifndef CLI_LOAD_H
#define CLI_LOAD_H

#include "../context.h"
#include "trace.h"

#define LOAD_HELP                                                                                                      \
    "TRACE is what kolk record writes, or glibc's mtrace, plain or compressed by zstd; - is\n"                         \
    "stdin. Without it, a recording of SQLite is taken that is built in.\n"

/* Reads the file, or the built-in trace if path is NULL; name is what to call it. Anything but CLI_OK: it cannot be
 * read, or there is no allocation in it, and a sentence was printed. trace_free is the caller's in each case. */
int load_trace(struct trace *trace, const char *path, const char **name);

/* Says how many operations were left out, if any were. */
void load_print_left_out(const cli_context *cli, const struct trace *trace);

#endif
