/* top.c: kolk top: the pools of a running process. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../json.h"
#include "../measure.h"
#include "../print.h"
#include "columns.h"
#include "screen.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool want_once;
static const char *sort, *filter;
static uint64_t delay;

static const cli_option options[] = {
    {.name = "once",
     .kind = CLI_FLAG,
     .value = &want_once,
     .help = "one table, after two looks, instead of a live one"},
    {.name = "delay",
     .letter = 'd',
     .kind = CLI_COUNT,
     .argument = "MS",
     .value = &delay,
     .least = 10,
     .most = 3600000,
     .fallback = 1000,
     .help = "milliseconds from look to look"},
    {.name = "sort",
     .kind = CLI_TEXT,
     .argument = "COLUMN",
     .value = &sort,
     .help = "sorted by it: name, alive, allocs, idle ...; memory unless given"},
    {.name = "filter",
     .kind = CLI_TEXT,
     .argument = "TEXT",
     .value = &filter,
     .help = "only pools whose name or kind contains it"},
    {0},
};

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static void name_program(int64_t process, char out[64]) {
    char name[64];
    snprintf(name, sizeof name, "/proc/%lld/comm", (long long)process);
    FILE *file = fopen(name, "r");
    if (!file || !fgets(out, 64, file)) memcpy(out, "?", 2);
    if (file) fclose(file);
    out[strcspn(out, "\n")] = 0;
    top_clean(out);
}

/* Returns whether the process is listed. */
static bool list_process(int64_t process, cli_table *table, cli_json *json) {
    top_view view = {0};
    char program[64];
    if (top_look(&view, process, 0) || view.count == 0) {
        top_end(&view);
        return false;
    }
    name_program(process, program);
    if (json) {
        cli_json_open(json, NULL, '{');
        cli_json_count(json, "process", (uint64_t)process);
        cli_json_text(json, "program", program);
        cli_json_count(json, "pools", view.count);
        cli_json_count(json, "bytes_committed", view.memory);
        cli_json_close(json, '}');
    } else {
        fprintf(table->rows, "%lld\t%zu\t%s\t%s\n", (long long)process, view.count, cli_bytes(view.memory).text,
                program);
    }
    top_end(&view);
    return true;
}

static int list_processes(cli_context *cli) {
    DIR *folder = opendir("/proc");
    if (!folder) return cli_fail(CLI_FAILED, "/proc: %s", strerror(errno));
    cli_table table = {0};
    cli_json json = {.out = cli->out};
    if (cli->json) {
        cli_json_open(&json, NULL, '{');
        cli_json_open(&json, "processes", '[');
    } else {
        cli_table_begin(&table, "rrrl");
        fprintf(table.rows, "PROCESS\tPOOLS\tMEMORY\tPROGRAM\n");
    }
    size_t listed = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char *end;
        long long process = strtoll(entry->d_name, &end, 10);
        if (*end == 0 && process > 0 && process != getpid())
            listed += list_process(process, &table, cli->json ? &json : NULL);
    }
    closedir(folder);
    if (cli->json) {
        cli_json_close(&json, ']');
        cli_json_close(&json, '}');
    } else {
        cli_table_end(&table, cli);
        fputs(listed > 0 ? "kolk top PROCESS shows the pools of one.\n"
                         : "No process that you may look at has a pool of kolk. kolk run -- ... starts one that has.\n",
              cli->out);
    }
    return CLI_OK;
}

/* ---- Once -------------------------------------------------------------------------------------------------------- */

static void write_bytes(cli_json *json, const char *key, double bytes) {
    if (isnan(bytes))
        cli_json_number(json, key, bytes); /* null */
    else
        cli_json_count(json, key, (uint64_t)bytes);
}

