/* names.h: copies of pools' names. The text that was passed to an init may lie in a module that is unloaded, or in a
 * buffer that is used again, while the pool still exists. */
#ifndef KOLK_SRC_NAMES_H
#define KOLK_SRC_NAMES_H

#include "kolk/base.h"

/* Returns a copy of the name that lives as long as the process. Equal names have the same copy. Returns the name
 * itself if it is NULL, if another thread is forking, or if all copies together would exceed NAMES_BYTES (names.c).
 * Takes the process's lock. */
const char *kolk_names_keep_(const char *name);

#endif
