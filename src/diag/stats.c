/* stats.c: statistics in words: kolk_stats_write, its three formats, and KOLK_STATS.
 *
 * The pools' numbers and names are copied first (registry.h), then written: so no lock is held while `put` runs, pools
 * may come and go meanwhile, and a table can be as wide as it needs to be. */
#include "kolk/base.h"

#if __STDC_HOSTED__

#include "../core/fail.h"
#include "../os/files.h"
#include "registry.h"
#include "sizes.h"
#include "stats.h"
#include "tools.h"
#include "../os/cancel.h"
#include "../os/environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- What there is to write ------------------------------------------------------------------------------------- */

typedef struct place {
    size_t offset, size; /* of a number of 4 or 8 bytes in kolk_stats */
} place;

#define PLACE(member)                                                                                                  \
    { offsetof(kolk_stats, member), sizeof((kolk_stats *)0)->member }

static uint64_t number_at(const kolk_stats *stats, place at) {
    uint64_t wide;
    uint32_t narrow;
    const char *from = (const char *)stats + at.offset;
    if (at.size == sizeof narrow) return memcpy(&narrow, from, sizeof narrow), narrow;
    return memcpy(&wide, from, sizeof wide), wide;
}

/* Of the table, after name and kind. */
static const struct {
    const char *heading;
    place at;
} columns[] = {
    {"size", PLACE(object_size)},  {"alive", PLACE(count)},   {"peak", PLACE(peak)},
    {"capacity", PLACE(capacity)}, {"failed", PLACE(failed)}, {"bytes", PLACE(bytes_committed)},
};

/* Of JSON, in which a field is called what it is in kolk_stats, and of OpenMetrics, whose rules want the unit last in a
 * metric's name. */
static const struct {
    const char *name, *metric, *type, *unit, *help;
    place at;
} fields[] = {
    {"object_size", "object_size_bytes", "gauge", "bytes", "Size of an object, as asked for.", PLACE(object_size)},
    {"stride", "stride_bytes", "gauge", "bytes", "Bytes from slot to slot.", PLACE(stride)},
    {"count", "count", "gauge", NULL, "Objects alive.", PLACE(count)},
    {"peak", "peak", "gauge", NULL, "Most slots needed at a time.", PLACE(peak)},
    {"capacity", "capacity", "gauge", NULL, "Slots that can be used without more memory.", PLACE(capacity)},
    {"max_capacity", "max_capacity", "gauge", NULL, "Slots that it may grow to.", PLACE(max_capacity)},
    {"unused_bytes", "unused_bytes", "gauge", "bytes", "Bytes of slots that were never needed.", PLACE(unused_bytes)},
    {"bytes_reserved", "reserved_bytes", "gauge", "bytes", "Address space.", PLACE(bytes_reserved)},
    {"bytes_committed", "committed_bytes", "gauge", "bytes", "Bytes that may be touched.", PLACE(bytes_committed)},
    {"failed", "failed", "counter", NULL, "Allocations that gave NULL.", PLACE(failed)},
    {"evictions", "evictions", "counter", NULL, "Objects freed to make room.", PLACE(evictions)},
    {"wrong_pool", "wrong_pool", "counter", NULL, "Handles of other pools that were looked up.", PLACE(wrong_pool)},
    {"worn_out", "worn_out", "gauge", NULL, "Free slots whose generations are used up.", PLACE(worn_out)},
    {"recycled", "recycled", "counter", NULL, "Worn-out slots that were put to use again.", PLACE(recycled)},
};

static const struct {
    uint32_t flag;
    const char *word;
} debug_words[] = {
    {KOLK_DEBUG_FILL, "fill"},   {KOLK_DEBUG_GUARD, "guard"}, {KOLK_DEBUG_QUARANTINE, "quarantine"},
    {KOLK_DEBUG_SITES, "sites"}, {KOLK_DEBUG_TRACE, "trace"}, {KOLK_DEBUG_BYPASS, "bypass"},
    {KOLK_DEBUG_MOVE, "move"},   {KOLK_DEBUG_FAIL, "fail"},
};

