/* resource_metrics.c: the statistics of resource pools that go beyond kolk_stats, in three formats: a table of their
 * own, JSON, and the metrics of OpenTelemetry's conventions for connection pools (db.client.connection.count ...) in
 * Prometheus's spelling. Other counters are called kolk_resource_... */
#include "resource_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/table.h"

#include <stdio.h>
#include <string.h>

/* ---- What there is to write -------------------------------------------------------------------------------------- */

/* First the 4-byte numbers, then the 8-byte numbers, in the order of kolk_resource_pool_stats. */
static const char *const gauges[] = {"max", "in_use", "idle", "creating", "waiting", "peak"};
static const char *const counters[] = {"borrows",   "full",    "timeouts", "failed",  "created", "create_failures",
                                       "discarded", "invalid", "unclean",  "expired", "unused",  "evicted",
                                       "replaced",  "closed",  "detached", "leaks"};
static const char *const time_names[] = {"wait", "use", "create"};

#define NUMBER(member) KOLK_FIELD_(kolk_resource_pool_stats, member)
#define LENGTH(array)  (sizeof(array) / sizeof *(array))

_Static_assert(offsetof(kolk_resource_pool_stats, peak) ==
                       offsetof(kolk_resource_pool_stats, max) + (LENGTH(gauges) - 1) * 4 &&
                   offsetof(kolk_resource_pool_stats, leaks) ==
                       offsetof(kolk_resource_pool_stats, borrows) + (LENGTH(counters) - 1) * 8,
               "the tables are those of the struct");

static const kolk_times *times_of(const kolk_resource_pool_stats *stats, size_t n) {
    KOLK_ASSERT_(n < LENGTH(time_names));
    return n == 0 ? &stats->wait : n == 1 ? &stats->use : &stats->create;
}

static bool is_of_resources(const kolk_record_ *at) {
    return at->extra == &kolk_resource_extra_;
}

/* ---- Lives that add up ------------------------------------------------------------------------------------------- */

static void merge_times(kolk_times *all, const kolk_times *life) {
    all->count += life->count;
    all->sum_ns += life->sum_ns;
    kolk_raise64_(&all->max_ns, life->max_ns);
    kolk_raise64_(&all->p50_ns, life->p50_ns);
    kolk_raise64_(&all->p90_ns, life->p90_ns);
    kolk_raise64_(&all->p99_ns, life->p99_ns);
    kolk_raise64_(&all->p999_ns, life->p999_ns);
    for (size_t i = 0; i < KOLK_TIME_BOUNDS; i++) all->at_most[i] += life->at_most[i];
}

static void merge_numbers(void *into, const void *of_life) {
    kolk_resource_pool_stats *all = into;
    const kolk_resource_pool_stats *life = of_life;
    all->max = life->max;
    kolk_raise32_(&all->in_use, life->in_use);
    kolk_raise32_(&all->idle, life->idle);
    kolk_raise32_(&all->creating, life->creating);
    kolk_raise32_(&all->waiting, life->waiting);
    kolk_raise32_(&all->peak, life->peak);
    uint64_t *to = &all->borrows;
    for (const uint64_t *from = &life->borrows; from <= &life->leaks; from++) *to++ += *from;
    merge_times(&all->wait, &life->wait);
    merge_times(&all->use, &life->use);
    merge_times(&all->create, &life->create);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* Writes a time, such as "1.25 ms". */
static const char *time_in_words(uint64_t ns, char text[32]) {
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)ns;
    size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < LENGTH(units); unit++) value /= 1000;
    snprintf(text, 32, "%.*f %s", unit && value < 9.995 ? 2 : unit && value < 99.95 ? 1 : 0, value, units[unit]);
    return text;
}

static const char *const resource_headings[] = {"resources", "max",      "in use",   "peak",      "idle",    "waiting",
                                                "borrows",   "full",     "timeouts", "failed",    "created", "leaks",
                                                "wait p99",  "wait max", "use p50",  "create p50"};

/* The columns after the name: numbers first, then times. */
static const kolk_field_ resource_columns[] = {
    NUMBER(max),     NUMBER(in_use),      NUMBER(peak),        NUMBER(idle),       NUMBER(waiting),
    NUMBER(borrows), NUMBER(full),        NUMBER(timeouts),    NUMBER(failed),     NUMBER(created),
    NUMBER(leaks),   NUMBER(wait.p99_ns), NUMBER(wait.max_ns), NUMBER(use.p50_ns), NUMBER(create.p50_ns)};

