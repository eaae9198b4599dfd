/* advise.c: the verb `advise`: which of a program's allocations should come from pools, and how to declare those
 * pools. */
#define _POSIX_C_SOURCE 200809L
#include "advise.h"
#include "../cli.h"
#include "../json.h"
#include "../print.h"
#include "../replay/frames.h"
#include "../replay/load.h"

#include <stdlib.h>
#include <string.h>

static const char details[] =
    LOAD_HELP "\n"
              "The first line tells what kolk run saves, if kolk record --runs has measured it.\n"
              "A source is what allocates objects of one type: a function, or one behind xmalloc. Those\n"
              "whose objects have one size, and live and die as a pool's do, get a pool.\n"
              "Where several threads have them, it is a shared pool; where they die together, an\n"
              "arena, a pool that frees all at once. Others are left to malloc, with the reason. Each\n"
              "pool is proved: the source's own operations are replayed from a pool of just that\n"
              "capacity. Then the whole trace is replayed and timed, by one thread, with the pools and\n"
              "with malloc alone: what one run of the program saves, and what it saves if its work is\n"
              "repeated. Shares are of the processor time that kolk record has written.\n"
              "\n"
              "With -o pools.h, or any name that ends in .h, the result is a header for C and C++ that\n"
              "declares the pools.\n"
              "\n"
              "With --patch, the result is what to change in the program's files of C: the declarations\n"
              "and, at each place of an allocation and of a free, the line as it is and as it would be.\n"
              "What is certain is in a diff for patch -p0 and git apply -p0. The rest is in a list, with\n"
              "the reason why it must be done by hand. No file is changed. The program must have been\n"
              "compiled with -g.\n";

static bool patch;
static const char *folder;

static const cli_option options[] = {
    {.name = "patch", .kind = CLI_FLAG, .value = &patch, .help = "print what to change in the program's files"},
    {.name = "source",
     .letter = 's',
     .kind = CLI_TEXT,
     .argument = "FOLDER",
     .value = &folder,
     .help = "with --patch: where the program's source files are (this folder)"},
    {0},
};

/* ---- The table --------------------------------------------------------------------------------------------------- */

static void print_row(FILE *rows, const struct advisor *advisor, const struct advised *advised) {
    const struct verdict *verdict = &advised->verdict;
    const struct source *source = verdict->source;
    const struct gain *gain = &advised->gain;
    fprintf(rows, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t", advice_names[verdict->advice], verdict->name,
            cli_count(source->most).text, cli_count(verdict->align).text, cli_count(verdict->capacity).text,
            cli_count(source->allocations).text,
            cli_share((double)source->allocations, (double)advisor->sources.allocations).text);
    fprintf(rows, "%s\t%s\t%s\t%s\n", cli_time(gain->malloc_ns, 1, "").text, cli_time(gain->pool_ns, 1, "").text,
            cli_bytes(gain->malloc_bytes).text, cli_bytes(gain->pool_bytes).text);
}

static void print_table(const cli_context *cli, const struct advisor *advisor) {
    cli_table table;
    cli_table_begin(&table, "llrrrrrrrrr");
    fprintf(table.rows, "advice\tname\tsize\talign\tcapacity\tallocations\tshare\tmalloc ns\tpool ns\t"
                        "malloc\tpool\n");
    size_t rows = 0;
    for (; rows < advisor->count && advisor->advised[rows].verdict.advice != ADVICE_LEAVE; rows++)
        print_row(table.rows, advisor, &advisor->advised[rows]);
    if (rows == 0) fprintf(table.rows, "no pool: nothing here is allocated as a pool's objects are\n");
    cli_table_end(&table, cli);
    if (rows > 0)
        fprintf(
            cli->out,
            "%sns: of one operation, an alloc or a free, if repeated; then memory at the peak: malloc's, and the whole "
            "pool's%s\n",
            cli_dim(cli), cli_plain(cli));
}

