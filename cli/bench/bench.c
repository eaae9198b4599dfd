/* bench.c: the verb `bench`: kolk beside the mallocs that are on the machine.
 *
 *     subjects.c  the allocators, and the loops over them
 *     visits.c    the containers to visit
 *     tables.c    what is measured
 *     trials.c    measures loops in turn
 *     results.c   keeps the figures
 *
 * Every pass is a process of its own, which is this command with --passes 1. So the figures show how much the places
 * of memory and of libraries matter. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../measure.h"
#include "../print.h"
#include "results.h"
#include "tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t passes;
static const char *only;

static const cli_option options[] = {
    {.name = "passes",
     .letter = 'p',
     .kind = CLI_COUNT,
     .argument = "N",
     .value = &passes,
     .least = 1,
     .most = PASSES_MOST,
     .fallback = 9,
     .help = "how often to measure everything; each takes some ten seconds"},
    {.name = "table",
     .letter = 't',
     .kind = CLI_TEXT,
     .argument = "NAME",
     .value = &only,
     .help = "measure only calls or visits"},
    {0},
};

/* ---- Passes ------------------------------------------------------------------------------------------------------ */

static bool is_asked(const struct table *table) {
    return !only || strcmp(only, table->name) == 0;
}

static void measure_pass(const cli_context *cli, json_t *results) {
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15) ^ cli->seed;
    for (size_t n = 0; n < table_count; n++)
        if (is_asked(&tables[n])) tables[n].measure(results, &random);
}

/* Becomes this command with --passes 1, whose result goes to `out`. jemalloc, loaded at run time, needs more of the
 * static thread-local storage than glibc leaves. */
static void become_pass(const cli_context *cli, uint64_t pass, int out) {
    char seed[32];
    unsigned long long seed_of_pass = cli->seed + pass;
    const char *words[] = {"kolk", "bench", "--passes", "1", "--json", "--seed", seed, only ? "--table" : NULL,
                           only,   NULL};
    snprintf(seed, sizeof seed, "%llu", seed_of_pass);
    setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=20000", 0);
    if (dup2(out, STDOUT_FILENO) < 0) _exit(CLI_FAILED);
    close(out);
    execv("/proc/self/exe", (char *const *)(uintptr_t)words);
    _exit(CLI_FAILED);
}

/* Runs one pass, and adds its figures. */
static int add_pass(const cli_context *cli, json_t *results, uint64_t pass) {
    int ends[2];
    if (pipe(ends) != 0) return cli_fail(CLI_FAILED, "the system gives no pipe: %s", strerror(errno));
    pid_t child = cli_fork();
    if (child == 0) {
        close(ends[0]);
        become_pass(cli, pass, ends[1]);
    }
    close(ends[1]);
    FILE *file = fdopen(ends[0], "r");
    json_t *measured = child > 0 && file ? json_loadf(file, 0, NULL) : NULL;
    if (file) fclose(file);
    int status = 0;
    if (child > 0) waitpid(child, &status, 0);
    if (!measured) return cli_fail(CLI_FAILED, "pass %llu brought no result", (unsigned long long)pass + 1);
    results_merge(results, measured);
    json_decref(measured);
    return CLI_OK;
}

static int measure(const cli_context *cli, json_t *results) {
    int code = CLI_OK;
    if (passes == 1) measure_pass(cli, results);
    for (uint64_t pass = 0; passes > 1 && pass < passes && code == CLI_OK; pass++) {
        cli_progress(cli, "measuring", pass, passes);
        code = add_pass(cli, results, pass);
    }
    cli_progress(cli, "", 0, 0);
    return code;
}

/* ---- Tables: a line for each subject, a column for each case ----------------------------------------------------- */

enum { CASES_MOST = 16 };

static void print_cells(const json_t *results, const struct table *table, json_t *cases, const char *who, FILE *rows) {
    const char *where;
    json_t *subjects;
    double samples[PASSES_MOST];
    fputs(who, rows);
    json_object_foreach(cases, where, subjects) {
        size_t count = results_samples(results, table->name, where, who, samples);
        double ns = cli_quantile(samples, count, 0.5);
        if (count == 0)
            fputs("\t", rows);
        else if (!(ns >= 99.95))
            fprintf(rows, "\t%s", cli_time(ns, 1, "").text);
        else
            fprintf(rows, "\t%s", cli_count((uint64_t)(ns + 0.5)).text);
    }
    fputc('\n', rows);
}

static void print_table(const cli_context *cli, const json_t *results, const struct table *table) {
    json_t *cases = json_object_get(json_object_get(results, "tables"), table->name), *subjects, *samples;
    const char *where, *who;
    char columns[CASES_MOST + 2] = "l";
    cli_table printed;
    fprintf(cli->out, "\n%s%s, ns%s\n\n", cli_bold(cli), table->title, cli_plain(cli));
    memset(columns + 1, 'r', json_object_size(cases) < CASES_MOST ? json_object_size(cases) : CASES_MOST);
    cli_table_begin(&printed, columns);
    json_object_foreach(cases, where, subjects) fprintf(printed.rows, "\t%s", where);
    fputc('\n', printed.rows);
    json_object_foreach(json_object_iter_value(json_object_iter(cases)), who, samples)
        print_cells(results, table, cases, who, printed.rows);
    cli_table_end(&printed, cli);
}

static void print_results(const cli_context *cli, const json_t *results) {
    const char *who;
    json_t *why;
    fprintf(cli->out, "kolk %s, %s\n%s\n%s; %s; malloc: %s\n", results_fact(results, "kolk"),
            results_fact(results, "date"), results_fact(results, "processor"), results_fact(results, "system"),
            results_fact(results, "compiler"), results_fact(results, "malloc"));
    for (size_t n = 0; n < table_count; n++)
        if (is_asked(&tables[n])) print_table(cli, results, &tables[n]);
    if (passes == 1) fputs("\nOne pass.\n", cli->out);
    if (passes > 1)
        fprintf(cli->out, "\nMedians of %llu passes, each of which is a process of its own.\n",
                (unsigned long long)passes);
    json_object_foreach(json_object_get(results, "left_out"), who, why)
        fprintf(cli->out, "Left out: %s: %s\n", who, json_string_value(why));
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

static int run(cli_context *cli, int count, char **arguments) {
    (void)count, (void)arguments;
    bool is_there = false;
    for (size_t n = 0; n < table_count; n++) is_there |= is_asked(&tables[n]);
    if (!is_there) return cli_fail(CLI_USAGE, "there is no table '%s'; 'kolk help bench' lists them", only);
    json_t *results = results_new();
    if (!results) return cli_fail(CLI_FAILED, "there is no memory");
    int code = measure(cli, results);
    if (code == CLI_OK) (cli->json ? results_write : print_results)(cli, results);
    json_decref(results);
    return code;
}

const cli_verb cli_bench = {
    .name = "bench",
    .summary = "measures kolk beside malloc, mimalloc, jemalloc and tcmalloc",
    .details = "Measures an alloc and a free, and visits to the live objects, in about two minutes.\n"
               "The other mallocs are loaded if they are on the machine; the result names those\n"
               "that are not.\n"
               "\n"
               "--json keeps the samples of each pass.\n",
    .options = options,
    .run = run,
};