#define TIME_COLUMNS 4

_Static_assert(LENGTH(resource_columns) + 1 == LENGTH(resource_headings) &&
                   LENGTH(resource_headings) <= KOLK_TABLE_COLUMNS_,
               "a column for each heading");

static const char *resource_cell(const kolk_record_ *at, size_t column, char space[32]) {
    if (column == 0) return at->stats.name;
    uint64_t number = kolk_field_of_(at->more, resource_columns[column - 1]);
    if (column >= LENGTH(resource_headings) - TIME_COLUMNS) return time_in_words(number, space);
    snprintf(space, 32, "%s", kolk_digits_of_(number).text);
    return space;
}

static void write_resource_table(kolk_writer_ *out, const kolk_records_ *records) {
    static const kolk_table_ table = {resource_headings, LENGTH(resource_headings), 1, is_of_resources, resource_cell};
    kolk_table_write_(out, records, &table);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void write_json_field(kolk_writer_ *out, const char *before, const char *name, uint64_t number) {
    kolk_write_text_(out, before);
    kolk_write_quoted_(out, name, true);
    kolk_write_text_(out, ": ");
    kolk_write_number_(out, number);
}

static void write_resource_json(kolk_writer_ *out, const void *numbers) {
    const kolk_resource_pool_stats *stats = numbers;
    const uint32_t *gauge = &stats->max;
    const uint64_t *counter = &stats->borrows;
    kolk_write_text_(out, ", \"resource\": {");
    for (size_t i = 0; i < LENGTH(gauges); i++) write_json_field(out, i ? ", " : "", gauges[i], gauge[i]);
    for (size_t i = 0; i < LENGTH(counters); i++) write_json_field(out, ", ", counters[i], counter[i]);
    for (size_t i = 0; i < LENGTH(time_names); i++) {
        const kolk_times *times = times_of(stats, i);
        kolk_write_text_(out, ", ");
        kolk_write_quoted_(out, time_names[i], true);
        write_json_field(out, ": {", "count", times->count);
        write_json_field(out, ", ", "sum_ns", times->sum_ns);
        write_json_field(out, ", ", "max_ns", times->max_ns);
        write_json_field(out, ", ", "p50_ns", times->p50_ns);
        write_json_field(out, ", ", "p90_ns", times->p90_ns);
        write_json_field(out, ", ", "p99_ns", times->p99_ns);
        write_json_field(out, ", ", "p999_ns", times->p999_ns);
        kolk_write_char_(out, '}');
    }
    kolk_write_char_(out, '}');
}

/* ---- Metrics ----------------------------------------------------------------------------------------------------- */

#define OTEL "db_client_connection_" /* OpenTelemetry's names, in Prometheus's spelling */
#define OURS "kolk_resource_"

/* In Prometheus's format, promtool rejects OpenTelemetry's name for the number of resources: only histograms may end in
 * _count there. */
static const char *name_in(kolk_stats_format format, const char *name) {
    bool renamed = format == KOLK_STATS_PROMETHEUS && strcmp(name, OTEL "count") == 0;
    return renamed ? "db_client_connections" : name;
}

/* Writes a sample up to its number. `labels` follow the pool's label, each with its comma. */
static void begin_sample(kolk_writer_ *out, const kolk_record_ *at, const char *name, const char *suffix,
                         const char *labels) {
    bool ours = strncmp(name, OURS, strlen(OURS)) == 0;
    kolk_write_text_(out, name);
    kolk_write_text_(out, suffix);
    kolk_write_text_(out, ours ? "{pool=" : "{" OTEL "pool_name=");
    kolk_write_quoted_(out, at->stats.name, false);
    if (at->nth > 1) {
        kolk_write_text_(out, ",nth=");
        kolk_write_quoted_(out, kolk_digits_of_(at->nth).text, false);
    }
    kolk_write_text_(out, labels);
    kolk_write_text_(out, "} ");
}

static void write_number_sample(kolk_writer_ *out, const kolk_record_ *at, const char *name, const char *suffix,
                                const char *labels, uint64_t number) {
    begin_sample(out, at, name, suffix, labels);
    kolk_write_number_(out, number);
    kolk_write_char_(out, '\n');
}

/* Writes nanoseconds as seconds, exactly. */
static void put_seconds(uint64_t ns, char text[40]) {
    snprintf(text, 40, "%s.%09u", kolk_digits_of_(ns / 1000000000).text, (unsigned)(ns % 1000000000));
}

static void write_histogram(kolk_writer_ *out, const kolk_record_ *at, const char *name, const kolk_times *times) {
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
    kolk_write_text_(out, seconds);
    kolk_write_char_(out, '\n');
}

/* A sample with a type begins a family. */
static const struct {
    const char *name, *type, *help, *labels;
    kolk_field_ at;
} samples[] = {
    {OTEL "count", "gauge", "Resources by state.", ",state=\"used\"", NUMBER(in_use)},
    {OTEL "count", NULL, NULL, ",state=\"idle\"", NUMBER(idle)},
    {OTEL "max", "gauge", "Resources that there may be.", "", NUMBER(max)},
    {OTEL "pending_requests", "gauge", "Borrowers that wait.", "", NUMBER(waiting)},
    {OTEL "timeouts", "counter", "Borrows that timed out.", "", NUMBER(timeouts)},
    {OURS "borrows", "counter", "Borrows that succeeded.", "", NUMBER(borrows)},
    {OURS "full", "counter", "Borrows that found none and did not wait.", "", NUMBER(full)},
    {OURS "failed", "counter", "Borrows that failed for another reason.", "", NUMBER(failed)},
    {OURS "creating", "gauge", "Resources that are being created.", "", NUMBER(creating)},
    {OURS "creates", "counter", "Creates that succeeded.", "", NUMBER(created)},
    {OURS "create_failures", "counter", "Creates that failed.", "", NUMBER(create_failures)},
    {OURS "destroyed", "counter", "Resources destroyed, by cause.", ",cause=\"discarded\"", NUMBER(discarded)},
    {OURS "destroyed", NULL, NULL, ",cause=\"invalid\"", NUMBER(invalid)},
    {OURS "destroyed", NULL, NULL, ",cause=\"unclean\"", NUMBER(unclean)},
    {OURS "destroyed", NULL, NULL, ",cause=\"expired\"", NUMBER(expired)},
    {OURS "destroyed", NULL, NULL, ",cause=\"unused\"", NUMBER(unused)},
    {OURS "destroyed", NULL, NULL, ",cause=\"evicted\"", NUMBER(evicted)},
    {OURS "destroyed", NULL, NULL, ",cause=\"replaced\"", NUMBER(replaced)},
    {OURS "destroyed", NULL, NULL, ",cause=\"closed\"", NUMBER(closed)},
    {OURS "detached", "counter", "Resources taken out by borrowers.", "", NUMBER(detached)},
    {OURS "leaks", "counter", "Borrows reported as leaks.", "", NUMBER(leaks)},
};

/* Writes all samples of the family that begins with the n-th, and returns the number of the next family's first
 * sample. */
static size_t write_samples(kolk_writer_ *out, const kolk_records_ *records, kolk_stats_format format, size_t n) {
    size_t end = n + 1;
    while (end < LENGTH(samples) && !samples[end].type) end++;
    const char *name = name_in(format, samples[n].name), *suffix = kolk_suffix_of_(samples[n].type);
    kolk_family_write_(out, format, name, samples[n].type, NULL, samples[n].help);
    for (const kolk_record_ *at = records->first; at; at = at->next)
        for (size_t k = n; k < end && is_of_resources(at); k++)
            write_number_sample(out, at, name, suffix, samples[k].labels, kolk_field_of_(at->more, samples[k].at));
    return end;
}

static void write_resource_metrics(kolk_writer_ *out, const kolk_records_ *records, kolk_stats_format format) {
    static const char *const names[] = {OTEL "wait_time_seconds", OTEL "use_time_seconds", OTEL "create_time_seconds"};
    static const char *const helps[] = {"From the call of borrow to the resource.", "From borrow to give_back.",
                                        "Of creates that succeeded."};
    for (size_t n = 0; n < LENGTH(samples);) n = write_samples(out, records, format, n);
    for (size_t n = 0; n < LENGTH(names); n++) {
        kolk_family_write_(out, format, names[n], "histogram", "seconds", helps[n]);
        for (const kolk_record_ *at = records->first; at; at = at->next)
            if (is_of_resources(at)) write_histogram(out, at, names[n], times_of(at->more, n));
    }
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static const void *numbers_of(const void *pool) {
    return &((const kolk_resource_inside_ *)pool)->listed;
}

const kolk_extra_ kolk_resource_extra_ = {sizeof(kolk_resource_pool_stats),
                                          numbers_of,
                                          merge_numbers,
                                          write_resource_table,
                                          write_resource_json,
                                          write_resource_metrics};

#endif