#define LENGTH_OF(array) (sizeof(array) / sizeof *(array))

/* ---- Pieces of text --------------------------------------------------------------------------------------------- */

/* Gathers small pieces, so that `put` gets fewer. */
typedef struct writer {
    void (*put)(const char *text, size_t length, void *context);
    void *context;
    size_t length;
    char bytes[1024];
} writer;

static void flush(writer *out) {
    kolk_tools_wrote(out->bytes, out->length);
    if (out->length) out->put(out->bytes, out->length, out->context);
    out->length = 0;
}

static void put_char(writer *out, char c) {
    if (out->length == sizeof out->bytes) flush(out);
    out->bytes[out->length++] = c;
}

static void put_text(writer *out, const char *text) {
    while (*text) put_char(out, *text++);
}

static void put_spaces(writer *out, size_t n) {
    while (n--) put_char(out, ' ');
}

typedef struct digits {
    char text[21];
} digits;

static digits digits_of(uint64_t number) {
    digits result;
    snprintf(result.text, sizeof result.text, "%" PRIu64, number);
    return result;
}

static void put_number(writer *out, uint64_t number) {
    put_text(out, digits_of(number).text);
}

/* Bytes of the UTF-8 character that the text begins with; 0 if it begins with none (Unicode 15, table 3-7). */
static size_t utf8_length(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80) return 1;
    if (at[0] < 0xc2 || at[0] > 0xf4) return 0;
    size_t length = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < length; i++)
        if (at[i] < 0x80 || at[i] > 0xbf) return 0;
    if (at[0] == 0xe0 && at[1] < 0xa0) return 0; /* could be shorter */
    if (at[0] == 0xed && at[1] > 0x9f) return 0; /* half of a pair of UTF-16 */
    if (at[0] == 0xf0 && at[1] < 0x90) return 0; /* could be shorter */
    if (at[0] == 0xf4 && at[1] > 0x8f) return 0; /* beyond Unicode */
    return length;
}

/* A text between quotes. JSON wants control characters written otherwise, OpenMetrics only the line feed. A byte that is
 * not UTF-8 becomes U+FFFD in JSON, and in OpenMetrics, where names that differ must not become one, a number. */
static void put_quoted(writer *out, const char *text, bool json) {
    char escape[8];
    put_char(out, '"');
    while (*text) {
        size_t length = utf8_length(text);
        unsigned first = (unsigned char)*text;
        if (length == 0) {
            snprintf(escape, sizeof escape, json ? "\xef\xbf\xbd" : "\\\\x%02x", first);
            put_text(out, escape);
            text++;
        } else if (*text == '\n') {
            put_text(out, "\\n");
            text++;
        } else if (json && first < ' ') {
            snprintf(escape, sizeof escape, "\\u%04x", first);
            put_text(out, escape);
            text++;
        } else {
            if (*text == '"' || *text == '\\') put_char(out, '\\');
            while (length--) put_char(out, *text++);
        }
    }
    put_char(out, '"');
}

/* ---- The formats ------------------------------------------------------------------------------------------------ */

