/* stats_setting.h: the variable KOLK_STATS. Not in freestanding builds. */
#ifndef KOLK_SRC_STATS_SETTING_H
#define KOLK_SRC_STATS_SETTING_H

#include "records.h"

/* Reads the variable. Returns true if statistics must be written at exit. */
bool kolk_stats_read_setting_(void);

/* Does the setting request sizes (sizes.h)? *file becomes the file for them, or NULL for stderr. */
bool kolk_stats_want_sizes_(const char **file);

/* Reports a mistake in the setting, if there is one. Call it without the lock. */
void kolk_stats_report_setting_(void);

/* Writes the statistics in the format and to the file of the setting. Returns false and reports it if that fails, but
 * reports only the first of several failures in a row. Call it without the lock, in one thread at a time. */
bool kolk_stats_write_setting_(const kolk_records_ *records);

#endif