static void write_json(cli_context *cli, int64_t process, const char *program, const top_pool *const *order,
                       size_t count) {
    cli_json json = {.out = cli->out};
    cli_json_open(&json, NULL, '{');
    cli_json_count(&json, "process", (uint64_t)process);
    cli_json_text(&json, "program", program);
    cli_json_open(&json, "pools", '[');
    for (size_t n = 0; n < count; n++) {
        const top_pool *pool = order[n];
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", pool->name);
        cli_json_text(&json, "kind", pool->kind);
        cli_json_count(&json, "nth", pool->nth);
        if (*pool->held_by) cli_json_text(&json, "held_by", pool->held_by);
        cli_json_count(&json, "object_size", pool->size);
        cli_json_count(&json, "alive", pool->alive);
        cli_json_count(&json, "capacity", pool->capacity);
        cli_json_count(&json, "peak", pool->peak);
        cli_json_number(&json, "allocs_per_second", pool->allocs_per_second);
        cli_json_count(&json, "failed", pool->failed);
        cli_json_count(&json, "waiting", pool->waiting);
        cli_json_number(&json, "waiting_seconds", pool->waited);
        cli_json_count(&json, "bytes_committed", pool->memory);
        cli_json_count(&json, "bytes_idle", pool->idle);
        write_bytes(&json, "resident_bytes", pool->resident);
        write_bytes(&json, "wasted_bytes", pool->wasted);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

static void write_table(cli_context *cli, const top_view *view, const top_pool *const *order, size_t count) {
    cli_table table;
    char sides[TOP_COLUMNS] = "", cell[TOP_TEXT];
    const int columns = TOP_COLUMNS - 1; /* two looks have no trend */
    for (int n = 0; n < columns; n++) sides[n] = top_columns[n].side;
    cli_table_begin(&table, sides);
    for (int n = 0; n < columns; n++) fprintf(table.rows, "%s%c", top_columns[n].title, n + 1 < columns ? '\t' : '\n');
    for (size_t row = 0; row < count; row++)
        for (int n = 0; n < columns; n++) {
            top_columns[n].put(order[row], cell);
            fprintf(table.rows, "%s%c", cell, n + 1 < columns ? '\t' : '\n');
        }
    cli_table_end(&table, cli);
    for (size_t row = 0; row < count; row++)
        if (*order[row]->held_by) fprintf(cli->out, "%s: %s\n", order[row]->name, order[row]->held_by);
    if (view->count == 0)
        fputs("There is kolk in this process, but no pool at this moment.\n", cli->out);
    else if (count == 0)
        fprintf(cli->out, "None of its %s pools has '%s' in its name or kind.\n", cli_count(view->count).text, filter);
}

static const char *look_twice(top_view *view, int64_t process) {
    const char *wrong = top_look(view, process, (double)cli_now() / 1e9);
    struct timespec pause = {(time_t)(delay / 1000), (long)(delay % 1000) * 1000000};
    if (wrong) return wrong;
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) {}
    return top_look(view, process, (double)cli_now() / 1e9);
}

static int show_once(cli_context *cli, int64_t process, const char *program, int column) {
    top_view view = {0};
    const char *wrong = look_twice(&view, process);
    const top_pool **order = wrong ? NULL : (const top_pool **)calloc(view.count + 1, sizeof(const top_pool *));
    if (order) {
        size_t count = top_order(&view, filter ? filter : "", column, false, order);
        if (cli->json)
            write_json(cli, process, program, order, count);
        else
            write_table(cli, &view, order, count);
    }
    bool has_memory = order != NULL;
    free((void *)order);
    top_end(&view);
    if (wrong) return cli_fail(CLI_UNREADABLE, "process %lld: %s", (long long)process, wrong);
    return has_memory ? CLI_OK : cli_fail(CLI_FAILED, "there is no memory");
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

static int run(cli_context *cli, int count, char **arguments) {
    char program[64], *end;
    int column = sort ? top_column_of(sort) : TOP_BY_MEMORY;
    if (column < 0) return cli_fail(CLI_USAGE, "--sort: there is no column '%s'; 'kolk help top' lists them", sort);
    if (count == 0) return list_processes(cli);
    errno = 0;
    long long process = strtoll(arguments[0], &end, 10);
    if (*end || process <= 0 || errno)
        return cli_fail(CLI_USAGE, "expected the number of a process, not '%s'; 'kolk top' lists them", arguments[0]);
    name_program(process, program);
    if (want_once || !cli->terminal) return show_once(cli, process, program, column);
    const char *wrong = top_screen(&(top_screen_desc){.process = process,
                                                      .program = program,
                                                      .filter = filter ? filter : "",
                                                      .delay = delay,
                                                      .column = column,
                                                      .color = cli->color});
    return wrong ? cli_fail(CLI_UNREADABLE, "process %lld: %s", process, wrong) : CLI_OK;
}

const cli_verb cli_top = {
    .name = "top",
    .arguments = "[PROCESS]",
    .most_arguments = 1,
    .summary = "shows the pools of a running process, live",
    .details = "The process must have been started with this version of kolk in it, in any\n"
               "way: as a library, as kolk.c, or by kolk run. It needs no setting and no\n"
               "restart, does nothing for it, and does not notice it. You need the right to\n"
               "trace it: the same user, or root (where kernel.yama.ptrace_scope is not 0).\n"
               "Without PROCESS, the processes with kolk in them are listed. With --once,\n"
               "--json, or where the output is no terminal, there is one table of what is\n"
               "seen at the second of two looks. Keys: F1 shows them. The column TREND has the\n"
               "slope of the objects alive in the last five minutes, and how sure it is; a\n"
               "pool that creeps (99.9 %) may leak. The columns for --sort are name, kind,\n"
               "alive, capacity, peak, allocs, failed, waiting, memory, idle, resident, wasted\n"
               "and trend. RESIDENT counts the bytes of the slots that are in memory, WASTED is\n"
               "what of them is more than the bytes of the live objects. They are '-' where\n"
               "/proc/PROCESS/pagemap may not be read (that takes the same right) or does not\n"
               "exist, for objects in malloc's memory, for resources, and beyond 64 GiB in one\n"
               "look. A look takes some 40 ms for each GiB that is resident; where that is\n"
               "dear, the table is renewed less often, so that looks take a twentieth of the\n"
               "time.\n",
    .options = options,
    .run = run,
};
