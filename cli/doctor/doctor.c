/* doctor.c: `kolk doctor`: checks which parts of kolk work on this machine, each in its own process. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../json.h"
#include "../measure.h"
#include "../print.h"
#include "doctor.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kolk/kolk.h>

static const char details[] = "Each line says what was tried, whether it works (yes, partly or no), and what that\n"
                              "means or how to get it. Mistakes are planted in pools, the tools on the PATH are\n"
                              "started; each in a process of its own, which is ended after 5 seconds.\n"
                              "\n"
                              "The exit code is 1 if something of the library says no. Debug mode, tools and\n"
                              "environment do not count.\n"
                              "\n"
                              "KOLK_DEBUG, KOLK_BYPASS and KOLK_STATS are set aside for what is tried with the\n"
                              "library and its debug mode. The last lines tell what they do to a pool:\n"
                              "  KOLK_DEBUG='all:bullet*' kolk doctor --pool bullets\n";

static const char *want_pool;

static const cli_option options[] = {
    {.name = "pool",
     .letter = 'p',
     .kind = CLI_TEXT,
     .argument = "NAME",
     .value = &want_pool,
     .help = "tell what the environment means for a pool of this name (bullets)"},
    {0},
};

/* ---- The environment --------------------------------------------------------------------------------------------- */

/* One sentence for each setting that kolk does not understand. */
static char complaints[1024];

static void take_complaint(const kolk_failure *failure, void *context) {
    (void)context;
    size_t length = strlen(complaints);
    snprintf(complaints + length, sizeof complaints - length, "%s%s", length > 0 ? "; " : "", failure->sentence);
}

static void drop_complaint(const kolk_failure *failure, void *context) {
    (void)failure, (void)context;
}

/* Returns the KOLK_DEBUG_ flags that a pool gets from the environment; complaints go to `complaints`. */
static uint32_t flags_in_force(void) {
    kolk_pool pool;
    kolk_stats stats;
    kolk_set_failure_handler(take_complaint, NULL);
    kolk_pool_init(&pool, &(kolk_pool_desc){.name = want_pool, .object_size = 64, .capacity = 16});
    kolk_pool_stats(&pool, &stats);
    kolk_pool_deinit(&pool);
    return stats.debug;
}

/* Returns true if a heap of this name would have guarded blocks. */
static bool heap_samples(void) {
    kolk_heap heap;
    kolk_stats stats;
    kolk_set_failure_handler(drop_complaint, NULL);
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = want_pool}) != KOLK_OK) return false;
    kolk_heap_stats(&heap, &stats);
    kolk_heap_deinit(&heap);
    return stats.debug & KOLK_DEBUG_SAMPLE;
}

/* "fill, guard" */
static void name_flags(uint32_t flags, char *text, size_t size) {
    static const struct {
        uint32_t flag;
        const char *name;
    } words[] = {
        {KOLK_DEBUG_FILL, "fill"},   {KOLK_DEBUG_GUARD, "guard"}, {KOLK_DEBUG_QUARANTINE, "quarantine"},
        {KOLK_DEBUG_SITES, "sites"}, {KOLK_DEBUG_TRACE, "trace"},
    };
    size_t length = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (flags & words[i].flag)
            length += (size_t)snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", words[i].name);
}

static void want_no_statistics(void) {
    unsetenv("KOLK_STATS");
    unsetenv("KOLK_STATS_AT");
}

static void look_at_debug(doctor_finding *finding) {
    const char *set = getenv("KOLK_DEBUG");
    if (!set) {
        doctor_find(finding, DOCTOR_NO, "not set: pools have what their descriptors ask for");
        return;
    }
    char names[64] = "nothing";
    want_no_statistics(); /* another check covers them */
    uint32_t flags = flags_in_force();
    bool samples = heap_samples(), some = samples || flags & ~(uint32_t)KOLK_DEBUG_BYPASS;
    name_flags(flags, names, sizeof names);
    doctor_find(finding,
                !some         ? DOCTOR_NO
                : *complaints ? DOCTOR_PARTLY
                              : DOCTOR_YES,
                "a pool named %s gets %s%s%s%s%s", want_pool, names, samples ? "; a heap, guarded blocks" : "",
                flags & KOLK_DEBUG_BYPASS ? "; what comes from malloc can have sites and trace only" : "",
                *complaints ? "; " : "", complaints);
}

static void look_at_bypass(doctor_finding *finding) {
    const char *set = getenv("KOLK_BYPASS");
    bool is_set = set && *set;
    if (flags_in_force() & KOLK_DEBUG_BYPASS)
        doctor_find(finding, DOCTOR_YES, "%sobjects come from malloc, one by one",
                    is_set ? "" : "not set, but watched: ");
    else
        doctor_find(finding, DOCTOR_NO, "%sobjects are in pools", is_set ? "" : "not set: ");
}

