/* program.c: runs a real program that does not use kolk, first on glibc's malloc and then on libkolk-malloc.so. The
 * program prints a number that it has computed, and its peak memory. */
#define _POSIX_C_SOURCE 200809L
#include "../measure.h"
#include "../print.h"
#include "../run/preload.h"
#include "luggage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY "libkolk-malloc.so"

/* Stores 100,000 strings under 50,021 keys, and removes every other key. */
static const struct program {
    const char *name, *option, *text;
} programs[] = {
    {"perl", "-e",
     "my %h; $h{$_ * 7919 % 50021} .= 'x' x ($_ % 90) for 1 .. 100000; $_ % 2 && delete $h{$_} for 1 .. 50021;"
     "my $n = 0; $n += length for values %h; open(my $s, '<', '/proc/self/status'); my ($m) = join('', <$s>) =~ "
     "/VmHWM:\\s+(\\d+)/; print \"$n $m\\n\""},
    {"python3", "-c",
     "import re\nh = {}\nfor i in range(1, 100001): h[i * 7919 % 50021] = h.get(i * 7919 % 50021, '') + 'x' * (i % "
     "90)\n"
     "for i in range(1, 50022, 2): h.pop(i, 0)\n"
     "print(sum(map(len, h.values())), re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"},
};

enum { PROGRAMS = sizeof programs / sizeof *programs };

struct outcome {
    int code; /* its exit code; -1 if it could not be started or was killed by a signal */
    uint64_t answer, peak_kib;
    uint64_t sizes, blocks_at_exit, blocks_peak; /* of the heap */
};

/* Runs in the child, which becomes the program. */
static void become(const struct program *program, bool on_heap, int out) {
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0) _exit(PRELOAD_CANNOT_RUN);
    unsetenv("KOLK_DEBUG");
    if (setenv("PYTHONMALLOC", "malloc", 1) != 0) _exit(PRELOAD_CANNOT_RUN); /* otherwise Python uses its own pools */
    if (on_heap && (preload_library(LIBRARY) != CLI_OK || setenv("KOLK_STATS", "text", 1) != 0))
        _exit(PRELOAD_CANNOT_RUN);
    execlp(program->name, program->name, program->option, program->text, (char *)NULL);
    _exit(PRELOAD_NOT_FOUND);
}

/* Reads the program's line, then the heap's lines, each with name, kind, size, alive and peak. */
static void read_lines(FILE *lines, struct outcome *outcome) {
    char line[256];
    while (fgets(line, sizeof line, lines)) {
        sscanf(line, "%" SCNu64 " %" SCNu64, &outcome->answer, &outcome->peak_kib);
        sscanf(line, "malloc heap 0 %" SCNu64 " %" SCNu64, &outcome->blocks_at_exit, &outcome->blocks_peak);
        outcome->sizes += strncmp(line, "malloc/", 7) == 0;
    }
}

static struct outcome run(const struct program *program, bool on_heap) {
    struct outcome outcome = {.code = -1};
    int ends[2], status = 0;
    if (pipe(ends) != 0) return outcome;
    pid_t child = cli_fork();
    if (child == 0) become(program, on_heap, ends[1]);
    close(ends[1]);
    FILE *lines = fdopen(ends[0], "r");
    if (lines) {
        read_lines(lines, &outcome);
        fclose(lines);
    } else {
        close(ends[0]);
    }
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    return outcome;
}

static void print_outcomes(const cli_context *cli, const struct program *program, const struct outcome *on_heap,
                           const struct outcome *without) {
    fprintf(cli->out,
            "A real program, unchanged, with such a heap as its malloc: %s keeps 100,000\n"
            "strings by 50,021 keys, and drops half of them (kolk run --stats is for yours).\n\n",
            program->name);
    fprintf(cli->out, "  answer  %s bytes are left in them, as without the heap\n", cli_count(on_heap->answer).text);
    fprintf(cli->out, "  blocks  %s at exit; the peaks of %s sizes add up to", cli_count(on_heap->blocks_at_exit).text,
            cli_count(on_heap->sizes).text);
    fprintf(cli->out, " %s\n", cli_count(on_heap->blocks_peak).text);
    fprintf(cli->out, "  checks  every free and realloc: a wrong one would have ended it\n");
    fprintf(cli->out, "  memory  %s at its peak", cli_bytes(on_heap->peak_kib * 1024).text);
    fprintf(cli->out, ", and %s without the heap\n", cli_bytes(without->peak_kib * 1024).text);
}

static void add_outcomes(cli_json *json, const struct program *program, const struct outcome *on_heap,
                         const struct outcome *without) {
    cli_json_open(json, "program", '{');
    cli_json_text(json, "name", program->name);
    cli_json_count(json, "answer", on_heap->answer);
    cli_json_count(json, "sizes", on_heap->sizes);
    cli_json_count(json, "blocks_at_exit", on_heap->blocks_at_exit);
    cli_json_count(json, "blocks_peak", on_heap->blocks_peak);
    cli_json_count(json, "peak_bytes", on_heap->peak_kib * 1024);
    cli_json_count(json, "peak_bytes_without", without->peak_kib * 1024);
    cli_json_close(json, '}');
}

static int leave_out(const cli_context *cli, cli_json *json, const char *why) {
    if (json)
        cli_json_text(json, "program_left_out", why);
    else
        fprintf(cli->out, "A real program on a heap is left out: %s.\n", why);
    return CLI_OK;
}

int demo_program(cli_context *cli, cli_json *json) {
    if (!json) fputc('\n', cli->out);
    if (!preload_is_there(LIBRARY)) return leave_out(cli, json, LIBRARY " is not here");
    const struct program *program = programs;
    struct outcome without = run(program, false);
    while (without.code == PRELOAD_NOT_FOUND && ++program < programs + PROGRAMS) without = run(program, false);
    if (without.code == PRELOAD_NOT_FOUND) return leave_out(cli, json, "neither perl nor python3 is installed");
    if (without.code != 0) return cli_fail(CLI_FAILED, "%s: fails, with code %d", program->name, without.code);
    struct outcome on_heap = run(program, true);
    if (on_heap.code != 0 || on_heap.answer != without.answer || on_heap.blocks_peak == 0)
        return cli_fail(CLI_FAILED, "%s: is not the same on " LIBRARY ": code %d, answer %" PRIu64 ", not %" PRIu64,
                        program->name, on_heap.code, on_heap.answer, without.answer);
    if (json)
        add_outcomes(json, program, &on_heap, &without);
    else
        print_outcomes(cli, program, &on_heap, &without);
    return CLI_OK;
}
