/* soak.c: the verb `soak`: a game's load on every kind of pool, for any length of time. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../measure.h"
#include "../print.h"
#include "report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *want_time;
static bool want_latency;

static const cli_option options[] = {
    {.name = "for",
     .kind = CLI_TEXT,
     .argument = "TIME",
     .value = &want_time,
     .help = "how long: 10s, 3m, 8h or 3d (1m)"},
    {.name = "judge-latency",
     .kind = CLI_FLAG,
     .value = &want_latency,
     .help = "p99.99 above 1.2 times that of the beginning is a failure"},
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
                              "the exit code is 1. Latency is judged only if asked for: on a busy machine it says\n"
                              "more about the neighbours.\n"
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

/* Memory is judged by its mean over a period, in which each size occurs, and only once each size has occurred twice. */
enum { TENTHS = 10, PROBES = 10000, PERIOD = 2 * SOAK_SHIFTS, WARM_CYCLES = 2 * PERIOD };

struct soak {
    const cli_context *cli;
    struct soak_load load;
    struct watch_times tenths[TENTHS];
    struct watch_series resident; /* resident bytes against millions of operations */
    uint64_t begin, ns;
    double sum; /* sum of resident bytes in this period */
    uint32_t tenth;
};

static void tell(void *context) {
    const struct soak *soak = context;
    uint64_t spent = cli_now() - soak->begin;
    cli_progress(soak->cli, "soaking", spent < soak->ns ? spent : soak->ns, soak->ns);
}

static void watch(struct soak *soak, uint64_t spent) {
    uint64_t cycles = soak->load.cycles;
    if (cycles % PERIOD == 1) soak->sum = 0;
    soak->sum += (double)cli_resident();
    if (cycles % PERIOD != 0 || cycles <= WARM_CYCLES || spent < soak->ns / TENTHS) return;
    watch_add(&soak->resident, (double)cycles, soak->sum / PERIOD);
}

/* Runs cycles until the time is over or something is wrong. */
static void run_cycles(struct soak *soak) {
    struct soak_load *load = &soak->load;
    uint64_t spent = 0;
    load->probe_every = soak->ns / PROBES;
    load->next_probe = soak->begin;
    for (bool good = true; good && spent < soak->ns && !stopped;) {
        soak->tenth = (uint32_t)(spent * TENTHS / soak->ns);
        load->times = &soak->tenths[soak->tenth];
        good = soak_load_cycle(load, tell, soak);
        spent = cli_now() - soak->begin;
        watch(soak, spent);
    }
    while (!stopped && !load->problem.text[0] && load->probes < PROBES) soak_load_probe(load);
    soak_load_check(load);
}

static int report(cli_context *cli, const struct soak *soak) {
    const struct soak_load *load = &soak->load;
    if (load->problem.text[0] && load->problem.claim == SOAK_SYSTEM)
        return cli_fail(CLI_FAILED, "%s", load->problem.text);
    struct report report = {.load = load,
                            .series = &soak->resident,
                            .first = &soak->tenths[0],
                            .last = soak->tenth > 0 ? &soak->tenths[soak->tenth] : NULL,
                            .ns = cli_now() - soak->begin,
                            .resident = cli_resident(),
                            .judge_latency = want_latency,
                            .stopped = stopped};
    if (!report_judge(&report)) cli->verdict = CLI_FAILED;
    (cli->json ? report_json : report_print)(cli, &report);
    return CLI_OK;
}

static int run(cli_context *cli, int count, char **arguments) {
    static struct soak soak;
    uint64_t ns = parse_time(want_time ? want_time : "1m");
    (void)count, (void)arguments;
    if (ns == 0) return cli_fail(CLI_USAGE, "--for expects a time such as 10s, 3m, 8h or 3d, not '%s'", want_time);
    setenv("KOLK_BYPASS", "0", 0); /* the pools themselves are tested, even under sanitizers */
    stopped = 0;
    soak = (struct soak){.cli = cli, .ns = ns};
    struct sigaction at_stop = {.sa_handler = stop, .sa_flags = SA_RESTART | (int)SA_RESETHAND}, was[2];
    sigaction(SIGINT, &at_stop, &was[0]);
    sigaction(SIGTERM, &at_stop, &was[1]);
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
