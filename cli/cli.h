/* cli/cli.h: the framework of the kolk command. A verb is a table: its name, its arguments, its options, and the
 * function that does the work. The parser and the help both read the tables, so they always agree.
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
 * The output of a verb, cli->out, is kept until the verb returns, and discarded unless it returns CLI_OK. So a run that
 * fails prints one sentence (cli_fail, print.h) and no partial result. A verb whose result is bad news returns CLI_OK
 * and sets the exit code in cli->verdict.
 */
#ifndef CLI_H
#define CLI_H

#include "context.h"

typedef enum cli_kind {
    CLI_FLAG,  /* bool: true if it is given */
    CLI_TEXT,  /* const char *: NULL if it is not given */
    CLI_COUNT, /* uint64_t: a decimal number from least to most; fallback if it is not given */
} cli_kind;

/* One option; a table ends with a row of zeros. */
typedef struct cli_option {
    const char *name; /* without the two dashes */
    char letter;      /* the short form, or 0 */
    cli_kind kind;
    const char *argument; /* the name of its value in the help: "FILE"; NULL for a flag */
    void *value;          /* where the value goes; for its type see kind */
    uint64_t least, most; /* CLI_COUNT only; most 0: no limit */
    uint64_t fallback;    /* CLI_COUNT only; the help shows it */
    const char *help;     /* one line, no full stop */
} cli_option;

typedef struct cli_verb {
    const char *name;
    const char *arguments;     /* as shown in the usage line: "[TRACE]"; NULL for none */
    int most_arguments;        /* the most it accepts */
    const char *summary;       /* one line, no full stop */
    const char *details;       /* paragraphs for `kolk help VERB`, lines up to 80 columns, each ending in a newline */
    const cli_option *options; /* its own, in addition to the common ones */
    int (*run)(cli_context *cli, int count, char **arguments);
} cli_verb;

extern const cli_verb cli_advise, cli_demo, cli_record, cli_replay, cli_report, cli_run_program, cli_soak, cli_top;

/* Runs the command line with one of these verbs (the last is NULL), and returns the exit code. */
int cli_run(const cli_verb *const *verbs, int argc, char **argv);

#endif
