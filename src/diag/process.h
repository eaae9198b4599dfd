/* process.h: the parts that concern the whole process: settings from its environment, its exit, and scenes.
 *
 * A failure handler may leave an init by longjmp or throw. For the caller, the init has then failed. So every init
 * follows this order and reports only while nothing exists yet:
 *
 *     1  the struct becomes all zero
 *     2  settings are read, and mistakes in them are      kolk_process_start_; then, if this kind of pool has them,
 *        reported; the descriptor is checked              kolk_settings_of_, kolk_sizes_ask_, kolk_sizes_settle_
 *     3  memory is allocated, the struct is filled in
 *     4  the pool is added to the registry                kolk_registry_add_
 *
 * From step 3 on, nothing is reported. */
#ifndef KOLK_SRC_PROCESS_H
#define KOLK_SRC_PROCESS_H

#include "kolk/base.h"

#if KOLK_HOSTED

/* Reads the environment at the first call and reports mistakes in KOLK_STATS. While the file of KOLK_SIZES=FILE is
 * read, other callers wait, but forks do not. In builds without diagnostics, reports each variable of kolk's that is
 * set, because it has no effect. */
void kolk_process_start_(void);

#else

static inline void kolk_process_start_(void) {}

#endif
#endif
