/* preload.c: see preload.h. */
#define _GNU_SOURCE
#include "preload.h"
#include "context.h"
#include "print.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef KOLK_LIBDIR /* CMake defines it as the folder where libraries are installed */
#define KOLK_LIBDIR          "/usr/local/lib"
#define KOLK_LIBDIR_FROM_BIN "../lib"
#endif

/* Stores the file's path in `path` if the file exists. */
static bool is_library(char *path, const char *folder, const char *more, const char *name) {
    if (snprintf(path, PATH_MAX, "%s%s/%s", folder, more, name) >= PATH_MAX) return false;
    return access(path, R_OK) == 0;
}

/* Searches beside the command, as in a build directory. Then searches where the library is installed, first relative to
 * the command and then by the absolute path. Without /proc only the latter is known. */
static bool find_library(char *path, const char *name) {
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length < 0) length = 0;
    folder[length] = 0;
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = 0;
        if (is_library(path, folder, "", name)) return true;
        if (is_library(path, folder, "/" KOLK_LIBDIR_FROM_BIN, name)) return true;
    }
    return is_library(path, KOLK_LIBDIR, "", name);
}

bool preload_is_there(const char *name) {
    char path[PATH_MAX];
    return find_library(path, name);
}

/* ld.so splits LD_PRELOAD at spaces and colons, so a path must not contain any. */
int preload_library(const char *name) {
    char library[PATH_MAX], list[2 * PATH_MAX];
    const char *others = getenv("LD_PRELOAD");
    if (!find_library(library, name))
        return cli_fail(CLI_UNREADABLE, "%s is neither beside this command nor in %s", name, KOLK_LIBDIR);
    if (strpbrk(library, " :"))
        return cli_fail(CLI_FAILED, "%s: cannot be preloaded, as there is a space or a colon in its path", library);
    int length = snprintf(list, sizeof list, "%s%s%s", library, others && *others ? ":" : "", others ? others : "");
    if (length >= (int)sizeof list || setenv("LD_PRELOAD", list, 1) != 0)
        return cli_fail(CLI_FAILED, "LD_PRELOAD is too long to add %s to it", library);
    return CLI_OK;
}

int preload_cannot_run(const char *program, int error) {
    int code = error == ENOENT ? PRELOAD_NOT_FOUND : PRELOAD_CANNOT_RUN;
    return cli_fail(code, "%s: cannot be run: %s", program, strerror(error));
}
