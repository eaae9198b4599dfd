/* records.h: copies of pools' statistics, which outlive the pools. Not in freestanding builds. Only one thread at a
 * time may use a list of records. */
#ifndef KOLK_SRC_RECORDS_H
#define KOLK_SRC_RECORDS_H

#include "../core/table.h"
#include "places.h"

/* If more pools than this have the same name, kind and object size, they form a group: a server that names the heap of
 * each request would otherwise fill the tables, and its metrics would begin and end all the time. */
#define KOLK_RECORDS_ALIKE_ 7u

/* The name of a record that sums up ended pools of other names. */
#define KOLK_RECORD_REST_ "(other names)"

typedef enum kolk_record_of_ {
    KOLK_RECORD_ALONE_, /* the copy becomes a record of its own */
    KOLK_RECORD_ENDED_, /* an ended life: merged with other lives of the same name, kind and object size; or, beyond
                         * `most` records, with all others of its kind */
    KOLK_RECORD_LIVING_ /* a life that has not ended: merged with ended lives, but never with another living one */
} kolk_record_of_;

/* Adds a copy as a new record, or merges it into the record of other lives, or adds it to a group. A merged record has
 * the maximum of objects alive, of peaks, of capacities and of bytes, and the sum of each counter. A group has the sums
 * of all of these; kinds with extra statistics form no groups. Takes O(records of that name). Adds nothing if there is
 * no memory. */
void kolk_records_add_(kolk_records_ *records, const kolk_stats *stats, kolk_record_of_ of);

/* The same, including the extra statistics. */
void kolk_records_add_whole_(kolk_records_ *records, const kolk_record_ *one, kolk_record_of_ of);

/* Adds copies of all these records to an empty list, in the same order. */
void kolk_records_add_all_(kolk_records_ *records, const kolk_records_ *from);

/* Returns a copy of a text. The copy lives as long as the list; it is NULL if there is no memory. */
char *kolk_records_copy_(kolk_records_ *records, const char *text);

/* Releases the memory; the list is empty then. */
void kolk_records_release_(kolk_records_ *records);

#endif
