/* table.c: see table.h. */
#include "table.h"

#if KOLK_HOSTED

/* ---- A table ----------------------------------------------------------------------------------------------------- */

/* Returns the number of characters, if the text is UTF-8. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static void widen(size_t *width, const char *text) {
    size_t wanted = width_of(text);
    if (*width < wanted) *width = wanted;
}

void kolk_write_cell_(kolk_writer_ *out, const char *text) {
    for (const char *at = text; *at; at++) kolk_write_char_(out, (unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at);
}

static void put_left(kolk_writer_ *out, const char *text, size_t width) {
    kolk_write_cell_(out, text);
    kolk_write_spaces_(out, width - width_of(text));
}

static void put_right(kolk_writer_ *out, const char *text, size_t width) {
    kolk_write_spaces_(out, width - width_of(text));
    kolk_write_text_(out, text);
}

/* Writes a record or, if `at` is NULL, the headings. */
static void write_row(kolk_writer_ *out, const kolk_table_ *table, const kolk_record_ *at, const size_t widths[]) {
    char space[32];
    for (size_t c = 0; c < table->columns; c++) {
        if (c > 0) kolk_write_spaces_(out, 2);
        (c < table->texts ? put_left : put_right)(out, at ? table->cell(at, c, space) : table->headings[c], widths[c]);
    }
    kolk_write_char_(out, '\n');
}

void kolk_table_write_(kolk_writer_ *out, const kolk_records_ *records, const kolk_table_ *table) {
    size_t widths[KOLK_TABLE_COLUMNS_], rows = 0;
    char space[32];
    KOLK_ASSERT_(table->columns <= KOLK_TABLE_COLUMNS_);
    for (size_t c = 0; c < table->columns; c++) widths[c] = width_of(table->headings[c]);
    for (const kolk_record_ *at = records->first; at; at = at->next) {
        if (!table->has(at)) continue;
        rows++;
        for (size_t c = 0; c < table->columns; c++) widen(&widths[c], table->cell(at, c, space));
    }
    if (rows == 0) return;
    write_row(out, table, NULL, widths);
    for (const kolk_record_ *at = records->first; at; at = at->next)
        if (table->has(at)) write_row(out, table, at, widths);
}

/* ---- Metrics ----------------------------------------------------------------------------------------------------- */

static void write_about(kolk_writer_ *out, const char *what, const char *name, const char *suffix, const char *text) {
    kolk_write_text_(out, "# ");
    kolk_write_text_(out, what);
    kolk_write_char_(out, ' ');
    kolk_write_text_(out, name);
    kolk_write_text_(out, suffix);
    kolk_write_char_(out, ' ');
    kolk_write_text_(out, text);
    kolk_write_char_(out, '\n');
}

void kolk_family_write_(kolk_writer_ *out, kolk_stats_format format, const char *name, const char *type,
                        const char *unit, const char *help) {
    bool is_open = format == KOLK_STATS_OPENMETRICS;
    const char *suffix = is_open ? "" : kolk_suffix_of_(type);
    write_about(out, "TYPE", name, suffix, type);
    if (is_open && unit) write_about(out, "UNIT", name, suffix, unit);
    write_about(out, "HELP", name, suffix, help);
}

#endif
