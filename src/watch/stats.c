/* stats.c: writes statistics as a table, as JSON, or as metrics in two formats.
 *
 * All formats use the two tables of fields below. Kinds with extra statistics (kolk_extra_) get a separate table in the
 * text format; in the other formats, their fields come last.
 *
 * The pools' numbers and names are first copied, then written. So no lock is held while `put` runs, pools may come and
 * go meanwhile, and the columns of a table can be as wide as they need to be. */
#include "kolk/base.h"

#if KOLK_HOSTED

#include "registry.h"
#include "stats.h"

#include <stdio.h>

/* ---- What there is to write -------------------------------------------------------------------------------------- */

#define FIELD(member) KOLK_FIELD_(kolk_stats, member)

/* The headings of the table. */
static const char *const headings[] = {"name", "kind", "size", "alive", "peak", "capacity", "failed", "bytes"};

/* The headings of a second table, which lists the pools that threads have waited for. */
static const char *const wait_headings[] = {"name", "waiting", "waits"};

/* The columns after name and kind. */
static const kolk_field_ columns[] = {FIELD(object_size), FIELD(count),  FIELD(peak),
                                      FIELD(capacity),    FIELD(failed), FIELD(bytes_committed)};

/* The fields of JSON, named as in kolk_stats, and of the metrics. OpenMetrics requires the unit at the end of a
 * metric's name, and promtool rejects the ending _count. */
static const struct {
    const char *name, *metric, *type, *unit, *help;
    kolk_field_ at;
} fields[] = {
    {"object_size", "object_size_bytes", "gauge", "bytes", "Size of an object, as asked for.", FIELD(object_size)},
    {"stride", "stride_bytes", "gauge", "bytes", "Bytes from slot to slot.", FIELD(stride)},
    {"count", "alive", "gauge", NULL, "Objects alive.", FIELD(count)},
    {"peak", "peak", "gauge", NULL, "Most slots needed at a time.", FIELD(peak)},
    {"capacity", "capacity", "gauge", NULL, "Slots that can be used without more memory.", FIELD(capacity)},
    {"max_capacity", "max_capacity", "gauge", NULL, "Slots that it may grow to.", FIELD(max_capacity)},
    {"unused_bytes", "unused_bytes", "gauge", "bytes", "Bytes of slots that were never needed.", FIELD(unused_bytes)},
    {"bytes_reserved", "reserved_bytes", "gauge", "bytes", "Address space.", FIELD(bytes_reserved)},
    {"bytes_committed", "committed_bytes", "gauge", "bytes", "Bytes that may be touched.", FIELD(bytes_committed)},
    {"failed", "failed", "counter", NULL, "Allocations that gave NULL.", FIELD(failed)},
    {"evictions", "evictions", "counter", NULL, "Objects freed to make room.", FIELD(evictions)},
    {"wrong_pool", "wrong_pool", "counter", NULL, "Handles of other pools that were looked up.", FIELD(wrong_pool)},
    {"waits", "waits", "counter", NULL, "Waits for an object of a shared pool, or at an end of a queue.", FIELD(waits)},
    {"worn_out", "worn_out", "gauge", NULL, "Free slots whose generations are used up.", FIELD(worn_out)},
    {"recycled", "recycled", "counter", NULL, "Worn-out slots that were put to use again.", FIELD(recycled)},
    {"waiting", "waiting", "gauge", NULL,
     "Threads that wait for an object of a shared pool or at an end of a queue now.", FIELD(waiting)},
};

static const struct {
    uint32_t flag;
    const char *word;
} debug_words[] = {
    {KOLK_DEBUG_FILL, "fill"},   {KOLK_DEBUG_GUARD, "guard"}, {KOLK_DEBUG_QUARANTINE, "quarantine"},
    {KOLK_DEBUG_SITES, "sites"}, {KOLK_DEBUG_TRACE, "trace"}, {KOLK_DEBUG_BYPASS, "bypass"},
    {KOLK_DEBUG_MOVE, "move"},   {KOLK_DEBUG_FAIL, "fail"},   {KOLK_DEBUG_SAMPLE, "sample"},
};

