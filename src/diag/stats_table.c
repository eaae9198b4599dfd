/* stats_table.c: see stats_table.h. */
#include "kolk/base.h"

#if KOLK_DIAGNOSTICS

#include "../core/assert.h"
#include "stats_table.h"

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
static void put_left(kolk_writer *out, const char *text, size_t width) {
    for (const char *at = text; *at; at++) kolk_write_char(out, (unsigned char)*at < ' ' || *at == 0x7f ? '?' : *at);
    kolk_write_spaces(out, width - width_of(text));
}

static void put_right(kolk_writer *out, const char *text, size_t width) {
    kolk_write_spaces(out, width - width_of(text));
    kolk_write_text(out, text);
}

/* A record, or, if it is NULL, the headings. */
static void write_row(kolk_writer *out, const kolk_table *table, const kolk_record *at, const size_t widths[]) {
    char space[32];
    for (size_t c = 0; c < table->columns; c++) {
        if (c > 0) kolk_write_spaces(out, 2);
        (c < table->texts ? put_left : put_right)(out, at ? table->cell(at, c, space) : table->headings[c], widths[c]);
    }
    kolk_write_char(out, '\n');
}

void kolk_table_write(kolk_writer *out, const kolk_records *records, const kolk_table *table) {
    size_t widths[KOLK_TABLE_COLUMNS], rows = 0;
    char space[32];
    KOLK_ASSERT(table->columns <= KOLK_TABLE_COLUMNS);
    for (size_t c = 0; c < table->columns; c++) widths[c] = width_of(table->headings[c]);
    for (const kolk_record *at = records->first; at; at = at->next) {
        if (!table->has(at)) continue;
        rows++;
        for (size_t c = 0; c < table->columns; c++) widen(&widths[c], table->cell(at, c, space));
    }
    if (rows == 0) return;
    write_row(out, table, NULL, widths);
    for (const kolk_record *at = records->first; at; at = at->next)
        if (table->has(at)) write_row(out, table, at, widths);
}

#endif
