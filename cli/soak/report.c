/* report.c: see report.h. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"
#include "../json.h"
#include "../print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { FEW_POINTS = 12 };
static const double LATENCY_LIMIT = 1.2, HOUR = 3.6e12;

/* ---- Judging ----------------------------------------------------------------------------------------------------- */

static struct soak_counts add_up(const struct soak_load *load) {
    struct soak_counts sum = {0};
    for (size_t n = 0; n < SOAK_KINDS; n++) {
        const struct soak_counts *counts = &load->stores[n].counts;
        sum.allocs += counts->allocs;
        sum.frees += counts->frees;
        sum.refused += counts->refused;
        sum.misuses += counts->misuses;
        sum.probes += counts->probes;
        sum.restores += counts->restores;
    }
    return sum;
}

enum report_result report_flat(const struct watch_series *series, uint64_t resident) {
    struct watch_slope slope = watch_slope(series);
    if (!slope.known || series->count < FEW_POINTS) return REPORT_NOT_JUDGED;
    double watched = series->x[series->count - 1] - series->x[0];
    return slope.low > 0 && slope.low * watched > 0.01 * (double)resident ? REPORT_FAILED : REPORT_OK;
}

static void judge_claims(struct report *report) {
    static const char *const claims[] = {"fixed pools never fragment", "objects stay whole", "counters agree",
                                         "is_valid holds", "mistakes are reported"};
    struct soak_counts counts = add_up(report->load);
    struct report_check *checks = report->checks;
    for (size_t n = 0; n < SOAK_CLAIMS; n++) checks[n].claim = claims[n];
    snprintf(checks[SOAK_ROOM].seen, sizeof checks->seen, "all that was free was to be had, %s times",
             cli_count(counts.probes).text);
    snprintf(checks[SOAK_WHOLE].seen, sizeof checks->seen, "%s allocs, %s frees, %s threads, %s snapshots restored",
             cli_count(counts.allocs).text, cli_count(counts.frees).text, cli_count(report->load->workers.born).text,
             cli_count(counts.restores).text);
    snprintf(checks[SOAK_COUNTS].seen, sizeof checks->seen, "%s times, with %s allocs that gave NULL",
             cli_count(report->load->cycles).text, cli_count(counts.refused).text);
    snprintf(checks[SOAK_VALID].seen, sizeof checks->seen, "%s times, each million operations",
             cli_count(report->load->cycles).text);
    snprintf(checks[SOAK_REPORTS].seen, sizeof checks->seen, "%s of %s", cli_count(report->load->reports).text,
             cli_count(counts.misuses).text);
    const struct soak_problem *problem = &report->load->problem;
    if (!problem->text[0] || problem->claim >= SOAK_CLAIMS) return;
    checks[problem->claim].result = REPORT_FAILED;
    snprintf(checks[problem->claim].seen, sizeof checks->seen, "%s", problem->text);
}

static void judge_memory(struct report *report) {
    struct report_check *check = &report->checks[REPORT_MEMORY];
    struct watch_slope slope = watch_slope(report->series);
    double an_hour = (double)report->load->cycles / (double)report->ns * HOUR;
    check->claim = "resident memory is flat";
    check->result = report_flat(report->series, report->resident);
    if (!slope.known)
        snprintf(check->seen, sizeof check->seen, "too short a time to tell");
    else
        snprintf(check->seen, sizeof check->seen,
                 "%+.0f bytes a million operations, %+.0f to %+.0f with 95 %% confidence (%+.3g MiB an hour); %s",
                 slope.slope, slope.low, slope.high, slope.slope * an_hour / (1 << 20),
                 cli_bytes(report->resident).text);
}

static void judge_latency(struct report *report) {
    struct report_check *check = &report->checks[REPORT_LATENCY];
    check->claim = "p99.99 stays";
    check->result = REPORT_NOT_JUDGED;
    double first = watch_quantile(report->first, 0.9999);
    double last = report->last ? watch_quantile(report->last, 0.9999) : 0;
    if (first <= 0 || last <= 0) {
        snprintf(check->seen, sizeof check->seen, "too short a time to tell");
        return;
    }
    if (report->judge_latency) check->result = last <= LATENCY_LIMIT * first ? REPORT_OK : REPORT_FAILED;
    snprintf(check->seen, sizeof check->seen, "%s in the first tenth, %s in the last: %s times (median %.0f, %.0f)",
             cli_time(first, 0, " ns").text, cli_time(last, 0, " ns").text, cli_times(last, first).text,
             watch_quantile(report->first, 0.5), watch_quantile(report->last, 0.5));
}

bool report_judge(struct report *report) {
    judge_claims(report);
    judge_memory(report);
    judge_latency(report);
    for (size_t n = 0; n < REPORT_CHECKS; n++)
        if (report->checks[n].result == REPORT_FAILED) return false;
    return true;
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

static const char *const results[] = {"ok", "not judged", "FAILED"};

void report_print(const cli_context *cli, const struct report *report) {
    fprintf(cli->out, "%s operations in %s, seed %" PRIu64, cli_count(report->load->cycles * SOAK_CYCLE).text,
            cli_time((double)report->ns / 1e9, 0, " s").text, cli->seed);
    fprintf(cli->out, "%s\n\n", report->stopped ? "; stopped before its time" : "");
    cli_table table;
    cli_table_begin(&table, "lll");
    for (size_t n = 0; n < REPORT_CHECKS; n++)
        fprintf(table.rows, "%s\t%s\t%s\n", report->checks[n].claim, results[report->checks[n].result],
                report->checks[n].seen);
    cli_table_end(&table, cli);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void write_figures(cli_json *json, const struct report *report, uint64_t seed) {
    struct watch_slope slope = watch_slope(report->series);
    cli_json_count(json, "operations", report->load->cycles * SOAK_CYCLE);
    cli_json_number(json, "seconds", (double)report->ns / 1e9);
    cli_json_count(json, "seed", seed);
    cli_json_flag(json, "stopped", report->stopped);
    cli_json_count(json, "resident_bytes", report->resident);
    if (slope.known) {
        cli_json_number(json, "resident_bytes_a_million_operations", slope.slope);
        cli_json_number(json, "low", slope.low);
        cli_json_number(json, "high", slope.high);
    }
    cli_json_number(json, "p9999_ns_first_tenth", watch_quantile(report->first, 0.9999));
    cli_json_number(json, "p9999_ns_last_tenth", report->last ? watch_quantile(report->last, 0.9999) : NAN);
}

void report_json(const cli_context *cli, const struct report *report) {
    cli_json json = {.out = cli->out};
    cli_json_open(&json, NULL, '{');
    cli_json_count(&json, "kolk_soak", 1);
    write_figures(&json, report, cli->seed);
    cli_json_open(&json, "checks", '[');
    for (size_t n = 0; n < REPORT_CHECKS; n++) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "claim", report->checks[n].claim);
        cli_json_text(&json, "result", results[report->checks[n].result]);
        cli_json_text(&json, "seen", report->checks[n].seen);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}
