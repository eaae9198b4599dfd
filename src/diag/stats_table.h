/* stats_table.h: statistics as a table, whose columns are as wide as they need to be. Not in freestanding builds. */
#ifndef KOLK_SRC_STATS_TABLE_H
#define KOLK_SRC_STATS_TABLE_H

#include "records.h"
#include "writer.h"

#define KOLK_TABLE_COLUMNS 16u /* at most */

typedef struct kolk_table {
    const char *const *headings;
    size_t columns, texts; /* the first `texts` columns begin at their left, the others are numbers */

    /* Is the record in this table? */
    bool (*has)(const kolk_record *at);

    /* The text of a cell, perhaps in `space`. */
    const char *(*cell)(const kolk_record *at, size_t column, char space[32]);
} kolk_table;

/* Nothing, if it has no record. */
void kolk_table_write(kolk_writer *out, const kolk_records *records, const kolk_table *table);

#endif