/* Characters, if it is UTF-8. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void widen(size_t *width, const char *text) {
    size_t wanted = width_of(text);
    if (*width < wanted) *width = wanted;
}

/* At the left of its column, and what would break the table or a terminal as '?'. */
static void put_left(writer *out, const char *text, size_t width) {
    for (const char *at = text; *at; at++) put_char(out, (unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at);
    put_spaces(out, width - width_of(text));
}

static void put_right(writer *out, const char *text, size_t width) {
    put_spaces(out, 2 + width - width_of(text));
    put_text(out, text);
}

static void write_table(writer *out, const kolk_records *records) {
    if (!records->first) {
        put_text(out, "kolk: no pool has a name\n");
        return;
    }
    size_t name = width_of("name"), kind = width_of("kind"), widths[LENGTH_OF(columns)];
    for (size_t c = 0; c < LENGTH_OF(columns); c++) widths[c] = width_of(columns[c].heading);
    for (const kolk_record *at = records->first; at; at = at->next) {
        widen(&name, at->stats.name);
        widen(&kind, at->stats.kind);
        for (size_t c = 0; c < LENGTH_OF(columns); c++)
            widen(&widths[c], digits_of(number_at(&at->stats, columns[c].at)).text);
    }

    put_left(out, "name", name + 2);
    put_left(out, "kind", kind);
    for (size_t c = 0; c < LENGTH_OF(columns); c++) put_right(out, columns[c].heading, widths[c]);
    put_char(out, '\n');
    for (const kolk_record *at = records->first; at; at = at->next) {
        put_left(out, at->stats.name, name + 2);
        put_left(out, at->stats.kind, kind);
        for (size_t c = 0; c < LENGTH_OF(columns); c++)
            put_right(out, digits_of(number_at(&at->stats, columns[c].at)).text, widths[c]);
        put_char(out, '\n');
    }
}

static void write_json_pool(writer *out, const kolk_stats *stats) {
    put_text(out, "{\"name\": ");
    put_quoted(out, stats->name, true);
    put_text(out, ", \"kind\": ");
    put_quoted(out, stats->kind, true);
    for (size_t f = 0; f < LENGTH_OF(fields); f++) {
        put_text(out, ", \"");
        put_text(out, fields[f].name);
        put_text(out, "\": ");
        put_number(out, number_at(stats, fields[f].at));
    }
    put_text(out, ", \"debug\": [");
    const char *comma = "";
    for (size_t w = 0; w < LENGTH_OF(debug_words); w++) {
        if (!(stats->debug & debug_words[w].flag)) continue;
        put_text(out, comma);
        put_quoted(out, debug_words[w].word, true);
        comma = ", ";
    }
    put_text(out, "]}");
}

static void write_json(writer *out, const kolk_records *records) {
    put_text(out, "{\"pools\": [");
    for (const kolk_record *at = records->first; at; at = at->next) {
        put_text(out, at == records->first ? "\n  " : ",\n  ");
        write_json_pool(out, &at->stats);
    }
    put_text(out, records->first ? "\n]}\n" : "]}\n");
}

/* No two lines may have the same labels: pools that share name and kind are told apart by one more. */
static void write_sample(writer *out, const kolk_record *record, size_t f) {
    put_text(out, "kolk_");
    put_text(out, fields[f].metric);
    if (strcmp(fields[f].type, "counter") == 0) put_text(out, "_total");
    put_text(out, "{pool=");
    put_quoted(out, record->stats.name, false);
    put_text(out, ",kind=");
    put_quoted(out, record->stats.kind, false);
    if (record->nth > 1) {
        put_text(out, ",nth=");
        put_quoted(out, digits_of(record->nth).text, false);
    }
    put_text(out, "} ");
    put_number(out, number_at(&record->stats, fields[f].at));
    put_char(out, '\n');
}

static void write_about(writer *out, const char *what, size_t f, const char *text) {
    put_text(out, "# ");
    put_text(out, what);
    put_text(out, " kolk_");
    put_text(out, fields[f].metric);
    put_char(out, ' ');
    put_text(out, text);
    put_char(out, '\n');
}

/* OpenMetrics 1.0 (2020). */
static void write_openmetrics(writer *out, const kolk_records *records) {
    for (size_t f = 0; f < LENGTH_OF(fields); f++) {
        write_about(out, "TYPE", f, fields[f].type);
        if (fields[f].unit) write_about(out, "UNIT", f, fields[f].unit);
        write_about(out, "HELP", f, fields[f].help);
        for (const kolk_record *at = records->first; at; at = at->next) write_sample(out, at, f);
    }
    put_text(out, "# EOF\n");
}

static void write_records(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                          void *context, const kolk_records *records) {
    writer out = {.put = put, .context = context};
    switch (format) {
    case KOLK_STATS_TEXT:
        write_table(&out, records);
        break;
    case KOLK_STATS_JSON:
        write_json(&out, records);
        break;
    case KOLK_STATS_OPENMETRICS:
        write_openmetrics(&out, records);
        break;
    }
    flush(&out);
}

void kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                      void *context) {
    kolk_records records = {0};
    kolk_registry_collect(&records);
    write_records(format, put, context, &records);
    kolk_records_release(&records);
}

