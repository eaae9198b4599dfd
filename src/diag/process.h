/* process.h: what concerns the whole process: what its environment asks of kolk, its exit, its scenes.
 *
 * A failure handler may leave an init by longjmp or throw. The caller then takes the init for one that failed. So every
 * init has this order, in which nothing exists yet when something is reported:
 *
 *     1  the struct becomes all zero
 *     2  settings are read, and what is wrong with them   kolk_process_start; then, if this kind of pool has them,
 *        is reported; the descriptor is checked           kolk_settings_of, kolk_sizes_ask, kolk_sizes_settle
 *     3  memory is made, the struct is filled in
 *     4  the pool is listed                               kolk_registry_add
 *
 * From step 3 on, nothing is reported. */
#ifndef KOLK_SRC_PROCESS_H
#define KOLK_SRC_PROCESS_H

#include "kolk/base.h"

#if KOLK_HOSTED

/* Reads the environment, if that has not been done, and reports what is wrong with KOLK_STATS. Threads that call it
 * while KOLK_SIZES=FILE is read wait for that; forks do not. Without diagnostics, it reports what is in the environment
 * for them. */
void kolk_process_start(void);

#else

static inline void kolk_process_start(void) {}

#endif
#endif
