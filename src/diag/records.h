/* records.h: copies of pools' statistics, which outlive the pools. Not in freestanding builds. One thread at a time. */
#ifndef KOLK_SRC_RECORDS_H
#define KOLK_SRC_RECORDS_H

#include "kolk/base.h"

typedef struct kolk_record {
    struct kolk_record *next;      /* in the order in which they came */
    struct kolk_record *same_hash; /* the one before it in the list of its name's hash */
    uint32_t nth;                  /* among those of its name and kind, from 1 */
    kolk_stats stats;              /* their name is a copy, and what `resource` points to */
} kolk_record;

#define KOLK_RECORD_LISTS 128u /* by hashes of names */

/* All zero is an empty list. It may be moved. */
typedef struct kolk_records {
    kolk_record *first, *last;
    kolk_record *by_hash[KOLK_RECORD_LISTS]; /* the last one that came with each */
    struct kolk_block *blocks;
} kolk_records;

/* Adds a copy at the end. With `merge` it goes into the record of the same name, kind and object size, if there is one,
 * as another life of one pool: peak, capacities and bytes are then the greatest of any life; objects alive and counters
 * add up. Without memory for it, nothing is added. */
void kolk_records_add(kolk_records *records, const kolk_stats *stats, bool merge);

/* A copy of a text, which lives as long as the list; NULL without memory for it. */
char *kolk_records_copy(kolk_records *records, const char *text);

/* Gives the memory back; the list is empty then. */
void kolk_records_release(kolk_records *records);

#endif
