/* records.h: copies of pools' statistics, which outlive the pools. Not in freestanding builds. Only one thread at a
 * time may use a list. */
#ifndef KOLK_SRC_RECORDS_H
#define KOLK_SRC_RECORDS_H

#include "kolk/base.h"

#include "writer.h"

struct kolk_records;

/* The extra statistics that one kind of pool has beside kolk_stats, and the functions that write them. */
typedef struct kolk_extra {
    size_t size; /* the bytes to copy */

    /* Returns the pool's extra statistics. Called right after `stats` of its kolk_kind, whose next call invalidates
     * them. */
    const void *(*of)(const void *pool);

    /* Adds the statistics of another life of the same pool to `all`. */
    void (*merge)(void *all, const void *life);

    /* Write extra statistics: a table of all records that have them; those of one record as `, "name": {...}`; the
     * metrics of all records that have them. */
    void (*write_table)(kolk_writer *out, const struct kolk_records *records);
    void (*write_json)(kolk_writer *out, const void *extra);
    void (*write_openmetrics)(kolk_writer *out, const struct kolk_records *records);
} kolk_extra;

typedef struct kolk_record {
    struct kolk_record *next;      /* in the order of their adding */
    struct kolk_record *same_hash; /* the previous record in the list of its name's hash */
    uint32_t nth;                  /* its number among the records of the same name and kind, from 1 */
    bool lives;                    /* its pool has not ended */
    kolk_stats stats;              /* the name in it is a copy */
    const kolk_extra *extra;       /* NULL if the kind has no extra statistics */
    void *more;                    /* a copy of the extra statistics */
} kolk_record;

#define KOLK_RECORD_LISTS 128u /* by hashes of names */

/* All zero is an empty list. It may be moved. */
typedef struct kolk_records {
    kolk_record *first, *last;
    kolk_record *by_hash[KOLK_RECORD_LISTS]; /* the last added record of each list */
    struct kolk_block *blocks;
} kolk_records;

typedef enum kolk_record_of {
    KOLK_RECORD_ALONE, /* the copy becomes a record of its own */
    KOLK_RECORD_ENDED, /* an ended life: merged with other lives of the same name, kind and object size */
    KOLK_RECORD_LIVING /* a life that has not ended: merged with ended lives, but never with another living one */
} kolk_record_of;

/* Adds a copy as a new record, or merges it into the record of other lives. A merged record has the maximum of objects
 * alive, peak, capacities and bytes, and the sum of counters. Adds nothing if there is no memory. */
void kolk_records_add(kolk_records *records, const kolk_stats *stats, kolk_record_of of);

/* The same, including the extra statistics. */
void kolk_records_add_whole(kolk_records *records, const kolk_record *one, kolk_record_of of);

/* Returns a copy of a text that lives as long as the list; NULL if there is no memory. */
char *kolk_records_copy(kolk_records *records, const char *text);

/* Releases the memory; the list is empty then. */
void kolk_records_release(kolk_records *records);

#endif
