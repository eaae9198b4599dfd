/* advise.c: the verb `advise`: which of a program's allocations should come from pools, and how to declare those
 * pools. */
#define _POSIX_C_SOURCE 200809L
#include "advise.h"
#include "../cli.h"
#include "../json.h"
#include "../print.h"
#include "../replay/load.h"

#include <stdlib.h>
#include <string.h>

static const char details[] =
    LOAD_HELP "\n"
              "A source is what allocates objects of one type: a function, or one behind xmalloc. Those\n"
              "whose objects have one size, and live and die as a pool's do, get a pool.\n"
              "Where several threads have them, it is a shared pool; where they die together, an\n"
              "arena, a pool that frees all at once. Others are left to malloc, with the reason. Each\n"
              "pool is proved: the source's own operations are replayed from a pool of just that\n"
              "capacity, and timed, by one thread, beside malloc: what one run of the program saves,\n"
              "and what it saves if its work is repeated. Shares are of the processor time that\n"
              "kolk record has written.\n"
              "\n"
              "With -o pools.h, or any name that ends in .h, the result is a header for C and C++ that\n"
              "declares the pools.\n";

/* ---- The advice -------------------------------------------------------------------------------------------------- */

static double median_of(const struct gain *gain) {
    return gain_range(gain->first, gain->samples).median;
}

/* Sorts the largest gain in one run first. Sources to be left with malloc have no gain and come last. */
static int by_gain(const void *left, const void *right) {
    const struct advised *a = left, *b = right;
    bool a_left = a->verdict.advice == ADVICE_LEAVE, b_left = b->verdict.advice == ADVICE_LEAVE;
    if (a_left || b_left) {
        if (a_left != b_left) return a_left - b_left;
        return (a->verdict.source > b->verdict.source) - (a->verdict.source < b->verdict.source);
    }
    double a_gain = median_of(&a->gain), b_gain = median_of(&b->gain);
    return (a_gain < b_gain) - (a_gain > b_gain);
}

static int no_memory(const struct advisor *advisor) {
    return cli_fail(CLI_FAILED, "%s: there is no memory to look at it", advisor->name);
}

/* The sources with enough allocations come first. */
static void count_sources(struct advisor *advisor) {
    const struct sources *sources = &advisor->sources;
    for (size_t i = 0; i < sources->count; i++) {
        if (source_is_few(sources->sources[i].allocations, sources->allocations))
            advisor->few_allocations += sources->sources[i].allocations;
        else
            advisor->count++;
    }
}

static int judge(struct advisor *advisor) {
    if (!sources_find(&advisor->sources, &advisor->trace)) return no_memory(advisor);
    count_sources(advisor);
    advisor->advised = calloc(advisor->count + 1, sizeof *advisor->advised);
    struct verdict *verdicts = calloc(advisor->count + 1, sizeof *verdicts);
    bool done = advisor->advised && verdicts;
    for (size_t i = 0; done && i < advisor->count; i++) {
        done = verdict_of(&verdicts[i], &advisor->sources.sources[i], verdicts, i);
        advisor->advised[i].verdict = verdicts[i];
    }
    free(verdicts);
    return done ? CLI_OK : no_memory(advisor);
}

static int measure(const cli_context *cli, struct advisor *advisor) {
    struct gain_job *jobs = malloc((advisor->count + 1) * sizeof *jobs);
    if (!jobs) return no_memory(advisor);
    size_t count = 0;
    for (size_t i = 0; i < advisor->count; i++) {
        struct advised *advised = &advisor->advised[i];
        if (advised->verdict.advice != ADVICE_LEAVE)
            jobs[count++] = (struct gain_job){&advised->verdict, &advised->gain};
    }
    int code = gain_measure(cli, jobs, count);
    free(jobs);
    if (code == CLI_OK) qsort(advisor->advised, advisor->count, sizeof *advisor->advised, by_gain);
    return code;
}

