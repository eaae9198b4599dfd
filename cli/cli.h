/* cli/cli.h: the frame of the kolk command. A verb is a table: its name, what it takes, its options, and the function
 * that does the work. The parser and all help are made from the tables, so neither can say what the other does not
 * know.
 *
 *     static uint64_t objects;
 *     static const cli_option options[] = {
 *         {.name = "objects", .letter = 'n', .kind = CLI_COUNT, .argument = "N", .value = &objects,
 *          .least = 1, .most = 1000000, .fallback = 1000, .help = "objects alive at the peak"},
 *         {0},
 *     };
 *     static int run(cli_context *cli, int count, char **arguments) {
 *         fprintf(cli->out, "%s objects\n", cli_count(objects).text);
 *         return CLI_OK;
 *     }
 *     const cli_verb cli_demo = {.name = "demo", .summary = "shows it", .options = options, .run = run};
 *
 * What a verb writes to cli->out is kept until it returns CLI_OK, and dropped if it returns anything else: a run that
 * fails prints its one sentence (cli_fail) and no half of a result. One whose result is bad news returns CLI_OK and says
 * in cli->verdict how the command ends.
 */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The exit codes. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1,    /* a check failed, there is no memory, or the output cannot be written */
    CLI_USAGE = 2,     /* not understood */
    CLI_UNREADABLE = 3 /* an input file is missing, damaged or not what it should be */
};

/* ---- Verbs and options ------------------------------------------------------------------------------------------ */

typedef enum cli_kind {
    CLI_FLAG,  /* bool: true if it is given */
    CLI_TEXT,  /* const char *: NULL if it is not given */
    CLI_COUNT, /* uint64_t: decimal, from least to most; fallback if it is not given */
} cli_kind;

/* One row; a table ends with a row of zeros. */
typedef struct cli_option {
    const char *name; /* without the two dashes */
    char letter;      /* the short form, or 0 */
    cli_kind kind;
    const char *argument; /* its name in the help: "FILE"; NULL for a flag */
    void *value;          /* where it goes: see kind */
    uint64_t least, most; /* CLI_COUNT only; most 0: no limit */
    uint64_t fallback;    /* CLI_COUNT only; the help shows it */
    const char *help;     /* one line, no full stop */
} cli_option;

/* What every verb gets: the common options, and where to write. */
typedef struct cli_context {
    bool json;        /* --json: the result as JSON, and nothing else */
    const char *path; /* -o FILE, or NULL: the frame writes cli->out there */
    uint64_t seed;    /* --seed N: of all that is random */
    FILE *out;        /* the result goes here; shown when the verb returns CLI_OK */
    bool color;       /* cli->out may hold colors: it goes to a terminal, and nobody said no */
    bool terminal; /* the result goes to a terminal and is not JSON: a verb may animate on stdout before it returns */
    bool progress; /* stderr is a terminal: cli_progress shows something */
    int verdict;   /* the exit code once the result is shown: for a verb whose result may be that something is wrong */
} cli_context;

typedef struct cli_verb {
    const char *name;
    const char *arguments;     /* as the usage shows them: "[TRACE]"; NULL for none */
    int most_arguments;        /* how many it takes */
    const char *summary;       /* one line, no full stop */
    const char *details;       /* paragraphs for `kolk help VERB`, lines up to 80 columns, each ending in a newline */
    const cli_option *options; /* its own, beside the common ones */
    int (*run)(cli_context *cli, int count, char **arguments);
} cli_verb;

extern const cli_verb cli_demo, cli_doctor, cli_replay;

/* Runs the command line with one of these verbs (the last is NULL); the exit code. */
int cli_run(const cli_verb *const *verbs, int argc, char **argv);

/* ---- Sentences and numbers --------------------------------------------------------------------------------------- */

/* Prints "kolk: ...\n" to stderr, after taking the progress line away; gives `code` back. */
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "label 42 %" on stderr, in place, if that is a terminal; total 0 takes the line away. */
void cli_progress(const cli_context *cli, const char *label, uint64_t done, uint64_t total);

typedef struct cli_text {
    char text[32];
} cli_text;

cli_text cli_count(uint64_t n);                /* 1,234,567 */
cli_text cli_bytes(uint64_t bytes);            /* 640 B, 5.6 KiB, 12.0 MiB */
cli_text cli_share(double part, double whole); /* 37.5 %; of nothing: - */

/* Colors as escape sequences, or "" where there are none. */
const char *cli_bold(const cli_context *cli);
const char *cli_dim(const cli_context *cli);
const char *cli_plain(const cli_context *cli); /* ends each of them */

/* ---- Tables: rows are lines, cells are set apart by tabs, the first row is the heading ---------------------------
 *
 * A row of one cell widens no column.
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

/* ---- JSON: one call a value; key is NULL inside an array, and for the outermost object --------------------------- */

typedef struct cli_json {
    FILE *out;
    int depth;
    bool follows; /* a value was written at this depth */
} cli_json;       /* begin with {.out = cli->out} */

void cli_json_open(cli_json *json, const char *key, char bracket); /* '{' or '[' */
void cli_json_close(cli_json *json, char bracket);                 /* '}' or ']'; the outermost ends the line */
void cli_json_text(cli_json *json, const char *key, const char *value);
void cli_json_count(cli_json *json, const char *key, uint64_t value);
void cli_json_number(cli_json *json, const char *key, double value); /* not finite: null */
void cli_json_flag(cli_json *json, const char *key, bool value);

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

uint64_t cli_now(void);                                         /* nanoseconds, monotonic */
double cli_quantile(double *values, size_t count, double part); /* sorts them; part 0.5: the median; 0 for none */
uint64_t cli_resident(void); /* bytes of data (not code) that this process has in memory; 0: unknown */

/* Calls work in a child process, so that its memory is its own and its resident bytes start anew, and brings `size`
 * bytes of result back. False (and a sentence was printed) if that failed; then result is as it was. */
bool cli_isolated(void (*work)(const void *input, void *result), const void *input, void *result, size_t size);

#endif
