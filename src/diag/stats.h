/* stats.h: writes statistics: numbers in structs, tables of records, and the three formats. Not in freestanding
 * builds. */
#ifndef KOLK_SRC_STATS_H
#define KOLK_SRC_STATS_H

#include "../base/assert.h"
#include "records.h"
#include "writer.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- A number of 4 or 8 bytes in a struct, for tables of what there is to write ---------------------------------- */

typedef struct kolk_field_ {
    size_t offset, size;
} kolk_field_;

#define KOLK_FIELD_(type, member)                                                                                      \
    { offsetof(type, member), sizeof((type *)0)->member }

static inline uint64_t kolk_field_of_(const void *stats, kolk_field_ at) {
    uint64_t wide;
    uint32_t narrow;
    const char *from = (const char *)stats + at.offset;
    if (at.size == sizeof narrow) return memcpy(&narrow, from, sizeof narrow), narrow;
    KOLK_ASSERT_(at.size == sizeof wide);
    return memcpy(&wide, from, sizeof wide), wide;
}

static inline void kolk_raise32_(uint32_t *greatest, uint32_t number) {
    if (*greatest < number) *greatest = number;
}

static inline void kolk_raise64_(uint64_t *greatest, uint64_t number) {
    if (*greatest < number) *greatest = number;
}

/* ---- A table, whose columns are as wide as they need to be ------------------------------------------------------- */

#define KOLK_TABLE_COLUMNS_ 16u /* the most columns of a table */

typedef struct kolk_table_ {
    const char *const *headings;
    size_t columns, texts; /* the first `texts` columns are left-aligned texts, the others are numbers */

    /* Is the record in this table? */
    bool (*has)(const kolk_record_ *at);

    /* Returns the text of a cell, which may lie in `space`. */
    const char *(*cell)(const kolk_record_ *at, size_t column, char space[32]);
} kolk_table_;

/* Writes nothing if the table has no record. */
void kolk_table_write_(kolk_writer_ *out, const kolk_records_ *records, const kolk_table_ *table);

/* ---- The formats ------------------------------------------------------------------------------------------------- */

/* The ending of the names of a family's samples: those of counters end in "_total". */
static inline const char *kolk_suffix_of_(const char *type) {
    return strcmp(type, "counter") == 0 ? "_total" : "";
}

/* Writes the lines before a family of metrics. Follows OpenMetrics 1.0 (2020), where they name the family, and
 * Prometheus's text format 0.0.4, where they name its samples, and where units are not stated. `unit` may be NULL. */
void kolk_family_write_(kolk_writer_ *out, kolk_stats_format format, const char *name, const char *type,
                        const char *unit, const char *help);

/* Writes the statistics of all existing pools as one line of JSON, which begins with the time: milliseconds since
 * 1970. */
void kolk_stats_write_line_(uint64_t milliseconds, void (*put)(const char *text, size_t length, void *context),
                            void *context);

void kolk_records_write_(const kolk_records_ *records, kolk_stats_format format,
                         void (*put)(const char *text, size_t length, void *context), void *context);

#endif
