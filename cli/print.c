/* print.c: see print.h. */
#define _POSIX_C_SOURCE 200809L
#include "print.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sentences and numbers --------------------------------------------------------------------------------------- */

static bool progress_shown;

static void hide_progress(void) {
    if (progress_shown) fputs("\r\033[K", stderr);
    progress_shown = false;
}

int cli_fail(int code, const char *format, ...) {
    va_list arguments;
    hide_progress();
    fputs("kolk: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return code;
}

void cli_progress(const cli_context *cli, const char *label, uint64_t done, uint64_t total) {
    if (!cli->progress) return;
    hide_progress();
    if (total == 0) return;
    fprintf(stderr, "%s %.0f %%", label, done < total ? 100.0 * (double)done / (double)total : 100);
    progress_shown = true;
}

cli_text cli_count(uint64_t n) {
    cli_text text;
    char *digit = text.text + sizeof text.text - 1;
    *digit = '\0';
    unsigned digits = 0;
    do {
        if (digits > 0 && digits % 3 == 0) *--digit = ',';
        *--digit = (char)('0' + n % 10);
        n /= 10;
        digits++;
    } while (n > 0);
    memmove(text.text, digit, strlen(digit) + 1);
    return text;
}

cli_text cli_bytes(uint64_t bytes) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    cli_text text;
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1023.95) {
        value /= 1024;
        unit++;
    }
    snprintf(text.text, sizeof text.text, "%.*f %s", unit > 0, value, units[unit]);
    return text;
}

/* A number so large, or none, has no text. */
static cli_text bounded(int decimals, double value, double most, const char *unit) {
    cli_text text = {"not known"};
    if (value >= 0 && value <= most) snprintf(text.text, sizeof text.text, "%.*f%s", decimals, value, unit);
    return text;
}

static const double NUMBER_MOST = 1e15; /* with decimals and a unit, it fits into a cli_text */

cli_text cli_share(double part, double whole) {
    return bounded(1, part >= 0 && whole > 0 ? 100 * part / whole : -1, 100, " %");
}

cli_text cli_times(double before, double after) {
    return bounded(2, before >= 0 && after > 0 ? before / after : -1, NUMBER_MOST, "");
}

cli_text cli_time(double time, int decimals, const char *unit) {
    return bounded(decimals, time, NUMBER_MOST, unit);
}

void cli_put(const char *text, size_t length, void *out) {
    fwrite(text, 1, length, (FILE *)out);
}

size_t cli_width(const char *text, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++) width += (text[i] & 0xc0) != 0x80; /* all but continuation bytes */
    return width;
}

const char *cli_bold(const cli_context *cli) {
    return cli->color ? "\033[1m" : "";
}

const char *cli_dim(const cli_context *cli) {
    return cli->color ? "\033[2m" : "";
}

const char *cli_plain(const cli_context *cli) {
    return cli->color ? "\033[0m" : "";
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

enum { COLUMNS = 16 };

void cli_table_begin(cli_table *table, const char *columns) {
    assert(strlen(columns) <= COLUMNS);
    *table = (cli_table){.columns = columns};
    table->rows = open_memstream(&table->text, &table->length);
    if (!table->rows) exit(cli_fail(CLI_FAILED, "there is no memory for a table"));
}

static void print_spaces(FILE *out, size_t count) {
    fprintf(out, "%*s", (int)count, "");
}

/* Prints the row at `row`. If `out` is NULL, only widens the columns to fit it. Returns the beginning of the next
 * row. */
static const char *print_row(FILE *out, const char *columns, size_t *widths, const char *row) {
    for (size_t column = 0;; column++) {
        assert(columns[column] != '\0');
        size_t length = strcspn(row, "\t\n");
        size_t width = cli_width(row, length);
        bool last = row[length] == '\n';
        bool text = column == 0 && last; /* the row is a line of text, not a cell */
        if (!out) {
            if (width > widths[column] && !text) widths[column] = width;
        } else {
            size_t spaces = text ? 0 : widths[column] - width;
            if (column > 0) print_spaces(out, 2);
            if (columns[column] == 'r') print_spaces(out, spaces);
            fwrite(row, 1, length, out);
            if (columns[column] == 'l' && !last) print_spaces(out, spaces);
        }
        row += length + 1;
        if (last) return row;
    }
}

void cli_table_end(cli_table *table, const cli_context *cli) {
    fclose(table->rows);
    const char *end = table->text + table->length;
    size_t widths[COLUMNS] = {0};
    for (const char *row = table->text; row < end;) row = print_row(NULL, table->columns, widths, row);
    for (const char *row = table->text; row < end;) {
        bool heading = row == table->text;
        fputs(heading ? cli_bold(cli) : "", cli->out);
        row = print_row(cli->out, table->columns, widths, row);
        fputs(heading ? cli_plain(cli) : "", cli->out);
        fputc('\n', cli->out);
    }
    free(table->text);
}
