/* stats_resource.c: see stats_resource.h. */
#include "kolk/base.h"

#if __STDC_HOSTED__

#include "../core/assert.h"
#include "stats_resource.h"

#include <stdio.h>
#include <string.h>

/* ---- What there is to write -------------------------------------------------------------------------------------- */

/* Numbers of 4 bytes, then numbers of 8, in the order of kolk_resource_stats. */
static const char *const gauges[] = {"max", "in_use", "idle", "creating", "waiting", "peak"};
static const char *const counters[] = {"borrows",         "full",      "timeouts", "failed",  "created",
                                       "create_failures", "discarded", "invalid",  "unclean", "expired",
                                       "unused",          "evicted",   "replaced", "closed",  "leaks"};
static const char *const time_names[] = {"wait", "use", "create"};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

_Static_assert(offsetof(kolk_resource_stats, peak) == offsetof(kolk_resource_stats, max) + (LENGTH(gauges) - 1) * 4 &&
                   offsetof(kolk_resource_stats, leaks) ==
                       offsetof(kolk_resource_stats, borrows) + (LENGTH(counters) - 1) * 8,
               "the tables are those of the struct");

static const kolk_times *times_of(const kolk_resource_stats *stats, size_t n) {
    KOLK_ASSERT(n < LENGTH(time_names));
    return n == 0 ? &stats->wait : n == 1 ? &stats->use : &stats->create;
}

static bool has_resources(const kolk_records *records) {
    for (const kolk_record *at = records->first; at; at = at->next)
        if (at->stats.resource) return true;
    return false;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static void write_line(kolk_writer *out, const char *const cells[], size_t n, int name_width) {
    char text[40];
    size_t length = strlen(cells[0]);
    kolk_write_text(out, cells[0]);
    if (length < (size_t)name_width) kolk_write_spaces(out, (size_t)name_width - length);
    for (size_t i = 1; i < n; i++) {
        snprintf(text, sizeof text, "%12s", cells[i]);
        kolk_write_text(out, text);
    }
    kolk_write_char(out, '\n');
}

/* "1.25 ms". */
static const char *time_in_words(uint64_t ns, char text[16]) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < LENGTH(units); unit++) value /= 1000;
    snprintf(text, 16, "%.*f %s", unit && value < 9.995 ? 2 : unit && value < 99.95 ? 1 : 0, value, units[unit]);
    return text;
}

static void write_resource_line(kolk_writer *out, const kolk_record *at, int name_width) {
    const kolk_resource_stats *stats = at->stats.resource;
    kolk_digits in_use = kolk_digits_of(stats->in_use), idle = kolk_digits_of(stats->idle),
                borrows = kolk_digits_of(stats->borrows),
                failed = kolk_digits_of(stats->full + stats->timeouts + stats->failed),
                created = kolk_digits_of(stats->created);
    char wait[16], most[16], use[16], create[16];
    const char *cells[] = {at->stats.name,
                           in_use.text,
                           idle.text,
                           borrows.text,
                           failed.text,
                           created.text,
                           time_in_words(stats->wait.p99_ns, wait),
                           time_in_words(stats->wait.max_ns, most),
                           time_in_words(stats->use.p50_ns, use),
                           time_in_words(stats->create.p50_ns, create)};
    write_line(out, cells, LENGTH(cells), name_width);
}