static void look_at_stats(doctor_finding *finding) {
    const char *set = getenv("KOLK_STATS"), *at = getenv("KOLK_STATS_AT");
    unsetenv("KOLK_DEBUG");
    flags_in_force();
    if (*complaints)
        doctor_find(finding, DOCTOR_NO, "%s", complaints);
    else if (!set || !*set || !strcmp(set, "0"))
        doctor_find(finding, DOCTOR_NO, "not set: programs write no statistics");
    else
        doctor_find(finding, DOCTOR_YES, "programs write statistics at %s: %s", at && *at ? at : "exit", set);
}

static const doctor_check environment_checks[] = {
    {"KOLK_DEBUG", look_at_debug},
    {"KOLK_BYPASS", look_at_bypass},
    {"KOLK_STATS", look_at_stats},
    {0},
};

static const doctor_group doctor_environment = {
    .name = "environment", .title = "The environment", .as_set = true, .checks = environment_checks};

/* ---- Running the checks ------------------------------------------------------------------------------------------ */

enum { GROUPS = 4, CHECKS_MOST = 16 };

static const doctor_group *const groups[GROUPS] = {&doctor_library, &doctor_debug, &doctor_tools, &doctor_environment};

struct doctor {
    doctor_finding findings[GROUPS][CHECKS_MOST];
    bool works;
};

struct looking {
    const doctor_group *group;
    const doctor_check *check;
};

static void end_all(int signal) {
    (void)signal;
    kill(0, SIGKILL);
}

/* Runs in a child process that leads its own process group and has no terminal. So a tool that waits forever, even for
 * a key, ends together with the group. */
static void look(const void *input, void *result) {
    const struct looking *at = input;
    setsid();
    signal(SIGALRM, end_all);
    alarm(DOCTOR_SECONDS);
    if (!at->group->as_set) {
        unsetenv("KOLK_DEBUG");
        want_no_statistics();
        setenv("KOLK_BYPASS", "0", true);
    }
    at->check->look(result);
}

static void look_at_all(const cli_context *cli, struct doctor *doctor) {
    doctor->works = true;
    for (size_t g = 0; g < GROUPS; g++) {
        cli_progress(cli, "trying", g, GROUPS);
        for (size_t c = 0; groups[g]->checks[c].name; c++) {
            struct looking at = {groups[g], &groups[g]->checks[c]};
            doctor_finding *finding = &doctor->findings[g][c];
            assert(c < CHECKS_MOST);
            doctor_find(finding, DOCTOR_NO, "it crashed, or took more than %d seconds", DOCTOR_SECONDS);
            cli_isolated(look, &at, finding, sizeof *finding);
            if (groups[g]->required && finding->answer == DOCTOR_NO) doctor->works = false;
        }
    }
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

static const char *const answers[] = {[DOCTOR_NO] = "no", [DOCTOR_PARTLY] = "partly", [DOCTOR_YES] = "yes"};

static void print_text(const cli_context *cli, const struct doctor *doctor) {
    cli_table table;
    cli_table_begin(&table, "lll");
    for (size_t g = 0; g < GROUPS; g++) {
        fprintf(table.rows, "%s%s%s%s\n", g > 0 ? "\n" : "", cli_bold(cli), groups[g]->title, cli_plain(cli));
        for (size_t c = 0; groups[g]->checks[c].name; c++) {
            const doctor_finding *finding = &doctor->findings[g][c];
            fprintf(table.rows, "  %s\t%s\t%s\n", groups[g]->checks[c].name, answers[finding->answer], finding->text);
        }
    }
    fprintf(table.rows, "\n%s\n", doctor->works ? "The library works." : "The library does not work as it should.");
    cli_table_end(&table, cli);
}

static void write_json(const cli_context *cli, const struct doctor *doctor) {
    cli_json json = {.out = cli->out};
    cli_json_open(&json, NULL, '{');
    cli_json_flag(&json, "works", doctor->works);
    cli_json_text(&json, "pool", want_pool);
    for (size_t g = 0; g < GROUPS; g++) {
        cli_json_open(&json, groups[g]->name, '{');
        for (size_t c = 0; groups[g]->checks[c].name; c++) {
            cli_json_open(&json, groups[g]->checks[c].name, '{');
            cli_json_text(&json, "answer", answers[doctor->findings[g][c].answer]);
            cli_json_text(&json, "text", doctor->findings[g][c].text);
            cli_json_close(&json, '}');
        }
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, '}');
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

static int run(cli_context *cli, int count, char **arguments) {
    (void)count, (void)arguments;
    static struct doctor doctor;
    if (!want_pool) want_pool = "bullets";
    look_at_all(cli, &doctor);
    (cli->json ? write_json : print_text)(cli, &doctor);
    if (!doctor.works) cli->verdict = CLI_FAILED;
    return CLI_OK;
}

const cli_verb cli_doctor = {
    .name = "doctor",
    .summary = "says what works on this machine",
    .details = details,
    .options = options,
    .run = run,
};
