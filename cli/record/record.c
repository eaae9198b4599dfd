/* record.c: kolk record: runs a program as a child with libkolk-record.so preloaded, and writes its calls of malloc as
 * a trace for kolk replay.
 *
 *     the program                                         this process
 *     preload/record: each call, a few words  -- wire.h -->  writer.c: lines of text  -->  output.c: zstd, the file
 *                                                            calls.c, symbols.c: stacks as text, at the end
 *                                                            program.c: its start, its signals, its end
 */
#define _GNU_SOURCE
#include "../measure.h"
#include "../run/preload.h"
#include "cli.h"
#include "print.h"
#include "program.h"
#include "writer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY "libkolk-record.so"
#define MALLOC  "libkolk-malloc.so"

static bool is_quiet;
static uint64_t runs; /* 0: the program runs only once, and is recorded */

static const cli_option options[] = {
    {.name = "quiet", .letter = 'q', .kind = CLI_FLAG, .value = &is_quiet, .help = "no summary at the end"},
    {.name = "runs",
     .letter = 'r',
     .kind = CLI_COUNT,
     .argument = "N",
     .value = &runs,
     .most = TRACE_RUNS_MOST,
     .help = "first measure N runs of it as it is, and N with kolk as its malloc"},
    {0},
};

struct recording {
    const char *path, *name; /* path of the trace; name of the program */
    char own_path[PATH_MAX];
    int descriptor;
    struct output output;
    struct program plain; /* with --runs: their medians; the status is that of the last run */
    struct program program;
    struct writer writer;
};

/* Chooses the default path: the program's name, in the current folder. */
static int choose_path(const cli_context *cli, struct recording *recording) {
    recording->path = cli->path;
    if (cli->path) return CLI_OK;
    const char *slash = strrchr(recording->name, '/');
    int length =
        snprintf(recording->own_path, sizeof recording->own_path, "%s.trace.zst", slash ? slash + 1 : recording->name);
    recording->path = recording->own_path;
    return length < (int)sizeof recording->own_path ? CLI_OK : cli_fail(CLI_FAILED, "the program's name is too long");
}