#define LENGTH_OF(array) (sizeof(array) / sizeof *(array))

/* Returns the next record, from `at` on, that is the first of all records with its `extra`; NULL if there is none. */
static const kolk_record_ *next_extra(const kolk_records_ *records, const kolk_record_ *at) {
    for (; at; at = at->next) {
        const kolk_record_ *before = records->first;
        while (before->extra != at->extra) before = before->next;
        if (at->extra && before == at) return at;
    }
    return NULL;
}

/* ---- The formats ------------------------------------------------------------------------------------------------- */

static bool is_of_memory(const kolk_record_ *at) {
    return !at->extra;
}

/* A group's kind is followed by the number of its pools. */
static const char *memory_cell(const kolk_record_ *at, size_t column, char space[32]) {
    if (column == 0) return at->stats.name;
    if (column == 1 && at->pools <= 1) return at->stats.kind;
    if (column == 1) {
        snprintf(space, 32, "%.8s x %s", at->stats.kind, kolk_digits_of_(at->pools).text);
        return space;
    }
    snprintf(space, 32, "%s", kolk_digits_of_(kolk_field_of_(&at->stats, columns[column - 2])).text);
    return space;
}

static bool has_waits(const kolk_record_ *at) {
    return at->stats.waits;
}

static const char *wait_cell(const kolk_record_ *at, size_t column, char space[32]) {
    if (column == 0) return at->stats.name;
    snprintf(space, 32, "%s", kolk_digits_of_(column == 1 ? at->stats.waiting : at->stats.waits).text);
    return space;
}

static void write_tables(kolk_writer_ *out, const kolk_records_ *records) {
    static const kolk_table_ table = {headings, LENGTH_OF(headings), 2, is_of_memory, memory_cell},
                             waits = {wait_headings, LENGTH_OF(wait_headings), 1, has_waits, wait_cell};
    if (!records->first) kolk_write_text_(out, "kolk: no pool has a name\n");
    kolk_table_write_(out, records, &table);
    kolk_table_write_(out, records, &waits);
    for (const kolk_record_ *at = records->first; (at = next_extra(records, at)); at = at->next)
        at->extra->write_table(out, records);
    for (const kolk_record_ *at = records->first; at; at = at->next) {
        if (!at->is_rest) continue;
        kolk_write_text_(out,
                         KOLK_RECORD_REST_ ": pools that have ended, after the first ones; each number is their sum\n");
        break;
    }
    for (const kolk_record_ *at = records->first; at; at = at->next) {
        if (!at->places) continue;
        kolk_write_cell_(out, at->stats.name);
        kolk_write_text_(out, ", alive:\n");
        kolk_places_write_text_(out, at->places);
    }
}

static void write_member(kolk_writer_ *out, const char *name, uint64_t number) {
    kolk_write_text_(out, ", \"");
    kolk_write_text_(out, name);
    kolk_write_text_(out, "\": ");
    kolk_write_number_(out, number);
}

static void write_json_pool(kolk_writer_ *out, const kolk_record_ *record) {
    const kolk_stats *stats = &record->stats;
    kolk_write_text_(out, "{\"name\": ");
    kolk_write_quoted_(out, stats->name, true);
    kolk_write_text_(out, ", \"kind\": ");
    kolk_write_quoted_(out, stats->kind, true);
    for (size_t f = 0; f < LENGTH_OF(fields); f++)
        write_member(out, fields[f].name, kolk_field_of_(stats, fields[f].at));
    if (record->has_allocs && record->pools <= 1) write_member(out, "allocs", record->allocs);
    if (record->has_resident && record->pools <= 1) write_member(out, "resident_bytes", record->resident);
    if (record->pools > 1) write_member(out, "pools", record->pools);
    kolk_write_text_(out, ", \"debug\": [");
    const char *comma = "";
    for (size_t w = 0; w < LENGTH_OF(debug_words); w++) {
        if (!(stats->debug & debug_words[w].flag)) continue;
        kolk_write_text_(out, comma);
        kolk_write_quoted_(out, debug_words[w].word, true);
        comma = ", ";
    }
    kolk_write_char_(out, ']');
    if (record->extra) record->extra->write_json(out, record->more);
    if (record->places) kolk_places_write_json_(out, record->places);
    kolk_write_char_(out, '}');
}

