/* table.h: copies of pools' statistics, and how a kind with statistics of its own writes them: numbers in structs,
 * tables and metrics. Not in freestanding builds. */
#ifndef KOLK_SRC_TABLE_H
#define KOLK_SRC_TABLE_H

#include "kolk/base.h"

#include "../base/assert.h"
#include "writer.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Records ----------------------------------------------------------------------------------------------------- */

struct kolk_records_;

/* The extra statistics that one kind of pool has in addition to kolk_stats, and the functions that write them. */
typedef struct kolk_extra_ {
    size_t size; /* the bytes to copy */

    /* Returns the pool's extra statistics. Called right after `stats` of its kolk_kind_, whose next call invalidates
     * them. */
    const void *(*of)(const void *pool);

    /* Adds the statistics of another life of the same pool to `all`. */
    void (*merge)(void *all, const void *life);

    /* These write extra statistics: write_table writes a table of all records that have them; write_json writes those
     * of one record, as `, "name": {...}`; write_metrics writes the metrics of all records that have them. */
    void (*write_table)(kolk_writer_ *out, const struct kolk_records_ *records);
    void (*write_json)(kolk_writer_ *out, const void *extra);
    void (*write_metrics)(kolk_writer_ *out, const struct kolk_records_ *records, kolk_stats_format format);
} kolk_extra_;

typedef struct kolk_record_ {
    struct kolk_record_ *next;         /* in the order in which they were added */
    struct kolk_record_ *same_hash;    /* the previous record in the list for its name's hash */
    uint32_t nth;                      /* its number among the records of the same name and kind, from 1 */
    bool lives;                        /* its pool has not ended */
    uint32_t pools;                    /* how many pools it stands for; above 1, it is a group */
    bool is_rest;                      /* it sums up ended pools that came after `most` records */
    kolk_stats stats;                  /* the name in it is a copy */
    bool has_allocs;                   /* the next member is known: for some kinds, in other processes (remote.h) */
    uint64_t allocs;                   /* how many objects were ever allocated, plus a constant */
    bool has_resident;                 /* the next member is known, in other processes */
    uint64_t resident;                 /* how many bytes of its slots are in memory */
    const kolk_extra_ *extra;          /* NULL if the kind has no extra statistics */
    void *more;                        /* a copy of the extra statistics */
    const struct kolk_places_ *places; /* a copy: where its live objects were allocated; NULL if that is unknown */
} kolk_record_;

/* A zero-initialised struct is an empty list. It may be moved. */
typedef struct kolk_records_ {
    kolk_record_ *first, *last;
    uint32_t count;         /* how many records there are */
    uint32_t most;          /* from this many records on, ended lives get no new record; 0: no bound */
    uint32_t lists;         /* of by_hash: a power of two, or 0 */
    kolk_record_ **by_hash; /* the last added record of each list; a name's hash selects a list */
    struct kolk_records_block_ *blocks;
} kolk_records_;

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

/* Writes a text. Characters that would break a table or a terminal become '?'. */
void kolk_write_cell_(kolk_writer_ *out, const char *text);

/* Writes nothing if the table has no record. */
void kolk_table_write_(kolk_writer_ *out, const kolk_records_ *records, const kolk_table_ *table);

/* ---- Metrics ----------------------------------------------------------------------------------------------------- */

/* The ending of the names of a family's samples: those of counters end in "_total". */
static inline const char *kolk_suffix_of_(const char *type) {
    return strcmp(type, "counter") == 0 ? "_total" : "";
}

/* Writes the lines before a family of metrics. Follows OpenMetrics 1.0 (2020), where they name the family, and
 * Prometheus's text format 0.0.4, where they name its samples, and where units are not stated. `unit` may be NULL. */
void kolk_family_write_(kolk_writer_ *out, kolk_stats_format format, const char *name, const char *type,
                        const char *unit, const char *help);

#endif
