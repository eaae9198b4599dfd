/* stats.h: KOLK_STATS, as the registry sees it. Not in freestanding builds. */
#ifndef KOLK_SRC_STATS_H
#define KOLK_SRC_STATS_H

#include "records.h"

/* Reads it; true if statistics are to be written at exit. For kolk_registry_start. */
bool kolk_stats_read_setting(void);

/* Does it want sizes (sizes.h)? *file: what they are to be written to, NULL for stderr. */
bool kolk_stats_want_sizes(const char **file);

/* Reports what is wrong with it, if anything is. Without the lock. */
void kolk_stats_report_setting(void);

/* Writes the statistics as it wants them. Without the lock. */
void kolk_stats_write_setting(const kolk_records *records);

#endif
