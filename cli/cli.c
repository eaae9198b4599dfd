/* cli.c: parses the command line and prints the help, both from the tables of options: see cli.h. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"
#include "print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kolk/base.h>

/* ---- Options of every verb --------------------------------------------------------------------------------------- */

static bool want_json, want_no_color, want_help, want_version;
static const char *want_path;
static uint64_t want_seed;

static const cli_option common_options[] = {
    {.name = "json", .kind = CLI_FLAG, .value = &want_json, .help = "print the result as JSON"},
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .argument = "FILE",
     .value = &want_path,
     .help = "write the result to FILE, or with - to stdout"},
    {.name = "no-color",
     .kind = CLI_FLAG,
     .value = &want_no_color,
     .help = "no colors on a terminal; the variable NO_COLOR says the same"},
    {.name = "seed",
     .kind = CLI_COUNT,
     .argument = "N",
     .value = &want_seed,
     .fallback = 1,
     .help = "where all that is random begins"},
    {.name = "help", .letter = 'h', .kind = CLI_FLAG, .value = &want_help, .help = "print this help"},
    {.name = "version", .kind = CLI_FLAG, .value = &want_version, .help = "print the version"},
    {0},
};

/* ---- Help -------------------------------------------------------------------------------------------------------- */

/* Prints rows of a table: " -o, --output FILE", then the help. */
static void print_options(FILE *rows, const char *heading, const cli_option *options) {
    if (!options) return;
    fprintf(rows, "\n%s\n", heading);
    for (const cli_option *option = options; option->name; option++) {
        if (option->letter)
            fprintf(rows, "  -%c, --%s", option->letter, option->name);
        else
            fprintf(rows, "      --%s", option->name);
        if (option->argument) fprintf(rows, " %s", option->argument);
        fprintf(rows, "\t%s", option->help);
        if (option->kind == CLI_COUNT) fprintf(rows, " (%s)", cli_count(option->fallback).text);
        fputc('\n', rows);
    }
}

static void print_help(const cli_context *cli, const cli_verb *verb) {
    cli_table table;
    cli_table_begin(&table, "ll");
    fprintf(table.rows, "kolk %s: %s\n\n", verb->name, verb->summary);
    fprintf(table.rows, "  kolk %s [OPTION...]%s%s\n", verb->name, verb->arguments ? " " : "",
            verb->arguments ? verb->arguments : "");
    print_options(table.rows, "Options", verb->options);
    print_options(table.rows, "Options of every verb", common_options);
    cli_table_end(&table, cli);
    if (verb->details) fprintf(cli->out, "\n%s", verb->details);
}

static void print_general_help(const cli_context *cli, const cli_verb *const *verbs) {
    cli_table table;
    cli_table_begin(&table, "ll");
    fprintf(table.rows, "kolk %s: object pools for C\n\n", KOLK_VERSION);
    fprintf(table.rows, "  kolk VERB [OPTION...] [ARGUMENT...]\n\nVerbs\n");
    for (; *verbs; verbs++) fprintf(table.rows, "  %s\t%s\n", (*verbs)->name, (*verbs)->summary);
    fprintf(table.rows, "  help\tprint this help, or that of a verb: kolk help VERB\n");
    print_options(table.rows, "Options of every verb", common_options);
    fprintf(table.rows, "\nExit codes\n");
    fprintf(table.rows, "  %d\tdone\n", CLI_OK);
    fprintf(table.rows, "  %d\ta check failed, there is no memory, or the output cannot be written\n", CLI_FAILED);
    fprintf(table.rows, "  %d\tthe command line is not understood\n", CLI_USAGE);
    fprintf(table.rows, "  %d\tan input file is missing, damaged or not what it should be\n", CLI_UNREADABLE);
    cli_table_end(&table, cli);
}

/* ---- Parsing ----------------------------------------------------------------------------------------------------- */

static const cli_option *find_in(const cli_option *options, const char *name, size_t length, char letter) {
    for (const cli_option *option = options; option && option->name; option++) {
        if (letter ? option->letter == letter : strlen(option->name) == length && !strncmp(option->name, name, length))
            return option;
    }
    return NULL;
}

static void set_fallbacks(const cli_option *options) {
    for (const cli_option *option = options; option && option->name; option++) {
        if (option->kind == CLI_FLAG) *(bool *)option->value = false;
        if (option->kind == CLI_TEXT) *(const char **)option->value = NULL;
        if (option->kind == CLI_COUNT) *(uint64_t *)option->value = option->fallback;
    }
}

static int set_count(const cli_option *option, const char *text) {
    uint64_t most = option->most ? option->most : UINT64_MAX;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    bool number = *text && text[strspn(text, "0123456789")] == '\0' && errno == 0;
    if (number && value >= option->least && value <= most) {
        *(uint64_t *)option->value = value;
        return CLI_OK;
    }
    if (most == UINT64_MAX)
        return cli_fail(CLI_USAGE, "--%s expects a whole number from %s, not '%s'", option->name,
                        cli_count(option->least).text, text);
    return cli_fail(CLI_USAGE, "--%s expects a whole number from %s to %s, not '%s'", option->name,
                    cli_count(option->least).text, cli_count(most).text, text);
}

