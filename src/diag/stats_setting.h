/* stats_setting.h: the variable KOLK_STATS. Not in freestanding builds. */
#ifndef KOLK_SRC_STATS_SETTING_H
#define KOLK_SRC_STATS_SETTING_H

#include "records.h"

/* Reads it. True: statistics are to be written at exit. */
bool kolk_stats_read_setting(void);

/* Does it ask for sizes (sizes.h)? *file: the file that they are to be written to, NULL for stderr. */
bool kolk_stats_want_sizes(const char **file);

/* Reports what is wrong with it, if anything is. Without the lock. */
void kolk_stats_report_setting(void);

/* Writes the statistics as it wants them. Without the lock. */
void kolk_stats_write_setting(const kolk_records *records);

#endif
