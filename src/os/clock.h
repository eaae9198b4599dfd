/* clock.h: the clock of all deadlines. Not in freestanding builds. */
#ifndef KOLK_SRC_CLOCK_H
#define KOLK_SRC_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment in the past. The clock is monotonic: it cannot be set back. */
int64_t kolk_now_ns_(void);

#endif