static void print_gain(const cli_context *cli, const struct gain *gain, double program_ns) {
    fputs("  It saves ", cli->out);
    share_print(cli->out, gain, program_ns);
    fputs(".\n", cli->out);
    if (!share_is_told(gain, program_ns)) return;
    if (gain_range(gain->first, gain->samples).median <= 0 && gain_range(gain->repeated, gain->samples).median <= 0)
        fputs("  No time is gained here: take it for its checks, handles and iteration, or leave it.\n", cli->out);
}

static void print_reason(const cli_context *cli, const struct advised *advised, double program_ns) {
    const struct verdict *verdict = &advised->verdict;
    const struct source *source = verdict->source;
    fprintf(cli->out, "\n%s", cli_bold(cli));
    if (verdict->advice != ADVICE_LEAVE)
        fprintf(cli->out, "%s: ", verdict->name);
    else
        fprintf(cli->out, "%s: ", advice_names[ADVICE_LEAVE]);
    name_print_source(cli->out, source);
    fprintf(cli->out, "%s\n  %s allocations", cli_plain(cli), cli_count(source->allocations).text);
    if (source->least == source->most) fprintf(cli->out, " of %s bytes", cli_count(source->most).text);
    fprintf(cli->out, ", at most %s alive. %s\n", cli_count(source->peak).text, verdict->reason);
    if (verdict->advice == ADVICE_LEAVE) return;
    if (source->end_count > 0) {
        fputs("  ", cli->out);
        name_print_ends(cli->out, source);
        fputc('\n', cli->out);
    }
    print_gain(cli, &advised->gain, program_ns);
}

/* Says what following all of the advice would bring. */
static void print_all(const cli_context *cli, const struct advisor *advisor) {
    fprintf(cli->out, "%sTogether they save ", cli_bold(cli));
    share_print(cli->out, &advisor->all, advisor->program_ns);
    fprintf(cli->out, ".%s\n", cli_plain(cli));
    if (advisor->program_ns > 0)
        fprintf(cli->out, "The program took %s of processor time. The intervals contain the median at 95 %%.\n",
                cli_time(advisor->program_ns / 1e6, 1, " ms").text);
    else
        fprintf(cli->out, "How much of the program's time that is cannot be told: %s\n",
                share_why_unknown(&advisor->trace));
}

/* Says first what needs no change to the program. */
static void print_runs(const cli_context *cli, const struct trace *trace) {
    struct range range;
    if (!share_of_runs(trace, &range)) {
        fputs("kolk run -- ...: not measured. It needs no change to the program; kolk record --runs 5 -- ... measures "
              "it.\n",
              cli->out);
        return;
    }
    if (range.low < -100) {
        fprintf(cli->out, "kolk run -- ...: not known well: it took more than twice the time in one of %zu run%s\n",
                trace->run_count, trace->run_count == 1 ? "" : "s");
        return;
    }
    fprintf(cli->out, "%skolk run -- ...: ", cli_bold(cli));
    share_print_range(cli->out, range, "%");
    fprintf(cli->out, " less processor time, measured in %zu run%s%s\n", trace->run_count,
            trace->run_count == 1 ? "" : "s", cli_plain(cli));
}

/* kolk sees no allocation from a block in which the program has an allocator of its own. */
static void print_zone(const cli_context *cli, const struct advisor *advisor) {
    const trace_op *zone = advisor->zone;
    if (!zone) return;
    const char *frames = advisor->trace.names[zone->caller];
    fprintf(cli->out, "\n%s1 block of %s lives throughout%s, by ", cli_bold(cli), cli_bytes(zone->size).text,
            cli_plain(cli));
    name_print(cli->out, frames, frames_first(frames));
    fputs(
        ": perhaps an allocator of the program's own is in it. kolk sees only malloc.\n"
        "With KOLK_RECORD_ALLOC and KOLK_RECORD_FREE in that allocator's functions (kolk_record.h), it sees what is in "
        "the block.\n",
        cli->out);
}

