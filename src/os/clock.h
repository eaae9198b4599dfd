/* clock.h: the clock that all deadlines use, and the time of day. Not in freestanding builds. */
#ifndef KOLK_SRC_CLOCK_H
#define KOLK_SRC_CLOCK_H

#include <stdint.h>

/* Returns the nanoseconds since a fixed moment in the past. The clock is monotonic: it cannot be set back. */
int64_t kolk_now_ns_(void);

/* Returns the milliseconds since 1970, UTC, on the system's clock, which may be set at any time. */
int64_t kolk_unix_ms_(void);

#endif