void kolk_resource_write_table(kolk_writer *out, const kolk_records *records) {
    static const char *const headings[] = {"resources", "in use",   "idle",     "borrows", "failed",
                                           "created",   "wait p99", "wait max", "use p50", "create p50"};
    if (!has_resources(records)) return;
    int width = (int)strlen(headings[0]);
    for (const kolk_record *at = records->first; at; at = at->next)
        if (at->stats.resource && (int)strlen(at->stats.name) > width) width = (int)strlen(at->stats.name);
    write_line(out, headings, LENGTH(headings), width);
    for (const kolk_record *at = records->first; at; at = at->next)
        if (at->stats.resource) write_resource_line(out, at, width);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void write_json_field(kolk_writer *out, const char *before, const char *name, uint64_t number) {
    kolk_write_text(out, before);
    kolk_write_quoted(out, name, true);
    kolk_write_text(out, ": ");
    kolk_write_number(out, number);
}

void kolk_resource_write_json(kolk_writer *out, const kolk_resource_stats *stats) {
    const uint32_t *gauge = &stats->max;
    const uint64_t *counter = &stats->borrows;
    kolk_write_text(out, ", \"resource\": {");
    for (size_t i = 0; i < LENGTH(gauges); i++) write_json_field(out, i ? ", " : "", gauges[i], gauge[i]);
    for (size_t i = 0; i < LENGTH(counters); i++) write_json_field(out, ", ", counters[i], counter[i]);
    for (size_t i = 0; i < LENGTH(time_names); i++) {
        const kolk_times *times = times_of(stats, i);
        kolk_write_text(out, ", ");
        kolk_write_quoted(out, time_names[i], true);
        write_json_field(out, ": {", "count", times->count);
        write_json_field(out, ", ", "sum_ns", times->sum_ns);
        write_json_field(out, ", ", "max_ns", times->max_ns);
        write_json_field(out, ", ", "p50_ns", times->p50_ns);
        write_json_field(out, ", ", "p90_ns", times->p90_ns);
        write_json_field(out, ", ", "p99_ns", times->p99_ns);
        write_json_field(out, ", ", "p999_ns", times->p999_ns);
        kolk_write_char(out, '}');
    }
    kolk_write_char(out, '}');
}

/* ---- OpenMetrics ------------------------------------------------------------------------------------------------- */

#define PREFIX "db_client_connection_"

static void write_family(kolk_writer *out, const char *name, const char *type, const char *unit, const char *help) {
    const char *const lines[][2] = {{"TYPE", type}, {"UNIT", unit}, {"HELP", help}};
    for (size_t i = 0; i < LENGTH(lines); i++) {
        if (!lines[i][1]) continue;
        kolk_write_text(out, "# ");
        kolk_write_text(out, lines[i][0]);
        kolk_write_text(out, " " PREFIX);
        kolk_write_text(out, name);
        kolk_write_char(out, ' ');
        kolk_write_text(out, lines[i][1]);
        kolk_write_char(out, '\n');
    }
}

/* Up to the number; `labels` are those behind the pool's, each with its comma. */
static void begin_sample(kolk_writer *out, const kolk_record *at, const char *name, const char *suffix,
                         const char *labels) {
    kolk_write_text(out, PREFIX);
    kolk_write_text(out, name);
    kolk_write_text(out, suffix);
    kolk_write_text(out, "{" PREFIX "pool_name=");
    kolk_write_quoted(out, at->stats.name, false);
    if (at->nth > 1) {
        kolk_write_text(out, ",nth=");
        kolk_write_quoted(out, kolk_digits_of(at->nth).text, false);
    }
    kolk_write_text(out, labels);
    kolk_write_text(out, "} ");
}

static void write_number_sample(kolk_writer *out, const kolk_record *at, const char *name, const char *suffix,
                                const char *labels, uint64_t number) {
    begin_sample(out, at, name, suffix, labels);
    kolk_write_number(out, number);
    kolk_write_char(out, '\n');
}

/* Nanoseconds as seconds, exactly. */
static void put_seconds(uint64_t ns, char text[40]) {
    snprintf(text, 40, "%s.%09u", kolk_digits_of(ns / 1000000000).text, (unsigned)(ns % 1000000000));
}

static void write_histogram(kolk_writer *out, const kolk_record *at, const char *name, const kolk_times *times) {
    char seconds[40], labels[60];
    for (unsigned bound = 0; bound < KOLK_TIME_BOUNDS; bound++) {
        put_seconds((UINT64_C(1) << (17 + 2 * bound)) - 1, seconds);
        snprintf(labels, sizeof labels, ",le=\"%s\"", seconds);
        write_number_sample(out, at, name, "_bucket", labels, times->at_most[bound]);
    }
    write_number_sample(out, at, name, "_bucket", ",le=\"+Inf\"", times->count);
    write_number_sample(out, at, name, "_count", "", times->count);
    begin_sample(out, at, name, "_sum", "");
    put_seconds(times->sum_ns, seconds);
    kolk_write_text(out, seconds);
    kolk_write_char(out, '\n');
}

/* A family begins with the sample that has a type. */
static const struct {
    const char *name, *type, *help, *suffix, *labels;
    size_t offset;
    bool wide;
} samples[] = {
    {"count", "gauge", "Resources by state.", "", ",state=\"used\"", offsetof(kolk_resource_stats, in_use), false},
    {"count", NULL, NULL, "", ",state=\"idle\"", offsetof(kolk_resource_stats, idle), false},
    {"max", "gauge", "Resources that there may be.", "", "", offsetof(kolk_resource_stats, max), false},
    {"pending_requests", "gauge", "Borrowers that wait.", "", "", offsetof(kolk_resource_stats, waiting), false},
    {"timeouts", "counter", "Borrows that timed out.", "_total", "", offsetof(kolk_resource_stats, timeouts), true},
};

static uint64_t sample_of(const kolk_resource_stats *stats, size_t n) {
    const char *at = (const char *)stats + samples[n].offset;
    uint32_t narrow;
    uint64_t number;
    if (samples[n].wide) return memcpy(&number, at, sizeof number), number;
    return memcpy(&narrow, at, sizeof narrow), narrow;
}

void kolk_resource_write_openmetrics(kolk_writer *out, const kolk_records *records) {
    static const char *const names[] = {"wait_time_seconds", "use_time_seconds", "create_time_seconds"};
    static const char *const helps[] = {"From the call of borrow to the resource.", "From borrow to give_back.",
                                        "Of creates that succeeded."};
    if (!has_resources(records)) return;
    for (size_t n = 0; n < LENGTH(samples); n++) {
        if (samples[n].type) write_family(out, samples[n].name, samples[n].type, NULL, samples[n].help);
        bool with_next = n + 1 < LENGTH(samples) && !samples[n + 1].type;
        for (const kolk_record *at = records->first; at; at = at->next) {
            if (!at->stats.resource || !samples[n].type) continue;
            for (size_t k = n; k <= n + with_next; k++)
                write_number_sample(out, at, samples[k].name, samples[k].suffix, samples[k].labels,
                                    sample_of(at->stats.resource, k));
        }
    }
    for (size_t n = 0; n < LENGTH(names); n++) {
        write_family(out, names[n], "histogram", "seconds", helps[n]);
        for (const kolk_record *at = records->first; at; at = at->next)
            if (at->stats.resource) write_histogram(out, at, names[n], times_of(at->stats.resource, n));
    }
}

#endif
