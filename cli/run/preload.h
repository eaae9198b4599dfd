/* cli/run/preload.h: libraries of kolk's under other people's programs. */
#ifndef CLI_PRELOAD_H
#define CLI_PRELOAD_H

#include <errno.h>
#include <stdbool.h>

/* As other programs that start one: env, nohup, timeout. */
enum { PRELOAD_CANNOT_RUN = 126, PRELOAD_NOT_FOUND = 127 };

/* Is this library of kolk's where preload_library would find it? */
bool preload_is_there(const char *name);

/* Finds this library of kolk's and puts it before all others in LD_PRELOAD. CLI_OK, or what a sentence was printed
 * for. */
int preload_library(const char *name);

/* Says that a program cannot be run, and why; the exit code. */
int preload_cannot_run(const char *program, int error);

#endif
