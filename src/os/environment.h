/* environment.h: environment variables, and whether they may be trusted. Not in freestanding builds. */
#ifndef KOLK_SRC_ENVIRONMENT_H
#define KOLK_SRC_ENVIRONMENT_H

#include <stdbool.h>

/* Does the program run with more rights than the user who started it (set-user-ID, file capabilities)? Then that user's
 * environment is ignored. Always false on Windows. */
bool kolk_has_more_rights_(void);

/* Returns the value of an environment variable, or NULL. Always NULL in a program with more rights, because kolk's
 * variables name files that kolk then writes. */
const char *kolk_environment_(const char *name);

/* Can one of kolk's variables be set? This takes less time than asking for two of them. */
bool kolk_environment_may_have_(void);

#endif