/* Parses the option at argv[*at], and sets *at to the option's last word. */
static int take_option(const cli_verb *verb, int argc, char **argv, int *at) {
    const char *word = argv[*at];
    bool is_long = word[1] == '-';
    const char *name = word + 1 + is_long;
    char letter = is_long ? '\0' : *name;
    size_t length = is_long ? strcspn(name, "=") : 1;
    const cli_option *option = find_in(verb->options, name, length, letter);
    if (!option) option = find_in(common_options, name, length, letter);
    if (!option)
        return cli_fail(CLI_USAGE, "%s has no option %.*s; 'kolk help %s' lists what it has", verb->name,
                        (int)(length + (size_t)(name - word)), word, verb->name);

    const char *value = name + length; /* --name=VALUE or -nVALUE */
    bool has_value = *value != '\0';
    if (is_long && has_value) value++;
    if (option->kind == CLI_FLAG) {
        if (has_value) return cli_fail(CLI_USAGE, "--%s takes no value: '%s'", option->name, word);
        *(bool *)option->value = true;
        return CLI_OK;
    }
    if (!has_value) {
        if (*at + 1 == argc) return cli_fail(CLI_USAGE, "--%s expects a value: %s", option->name, option->argument);
        value = argv[++*at];
    }
    if (option->kind == CLI_COUNT) return set_count(option, value);
    *(const char **)option->value = value;
    return CLI_OK;
}

/* Sets the options, moves the other words to the beginning of argv, and stores the number of these words in *count. */
static int parse(const cli_verb *verb, int argc, char **argv, int *count) {
    bool options_end = false;
    set_fallbacks(verb->options);
    for (int at = 0; at < argc; at++) {
        bool is_option = !options_end && argv[at][0] == '-' && argv[at][1] != '\0';
        if (!is_option) {
            argv[(*count)++] = argv[at];
        } else if (!strcmp(argv[at], "--")) {
            options_end = true;
        } else {
            int code = take_option(verb, argc, argv, &at);
            if (code != CLI_OK) return code;
        }
    }
    if (*count <= verb->most_arguments || want_help || want_version) return CLI_OK;
    return cli_fail(CLI_USAGE, "%s takes %s, and there is one more: '%s'", verb->name,
                    verb->arguments ? verb->arguments : "no arguments", argv[verb->most_arguments]);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

/* Prints what was kept in cli->out. */
static int show(const cli_context *cli, const char *text, size_t length) {
    FILE *out = cli->path ? fopen(cli->path, "wb") : stdout;
    if (!out) return cli_fail(CLI_FAILED, "%s: cannot be written: %s", cli->path, strerror(errno));
    bool written = fwrite(text, 1, length, out) == length;
    written &= (cli->path ? fclose(out) : fflush(out)) == 0;
    if (written) return CLI_OK;
    return cli_fail(CLI_FAILED, "%s: cannot be written: %s", cli->path ? cli->path : "stdout", strerror(errno));
}

/* Runs `verb` or prints its help. If it is NULL, prints the help for all verbs. */
static int run(const cli_verb *const *verbs, const cli_verb *verb, int count, char **arguments) {
    char *text = NULL;
    size_t length = 0;
    const char *no_color = getenv("NO_COLOR");
    bool to_stdout = want_path && strcmp(want_path, "-") == 0;
    cli_context cli = {
        .json = want_json, .path = to_stdout ? NULL : want_path, .to_stdout = to_stdout, .seed = want_seed};
    cli.out = open_memstream(&text, &length);
    if (!cli.out) return cli_fail(CLI_FAILED, "there is no memory");
    cli.terminal = !want_path && !want_json && isatty(STDOUT_FILENO);
    cli.color = cli.terminal && !want_no_color && !(no_color && *no_color);
    cli.progress = isatty(STDERR_FILENO);

    int code = CLI_OK;
    if (want_version)
        fprintf(cli.out, "kolk %s\n", KOLK_VERSION);
    else if (!verb)
        print_general_help(&cli, verbs);
    else if (want_help)
        print_help(&cli, verb);
    else
        code = verb->run(&cli, count, arguments);
    cli_progress(&cli, "", 0, 0);
    if (fclose(cli.out) != 0) code = cli_fail(CLI_FAILED, "there is no memory");
    if (code == CLI_OK) code = show(&cli, text, length);
    free(text);
    return code == CLI_OK ? cli.verdict : code;
}

static const cli_verb *find_verb(const cli_verb *const *verbs, const char *name) {
    for (; *verbs; verbs++)
        if (!strcmp((*verbs)->name, name)) return *verbs;
    cli_fail(CLI_USAGE, "there is no verb '%s'; 'kolk help' lists them", name);
    return NULL;
}

int cli_run(const cli_verb *const *verbs, int argc, char **argv) {
    set_fallbacks(common_options);
    const char *word = argc > 1 ? argv[1] : "";
    want_help = !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
    want_version = !strcmp(word, "--version");
    if (!*word) return run(verbs, NULL, 0, NULL) == CLI_OK ? CLI_USAGE : CLI_FAILED;
    if (want_version || (want_help && (argc == 2 || !strcmp(argv[2], "help")))) return run(verbs, NULL, 0, NULL);
    if (want_help && argc > 3) return cli_fail(CLI_USAGE, "help takes one verb, and there is one more: '%s'", argv[3]);
    if (*word == '-' && !want_help)
        return cli_fail(CLI_USAGE, "expected a verb before %s; 'kolk help' lists them", word);

    const cli_verb *verb = find_verb(verbs, want_help ? argv[2] : word);
    if (!verb) return CLI_USAGE;
    if (want_help) return run(verbs, verb, 0, NULL);
    int count = 0;
    int code = parse(verb, argc - 2, argv + 2, &count);
    return code == CLI_OK ? run(verbs, verb, count, argv + 2) : code;
}
