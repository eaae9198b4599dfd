/* run.c: kolk run: another program becomes this process, with libkolk-malloc.so before all other libraries, and with
 * what --stats and --debug ask of it in its environment. */
#define _GNU_SOURCE
#include "cli.h"
#include "print.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libkolk-malloc.so"

#ifndef KOLK_LIBDIR /* CMake tells where it is installed */
#define KOLK_LIBDIR          "/usr/local/lib"
#define KOLK_LIBDIR_FROM_BIN "../lib"
#endif

/* As other programs that start one: env, nohup, timeout. */
enum { CANNOT_RUN = 126, NOT_FOUND = 127 };

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

/* ---- The library ------------------------------------------------------------------------------------------------- */

/* Puts the path of a file that is there into `path`. */
static bool is_library(char *path, const char *folder, const char *more) {
    if (snprintf(path, PATH_MAX, "%s%s/%s", folder, more, LIBRARY) >= PATH_MAX) return false;
    return access(path, R_OK) == 0;
}

/* Beside the command, as it is built; or where it is installed, as seen from the command or by its whole path. */
static bool find_library(char *path) {
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length < 0) length = 0;
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (!slash) return false;
    *slash = 0;
    return is_library(path, folder, "") || is_library(path, folder, "/" KOLK_LIBDIR_FROM_BIN) ||
           is_library(path, KOLK_LIBDIR, "");
}

/* ---- Its environment --------------------------------------------------------------------------------------------- */

static bool set(const char *name, const char *value) {
    return setenv(name, value, 1) == 0;
}

/* ld.so takes spaces and colons for ends of names. */
static int preload(const char *library) {
    char list[2 * PATH_MAX];
    const char *others = getenv("LD_PRELOAD");
    if (strpbrk(library, " :"))
        return cli_fail(CLI_FAILED, "%s: cannot be preloaded, as there is a space or a colon in its path", library);
    int length = snprintf(list, sizeof list, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
    if (length >= (int)sizeof list || !set("LD_PRELOAD", list))
        return cli_fail(CLI_FAILED, "LD_PRELOAD is too long to add %s to it", library);
    return CLI_OK;
}

/* The program may change its folder before it writes the file. */
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
    char library[PATH_MAX];
    if (count == 0) return cli_fail(CLI_USAGE, "run expects a program: kolk run -- PROGRAM [ARGUMENT...]");
    if ((cli->path || cli->json) && !want_stats)
        return cli_fail(CLI_USAGE, "--json and --output are for statistics: add --stats");
    if (!find_library(library))
        return cli_fail(CLI_UNREADABLE, "%s is neither beside this command nor in %s", LIBRARY, KOLK_LIBDIR);
    int code = preload(library);
    if (code == CLI_OK && want_stats) code = ask_for_statistics(cli);
    if (code == CLI_OK && debug && !set("KOLK_DEBUG", debug)) code = cli_fail(CLI_FAILED, "there is no memory");
    if (code != CLI_OK) return code;
    arguments[count] = NULL; /* it is within argv */
    execvp(arguments[0], arguments);
    return cli_fail(errno == ENOENT ? NOT_FOUND : CANNOT_RUN, "%s: cannot be run: %s", arguments[0], strerror(errno));
}

const cli_verb cli_run_program = {
    .name = "run",
    .arguments = "-- PROGRAM [ARGUMENT...]",
    .most_arguments = INT_MAX,
    .summary = "runs a program, unchanged, with kolk as its malloc",
    .details = "The program gets " LIBRARY " by LD_PRELOAD, and so do programs that it starts.\n"
               "It ends with its own exit code; with 127 if it is not found, and 126 if it\n"
               "cannot be run. A program that is linked statically, or has more rights than\n"
               "you, keeps its own malloc. One that closes stderr before it ends, as ls and its\n"
               "kind do, can write statistics to a file only. The two dashes tell options of\n"
               "the program from those of kolk.\n",
    .options = options,
    .run = run,
};
