/* records.h: copies of pools' statistics, which outlive the pools. Not in freestanding builds. Only one thread at a
 * time may use a list of records. */
#ifndef KOLK_SRC_RECORDS_H
#define KOLK_SRC_RECORDS_H

#include "kolk/base.h"

#include "places.h"
#include "writer.h"

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
    struct kolk_record_ *next;      /* in the order in which they were added */
    struct kolk_record_ *same_hash; /* the previous record in the list for its name's hash */
    uint32_t nth;                   /* its number among the records of the same name and kind, from 1 */
    bool lives;                     /* its pool has not ended */
    uint32_t pools;                 /* how many pools it stands for; above 1, it is a group */
    bool is_rest;                   /* it sums up ended pools that came after `most` records */
    kolk_stats stats;               /* the name in it is a copy */
    bool has_allocs;                /* the next member is known: for some kinds, in other processes (remote.h) */
    uint64_t allocs;                /* how many objects were ever allocated, plus a constant */
    bool has_resident;              /* the next member is known, in other processes */
    uint64_t resident;              /* how many bytes of its slots are in memory */
    const kolk_extra_ *extra;       /* NULL if the kind has no extra statistics */
    void *more;                     /* a copy of the extra statistics */
    const kolk_places_ *places;     /* a copy: where its live objects were allocated; NULL if that is unknown */
} kolk_record_;

/* If more pools than this have the same name, kind and object size, they form a group. */
#define KOLK_RECORDS_ALIKE_ 100u

/* The name of a record that sums up ended pools of other names. */
#define KOLK_RECORD_REST_ "(other names)"

/* A zero-initialised struct is an empty list. It may be moved. */
typedef struct kolk_records_ {
    kolk_record_ *first, *last;
    uint32_t count;         /* how many records there are */
    uint32_t most;          /* from this many records on, ended lives get no new record; 0: no bound */
    uint32_t lists;         /* of by_hash: a power of two, or 0 */
    kolk_record_ **by_hash; /* the last added record of each list; a name's hash selects a list */
    struct kolk_records_block_ *blocks;
} kolk_records_;

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
