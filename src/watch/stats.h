/* stats.h: writes statistics in the three formats, and when and where the environment says. Not in freestanding
 * builds. */
#ifndef KOLK_SRC_STATS_H
#define KOLK_SRC_STATS_H

#include "records.h"

/* Writes the statistics of all existing pools as one line of JSON, which begins with the time: milliseconds since
 * 1970. */
void kolk_stats_write_line_(uint64_t milliseconds, void (*put)(const char *text, size_t length, void *context),
                            void *context);

void kolk_records_write_(const kolk_records_ *records, kolk_stats_format format,
                         void (*put)(const char *text, size_t length, void *context), void *context);

/* ---- KOLK_STATS: what to write, and where ------------------------------------------------------------------------ */

/* Reads the variable. Returns true if statistics must be written at exit. */
bool kolk_stats_read_setting_(void);

/* Does the setting request sizes (sizes.h)? *file becomes the file for them, or NULL for stderr. */
bool kolk_stats_want_sizes_(const char **file);

/* Reports a mistake in the setting, if there is one. Call it without the lock. */
void kolk_stats_report_setting_(void);

/* Writes the statistics in the format and to the file of the setting. Returns false and reports it if that fails, but
 * reports only the first of several failures in a row. Call it without the lock, in one thread at a time. */
bool kolk_stats_write_setting_(const kolk_records_ *records);

/* ---- KOLK_STATS_AT: when to write it ----------------------------------------------------------------------------- */

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
