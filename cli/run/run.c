/* run.c: kolk run: executes another program in this process, with libkolk-malloc.so preloaded and the requests of
 * --stats and --debug in its environment. */
#define _GNU_SOURCE
#include "preload.h"
#include "cli.h"
#include "print.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libkolk-malloc.so"

static bool want_stats;
static const char *debug;

static const cli_option options[] = {
    {.name = "stats", .kind = CLI_FLAG, .value = &want_stats, .help = "statistics at exit, to stderr or -o FILE"},
    {.name = "debug",
     .kind = CLI_TEXT,
     .argument = "SETTINGS",
     .value = &debug,
     .help = "the debug mode, as in KOLK_DEBUG: fill,guard,quarantine=64,sites"},
    {0},
};

/* ---- The environment of the program ------------------------------------------------------------------------------ */

static bool set(const char *name, const char *value) {
    return setenv(name, value, 1) == 0;
}

/* Makes the path absolute, because the program may change its working directory before it writes the file. */
static int ask_for_statistics(const cli_context *cli) {
    char setting[2 * PATH_MAX], folder[PATH_MAX] = "";
    const char *path = cli->path ? cli->path : "";
    if (*path && *path != '/' && !getcwd(folder, sizeof folder))
        return cli_fail(CLI_FAILED, "the name of this folder is not to be had: %s", strerror(errno));
    int length = snprintf(setting, sizeof setting, "%s%s%s%s%s", cli->json ? "json" : "text", *path ? ":" : "", folder,
                          *folder ? "/" : "", path);
    if (length >= (int)sizeof setting || !set("KOLK_STATS", setting))
        return cli_fail(CLI_FAILED, "%s: the name is too long", path);
    return CLI_OK;
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

static int run(cli_context *cli, int count, char **arguments) {
    if (count == 0) return cli_fail(CLI_USAGE, "run expects a program: kolk run -- PROGRAM [ARGUMENT...]");
    if ((cli->path || cli->json) && !want_stats)
        return cli_fail(CLI_USAGE, "--json and --output are for statistics: add --stats");
    if (cli->to_stdout)
        return cli_fail(CLI_USAGE,
                        "statistics cannot go to stdout, which is the program's: without -o they go to stderr");
    int code = preload_library(LIBRARY);
    if (code == CLI_OK && want_stats) code = ask_for_statistics(cli);
    if (code == CLI_OK && debug && !set("KOLK_DEBUG", debug)) code = cli_fail(CLI_FAILED, "there is no memory");
    if (code != CLI_OK) return code;
    const char *why = preload_why_not(arguments[0]);
    if (why) cli_fail(CLI_OK, "%s: kolk serves nothing in it: %s", arguments[0], why);
    arguments[count] = NULL; /* still within argv */
    execvp(arguments[0], arguments);
    return preload_cannot_run(arguments[0], errno);
}

const cli_verb cli_run_program = {
    .name = "run",
    .arguments = "-- PROGRAM [ARGUMENT...]",
    .most_arguments = INT_MAX,
    .summary = "runs a program, unchanged, with kolk as its malloc",
    .details = "The program gets " LIBRARY " by LD_PRELOAD, and so do programs that it starts.\n"
               "It ends with its own exit code; with 127 if it is not found, and 126 if it\n"
               "cannot be run. A program that is linked statically, has more rights than you, or\n"
               "a malloc within itself, keeps that; then a sentence says so. One that closes\n"
               "stderr before it ends, as ls and its kind do, can write statistics to a file\n"
               "only. The two dashes tell options of the program from those of kolk.\n"
               "--debug=sample=1000 puts one block of 1,000 between pages that nobody may touch,\n"
               "which is cheap enough to be left on.\n",
    .options = options,
    .run = run,
};
