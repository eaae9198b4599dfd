/* cli/run/preload.h: preloads kolk's libraries into other programs. */
#ifndef CLI_PRELOAD_H
#define CLI_PRELOAD_H

#include <errno.h>
#include <stdbool.h>

/* The same exit codes as of env, nohup and timeout. */
enum { PRELOAD_CANNOT_RUN = 126, PRELOAD_NOT_FOUND = 127 };

/* Is this library of kolk's where preload_library would find it? */
bool preload_is_there(const char *name);

/* Finds this library of kolk's and puts it first in LD_PRELOAD. Returns CLI_OK, or another code after printing a
 * sentence. */
int preload_library(const char *name);

/* Prints why a program cannot be run, and returns the exit code. */
int preload_cannot_run(const char *program, int error);

#endif
