/* cli/print.h: prints sentences, numbers for people to read, colors and tables. */
#ifndef CLI_PRINT_H
#define CLI_PRINT_H

#include "context.h"

#include <stddef.h>

/* ---- Sentences and numbers --------------------------------------------------------------------------------------- */

/* Removes the progress line, prints "kolk: ...\n" to stderr, and returns `code`. */
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "label 42 %" on stderr, in place, if stderr is a terminal; 100 % if done is more than total. If total is 0,
 * removes the line. */
void cli_progress(const cli_context *cli, const char *label, uint64_t done, uint64_t total);

typedef struct cli_text {
    char text[32];
} cli_text;

cli_text cli_count(uint64_t n);     /* 1,234,567 */
cli_text cli_bytes(uint64_t bytes); /* 640 B, 5.6 KiB, 12.0 MiB */

/* What was measured or read from a file may be beyond what is possible: a share above 100 %, a time below 0, a quotient
 * by 0. These functions then return "not known". No other function prints shares and times. */
cli_text cli_share(double part, double whole);                  /* 37.5 % */
cli_text cli_times(double before, double after);                /* 1.63: how often `after` is in `before` */
cli_text cli_time(double time, int decimals, const char *unit); /* 12.3 ms, with " ms" as the unit */

/* Writes to `out`, which is a FILE: for kolk_stats_write and its kin. */
void cli_put(const char *text, size_t length, void *out);

/* The number of characters of so many bytes of UTF-8. */
size_t cli_width(const char *text, size_t length);

/* Colors as escape sequences; "" if colors are off. */
const char *cli_bold(const cli_context *cli);
const char *cli_dim(const cli_context *cli);
const char *cli_plain(const cli_context *cli); /* ends any of them */

/* ---- Tables: rows are lines, cells are separated by tabs, the first row is the heading ------------------------------
 *
 * A row of only one cell does not widen a column.
 *
 *     cli_table table;
 *     cli_table_begin(&table, "lr");                       // a letter a column: left or right
 *     fprintf(table.rows, "size\tcount\n");
 *     fprintf(table.rows, "%s\t%s\n", ...);
 *     cli_table_end(&table, cli);                          // to cli->out
 */
typedef struct cli_table {
    FILE *rows;
    const char *columns;
    char *text;
    size_t length;
} cli_table;

void cli_table_begin(cli_table *table, const char *columns);
void cli_table_end(cli_table *table, const cli_context *cli);

#endif
