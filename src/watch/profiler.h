/* profiler.h: the functions that a profiler has set (kolk_set_profiler). */
#ifndef KOLK_SRC_PROFILER_H
#define KOLK_SRC_PROFILER_H

#include "kolk/base.h"

bool kolk_profiler_is_set_(void);

/* Returns the functions that a pool initialised now must call. All are NULL if no profiler is set. */
kolk_profiler kolk_profiler_now_(void);

#endif
