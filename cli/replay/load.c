/* load.c: see load.h. */
#define _POSIX_C_SOURCE 200809L
#include "load.h"
#include "../print.h"

#include <errno.h>
#include <string.h>

/* traces/sqlite.mtrace.zst is built in, so that the command always has an example. */
extern const unsigned char built_in[] __asm__("kolk_built_in_trace"), built_in_end[] __asm__("kolk_built_in_trace_end");

#ifdef __APPLE__
#define READ_ONLY "__TEXT,__const"
#else
#define READ_ONLY ".rodata"
#endif
__asm__(".pushsection " READ_ONLY "\n"
        ".globl kolk_built_in_trace, kolk_built_in_trace_end\n"
        "kolk_built_in_trace: .incbin \"traces/sqlite.mtrace.zst\"\n"
        "kolk_built_in_trace_end: .byte 0\n"
        ".popsection\n");

static FILE *open_trace(const char *path, const char **name) {
    if (!path) {
        *name = "sqlite.mtrace.zst";
        return fmemopen((void *)(uintptr_t)built_in, (size_t)(built_in_end - built_in), "rb");
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
    if (trace->count > 0) return CLI_OK;
    return cli_fail(CLI_UNREADABLE, "%s: no allocation is recorded in it", *name);
}

void load_print_left_out(const cli_context *cli, const struct trace *trace) {
    if (trace->failed > 0) fprintf(cli->out, "Failed allocations, left out: %s\n", cli_count(trace->failed).text);
    if (trace->unknown > 0)
        fprintf(cli->out, "Frees and resizes of what was allocated before the recording, left out: %s\n",
                cli_count(trace->unknown).text);
}