/* ---- KOLK_STATS ------------------------------------------------------------------------------------------------- */

static struct {
    const char *wrong; /* what it was, if it is not understood */
    kolk_stats_format format;
    bool sizes;       /* instead of a format */
    const char *file; /* NULL: stderr */
    kolk_records texts;
} setting;

/* Does the text begin with this word, and is that all of it, or all before a colon? */
static bool is_word(const char *text, const char *word) {
    size_t length = strlen(word);
    return strncmp(text, word, length) == 0 && (text[length] == 0 || text[length] == ':');
}

bool kolk_stats_read_setting(void) {
    static const struct {
        const char *word;
        kolk_stats_format format;
        bool sizes;
    } words[] = {
        {"1", KOLK_STATS_TEXT, false},    {"text", KOLK_STATS_TEXT, false},
        {"json", KOLK_STATS_JSON, false}, {"openmetrics", KOLK_STATS_OPENMETRICS, false},
        {"sizes", KOLK_STATS_TEXT, true},
    };
    const char *text = kolk_environment("KOLK_STATS");
    if (!text || !*text || strcmp(text, "0") == 0) return false;
    size_t w = 0;
    while (w < LENGTH_OF(words) && !is_word(text, words[w].word)) w++;
    const char *file = strchr(text, ':');
    if (w == LENGTH_OF(words) || (file && !file[1])) {
        setting.wrong = text;
        return false;
    }
    setting.format = words[w].format;
    setting.sizes = words[w].sizes;
    if (file) setting.file = kolk_records_copy(&setting.texts, file + 1); /* the environment may have gone by then */
    return !file || setting.file;
}

bool kolk_stats_want_sizes(const char **file) {
    *file = setting.file;
    return setting.sizes;
}

static void report(const char *format, const char *text) {
    kolk_failure failure = {.rule = KOLK_BAD_SETTING, .pool = "KOLK_STATS", .slot = UINT32_MAX};
    kolk_fail(failure, format, text);
}

void kolk_stats_report_setting(void) {
    if (!setting.wrong) return;
    report("\"%s\" is not understood: 1, text, json, openmetrics or sizes, each with :FILE behind it if you like",
           setting.wrong);
}

static void put_to_file(const char *text, size_t length, void *file) {
    fwrite(text, 1, length, file);
}

static void write_setting(const kolk_records *records) {
    if (setting.sizes) {
        kolk_sizes_write(setting.file);
        return;
    }
    if (!setting.file) {
        write_records(setting.format, put_to_file, stderr, records);
        return;
    }
    kolk_new_file file;
    bool written = kolk_file_begin(&file, setting.file);
    if (written) {
        write_records(setting.format, put_to_file, file.out, records);
        written = kolk_file_end(&file);
    }
    if (!written) report("\"%s\" cannot be written", setting.file);
}

/* A thread that is cancelled while it ends the process ends the process. */
void kolk_stats_write_setting(const kolk_records *records) {
    int cancel = kolk_cancel_off();
    write_setting(records);
    kolk_cancel_restore(cancel);
}

#else

void kolk_stats_write(kolk_stats_format format, void (*put)(const char *text, size_t length, void *context),
                      void *context) {
    (void)format, (void)put, (void)context;
}

#endif
