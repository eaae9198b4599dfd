/* soak.c: the verb `soak`: a game's load on every kind of pool, for any length of time. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../json.h"
#include "../measure.h"
#include "../print.h"
#include "load.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *want_time;

static const cli_option options[] = {
    {.name = "for",
     .kind = CLI_TEXT,
     .argument = "TIME",
     .value = &want_time,
     .help = "how long: 10s, 3m, 8h or 3d (1m)"},
    {0},
};

static const char details[] = "A cycle of a million operations is a game in small: a rush of ten times as many\n"
                              "objects and its end, threads that are born and die, a game saved, played on and\n"
                              "loaded again; blocks of the heap have another size in each. One operation in a\n"
                              "hundred is a mistake, which must be reported. All of it is drawn by --seed.\n"
                              "\n"
                              "Under load are fixed and growing pools, a slot map, a byte map, a shared pool, a\n"
                              "heap, queues and a resource pool. 10,000 times over the run a fixed pool is asked\n"
                              "for all that is free in it. Each check is printed with its result; if one fails,\n"
                              "the exit code is 1. Memory is judged in runs of several minutes and more.\n"
                              "\n"
                              "Ctrl-C ends it in order: at the end of the cycle, with all results; a second one\n"
                              "ends it at once.\n";

/* ---- Time -------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

/* Returns nanoseconds, or 0 if the text is not a time. */
static uint64_t parse_time(const char *text) {
    static const char units[] = "smhd";
    static const uint64_t seconds[] = {1, 60, 3600, 86400};
    size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
    if (digits == 0 || digits > 6 || !unit || text[digits + 1]) return 0;
    return strtoull(text, NULL, 10) * seconds[unit - units] * UINT64_C(1000000000);
}

/* ---- The run ----------------------------------------------------------------------------------------------------- */

struct soak {
    const cli_context *cli;
    struct soak_load load;
    struct soak_memory memory;
    uint64_t begin, ns;
};

static void tell(void *context) {
    const struct soak *soak = context;
    uint64_t spent = cli_now() - soak->begin;
    cli_progress(soak->cli, "soaking", spent < soak->ns ? spent : soak->ns, soak->ns);
}

/* Runs cycles until the time is over or something is wrong. */
static void run_cycles(struct soak *soak) {
    struct soak_load *load = &soak->load;
    uint64_t spent = 0;
    load->probe_every = soak->ns / SOAK_PROBES;
    load->next_probe = soak->begin;
    for (bool good = true; good && spent < soak->ns && !stopped;) {
        good = soak_load_cycle(load, tell, soak);
        spent = cli_now() - soak->begin;
        soak_watch(&soak->memory, load->cycles, spent * SOAK_TENTHS / soak->ns, cli_resident());
    }
    while (!stopped && !soak_problem.found && load->probes < SOAK_PROBES) soak_load_probe(load);
    soak_load_check(load);
}

/* ---- The result -------------------------------------------------------------------------------------------------- */

enum { MEMORY = SOAK_CLAIMS, CHECKS };

struct check {
    const char *claim, *result;
    char seen[200];
};

static void judge(const struct soak *soak, struct check checks[CHECKS]) {
    static const char *const claims[CHECKS] = {
        "fixed pools never fragment", "objects stay whole",     "counters agree", "is_valid holds",
        "mistakes are reported",      "resident memory is flat"};
    const struct soak_load *load = &soak->load;
    uint64_t refused = 0, resident = cli_resident();
    double growth, all;
    size_t room = sizeof checks->seen;
    for (size_t n = 0; n < SOAK_KINDS; n++) refused += load->stores[n].refused;
    for (size_t n = 0; n < CHECKS; n++) checks[n] = (struct check){claims[n], "ok", ""};
    snprintf(checks[SOAK_ROOM].seen, room, "all that was free was to be had, %s times", cli_count(load->probes).text);
    snprintf(checks[SOAK_WHOLE].seen, room, "%s allocs, %s frees, %s threads, %s snapshots restored",
             cli_count(load->allocs).text, cli_count(load->frees).text, cli_count(load->threads).text,
             cli_count(load->restores).text);
    snprintf(checks[SOAK_COUNTS].seen, room, "%s times, with %s allocs that gave NULL", cli_count(load->cycles).text,
             cli_count(refused).text);
    snprintf(checks[SOAK_VALID].seen, room, "%s times, each million operations", cli_count(load->cycles).text);
    snprintf(checks[SOAK_REPORTS].seen, room, "%s of %s", cli_count(load->reports).text, cli_count(load->misuses).text);
    if (!soak_growth(&soak->memory, &all, &growth)) {
        checks[MEMORY].result = "not judged";
        snprintf(checks[MEMORY].seen, room, "too short a time to tell");
    } else {
        if (all > 0.01 * (double)resident) checks[MEMORY].result = "FAILED";
        snprintf(checks[MEMORY].seen, room, "%+.0f bytes a million operations, from the second tenth to the last; %s",
                 growth, cli_bytes(resident).text);
    }
    if (!soak_problem.found) return;
    checks[soak_problem.claim].result = "FAILED";
    memcpy(checks[soak_problem.claim].seen, soak_problem.text, room);
}

