/* stats_at.h: the variable KOLK_STATS_AT: when the statistics that KOLK_STATS requests are written. Not in freestanding
 * builds. */
#ifndef KOLK_SRC_STATS_AT_H
#define KOLK_SRC_STATS_AT_H

#include <stdbool.h>

/* Reads the variable. Without it, the statistics are written at exit only. */
void kolk_stats_at_read_(void);

/* Reports a mistake in the variable, if there is one. `keeps`: does KOLK_STATS request statistics? Call it without the
 * lock. */
void kolk_stats_at_report_(bool keeps);

/* Are the statistics written at exit? */
bool kolk_stats_at_exit_(void);

/* From now on, a thread of kolk's own calls `write` at each of the signals and intervals. Starts no thread if there are
 * none. A fork's child has no such thread until it calls this too. Reports it if the system has no thread. */
void kolk_stats_at_begin_(bool (*write)(void));

/* For a replacement of malloc, whose init the system's functions for threads may need: no thread is started until it is
 * no longer held. Call it in one thread at a time. */
void kolk_stats_at_hold_(bool held);

/* Ends that thread, and waits until it has. The signals are handled as before. */
void kolk_stats_at_end_(void);

#endif