static void print_text(const cli_context *cli, const struct advisor *advisor) {
    double pool_time = 0, malloc_time = 0;
    uint64_t pooled = 0;
    bool by_size = false;
    print_runs(cli, &advisor->trace);
    fprintf(cli->out, "%s: %s allocations by %s source%s\n", advisor->name,
            cli_count(advisor->sources.allocations).text, cli_count(advisor->sources.count).text,
            advisor->sources.count == 1 ? "" : "s");
    load_print_left_out(cli, &advisor->trace);
    if (advisor_warning(advisor))
        fprintf(cli->out, "%s%s%s\n", cli_bold(cli), advisor_warning(advisor), cli_plain(cli));
    fputc('\n', cli->out);
    print_table(cli, advisor);
    print_zone(cli, advisor);
    for (size_t i = 0; i < advisor->count; i++) {
        const struct advised *advised = &advisor->advised[i];
        print_reason(cli, advised, advisor->program_ns);
        by_size |= advised->verdict.source->by_size && !strstr(advised->verdict.source->frames, " < ");
        if (advised->verdict.advice == ADVICE_LEAVE) continue;
        pooled += advised->verdict.source->allocations;
        pool_time += advised->gain.pool_ns * (double)advised->gain.operations;
        malloc_time += advised->gain.malloc_ns * (double)advised->gain.operations;
    }
    if (advisor->few_allocations > 0)
        fprintf(cli->out, "\nleave it: sources with less than 1 %% of the allocations each, or fewer than %d: %s\n",
                SOURCE_LEAST, cli_count(advisor->sources.count - advisor->count).text);
    if (by_size)
        fputs(
            "\nWhere the trace has no stacks, sources are told apart by caller and size; kolk record writes stacks.\n",
            cli->out);
    if (pooled == 0) return;
    fprintf(
        cli->out, "\nFrom pools would come %s of the allocations, in %s times the time that malloc takes for them.\n",
        cli_share((double)pooled, (double)advisor->sources.allocations).text, cli_times(pool_time, malloc_time).text);
    print_all(cli, advisor);
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

static void write_json(const cli_context *cli, const struct advisor *advisor) {
    cli_json json = {.out = cli->out};
    advisor_write(&json, NULL, advisor);
}

/* Says on the terminal what is in the header. */
static void tell_header(const cli_context *cli, const struct advisor *advisor) {
    size_t pools = 0;
    while (pools < advisor->count && advisor->advised[pools].verdict.advice != ADVICE_LEAVE) pools++;
    if (pools == 0) return;
    fprintf(stderr, "kolk: %s: %zu pool%s save%s ", cli->path, pools, pools == 1 ? "" : "s; together they",
            pools == 1 ? "s" : "");
    share_print(stderr, &advisor->all, advisor->program_ns);
    fputc('\n', stderr);
}

static bool is_header(const char *path) {
    size_t length = path ? strlen(path) : 0;
    return length > 2 && strcmp(path + length - 2, ".h") == 0;
}

static int run(cli_context *cli, int count, char **arguments) {
    struct advisor advisor = {.name = ""};
    bool header = is_header(cli->path);
    if (patch && (header || cli->json))
        return cli_fail(CLI_USAGE, "--patch asks for a diff, and %s for something else", header ? cli->path : "--json");
    if (header && cli->json)
        return cli_fail(CLI_USAGE, "%s: its name asks for a header, and --json for something else", cli->path);
    int code = load_trace(&advisor.trace, count > 0 ? arguments[0] : NULL, &advisor.name);
    if (code == CLI_OK) code = patch ? advisor_judge(&advisor) : advisor_make(cli, &advisor);
    if (code == CLI_OK && patch)
        code = patch_write(cli, &advisor, folder ? folder : ".");
    else if (code == CLI_OK)
        (header ? header_write : cli->json ? write_json : print_text)(cli, &advisor);
    if (code == CLI_OK && header) tell_header(cli, &advisor);
    advisor_free(&advisor);
    return code;
}

const cli_verb cli_advise = {
    .name = "advise",
    .arguments = "[TRACE]",
    .most_arguments = 1,
    .summary = "says which of a program's recorded allocations should come from pools, and declares them",
    .details = details,
    .options = options,
    .run = run,
};
