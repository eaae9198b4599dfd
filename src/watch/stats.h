/* stats.h: writes statistics in the three formats. Not in freestanding builds. */
#ifndef KOLK_SRC_STATS_H
#define KOLK_SRC_STATS_H

#include "records.h"

/* Writes the statistics of all existing pools as one line of JSON, which begins with the time: milliseconds since
 * 1970. */
void kolk_stats_write_line_(uint64_t milliseconds, void (*put)(const char *text, size_t length, void *context),
                            void *context);

void kolk_records_write_(const kolk_records_ *records, kolk_stats_format format,
                         void (*put)(const char *text, size_t length, void *context), void *context);

#endif
