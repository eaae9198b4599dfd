/* soak.c: the verb `soak`: a game's load on every kind of pool, for any length of time. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../measure.h"
#include "../print.h"
#include "chart.h"
#include "report.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *want_time, *want_state, *want_picture;
static bool want_latency;

static const cli_option options[] = {
    {.name = "for",
     .kind = CLI_TEXT,
     .argument = "TIME",
     .value = &want_time,
     .help = "how long: 10s, 3m, 8h or 3d (1m)"},
    {.name = "state",
     .kind = CLI_TEXT,
     .argument = "FILE",
     .value = &want_state,
     .help = "goes on with what is in FILE, and writes it each minute and at the end"},
    {.name = "picture",
     .kind = CLI_TEXT,
     .argument = "FILE",
     .value = &want_picture,
     .help = "draws a PNG of the allocators"},
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
                              "heap, queues, a resource pool and, where SQLite is built in, a database. 10,000\n"
                              "times over the run a fixed pool is asked for all that is free in it. Each check\n"
                              "is printed with its result; if one fails, the exit code is 1. Latency is judged\n"
                              "only if asked for: on a busy machine it says more about the neighbours.\n"
                              "\n"
                              "A quarter of the time goes to blocks of shifting sizes, some of them long-lived,\n"
                              "on kolk_heap, malloc, jemalloc, mimalloc and tcmalloc, as far as they are here,\n"
                              "each in a process of its own: bytes in memory for each byte that is alive.\n"
                              "\n"
                              "Ctrl-C ends it in order: at the end of the cycle, with all results; a second one\n"
                              "ends it at once. With --state it can be gone on with: counts, statistics, the\n"
                              "seed's numbers, and what is alive in the kolk_pools, as snapshots. Slot map, byte\n"
                              "map, shared pool, heap, queues and resources begin empty again, and fill up in\n"
                              "the first cycle. Memory is that of a process: its slope is put together from\n"
                              "those of the processes.\n";

/* ---- Time -------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static bool go_on(void) {
    return !stopped;
}

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
enum { TENTHS = 10, PROBES = 10000, PERIOD = 2 * SOAK_SHIFTS, WARM_CYCLES = 2 * PERIOD, MINUTE = 60 };

struct soak {
    const cli_context *cli;
    struct soak_load load;
    struct soak_state before, state; /* the state when this process began, and now */
    struct besides besides;
    struct watch_times tenths[TENTHS];
    struct watch_series resident; /* resident bytes against millions of operations */
    uint64_t begin, ns;
    double warm; /* memory is watched from this cycle on */
    double sum;  /* sum of resident bytes in this period */
    uint64_t first_cycle, written;
    uint32_t tenth;
};

static void tell(void *context) {
    const struct soak *soak = context;
    uint64_t spent = cli_now() - soak->begin;
    cli_progress(soak->cli, "soaking", spent < soak->ns ? spent : soak->ns, soak->ns);
}

static uint64_t cycles_here(const struct soak *soak) {
    return soak->load.cycles - soak->first_cycle;
}

/* Brings the state up to date. */
static void add_up(struct soak *soak) {
    struct soak_state *state = &soak->state;
    *state = soak->before;
    state->runs++;
    state->ns += cli_now() - soak->begin;
    state->reports += soak->load.reports;
    state->born += soak->load.workers.born;
    if (soak->before.first.count == 0) state->first = soak->tenths[0];
    watch_sum(&state->resident, &soak->resident);
    if (soak->resident.count > 0) state->watched += (double)cycles_here(soak) - soak->warm;
}

static bool write_state(struct soak *soak) {
    struct soak_problem problem = {0};
    add_up(soak);
    if (!want_state || soak_state_write(want_state, &soak->state, &soak->load, &problem)) return true;
    cli_fail(CLI_FAILED, "%s", problem.text);
    return false;
}

static void watch(struct soak *soak, uint64_t spent) {
    double cycles = (double)cycles_here(soak);
    if (cycles_here(soak) % PERIOD == 1) soak->sum = 0;
    soak->sum += (double)cli_resident();
    if (cycles_here(soak) % PERIOD != 0) return;
    if (soak->resident.per == 0) soak->warm = cycles;
    if (cycles <= WARM_CYCLES || spent < soak->ns / TENTHS) return;
    watch_add(&soak->resident, cycles, soak->sum / PERIOD);
}