static void add_gains(struct advisor *advisor) {
    advisor->program_ns = share_program_ns(&advisor->trace);
    for (size_t i = 0; i < advisor->count; i++)
        if (advisor->advised[i].verdict.advice != ADVICE_LEAVE) share_add(&advisor->all, &advisor->advised[i].gain);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static const char *order_name(const struct verdict *verdict) {
    if (verdict->advice != ADVICE_POOL) return "-";
    return verdict->order == KOLK_REUSE_LOWEST ? "LOWEST" : "LIFO";
}

static void print_row(FILE *rows, const struct advisor *advisor, const struct advised *advised) {
    const struct verdict *verdict = &advised->verdict;
    const struct source *source = verdict->source;
    const struct gain *gain = &advised->gain;
    fprintf(rows, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t", advice_names[verdict->advice], verdict->name,
            cli_count(source->most).text, cli_count(verdict->align).text, cli_count(verdict->capacity).text,
            order_name(verdict), cli_count(source->allocations).text,
            cli_share((double)source->allocations, (double)advisor->sources.allocations).text);
    fprintf(rows, "%.1f\t%.1f\t%s\t%s\n", gain->malloc_ns, gain->pool_ns, cli_bytes(gain->malloc_bytes).text,
            cli_bytes(gain->pool_bytes).text);
}

static void print_table(const cli_context *cli, const struct advisor *advisor) {
    cli_table table;
    cli_table_begin(&table, "llrrrlrrrrrr");
    fprintf(table.rows, "advice\tname\tsize\talign\tcapacity\torder\tallocations\tshare\tmalloc ns\tpool ns\t"
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
        fprintf(cli->out, "The program took %.1f ms of processor time. The intervals contain the median at 95 %%.\n",
                advisor->program_ns / 1e6);
    else
        fputs("How much of the program's time that is cannot be told: the trace has no processor time. kolk record "
              "writes it.\n",
              cli->out);
    if (share_is_small(&advisor->all, advisor->program_ns))
        fputs("That is no more than about 1 %: pools would not make this program faster.\n", cli->out);
}

static void print_text(const cli_context *cli, const struct advisor *advisor) {
    double pool_time = 0, malloc_time = 0;
    uint64_t pooled = 0;
    bool by_size = false;
    fprintf(cli->out, "%s: %s allocations by %s sources\n", advisor->name, cli_count(advisor->sources.allocations).text,
            cli_count(advisor->sources.count).text);
    load_print_left_out(cli, &advisor->trace);
    fputc('\n', cli->out);
    print_table(cli, advisor);
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
    fprintf(cli->out, "\nFrom pools would come %s of the allocations, in %s of the time that malloc takes for them.\n",
            cli_share((double)pooled, (double)advisor->sources.allocations).text,
            cli_share(pool_time, malloc_time).text);
    print_all(cli, advisor);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void write_place(cli_json *json, const char *key, const struct place *place) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return;
    name_print(out, place->frames, place->length);
    if (fclose(out) == 0) cli_json_text(json, key, text);
    free(text);
}

static void write_places(cli_json *json, const char *key, const struct place *places, size_t count) {
    cli_json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        cli_json_open(json, NULL, '{');
        write_place(json, "place", &places[i]);
        cli_json_count(json, "objects", places[i].count);
        if (places[i].mixed) cli_json_flag(json, "other_sizes", true);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void write_pool(cli_json *json, const struct advised *advised, double program_ns) {
    const struct verdict *verdict = &advised->verdict;
    const struct gain *gain = &advised->gain;
    cli_json_text(json, "name", verdict->name);
    cli_json_count(json, "align", verdict->align);
    cli_json_count(json, "capacity", verdict->capacity);
    if (verdict->max_threads > 0) cli_json_count(json, "max_threads", verdict->max_threads);
    if (verdict->advice == ADVICE_POOL) cli_json_text(json, "order", order_name(verdict));
    cli_json_number(json, "malloc_ns_per_operation", gain->malloc_ns);
    cli_json_number(json, "pool_ns_per_operation", gain->pool_ns);
    cli_json_count(json, "malloc_bytes", gain->malloc_bytes);
    cli_json_count(json, "pool_bytes", gain->pool_bytes);
    share_write(json, gain, program_ns);
}

static void write_source(cli_json *json, const struct advised *advised, double program_ns) {
    const struct verdict *verdict = &advised->verdict;
    const struct source *source = verdict->source;
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "advice", advice_names[verdict->advice]);
    write_place(json, "source", &source->sites[0]);
    cli_json_count(json, "least_size", source->least);
    cli_json_count(json, "size", source->most);
    cli_json_count(json, "allocations", source->allocations);
    cli_json_count(json, "peak", source->peak);
    cli_json_count(json, "left_alive", source->left);
    cli_json_count(json, "resized", source->resized);
    cli_json_count(json, "threads", source->threads);
    cli_json_count(json, "freed_by_others", source->handed);
    write_places(json, "allocated_at", source->sites, source->site_count);
    write_places(json, "freed_at", source->ends, source->end_count);
    if (verdict->advice != ADVICE_LEAVE) write_pool(json, advised, program_ns);
    cli_json_text(json, "reason", verdict->reason);
    cli_json_close(json, '}');
}

static void write_json(const cli_context *cli, const struct advisor *advisor) {
    cli_json json = {.out = cli->out};
    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "trace", advisor->name);
    cli_json_count(&json, "allocations", advisor->sources.allocations);
    cli_json_count(&json, "sources_found", advisor->sources.count);
    cli_json_count(&json, "failed_left_out", advisor->trace.failed);
    cli_json_count(&json, "unknown_left_out", advisor->trace.unknown);
    cli_json_open(&json, "sources", '[');
    for (size_t i = 0; i < advisor->count; i++) write_source(&json, &advisor->advised[i], advisor->program_ns);
    cli_json_close(&json, ']');
    cli_json_count(&json, "allocations_of_other_sources", advisor->few_allocations);
    if (advisor->program_ns > 0) cli_json_number(&json, "program_ns", advisor->program_ns);
    if (advisor->all.samples > 0) share_write(&json, &advisor->all, advisor->program_ns);
    cli_json_close(&json, '}');
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

static bool is_header(const char *path) {
    size_t length = path ? strlen(path) : 0;
    return length > 2 && strcmp(path + length - 2, ".h") == 0;
}

static int run(cli_context *cli, int count, char **arguments) {
    struct advisor advisor = {.name = ""};
    bool header = is_header(cli->path);
    if (header && cli->json)
        return cli_fail(CLI_USAGE, "%s: its name asks for a header, and --json for something else", cli->path);
    int code = load_trace(&advisor.trace, count > 0 ? arguments[0] : NULL, &advisor.name);
    if (code == CLI_OK) code = judge(&advisor);
    if (code == CLI_OK) code = measure(cli, &advisor);
    if (code == CLI_OK) add_gains(&advisor);
    if (code == CLI_OK) (header ? header_write : cli->json ? write_json : print_text)(cli, &advisor);
    free(advisor.advised);
    sources_free(&advisor.sources);
    trace_free(&advisor.trace);
    return code;
}

const cli_verb cli_advise = {
    .name = "advise",
    .arguments = "[TRACE]",
    .most_arguments = 1,
    .summary = "says which of a program's recorded allocations should come from pools, and declares them",
    .details = details,
    .run = run,
};
