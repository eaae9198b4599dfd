/* load.c: see load.h. */
#define _POSIX_C_SOURCE 200809L
#include "load.h"
#include "../built_in.h"
#include "../print.h"

#include <errno.h>
#include <string.h>

/* So that the command always has an example. */
BUILT_IN(sqlite_trace, "traces/sqlite.mtrace.zst");

static FILE *open_trace(const char *path, const char **name) {
    if (!path) {
        *name = "sqlite.mtrace.zst";
        return fmemopen((void *)(uintptr_t)sqlite_trace, (size_t)(sqlite_trace_end - sqlite_trace), "rb");
    }
    *name = strcmp(path, "-") != 0 ? path : "stdin";
    return strcmp(path, "-") != 0 ? fopen(path, "rb") : stdin;
}

int load_trace(struct trace *trace, const char *path, const char **name) {
    struct trace_problem problem;
    FILE *file = open_trace(path, name);
    if (!file) return cli_fail(CLI_UNREADABLE, "%s: cannot be opened: %s", *name, strerror(errno));
    bool read = trace_read(trace, file, &problem);
    if (file != stdin) fclose(file);
    if (!read) return cli_fail(CLI_UNREADABLE, "%s: %s", *name, problem.text);
    if (trace->cut_line > 0)
        cli_fail(CLI_OK,
                 "%s: the recording is cut off in line %s, and used up to there; what kolk record writes last is "
                 "missing: names of stacks, and times",
                 *name, cli_count(trace->cut_line).text);
    if (trace->count > 0) return CLI_OK;
    return cli_fail(CLI_UNREADABLE, "%s: no allocation is recorded in it", *name);
}

void load_print_left_out(const cli_context *cli, const struct trace *trace) {
    if (trace->failed > 0) fprintf(cli->out, "Failed allocations, left out: %s\n", cli_count(trace->failed).text);
    if (trace->unknown > 0)
        fprintf(cli->out, "Frees and resizes of what was allocated before the recording, left out: %s\n",
                cli_count(trace->unknown).text);
}