/* Runs cycles until the time is over or something is wrong. Returns false if a file could not be written. */
static bool run_cycles(struct soak *soak) {
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
        if (!good || spent / 1000000000 / MINUTE == soak->written) continue;
        soak->written = spent / 1000000000 / MINUTE;
        if (!write_state(soak)) return false;
    }
    while (!stopped && !load->problem.text[0] && load->probes < PROBES) soak_load_probe(load);
    return soak_load_check(load) ? write_state(soak) : (add_up(soak), true);
}

static int begin_load(struct soak *soak) {
    struct soak_problem problem = {0};
    uint64_t seed = soak->cli->seed;
    soak->before.seed = seed;
    if (!soak_load_begin(&soak->load, seed)) return cli_fail(CLI_FAILED, "%s", soak->load.problem.text);
    if (!want_state || access(want_state, F_OK) != 0) return CLI_OK;
    if (!soak_state_read(want_state, &soak->before, &soak->load, &problem))
        return cli_fail(CLI_UNREADABLE, "%s: %s", want_state, problem.text);
    soak->first_cycle = soak->load.cycles;
    return CLI_OK;
}

static int draw(const struct soak *soak) {
    errno = 0;
    if (!want_picture || chart_write(soak->besides.each, want_picture)) return CLI_OK;
    return cli_fail(CLI_FAILED, "%s: cannot be written: %s", want_picture, strerror(errno ? errno : ENOMEM));
}

static int report(cli_context *cli, struct soak *soak) {
    struct soak_load *load = &soak->load;
    if (load->problem.text[0] && load->problem.claim == SOAK_SYSTEM)
        return cli_fail(CLI_FAILED, "%s", load->problem.text);
    struct report report = {.load = load,
                            .state = &soak->state,
                            .besides = soak->besides.each,
                            .last = soak->tenth > 0 || soak->before.first.count > 0 ? &soak->tenths[soak->tenth] : NULL,
                            .path = want_state,
                            .picture = want_picture,
                            .resident = cli_resident(),
                            .judge_latency = want_latency,
                            .stopped = stopped};
    int code = draw(soak);
    if (code != CLI_OK) return code;
    if (!report_judge(&report)) cli->verdict = CLI_FAILED;
    (cli->json ? report_json : report_print)(cli, &report);
    return CLI_OK;
}

static int run(cli_context *cli, int count, char **arguments) {
    static struct soak soak;
    uint64_t ns = parse_time(want_time ? want_time : "1m");
    (void)count, (void)arguments;
    const char *const files[] = {want_state, want_picture};
    for (size_t n = 0; n < sizeof files / sizeof *files; n++)
        if (files[n] && strcmp(files[n], "-") == 0)
            return cli_fail(CLI_USAGE, "--state and --picture expect files that can be written again, not -");
    if (ns == 0) return cli_fail(CLI_USAGE, "--for expects a time such as 10s, 3m, 8h or 3d, not '%s'", want_time);
    setenv("KOLK_BYPASS", "0", 0); /* the pools themselves are tested, even under sanitizers */
    stopped = 0;
    soak = (struct soak){.cli = cli, .ns = ns, .besides = {.seed = cli->seed, .ns = ns, .go_on = go_on}};
    struct sigaction at_stop = {.sa_handler = stop, .sa_flags = SA_RESTART | (int)SA_RESETHAND}, was[2];
    sigaction(SIGINT, &at_stop, &was[0]);
    sigaction(SIGTERM, &at_stop, &was[1]);
    int code = beside_begin(&soak.besides) ? CLI_OK : CLI_FAILED; /* before this process allocates anything */
    if (code == CLI_OK) code = begin_load(&soak);
    soak.begin = cli_now();
    if (code == CLI_OK) code = draw(&soak); /* reports a file that cannot be written now, not after three days */
    if (code == CLI_OK && !write_state(&soak)) code = CLI_FAILED;
    if (code == CLI_OK && !run_cycles(&soak)) code = CLI_FAILED;
    bool hurry = code != CLI_OK || soak.load.problem.text[0] || stopped;
    if (!beside_end(&soak.besides, hurry) && code == CLI_OK) code = CLI_FAILED;
    if (code == CLI_OK) code = report(cli, &soak);
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