/* Each pool follows `line`. */
static void write_json_pools(kolk_writer_ *out, const kolk_records_ *records, const char *line) {
    kolk_write_text_(out, "\"pools\": [");
    for (const kolk_record_ *at = records->first; at; at = at->next) {
        if (at != records->first) kolk_write_char_(out, ',');
        kolk_write_text_(out, line);
        write_json_pool(out, at);
    }
}

static void write_json(kolk_writer_ *out, const kolk_records_ *records) {
    kolk_write_char_(out, '{');
    write_json_pools(out, records, "\n  ");
    kolk_write_text_(out, records->first ? "\n]}\n" : "]}\n");
}

/* No two lines may have the same labels, so the second and further pools of one name and kind get another label,
 * `nth`. */
static void write_sample(kolk_writer_ *out, const kolk_record_ *record, size_t f) {
    kolk_write_text_(out, "kolk_");
    kolk_write_text_(out, fields[f].metric);
    kolk_write_text_(out, kolk_suffix_of_(fields[f].type));
    kolk_write_text_(out, "{pool=");
    kolk_write_quoted_(out, record->stats.name, false);
    kolk_write_text_(out, ",kind=");
    kolk_write_quoted_(out, record->stats.kind, false);
    if (record->nth > 1) {
        kolk_write_text_(out, ",nth=");
        kolk_write_quoted_(out, kolk_digits_of_(record->nth).text, false);
    }
    kolk_write_text_(out, "} ");
    kolk_write_number_(out, kolk_field_of_(&record->stats, fields[f].at));
    kolk_write_char_(out, '\n');
}

static void write_metrics(kolk_writer_ *out, const kolk_records_ *records, kolk_stats_format format) {
    char name[40];
    for (size_t f = 0; f < LENGTH_OF(fields); f++) {
        snprintf(name, sizeof name, "kolk_%s", fields[f].metric);
        kolk_family_write_(out, format, name, fields[f].type, fields[f].unit, fields[f].help);
        for (const kolk_record_ *at = records->first; at; at = at->next) write_sample(out, at, f);
    }
    for (const kolk_record_ *at = records->first; (at = next_extra(records, at)); at = at->next)
        at->extra->write_metrics(out, records, format);
    if (format == KOLK_STATS_OPENMETRICS) kolk_write_text_(out, "# EOF\n");
}

void kolk_records_write_(const kolk_records_ *records, kolk_stats_format format,
                         void (*put)(const char *text, size_t length, void *context), void *context) {
    kolk_writer_ out = {.put = put, .context = context};
    switch (format) {
    case KOLK_STATS_TEXT:
        write_tables(&out, records);
        break;
    case KOLK_STATS_JSON:
        write_json(&out, records);
        break;
    case KOLK_STATS_OPENMETRICS:
    case KOLK_STATS_PROMETHEUS:
        write_metrics(&out, records, format);
        break;
    }
    kolk_write_flush_(&out);
}

void kolk_stats_write_line_(uint64_t milliseconds, void (*put)(const char *text, size_t length, void *context),
                            void *context) {
    kolk_writer_ out = {.put = put, .context = context};
    kolk_records_ records = {0};
    kolk_registry_collect_(&records);
    kolk_write_text_(&out, "{\"time\": ");
    kolk_write_number_(&out, milliseconds / 1000);
    kolk_write_char_(&out, '.');
    kolk_write_text_(&out, kolk_digits_of_(milliseconds % 1000 + 1000).text + 1);
    kolk_write_text_(&out, ", ");
    write_json_pools(&out, &records, "");
    kolk_write_text_(&out, "]}\n");
    kolk_write_flush_(&out);
    kolk_records_release_(&records);
}

void kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                      void *context) {
    kolk_records_ records = {0};
    kolk_registry_collect_(&records);
    kolk_records_write_(&records, format, put, context);
    kolk_records_release_(&records);
}

#endif