static void print_text(const cli_context *cli, const struct soak *soak, const struct check checks[CHECKS]) {
    fprintf(cli->out, "%s operations in %s, seed %" PRIu64 "%s\n\n", cli_count(soak->load.cycles * SOAK_CYCLE).text,
            cli_time((double)(cli_now() - soak->begin) / 1e9, 0, " s").text, cli->seed,
            stopped ? "; stopped before its time" : "");
    cli_table table;
    cli_table_begin(&table, "lll");
    for (size_t n = 0; n < CHECKS; n++)
        fprintf(table.rows, "%s\t%s\t%s\n", checks[n].claim, checks[n].result, checks[n].seen);
    cli_table_end(&table, cli);
}

static void print_json(const cli_context *cli, const struct soak *soak, const struct check checks[CHECKS]) {
    cli_json json = {.out = cli->out};
    double growth, all;
    cli_json_open(&json, NULL, '{');
    cli_json_count(&json, "kolk_soak", 1);
    cli_json_count(&json, "operations", soak->load.cycles * SOAK_CYCLE);
    cli_json_number(&json, "seconds", (double)(cli_now() - soak->begin) / 1e9);
    cli_json_count(&json, "seed", cli->seed);
    cli_json_flag(&json, "stopped", stopped);
    cli_json_count(&json, "resident_bytes", cli_resident());
    if (soak_growth(&soak->memory, &all, &growth))
        cli_json_number(&json, "resident_bytes_a_million_operations", growth);
    cli_json_open(&json, "checks", '[');
    for (size_t n = 0; n < CHECKS; n++) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "claim", checks[n].claim);
        cli_json_text(&json, "result", checks[n].result);
        cli_json_text(&json, "seen", checks[n].seen);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

static int report(cli_context *cli, const struct soak *soak) {
    struct check checks[CHECKS];
    if (soak_problem.found && soak_problem.claim == SOAK_SYSTEM) return cli_fail(CLI_FAILED, "%s", soak_problem.text);
    judge(soak, checks);
    for (size_t n = 0; n < CHECKS; n++)
        if (strcmp(checks[n].result, "FAILED") == 0) cli->verdict = CLI_FAILED;
    (cli->json ? print_json : print_text)(cli, soak, checks);
    return CLI_OK;
}

static int run(cli_context *cli, int count, char **arguments) {
    static struct soak soak;
    uint64_t ns = parse_time(want_time ? want_time : "1m");
    (void)count, (void)arguments;
    if (ns == 0) return cli_fail(CLI_USAGE, "--for expects a time such as 10s, 3m, 8h or 3d, not '%s'", want_time);
    setenv("KOLK_BYPASS", "0", 0); /* the pools themselves are tested, even under sanitizers */
    struct sigaction at_stop = {.sa_handler = stop, .sa_flags = SA_RESTART | (int)SA_RESETHAND}, was[2];
    sigaction(SIGINT, &at_stop, &was[0]);
    sigaction(SIGTERM, &at_stop, &was[1]);
    soak.cli = cli;
    soak.ns = ns;
    soak.begin = cli_now();
    if (soak_load_begin(&soak.load, cli->seed)) run_cycles(&soak);
    int code = report(cli, &soak);
    soak_load_end(&soak.load);
    sigaction(SIGINT, &was[0], NULL);
    sigaction(SIGTERM, &was[1], NULL);
    return code;
}

const cli_verb cli_soak = {
    .name = "soak",
    .summary = "a game's load on every kind of pool, for minutes or days; checks that nothing creeps",
    .details = details,
    .options = options,
    .run = run,
};