static int make_wire(struct recording *recording) {
    struct wire *wire = MAP_FAILED;
    recording->descriptor = memfd_create("kolk record", MFD_CLOEXEC);
    if (recording->descriptor >= 0 && ftruncate(recording->descriptor, sizeof *wire) == 0)
        wire = mmap(NULL, sizeof *wire, PROT_READ | PROT_WRITE, MAP_SHARED, recording->descriptor, 0);
    if (wire == MAP_FAILED)
        return cli_fail(CLI_FAILED, "there is no memory to share with the program: %s", strerror(errno));
    wire->magic = WIRE_MAGIC;
    recording->writer.wire = wire;
    return CLI_OK;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static const char *why_not(const struct recording *recording, const char *otherwise) {
    const char *why = preload_why_not(recording->name);
    return why ? why : otherwise;
}

/* Returns why there is no trace, or NULL if there is one. */
static const char *why_nothing(const struct recording *recording) {
    switch (__atomic_load_n(&recording->writer.wire->state, __ATOMIC_ACQUIRE)) {
    case WIRE_STARTED:
        return NULL;
    case WIRE_NO_MEMORY:
        return "it had no memory for that";
    case WIRE_OLD_KERNEL:
        return "that needs Linux 4.14";
    default:
        return why_not(recording, "it is linked statically, or has more rights than you, or ended before it began");
    }
}

static void say_signal(const struct recording *recording, const struct program *program) {
    int status = program->status;
    if (WIFSIGNALED(status))
        cli_fail(CLI_FAILED, "%s: ended by signal %d (%s)", recording->name, WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
}

static void say_times(const struct writer *writer, uint64_t processor_ns) {
    uint64_t recording_ns = writer_recording_ns(writer, processor_ns);
    fprintf(stderr, "%s of processor time, ", cli_time((double)processor_ns / 1e6, 1, " ms").text);
    if (trace_program_ns(processor_ns, recording_ns) > 0)
        fprintf(stderr, "of which recording took %s\n", cli_time((double)recording_ns / 1e6, 1, "").text);
    else
        fputs("much of it for recording: what the program takes is not known well; --runs 5 measures it\n", stderr);
}

static void say_summary(const struct recording *recording) {
    const struct writer *writer = &recording->writer;
    size_t stacks = writer->calls.count > 0 ? writer->calls.count - 1 : 0;
    fprintf(stderr, "kolk: %s: %s operations of %s thread%s, %s stack%s, %s; ", recording->path,
            cli_count(writer->operations).text, cli_count(writer->threads).text, writer->threads == 1 ? "" : "s",
            cli_count(stacks).text, stacks == 1 ? "" : "s", cli_bytes(recording->output.bytes).text);
    if (runs > 0)
        fprintf(stderr, "%s of processor time without recording\n",
                cli_time((double)recording->plain.processor_ns / 1e6, 1, " ms").text);
    else
        say_times(writer, recording->program.processor_ns);
}

/* Returns the program's exit code, or record's own if that is 0. */
static int end(struct recording *recording) {
    const char *nothing = why_nothing(recording);
    writer_end(&recording->writer, runs > 0 ? &recording->plain : &recording->program, runs == 0);
    if (!is_quiet) say_signal(recording, &recording->program);
    if (nothing) {
        output_drop(&recording->output);
        return cli_fail(CLI_FAILED, "%s: nothing was recorded: %s", recording->name, nothing);
    }
    if (!output_close(&recording->output))
        return cli_fail(CLI_FAILED, "%s: cannot be written: %s", recording->path, strerror(recording->output.error));
    if (recording->writer.calls.has_no_memory)
        cli_fail(CLI_FAILED, "%s: there was no memory for the names of some stacks", recording->path);
    if (recording->writer.operations == 0)
        cli_fail(CLI_OK, "%s: no operation is in it: %s: %s", recording->path, recording->name,
                 why_not(recording, "it asks for no memory, or has a malloc within itself"));
    else if (!is_quiet)
        say_summary(recording);
    return CLI_OK;
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

/* Runs the program without recording. Returns its exit code if a signal has ended it. */
static int run_unrecorded(struct recording *recording, char **arguments) {
    struct program *program = &recording->plain;
    int error = program_start(program, arguments, -1);
    if (error) return preload_cannot_run(recording->name, error);
    program_wait(program);
    if (!WIFSIGNALED(program->status)) return CLI_OK;
    say_signal(recording, program);
    return program_exit_code(program);
}

/* The same with kolk as its malloc. Leaves LD_PRELOAD as it was. */
static int run_with_kolk(struct recording *recording, char **arguments) {
    const char *others = getenv("LD_PRELOAD");
    char *before = others ? strdup(others) : NULL;
    int code = others && !before ? cli_fail(CLI_FAILED, "there is no memory") : preload_library(MALLOC);
    if (code == CLI_OK) {
        code = run_unrecorded(recording, arguments);
        if (before)
            setenv("LD_PRELOAD", before, 1);
        else
            unsetenv("LD_PRELOAD");
    }
    free(before);
    return code;
}

/* Measures the runs of --runs, in turn, before LD_PRELOAD is set. Which way is first alternates. */
static int measure_runs(struct recording *recording, char **arguments) {
    struct writer *writer = &recording->writer;
    double processor[TRACE_RUNS_MOST], wall[TRACE_RUNS_MOST];
    for (; writer->run_count < runs; writer->run_count++) {
        size_t number = writer->run_count;
        for (size_t i = 0; i < 2; i++) {
            bool kolk = (i + number) % 2 == 1;
            int code = (kolk ? run_with_kolk : run_unrecorded)(recording, arguments);
            if (code != CLI_OK) return code;
            if (kolk) {
                writer->runs[number].kolk_ns = recording->plain.processor_ns;
                continue;
            }
            writer->runs[number].plain_ns = recording->plain.processor_ns;
            processor[number] = (double)recording->plain.processor_ns;
            wall[number] = (double)recording->plain.wall_ns;
        }
    }
    recording->plain.processor_ns = (uint64_t)cli_quantile(processor, writer->run_count, 0.5);
    recording->plain.wall_ns = (uint64_t)cli_quantile(wall, writer->run_count, 0.5);
    return CLI_OK;
}

/* Does what must be done before the program is recorded. */
static int prepare(struct recording *recording, char **arguments) {
    if (!output_open(&recording->output, recording->path))
        return cli_fail(CLI_FAILED, "%s: cannot be written: %s", recording->path, strerror(recording->output.error));
    int code = measure_runs(recording, arguments);
    if (code == CLI_OK) code = preload_library(LIBRARY);
    if (code == CLI_OK) code = make_wire(recording);
    if (code != CLI_OK) output_drop(&recording->output);
    return code;
}

static int record(struct recording *recording, char **arguments) {
    recording->program.is_last = true;
    int error = program_start(&recording->program, arguments, recording->descriptor);
    if (error) {
        output_drop(&recording->output);
        return preload_cannot_run(recording->name, error);
    }
    output_begin(&recording->output);
    bool writes = writer_begin(&recording->writer);
    if (!writes) kill(recording->program.pid, SIGKILL);
    program_wait(&recording->program);
    if (!writes) {
        output_drop(&recording->output);
        return cli_fail(CLI_FAILED, "there is no memory");
    }
    int code = end(recording), own = program_exit_code(&recording->program);
    return own ? own : code;
}

static int run(cli_context *cli, int count, char **arguments) {
    if (count == 0) return cli_fail(CLI_USAGE, "record expects a program: kolk record -- PROGRAM [ARGUMENT...]");
    if (cli->json) return cli_fail(CLI_USAGE, "record has no result in JSON: the trace is what it writes");
    if (cli->to_stdout)
        return cli_fail(CLI_USAGE, "the trace cannot go to stdout, which is the program's: -o takes a file or a pipe");
    struct recording *recording = calloc(1, sizeof *recording);
    if (!recording) return cli_fail(CLI_FAILED, "there is no memory");
    arguments[count] = NULL; /* still within argv */
    recording->name = arguments[0];
    recording->writer.output = &recording->output;
    program_prepare();
    int code = choose_path(cli, recording);
    cli->path = NULL; /* so that cli.c writes nothing there */
    if (code == CLI_OK) code = prepare(recording, arguments);
    if (code == CLI_OK) {
        cli->verdict = record(recording, arguments);
        close(recording->descriptor);
        munmap(recording->writer.wire, sizeof *recording->writer.wire);
    }
    calls_free(&recording->writer.calls);
    free(recording);
    return code;
}

const cli_verb cli_record = {
    .name = "record",
    .arguments = "-- PROGRAM [ARGUMENT...]",
    .most_arguments = INT_MAX,
    .summary = "runs a program, unchanged, and writes what it asks of malloc to a trace",
    .details = "The trace has every allocation, resize and free, with its thread and its stack,\n"
               "compressed by zstd: PROGRAM.trace.zst in this folder, or -o FILE. kolk replay\n"
               "and kolk advise read it. It is text, like that of glibc's mtrace.\n"
               "\n"
               "The program runs on the malloc that it has. It gets " LIBRARY " by\n"
               "LD_PRELOAD. What it forks or starts is not recorded. If it becomes another\n"
               "program (exec), as a script that is only a wrapper does, that one is.\n"
               "Stacks have their innermost eight functions.\n"
               "\n"
               "The trace ends with the processor time of the program, for kolk advise. What\n"
               "recording takes is subtracted as far as it can be measured. A program that\n"
               "allocates all the time still seems slower than it is. With --runs 5 it runs ten\n"
               "times more, before: as it is, and with kolk as its malloc, in turn. The time is\n"
               "then the median of the runs as it is, and kolk advise tells what kolk run saves.\n"
               "This is for programs that may be repeated, and do not read from a terminal or a\n"
               "pipe. Whatever they write is written each time.\n"
               "\n"
               "The exit code is the program's: 128 and the number of the signal that ended it,\n"
               "127 if it is not found, 126 if it cannot be run. Signals go to the program; the\n"
               "trace is whole however that ends. While it is completed, a second one ends\n"
               "record. A program that is linked statically, or has more rights than you, cannot\n"
               "be recorded. The two dashes tell options of the program from those of kolk.\n",
    .options = options,
    .run = run,
};
