/* records.h: copies of pools' statistics, which outlive the pools. Not in freestanding builds. One thread at a time. */
#ifndef KOLK_SRC_RECORDS_H
#define KOLK_SRC_RECORDS_H

#include "kolk/base.h"

typedef struct kolk_record {
    struct kolk_record *next;      /* in the order in which they came */
    struct kolk_record *same_hash; /* the one before it in the list of its name's hash */
    uint32_t nth;                  /* among those of its name and kind, from 1 */
    bool lives;                    /* it is of a pool that has not ended */
    kolk_stats stats;              /* their name is a copy, and what `resource` points to */
} kolk_record;

#define KOLK_RECORD_LISTS 128u /* by hashes of names */

/* All zero is an empty list. It may be moved. */
typedef struct kolk_records {
    kolk_record *first, *last;
    kolk_record *by_hash[KOLK_RECORD_LISTS]; /* the last one that came with each */
    struct kolk_block *blocks;
} kolk_records;

typedef enum kolk_record_of {
    KOLK_RECORD_ALONE, /* a record of its own */
    KOLK_RECORD_ENDED, /* another life of a pool, which has ended: with those of the same name, kind and object size */
    KOLK_RECORD_LIVING /* its last life: with those that have ended, but not with another one that lives */
} kolk_record_of;

/* Adds a copy at the end, or to the record of other lives. Of several lives, a record has the greatest of all: objects
 * alive, peak, capacities and bytes; counters add up. Without memory for it, nothing is added. */
void kolk_records_add(kolk_records *records, const kolk_stats *stats, kolk_record_of of);

/* A copy of a text, which lives as long as the list; NULL without memory for it. */
char *kolk_records_copy(kolk_records *records, const char *text);

/* Gives the memory back; the list is empty then. */
void kolk_records_release(kolk_records *records);

#endif
