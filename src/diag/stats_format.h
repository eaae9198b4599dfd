/* stats_format.h: statistics in words. Not in freestanding builds. */
#ifndef KOLK_SRC_STATS_FORMAT_H
#define KOLK_SRC_STATS_FORMAT_H

#include "records.h"

void kolk_records_write(const kolk_records *records, kolk_stats_format format,
                        void (*put)(const char *text, size_t length, void *context), void *context);

#endif
