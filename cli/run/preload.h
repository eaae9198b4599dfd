/* cli/run/preload.h: preloads kolk's libraries into other programs. */
#ifndef CLI_PRELOAD_H
#define CLI_PRELOAD_H

#include <errno.h>
#include <stdbool.h>

/* The same exit codes as those of env, nohup and timeout. */
enum { PRELOAD_CANNOT_RUN = 126, PRELOAD_NOT_FOUND = 127 };

/* Finds this library of kolk's and puts it first in LD_PRELOAD. Returns CLI_OK, or prints a sentence and returns
 * another code. */
int preload_library(const char *name);

/* Returns why a library that is preloaded does not serve this program, which is searched as execvp does: it is linked
 * statically, has a malloc of its own, and so on. Returns NULL if there is no reason that its file shows. */
const char *preload_why_not(const char *program);

/* Prints why a program cannot be run, and returns the exit code. */
int preload_cannot_run(const char *program, int error);

#endif
