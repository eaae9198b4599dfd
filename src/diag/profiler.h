/* profiler.h: the functions that a profiler has set (kolk_set_profiler). */
#ifndef KOLK_SRC_PROFILER_H
#define KOLK_SRC_PROFILER_H

#include "kolk/base.h"

bool kolk_profiler_is_set(void);

/* The functions that a pool made now is to call. All NULL: nothing. */
kolk_profiler kolk_profiler_now(void);

#endif
